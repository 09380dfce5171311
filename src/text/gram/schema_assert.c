/* SPDX-License-Identifier: Apache-2.0
 * schema_assert.c: the keywords of a node, as limits of a clause. What holds at the same place (allOf, $ref) becomes
 * facts; what has several ways to hold (anyOf, oneOf, if, dependent…) becomes a choice. */
#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

static bool limit(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node, enum vc_schema_keyword k,
                  enum vc_fact_kind kind, int count) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    return !vc_schema_has(n, k) ||
           vc_fact_add(cx, &p->todo, kind, (struct vc_cell){ .a = n->count[count], .id = node });
}

static bool bound(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node, enum vc_schema_keyword k, int num,
                  bool lo, bool open) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    struct vc_cell v = { .dec = n->num[num], .neg = open };
    return !vc_schema_has(n, k) || vc_fact_add(cx, &p->todo, lo ? VC_FACT_LO : VC_FACT_HI, v);
}

static bool scalars(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    bool ok = bound(cx, p, node, VC_KW_MINIMUM, VC_SN_MINIMUM, true, false);
    ok = ok && bound(cx, p, node, VC_KW_EXCLUSIVE_MINIMUM, VC_SN_ABOVE, true, true);
    ok = ok && bound(cx, p, node, VC_KW_MAXIMUM, VC_SN_MAXIMUM, false, false);
    ok = ok && bound(cx, p, node, VC_KW_EXCLUSIVE_MAXIMUM, VC_SN_BELOW, false, true);
    if (ok && vc_schema_has(n, VC_KW_MULTIPLE_OF))
        ok = vc_cell_add(cx, &p->c.multiples, (struct vc_cell){ .id = node, .dec = n->num[VC_SN_MULTIPLE] });
    ok = ok && limit(cx, p, node, VC_KW_MIN_LENGTH, VC_FACT_MIN_LEN, VC_SC_MIN_LENGTH);
    ok = ok && limit(cx, p, node, VC_KW_MAX_LENGTH, VC_FACT_MAX_LEN, VC_SC_MAX_LENGTH);
    if (ok && vc_schema_has(n, VC_KW_PATTERN))
        ok = vc_cell_add(cx, &p->c.patterns, (struct vc_cell){ .id = node, .text = n->pattern, .a = VC_KW_PATTERN });
    if (ok && n->format >= 0)
        ok = vc_cell_add(cx, &p->c.formats, (struct vc_cell){ .id = node, .a = (uint32_t)n->format });
    return ok;
}

static bool arrays(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    bool ok = limit(cx, p, node, VC_KW_MIN_ITEMS, VC_FACT_MIN_ITEMS, VC_SC_MIN_ITEMS);
    ok = ok && limit(cx, p, node, VC_KW_MAX_ITEMS, VC_FACT_MAX_ITEMS, VC_SC_MAX_ITEMS);
    if (ok && (n->prefix.n || n->items || n->unevaluated_items))
        ok = vc_cell_add(cx, &p->c.arrays, (struct vc_cell){ .id = node });
    if (ok && n->contains) {
        uint32_t min = vc_schema_has(n, VC_KW_MIN_CONTAINS) ? n->count[VC_SC_MIN_CONTAINS] : 1;
        uint32_t max = vc_schema_has(n, VC_KW_MAX_CONTAINS) ? n->count[VC_SC_MAX_CONTAINS] : UINT32_MAX;
        struct vc_cell v = { .id = VC_LIT(n->contains), .a = min, .b = max };
        if (min || max != UINT32_MAX) ok = vc_cell_add(cx, &p->c.contains, v);
        ok = ok && vc_fact_add(cx, &p->todo, VC_FACT_MIN_ITEMS, (struct vc_cell){ .a = min });
    }
    if (n->unique) p->c.unique = node;
    return ok;
}

static bool needs(struct vc_schema_cx *cx, struct vc_partial *p, vc_str name, const vc_str *need, uint32_t n,
                  uint32_t child) {
    const struct vc_option *options = NULL;
    const struct vc_fact *other = NULL, *absent = NULL, *there = NULL;
    bool ok = vc_fact_add(cx, &other, VC_FACT_TYPES, (struct vc_cell){ .a = VC_ST_ALL & ~(unsigned)VC_ST_OBJECT });
    ok = ok && vc_fact_add(cx, &absent, VC_FACT_ABSENT, (struct vc_cell){ .text = name });
    if (child) ok = ok && vc_fact_add(cx, &there, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(child) });
    for (uint32_t i = n; ok && i-- > 0;)
        ok = vc_fact_add(cx, &there, VC_FACT_REQUIRED, (struct vc_cell){ .text = need[i] });
    ok = ok && vc_fact_add(cx, &there, VC_FACT_REQUIRED, (struct vc_cell){ .text = name });
    if (p->c.types != VC_ST_OBJECT) ok = ok && vc_option_add(cx, &options, other);
    return ok && vc_option_add(cx, &options, absent) && vc_option_add(cx, &options, there) &&
           vc_choice_add(cx, p, options);
}

static bool objects(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    bool ok = limit(cx, p, node, VC_KW_MIN_PROPERTIES, VC_FACT_MIN_PROPS, VC_SC_MIN_PROPERTIES);
    ok = ok && limit(cx, p, node, VC_KW_MAX_PROPERTIES, VC_FACT_MAX_PROPS, VC_SC_MAX_PROPERTIES);
    if (ok && (n->properties.n || n->patterns.n || n->additional || n->names || n->unevaluated))
        ok = vc_cell_add(cx, &p->c.objects, (struct vc_cell){ .id = node });
    for (uint32_t i = 0; ok && i < n->num_required; i++)
        ok = vc_cell_has_text(p->c.required, n->required[i]) ||
             vc_cell_add(cx, &p->c.required, (struct vc_cell){ .text = n->required[i] });
    if (!(p->c.types & VC_ST_OBJECT)) return ok;
    for (uint32_t i = 0; ok && i < n->num_needs; i++)
        ok = needs(cx, p, n->needs[i].name, n->needs[i].v, n->needs[i].n, 0);
    for (uint32_t i = 0; ok && i < n->dependent.n; i++)
        ok = needs(cx, p, n->dependent.v[i].name, NULL, 0, n->dependent.v[i].node);
    return ok;
}

static bool any_of(struct vc_schema_cx *cx, struct vc_partial *p, const struct vc_schema_list *l) {
    const struct vc_option *options = NULL;
    bool ok = true;
    for (uint32_t i = 0; ok && i < l->n; i++) {
        const struct vc_fact *f = NULL;
        ok = vc_fact_add(cx, &f, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(l->v[i]) }) &&
             vc_option_add(cx, &options, f);
    }
    return ok && vc_choice_add(cx, p, options);
}

/* Exactly one: option i is schema i without those of the others that it may overlap with. */
static vc_status one_of(struct vc_schema_cx *cx, struct vc_partial *p, const struct vc_schema_list *l) {
    const struct vc_option *options = NULL;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct vc_fact *f = NULL;
        for (uint32_t j = 0; j < l->n; j++) {
            bool apart;
            if (j == i) continue;
            const uint32_t both[] = { VC_LIT(l->v[i]), VC_LIT(l->v[j]) };
            VC_TRY(vc_schema_empty(cx, vc_schema_goal(cx, both, 2), &apart));
            if (!apart && !vc_fact_add(cx, &f, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(l->v[j]) }))
                return vc_schema_memory(cx);
        }
        if (!vc_fact_add(cx, &f, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(l->v[i]) })) return vc_schema_memory(cx);
        if (!vc_option_add(cx, &options, f)) return vc_schema_memory(cx);
    }
    return vc_choice_add(cx, p, options) ? VC_OK : vc_schema_memory(cx);
}

static bool if_then_else(struct vc_schema_cx *cx, struct vc_partial *p, const struct vc_schema_node *n) {
    const struct vc_fact *yes = NULL, *no = NULL;
    const struct vc_option *options = NULL;
    bool ok = true;
    if (n->then_) ok = vc_fact_add(cx, &yes, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(n->then_) });
    if (n->else_) ok = ok && vc_fact_add(cx, &no, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(n->else_) });
    ok = ok && vc_fact_add(cx, &yes, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(n->if_) });
    ok = ok && vc_fact_add(cx, &no, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(n->if_) });
    return ok && vc_option_add(cx, &options, yes) && vc_option_add(cx, &options, no) && vc_choice_add(cx, p, options);
}

/* unevaluated…: what other schemas at this place evaluate is not tracked; without any, it is as additional…. */
static bool unevaluated(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    bool alone = !n->all.n && !n->any.n && !n->one.n && !n->if_ && !n->target && !n->dependent.n;
    bool ok = true;
    if (n->unevaluated && !alone)
        ok = vc_cell_add(cx, &p->c.refused, (struct vc_cell){ .id = node, .a = VC_KW_UNEVALUATED, .b = VC_ST_OBJECT });
    if (n->unevaluated_items && (!alone || n->contains))
        ok = ok && vc_cell_add(cx, &p->c.refused,
                               (struct vc_cell){ .id = node, .a = VC_KW_UNEVALUATED_ITEMS, .b = VC_ST_ARRAY });
    return ok;
}

vc_status vc_schema_assert(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node) {
    const struct vc_schema_node *n = &cx->doc->node[node];
    p->c.types &= n->types;
    if (n->value && !p->c.values) p->c.values = node;
    bool ok = unevaluated(cx, p, node);
    if (ok && n->not_) ok = vc_fact_add(cx, &p->todo, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(n->not_) });
    for (uint32_t i = n->all.n; ok && i-- > 0;)
        ok = vc_fact_add(cx, &p->todo, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(n->all.v[i]) });
    if (ok && n->target) ok = vc_fact_add(cx, &p->todo, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(n->target) });
    ok = ok && scalars(cx, p, node) && arrays(cx, p, node) && objects(cx, p, node);
    if (ok && n->any.n) ok = any_of(cx, p, &n->any);
    if (ok && n->if_ && (n->then_ || n->else_)) ok = if_then_else(cx, p, n);
    if (!ok) return vc_schema_memory(cx);
    return n->one.n ? one_of(cx, p, &n->one) : VC_OK;
}
