/* SPDX-License-Identifier: Apache-2.0
 * schema_negate.c: the negation of a schema: some keyword of it fails. Each way to fail is an option; what a grammar
 * cannot say is marked, and is an error only if it is reached. */
#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

struct ways {
    struct vc_schema_cx *cx;
    const struct vc_schema_node *n;
    uint32_t node;
    const struct vc_option *options;
    bool ok;
};

/* One more way: kinds of values, and one more fact (or two). */
static void way(struct ways *w, unsigned types, enum vc_fact_kind kind, struct vc_cell v) {
    const struct vc_fact *f = NULL;
    w->ok = w->ok && vc_fact_add(w->cx, &f, kind, v) &&
            vc_fact_add(w->cx, &f, VC_FACT_TYPES, (struct vc_cell){ .a = types }) &&
            vc_option_add(w->cx, &w->options, f);
}

static void way2(struct ways *w, unsigned types, enum vc_fact_kind kind, struct vc_cell v, enum vc_fact_kind kind2,
                 struct vc_cell v2) {
    const struct vc_fact *f = NULL;
    w->ok = w->ok && vc_fact_add(w->cx, &f, kind2, v2) && vc_fact_add(w->cx, &f, kind, v) &&
            vc_fact_add(w->cx, &f, VC_FACT_TYPES, (struct vc_cell){ .a = types }) &&
            vc_option_add(w->cx, &w->options, f);
}

static void refused(struct ways *w, unsigned types, enum vc_schema_keyword k) {
    way(w, types, VC_FACT_REFUSED, (struct vc_cell){ .id = w->node, .a = (uint32_t)k, .b = types });
}

static bool has(const struct ways *w, enum vc_schema_keyword k) { return vc_schema_has(w->n, k); }

/* Nothing can fail: true, {}, or a node of annotations. */
static bool never_fails(const struct ways *w, uint32_t node) {
    const struct vc_schema_node *n = &w->cx->doc->node[node];
    return n->types == VC_ST_ALL && !n->asks;
}

static void values(struct ways *w) {
    const json_t *list = json_object_get(w->n->json, "enum");
    const struct vc_fact *f = NULL;
    if (has(w, VC_KW_CONST))
        way(w, VC_ST_ALL, VC_FACT_NOT_VALUE, (struct vc_cell){ .id = w->node, .a = VC_KW_CONST, .json = w->n->value });
    if (!has(w, VC_KW_ENUM)) return;
    for (size_t i = 0; w->ok && i < json_array_size(list); i++)
        w->ok = vc_fact_add(w->cx, &f, VC_FACT_NOT_VALUE,
                            (struct vc_cell){ .id = w->node, .a = VC_KW_ENUM, .json = json_array_get(list, i) });
    w->ok = w->ok && vc_option_add(w->cx, &w->options, f);
}

static void numbers(struct ways *w) {
    static const struct { enum vc_schema_keyword k; int num; enum vc_fact_kind kind; bool open;
    } row[] = {
        { VC_KW_MINIMUM, VC_SN_MINIMUM, VC_FACT_HI, true },
        { VC_KW_MAXIMUM, VC_SN_MAXIMUM, VC_FACT_LO, true },
        { VC_KW_EXCLUSIVE_MINIMUM, VC_SN_ABOVE, VC_FACT_HI, false },
        { VC_KW_EXCLUSIVE_MAXIMUM, VC_SN_BELOW, VC_FACT_LO, false },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(row); i++)
        if (has(w, row[i].k))
            way(w, VC_ST_NUMBER, row[i].kind, (struct vc_cell){ .dec = w->n->num[row[i].num], .neg = row[i].open });
    if (has(w, VC_KW_MULTIPLE_OF)) refused(w, VC_ST_NUMBER, VC_KW_MULTIPLE_OF);
}

static void counts(struct ways *w) {
    static const struct {
        enum vc_schema_keyword lo, hi;
        int min, max;
        enum vc_fact_kind kmin, kmax;
        unsigned types;
    } row[] = {
        { VC_KW_MIN_LENGTH, VC_KW_MAX_LENGTH, VC_SC_MIN_LENGTH, VC_SC_MAX_LENGTH, VC_FACT_MIN_LEN, VC_FACT_MAX_LEN,
          VC_ST_STRING },
        { VC_KW_MIN_ITEMS, VC_KW_MAX_ITEMS, VC_SC_MIN_ITEMS, VC_SC_MAX_ITEMS, VC_FACT_MIN_ITEMS, VC_FACT_MAX_ITEMS,
          VC_ST_ARRAY },
        { VC_KW_MIN_PROPERTIES, VC_KW_MAX_PROPERTIES, VC_SC_MIN_PROPERTIES, VC_SC_MAX_PROPERTIES, VC_FACT_MIN_PROPS,
          VC_FACT_MAX_PROPS, VC_ST_OBJECT },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(row); i++) {
        uint32_t lo = w->n->count[row[i].min], hi = w->n->count[row[i].max];
        if (has(w, row[i].lo) && lo) way(w, row[i].types, row[i].kmax, (struct vc_cell){ .a = lo - 1 });
        if (has(w, row[i].hi) && hi != UINT32_MAX)
            way(w, row[i].types, row[i].kmin, (struct vc_cell){ .a = hi + 1, .id = w->node });
    }
}

static void strings(struct ways *w) {
    if (has(w, VC_KW_PATTERN))
        way(w, VC_ST_STRING, VC_FACT_PATTERN,
            (struct vc_cell){ .id = w->node, .text = w->n->pattern, .neg = true, .a = VC_KW_PATTERN });
    if (w->n->format >= 0)
        way(w, VC_ST_STRING, VC_FACT_FORMAT,
            (struct vc_cell){ .id = w->node, .a = (uint32_t)w->n->format, .neg = true });
}

static void arrays(struct ways *w) {
    const struct vc_schema_node *n = w->n;
    for (uint32_t i = 0; i < n->prefix.n; i++)
        if (!never_fails(w, n->prefix.v[i]))
            way(w, VC_ST_ARRAY, VC_FACT_AT, (struct vc_cell){ .id = VC_LIT_NOT(n->prefix.v[i]), .a = i });
    if (n->items && json_is_false(w->cx->doc->node[n->items].json))
        way(w, VC_ST_ARRAY, VC_FACT_MIN_ITEMS, (struct vc_cell){ .a = n->prefix.n + 1 });
    else if (n->items && !never_fails(w, n->items)) refused(w, VC_ST_ARRAY, VC_KW_ITEMS);
    if (n->contains && (has(w, VC_KW_MIN_CONTAINS) || has(w, VC_KW_MAX_CONTAINS)))
        refused(w, VC_ST_ARRAY, VC_KW_CONTAINS);
    else if (n->contains) way(w, VC_ST_ARRAY, VC_FACT_EVERY, (struct vc_cell){ .id = VC_LIT_NOT(n->contains) });
    if (n->unique) refused(w, VC_ST_ARRAY, VC_KW_UNIQUE_ITEMS);
    if (n->unevaluated_items && !never_fails(w, n->unevaluated_items)) refused(w, VC_ST_ARRAY, VC_KW_UNEVALUATED_ITEMS);
}

static void objects(struct ways *w) {
    const struct vc_schema_node *n = w->n;
    for (uint32_t i = 0; i < n->properties.n; i++) {
        struct vc_cell name = { .text = n->properties.v[i].name, .id = VC_LIT_NOT(n->properties.v[i].node) };
        if (!never_fails(w, n->properties.v[i].node))
            way2(w, VC_ST_OBJECT, VC_FACT_REQUIRED, name, VC_FACT_PROPERTY, name);
    }
    for (uint32_t i = 0; i < n->patterns.n; i++)
        if (!never_fails(w, n->patterns.v[i].node)) refused(w, VC_ST_OBJECT, VC_KW_PATTERN_PROPERTIES);
    if (n->additional && !never_fails(w, n->additional)) refused(w, VC_ST_OBJECT, VC_KW_ADDITIONAL);
    if (n->unevaluated && !never_fails(w, n->unevaluated)) refused(w, VC_ST_OBJECT, VC_KW_UNEVALUATED);
    if (n->names && !never_fails(w, n->names)) refused(w, VC_ST_OBJECT, VC_KW_PROPERTY_NAMES);
    for (uint32_t i = 0; i < n->num_required; i++)
        way(w, VC_ST_OBJECT, VC_FACT_ABSENT, (struct vc_cell){ .text = n->required[i] });
    for (uint32_t i = 0; i < n->num_needs; i++)
        for (uint32_t j = 0; j < n->needs[i].n; j++)
            way2(w, VC_ST_OBJECT, VC_FACT_REQUIRED, (struct vc_cell){ .text = n->needs[i].name }, VC_FACT_ABSENT,
                 (struct vc_cell){ .text = n->needs[i].v[j] });
    for (uint32_t i = 0; i < n->dependent.n; i++)
        way2(w, VC_ST_OBJECT, VC_FACT_REQUIRED, (struct vc_cell){ .text = n->dependent.v[i].name }, VC_FACT_LIT,
             (struct vc_cell){ .id = VC_LIT_NOT(n->dependent.v[i].node) });
}

static void places(struct ways *w) {
    const struct vc_schema_node *n = w->n;
    const struct vc_fact *none = NULL;
    for (uint32_t i = 0; i < n->all.n; i++)
        way(w, VC_ST_ALL, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(n->all.v[i]) });
    for (uint32_t i = 0; w->ok && i < n->any.n; i++)
        w->ok = vc_fact_add(w->cx, &none, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(n->any.v[i]) });
    if (n->any.n) w->ok = w->ok && vc_option_add(w->cx, &w->options, none);
    if (n->one.n == 1) way(w, VC_ST_ALL, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(n->one.v[0]) });
    else if (n->one.n) refused(w, VC_ST_ALL, VC_KW_ONE_OF);
    if (n->not_) way(w, VC_ST_ALL, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(n->not_) });
    if (n->target) way(w, VC_ST_ALL, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(n->target) });
    if (n->if_ && n->then_)
        way2(w, VC_ST_ALL, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT(n->if_) }, VC_FACT_LIT,
             (struct vc_cell){ .id = VC_LIT_NOT(n->then_) });
    if (n->if_ && n->else_)
        way2(w, VC_ST_ALL, VC_FACT_LIT, (struct vc_cell){ .id = VC_LIT_NOT(n->if_) }, VC_FACT_LIT,
             (struct vc_cell){ .id = VC_LIT_NOT(n->else_) });
}

vc_status vc_schema_negate(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node) {
    struct ways w = { cx, &cx->doc->node[node], node, NULL, true };
    if (w.n->types != VC_ST_ALL) way(&w, VC_ST_ALL, VC_FACT_TYPES, (struct vc_cell){ .a = VC_ST_ALL & ~w.n->types });
    values(&w);
    numbers(&w);
    counts(&w);
    strings(&w);
    arrays(&w);
    objects(&w);
    places(&w);
    if (!w.options) p->c.types = 0;
    return w.ok && vc_choice_add(cx, p, w.options) ? VC_OK : vc_schema_memory(cx);
}
