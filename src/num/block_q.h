/* SPDX-License-Identifier: Apache-2.0
 * block_q.h: what block.c dispatches to: one decoder and one encoder per block format, a row of nb blocks each.
 * Arithmetic and order of operations are those of ggml-quants.c (dequantize_row_*, quantize_row_*_ref). */
#ifndef VC_NUM_BLOCK_Q_H
#define VC_NUM_BLOCK_Q_H

#include <stdint.h>

void vc_dec_q4_0(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q4_1(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q5_0(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q5_1(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q8_0(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q2_k(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q3_k(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q4_k(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q5_k(const uint8_t *src, uint64_t nb, float *y);
void vc_dec_q6_k(const uint8_t *src, uint64_t nb, float *y);

void vc_enc_q4_0(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q4_1(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q5_0(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q5_1(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q8_0(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q2_k(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q3_k(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q4_k(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q5_k(const float *x, uint64_t nb, uint8_t *dst);
void vc_enc_q6_k(const float *x, uint64_t nb, uint8_t *dst);

#endif
