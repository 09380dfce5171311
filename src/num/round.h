/* SPDX-License-Identifier: Apache-2.0
 * round.h: rounding of f32 and f64 to the small formats in any mode, and distances in ulps on any grid. Integer
 * arithmetic on the bits: independent of the floating-point environment (FTZ, DAZ, rounding mode).
 * Formats: f64 f32 f16 bf16 f8_e4m3fn f8_e5m2; others are a caller's mistake (assert). */
#ifndef VC_NUM_ROUND_H
#define VC_NUM_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "num/dtype.h"

enum vc_round {
    VC_ROUND_EVEN,          /* nearest, ties to even */
    VC_ROUND_AWAY,          /* nearest, ties away from zero */
    VC_ROUND_ZERO,
    VC_ROUND_UP,            /* toward +infinity */
    VC_ROUND_DOWN,          /* toward -infinity */
    VC_ROUND_STOCHASTIC,    /* up in magnitude with probability = the cut-off fraction (32 bits of it) */
    VC_ROUND_NUM_MODES,
    VC_ROUND_SATURATE = 16  /* or-ed in: overflow gives the largest finite value */
};

bool vc_round_has(enum vc_dtype fmt);

/* Bit pattern of x in fmt. Overflow: infinity or the largest finite value, as IEEE 754 says for the mode; e4m3fn, which
 * has no infinity, gives NaN there. NaN gives a quiet NaN with the sign kept. `random` is used by STOCHASTIC only. */
uint64_t vc_round_f32(enum vc_dtype fmt, float x, int mode, uint32_t random);
uint64_t vc_round_f64(enum vc_dtype fmt, double x, int mode, uint32_t random);
/* Value of a bit pattern (exact). */
double vc_bits_value(enum vc_dtype fmt, uint64_t bits);
/* x rounded and read back. */
double vc_rounded(enum vc_dtype fmt, double x, int mode, uint32_t random);

/* Spacing of fmt's grid at |x|: 2^(max(exponent of x, least exponent) - fraction bits). x beyond the largest finite
 * value is taken as that; NaN gives NaN, infinity infinity. */
double vc_ulp(enum vc_dtype fmt, double x);
/* Grid steps of fmt between a and b, counted along the number line (so each step is one ulp where it lies); values
 * between grid points count in part. -0 = +0; two NaNs are 0 apart, one NaN is infinitely far; infinity is one step
 * beyond the largest finite value, finite values beyond that go on with its spacing until there. */
double vc_ulp_distance(enum vc_dtype fmt, double a, double b);

#endif
