/* SPDX-License-Identifier: Apache-2.0
 * pair_tile.h: the register tiles of the pair and chain cores. A tile is mr rows by nv vectors of outputs, each output
 * one fma chain in the order in which the operands lie: the packed rows and the widened weights have position p for
 * k = p ^ 1 (pair order: the odd element of a pair first) or k = p (ascending). Three sources of weights:
 *   tile_buf     f32 values widened beforehand, [VC_SUB columns][positions][VC_SUB]
 *   tile_direct  the panel itself, widened in registers (few rows; no use on the portable tier)
 *   tile_dp      the bf16 panel and bf16 rows, by vdpbf16ps (AVX-512)
 * Nothing of a result depends on the tile's size. */
#ifndef VC_KERN_PAIR_TILE_H
#define VC_KERN_PAIR_TILE_H

#include <math.h>

#include "kern/cpu/isa.h"
#include "kern/cpu/pair_panel.h"
#include "kern/cpu/simd.h"
#include "op/fma.h"

#if VC_TIER_LEVEL == 2
typedef __m512 tf;
enum { TF_LANES = 16, TILE_ROWS = 6, TILE_NV = 4, VC_SUB = 64 };
VC_INLINE tf tf_load(const float *p) { return _mm512_loadu_ps(p); }
VC_INLINE void tf_store(float *p, tf v) { _mm512_storeu_ps(p, v); }
VC_INLINE tf tf_add(tf a, tf b) { return _mm512_add_ps(a, b); }
VC_INLINE tf tf_fma(tf a, tf b, tf c) { return _mm512_fmadd_ps(a, b, c); }
VC_INLINE tf tf_set1(float x) { return _mm512_set1_ps(x); }
#elif VC_TIER_LEVEL == 1
typedef __m256 tf;
enum { TF_LANES = 8, TILE_ROWS = 6, TILE_NV = 2, VC_SUB = 16 };
VC_INLINE tf tf_load(const float *p) { return _mm256_loadu_ps(p); }
VC_INLINE void tf_store(float *p, tf v) { _mm256_storeu_ps(p, v); }
VC_INLINE tf tf_add(tf a, tf b) { return _mm256_add_ps(a, b); }
VC_INLINE tf tf_fma(tf a, tf b, tf c) { return _mm256_fmadd_ps(a, b, c); }
VC_INLINE tf tf_set1(float x) { return _mm256_set1_ps(x); }
#else
typedef vc_f4 tf;
enum { TF_LANES = 4, TILE_ROWS = 2, TILE_NV = 4, VC_SUB = 16 };
VC_INLINE tf tf_load(const float *p) { tf v; memcpy(&v, p, sizeof v); return v; }
VC_INLINE void tf_store(float *p, tf v) { memcpy(p, &v, sizeof v); }
VC_INLINE tf tf_add(tf a, tf b) { return a + b; }
VC_INLINE tf tf_set1(float x) { return (tf){ x, x, x, x }; }
VC_INLINE tf tf_fma(tf a, tf b, tf c) {
    VC_UNROLL for (int l = 0; l < 4; l++) c[l] = vc_fma(a[l], b[l], c[l]);
    return c;
}
#endif

/* Without a fused instruction the portable tier multiplies and adds separately where the product is exact (both
 * operands bf16 or f16). Only a product beyond f32's range then differs from fma; it leaves Inf or NaN behind, and such
 * outputs are computed again by vc_fma (pair_loop.h). */
#if VC_TIER_LEVEL == 0 && !defined(__FMA__) && !defined(__aarch64__)
#define VC_TILE_MULADD 1
#else
#define VC_TILE_MULADD 0
#endif

enum { ODD_FIRST = 1, ASCENDING = 0 };                /* order: also the xor between position and k */

/* Begin from +0 instead of `run`; at the end of a K block go to `tot` (ADD: on top of it) instead of `run`. */
enum { TILE_BEGIN = 1, TILE_END = 2, TILE_ADD = 4 };
struct tile_call {
    const float *a;               /* packed rows, at the first position */
    const char *b;                /* widened weights or the panel, at the first position and output */
    size_t n, sub;                /* positions (even); floats between sub-panels of the widened weights */
    float *run, *tot;             /* [rows][VC_PANEL_COLS], at the first row and output */
    int mode;
    const char *ahead;            /* bytes that will be needed next: `ahead_step` of them are fetched per position */
    size_t ahead_step;
};
typedef void tile_fn(const struct tile_call *t);

enum { MAX_NV = 8 };
VC_INLINE void tile_begin(const int mr, const int nv, tf c[TILE_ROWS][MAX_NV], const struct tile_call *t) {
    const float *run = t->run;
    const int begin = t->mode & TILE_BEGIN;
    VC_UNROLL for (int i = 0; i < mr; i++)
        VC_UNROLL for (int j = 0; j < nv; j++)
            c[i][j] = begin ? tf_set1(0.0f) : tf_load(run + i * VC_PANEL_COLS + j * TF_LANES);
}
VC_INLINE void tile_end(const int mr, const int nv, tf c[TILE_ROWS][MAX_NV], const struct tile_call *t) {
    float *tot = t->tot, *d = t->mode & TILE_END ? tot : t->run;
    if (t->mode & TILE_ADD) {
        VC_UNROLL for (int i = 0; i < mr; i++)
            VC_UNROLL for (int j = 0; j < nv; j++)
                c[i][j] = tf_add(tf_load(tot + i * VC_PANEL_COLS + j * TF_LANES), c[i][j]);
    }
    VC_UNROLL for (int i = 0; i < mr; i++)
        VC_UNROLL for (int j = 0; j < nv; j++) tf_store(d + i * VC_PANEL_COLS + j * TF_LANES, c[i][j]);
}

VC_INLINE void tile_buf(const int mr, const int nv, const int muladd, const struct tile_call *t) {
    tf c[TILE_ROWS][MAX_NV];
    const float *a = t->a, *b = (const float *)(const void *)t->b, *end = a + t->n * (size_t)mr;
    const char *ahead = t->ahead;
    const size_t sub = t->sub, step = t->ahead_step;
    tile_begin(mr, nv, c, t);
    for (; a != end; a += mr, b += VC_SUB, ahead += step) {
        tf w[MAX_NV];
        VC_PREFETCH(ahead);
        VC_UNROLL for (int j = 0; j < nv; j++) w[j] =
            tf_load(b + (size_t)(j * TF_LANES / VC_SUB) * sub + j * TF_LANES % VC_SUB);
        VC_UNROLL for (int i = 0; i < mr; i++) {
            const tf x = tf_set1(a[i]);
            VC_UNROLL for (int j = 0; j < nv; j++) c[i][j] =
                muladd ? tf_add(x * w[j], c[i][j]) : tf_fma(x, w[j], c[i][j]);
        }
    }
    tile_end(mr, nv, c, t);
}

#if VC_TIER_LEVEL >= 1
/* Vector j of the even (h = 0) or odd (h = 1) values of a pair; b: the pair's first value of the tile's first output.
 */
VC_INLINE tf widen_pair(const enum vc_dtype t, const char *b, int j, int h) {
    const size_t at = ((size_t)h * VC_PANEL_COLS + (size_t)(j * TF_LANES)) * (t == VC_F32 ? 4 : 2);
#if VC_TIER_LEVEL == 2
    if (t == VC_BF16) {
        const __m512i v = _mm512_loadu_si512((const void *)(b + (size_t)j * 64));
        return _mm512_castsi512_ps(h ? _mm512_and_si512(v, _mm512_set1_epi32((int)0xFFFF0000u))
                                     : _mm512_slli_epi32(v, 16));
    }
    return t == VC_F16 ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(b + at)))
                       : _mm512_loadu_ps((const float *)(const void *)(b + at));
#else
    if (t == VC_BF16) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(b + (size_t)j * 32));
        return _mm256_castsi256_ps(h ? _mm256_and_si256(v, _mm256_set1_epi32((int)0xFFFF0000u))
                                     : _mm256_slli_epi32(v, 16));
    }
    return t == VC_F16 ? _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(b + at)))
                       : _mm256_loadu_ps((const float *)(const void *)(b + at));
#endif
}

VC_INLINE void tile_direct(const enum vc_dtype f, const int order, const int mr, const int nv,
                           const struct tile_call *t) {
    tf c[TILE_ROWS][MAX_NV];
    const size_t pair_bytes = 2 * VC_PANEL_COLS * (f == VC_F32 ? 4 : 2);
    const float *a = t->a, *end = a + t->n * (size_t)mr;
    const char *b = t->b, *ahead = t->ahead;
    const size_t step = t->ahead_step;
    tile_begin(mr, nv, c, t);
    for (; a != end; b += pair_bytes) {
        VC_UNROLL for (int h = 0; h < 2; h++, a += mr, ahead += step) {
            if (mr > 1) VC_PREFETCH(ahead);           /* a single stream is best left to the hardware */
            if (mr <= 2) {                            /* few registers for rows, else few for weights */
                tf x[2];
                VC_UNROLL for (int i = 0; i < mr; i++) x[i] = tf_set1(a[i]);
                VC_UNROLL for (int j = 0; j < nv; j++) {
                    const tf w = widen_pair(f, b, j, h ^ order);
                    VC_UNROLL for (int i = 0; i < mr; i++) c[i][j] = tf_fma(x[i], w, c[i][j]);
                }
            } else {
                tf w[MAX_NV];
                VC_UNROLL for (int j = 0; j < nv; j++) w[j] = widen_pair(f, b, j, h ^ order);
                VC_UNROLL for (int i = 0; i < mr; i++) {
                    const tf x = tf_set1(a[i]);
                    VC_UNROLL for (int j = 0; j < nv; j++) c[i][j] = tf_fma(x, w[j], c[i][j]);
                }
            }
        }
    }
    tile_end(mr, nv, c, t);
}
#endif

#endif
