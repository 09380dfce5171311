/* SPDX-License-Identifier: Apache-2.0
 * tok_info.c: what a tokenizer is, in the form of tokenizer_config.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/json.h"
#include "text/tok/tok_int.h"

/* An AddedToken is its content. A file's depth is limited when it is read. */
static json_t *plain(json_t *v) {
    const json_t *content = json_is_object(v) ? json_object_get(v, "content") : NULL;
    const char *key;
    json_t *e, *out = NULL;
    size_t i;
    if (content) return json_deep_copy(content);
    if (json_is_object(v)) {
        out = json_object();
        json_object_foreach(v, key, e) json_object_set_new(out, key, plain(e));
    } else if (json_is_array(v)) {
        out = json_array();
        json_array_foreach(v, i, e) json_array_append_new(out, plain(e));
    }
    return out ? out : json_incref(v);
}

static void set_default(json_t *o, const char *key, json_t *v) {
    if (json_object_get(o, key)) json_decref(v);
    else if (v) json_object_set_new(o, key, v);
}

static json_t *token_text(const struct vc_tokenizer *t, int32_t id) {
    vc_str s = id >= 0 ? vc_tok_text(t, id) : (vc_str){ NULL, 0 };
    return s.n ? json_stringn(s.p, s.n) : NULL;
}

static json_t *special_tokens(const struct vc_tokenizer *t) {
    json_t *o = json_object();
    char key[16];
    for (uint32_t id = 0; o && id < t->size; id++) {
        if (!vc_tok_is_special(t, (int32_t)id) || !vc_tok_text(t, (int32_t)id).n) continue;
        snprintf(key, sizeof key, "%u", id);
        json_object_set_new(o, key, token_text(t, (int32_t)id));
    }
    return o;
}

vc_status vc_tok_info(const struct vc_tokenizer *t, json_t **out, vc_err *err) {
    json_t *file = NULL;
    *out = NULL;
    if (t->config && access(t->config, R_OK) == 0) VC_TRY(vc_json_load(&file, t->config, err));
    json_t *o = json_is_object(file) ? plain(file) : json_object();
    json_decref(file);
    if (!o) return vc_tok_nomem(t, err);
    json_object_del(o, "vocab_file");          /* places of files say nothing elsewhere */
    json_object_del(o, "merges_file");
    set_default(o, "tokenizer_class", json_string("PreTrainedTokenizerFast"));
    set_default(o, "add_bos_token", json_boolean(t->num_before && t->before[0] == t->bos));
    set_default(o, "bos_token", token_text(t, t->bos));
    set_default(o, "eos_token", token_text(t, t->eos));
    set_default(o, "added_tokens_decoder", special_tokens(t));
    *out = o;
    return VC_OK;
}
