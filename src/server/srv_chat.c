/* SPDX-License-Identifier: Apache-2.0
 * srv_chat.c: POST /v1/chat/completions: messages through the template, tools and reasoning by the parsers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/srv_chat.h"
#include "text/chat_request.h"

/* ---- tools ---- */

static bool bad_tool(struct srv_gen *g, size_t i, const char *what) {
    char loc[96];
    snprintf(loc, sizeof loc, "body.tools.%zu.function%s", i, what);
    return srv_refuse_value(g->call, loc, "missing", "Field required", "");
}

static const char *name_of(const json_t *function) { return json_string_value(json_object_get(function, "name")); }

static bool tool_named(const json_t *tools, const char *name) {
    for (size_t i = 0; i < json_array_size(tools); i++)
        if (!strcmp(name_of(json_object_get(json_array_get(tools, i), "function")), name)) return true;
    return false;
}

static bool check_tools(struct srv_gen *g, const json_t *tools) {
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *fn = json_object_get(json_array_get(tools, i), "function"), *name = json_object_get(fn, "name");
        if (!json_is_object(fn)) return bad_tool(g, i, "");
        if (!json_is_string(name) || strlen(json_string_value(name)) != json_string_length(name))
            return bad_tool(g, i, ".name");
    }
    return true;
}

static bool named_choice(struct srv_gen *g, const json_t *tools, const json_t *choice) {
    const json_t *fn = json_object_get(choice, "function");
    g->tool_name = name_of(fn ? fn : choice);
    g->tools = SRV_TOOLS_NAMED;
    if (g->tool_name && tool_named(tools, g->tool_name)) return true;
    return srv_refuse_field(g->call, "tool_choice",
                            "The tool specified in `tool_choice` does not match any of the specified `tools`");
}

static bool read_tools(struct srv_gen *g) {
    const struct srv_value *t = &g->f.v[SRV_F_TOOLS], *choice = &g->f.v[SRV_F_TOOL_CHOICE];
    const struct vc_server_params *p = &g->call->srv->p;
    const char *word = choice->given ? json_string_value(choice->json) : NULL;
    bool has = t->given && json_array_size(t->json) > 0;
    if (choice->given && !(word && !strcmp(word, "none")) && !has)
        return srv_refuse_field(g->call, "tool_choice", "When using `tool_choice`, `tools` must be set.");
    if (!has) return true;
    if (!check_tools(g, t->json)) return false;
    if (json_is_object(choice->json)) return named_choice(g, t->json, choice->json);
    if (!choice->given || (word && !strcmp(word, "auto"))) {
        if (!p->enable_auto_tool_choice || !g->call->model->p->tool_parser)
            return srv_refuse(g->call, NULL,
                              "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be "
                              "set");
        g->tools = SRV_TOOLS_AUTO;
    } else if (word && !strcmp(word, "required")) {
        g->tools = SRV_TOOLS_REQUIRED;
    } else if (!word || strcmp(word, "none") != 0) {
        return srv_refuse_field(g->call, "tool_choice",
                                "tool_choice must be 'none', 'auto', 'required' or a function.");
    }
    g->tools_text = json_dumps(t->json, JSON_COMPACT);
    return g->tools_text ? true : srv_refuse(g->call, NULL, "out of memory");
}

static void set_parsers(struct srv_gen *g) {
    const struct vc_server_model *p = g->call->model->p;
    g->rp.reasoning_parser = p->reasoning_parser;
    if (g->tools == SRV_TOOLS_AUTO) {
        g->rp.tool_parser = p->tool_parser;
        g->rp.tools_json = g->tools_text;
    }
}

/* ---- the prompt ---- */

static json_t *last_message(const struct srv_gen *g) {
    const json_t *m = g->f.v[SRV_F_MESSAGES].json;
    return json_array_get(m, json_array_size(m) - 1);
}

/* add_generation_prompt false: the answer has the last message's role. echo: the last message, if it has the answer's
 * role. */
static void set_role(struct srv_gen *g, bool generation_prompt) {
    const json_t *last = last_message(g);
    const char *role = json_string_value(json_object_get(last, "role"));
    if (!generation_prompt && role) g->role = role;
    if (g->echo && role && !strcmp(role, g->role))
        g->echo_message = json_string_value(json_object_get(last, "content"));
}

static const json_t *kwargs_of(const struct srv_value *f) {
    return f[SRV_F_CHAT_TEMPLATE_KWARGS].given ? f[SRV_F_CHAT_TEMPLATE_KWARGS].json : NULL;
}

static bool allowed_template(struct srv_call *c, const struct srv_value *f) {
    bool brings_one = f[SRV_F_CHAT_TEMPLATE].given || json_object_get(kwargs_of(f), "chat_template");
    if (!brings_one || c->srv->p.trust_request_template) return true;
    return srv_refuse(c, "chat_template",
                      "Chat template is passed with request, but --trust-request-chat-template is not set. Refused "
                      "chat template with untrusted source.");
}

static char *dump(const json_t *v) { return v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL; }

static const json_t *list_or_null(const struct srv_value *v) {
    return v->given && json_array_size(v->json) ? v->json : NULL;
}

bool srv_chat_text(struct srv_call *c, const struct srv_value *f, bool with_tools, char **text, size_t *n) {
    vc_chat_params p;
    vc_err err = VC_ERR_INIT;
    struct vc_chat_fault fault;
    json_t *kwargs = NULL;
    bool go_on = f[SRV_F_CONTINUE_FINAL_MESSAGE].b;
    vc_chat_params_init(&p);
    if (!allowed_template(c, f)) return false;
    vc_status s = vc_chat_kwargs(&kwargs, c->srv->template_kwargs, kwargs_of(f), f[SRV_F_REASONING_EFFORT].s, &fault,
                                 &err);
    char *messages = dump(f[SRV_F_MESSAGES].json), *documents = dump(list_or_null(&f[SRV_F_DOCUMENTS]));
    char *tools = with_tools ? dump(list_or_null(&f[SRV_F_TOOLS])) : NULL, *vars = dump(kwargs);
    json_decref(kwargs);
    p.messages_json = messages;
    p.tools_json = tools;
    p.documents_json = documents;
    p.kwargs_json = vars;
    p.chat_template = f[SRV_F_CHAT_TEMPLATE].s;
    p.content_format = c->srv->p.content_format;
    p.continue_final_message = go_on;
    p.add_generation_prompt = f[SRV_F_ADD_GENERATION_PROMPT].given ? f[SRV_F_ADD_GENERATION_PROMPT].b : !go_on;
    if (s == VC_OK && !messages) s = vc_fail(&err, VC_E_NOMEM, "out of memory");
    if (s == VC_OK) s = vc_chat_render(c->model->engine, &p, text, n, &err);
    free(messages);
    free(tools);
    free(documents);
    free(vars);
    return s == VC_OK || srv_refuse_err(c, &err);
}

json_t *srv_json_format(json_t *schema) {
    return json_pack("{s:s, s:{s:s, s:O*}}", "type", "json_schema", "json_schema", "name", "output", "schema", schema);
}

bool srv_chat_checked(struct srv_call *c, const struct srv_value *f) {
    const json_t *messages = f[SRV_F_MESSAGES].json;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        char loc[64];
        if (json_is_object(json_array_get(messages, i))) continue;
        snprintf(loc, sizeof loc, "body.messages.%zu", i);
        return srv_refuse_value(c, loc, "dict_type", "Input should be a valid dictionary", "");
    }
    if (f[SRV_F_CONTINUE_FINAL_MESSAGE].b && f[SRV_F_ADD_GENERATION_PROMPT].b)
        return srv_refuse(c, NULL, "Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
    if (json_array_size(messages) == 0)
        return srv_refuse(c, NULL,
                          "Cannot apply chat template to an empty conversation. Provide at least one message.");
    return true;
}

static bool read_prompt(struct srv_gen *g) {
    const struct srv_value *f = g->f.v;
    char *text = NULL, *kept;
    size_t n = 0;
    bool with_tools = g->tools != SRV_TOOLS_NONE || !g->call->srv->p.exclude_tools_none;
    if (!srv_chat_text(g->call, f, with_tools, &text, &n)) return false;
    kept = vc_arena_strndup(&g->arena, text, n);
    vc_free(text);
    if (!kept) return srv_refuse(g->call, NULL, "out of memory");
    set_role(g, f[SRV_F_ADD_GENERATION_PROMPT].given ? f[SRV_F_ADD_GENERATION_PROMPT].b : true);
    g->return_text = f[SRV_F_RETURN_PROMPT_TEXT].b;
    g->include_reasoning = !f[SRV_F_INCLUDE_REASONING].given || f[SRV_F_INCLUDE_REASONING].b;
    return srv_gen_parts(g, 1) && srv_gen_prompt(g, 0, kept, n, f[SRV_F_ADD_SPECIAL_TOKENS].b);
}

bool srv_chat_prepare(struct srv_gen *g) {
    if (!srv_chat_checked(g->call, g->f.v) || !read_tools(g)) return false;
    struct srv_value *most = &g->f.v[SRV_F_MAX_TOKENS], *completion = &g->f.v[SRV_F_MAX_COMPLETION_TOKENS];
    if (completion->given) *most = *completion;
    set_parsers(g);
    return read_prompt(g) && srv_gen_sampling(g, SRV_BODY_CHAT) && srv_gen_max_tokens(g) && srv_gen_constraint(g);
}

bool srv_chat_submit(struct srv_gen *g) {
    if (!srv_chat_prepare(g)) return false;
    srv_gen_submit(g);
    return true;
}

void srv_post_chat(struct srv_call *c) {
    json_t *root;
    if (!srv_body(c, &root)) return;
    struct srv_gen *g = srv_gen_new(c, &srv_chat_writer);
    if (!g) {
        json_decref(root);
        return;
    }
    g->root = root;
    if (srv_fields_read(c, SRV_BODY_CHAT, root, &g->f) && srv_gen_common(g, SRV_BODY_CHAT)) (void)srv_chat_submit(g);
}
