/* SPDX-License-Identifier: Apache-2.0
 * attention_tiled.c: ATTENTION, tiled core (op/ref/attention.c), all tiers.
 * Phase 0: a part takes blocks of query rows, or a stretch of the key tiles of one. It merges tiles as it goes where it
 * holds a block from its first tile; the tiles of a block begun by an earlier part go to scratch, each on its own.
 * Phase 1 merges those in index order; its work is shared by columns of the result. */
#include "kern/cpu/attn_block.h"
#include "kern/cpu/simd_math.h"

/* What a part works in, at its place in scratch. max, sum: rows of group g from 16 g. tile: records of single tiles. */
struct work {
    float *max, *sum, *row, *q, *acc, *o, *s, *tile;
    size_t stride;                            /* floats from row to row of acc and of a record's sums */
};
enum { GROUPS = VC_AT_ROWS / VC_AT_MR, RECORD_HEAD = 32 };   /* record: 16 maxima, 16 sums, then rows * stride */

static struct work work_of(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_attention_args *a = c->args;
    uint32_t hd = a->geom.head_dim;
    struct work w = { .max = (float *)c->scratch + part * vc_at_tiled_floats(hd, parts), .stride = vc_at_up16(hd) };
    w.sum = w.max + 16 * GROUPS;
    w.row = w.sum + 16 * GROUPS;
    w.q = w.row + w.stride;
    w.acc = w.q + (size_t)VC_AT_ROWS * hd;
    w.o = w.acc + VC_AT_ROWS * w.stride;
    w.s = w.o + VC_AT_MR * w.stride;
    w.tile = w.s + (size_t)VC_AT_ROWS * VC_AT_KEYS;
    return w;
}

#define SCORES(mr, t)                                                                                                  \
    static void scores_##mr##_##t(const float *q, const struct vc_at_pieces *x, uint32_t from, uint32_t to, uint32_t hd, float *s) { \
        if (VC_AT_FAR(mr, x)) vc_at_scores(mr, VC_AT_NV(mr), VC_##t, 1, 1, q, x, from, to, hd, s);                     \
        else vc_at_scores(mr, VC_AT_NV(mr), VC_##t, 1, 0, q, x, from, to, hd, s);                                      \
    }
VC_AT_INSTANCES(SCORES)

/* Where the sums of a tile go: acc = o * g + acc * f, or acc = o where f is NULL. o: [rows][stride], unfinished sums. */
struct sink { float *acc, *o; size_t stride; const float *f, *g; };

/* Columns d … of the sums over the pieces [from, to); first, last: of the tile. */
VC_INLINE void sum_columns(const uint32_t mr, const uint32_t nv, const enum vc_dtype t, const int far, const int tail, const float *p, const struct vc_at_pieces *x,
                           uint32_t from, uint32_t to, uint32_t hd, uint32_t d, const struct sink *k, int first, int last) {
    vc_vf c[VC_AT_MR][4];
    float *o = k->o + d, *acc = k->acc + d;
    if (first) {
        VC_UNROLL for (uint32_t i = 0; i < mr; i++)
            VC_UNROLL for (uint32_t j = 0; j < nv; j++) c[i][j] = vc_vf_zero();
    } else {
        VC_UNROLL for (uint32_t i = 0; i < mr; i++)
            VC_UNROLL for (uint32_t j = 0; j < nv; j++) c[i][j] = vc_vf_load(o + i * k->stride + j * 16);
    }
    vc_at_chain(mr, nv, t, 1, far, tail, p, x, from, to, hd, d, c);
    if (last && k->f) {
        VC_UNROLL for (uint32_t i = 0; i < mr; i++)
            VC_UNROLL for (uint32_t j = 0; j < nv; j++) {
                float *at = acc + i * k->stride + j * 16;
                vc_vf_store(at, vc_vf_fma(c[i][j], vc_vf_set1(k->g[i]), vc_vf_mul(vc_vf_load(at), vc_vf_set1(k->f[i]))));
            }
    } else {
        VC_UNROLL for (uint32_t i = 0; i < mr; i++)
            VC_UNROLL for (uint32_t j = 0; j < nv; j++) vc_vf_store((last ? acc : o) + i * k->stride + j * 16, c[i][j]);
    }
}
VC_INLINE void sum_all(const uint32_t mr, const uint32_t nv, const enum vc_dtype t, const int far, const float *p, const struct vc_at_pieces *x,
                       uint32_t from, uint32_t to, uint32_t hd, const struct sink *k) {
    uint32_t at = from, step = vc_at_step(t, hd);
    do {                                                   /* once even without pieces: the sums are zeros then */
        uint32_t end = VC_MIN(at + step, to), d = 0;
        int a = at == from, z = end == to;
        for (; d + 16 * nv <= hd; d += 16 * nv) sum_columns(mr, nv, t, far, 0, p, x, at, end, hd, d, k, a, z);
        if (nv > 1) for (; d + 16 <= hd; d += 16) sum_columns(mr, 1, t, far, 0, p, x, at, end, hd, d, k, a, z);
        if (d < hd) sum_columns(mr, 1, t, far, 1, p, x, at, end, hd, d, k, a, z);
        at = end;
    } while (at < to);
}
#define SUMS(mr, t)                                                                                                    \
    static void sums_##mr##_##t(const float *p, const struct vc_at_pieces *x, uint32_t from, uint32_t to, uint32_t hd, const struct sink *k) { \
        if (VC_AT_FAR(mr, x)) sum_all(mr, VC_AT_NV(mr), VC_##t, 1, p, x, from, to, hd, k);                             \
        else sum_all(mr, VC_AT_NV(mr), VC_##t, 0, p, x, from, to, hd, k);                                              \
    }
VC_AT_INSTANCES(SUMS)

typedef void scores_fn(const float *, const struct vc_at_pieces *, uint32_t, uint32_t, uint32_t, float *);
typedef void sums_fn(const float *, const struct vc_at_pieces *, uint32_t, uint32_t, uint32_t, const struct sink *);
static scores_fn *const scores_of[3][VC_AT_MR + 1] = VC_AT_TABLE(scores);
static sums_fn *const sums_of[3][VC_AT_MR + 1] = VC_AT_TABLE(sums);

/* What happens between a score and its exponential: x * scale, softcap, slot, mask. */
struct shape { float scale, cap; uint8_t score, prob; };

/* 64 scores of a row to probabilities in place; keys [from, to) of the tile are visible. */
VC_INLINE void softmax_row(const struct shape *h, float *s, int plain, int full, int32_t from, int32_t to, float *max, float *sum) {
    vc_vf x[4], m, none = vc_vf_set1(-INFINITY);
    VC_UNROLL for (int j = 0; j < 4; j++) {
        x[j] = vc_vf_mul(vc_vf_load(s + j * 16), vc_vf_set1(h->scale));
        if (!plain) {
            if (h->cap > 0.0f) x[j] = vc_vf_mul(vc_vf_tanh(vc_vf_div(x[j], vc_vf_set1(h->cap))), vc_vf_set1(h->cap));
            x[j] = vc_vf_round_to(h->score, x[j]);
        }
        if (!full) x[j] = vc_at_mask(x[j], j * 16, from, to, none);
    }
    m = vc_vf_max(vc_vf_max(x[0], x[1]), vc_vf_max(x[2], x[3]));
    *max = vc_at_max(m);
    m = vc_vf_set1(*max);
    VC_UNROLL for (int j = 0; j < 4; j++) x[j] = vc_at_exp(vc_vf_sub(x[j], m));
    *sum = vc_at_sum(vc_vf_add(vc_vf_add(x[0], x[1]), vc_vf_add(x[2], x[3])));
    VC_UNROLL for (int j = 0; j < 4; j++) vc_vf_store(s + j * 16, plain ? x[j] : vc_vf_round_to(h->prob, x[j]));
}

/* (M, L) and (m, l) merged into (M, L) for 16 rows; the factors of their sums. */
VC_INLINE void merge(float *M, float *L, const float *m, const float *l, float *f, float *g) {
    vc_vf a = vc_vf_load(M), b = vc_vf_load(m), x = vc_vf_max(a, b), fa = vc_at_exp(vc_vf_sub(a, x)), gb = vc_at_exp(vc_vf_sub(b, x));
    vc_vf_store(M, x);
    vc_vf_store(L, vc_vf_fma(vc_vf_load(l), gb, vc_vf_mul(vc_vf_load(L), fa)));
    vc_vf_store(f, fa);
    vc_vf_store(g, gb);
}

/* Group g of the block and the tile of keys k0 …; record NULL: merged into the part's sums, else put there. */
static void group_tile(const struct vc_op_call *c, const struct vc_at_block *b, const struct work *w, const struct shape *h,
                       const struct vc_at_pieces *x, uint32_t g, uint32_t k0, float *record) {
    const struct vc_attention_args *a = c->args;
    uint32_t group = a->num_heads / a->geom.num_kv_heads, hd = a->geom.head_dim, i0 = g * VC_AT_MR, mr = VC_MIN(b->n - i0, (uint32_t)VC_AT_MR);
    uint32_t first = vc_at_pos(b, group, i0), end = vc_at_pos(b, group, i0 + mr - 1), lo = vc_at_first(a->window, first);
    float m[16] = { 0 }, l[16] = { 0 }, f[16], e[16], *s = w->s + (size_t)i0 * VC_AT_KEYS;
    struct sink k = { .acc = w->acc + i0 * w->stride, .o = w->o, .stride = w->stride, .f = f, .g = e };
    if (record) k = (struct sink){ .acc = record + RECORD_HEAD + i0 * w->stride, .o = w->o, .stride = w->stride };
    uint32_t from = 0, to = 0;
    if (end >= k0 && lo < k0 + VC_AT_KEYS) {
        from = (VC_MAX(lo, k0) - k0) / 16;
        to = (VC_MIN(end, k0 + VC_AT_KEYS - 1) - k0) / 16 + 1;
    } else if (!record) return;
    int fmt = vc_at_format(c->in[1].dtype), plain = h->cap <= 0.0f && h->score == VC_F32 && h->prob == VC_F32;
    int full = first >= k0 + VC_AT_KEYS - 1 && vc_at_first(a->window, end) <= k0;
    scores_of[fmt][mr](w->q + (size_t)i0 * hd, x, from, to, hd, s);
    for (uint32_t i = 0; i < mr; i++) {
        uint32_t pos = vc_at_pos(b, group, i0 + i);
        int32_t lo_i = (int32_t)(VC_MAX(vc_at_first(a->window, pos), k0) - k0), hi_i = pos < k0 ? 0 : (int32_t)VC_MIN(pos - k0 + 1, (uint32_t)VC_AT_KEYS);
        if (full && plain) softmax_row(h, s + i * VC_AT_KEYS, 1, 1, 0, VC_AT_KEYS, &m[i], &l[i]);
        else if (plain) softmax_row(h, s + i * VC_AT_KEYS, 1, 0, lo_i, hi_i, &m[i], &l[i]);
        else softmax_row(h, s + i * VC_AT_KEYS, 0, 0, lo_i, hi_i, &m[i], &l[i]);
    }
    if (!record) merge(w->max + 16 * g, w->sum + 16 * g, m, l, f, e);
    else {
        memcpy(record + i0, m, mr * sizeof *m);
        memcpy(record + 16 + i0, l, mr * sizeof *l);
    }
    sums_of[fmt][mr](s, x, from, to, hd, &k);
}

/* Tiles [t0, t1) of a block, counted from its first. */
static void stretch(const struct vc_op_call *c, const struct vc_at_block *b, struct work *w, uint32_t t0, uint32_t t1) {
    const struct vc_attention_args *a = c->args;
    uint32_t hd = a->geom.head_dim, groups = (b->n + VC_AT_MR - 1) / VC_AT_MR;
    const struct shape h = { a->scale, a->softcap, c->contract->slot[VC_SLOT_ATTN_SCORE], c->contract->slot[VC_SLOT_ATTN_PROB] };
    struct vc_at_pieces x, next;
    vc_at_load_q(c, b, 1.0f, w->row, w->q);
    vc_at_find(c, b, (b->lo / VC_AT_KEYS + t0) * VC_AT_KEYS, b->hi, &next);
    if (!t0) {
        memset(w->acc, 0, b->n * w->stride * sizeof *w->acc);
        for (uint32_t i = 0; i < 16 * GROUPS; i++) {
            w->max[i] = -INFINITY;
            w->sum[i] = 0.0f;
        }
    }
    for (uint32_t t = t0; t < t1; t++) {
        uint32_t k0 = (b->lo / VC_AT_KEYS + t) * VC_AT_KEYS;
        float *record = t0 ? w->tile + (t - t0) * vc_at_record_floats(hd, b->n) : NULL;
        struct vc_at_pieces here = next;                   /* the first group prefetches the next tile */
        x = next;
        if (t + 1 < t1) {
            vc_at_find(c, b, k0 + VC_AT_KEYS, b->hi, &next);
            x.far = 1;
            memcpy(x.ahead_k, next.k, sizeof next.k);
            memcpy(x.ahead_v, next.v, sizeof next.v);
        }
        if (record) memset(record, 0, RECORD_HEAD * sizeof *record);
        for (uint32_t g = 0; g < groups; g++) group_tile(c, b, w, &h, g ? &here : &x, g, k0, record);
    }
    if (t0 || t1 != b->tiles) return;
    for (uint32_t i = 0; i < b->n; i++)
        vc_at_store(c, b, i, 1.0f / w->sum[i / VC_AT_MR * 16 + i % VC_AT_MR], w->acc + i * w->stride, 0, hd);
}

vc_op_fn VC_K(vc_attention_tiled), VC_K(vc_attention_tiled_merge);
void VC_K(vc_attention_tiled)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    struct work w = work_of(c, part, parts);
    struct vc_at_plan plan;
    struct vc_at_block b;
    vc_at_start(&plan, c->args, parts, 1);
    while (vc_at_next(&plan, &b)) {
        uint32_t t0 = vc_at_cut(&plan, &b, part), t1 = vc_at_cut(&plan, &b, part + 1);
        if (t0 < t1) stretch(c, &b, &w, t0, t1);
    }
}

/* Merges the records of the parts after `first` into its sums: this part's share of the vectors of the result. */
static void merge_block(const struct vc_op_call *c, const struct vc_at_plan *plan, const struct vc_at_block *b, uint32_t first, uint32_t part) {
    const struct vc_attention_args *a = c->args;
    uint32_t hd = a->geom.head_dim, vectors = (hd + 15) / 16;
    struct work w = work_of(c, first, plan->parts);
    uint64_t lo, hi;
    float M[16], L[16], f[16], g[16];
    vc_share((uint64_t)b->n * vectors, 1, part, plan->parts, &lo, &hi);
    for (uint32_t i = 0; i < 16; i++) {
        M[i] = i < b->n ? w.max[i / VC_AT_MR * 16 + i % VC_AT_MR] : 0.0f;
        L[i] = i < b->n ? w.sum[i / VC_AT_MR * 16 + i % VC_AT_MR] : 0.0f;
    }
    for (uint32_t p = first + 1; p < plan->parts; p++) {
        uint32_t n = vc_at_cut(plan, b, p + 1) - vc_at_cut(plan, b, p);
        const float *r = work_of(c, p, plan->parts).tile;
        for (uint32_t t = 0; t < n; t++, r += vc_at_record_floats(hd, b->n)) {
            merge(M, L, r, r + 16, f, g);
            for (uint64_t u = lo; u < hi; u++) {
                size_t i = u / vectors, at = i * w.stride + u % vectors * 16;
                vc_vf o = vc_vf_mul(vc_vf_load(w.acc + at), vc_vf_set1(f[i]));
                vc_vf_store(w.acc + at, vc_vf_fma(vc_vf_load(r + RECORD_HEAD + at), vc_vf_set1(g[i]), o));
            }
        }
    }
    for (uint64_t u = lo; u < hi; u++) {
        uint32_t i = (uint32_t)(u / vectors), d = (uint32_t)(u % vectors) * 16;
        vc_at_store(c, b, i, 1.0f / L[i], w.acc + i * w.stride, d, VC_MIN(d + 16, hd));
    }
}

void VC_K(vc_attention_tiled_merge)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    struct vc_at_plan plan;
    struct vc_at_block b;
    if (parts == 1) return;
    vc_at_start(&plan, c->args, parts, 1);
    while (vc_at_next(&plan, &b)) {
        if (b.n > VC_AT_CUT_ROWS) continue;
        uint32_t first = parts - 1;                        /* the part that holds the first tile */
        while (first && vc_at_cut(&plan, &b, first) > 0) first--;
        if (vc_at_cut(&plan, &b, first + 1) < b.tiles) merge_block(c, &plan, &b, first, part);
    }
}
