/* SPDX-License-Identifier: Apache-2.0
 * block_attention.c: grouped-query attention: projections, norms on q and k, rotary embedding, cache, output. */
#include "model/build.h"

/* Norm of each head of columns [col0, col0 + heads * head_dim); returns the operand that holds the result. */
static struct vc_operand head_norm(struct vc_build *b, struct vc_operand x, uint32_t heads, const struct vc_view *w, const char *label) {
    if (!w->data) return x;
    const struct vc_config *c = &b->net->config;
    uint32_t cols = heads * c->head_dim, dst = vc_build_stream(b, cols, VC_SLOT_HEADNORM_OUT);
    struct vc_headnorm_args a = { c->rms_norm_eps, c->norm_offset, heads, c->head_dim };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_HEADNORM, .core = vc_build_core(b, VC_CHOICE_NORM), .in = { x, vc_weight(vc_prog_weight(b->prog, w)) },
        .out = { vc_stream(dst) }, .args = &a, .args_bytes = sizeof a, .dims = { .K = cols, .num_heads = heads, .head_dim = c->head_dim },
        .label = vc_build_label(b, "%s", label) });
    return vc_stream(dst);
}

static struct vc_operand rope(struct vc_build *b, struct vc_operand x, uint32_t heads, uint32_t set, const char *label) {
    const struct vc_config *c = &b->net->config;
    uint32_t cols = heads * c->head_dim, dst = vc_build_stream(b, cols, VC_SLOT_ROPE_OUT), rotary = c->rope[set].rotary_dim;
    bool pairs = c->from_gguf && c->arch->flags & VC_ARCH_GGUF_ROPE_PAIRS;
    struct vc_rope_args a = { heads, c->head_dim, rotary, pairs ? VC_ROPE_GPTJ : VC_ROPE_NEOX };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_ROPE, .core = VC_ARITH_ELEMENT,
        .in = { x, vc_input(VC_INPUT_ROPE_TABLE + set), vc_input(VC_INPUT_ROPE_ROWS + set) }, .out = { vc_stream(dst) }, .args = &a, .args_bytes = sizeof a,
        .dims = { .K = cols, .num_heads = heads, .head_dim = c->head_dim, .rotary_dim = rotary }, .label = vc_build_label(b, "%s", label) });
    return vc_stream(dst);
}

static struct vc_operand scale_q(struct vc_build *b, struct vc_operand q) {
    const struct vc_config *c = &b->net->config;
    if (c->q_scale_beta == 0) return q;
    uint32_t cols = c->num_heads * c->head_dim, dst = vc_build_stream(b, cols, VC_SLOT_ROWSCALE_OUT);
    struct vc_rowscale_args a = { 0 };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_ROWSCALE, .core = VC_ARITH_ELEMENT, .in = { q, vc_input(VC_INPUT_ROW_SCALE) },
        .out = { vc_stream(dst) }, .args = &a, .args_bytes = sizeof a, .dims = { .K = cols }, .label = vc_build_label(b, "attn.q_scale") });
    return vc_stream(dst);
}

uint32_t vc_block_attention(struct vc_build *b, uint32_t src, const struct vc_layer_weights *w) {
    const struct vc_config *c = &b->net->config;
    uint32_t q_cols = c->num_heads * c->head_dim, kv_cols = c->num_kv_heads * c->head_dim;
    uint32_t qkv = vc_build_stream(b, q_cols + 2 * kv_cols, VC_SLOT_LINEAR_OUT);
    vc_build_fused(b, src, &w->qkv, qkv, "attn.qkv");
    struct vc_operand q = vc_columns(qkv, 0, q_cols), k = vc_columns(qkv, q_cols, kv_cols), v = vc_columns(qkv, q_cols + kv_cols, kv_cols);
    q = head_norm(b, q, c->num_heads, &w->norm[VC_ROLE_Q_NORM], "attn.q_norm");
    k = head_norm(b, k, c->num_kv_heads, &w->norm[VC_ROLE_K_NORM], "attn.k_norm");
    bool sliding = c->layer_sliding[b->layer];
    uint32_t set = sliding && c->num_ropes > 1 ? 1 : 0;
    q = scale_q(b, rope(b, q, c->num_heads, set, "attn.q_rope"));
    k = rope(b, k, c->num_kv_heads, set, "attn.k_rope");

    uint32_t group = b->net->groups.of[b->layer].group, place = b->net->groups.of[b->layer].place;
    struct vc_kv_geom geom = { c->num_kv_heads, c->head_dim, b->page_tokens };
    struct vc_dims dims = { .K = q_cols, .num_heads = c->num_heads, .num_kv_heads = c->num_kv_heads, .head_dim = c->head_dim, .page_tokens = b->page_tokens };
    struct vc_kvstore_args store = { geom };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_KVSTORE, .core = VC_ARITH_ELEMENT, .in = { k, v, vc_slots(group) }, .out = { vc_kv(group, place) },
        .args = &store, .args_bytes = sizeof store, .dims = dims, .label = vc_build_label(b, "attn.kv_store") });

    uint32_t out = vc_build_stream(b, q_cols, VC_SLOT_ATTN_OUT);
    struct vc_attention_args a = { .geom = geom, .num_heads = c->num_heads, .window = sliding ? c->sliding_window : 0, .scale = c->attn_scale, .softcap = c->attn_softcap };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_ATTENTION, .core = vc_build_core(b, VC_CHOICE_ATTENTION), .in = { q, vc_kv(group, place) },
        .out = { vc_stream(out) }, .args = &a, .args_bytes = sizeof a, .dims = dims, .label = vc_build_label(b, "attn.out") });

    uint32_t y = vc_build_stream(b, c->hidden_size, VC_SLOT_LINEAR_OUT);
    vc_build_linear(b, out, &w->o, vc_stream(y), "attn.o_proj");
    return y;
}
