/* SPDX-License-Identifier: Apache-2.0
 * build.c: the layer table walked into op lines. The blocks themselves are in block_*.c. */
#include "model/build.h"

#include <stdarg.h>
#include <stdio.h>

#include "op/qact.h"

enum vc_dtype vc_build_slot(const struct vc_build *b, enum vc_slot s) { return (enum vc_dtype)b->net->numerics.slot[s]; }
enum vc_arith vc_build_core(const struct vc_build *b, enum vc_choice c) { return (enum vc_arith)b->net->numerics.core[c]; }

const char *vc_build_label(struct vc_build *b, const char *fmt, ...) {
    int n = b->layer == UINT32_MAX ? 0 : snprintf(b->label, sizeof b->label, "l%u.", b->layer);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(b->label + n, sizeof b->label - (size_t)n, fmt, ap);
    va_end(ap);
    return b->label;
}

uint32_t vc_build_stream(struct vc_build *b, uint32_t cols, enum vc_slot s) { return vc_prog_stream(b->prog, cols, vc_build_slot(b, s), b->rows); }

/* The quantized form of a stream, made once for all linears that read it one after the other. */
uint32_t vc_build_quantized(struct vc_build *b, uint32_t src, uint32_t block) {
    if (b->quant_src == src && b->quant_block == block) return b->quant;
    uint32_t K = vc_prog_cols(b->prog, src);
    struct vc_quantize_args a = { block };
    uint32_t q = vc_prog_stream_bytes(b->prog, K, block == 32 ? VC_A8_32 : VC_A8_256, vc_qact_stride(K, block), b->rows);
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_QUANTIZE, .core = VC_ARITH_ELEMENT, .in = { vc_stream(src) }, .out = { vc_stream(q) },
                                                  .args = &a, .args_bytes = sizeof a, .dims = { .K = K }, .label = vc_build_label(b, "quantize") });
    b->quant_src = src;
    b->quant_block = block;
    return b->quant = q;
}

void vc_build_linear(struct vc_build *b, uint32_t src, const struct vc_linear *l, struct vc_operand dst, const char *label) {
    uint32_t x = l->act_block ? vc_build_quantized(b, src, l->act_block) : src;
    struct vc_matmul_args a = { 0 };
    struct vc_line_spec s = { .op = VC_OP_MATMUL, .core = l->core, .in = { vc_stream(x), vc_weight(vc_prog_weight(b->prog, &l->w)) }, .out = { dst },
                              .args = &a, .args_bytes = sizeof a, .dims = { .N = l->w.rows, .K = l->w.cols } };
    if (l->bias.data) s.in[2] = vc_weight(vc_prog_weight(b->prog, &l->bias));
    s.label = vc_build_label(b, "%s", label);
    vc_prog_line(b->prog, &s);
}

void vc_build_fused(struct vc_build *b, uint32_t src, const struct vc_fused *f, uint32_t dst, const char *label) {
    uint32_t col = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        vc_build_linear(b, src, &f->part[i], f->n == 1 ? vc_stream(dst) : vc_columns(dst, col, f->part[i].w.rows), label);
        col += f->part[i].w.rows;
    }
}

static uint32_t norm_line(struct vc_build *b, uint32_t src, const struct vc_view *w, uint32_t residual_in, uint32_t residual_out, const char *label) {
    uint32_t dst = vc_build_stream(b, vc_prog_cols(b->prog, src), VC_SLOT_NORM_OUT);
    struct vc_rmsnorm_args a = { b->net->config.rms_norm_eps, b->net->config.norm_offset };
    struct vc_line_spec s = { .op = VC_OP_RMSNORM, .core = vc_build_core(b, VC_CHOICE_NORM), .in = { vc_stream(src), vc_weight(vc_prog_weight(b->prog, w)) },
                              .out = { vc_stream(dst) }, .args = &a, .args_bytes = sizeof a, .dims = { .K = vc_prog_cols(b->prog, src) } };
    if (residual_in != NO_STREAM) s.in[2] = vc_stream(residual_in);
    if (residual_out != NO_STREAM) s.out[1] = vc_stream(residual_out);
    s.label = vc_build_label(b, "%s", label);
    vc_prog_line(b->prog, &s);
    return dst;
}

static const char *norm_label(enum vc_role r) {
    switch (r) {
        case VC_ROLE_INPUT_NORM: return "input_norm";
        case VC_ROLE_POST_ATTN_NORM: return "post_attn_norm";
        case VC_ROLE_PRE_FFN_NORM: return "pre_ffn_norm";
        case VC_ROLE_POST_FFN_NORM: return "post_ffn_norm";
        default: return "norm";
    }
}

/* residual = residual + x, dst = norm(residual). The first one of a model has no residual yet: x becomes it. */
static uint32_t norm_add(struct vc_build *b, uint32_t src, const struct vc_view *w, const char *label) {
    uint32_t in = b->residual;
    if (in == NO_STREAM) b->residual = vc_build_stream(b, vc_prog_cols(b->prog, src), VC_SLOT_RESIDUAL);
    return norm_line(b, src, w, in, b->residual, label);
}

static void layer_lines(struct vc_build *b) {
    const struct vc_layer_weights *lw = &b->net->weights.layers[b->layer];
    for (const struct vc_layer_line *l = b->net->config.arch->layer; l->block != VC_BLOCK_END; l++) {
        uint32_t src = b->stream[l->src], dst = src;
        switch (l->block) {
            case VC_BLOCK_NORM: dst = norm_line(b, src, &lw->norm[l->weight], NO_STREAM, NO_STREAM, norm_label(l->weight)); break;
            case VC_BLOCK_NORM_ADD: dst = norm_add(b, src, &lw->norm[l->weight], norm_label(l->weight)); break;
            case VC_BLOCK_ATTENTION: dst = vc_block_attention(b, src, lw); break;
            case VC_BLOCK_FFN: dst = b->net->config.layer_moe[b->layer] ? vc_block_moe(b, src, lw) : vc_block_mlp(b, src, lw); break;
            case VC_BLOCK_END: break;
        }
        b->stream[l->dst] = dst;
    }
}

static void embed_line(struct vc_build *b) {
    struct vc_net *n = b->net;
    float scale = vc_cast_slot(vc_build_slot(b, VC_SLOT_EMBED_SCALE), n->config.embed_scale);
    struct vc_embed_args a = { scale, n->weights.cast == VC_NO_DTYPE ? VC_F32 : n->weights.cast };
    b->stream[VC_X] = vc_build_stream(b, n->config.hidden_size, VC_SLOT_EMBED_OUT);
    struct vc_view rows = { .raw = n->embed_rows, .rows = n->max_tokens, .cols = n->config.hidden_size, .dtype = n->weights.embed->dtype };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_EMBED, .core = VC_ARITH_ELEMENT,
        .in = { vc_input(VC_INPUT_EMBED_AT), vc_weight(vc_prog_weight(b->prog, &rows)) }, .out = { vc_stream(b->stream[VC_X]) },
        .args = &a, .args_bytes = sizeof a, .dims = { .K = n->config.hidden_size, .N = n->config.vocab_size }, .label = "embed" });
}

static void head_lines(struct vc_build *b) {
    struct vc_net *n = b->net;
    b->layer = UINT32_MAX;
    uint32_t h = norm_add(b, b->stream[VC_X], &n->weights.final_norm, "final_norm"), rows;
    vc_prog_begin_head(b->prog);
    b->rows = VC_ROWS_OUT;
    rows = vc_prog_stream(b->prog, n->config.hidden_size, vc_prog_dtype(b->prog, h), VC_ROWS_OUT);
    struct vc_gather_args g = { 0 };
    vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_GATHER, .core = VC_ARITH_ELEMENT, .in = { vc_stream(h), vc_input(VC_INPUT_OUT_ROWS) },
        .out = { vc_stream(rows) }, .args = &g, .args_bytes = sizeof g, .dims = { .K = n->config.hidden_size }, .label = "last_rows" });
    if (n->pooler.on) {                                /* the rows themselves are wanted */
        n->logits = rows;
        vc_prog_keep(b->prog, rows);
        return;
    }
    n->logits = vc_build_stream(b, n->config.vocab_size, VC_SLOT_LOGIT);
    vc_build_linear(b, rows, &n->weights.head, vc_stream(n->logits), "lm_head");
    if (n->config.final_softcap > 0) {
        struct vc_softcap_args c = { n->config.final_softcap };
        vc_prog_line(b->prog, &(struct vc_line_spec){ .op = VC_OP_SOFTCAP, .core = VC_ARITH_ELEMENT, .in = { vc_stream(n->logits) }, .out = { vc_stream(n->logits) },
            .args = &c, .args_bytes = sizeof c, .dims = { .K = n->config.vocab_size }, .label = "softcap" });
    }
    vc_prog_keep(b->prog, n->logits);
}

vc_status vc_net_build(struct vc_net *n, uint32_t max_seqs, uint32_t page_tokens, vc_err *err) {
    VC_TRY(vc_prog_new(&n->prog, n->dev, &n->numerics, n->max_tokens, n->max_out, max_seqs, err));
    struct vc_build b = { .net = n, .prog = n->prog, .rows = VC_ROWS_TOKENS, .residual = NO_STREAM, .quant_src = NO_STREAM, .layer = UINT32_MAX, .page_tokens = page_tokens };
    embed_line(&b);
    for (b.layer = 0; b.layer < n->config.num_layers; b.layer++) layer_lines(&b);
    head_lines(&b);
    return vc_prog_plan(n->prog, err);
}
