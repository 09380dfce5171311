/* SPDX-License-Identifier: Apache-2.0
 * srv_constraint.c: response_format and structured_outputs, and the schema that required and named tool calls follow,
 * as a constraint of the request. What can't be enforced is refused by the engine's compiler, never let through. */
#include <stdlib.h>
#include <string.h>

#include "server/srv_gen.h"

/* Of response_format.type. */
static bool type_error(struct srv_gen *g, const char *type, const char *msg, const json_t *input) {
    char shown[128];
    return srv_refuse_value(g->call, "body.response_format.type", type, msg, srv_py_type(input, shown, sizeof shown));
}

/* The text of a spec: a string as it is, anything else as JSON. */
static bool set_text(struct srv_gen *g, const char *kind, const json_t *v) {
    free(g->constraint_text);
    const char *own = json_string_value(v);
    g->constraint_text = own ? strdup(own) : json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    g->rp.constraint_kind = kind;
    g->rp.constraint = g->constraint_text;
    return g->constraint_text ? true : srv_refuse(g->call, NULL, "out of memory");
}

static bool read_format(struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_RESPONSE_FORMAT];
    if (!v->given) return true;
    const json_t *type = json_object_get(v->json, "type"), *schema;
    const char *t = json_string_value(type);
    if (!type) return type_error(g, "missing", "Field required", v->json);
    if (!t) return type_error(g, "string_type", "Input should be a valid string", type);
    if (!strcmp(t, "text")) return true;
    if (!strcmp(t, "json_object")) {
        g->rp.constraint_kind = "json_object";
        g->rp.constraint = "";
        return true;
    }
    if (!strcmp(t, "structural_tag")) return set_text(g, "structural_tag", v->json);
    if (strcmp(t, "json_schema") != 0)
        return type_error(g, "literal_error",
                          "Input should be 'text', 'json_object', 'json_schema' or 'structural_tag'", type);
    schema = json_object_get(v->json, "json_schema");
    if (!json_is_object(schema))
        return srv_refuse_field(g->call, "response_format",
                                "When response_format type is 'json_schema', the 'json_schema' field must be "
                                "provided.");
    const json_t *inner = json_object_get(schema, "schema");
    if (!inner) inner = json_object_get(schema, "json_schema");
    if (!json_is_object(inner) && !json_is_boolean(inner))
        return srv_refuse_field(g->call, "response_format",
                                "response_format.json_schema.schema: expected a JSON schema.");
    return set_text(g, "json_schema", inner);
}

/* Is `spec` of the form that a constraint of this kind has? */
static bool check_spec(struct srv_gen *g, const char *kind, const json_t *spec) {
    bool text = !strcmp(kind, "regex") || !strcmp(kind, "grammar");
    if (!strcmp(kind, "choice") && !json_array_size(spec))
        return srv_refuse_field(g->call, "structured_outputs",
                                "structured_outputs.choice: expected a list of strings that is not empty.");
    if (text && (!json_is_string(spec) || strlen(json_string_value(spec)) != json_string_length(spec)))
        return srv_refuse_field(g->call, "structured_outputs",
                                "structured_outputs: expected a string without NUL characters.");
    return true;
}

static bool read_structured(struct srv_gen *g) {
    static const char *const kinds[][2] = {
        { "json", "json_schema" }, { "regex", "regex" },             { "choice", "choice" },
        { "grammar", "grammar" },  { "json_object", "json_object" }, { "structural_tag", "structural_tag" },
    };
    const struct srv_value *v = &g->f.v[SRV_F_STRUCTURED_OUTPUTS];
    const char *kind = NULL;
    const json_t *spec = NULL;
    unsigned found = 0;
    if (!v->given) return true;
    for (size_t i = 0; i < VC_ARRAY_LEN(kinds); i++) {
        const json_t *e = json_object_get(v->json, kinds[i][0]);
        if (!e || json_is_null(e) || json_is_false(e)) continue;
        kind = kinds[i][1];
        spec = e;
        found++;
    }
    if (found > 1 || (found && g->rp.constraint_kind))
        return srv_refuse_field(
            g->call, "structured_outputs",
            "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice').");
    if (json_is_true(json_object_get(v->json, "disable_any_whitespace"))) g->rp.constraint_whitespace = "compact";
    if (!found) return true;
    if (!check_spec(g, kind, spec)) return false;
    if (!strcmp(kind, "json_object")) {
        g->rp.constraint_kind = kind;
        g->rp.constraint = "";
        return true;
    }
    return set_text(g, kind, spec);
}

/* ---- tool calls that must come ---- */

static const json_t *function_of(const json_t *tool) { return json_object_get(tool, "function"); }

/* {"type": "object", "properties": {"name": {"const": NAME}, "parameters": SCHEMA}, "required": both, no others}; the
 * schema's own definitions move to `defs`, which references reach from the root. */
static json_t *call_schema(const json_t *fn, json_t *defs) {
    json_t *params = json_deep_copy(json_object_get(fn, "parameters"));
    if (!json_is_object(params)) {
        json_decref(params);
        params = json_pack("{s:s}", "type", "object");
    }
    json_t *own = json_object_get(params, "$defs");
    if (json_is_object(own)) json_object_update_missing(defs, own);
    json_object_del(params, "$defs");
    return json_pack("{s:s, s:{s:{s:O}, s:o}, s:[s, s], s:b}", "type", "object", "properties",
                     "name", "const", json_object_get(fn, "name"), "parameters", params,
                     "required", "name", "parameters", "additionalProperties", 0);
}

/* A list of at least one call of any tool. */
static json_t *calls_schema(const json_t *tools, bool one) {
    json_t *defs = json_object(), *any = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++)
        json_array_append_new(any, call_schema(function_of(json_array_get(tools, i)), defs));
    json_t *s = json_pack("{s:s, s:i, s:{s:o}}", "type", "array", "minItems", 1, "items", "anyOf", any);
    if (s && one) json_object_set_new(s, "maxItems", json_integer(1));
    if (s && json_object_size(defs)) json_object_set(s, "$defs", defs);
    json_decref(defs);
    return s;
}

static bool forced_calls(struct srv_gen *g) {
    const json_t *tools = g->f.v[SRV_F_TOOLS].json;
    const struct srv_value *parallel = &g->f.v[SRV_F_PARALLEL_TOOL_CALLS];
    bool ok = false;
    if (g->tools == SRV_TOOLS_REQUIRED) {
        json_t *schema = calls_schema(tools, parallel->given && !parallel->b);
        ok = schema && set_text(g, "json_schema", schema);
        json_decref(schema);
        return ok || srv_refuse(g->call, NULL, "out of memory");
    }
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *fn = function_of(json_array_get(tools, i)), *params = json_object_get(fn, "parameters");
        if (strcmp(json_string_value(json_object_get(fn, "name")), g->tool_name) != 0) continue;
        if (json_is_object(params)) return set_text(g, "json_schema", params);
        g->rp.constraint_kind = "json_object";
        g->rp.constraint = "";
        return true;
    }
    return true;
}

bool srv_gen_constraint(struct srv_gen *g) {
    if (g->call->srv->p.compact_json) g->rp.constraint_whitespace = "compact";
    if (!read_format(g) || !read_structured(g)) return false;
    if (g->tools < SRV_TOOLS_REQUIRED) return true;
    if (g->rp.constraint_kind)
        return srv_refuse_field(g->call, "response_format",
                                "response_format and structured_outputs cannot be used together with a required or "
                                "named tool.");
    return forced_calls(g);
}
