/* SPDX-License-Identifier: Apache-2.0
 * block_ffn.c: the gated MLP, and the mixture of experts in its place. */
#include "model/build.h"

uint32_t vc_block_mlp(struct vc_build *b, uint32_t src, const struct vc_layer_weights *w) {
    const struct vc_config *c = &b->net->config;
    uint32_t gate_up = vc_build_stream(b, w->gate_up.cols, VC_SLOT_LINEAR_OUT);
    vc_build_fused(b, src, &w->gate_up, gate_up, "mlp.gate_up");
    uint32_t h = vc_build_stream(b, c->intermediate_size, VC_SLOT_ACT_OUT);
    struct vc_actmul_args a = { c->act };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_ACTMUL, .core = VC_ARITH_ELEMENT, .in = { vc_stream(gate_up) }, .out = { vc_stream(h) },
        .args = &a, .args_bytes = sizeof a, .dims = { .K = c->intermediate_size }, .label = vc_build_label(b, "mlp.act") });
    uint32_t y = vc_build_stream(b, c->hidden_size, VC_SLOT_LINEAR_OUT);
    vc_build_linear(b, h, &w->down, vc_stream(y), "mlp.down");
    return y;
}

uint32_t vc_block_moe(struct vc_build *b, uint32_t src, const struct vc_layer_weights *w) {
    const struct vc_config *c = &b->net->config;
    uint32_t logits = vc_build_stream(b, c->num_experts, VC_SLOT_ROUTER_LOGIT);
    vc_build_linear(b, src, &w->router, vc_stream(logits), "router.gate");
    uint32_t ids = vc_prog_stream(b->prog, c->num_experts_per_tok, VC_I32, b->rows), weights = vc_prog_stream(b->prog, c->num_experts_per_tok, VC_F32, b->rows);
    struct vc_dims dims = { .N = c->hidden_size, .K = c->hidden_size, .num_experts = c->num_experts, .top_k = c->num_experts_per_tok, .intermediate = c->moe_intermediate_size };
    struct vc_router_args r = { c->num_experts, c->num_experts_per_tok, c->norm_topk_prob };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_ROUTER, .core = vc_build_core(b, VC_CHOICE_ROUTER), .in = { vc_stream(logits) },
        .out = { vc_stream(ids), vc_stream(weights) }, .args = &r, .args_bytes = sizeof r, .dims = dims, .label = vc_build_label(b, "router.topk") });
    uint32_t x = w->expert_block ? vc_build_quantized(b, src, w->expert_block) : src, y = vc_build_stream(b, c->hidden_size, VC_SLOT_MOE_OUT);
    struct vc_moe_args m = { c->num_experts, c->num_experts_per_tok, c->moe_intermediate_size, c->act, w->stride13, w->stride2 };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_MOE, .core = w->expert_core,
        .in = { vc_stream(x), vc_stream(ids), vc_stream(weights), vc_weight(vc_prog_weight(b->prog, &w->w13)), vc_weight(vc_prog_weight(b->prog, &w->w2)) },
        .out = { vc_stream(y) }, .args = &m, .args_bytes = sizeof m, .dims = dims, .label = vc_build_label(b, "moe.experts") });
    return y;
}
