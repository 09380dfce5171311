/* SPDX-License-Identifier: Apache-2.0
 * config_rope.c: rotary parameters: rope_parameters (one set, or one per layer type), the older rope_theta and
 * rope_scaling, and GGUF's keys. Unknown types are refused by name. */
#include <string.h>

#include "model/config.h"

static const struct { const char *name; enum vc_rope_kind kind; } kinds[] = {
    { "default", VC_ROPE_DEFAULT }, { "none", VC_ROPE_DEFAULT }, { "linear", VC_ROPE_LINEAR }, { "dynamic", VC_ROPE_DYNAMIC },
    { "yarn", VC_ROPE_YARN }, { "llama3", VC_ROPE_LLAMA3 }, { "longrope", VC_ROPE_LONGROPE }, { "su", VC_ROPE_LONGROPE },
};

static vc_status kind_by_name(enum vc_rope_kind *k, vc_str s, const char *file, const char *key, vc_err *err) {
    for (size_t i = 0; i < VC_ARRAY_LEN(kinds); i++)
        if (vc_str_is(s, kinds[i].name)) {
            *k = kinds[i].kind;
            return VC_OK;
        }
    char shown[64];
    return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s is '%s'; known: default, linear, dynamic, yarn, llama3, longrope", file, key, vc_printable(shown, sizeof shown, s.p, s.n));
}

/* A list of factors, one per pair of rotary dimensions. */
static vc_status factors(const json_t *o, const char *key, uint32_t want, struct vc_arena *a, const float **out, vc_err *err) {
    json_t *v;
    VC_TRY(vc_json_arr(o, key, &v, err));
    if (json_array_size(v) != want) return vc_fail(err, VC_E_FORMAT, "%s has %zu values, expected %u", key, json_array_size(v), want);
    float *f = VC_NEW_ARRAY(a, float, want);
    if (!f) return vc_fail(err, VC_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < want; i++) {
        const json_t *x = json_array_get(v, i);
        if (!json_is_number(x)) return vc_fail(err, VC_E_FORMAT, "%s[%u] is %s, expected a number", key, i, vc_json_type_name(x));
        f[i] = (float)json_number_value(x);
    }
    *out = f;
    return VC_OK;
}

/* The kind's own numbers. `o` holds them, `root` those that older files keep outside. */
static vc_status numbers(struct vc_rope_params *p, const json_t *o, const json_t *root, struct vc_arena *a, vc_err *err) {
    bool truncate = true;
    if (p->kind != VC_ROPE_DEFAULT && p->kind != VC_ROPE_LONGROPE) VC_TRY(vc_json_f64(o, "factor", &p->factor, err));
    if (p->kind == VC_ROPE_LONGROPE) VC_TRY(vc_json_opt_f64(o, "factor", &p->factor, err));
    VC_TRY(vc_json_opt_u32(root, "original_max_position_embeddings", &p->original_max_position, err));
    VC_TRY(vc_json_opt_u32(o, "original_max_position_embeddings", &p->original_max_position, err));
    if (p->kind == VC_ROPE_YARN && !p->original_max_position) p->original_max_position = p->max_position;
    VC_TRY(vc_json_opt_f64(o, "beta_fast", &p->beta_fast, err));
    VC_TRY(vc_json_opt_f64(o, "beta_slow", &p->beta_slow, err));
    VC_TRY(vc_json_opt_f64(o, "mscale", &p->mscale, err));
    VC_TRY(vc_json_opt_f64(o, "mscale_all_dim", &p->mscale_all_dim, err));
    VC_TRY(vc_json_opt_f64(o, "attention_factor", &p->attention_factor, err));
    VC_TRY(vc_json_opt_bool(o, "truncate", &truncate, err));
    p->no_truncate = !truncate;
    if (p->kind == VC_ROPE_LLAMA3) {
        VC_TRY(vc_json_f64(o, "low_freq_factor", &p->low_freq_factor, err));
        VC_TRY(vc_json_f64(o, "high_freq_factor", &p->high_freq_factor, err));
    }
    if (p->kind == VC_ROPE_LONGROPE) {
        VC_TRY(factors(o, "short_factor", p->rotary_dim / 2, a, &p->short_factor, err));
        VC_TRY(factors(o, "long_factor", p->rotary_dim / 2, a, &p->long_factor, err));
    }
    return vc_rope_check(p, err);
}

static vc_status one_set(struct vc_config *c, struct vc_rope_params *p, const json_t *o, const json_t *root, double theta, struct vc_arena *a,
                         const char *file, const char *where, vc_err *err) {
    vc_str type = VC_STR("default");
    double partial = 1;
    *p = (struct vc_rope_params){ .max_position = c->max_position_embeddings };
    VC_TRY(vc_json_opt_f64(root, "partial_rotary_factor", &partial, err));
    if (o) {
        VC_TRY(vc_json_opt_str(o, "type", &type, err));
        VC_TRY(vc_json_opt_str(o, "rope_type", &type, err));
        VC_TRY(vc_json_opt_f64(o, "rope_theta", &theta, err));
        VC_TRY(vc_json_opt_f64(o, "partial_rotary_factor", &partial, err));
    }
    VC_TRY(kind_by_name(&p->kind, type, file, where, err));
    if (!(theta > 0)) return vc_fail(err, VC_E_FORMAT, "%s: the key rope_theta is missing or not positive", file);
    if (!(partial > 0 && partial <= 1)) return vc_fail(err, VC_E_FORMAT, "%s: partial_rotary_factor is %g, expected more than 0 and at most 1", file, partial);
    p->theta = theta;
    p->rotary_dim = (uint32_t)((double)c->head_dim * partial);
    vc_status s = numbers(p, o ? o : root, root, a, err);
    return s == VC_OK ? s : vc_fail_prefix(err, "%s: %s", file, where);
}

/* Ministral 3: q is scaled by position when llama_4_scaling_beta is there. */
static vc_status q_scale(struct vc_config *c, const json_t *o, const char *file, vc_err *err) {
    if (!o) return VC_OK;
    VC_TRY(vc_json_opt_f32(o, "llama_4_scaling_beta", &c->q_scale_beta, err));
    if (c->q_scale_beta == 0) return VC_OK;
    c->q_scale_original = c->rope[0].original_max_position;
    if (!c->q_scale_original) return vc_fail(err, VC_E_FORMAT, "%s: llama_4_scaling_beta needs original_max_position_embeddings", file);
    return VC_OK;
}

static vc_status read_json(struct vc_config *c, struct vc_arena *a, const json_t *root, const char *file, vc_err *err) {
    const json_t *params = json_object_get(root, "rope_parameters"), *scaling = json_object_get(root, "rope_scaling");
    double theta = 0, local = 10000;
    c->num_ropes = 1;
    VC_TRY(vc_json_opt_f64(root, "rope_theta", &theta, err));
    if (json_is_object(params) && (json_object_get(params, "full_attention") || json_object_get(params, "sliding_attention"))) {
        const json_t *full = json_object_get(params, "full_attention"), *slide = json_object_get(params, "sliding_attention");
        if (!json_is_object(full) || !json_is_object(slide))
            return vc_fail(err, VC_E_FORMAT, "%s: rope_parameters: expected full_attention and sliding_attention", file);
        c->num_ropes = 2;
        VC_TRY(one_set(c, &c->rope[0], full, root, theta, a, file, "rope_parameters.full_attention.rope_type", err));
        return one_set(c, &c->rope[1], slide, root, theta, a, file, "rope_parameters.sliding_attention.rope_type", err);
    }
    const json_t *o = json_is_object(params) ? params : json_is_object(scaling) ? scaling : NULL;
    VC_TRY(one_set(c, &c->rope[0], o, root, theta, a, file, json_is_object(params) ? "rope_parameters.rope_type" : "rope_scaling.rope_type", err));
    if (c->arch->flags & VC_ARCH_LOCAL_ROPE) {
        VC_TRY(vc_json_opt_f64(root, "rope_local_base_freq", &local, err));
        c->num_ropes = 2;
        c->rope[1] = (struct vc_rope_params){ .rotary_dim = c->head_dim, .theta = local, .max_position = c->max_position_embeddings };
    }
    return q_scale(c, o, file, err);
}

vc_status vc_config_rope_json(struct vc_config *c, struct vc_arena *a, const json_t *root, const char *file, vc_err *err) {
    vc_status s = read_json(c, a, root, file, err);
    return s == VC_OK || strstr(err->text, file) ? s : vc_fail_prefix(err, "%s", file);    /* getters know the key only */
}

/* ---- GGUF ---- */

static vc_status opt_f32(const struct vc_gguf *g, const struct vc_config *c, const char *suffix, double *v, vc_err *err) {
    char key[128];
    float f;
    snprintf(key, sizeof key, "%s.%s", c->arch->gguf_name, suffix);
    if (!vc_gguf_find(g, key)) return VC_OK;
    VC_TRY(vc_gguf_f32(g, key, &f, err));
    *v = (double)f;
    return VC_OK;
}

static vc_status opt_u32(const struct vc_gguf *g, const struct vc_config *c, const char *suffix, uint32_t *v, vc_err *err) {
    char key[128];
    snprintf(key, sizeof key, "%s.%s", c->arch->gguf_name, suffix);
    return vc_gguf_find(g, key) ? vc_gguf_u32(g, key, v, err) : VC_OK;
}

vc_status vc_config_rope_gguf(struct vc_config *c, struct vc_arena *a, const struct vc_gguf *g, vc_err *err) {
    (void)a;
    struct vc_rope_params *p = &c->rope[0];
    char key[128];
    *p = (struct vc_rope_params){ .max_position = c->max_position_embeddings, .rotary_dim = c->head_dim, .theta = 10000 };
    c->num_ropes = 1;
    VC_TRY(opt_u32(g, c, "rope.dimension_count", &p->rotary_dim, err));
    if (p->rotary_dim > c->head_dim) return vc_fail(err, VC_E_FORMAT, "%s: rope.dimension_count %u exceeds the head dimension %u", vc_gguf_path(g), p->rotary_dim, c->head_dim);
    VC_TRY(opt_f32(g, c, "rope.freq_base", &p->theta, err));
    VC_TRY(opt_f32(g, c, "rope.scaling.factor", &p->factor, err));
    VC_TRY(opt_u32(g, c, "rope.scaling.original_context_length", &p->original_max_position, err));
    snprintf(key, sizeof key, "%s.rope.scaling.type", c->arch->gguf_name);
    vc_str type = p->factor > 0 && p->factor != 1 ? VC_STR("linear") : VC_STR("default");
    if (vc_gguf_find(g, key)) VC_TRY(vc_gguf_str(g, key, &type, err));
    VC_TRY(kind_by_name(&p->kind, type, vc_gguf_path(g), key, err));
    if (p->kind == VC_ROPE_LONGROPE) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s is longrope, which is read from Hugging Face folders only", vc_gguf_path(g), key);
    vc_status s = vc_rope_check(p, err);
    if (s != VC_OK) return vc_fail_prefix(err, "%s: %s", vc_gguf_path(g), key);
    if (c->arch->flags & VC_ARCH_LOCAL_ROPE) {
        c->num_ropes = 2;
        c->rope[1] = (struct vc_rope_params){ .rotary_dim = c->head_dim, .theta = 10000, .max_position = c->max_position_embeddings };
    }
    return VC_OK;
}
