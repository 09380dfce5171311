/* SPDX-License-Identifier: Apache-2.0
 * iblk_act.h: activations of one tile as struct vc_iblk_tile reads them (AVX2 and AVX-512). */
#ifndef VC_KERN_CPU_IBLK_ACT_H
#define VC_KERN_CPU_IBLK_ACT_H

#include "kern/cpu/iblk_tile.h"

/* Bytes per row of each part, and where the parts of a tile of mr rows begin. */
struct vc_iblk_act { size_t q, d, init, aux, add, row; };
VC_INLINE struct vc_iblk_act vc_iblk_act(enum vc_dtype f, uint32_t K) {
    struct vc_iblk_act a = { .q = 0 };
    a.d = K;
    a.init = a.d + K / vc_iblk_block(f) * 4;
    a.aux = a.init + K / vc_iblk_sub(f) * 4;
    a.add = a.aux + K / 32 * 4;
    a.row = a.add + K / 32 * 4;
    return a;
}

#if VC_TIER_LEVEL == 1
/* -centre * Σa of the two 16-bit lanes that vpmaddubsw makes of 4 k, over the 8 (or low 4 and high 4) dwords of 32 values. */
VC_INLINE void vc_iblk_lanes(const int8_t *q, int centre, int halves, uint32_t out[2]) {
    const __m256i p = _mm256_maddubs_epi16(_mm256_set1_epi8((char)centre), load_i(q));
    __m128i x[2] = { _mm256_castsi256_si128(p), _mm256_extracti128_si256(p, 1) };
    if (!halves) x[0] = _mm_add_epi16(x[0], x[1]);
    for (int i = 0; i < 1 + halves; i++) {
        x[i] = _mm_add_epi16(x[i], _mm_shuffle_epi32(x[i], 0x4E));
        x[i] = _mm_sub_epi16(_mm_setzero_si128(), _mm_add_epi16(x[i], _mm_shuffle_epi32(x[i], 0xB1)));
        out[i] = (uint32_t)_mm_cvtsi128_si32(x[i]);
    }
}
#endif

/* Start values per sub-block of row `i` of mr. */
VC_INLINE void vc_iblk_act_init(enum vc_dtype f, const int8_t *q, const int16_t *sum, uint32_t K, uint32_t mr, uint32_t *init) {
    const int centre = vc_iblk_centre(f);
    const uint32_t subs = 32 / vc_iblk_sub(f);
    if (!centre) return;
    for (uint32_t b = 0; b < K / 32; b++) {
        uint32_t v[2] = { 0, 0 };
#if VC_TIER_LEVEL == 1
        if (f != VC_Q8_0) vc_iblk_lanes(q + b * 32, centre, subs == 2, v);
        else
#endif
        if (subs == 2) for (int h = 0; h < 2; h++) v[h] = (uint32_t)(-centre * sum[2 * b + (uint32_t)h]);
        else v[0] = (uint32_t)(-centre * (sum[2 * b] + sum[2 * b + 1]));
        for (uint32_t h = 0; h < subs; h++) init[(b * subs + h) * mr] = v[h];
    }
    (void)q;
}

VC_INLINE uint32_t vc_iblk_pair(int a, int b) { return ((uint32_t)a & 0xFFFFu) | (uint32_t)b << 16; }

/* Sums for minimums, and for the offset that Q5_1 takes off. */
VC_INLINE void vc_iblk_act_sums(enum vc_dtype f, const int16_t *sum, uint32_t K, uint32_t mr, uint32_t *aux, uint32_t *add) {
    if (f == VC_Q4_1 || f == VC_Q5_1) {
        for (uint32_t b = 0; b < K / 32; b++) {
            const float s = (float)(sum[2 * b] + sum[2 * b + 1]);
            memcpy(aux + b * mr, &s, 4);
            add[b * mr] = (uint32_t)(16 * (sum[2 * b] + sum[2 * b + 1]));
        }
    } else if (f == VC_Q2_K) {
        for (uint32_t p = 0; p < K / 32; p++) aux[p * mr] = vc_iblk_pair(sum[2 * p], sum[2 * p + 1]);
    } else if (vc_iblk_has_min(f)) {
        for (uint32_t p = 0; p < K / 64; p++)
            aux[p * mr] = vc_iblk_pair(sum[4 * p] + sum[4 * p + 1], sum[4 * p + 2] + sum[4 * p + 3]);
    }
}

/* Row x into place i of a tile of mr rows at dst (dst + i dwords). */
VC_INLINE void vc_iblk_act_row(enum vc_dtype f, const char *x, uint32_t K, uint32_t mr, uint32_t i, char *dst) {
    const struct vc_iblk_act at = vc_iblk_act(f, K);
    const int8_t *q = (const int8_t *)(const void *)x;
    const char *d = x + vc_qact_d_at(K);
    const int16_t *sum = (const int16_t *)(const void *)(x + vc_qact_sum_at(K, vc_iblk_block(f)));
    uint32_t *out = (uint32_t *)(void *)dst + i, v;
    if (mr == 1) {
        memcpy(out, q, K);
    } else {
        for (uint32_t k = 0; k < K / 4; k++) {
            memcpy(&v, q + 4 * k, 4);
            out[k * mr] = v;
        }
    }
    for (uint32_t b = 0; b < K / vc_iblk_block(f); b++) memcpy(dst + at.d * mr + (b * mr + i) * 4, d + b * 4, 4);
    vc_iblk_act_init(f, q, sum, K, mr, (uint32_t *)(void *)(dst + at.init * mr) + i);
    vc_iblk_act_sums(f, sum, K, mr, (uint32_t *)(void *)(dst + at.aux * mr) + i, (uint32_t *)(void *)(dst + at.add * mr) + i);
}

#endif
