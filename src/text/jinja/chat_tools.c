/* SPDX-License-Identifier: Apache-2.0
 * chat_tools.c: tools, template variables and the developer role, as vLLM hands them to templates. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/jinja/chat_int.h"

/* ---- paths and results ---- */
size_t vc_chat_down(struct vc_chat_at *c, const char *fmt, ...) {
    size_t n = strlen(c->fault->path);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->fault->path + n, sizeof c->fault->path - n, fmt, ap);
    va_end(ap);
    return n;
}

void vc_chat_up(struct vc_chat_at *c, size_t length) { c->fault->path[length] = '\0'; }

vc_status vc_chat_bad(struct vc_chat_at *c, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *path = c->fault->path;
    return vc_fail(c->err, VC_E_INVALID, "%s%s%s", path, *path ? ": " : "", text);
}

vc_status vc_chat_no_memory(struct vc_chat_at *c) {
    return vc_fail(c->err, VC_E_NOMEM, "no memory for the messages of a chat");
}

vc_status vc_chat_add(struct vc_chat_at *c, json_t *list, json_t *value) {
    return json_array_append_new(list, value) ? vc_chat_no_memory(c) : VC_OK;
}

vc_status vc_chat_set(struct vc_chat_at *c, json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) ? vc_chat_no_memory(c) : VC_OK;
}

/* ---- tools ---- */
enum want { TEXT, OBJECT, BOOL };

static bool is_a(const json_t *v, enum want w) {
    return w == TEXT ? json_is_string(v) : w == OBJECT ? json_is_object(v) : json_is_boolean(v);
}

/* Members of a function in the order in which they are written. */
static const struct { const char *key; enum want type; bool required, filled; } members[] = {
    { "name", TEXT, true, true },
    { "description", TEXT, false, true },
    { "parameters", OBJECT, false, true },
    { "strict", BOOL, false, false },
    { "defer_loading", BOOL, false, false },
};

static vc_status add_member(struct vc_chat_at *c, json_t *out, const json_t *f, size_t i, enum vc_chat_tools_how how) {
    static const char *const names[] = { "a string", "an object", "true or false" };
    const json_t *v = json_object_get(f, members[i].key);
    bool none = !v || json_is_null(v);
    size_t here = vc_chat_down(c, ".%s", members[i].key);
    if (none ? members[i].required : !is_a(v, members[i].type))
        return vc_chat_bad(c, "must be %s, not %s", names[members[i].type], vc_json_type_name(v));
    vc_chat_up(c, here);
    if (!none) return vc_chat_set(c, out, members[i].key, json_incref((json_t *)(uintptr_t)v));
    if (!(how == VC_CHAT_TOOLS_FILLED ? members[i].filled : v != NULL)) return VC_OK;
    return vc_chat_set(c, out, members[i].key, json_null());
}

/* filled: {"type", "function"}; as given: the order of the OpenAI schema, {"function", "type"}. */
static vc_status one_tool(struct vc_chat_at *c, json_t *list, const json_t *tool, enum vc_chat_tools_how how) {
    if (!json_is_object(tool)) return vc_chat_bad(c, "must be an object, not %s", vc_json_type_name(tool));
    const json_t *type = json_object_get(tool, "type"), *f = json_object_get(tool, "function"),
                 *defer = json_object_get(tool, "defer_loading");
    size_t here = vc_chat_down(c, ".type");
    bool filled = how == VC_CHAT_TOOLS_FILLED;
    if ((type || !filled) && (!json_is_string(type) || strcmp(json_string_value(type), "function") != 0))
        return vc_chat_bad(c, "must be \"function\"");
    vc_chat_up(c, here);
    here = vc_chat_down(c, ".function");
    if (!json_is_object(f)) return vc_chat_bad(c, "must be an object, not %s", vc_json_type_name(f));
    json_t *out = json_object(), *fn = json_object();
    VC_TRY(vc_chat_add(c, list, out));
    if (filled) VC_TRY(vc_chat_set(c, out, "type", json_string("function")));
    VC_TRY(vc_chat_set(c, out, "function", fn));
    if (!filled) VC_TRY(vc_chat_set(c, out, "type", json_string("function")));
    for (size_t i = 0; i < VC_ARRAY_LEN(members); i++)
        if (filled || members[i].filled || members[i].type == BOOL) VC_TRY(add_member(c, fn, f, i, how));
    vc_chat_up(c, here);
    if (!filled || !json_is_boolean(defer)) return VC_OK;
    if (!json_object_get(fn, "defer_loading"))
        VC_TRY(vc_chat_set(c, fn, "defer_loading", json_incref((json_t *)(uintptr_t)defer)));
    return vc_chat_set(c, out, "defer_loading", json_incref((json_t *)(uintptr_t)defer));
}

vc_status vc_chat_tools_at(struct vc_chat_at *c, json_t **out, const json_t *tools, enum vc_chat_tools_how how) {
    *out = NULL;
    if (!tools || json_is_null(tools)) return VC_OK;
    if (!json_is_array(tools)) return vc_chat_bad(c, "must be a list, not %s", vc_json_type_name(tools));
    json_t *list = json_array();
    vc_status s = list ? VC_OK : vc_chat_no_memory(c);
    for (size_t i = 0; s == VC_OK && i < json_array_size(tools); i++) {
        size_t at = vc_chat_down(c, "[%zu]", i);
        s = one_tool(c, list, json_array_get(tools, i), how);
        if (s == VC_OK) vc_chat_up(c, at);
    }
    if (s == VC_OK) *out = list;
    else json_decref(list);
    return s;
}

vc_status vc_chat_tools(json_t **out, const json_t *tools, struct vc_chat_fault *fault, vc_err *err) {
    struct vc_chat_fault none;
    struct vc_chat_at c = { .fault = fault ? fault : &none, .err = err };
    c.fault->path[0] = '\0';
    vc_chat_down(&c, "tools");
    return vc_chat_tools_at(&c, out, tools, VC_CHAT_TOOLS_FILLED);
}

/* ---- variables ---- */
/* Copies members of `from`; of a request null and "auto" mean that the default holds. */
static vc_status merge(struct vc_chat_at *c, json_t *into, const json_t *from, bool request) {
    json_t *o = (json_t *)(uintptr_t)from;      /* jansson's iterators take no const */
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        json_t *v = json_object_iter_value(it);
        if (request && (!strcmp(key, "chat_template") || !strcmp(key, "tokenize"))) {
            vc_chat_down(c, ".%s", key);
            return vc_chat_bad(c, "Found unexpected chat template kwargs from request: {'%s'}", key);
        }
        if (request && (json_is_null(v) || (json_is_string(v) && !strcmp(json_string_value(v), "auto")))) continue;
        if (json_object_setn(into, key, json_object_iter_key_len(it), v)) return vc_chat_no_memory(c);
    }
    return VC_OK;
}

vc_status vc_chat_kwargs(json_t **out, const json_t *defaults, const json_t *request, const char *reasoning_effort,
                         struct vc_chat_fault *fault, vc_err *err) {
    struct vc_chat_fault none;
    struct vc_chat_at c = { .fault = fault ? fault : &none, .err = err };
    *out = NULL;
    c.fault->path[0] = '\0';
    vc_chat_down(&c, "chat_template_kwargs");
    if (request && !json_is_object(request) && !json_is_null(request))
        return vc_chat_bad(&c, "must be an object, not %s", vc_json_type_name(request));
    json_t *o = json_object();
    vc_status s = o ? VC_OK : vc_chat_no_memory(&c);
    if (s == VC_OK && json_is_object(defaults)) s = merge(&c, o, defaults, false);
    if (s == VC_OK && json_is_object(request)) s = merge(&c, o, request, true);
    if (s == VC_OK && reasoning_effort && *reasoning_effort) {
        s = vc_chat_set(&c, o, "reasoning_effort", json_string(reasoning_effort));
        if (s == VC_OK && !json_object_get(request, "enable_thinking"))
            s = vc_chat_set(&c, o, "enable_thinking", json_boolean(strcmp(reasoning_effort, "none") != 0));
    }
    if (s == VC_OK) *out = o;
    else json_decref(o);
    return s;
}

/* ---- the developer role ---- */
static bool has_role(const json_t *msg, const char *role) {
    return !strcmp(json_string_value(json_object_get(msg, "role")), role);
}

/* Text of a system message: a string, or the texts of its parts joined. */
static json_t *system_text(const json_t *msg) {
    json_t *content = json_object_get(msg, "content");
    return json_is_array(content) ? vc_chat_joined(content) : json_incref(content);
}

/* All system messages as one, at the front, empty ones left out, joined by an empty line. */
static vc_status join_systems(struct vc_chat_at *c, json_t *messages) {
    struct vc_buf b = { 0 };
    for (size_t i = 0; i < json_array_size(messages);) {
        const json_t *msg = json_array_get(messages, i);
        if (!has_role(msg, "system")) {
            i++;
            continue;
        }
        json_t *text = system_text(msg);
        if (json_string_length(text)) {
            if (b.n) vc_buf_adds(&b, "\n\n");
            vc_buf_add(&b, json_string_value(text), json_string_length(text));
        }
        json_decref(text);
        json_array_remove(messages, i);
    }
    json_t *text = b.failed ? NULL : json_stringn(b.p ? b.p : "", b.n);
    vc_buf_free(&b);
    json_t *msg = text ? json_pack("{s:s, s:o}", "role", "system", "content", text) : NULL;
    return !msg || json_array_insert_new(messages, 0, msg) ? vc_chat_no_memory(c) : VC_OK;
}

/* For templates that don't know the developer role: such messages become system messages, and all system messages one.
 */
vc_status vc_chat_fold_developer(struct vc_chat_at *c, json_t *messages) {
    bool any = false, move = false;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *msg = json_array_get(messages, i);
        if (has_role(msg, "developer")) {
            any = true;
            VC_TRY(vc_chat_set(c, msg, "role", json_string("system")));
            json_object_del(msg, "tools");
        }
        move = move || (i > 0 && has_role(msg, "system"));
    }
    return any && move ? join_systems(c, messages) : VC_OK;
}

struct vc_chat_style vc_chat_style_of(const struct vc_template *t, const char *model_name) {
    return (struct vc_chat_style){ vc_template_content_format(t), vc_template_knows_developer(t), model_name };
}
