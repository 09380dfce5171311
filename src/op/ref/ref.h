/* SPDX-License-Identifier: Apache-2.0
 * ref.h: the references, one file per op, and the few helpers they share.
 * They are written to be obviously right: one element at a time, every rounding visible. They flush subnormals in code. */
#ifndef VC_OP_REF_H
#define VC_OP_REF_H

#include <string.h>

#include "num/half.h"
#include "op/args.h"

#define VC_OP(id, name, in, out, text) vc_op_fn vc_ref_##name;
#include "op/ops.def"
#undef VC_OP

/* Flush-to-zero: what FTZ and DAZ do to a result and an operand. */
static inline float vc_flush(float x) {
    uint32_t u = vc_f32_bits(x);
    return (u & 0x7F800000u) == 0 ? vc_bits_f32(u & 0x80000000u) : x;
}

/* x rounded to a slot's format (F32: unchanged), as an f32 value. */
static inline float vc_round_to(uint8_t format, float x) {
    switch (format) {
        case VC_BF16: return vc_flush(vc_bf16_f32(vc_f32_bf16(x)));
        case VC_F16: return vc_f16_f32(vc_f32_f16(x));
        default: return x;
    }
}

/* Element (r, c) of a view in f32, f16 or bf16; any alignment. */
static inline float vc_load(const struct vc_view *v, uint32_t r, uint32_t c) {
    const char *row = (const char *)v->data + (size_t)r * v->stride;
    uint16_t h;
    float f;
    if (v->dtype == VC_F32) {
        memcpy(&f, row + (size_t)c * 4, 4);
        return vc_flush(f);
    }
    memcpy(&h, row + (size_t)c * 2, 2);
    return v->dtype == VC_BF16 ? vc_flush(vc_bf16_f32(h)) : vc_f16_f32(h);
}
static inline void vc_store(const struct vc_view *v, uint32_t r, uint32_t c, float x) {
    char *row = (char *)v->data + (size_t)r * v->stride;
    float f = vc_flush(x);
    uint16_t h = v->dtype == VC_BF16 ? vc_f32_bf16(f) : vc_f32_f16(f);
    if (v->dtype == VC_F32) memcpy(row + (size_t)c * 4, &f, 4);
    else memcpy(row + (size_t)c * 2, &h, 2);
}

#endif
