/* SPDX-License-Identifier: Apache-2.0
 * schema_build.c: JSON Schema to grammar. Scalars are built in place, arrays and objects are rules, whose bodies are
 * made one after the other from a queue, so that neither nesting nor recursion of the schema is one of this program. */
#include "text/gram/schema_build.h"

#include <stdlib.h>
#include <string.h>

#include "text/gram/schema_fact.h"
#include "text/gram/tag_build.h"

/* Of one clause: a way for each kind of value. */
static vc_status clause_node(struct vc_schema_cx *cx, const struct vc_goal *goal, const struct vc_clause *c,
                             vc_gram_node *out) {
    static const struct {
        unsigned bit;
        const char *text;
    } word[] = { { VC_ST_NULL, "null" }, { VC_ST_TRUE, "true" }, { VC_ST_FALSE, "false" } };
    static const struct {
        unsigned bits;
        vc_status (*fn)(struct vc_schema_cx *, const struct vc_clause *, vc_gram_node *);
    } kind[] = {
        { VC_ST_NUMBER, vc_schema_number },
        { VC_ST_STRING, vc_schema_string },
        { VC_ST_ARRAY, vc_schema_array },
        { VC_ST_OBJECT, vc_schema_object },
    };
    size_t values = c->values ? vc_schema_num_values(cx, c) : 0, n = 0;
    vc_gram_node *way = VC_NEW_ARRAY(&cx->arena, vc_gram_node, values + 8);
    if (!way) return vc_schema_memory(cx);
    for (size_t i = 0; i < values; i++) {
        bool valid;
        cx->hint = i;
        VC_TRY(vc_schema_valid(cx, goal, vc_schema_value_at(cx, c, i), &valid));
        if (!vc_gram_in_time(cx->g)) return vc_gram_status(cx->g, cx->doc->err);
        if (valid) way[n++] = vc_schema_json_value(cx, vc_schema_value_at(cx, c, i));
    }
    for (size_t i = 0; i < VC_ARRAY_LEN(word) && !c->values; i++)
        if (c->types & word[i].bit) way[n++] = vc_gram_text(cx->g, word[i].text, strlen(word[i].text));
    for (size_t i = 0; i < VC_ARRAY_LEN(kind) && !c->values; i++)
        if (c->types & kind[i].bits) VC_TRY(kind[i].fn(cx, c, &way[n++]));
    *out = vc_gram_alt(cx->g, way, n);
    return VC_OK;
}

static vc_status goal_body(struct vc_schema_cx *cx, const struct vc_goal *goal, vc_gram_node *out) {
    size_t n = 0, k = 0;
    for (const struct vc_clause *c = goal->clauses; c; c = c->next) n++;
    vc_gram_node *way = VC_NEW_ARRAY(&cx->arena, vc_gram_node, n + 1);
    if (!way) return vc_schema_memory(cx);
    for (const struct vc_clause *c = goal->clauses; c; c = c->next) VC_TRY(clause_node(cx, goal, c, &way[k++]));
    *out = vc_gram_alt(cx->g, way, n);
    return *out ? VC_OK : vc_gram_status(cx->g, cx->doc->err);
}

vc_status vc_schema_goal_node(struct vc_schema_cx *cx, struct vc_goal *goal, vc_gram_node *out) {
    if (!goal->node) {
        bool nested = false;
        VC_TRY(vc_schema_expand(cx, goal));
        VC_TRY(vc_schema_refused(cx, goal));
        for (const struct vc_clause *c = goal->clauses; c && !nested; c = c->next)
            nested = !c->values && c->types & (VC_ST_ARRAY | VC_ST_OBJECT);
        if (nested) {
            goal->node = vc_gram_rule(cx->g);
            *cx->queue_end = goal;
            cx->queue_end = &goal->next;
        } else {
            VC_TRY(goal_body(cx, goal, &goal->node));
        }
    }
    *out = goal->node;
    return *out ? VC_OK : vc_gram_status(cx->g, cx->doc->err);
}

static vc_gram_node blanks(struct vc_gram *g, int whitespace) {
    static const struct vc_gram_range range[] = { { ' ', ' ' }, { '\t', '\n' }, { '\r', '\r' } };
    if (!whitespace) return vc_gram_text(g, "", 0);
    return vc_gram_repeat(g, vc_gram_class(g, range, VC_ARRAY_LEN(range), false), 0,
                          whitespace < 0 ? VC_GRAM_INF : (uint32_t)whitespace);
}

/* A character of a string that has no limits: what JSON's own grammar allows, \u with half of a surrogate pair too. */
static vc_gram_node loose(struct vc_gram *g) {
    static const char escape[] = "\\\\(?:[\"\\\\/bfnrt]|u[0-9A-Fa-f]{4})";
    static const struct vc_gram_range not[] = { { 0, 31 }, { '"', '"' }, { '\\', '\\' } };
    return vc_gram_alt2(g, vc_gram_class(g, not, VC_ARRAY_LEN(not ), true),
                        vc_gram_regex(g, escape, sizeof escape - 1, 0, NULL));
}

static void tokens(struct vc_schema_cx *cx, int whitespace) {
    struct vc_gram *g = cx->g;
    cx->ws = blanks(g, whitespace);
    cx->comma = vc_gram_seq(g, (vc_gram_node[]){ cx->ws, vc_gram_text(g, ",", 1), cx->ws }, 3);
    cx->colon = vc_gram_seq(g, (vc_gram_node[]){ cx->ws, vc_gram_text(g, ":", 1), cx->ws }, 3);
    cx->loose_char = loose(g);
    cx->any_char = vc_gram_json_class(g, NULL, 0, true, true);
    cx->plain_char = vc_gram_json_class(g, NULL, 0, true, false);
}

static vc_status build(struct vc_schema_cx *cx, vc_gram_node *root) {
    bool empty;
    struct vc_goal *goal = vc_schema_goal(cx, (uint32_t[]){ VC_LIT(1) }, 1);
    VC_TRY(vc_schema_acyclic(cx->doc));
    VC_TRY(vc_schema_empty(cx, goal, &empty));
    if (empty) return vc_schema_fail(cx->doc, VC_E_INVALID, 1, VC_KW_NONE, "no value can fulfil the schema");
    VC_TRY(vc_schema_goal_node(cx, goal, root));
    while (cx->queue) {
        struct vc_goal *next = cx->queue;
        vc_gram_node body;
        cx->queue = next->next;
        if (!cx->queue) cx->queue_end = &cx->queue;
        VC_TRY(goal_body(cx, next, &body));
        vc_gram_define(cx->g, next->node, body);
        if (!vc_gram_in_time(cx->g)) return vc_gram_status(cx->g, cx->doc->err);
    }
    return VC_OK;
}

vc_status vc_schema_node_of(struct vc_gram *g, struct vc_schema_doc *doc, int whitespace, vc_gram_node *root) {
    struct vc_schema_cx cx = { .doc = doc, .g = g };
    cx.queue_end = &cx.queue;
    tokens(&cx, whitespace);
    vc_status s = build(&cx, root);
    if (s == VC_OK && cx.arena.failed) s = vc_schema_memory(&cx);
    vc_schema_matchers_free(&cx);
    free(cx.goal);
    vc_arena_free(&cx.arena);
    return s;
}

vc_status vc_schema_build(struct vc_gram *g, enum vc_grammar_kind kind, const char *spec, size_t n, int whitespace,
                          vc_gram_node *root, struct vc_grammar_where *where, vc_err *err) {
    static const char object[] = "{\"type\":\"object\"}";
    struct vc_schema_doc doc = { 0 };
    if (kind == VC_GRAMMAR_STRUCTURAL_TAG) return vc_tag_build(g, spec, n, whitespace, root, where, err);
    if (kind == VC_GRAMMAR_JSON_OBJECT) {
        spec = object;
        n = sizeof object - 1;
    }
    vc_status s = vc_schema_doc_read(&doc, spec, n, where, err);
    if (s == VC_OK) s = vc_schema_node_of(g, &doc, whitespace, root);
    vc_schema_doc_free(&doc);
    return s;
}
