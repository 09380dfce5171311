/* SPDX-License-Identifier: Apache-2.0
 * srv_responses.c: OpenAI's POST /v1/responses: input items and the stored conversation become the messages of a
 * chat. */
#include <stdlib.h>
#include <string.h>

#include "server/srv_background.h"
#include "server/srv_chat.h"

static bool refuse(struct srv_call *c, const char *param, const char *text) {
    srv_error(c, 400, NULL, param, "%s (parameter=%s)", text, param);
    return false;
}

static const char *type_of(const json_t *v) {
    const char *t = json_string_value(json_object_get(v, "type"));
    return t ? t : "";
}

/* Parts of input and output text become text parts; others stay as they are, and chat's checks refuse them by name. */
static json_t *convert_content(const json_t *content) {
    if (!json_is_array(content)) return json_deep_copy(content);
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(content); i++) {
        json_t *p = json_array_get(content, i);
        const char *t = type_of(p);
        bool text = !strcmp(t, "input_text") || !strcmp(t, "output_text") || !strcmp(t, "summary_text");
        if (!text) json_array_append(out, p);
        else json_array_append_new(out, json_pack("{s:s, s:O*}", "type", "text", "text", json_object_get(p, "text")));
    }
    return out;
}

static json_t *call_message(const json_t *item) {
    return json_pack("{s:s, s:[{s:O*, s:s, s:{s:O*, s:O*}}]}", "role", "assistant", "tool_calls",
                     "id", json_object_get(item, "call_id"), "type", "function", "function",
                     "name", json_object_get(item, "name"), "arguments", json_object_get(item, "arguments"));
}

/* One item of the input; false: of a kind that is not known. */
static bool add_item(json_t *messages, const json_t *item) {
    const char *t = type_of(item);
    if (!strcmp(t, "function_call")) return json_array_append_new(messages, call_message(item)) == 0;
    if (!strcmp(t, "function_call_output")) {
        json_t *m = json_pack("{s:s, s:O*, s:o*}", "role", "tool", "tool_call_id", json_object_get(item, "call_id"),
                              "content", convert_content(json_object_get(item, "output")));
        return json_array_append_new(messages, m) == 0;
    }
    if (!strcmp(t, "reasoning")) return true;
    if ((*t && strcmp(t, "message") != 0) || !json_is_object(item)) return false;
    json_t *m = json_pack("{s:O*, s:o*}", "role", json_object_get(item, "role"), "content",
                          convert_content(json_object_get(item, "content")));
    return json_array_append_new(messages, m) == 0;
}

static json_t *said_by(const char *role, const json_t *text) {
    return json_pack("{s:s, s:O}", "role", role, "content", text);
}

/* The stored conversation, then the input. NULL: an error was answered. */
static json_t *convert_input(struct srv_call *c, const json_t *root) {
    const json_t *input = json_object_get(root, "input"), *instructions = json_object_get(root, "instructions");
    const json_t *previous = json_object_get(root, "previous_response_id");
    json_t *messages = json_array();
    if (json_is_string(instructions)) json_array_append_new(messages, said_by("system", instructions));
    if (json_is_string(previous)) {
        bool made = true;
        json_t *history = srv_store_get(c->srv->store, json_string_value(previous), NULL, &made);
        if (!history || !made) {
            srv_error(c, history ? 400 : 404, NULL, "previous_response_id", "Response with id '%.100s' %s.",
                      json_string_value(previous), history ? "is still being made" : "not found");
            json_decref(history);
            json_decref(messages);
            return NULL;
        }
        json_array_extend(messages, history);
        json_decref(history);
    }
    bool ok = json_is_string(input) || json_is_array(input);
    if (json_is_string(input)) json_array_append_new(messages, said_by("user", input));
    for (size_t i = 0; ok && i < json_array_size(input); i++) ok = add_item(messages, json_array_get(input, i));
    if (ok) return messages;
    json_decref(messages);
    refuse(c, "input", "input must be a text or a list of messages, function calls and their outputs.");
    return NULL;
}

static bool convert_tools(struct srv_call *c, json_t *out, const json_t *root) {
    const json_t *tools = json_object_get(root, "tools"), *choice = json_object_get(root, "tool_choice");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *t = json_array_get(tools, i);
        if (strcmp(type_of(t), "function") != 0) {
            json_decref(list);
            return refuse(c, "tools", "Only tools of type function are supported.");
        }
        json_t *tool = json_pack("{s:s, s:{s:O*, s:O*, s:O*, s:O*}}", "type", "function", "function",
                                 "name", json_object_get(t, "name"), "description", json_object_get(t, "description"),
                                 "parameters", json_object_get(t, "parameters"),
                                 "strict", json_object_get(t, "strict"));
        json_array_append_new(list, tool);
    }
    bool any = json_array_size(list) > 0;
    if (any) json_object_set(out, "tools", list);
    json_decref(list);
    if (!any) return true;
    if (json_is_object(choice))
        json_object_set_new(out, "tool_choice", json_pack("{s:s, s:{s:O*}}", "type", "function", "function", "name",
                                                          json_object_get(choice, "name")));
    else if (choice) json_object_set(out, "tool_choice", (json_t *)(uintptr_t)choice);
    return true;
}

static bool convert_text(struct srv_call *c, json_t *out, const json_t *root) {
    const json_t *format = json_object_get(json_object_get(root, "text"), "format");
    const char *t = type_of(format);
    if (!json_is_object(format) || !strcmp(t, "text")) return true;
    bool any = !strcmp(t, "json_object");
    if (!any && strcmp(t, "json_schema") != 0)
        return refuse(c, "text", "text.format.type must be text, json_object or json_schema.");
    json_t *made = any ? json_pack("{s:s}", "type", t) : srv_json_format(json_object_get(format, "schema"));
    return json_object_set_new(out, "response_format", made) == 0;
}

static bool includes(const json_t *root, const char *part) {
    const json_t *list = json_object_get(root, "include");
    if (json_is_string(list)) return !strcmp(json_string_value(list), part);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_array_get(list, i)), part)) return true;
    return false;
}

/* The body of /v1/chat/completions that asks for the same; NULL: an error was answered. */
static json_t *convert(struct srv_call *c, const json_t *root) {
    json_t *v;
    json_t *messages = convert_input(c, root), *out = json_object();
    if (!messages) {
        json_decref(out);
        return NULL;
    }
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++) {          /* what both bodies have; these differ in form */
        const struct srv_field *f = &srv_field_rows[i];
        bool both = (f->bodies & SRV_BODY_RESPONSES) && (f->bodies & SRV_BODY_CHAT) && f->kind != SRV_REFUSE;
        if (i == SRV_F_TOOLS || i == SRV_F_TOOL_CHOICE || i == SRV_F_TOP_LOGPROBS) continue;
        if (both && (v = json_object_get(root, f->name))) json_object_set(out, f->name, v);
    }
    json_object_set_new(out, "messages", messages);
    json_t *most = json_object_get(root, "max_output_tokens"), *top = json_object_get(root, "top_logprobs");
    json_t *effort = json_object_get(json_object_get(root, "reasoning"), "effort");
    const char *truncation = json_string_value(json_object_get(root, "truncation"));
    if (most) json_object_set(out, "max_tokens", most);
    if (json_is_string(effort)) json_object_set(out, "reasoning_effort", effort);
    if (json_integer_value(top) > 0 || includes(root, "message.output_text.logprobs"))
        json_object_set_new(out, "logprobs", json_true());
    if (top) json_object_set(out, "top_logprobs", top);
    if (truncation && !strcmp(truncation, "auto"))
        json_object_set_new(out, "truncate_prompt_tokens", json_integer(-1));
    if (convert_tools(c, out, root) && convert_text(c, out, root)) return out;
    json_decref(out);
    return NULL;
}

static bool is_on(const struct srv_value *v, bool otherwise) { return v->given ? v->b : otherwise; }

/* The generation of c for the request, a chat body that asks for the same, and its fields, ready for the engine. Takes
 * both trees. NULL: an error was answered. */
static struct srv_gen *prepare(struct srv_call *c, json_t *root, json_t *body, const struct srv_value *f) {
    struct srv_gen *g = srv_gen_new(c, &srv_responses_writer);
    if (!g) {
        json_decref(root);
        json_decref(body);
        return NULL;
    }
    g->root = body;
    g->request = root;
    g->background = is_on(&f[SRV_F_BACKGROUND], false);
    g->store = is_on(&f[SRV_F_STORE], true);
    g->show_messages = is_on(&f[SRV_F_ENABLE_RESPONSE_MESSAGES], false);
    bool ok = srv_fields_read(c, SRV_BODY_CHAT, body, &g->f) && srv_gen_common(g, SRV_BODY_CHAT) && srv_chat_prepare(g);
    return ok ? g : NULL;
}

static void post(struct srv_call *c, json_t *root, const struct srv_value *f) {
    struct srv_gen *g;
    struct srv_call *job = NULL;
    bool background = is_on(&f[SRV_F_BACKGROUND], false), ok = !background || is_on(&f[SRV_F_STORE], true);
    if (background && !c->srv->store)
        ok = refuse(c, "background", "background is not possible here: an answer is given whole.");
    else if (!ok)
        (void)refuse(c, "background", "background can only be used when `store` is true");
    json_t *body = ok ? convert(c, root) : NULL;
    if (!body || (background && !(job = srv_background_job(c)))) {
        json_decref(body);
        json_decref(root);
        return;
    }
    g = prepare(job ? job : c, root, body, f);
    if (g && !job) srv_gen_submit(g);
    else if (g) srv_background_run(c, g);
    else if (job) srv_background_refused(c, job);
}

void srv_post_responses(struct srv_call *c) {
    json_t *root;
    if (!srv_body(c, &root)) return;
    struct srv_fields *f = calloc(1, sizeof *f);
    if (!f) srv_error(c, 503, NULL, NULL, "out of memory");
    if (f && srv_fields_read(c, SRV_BODY_RESPONSES, root, f)) post(c, root, f->v);
    else json_decref(root);
    free(f);
}
