/* SPDX-License-Identifier: Apache-2.0
 * Experts, as the composition of the references: matmul (in the contract's core), act, quantize, matmul, weighted sum.
 */
#include <assert.h>

#include "op/act.h"
#include "op/fast_exp.h"
#include "op/fma.h"
#include "op/qact.h"
#include "op/ref/ref.h"

enum { MAX_I = 32768, STEP = 512, OUT = 2048 };           /* largest intermediate size; outputs computed at a time */

static struct vc_view f32_row(float *p, uint32_t n) { return (struct vc_view){ p, p, (size_t)n * 4, 1, n, VC_F32 }; }

/* y[i] = x · row (row0 + i) of expert e of w, i < n, by the core. */
static void product(enum vc_arith core, const struct vc_view *x, const struct vc_view *w, uint32_t e, uint32_t row0,
                    uint32_t n, float *y) {
    const struct vc_dtype_info *t = vc_dtype_info(w->dtype);
    const size_t row_bytes = (size_t)w->cols / t->block * t->bytes;
    const struct vc_contract c = { .op = VC_OP_MATMUL, .core = core };
    struct vc_op_call m = { .contract = &c, .in = { *x, *w }, .out = { f32_row(y, n) } };
    m.in[1].raw = (const char *)w->raw + ((size_t)e * w->rows + row0) * row_bytes;
    m.in[1].rows = n;
    vc_ref_matmul(&m, 0, 1);
}

/* act(g) of the core: vLLM's experts have their own silu. */
static float act(const struct vc_op_call *c, float g) {
    const struct vc_moe_args *a = c->args;
    if (c->contract->core == VC_ARITH_CHAIN && a->act == VC_ACT_SILU) return g * (1.0f / (1.0f + vc_fast_exp(-g)));
    return vc_act(a->act, g);
}

/* h[i] of one token and expert. */
static void hidden(const struct vc_op_call *c, uint32_t token, uint32_t e, float *h) {
    const struct vc_moe_args *a = c->args;
    const uint8_t *slot = c->contract->slot;
    struct vc_view x = c->in[0];
    x.data = (char *)x.data + (size_t)token * x.stride;
    x.rows = 1;
    for (uint32_t i = 0; i < a->intermediate; i += STEP) {
        const uint32_t n = a->intermediate - i < STEP ? a->intermediate - i : STEP;
        float g[STEP], u[STEP];
        product(c->contract->core, &x, &c->in[3], e, i, n, g);
        product(c->contract->core, &x, &c->in[3], e, a->intermediate + i, n, u);
        for (uint32_t k = 0; k < n; k++) {
            const float gate = vc_round_to(slot[VC_SLOT_EXPERT_GATE], g[k]),
                        up = vc_round_to(slot[VC_SLOT_EXPERT_GATE], u[k]);
            const float v = vc_round_to(slot[VC_SLOT_EXPERT_ACT], vc_flush(act(c, gate)));
            h[i + k] = vc_round_to(slot[VC_SLOT_EXPERT_HIDDEN], vc_flush(v * up));
        }
    }
}

void vc_ref_moe(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_moe_args *a = c->args;
    const uint32_t I = a->intermediate, H = c->out[0].cols, qblock = vc_qact_block(c->in[4].dtype);
    float h[MAX_I], d[OUT], sum[OUT];
    _Alignas(64) char q[MAX_I + MAX_I / 8 + MAX_I / 8 + 192];
    (void)parts;
    if (part != 0) return;
    assert(I <= MAX_I);
    for (uint32_t t = 0; t < c->in[0].rows; t++)
        for (uint32_t n0 = 0; n0 < H; n0 += OUT) {
            const uint32_t n = H - n0 < OUT ? H - n0 : OUT;
            for (uint32_t j = 0; j < a->top_k; j++) {
                const uint32_t e =
                    (uint32_t)((const int32_t *)(const void *)((const char *)c->in[1].data + t * c->in[1].stride))[j];
                const float w = vc_load(&c->in[2], t, j);
                struct vc_view x = f32_row(h, I);
                hidden(c, t, e, h);
                if (c->contract->core == VC_ARITH_IBLK) {
                    const struct vc_quantize_args qa = { qblock };
                    const struct vc_contract plain = { .op = VC_OP_QUANTIZE };
                    struct vc_op_call quant = { .contract = &plain, .in = { x },
                                                .out = { { q, q, sizeof q, 1, I,
                                                           qblock == 32 ? VC_A8_32 : VC_A8_256 } },
                                                .args = &qa };
                    vc_ref_quantize(&quant, 0, 1);
                    x = quant.out[0];
                }
                product(c->contract->core, &x, &c->in[4], e, n0, n, d);
                for (uint32_t k = 0; k < n; k++) {
                    const float down = vc_round_to(c->contract->slot[VC_SLOT_EXPERT_DOWN], d[k]);
                    sum[k] = vc_flush(j == 0 ? w * down : vc_fma(down, w, sum[k]));
                }
            }
            for (uint32_t k = 0; k < n; k++) vc_store(&c->out[0], t, n0 + k, sum[k]);
        }
}
