/* SPDX-License-Identifier: Apache-2.0
 * text.c: the model's tokenizer and chat template behind the public functions. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "io/map.h"

/* Where the vocabulary comes from: --tokenizer, the GGUF itself, or a tokenizer's file in the folder, if there is one. */
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

/* Text of the template: the one given (a path, or the text itself), else the model's. NULL: none. */
static vc_status template_text(struct vc_model *m, const vc_model_params *p, vc_err *err) {
    const char *own = m->tokenizer ? vc_tok_chat_template(m->tokenizer) : NULL;
    if (!p->chat_template || !*p->chat_template) {
        m->chat_text = own ? strdup(own) : NULL;
        return own && !m->chat_text ? vc_fail(err, VC_E_NOMEM, "out of memory for the chat template") : VC_OK;
    }
    if (strchr(p->chat_template, '{') || strchr(p->chat_template, '\n')) {
        m->chat_text = strdup(p->chat_template);
        return m->chat_text ? VC_OK : vc_fail(err, VC_E_NOMEM, "out of memory for the chat template");
    }
    struct vc_map map;
    VC_TRY(vc_map_open(&map, p->chat_template, err));
    m->chat_text = malloc(map.n + 1);
    if (m->chat_text) {
        memcpy(m->chat_text, map.p, map.n);
        m->chat_text[map.n] = '\0';
    }
    vc_map_close(&map);
    return m->chat_text ? VC_OK : vc_fail(err, VC_E_NOMEM, "out of memory for the chat template");
}

vc_status api_load_text(struct vc_model *m, const vc_model_params *p, const struct vc_gguf *g, vc_err *err) {
    VC_TRY(load_tokenizer(m, p, g, err));
    VC_TRY(template_text(m, p, err));
    if (!m->chat_text) {
        vc_fail(&m->chat_error, VC_E_UNSUPPORTED, "the model has no chat template; give one with --chat-template, or use a plain prompt");
        return VC_OK;
    }
    bool given = p->chat_template && *p->chat_template;
    vc_status s = vc_template_compile(&m->chat, m->chat_text, strlen(m->chat_text), &m->chat_error);
    if (s != VC_OK && given) {                     /* the user's own template must work; the model's may be unused */
        *err = m->chat_error;
        return vc_fail_prefix(err, "chat template");
    }
    return VC_OK;
}

static vc_status need_tokenizer(const struct vc_model *m, vc_err *err) {
    return m->tokenizer ? VC_OK : vc_fail(err, VC_E_UNSUPPORTED, "%s: there is no tokenizer; give one with --tokenizer, or use token ids", m->info.name);
}

vc_status vc_tokenize(const vc_model *m, const char *text, size_t len, int flags, int32_t **ids, size_t *n, vc_err *err) {
    *ids = NULL;
    *n = 0;
    VC_TRY(need_tokenizer(m, err));
    struct vc_ids list = { 0 };
    vc_status s = vc_tok_encode(m->tokenizer, text, len, flags, &list, err);
    if (s == VC_OK && !list.v && !(list.v = malloc(sizeof *list.v))) s = vc_fail(err, VC_E_NOMEM, "out of memory tokenizing");
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

vc_status vc_detokenize(const vc_model *m, const int32_t *ids, size_t n, int flags, char **text, size_t *len, vc_err *err) {
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

static const char *token_text(const struct vc_model *m, int32_t id, char *buf, size_t cap) {
    if (id < 0) return NULL;
    vc_str s = vc_tok_text(m->tokenizer, id);
    if (s.n >= cap) return NULL;
    memcpy(buf, s.p, s.n);
    buf[s.n] = '\0';
    return buf;
}

void vc_chat_params_init(vc_chat_params *p) { *p = (vc_chat_params){ .struct_size = sizeof *p, .add_generation_prompt = 1 }; }

/* One of the JSON texts of a vc_chat_params; *v NULL where it is not given. */
static vc_status part(json_t **v, const char *text, const char *name, bool object, vc_err *err) {
    *v = NULL;
    if (!text) return VC_OK;
    VC_TRY(vc_json_parse(v, text, strlen(text), name, err));
    if (object ? json_is_object(*v) : json_is_array(*v)) return VC_OK;
    json_decref(*v);
    *v = NULL;
    return vc_fail(err, VC_E_INVALID, "%s: expected a JSON %s", name, object ? "object" : "array");
}

static vc_status read_style(const vc_chat_params *p, struct vc_chat_style *style, vc_err *err) {
    const char *f = p->content_format;
    if (!f || !strcmp(f, "auto")) return VC_OK;
    if (strcmp(f, "string") != 0 && strcmp(f, "openai") != 0) return vc_fail(err, VC_E_INVALID, "content_format: \"%.32s\", expected auto, string or openai", f);
    style->format = !strcmp(f, "string") ? VC_CONTENT_STRING : VC_CONTENT_PARTS;
    return VC_OK;
}

/* Replaces *v by what chat templates take. */
typedef vc_status normalise_fn(json_t **out, const json_t *in, const struct vc_chat_style *style, vc_err *err);
static vc_status messages_for(json_t **out, const json_t *in, const struct vc_chat_style *style, vc_err *err) { return vc_chat_messages(out, in, style, NULL, err); }
static vc_status tools_for(json_t **out, const json_t *in, const struct vc_chat_style *style, vc_err *err) {
    (void)style;
    return vc_chat_tools(out, in, NULL, err);
}
static vc_status normalise(json_t **v, normalise_fn *fn, const struct vc_chat_style *style, vc_err *err) {
    json_t *given = *v;
    if (!given) return VC_OK;
    *v = NULL;
    vc_status s = fn(v, given, style, err);
    json_decref(given);
    return s;
}

static vc_status render(const vc_model *m, const struct vc_template *t, struct vc_template_args *a, char **text, size_t *len, vc_err *err) {
    char bos[256], eos[256];
    if (m->tokenizer) {
        a->bos_token = token_text(m, vc_tok_bos(m->tokenizer), bos, sizeof bos);
        a->eos_token = token_text(m, vc_tok_eos(m->tokenizer), eos, sizeof eos);
    }
    struct vc_buf b = { 0 };
    vc_status s = vc_template_render(t, a, &b, err);
    if (s == VC_OK && !(*text = vc_buf_take(&b, len))) s = vc_fail(err, VC_E_NOMEM, "out of memory rendering the chat template");
    vc_buf_free(&b);
    return s;
}

vc_status vc_chat_render(const vc_model *m, const vc_chat_params *p, char **text, size_t *len, vc_err *err) {
    *text = NULL;
    if (p->struct_size != sizeof *p) return vc_fail(err, VC_E_INVALID, "vc_chat_render: struct_size is not that of this library; call vc_chat_params_init");
    if (!p->messages_json) return vc_fail(err, VC_E_INVALID, "messages: missing");
    struct vc_template *own = NULL;
    if (p->chat_template) VC_TRY(vc_template_compile(&own, p->chat_template, strlen(p->chat_template), err));
    else if (!m->chat) return vc_fail(err, m->chat_error.status, "%s", m->chat_error.text);
    json_t *messages = NULL, *tools = NULL, *documents = NULL, *kwargs = NULL;
    vc_status s = part(&messages, p->messages_json, "messages", false, err);
    if (s == VC_OK) s = part(&tools, p->tools_json, "tools", false, err);
    if (s == VC_OK) s = part(&documents, p->documents_json, "documents", false, err);
    if (s == VC_OK) s = part(&kwargs, p->kwargs_json, "chat_template_kwargs", true, err);
    struct vc_chat_style style = vc_chat_style_of(own ? own : m->chat, m->info.name);
    if (s == VC_OK) s = read_style(p, &style, err);
    if (s == VC_OK) s = normalise(&messages, messages_for, &style, err);
    if (s == VC_OK) s = normalise(&tools, tools_for, &style, err);
    struct vc_template_args a = { .messages = messages, .tools = tools, .documents = documents, .kwargs = kwargs, .now = (int64_t)time(NULL),
                                  .add_generation_prompt = p->add_generation_prompt != 0, .continue_final_message = p->continue_final_message != 0 };
    if (s == VC_OK) s = render(m, own ? own : m->chat, &a, text, len, err);
    json_decref(messages);
    json_decref(tools);
    json_decref(documents);
    json_decref(kwargs);
    vc_template_del(own);
    return s;
}

void vc_free(void *p) { free(p); }
