/* SPDX-License-Identifier: Apache-2.0
 * schema_clause.h: schemas as sets. A literal is a node or the negation of one; a goal is a set of literals that a
 * value has to fulfil all; a clause is what is left of a goal after one option of every choice (anyOf, oneOf, if, not,
 * …) was taken: plain limits, one record for all kinds of values. A goal is the union of its clauses. Lists in a clause
 * are immutable and shared, so that copying the struct is enough to try an option. */
#ifndef VC_TEXT_SCHEMA_CLAUSE_H
#define VC_TEXT_SCHEMA_CLAUSE_H

#include "text/gram/gram_build.h"
#include "text/gram/schema_doc.h"

#define VC_LIT_FALSE 0u      /* node 0, which no value fulfils */
#define VC_LIT(node) ((uint32_t)(node) << 1)
#define VC_LIT_NOT(node) ((uint32_t)(node) << 1 | 1)

/* A cell of a list: which fields count depends on the list. */
struct vc_cell {
    const struct vc_cell *next;
    uint32_t id;                 /* node or literal */
    uint32_t a, b;
    bool neg;
    vc_str text;
    struct vc_dec dec;
    const json_t *json;
};

struct vc_clause {
    unsigned types;
    uint32_t values;                         /* not 0: only values of this node's enum or const */
    struct vc_dec lo, hi;                    /* numbers */
    bool has_lo, has_hi, lo_open, hi_open;
    const struct vc_cell *multiples, *not_numbers;                   /* dec */
    uint32_t min_len, max_len;
    const struct vc_cell *patterns, *formats, *not_strings;          /* text, neg, id; a = format, neg, id; text */
    uint32_t min_items, max_items;
    const struct vc_cell *arrays, *every, *at,
        *contains;                           /* id = node; literal; literal, a = index; literal, a…b, json: node */
    uint32_t unique;                         /* node that asks for it */
    uint32_t min_props, max_props, min_props_node;
    const struct vc_cell *objects, *required, *absent, *props;       /* node; text; text; text, id = literal */
    const struct vc_cell *refused;           /* id = node, a = keyword, b = kinds of values, text */
    struct vc_clause *next;                  /* of the goal */
};

struct vc_goal {
    uint32_t *lit, n;                        /* ascending */
    uint64_t hash;
    bool expanded, expanding, checking;
    signed char empty;                       /* -1 not known, 0 not provably, 1 no value exists */
    vc_gram_node node;                       /* 0: none yet */
    struct vc_clause *clauses;
    struct vc_goal *next;                    /* of the queue */
};

/* One build. Owner: the calling thread, for the time of vc_schema_build. */
struct vc_schema_cx {
    struct vc_schema_doc *doc;
    struct vc_gram *g;
    struct vc_arena arena;
    struct vc_goal **goal;                   /* owned table of pointers, open addressing */
    uint32_t slots, num_goals;
    uint32_t num_clauses, depth;             /* budgets */
    struct vc_goal *queue;                   /* goals whose rule has no body yet */
    struct vc_goal **queue_end;
    vc_gram_node ws, comma, colon;           /* white space between tokens of JSON; with the sign */
    vc_gram_node loose_char, any_char,
        plain_char; /* of a string: as JSON has it, in any spelling that is text, in the shortest one */
    size_t hint;                             /* where a value that is checked stands in its enum */
    struct vc_schema_matcher *matchers;      /* of patterns and formats, for names and values that are known */
};

/* schema_goal.c. lit[0 … n) in any order; literals that hold always are left out. NULL: out of memory. */
struct vc_goal *vc_schema_goal(struct vc_schema_cx *cx, const uint32_t *lit, uint32_t n);
/* Growing list of literals for a goal, in the arena. */
struct vc_lits { uint32_t *v, n, cap; };
bool vc_lits_add(struct vc_schema_cx *cx, struct vc_lits *l, uint32_t lit);
/* Can no value fulfil goal? False when that is not known. */
vc_status vc_schema_empty(struct vc_schema_cx *cx, struct vc_goal *goal, bool *empty);
/* The same for values of the kinds in mask alone. */
vc_status vc_schema_empty_of(struct vc_schema_cx *cx, struct vc_goal *goal, unsigned mask, bool *empty);
vc_status vc_schema_clause_empty(struct vc_schema_cx *cx, const struct vc_goal *goal, const struct vc_clause *c,
                                 bool *empty);

/* schema_expand.c: sets goal->clauses. */
vc_status vc_schema_expand(struct vc_schema_cx *cx, struct vc_goal *goal);
/* The error for the first part of the goal that is not enforced here. */
vc_status vc_schema_refused(struct vc_schema_cx *cx, const struct vc_goal *goal);

/* schema_check.c: does v fulfil the goal? Exact for every keyword. */
vc_status vc_schema_valid(struct vc_schema_cx *cx, const struct vc_goal *goal, const json_t *v, bool *valid);
vc_status vc_schema_search(struct vc_schema_cx *cx, uint32_t node, enum vc_schema_keyword k, vc_str pattern, bool whole,
                           vc_str text, bool *found);
void vc_schema_matchers_free(struct vc_schema_cx *cx);

/* schema_literals of one property, item: schema_object.c, schema_array.c. */
vc_status vc_schema_property_goal(struct vc_schema_cx *cx, const struct vc_clause *c, vc_str name,
                                  struct vc_goal **out);
vc_status vc_schema_item_goal(struct vc_schema_cx *cx, const struct vc_clause *c, uint32_t index, struct vc_goal **out);

/* Lists. Adding returns false when memory is out. */
bool vc_cell_add(struct vc_schema_cx *cx, const struct vc_cell **list, struct vc_cell cell);
bool vc_cell_has_text(const struct vc_cell *list, vc_str text);
/* The cells, oldest first, in the arena; *n of them. NULL: none or out of memory. */
const struct vc_cell **vc_cell_array(struct vc_schema_cx *cx, const struct vc_cell *list, uint32_t *n);

#endif
