/* SPDX-License-Identifier: Apache-2.0
 * schema_check.c: does a given value fulfil a goal? Used for the values of enum and const, and for names of properties:
 * there every keyword is exact, whatever a grammar can say. Depth is bounded by that of the JSON texts. */
#include <stdlib.h>

#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"
#include "text/gram/schema_format.h"

enum { DEPTH_MAX = 1500 };

/* A pattern or format as a matcher of its own. */
struct vc_schema_matcher {
    struct vc_schema_matcher *next;
    vc_str pattern;
    bool whole;
    struct vc_grammar *g;
    struct vc_matcher *m;
};

static vc_status compile(struct vc_schema_cx *cx, uint32_t node, enum vc_schema_keyword k,
                         struct vc_schema_matcher *m) {
    struct vc_gram *g = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_gram_new(&g, NULL, &err);
    vc_gram_node rx = 0;
    if (s == VC_OK)
        rx = vc_gram_regex(g, m->pattern.p, m->pattern.n, VC_GRAM_RX_ECMA | (m->whole ? 0 : VC_GRAM_RX_SEARCH), &err);
    if (s == VC_OK && !rx) s = err.status != VC_OK ? err.status : VC_E_INVALID;
    if (s == VC_OK) s = vc_gram_compile(g, rx, &err);
    if (s == VC_OK) s = vc_gram_finish(&m->g, g, &err);
    else vc_gram_del(g);
    if (s == VC_OK) s = vc_matcher_new(&m->m, m->g, NULL, &err);
    return s == VC_OK ? VC_OK : vc_schema_fail(cx->doc, s, node, k, "%s", err.text);
}

vc_status vc_schema_search(struct vc_schema_cx *cx, uint32_t node, enum vc_schema_keyword k, vc_str pattern, bool whole,
                           vc_str text, bool *found) {
    struct vc_schema_matcher *m = cx->matchers;
    while (m && (m->whole != whole || !vc_str_eq(m->pattern, pattern))) m = m->next;
    if (!m) {
        m = VC_NEW(&cx->arena, struct vc_schema_matcher);
        if (!m) return vc_schema_memory(cx);
        m->pattern = pattern;
        m->whole = whole;
        m->next = cx->matchers;
        cx->matchers = m;
        VC_TRY(compile(cx, node, k, m));
    }
    if (!m->m) return vc_schema_fail(cx->doc, VC_E_INVALID, node, k, "the pattern cannot be used");
    vc_matcher_reset(m->m);
    *found = vc_matcher_accept_bytes(m->m, text.p, text.n) && vc_matcher_accepting(m->m);
    return VC_OK;
}

void vc_schema_matchers_free(struct vc_schema_cx *cx) {
    for (struct vc_schema_matcher *m = cx->matchers; m; m = m->next) {
        vc_matcher_del(m->m);
        vc_grammar_unref(m->g);
    }
    cx->matchers = NULL;
}

static vc_status node_valid(struct vc_schema_cx *cx, uint32_t node, const json_t *v, uint32_t depth, bool *ok);

/* ok = ok and what fn finds, which is not asked once ok is false. */
static vc_status also(struct vc_schema_cx *cx, uint32_t node, const json_t *v, uint32_t depth, bool *ok) {
    return *ok && node ? node_valid(cx, node, v, depth + 1, ok) : VC_OK;
}

static unsigned kind_of(const json_t *v, const struct vc_dec *d) {
    switch (json_typeof(v)) {
    case JSON_NULL: return VC_ST_NULL;
    case JSON_TRUE: return VC_ST_TRUE;
    case JSON_FALSE: return VC_ST_FALSE;
    case JSON_STRING: return VC_ST_STRING;
    case JSON_ARRAY: return VC_ST_ARRAY;
    case JSON_OBJECT: return VC_ST_OBJECT;
    default: return vc_dec_is_int(d) ? VC_ST_INT : VC_ST_FRAC;
    }
}

/* Equal as JSON Schema counts: 1 is 1.0. */
static bool equal(struct vc_schema_cx *cx, const json_t *a, const json_t *b, uint32_t depth) {
    if (a == b) return true;
    if (json_is_number(a) && json_is_number(b)) {
        struct vc_dec x, y;
        return vc_dec_from_json(&x, a, &cx->arena) && vc_dec_from_json(&y, b, &cx->arena) && vc_dec_cmp(&x, &y) == 0;
    }
    if (json_typeof(a) != json_typeof(b) || depth > DEPTH_MAX) return false;
    if (json_is_array(a)) {
        size_t n = json_array_size(a);
        bool same = n == json_array_size(b);
        for (size_t i = 0; i < n && same; i++) same = equal(cx, json_array_get(a, i), json_array_get(b, i), depth + 1);
        return same;
    }
    if (json_is_object(a)) {
        const char *name;
        size_t len;
        json_t *v;
        bool same = json_object_size(a) == json_object_size(b);
        json_object_keylen_foreach((json_t *)(uintptr_t)a, name, len, v) {
            const json_t *other = same ? json_object_getn(b, name, len) : NULL;
            same = other && equal(cx, v, other, depth + 1);
        }
        return same;
    }
    return json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b);
}

static bool value_valid(struct vc_schema_cx *cx, const struct vc_schema_node *n, const json_t *v) {
    if (vc_schema_has(n, VC_KW_CONST) && !equal(cx, n->value, v, 0)) return false;
    if (!vc_schema_has(n, VC_KW_ENUM)) return true;
    const json_t *list = json_object_get(n->json, "enum");
    if (json_array_get(list, cx->hint) == v) return true;    /* one of its own values, the usual case */
    for (size_t i = 0; i < json_array_size(list); i++)
        if (equal(cx, json_array_get(list, i), v, 0)) return true;
    return false;
}

static bool number_valid(const struct vc_schema_node *n, const struct vc_dec *d) {
    if (vc_schema_has(n, VC_KW_MINIMUM) && vc_dec_cmp(d, &n->num[VC_SN_MINIMUM]) < 0) return false;
    if (vc_schema_has(n, VC_KW_MAXIMUM) && vc_dec_cmp(d, &n->num[VC_SN_MAXIMUM]) > 0) return false;
    if (vc_schema_has(n, VC_KW_EXCLUSIVE_MINIMUM) && vc_dec_cmp(d, &n->num[VC_SN_ABOVE]) <= 0) return false;
    if (vc_schema_has(n, VC_KW_EXCLUSIVE_MAXIMUM) && vc_dec_cmp(d, &n->num[VC_SN_BELOW]) >= 0) return false;
    return !vc_schema_has(n, VC_KW_MULTIPLE_OF) || vc_dec_multiple(d, &n->num[VC_SN_MULTIPLE]);
}

static bool within(const struct vc_schema_node *n, enum vc_schema_keyword lo, int min, enum vc_schema_keyword hi,
                   int max, size_t count) {
    return (!vc_schema_has(n, lo) || count >= n->count[min]) &&
           (!vc_schema_has(n, hi) || n->count[max] == UINT32_MAX || count <= n->count[max]);
}

static vc_status string_valid(struct vc_schema_cx *cx, uint32_t node, const json_t *v, bool *ok) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    vc_str s = { json_string_value(v), json_string_length(v) };
    size_t chars = 0;
    for (size_t i = 0; i < s.n; i++) chars += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    *ok = within(n, VC_KW_MIN_LENGTH, VC_SC_MIN_LENGTH, VC_KW_MAX_LENGTH, VC_SC_MAX_LENGTH, chars);
    if (*ok && n->format >= 0) *ok = chars <= vc_schema_format_max(n->format);
    if (*ok && n->format >= 0)
        VC_TRY(vc_schema_search(cx, node, VC_KW_FORMAT, vc_schema_format_regex(n->format), true, s, ok));
    if (*ok && vc_schema_has(n, VC_KW_PATTERN))
        VC_TRY(vc_schema_search(cx, node, VC_KW_PATTERN, n->pattern, false, s, ok));
    return VC_OK;
}

static vc_status array_valid(struct vc_schema_cx *cx, uint32_t node, const json_t *v, uint32_t depth, bool *ok) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    size_t len = json_array_size(v), found = 0;
    *ok = within(n, VC_KW_MIN_ITEMS, VC_SC_MIN_ITEMS, VC_KW_MAX_ITEMS, VC_SC_MAX_ITEMS, len);
    for (size_t i = 0; i < len && *ok; i++) {
        const json_t *e = json_array_get(v, i);
        uint32_t rest = n->items ? n->items : n->unevaluated_items;
        VC_TRY(also(cx, i < n->prefix.n ? n->prefix.v[i] : rest, e, depth, ok));
        for (size_t j = 0; j < i && *ok && n->unique; j++) *ok = !equal(cx, e, json_array_get(v, j), depth);
        bool in = true;
        if (n->contains) VC_TRY(also(cx, n->contains, e, depth, &in));
        found += in;
    }
    if (*ok && n->contains) {
        size_t min = vc_schema_has(n, VC_KW_MIN_CONTAINS) ? n->count[VC_SC_MIN_CONTAINS] : 1;
        *ok = found >= min && within(n, VC_KW_NONE, 0, VC_KW_MAX_CONTAINS, VC_SC_MAX_CONTAINS, found);
    }
    return VC_OK;
}

static vc_status member_valid(struct vc_schema_cx *cx, uint32_t node, vc_str name, const json_t *v, uint32_t depth,
                              bool *ok) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    bool listed = false;
    for (uint32_t i = 0; i < n->properties.n && *ok; i++) {
        if (!vc_str_eq(n->properties.v[i].name, name)) continue;
        listed = true;
        VC_TRY(also(cx, n->properties.v[i].node, v, depth, ok));
    }
    for (uint32_t i = 0; i < n->patterns.n && *ok; i++) {
        bool match;
        VC_TRY(vc_schema_search(cx, node, VC_KW_PATTERN_PROPERTIES, n->patterns.v[i].name, false, name, &match));
        if (!match) continue;
        listed = true;
        VC_TRY(also(cx, n->patterns.v[i].node, v, depth, ok));
    }
    if (!listed) VC_TRY(also(cx, n->additional ? n->additional : n->unevaluated, v, depth, ok));
    if (*ok && n->names) {
        json_t *s = json_stringn(name.p, name.n);
        vc_status st = s ? also(cx, n->names, s, depth, ok) : vc_schema_memory(cx);
        json_decref(s);
        return st;
    }
    return VC_OK;
}

static vc_status object_valid(struct vc_schema_cx *cx, uint32_t node, const json_t *v, uint32_t depth, bool *ok) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    const char *name;
    size_t len;
    json_t *e;
    *ok = within(n, VC_KW_MIN_PROPERTIES, VC_SC_MIN_PROPERTIES, VC_KW_MAX_PROPERTIES, VC_SC_MAX_PROPERTIES,
                 json_object_size(v));
    for (uint32_t i = 0; i < n->num_required && *ok; i++)
        *ok = json_object_getn(v, n->required[i].p, n->required[i].n) != NULL;
    for (uint32_t i = 0; i < n->num_needs; i++) {
        bool there = json_object_getn(v, n->needs[i].name.p, n->needs[i].name.n) != NULL;
        for (uint32_t j = 0; j < n->needs[i].n && *ok && there; j++)
            *ok = json_object_getn(v, n->needs[i].v[j].p, n->needs[i].v[j].n) != NULL;
    }
    for (uint32_t i = 0; i < n->dependent.n && *ok; i++)
        if (json_object_getn(v, n->dependent.v[i].name.p, n->dependent.v[i].name.n))
            VC_TRY(also(cx, n->dependent.v[i].node, v, depth, ok));
    json_object_keylen_foreach((json_t *)(uintptr_t)v, name, len, e) {
        if (*ok) VC_TRY(member_valid(cx, node, (vc_str){ name, len }, e, depth, ok));
    }
    return VC_OK;
}

static vc_status places_valid(struct vc_schema_cx *cx, const struct vc_schema_node *n, const json_t *v, uint32_t depth,
                              bool *ok) {
    uint32_t any = 0, one = 0;
    for (uint32_t i = 0; i < n->all.n && *ok; i++) VC_TRY(also(cx, n->all.v[i], v, depth, ok));
    VC_TRY(also(cx, n->target, v, depth, ok));
    for (uint32_t i = 0; i < n->any.n && *ok && !any; i++) {
        bool in = true;
        VC_TRY(also(cx, n->any.v[i], v, depth, &in));
        any += in;
    }
    for (uint32_t i = 0; i < n->one.n && *ok && one < 2; i++) {
        bool in = true;
        VC_TRY(also(cx, n->one.v[i], v, depth, &in));
        one += in;
    }
    *ok = *ok && (!n->any.n || any) && (!n->one.n || one == 1);
    if (*ok && n->not_) {
        bool in = true;
        VC_TRY(also(cx, n->not_, v, depth, &in));
        *ok = !in;
    }
    if (*ok && n->if_) {
        bool in = true;
        VC_TRY(also(cx, n->if_, v, depth, &in));
        VC_TRY(also(cx, in ? n->then_ : n->else_, v, depth, ok));
    }
    return VC_OK;
}

static vc_status node_valid(struct vc_schema_cx *cx, uint32_t node, const json_t *v, uint32_t depth, bool *ok) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    struct vc_dec d = { 0 };
    if (depth > DEPTH_MAX) return vc_schema_fail(cx->doc, VC_E_UNSUPPORTED, node, VC_KW_NONE, "nested too deeply");
    if (json_is_number(v) && !vc_dec_from_json(&d, v, &cx->arena)) return vc_schema_memory(cx);
    *ok = (n->types & kind_of(v, &d)) && value_valid(cx, n, v);
    if (*ok && json_is_number(v)) *ok = number_valid(n, &d);
    if (*ok && json_is_string(v)) VC_TRY(string_valid(cx, node, v, ok));
    if (*ok && json_is_array(v)) VC_TRY(array_valid(cx, node, v, depth, ok));
    if (*ok && json_is_object(v)) VC_TRY(object_valid(cx, node, v, depth, ok));
    return places_valid(cx, n, v, depth, ok);
}

vc_status vc_schema_valid(struct vc_schema_cx *cx, const struct vc_goal *goal, const json_t *v, bool *valid) {
    *valid = true;
    for (uint32_t i = 0; i < goal->n && *valid; i++) {
        bool in = true;
        VC_TRY(node_valid(cx, goal->lit[i] >> 1, v, 0, &in));
        *valid = goal->lit[i] & 1 ? !in : in;
    }
    return VC_OK;
}
