/* SPDX-License-Identifier: Apache-2.0
 * simd.h: sixteen f32 lanes (vc_vf), sixteen i32 lanes (vc_vi) and masks (vc_vm) on every tier, for row operations.
 * Each function gives the same bits on every tier under flush-to-zero: one IEEE operation per lane, nearest even.
 * The tiers: simd_portable.h, simd_avx2.h, simd_avx512.h. Below: what is written once, on top of them.
 *
 * A tier provides (V = vc_vf, I = vc_vi, M = vc_vm):
 *   load/store     vc_vf_load(f32*) vc_vf_load_bf16(u16*) vc_vf_load_f16(u16*), the same with _n and a count 0…15 (other
 *                  lanes 0, nothing read there); vc_vf_store*, likewise; vc_vi_load, vc_vi_store
 *   make           vc_vf_set1, vc_vi_set1
 *   arithmetic     vc_vf_add sub mul div sqrt fma(a,b,c) = a*b + c, fnma = -(a*b) + c
 *                  vc_vf_max(a, b) = a > b ? a : b and vc_vf_min(a, b) = a < b ? a : b: b if either is NaN
 *   bits           vc_vf_bits, vc_vi_float (casts); vc_vi_add sub and or xor shl shr(logical) sar
 *   convert        vc_vf_int (nearest even; |x| < 2^31), vc_vi_to_float
 *   compare        vc_vf_lt le eq -> M (false with NaN); vc_vi_gt eq -> M; vc_vf_select(m, a, b) = m ? a : b; vc_vi_select */
#ifndef VC_KERN_CPU_SIMD_H
#define VC_KERN_CPU_SIMD_H

#include <stdint.h>
#include <string.h>

#include "kern/cpu/isa.h"
#include "num/half.h"
#include "op/op.h"

#if VC_TIER_LEVEL == 2
#include "kern/cpu/simd_avx512.h"
#elif VC_TIER_LEVEL == 1
#include "kern/cpu/simd_avx2.h"
#else
#include "kern/cpu/simd_portable.h"
#endif

VC_INLINE vc_vf vc_vf_zero(void) { return vc_vf_set1(0.0f); }
VC_INLINE vc_vf vc_vf_neg(vc_vf a) { return vc_vi_float(vc_vi_xor(vc_vf_bits(a), vc_vi_set1((int32_t)0x80000000u))); }
VC_INLINE vc_vf vc_vf_abs(vc_vf a) { return vc_vi_float(vc_vi_and(vc_vf_bits(a), vc_vi_set1(0x7FFFFFFF))); }

/* Nearest integer, ties to even, for |x| < 2^22: two additions, the same in scalar code. */
VC_INLINE vc_vf vc_vf_rint(vc_vf a) {
    vc_vf magic = vc_vf_set1(12582912.0f);
    return vc_vf_sub(vc_vf_add(a, magic), magic);
}
/* Floor for |x| < 2^22. */
VC_INLINE vc_vf vc_vf_floor(vc_vf a) {
    vc_vf r = vc_vf_rint(a);
    return vc_vf_select(vc_vf_lt(a, r), vc_vf_sub(r, vc_vf_set1(1.0f)), r);
}

/* Sum of the lanes: i with i+8, then i+4, i+2, i+1. */
VC_INLINE float vc_vf_tree(vc_vf a) {
    float f[16];
    vc_vf_store(f, a);
    for (int h = 8; h; h >>= 1)
        for (int i = 0; i < h; i++) f[i] = f[i] + f[i + h];
    return f[0];
}
/* Largest lane; NaN lanes: undefined which. */
VC_INLINE float vc_vf_hmax(vc_vf a) {
    float f[16];
    vc_vf_store(f, a);
    for (int h = 8; h; h >>= 1)
        for (int i = 0; i < h; i++) f[i] = f[i] > f[i + h] ? f[i] : f[i + h];
    return f[0];
}

/* Lanes rounded to a slot's format and widened again. */
VC_INLINE vc_vf vc_vf_round_bf16(vc_vf a) {
    vc_vi u = vc_vf_bits(a);
    vc_vi r = vc_vi_add(vc_vi_add(u, vc_vi_set1(0x7FFF)), vc_vi_and(vc_vi_shr(u, 16), vc_vi_set1(1)));
    r = vc_vi_select(vc_vf_eq(a, a), r, vc_vi_or(u, vc_vi_set1(0x400000)));
    return vc_vi_float(vc_vi_and(r, vc_vi_set1((int32_t)0xFFFF0000u)));
}
VC_TIER_INLINE vc_vf vc_vf_round_f16(vc_vf a) {
    uint16_t h[16];
    vc_vf_store_f16(h, a);
    return vc_vf_load_f16(h);
}
VC_INLINE vc_vf vc_vf_round_to(uint8_t format, vc_vf a) {
    return format == VC_BF16 ? vc_vf_round_bf16(a) : format == VC_F16 ? vc_vf_round_f16(a) : a;
}

/* Sixteen elements from element i of a row stored as f32, bf16 or f16; n < 16: that many. `t` folds when constant. */
VC_INLINE vc_vf vc_vf_load_as(enum vc_dtype t, const void *row, uint32_t i) {
    return t == VC_BF16 ? vc_vf_load_bf16((const uint16_t *)row + i) : t == VC_F16 ? vc_vf_load_f16((const uint16_t *)row + i)
                                                                                    : vc_vf_load((const float *)row + i);
}
VC_INLINE vc_vf vc_vf_load_as_n(enum vc_dtype t, const void *row, uint32_t i, uint32_t n) {
    return t == VC_BF16 ? vc_vf_load_bf16_n((const uint16_t *)row + i, n)
         : t == VC_F16 ? vc_vf_load_f16_n((const uint16_t *)row + i, n) : vc_vf_load_n((const float *)row + i, n);
}
VC_INLINE void vc_vf_store_as(enum vc_dtype t, void *row, uint32_t i, vc_vf a) {
    if (t == VC_BF16) vc_vf_store_bf16((uint16_t *)row + i, a);
    else if (t == VC_F16) vc_vf_store_f16((uint16_t *)row + i, a);
    else vc_vf_store((float *)row + i, a);
}
VC_INLINE void vc_vf_store_as_n(enum vc_dtype t, void *row, uint32_t i, vc_vf a, uint32_t n) {
    if (t == VC_BF16) vc_vf_store_bf16_n((uint16_t *)row + i, a, n);
    else if (t == VC_F16) vc_vf_store_f16_n((uint16_t *)row + i, a, n);
    else vc_vf_store_n((float *)row + i, a, n);
}

#endif
