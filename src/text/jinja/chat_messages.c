/* SPDX-License-Identifier: Apache-2.0
 * chat_messages.c: an OpenAI messages array as templates take it; vLLM's parse_chat_messages, _postprocess_messages
 * and the schema in front of them. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "text/jinja/chat_int.h"

/* Kinds of content parts. key: the member that holds the text; a media part has none. */
static const struct part_kind { const char *type, *key; bool media; } kinds[] = {
    { "text", "text", false },         { "refusal", "refusal", false },     { "thinking", "thinking", false },
    { "tool_reference", "name", false }, { "input_text", "text", false },   { "output_text", "text", false },
    { "image_url", NULL, true },       { "input_image", NULL, true },       { "image", NULL, true },
    { "image_embeds", NULL, true },    { "image_pil", NULL, true },         { "audio_url", NULL, true },
    { "input_audio", NULL, true },     { "audio", NULL, true },             { "audio_embeds", NULL, true },
    { "video_url", NULL, true },       { "video", NULL, true },             { "video_embeds", NULL, true },
    { "file", NULL, true },            { "prompt_embeds", NULL, true },
};

static const struct part_kind *kind_of(const char *type) {
    for (size_t i = 0; i < VC_ARRAY_LEN(kinds); i++)
        if (!strcmp(kinds[i].type, type)) return &kinds[i];
    return NULL;
}

static vc_status refuse_media(struct vc_chat_at *c, const char *type) {
    if (c->style->model_name)
        return vc_chat_bad(c, "%s is not a multimodal model", c->style->model_name);
    return vc_chat_bad(c, "the model takes no '%s' parts, only text", type);
}

/* A part without a type: media by its own key, else an error. */
static vc_status untyped(struct vc_chat_at *c, const json_t *part) {
    for (size_t i = 0; i < VC_ARRAY_LEN(kinds); i++)
        if (kinds[i].media && json_object_get(part, kinds[i].type)) return refuse_media(c, kinds[i].type);
    vc_chat_down(c, ".type");
    return vc_chat_bad(c, "Missing 'type' field in a content part");
}

/* Adds one part to `list` as {"type", text}. */
static vc_status add_part(struct vc_chat_at *c, json_t *list, const json_t *part) {
    if (json_is_string(part))
        return vc_chat_add(c, list, json_pack("{s:s, s:O}", "type", "text", "text", (json_t *)(uintptr_t)part));
    if (!json_is_object(part))
        return vc_chat_bad(c, "a content part must be an object or a string, not %s", vc_json_type_name(part));
    const json_t *type = json_object_get(part, "type");
    if (!type || json_is_null(type)) return untyped(c, part);
    size_t here = vc_chat_down(c, ".type");
    if (!json_is_string(type)) return vc_chat_bad(c, "must be a string, not %s", vc_json_type_name(type));
    const struct part_kind *k = kind_of(json_string_value(type));
    char name[64];
    if (!k)
        return vc_chat_bad(
            c, "Unsupported chat content part type: '%s'. Supported types: text, refusal, thinking, tool_reference",
            vc_printable(name, sizeof name, json_string_value(type), json_string_length(type)));
    if (k->media) return refuse_media(c, k->type);
    vc_chat_up(c, here);
    here = vc_chat_down(c, ".%s", k->key);
    const json_t *text = json_object_get(part, k->key);
    if (!json_is_string(text)) return vc_chat_bad(c, "must be a string, not %s", vc_json_type_name(text));
    vc_chat_up(c, here);
    bool ref = !strcmp(k->type, "tool_reference");
    return vc_chat_add(c, list,
                       json_pack("{s:s, s:O}", "type", ref ? k->type : "text", k->key[0] == 'n' ? "name" : "text",
                                 (json_t *)(uintptr_t)text));
}

/* Content of any form → a list of parts. */
static vc_status parts_of(struct vc_chat_at *c, const json_t *msg, const char *role, json_t *list) {
    const json_t *content = json_object_get(msg, "content");
    size_t here = vc_chat_down(c, ".content");
    bool may_be_null = !strcmp(role, "assistant") || !strcmp(role, "function");
    if (json_is_array(content)) {
        for (size_t i = 0; i < json_array_size(content); i++) {
            size_t at = vc_chat_down(c, "[%zu]", i);
            VC_TRY(add_part(c, list, json_array_get(content, i)));
            vc_chat_up(c, at);
        }
    } else if (json_is_string(content)) {
        VC_TRY(add_part(c, list, content));
    } else if (content && !(json_is_null(content) && may_be_null)) {
        return vc_chat_bad(c, "must be a string or a list of parts, not %s", vc_json_type_name(content));
    }
    vc_chat_up(c, here);
    return VC_OK;
}

static const json_t *part_text(const json_t *part) {
    const json_t *t = json_object_get(part, "text");
    return t ? t : json_object_get(part, "name");
}

/* The texts of a list of parts, joined by newlines. */
json_t *vc_chat_joined(const json_t *list) {
    struct vc_buf b = { 0 };
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *t = part_text(json_array_get(list, i));
        if (i) vc_buf_addc(&b, '\n');
        vc_buf_add(&b, json_string_value(t), json_string_length(t));
    }
    json_t *s = b.failed ? NULL : json_stringn(b.p ? b.p : "", b.n);
    vc_buf_free(&b);
    return s;
}

/* As vLLM: the first line of a system text is dropped when it is the billing header of one client, whose value changes
 * with every request and so would defeat prefix caching. */
static void drop_billing_header(json_t *list) {
    static const char header[] = "x-anthropic-billing-header";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *t = json_object_get(json_array_get(list, i), "text");
        const char *s = json_string_value(t), *end;
        size_t n = json_string_length(t);
        if (!s || n < sizeof header - 1 || memcmp(s, header, sizeof header - 1)) continue;
        end = memchr(s, '\n', n);
        if (end && (size_t)(end + 1 - s) < n) {
            json_object_set_new(json_array_get(list, i), "text", json_stringn(end + 1, n - (size_t)(end + 1 - s)));
        } else {
            json_array_remove(list, i--);
        }
    }
}

/* Empty parts don't count where parts become one string. */
static void drop_empty(json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_string_length(part_text(json_array_get(list, i)))) json_array_remove(list, i--);
}

static bool all_text(const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_object_get(json_array_get(list, i), "text")) return false;
    return true;
}

static vc_status set_content(struct vc_chat_at *c, json_t *out, const json_t *msg, const char *role) {
    json_t *list = json_array();
    if (!list) return vc_chat_no_memory(c);
    vc_status s = parts_of(c, msg, role, list);
    if (s == VC_OK && !strcmp(role, "system")) drop_billing_header(list);
    if (c->style->format == VC_CONTENT_STRING) drop_empty(list);
    bool text = c->style->format == VC_CONTENT_STRING || (!strcmp(role, "tool") && all_text(list));
    if (s == VC_OK) s = vc_chat_set(c, out, "content", text ? vc_chat_joined(list) : json_incref(list));
    json_decref(list);
    return s;
}

/* ---- tool calls ---- */
/* The arguments as an object. What is not one is {}: it is part of a conversation's past, and refusing it would end the
 * conversation for good. */
static vc_status arguments(struct vc_chat_at *c, const json_t *text, json_t **out) {
    json_error_t e;
    *out = json_loadb(json_string_value(text), json_string_length(text), JSON_ALLOW_NUL | JSON_DECODE_ANY, &e);
    if (!*out && json_error_code(&e) == json_error_numeric_overflow)
        return vc_chat_bad(c, "holds a number beyond 64 bits");
    if (!json_is_object(*out)) {
        if (json_string_length(text))
            vc_log_line(VC_LOG_WARN, "%s: the arguments of a tool call are not a JSON object and are taken as {}",
                        c->fault->path);
        json_decref(*out);
        *out = json_object();
    }
    return *out ? VC_OK : vc_chat_no_memory(c);
}

static vc_status need_text(struct vc_chat_at *c, const json_t *obj, const char *key, const json_t **out) {
    size_t here = vc_chat_down(c, ".%s", key);
    *out = json_object_get(obj, key);
    if (!json_is_string(*out)) return vc_chat_bad(c, "must be a string, not %s", vc_json_type_name(*out));
    vc_chat_up(c, here);
    return VC_OK;
}

static vc_status one_call(struct vc_chat_at *c, json_t *list, const json_t *call) {
    const json_t *id, *type, *name, *text, *f = json_object_get(call, "function");
    if (!json_is_object(call)) return vc_chat_bad(c, "assistant tool_calls entries must be objects.");
    VC_TRY(need_text(c, call, "type", &type));
    size_t here = vc_chat_down(c, ".type");
    if (strcmp(json_string_value(type), "function") != 0)
        return vc_chat_bad(c, "chat completions only support assistant tool_calls of type 'function'.");
    vc_chat_up(c, here);
    VC_TRY(need_text(c, call, "id", &id));
    here = vc_chat_down(c, ".function");
    if (!json_is_object(f)) return vc_chat_bad(c, "must be an object, not %s", vc_json_type_name(f));
    VC_TRY(need_text(c, f, "name", &name));
    VC_TRY(need_text(c, f, "arguments", &text));
    json_t *args = NULL;
    vc_chat_down(c, ".arguments");
    VC_TRY(arguments(c, text, &args));
    vc_chat_up(c, here);
    return vc_chat_add(c, list,
                       json_pack("{s:O, s:{s:o, s:O}, s:s}", "id", (json_t *)(uintptr_t)id, "function", "arguments",
                                 args, "name", (json_t *)(uintptr_t)name, "type", "function"));
}

static vc_status tool_calls(struct vc_chat_at *c, json_t *out, const json_t *msg) {
    const json_t *calls = json_object_get(msg, "tool_calls");
    size_t here = vc_chat_down(c, ".tool_calls");
    if (calls && !json_is_null(calls) && !json_is_array(calls))
        return vc_chat_bad(c, "must be a list, not %s", vc_json_type_name(calls));
    if (json_array_size(calls)) {       /* an empty list would put some templates on the tool call's path */
        json_t *list = json_array();
        VC_TRY(vc_chat_set(c, out, "tool_calls", list));
        for (size_t i = 0; i < json_array_size(calls); i++) {
            size_t at = vc_chat_down(c, "[%zu]", i);
            VC_TRY(one_call(c, list, json_array_get(calls, i)));
            vc_chat_up(c, at);
        }
    }
    vc_chat_up(c, here);
    return VC_OK;
}

/* ---- the other fields ---- */
/* Copies a text member; null is as if it were not there. */
static vc_status optional_text(struct vc_chat_at *c, json_t *out, const json_t *msg, const char *key) {
    const json_t *v = json_object_get(msg, key);
    if (!v || json_is_null(v)) return VC_OK;
    VC_TRY(need_text(c, msg, key, &v));
    return vc_chat_set(c, out, key, json_incref((json_t *)(uintptr_t)v));
}

/* reasoning, or reasoning_content as clients wrote it before; templates know the one or the other name. */
static vc_status reasoning(struct vc_chat_at *c, json_t *out, const json_t *msg) {
    const json_t *v = json_object_get(msg, "reasoning");
    const char *key = v && !json_is_null(v) ? "reasoning" : "reasoning_content";
    v = json_object_get(msg, key);
    if (!v || json_is_null(v)) return VC_OK;
    VC_TRY(need_text(c, msg, key, &v));
    VC_TRY(vc_chat_set(c, out, "reasoning", json_incref((json_t *)(uintptr_t)v)));
    return vc_chat_set(c, out, "reasoning_content", json_incref((json_t *)(uintptr_t)v));
}

static vc_status tool_id(struct vc_chat_at *c, json_t *out, const json_t *msg) {
    const json_t *v = json_object_get(msg, "tool_call_id");
    if (v && !json_is_null(v)) VC_TRY(need_text(c, msg, "tool_call_id", &v));
    return v ? vc_chat_set(c, out, "tool_call_id", json_incref((json_t *)(uintptr_t)v)) : VC_OK;
}

static vc_status developer_tools(struct vc_chat_at *c, json_t *out, const json_t *msg) {
    json_t *tools = NULL;
    size_t here = vc_chat_down(c, ".tools");
    VC_TRY(vc_chat_tools_at(c, &tools, json_object_get(msg, "tools"), VC_CHAT_TOOLS_AS_GIVEN));
    vc_chat_up(c, here);
    return vc_chat_set(c, out, "tools", tools ? tools : json_null());
}

static vc_status one_message(struct vc_chat_at *c, json_t *list, const json_t *msg) {
    if (!json_is_object(msg)) return vc_chat_bad(c, "must be an object, not %s", vc_json_type_name(msg));
    const json_t *role_value;
    VC_TRY(need_text(c, msg, "role", &role_value));
    const char *role = json_string_value(role_value);
    json_t *out = json_object();
    VC_TRY(vc_chat_add(c, list, out));
    VC_TRY(vc_chat_set(c, out, "role", json_incref((json_t *)(uintptr_t)role_value)));
    VC_TRY(set_content(c, out, msg, role));
    if (!strcmp(role, "assistant")) {
        VC_TRY(tool_calls(c, out, msg));
        VC_TRY(reasoning(c, out, msg));
    } else if (!strcmp(role, "tool")) {
        VC_TRY(tool_id(c, out, msg));
    }
    VC_TRY(optional_text(c, out, msg, "name"));
    VC_TRY(optional_text(c, out, msg, "task"));
    return strcmp(role, "developer") ? VC_OK : developer_tools(c, out, msg);
}

vc_status vc_chat_messages(json_t **out, const json_t *messages, const struct vc_chat_style *style,
                           struct vc_chat_fault *fault, vc_err *err) {
    struct vc_chat_fault none;
    struct vc_chat_at c = { .style = style, .fault = fault ? fault : &none, .err = err };
    *out = NULL;
    c.fault->path[0] = '\0';
    size_t here = vc_chat_down(&c, "messages");
    if (!json_is_array(messages)) return vc_chat_bad(&c, "must be a list, not %s", vc_json_type_name(messages));
    if (!json_array_size(messages)) {
        vc_chat_up(&c, here);
        return vc_chat_bad(&c, "Cannot apply chat template to an empty conversation. Provide at least one message.");
    }
    json_t *list = json_array();
    vc_status s = list ? VC_OK : vc_chat_no_memory(&c);
    for (size_t i = 0; s == VC_OK && i < json_array_size(messages); i++) {
        size_t at = vc_chat_down(&c, "[%zu]", i);
        s = one_message(&c, list, json_array_get(messages, i));
        if (s == VC_OK) vc_chat_up(&c, at);
    }
    if (s == VC_OK) vc_chat_up(&c, here);
    if (s == VC_OK && !style->developer) s = vc_chat_fold_developer(&c, list);
    if (s == VC_OK) *out = list;
    else json_decref(list);
    return s;
}
