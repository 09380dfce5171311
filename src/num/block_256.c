/* SPDX-License-Identifier: Apache-2.0
 * block_256.c: decoding of the super-block formats Q2_K … Q6_K. scale * code is exact in f32 except in Q6_K, where
 * (d * scale) is exact and its product with the code is rounded once. */
#include "num/block_q.h"
#include "num/blocks.h"

void vc_dec_q2_k(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q2_k *b = (const void *)src;
    uint8_t q[256];
    for (; nb--; b++, y += 256) {
        float d = vc_load_f16(b->d), dmin = vc_load_f16(b->dmin);
        vc_q2_k_codes(b, q);
        for (int s = 0; s < 16; s++) {
            float dl = d * (float)(b->scales[s] & 15), ml = dmin * (float)(b->scales[s] >> 4);
            for (int i = 16 * s; i < 16 * s + 16; i++) y[i] = dl * (float)q[i] - ml;
        }
    }
}

void vc_dec_q3_k(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q3_k *b = (const void *)src;
    uint8_t q[256];
    int8_t sc[16];
    for (; nb--; b++, y += 256) {
        float d = vc_load_f16(b->d);
        vc_q3_k_codes(b, q);
        vc_k3_scales(b->scales, sc);
        for (int s = 0; s < 16; s++) {
            float dl = d * (float)sc[s];
            for (int i = 16 * s; i < 16 * s + 16; i++) y[i] = dl * (float)(q[i] - 4);
        }
    }
}

/* Q4_K and Q5_K. */
static void affine_32(const uint8_t *d, const uint8_t *dmin, const uint8_t *scales, const uint8_t q[256], float *y) {
    float dv = vc_load_f16(d), mv = vc_load_f16(dmin);
    uint8_t sc[8], m[8];
    vc_k4_scales(scales, sc, m);
    for (int s = 0; s < 8; s++) {
        float dl = dv * (float)sc[s], ml = mv * (float)m[s];
        for (int i = 32 * s; i < 32 * s + 32; i++) y[i] = dl * (float)q[i] - ml;
    }
}

void vc_dec_q4_k(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q4_k *b = (const void *)src;
    uint8_t q[256];
    for (; nb--; b++, y += 256) {
        vc_q4_k_codes(b, q);
        affine_32(b->d, b->dmin, b->scales, q, y);
    }
}

void vc_dec_q5_k(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q5_k *b = (const void *)src;
    uint8_t q[256];
    for (; nb--; b++, y += 256) {
        vc_q5_k_codes(b, q);
        affine_32(b->d, b->dmin, b->scales, q, y);
    }
}

void vc_dec_q6_k(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q6_k *b = (const void *)src;
    uint8_t q[256];
    for (; nb--; b++, y += 256) {
        float d = vc_load_f16(b->d);
        vc_q6_k_codes(b, q);
        for (int s = 0; s < 16; s++) {
            float dl = d * (float)b->scales[s];
            for (int i = 16 * s; i < 16 * s + 16; i++) y[i] = dl * (float)(q[i] - 32);
        }
    }
}
