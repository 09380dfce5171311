/* SPDX-License-Identifier: Apache-2.0
 * moe_plan.h: what the expert kernels share. The (token, choice) pairs are sorted by expert (counting sort, stable:
 * every part does it for itself); an expert's rows are taken in chunks of MOE_ROWS. Phase 0 makes the hidden values of
 * all pairs, each part for a share of (expert, columns); phase 1 gives each part output columns of all tokens, so that
 * it can add them up itself. Neither the grouping nor the shares enter a result: every output is its own chain.
 * Scratch: the parts' own memory, then the hidden values. */
#ifndef VC_KERN_MOE_PLAN_H
#define VC_KERN_MOE_PLAN_H

#include <string.h>

#include "base/pool.h"
#include "dev/kernel.h"
#include "kern/cpu/act_lanes.h"
#include "kern/cpu/fast_exp_lanes.h"
#include "kern/cpu/simd.h"

enum {
    MOE_ROWS = 120,                                   /* a multiple of every tile's rows */
    MOE_LEAST = 8,                                    /* rows whose cost a block of weights has at least */
    MOE_DOWN = 1 << 20                                /* floats of phase 1's buffer, if 64 columns of all pairs fit */
};

struct moe {
    const struct vc_moe_args *a;
    const struct vc_op_call *c;
    uint32_t T, P, H, I;                              /* tokens, pairs, hidden and intermediate size */
    uint32_t *first;                                  /* [E + 1]: an expert's pairs in the sorted order */
    uint32_t *token;                                  /* [P]: token of each sorted pair */
    uint32_t *place;                                  /* [P]: sorted place of pair t * top_k + j */
};

static inline size_t moe_up(size_t bytes) { return (bytes + 63) & ~(size_t)63; }
static inline size_t moe_lists(uint32_t E, uint32_t P) { return moe_up(((size_t)E + 1 + 2 * (size_t)P) * 4); }

static inline uint32_t moe_id(const struct vc_op_call *c, uint32_t t, uint32_t j) {
    return (uint32_t)((const int32_t *)(const void *)((const char *)c->in[1].data + (size_t)t * c->in[1].stride))[j];
}
/* Reads the call; `lists`: moe_lists bytes. sort: fills them (once per part). */
static inline struct moe moe_of(const struct vc_op_call *c, void *lists, int sort) {
    const struct vc_moe_args *a = c->args;
    struct moe m = {
        .a = a, .c = c, .T = c->in[0].rows, .P = c->in[0].rows * a->top_k, .H = c->out[0].cols, .I = a->intermediate
    };
    const uint32_t E = a->num_experts, k = a->top_k;
    m.first = lists;
    m.token = m.first + E + 1;
    m.place = m.token + m.P;
    if (!sort) return m;
    memset(m.first, 0, ((size_t)E + 1) * 4);
    for (uint32_t p = 0; p < m.P; p++) m.first[moe_id(c, p / k, p % k) + 1]++;
    for (uint32_t e = 0; e < E; e++) m.first[e + 1] += m.first[e];
    for (uint32_t p = 0; p < m.P; p++) {              /* first[e] moves to the end of e, that is first[e + 1] … */
        const uint32_t at = m.first[moe_id(c, p / k, p % k)]++;
        m.token[at] = p / k;
        m.place[p] = at;
    }
    for (uint32_t e = E; e > 0; e--) m.first[e] = m.first[e - 1];          /* … and back */
    m.first[0] = 0;
    return m;
}

/* Phase 0's share of (expert, block of columns): an expert's blocks cost its rows, at least MOE_LEAST. Calls
 * fn(m, ctx, e, b0, b1) for each expert of this part; blocks: of one expert. */
typedef void moe_share_fn(const struct moe *m, void *ctx, uint32_t e, uint32_t b0, uint32_t b1);
static inline void moe_shares(const struct moe *m, uint32_t blocks, uint32_t part, uint32_t parts, moe_share_fn *fn,
                              void *ctx) {
    uint64_t total = 0, at = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t e = 0; e < m->a->num_experts; e++) {
            const uint32_t rows = m->first[e + 1] - m->first[e], cost = VC_MAX(rows, (uint32_t)MOE_LEAST);
            if (!rows) continue;
            if (pass == 0) {
                total += (uint64_t)cost * blocks;
                continue;
            }
            /* Block b belongs to this part if its start lies in the part's stretch of the total. */
            const uint64_t lo = total * part / parts, hi = total * (part + 1) / parts;
            const uint64_t b0 = lo <= at ? 0 : (lo - at + cost - 1) / cost,
                           b1 = hi <= at ? 0 : (hi - at + cost - 1) / cost;
            const uint32_t from = (uint32_t)VC_MIN(b0, (uint64_t)blocks), to = (uint32_t)VC_MIN(b1, (uint64_t)blocks);
            if (from < to) fn(m, ctx, e, from, to);
            at += (uint64_t)cost * blocks;
        }
    }
}

/* Phase 1: columns that a part does at a time, so that its buffer [P][columns] stays small; a multiple of 64. */
static inline uint32_t moe_down_cols(uint32_t P, uint32_t H) {
    const uint32_t most = (H + 63) & ~63u, fit = MOE_DOWN / (P ? P : 1) & ~63u;
    return fit < 64 ? VC_MIN(64u, most) : VC_MIN(fit, most);
}

/* h = b_hidden(b_act(act(b_gate(g))) * b_gate(u)); vLLM's silu in the chain core. */
VC_INLINE vc_vf moe_hidden(const struct vc_op_call *c, vc_vf g, vc_vf u) {
    const uint8_t *slot = c->contract->slot;
    const struct vc_moe_args *a = c->args;
    const vc_vf gate = vc_vf_round_to(slot[VC_SLOT_EXPERT_GATE], g), up = vc_vf_round_to(slot[VC_SLOT_EXPERT_GATE], u),
                one = vc_vf_set1(1.0f);
    const vc_vf v = c->contract->core == VC_ARITH_CHAIN && a->act == VC_ACT_SILU
                        ? vc_vf_mul(gate, vc_vf_div(one, vc_vf_add(one, vc_vf_fast_exp(vc_vf_neg(gate)))))
                        : vc_vf_act(a->act, gate);
    return vc_vf_round_to(slot[VC_SLOT_EXPERT_HIDDEN], vc_vf_mul(vc_vf_round_to(slot[VC_SLOT_EXPERT_ACT], v), up));
}

/* y columns [c0, c1) of all tokens from down [sorted pair][width], column c0 first. */
static inline void moe_combine(const struct moe *m, const float *down, size_t width, uint32_t c0, uint32_t c1) {
    const struct vc_op_call *c = m->c;
    const struct vc_view *y = &c->out[0];
    const uint8_t slot = c->contract->slot[VC_SLOT_EXPERT_DOWN];
    const uint32_t k = m->a->top_k;
    for (uint32_t t = 0; t < m->T; t++) {
        const float *w = (const float *)(const void *)((const char *)c->in[2].data + (size_t)t * c->in[2].stride);
        char *row = (char *)y->data + (size_t)t * y->stride;
        for (uint32_t n = c0; n < c1; n += 16) {
            vc_vf sum = vc_vf_zero();
            for (uint32_t j = 0; j < k; j++) {
                const vc_vf d = vc_vf_round_to(slot, vc_vf_load(down + m->place[(size_t)t * k + j] * width + (n - c0))),
                            f = vc_vf_set1(w[j]);
                sum = j ? vc_vf_fma(d, f, sum) : vc_vf_mul(f, d);
            }
            if (c1 - n >= 16) vc_vf_store_as(y->dtype, row, n, sum);
            else vc_vf_store_as_n(y->dtype, row, n, sum, c1 - n);
        }
    }
}

#endif
