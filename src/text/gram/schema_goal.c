/* SPDX-License-Identifier: Apache-2.0
 * schema_goal.c: goals as values: equal sets of literals are one goal. And whether a goal is empty. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

enum { GOALS_MAX = 200000, EMPTY_DEPTH = 24 };

bool vc_lits_add(struct vc_schema_cx *cx, struct vc_lits *l, uint32_t lit) {
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? l->cap * 2 : 8;
        uint32_t *v = VC_NEW_ARRAY(&cx->arena, uint32_t, cap);
        if (!v) return false;
        if (l->n) memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = lit;
    return true;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Holds for every value: true, or an object without a keyword that asks for anything. */
static bool always(const struct vc_schema_cx *cx, uint32_t lit) {
    const struct vc_schema_node *n = &cx->doc->node[lit >> 1];
    return !(lit & 1) && n->types == VC_ST_ALL && !n->asks;
}

static bool grow(struct vc_schema_cx *cx) {
    uint32_t slots = cx->slots ? cx->slots * 2 : 64;
    struct vc_goal **t = calloc(slots, sizeof(struct vc_goal *));
    if (!t) return false;
    for (uint32_t i = 0; i < cx->slots; i++) {
        if (!cx->goal[i]) continue;
        uint32_t at = (uint32_t)cx->goal[i]->hash & (slots - 1);
        while (t[at]) at = (at + 1) & (slots - 1);
        t[at] = cx->goal[i];
    }
    free(cx->goal);
    cx->goal = t;
    cx->slots = slots;
    return true;
}

struct vc_goal *vc_schema_goal(struct vc_schema_cx *cx, const uint32_t *lit, uint32_t n) {
    uint32_t *v = VC_NEW_ARRAY(&cx->arena, uint32_t, n + 1), m = 0;
    if (!v || cx->num_goals >= GOALS_MAX || (cx->num_goals * 2 >= cx->slots && !grow(cx))) return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!always(cx, lit[i])) v[m++] = lit[i];
    qsort(v, m, sizeof *v, ascending);
    uint32_t k = 0;
    for (uint32_t i = 0; i < m; i++)
        if (!k || v[k - 1] != v[i]) v[k++] = v[i];
    uint64_t hash = 1469598103934665603u;
    for (uint32_t i = 0; i < k; i++) hash = vc_mix64(hash ^ v[i]);
    uint32_t at = (uint32_t)hash & (cx->slots - 1);
    for (; cx->goal[at]; at = (at + 1) & (cx->slots - 1)) {
        struct vc_goal *g = cx->goal[at];
        if (g->hash == hash && g->n == k && !memcmp(g->lit, v, k * sizeof *v)) return g;
    }
    struct vc_goal *g = VC_NEW(&cx->arena, struct vc_goal);
    if (!g) return NULL;
    *g = (struct vc_goal){ .lit = v, .n = k, .hash = hash, .empty = -1 };
    cx->goal[at] = g;
    cx->num_goals++;
    return g;
}

static vc_status array_empty(struct vc_schema_cx *cx, const struct vc_clause *c, bool *empty) {
    *empty = false;
    uint32_t most = VC_MIN(c->min_items, 64u);
    for (uint32_t i = 0; i < most && !*empty; i++) {
        struct vc_goal *goal;
        VC_TRY(vc_schema_item_goal(cx, c, i, &goal));
        VC_TRY(vc_schema_empty(cx, goal, empty));
    }
    return VC_OK;
}

static vc_status object_empty(struct vc_schema_cx *cx, const struct vc_clause *c, bool *empty) {
    *empty = false;
    for (const struct vc_cell *r = c->required; r && !*empty; r = r->next) {
        struct vc_goal *goal;
        VC_TRY(vc_schema_property_goal(cx, c, r->text, &goal));
        VC_TRY(vc_schema_empty(cx, goal, empty));
    }
    return VC_OK;
}

static vc_status values_empty(struct vc_schema_cx *cx, const struct vc_goal *goal, const struct vc_clause *c,
                              bool *empty) {
    *empty = true;
    size_t n = vc_schema_num_values(cx, c);
    for (size_t i = 0; i < n && *empty; i++) {
        bool valid;
        VC_TRY(vc_schema_valid(cx, goal, vc_schema_value_at(cx, c, i), &valid));
        *empty = !valid;
    }
    return VC_OK;
}

/* Of the kinds within mask. */
static vc_status masked_empty(struct vc_schema_cx *cx, const struct vc_goal *goal, const struct vc_clause *c,
                              unsigned mask, bool *empty) {
    if (c->values) return values_empty(cx, goal, c, empty);
    unsigned types = c->types & mask;
    bool none = false;
    if (types & VC_ST_STRING) {
        VC_TRY(vc_schema_string_empty(cx, c, &none));
        if (none) types &= ~(unsigned)VC_ST_STRING;
    }
    if (types & VC_ST_ARRAY && !(types & ~(unsigned)(VC_ST_ARRAY | VC_ST_OBJECT))) {
        VC_TRY(array_empty(cx, c, &none));
        if (none) types &= ~(unsigned)VC_ST_ARRAY;
    }
    if (types == VC_ST_OBJECT) {
        VC_TRY(object_empty(cx, c, &none));
        if (none) types = 0;
    }
    *empty = !types;
    return VC_OK;
}

vc_status vc_schema_clause_empty(struct vc_schema_cx *cx, const struct vc_goal *goal, const struct vc_clause *c,
                                 bool *empty) {
    return masked_empty(cx, goal, c, VC_ST_ALL, empty);
}

vc_status vc_schema_empty_of(struct vc_schema_cx *cx, struct vc_goal *goal, unsigned mask, bool *empty) {
    *empty = false;
    if (!goal) return vc_schema_memory(cx);
    if (goal->empty == 1 || (goal->empty == 0 && mask == VC_ST_ALL)) {
        *empty = goal->empty;
        return VC_OK;
    }
    if (goal->checking || goal->expanding || cx->depth >= EMPTY_DEPTH) return VC_OK;
    goal->checking = true;
    cx->depth++;
    bool all = true;
    vc_status s = vc_schema_expand(cx, goal);
    for (const struct vc_clause *c = goal->clauses; s == VC_OK && c && all; c = c->next) {
        bool none = false;
        s = masked_empty(cx, goal, c, mask, &none);
        all = all && none;
    }
    cx->depth--;
    goal->checking = false;
    if (s != VC_OK) return s;
    if (mask == VC_ST_ALL && (all || !cx->depth)) goal->empty = all;    /* a "no" may be the depth's */
    *empty = all;
    return VC_OK;
}

vc_status vc_schema_empty(struct vc_schema_cx *cx, struct vc_goal *goal, bool *empty) {
    return vc_schema_empty_of(cx, goal, VC_ST_ALL, empty);
}
