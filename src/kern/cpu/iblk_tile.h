/* SPDX-License-Identifier: Apache-2.0
 * iblk_tile.h: the tile of the iblk core for AVX2 and AVX-512: mr rows by nr vectors of columns over n blocks of one K block.
 * Two sources of weights: `direct`, the panel itself, unpacked in registers (one row: the stream of weights is the limit),
 * or codes and scales unpacked before into this thread's memory (struct vc_iblk_own), shared by many rows.
 * AVX2: vpmaddubsw adds pairs of products in 16 bits; sums of a (sub-)block wrap but end in range because they start from
 * -offset * Σa of each 16-bit lane: |Σ (q - offset) a| <= 16 * 16 * 127 (Q5), 8 * 32 * 127 (Q6_K, sub-blocks of 16), at most 32512.
 * Q8_0 has no room in 16 bits: |w| by sign(a, w), then vpmaddwd with ones.
 * AVX-512: vpdpbusd in 32 bits from -offset * Σa. K-quants: |Σ scale * isum| <= 16 * 128 * 16 * 32 * 127 < 2^31. */
#ifndef VC_KERN_CPU_IBLK_TILE_H
#define VC_KERN_CPU_IBLK_TILE_H

#include "kern/cpu/iblk_simd.h"

enum {
    MR = 6,                                     /* most rows of a tile */
    NR = 2,                                     /* vectors of a tile when not direct */
    CHUNK = 512,                                /* k unpacked at a time */
    ROWS = 120                                  /* rows that share an unpacked chunk: a multiple of MR and VC_IBLK_ROWS */
};

/* Codes: [32 / (NR * VL)] halves of the columns, each [k group][NR * VL][4], unsigned but Q8_0 on AVX2. */
struct vc_iblk_own {
    uint8_t codes[CHUNK * 32];
    float d[CHUNK / 32][32], m[CHUNK / 32][32];
    int32_t scale[CHUNK / 16][32];              /* AVX2: int16 twice */
    int16_t mins[CHUNK / 32][32][2];
    float acc[ROWS][32], sum[ROWS][32];         /* of this K block; of the K blocks before */
    int32_t total[MR * 32];
};
_Static_assert(sizeof(struct vc_iblk_own) <= VC_IBLK_OWN, "VC_IBLK_OWN");

/* The activations of one tile of mr rows, interleaved: value i of row r stands at [i * mr + r].
 * q: 4 k per dword; d per block; init per sub-block: -offset * Σa,
 * on AVX2 for each 16-bit lane; aux: Q4_1, Q5_1 f32 Σa per 32; K-quants with minimum int16 pairs of Σa per two sub-blocks;
 * add: 16 Σa per 32 (Q5_1 on AVX2, which is centred to stay in range). */
struct vc_iblk_tile {
    const uint8_t *w;                           /* direct: panel block at the first column; else codes */
    const uint8_t *low;                         /* direct: its part behind the blocks; w where there is none */
    const uint8_t *w_end, *low_end;             /* direct: vc_iblk_ahead_end of both */
    struct vc_iblk_own *own;
    const uint32_t *q, *init, *aux, *add;
    const float *d;
    uint32_t n, unit0, c0;                      /* blocks; place of the first block and column in own's arrays */
    float *acc;                                 /* [mr][32] */
    int first;                                  /* acc starts from 0 */
};
typedef void vc_iblk_tile_fn(const struct vc_iblk_tile *t);

#define EACH_I VC_UNROLL for (int i = 0; i < mr; i++)
#define EACH_J VC_UNROLL for (int j = 0; j < nr; j++)

VC_INLINE int vc_iblk_centre(const enum vc_dtype f) {
    if (VC_TIER_LEVEL == 1) return f == VC_Q5_1 ? 16 : f == VC_Q8_0 ? 0 : vc_iblk_offset(f);
    return vc_iblk_offset(f);
}
/* Rows of a full tile; fewer where the sums need more registers. */
VC_INLINE uint32_t vc_iblk_tile_rows(const enum vc_dtype f) { return VC_TIER_LEVEL == 1 && (vc_iblk_is_k(f) || f == VC_Q8_0) ? 4 : MR; }

/* s += codes of k groups [g0, g1) by the rows' activations. u: direct: unit; else codes of k group 0 of the unit. */
VC_INLINE void vc_iblk_dots(const enum vc_dtype f, const int mr, const int nr, const int direct, const uint8_t *u,
                            const uint8_t *low, const uint32_t *q, const int g0, const int g1, vi s[MR][4]) {
    VC_UNROLL for (int g = g0; g < g1; g++) {
#if VC_TIER_LEVEL == 2
        vi w[4];
        EACH_J w[j] = direct ? vc_iblk_codes(f, u + j * VL * 4, low + j * VL * 4, g) : load_i(u + (g * nr + j) * VL * 4);
        EACH_I {
            const vi a = broadcast(q + g * mr + i);
            EACH_J s[i][j] = _mm512_dpbusd_epi32(s[i][j], w[j], a);
        }
#else
        vi w[4];
        EACH_J w[j] = direct ? vc_iblk_codes(f, u + j * VL * 4, low + j * VL * 4, g) : load_i(u + (g * nr + j) * VL * 4);
        EACH_I {
            const vi a = broadcast(q + g * mr + i);
            EACH_J {
                if (f == VC_Q8_0) s[i][j] = dot_16(s[i][j], _mm256_maddubs_epi16(_mm256_abs_epi8(w[j]), _mm256_sign_epi8(a, w[j])), _mm256_set1_epi16(1));
                else s[i][j] = _mm256_add_epi16(s[i][j], _mm256_maddubs_epi16(w[j], a));
            }
        }
#endif
    }
}

VC_INLINE void vc_iblk_start(const int centre, const int mr, const int nr, const uint32_t *init, vi s[MR][4]) {
    EACH_I EACH_J s[i][j] = centre ? broadcast(init + i) : zero_i();
}

/* One row waits for its weights: ask for the lines of a block this far ahead, where the share is longer than SHORT. Measured on
 * Zen 3 (AVX2: into the first cache) and on Zen 4 (AVX-512: into the second, which has more open misses; shares that may be in the
 * last cache are best left to the hardware). */
enum { AHEAD = VC_TIER_LEVEL == 2 ? 16 * 1024 : 5 * 1024, SHORT = VC_TIER_LEVEL == 2 ? 8 << 20 : 0 };
/* Where asking ends: behind panels [p0, p1) of n bytes each, or at once. */
VC_INLINE const uint8_t *vc_iblk_ahead_end(const uint8_t *panels, size_t n, uint32_t p0, uint32_t p1) {
    return panels + ((p1 - p0) * n > SHORT ? p1 : p0) * n;
}
VC_INLINE void vc_iblk_ahead(const uint8_t *p, const size_t bytes, const uint8_t *end) {
    if (end - p <= AHEAD) return;
    VC_UNROLL for (size_t i = 0; i < bytes; i += 64) {
        if (VC_TIER_LEVEL == 2) _mm_prefetch((const char *)p + AHEAD + i, _MM_HINT_T1);
        else _mm_prefetch((const char *)p + AHEAD + i, _MM_HINT_T0);
    }
}

/* Blocks of 32. */
VC_INLINE void vc_iblk_tile_32(const enum vc_dtype f, const int mr, const int nr, const int direct, const struct vc_iblk_tile *t) {
    const int centre = vc_iblk_centre(f);
    const uint8_t *w = t->w, *low = t->low;
    const uint32_t *q = t->q, *init = t->init, *aux = t->aux, *add = t->add;
    const float *d = t->d;
    float *acc = t->acc;
    if (t->first) EACH_I EACH_J V(storeu_ps)(acc + i * 32 + j * VL, V(setzero_ps)());
    for (uint32_t b = 0; b < t->n; b++) {
        vi s[MR][4];
        vf dw[4], mw[4];
        if (direct) vc_iblk_ahead(w, vc_iblk_block_bytes(f), t->w_end);
        if (direct && vc_iblk_low(f)) vc_iblk_ahead(low, vc_iblk_low(f), t->low_end);
        vc_iblk_start(centre, mr, nr, init, s);
        vc_iblk_dots(f, mr, nr, direct, direct ? w + vc_iblk_head(f) : w, low, q, 0, 8, s);
        EACH_J {
            if (direct) {
                dw[j] = load_half(w + j * VL * 2);
                if (vc_iblk_has_min(f)) mw[j] = load_half(w + 64 + j * VL * 2);
            } else {
                dw[j] = V(loadu_ps)(t->own->d[t->unit0 + b] + t->c0 + j * VL);
                if (vc_iblk_has_min(f)) mw[j] = V(loadu_ps)(t->own->m[t->unit0 + b] + t->c0 + j * VL);
            }
        }
        EACH_I {
            const vf da = V(set1_ps)(d[i]);
            EACH_J {
                float *y = acc + i * 32 + j * VL;
#if VC_TIER_LEVEL == 1
                if (f != VC_Q8_0) s[i][j] = _mm256_madd_epi16(s[i][j], _mm256_set1_epi16(1));
                if (f == VC_Q5_1) s[i][j] = _mm256_add_epi32(s[i][j], broadcast(add + i));
#endif
                vf c = V(fmadd_ps)(V(mul_ps)(dw[j], da), V(cvtepi32_ps)(s[i][j]), V(loadu_ps)(y));
                if (vc_iblk_has_min(f)) {
                    float sum;
                    memcpy(&sum, aux + i, 4);
                    c = V(fmadd_ps)(V(mul_ps)(mw[j], da), V(set1_ps)(sum), c);
                }
                V(storeu_ps)(y, c);
            }
        }
        w += direct ? vc_iblk_block_bytes(f) : (size_t)(8 * nr * VL * 4);
        if (direct) low += vc_iblk_low(f);
        q += 8 * mr;
        d += mr;
        init += mr;
        aux += mr;
        add += mr;
    }
    (void)add;
}

/* The end of a super-block: total and the minimums into acc. */
VC_INLINE void vc_iblk_finish(const enum vc_dtype f, const int mr, const int nr, const int direct, const struct vc_iblk_tile *t,
                              const uint8_t *w, const uint32_t at, const float *d, const uint32_t *aux, const int32_t *total) {
    const int pairs = 128 / (int)vc_iblk_sub(f);
    const uint8_t *sc = w + vc_iblk_scales_at(f);
    EACH_J {
        const float *dp = t->own->d[at] + t->c0 + j * VL, *mp = t->own->m[at] + t->c0 + j * VL;
        const vf dw = direct ? load_half(w + j * VL * 2) : V(loadu_ps)(dp);
        vf mw = dw;
        if (vc_iblk_has_min(f)) mw = direct ? load_half(w + 64 + j * VL * 2) : V(loadu_ps)(mp);
        EACH_I {
            float *y = t->acc + i * 32 + j * VL;
            const vf da = V(set1_ps)(d[i]);
            vf c = V(fmadd_ps)(V(mul_ps)(dw, da), V(cvtepi32_ps)(load_i(total + (i * nr + j) * VL)), V(loadu_ps)(y));
            if (vc_iblk_has_min(f)) {
                vi m = zero_i();
                VC_UNROLL for (int p = 0; p < pairs; p++) {
                    const vi x = direct ? vc_iblk_mins(f, sc, p, j * VL) : load_i(t->own->mins[(int)at * pairs + p] + t->c0 + j * VL);
                    m = dot_16(m, x, broadcast(aux + p * mr + i));
                }
                c = V(fnmadd_ps)(V(mul_ps)(mw, da), V(cvtepi32_ps)(m), c);
            }
            V(storeu_ps)(y, c);
        }
    }
}

/* Super-blocks of 256. The integer totals stay in memory unless direct: registers hold the sums of a sub-block. */
VC_INLINE void vc_iblk_tile_256(const enum vc_dtype f, const int mr, const int nr, const int direct, const struct vc_iblk_tile *t) {
    const int centre = vc_iblk_centre(f), subs = 32 / (int)vc_iblk_sub(f), pairs = 4 * subs;
    const int split = VC_TIER_LEVEL == 1 && f == VC_Q5_K ? 2 : 1, n = subs * split;      /* 31 * 127 * 16 exceeds 16 bits */
    const uint8_t *w = t->w;
    const uint32_t *q = t->q, *init = t->init, *aux = t->aux;
    const float *d = t->d;
    int32_t *total = t->own->total;
    if (t->first) EACH_I EACH_J V(storeu_ps)(t->acc + i * 32 + j * VL, V(setzero_ps)());
    for (uint32_t b = 0; b < t->n; b++) {
        const uint32_t at = t->unit0 + b;
        if (direct) {
            const uint8_t *u = w + vc_iblk_head(f);
            vi sum[MR][4];
            EACH_I EACH_J sum[i][j] = zero_i();
            vc_iblk_ahead(w, vc_iblk_head(f), t->w_end);
            for (int unit = 0; unit < 8; unit++, u += vc_iblk_unit(f), q += 8 * mr, init += subs * mr) {
                vc_iblk_ahead(u, vc_iblk_unit(f), t->w_end);
                VC_UNROLL for (int h = 0; h < n; h++) {
                    vi s[MR][4];
                    vc_iblk_start(centre, mr, nr, init + h * mr, s);
                    vc_iblk_dots(f, mr, nr, direct, u, u, q, h * 8 / n, (h + 1) * 8 / n, s);
                    EACH_J {
                        const vi x = vc_iblk_scale(f, w + vc_iblk_scales_at(f), unit * subs + h / split, j * VL);
                        EACH_I sum[i][j] = scale_add(sum[i][j], s[i][j], x);
                    }
                }
            }
            EACH_I EACH_J store_i(total + (i * nr + j) * VL, sum[i][j]);
        } else {
            int32_t(*scale)[32] = t->own->scale + at * 8 * (uint32_t)subs;
            EACH_I EACH_J store_i(total + (i * nr + j) * VL, zero_i());
            for (int sub = 0; sub < 8 * n; sub++, q += 8 / n * mr, init += centre ? mr : 0) {
                vi s[MR][4];
                vc_iblk_start(centre, mr, nr, init, s);
                vc_iblk_dots(f, mr, nr, direct, w + (size_t)(sub * (8 / n) * nr * VL * 4), w, q, 0, 8 / n, s);
                EACH_J {
                    const vi x = load_i(scale[sub / split] + t->c0 + j * VL);
                    EACH_I store_i(total + (i * nr + j) * VL, scale_add(load_i(total + (i * nr + j) * VL), s[i][j], x));
                }
            }
        }
        vc_iblk_finish(f, mr, nr, direct, t, w, at, d, aux, total);
        w += direct ? vc_iblk_block_bytes(f) : (size_t)(64 * nr * VL * 4);
        d += mr;
        aux += pairs * mr;
    }
}

VC_INLINE void vc_iblk_tile(const enum vc_dtype f, const int mr, const int nr, const int direct, const struct vc_iblk_tile *t) {
    if (vc_iblk_is_k(f)) vc_iblk_tile_256(f, mr, nr, direct, t);
    else vc_iblk_tile_32(f, mr, nr, direct, t);
}

/* Codes and scales of the n blocks at w (inside a panel; low: their parts behind the blocks) to own. Asks for the n blocks after them, which are wanted when
 * the rows are through with these. */
VC_INLINE void vc_iblk_unpack(const enum vc_dtype f, const uint8_t *w, const uint8_t *low, uint32_t n, struct vc_iblk_own *own) {
    const int subs = 32 / (int)vc_iblk_sub(f), units = vc_iblk_is_k(f) ? 8 : 1, vecs = 32 / VL;
    const size_t unit_out = (size_t)8 * NR * VL * 4, half = unit_out * n * (size_t)units;
    const size_t next = n * vc_iblk_block_bytes(f);
    uint8_t *out = own->codes;
    for (uint32_t b = 0; b < n; b++, w += vc_iblk_block_bytes(f), low += vc_iblk_low(f)) {
        for (size_t i = 0; i < vc_iblk_block_bytes(f); i += 64) _mm_prefetch((const char *)w + next + i, _MM_HINT_T1);
        const uint8_t *sc = w + vc_iblk_scales_at(f), *u = w + vc_iblk_head(f);
        VC_UNROLL for (int j = 0; j < vecs; j++) {
            V(storeu_ps)(own->d[b] + j * VL, load_half(w + j * VL * 2));
            if (vc_iblk_has_min(f)) V(storeu_ps)(own->m[b] + j * VL, load_half(w + 64 + j * VL * 2));
        }
        if (vc_iblk_is_k(f)) {
            for (int s = 0; s < 8 * subs; s++)
                VC_UNROLL for (int j = 0; j < vecs; j++) store_i(own->scale[(int)b * 8 * subs + s] + j * VL, vc_iblk_scale(f, sc, s, j * VL));
            if (vc_iblk_has_min(f))
                for (int p = 0; p < 4 * subs; p++)
                    VC_UNROLL for (int j = 0; j < vecs; j++) store_i(own->mins[(int)b * 4 * subs + p] + j * VL, vc_iblk_mins(f, sc, p, j * VL));
        }
        for (int unit = 0; unit < units; unit++, u += vc_iblk_unit(f), out += unit_out)
            VC_UNROLL for (int g = 0; g < 8; g++)
                VC_UNROLL for (int j = 0; j < vecs; j++) {
                    uint8_t *p = out + (size_t)(j / NR) * half + (size_t)(g * NR + j % NR) * VL * 4;
                    store_i(p, vc_iblk_codes(f, u + j * VL * 4, low + j * VL * 4, g));
                }
    }
}

#endif
