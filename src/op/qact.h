/* SPDX-License-Identifier: Apache-2.0
 * qact.h: rows of quantized activations (dtypes A8_32 and A8_256), the input of the iblk core.
 * A row of K values (a multiple of the block, 32 or 256):  int8 q[K] | f32 d[K/block] | int16 sum[K/16], each part at a
 * multiple of 64 bytes. x ~ q * d; sum[i] = q[16 i] + … + q[16 i + 15]. */
#ifndef VC_OP_QACT_H
#define VC_OP_QACT_H

#include <stddef.h>
#include <stdint.h>

#include "num/dtype.h"

static inline size_t vc_qact_up64(size_t n) { return (n + 63) & ~(size_t)63; }
static inline size_t vc_qact_d_at(uint32_t K) { return vc_qact_up64(K); }
static inline size_t vc_qact_sum_at(uint32_t K, uint32_t block) { return vc_qact_d_at(K) + vc_qact_up64((size_t)K / block * 4); }
static inline size_t vc_qact_stride(uint32_t K, uint32_t block) { return vc_qact_sum_at(K, block) + vc_qact_up64((size_t)K / 16 * 2); }

/* The activation block that goes with a weight format: 256 for K-quants, 32 for the others; 0: not an iblk format. */
static inline uint32_t vc_qact_block(enum vc_dtype w) {
    switch (w) {
        case VC_Q4_0: case VC_Q4_1: case VC_Q5_0: case VC_Q5_1: case VC_Q8_0: return 32;
        case VC_Q2_K: case VC_Q3_K: case VC_Q4_K: case VC_Q5_K: case VC_Q6_K: return 256;
        default: return 0;
    }
}

#endif
