/* SPDX-License-Identifier: Apache-2.0
 * schema_object.c: objects. Members come in the order of `properties`, then names that only `required` knows, then
 * others. Optional members make no more than two ways per member: each place of the order has one node for "nothing was
 * written yet" and one for "a comma is due" (with minProperties or maxProperties: one per number of members so far). A
 * name that is not listed is spelt plainly and is none of the listed ones, so that no listed member can be written
 * twice. Others may be: so more than one of them is never counted on for minProperties. */
#include <string.h>

#include "io/json_out.h"
#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

enum { PATTERNS_MAX = 5, CELLS_MAX = 1000000 };

static uint32_t rest_of(const struct vc_schema_node *n) { return n->additional ? n->additional : n->unevaluated; }

static vc_status names_goal(struct vc_schema_cx *cx, const struct vc_clause *c, struct vc_goal **out) {
    struct vc_lits l = { NULL, 0, 0 };
    for (const struct vc_cell *o = c->objects; o; o = o->next)
        if (cx->doc->node[o->id].names && !vc_lits_add(cx, &l, VC_LIT(cx->doc->node[o->id].names)))
            return vc_schema_memory(cx);
    *out = vc_schema_goal(cx, l.v, l.n);
    return *out ? VC_OK : vc_schema_memory(cx);
}

/* What node o asks of the value under name. */
static vc_status node_lits(struct vc_schema_cx *cx, uint32_t o, vc_str name, struct vc_lits *l) {
    const struct vc_schema_node *n = &cx->doc->node[o];
    struct vc_buf key = { 0 };
    vc_buf_adds(&key, "properties");
    bool ok = vc_schema_pointer_add(&key, name);
    uint32_t own = ok && n->properties.n ? vc_schema_find(cx->doc, o, (vc_str){ key.p, key.n }) : 0;
    bool listed = own != 0;
    vc_buf_free(&key);
    if (own) ok = vc_lits_add(cx, l, VC_LIT(own));
    for (uint32_t i = 0; i < n->patterns.n && ok; i++) {
        bool match;
        VC_TRY(vc_schema_search(cx, o, VC_KW_PATTERN_PROPERTIES, n->patterns.v[i].name, false, name, &match));
        if (!match) continue;
        listed = true;
        ok = vc_lits_add(cx, l, VC_LIT(n->patterns.v[i].node));
    }
    if (ok && !listed && rest_of(n)) ok = vc_lits_add(cx, l, VC_LIT(rest_of(n)));
    return ok ? VC_OK : vc_schema_memory(cx);
}

vc_status vc_schema_property_goal(struct vc_schema_cx *cx, const struct vc_clause *c, vc_str name,
                                  struct vc_goal **out) {
    struct vc_lits l = { NULL, 0, 0 };
    struct vc_goal *names;
    bool ok = true, valid = true;
    VC_TRY(names_goal(cx, c, &names));
    if (names->n) {
        json_t *s = json_stringn(name.p, name.n);
        vc_status st = s ? vc_schema_valid(cx, names, s, &valid) : vc_schema_memory(cx);
        json_decref(s);
        VC_TRY(st);
    }
    if (!valid || vc_cell_has_text(c->absent, name)) ok = vc_lits_add(cx, &l, VC_LIT_FALSE);
    for (const struct vc_cell *o = c->objects; o && ok; o = o->next) VC_TRY(node_lits(cx, o->id, name, &l));
    for (const struct vc_cell *p = c->props; p && ok; p = p->next)
        if (vc_str_eq(p->text, name)) ok = vc_lits_add(cx, &l, p->id);
    *out = ok ? vc_schema_goal(cx, l.v, l.n) : NULL;
    return *out ? VC_OK : vc_schema_memory(cx);
}

struct members {
    vc_gram_node *pair;          /* "name": value, of the listed ones that can be there */
    bool *required;
    uint32_t n, num_required, min, max;
    vc_gram_node other;          /* a member that is not listed; 0: none can be */
    bool dead;                   /* a required one cannot be there */
};

static vc_gram_node nothing(struct vc_schema_cx *cx) { return vc_gram_alt(cx->g, NULL, 0); }

static vc_status add_member(struct vc_schema_cx *cx, const struct vc_clause *c, vc_str name, struct members *m) {
    struct vc_goal *goal;
    struct vc_buf key = { 0 };
    vc_gram_node value;
    bool empty, required = vc_cell_has_text(c->required, name);
    VC_TRY(vc_schema_property_goal(cx, c, name, &goal));
    VC_TRY(vc_schema_empty(cx, goal, &empty));
    m->dead |= empty && required;
    if (empty) return VC_OK;
    VC_TRY(vc_schema_goal_node(cx, goal, &value));
    vc_json_add_str(&key, name.p, name.n);
    vc_gram_node text = key.failed ? 0 : vc_gram_text(cx->g, key.p, key.n);
    vc_buf_free(&key);
    m->pair[m->n] = vc_gram_seq(cx->g, (vc_gram_node[]){ text, cx->colon, value }, 3);
    m->required[m->n++] = required;
    m->num_required += required;
    return VC_OK;
}

/* Names in order: properties of each node, required ones, those of negations. names: newest first. */
static vc_status list_names(struct vc_schema_cx *cx, const struct vc_clause *c, const struct vc_cell **names) {
    uint32_t n, num = 0;
    const struct vc_cell **o = vc_cell_array(cx, c->objects, &n);
    bool ok = o != NULL;
    for (uint32_t i = 0; i < n && ok; i++) {
        const struct vc_schema_map *map = &cx->doc->node[o[i]->id].properties;
        for (uint32_t k = 0; k < map->n && ok; k++)
            if (!num || n == 1 || !vc_cell_has_text(*names, map->v[k].name)) {
                ok = vc_cell_add(cx, names, (struct vc_cell){ .text = map->v[k].name });
                num++;
            }
    }
    const struct vc_cell **r = vc_cell_array(cx, c->required, &n);
    for (uint32_t i = 0; ok && r && i < n; i++)
        if (!vc_cell_has_text(*names, r[i]->text)) ok = vc_cell_add(cx, names, (struct vc_cell){ .text = r[i]->text });
    for (const struct vc_cell *p = c->props; p && ok; p = p->next)
        if (!vc_cell_has_text(*names, p->text)) ok = vc_cell_add(cx, names, (struct vc_cell){ .text = p->text });
    for (const struct vc_cell *p = c->absent; p && ok; p = p->next)
        if (!vc_cell_has_text(*names, p->text)) ok = vc_cell_add(cx, names, (struct vc_cell){ .text = p->text });
    return ok ? VC_OK : vc_schema_memory(cx);
}

/* All different patterns of the nodes: newest first, a = their number. */
static vc_status list_patterns(struct vc_schema_cx *cx, const struct vc_clause *c, const struct vc_cell **list,
                               uint32_t *n) {
    *n = 0;
    for (const struct vc_cell *o = c->objects; o; o = o->next) {
        const struct vc_schema_map *map = &cx->doc->node[o->id].patterns;
        for (uint32_t k = 0; k < map->n; k++) {
            if (vc_cell_has_text(*list, map->v[k].name)) continue;
            struct vc_cell cell = { .id = o->id, .text = map->v[k].name, .a = VC_KW_PATTERN_PROPERTIES, .b = (*n)++ };
            if (!vc_cell_add(cx, list, cell)) return vc_schema_memory(cx);
        }
    }
    return VC_OK;
}

static bool in_set(const struct vc_cell *list, vc_str text, uint32_t set) {
    for (; list; list = list->next)
        if (vc_str_eq(list->text, text)) return set >> list->b & 1;
    return false;
}

/* Members whose name matches just the patterns of set. */
static vc_status other_of(struct vc_schema_cx *cx, const struct vc_clause *c, const struct vc_cell *patterns,
                          uint32_t set, const struct vc_cell *not_names, vc_gram_node *all) {
    struct vc_lits l = { NULL, 0, 0 };
    bool ok = true, empty;
    for (const struct vc_cell *o = c->objects; o && ok; o = o->next) {
        const struct vc_schema_node *n = &cx->doc->node[o->id];
        bool listed = false;
        for (uint32_t i = 0; i < n->patterns.n && ok; i++) {
            if (!in_set(patterns, n->patterns.v[i].name, set)) continue;
            listed = true;
            ok = vc_lits_add(cx, &l, VC_LIT(n->patterns.v[i].node));
        }
        if (ok && !listed && rest_of(n)) ok = vc_lits_add(cx, &l, VC_LIT(rest_of(n)));
    }
    struct vc_goal *goal = ok ? vc_schema_goal(cx, l.v, l.n) : NULL, *names;
    VC_TRY(vc_schema_empty(cx, goal, &empty));
    if (empty) return VC_OK;
    const struct vc_cell *match = NULL;
    for (const struct vc_cell *p = patterns; p && ok; p = p->next) {
        struct vc_cell cell = *p;
        cell.neg = !(set >> p->b & 1);
        ok = vc_cell_add(cx, &match, cell);
    }
    vc_gram_node name, value;
    if (!ok) return vc_schema_memory(cx);
    VC_TRY(names_goal(cx, c, &names));
    VC_TRY(vc_schema_name(cx, names, match, not_names, &name));
    bool none = vc_gram_is_empty(cx->g, name);
    VC_TRY(vc_gram_status(cx->g, cx->doc->err));
    if (none) return VC_OK;
    VC_TRY(vc_schema_goal_node(cx, goal, &value));
    vc_gram_node pair = vc_gram_seq(cx->g, (vc_gram_node[]){ name, cx->colon, value }, 3);
    *all = *all ? vc_gram_alt2(cx->g, *all, pair) : pair;
    return VC_OK;
}

static vc_status others(struct vc_schema_cx *cx, const struct vc_clause *c, const struct vc_cell *not_names,
                        vc_gram_node *out) {
    const struct vc_cell *patterns = NULL;
    uint32_t n;
    *out = 0;
    VC_TRY(list_patterns(cx, c, &patterns, &n));
    if (n > PATTERNS_MAX)
        return vc_schema_fail(cx->doc, VC_E_UNSUPPORTED, patterns->id, VC_KW_PATTERN_PROPERTIES,
                              "more than %d patterns", PATTERNS_MAX);
    for (uint32_t set = 0; set < 1u << n; set++) VC_TRY(other_of(cx, c, patterns, set, not_names, out));
    return VC_OK;
}

/* What may follow the listed members when k members were written (k > 0): others, then white space. */
static vc_gram_node tail(struct vc_schema_cx *cx, const struct members *m, uint32_t k) {
    uint32_t lo = m->min > k ? m->min - k : 0;
    if (m->max < k || lo > (m->other ? 1 : 0)) return nothing(cx);
    if (!m->other) return cx->ws;
    vc_gram_node more = vc_gram_repeat(cx->g, vc_gram_seq2(cx->g, cx->comma, m->other), lo,
                                       m->max == UINT32_MAX ? VC_GRAM_INF : m->max - k);
    return lo > (m->max == UINT32_MAX ? lo : m->max - k) ? nothing(cx) : vc_gram_seq2(cx->g, more, cx->ws);
}

static vc_gram_node body(struct vc_schema_cx *cx, const struct members *m) {
    bool counted = m->max < m->n || (m->other && m->max != UINT32_MAX) || m->min > m->num_required;
    uint32_t most = counted ? VC_MIN(m->n, m->max == UINT32_MAX ? m->min : m->max) : 0;
    if ((uint64_t)(m->n + 1) * (most + 1) > CELLS_MAX) return 0;
    vc_gram_node *rest = VC_NEW_ARRAY(&cx->arena, vc_gram_node, (size_t)most + 1);
    if (!rest) return 0;
    for (uint32_t k = 0; k <= most; k++) rest[k] = counted ? tail(cx, m, k) : tail(cx, m, VC_MAX(m->num_required, 1u));
    vc_gram_node empty = m->min ? nothing(cx) : vc_gram_text(cx->g, "", 0);
    vc_gram_node alone = m->other && m->max ? vc_gram_seq2(cx->g, m->other, tail(cx, m, 1)) : nothing(cx);
    vc_gram_node first = vc_gram_alt2(cx->g, empty, alone);
    for (uint32_t i = m->n; i-- > 0;) {
        vc_gram_node skip = m->required[i] ? nothing(cx) : first;
        vc_gram_node take = m->max ? vc_gram_seq2(cx->g, m->pair[i], rest[VC_MIN(1u, most)]) : nothing(cx);
        first = vc_gram_alt2(cx->g, take, skip);
        for (uint32_t k = 0; k <= most; k++) {    /* ascending: rest[k + 1] is still that of place i + 1 */
            uint32_t to = VC_MIN(k + 1, most);
            bool full = counted && m->max != UINT32_MAX && k >= m->max;
            take = full ? nothing(cx) : vc_gram_seq(cx->g, (vc_gram_node[]){ cx->comma, m->pair[i], rest[to] }, 3);
            rest[k] = m->required[i] ? take : vc_gram_alt2(cx->g, take, rest[k]);
        }
    }
    vc_gram_node open = vc_gram_text(cx->g, "{", 1), close = vc_gram_text(cx->g, "}", 1);
    return vc_gram_seq(cx->g, (vc_gram_node[]){ open, cx->ws, first, close }, 4);
}

vc_status vc_schema_object(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out) {
    const struct vc_cell *names = NULL;
    uint32_t n = 0;
    *out = nothing(cx);
    VC_TRY(list_names(cx, c, &names));
    const struct vc_cell **list = vc_cell_array(cx, names, &n);
    struct members m = { .min = c->min_props, .max = c->max_props };
    m.pair = VC_NEW_ARRAY(&cx->arena, vc_gram_node, n + 1);
    m.required = VC_NEW_ARRAY(&cx->arena, bool, n + 1);
    if (!list || !m.pair || !m.required) return vc_schema_memory(cx);
    for (uint32_t i = 0; i < n && !m.dead; i++) {
        VC_TRY(add_member(cx, c, list[i]->text, &m));
        if (!vc_gram_in_time(cx->g)) return vc_gram_status(cx->g, cx->doc->err);
    }
    if (m.dead) return VC_OK;
    if (m.max) VC_TRY(others(cx, c, names, &m.other));
    if (m.max >= m.n && !m.other) m.max = UINT32_MAX;
    if (m.other && m.min > m.n + 1)
        return vc_schema_fail(cx->doc, VC_E_UNSUPPORTED, c->min_props_node, VC_KW_MIN_PROPERTIES,
                              "names that are not in properties could be written twice, so at most %u is enforced here",
                              m.n + 1);
    *out = body(cx, &m);
    return *out ? VC_OK
                : vc_schema_fail(cx->doc, VC_E_INVALID, c->min_props_node, VC_KW_MAX_PROPERTIES,
                                 "too many members to count");
}
