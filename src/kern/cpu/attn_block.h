/* SPDX-License-Identifier: Apache-2.0
 * attn_block.h: what both attention kernels share: blocks of query rows of one KV head, 16-token pieces of the cache,
 * and the two register tiles, scores (q k) and sums (p v), as templates over rows, vectors and KV format.
 * The rows of a block (attn_plan.h) are cut in groups of up to VC_AT_MR, one register tile each. Nothing here depends on how rows are cut into blocks or groups. */
#ifndef VC_KERN_CPU_ATTN_BLOCK_H
#define VC_KERN_CPU_ATTN_BLOCK_H

#include <float.h>
#include <math.h>

#include "base/pool.h"
#include "kern/cpu/attn_plan.h"
#include "kern/cpu/simd.h"
#include "op/args.h"
#include "op/attention.h"
#include "op/fast_exp.h"

enum { VC_AT_KEYS = VC_ATTN_TILE };

/* Vectors of 16 lanes beside each other in a register tile of mr rows: 8 to 12 accumulators of the machine where the
 * registers allow it, enough to hide the latency of the fma. */
#if VC_TIER_LEVEL == 2
#define VC_AT_NV(mr) ((mr) <= 3 ? 4 : 2)
#elif VC_TIER_LEVEL == 1
#define VC_AT_NV(mr) ((mr) == 1 ? 4 : (mr) == 2 ? 2 : 1)
#else
#define VC_AT_NV(mr) 1
#endif

/* Row i of the block: row of q and y, and its first column. */
VC_INLINE uint32_t vc_at_row(const struct vc_at_block *b, const struct vc_attention_args *a, uint32_t i, uint32_t *col) {
    uint32_t group = a->num_heads / a->geom.num_kv_heads, r = b->r0 + i;
    *col = (b->kv_head * group + r % group) * a->geom.head_dim;
    return b->seq->row0 + r / group;
}

/* Rows of q, times `scale`, as one [head_dim][rows of the group] table per group. `row`: head_dim floats of scratch. */
VC_INLINE void vc_at_load_q(const struct vc_op_call *c, const struct vc_at_block *b, float scale, float *row, float *q) {
    const struct vc_attention_args *a = c->args;
    const struct vc_view *in = &c->in[0];
    uint32_t hd = a->geom.head_dim, size = in->dtype == VC_F32 ? 4 : 2;
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t col, g = i / VC_AT_MR, mr = VC_MIN(b->n - g * VC_AT_MR, (uint32_t)VC_AT_MR);
        const char *src = (const char *)in->data + (size_t)vc_at_row(b, a, i, &col) * in->stride;
        float *dst = q + (size_t)g * VC_AT_MR * hd + i % VC_AT_MR;
        src += (size_t)col * size;
        for (uint32_t d = 0; d + 16 <= hd; d += 16)
            vc_vf_store(row + d, vc_vf_mul(vc_vf_load_as(in->dtype, src, d), vc_vf_set1(scale)));
        if (hd % 16) vc_vf_store_n(row + hd - 8, vc_vf_mul(vc_vf_load_as_n(in->dtype, src, hd - 8, 8), vc_vf_set1(scale)), 8);
        for (uint32_t d = 0; d < hd; d++) dst[(size_t)d * mr] = row[d];
    }
}

/* Columns [d0, d1) of row i of the result: sum * inv, a zero without sign. d0 a multiple of 16; o has whole vectors. */
VC_INLINE void vc_at_store(const struct vc_op_call *c, const struct vc_at_block *b, uint32_t i, float inv, const float *o, uint32_t d0, uint32_t d1) {
    const struct vc_attention_args *a = c->args;
    const struct vc_view *out = &c->out[0];
    uint32_t col, row = vc_at_row(b, a, i, &col);
    char *dst = (char *)out->data + (size_t)row * out->stride + (size_t)col * (out->dtype == VC_F32 ? 4 : 2);
    for (uint32_t d = d0; d < d1; d += 16) {
        vc_vf y = vc_vf_mul(vc_vf_add(vc_vf_load(o + d), vc_vf_zero()), vc_vf_set1(inv));
        if (d + 16 <= d1) vc_vf_store_as(out->dtype, dst, d, y);
        else vc_vf_store_as_n(out->dtype, dst, d, y, 8);
    }
}

/* The 16-token pieces of up to 64 keys from key k0 (a multiple of 16) that hold keys up to `last`; later ones repeat
 * the first, so that every pointer is good to read. */
struct vc_at_pieces {
    const char *k[4], *v[4];
    const char *ahead_k[4], *ahead_v[4];      /* if `far`: what is prefetched, as many bytes, while k and v are read */
    int far;
};
VC_INLINE void vc_at_find(const struct vc_op_call *c, const struct vc_at_block *b, uint32_t k0, uint32_t last, struct vc_at_pieces *p) {
    const struct vc_attention_args *a = c->args;
    const struct vc_kv_geom *g = &a->geom;
    const struct vc_view *pool = &c->in[1];
    size_t size = pool->dtype == VC_F32 ? 4 : 2;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t pos = k0 + 16 * i <= last ? k0 + 16 * i : k0, tok = pos % g->page_tokens;
        const char *page = (const char *)pool->data + (size_t)b->seq->block_table[pos / g->page_tokens] * pool->stride;
        p->k[i] = page + vc_kv_k_index(g, b->kv_head, tok, 0) * size;
        p->v[i] = page + vc_kv_v_index(g, b->kv_head, tok, 0) * size;
    }
    p->far = 0;
    memcpy(p->ahead_k, p->k, sizeof p->k);
    memcpy(p->ahead_v, p->v, sizeof p->v);
}

/* Scores of mr rows and the 16-token pieces [from, to) of a tile: s[row][64] = one fma chain over head_dim, ascending, or
 * by pairs with the odd element first. */
VC_INLINE void vc_at_scores(const uint32_t mr, const uint32_t nv, const enum vc_dtype t, const int pair, const int far, const float *q,
                            const struct vc_at_pieces *x, uint32_t from, uint32_t to, uint32_t hd, float *s) {
    const size_t size = t == VC_F32 ? 4 : 2;
    for (uint32_t piece = from; piece < to; piece += nv) {
        vc_vf c[VC_AT_MR][4];
        const char *k[4], *ahead[4];
        const float *a = q;
        VC_UNROLL for (uint32_t j = 0; j < nv; j++) {
            uint32_t from_j = piece + j < 4 ? piece + j : piece;
            k[j] = x->k[from_j];
            ahead[j] = x->ahead_k[from_j];
        }
        VC_UNROLL for (uint32_t i = 0; i < mr; i++)
            VC_UNROLL for (uint32_t j = 0; j < nv; j++) c[i][j] = vc_vf_zero();
        for (uint32_t d = hd / 2; d; d--) {
            VC_UNROLL for (uint32_t z = 0; z < 2; z++) {
                const uint32_t e = pair ? 1 - z : z;
                vc_vf w[4];
                VC_UNROLL for (uint32_t j = 0; j < nv; j++) w[j] = vc_vf_load_as(t, k[j], e * 16);
                VC_UNROLL for (uint32_t i = 0; i < mr; i++) {
                    vc_vf b = vc_vf_set1(a[e * mr + i]);
                    VC_UNROLL for (uint32_t j = 0; j < nv; j++) c[i][j] = vc_vf_fma(b, w[j], c[i][j]);
                }
            }
            a += 2 * mr;
            VC_UNROLL for (uint32_t j = 0; j < nv; j++) {
                if (far) for (size_t line = 0; line < 32 * size; line += 64) VC_PREFETCH(ahead[j] + line);
                k[j] += 32 * size;
                ahead[j] += 32 * size;
            }
        }
        VC_UNROLL for (uint32_t i = 0; i < mr; i++)
            VC_UNROLL for (uint32_t j = 0; j < nv; j++)
                if (piece + j < 4) vc_vf_store(s + i * VC_AT_KEYS + (piece + j) * 16, c[i][j]);
    }
}

/* c[row][vector] += p v over the tokens of the pieces [from, to), columns d … of v. `tail`: one vector of 8 columns. */
VC_INLINE void vc_at_chain(const uint32_t mr, const uint32_t nv, const enum vc_dtype t, const int pair, const int far, const int tail, const float *p,
                           const struct vc_at_pieces *x, uint32_t from, uint32_t to, uint32_t hd, uint32_t d, vc_vf c[VC_AT_MR][4]) {
    const size_t size = t == VC_F32 ? 4 : 2, row = hd * size;
    for (uint32_t piece = from; piece < to; piece++) {
        const size_t bytes = (tail ? 16 : 32 * nv) * size;     /* of v in one step */
        const char *v = x->v[piece] + d * size, *ahead = x->ahead_v[piece] + d * 16 * size;
        const float *a = p + piece * 16;
        for (uint32_t k = 0; k < 8; k++) {
            VC_UNROLL for (uint32_t z = 0; z < 2; z++) {
                const uint32_t e = pair ? 1 - z : z;
                vc_vf w[4];
                VC_UNROLL for (uint32_t j = 0; j < nv; j++)
                    w[j] = tail ? vc_vf_load_as_n(t, v + e * row, 0, 8) : vc_vf_load_as(t, v + e * row, j * 16);
                VC_UNROLL for (uint32_t i = 0; i < mr; i++) {
                    vc_vf b = vc_vf_set1(a[i * VC_AT_KEYS + e]);
                    VC_UNROLL for (uint32_t j = 0; j < nv; j++) c[i][j] = vc_vf_fma(b, w[j], c[i][j]);
                }
            }
            if (far) for (size_t line = 0; line < bytes; line += 64) VC_PREFETCH(ahead + line);
            ahead += bytes;
            a += 2;
            v += 2 * row;
        }
    }
}

/* Pieces whose V rows are walked together, all columns, before the next: their lines should stay in the first cache,
 * where 64 long rows would meet in few sets. */
VC_INLINE uint32_t vc_at_step(enum vc_dtype t, uint32_t hd) { return hd * (t == VC_F32 ? 4 : 2) <= 256 ? 4 : 2; }

/* Whether an instance has code with prefetch: small ones always (they run where memory is the limit), and code without. */
#define VC_AT_FAR(mr, x) ((mr) < VC_AT_MR || (x)->far)

/* Instances: F(rows, format); a table of them by format and rows. */
#define VC_AT_EACH_MR(F, t) F(1, t) F(2, t) F(3, t) F(4, t) F(5, t) F(6, t)
#define VC_AT_INSTANCES(F) VC_AT_EACH_MR(F, F32) VC_AT_EACH_MR(F, BF16) VC_AT_EACH_MR(F, F16)
#define VC_AT_TABLE_ROW(name, t) { NULL, name##_1_##t, name##_2_##t, name##_3_##t, name##_4_##t, name##_5_##t, name##_6_##t }
#define VC_AT_TABLE(name) { VC_AT_TABLE_ROW(name, F32), VC_AT_TABLE_ROW(name, BF16), VC_AT_TABLE_ROW(name, F16) }
VC_INLINE int vc_at_format(enum vc_dtype t) { return t == VC_F32 ? 0 : t == VC_BF16 ? 1 : 2; }

/* The lanes below `from` and from `to` on become `other`; base: index of lane 0. */
VC_INLINE vc_vf vc_at_mask(vc_vf a, int32_t base, int32_t from, int32_t to, vc_vf other) {
    static const int32_t iota[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    vc_vi i = vc_vi_add(vc_vi_load(iota), vc_vi_set1(base));
    a = vc_vf_select(vc_vi_gt(vc_vi_set1(from), i), other, a);
    return vc_vf_select(vc_vi_gt(vc_vi_set1(to), i), a, other);
}

/* Largest lane, and the sum i+8, +4, +2, +1, in registers. */
#if VC_TIER_LEVEL >= 1
VC_INLINE __m256 vc_at_half(vc_vf x, int upper) {
#if VC_TIER_LEVEL == 2
    return upper ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x);
#else
    return upper ? x.b : x.a;
#endif
}
VC_INLINE float vc_at_max(vc_vf x) {
    __m256 a = _mm256_max_ps(vc_at_half(x, 0), vc_at_half(x, 1));
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}
VC_INLINE float vc_at_sum(vc_vf x) {
    __m256 a = _mm256_add_ps(vc_at_half(x, 0), vc_at_half(x, 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}
#else
VC_INLINE float vc_at_max(vc_vf x) { return vc_vf_hmax(x); }
VC_INLINE float vc_at_sum(vc_vf x) { return vc_vf_tree(x); }
#endif

/* vc_fast_exp and vc_attn_exp, the same steps on sixteen lanes. */
VC_INLINE vc_vf vc_at_fast_exp(vc_vf x) {
    vc_vf lo = vc_vf_set1(vc_bits_f32(VC_FAST_EXP_MIN)), v = vc_vf_max(vc_vf_min(x, vc_vf_set1(vc_bits_f32(VC_FAST_EXP_MAX))), lo);
    vc_vf n = vc_vf_floor(vc_vf_fma(v, vc_vf_set1(vc_bits_f32(VC_FAST_EXP_LOG2E)), vc_vf_set1(0.5f)));
    vc_vf r = vc_vf_fnma(n, vc_vf_set1(vc_bits_f32(VC_FAST_EXP_LN2)), v);
    vc_vf p = vc_vf_fma(r, vc_vf_set1(VC_FAST_EXP_C5), vc_vf_set1(VC_FAST_EXP_C4));
    p = vc_vf_fma(r, p, vc_vf_set1(VC_FAST_EXP_C3));
    p = vc_vf_fma(r, p, vc_vf_set1(VC_FAST_EXP_C2));
    p = vc_vf_fma(r, p, vc_vf_set1(VC_FAST_EXP_C1));
    p = vc_vf_fma(r, p, vc_vf_set1(1.0f));
    vc_vf scale = vc_vi_float(vc_vi_shl(vc_vi_add(vc_vf_int(n), vc_vi_set1(126)), 23));
    return vc_vf_select(vc_vf_lt(x, lo), vc_vf_zero(), vc_vf_mul(vc_vf_mul(p, scale), vc_vf_set1(2.0f)));
}
VC_INLINE vc_vf vc_at_exp(vc_vf x) {
    vc_vf magic = vc_vf_set1(VC_ATTN_EXP_MAGIC), t = vc_vf_add(vc_vf_mul(x, vc_vf_set1(VC_ATTN_EXP_LOG2E)), magic);
    vc_vf n = vc_vf_sub(t, magic), r = vc_vf_fnma(n, vc_vf_set1(VC_ATTN_EXP_LN2_HI), x);
    r = vc_vf_fnma(n, vc_vf_set1(VC_ATTN_EXP_LN2_LO), r);
    vc_vf p = vc_vf_fma(vc_vf_set1(VC_ATTN_EXP_C6), r, vc_vf_set1(VC_ATTN_EXP_C5));
    p = vc_vf_fma(p, r, vc_vf_set1(VC_ATTN_EXP_C4));
    p = vc_vf_fma(p, r, vc_vf_set1(VC_ATTN_EXP_C3));
    p = vc_vf_fma(p, r, vc_vf_set1(VC_ATTN_EXP_C2));
    p = vc_vf_fma(p, r, vc_vf_set1(1.0f));
    p = vc_vf_fma(p, r, vc_vf_set1(1.0f));
    vc_vf y = vc_vi_float(vc_vi_add(vc_vf_bits(p), vc_vi_shl(vc_vf_bits(t), 23)));
    return vc_vf_select(vc_vf_le(vc_vf_set1(VC_ATTN_EXP_MIN), x), y, vc_vf_zero());
}

#endif
