/* SPDX-License-Identifier: Apache-2.0
 * boundaries_stages.c: each stage of the attention half of a layer as one or two op calls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/boundaries.h"
#include "num/half.h"
#include "op/rope_table.h"

static struct vc_view f32_weight(struct lab_replay *r, const struct vc_tensor *t) {
    struct vc_view v = lab_matrix(r, 1, t ? (uint32_t)vc_tensor_elems(t) : 1, VC_F32);
    for (uint32_t i = 0; t && v.data && i < v.cols; i++) {
        uint16_t h;
        memcpy(&h, (const char *)t->data + 2 * (size_t)i, 2);
        ((float *)v.data)[i] = vc_bf16_f32(h);
    }
    return v;
}

uint64_t lab_stage_norm(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                        bool round_sum, uint64_t *total) {
    struct vc_numerics n;
    if (!lab_numerics(r, spec, &n)) return 0;
    const char *at = lab_join(r, s->prefix, s->name, "");
    const char *w = strcmp(s->name, "input_norm") == 0  ? "input_layernorm.weight"
                    : strcmp(s->name, "post_norm") == 0 ? "post_attention_layernorm.weight"
                                                        : "model.norm.weight";
    struct vc_view none = { .dtype = VC_F32 }, res = none, in[3], out[2];
    in[0] = lab_input(r, lab_join(r, at, ".in", ""));
    in[1] = f32_weight(r, lab_weight(r, s, w));
    if (vc_tensors_find(r->captured, lab_join(r, at, ".residual_in", "")))
        res = lab_input(r, lab_join(r, at, ".residual_in", ""));
    for (uint32_t i = 0; round_sum && res.data && i < res.rows;
         i++) /* the variant: b(x + residual) is what the norm reads */
        for (uint32_t c = 0; c < res.cols; c++) {
            uint16_t *x = (uint16_t *)(void *)((char *)in[0].data + i * in[0].stride) + c,
                     y = ((uint16_t *)(void *)((char *)res.data + i * res.stride))[c];
            *x = vc_f32_bf16(vc_bf16_f32(*x) + vc_bf16_f32(y));
        }
    in[2] = round_sum ? none : res;
    out[0] = lab_matrix(r, in[0].rows, in[0].cols, VC_BF16);
    out[1] = in[2].data ? lab_matrix(r, in[0].rows, in[0].cols, (enum vc_dtype)n.slot[VC_SLOT_RESIDUAL]) : none;
    struct vc_rmsnorm_args a = { r->eps, 0 };
    lab_run_op(r, &n, VC_OP_RMSNORM, (enum vc_arith)n.core[VC_CHOICE_NORM], &a, (struct vc_dims){ .K = in[0].cols }, in,
               3, out, 2);
    return what == LAB_RESIDUAL ? lab_differ(r, &out[1], lab_join(r, at, ".residual_out", ""), total)
                                : lab_differ(r, &out[0], lab_join(r, at, ".out", ""), total);
}

uint64_t lab_stage_linear(struct lab_replay *r, const struct lab_stage *s, const char *spec, uint64_t *total) {
    struct vc_numerics n;
    const struct vc_tensor *t[3] = { NULL };
    const char *in_name = lab_join(r, s->prefix, s->name, ".in"), *out_name = lab_join(r, s->prefix, s->name, ".out");
    uint32_t parts = 1;
    size_t stride;
    if (!lab_numerics(r, spec, &n)) return 0;
    if (strcmp(s->name, "qkv") == 0) {
        parts = 3;
        t[0] = lab_weight(r, s, "self_attn.q_proj.weight");
        t[1] = lab_weight(r, s, "self_attn.k_proj.weight");
        t[2] = lab_weight(r, s, "self_attn.v_proj.weight");
    } else if (strcmp(s->name, "o_proj") == 0)
        t[0] = lab_weight(r, s, "self_attn.o_proj.weight");
    else if (strcmp(s->name, "router") == 0) {
        t[0] = lab_weight(r, s, "mlp.gate.weight");
        out_name = lab_join(r, s->prefix, s->name, ".logits");
    } else {
        t[0] = lab_weight(r, s, "lm_head.weight");
        in_name = "lm_head.all_rows_in";
        out_name = "lm_head.all_rows_logits";
    }
    struct vc_view in[3] = { lab_input(r, in_name),
                             lab_panel(r, VC_OP_MATMUL, VC_ARITH_PAIR, t, parts, 1, &stride),
                             { .dtype = VC_F32 } };
    struct vc_view out = lab_matrix(r, in[0].rows, in[1].rows ? in[1].rows : 1, VC_BF16);
    struct vc_matmul_args a = { 0 };
    lab_run_op(r, &n, VC_OP_MATMUL, VC_ARITH_PAIR, &a, (struct vc_dims){ .N = in[1].rows, .K = in[1].cols }, in, 3,
               &out, 1);
    return lab_differ(r, &out, out_name, total);
}

uint64_t lab_stage_headnorm(struct lab_replay *r, const struct lab_stage *s, const char *spec, uint64_t *total) {
    struct vc_numerics n;
    if (!lab_numerics(r, spec, &n)) return 0;
    bool k = s->name[0] == 'k';
    struct vc_view in[2] = { lab_input(r, lab_join(r, s->prefix, s->name, ".in")),
                             f32_weight(r,
                                        lab_weight(r, s, k ? "self_attn.k_norm.weight" : "self_attn.q_norm.weight")) };
    struct vc_view out = lab_matrix(r, in[0].rows ? in[0].rows : 1, in[0].cols ? in[0].cols : 1, VC_BF16);
    struct vc_headnorm_args a = { r->eps, 0, k ? r->kv_heads : r->heads, r->head_dim };
    lab_run_op(r, &n, VC_OP_HEADNORM, (enum vc_arith)n.core[VC_CHOICE_NORM], &a,
               (struct vc_dims){ .K = in[0].cols, .num_heads = a.heads, .head_dim = r->head_dim }, in, 2, &out, 1);
    return lab_differ(r, &out, lab_join(r, s->prefix, s->name, ".out"), total);
}

uint64_t lab_stage_rope(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                        uint64_t *total) {
    struct vc_numerics n;
    if (!lab_numerics(r, spec, &n)) return 0;
    struct vc_rope_params p = { .kind = VC_ROPE_DEFAULT, .rotary_dim = r->head_dim, .theta = (double)r->theta };
    enum vc_dtype fmt = (enum vc_dtype)n.slot[VC_SLOT_ROPE_TABLE];
    struct vc_view in[3] = { lab_input(r, lab_join(r, s->prefix, s->name, what == LAB_Q ? ".q_in" : ".k_in")),
                             lab_matrix(r, r->rows, r->head_dim, fmt), lab_matrix(r, r->rows, 1, VC_I32) };
    struct vc_view out = lab_matrix(r, r->rows, in[0].cols ? in[0].cols : 1, VC_BF16);
    in[2].stride = 4;
    for (uint32_t i = 0; r->err.status == VC_OK && i < r->rows; i++) {
        ((int32_t *)in[2].data)[i] = (int32_t)i;
        vc_rope_rows(&p, (enum vc_arith)n.core[VC_CHOICE_ROPE], &i, 1, 0, fmt, (char *)in[1].data + i * in[1].stride,
                     &r->err);
    }
    struct vc_rope_args a = { in[0].cols / r->head_dim, r->head_dim, r->head_dim, VC_ROPE_NEOX };
    lab_run_op(
        r, &n, VC_OP_ROPE, VC_ARITH_ELEMENT, &a,
        (struct vc_dims){ .K = in[0].cols, .num_heads = a.heads, .head_dim = r->head_dim, .rotary_dim = r->head_dim },
        in, 3, &out, 1);
    return lab_differ(r, &out, lab_join(r, s->prefix, s->name, what == LAB_Q ? ".q_out" : ".k_out"), total);
}

uint64_t lab_stage_attention(struct lab_replay *r, const struct lab_stage *s, const char *spec, uint64_t *total) {
    enum { PAGE = 16 };
    struct vc_numerics n;
    if (!lab_numerics(r, spec, &n)) return 0;
    uint32_t pages = (r->rows + PAGE - 1) / PAGE, *table = VC_NEW_ARRAY(&r->arena, uint32_t, pages);
    struct vc_kv_geom geom = { r->kv_heads, r->head_dim, PAGE };
    struct vc_view q = lab_input(r, lab_join(r, s->prefix, "attn", ".q")),
                   store[3] = { lab_input(r, lab_join(r, s->prefix, "attn", ".k")),
                                lab_input(r, lab_join(r, s->prefix, "attn", ".v")), lab_matrix(r, r->rows, 1, VC_I64) };
    struct vc_view pool = lab_matrix(r, pages, 2 * r->kv_heads * r->head_dim * PAGE, VC_BF16),
                   out = lab_matrix(r, r->rows, r->heads * r->head_dim, VC_BF16);
    if (!table || r->err.status != VC_OK) return 0;
    store[2].stride = 8;
    for (uint32_t i = 0; i < r->rows; i++) ((int64_t *)store[2].data)[i] = i;
    for (uint32_t i = 0; i < pages; i++) table[i] = i;
    struct vc_kvstore_args ka = { geom };
    struct vc_dims d = { .K = r->heads * r->head_dim,
                         .num_heads = r->heads,
                         .num_kv_heads = r->kv_heads,
                         .head_dim = r->head_dim,
                         .page_tokens = PAGE };
    lab_run_op(r, &n, VC_OP_KVSTORE, VC_ARITH_ELEMENT, &ka, d, store, 3, &pool, 1);
    struct vc_attn_seq seq = { 0, r->rows, 0, table };
    struct vc_attention_args a = { .geom = geom,
                                   .num_heads = r->heads,
                                   .num_seqs = 1,
                                   .scale = (float)(1.0 / sqrt((double)r->head_dim)),
                                   .seqs = &seq };
    struct vc_view in[2] = { q, pool };
    lab_run_op(r, &n, VC_OP_ATTENTION, (enum vc_arith)n.core[VC_CHOICE_ATTENTION], &a, d, in, 2, &out, 1);
    return lab_differ(r, &out, lab_join(r, s->prefix, "attn", ".out"), total);
}
