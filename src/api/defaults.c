/* SPDX-License-Identifier: Apache-2.0
 * defaults.c: default sampling and the ids that end a text: generation_config.json, config.json, the vocabulary. */
#include <string.h>
#include <sys/stat.h>

#include "api/api_int.h"
#include "io/json.h"

static void add_eos(struct vc_model *m, int64_t id) {
    if (id < 0 || id >= (int64_t)m->info.vocab_size) return;
    for (uint32_t i = 0; i < m->num_eos; i++)
        if (m->eos_ids[i] == (int32_t)id) return;
    if (m->num_eos < VC_ARRAY_LEN(m->eos_ids)) m->eos_ids[m->num_eos++] = (int32_t)id;
}

/* eos_token_id is a number or an array of numbers. */
static vc_status eos_of(struct vc_model *m, const json_t *root, const char *name, vc_err *err) {
    const json_t *v = json_object_get(root, "eos_token_id");
    if (!v || json_is_null(v)) return VC_OK;
    if (json_is_integer(v)) {
        add_eos(m, json_integer_value(v));
        return VC_OK;
    }
    if (!json_is_array(v))
        return vc_fail(err, VC_E_FORMAT, "%s: eos_token_id is %s, expected an integer or an array of integers", name,
                       vc_json_type_name(v));
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *x = json_array_get(v, i);
        if (!json_is_integer(x))
            return vc_fail(err, VC_E_FORMAT, "%s: eos_token_id[%zu] is %s, expected an integer", name, i,
                           vc_json_type_name(x));
        add_eos(m, json_integer_value(x));
    }
    return VC_OK;
}

static vc_status sampling_of(struct vc_model *m, const json_t *root, vc_err *err) {
    vc_sampling_params *d = &m->defaults;
    int64_t top_k = d->top_k;
    VC_TRY(vc_json_opt_f32(root, "temperature", &d->temperature, err));
    VC_TRY(vc_json_opt_f32(root, "top_p", &d->top_p, err));
    VC_TRY(vc_json_opt_f32(root, "min_p", &d->min_p, err));
    VC_TRY(vc_json_opt_f32(root, "repetition_penalty", &d->repetition_penalty, err));
    VC_TRY(vc_json_opt_u32(root, "max_new_tokens", &d->max_tokens, err));
    VC_TRY(vc_json_opt_i64(root, "top_k", &top_k, err));
    d->top_k = (int32_t)top_k;
    return VC_OK;
}

/* folder/name if it is there; *root NULL otherwise. */
static vc_status load_beside(const char *path, const char *name, json_t **root, char *full, size_t cap, vc_err *err) {
    struct stat st;
    *root = NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        snprintf(full, cap, "%s/%s", path, name);
    } else {
        const char *slash = strrchr(path, '/');
        snprintf(full, cap, "%.*s%s", (int)(slash ? slash - path + 1 : 0), path, name);
    }
    if (stat(full, &st) != 0) return VC_OK;
    return vc_json_load(root, full, err);
}

static vc_status from_folder(struct vc_model *m, const vc_model_params *p, vc_err *err) {
    char full[4096];
    json_t *root;
    const char *gen = p->generation_config;
    bool none = gen && !strcmp(gen, "vllm"), own = !gen || !*gen || !strcmp(gen, "auto");
    if (!none) {
        VC_TRY(load_beside(own ? p->path : gen, "generation_config.json", &root, full, sizeof full, err));
        if (!own && !root) return vc_fail(err, VC_E_NOT_FOUND, "%s: there is no generation_config.json", gen);
        vc_status s = root ? sampling_of(m, root, err) : VC_OK;
        if (s == VC_OK && root) s = eos_of(m, root, full, err);
        json_decref(root);
        if (s != VC_OK) return vc_fail_prefix(err, "%s", full);
    }
    VC_TRY(load_beside(p->path, "config.json", &root, full, sizeof full, err));
    vc_status s = root ? eos_of(m, root, full, err) : VC_OK;
    json_decref(root);
    return s;
}

/* GGUF: beside eos, the end-of-turn ids, by key or by the names that vocabularies give them. */
static void from_gguf(struct vc_model *m, const struct vc_gguf *g) {
    static const char *const keys[] = { "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                        "tokenizer.ggml.eom_token_id" };
    static const char *const names[] = { "<|im_end|>", "<|eot_id|>",    "<|eom_id|>",      "<end_of_turn>",
                                         "<|end|>",    "<|endoftext|>", "<|end_of_text|>", "</s>" };
    for (size_t i = 0; i < VC_ARRAY_LEN(keys); i++) {
        uint32_t id;
        vc_err ignored = VC_ERR_INIT;
        if (vc_gguf_u32(g, keys[i], &id, &ignored) == VC_OK) add_eos(m, id);
    }
    for (size_t i = 0; m->tokenizer && i < VC_ARRAY_LEN(names); i++) {
        int32_t id = vc_tok_find(m->tokenizer, names[i], strlen(names[i]));
        if (id >= 0 && vc_tok_is_special(m->tokenizer, id)) add_eos(m, id);
    }
}

/* The caller's own values over the model's; an unknown key is an error, as it would change nothing. */
static vc_status from_override(struct vc_model *m, const char *text, vc_err *err) {
    static const char *const keys[] = { "temperature",        "top_p",          "top_k",       "min_p",
                                        "repetition_penalty", "max_new_tokens", "eos_token_id" };
    static const char name[] = "override_generation_config";
    json_t *root;
    VC_TRY(vc_json_parse(&root, text, strlen(text), name, err));
    const char *key;
    json_t *v;
    vc_status s = VC_OK;
    if (!json_is_object(root))
        s = vc_fail(err, VC_E_INVALID, "%s: is %s, expected an object", name, vc_json_type_name(root));
    if (s == VC_OK) json_object_foreach(root, key, v) {
        size_t i = 0;
        while (i < VC_ARRAY_LEN(keys) && strcmp(keys[i], key) != 0) i++;
        if (i == VC_ARRAY_LEN(keys) && s == VC_OK)
            s = vc_fail(err, VC_E_INVALID,
                        "%s: no key '%s'; known are temperature, top_p, top_k, min_p, repetition_penalty, "
                        "max_new_tokens, eos_token_id",
                        name, key);
    }
    if (s == VC_OK && (s = sampling_of(m, root, err)) != VC_OK) vc_fail_prefix(err, "%s", name);
    if (s == VC_OK && json_object_get(root, "eos_token_id")) {
        m->num_eos = 0;
        s = eos_of(m, root, name, err);
    }
    json_decref(root);
    return s;
}

vc_status api_load_defaults(struct vc_model *m, const vc_model_params *p, vc_err *err) {
    vc_sampling_params_init(&m->defaults);
    if (m->tokenizer) add_eos(m, vc_tok_eos(m->tokenizer));
    const struct vc_gguf *g = vc_engine_net(m->engine)->gguf;
    if (g) from_gguf(m, g);
    else VC_TRY(from_folder(m, p, err));
    if (p->override_generation_config && *p->override_generation_config)
        VC_TRY(from_override(m, p->override_generation_config, err));
    m->info.eos_token_ids = m->eos_ids;
    m->info.num_eos_token_ids = m->num_eos;
    return VC_OK;
}
