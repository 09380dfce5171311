/* SPDX-License-Identifier: Apache-2.0
 * simd_avx512.h: the sixteen lanes of simd.h as one AVX-512 register. Included by simd.h only.
 * bf16 is narrowed by integer steps rather than vcvtneps2bf16: a few instructions more, but NaNs and subnormals as on
 * the other tiers. */
#ifndef VC_KERN_CPU_SIMD_AVX512_H
#define VC_KERN_CPU_SIMD_AVX512_H

typedef __m512 vc_vf;
typedef __m512i vc_vi;
typedef __mmask16 vc_vm;

#define VF2(name, f) VC_INLINE vc_vf name(vc_vf x, vc_vf y) { return f(x, y); }
#define VF3(name, f) VC_INLINE vc_vf name(vc_vf x, vc_vf y, vc_vf z) { return f(x, y, z); }
#define VI2(name, f) VC_INLINE vc_vi name(vc_vi x, vc_vi y) { return f(x, y); }
#define VFM(name, p) VC_INLINE vc_vm name(vc_vf x, vc_vf y) { return _mm512_cmp_ps_mask(x, y, p); }

VC_INLINE __mmask16 vc_first(uint32_t n) { return (__mmask16)((1u << n) - 1u); }
VC_INLINE vc_vf vc_vf_load(const float *p) { return _mm512_loadu_ps(p); }
VC_INLINE void vc_vf_store(float *p, vc_vf x) { _mm512_storeu_ps(p, x); }
VC_INLINE vc_vi vc_vi_load(const int32_t *p) { return _mm512_loadu_si512((const void *)p); }
VC_INLINE void vc_vi_store(int32_t *p, vc_vi x) { _mm512_storeu_si512((void *)p, x); }
VC_INLINE vc_vf vc_vf_load_n(const float *p, uint32_t n) { return _mm512_maskz_loadu_ps(vc_first(n), p); }
VC_INLINE void vc_vf_store_n(float *p, vc_vf x, uint32_t n) { _mm512_mask_storeu_ps(p, vc_first(n), x); }
VC_INLINE vc_vf vc_vf_set1(float x) { return _mm512_set1_ps(x); }
VC_INLINE vc_vi vc_vi_set1(int32_t x) { return _mm512_set1_epi32(x); }
VC_INLINE vc_vi vc_vf_bits(vc_vf x) { return _mm512_castps_si512(x); }
VC_INLINE vc_vf vc_vi_float(vc_vi x) { return _mm512_castsi512_ps(x); }

VF2(vc_vf_add, _mm512_add_ps)
VF2(vc_vf_sub, _mm512_sub_ps)
VF2(vc_vf_mul, _mm512_mul_ps)
VF2(vc_vf_div, _mm512_div_ps)
VF2(vc_vf_max, _mm512_max_ps)
VF2(vc_vf_min, _mm512_min_ps)
VF3(vc_vf_fma, _mm512_fmadd_ps)
VF3(vc_vf_fnma, _mm512_fnmadd_ps)
VFM(vc_vf_lt, _CMP_LT_OQ)
VFM(vc_vf_le, _CMP_LE_OQ)
VFM(vc_vf_eq, _CMP_EQ_OQ)
VI2(vc_vi_add, _mm512_add_epi32)
VI2(vc_vi_sub, _mm512_sub_epi32)
VI2(vc_vi_and, _mm512_and_si512)
VI2(vc_vi_or, _mm512_or_si512)
VI2(vc_vi_xor, _mm512_xor_si512)
VC_INLINE vc_vm vc_vi_gt(vc_vi x, vc_vi y) { return _mm512_cmpgt_epi32_mask(x, y); }
VC_INLINE vc_vm vc_vi_eq(vc_vi x, vc_vi y) { return _mm512_cmpeq_epi32_mask(x, y); }
VC_INLINE vc_vf vc_vf_sqrt(vc_vf x) { return _mm512_sqrt_ps(x); }
VC_INLINE vc_vi vc_vi_shl(vc_vi x, int n) { return _mm512_slli_epi32(x, (unsigned)n); }
VC_INLINE vc_vi vc_vi_shr(vc_vi x, int n) { return _mm512_srli_epi32(x, (unsigned)n); }
VC_INLINE vc_vi vc_vi_sar(vc_vi x, int n) { return _mm512_srai_epi32(x, (unsigned)n); }
VC_INLINE vc_vf vc_vi_to_float(vc_vi x) { return _mm512_cvtepi32_ps(x); }
VC_INLINE vc_vi vc_vf_int(vc_vf x) { return _mm512_cvtps_epi32(x); }
VC_INLINE vc_vf vc_vf_select(vc_vm m, vc_vf x, vc_vf y) { return _mm512_mask_blend_ps(m, y, x); }
VC_INLINE vc_vi vc_vi_select(vc_vm m, vc_vi x, vc_vi y) { return _mm512_mask_blend_epi32(m, y, x); }

VC_INLINE vc_vf vc_widen_bf16(__m256i h) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16)); }
VC_INLINE vc_vf vc_vf_load_bf16(const uint16_t *p) { return vc_widen_bf16(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
VC_INLINE vc_vf vc_vf_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
VC_INLINE vc_vf vc_vf_load_bf16_n(const uint16_t *p, uint32_t n) { return vc_widen_bf16(_mm256_maskz_loadu_epi16(vc_first(n), p)); }
VC_INLINE vc_vf vc_vf_load_f16_n(const uint16_t *p, uint32_t n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vc_first(n), p)); }
VC_INLINE __m256i vc_narrow_bf16(vc_vf x) {
    __m512i u = _mm512_castps_si512(x);
    __m512i r = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1)));
    r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), u, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}
VC_INLINE void vc_vf_store_bf16(uint16_t *p, vc_vf x) { _mm256_storeu_si256((__m256i *)(void *)p, vc_narrow_bf16(x)); }
VC_INLINE void vc_vf_store_bf16_n(uint16_t *p, vc_vf x, uint32_t n) { _mm256_mask_storeu_epi16(p, vc_first(n), vc_narrow_bf16(x)); }
VC_INLINE void vc_vf_store_f16(uint16_t *p, vc_vf x) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
VC_INLINE void vc_vf_store_f16_n(uint16_t *p, vc_vf x, uint32_t n) {
    _mm256_mask_storeu_epi16(p, vc_first(n), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

#undef VF2
#undef VF3
#undef VI2
#undef VFM

#endif
