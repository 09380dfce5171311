/* SPDX-License-Identifier: Apache-2.0
 * emulate_avx512.h: AVX-512 intrinsics on an AVX2 machine, so that the avx512 sources can be tested there: SIMDe's, and
 * below what SIMDe 0.7.4 lacks or does otherwise (dpbf16, whose order of additions it does not keep). Each shim is a
 * loop over lanes that states the instruction's definition; names are re-defined as macros because gcc's own headers
 * declare them too. Included by isa.h under VC_EMULATE_AVX512; speed does not matter. Add a shim here when one is missing. */
#ifndef VC_EMULATE_AVX512_H
#define VC_EMULATE_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>
#undef I                                                       /* of complex.h */

#include <stdint.h>
#include <string.h>

#include "base/compat.h"

typedef union {
    float f[16];
    double d[8];
    int32_t i[16];
    uint32_t u[16];
    int64_t q[8];
    int16_t h[32];
    uint16_t uh[32];
    int8_t b[64];
    uint8_t ub[64];
    __m128 f4[4];
    __m256 f8[2];
    __m128i i4[4];
    __m256i i8[2];
    simde__m512 zf;
    simde__m512i zi;
} emu_z;

#define EMU_F(v) ((emu_z){ .zf = (v) })
#define EMU_I(v) ((emu_z){ .zi = (v) })
#define EMU_EACH(n) for (int l_ = 0; l_ < (n); l_++)
#define L_ [l_]


/* Masked loads and stores: lanes that are off are not touched in memory. */
#define EMU_MASKED(bits, type, vec, zero, kt)                                                                          \
    VC_INLINE vec emu_mask_loadu_##bits##_##vec(vec src, kt k, const void *p) {                                        \
        type t[sizeof(vec) / sizeof(type)];                                                                            \
        memcpy(t, &src, sizeof t);                                                                                     \
        for (size_t l = 0; l < sizeof(vec) / sizeof(type); l++)                                                        \
            if (k >> l & 1) memcpy(&t[l], (const char *)p + l * sizeof(type), sizeof(type));                           \
        vec r;                                                                                                         \
        memcpy(&r, t, sizeof t);                                                                                       \
        return r;                                                                                                      \
    }                                                                                                                  \
    VC_INLINE vec emu_maskz_loadu_##bits##_##vec(kt k, const void *p) {                                                \
        vec z;                                                                                                         \
        memset(&z, 0, sizeof z);                                                                                       \
        return emu_mask_loadu_##bits##_##vec(z, k, p);                                                                 \
    }                                                                                                                  \
    VC_INLINE void emu_mask_storeu_##bits##_##vec(void *p, kt k, vec v) {                                              \
        type t[sizeof(vec) / sizeof(type)];                                                                            \
        memcpy(t, &v, sizeof t);                                                                                       \
        for (size_t l = 0; l < sizeof(vec) / sizeof(type); l++)                                                        \
            if (k >> l & 1) memcpy((char *)p + l * sizeof(type), &t[l], sizeof(type));                                 \
    }
typedef simde__m512 emu_f512;
typedef simde__m512i emu_i512;
typedef __m256i emu_i256;
typedef __m128i emu_i128;
typedef __m256 emu_f256;
EMU_MASKED(ps, float, emu_f512, 0, uint16_t)
EMU_MASKED(32, int32_t, emu_i512, 0, uint16_t)
EMU_MASKED(16, int16_t, emu_i512, 0, uint32_t)
EMU_MASKED(8, int8_t, emu_i512, 0, uint64_t)
EMU_MASKED(ps, float, emu_f256, 0, uint8_t)
EMU_MASKED(32, int32_t, emu_i256, 0, uint8_t)
EMU_MASKED(16, int16_t, emu_i256, 0, uint16_t)
EMU_MASKED(8, int8_t, emu_i256, 0, uint32_t)
EMU_MASKED(16, int16_t, emu_i128, 0, uint8_t)
EMU_MASKED(8, int8_t, emu_i128, 0, uint16_t)

#undef _mm512_mask_loadu_ps
#undef _mm512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#undef _mm512_mask_loadu_epi32
#undef _mm512_maskz_loadu_epi32
#undef _mm512_mask_storeu_epi32
#undef _mm512_mask_loadu_epi16
#undef _mm512_maskz_loadu_epi16
#undef _mm512_mask_storeu_epi16
#undef _mm512_mask_loadu_epi8
#undef _mm512_maskz_loadu_epi8
#undef _mm512_mask_storeu_epi8
#undef _mm256_mask_loadu_ps
#undef _mm256_maskz_loadu_ps
#undef _mm256_mask_storeu_ps
#undef _mm256_maskz_loadu_epi32
#undef _mm256_mask_storeu_epi32
#undef _mm256_maskz_loadu_epi16
#undef _mm256_mask_storeu_epi16
#undef _mm256_maskz_loadu_epi8
#undef _mm256_mask_storeu_epi8
#undef _mm_maskz_loadu_epi16
#undef _mm_mask_storeu_epi16
#undef _mm_maskz_loadu_epi8
#undef _mm_mask_storeu_epi8
#define _mm512_mask_loadu_ps(s, k, p) emu_mask_loadu_ps_emu_f512(s, k, p)
#define _mm512_maskz_loadu_ps(k, p) emu_maskz_loadu_ps_emu_f512(k, p)
#define _mm512_mask_storeu_ps(p, k, v) emu_mask_storeu_ps_emu_f512(p, k, v)
#define _mm512_mask_loadu_epi32(s, k, p) emu_mask_loadu_32_emu_i512(s, k, p)
#define _mm512_maskz_loadu_epi32(k, p) emu_maskz_loadu_32_emu_i512(k, p)
#define _mm512_mask_storeu_epi32(p, k, v) emu_mask_storeu_32_emu_i512(p, k, v)
#define _mm512_mask_loadu_epi16(s, k, p) emu_mask_loadu_16_emu_i512(s, k, p)
#define _mm512_maskz_loadu_epi16(k, p) emu_maskz_loadu_16_emu_i512(k, p)
#define _mm512_mask_storeu_epi16(p, k, v) emu_mask_storeu_16_emu_i512(p, k, v)
#define _mm512_mask_loadu_epi8(s, k, p) emu_mask_loadu_8_emu_i512(s, k, p)
#define _mm512_maskz_loadu_epi8(k, p) emu_maskz_loadu_8_emu_i512(k, p)
#define _mm512_mask_storeu_epi8(p, k, v) emu_mask_storeu_8_emu_i512(p, k, v)
#define _mm256_mask_loadu_ps(s, k, p) emu_mask_loadu_ps_emu_f256(s, k, p)
#define _mm256_maskz_loadu_ps(k, p) emu_maskz_loadu_ps_emu_f256(k, p)
#define _mm256_mask_storeu_ps(p, k, v) emu_mask_storeu_ps_emu_f256(p, k, v)
#define _mm256_maskz_loadu_epi32(k, p) emu_maskz_loadu_32_emu_i256(k, p)
#define _mm256_mask_storeu_epi32(p, k, v) emu_mask_storeu_32_emu_i256(p, k, v)
#define _mm256_maskz_loadu_epi16(k, p) emu_maskz_loadu_16_emu_i256(k, p)
#define _mm256_mask_storeu_epi16(p, k, v) emu_mask_storeu_16_emu_i256(p, k, v)
#define _mm256_maskz_loadu_epi8(k, p) emu_maskz_loadu_8_emu_i256(k, p)
#define _mm256_mask_storeu_epi8(p, k, v) emu_mask_storeu_8_emu_i256(p, k, v)
#define _mm_maskz_loadu_epi16(k, p) emu_maskz_loadu_16_emu_i128(k, p)
#define _mm_mask_storeu_epi16(p, k, v) emu_mask_storeu_16_emu_i128(p, k, v)
#define _mm_maskz_loadu_epi8(k, p) emu_maskz_loadu_8_emu_i128(k, p)
#define _mm_mask_storeu_epi8(p, k, v) emu_mask_storeu_8_emu_i128(p, k, v)

/* Conversions. */
VC_INLINE simde__m512i emu_cvtepu16_epi32(__m256i x) {
    emu_z r;
    r.i8[0] = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(x));
    r.i8[1] = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(x, 1));
    return r.zi;
}
VC_INLINE simde__m512i emu_cvtepi16_epi32(__m256i x) {
    emu_z r;
    r.i8[0] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(x));
    r.i8[1] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(x, 1));
    return r.zi;
}
VC_INLINE simde__m512i emu_cvtepi8_epi32(__m128i x) {
    emu_z r;
    int8_t t[16];
    memcpy(t, &x, 16);
    EMU_EACH(16) r.i L_ = t L_;
    return r.zi;
}
VC_INLINE simde__m512i emu_cvtepu8_epi32(__m128i x) {
    emu_z r;
    uint8_t t[16];
    memcpy(t, &x, 16);
    EMU_EACH(16) r.i L_ = t L_;
    return r.zi;
}
VC_INLINE __m256i emu_cvtepi32_epi16(simde__m512i x) {
    emu_z a = EMU_I(x);
    int16_t t[16];
    EMU_EACH(16) t L_ = (int16_t)a.u L_;
    __m256i r;
    memcpy(&r, t, 32);
    return r;
}
VC_INLINE __m128i emu_cvtepi32_epi8(simde__m512i x) {
    emu_z a = EMU_I(x);
    int8_t t[16];
    EMU_EACH(16) t L_ = (int8_t)a.u L_;
    __m128i r;
    memcpy(&r, t, 16);
    return r;
}
VC_INLINE simde__m512i emu_cvtepu8_epi16(__m256i x) {
    emu_z r;
    uint8_t t[32];
    memcpy(t, &x, 32);
    EMU_EACH(32) r.h L_ = t L_;
    return r.zi;
}
VC_INLINE simde__m512i emu_cvtepi8_epi16(__m256i x) {
    emu_z r;
    int8_t t[32];
    memcpy(t, &x, 32);
    EMU_EACH(32) r.h L_ = t L_;
    return r.zi;
}
VC_INLINE simde__m512 emu_cvtepi32_ps(simde__m512i x) {
    emu_z a = EMU_I(x), r;
    EMU_EACH(2) r.f8 L_ = _mm256_cvtepi32_ps(a.i8 L_);
    return r.zf;
}
VC_INLINE simde__m512i emu_cvtps_epi32(simde__m512 x) {
    emu_z a = EMU_F(x), r;
    EMU_EACH(2) r.i8 L_ = _mm256_cvtps_epi32(a.f8 L_);
    return r.zi;
}
VC_INLINE simde__m512i emu_cvttps_epi32(simde__m512 x) {
    emu_z a = EMU_F(x), r;
    EMU_EACH(2) r.i8 L_ = _mm256_cvttps_epi32(a.f8 L_);
    return r.zi;
}
VC_INLINE simde__m512 emu_cvtph_ps(__m256i x) {
    emu_z r;
    r.f8[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(x));
    r.f8[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1));
    return r.zf;
}
VC_INLINE __m256i emu_cvtps_ph(simde__m512 x) {
    emu_z a = EMU_F(x);
    return _mm256_set_m128i(_mm256_cvtps_ph(a.f8[1], 0), _mm256_cvtps_ph(a.f8[0], 0));
}
#undef _mm512_cvtepu16_epi32
#undef _mm512_cvtepi16_epi32
#undef _mm512_cvtepi8_epi32
#undef _mm512_cvtepu8_epi32
#undef _mm512_cvtepi32_epi16
#undef _mm512_cvtepi32_epi8
#undef _mm512_cvtepu8_epi16
#undef _mm512_cvtepi8_epi16
#undef _mm512_cvtepi32_ps
#undef _mm512_cvtps_epi32
#undef _mm512_cvttps_epi32
#undef _mm512_cvtph_ps
#undef _mm512_cvtps_ph
#define _mm512_cvtepu16_epi32(x) emu_cvtepu16_epi32(x)
#define _mm512_cvtepi16_epi32(x) emu_cvtepi16_epi32(x)
#define _mm512_cvtepi8_epi32(x) emu_cvtepi8_epi32(x)
#define _mm512_cvtepu8_epi32(x) emu_cvtepu8_epi32(x)
#define _mm512_cvtepi32_epi16(x) emu_cvtepi32_epi16(x)
#define _mm512_cvtepi32_epi8(x) emu_cvtepi32_epi8(x)
#define _mm512_cvtepu8_epi16(x) emu_cvtepu8_epi16(x)
#define _mm512_cvtepi8_epi16(x) emu_cvtepi8_epi16(x)
#define _mm512_cvtepi32_ps(x) emu_cvtepi32_ps(x)
#define _mm512_cvtps_epi32(x) emu_cvtps_epi32(x)
#define _mm512_cvttps_epi32(x) emu_cvttps_epi32(x)
#define _mm512_cvtph_ps(x) emu_cvtph_ps(x)
#define _mm512_cvtps_ph(x, r) emu_cvtps_ph(x)                  /* nearest even only */

/* bf16. dpbf16: per lane the odd product is added first, then the even one, each sum rounded (an fma: the products are
 * exact); the instruction flushes always, here the thread's state does. cvtneps: nearest even, subnormals to zero. */
VC_INLINE simde__m512 emu_dpbf16_ps(simde__m512 src, emu_z a, emu_z b) {
    emu_z r = EMU_F(src), x, y;
    EMU_EACH(2) {
        x.i8 L_ = _mm256_slli_epi32(a.i8 L_, 16);
        y.i8 L_ = _mm256_slli_epi32(b.i8 L_, 16);
        __m256i high = _mm256_set1_epi32((int32_t)0xFFFF0000u);
        __m256 odd_a = _mm256_castsi256_ps(_mm256_and_si256(a.i8 L_, high)), odd_b = _mm256_castsi256_ps(_mm256_and_si256(b.i8 L_, high));
        r.f8 L_ = _mm256_fmadd_ps(odd_a, odd_b, r.f8 L_);
        r.f8 L_ = _mm256_fmadd_ps(x.f8 L_, y.f8 L_, r.f8 L_);
    }
    return r.zf;
}
VC_INLINE uint16_t emu_bf16(uint32_t u) {
    if ((u & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(u >> 16 | 0x40);
    if ((u & 0x7F800000u) == 0) return (uint16_t)(u >> 16 & 0x8000u);
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
}
VC_INLINE __m256i emu_cvtneps_pbh(simde__m512 x) {
    emu_z a = EMU_F(x);
    uint16_t t[16];
    EMU_EACH(16) t L_ = emu_bf16(a.u L_);
    __m256i r;
    memcpy(&r, t, 32);
    return r;
}
VC_INLINE emu_z emu_cvtne2ps_pbh(simde__m512 hi, simde__m512 lo) {
    emu_z a = EMU_F(hi), b = EMU_F(lo), r;
    EMU_EACH(16) {
        r.uh L_ = emu_bf16(b.u L_);
        r.uh[16 + l_] = emu_bf16(a.u L_);
    }
    return r;
}
#undef _mm512_dpbf16_ps
#undef _mm512_cvtneps_pbh
#undef _mm512_cvtne2ps_pbh
/* Operands are __m512bh values (cast from __m512i as the real headers allow). */
#define _mm512_dpbf16_ps(s, a, b) emu_dpbf16_ps(s, ((emu_z){ .zi = (simde__m512i)(a) }), ((emu_z){ .zi = (simde__m512i)(b) }))
#define _mm512_cvtneps_pbh(x) emu_cvtneps_pbh(x)
#define _mm512_cvtne2ps_pbh(hi, lo) (emu_cvtne2ps_pbh(hi, lo).zi)

/* Integers. dpbusd: unsigned bytes of a times signed bytes of b, four products into each 32-bit lane, no saturation. */
VC_INLINE simde__m512i emu_dpbusd(simde__m512i s, simde__m512i x, simde__m512i y) {
    emu_z r = EMU_I(s), a = EMU_I(x), b = EMU_I(y);
    for (int h = 0; h < 2; h++) {
        __m256i lo = _mm256_madd_epi16(_mm256_cvtepu8_epi16(a.i4[2 * h]), _mm256_cvtepi8_epi16(b.i4[2 * h]));
        __m256i hi = _mm256_madd_epi16(_mm256_cvtepu8_epi16(a.i4[2 * h + 1]), _mm256_cvtepi8_epi16(b.i4[2 * h + 1]));
        __m256i sum = _mm256_permute4x64_epi64(_mm256_hadd_epi32(lo, hi), 0xD8);
        r.i8[h] = _mm256_add_epi32(r.i8[h], sum);
    }
    return r.zi;
}
VC_INLINE simde__m512i emu_dpwssd(simde__m512i s, simde__m512i x, simde__m512i y) {
    emu_z r = EMU_I(s), a = EMU_I(x), b = EMU_I(y);
    EMU_EACH(2) r.i8 L_ = _mm256_add_epi32(r.i8 L_, _mm256_madd_epi16(a.i8 L_, b.i8 L_));
    return r.zi;
}
VC_INLINE simde__m512i emu_srai_epi32(simde__m512i x, unsigned n) {
    emu_z a = EMU_I(x);
    EMU_EACH(16) a.i L_ = a.i L_ >> (n > 31 ? 31 : n);
    return a.zi;
}
VC_INLINE simde__m512i emu_srli_epi16(simde__m512i x, unsigned n) {
    emu_z a = EMU_I(x);
    EMU_EACH(32) a.uh L_ = n > 15 ? 0 : (uint16_t)(a.uh L_ >> n);
    return a.zi;
}
VC_INLINE simde__m512i emu_slli_epi16(simde__m512i x, unsigned n) {
    emu_z a = EMU_I(x);
    EMU_EACH(32) a.uh L_ = n > 15 ? 0 : (uint16_t)(a.uh L_ << n);
    return a.zi;
}
#undef _mm512_dpbusd_epi32
#undef _mm512_dpwssd_epi32
#undef _mm512_srai_epi32
#undef _mm512_srli_epi16
#undef _mm512_slli_epi16
#define _mm512_dpbusd_epi32(s, a, b) emu_dpbusd(s, a, b)
#define _mm512_dpwssd_epi32(s, a, b) emu_dpwssd(s, a, b)
#define _mm512_srai_epi32(x, n) emu_srai_epi32(x, n)
#define _mm512_srli_epi16(x, n) emu_srli_epi16(x, n)
#define _mm512_slli_epi16(x, n) emu_slli_epi16(x, n)

/* Comparisons to masks, and operations under masks. */
#define EMU_CMP(name, op)                                                                                              \
    VC_INLINE uint16_t name(simde__m512i x, simde__m512i y) {                                                          \
        emu_z a = EMU_I(x), b = EMU_I(y);                                                                              \
        unsigned k = 0;                                                                                                \
        EMU_EACH(16) k |= (unsigned)(a.i L_ op b.i L_) << l_;                                                          \
        return (uint16_t)k;                                                                                            \
    }
EMU_CMP(emu_cmplt_epi32_mask, <)
EMU_CMP(emu_cmple_epi32_mask, <=)
EMU_CMP(emu_cmpgt_epi32_mask, >)
EMU_CMP(emu_cmpge_epi32_mask, >=)
EMU_CMP(emu_cmpeq_epi32_mask, ==)
EMU_CMP(emu_cmpneq_epi32_mask, !=)
#undef _mm512_cmplt_epi32_mask
#undef _mm512_cmple_epi32_mask
#undef _mm512_cmpgt_epi32_mask
#undef _mm512_cmpge_epi32_mask
#undef _mm512_cmpeq_epi32_mask
#undef _mm512_cmpneq_epi32_mask
#define _mm512_cmplt_epi32_mask(a, b) emu_cmplt_epi32_mask(a, b)
#define _mm512_cmple_epi32_mask(a, b) emu_cmple_epi32_mask(a, b)
#define _mm512_cmpgt_epi32_mask(a, b) emu_cmpgt_epi32_mask(a, b)
#define _mm512_cmpge_epi32_mask(a, b) emu_cmpge_epi32_mask(a, b)
#define _mm512_cmpeq_epi32_mask(a, b) emu_cmpeq_epi32_mask(a, b)
#define _mm512_cmpneq_epi32_mask(a, b) emu_cmpneq_epi32_mask(a, b)
#undef _mm512_mask_or_epi32
#define _mm512_mask_or_epi32(s, k, a, b) _mm512_mask_blend_epi32(k, s, _mm512_or_si512(a, b))

/* Lanes. */
VC_INLINE __m256 emu_extractf32x8(simde__m512 x, int n) { return (EMU_F(x)).f8[n & 1]; }
VC_INLINE __m128 emu_extractf32x4(simde__m512 x, int n) { return (EMU_F(x)).f4[n & 3]; }
VC_INLINE __m256i emu_extracti32x8(simde__m512i x, int n) { return (EMU_I(x)).i8[n & 1]; }
VC_INLINE simde__m512 emu_shuffle_f32x4(simde__m512 x, simde__m512 y, int c) {
    emu_z a = EMU_F(x), b = EMU_F(y), r;
    r.f4[0] = a.f4[c & 3];
    r.f4[1] = a.f4[c >> 2 & 3];
    r.f4[2] = b.f4[c >> 4 & 3];
    r.f4[3] = b.f4[c >> 6 & 3];
    return r.zf;
}
VC_INLINE simde__m512i emu_alignr_epi32(simde__m512i x, simde__m512i y, int n) {
    emu_z a = EMU_I(x), b = EMU_I(y), r;
    EMU_EACH(16) r.i L_ = l_ + n < 16 ? b.i[l_ + n] : a.i[l_ + n - 16];
    return r.zi;
}
VC_INLINE simde__m512 emu_i32gather_ps(simde__m512i x, const void *p, int scale) {
    emu_z a = EMU_I(x), r;
    EMU_EACH(16) memcpy(&r.f L_, (const char *)p + (ptrdiff_t)a.i L_ * scale, 4);
    return r.zf;
}
/* Sums of lanes as gcc and clang write _mm512_reduce_*: i with i+8, then i+4, i+2, i+1. */
VC_INLINE float emu_reduce_add_ps(simde__m512 x) {
    emu_z a = EMU_F(x);
    for (int h = 8; h; h >>= 1) EMU_EACH(h) a.f L_ = a.f L_ + a.f[l_ + h];
    return a.f[0];
}
VC_INLINE float emu_reduce_max_ps(simde__m512 x) {
    emu_z a = EMU_F(x);
    for (int h = 8; h; h >>= 1) EMU_EACH(h) a.f L_ = a.f L_ > a.f[l_ + h] ? a.f L_ : a.f[l_ + h];
    return a.f[0];
}
VC_INLINE int32_t emu_reduce_add_epi32(simde__m512i x) {
    emu_z a = EMU_I(x);
    uint32_t s = 0;
    EMU_EACH(16) s += a.u L_;
    return (int32_t)s;
}
#undef _mm512_extractf32x8_ps
#undef _mm512_extractf32x4_ps
#undef _mm512_extracti32x8_epi32
#undef _mm512_shuffle_f32x4
#undef _mm512_alignr_epi32
#undef _mm512_i32gather_ps
#undef _mm512_reduce_add_ps
#undef _mm512_reduce_max_ps
#undef _mm512_reduce_add_epi32
#define _mm512_extractf32x8_ps(x, n) emu_extractf32x8(x, n)
#define _mm512_extractf32x4_ps(x, n) emu_extractf32x4(x, n)
#define _mm512_extracti32x8_epi32(x, n) emu_extracti32x8(x, n)
#define _mm512_shuffle_f32x4(x, y, c) emu_shuffle_f32x4(x, y, c)
#define _mm512_alignr_epi32(x, y, n) emu_alignr_epi32(x, y, n)
#define _mm512_i32gather_ps(x, p, s) emu_i32gather_ps(x, p, s)
#define _mm512_reduce_add_ps(x) emu_reduce_add_ps(x)
#define _mm512_reduce_max_ps(x) emu_reduce_max_ps(x)
#define _mm512_reduce_add_epi32(x) emu_reduce_add_epi32(x)

#undef L_
#endif
