/* SPDX-License-Identifier: Apache-2.0
 * chat.c: the model's chat templates behind vc_chat_render. A model may have one for requests with tools beside its
 * default. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "io/map.h"
#include "text/template_source.h"

/* ---- loading ---- */
/* A template that does not compile leaves c->error: it is the error of the requests that need it. */
static vc_status set_text(struct api_chat *c, const char *text, size_t n, vc_err *err) {
    c->text = malloc(n + 1);
    if (!c->text) return vc_fail(err, VC_E_NOMEM, "out of memory for the chat template");
    memcpy(c->text, text, n);
    c->text[n] = '\0';
    vc_template_compile(&c->template, c->text, n, &c->error);
    return VC_OK;
}

/* --chat-template: a path, or the text itself. It must work. */
static vc_status load_given(struct vc_model *m, const char *given, vc_err *err) {
    if (strchr(given, '{') || strchr(given, '\n')) {
        VC_TRY(set_text(&m->chat, given, strlen(given), err));
    } else {
        struct vc_map map;
        VC_TRY(vc_map_open(&map, given, err));
        vc_status s = set_text(&m->chat, (const char *)map.p, map.n, err);
        vc_map_close(&map);
        VC_TRY(s);
    }
    if (m->chat.template) return VC_OK;
    *err = m->chat.error;
    return vc_fail_prefix(err, "chat template");
}

/* Where the model's own templates lie: beside the tokenizer if one is given, in the GGUF, or in the folder. */
static vc_status open_source(struct vc_template_source *src, const vc_model_params *p, const struct vc_gguf *g,
                             vc_err *err) {
    if (p->tokenizer && *p->tokenizer) return vc_template_source_open(src, p->tokenizer, err);
    return g ? vc_template_source_from_gguf(src, g, p->path, err) : vc_template_source_open(src, p->path, err);
}

static vc_status load_own(struct vc_model *m, const vc_model_params *p, const struct vc_gguf *g, vc_err *err) {
    struct vc_template_source src;
    const struct vc_template_named *plain = NULL, *tools = NULL;
    vc_status s = open_source(&src, p, g, &m->chat.error);
    if (s == VC_E_NOT_FOUND)
        vc_fail(&m->chat.error, VC_E_UNSUPPORTED,
                "the model has no chat template; give one with --chat-template, or use a plain prompt");
    if (s != VC_OK) return VC_OK;
    if (vc_template_source_pick(&src, NULL, false, &plain, &m->chat.error) == VC_OK)
        s = set_text(&m->chat, plain->text.p, plain->text.n, err);
    if (s == VC_OK && vc_template_source_pick(&src, NULL, true, &tools, &m->chat_tools.error) == VC_OK &&
        tools != plain)
        s = set_text(&m->chat_tools, tools->text.p, tools->text.n, err);
    vc_template_source_close(&src);
    return s;
}

vc_status api_load_chat(struct vc_model *m, const vc_model_params *p, const struct vc_gguf *g, vc_err *err) {
    return p->chat_template && *p->chat_template ? load_given(m, p->chat_template, err) : load_own(m, p, g, err);
}

void api_chat_free(struct api_chat *c) {
    vc_template_del(c->template);
    free(c->text);
}

/* ---- rendering ---- */
static vc_status pick(const struct vc_model *m, bool with_tools, const struct vc_template **t, vc_err *err) {
    const struct api_chat *c = with_tools && m->chat_tools.text ? &m->chat_tools : &m->chat;
    *t = c->template;
    return c->template ? VC_OK : vc_fail(err, c->error.status, "%s", c->error.text);
}

static const char *token_text(const struct vc_model *m, int32_t id, char *buf, size_t cap) {
    if (id < 0) return NULL;
    vc_str s = vc_tok_text(m->tokenizer, id);
    if (s.n >= cap) return NULL;
    memcpy(buf, s.p, s.n);
    buf[s.n] = '\0';
    return buf;
}

void vc_chat_params_init(vc_chat_params *p) {
    *p = (vc_chat_params){ .struct_size = sizeof *p, .add_generation_prompt = 1 };
}

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
    if (strcmp(f, "string") != 0 && strcmp(f, "openai") != 0)
        return vc_fail(err, VC_E_INVALID, "content_format: \"%.32s\", expected auto, string or openai", f);
    style->format = !strcmp(f, "string") ? VC_CONTENT_STRING : VC_CONTENT_PARTS;
    return VC_OK;
}

/* Replaces *v by what chat templates take. */
typedef vc_status normalise_fn(json_t **out, const json_t *in, const struct vc_chat_style *style, vc_err *err);
static vc_status messages_for(json_t **out, const json_t *in, const struct vc_chat_style *style, vc_err *err) {
    return vc_chat_messages(out, in, style, NULL, err);
}
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

static vc_status render(const vc_model *m, const struct vc_template *t, struct vc_template_args *a, char **text,
                        size_t *len, vc_err *err) {
    char bos[256], eos[256];
    if (m->tokenizer) {
        a->bos_token = token_text(m, vc_tok_bos(m->tokenizer), bos, sizeof bos);
        a->eos_token = token_text(m, vc_tok_eos(m->tokenizer), eos, sizeof eos);
    }
    struct vc_buf b = { 0 };
    vc_status s = vc_template_render(t, a, &b, err);
    if (s == VC_OK && !(*text = vc_buf_take(&b, len)))
        s = vc_fail(err, VC_E_NOMEM, "out of memory rendering the chat template");
    vc_buf_free(&b);
    return s;
}

vc_status vc_chat_render(const vc_model *m, const vc_chat_params *p, char **text, size_t *len, vc_err *err) {
    *text = NULL;
    if (p->struct_size != sizeof *p)
        return vc_fail(err, VC_E_INVALID,
                       "vc_chat_render: struct_size is not that of this library; call vc_chat_params_init");
    if (!p->messages_json) return vc_fail(err, VC_E_INVALID, "messages: missing");
    struct vc_template *own = NULL;
    if (p->chat_template) VC_TRY(vc_template_compile(&own, p->chat_template, strlen(p->chat_template), err));
    json_t *messages = NULL, *tools = NULL, *documents = NULL, *kwargs = NULL;
    vc_status s = part(&messages, p->messages_json, "messages", false, err);
    if (s == VC_OK) s = part(&tools, p->tools_json, "tools", false, err);
    if (s == VC_OK) s = part(&documents, p->documents_json, "documents", false, err);
    if (s == VC_OK) s = part(&kwargs, p->kwargs_json, "chat_template_kwargs", true, err);
    const struct vc_template *t = own;
    if (s == VC_OK && !t) s = pick(m, json_array_size(tools) > 0, &t, err);
    struct vc_chat_style style = { 0 };
    if (s == VC_OK) style = vc_chat_style_of(t, m->info.name);
    if (s == VC_OK) s = read_style(p, &style, err);
    if (s == VC_OK) s = normalise(&messages, messages_for, &style, err);
    if (s == VC_OK) s = normalise(&tools, tools_for, &style, err);
    struct vc_template_args a = { .messages = messages,
                                  .tools = tools,
                                  .documents = documents,
                                  .kwargs = kwargs,
                                  .now = (int64_t)time(NULL),
                                  .add_generation_prompt = p->add_generation_prompt != 0,
                                  .continue_final_message = p->continue_final_message != 0 };
    if (s == VC_OK) s = render(m, t, &a, text, len, err);
    json_decref(messages);
    json_decref(tools);
    json_decref(documents);
    json_decref(kwargs);
    vc_template_del(own);
    return s;
}
