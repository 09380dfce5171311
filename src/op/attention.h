/* SPDX-License-Identifier: Apache-2.0
 * attention.h: the constants and scalar functions that the two attention cores are written in; the orders themselves
 * are op/ref/attention.c. Kernels repeat these steps on vectors, so a change here is a change of contract. */
#ifndef VC_OP_ATTENTION_H
#define VC_OP_ATTENTION_H

#include <stdint.h>

#include "num/half.h"
#include "op/fma.h"

enum { VC_ATTN_TILE = 64, VC_ATTN_MAX_HEAD_DIM = 576 };    /* keys of a tile of the tiled core */

/* Carried core: keys of a tile, counted from key 0. vLLM's length for a full tile of query rows at 1 MiB of L2 (of which
 * it uses half): 640 for head_dim 64, 320 for 128, 160 for 256. A multiple of 32. */
static inline uint32_t vc_carried_tile(uint32_t head_dim) {
    uint32_t half_l2 = 524288, rows = half_l2 / (12 * head_dim + 32);
    rows = (rows < 1024 ? rows : 1024) / 8 * 8;
    uint32_t keys = (half_l2 - 8 * head_dim * rows) / (32 + 4 * head_dim) / 32 * 32;
    return keys > 32 ? keys : 32;
}

/* Tiled core: e^x for x <= 0 within 0.9 ulp; +0 below -86 and for NaN (-inf minus -inf of a row without a visible key).
 * n = nearest-even(x log2 e) by the sum with 1.5 * 2^23; r = fma(-n, ln 2 in two parts, x); Horner of degree 6 with fma
 * (coefficients: minimax of the relative error, 1 and x fixed); times 2^n, exact. */
#define VC_ATTN_EXP_MIN (-86.0f)
#define VC_ATTN_EXP_LOG2E 1.44269504f
#define VC_ATTN_EXP_LN2_HI 0.693145751953125f
#define VC_ATTN_EXP_LN2_LO 1.42860677e-06f
#define VC_ATTN_EXP_MAGIC 12582912.0f
#define VC_ATTN_EXP_C6 0.0013814598f
#define VC_ATTN_EXP_C5 0.0083687175f
#define VC_ATTN_EXP_C4 0.04166839f
#define VC_ATTN_EXP_C3 0.16666521f
#define VC_ATTN_EXP_C2 0.49999994f
static inline float vc_attn_exp(float x) {
    if (!(x >= VC_ATTN_EXP_MIN)) return 0.0f;
    float t = x * VC_ATTN_EXP_LOG2E + VC_ATTN_EXP_MAGIC, n = t - VC_ATTN_EXP_MAGIC;
    float r = vc_fma(-n, VC_ATTN_EXP_LN2_HI, x);
    r = vc_fma(-n, VC_ATTN_EXP_LN2_LO, r);
    float p = vc_fma(VC_ATTN_EXP_C6, r, VC_ATTN_EXP_C5);
    p = vc_fma(p, r, VC_ATTN_EXP_C4);
    p = vc_fma(p, r, VC_ATTN_EXP_C3);
    p = vc_fma(p, r, VC_ATTN_EXP_C2);
    p = vc_fma(p, r, 1.0f);
    p = vc_fma(p, r, 1.0f);
    return vc_bits_f32(vc_f32_bits(p) + (vc_f32_bits(t) << 23));   /* the low bits of t are n; p * 2^n is normal */
}

#endif
