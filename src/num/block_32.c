/* SPDX-License-Identifier: Apache-2.0
 * block_32.c: the formats with blocks of 32 values: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0. Products of an f16 scale and a code are
 * exact in f32, so each value is rounded once at most. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "num/block_q.h"
#include "num/blocks.h"

void vc_dec_q4_0(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q4_0 *b = (const void *)src;
    uint8_t q[32];
    for (; nb--; b++, y += 32) {
        float d = vc_load_f16(b->d);
        vc_q4_codes(b->qs, q);
        for (int j = 0; j < 32; j++) y[j] = (float)(q[j] - 8) * d;
    }
}

void vc_dec_q4_1(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q4_1 *b = (const void *)src;
    uint8_t q[32];
    for (; nb--; b++, y += 32) {
        float d = vc_load_f16(b->d), m = vc_load_f16(b->m);
        vc_q4_codes(b->qs, q);
        for (int j = 0; j < 32; j++) y[j] = (float)q[j] * d + m;
    }
}

void vc_dec_q5_0(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q5_0 *b = (const void *)src;
    uint8_t q[32];
    for (; nb--; b++, y += 32) {
        float d = vc_load_f16(b->d);
        vc_q5_codes(b->qh, b->qs, q);
        for (int j = 0; j < 32; j++) y[j] = (float)(q[j] - 16) * d;
    }
}

void vc_dec_q5_1(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q5_1 *b = (const void *)src;
    uint8_t q[32];
    for (; nb--; b++, y += 32) {
        float d = vc_load_f16(b->d), m = vc_load_f16(b->m);
        vc_q5_codes(b->qh, b->qs, q);
        for (int j = 0; j < 32; j++) y[j] = (float)q[j] * d + m;
    }
}

void vc_dec_q8_0(const uint8_t *src, uint64_t nb, float *y) {
    const struct vc_q8_0 *b = (const void *)src;
    for (; nb--; b++, y += 32) {
        float d = vc_load_f16(b->d);
        for (int j = 0; j < 32; j++) y[j] = (float)b->qs[j] * d;
    }
}

/* Truncation of a value into 0…hi; NaN gives 0. */
static uint8_t code(float v, int hi) { return v >= (float)hi ? (uint8_t)hi : v > 0 ? (uint8_t)v : 0; }

static void pack_q4(const uint8_t q[32], uint8_t qs[16]) {
    for (int j = 0; j < 16; j++) qs[j] = (uint8_t)((q[j] & 15) | (q[j + 16] & 15) << 4);
}

static void pack_q5(const uint8_t q[32], uint8_t qh[4], uint8_t qs[16]) {
    uint32_t h = 0;
    for (int j = 0; j < 32; j++) h |= (uint32_t)(q[j] >> 4 & 1) << j;
    for (int j = 0; j < 4; j++) qh[j] = (uint8_t)(h >> 8 * j);
    pack_q4(q, qs);
}

/* Symmetric: the value of largest magnitude (the first of equals) gets the code -half. Codes have `half` added. */
static float quantize_sym(const float *x, int half, uint8_t q[32]) {
    float amax = 0, max = 0;
    for (int j = 0; j < 32; j++)
        if (amax < fabsf(x[j])) amax = fabsf(max = x[j]);
    float d = max / (float)-half, id = d != 0 ? 1.0f / d : 0;
    for (int j = 0; j < 32; j++) q[j] = code(x[j] * id + ((float)half + 0.5f), 2 * half - 1);
    return d;
}

static float quantize_affine(const float *x, int top, uint8_t q[32], float *m) {
    float min = FLT_MAX, max = -FLT_MAX;
    for (int j = 0; j < 32; j++) {
        if (x[j] < min) min = x[j];
        if (x[j] > max) max = x[j];
    }
    float d = (max - min) / (float)top, id = d != 0 ? 1.0f / d : 0;
    for (int j = 0; j < 32; j++) q[j] = code((x[j] - min) * id + 0.5f, top);
    *m = min;
    return d;
}

void vc_enc_q4_0(const float *x, uint64_t nb, uint8_t *dst) {
    struct vc_q4_0 *b = (void *)dst;
    uint8_t q[32];
    for (; nb--; b++, x += 32) {
        vc_store_f16(b->d, quantize_sym(x, 8, q));
        pack_q4(q, b->qs);
    }
}

void vc_enc_q4_1(const float *x, uint64_t nb, uint8_t *dst) {
    struct vc_q4_1 *b = (void *)dst;
    uint8_t q[32];
    for (; nb--; b++, x += 32) {
        float m, d = quantize_affine(x, 15, q, &m);
        vc_store_f16(b->d, d);
        vc_store_f16(b->m, m);
        pack_q4(q, b->qs);
    }
}

void vc_enc_q5_0(const float *x, uint64_t nb, uint8_t *dst) {
    struct vc_q5_0 *b = (void *)dst;
    uint8_t q[32];
    for (; nb--; b++, x += 32) {
        vc_store_f16(b->d, quantize_sym(x, 16, q));
        pack_q5(q, b->qh, b->qs);
    }
}

void vc_enc_q5_1(const float *x, uint64_t nb, uint8_t *dst) {
    struct vc_q5_1 *b = (void *)dst;
    uint8_t q[32];
    for (; nb--; b++, x += 32) {
        float m, d = quantize_affine(x, 31, q, &m);
        vc_store_f16(b->d, d);
        vc_store_f16(b->m, m);
        pack_q5(q, b->qh, b->qs);
    }
}

void vc_enc_q8_0(const float *x, uint64_t nb, uint8_t *dst) {
    struct vc_q8_0 *b = (void *)dst;
    for (; nb--; b++, x += 32) {
        float amax = 0;
        for (int j = 0; j < 32; j++) amax = fabsf(x[j]) > amax ? fabsf(x[j]) : amax;
        float d = amax / 127.0f, id = d != 0 ? 1.0f / d : 0;
        vc_store_f16(b->d, d);
        for (int j = 0; j < 32; j++) {
            float v = roundf(x[j] * id);        /* ties away from zero */
            b->qs[j] = (int8_t)(v >= 127 ? 127 : v <= -127 ? -127 : v == v ? v : 0);
        }
    }
}
