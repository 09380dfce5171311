/* SPDX-License-Identifier: Apache-2.0
 * attention_carried.c: ATTENTION, carried core (op/ref/attention.c), all tiers.
 * A part takes whole blocks of query rows, never a share of the keys. Per block: all scores of a KV tile, then maximum,
 * exponentials and sums of each row, then one P V chain per output that is carried over all tiles. */
#include "kern/cpu/attn_block.h"

/* What a part works in; the tables lie in scratch. */
struct work {
    float *row, *q, *acc, *s;                 /* s: [group][64-key piece of the tile][row][64] */
    size_t acc_stride, s_stride;              /* floats from row to row; from group to group */
    float m[VC_AT_ROWS], sum[VC_AT_ROWS];
};

#define SCORES(mr, t)                                                                                                  \
    static void scores_##mr##_##t(const float *q, const struct vc_at_pieces *x, uint32_t from, uint32_t to, uint32_t hd, float *s) { \
        if (VC_AT_FAR(mr, x)) vc_at_scores(mr, VC_AT_NV(mr), VC_##t, 0, 1, q, x, from, to, hd, s);                     \
        else vc_at_scores(mr, VC_AT_NV(mr), VC_##t, 0, 0, q, x, from, to, hd, s);                                      \
    }
VC_AT_INSTANCES(SCORES)

/* acc += p v for mr rows, all columns, over the pieces [from, to). */
VC_INLINE void chain_columns(const uint32_t mr, const uint32_t nv, const enum vc_dtype t, const int far, const int tail, const float *p,
                             const struct vc_at_pieces *x, uint32_t from, uint32_t to, uint32_t hd, uint32_t d, float *acc, size_t stride) {
    vc_vf c[VC_AT_MR][4];
    VC_UNROLL for (uint32_t i = 0; i < mr; i++)
        VC_UNROLL for (uint32_t j = 0; j < nv; j++) c[i][j] = vc_vf_load(acc + i * stride + d + j * 16);
    vc_at_chain(mr, nv, t, 0, far, tail, p, x, from, to, hd, d, c);
    VC_UNROLL for (uint32_t i = 0; i < mr; i++)
        VC_UNROLL for (uint32_t j = 0; j < nv; j++) vc_vf_store(acc + i * stride + d + j * 16, c[i][j]);
}
VC_INLINE void chain_all(const uint32_t mr, const uint32_t nv, const enum vc_dtype t, const int far, const float *p, const struct vc_at_pieces *x,
                         uint32_t from, uint32_t to, uint32_t hd, float *acc, size_t stride) {
    uint32_t step = vc_at_step(t, hd);
    for (uint32_t at = from, end; at < to; at = end) {
        uint32_t d = 0;
        end = VC_MIN(at + step, to);
        for (; d + 16 * nv <= hd; d += 16 * nv) chain_columns(mr, nv, t, far, 0, p, x, at, end, hd, d, acc, stride);
        if (nv > 1) for (; d + 16 <= hd; d += 16) chain_columns(mr, 1, t, far, 0, p, x, at, end, hd, d, acc, stride);
        if (d < hd) chain_columns(mr, 1, t, far, 1, p, x, at, end, hd, d, acc, stride);
    }
}
#define CHAIN(mr, t)                                                                                                   \
    static void chain_##mr##_##t(const float *p, const struct vc_at_pieces *x, uint32_t from, uint32_t to, uint32_t hd, float *acc, size_t stride) { \
        if (VC_AT_FAR(mr, x)) chain_all(mr, VC_AT_NV(mr), VC_##t, 1, p, x, from, to, hd, acc, stride);                 \
        else chain_all(mr, VC_AT_NV(mr), VC_##t, 0, p, x, from, to, hd, acc, stride);                                  \
    }
VC_AT_INSTANCES(CHAIN)

typedef void scores_fn(const float *, const struct vc_at_pieces *, uint32_t, uint32_t, uint32_t, float *);
typedef void chain_fn(const float *, const struct vc_at_pieces *, uint32_t, uint32_t, uint32_t, float *, size_t);
static scores_fn *const scores_of[3][VC_AT_MR + 1] = VC_AT_TABLE(scores);
static chain_fn *const chain_of[3][VC_AT_MR + 1] = VC_AT_TABLE(chain);

/* e = fast_exp(s / cap); ((e - 1/e) / (e + 1/e)) * cap */
VC_INLINE vc_vf softcap(vc_vf s, float inv, float cap) {
    vc_vf e = vc_at_fast_exp(vc_vf_mul(s, vc_vf_set1(inv))), i = vc_vf_div(vc_vf_set1(1.0f), e);
    return vc_vf_mul(vc_vf_div(vc_vf_sub(e, i), vc_vf_add(e, i)), vc_vf_set1(cap));
}

/* One row and tile: scores to probabilities in place, m and sum moved on. s: its 64-key pieces, `stride` floats apart;
 * vectors [from16, to16) of the tile are written, keys [from, to) of it are visible. Returns the factor of acc. */
static float softmax_row(const struct vc_op_call *c, float *s, size_t stride, uint32_t from16, uint32_t to16, int32_t from, int32_t to,
                         float *m, float *sum) {
    const struct vc_attention_args *a = c->args;
    uint8_t score = c->contract->slot[VC_SLOT_ATTN_SCORE], prob = c->contract->slot[VC_SLOT_ATTN_PROB];
    float inv = a->softcap > 0.0f ? (float)(1.0 / (double)a->softcap) : 0.0f;
    int plain = a->softcap <= 0.0f && score == VC_F32;
    vc_vf top = vc_vf_set1(-FLT_MAX), none = vc_vf_set1(-INFINITY), lanes = vc_vf_zero();
    for (uint32_t v = from16; v < to16; v++) {
        float *at = s + v / 4 * stride + v % 4 * 16;
        vc_vf x = vc_vf_load(at);
        if (!plain) {
            if (a->softcap > 0.0f) x = softcap(x, inv, a->softcap);
            x = vc_vf_round_to(score, x);
        }
        if ((int32_t)v * 16 < from || (int32_t)v * 16 + 16 > to) x = vc_at_mask(x, (int32_t)v * 16, from, to, none);
        else if (plain) {
            top = vc_vf_max(x, top);
            continue;
        }
        vc_vf_store(at, x);
        top = vc_vf_max(x, top);
    }
    float high = vc_at_max(top), old = *m;
    high = high > old ? high : old;
    float drop = old - high;
    int moved = drop < -8.0f;
    if (moved) *m = high;
    for (uint32_t v = from16; v < to16; v++) {
        float *at = s + v / 4 * stride + v % 4 * 16;
        vc_vf p = vc_at_fast_exp(vc_vf_sub(vc_vf_load(at), vc_vf_set1(*m)));
        lanes = vc_vf_add(lanes, p);
        vc_vf_store(at, prob == VC_F32 ? p : vc_vf_round_to(prob, p));
    }
    float part = vc_at_sum(lanes);
    if (!moved) {
        *sum = part + *sum;
        return 1.0f;
    }
    float f = vc_glibc_expf(drop);
    *sum = vc_fma(f, *sum, part);
    return f;
}

/* Rows of group g of the block in the tile of keys [t, t + tile): the vectors of 16 that any of them sees. */
struct span { uint32_t from16, to16; };
static struct span group_span(const struct vc_at_block *b, const struct vc_attention_args *a, uint32_t i0, uint32_t mr, uint32_t t, uint32_t tile) {
    uint32_t group = a->num_heads / a->geom.num_kv_heads;
    uint32_t lo = vc_at_first(a->window, vc_at_pos(b, group, i0)), hi = vc_at_pos(b, group, i0 + mr - 1);
    if (hi < t || lo >= t + tile) return (struct span){ 0, 0 };
    return (struct span){ (VC_MAX(lo, t) - t) / 16, (VC_MIN(hi, t + tile - 1) - t) / 16 + 1 };
}

static void softmax_group(const struct vc_op_call *c, const struct vc_at_block *b, struct work *w, uint32_t i0, uint32_t mr, uint32_t t,
                          uint32_t tile, struct span sp, float *s) {
    const struct vc_attention_args *a = c->args;
    uint32_t group = a->num_heads / a->geom.num_kv_heads, hd = a->geom.head_dim;
    for (uint32_t i = 0; i < mr; i++) {
        uint32_t pos = vc_at_pos(b, group, i0 + i), lo = vc_at_first(a->window, pos);
        int32_t from = (int32_t)(VC_MAX(lo, t) - t), to = pos < t ? 0 : (int32_t)(VC_MIN(pos, t + tile - 1) - t) + 1;
        float f = softmax_row(c, s + i * VC_AT_KEYS, VC_AT_MR * VC_AT_KEYS, sp.from16, sp.to16, from, to, &w->m[i0 + i], &w->sum[i0 + i]);
        float *acc = w->acc + (i0 + i) * w->acc_stride;
        if (f != 1.0f) for (uint32_t d = 0; d < hd; d += 16) vc_vf_store(acc + d, vc_vf_mul(vc_vf_load(acc + d), vc_vf_set1(f)));
    }
}

/* One 64-key piece of a tile for all groups: scores (pass 0) or sums (pass 1). `ahead` is prefetched by the first group. */
static void piece_step(const struct vc_op_call *c, const struct vc_at_block *b, struct work *w, const struct span *span, uint32_t piece, int pass,
                       const struct vc_at_pieces *here, const struct vc_at_pieces *first) {
    const struct vc_attention_args *a = c->args;
    uint32_t hd = a->geom.head_dim, groups = (b->n + VC_AT_MR - 1) / VC_AT_MR, v0 = piece * 4;
    int fmt = vc_at_format(c->in[1].dtype);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t mr = VC_MIN(b->n - g * VC_AT_MR, (uint32_t)VC_AT_MR);
        if (span[g].to16 <= v0 || span[g].from16 >= v0 + 4) continue;
        uint32_t from = VC_MAX(span[g].from16, v0) - v0, to = VC_MIN(span[g].to16 - v0, 4u);
        float *s = w->s + g * w->s_stride + (size_t)piece * VC_AT_MR * VC_AT_KEYS;
        const struct vc_at_pieces *x = g ? here : first;
        if (!pass) scores_of[fmt][mr](w->q + (size_t)g * VC_AT_MR * hd, x, from, to, hd, s);
        else chain_of[fmt][mr](s, x, from, to, hd, w->acc + g * VC_AT_MR * w->acc_stride, w->acc_stride);
    }
}

/* One KV tile for all groups of the block. Prefetched: the next piece; after the last keys of the tile its first values,
 * after its last values the first keys of the next tile. */
static void tile_step(const struct vc_op_call *c, const struct vc_at_block *b, struct work *w, uint32_t t, uint32_t tile) {
    const struct vc_attention_args *a = c->args;
    uint32_t groups = (b->n + VC_AT_MR - 1) / VC_AT_MR, last = VC_MIN(b->hi, t + tile - 1);
    uint32_t from = (VC_MAX(t, b->lo) - t) / VC_AT_KEYS, to = (last - t) / VC_AT_KEYS + 1;
    struct span span[VC_AT_ROWS / VC_AT_MR];
    struct vc_at_pieces here, next, x;
    for (uint32_t g = 0; g < groups; g++)
        span[g] = group_span(b, a, g * VC_AT_MR, VC_MIN(b->n - g * VC_AT_MR, (uint32_t)VC_AT_MR), t, tile);
    vc_at_find(c, b, t + from * VC_AT_KEYS, last, &here);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t piece = from; piece < to; piece++, here = next) {
            int more = piece + 1 < to;
            next = here;
            if (more || !pass) vc_at_find(c, b, t + (more ? piece + 1 : from) * VC_AT_KEYS, last, &next);
            else if (last < b->hi) vc_at_find(c, b, t + tile, b->hi, &next);
            x = here;
            x.far = 1;
            memcpy(x.ahead_k, more ? next.k : next.v, sizeof next.k);
            memcpy(x.ahead_v, more ? next.v : next.k, sizeof next.v);
            piece_step(c, b, w, span, piece, pass, &here, &x);
        }
        for (uint32_t g = 0; !pass && g < groups; g++)
            if (span[g].to16) softmax_group(c, b, w, g * VC_AT_MR, VC_MIN(b->n - g * VC_AT_MR, (uint32_t)VC_AT_MR), t, tile, span[g], w->s + g * w->s_stride);
    }
}

static void block(const struct vc_op_call *c, const struct vc_at_block *b, struct work *w) {
    const struct vc_attention_args *a = c->args;
    uint32_t hd = a->geom.head_dim, tile = vc_carried_tile(hd);
    vc_at_load_q(c, b, a->scale, w->row, w->q);
    memset(w->acc, 0, b->n * w->acc_stride * 4);
    for (uint32_t i = 0; i < b->n; i++) {
        w->m[i] = -FLT_MAX;
        w->sum[i] = 0.0f;
    }
    for (uint32_t t = b->lo / tile * tile; t <= b->hi; t += tile) tile_step(c, b, w, t, tile);
    for (uint32_t i = 0; i < b->n; i++) vc_at_store(c, b, i, 1.0f / w->sum[i], w->acc + i * w->acc_stride, 0, hd);
}

vc_op_fn VC_K(vc_attention_carried);
void VC_K(vc_attention_carried)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_attention_args *a = c->args;
    uint32_t hd = a->geom.head_dim;
    float *mem = (float *)c->scratch + part * vc_at_carried_floats(hd);
    struct work w = { .row = mem, .acc_stride = vc_at_up16(hd), .s_stride = VC_AT_MR * VC_AT_KEYS * vc_at_carried_pieces(hd) };
    w.q = w.row + vc_at_up16(hd);
    w.acc = w.q + (size_t)VC_AT_ROWS * hd;
    w.s = w.acc + VC_AT_ROWS * w.acc_stride;
    struct vc_at_plan plan;
    struct vc_at_block b;
    vc_at_start(&plan, a, parts, 0);
    while (vc_at_next(&plan, &b))
        if (vc_at_owner(&plan, &b) == part) block(c, &b, &w);
}
