/* SPDX-License-Identifier: Apache-2.0
 * QUANTIZE: rows of f32, bf16 or f16 to int8 with a scale per block and sums per 16 (op/qact.h), as op/ref/quantize.c. */
#include "kern/cpu/simd.h"
#include "base/pool.h"
#include "num/half.h"
#include "op/args.h"
#include "op/qact.h"

vc_op_fn VC_K(vc_quantize);

/* Sixteen integers of -127 … 127 to bytes; their sum. */
#if VC_TIER_LEVEL >= 1
#if VC_TIER_LEVEL == 2
VC_INLINE __m256i half(vc_vi x, int high) { return high ? _mm512_extracti64x4_epi64(x, 1) : _mm512_castsi512_si256(x); }
VC_INLINE vc_vi larger(vc_vi x, vc_vi y) { return _mm512_max_epi32(x, y); }
#else
VC_INLINE __m256i half(vc_vi x, int high) { return high ? x.b : x.a; }
VC_INLINE vc_vi larger(vc_vi x, vc_vi y) { return (vc_vi){ _mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b) }; }
#endif
VC_INLINE int16_t narrow(vc_vi x, int8_t *q) {
    const __m256i w = _mm256_permute4x64_epi64(_mm256_packs_epi32(half(x, 0), half(x, 1)), 0xD8);
    const __m128i lo = _mm256_castsi256_si128(w), hi = _mm256_extracti128_si256(w, 1);
    _mm_storeu_si128((__m128i *)(void *)q, _mm_packs_epi16(lo, hi));
    __m128i s = _mm_madd_epi16(_mm_add_epi16(lo, hi), _mm_set1_epi16(1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    return (int16_t)_mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1)));
}
VC_INLINE int32_t top_lane(vc_vi x) {
    const __m256i m = _mm256_max_epi32(half(x, 0), half(x, 1));
    __m128i s = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    return _mm_cvtsi128_si32(_mm_max_epi32(s, _mm_shuffle_epi32(s, 0xB1)));
}
#else
VC_INLINE int16_t narrow(vc_vi x, int8_t *q) {
    int32_t v[16], s = 0;
    vc_vi_store(v, x);
    for (int i = 0; i < 16; i++) {
        q[i] = (int8_t)v[i];
        s += v[i];
    }
    return (int16_t)s;
}
VC_INLINE int32_t top_lane(vc_vi x) {
    int32_t v[16], m = 0;
    vc_vi_store(v, x);
    for (int i = 0; i < 16; i++) m = v[i] > m ? v[i] : m;
    return m;
}
VC_INLINE vc_vi larger(vc_vi x, vc_vi y) { return vc_vi_select(vc_vi_gt(x, y), x, y); }
#endif

/* One block of n values from element k0 of the row x. */
VC_INLINE float block(enum vc_dtype t, uint32_t n, const void *x, uint32_t k0, int8_t *q, int16_t *sum) {
    const vc_vi magnitude = vc_vi_set1(0x7FFFFFFF);
    vc_vi top = vc_vi_set1(0);
    for (uint32_t i = 0; i < n; i += 16) top = larger(vc_vi_and(vc_vf_bits(vc_vf_load_as(t, x, k0 + i)), magnitude), top);
    const float d = vc_bits_f32((uint32_t)top_lane(top)) / 127.0f;
    if (d == 0 || (vc_f32_bits(d) & 0x7F800000u) == 0x7F800000u) {
        memset(q, 0, n);
        memset(sum, 0, n / 16 * sizeof *sum);
        return d;
    }
    const vc_vf inverse = vc_vf_set1(1.0f / d);
    for (uint32_t i = 0; i < n; i += 16) sum[i / 16] = narrow(vc_vf_int(vc_vf_mul(vc_vf_load_as(t, x, k0 + i), inverse)), q + i);
    return d;
}

/* Blocks [b0, b1) of one row. */
VC_INLINE void blocks(enum vc_dtype t, uint32_t n, const void *x, char *row, uint32_t K, uint32_t b0, uint32_t b1) {
    int8_t *q = (int8_t *)(void *)row;
    float *d = (float *)(void *)(row + vc_qact_d_at(K));
    int16_t *sum = (int16_t *)(void *)(row + vc_qact_sum_at(K, n));
    for (uint32_t b = b0; b < b1; b++) d[b] = block(t, n, x, b * n, q + b * n, sum + b * n / 16);
}

VC_INLINE void any_block(enum vc_dtype t, uint32_t n, const void *x, char *row, uint32_t K, uint32_t b0, uint32_t b1) {
    if (n == 32) blocks(t, 32, x, row, K, b0, b1);
    else blocks(t, 256, x, row, K, b0, b1);
}

static void round_scales(uint8_t to, char *row, uint32_t K, uint32_t b0, uint32_t b1) {
    float *d = (float *)(void *)(row + vc_qact_d_at(K));
    for (uint32_t b = b0; b < b1; b++) d[b] = to == VC_F16 ? vc_f16_f32(vc_f32_f16(d[b])) : vc_bf16_f32(vc_f32_bf16(d[b]));
}

/* Threads share pieces of 16 blocks, whose results are whole cache lines. */
void VC_K(vc_quantize)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_quantize_args *a = c->args;
    const struct vc_view *x = &c->in[0];
    const uint32_t K = x->cols, blocks_row = K / a->block, pieces = (blocks_row + 15) / 16;
    uint64_t lo, hi;
    vc_share((uint64_t)x->rows * pieces, 1, part, parts, &lo, &hi);
    for (; lo < hi; lo++) {
        const uint32_t r = (uint32_t)(lo / pieces), b0 = (uint32_t)(lo % pieces) * 16;
        const uint32_t b1 = VC_MIN(b0 + 16, blocks_row);
        const char *in = (const char *)x->data + (size_t)r * x->stride;
        char *row = (char *)c->out[0].data + (size_t)r * c->out[0].stride;
        if (x->dtype == VC_BF16) any_block(VC_BF16, a->block, in, row, K, b0, b1);
        else if (x->dtype == VC_F16) any_block(VC_F16, a->block, in, row, K, b0, b1);
        else any_block(VC_F32, a->block, in, row, K, b0, b1);
        if (a->block == 32 && c->contract->slot[VC_SLOT_QUANT_SCALE] != VC_F32) round_scales(c->contract->slot[VC_SLOT_QUANT_SCALE], row, K, b0, b1);
    }
}
