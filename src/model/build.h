/* SPDX-License-Identifier: Apache-2.0
 * build.h: what the blocks share while a program is built. */
#ifndef VC_MODEL_BUILD_H
#define VC_MODEL_BUILD_H

#include "model/net.h"
#include "num/half.h"

#define NO_STREAM UINT32_MAX

struct vc_build {
    struct vc_net *net;
    struct vc_prog *prog;
    enum vc_rows rows;                 /* of the streams being made */
    uint32_t layer, page_tokens;
    uint32_t stream[2];                /* current streams X and H of the layer table */
    uint32_t residual;
    uint32_t quant, quant_src, quant_block;
    char label[96];
};

enum vc_dtype vc_build_slot(const struct vc_build *b, enum vc_slot s);
enum vc_arith vc_build_core(const struct vc_build *b, enum vc_choice c);
const char *vc_build_label(struct vc_build *b, const char *fmt, ...) VC_PRINTF(2, 3);   /* "l3." before the text inside a layer */
uint32_t vc_build_stream(struct vc_build *b, uint32_t cols, enum vc_slot s);             /* stored in the slot's format */
uint32_t vc_build_quantized(struct vc_build *b, uint32_t src, uint32_t block);
void vc_build_linear(struct vc_build *b, uint32_t src, const struct vc_linear *l, struct vc_operand dst, const char *label);
void vc_build_fused(struct vc_build *b, uint32_t src, const struct vc_fused *f, uint32_t dst, const char *label);
static inline float vc_cast_slot(enum vc_dtype format, float x) {
    return format == VC_BF16 ? vc_bf16_f32(vc_f32_bf16(x)) : format == VC_F16 ? vc_f16_f32(vc_f32_f16(x)) : x;
}

/* Blocks: each appends its lines and returns the stream of its result. */
uint32_t vc_block_attention(struct vc_build *b, uint32_t src, const struct vc_layer_weights *w);
uint32_t vc_block_mlp(struct vc_build *b, uint32_t src, const struct vc_layer_weights *w);
uint32_t vc_block_moe(struct vc_build *b, uint32_t src, const struct vc_layer_weights *w);

#endif
