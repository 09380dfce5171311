/* SPDX-License-Identifier: Apache-2.0
 * schema_array.c: arrays. Without contains and uniqueItems: the listed items, then a counted repeat. With contains:
 * also how many items fulfilled it; with uniqueItems: which of a few values were there. */
#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

enum { CONTAINS_ITEMS = 64, UNIQUE_VALUES = 8 };

vc_status vc_schema_item_goal(struct vc_schema_cx *cx, const struct vc_clause *c, uint32_t index,
                              struct vc_goal **out) {
    struct vc_lits l = { NULL, 0, 0 };
    bool ok = true;
    for (const struct vc_cell *a = c->arrays; a && ok; a = a->next) {
        const struct vc_schema_node *n = &cx->doc->node[a->id];
        uint32_t rest = n->items ? n->items : n->unevaluated_items;
        uint32_t at = index < n->prefix.n ? n->prefix.v[index] : rest;
        if (at) ok = vc_lits_add(cx, &l, VC_LIT(at));
    }
    for (const struct vc_cell *e = c->every; e && ok; e = e->next) ok = vc_lits_add(cx, &l, e->id);
    for (const struct vc_cell *e = c->at; e && ok; e = e->next)
        if (e->a == index) ok = vc_lits_add(cx, &l, e->id);
    *out = ok ? vc_schema_goal(cx, l.v, l.n) : NULL;
    return *out ? VC_OK : vc_schema_memory(cx);
}

/* Items that have a place of their own. */
static uint32_t places(const struct vc_schema_cx *cx, const struct vc_clause *c) {
    uint32_t p = 0;
    for (const struct vc_cell *a = c->arrays; a; a = a->next) p = VC_MAX(p, cx->doc->node[a->id].prefix.n);
    for (const struct vc_cell *e = c->at; e; e = e->next) p = VC_MAX(p, e->a + 1);
    return p;
}

static vc_gram_node brackets(struct vc_schema_cx *cx, bool may_be_empty, vc_gram_node items) {
    vc_gram_node open = vc_gram_text(cx->g, "[", 1), close = vc_gram_text(cx->g, "]", 1);
    vc_gram_node inner = vc_gram_seq2(cx->g, items, cx->ws);
    if (may_be_empty) inner = vc_gram_opt(cx->g, inner);
    return vc_gram_seq(cx->g, (vc_gram_node[]){ open, cx->ws, inner, close }, 4);
}

static vc_gram_node nothing(struct vc_schema_cx *cx) { return vc_gram_alt(cx->g, NULL, 0); }
static vc_gram_node empty_text(struct vc_schema_cx *cx) { return vc_gram_text(cx->g, "", 0); }

struct items {
    uint32_t own, min, max;      /* items 0 … own-1 have nodes of their own; max after items that cannot be */
    vc_gram_node *node;          /* [own + 1], the last for all that follow */
    struct vc_goal **goal;
};

static vc_status items_of(struct vc_schema_cx *cx, const struct vc_clause *c, struct items *it) {
    *it = (struct items){ .own = places(cx, c), .min = c->min_items, .max = c->max_items };
    if (it->max < it->own) it->own = it->max;
    it->node = VC_NEW_ARRAY(&cx->arena, vc_gram_node, (size_t)it->own + 1);
    it->goal = VC_NEW_ARRAY(&cx->arena, struct vc_goal *, (size_t)it->own + 1);
    if (!it->node || !it->goal) return vc_schema_memory(cx);
    for (uint32_t i = 0; i <= it->own && i < it->max; i++) {
        bool empty;
        VC_TRY(vc_schema_item_goal(cx, c, i, &it->goal[i]));
        VC_TRY(vc_schema_empty(cx, it->goal[i], &empty));
        if (empty) {
            it->max = i;
            it->own = VC_MIN(it->own, i);
        } else {
            VC_TRY(vc_schema_goal_node(cx, it->goal[i], &it->node[i]));
        }
    }
    return VC_OK;
}

static vc_gram_node plain(struct vc_schema_cx *cx, const struct items *it) {
    uint32_t own = VC_MAX(it->own, 1u), min = it->min, max = it->max;
    if (!max)
        return vc_gram_seq(cx->g, (vc_gram_node[]){ vc_gram_text(cx->g, "[", 1), cx->ws, vc_gram_text(cx->g, "]", 1) },
                           3);
    vc_gram_node rest = empty_text(cx);
    if (max > own) {
        uint32_t lo = min > own ? min - own : 0, hi = max == UINT32_MAX ? VC_GRAM_INF : max - own;
        rest = vc_gram_repeat(cx->g, vc_gram_seq2(cx->g, cx->comma, it->node[it->own]), lo, hi);
    }
    for (uint32_t i = own; i-- > 1;) {
        rest = vc_gram_seq(cx->g, (vc_gram_node[]){ cx->comma, it->node[i], rest }, 3);
        if (i >= min) rest = vc_gram_opt(cx->g, rest);
    }
    return brackets(cx, min == 0, vc_gram_seq2(cx->g, it->node[0], rest));
}

/* contains: row i of the table is "i items read", column k "k of them fulfilled it"; rows are made from the last. */
struct contains {
    struct items it;
    uint32_t rows, cols, min, max;     /* max UINT32_MAX: columns stop counting at min */
    vc_gram_node *with, *without;      /* by item, as items.node */
};

static vc_status contains_nodes(struct vc_schema_cx *cx, const struct vc_cell *c, struct contains *t) {
    t->with = VC_NEW_ARRAY(&cx->arena, vc_gram_node, (size_t)t->it.own + 1);
    t->without = VC_NEW_ARRAY(&cx->arena, vc_gram_node, (size_t)t->it.own + 1);
    if (!t->with || !t->without) return vc_schema_memory(cx);
    for (uint32_t i = 0; i <= t->it.own && i < t->it.max; i++) {
        for (int not = 0; not < 2; not++) {
            struct vc_goal *base = t->it.goal[i];
            struct vc_lits l = { NULL, 0, 0 };
            bool empty;
            for (uint32_t k = 0; k < base->n; k++)
                if (!vc_lits_add(cx, &l, base->lit[k])) return vc_schema_memory(cx);
            if (!not || t->max != UINT32_MAX)
                if (!vc_lits_add(cx, &l, not ? c->id ^ 1 : c->id)) return vc_schema_memory(cx);
            struct vc_goal *goal = vc_schema_goal(cx, l.v, l.n);
            vc_gram_node *out = not ? &t->without[i] : &t->with[i];
            VC_TRY(vc_schema_empty(cx, goal, &empty));
            *out = nothing(cx);
            if (!empty) VC_TRY(vc_schema_goal_node(cx, goal, out));
        }
    }
    return VC_OK;
}

static vc_gram_node contains_row(struct vc_schema_cx *cx, const struct contains *t, uint32_t i, uint32_t k,
                                 const vc_gram_node *next) {
    uint32_t at = VC_MIN(i, t->it.own);
    bool enough = k >= t->min && i >= t->it.min, free_tail = i == t->rows - 1;
    vc_gram_node stop = enough ? (i ? empty_text(cx) : nothing(cx)) : nothing(cx);
    if (i >= t->it.max) return stop;
    vc_gram_node in = i ? vc_gram_seq2(cx->g, cx->comma, t->with[at]) : t->with[at];
    vc_gram_node out = i ? vc_gram_seq2(cx->g, cx->comma, t->without[at]) : t->without[at];
    bool count = t->max != UINT32_MAX || k < t->min;
    bool may = count && (t->max == UINT32_MAX || k < t->max);
    if (free_tail) {
        vc_gram_node on = may && k + 1 < t->cols ? vc_gram_seq2(cx->g, in, next[k + 1]) : nothing(cx);
        return vc_gram_seq2(cx->g, vc_gram_star(cx->g, out), vc_gram_alt2(cx->g, stop, on));
    }
    vc_gram_node a = may && k + 1 < t->cols ? vc_gram_seq2(cx->g, in, next[k + 1]) : nothing(cx);
    return vc_gram_alt(cx->g, (vc_gram_node[]){ stop, a, vc_gram_seq2(cx->g, out, next[k]) }, 3);
}

static vc_status contains(struct vc_schema_cx *cx, const struct vc_clause *c, struct items *it, vc_gram_node *out) {
    struct contains t = { .it = *it, .min = c->contains->a, .max = c->contains->b };
    uint32_t node = c->contains->id >> 1;
    t.rows = it->max != UINT32_MAX ? it->max + 1 : VC_MAX(VC_MAX(it->own, it->min), 1u) + 1;
    t.cols = (t.max == UINT32_MAX ? t.min : t.max) + 1;
    if (c->contains->next || t.rows > CONTAINS_ITEMS || t.cols > CONTAINS_ITEMS)
        return vc_schema_fail(cx->doc, VC_E_UNSUPPORTED, cx->doc->node[node].parent, VC_KW_CONTAINS,
                              "only one contains and up to %d counted items are enforced", CONTAINS_ITEMS - 1);
    VC_TRY(contains_nodes(cx, c->contains, &t));
    vc_gram_node *row = VC_NEW_ARRAY(&cx->arena, vc_gram_node, (size_t)t.cols * 2), *next = row + t.cols;
    if (!row) return vc_schema_memory(cx);
    for (uint32_t i = t.rows; i-- > 0;) {
        for (uint32_t k = t.cols; k-- > 0;) {
            row[k] = contains_row(cx, &t, i, k, i == t.rows - 1 ? row : next);
        }
        for (uint32_t k = 0; k < t.cols; k++) next[k] = row[k];
    }
    *out = brackets(cx, !t.min && !it->min, row[0]);
    return VC_OK;
}

/* uniqueItems over a few values: row S is "the values of the bit set S were there"; sets are made from the full one. */
static vc_status unique(struct vc_schema_cx *cx, const struct vc_clause *c, const struct items *it, vc_gram_node *out) {
    const json_t *v[UNIQUE_VALUES];
    vc_gram_node value[UNIQUE_VALUES], set[1 << UNIQUE_VALUES];
    size_t n = SIZE_MAX;
    if (!it->own && it->max && !c->contains) VC_TRY(vc_schema_values(cx, it->goal[0], v, UNIQUE_VALUES, &n));
    if (n > UNIQUE_VALUES)
        return vc_schema_fail(cx->doc, VC_E_UNSUPPORTED, c->unique, VC_KW_UNIQUE_ITEMS,
                              "enforced only where maxItems is below 2 or the items are an enum of at most %d values",
                              UNIQUE_VALUES);
    for (size_t i = 0; i < n; i++) value[i] = vc_schema_json_value(cx, v[i]);
    for (uint32_t s = 1u << n; s-- > 0;) {
        uint32_t count = 0;
        vc_gram_node way[UNIQUE_VALUES + 1];
        size_t ways = 0;
        for (size_t i = 0; i < n; i++) count += s >> i & 1;
        if (count && count >= it->min) way[ways++] = empty_text(cx);
        for (size_t i = 0; i < n && count < it->max; i++)
            if (!(s >> i & 1)) {
                vc_gram_node item = vc_gram_seq2(cx->g, value[i], set[s | 1u << i]);
                way[ways++] = s ? vc_gram_seq2(cx->g, cx->comma, item) : item;
            }
        set[s] = vc_gram_alt(cx->g, way, ways);
    }
    *out = brackets(cx, !it->min, set[0]);
    return VC_OK;
}

vc_status vc_schema_array(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out) {
    struct items it;
    *out = nothing(cx);
    VC_TRY(items_of(cx, c, &it));
    if (it.min > it.max) return VC_OK;
    if (c->unique && it.max > 1) return unique(cx, c, &it, out);
    if (c->contains) return contains(cx, c, &it, out);
    *out = plain(cx, &it);
    return VC_OK;
}
