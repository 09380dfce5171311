/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_math.h: exp and log of the sampler, by written arithmetic, so that they are the same on every machine.
 * f32: Sleef's expf and logf at 1.0 ulp (u10), as torch's vector code calls them. f64: log after fdlibm's e_log.c,
 * error below 1 ulp, without fma. */
#ifndef VC_RUN_SAMPLE_MATH_H
#define VC_RUN_SAMPLE_MATH_H

#include <stdint.h>
#include <string.h>

#include "op/fma.h"

/* f32 fma: the instruction where `hw` says that the calling function may use it. hw is a constant at every call. */
VC_INLINE float vc_sm_fma(float a, float b, float c, int hw) { return hw ? __builtin_fmaf(a, b, c) : vc_fma(a, b, c); }

VC_INLINE float vc_sm_pow2i(int32_t q) {
    int32_t u = (q + 127) << 23;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* e^d for d <= 0; 0 below -104. */
VC_INLINE float vc_sm_exp(float d, int hw) {
    const float round = 0x1.8p23f;                                /* adding it rounds to a whole number, nearest even */
    float x = d < -105.0f ? -105.0f : d;
    float q = (x * 1.4426950408889634f + round) - round;
    float s = vc_sm_fma(q, -1.428606765330187045e-06f, vc_sm_fma(q, -0.693145751953125f, x, hw), hw);
    float u = 0.000198527617612853646278381f;
    u = vc_sm_fma(u, s, 0.00139304355252534151077271f, hw);
    u = vc_sm_fma(u, s, 0.00833336077630519866943359f, hw);
    u = vc_sm_fma(u, s, 0.0416664853692054748535156f, hw);
    u = vc_sm_fma(u, s, 0.166666671633720397949219f, hw);
    u = vc_sm_fma(u, s, 0.5f, hw);
    u = 1.0f + vc_sm_fma(s * s, u, s, hw);
    int32_t e = (int32_t)q, half = e >> 1;                        /* in two steps: the first is exact */
    float r = u * vc_sm_pow2i(half) * vc_sm_pow2i(e - half);
    return d < -104.0f ? 0.0f : r;
}

/* ln d for a normal d > 0. Sums and quotients are carried as pairs (value, error). */
VC_INLINE float vc_sm_log(float d) {
    float t = d * (1.0f / 0.75f), m;
    int32_t u, e;
    memcpy(&u, &t, 4);
    e = ((u >> 23) & 255) - 127;
    memcpy(&u, &d, 4);
    u -= e * (1 << 23);                                           /* mantissa in [0.75, 1.5) */
    memcpy(&m, &u, 4);
    /* x = (m - 1) / (m + 1) */
    float n0 = -1.0f + m, v = n0 + 1.0f, n1 = (-1.0f - (n0 - v)) + (m - v);
    float d0 = 1.0f + m;
    v = d0 - 1.0f;
    float d1 = (1.0f - (d0 - v)) + (m - v);
    float r = 1.0f / d0, x0 = n0 * r;
    float ru = vc_fma(r, n0, -x0), rv = vc_fma(-d1, r, vc_fma(-d0, r, 1.0f));
    float x1 = vc_fma(x0, rv, vc_fma(n1, r, ru));
    /* s = e ln 2 + 2 x */
    float fe = (float)e, l0 = 0.69314718246459960938f * fe;
    float l1 = vc_fma(-1.904654323148236017e-09f, fe, vc_fma(0.69314718246459960938f, fe, -l0));
    float y0 = x0 * 2.0f, y1 = x1 * 2.0f, s0 = l0 + y0, s1 = (((l0 - s0) + y0) + l1) + y1;
    float x2 = x0 * x0;
    float p = vc_fma(vc_fma(0.3027294874f, x2, 0.3996108174f), x2, 0.6666694880f);
    float y = (x2 * x0) * p, h = s0 + y;
    return h + (((s0 - h) + y) + s1);
}

/* ln x for a normal x > 0 (f64). x = 2^k (1 + f) with sqrt(1/2) < 1 + f <= sqrt(2), s = f / (2 + f), and
 * ln(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)). */
VC_INLINE double vc_sm_log64(double x) {
    uint64_t u;
    memcpy(&u, &x, 8);
    u += UINT64_C(0x3FF0000000000000) - UINT64_C(0x3FE6A09E667F3BCD);
    int32_t k = (int32_t)(u >> 52) - 1023;
    u = (u & UINT64_C(0x000FFFFFFFFFFFFF)) + UINT64_C(0x3FE6A09E667F3BCD);
    memcpy(&x, &u, 8);
    double f = x - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, dk = (double)k;
    double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double t3 = w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01);
    double t2 = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + t3));
    double hf = 0.5 * f * f;
    return dk * 6.93147180369123816490e-01 - ((hf - (s * (hf + (t1 + t2)) + dk * 1.90821492927058770002e-10)) - f);
}

#endif
