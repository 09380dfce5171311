/* SPDX-License-Identifier: Apache-2.0
 * schema_expand.c: from a goal to its clauses: a search over the options of all choices, without recursion. Parts of a
 * clause that cannot hold are dropped as soon as they are seen. */
#include <string.h>

#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

enum { CLAUSES_MAX = 20000 };

vc_status vc_schema_memory(struct vc_schema_cx *cx) {
    return vc_schema_fail(cx->doc, VC_E_INVALID, 0, VC_KW_NONE,
                          "the schema needs more memory or goals than its budget");
}

bool vc_cell_add(struct vc_schema_cx *cx, const struct vc_cell **list, struct vc_cell cell) {
    struct vc_cell *c = VC_NEW(&cx->arena, struct vc_cell);
    if (!c) return false;
    *c = cell;
    c->next = *list;
    *list = c;
    return true;
}

bool vc_cell_has_text(const struct vc_cell *list, vc_str text) {
    for (; list; list = list->next)
        if (vc_str_eq(list->text, text)) return true;
    return false;
}

const struct vc_cell **vc_cell_array(struct vc_schema_cx *cx, const struct vc_cell *list, uint32_t *n) {
    uint32_t count = 0;
    for (const struct vc_cell *c = list; c; c = c->next) count++;
    *n = count;
    const struct vc_cell **v = VC_NEW_ARRAY(&cx->arena, const struct vc_cell *, count + 1);
    for (const struct vc_cell *c = list; v && c; c = c->next) v[--count] = c;
    return v;
}

bool vc_fact_add(struct vc_schema_cx *cx, const struct vc_fact **list, enum vc_fact_kind kind, struct vc_cell v) {
    struct vc_fact *f = VC_NEW(&cx->arena, struct vc_fact);
    if (!f) return false;
    *f = (struct vc_fact){ *list, kind, v };
    *list = f;
    return true;
}

bool vc_option_add(struct vc_schema_cx *cx, const struct vc_option **list, const struct vc_fact *facts) {
    struct vc_option *o = VC_NEW(&cx->arena, struct vc_option);
    if (!o) return false;
    *o = (struct vc_option){ *list, facts };
    *list = o;
    return true;
}

bool vc_choice_add(struct vc_schema_cx *cx, struct vc_partial *p, const struct vc_option *options) {
    struct vc_choice *c = VC_NEW(&cx->arena, struct vc_choice);
    if (!c) return false;
    *c = (struct vc_choice){ p->choices, options };
    p->choices = c;
    return true;
}

static bool lower(struct vc_clause *c, const struct vc_dec *d, bool open) {
    int cmp = c->has_lo ? vc_dec_cmp(d, &c->lo) : 1;
    if (cmp > 0) {
        c->lo = *d;
        c->lo_open = open;
    } else if (cmp == 0) {
        c->lo_open |= open;
    }
    return c->has_lo = true;
}

static bool upper(struct vc_clause *c, const struct vc_dec *d, bool open) {
    int cmp = c->has_hi ? vc_dec_cmp(d, &c->hi) : -1;
    if (cmp < 0) {
        c->hi = *d;
        c->hi_open = open;
    } else if (cmp == 0) {
        c->hi_open |= open;
    }
    return c->has_hi = true;
}

static bool not_value(struct vc_schema_cx *cx, struct vc_clause *c, const struct vc_cell *f) {
    const json_t *v = f->json;
    struct vc_cell cell = { .id = f->id, .a = f->a };
    switch (json_typeof(v)) {
    case JSON_NULL: c->types &= ~(unsigned)VC_ST_NULL; return true;
    case JSON_TRUE: c->types &= ~(unsigned)VC_ST_TRUE; return true;
    case JSON_FALSE: c->types &= ~(unsigned)VC_ST_FALSE; return true;
    case JSON_STRING:
        cell.text = (vc_str){ json_string_value(v), json_string_length(v) };
        return vc_cell_add(cx, &c->not_strings, cell);
    case JSON_INTEGER:
    case JSON_REAL:
        return vc_dec_from_json(&cell.dec, v, &cx->arena) && vc_cell_add(cx, &c->not_numbers, cell);
    default:
        cell.b = json_is_array(v) ? VC_ST_ARRAY : VC_ST_OBJECT;
        return vc_cell_add(cx, &c->refused, cell);
    }
}

/* Does what is in already exclude node, so that its negation asks for nothing? Schemas that are choices themselves are
 * left out of what is in: they would be expanded again. */
static vc_status excluded(struct vc_schema_cx *cx, const struct vc_partial *p, uint32_t node, bool *yes) {
    struct vc_lits l = { NULL, 0, 0 };
    bool ok = vc_lits_add(cx, &l, VC_LIT(node));
    for (const struct vc_cell *s = p->seen; s && ok; s = s->next) {
        const struct vc_schema_node *n = &cx->doc->node[s->id >> 1];
        if (!(s->id & 1) && !n->any.n && !n->one.n && !n->if_ && !n->not_ && !n->all.n && !n->target)
            ok = vc_lits_add(cx, &l, s->id);
    }
    struct vc_goal *goal = ok ? vc_schema_goal(cx, l.v, l.n) : NULL;
    return vc_schema_empty_of(cx, goal, p->c.types, yes);
}

static vc_status literal(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t lit) {
    for (const struct vc_cell *s = p->seen; s; s = s->next) {
        if (s->id == lit) return VC_OK;
        if (s->id == (lit ^ 1)) {
            p->c.types = 0;    /* a schema and its negation */
            return VC_OK;
        }
    }
    if (!vc_cell_add(cx, &p->seen, (struct vc_cell){ .id = lit })) return vc_schema_memory(cx);
    if (lit & 1) {
        bool yes;
        VC_TRY(excluded(cx, p, lit >> 1, &yes));
        if (yes) return VC_OK;
    }
    return lit & 1 ? vc_schema_negate(cx, p, lit >> 1) : vc_schema_assert(cx, p, lit >> 1);
}

vc_status vc_schema_fact(struct vc_schema_cx *cx, struct vc_partial *p, const struct vc_fact *f) {
    struct vc_clause *c = &p->c;
    const struct vc_cell *v = &f->v;
    bool ok = true;
    switch (f->kind) {
    case VC_FACT_LIT: return literal(cx, p, v->id);
    case VC_FACT_TYPES: c->types &= v->a; break;
    case VC_FACT_LO: ok = lower(c, &v->dec, v->neg); break;
    case VC_FACT_HI: ok = upper(c, &v->dec, v->neg); break;
    case VC_FACT_MIN_LEN: c->min_len = VC_MAX(c->min_len, v->a); break;
    case VC_FACT_MAX_LEN: c->max_len = VC_MIN(c->max_len, v->a); break;
    case VC_FACT_MIN_ITEMS: c->min_items = VC_MAX(c->min_items, v->a); break;
    case VC_FACT_MAX_ITEMS: c->max_items = VC_MIN(c->max_items, v->a); break;
    case VC_FACT_MIN_PROPS:
        if (v->a > c->min_props) c->min_props_node = v->id;
        c->min_props = VC_MAX(c->min_props, v->a);
        break;
    case VC_FACT_MAX_PROPS: c->max_props = VC_MIN(c->max_props, v->a); break;
    case VC_FACT_PATTERN: ok = vc_cell_add(cx, &c->patterns, *v); break;
    case VC_FACT_FORMAT: ok = vc_cell_add(cx, &c->formats, *v); break;
    case VC_FACT_NOT_VALUE: ok = not_value(cx, c, v); break;
    case VC_FACT_EVERY: ok = vc_cell_add(cx, &c->every, *v); break;
    case VC_FACT_AT:
        ok = vc_cell_add(cx, &c->at, *v);
        c->min_items = VC_MAX(c->min_items, v->a + 1);
        break;
    case VC_FACT_REQUIRED: ok = vc_cell_has_text(c->required, v->text) || vc_cell_add(cx, &c->required, *v); break;
    case VC_FACT_ABSENT: ok = vc_cell_add(cx, &c->absent, *v); break;
    case VC_FACT_PROPERTY: ok = vc_cell_add(cx, &c->props, *v); break;
    case VC_FACT_REFUSED: ok = vc_cell_add(cx, &c->refused, *v); break;
    }
    return ok ? VC_OK : vc_schema_memory(cx);
}

/* Is the failure of node's additionalProperties (a value under a name it does not list) made impossible by a node that
 * allows only names which it does list? */
static bool no_others(const struct vc_schema_cx *cx, const struct vc_clause *c, const struct vc_schema_node *n) {
    for (const struct vc_cell *o = c->objects; o; o = o->next) {
        const struct vc_schema_node *m = &cx->doc->node[o->id];
        bool listed = m->additional && !cx->doc->node[m->additional].types && !m->patterns.n;
        for (uint32_t i = 0; i < m->properties.n && listed; i++) {
            bool there = false;
            for (uint32_t j = 0; j < n->properties.n && !there; j++)
                there = vc_str_eq(m->properties.v[i].name, n->properties.v[j].name);
            listed = there || vc_cell_has_text(c->absent, m->properties.v[i].name);
        }
        if (listed) return true;
    }
    return false;
}

/* Takes kinds of values away for which two limits leave nothing. */
static void settle(const struct vc_schema_cx *cx, struct vc_clause *c) {
    for (const struct vc_cell *r = c->refused; r; r = r->next)
        if (r->a == VC_KW_ADDITIONAL && no_others(cx, c, &cx->doc->node[r->id])) c->types &= ~(unsigned)VC_ST_OBJECT;
    if (c->has_lo && c->has_hi) {
        int cmp = vc_dec_cmp(&c->lo, &c->hi);
        if (cmp > 0 || (cmp == 0 && (c->lo_open || c->hi_open))) c->types &= ~(unsigned)VC_ST_NUMBER;
        if (cmp == 0 && !vc_dec_is_int(&c->lo)) c->types &= ~(unsigned)VC_ST_INT;
    }
    if (c->min_len > c->max_len) c->types &= ~(unsigned)VC_ST_STRING;
    if (c->min_items > c->max_items) c->types &= ~(unsigned)VC_ST_ARRAY;
    bool clash = c->min_props > c->max_props;
    for (const struct vc_cell *a = c->absent; a && !clash; a = a->next) clash = vc_cell_has_text(c->required, a->text);
    if (clash) c->types &= ~(unsigned)VC_ST_OBJECT;
}

/* Is f in p already? */
static bool known(const struct vc_partial *p, const struct vc_fact *f) {
    const struct vc_cell *l = NULL;
    switch (f->kind) {
    case VC_FACT_TYPES: return !(p->c.types & ~f->v.a);
    case VC_FACT_REQUIRED: return vc_cell_has_text(p->c.required, f->v.text);
    case VC_FACT_ABSENT: return vc_cell_has_text(p->c.absent, f->v.text);
    case VC_FACT_LIT:
        for (l = p->seen; l && l->id != f->v.id; l = l->next) continue;
        return l != NULL;
    case VC_FACT_PROPERTY:
        for (l = p->c.props; l && (l->id != f->v.id || !vc_str_eq(l->text, f->v.text)); l = l->next) continue;
        return l != NULL;
    default: return false;
    }
}

static bool fulfilled(const struct vc_partial *p, const struct vc_choice *choice) {
    for (const struct vc_option *o = choice->options; o; o = o->next) {
        const struct vc_fact *f = o->facts;
        while (f && known(p, f)) f = f->next;
        if (!f) return true;
    }
    return false;
}

/* Takes the next choice of p: a copy of p for each option goes on the stack (the first option on top). */
static vc_status branch(struct vc_schema_cx *cx, struct vc_partial *p, struct vc_partial **stack) {
    const struct vc_choice *choice = p->choices;
    p->choices = choice->next;
    if (fulfilled(p, choice)) {
        p->next = *stack;
        *stack = p;
        return VC_OK;
    }
    for (const struct vc_option *o = choice->options; o; o = o->next) {
        struct vc_partial *q = VC_NEW(&cx->arena, struct vc_partial);
        if (!q || ++cx->num_clauses > CLAUSES_MAX)
            return vc_schema_fail(cx->doc, VC_E_INVALID, 0, VC_KW_NONE,
                                  "anyOf, oneOf, not and if combine to more than %d cases", CLAUSES_MAX);
        *q = *p;
        q->todo = o->facts;
        q->next = *stack;
        *stack = q;
    }
    return VC_OK;
}

/* Facts until there are none, or nothing is left of p. */
static vc_status narrow(struct vc_schema_cx *cx, struct vc_partial *p) {
    while (p->todo && p->c.types) {
        const struct vc_fact *f = p->todo;
        p->todo = f->next;
        VC_TRY(vc_schema_fact(cx, p, f));
    }
    settle(cx, &p->c);
    return VC_OK;
}

vc_status vc_schema_expand(struct vc_schema_cx *cx, struct vc_goal *goal) {
    if (goal->expanded) return VC_OK;
    struct vc_clause **end = &goal->clauses;
    struct vc_partial *stack = VC_NEW(&cx->arena, struct vc_partial);
    if (!stack) return vc_schema_memory(cx);
    goal->expanding = true;
    stack->c = (struct vc_clause){
        .types = VC_ST_ALL, .max_len = UINT32_MAX, .max_items = UINT32_MAX, .max_props = UINT32_MAX
    };
    for (uint32_t i = goal->n; i-- > 0;)
        if (!vc_fact_add(cx, &stack->todo, VC_FACT_LIT, (struct vc_cell){ .id = goal->lit[i] }))
            return vc_schema_memory(cx);
    while (stack) {
        struct vc_partial *p = stack;
        stack = p->next;
        if (!vc_gram_in_time(cx->g)) return vc_gram_status(cx->g, cx->doc->err);
        VC_TRY(narrow(cx, p));
        if (!p->c.types) continue;
        if (p->choices) {
            VC_TRY(branch(cx, p, &stack));
            continue;
        }
        struct vc_clause *c = VC_NEW(&cx->arena, struct vc_clause);
        if (!c) return vc_schema_memory(cx);
        *c = p->c;
        c->next = NULL;
        *end = c;
        end = &c->next;
    }
    goal->expanded = true;
    goal->expanding = false;
    return VC_OK;
}

vc_status vc_schema_refused(struct vc_schema_cx *cx, const struct vc_goal *goal) {
    for (const struct vc_clause *c = goal->clauses; c; c = c->next) {
        for (const struct vc_cell *r = c->refused; r; r = r->next) {
            bool empty;
            if (!(c->types & r->b)) continue;
            VC_TRY(vc_schema_clause_empty(cx, goal, c, &empty));
            if (empty) break;
            return vc_schema_fail(
                cx->doc, VC_E_UNSUPPORTED, r->id, (enum vc_schema_keyword)r->a,
                "not enforced by a grammar in this combination (below not, oneOf or if, or beside other schemas)");
        }
    }
    return VC_OK;
}
