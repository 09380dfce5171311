/* SPDX-License-Identifier: Apache-2.0
 * fma.h: a * b + c in f32 with a single rounding (nearest even), the same on every machine: the instruction where the
 * target has it, else f64 arithmetic. There the product is exact, the sum is rounded to odd (its error, known from
 * TwoSum, sets the last bit), so that the rounding to f32 is the only one that counts (Boldo, Melquiond 2008).
 * Results below 2^-125 in magnitude may differ between the two forms under flush-to-zero. */
#ifndef VC_OP_FMA_H
#define VC_OP_FMA_H

#include <stdint.h>
#include <string.h>

#include "base/compat.h"

/* The emulation, on every target, so that tests can compare both. */
VC_INLINE float vc_fma_f64(float a, float b, float c) {
    double p = (double)a * (double)b, d = (double)c, s = p + d, t = s - p;
    double err = (p - (s - t)) + (d - t);
    uint64_t u;
    memcpy(&u, &s, 8);
    /* Infinite and NaN sums stay; err is NaN or 0 there. */
    if (err != 0.0 && (u & 1) == 0 && (u & UINT64_C(0x7FF0000000000000)) != UINT64_C(0x7FF0000000000000)) {
        u = (err > 0.0) == (s > 0.0) ? u + 1 : u - 1;
        memcpy(&s, &u, 8);
    }
    return (float)s;
}

VC_INLINE float vc_fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return vc_fma_f64(a, b, c);
#endif
}

#endif
