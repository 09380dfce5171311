/* SPDX-License-Identifier: Apache-2.0
 * The iblk core: int8 activations (op/qact.h) by weights in a block format, read from the checkpoint's own blocks.
 * Per block in index order acc = fma(d_w * d_a, (float)isum, acc), the product rounded once, isum exact; formats with a
 * minimum then add fma(m_w * d_a, (float)sum_q, acc), or for K-quants fma(-(dmin * d_a), (float)(Σ m_j sum_j), acc). */
#include "num/blocks.h"
#include "op/fma.h"
#include "op/kblock.h"
#include "op/qact.h"
#include "op/ref/ref.h"

/* One weight block as integers: value k of sub-block j is d * scale[j] * code[k] + m (32) or - dmin * min[j] (256). */
struct block {
    int code[256], scale[16], min[16];
    int n, sub, has_min;                   /* values, values per sub-block */
    float d, m;                            /* m: the minimum, or minus dmin */
};

static void codes_minus(struct block *b, const uint8_t *q, int n, int offset) {
    for (int i = 0; i < n; i++) b->code[i] = q[i] - offset;
}

static void block32(struct block *b, enum vc_dtype t, const void *p) {
    uint8_t q[32];
    const struct vc_q4_0 *q40 = p;
    const struct vc_q4_1 *q41 = p;
    const struct vc_q5_0 *q50 = p;
    const struct vc_q5_1 *q51 = p;
    const struct vc_q8_0 *q80 = p;
    b->n = b->sub = 32;
    b->has_min = t == VC_Q4_1 || t == VC_Q5_1;
    b->scale[0] = b->min[0] = 1;
    b->d = vc_load_f16(p);                                  /* d comes first in all five */
    b->m = b->has_min ? vc_load_f16((const uint8_t *)p + 2) : 0;
    switch (t) {
        case VC_Q4_0: vc_q4_codes(q40->qs, q); codes_minus(b, q, 32, 8); break;
        case VC_Q4_1: vc_q4_codes(q41->qs, q); codes_minus(b, q, 32, 0); break;
        case VC_Q5_0: vc_q5_codes(q50->qh, q50->qs, q); codes_minus(b, q, 32, 16); break;
        case VC_Q5_1: vc_q5_codes(q51->qh, q51->qs, q); codes_minus(b, q, 32, 0); break;
        default: for (int i = 0; i < 32; i++) b->code[i] = q80->qs[i];
    }
}

static void scales45(struct block *b, const uint8_t s[12]) {
    uint8_t sc[8], m[8];
    vc_k4_scales(s, sc, m);
    for (int j = 0; j < 8; j++) {
        b->scale[j] = sc[j];
        b->min[j] = m[j];
    }
}

static void block256(struct block *b, enum vc_dtype t, const void *p) {
    uint8_t q[256];
    int8_t sc[16];
    const struct vc_q2_k *q2 = p;
    const struct vc_q3_k *q3 = p;
    const struct vc_q4_k *q4 = p;
    const struct vc_q5_k *q5 = p;
    const struct vc_q6_k *q6 = p;
    b->n = 256;
    b->sub = t == VC_Q4_K || t == VC_Q5_K ? 32 : 16;
    b->has_min = t != VC_Q3_K && t != VC_Q6_K;
    switch (t) {
        case VC_Q2_K:
            vc_q2_k_codes(q2, q);
            codes_minus(b, q, 256, 0);
            for (int j = 0; j < 16; j++) {
                b->scale[j] = q2->scales[j] & 15;
                b->min[j] = q2->scales[j] >> 4;
            }
            b->d = vc_load_f16(q2->d);
            b->m = -vc_load_f16(q2->dmin);
            break;
        case VC_Q3_K:
            vc_q3_k_codes(q3, q);
            codes_minus(b, q, 256, 4);
            vc_k3_scales(q3->scales, sc);
            for (int j = 0; j < 16; j++) b->scale[j] = sc[j];
            b->d = vc_load_f16(q3->d);
            break;
        case VC_Q4_K:
            vc_q4_k_codes(q4, q);
            codes_minus(b, q, 256, 0);
            scales45(b, q4->scales);
            b->d = vc_load_f16(q4->d);
            b->m = -vc_load_f16(q4->dmin);
            break;
        case VC_Q5_K:
            vc_q5_k_codes(q5, q);
            codes_minus(b, q, 256, 0);
            scales45(b, q5->scales);
            b->d = vc_load_f16(q5->d);
            b->m = -vc_load_f16(q5->dmin);
            break;
        default:
            vc_q6_k_codes(q6, q);
            codes_minus(b, q, 256, 32);
            for (int j = 0; j < 16; j++) b->scale[j] = q6->scales[j];
            b->d = vc_load_f16(q6->d);
    }
}

/* acc after one block of one weight row and the activations q with scale d_a. */
static float step(const struct block *b, const int8_t *q, float d_a, float acc) {
    int32_t isum = 0, msum = 0;
    for (int j = 0; j < b->n / b->sub; j++) {
        int32_t dot = 0, sum = 0;
        for (int i = j * b->sub; i < (j + 1) * b->sub; i++) {
            dot += b->code[i] * q[i];
            sum += q[i];
        }
        isum += b->scale[j] * dot;
        if (b->has_min) msum += b->min[j] * sum;
    }
    acc = vc_flush(vc_fma(vc_flush(b->d * vc_flush(d_a)), (float)isum, acc));
    if (b->has_min) acc = vc_flush(vc_fma(vc_flush(b->m * vc_flush(d_a)), (float)msum, acc));
    return acc;
}

static float output(const struct vc_op_call *c, uint32_t row, uint32_t n) {
    const struct vc_view *w = &c->in[1];
    const struct vc_dtype_info *t = vc_dtype_info(w->dtype);
    const uint32_t K = w->cols, blocks = K / t->block, cut = vc_kblock(K) / t->block;
    const char *x = (const char *)c->in[0].data + (size_t)row * c->in[0].stride;
    const char *raw = (const char *)w->raw + (size_t)n * blocks * t->bytes;
    const int8_t *q = (const int8_t *)(const void *)x;
    const float *d = (const float *)(const void *)(x + vc_qact_d_at(K));
    float sum = 0, acc = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        struct block blk;
        if (t->block == 32) block32(&blk, w->dtype, raw + (size_t)b * t->bytes);
        else block256(&blk, w->dtype, raw + (size_t)b * t->bytes);
        acc = step(&blk, q + (size_t)b * t->block, d[b], acc);
        if ((b + 1) % cut == 0 || b + 1 == blocks) {            /* the end of a K block */
            sum = b < cut ? acc : vc_flush(sum + acc);
            acc = 0;
        }
    }
    return sum;
}

vc_op_fn vc_ref_matmul_iblk;
void vc_ref_matmul_iblk(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    (void)parts;
    if (part != 0) return;
    const float *bias = c->in[2].data;
    for (uint32_t m = 0; m < c->in[0].rows; m++)
        for (uint32_t n = 0; n < c->in[1].rows; n++) {
            float y = output(c, m, n);
            if (bias) y = vc_flush(y + vc_flush(bias[n]));
            vc_store(&c->out[0], m, n, y);
        }
}
