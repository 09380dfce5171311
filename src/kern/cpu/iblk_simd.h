/* SPDX-License-Identifier: Apache-2.0
 * iblk_simd.h: vectors of the AVX2 and AVX-512 tiers of the iblk core, and the unpacking of a panel (iblk.h) into them:
 * codes of 8 or 16 columns x 4 k in bytes, one inline per kind of plane; scales of K-quants. Formats are constants. */
#ifndef VC_KERN_CPU_IBLK_SIMD_H
#define VC_KERN_CPU_IBLK_SIMD_H

#include <string.h>

#include "kern/cpu/iblk.h"
#include "kern/cpu/isa.h"

#if VC_TIER_LEVEL == 2
typedef __m512 vf;
typedef __m512i vi;
enum { VL = 16 };
#define V(op) VC_CAT(_mm512_, op)
#define VSI(op) VC_CAT(VC_CAT(_mm512_, op), _si512)
VC_INLINE vf load_half(const uint8_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
/* Bytes, 16-bit pairs and dwords, widened to the lanes. */
VC_INLINE vi widen_u16(const uint8_t *p) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
VC_INLINE vi zero_i(void) { return _mm512_setzero_si512(); }
VC_INLINE vi load_i(const void *p) { return _mm512_loadu_si512(p); }
VC_INLINE void store_i(void *p, vi x) { _mm512_storeu_si512(p, x); }
/* 16-bit lanes; scale_add: a sub-block's sum times its scale (vc_iblk_scale). */
#define shift_right(x, n) _mm512_srli_epi16(x, (uint8_t)(n))
#define shift_left(x, n) _mm512_slli_epi16(x, (uint8_t)(n))
VC_INLINE vi dot_16(vi s, vi a, vi b) { return _mm512_dpwssd_epi32(s, a, b); }
VC_INLINE vi scale_add(vi s, vi a, vi scale) { return _mm512_add_epi32(s, _mm512_mullo_epi32(a, scale)); }
#else
typedef __m256 vf;
typedef __m256i vi;
enum { VL = 8 };
#define V(op) VC_CAT(_mm256_, op)
#define VSI(op) VC_CAT(VC_CAT(_mm256_, op), _si256)
VC_INLINE vf load_half(const uint8_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)); }
VC_INLINE vi widen_u16(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p)); }
VC_INLINE vi zero_i(void) { return _mm256_setzero_si256(); }
VC_INLINE vi load_i(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
VC_INLINE void store_i(void *p, vi x) { _mm256_storeu_si256((__m256i *)p, x); }
/* 16-bit lanes; scale_add: a sub-block's sum times its scale (vc_iblk_scale). */
#define shift_right(x, n) _mm256_srli_epi16(x, n)
#define shift_left(x, n) _mm256_slli_epi16(x, n)
VC_INLINE vi dot_16(vi s, vi a, vi b) { return _mm256_add_epi32(s, _mm256_madd_epi16(a, b)); }
VC_INLINE vi scale_add(vi s, vi a, vi scale) { return dot_16(s, a, scale); }
#endif
VC_INLINE vi broadcast(const void *p) {
    int32_t x;
    memcpy(&x, p, 4);
    return V(set1_epi32)(x);
}

/* Codes of k group g (4 k) of the unit at u, unsigned (but Q8_0 on AVX2); u and low point at the first column of the vector. */
VC_INLINE vi vc_iblk_codes(const enum vc_dtype f, const uint8_t *u, const uint8_t *low, const int g) {
    vi code = zero_i();
    if (f == VC_Q8_0) {
        vi h = load_i(u + (g & 3) * 128), l = load_i(low + (g & 3) * 128);
        if (g < 4) h = shift_left(h, 4);
        else l = shift_right(l, 4);
        code = VSI(or)(VSI(and)(h, V(set1_epi8)(-16)), VSI(and)(l, V(set1_epi8)(15)));
        return VC_TIER_LEVEL == 1 ? VSI(xor)(code, V(set1_epi8)(-128)) : code;
    }
    if (vc_iblk_nibbles(f)) {
        code = load_i(u + (g & 3) * 128);
        if (g >= 4) code = shift_right(code, 4);
        code = VSI(and)(code, V(set1_epi8)(15));
    }
    if (vc_iblk_pairs(f)) {
        vi x = load_i(u + (f == VC_Q6_K ? 512 : 0) + (g >> 2) * 128);
        const int at = 2 * (g & 3), to = f == VC_Q6_K ? 4 : 0;      /* from bit `at` to bit `to` */
        if (at > to) x = shift_right(x, at - to);
        if (at < to) x = shift_left(x, to - at);
        x = VSI(and)(x, V(set1_epi8)((char)(3 << to)));
        code = f == VC_Q6_K ? VSI(or)(code, x) : x;
    }
    if (vc_iblk_bits(f)) {
        vi x = load_i(u + (f == VC_Q3_K ? 256 : 512));
        const int to = f == VC_Q3_K ? 2 : 4;
        if (g > to) x = shift_right(x, g - to);
        if (g < to) x = shift_left(x, to - g);
        code = VSI(or)(code, VSI(and)(x, V(set1_epi8)((char)(1 << to))));
    }
    return code;
}

/* Scale of sub-block j for the columns from c on; s: the 512 bytes of scales. AVX2: int16, each twice (for vpmaddwd over the
 * two halves of a column); AVX-512: int32. */
VC_INLINE vi vc_iblk_scale(const enum vc_dtype f, const uint8_t *s, const int j, const int c) {
    const uint8_t *p = s + j * 32 + c;
    const int is_signed = f == VC_Q3_K || f == VC_Q6_K;
#if VC_TIER_LEVEL == 2
    const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)p);
    vi x = is_signed ? _mm512_cvtepi8_epi32(b) : _mm512_cvtepu8_epi32(b);
#else
    int64_t b;
    memcpy(&b, p, 8);
    const char z = -128;
    const __m256i low = _mm256_setr_epi8(0, z, 0, z, 1, z, 1, z, 2, z, 2, z, 3, z, 3, z, 4, z, 4, z, 5, z, 5, z, 6, z, 6, z, 7, z, 7, z);
    const __m256i high = _mm256_setr_epi8(z, 0, z, 0, z, 1, z, 1, z, 2, z, 2, z, 3, z, 3, z, 4, z, 4, z, 5, z, 5, z, 6, z, 6, z, 7, z, 7);
    vi x = _mm256_shuffle_epi8(_mm256_set1_epi64x(b), is_signed ? high : low);
    if (is_signed) x = _mm256_srai_epi16(x, 8);
#endif
    return f == VC_Q2_K ? VSI(and)(x, V(set1_epi32)(VC_TIER_LEVEL == 2 ? 15 : 0x000F000F)) : x;
}
/* Minimums of sub-blocks 2p and 2p + 1 as int16 pairs. */
VC_INLINE vi vc_iblk_mins(const enum vc_dtype f, const uint8_t *s, const int p, const int c) {
    const vi x = widen_u16(s + (f == VC_Q2_K ? 0 : 256) + p * 64 + c * 2);
    return f == VC_Q2_K ? shift_right(x, 4) : x;
}

#endif
