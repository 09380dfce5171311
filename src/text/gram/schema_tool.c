/* SPDX-License-Identifier: Apache-2.0
 * schema_tool.c: tools to the schema of their calls. */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "text/tool_schema.h"

/* The function object of entry i. */
static vc_status function_of(const json_t *tools, size_t i, const json_t **out, vc_err *err) {
    const json_t *tool = json_array_get(tools, i), *f = json_object_get(tool, "function"),
                 *p = json_object_get(f, "parameters");
    const char *name = json_string_value(json_object_get(f, "name"));
    if (!json_is_object(f)) return vc_fail(err, VC_E_INVALID, "tools[%zu]: function: must be an object", i);
    if (!name || !*name) return vc_fail(err, VC_E_INVALID, "tools[%zu].function: name: must be a string, not empty", i);
    if (p && !json_is_object(p) && !json_is_null(p))
        return vc_fail(err, VC_E_INVALID, "tools[%zu].function: parameters: must be an object", i);
    *out = f;
    return VC_OK;
}

/* A copy of the parameters as a resource of its own, so that "#" in a reference is this schema. */
static json_t *parameters_of(const json_t *f, size_t i) {
    json_t *p = json_object_get(f, "parameters");
    json_t *copy = json_is_object(p) ? json_copy(p) : json_pack("{s:s, s:{}}", "type", "object", "properties");
    if (copy && !json_object_get(copy, "$id") && json_object_set_new(copy, "$id", json_sprintf("tool:%zu", i))) {
        json_decref(copy);
        copy = NULL;
    }
    return copy;
}

static json_t *call_of(const json_t *f, size_t i) {
    return json_pack("{s:s, s:{s:{s:O}, s:o}, s:[s,s], s:b}", "type", "object", "properties", "name", "const",
                     json_object_get(f, "name"), "parameters", parameters_of(f, i), "required", "name", "parameters",
                     "additionalProperties", 0);
}

static vc_status named(const json_t *tools, const char *name, json_t **out, vc_err *err) {
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *f;
        VC_TRY(function_of(tools, i, &f, err));
        if (strcmp(json_string_value(json_object_get(f, "name")), name) != 0) continue;
        *out = parameters_of(f, i);
        return VC_OK;
    }
    return vc_fail(err, VC_E_INVALID, "tool_choice: no tool has the name \"%.100s\"", name);
}

static vc_status required(const json_t *tools, int flags, json_t **out, vc_err *err) {
    json_t *calls = json_array();
    vc_status s = calls ? VC_OK : vc_fail(err, VC_E_NOMEM, "tools: out of memory");
    for (size_t i = 0; s == VC_OK && i < json_array_size(tools); i++) {
        const json_t *f = NULL;
        s = function_of(tools, i, &f, err);
        if (s == VC_OK && json_array_append_new(calls, call_of(f, i)))
            s = vc_fail(err, VC_E_NOMEM, "tools: out of memory");
    }
    if (s == VC_OK) *out = json_pack("{s:s, s:i, s:{s:O}}", "type", "array", "minItems", 1, "items", "anyOf", calls);
    if (s == VC_OK && *out && flags & VC_TOOL_ONE_CALL) (void)json_object_set_new(*out, "maxItems", json_integer(1));
    json_decref(calls);
    return s;
}

vc_status vc_schema_tool_call(struct vc_buf *spec, const char *tools, size_t n, const char *name, int flags,
                              vc_err *err) {
    json_t *list = NULL, *schema = NULL;
    vc_status s = vc_json_parse(&list, tools, n, "tools", err);
    if (s == VC_OK && !json_array_size(list)) s = vc_fail(err, VC_E_INVALID, "tools: must be a list, not empty");
    if (s == VC_OK) s = name ? named(list, name, &schema, err) : required(list, flags, &schema, err);
    char *text = s == VC_OK && schema ? json_dumps(schema, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (s == VC_OK && !text) s = vc_fail(err, VC_E_NOMEM, "tools: out of memory");
    if (text) vc_buf_adds(spec, text);
    free(text);
    json_decref(schema);
    json_decref(list);
    return s;
}
