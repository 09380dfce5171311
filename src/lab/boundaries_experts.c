/* SPDX-License-Identifier: Apache-2.0
 * boundaries_experts.c: the routing and the experts of a recorded layer. */
#include <stdio.h>
#include <string.h>

#include "lab/boundaries.h"
#include "num/round.h"

/* f32 weights: words more than two ulps off under the right rule; all differing words under another. */
static uint64_t differ_f32(struct lab_replay *r, const struct vc_view *got, const char *name, double ulps,
                           uint64_t *total) {
    struct vc_view want = lab_input(r, name);
    uint64_t n = 0;
    *total = (uint64_t)got->rows * got->cols;
    if (r->err.status != VC_OK || want.rows != got->rows || want.cols != got->cols) return *total;
    for (uint32_t i = 0; i < want.rows; i++)
        for (uint32_t c = 0; c < want.cols; c++) {
            const float *a = (const float *)(const void *)((const char *)got->data + i * got->stride),
                        *b = (const float *)(const void *)((const char *)want.data + i * want.stride);
            n += vc_ulp_distance(VC_F32, (double)a[c], (double)b[c]) > ulps;
        }
    return n;
}

uint64_t lab_stage_route(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                         uint64_t *total) {
    struct vc_numerics n;
    if (!lab_numerics(r, spec, &n)) return 0;
    struct vc_view in = lab_input(r, lab_join(r, s->prefix, "router", ".logits"));
    struct vc_view out[2] = { lab_matrix(r, r->rows, r->top_k, VC_I32), lab_matrix(r, r->rows, r->top_k, VC_F32) };
    struct vc_router_args a = { r->experts, r->top_k, 1 };
    struct vc_dims d = {
        .N = r->hidden, .K = r->hidden, .num_experts = r->experts, .top_k = r->top_k, .intermediate = r->intermediate
    };
    lab_run_op(r, &n, VC_OP_ROUTER, (enum vc_arith)n.core[VC_CHOICE_ROUTER], &a, d, &in, 1, out, 2);
    if (what == LAB_IDS) return lab_differ(r, &out[0], lab_join(r, s->prefix, "experts", ".topk_ids"), total);
    return differ_f32(r, &out[1], lab_join(r, s->prefix, "experts", ".topk_weights"), strchr(spec, ',') ? 0 : 2, total);
}

static void one_expert(struct lab_replay *r, struct vc_view *ids, struct vc_view *weights, int32_t e) {
    *ids = lab_matrix(r, r->rows, 1, VC_I32);
    *weights = lab_matrix(r, r->rows, 1, VC_F32);
    if (r->err.status != VC_OK) return;
    for (uint32_t i = 0; i < r->rows; i++) {
        *(int32_t *)(void *)((char *)ids->data + i * ids->stride) = e;
        *(float *)(void *)((char *)weights->data + i * weights->stride) = 1.0f;
    }
}

/* LAB_SINGLE: every expert alone with weight 1, for all tokens; LAB_SUM: the recorded choice and weights. */
uint64_t lab_stage_experts(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                           uint64_t *total) {
    struct vc_numerics n;
    const struct vc_tensor **t13 = VC_NEW_ARRAY(&r->arena, const struct vc_tensor *, (size_t)r->experts * 2),
                           **t2 = VC_NEW_ARRAY(&r->arena, const struct vc_tensor *, r->experts);
    uint64_t differ = 0;
    *total = 0;
    if (!lab_numerics(r, spec, &n) || !t13 || !t2) return 0;
    for (uint32_t e = 0; e < r->experts; e++) {
        char name[64];
        static const char *const part[3] = { "gate_proj", "up_proj", "down_proj" };
        for (uint32_t i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "mlp.experts.%u.%s.weight", e, part[i]);
            *(i < 2 ? &t13[2 * e + i] : &t2[e]) = lab_weight(r, s, name);
        }
    }
    enum vc_arith core = (enum vc_arith)n.core[VC_CHOICE_EXPERTS];
    struct vc_moe_args a = { r->experts, r->top_k, r->intermediate, VC_ACT_SILU, 0, 0 };
    struct vc_view in[5] = { lab_input(r, lab_join(r, s->prefix, "experts", ".in")) };
    in[3] = lab_panel(r, VC_OP_MOE, core, t13, 2, r->experts, &a.stride13);
    in[4] = lab_panel(r, VC_OP_MOE, core, t2, 1, r->experts, &a.stride2);
    struct vc_view out = lab_matrix(r, r->rows, r->hidden, VC_BF16);
    for (uint32_t e = 0; e < (what == LAB_SINGLE ? r->experts : 1u); e++) {
        char name[32];
        uint64_t words;
        snprintf(name, sizeof name, what == LAB_SINGLE ? ".expert%u" : ".out", e);
        if (what == LAB_SINGLE) {
            a.top_k = 1;
            one_expert(r, &in[1], &in[2], (int32_t)e);
        } else {
            in[1] = lab_input(r, lab_join(r, s->prefix, "experts", ".topk_ids"));
            in[2] = lab_input(r, lab_join(r, s->prefix, "experts", ".topk_weights"));
        }
        struct vc_dims d = {
            .N = r->hidden, .K = r->hidden, .num_experts = r->experts, .top_k = a.top_k, .intermediate = r->intermediate
        };
        lab_run_op(r, &n, VC_OP_MOE, core, &a, d, in, 5, &out, 1);
        differ += lab_differ(r, &out, lab_join(r, s->prefix, "experts", name), &words);
        *total += words;
    }
    return differ;
}
