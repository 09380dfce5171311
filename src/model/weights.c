/* SPDX-License-Identifier: Apache-2.0
 * weights.c: roles → tensors, with every shape checked. Packing is in pack.c. */
#include "model/weights.h"

#include <stdio.h>
#include <string.h>

#include "base/ckd.h"
#include "model/pack.h"
#include "num/block.h"
#include "num/half.h"
#include "op/qact.h"

static const struct vc_tensor_row *row_of(const struct vc_config *c, enum vc_role role) {
    return vc_arch_row(c->arch, role);
}

static const struct vc_tensor *find(const struct vc_weights *w, const struct vc_tensor_row *r, const char *suffix, uint32_t layer, uint32_t expert, char *name, size_t cap) {
    const char *pattern = w->config->from_gguf ? r->gguf : r->hf;
    const char *rest = strchr(pattern, '%');
    if (!rest) {
        snprintf(name, cap, "%s%s", pattern, suffix);
    } else {
        const char *rest2 = strchr(rest + 2, '%');             /* an expert's number */
        if (rest2)
            snprintf(name, cap, "%.*s%u%.*s%u%s%s", (int)(rest - pattern), pattern, layer, (int)(rest2 - rest - 2), rest + 2, expert, rest2 + 2, suffix);
        else
            snprintf(name, cap, "%.*s%u%s%s", (int)(rest - pattern), pattern, layer, rest + 2, suffix);
    }
    const struct vc_tensor *t = vc_tensors_find(w->tensors, name);
    bool base = !t && !w->config->from_gguf && !strncmp(name, "model.", 6);    /* saved from the model without its head */
    return base ? vc_tensors_find(w->tensors, name + 6) : t;
}

static void print_shape(struct vc_buf *b, const struct vc_tensor *t) {
    vc_buf_adds(b, "[");
    for (uint32_t i = 0; i < t->n_dims; i++) vc_buf_printf(b, "%s%llu", i ? ", " : "", (unsigned long long)t->dims[i]);
    vc_buf_adds(b, "]");
}

static void wrong_shape(const struct vc_weights *w, const struct vc_tensor *t, uint64_t a, uint64_t b, uint64_t c, vc_err *err) {
    struct vc_buf have = { 0 };
    print_shape(&have, t);
    char want[96];
    if (a) snprintf(want, sizeof want, "[%llu, %llu, %llu]", (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
    else if (b) snprintf(want, sizeof want, "[%llu, %llu]", (unsigned long long)b, (unsigned long long)c);
    else snprintf(want, sizeof want, "[%llu]", (unsigned long long)c);
    vc_fail(err, VC_E_FORMAT, "%s: tensor %s has shape %s, expected %s", vc_tensors_file(w->tensors, t->file), t->name, have.p ? have.p : "?", want);
    vc_buf_free(&have);
}

/* The tensor of a role with shape [a,] [b,] c (0: that dimension is absent); absent tensors are an error. */
static vc_status need(struct vc_weights *w, enum vc_role role, const char *suffix, uint32_t layer, uint32_t expert, uint64_t a, uint64_t b, uint64_t c,
                      const struct vc_tensor **out, vc_err *err) {
    char name[256];
    const struct vc_tensor *t = find(w, row_of(w->config, role), suffix, layer, expert, name, sizeof name);
    if (!t) return vc_fail(err, VC_E_FORMAT, "%s: tensor %s is missing", vc_tensors_file(w->tensors, 0), name);
    uint32_t dims = 1u + (b != 0) + (a != 0);
    bool ok = t->n_dims == dims && t->dims[dims - 1] == c && (!b || t->dims[dims - 2] == b) && (!a || t->dims[0] == a);
    if (!ok) {
        wrong_shape(w, t, a, b, c, err);
        return VC_E_FORMAT;
    }
    if (!vc_decodable(t->dtype))
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: tensor %s is stored as %s, which this version cannot compute with", vc_tensors_file(w->tensors, t->file), t->name,
                       vc_dtype_name(t->dtype));
    w->read[t - vc_tensors_at(w->tensors, 0)] = 1;
    w->parameters += vc_tensor_elems(t);
    w->tensor_bytes += t->bytes;
    *out = t;
    return VC_OK;
}

static bool has(const struct vc_config *c, enum vc_role role, uint32_t layer) {
    const struct vc_tensor_row *r = row_of(c, role);
    return r && vc_config_when(c, r->when, layer);
}

/* A vector as f32, rounded to the run's dtype first where weights are cast. */
static vc_status vector(struct vc_weights *w, enum vc_role role, const char *suffix, uint32_t layer, uint64_t n, float *dst, vc_err *err) {
    const struct vc_tensor *t;
    VC_TRY(need(w, role, suffix, layer, 0, 0, 0, n, &t, err));
    if (!vc_decode(t->dtype, t->data, n, dst)) return vc_fail(err, VC_E_FORMAT, "tensor %s cannot be decoded", t->name);
    for (uint64_t i = 0; i < n; i++) dst[i] = vc_cast_value(w->cast, dst[i]);
    return VC_OK;
}

static vc_status norm(struct vc_weights *w, enum vc_role role, uint32_t layer, struct vc_view *v, vc_err *err) {
    uint64_t n = vc_config_sym(w->config, row_of(w->config, role)->cols);
    float *dst = vc_arena_alloc(w->arena, n * 4, 64);
    if (!dst) return vc_fail(err, VC_E_NOMEM, "out of memory for norm weights");
    VC_TRY(vector(w, role, ".weight", layer, n, dst, err));
    *v = (struct vc_view){ .data = dst, .raw = dst, .stride = n * 4, .rows = 1, .cols = (uint32_t)n, .dtype = VC_F32 };
    return VC_OK;
}

/* Core and panel format for a stored format under this profile. */
static vc_status formats(const struct vc_weights *w, const struct vc_tensor *t, bool experts, enum vc_arith *core, enum vc_dtype *panel, vc_err *err) {
    const struct vc_numerics *n = w->numerics;
    bool block = vc_dtype_info(t->dtype)->block > 1;
    *core = experts ? (enum vc_arith)n->core[VC_CHOICE_EXPERTS] : VC_ARITH_PAIR;
    if (*core == VC_ARITH_IBLK) *core = VC_ARITH_PAIR;
    *panel = t->dtype;
    if (!block) {
        if (w->cast != VC_NO_DTYPE) *panel = w->cast;
        else if (!vc_dtype_is_float(t->dtype)) *panel = VC_F32;
        return VC_OK;
    }
    if (n->profile == VC_PROFILE_GGUF) {
        *core = VC_ARITH_IBLK;
        return VC_OK;
    }
    if (n->profile == VC_PROFILE_F32) {
        *panel = VC_F32;
        return VC_OK;
    }
    return vc_fail(err, VC_E_UNSUPPORTED, "%s: tensor %s is stored as %s, which the profile %s cannot compute with; use --numerics gguf or f32",
                   vc_tensors_file(w->tensors, t->file), t->name, vc_dtype_name(t->dtype), vc_profile_name(n->profile));
}

/* One linear out of `n` tensors with the same formats, one below the other. */
static vc_status make_linear(struct vc_weights *w, const struct vc_tensor *const *t, uint32_t n, struct vc_linear *l, vc_err *err) {
    enum vc_dtype panel;
    VC_TRY(formats(w, t[0], false, &l->core, &panel, err));
    uint64_t rows = 0;
    for (uint32_t i = 0; i < n; i++) rows += t[i]->dims[0];
    l->act_block = l->core == VC_ARITH_IBLK ? vc_qact_block(panel) : 0;
    l->w = (struct vc_view){ .rows = (uint32_t)rows, .cols = (uint32_t)t[0]->dims[1], .dtype = panel };
    return vc_pack_plan(w, VC_OP_MATMUL, l->core, t, n, 1, &l->w, NULL, err);
}

static vc_status biases(struct vc_weights *w, const enum vc_role *roles, uint32_t n, uint32_t layer, struct vc_linear *l, vc_err *err) {
    const struct vc_tensor_row *r = row_of(w->config, roles[0]);
    if (!vc_config_when(w->config, r->bias, layer)) return VC_OK;
    float *dst = vc_arena_alloc(w->arena, (size_t)l->w.rows * 4, 64);
    if (!dst) return vc_fail(err, VC_E_NOMEM, "out of memory for biases");
    l->bias = (struct vc_view){ .data = dst, .raw = dst, .stride = (size_t)l->w.rows * 4, .rows = 1, .cols = l->w.rows, .dtype = VC_F32 };
    for (uint32_t i = 0; i < n; i++) {
        uint64_t len = vc_config_sym(w->config, row_of(w->config, roles[i])->rows);
        VC_TRY(vector(w, roles[i], ".bias", layer, len, dst, err));
        dst += len;
    }
    return VC_OK;
}

static vc_status fused(struct vc_weights *w, const enum vc_role *roles, uint32_t n, uint32_t layer, struct vc_fused *f, vc_err *err) {
    const struct vc_tensor *t[3];
    bool same = true;
    *f = (struct vc_fused){ 0 };
    for (uint32_t i = 0; i < n; i++) {
        const struct vc_tensor_row *r = row_of(w->config, roles[i]);
        VC_TRY(need(w, roles[i], ".weight", layer, 0, 0, vc_config_sym(w->config, r->rows), vc_config_sym(w->config, r->cols), &t[i], err));
        same &= t[i]->dtype == t[0]->dtype;
        f->cols += (uint32_t)t[i]->dims[0];
    }
    f->n = same ? 1 : n;
    for (uint32_t i = 0; i < f->n; i++) {
        VC_TRY(make_linear(w, t + i, same ? n : 1, &f->part[i], err));
        VC_TRY(biases(w, roles + i, same ? n : 1, layer, &f->part[i], err));
    }
    return VC_OK;
}

static vc_status single(struct vc_weights *w, enum vc_role role, uint32_t layer, struct vc_linear *l, vc_err *err) {
    const struct vc_tensor_row *r = row_of(w->config, role);
    const struct vc_tensor *t;
    VC_TRY(need(w, role, ".weight", layer, 0, 0, vc_config_sym(w->config, r->rows), vc_config_sym(w->config, r->cols), &t, err));
    VC_TRY(make_linear(w, &t, 1, l, err));
    return biases(w, &role, 1, layer, l, err);
}

/* Experts: from Hugging Face folders one tensor each, from GGUF one of three dimensions; `roles` gives the tensors that
 * lie one below the other within an expert. */
static vc_status experts(struct vc_weights *w, const enum vc_role *roles, uint32_t n, uint32_t layer, struct vc_view *v, size_t *stride, struct vc_layer_weights *lw, vc_err *err) {
    const struct vc_config *c = w->config;
    const struct vc_tensor **t = vc_arena_array(w->arena, (size_t)c->num_experts * n, sizeof *t);
    if (!t) return vc_fail(err, VC_E_NOMEM, "out of memory binding experts");
    uint64_t rows = 0, cols = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct vc_tensor_row *r = row_of(c, roles[i]);
        uint64_t N = vc_config_sym(c, r->rows);
        cols = vc_config_sym(c, r->cols);
        rows += N;
        for (uint32_t e = 0; e < c->num_experts; e++) {
            if (c->from_gguf && e > 0) t[e * n + i] = t[i];
            else VC_TRY(need(w, roles[i], ".weight", layer, e, c->from_gguf ? c->num_experts : 0, N, cols, &t[e * n + i], err));
            if (t[e * n + i]->dtype != t[0]->dtype)
                return vc_fail(err, VC_E_UNSUPPORTED, "tensor %s: experts of one layer in different formats are not supported", t[e * n + i]->name);
        }
    }
    enum vc_dtype panel;
    enum vc_arith core;
    VC_TRY(formats(w, t[0], true, &core, &panel, err));
    if (v == &lw->w13) {                               /* x is quantized for w13; w2's input inside the kernel, for w2 */
        lw->expert_core = core;
        lw->expert_block = core == VC_ARITH_IBLK ? vc_qact_block(panel) : 0;
    } else if (core != lw->expert_core) {
        return vc_fail(err, VC_E_UNSUPPORTED, "tensor %s: experts with plain and quantized matrices in one layer are not supported", t[0]->name);
    }
    *v = (struct vc_view){ .rows = (uint32_t)rows, .cols = (uint32_t)cols, .dtype = panel };
    return vc_pack_plan(w, VC_OP_MOE, lw->expert_core, t, n, c->num_experts, v, stride, err);
}

static vc_status bind_layer(struct vc_weights *w, uint32_t i, vc_err *err) {
    static const enum vc_role qkv[] = { VC_ROLE_Q, VC_ROLE_K, VC_ROLE_V }, gate_up[] = { VC_ROLE_GATE, VC_ROLE_UP },
                              e13[] = { VC_ROLE_EXPERT_GATE, VC_ROLE_EXPERT_UP }, e2[] = { VC_ROLE_EXPERT_DOWN };
    struct vc_layer_weights *l = &w->layers[i];
    for (enum vc_role role = VC_ROLE_INPUT_NORM; role < VC_NUM_ROLES; role++) {
        const struct vc_tensor_row *r = row_of(w->config, role);
        if (r && r->rows == VC_SYM_NONE && vc_config_when(w->config, r->when, i)) VC_TRY(norm(w, role, i, &l->norm[role], err));
    }
    VC_TRY(fused(w, qkv, 3, i, &l->qkv, err));
    VC_TRY(single(w, VC_ROLE_O, i, &l->o, err));
    if (has(w->config, VC_ROLE_GATE, i)) {
        VC_TRY(fused(w, gate_up, 2, i, &l->gate_up, err));
        VC_TRY(single(w, VC_ROLE_DOWN, i, &l->down, err));
    }
    if (has(w->config, VC_ROLE_ROUTER, i)) {
        VC_TRY(single(w, VC_ROLE_ROUTER, i, &l->router, err));
        VC_TRY(experts(w, e13, 2, i, &l->w13, &l->stride13, l, err));    /* first: it sets the core */
        VC_TRY(experts(w, e2, 1, i, &l->w2, &l->stride2, l, err));
    }
    return VC_OK;
}

static vc_status bind_ends(struct vc_weights *w, vc_err *err) {
    const struct vc_config *c = w->config;
    const struct vc_tensor *t;
    VC_TRY(need(w, VC_ROLE_EMBED, ".weight", 0, 0, 0, c->vocab_size, c->hidden_size, &t, err));
    w->embed = t;
    VC_TRY(norm(w, VC_ROLE_FINAL_NORM, 0, &w->final_norm, err));
    if (w->headless) return VC_OK;
    if (c->tie_word_embeddings) return make_linear(w, &t, 1, &w->head, err);
    return single(w, VC_ROLE_HEAD, 0, &w->head, err);
}

vc_status vc_weights_infer(struct vc_config *c, const struct vc_tensors *t, const char *name, vc_err *err) {
    if (!c->from_gguf) return VC_OK;
    const struct vc_tensor *e = vc_tensors_find(t, "token_embd.weight");
    if (!e || e->n_dims != 2) return vc_fail(err, VC_E_FORMAT, "%s: tensor token_embd.weight is missing or has no two dimensions", name);
    if (!c->vocab_size) {
        if (e->dims[0] < 1 || e->dims[0] > 1u << 28) return vc_fail(err, VC_E_FORMAT, "%s: tensor token_embd.weight has %llu rows", name, (unsigned long long)e->dims[0]);
        c->vocab_size = (uint32_t)e->dims[0];
    }
    c->tie_word_embeddings = !vc_tensors_find(t, "output.weight");
    c->qkv_bias = vc_tensors_find(t, "blk.0.attn_q.bias") != NULL;
    c->o_bias = vc_tensors_find(t, "blk.0.attn_output.bias") != NULL;
    c->mlp_bias = vc_tensors_find(t, "blk.0.ffn_gate.bias") != NULL;
    return VC_OK;
}

vc_status vc_weights_bind(struct vc_weights *w, vc_err *err) {
    w->layers = VC_NEW_ARRAY(w->arena, struct vc_layer_weights, w->config->num_layers);
    w->read = VC_NEW_ARRAY(w->arena, uint8_t, VC_MAX(vc_tensors_count(w->tensors), (size_t)1));
    if (!w->layers || !w->read) return vc_fail(err, VC_E_NOMEM, "out of memory for %u layers", w->config->num_layers);
    VC_TRY(bind_ends(w, err));
    for (uint32_t i = 0; i < w->config->num_layers; i++) VC_TRY(bind_layer(w, i, err));
    VC_TRY(vc_weights_check_unread(w, err));
    return vc_pack_place(w, err);
}

void vc_weights_free(struct vc_weights *w) {
    if (w->region) w->dev->be->free(w->dev, w->region, w->region_bytes);
    w->region = NULL;
}
