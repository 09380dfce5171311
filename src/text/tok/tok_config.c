/* SPDX-License-Identifier: Apache-2.0
 * tok_config.c: the files beside a tokenizer: chat_template.jinja, tokenizer_config.json, special_tokens_map.json. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/json.h"
#include "io/map.h"
#include "text/tok/tok_int.h"

static char *beside(const char *path, const char *file) {
    const char *slash = strrchr(path, '/');
    struct vc_buf b = { 0 };
    if (slash) vc_buf_add(&b, path, (size_t)(slash + 1 - path));
    vc_buf_adds(&b, file);
    return vc_buf_take(&b, NULL);
}

/* "text" or {"content": "text"} */
static int32_t named_token(const struct vc_tokenizer *t, const json_t *j, const char *key) {
    const json_t *v = json_object_get(j, key);
    if (json_is_object(v)) v = json_object_get(v, "content");
    return json_is_string(v) ? vc_text_map_find(&t->by_text, json_string_value(v), json_string_length(v)) : -1;
}

static const json_t *config_template(const json_t *j) {
    const json_t *v = json_object_get(j, "chat_template");
    if (!json_is_array(v)) return v;
    for (size_t i = 0; i < json_array_size(v); i++) {    /* [{"name": "default", "template": …}, …] */
        const json_t *x = json_array_get(v, i);
        const char *name = json_string_value(json_object_get(x, "name"));
        if (name && !strcmp(name, "default")) return json_object_get(x, "template");
    }
    return NULL;
}

static vc_status read_config(struct vc_tokenizer *t, const char *path, const char *file, bool *add_bos, bool *add_eos, vc_err *err) {
    char *p = beside(path, file);
    json_t *j = NULL;
    vc_status r = !p ? vc_tok_nomem(t, err) : access(p, F_OK) ? VC_OK : vc_json_load(&j, p, err);
    free(p);
    if (r || !j) return r;
    if (json_is_boolean(json_object_get(j, "add_bos_token"))) *add_bos = json_is_true(json_object_get(j, "add_bos_token"));
    if (json_is_boolean(json_object_get(j, "add_eos_token"))) *add_eos = json_is_true(json_object_get(j, "add_eos_token"));
    if (t->bos < 0) t->bos = named_token(t, j, "bos_token");
    if (t->eos < 0) t->eos = named_token(t, j, "eos_token");
    const json_t *c = config_template(j);
    if (json_is_string(c) && !t->chat_template) t->chat_template = vc_arena_strndup(&t->arena, json_string_value(c), json_string_length(c));
    json_decref(j);
    return VC_OK;
}

static vc_status read_template(struct vc_tokenizer *t, const char *path, vc_err *err) {
    char *p = beside(path, "chat_template.jinja");
    struct vc_map m = { 0 };
    vc_status r = !p ? vc_tok_nomem(t, err) : access(p, F_OK) ? VC_OK : vc_map_open(&m, p, err);
    if (m.p) {
        t->chat_template = vc_arena_strndup(&t->arena, (const char *)m.p, m.n);
        vc_map_close(&m);
    }
    free(p);
    return r;
}

vc_status vc_tok_load_beside(struct vc_tokenizer *t, const char *path, bool *add_bos, bool *add_eos, vc_err *err) {
    char *config = beside(path, "tokenizer_config.json");
    if (config) t->config = vc_arena_strndup(&t->arena, config, strlen(config));
    free(config);
    if (!t->config) return vc_tok_nomem(t, err);
    VC_TRY(read_template(t, path, err));
    VC_TRY(read_config(t, path, "tokenizer_config.json", add_bos, add_eos, err));
    VC_TRY(read_config(t, path, "special_tokens_map.json", add_bos, add_eos, err));
    return read_config(t, path, "chat_template.json", add_bos, add_eos, err);
}

vc_status vc_tok_set_ends(struct vc_tokenizer *t, bool bos, bool eos, vc_err *err) {
    int32_t *v = VC_NEW_ARRAY(&t->arena, int32_t, 2);
    if (!v) return vc_tok_nomem(t, err);
    v[0] = t->bos;
    v[1] = t->eos;
    t->before = v;
    t->after = v + 1;
    t->num_before = bos && t->bos >= 0;
    t->num_after = eos && t->eos >= 0;
    return VC_OK;
}
