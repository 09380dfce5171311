/* SPDX-License-Identifier: Apache-2.0
 * fast_exp.h: the two exponentials of vLLM's CPU attention and experts, as scalar f32 functions.
 * Source: vLLM's vec classes (fast_exp) and glibc's expf (2.27 and later); constants and steps as stated in numpy by
 * goldens/make/vllm_cpu_model.py, fast_exp and libm_exp. Neither depends on libm or on the rounding state. */
#ifndef VC_OP_FAST_EXP_H
#define VC_OP_FAST_EXP_H

#include <stdint.h>

#include "num/half.h"
#include "op/fma.h"

/* Polynomial e^x: x clamped to [LN_MIN, LN_MAX]; n = floor(fma(x, log2 e, 0.5)); r = fma(-n, ln 2, x); Horner of degree 5
 * with fma; times 2^(n-1), times 2. Below LN_MIN (also -inf): +0. NaN gives some finite value. */
#define VC_FAST_EXP_MIN 0xC2AEAC50u
#define VC_FAST_EXP_MAX 0x42B17218u
#define VC_FAST_EXP_LOG2E 0x3FB8AA3Bu
#define VC_FAST_EXP_LN2 0x3F317218u
#define VC_FAST_EXP_C5 0.00828929059f
#define VC_FAST_EXP_C4 0.0418978221f
#define VC_FAST_EXP_C3 0.166676521f
#define VC_FAST_EXP_C2 0.499991506f
#define VC_FAST_EXP_C1 0.999999701f
static inline float vc_fast_exp(float x) {
    const float lo = vc_bits_f32(VC_FAST_EXP_MIN), hi = vc_bits_f32(VC_FAST_EXP_MAX);
    float v = x < hi ? x : hi;
    v = v > lo ? v : lo;
    float t = vc_fma(v, vc_bits_f32(VC_FAST_EXP_LOG2E), 0.5f);
    int32_t i = (int32_t)t;
    i -= (float)i > t;                                     /* floor */
    float r = vc_fma(-(float)i, vc_bits_f32(VC_FAST_EXP_LN2), v);
    float p = vc_fma(r, VC_FAST_EXP_C5, VC_FAST_EXP_C4);
    p = vc_fma(r, p, VC_FAST_EXP_C3);
    p = vc_fma(r, p, VC_FAST_EXP_C2);
    p = vc_fma(r, p, VC_FAST_EXP_C1);
    p = vc_fma(r, p, 1.0f);
    float scale = vc_bits_f32((uint32_t)(i - 1 + 127) << 23);
    return x < lo ? 0.0f : p * scale * 2.0f;
}

/* glibc's expf: 2^(i/32) by table, a cubic in f64, one rounding to f32. */
static inline float vc_glibc_expf(float x) {
    static const double table[32] = {                      /* 2^(i/32) */
        0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0, 0x1.172b83c7d517bp+0,
        0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0, 0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0,
        0x1.3dea64c123422p+0, 0x1.44e086061892dp+0, 0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0,
        0x1.6247eb03a5585p+0, 0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
        0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0, 0x1.ae89f995ad3adp+0,
        0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0, 0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0,
        0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0
    };
    if (!(x < 88.8f)) return x != x ? x : vc_bits_f32(0x7F800000u);
    if (x < -104.0f) return 0.0f;
    double z = (double)x * (0x1.71547652b82fep+0 * 32.0);
    double k = z + 0x1.8p52 - 0x1.8p52;                    /* nearest, ties to even */
    double r = z - k;
    double y = (0x1.c6af84b912394p-5 / 32768.0 * r + 0x1.ebfce50fac4f3p-3 / 1024.0) * (r * r)
               + (0x1.62e42ff0c52d6p-1 / 32.0 * r + 1.0);
    int32_t ki = (int32_t)k, j = ki & 31;
    uint64_t bits = (uint64_t)(1023 + (ki - j) / 32) << 52;
    double two;
    memcpy(&two, &bits, sizeof two);
    return (float)(y * table[j] * two);
}

#endif
