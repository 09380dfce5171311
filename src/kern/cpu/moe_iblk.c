/* SPDX-License-Identifier: Apache-2.0
 * moe_iblk.c: experts by the iblk core, through the panels and tiles of iblk.h. Each part quantizes the hidden values
 * that it makes, in whole blocks of w2's activation format; rows of x and of the hidden values are int8 (op/qact.h). */
#include "kern/cpu/moe_plan.h"

#include "kern/cpu/iblk.h"
#include "op/qact.h"

vc_op_fn VC_K(vc_quantize), VC_K(vc_moe_iblk_hidden), VC_K(vc_moe_iblk_down);

enum { GU_COLS = 256 }; /* intermediate columns made at a time: whole blocks of every format */

static size_t acts_bytes(uint32_t H, uint32_t I) { return vc_iblk_acts(MOE_ROWS, VC_MAX(H, I)); }
static size_t down_bytes(uint32_t P, uint32_t H) {
    const size_t all = (size_t)P * ((H + 63) & ~63u);
    return moe_up(VC_MIN(all, VC_MAX((size_t)MOE_DOWN, (size_t)P * 64)) * sizeof(float));
}
static size_t hidden_stride(uint32_t I) { return vc_qact_stride(I, 32); }       /* at least that of blocks of 256 */
static size_t own_bytes(uint32_t E, uint32_t P, uint32_t H, uint32_t I) {
    const size_t gate_up = (size_t)MOE_ROWS * 2 * GU_COLS * sizeof(float);
    return moe_lists(E, P) + VC_IBLK_OWN / 64 * 64 + 64 + acts_bytes(H, I) + VC_MAX(gate_up, down_bytes(P, H));
}

struct part { struct moe m; char *tiles, *acts, *own, *hidden; size_t stride; };
static struct part part_of(const struct vc_op_call *c, uint32_t part, uint32_t parts, int sort) {
    const struct vc_moe_args *a = c->args;
    const uint32_t P = c->in[0].rows * a->top_k, H = c->out[0].cols, I = a->intermediate;
    char *mine = (char *)c->scratch + part * own_bytes(a->num_experts, P, H, I);
    struct part p = { .m = moe_of(c, mine, sort), .stride = hidden_stride(I) };
    p.tiles = mine + moe_lists(a->num_experts, P);
    p.acts = p.tiles + VC_IBLK_OWN / 64 * 64 + 64;
    p.own = p.acts + acts_bytes(H, I);
    p.hidden = (char *)c->scratch + parts * own_bytes(a->num_experts, P, H, I);
    return p;
}

/* Outputs [n0, n1) of expert e with weight `in` into y; n0 a multiple of 32. The rows are arranged in p->acts. */
static void columns(const struct part *p, struct vc_iblk_job *j, int in, uint32_t e, uint32_t n0, uint32_t n1, float *y,
                    size_t width) {
    const struct vc_op_call *c = p->m.c;
    const size_t stride = in == 3 ? p->m.a->stride13 : p->m.a->stride2;
    vc_iblk_at(j, (const char *)c->in[in].data + e * stride, in == 3 ? 2 * p->m.I : p->m.H, n0);
    j->N = n1 - n0;
    j->y = (char *)y;
    j->y_stride = width * sizeof(float);
    VC_K(vc_iblk_panels)(j, p->acts, p->tiles, 0, (uint32_t)vc_iblk_num_panels(j->N));
}

/* Hidden values [n0, n1) of one row (f32, over the gate values) to int8 in their places of the row at `dst`. */
static void quantize(const struct part *p, float *h, uint32_t n0, uint32_t n1, char *dst) {
    const uint32_t I = p->m.I, block = vc_qact_block(p->m.c->in[4].dtype), n = n1 - n0;
    VC_ALIGNED(64) char row[GU_COLS + 64 + 64];
    const struct vc_quantize_args qa = { block };
    const struct vc_contract plain = { .op = VC_OP_QUANTIZE };             /* quant.scale is of the op QUANTIZE alone */
    const struct vc_op_call call = { .contract = &plain, .args = &qa, .in = { { h, h, n * sizeof(float), 1, n, VC_F32 } },
                                     .out = { { row, row, sizeof row, 1, n, block == 32 ? VC_A8_32 : VC_A8_256 } } };
    VC_K(vc_quantize)(&call, 0, 1);
    memcpy(dst + n0, row, n);
    memcpy(dst + vc_qact_d_at(I) + n0 / block * sizeof(float), row + vc_qact_d_at(n), n / block * sizeof(float));
    memcpy(dst + vc_qact_sum_at(I, block) + n0 / 16 * 2, row + vc_qact_sum_at(n, block), n / 16 * 2);
}

static void gate_up(const struct moe *m, void *ctx, uint32_t e, uint32_t b0, uint32_t b1) {
    const struct part *p = ctx;
    const struct vc_op_call *c = m->c;
    float *gate = (float *)(void *)p->own, *up = gate + (size_t)MOE_ROWS * GU_COLS;
    for (uint32_t at = m->first[e]; at < m->first[e + 1]; at += MOE_ROWS) {
        const uint32_t M = VC_MIN((uint32_t)MOE_ROWS, m->first[e + 1] - at);
        struct vc_iblk_job j = { .weight = c->in[3].dtype,
                                 .out = VC_F32,
                                 .M = M,
                                 .K = m->H,
                                 .x = c->in[0].data,
                                 .x_stride = c->in[0].stride,
                                 .x_rows = m->token + at };
        VC_K(vc_iblk_rows)(&j, p->acts, 0, M);
        for (uint32_t b = b0; b < b1; b++) {
            const uint32_t n0 = b * GU_COLS, n1 = VC_MIN(n0 + GU_COLS, m->I);
            columns(p, &j, 3, e, n0, n1, gate, GU_COLS);
            columns(p, &j, 3, e, m->I + n0, m->I + n1, up, GU_COLS);
            for (uint32_t r = 0; r < M; r++) {
                float *g = gate + (size_t)r * GU_COLS, *u = up + (size_t)r * GU_COLS;
                for (uint32_t i = 0; i < n1 - n0; i += 16)
                    vc_vf_store(g + i, moe_hidden(c, vc_vf_load(g + i), vc_vf_load(u + i)));
                quantize(p, g, n0, n1, p->hidden + (at + r) * p->stride);
            }
        }
    }
}

void VC_K(vc_moe_iblk_hidden)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    struct part p = part_of(c, part, parts, 1);
    moe_shares(&p.m, (p.m.I + GU_COLS - 1) / GU_COLS, part, parts, gate_up, &p);
}

void VC_K(vc_moe_iblk_down)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct part p = part_of(c, part, parts, 0);
    const struct moe *m = &p.m;
    const uint32_t cols = moe_down_cols(m->P, m->H);
    float *down = (float *)(void *)p.own;
    uint64_t lo, hi;
    vc_share(m->H, VC_IBLK_COLS, part, parts, &lo, &hi);
    for (uint32_t c0 = (uint32_t)lo, c1; c0 < hi; c0 = c1) {
        c1 = VC_MIN(c0 + cols, (uint32_t)hi);
        for (uint32_t e = 0; e < m->a->num_experts; e++)
            for (uint32_t at = m->first[e]; at < m->first[e + 1]; at += MOE_ROWS) {
                const uint32_t M = VC_MIN((uint32_t)MOE_ROWS, m->first[e + 1] - at);
                struct vc_iblk_job j = { .weight = c->in[4].dtype,
                                         .out = VC_F32,
                                         .M = M,
                                         .K = m->I,
                                         .x = p.hidden + at * p.stride,
                                         .x_stride = p.stride };
                VC_K(vc_iblk_rows)(&j, p.acts, 0, M);
                columns(&p, &j, 4, e, c0, c1, down + (size_t)at * cols, cols);
            }
        moe_combine(m, down, cols, c0, c1);
    }
}

size_t VC_K(vc_moe_iblk_scratch)(const struct vc_dims *d, uint32_t parts);
size_t VC_K(vc_moe_iblk_scratch)(const struct vc_dims *d, uint32_t parts) {
    const uint32_t P = d->max_rows * d->top_k;
    return parts * own_bytes(d->num_experts, P, d->N, d->intermediate) + P * hidden_stride(d->intermediate);
}
