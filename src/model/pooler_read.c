/* SPDX-License-Identifier: Apache-2.0
 * pooler_read.c: what files say about embeddings: config.json, modules.json and the folder of its Pooling module as
 * sentence-transformers writes them, and GGUF's pooling_type. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "model/pooler.h"

/* A decoder that was trained to look at later tokens, too, would give other vectors with causal attention. */
static vc_status refuse_bidirectional(const json_t *root, const char *name, vc_err *err) {
    if (json_is_false(json_object_get(root, "is_causal")))
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: is_causal is false: attention to later tokens is not built", name);
    if (json_is_true(json_object_get(root, "use_bidirectional_attention")))
        return vc_fail(err, VC_E_UNSUPPORTED,
                       "%s: use_bidirectional_attention is true: attention to later tokens is not built", name);
    return VC_OK;
}

/* is_matryoshka, matryoshka_dimensions: [64, 128, …]. */
static vc_status read_matryoshka(struct vc_pooler_hints *h, struct vc_arena *a, const json_t *root, const char *name,
                                 vc_err *err) {
    const json_t *list = json_object_get(root, "matryoshka_dimensions");
    size_t n = json_array_size(list);
    h->matryoshka = n || json_is_true(json_object_get(root, "is_matryoshka"));
    if (!n) return VC_OK;
    if (n > 4096 || !(h->dims = VC_NEW_ARRAY(a, uint32_t, n)))
        return vc_fail(err, VC_E_NOMEM, "%s: matryoshka_dimensions: out of memory", name);
    for (size_t i = 0; i < n; i++) {
        json_int_t d = json_integer_value(json_array_get(list, i));
        if (d < 1 || d > 1 << 28)
            return vc_fail(err, VC_E_FORMAT, "%s: matryoshka_dimensions[%zu]: expected a whole number from 1", name, i);
        h->dims[i] = (uint32_t)d;
    }
    h->num_dims = (uint32_t)n;
    return VC_OK;
}

/* {"pooling_mode_mean_tokens": true, …}: the modes that are on. */
static vc_status read_modes(struct vc_pooler_hints *h, const char *file, vc_err *err) {
    static const struct { const char *key; enum vc_pool_type type; } known[] = {
        { "pooling_mode_lasttoken", VC_POOL_LAST },
        { "pooling_mode_cls_token", VC_POOL_CLS },
        { "pooling_mode_mean_tokens", VC_POOL_MEAN },
    };
    json_t *root = NULL, *v;
    const char *key;
    VC_TRY(vc_json_load(&root, file, err));
    vc_status s = VC_OK;
    json_object_foreach(root, key, v) {
        if (s != VC_OK || strncmp(key, "pooling_mode_", 13) != 0 || !json_is_true(v)) continue;
        bool found = false;
        for (size_t i = 0; i < VC_ARRAY_LEN(known); i++) {
            if (strcmp(key, known[i].key) != 0) continue;
            found = true;
            if (h->has_type)
                s = vc_fail(err, VC_E_UNSUPPORTED, "%s: more than one pooling mode is on, which is not built", file);
            h->has_type = true;
            h->type = known[i].type;
        }
        char shown[64];
        if (!found)
            s = vc_fail(err, VC_E_UNSUPPORTED, "%s: %s is not built; known: lasttoken, cls_token, mean_tokens", file,
                        vc_printable(shown, sizeof shown, key, strlen(key)));
    }
    json_decref(root);
    return s;
}

static vc_status read_pooling(struct vc_pooler_hints *h, const char *path, const json_t *module, vc_err *err) {
    const char *sub = json_string_value(json_object_get(module, "path"));
    struct vc_buf file = { 0 };
    struct stat st;
    h->sentence = true;
    if (!sub || strstr(sub, "..") || sub[0] == '/')
        return vc_fail(err, VC_E_FORMAT, "%s/modules.json: path of the Pooling module: expected a folder below", path);
    vc_buf_printf(&file, "%s/%s/config.json", path, sub);
    vc_status s = file.failed ? vc_fail(err, VC_E_NOMEM, "out of memory") : VC_OK;
    if (s == VC_OK && stat(file.p, &st) == 0) s = read_modes(h, file.p, err);
    vc_buf_free(&file);
    return s;
}

static vc_status read_modules(struct vc_pooler_hints *h, const char *path, const json_t *list, vc_err *err) {
    if (!json_is_array(list)) return vc_fail(err, VC_E_FORMAT, "%s/modules.json: expected an array", path);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        const char *type = json_string_value(json_object_get(m, "type")), *dot = type ? strrchr(type, '.') : NULL,
                   *word = dot ? dot + 1 : "";
        char shown[64];
        if (!strcmp(word, "Pooling")) VC_TRY(read_pooling(h, path, m, err));
        else if (!strcmp(word, "Normalize")) h->normalize = true;
        else if (strcmp(word, "Transformer") != 0)
            return vc_fail(err, VC_E_UNSUPPORTED,
                           "%s/modules.json: the module %s is not built; known: Transformer, Pooling, Normalize", path,
                           vc_printable(shown, sizeof shown, type ? type : "", type ? strlen(type) : 0));
    }
    return VC_OK;
}

vc_status vc_pooler_read_folder(struct vc_pooler_hints *h, struct vc_arena *a, const char *path, const json_t *root,
                                const char *name, vc_err *err) {
    struct vc_buf file = { 0 };
    struct stat st;
    json_t *list = NULL;
    h->class_name = vc_arena_strdup(a, json_string_value(json_array_get(json_object_get(root, "architectures"), 0)));
    if (!h->class_name) return vc_fail(err, VC_E_NOMEM, "out of memory reading %s", name);
    VC_TRY(refuse_bidirectional(root, name, err));
    VC_TRY(read_matryoshka(h, a, root, name, err));
    vc_buf_printf(&file, "%s/modules.json", path);
    vc_status s = file.failed ? vc_fail(err, VC_E_NOMEM, "out of memory") : VC_OK;
    if (s == VC_OK && stat(file.p, &st) == 0) s = vc_json_load(&list, file.p, err);
    if (s == VC_OK && list) s = read_modules(h, path, list, err);
    json_decref(list);
    vc_buf_free(&file);
    return s;
}

vc_status vc_pooler_read_gguf(struct vc_pooler_hints *h, const struct vc_gguf *g, const struct vc_config *c,
                              vc_err *err) {
    char key[128];
    uint32_t type;
    /* By llama.cpp's numbers; 0: none, 4: rank. */
    static const enum vc_pool_type of[] = { VC_POOL_LAST, VC_POOL_MEAN, VC_POOL_CLS, VC_POOL_LAST };
    bool causal = true;
    snprintf(key, sizeof key, "%s.attention.causal", c->arch->gguf_name);
    if (vc_gguf_find(g, key)) VC_TRY(vc_gguf_bool(g, key, &causal, err));
    if (!causal)
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s is false: attention to later tokens is not built",
                       vc_gguf_path(g), key);
    snprintf(key, sizeof key, "%s.pooling_type", c->arch->gguf_name);
    if (!vc_gguf_find(g, key)) return VC_OK;
    VC_TRY(vc_gguf_u32(g, key, &type, err));
    if (type >= VC_ARRAY_LEN(of))
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s is %u; known: 0 none, 1 mean, 2 cls, 3 last", vc_gguf_path(g),
                       key, type);
    h->gguf = h->has_type = type != 0;
    h->type = of[type];
    return VC_OK;
}
