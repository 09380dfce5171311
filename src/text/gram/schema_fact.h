/* SPDX-License-Identifier: Apache-2.0
 * schema_fact.h: the steps by which a clause is made (schema_expand.c, schema_negate.c). A fact narrows the clause; an
 * option is a list of facts; a choice is a list of options, one of which has to hold. */
#ifndef VC_TEXT_SCHEMA_FACT_H
#define VC_TEXT_SCHEMA_FACT_H

#include "text/gram/schema_clause.h"

enum vc_fact_kind {
    VC_FACT_LIT,   /* id: literal */
    VC_FACT_TYPES, /* a: kinds that remain */
    VC_FACT_LO,    /* dec, neg: open */
    VC_FACT_HI,
    VC_FACT_MIN_LEN,
    VC_FACT_MAX_LEN,
    VC_FACT_MIN_ITEMS,
    VC_FACT_MAX_ITEMS,
    VC_FACT_MIN_PROPS,
    VC_FACT_MAX_PROPS, /* a */
    VC_FACT_PATTERN,   /* text, neg, id: node */
    VC_FACT_FORMAT,    /* a: format, neg, id: node */
    VC_FACT_NOT_VALUE, /* json; id: node, a: keyword */
    VC_FACT_EVERY,     /* id: literal of all items */
    VC_FACT_AT,        /* id: literal, a: index of an item that must be there */
    VC_FACT_REQUIRED,
    VC_FACT_ABSENT,   /* text */
    VC_FACT_PROPERTY, /* text, id: literal */
    VC_FACT_REFUSED   /* id: node, a: keyword, b: kinds of values */
};

struct vc_fact {
    const struct vc_fact *next;
    enum vc_fact_kind kind;
    struct vc_cell v;
};
struct vc_option { const struct vc_option *next; const struct vc_fact *facts; };
struct vc_choice { const struct vc_choice *next; const struct vc_option *options; };

/* A clause on its way. */
struct vc_partial {
    struct vc_clause c;
    const struct vc_cell *seen;              /* id: literals that are in */
    const struct vc_fact *todo;
    const struct vc_choice *choices;
    struct vc_partial *next;
};

bool vc_fact_add(struct vc_schema_cx *cx, const struct vc_fact **list, enum vc_fact_kind kind, struct vc_cell v);
bool vc_option_add(struct vc_schema_cx *cx, const struct vc_option **list, const struct vc_fact *facts);
bool vc_choice_add(struct vc_schema_cx *cx, struct vc_partial *p, const struct vc_option *options);

/* Puts the negation of node into p: a choice of one keyword that fails. */
vc_status vc_schema_negate(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node);
/* Puts node's own limits into p, and its sub-schemas at the same place as facts and choices. */
vc_status vc_schema_assert(struct vc_schema_cx *cx, struct vc_partial *p, uint32_t node);
/* Narrows p by a fact. */
vc_status vc_schema_fact(struct vc_schema_cx *cx, struct vc_partial *p, const struct vc_fact *f);
vc_status vc_schema_memory(struct vc_schema_cx *cx);     /* the error for a failed list */

#endif
