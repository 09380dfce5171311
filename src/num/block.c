/* SPDX-License-Identifier: Apache-2.0
 * block.c: plain formats, and the table of the block formats. */
#include "num/block.h"

#include <string.h>

#include "num/block_q.h"
#include "num/blocks.h"
#include "num/f8.h"
#include "num/round.h"

static const struct codec {
    void (*dec)(const uint8_t *src, uint64_t nb, float *y);
    void (*enc)(const float *x, uint64_t nb, uint8_t *dst);
} codec[VC_NUM_DTYPES] = {
    [VC_Q4_0] = { vc_dec_q4_0, vc_enc_q4_0 }, [VC_Q4_1] = { vc_dec_q4_1, vc_enc_q4_1 },
    [VC_Q5_0] = { vc_dec_q5_0, vc_enc_q5_0 }, [VC_Q5_1] = { vc_dec_q5_1, vc_enc_q5_1 },
    [VC_Q8_0] = { vc_dec_q8_0, vc_enc_q8_0 },
    [VC_Q2_K] = { vc_dec_q2_k, vc_enc_q2_k }, [VC_Q3_K] = { vc_dec_q3_k, vc_enc_q3_k },
    [VC_Q4_K] = { vc_dec_q4_k, vc_enc_q4_k }, [VC_Q5_K] = { vc_dec_q5_k, vc_enc_q5_k },
    [VC_Q6_K] = { vc_dec_q6_k, vc_enc_q6_k },
};

static bool plain(enum vc_dtype t) {
    return t == VC_F32 || t == VC_F16 || t == VC_BF16 || t == VC_F64 || t == VC_F8E4M3 || t == VC_F8E5M2;
}

bool vc_decodable(enum vc_dtype t) { return t < VC_NUM_DTYPES && (plain(t) || codec[t].dec); }
bool vc_encodable(enum vc_dtype t) { return t < VC_NUM_DTYPES && ((plain(t) && t != VC_F64) || codec[t].enc); }

static void decode_plain(enum vc_dtype t, const uint8_t *p, uint64_t n, float *y) {
    switch (t) {
    case VC_F32:
        if (n) memcpy(y, p, (size_t)n * 4);
        break;
    case VC_F16:
        for (uint64_t i = 0; i < n; i++) y[i] = vc_load_f16(p + 2 * i);
        break;
    case VC_BF16:
        for (uint64_t i = 0; i < n; i++) y[i] = vc_bf16_f32(vc_load_u16(p + 2 * i));
        break;
    case VC_F64:
        for (uint64_t i = 0; i < n; i++) {
            double v;
            memcpy(&v, p + 8 * i, 8);
            y[i] = vc_bits_f32((uint32_t)vc_round_f64(VC_F32, v, VC_ROUND_EVEN, 0));
        }
        break;
    case VC_F8E4M3:
        for (uint64_t i = 0; i < n; i++) y[i] = vc_e4m3_f32(p[i]);
        break;
    default:
        for (uint64_t i = 0; i < n; i++) y[i] = vc_e5m2_f32(p[i]);
    }
}

static void encode_plain(enum vc_dtype t, const float *x, uint64_t n, uint8_t *p) {
    switch (t) {
    case VC_F32:
        if (n) memcpy(p, x, (size_t)n * 4);
        break;
    case VC_F16:
        for (uint64_t i = 0; i < n; i++) vc_store_f16(p + 2 * i, x[i]);
        break;
    case VC_BF16:
        for (uint64_t i = 0; i < n; i++) vc_store_u16(p + 2 * i, vc_f32_bf16(x[i]));
        break;
    default:
        for (uint64_t i = 0; i < n; i++) p[i] = (uint8_t)vc_round_f32(t, x[i], VC_ROUND_EVEN, 0);
    }
}

bool vc_decode(enum vc_dtype t, const void *src, uint64_t n, float *dst) {
    if (!vc_decodable(t) || n % vc_dtype_info(t)->block) return false;
    if (codec[t].dec) codec[t].dec(src, n / vc_dtype_info(t)->block, dst);
    else decode_plain(t, src, n, dst);
    return true;
}

bool vc_encode(enum vc_dtype t, const float *src, uint64_t n, void *dst) {
    if (!vc_encodable(t) || n % vc_dtype_info(t)->block) return false;
    if (codec[t].enc) codec[t].enc(src, n / vc_dtype_info(t)->block, dst);
    else encode_plain(t, src, n, dst);
    return true;
}
