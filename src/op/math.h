/* SPDX-License-Identifier: Apache-2.0
 * math.h: own elementary functions: f32 as exact sequences of f32 operations (vc_expf, vc_exp2f, vc_logf, vc_tanhf,
 * vc_erff; the same bits as the lanes of kern/cpu/simd_math.h), f64 for tables (vc_exp, vc_log, vc_pow, vc_sin, vc_cos;
 * math.c), and torch's Sleef forms (op/sleef.h). Nothing here calls libm. Flush-to-zero changes nothing: no intermediate
 * is subnormal. Errors are stated at each function and tested against f64 or wider arithmetic. */
#ifndef VC_OP_MATH_H
#define VC_OP_MATH_H

#include <stdint.h>

#include "base/compat.h"
#include "num/half.h"
#include "op/fma.h"

/* One lane of kern/cpu/simd.h. */
VC_INLINE float vc_sf_set1(float x) { return x; }
VC_INLINE float vc_sf_add(float a, float b) { return a + b; }
VC_INLINE float vc_sf_sub(float a, float b) { return a - b; }
VC_INLINE float vc_sf_mul(float a, float b) { return a * b; }
VC_INLINE float vc_sf_div(float a, float b) { return a / b; }
VC_INLINE float vc_sf_fma(float a, float b, float c) { return vc_fma(a, b, c); }
VC_INLINE float vc_sf_fnma(float a, float b, float c) { return vc_fma(-a, b, c); }
VC_INLINE float vc_sf_max(float a, float b) { return a > b ? a : b; }
VC_INLINE float vc_sf_min(float a, float b) { return a < b ? a : b; }
VC_INLINE float vc_sf_neg(float a) { return -a; }
VC_INLINE float vc_sf_abs(float a) { return vc_bits_f32(vc_f32_bits(a) & 0x7FFFFFFFu); }
VC_INLINE float vc_sf_rint(float a) { return a + 12582912.0f - 12582912.0f; }
VC_INLINE int vc_sf_lt(float a, float b) { return a < b; }
VC_INLINE int vc_sf_eq(float a, float b) { return a == b; }
VC_INLINE float vc_sf_select(int m, float a, float b) { return m ? a : b; }
VC_INLINE int32_t vc_sf_bits(float a) { return (int32_t)vc_f32_bits(a); }
VC_INLINE int32_t vc_sf_int(float a) { return (int32_t)a; }            /* of integral values */
VC_INLINE float vc_si_float(int32_t a) { return vc_bits_f32((uint32_t)a); }
VC_INLINE float vc_si_to_float(int32_t a) { return (float)a; }
VC_INLINE int32_t vc_si_set1(int32_t x) { return x; }
VC_INLINE int32_t vc_si_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
VC_INLINE int32_t vc_si_sub(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
VC_INLINE int32_t vc_si_and(int32_t a, int32_t b) { return a & b; }
VC_INLINE int32_t vc_si_or(int32_t a, int32_t b) { return a | b; }
VC_INLINE int32_t vc_si_shl(int32_t a, int n) { return (int32_t)((uint32_t)a << n); }
VC_INLINE int32_t vc_si_sar(int32_t a, int n) { return a >> n; }

#define F(op) VC_CAT(vc_sf_, op)
#define N(op) VC_CAT(vc_si_, op)
#define M_VF float
#define M_VI int32_t
#define M_FN VC_INLINE
#include "op/math_steps.h"
#undef F
#undef N
#undef M_VF
#undef M_VI
#undef M_FN

VC_INLINE float vc_expf(float x) { return vc_sf_exp(x); }      /* 1 ulp */
VC_INLINE float vc_exp2f(float x) { return vc_sf_exp2(x); }    /* 0.8 ulp */
VC_INLINE float vc_logf(float x) { return vc_sf_log(x); }      /* 0.9 ulp */
VC_INLINE float vc_tanhf(float x) { return vc_sf_tanh(x); }    /* 1 ulp */
VC_INLINE float vc_erff(float x) { return vc_sf_erf(x); }      /* 1.1 ulp */

/* f64. exp, log, pow: within 1 ulp (pow: x > 0, |y log x| < 700). sin, cos: absolute error below 2^-53 for |x| < 1.3e7,
 * and for |sin|, |cos| above 2^-40 relative error below 2^-52; larger arguments lose what the reduction loses. */
double vc_exp(double x);
double vc_log(double x);
double vc_pow(double x, double y);
double vc_sin(double x);
double vc_cos(double x);

#endif
