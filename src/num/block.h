/* SPDX-License-Identifier: Apache-2.0
 * block.h: whole rows of any float or block format to f32 and back. Decoding is exact arithmetic as ggml's
 * dequantize_row_* does it (same roundings, bit for bit); encoding follows ggml's quantize_row_*_ref, without an
 * importance matrix. Layouts and per-block inlines: blocks.h. */
#ifndef VC_NUM_BLOCK_H
#define VC_NUM_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "num/dtype.h"

bool vc_decodable(enum vc_dtype t);     /* f32 f16 bf16 f64 f8, Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K … Q6_K */
bool vc_encodable(enum vc_dtype t);     /* the same, without f64 */

/* n values from src (any alignment) to dst. False, with nothing written: not decodable, or n no multiple of the
 * block. */
bool vc_decode(enum vc_dtype t, const void *src, uint64_t n, float *dst);
/* f8 overflow gives Inf (e5m2) or NaN (e4m3fn), as PyTorch's casts do. */
bool vc_encode(enum vc_dtype t, const float *src, uint64_t n, void *dst);

#endif
