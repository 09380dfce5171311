/* SPDX-License-Identifier: Apache-2.0
 * config.c: the key tables applied to config.json or GGUF metadata, and what follows from the values. */
#include "model/config.h"

#include <math.h>
#include <string.h>

#include "base/compat.h"

enum { MAX_LAYERS = 4096 };
#define LARGE (1u << 28)

const struct vc_key vc_common_keys[] = {
    /*     config.json                     GGUF                                kind required                                  field */
    VC_KEY("hidden_size",                  "embedding_length",                 U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, hidden_size, 0, 1, LARGE),
    VC_KEY("intermediate_size",            "feed_forward_length",              U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, intermediate_size, 0, 1, LARGE),
    VC_KEY("num_hidden_layers",            "block_count",                      U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, num_layers, 0, 1, MAX_LAYERS),
    VC_KEY("num_attention_heads",          "attention.head_count",             U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, num_heads, 0, 1, 1u << 16),
    VC_KEY("num_key_value_heads",          "attention.head_count_kv",          U32, 0, num_kv_heads, 0, 1, 1u << 16),
    VC_KEY("head_dim",                     "attention.key_length",             U32, 0, head_dim, 0, 1, 1u << 16),
    VC_KEY("vocab_size",                   "vocab_size",                       U32, VC_KEY_REQUIRED, vocab_size, 0, 1, LARGE),
    VC_KEY("max_position_embeddings",      "context_length",                   U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, max_position_embeddings, 0, 1, 1u << 30),
    VC_KEY("rms_norm_eps",                 "attention.layer_norm_rms_epsilon", F32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, rms_norm_eps, 0, 0, 1),
    VC_KEY("hidden_activation|hidden_act", NULL,                               ACT, VC_KEY_REQUIRED, act, 0, 0, 0),
    VC_KEY("tie_word_embeddings",          NULL,                               BOOL, 0, tie_word_embeddings, 0, 0, 1),
    { .hf = NULL, .gguf = NULL },
};

bool vc_act_by_name(const char *name, size_t n, enum vc_act *act) {
    static const struct { const char *name; enum vc_act act; } known[] = {
        { "silu", VC_ACT_SILU }, { "swish", VC_ACT_SILU }, { "gelu_pytorch_tanh", VC_ACT_GELU_TANH }, { "gelu_new", VC_ACT_GELU_TANH },
        { "gelu", VC_ACT_GELU }, { "relu", VC_ACT_RELU },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(known); i++)
        if (vc_str_is((vc_str){ name, n }, known[i].name)) {
            *act = known[i].act;
            return true;
        }
    return false;
}

static vc_status check_range(const struct vc_key *k, double v, const char *key, const char *name, vc_err *err) {
    if (v >= k->min && v <= k->max) return VC_OK;
    return vc_fail(err, VC_E_FORMAT, "%s: %s is %.9g, expected %.9g to %.9g", name, key, v, k->min, k->max);
}

static void set_number(struct vc_config *c, const struct vc_key *k, double v) {
    char *at = (char *)c + k->at;
    switch (k->kind) {
        case VC_KEY_U32: *(uint32_t *)(void *)at = (uint32_t)v; break;
        case VC_KEY_F32: *(float *)(void *)at = (float)v; break;
        case VC_KEY_BOOL: *(bool *)(void *)at = v != 0; break;
        case VC_KEY_ACT: *(enum vc_act *)(void *)at = (enum vc_act)(int)v; break;
    }
}

/* The first of "a|b" that is present and not null; its name goes to key[]. */
static const json_t *find_json(const json_t *root, const char *alternatives, char *key, size_t cap) {
    for (const char *p = alternatives; *p;) {
        size_t n = strcspn(p, "|");
        if (n >= cap) n = cap - 1;
        memcpy(key, p, n);
        key[n] = '\0';
        const json_t *v = json_object_get(root, key);
        if (v && !json_is_null(v)) return v;
        p += n + (p[n] == '|');
    }
    return NULL;
}

static vc_status key_from_json(struct vc_config *c, const struct vc_key *k, const json_t *root, const char *name, vc_err *err) {
    char key[128] = "";
    if (!k->hf) return VC_OK;
    const json_t *v = find_json(root, k->hf, key, sizeof key);
    set_number(c, k, k->def);
    if (!v) {
        if (!(k->flags & VC_KEY_REQUIRED)) return VC_OK;
        return vc_fail(err, VC_E_FORMAT, "%s: the key %s is missing", name, key);
    }
    double number = 0;
    switch (k->kind) {
        case VC_KEY_U32:
            if (!json_is_integer(v)) return vc_fail(err, VC_E_FORMAT, "%s: %s is %s, expected an integer", name, key, vc_json_type_name(v));
            number = (double)json_integer_value(v);
            break;
        case VC_KEY_F32:
            if (!json_is_number(v)) return vc_fail(err, VC_E_FORMAT, "%s: %s is %s, expected a number", name, key, vc_json_type_name(v));
            number = json_number_value(v);
            break;
        case VC_KEY_BOOL:
            if (!json_is_boolean(v)) return vc_fail(err, VC_E_FORMAT, "%s: %s is %s, expected true or false", name, key, vc_json_type_name(v));
            number = json_is_true(v);
            break;
        case VC_KEY_ACT: {
            enum vc_act act;
            if (!json_is_string(v)) return vc_fail(err, VC_E_FORMAT, "%s: %s is %s, expected a string", name, key, vc_json_type_name(v));
            if (!vc_act_by_name(json_string_value(v), json_string_length(v), &act))
                return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s is '%s'; known: silu, gelu, gelu_pytorch_tanh, relu", name, key, json_string_value(v));
            set_number(c, k, (double)act);
            return VC_OK;
        }
    }
    VC_TRY(check_range(k, number, key, name, err));
    set_number(c, k, number);
    return VC_OK;
}

static vc_status key_from_gguf(struct vc_config *c, const struct vc_key *k, const struct vc_gguf *g, vc_err *err) {
    char key[128];
    set_number(c, k, k->def);
    if (!k->gguf) return VC_OK;
    snprintf(key, sizeof key, "%s.%s", c->arch->gguf_name, k->gguf);
    if (!vc_gguf_find(g, key)) {
        if (!(k->flags & VC_KEY_REQUIRED_GGUF)) return VC_OK;
        return vc_fail(err, VC_E_FORMAT, "%s: the key %s is missing", vc_gguf_path(g), key);
    }
    double number;
    if (k->kind == VC_KEY_F32) {
        float f;
        VC_TRY(vc_gguf_f32(g, key, &f, err));
        number = (double)f;
    } else if (k->kind == VC_KEY_BOOL) {
        bool b;
        VC_TRY(vc_gguf_bool(g, key, &b, err));
        number = b;
    } else {
        uint32_t u;
        VC_TRY(vc_gguf_u32(g, key, &u, err));
        number = u;
    }
    VC_TRY(check_range(k, number, key, vc_gguf_path(g), err));
    set_number(c, k, number);
    return VC_OK;
}

static void list_known(struct vc_buf *b, bool gguf) {
    for (const struct vc_arch *const *a = vc_archs; *a; a++) {
        if (gguf && (*a)->gguf_name) vc_buf_printf(b, "%s%s", b->n ? ", " : "", (*a)->gguf_name);
        if (!gguf)
            for (const char *const *n = (*a)->hf_names; *n; n++) vc_buf_printf(b, "%s%s", b->n ? ", " : "", *n);
    }
}

static vc_status unknown_arch(const char *file, const char *what, const char *name, size_t n, bool gguf, vc_err *err) {
    struct vc_buf known = { 0 };
    char shown[96];
    list_known(&known, gguf);
    vc_fail(err, VC_E_UNSUPPORTED, "%s: %s '%s' is not known; known: %s", file, what, vc_printable(shown, sizeof shown, name, n), known.p ? known.p : "");
    vc_buf_free(&known);
    return VC_E_UNSUPPORTED;
}

/* Which layers slide: layer_types if present, else the family's rule. */
static vc_status read_layer_types(struct vc_config *c, const json_t *root, const char *name, vc_err *err) {
    const json_t *types = json_object_get(root, "layer_types");
    if (!types || json_is_null(types)) return VC_OK;
    if (!json_is_array(types) || json_array_size(types) != c->num_layers)
        return vc_fail(err, VC_E_FORMAT, "%s: layer_types: expected an array of %u strings", name, c->num_layers);
    for (uint32_t i = 0; i < c->num_layers; i++) {
        const char *s = json_string_value(json_array_get(types, i));
        if (s && !strcmp(s, "sliding_attention")) c->layer_sliding[i] = 1;
        else if (s && !strcmp(s, "full_attention")) c->layer_sliding[i] = 0;
        else return vc_fail(err, VC_E_UNSUPPORTED, "%s: layer_types[%u] is '%s'; known: full_attention, sliding_attention", name, i, s ? s : "no string");
    }
    return VC_OK;
}

static vc_status read_moe_layers(struct vc_config *c, const json_t *root, const char *name, vc_err *err) {
    const json_t *dense = json_object_get(root, "mlp_only_layers");
    if (!dense || json_is_null(dense)) return VC_OK;
    if (!json_is_array(dense)) return vc_fail(err, VC_E_FORMAT, "%s: mlp_only_layers: expected an array", name);
    for (size_t i = 0; i < json_array_size(dense); i++) {
        const json_t *v = json_array_get(dense, i);
        json_int_t l = json_is_integer(v) ? json_integer_value(v) : -1;
        if (l < 0 || l >= (json_int_t)c->num_layers)
            return vc_fail(err, VC_E_FORMAT, "%s: mlp_only_layers[%zu]: expected a layer below %u", name, i, c->num_layers);
        c->layer_moe[l] = 0;
    }
    return VC_OK;
}

static void default_layers(struct vc_config *c) {
    for (uint32_t i = 0; i < c->num_layers; i++) {
        if (c->window_pattern) c->layer_sliding[i] = (i + 1) % c->window_pattern != 0;
        else if (c->arch->flags & VC_ARCH_WINDOW_ALL) c->layer_sliding[i] = c->sliding_window != 0;
        else c->layer_sliding[i] = c->use_sliding_window && i >= c->max_window_layers;
        c->layer_moe[i] = c->num_experts && (i + 1) % c->decoder_sparse_step == 0;
    }
}

/* Defaults that depend on other values, and checks across keys. */
vc_status vc_config_finish(struct vc_config *c, struct vc_arena *a, const char *name, vc_err *err) {
    if (!c->num_kv_heads) c->num_kv_heads = c->num_heads;
    if (!c->head_dim) {
        if (c->hidden_size % c->num_heads)
            return vc_fail(err, VC_E_FORMAT, "%s: hidden_size %u is no multiple of num_attention_heads %u, and head_dim is absent", name, c->hidden_size, c->num_heads);
        c->head_dim = c->hidden_size / c->num_heads;
    }
    if (c->num_heads % c->num_kv_heads)
        return vc_fail(err, VC_E_FORMAT, "%s: num_attention_heads %u is no multiple of num_key_value_heads %u", name, c->num_heads, c->num_kv_heads);
    if (c->head_dim % 8 || c->head_dim > 576)
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: head_dim is %u, expected a multiple of 8 up to 576", name, c->head_dim);
    if (c->num_experts && c->num_experts_per_tok > c->num_experts)
        return vc_fail(err, VC_E_FORMAT, "%s: num_experts_per_tok %u exceeds the %u experts", name, c->num_experts_per_tok, c->num_experts);
    if (!c->decoder_sparse_step) c->decoder_sparse_step = 1;
    c->layer_sliding = VC_NEW_ARRAY(a, uint8_t, c->num_layers);
    c->layer_moe = VC_NEW_ARRAY(a, uint8_t, c->num_layers);
    if (!c->layer_sliding || !c->layer_moe) return vc_fail(err, VC_E_NOMEM, "out of memory reading %s", name);
    default_layers(c);
    if (c->arch->flags & VC_ARCH_QKV_BIAS) c->qkv_bias = true;
    /* Python computes scalar ** -0.5 in double; the kernels take it as f32. */
    double d = c->query_pre_attn_scalar > 0 ? (double)c->query_pre_attn_scalar : (double)c->head_dim;
    c->attn_scale = (float)(1.0 / sqrt(d));
    c->embed_scale = c->arch->flags & VC_ARCH_EMBED_SCALE ? (float)sqrt((double)c->hidden_size) : 1.0f;
    c->norm_offset = c->arch->flags & VC_ARCH_NORM_PLUS_ONE && !c->from_gguf ? 1.0f : 0.0f;
    return VC_OK;
}

static vc_status arch_of_json(struct vc_config *c, const json_t *root, const char *name, vc_err *err) {
    const json_t *list = json_object_get(root, "architectures"), *first = json_array_get(list, 0);
    if (!json_is_string(first)) return vc_fail(err, VC_E_FORMAT, "%s: architectures: expected an array with the class name of the model", name);
    c->arch = vc_arch_by_hf(json_string_value(first));
    if (!c->arch) return unknown_arch(name, "the architecture", json_string_value(first), json_string_length(first), false, err);
    return VC_OK;
}

static enum vc_dtype stated_dtype(const json_t *root) {
    const json_t *v = json_object_get(root, "dtype");
    if (!json_is_string(v)) v = json_object_get(root, "torch_dtype");
    if (!json_is_string(v)) return VC_NO_DTYPE;
    return vc_dtype_by_name(json_string_value(v));
}

vc_status vc_config_from_json(struct vc_config *c, struct vc_arena *a, const json_t *root, const char *name, vc_err *err) {
    *c = (struct vc_config){ .dtype = VC_NO_DTYPE };
    if (!json_is_object(root)) return vc_fail(err, VC_E_FORMAT, "%s: expected a JSON object", name);
    VC_TRY(arch_of_json(c, root, name, err));
    if (json_is_object(json_object_get(root, "quantization_config")))
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: quantization_config: quantized checkpoints are not supported in this format; use a GGUF file", name);
    for (const struct vc_key *k = vc_common_keys; k->hf || k->gguf; k++) VC_TRY(key_from_json(c, k, root, name, err));
    for (const struct vc_key *k = c->arch->keys; k->hf || k->gguf; k++) VC_TRY(key_from_json(c, k, root, name, err));
    if (c->arch->flags & VC_ARCH_TIED && !json_object_get(root, "tie_word_embeddings")) c->tie_word_embeddings = true;
    c->dtype = stated_dtype(root);
    VC_TRY(vc_config_finish(c, a, name, err));
    VC_TRY(read_layer_types(c, root, name, err));
    VC_TRY(read_moe_layers(c, root, name, err));
    return vc_config_rope_json(c, a, root, name, err);
}

vc_status vc_config_from_gguf(struct vc_config *c, struct vc_arena *a, const struct vc_gguf *g, vc_err *err) {
    *c = (struct vc_config){ .from_gguf = true, .dtype = VC_NO_DTYPE };
    vc_str arch;
    VC_TRY(vc_gguf_str(g, "general.architecture", &arch, err));
    c->arch = vc_arch_by_gguf(arch.p, arch.n);
    if (!c->arch) return unknown_arch(vc_gguf_path(g), "general.architecture", arch.p, arch.n, true, err);
    for (const struct vc_key *k = vc_common_keys; k->hf || k->gguf; k++) VC_TRY(key_from_gguf(c, k, g, err));
    for (const struct vc_key *k = c->arch->keys; k->hf || k->gguf; k++) VC_TRY(key_from_gguf(c, k, g, err));
    c->act = (enum vc_act)c->arch->gguf_act;
    c->norm_topk_prob = true;
    VC_TRY(vc_config_finish(c, a, vc_gguf_path(g), err));
    return vc_config_rope_gguf(c, a, g, err);
}

uint64_t vc_config_sym(const struct vc_config *c, enum vc_sym s) {
    switch (s) {
        case VC_SYM_NONE: return 1;
        case VC_SYM_VOCAB: return c->vocab_size;
        case VC_SYM_HIDDEN: return c->hidden_size;
        case VC_SYM_Q: return (uint64_t)c->num_heads * c->head_dim;
        case VC_SYM_KV: return (uint64_t)c->num_kv_heads * c->head_dim;
        case VC_SYM_HEAD_DIM: return c->head_dim;
        case VC_SYM_INTER: return c->intermediate_size;
        case VC_SYM_EXPERTS: return c->num_experts;
        case VC_SYM_MOE_INTER: return c->moe_intermediate_size;
    }
    return 0;
}

bool vc_config_when(const struct vc_config *c, enum vc_when w, uint32_t layer) {
    switch (w) {
        case VC_WHEN_ALWAYS: return true;
        case VC_WHEN_NEVER: return false;
        case VC_WHEN_UNTIED: return !c->tie_word_embeddings;
        case VC_WHEN_DENSE: return !c->layer_moe[layer];
        case VC_WHEN_MOE: return c->layer_moe[layer];
        case VC_WHEN_QKV_BIAS: return c->qkv_bias;
        case VC_WHEN_O_BIAS: return c->o_bias;
        case VC_WHEN_MLP_BIAS: return c->mlp_bias;
    }
    return false;
}
