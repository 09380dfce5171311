/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of parameters, as vLLM reads them from a tool's schema, and text made a value of one of them: null, integer,
 * number, boolean, object, array, string are tried in this order; what fits none is JSON if it can be, else a string.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/json_out.h"
#include "text/parse/parse_int.h"

enum { MAX_NEST = 8, MAX_NUMBER = 400 };

static const char *const names[] = {
    [VC_TY_NULL] = "null", [VC_TY_INT] = "integer", [VC_TY_NUM] = "number", [VC_TY_BOOL] = "boolean",
    [VC_TY_OBJ] = "object", [VC_TY_ARR] = "array", [VC_TY_STR] = "string",
};
static const struct { const char *alias; uint8_t type; } aliases[] = {
    { "int", VC_TY_INT },  { "float", VC_TY_NUM },  { "double", VC_TY_NUM }, { "bool", VC_TY_BOOL },
    { "dict", VC_TY_OBJ }, { "list", VC_TY_ARR },   { "str", VC_TY_STR },    { "text", VC_TY_STR },
};

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c | 32 : c); }

static bool is_word(vc_str s, const char *word) {
    size_t n = strlen(word);
    if (s.n != n) return false;
    for (size_t i = 0; i < n; i++) {
        if (lower(s.p[i]) != word[i]) return false;
    }
    return true;
}

static uint32_t type_named(const char *s, size_t n) {
    vc_str t = vc_pp_trim(s, n);
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++) {
        if (is_word(t, names[i])) return 1u << i;
    }
    for (size_t i = 0; i < VC_ARRAY_LEN(aliases); i++) {
        if (is_word(t, aliases[i].alias)) return 1u << aliases[i].type;
    }
    return 1u << VC_TY_UNKNOWN;
}

static uint32_t type_of(const json_t *v) {
    switch (json_typeof(v)) {
    case JSON_NULL: return 1u << VC_TY_NULL;
    case JSON_TRUE:
    case JSON_FALSE: return 1u << VC_TY_BOOL;
    case JSON_INTEGER: return 1u << VC_TY_INT;
    case JSON_REAL: return 1u << VC_TY_NUM;
    case JSON_STRING: return 1u << VC_TY_STR;
    case JSON_ARRAY: return 1u << VC_TY_ARR;
    default: return 1u << VC_TY_OBJ;
    }
}

static uint32_t schema_types(const json_t *schema, int nest) {
    static const char *const choices[] = { "anyOf", "oneOf", "allOf" };
    const uint32_t string = 1u << VC_TY_STR;
    if (!json_is_object(schema) || nest == MAX_NEST) return string;
    uint32_t m = 0;
    size_t i;
    const json_t *v, *t = json_object_get(schema, "type");
    if (json_is_string(t)) m |= type_named(json_string_value(t), json_string_length(t));
    json_array_foreach(t, i, v) {
        if (json_is_string(v)) m |= type_named(json_string_value(v), json_string_length(v));
    }
    json_array_foreach(json_object_get(schema, "enum"), i, v) m |= type_of(v);
    for (size_t c = 0; c < VC_ARRAY_LEN(choices); c++) {
        json_array_foreach(json_object_get(schema, choices[c]), i, v) m |= schema_types(v, nest + 1);
    }
    return m ? m : string;
}

const json_t *vc_schema_props(const json_t *tools, const char *name, size_t n, bool *known) {
    size_t i;
    const json_t *t;
    *known = false;
    json_array_foreach(tools, i, t) {
        const json_t *f = json_object_get(t, "function");
        if (!f) f = t;
        const json_t *have = json_object_get(f, "name");
        if (!json_is_string(have) || json_string_length(have) != n) continue;
        if (memcmp(json_string_value(have), name, n)) continue;
        *known = true;
        const json_t *p = json_object_get(json_object_get(f, "parameters"), "properties");
        return json_is_object(p) ? p : NULL;
    }
    return NULL;
}

uint32_t vc_schema_types(const json_t *props, const char *key, size_t n) {
    return schema_types(n ? json_object_getn(props, key, n) : NULL, 0);
}

bool vc_json_is_value(const char *s, size_t n, int *kind) {
    struct vc_jscan j;
    vc_jscan_init(&j);
    vc_str t = vc_pp_trim(s, n);
    for (size_t i = 0; i < t.n; i++) {
        if (!vc_jscan_byte(&j, t.p[i])) return false;
    }
    if (!vc_jscan_whole(&j)) return false;
    if (kind) {
        char c = t.p[0];
        *kind = c == '{' ? VC_TY_OBJ : c == '[' ? VC_TY_ARR : c == '"' ? VC_TY_STR : c == 'n' ? VC_TY_NULL
              : c == 't' || c == 'f' ? VC_TY_BOOL : VC_TY_NUM;
    }
    return true;
}

/* Digits with single underscores between them, as Python takes them, without the underscores. */
static bool clean_number(vc_str t, char out[MAX_NUMBER + 1]) {
    size_t k = 0;
    if (!t.n || t.n > MAX_NUMBER) return false;
    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i];
        if (c == '_') {
            bool between = i && i + 1 < t.n && strchr("0123456789", t.p[i - 1]) && strchr("0123456789", t.p[i + 1]);
            if (!between) return false;
            continue;
        }
        if (!c || !strchr("0123456789+-.eE", c)) return false;
        out[k++] = c;
    }
    out[k] = '\0';
    return true;
}

static bool integer(struct vc_buf *out, vc_str text) {
    char t[MAX_NUMBER + 1];
    if (!clean_number(text, t)) return false;
    const char *s = t;
    bool neg = *s == '-';
    if (*s == '-' || *s == '+') s++;
    if (!*s || strspn(s, "0123456789") != strlen(s)) return false;
    while (s[0] == '0' && s[1]) s++;
    if (neg && strcmp(s, "0")) vc_buf_addc(out, '-');
    vc_buf_adds(out, s);
    return true;
}

static bool number(struct vc_buf *out, vc_str text) {
    char t[MAX_NUMBER + 1], *end;
    if (!clean_number(text, t)) return false;
    double v = strtod(t, &end);
    if (end == t || *end || !isfinite(v)) return false;
    if (vc_json_is_value(t, strlen(t), NULL)) vc_buf_adds(out, t);
    else vc_json_add_f64(out, v);
    return true;
}

static bool boolean(struct vc_buf *out, vc_str t) {
    bool yes = is_word(t, "true") || is_word(t, "1"), no = is_word(t, "false") || is_word(t, "0");
    if (yes || no) vc_buf_adds(out, yes ? "true" : "false");
    return yes || no;
}

/* Every number in a JSON value is finite as a double: others have no value that JSON writers give back. */
static bool json_value(struct vc_buf *out, vc_str t, uint32_t kinds) {
    int kind;
    if (!vc_json_is_value(t.p, t.n, &kind) || !(kinds >> kind & 1)) return false;
    if (kind == VC_TY_NUM) return number(out, t);
    vc_buf_add(out, t.p, t.n);
    return true;
}

void vc_schema_value(struct vc_buf *out, const char *s, size_t n, uint32_t types) {
    vc_str t = vc_pp_trim(s, n), whole = { s ? s : "", n };
    const uint32_t obj = 1u << VC_TY_OBJ, arr = 1u << VC_TY_ARR;
    if ((types >> VC_TY_NULL & 1) && is_word(whole, "null")) {
        vc_buf_adds(out, "null");
        return;
    }
    if ((types >> VC_TY_INT & 1) && integer(out, t)) return;
    if ((types >> VC_TY_NUM & 1) && number(out, t)) return;
    if ((types >> VC_TY_BOOL & 1) && boolean(out, t)) return;
    if ((types & (obj | arr)) && json_value(out, t, obj | arr)) return;
    if (!(types >> VC_TY_STR & 1) && json_value(out, t, UINT32_MAX)) return;
    vc_json_add_str(out, s, n);
}
