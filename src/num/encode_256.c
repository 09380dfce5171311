/* SPDX-License-Identifier: Apache-2.0
 * encode_256.c: encoding of the super-block formats Q2_K … Q6_K: fit each sub-block (fit.h), quantize the scales, then
 * quantize the values once more with the scales that are really stored. */
#include <math.h>
#include <string.h>

#include "num/block_q.h"
#include "num/blocks.h"
#include "num/fit.h"

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Codes of n values for x ~ d (q - half) - m; d = 0 leaves them. */
static void requantize(const float *x, int n, float d, float m, int half, int top, uint8_t *q) {
    if (d == 0) return;
    for (int i = 0; i < n; i++) q[i] = (uint8_t)(clamp(vc_fit_nearest((x[i] + m) / d), -half, top - half) + half);
}

static float largest(const float *v, int n) {
    float m = 0;
    for (int i = 0; i < n; i++) m = v[i] > m ? v[i] : m;
    return m;
}

/* The scale of largest magnitude, the first of equals. */
static float extreme(const float v[16]) {
    float m = 0, a = 0;
    for (int i = 0; i < 16; i++)
        if (fabsf(v[i]) > a) a = fabsf(m = v[i]);
    return m;
}

/* Two bits per value: 128 values share 32 bytes. */
static void pack_2(const uint8_t q[256], uint8_t qs[64]) {
    memset(qs, 0, 64);
    for (int i = 0; i < 256; i++) qs[(i >> 7) * 32 + (i & 31)] |= (uint8_t)((q[i] & 3) << (i >> 5 & 3) * 2);
}

/* Low nibbles: 64 values share 32 bytes. */
static void pack_4(const uint8_t q[256], uint8_t qs[128]) {
    memset(qs, 0, 128);
    for (int i = 0; i < 256; i++) qs[(i >> 6) * 32 + (i & 31)] |= (uint8_t)((q[i] & 15) << (i >> 5 & 1) * 4);
}

/* Bit `bit` of every value: value i to bit i / 32 of byte i mod 32. */
static void pack_high(const uint8_t q[256], int bit, uint8_t h[32]) {
    memset(h, 0, 32);
    for (int i = 0; i < 256; i++) h[i & 31] |= (uint8_t)((q[i] >> bit & 1) << (i >> 5));
}

static void encode_q2_k(const float *x, struct vc_q2_k *b) {
    static const struct vc_fit_grid grid = { -0.5f, 0.1f, 15, 1 };
    float scale[16], min[16], w[16];
    uint8_t q[256];
    for (int s = 0; s < 16; s++) {
        for (int i = 0; i < 16; i++) w[i] = fabsf(x[16 * s + i]);
        scale[s] = vc_fit_affine(16, 3, x + 16 * s, w, &grid, q + 16 * s, &min[s]);
    }
    float max_scale = largest(scale, 16), max_min = largest(min, 16);
    float is = max_scale > 0 ? 15.0f / max_scale : 0, im = max_min > 0 ? 15.0f / max_min : 0;
    for (int s = 0; s < 16; s++)
        b->scales[s] =
            (uint8_t)(clamp(vc_fit_nearest(is * scale[s]), 0, 15) | clamp(vc_fit_nearest(im * min[s]), 0, 15) << 4);
    vc_store_f16(b->d, max_scale / 15.0f);
    vc_store_f16(b->dmin, max_min / 15.0f);
    for (int s = 0; s < 16; s++)
        requantize(x + 16 * s, 16, vc_load_f16(b->d) * (float)(b->scales[s] & 15),
                   vc_load_f16(b->dmin) * (float)(b->scales[s] >> 4), 0, 3, q + 16 * s);
    pack_2(q, b->qs);
}

static void encode_q3_k(const float *x, struct vc_q3_k *b) {
    float scale[16];
    uint8_t q[256];
    int8_t sc[16];
    for (int s = 0; s < 16; s++) scale[s] = vc_fit_sweep(16, 4, x + 16 * s, q + 16 * s);
    float max = extreme(scale), inverse = max != 0 ? -32.0f / max : 0;
    memset(b->scales, 0, sizeof b->scales);
    for (int s = 0; s < 16 && max != 0; s++) {
        int l = clamp(vc_fit_nearest(inverse * scale[s]), -32, 31) + 32;
        b->scales[s & 7] |= (uint8_t)((l & 15) << (s >> 3) * 4);
        b->scales[8 + (s & 3)] |= (uint8_t)(l >> 4 << 2 * (s >> 2));
    }
    vc_store_f16(b->d, max != 0 ? 1 / inverse : 0);
    vc_k3_scales(b->scales, sc);
    for (int s = 0; s < 16; s++) requantize(x + 16 * s, 16, vc_load_f16(b->d) * (float)sc[s], 0, 4, 7, q + 16 * s);
    pack_high(q, 2, b->hmask);
    pack_2(q, b->qs);
}

/* Q4_K and Q5_K up to the packing: scales, minimums, codes. */
static void fit_affine_32(const float *x, int top, const struct vc_fit_grid *grid, uint8_t d[2], uint8_t dmin[2],
                          uint8_t scales[12], uint8_t q[256]) {
    float scale[8], min[8], w[32];
    uint8_t sc[8], m[8];
    for (int s = 0; s < 8; s++) {
        const float *v = x + 32 * s;
        float sum = 0;
        for (int i = 0; i < 32; i++) sum += v[i] * v[i];
        float rms = sqrtf(sum / 32);
        for (int i = 0; i < 32; i++) w[i] = rms + fabsf(v[i]);
        scale[s] = vc_fit_affine(32, top, v, w, grid, q + 32 * s, &min[s]);
    }
    float max_scale = largest(scale, 8), max_min = largest(min, 8);
    float is = max_scale > 0 ? 63.0f / max_scale : 0, im = max_min > 0 ? 63.0f / max_min : 0;
    for (int s = 0; s < 8; s++) {
        sc[s] = (uint8_t)clamp(vc_fit_nearest(is * scale[s]), 0, 63);
        m[s] = (uint8_t)clamp(vc_fit_nearest(im * min[s]), 0, 63);
    }
    for (int s = 0; s < 4; s++) {
        scales[s] = (uint8_t)(sc[s] | sc[s + 4] >> 4 << 6);
        scales[s + 4] = (uint8_t)(m[s] | m[s + 4] >> 4 << 6);
        scales[s + 8] = (uint8_t)((sc[s + 4] & 15) | (m[s + 4] & 15) << 4);
    }
    vc_store_f16(d, max_scale / 63.0f);
    vc_store_f16(dmin, max_min / 63.0f);
    for (int s = 0; s < 8; s++)
        requantize(x + 32 * s, 32, vc_load_f16(d) * (float)sc[s], vc_load_f16(dmin) * (float)m[s], 0, top, q + 32 * s);
}

static void encode_q4_k(const float *x, struct vc_q4_k *b) {
    static const struct vc_fit_grid grid = { -1.0f, 0.1f, 20, 0 };
    uint8_t q[256];
    fit_affine_32(x, 15, &grid, b->d, b->dmin, b->scales, q);
    pack_4(q, b->qs);
}

static void encode_q5_k(const float *x, struct vc_q5_k *b) {
    static const struct vc_fit_grid grid = { -0.5f, 0.1f, 15, 0 };
    uint8_t q[256];
    fit_affine_32(x, 31, &grid, b->d, b->dmin, b->scales, q);
    pack_high(q, 4, b->qh);
    pack_4(q, b->qs);
}

static void encode_q6_k(const float *x, struct vc_q6_k *b) {
    float scale[16];
    uint8_t q[256];
    for (int s = 0; s < 16; s++) scale[s] = vc_fit_symmetric(16, 32, x + 16 * s, q + 16 * s);
    float max = extreme(scale);
    memset(b, 0, sizeof *b);
    if (fabsf(max) < 1e-15f) return;
    float inverse = -128.0f / max;
    vc_store_f16(b->d, 1 / inverse);
    for (int s = 0; s < 16; s++) b->scales[s] = (int8_t)clamp(vc_fit_nearest(inverse * scale[s]), -128, 127);
    for (int s = 0; s < 16; s++)
        requantize(x + 16 * s, 16, vc_load_f16(b->d) * (float)b->scales[s], 0, 32, 63, q + 16 * s);
    for (int i = 0; i < 256; i++) {
        int h = i >> 7, l = i & 31, k = i >> 5 & 3;
        b->ql[h * 64 + (k & 1) * 32 + l] |= (uint8_t)((q[i] & 15) << (k >> 1) * 4);
        b->qh[h * 32 + l] |= (uint8_t)((q[i] >> 4) << 2 * k);
    }
}

void vc_enc_q2_k(const float *x, uint64_t nb, uint8_t *dst) {
    for (struct vc_q2_k *b = (void *)dst; nb--; b++, x += 256) encode_q2_k(x, b);
}
void vc_enc_q3_k(const float *x, uint64_t nb, uint8_t *dst) {
    for (struct vc_q3_k *b = (void *)dst; nb--; b++, x += 256) encode_q3_k(x, b);
}
void vc_enc_q4_k(const float *x, uint64_t nb, uint8_t *dst) {
    for (struct vc_q4_k *b = (void *)dst; nb--; b++, x += 256) encode_q4_k(x, b);
}
void vc_enc_q5_k(const float *x, uint64_t nb, uint8_t *dst) {
    for (struct vc_q5_k *b = (void *)dst; nb--; b++, x += 256) encode_q5_k(x, b);
}
void vc_enc_q6_k(const float *x, uint64_t nb, uint8_t *dst) {
    for (struct vc_q6_k *b = (void *)dst; nb--; b++, x += 256) encode_q6_k(x, b);
}
