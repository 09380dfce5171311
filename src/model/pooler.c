/* SPDX-License-Identifier: Apache-2.0
 * pooler.c: the choice between text and embeddings, in vLLM's order: what the user asks for, then the files, then the
 * class name. */
#include "model/pooler.h"

#include <string.h>

#include "base/compat.h"

static const char *const type_names[VC_NUM_POOL_TYPES] = { "LAST", "CLS", "MEAN" };
const char *vc_pool_type_name(enum vc_pool_type t) { return type_names[t]; }

static bool is_auto(const char *s) { return !s || !*s || !strcmp(s, "auto"); }

static vc_status type_by_name(const char *key, const json_t *v, enum vc_pool_type *t, vc_err *err) {
    const char *s = json_string_value(v);
    for (int i = 0; s && i < VC_NUM_POOL_TYPES; i++)
        if (!strcmp(s, type_names[i])) {
            *t = (enum vc_pool_type)i;
            return VC_OK;
        }
    if (s && (!strcmp(s, "ALL") || !strcmp(s, "STEP")))
        return vc_fail(err, VC_E_UNSUPPORTED,
                       "pooler_config: %s '%s' gives a vector per token, which is not built; known: LAST, CLS, MEAN",
                       key, s);
    return vc_fail(err, VC_E_INVALID, "pooler_config: %s: expected 'LAST', 'CLS' or 'MEAN'", key);
}

static vc_status count_of(const char *key, const json_t *v, uint32_t *out, vc_err *err) {
    if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > INT32_MAX)
        return vc_fail(err, VC_E_INVALID, "pooler_config: %s: expected a whole number from 1", key);
    *out = (uint32_t)json_integer_value(v);
    return VC_OK;
}

static vc_status read_key(struct vc_pooler *p, const char *key, const json_t *v, vc_err *err) {
    if (!strcmp(key, "pooling_type") || !strcmp(key, "seq_pooling_type")) return type_by_name(key, v, &p->type, err);
    if (!strcmp(key, "use_activation")) {
        if (!json_is_boolean(v))
            return vc_fail(err, VC_E_INVALID, "pooler_config: use_activation is %s, expected true or false",
                           vc_json_type_name(v));
        p->use_activation = json_is_true(v);
        return VC_OK;
    }
    if (!strcmp(key, "normalize"))
        return vc_fail(err, VC_E_INVALID, "pooler_config: normalize was removed; use_activation has its meaning");
    if (!strcmp(key, "dimensions")) return count_of(key, v, &p->dimensions, err);
    if (!strcmp(key, "max_embed_len")) return count_of(key, v, &p->max_embed_len, err);
    if (!strcmp(key, "enable_chunked_processing") && json_is_false(v)) return VC_OK;
    if (!strcmp(key, "task") && json_is_string(v) && !strcmp(json_string_value(v), "embed")) return VC_OK;
    char shown[64];
    return vc_fail(err, VC_E_UNSUPPORTED,
                   "pooler_config: %s is not supported; known: pooling_type, seq_pooling_type, use_activation, "
                   "dimensions, max_embed_len, task 'embed'",
                   vc_printable(shown, sizeof shown, key, strlen(key)));
}

static vc_status read_config(struct vc_pooler *p, const char *text, vc_err *err) {
    json_t *root = NULL, *v;
    const char *key;
    VC_TRY(vc_json_parse(&root, text, strlen(text), "pooler_config", err));
    vc_status s = json_is_object(root) ? VC_OK : vc_fail(err, VC_E_INVALID, "pooler_config: expected a JSON object");
    if (s == VC_OK)
        json_object_foreach(root, key, v)
            if (s == VC_OK && !json_is_null(v)) s = read_key(p, key, v, err);
    if (s == VC_OK && json_object_get(root, "pooling_type") && json_object_get(root, "seq_pooling_type"))
        s = vc_fail(err, VC_E_INVALID, "pooler_config: Cannot set both `pooling_type` and `seq_pooling_type`");
    json_decref(root);
    return s;
}

static bool ends_with(const char *s, const char *suffix) { return s && vc_str_ends(vc_str_of(s), suffix); }

/* vLLM's rule of class names: …ForCausalLM generates, …Model, …ForTextEncoding and …EmbeddingModel pool. */
static bool class_pools(const char *name) { return ends_with(name, "Model") || ends_with(name, "ForTextEncoding"); }

static vc_status choose_runner(bool *pools, const struct vc_pooler_hints *h, const struct vc_pooler_wish *w,
                               vc_err *err) {
    bool embed = w->convert && !strcmp(w->convert, "embed"), none = w->convert && !strcmp(w->convert, "none");
    if (w->convert && !strcmp(w->convert, "classify"))
        return vc_fail(err, VC_E_UNSUPPORTED,
                       "convert: 'classify': classifiers are not built; known: auto, none, embed");
    if (!is_auto(w->convert) && !embed && !none)
        return vc_fail(err, VC_E_INVALID, "convert: '%s', expected auto, none or embed", w->convert);
    if (is_auto(w->runner)) {
        *pools = embed || (!none && h->sentence) || h->gguf || class_pools(h->class_name);
    } else if (!strcmp(w->runner, "pooling")) {
        *pools = true;
    } else if (!strcmp(w->runner, "generate")) {
        *pools = false;
    } else {
        bool draft = !strcmp(w->runner, "draft");
        return vc_fail(err, draft ? VC_E_UNSUPPORTED : VC_E_INVALID, "runner: '%s', expected auto, generate or pooling",
                       w->runner);
    }
    if (!*pools && embed)
        return vc_fail(err, VC_E_INVALID, "convert: 'embed' makes embeddings, but runner is 'generate'");
    if (*pools && none && h->class_name && !class_pools(h->class_name))
        return vc_fail(err, VC_E_INVALID,
                       "runner: 'pooling': %s generates text, and convert is 'none'; use convert 'embed'",
                       h->class_name);
    return VC_OK;
}

vc_status vc_pooler_choose(struct vc_pooler *p, const struct vc_pooler_hints *h, const struct vc_pooler_wish *w,
                           const struct vc_config *c, vc_err *err) {
    *p = (struct vc_pooler){ .type = h->has_type ? h->type : VC_POOL_LAST,
                             .use_activation = !h->sentence || h->normalize,
                             .matryoshka = h->matryoshka,
                             .dims = h->dims,
                             .num_dims = h->num_dims };
    VC_TRY(choose_runner(&p->on, h, w, err));
    if (!w->pooler_config || !*w->pooler_config) return VC_OK;
    if (!p->on)
        return vc_fail(err, VC_E_INVALID, "pooler_config: the model generates text; embeddings need runner 'pooling'");
    VC_TRY(read_config(p, w->pooler_config, err));
    uint32_t ignored;
    return vc_pooler_dimensions(p, c, 0, &ignored, err);
}

static void list_dims(const struct vc_pooler *p, struct vc_buf *b) {
    vc_buf_adds(b, "[");
    for (uint32_t i = 0; i < p->num_dims; i++) vc_buf_printf(b, "%s%u", i ? ", " : "", p->dims[i]);
    vc_buf_adds(b, "]");
}

vc_status vc_pooler_dimensions(const struct vc_pooler *p, const struct vc_config *c, uint32_t wish, uint32_t *out,
                               vc_err *err) {
    uint32_t d = wish ? wish : p->dimensions;
    *out = d ? d : c->hidden_size;
    if (!d) return VC_OK;
    if (!p->matryoshka)
        return vc_fail(err, VC_E_INVALID,
                       "The model does not support matryoshka representation, changing output dimensions will lead to "
                       "poor results.");
    bool known = p->num_dims == 0;
    for (uint32_t i = 0; i < p->num_dims; i++) known |= p->dims[i] == d;
    if (known && d <= c->hidden_size) return VC_OK;
    if (known)
        return vc_fail(err, VC_E_INVALID, "dimensions: %u, but the vectors of the model have %u", d, c->hidden_size);
    struct vc_buf b = { 0 };
    list_dims(p, &b);
    vc_fail(err, VC_E_INVALID,
            "The model only supports %s matryoshka dimensions, use other output dimensions will lead to poor results.",
            b.p ? b.p : "");
    vc_buf_free(&b);
    return VC_E_INVALID;
}
