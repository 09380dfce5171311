/* SPDX-License-Identifier: Apache-2.0
 * srv_messages.c: Anthropic's POST /v1/messages and count_tokens: the body becomes one of chat completions, which all
 * checks and limits then see. */
#include <stdlib.h>
#include <string.h>

#include "server/srv_chat.h"

enum { MIN_BUDGET = 1024 };        /* tokens of thinking, as Anthropic's API */

static bool is_type(const json_t *block, const char *type) {
    const char *t = json_string_value(json_object_get(block, "type"));
    return t && !strcmp(t, type);
}

/* Text of a string or of the text blocks of a list, put together; a new reference. */
static json_t *text_of(const json_t *v) {
    struct vc_buf b = { 0 };
    if (json_is_string(v)) vc_buf_add(&b, json_string_value(v), json_string_length(v));
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *t = json_object_get(json_array_get(v, i), "text");
        if (json_is_string(t)) vc_buf_add(&b, json_string_value(t), json_string_length(t));
    }
    json_t *s = json_stringn(b.p ? b.p : "", b.n);
    vc_buf_free(&b);
    return s;
}

static json_t *tool_call(const json_t *block) {
    char *args = json_dumps(json_object_get(block, "input"), JSON_COMPACT | JSON_ENCODE_ANY);
    json_t *call = json_pack("{s:O*, s:s, s:{s:O*, s:s}}", "id", json_object_get(block, "id"), "type", "function",
                             "function", "name", json_object_get(block, "name"), "arguments", args ? args : "{}");
    free(args);
    return call;
}

static json_t *tool_result(const json_t *block) {
    return json_pack("{s:s, s:O*, s:o}", "role", "tool", "tool_call_id", json_object_get(block, "tool_use_id"),
                     "content", text_of(json_object_get(block, "content")));
}

/* One message of blocks: results of tools become messages of their own in front of it. */
static void add_blocks(json_t *out, const json_t *role, const json_t *blocks) {
    json_t *parts = json_array(), *calls = json_array(), *thinking = NULL;
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        json_t *b = json_array_get(blocks, i);
        if (is_type(b, "tool_result"))
            json_array_append_new(out, tool_result(b));
        else if (is_type(b, "tool_use")) json_array_append_new(calls, tool_call(b));
        else if (is_type(b, "thinking")) thinking = json_object_get(b, "thinking");
        else json_array_append(parts, b);
    }
    if (json_array_size(parts) || json_array_size(calls) || thinking) {
        json_t *m = json_pack("{s:O}", "role", role);
        if (json_array_size(parts)) json_object_set(m, "content", parts);
        if (json_array_size(calls)) json_object_set(m, "tool_calls", calls);
        if (thinking) json_object_set(m, "reasoning", thinking);
        json_array_append_new(out, m);
    }
    json_decref(parts);
    json_decref(calls);
}

static json_t *convert_messages(const json_t *root) {
    json_t *out = json_array();
    const json_t *system = json_object_get(root, "system"), *messages = json_object_get(root, "messages");
    if (system && !json_is_null(system))
        json_array_append_new(out, json_pack("{s:s, s:o}", "role", "system", "content", text_of(system)));
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *m = json_array_get(messages, i);
        json_t *role = json_object_get(m, "role"), *content = json_object_get(m, "content");
        if (json_is_string(role) && json_is_array(content)) add_blocks(out, role, content);
        else json_array_append(out, m);
    }
    return out;
}

static json_t *convert_tools(const json_t *tools) {
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *t = json_array_get(tools, i);
        json_t *tool = json_pack("{s:s, s:{s:O*, s:O*, s:O*}}", "type", "function", "function",
                                 "name", json_object_get(t, "name"), "description", json_object_get(t, "description"),
                                 "parameters", json_object_get(t, "input_schema"));
        json_array_append_new(out, tool);
    }
    return out;
}

static void convert_choice(json_t *out, const json_t *choice) {
    if (is_type(choice, "any")) json_object_set_new(out, "tool_choice", json_string("required"));
    else if (is_type(choice, "none")) json_object_set_new(out, "tool_choice", json_string("none"));
    else if (is_type(choice, "tool"))
        json_object_set_new(out, "tool_choice", json_pack("{s:s, s:{s:O*}}", "type", "function", "function", "name",
                                                          json_object_get(choice, "name")));
    else if (is_type(choice, "auto")) json_object_set_new(out, "tool_choice", json_string("auto"));
    if (json_is_true(json_object_get(choice, "disable_parallel_tool_use")))
        json_object_set_new(out, "parallel_tool_calls", json_false());
}

static bool bad_thinking(struct srv_call *c, const char *loc, const char *type, const char *msg, const json_t *input) {
    char shown[128];
    return srv_refuse_value(c, loc, type, msg, srv_py_type(input, shown, sizeof shown));
}

/* vLLM's AnthropicThinkingConfig: one of three types; enabled has a budget of at least 1024 tokens, and of less than
 * the whole answer (max_tokens; NULL: there is no answer). */
static bool check_thinking(struct srv_call *c, const json_t *root, const json_t *max_tokens) {
    static const char at[] = "body.thinking.enabled.budget_tokens";
    const json_t *v = json_object_get(root, "thinking"), *budget = json_object_get(v, "budget_tokens");
    if (!json_is_object(v) || is_type(v, "disabled") || is_type(v, "adaptive")) return true;
    if (!is_type(v, "enabled"))
        return bad_thinking(c, "body.thinking", "union_tag_invalid", "type must be enabled, disabled or adaptive", v);
    if (!budget) return bad_thinking(c, at, "missing", "Field required", v);
    if (!json_is_integer(budget)) return bad_thinking(c, at, "int_type", "Input should be a valid integer", budget);
    if (json_integer_value(budget) < MIN_BUDGET)
        return bad_thinking(c, at, "greater_than_equal", "Input should be greater than or equal to 1024", budget);
    if (json_is_integer(max_tokens) && json_integer_value(budget) >= json_integer_value(max_tokens))
        return bad_thinking(c, "body.thinking", "value_error",
                            "Value error, thinking.budget_tokens must be less than max_tokens", budget);
    return true;
}

/* thinking and output_config: variables of the template, the budget of the reasoning, and the form of the answer. */
static void convert_config(json_t *out, const json_t *root) {
    const json_t *thinking = json_object_get(root, "thinking"), *kwargs = json_object_get(root, "chat_template_kwargs");
    const json_t *config = json_object_get(root, "output_config"), *format = json_object_get(config, "format");
    json_t *effort = json_object_get(config, "effort");
    if (json_is_object(thinking)) {
        json_t *vars = json_is_object(kwargs) ? json_deep_copy(kwargs) : json_object();
        if (!json_object_get(vars, "enable_thinking"))
            json_object_set_new(vars, "enable_thinking", json_boolean(!is_type(thinking, "disabled")));
        json_object_set_new(out, "chat_template_kwargs", vars);
        if (is_type(thinking, "enabled"))
            json_object_set(out, "thinking_token_budget", json_object_get(thinking, "budget_tokens"));
    } else if (kwargs) {
        json_object_set(out, "chat_template_kwargs", (json_t *)(uintptr_t)kwargs);
    }
    if (json_is_string(effort)) json_object_set(out, "reasoning_effort", effort);
    if (is_type(format, "json_schema"))
        json_object_set_new(out, "response_format", srv_json_format(json_object_get(format, "schema")));
}

/* The body of /v1/chat/completions that asks for the same; a new reference. */
static json_t *convert(const json_t *root) {
    json_t *out = json_object(), *v;
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++) {          /* what both bodies have; tools differ in form */
        const struct srv_field *f = &srv_field_rows[i];
        bool both = (f->bodies & SRV_BODY_MESSAGES) && (f->bodies & SRV_BODY_CHAT) && f->kind != SRV_REFUSE;
        if (both && i != SRV_F_TOOLS && (v = json_object_get(root, f->name))) json_object_set(out, f->name, v);
    }
    if ((v = json_object_get(root, "model"))) json_object_set(out, "model", v);
    if ((v = json_object_get(root, "max_tokens"))) json_object_set(out, "max_tokens", v);
    json_object_set_new(out, "messages", convert_messages(root));
    if (json_object_get(root, "stop_sequences")) json_object_set(out, "stop", json_object_get(root, "stop_sequences"));
    const json_t *tools = json_object_get(root, "tools");
    if (json_array_size(tools)) json_object_set_new(out, "tools", convert_tools(tools));
    if (json_array_size(tools)) convert_choice(out, json_object_get(root, "tool_choice"));
    convert_config(out, root);
    return out;
}

void srv_post_messages(struct srv_call *c) {
    json_t *root;
    struct srv_gen *g;
    if (!srv_body(c, &root)) return;
    if (srv_fields_check(c, SRV_BODY_MESSAGES, root) && check_thinking(c, root, json_object_get(root, "max_tokens")) &&
        (g = srv_gen_new(c, &srv_messages_writer))) {
        g->root = convert(root);
        if (srv_fields_read(c, SRV_BODY_CHAT, g->root, &g->f) && srv_gen_common(g, SRV_BODY_CHAT))
            (void)srv_chat_submit(g);
    }
    json_decref(root);
}

static void count(struct srv_call *c, const json_t *body) {
    struct srv_fields *f = calloc(1, sizeof *f);
    char *text = NULL;
    size_t n = 0, tokens = 0;
    int32_t *ids = NULL;
    vc_err err = VC_ERR_INIT;
    struct vc_buf b = { 0 };
    if (!f) srv_error(c, 503, NULL, NULL, "out of memory");
    bool ok = f && srv_fields_read(c, SRV_BODY_CHAT, body, f) && srv_model_known(c, f->v[SRV_F_MODEL].s);
    if (ok && srv_chat_checked(c, f->v) && srv_chat_text(c, f->v, true, &text, &n)) {
        vc_status s = vc_tokenize(c->model->engine, text, n, VC_TOK_PARSE_SPECIAL, &ids, &tokens, &err);
        if (s == VC_OK) {
            vc_buf_printf(&b, "{\"input_tokens\":%zu}", tokens);
            srv_reply_json(c, 200, &b);
        } else {
            (void)srv_refuse_err(c, &err);
        }
    }
    vc_free(text);
    vc_free(ids);
    free(f);
}

void srv_post_count_tokens(struct srv_call *c) {
    json_t *root;
    if (!srv_body(c, &root)) return;
    if (srv_fields_check(c, SRV_BODY_COUNT, root) && check_thinking(c, root, NULL)) {
        json_t *body = convert(root);
        count(c, body);
        json_decref(body);
    }
    json_decref(root);
}
