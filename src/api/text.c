/* SPDX-License-Identifier: Apache-2.0
 * text.c: the model's tokenizer behind the public functions. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"

/* Where the vocabulary comes from: --tokenizer, the GGUF itself, or a tokenizer's file in the folder, if any. */
static vc_status load_tokenizer(struct vc_model *m, const vc_model_params *p, const struct vc_gguf *g, vc_err *err) {
    if (p->tokenizer && *p->tokenizer) return vc_tokenizer_open(&m->tokenizer, p->tokenizer, err);
    if (g) return vc_gguf_find(g, "tokenizer.ggml.model") ? vc_tokenizer_from_gguf(&m->tokenizer, g, err) : VC_OK;
    char folder[4096];
    const char *slash = strrchr(p->path, '/');
    bool single = vc_str_ends(vc_str_of(p->path), ".safetensors");
    if (single) snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - p->path + 1) : 1, slash ? p->path : ".");
    else snprintf(folder, sizeof folder, "%s", p->path);
    struct vc_buf file = { 0 };
    vc_status s = vc_tokenizer_find(folder, &file) ? vc_tokenizer_open(&m->tokenizer, file.p, err) : VC_OK;
    vc_buf_free(&file);
    return s;
}

vc_status api_load_text(struct vc_model *m, const vc_model_params *p, const struct vc_gguf *g, vc_err *err) {
    if (!p->skip_tokenizer_init) VC_TRY(load_tokenizer(m, p, g, err));
    return api_load_chat(m, p, g, err);
}

static vc_status need_tokenizer(const struct vc_model *m, vc_err *err) {
    if (m->tokenizer) return VC_OK;
    return vc_fail(err, VC_E_UNSUPPORTED, "%s: there is no tokenizer; give one with --tokenizer, or use token ids",
                   m->info.name);
}

vc_status vc_tokenize(const vc_model *m, const char *text, size_t len, int flags, int32_t **ids, size_t *n,
                      vc_err *err) {
    *ids = NULL;
    *n = 0;
    VC_TRY(need_tokenizer(m, err));
    struct vc_ids list = { 0 };
    vc_status s = vc_tok_encode(m->tokenizer, text, len, flags, &list, err);
    if (s == VC_OK && !list.v && !(list.v = malloc(sizeof *list.v)))
        s = vc_fail(err, VC_E_NOMEM, "out of memory tokenizing");
    if (s != VC_OK) {
        vc_ids_free(&list);
        return s;
    }
    *ids = list.v;
    *n = list.n;
    free(list.start);
    free(list.end);
    return VC_OK;
}

vc_status vc_tokenize_cut(const vc_model *m, const char *text, size_t len, size_t max, size_t *kept, vc_err *err) {
    VC_TRY(need_tokenizer(m, err));
    vc_status s = VC_OK;
    bool fits = false;
    if (max == 0) len = 0;
    while (s == VC_OK && !fits && len) {
        struct vc_ids list = { .with_offsets = true };
        s = vc_tok_encode(m->tokenizer, text, len, VC_ENC_PARSE_SPECIAL, &list, err);
        fits = list.n <= max;
        if (s == VC_OK && !fits) {
            size_t end = VC_MIN(list.end[max - 1], list.start[max]);
            if (end >= len)                    /* at least one character goes */
                for (end = len - 1; end && ((unsigned char)text[end] & 0xC0) == 0x80;) end--;
            len = end;
        }
        vc_ids_free(&list);
    }
    *kept = len;
    return s;
}

vc_status vc_tokenizer_info(const vc_model *m, char **json, vc_err *err) {
    json_t *o;
    *json = NULL;
    VC_TRY(need_tokenizer(m, err));
    VC_TRY(vc_tok_info(m->tokenizer, &o, err));
    if (m->info.chat_template) json_object_set_new(o, "chat_template", json_string(m->info.chat_template));
    *json = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return *json ? VC_OK : vc_fail(err, VC_E_NOMEM, "out of memory");
}

vc_status vc_detokenize(const vc_model *m, const int32_t *ids, size_t n, int flags, char **text, size_t *len,
                        vc_err *err) {
    *text = NULL;
    VC_TRY(need_tokenizer(m, err));
    struct vc_buf b = { 0 };
    vc_status s = vc_tok_decode(m->tokenizer, ids, n, (flags & VC_DETOK_SKIP_SPECIAL) != 0, &b, err);
    if (s == VC_OK && !(*text = vc_buf_take(&b, len))) s = vc_fail(err, VC_E_NOMEM, "out of memory detokenizing");
    vc_buf_free(&b);
    return s;
}

vc_status vc_token_text(const vc_model *m, int32_t id, const char **text, size_t *len) {
    vc_str s = m->tokenizer && id >= 0 ? vc_tok_text(m->tokenizer, id) : (vc_str){ NULL, 0 };
    *text = s.p;
    *len = s.n;
    return s.n ? VC_OK : VC_E_NOT_FOUND;
}

void vc_free(void *p) { free(p); }
