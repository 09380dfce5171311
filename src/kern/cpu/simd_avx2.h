/* SPDX-License-Identifier: Apache-2.0
 * simd_avx2.h: the sixteen lanes of simd.h as two AVX registers. Included by simd.h only. */
#ifndef VC_KERN_CPU_SIMD_AVX2_H
#define VC_KERN_CPU_SIMD_AVX2_H

typedef struct { __m256 a, b; } vc_vf;
typedef struct { __m256i a, b; } vc_vi;
typedef vc_vi vc_vm;                                    /* lanes 0 or -1 */

#define VF2(name, f) VC_INLINE vc_vf name(vc_vf x, vc_vf y) { return (vc_vf){ f(x.a, y.a), f(x.b, y.b) }; }
#define VI2(name, f) VC_INLINE vc_vi name(vc_vi x, vc_vi y) { return (vc_vi){ f(x.a, y.a), f(x.b, y.b) }; }
#define VFM(name, p)                                                                                                   \
    VC_INLINE vc_vm name(vc_vf x, vc_vf y) {                                                                           \
        return (vc_vm){ _mm256_castps_si256(_mm256_cmp_ps(x.a, y.a, p)), _mm256_castps_si256(_mm256_cmp_ps(x.b, y.b, p)) }; \
    }
#define VF3(name, f) VC_INLINE vc_vf name(vc_vf x, vc_vf y, vc_vf z) { return (vc_vf){ f(x.a, y.a, z.a), f(x.b, y.b, z.b) }; }

VC_INLINE vc_vf vc_vf_load(const float *p) { return (vc_vf){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) }; }
VC_INLINE void vc_vf_store(float *p, vc_vf x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
VC_INLINE vc_vi vc_vi_load(const int32_t *p) {
    return (vc_vi){ _mm256_loadu_si256((const __m256i *)(const void *)p), _mm256_loadu_si256((const __m256i *)(const void *)(p + 8)) };
}
VC_INLINE void vc_vi_store(int32_t *p, vc_vi x) {
    _mm256_storeu_si256((__m256i *)(void *)p, x.a);
    _mm256_storeu_si256((__m256i *)(void *)(p + 8), x.b);
}
VC_INLINE vc_vf vc_vf_set1(float x) { return (vc_vf){ _mm256_set1_ps(x), _mm256_set1_ps(x) }; }
VC_INLINE vc_vi vc_vi_set1(int32_t x) { return (vc_vi){ _mm256_set1_epi32(x), _mm256_set1_epi32(x) }; }
VC_INLINE vc_vi vc_vf_bits(vc_vf x) { return (vc_vi){ _mm256_castps_si256(x.a), _mm256_castps_si256(x.b) }; }
VC_INLINE vc_vf vc_vi_float(vc_vi x) { return (vc_vf){ _mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b) }; }

VF2(vc_vf_add, _mm256_add_ps)
VF2(vc_vf_sub, _mm256_sub_ps)
VF2(vc_vf_mul, _mm256_mul_ps)
VF2(vc_vf_div, _mm256_div_ps)
VF2(vc_vf_max, _mm256_max_ps)
VF2(vc_vf_min, _mm256_min_ps)
VF3(vc_vf_fma, _mm256_fmadd_ps)
VF3(vc_vf_fnma, _mm256_fnmadd_ps)
VFM(vc_vf_lt, _CMP_LT_OQ)
VFM(vc_vf_le, _CMP_LE_OQ)
VFM(vc_vf_eq, _CMP_EQ_OQ)
VI2(vc_vi_add, _mm256_add_epi32)
VI2(vc_vi_sub, _mm256_sub_epi32)
VI2(vc_vi_and, _mm256_and_si256)
VI2(vc_vi_or, _mm256_or_si256)
VI2(vc_vi_xor, _mm256_xor_si256)
VI2(vc_vi_gt, _mm256_cmpgt_epi32)
VI2(vc_vi_eq, _mm256_cmpeq_epi32)
VC_INLINE vc_vf vc_vf_sqrt(vc_vf x) { return (vc_vf){ _mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b) }; }
VC_INLINE vc_vi vc_vi_shl(vc_vi x, int n) { return (vc_vi){ _mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n) }; }
VC_INLINE vc_vi vc_vi_shr(vc_vi x, int n) { return (vc_vi){ _mm256_srli_epi32(x.a, n), _mm256_srli_epi32(x.b, n) }; }
VC_INLINE vc_vi vc_vi_sar(vc_vi x, int n) { return (vc_vi){ _mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n) }; }
VC_INLINE vc_vf vc_vi_to_float(vc_vi x) { return (vc_vf){ _mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b) }; }
VC_INLINE vc_vi vc_vf_int(vc_vf x) { return (vc_vi){ _mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b) }; }
VC_INLINE vc_vf vc_vf_select(vc_vm m, vc_vf x, vc_vf y) {
    return (vc_vf){ _mm256_blendv_ps(y.a, x.a, _mm256_castsi256_ps(m.a)), _mm256_blendv_ps(y.b, x.b, _mm256_castsi256_ps(m.b)) };
}
VC_INLINE vc_vi vc_vi_select(vc_vm m, vc_vi x, vc_vi y) {
    return (vc_vi){ _mm256_blendv_epi8(y.a, x.a, m.a), _mm256_blendv_epi8(y.b, x.b, m.b) };
}

VC_INLINE vc_vf vc_vf_load_n(const float *p, uint32_t n) {
    float f[16] = { 0 };
    memcpy(f, p, (size_t)n * 4);
    return vc_vf_load(f);
}
VC_INLINE void vc_vf_store_n(float *p, vc_vf x, uint32_t n) {
    float f[16];
    vc_vf_store(f, x);
    memcpy(p, f, (size_t)n * 4);
}
VC_INLINE __m256 vc_widen_bf16(__m128i h) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)); }
VC_INLINE vc_vf vc_vf_load_bf16(const uint16_t *p) {
    return (vc_vf){ vc_widen_bf16(_mm_loadu_si128((const __m128i *)(const void *)p)),
                    vc_widen_bf16(_mm_loadu_si128((const __m128i *)(const void *)(p + 8))) };
}
VC_INLINE vc_vf vc_vf_load_f16(const uint16_t *p) {
    return (vc_vf){ _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)),
                    _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + 8))) };
}
VC_INLINE vc_vf vc_vf_load_bf16_n(const uint16_t *p, uint32_t n) {
    uint16_t h[16] = { 0 };
    memcpy(h, p, (size_t)n * 2);
    return vc_vf_load_bf16(h);
}
VC_INLINE vc_vf vc_vf_load_f16_n(const uint16_t *p, uint32_t n) {
    uint16_t h[16] = { 0 };
    memcpy(h, p, (size_t)n * 2);
    return vc_vf_load_f16(h);
}
/* bf16 words in the low halves of the lanes. */
VC_INLINE __m256i vc_narrow_bf16(__m256 x) {
    __m256i u = _mm256_castps_si256(x);
    __m256i r = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7FFF)), _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1)));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    r = _mm256_blendv_epi8(r, _mm256_or_si256(u, _mm256_set1_epi32(0x400000)), nan);
    return _mm256_srli_epi32(r, 16);
}
VC_INLINE void vc_vf_store_bf16(uint16_t *p, vc_vf x) {
    __m256i h = _mm256_permute4x64_epi64(_mm256_packus_epi32(vc_narrow_bf16(x.a), vc_narrow_bf16(x.b)), 0xD8);
    _mm256_storeu_si256((__m256i *)(void *)p, h);
}
VC_INLINE void vc_vf_store_f16(uint16_t *p, vc_vf x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(void *)(p + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
VC_INLINE void vc_vf_store_bf16_n(uint16_t *p, vc_vf x, uint32_t n) {
    uint16_t h[16];
    vc_vf_store_bf16(h, x);
    memcpy(p, h, (size_t)n * 2);
}
VC_INLINE void vc_vf_store_f16_n(uint16_t *p, vc_vf x, uint32_t n) {
    uint16_t h[16];
    vc_vf_store_f16(h, x);
    memcpy(p, h, (size_t)n * 2);
}

#undef VF2
#undef VF3
#undef VI2
#undef VFM

#endif
