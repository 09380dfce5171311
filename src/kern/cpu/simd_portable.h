/* SPDX-License-Identifier: Apache-2.0
 * simd_portable.h: the sixteen lanes of simd.h as four vectors of 16 bytes in the compiler's vector types, which any
 * x86-64 and AArch64 have. Included by simd.h only. */
#ifndef VC_KERN_CPU_SIMD_PORTABLE_H
#define VC_KERN_CPU_SIMD_PORTABLE_H

#include "op/fma.h"

typedef float vc_f4 VC_VECTOR(16);
typedef int32_t vc_i4 VC_VECTOR(16);
typedef uint32_t vc_u4 VC_VECTOR(16);
typedef struct { vc_f4 v[4]; } vc_vf;
typedef struct { vc_i4 v[4]; } vc_vi;
typedef vc_vi vc_vm;                                    /* lanes 0 or -1 */

#define EACH for (int q_ = 0; q_ < 4; q_++)
#define VF2(name, expr)                                                                                                \
    VC_INLINE vc_vf name(vc_vf a, vc_vf b) {                                                                           \
        vc_vf r;                                                                                                       \
        VC_UNROLL EACH r.v[q_] = expr;                                                                                 \
        return r;                                                                                                      \
    }
#define VI2(name, expr)                                                                                                \
    VC_INLINE vc_vi name(vc_vi a, vc_vi b) {                                                                           \
        vc_vi r;                                                                                                       \
        VC_UNROLL EACH r.v[q_] = expr;                                                                                 \
        return r;                                                                                                      \
    }
#define VFM(name, op)                                                                                                  \
    VC_INLINE vc_vm name(vc_vf a, vc_vf b) {                                                                           \
        vc_vm r;                                                                                                       \
        VC_UNROLL EACH r.v[q_] = (vc_i4)(a.v[q_] op b.v[q_]);                                                          \
        return r;                                                                                                      \
    }

VC_INLINE vc_vf vc_vf_load(const float *p) { vc_vf r; memcpy(&r, p, 64); return r; }
VC_INLINE void vc_vf_store(float *p, vc_vf a) { memcpy(p, &a, 64); }
VC_INLINE vc_vi vc_vi_load(const int32_t *p) { vc_vi r; memcpy(&r, p, 64); return r; }
VC_INLINE void vc_vi_store(int32_t *p, vc_vi a) { memcpy(p, &a, 64); }
VC_INLINE vc_vf vc_vf_set1(float x) {
    vc_vf r;
    VC_UNROLL EACH r.v[q_] = (vc_f4){ x, x, x, x };
    return r;
}
VC_INLINE vc_vi vc_vi_set1(int32_t x) {
    vc_vi r;
    VC_UNROLL EACH r.v[q_] = (vc_i4){ x, x, x, x };
    return r;
}
VC_INLINE vc_vi vc_vf_bits(vc_vf a) { vc_vi r; memcpy(&r, &a, 64); return r; }
VC_INLINE vc_vf vc_vi_float(vc_vi a) { vc_vf r; memcpy(&r, &a, 64); return r; }

VF2(vc_vf_add, a.v[q_] + b.v[q_])
VF2(vc_vf_sub, a.v[q_] - b.v[q_])
VF2(vc_vf_mul, a.v[q_] * b.v[q_])
VF2(vc_vf_div, a.v[q_] / b.v[q_])
VFM(vc_vf_lt, <)
VFM(vc_vf_le, <=)
VFM(vc_vf_eq, ==)
VI2(vc_vi_add, (vc_i4)((vc_u4)a.v[q_] + (vc_u4)b.v[q_]))
VI2(vc_vi_sub, (vc_i4)((vc_u4)a.v[q_] - (vc_u4)b.v[q_]))
VI2(vc_vi_and, a.v[q_] & b.v[q_])
VI2(vc_vi_or, a.v[q_] | b.v[q_])
VI2(vc_vi_xor, a.v[q_] ^ b.v[q_])
VI2(vc_vi_gt, (vc_i4)(a.v[q_] > b.v[q_]))
VI2(vc_vi_eq, (vc_i4)(a.v[q_] == b.v[q_]))

VC_INLINE vc_vi vc_vi_select(vc_vm m, vc_vi a, vc_vi b) {
    vc_vi r;
    VC_UNROLL EACH r.v[q_] = (m.v[q_] & a.v[q_]) | (~m.v[q_] & b.v[q_]);
    return r;
}
VC_INLINE vc_vf vc_vf_select(vc_vm m, vc_vf a, vc_vf b) { return vc_vi_float(vc_vi_select(m, vc_vf_bits(a), vc_vf_bits(b))); }
VC_INLINE vc_vf vc_vf_max(vc_vf a, vc_vf b) { return vc_vf_select(vc_vf_lt(b, a), a, b); }
VC_INLINE vc_vf vc_vf_min(vc_vf a, vc_vf b) { return vc_vf_select(vc_vf_lt(a, b), a, b); }
VC_INLINE vc_vi vc_vi_shl(vc_vi a, int n) {
    VC_UNROLL EACH a.v[q_] = (vc_i4)((vc_u4)a.v[q_] << n);
    return a;
}
VC_INLINE vc_vi vc_vi_shr(vc_vi a, int n) {
    VC_UNROLL EACH a.v[q_] = (vc_i4)((vc_u4)a.v[q_] >> n);
    return a;
}
VC_INLINE vc_vi vc_vi_sar(vc_vi a, int n) {
    VC_UNROLL EACH a.v[q_] = a.v[q_] >> n;
    return a;
}
VC_INLINE vc_vf vc_vi_to_float(vc_vi a) {
    vc_vf r;
    VC_UNROLL EACH r.v[q_] = __builtin_convertvector(a.v[q_], vc_f4);
    return r;
}
/* 1.5 * 2^23 rounds to even for |x| < 2^22; beyond, values with a fraction below 2^23 are split off the same way. */
VC_INLINE vc_vi vc_vf_int(vc_vf a) {
    vc_vi r;
    VC_UNROLL EACH {
        vc_f4 x = a.v[q_], big = (vc_f4)(((vc_i4)x & (int32_t)0x80000000u) | 0x4B000000);   /* 2^23 with x's sign */
        vc_i4 small = (vc_i4)((vc_f4)((vc_i4)x & 0x7FFFFFFF) < (vc_f4){ 8388608.0f, 8388608.0f, 8388608.0f, 8388608.0f });
        vc_f4 y = (x + big) - big;
        x = (vc_f4)((small & (vc_i4)y) | (~small & (vc_i4)x));
        r.v[q_] = __builtin_convertvector(x, vc_i4);
    }
    return r;
}
VC_INLINE vc_vf vc_vf_sqrt(vc_vf a) {
    float f[16];
    vc_vf_store(f, a);
    for (int i = 0; i < 16; i++) f[i] = __builtin_sqrtf(f[i]);
    return vc_vf_load(f);
}
/* The emulation is long, so it is not inlined where it is needed. */
#if defined(__FMA__) || defined(__aarch64__)
VC_INLINE void vc_fma_lanes(const float *a, const float *b, float *c) {
    for (int i = 0; i < 16; i++) c[i] = vc_fma(a[i], b[i], c[i]);
}
#else
static VC_NOINLINE VC_UNUSED void vc_fma_lanes(const float *a, const float *b, float *c) {
    for (int i = 0; i < 16; i++) c[i] = vc_fma(a[i], b[i], c[i]);
}
#endif
VC_INLINE vc_vf vc_vf_fma(vc_vf a, vc_vf b, vc_vf c) {
    float x[16], y[16], z[16];
    vc_vf_store(x, a);
    vc_vf_store(y, b);
    vc_vf_store(z, c);
    vc_fma_lanes(x, y, z);
    return vc_vf_load(z);
}
VC_INLINE vc_vf vc_vf_fnma(vc_vf a, vc_vf b, vc_vf c) {
    return vc_vf_fma(vc_vi_float(vc_vi_xor(vc_vf_bits(a), vc_vi_set1((int32_t)0x80000000u))), b, c);
}

VC_INLINE vc_vf vc_vf_load_n(const float *p, uint32_t n) {
    float f[16] = { 0 };
    memcpy(f, p, (size_t)n * 4);
    return vc_vf_load(f);
}
VC_INLINE void vc_vf_store_n(float *p, vc_vf a, uint32_t n) { memcpy(p, &a, (size_t)n * 4); }
VC_INLINE vc_vf vc_vf_load_bf16(const uint16_t *p) {
    uint32_t u[16];
    vc_vf r;
    for (int i = 0; i < 16; i++) u[i] = (uint32_t)p[i] << 16;
    memcpy(&r, u, 64);
    return r;
}
VC_INLINE vc_vf vc_vf_load_bf16_n(const uint16_t *p, uint32_t n) {
    uint16_t h[16] = { 0 };
    memcpy(h, p, (size_t)n * 2);
    return vc_vf_load_bf16(h);
}
VC_TIER_INLINE vc_vf vc_vf_load_f16(const uint16_t *p) {
    float f[16];
    for (int i = 0; i < 16; i++) f[i] = vc_f16_f32(p[i]);
    return vc_vf_load(f);
}
VC_INLINE vc_vf vc_vf_load_f16_n(const uint16_t *p, uint32_t n) {
    uint16_t h[16] = { 0 };
    memcpy(h, p, (size_t)n * 2);
    return vc_vf_load_f16(h);
}
VC_INLINE void vc_vf_store_bf16(uint16_t *p, vc_vf a) {
    vc_vi u = vc_vf_bits(a);
    vc_vi r = vc_vi_add(vc_vi_add(u, vc_vi_set1(0x7FFF)), vc_vi_and(vc_vi_shr(u, 16), vc_vi_set1(1)));
    r = vc_vi_shr(vc_vi_select(vc_vf_eq(a, a), r, vc_vi_or(u, vc_vi_set1(0x400000))), 16);
    int32_t w[16];
    vc_vi_store(w, r);
    for (int i = 0; i < 16; i++) p[i] = (uint16_t)w[i];
}
VC_INLINE void vc_vf_store_bf16_n(uint16_t *p, vc_vf a, uint32_t n) {
    uint16_t h[16];
    vc_vf_store_bf16(h, a);
    memcpy(p, h, (size_t)n * 2);
}
VC_TIER_INLINE void vc_vf_store_f16(uint16_t *p, vc_vf a) {
    float f[16];
    vc_vf_store(f, a);
    for (int i = 0; i < 16; i++) p[i] = vc_f32_f16(f[i]);
}
VC_INLINE void vc_vf_store_f16_n(uint16_t *p, vc_vf a, uint32_t n) {
    uint16_t h[16];
    vc_vf_store_f16(h, a);
    memcpy(p, h, (size_t)n * 2);
}

#undef EACH
#undef VF2
#undef VI2
#undef VFM

#endif
