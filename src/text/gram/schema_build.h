/* SPDX-License-Identifier: Apache-2.0
 * schema_build.h: from goals to grammar nodes. Each kind of value has its file: schema_string.c, schema_number.c,
 * schema_array.c, schema_object.c, schema_value.c (values of enum and const); schema_build.c ties them together. */
#ifndef VC_TEXT_SCHEMA_BUILD_H
#define VC_TEXT_SCHEMA_BUILD_H

#include "text/gram/schema_clause.h"

/* The grammar of a document's root. */
vc_status vc_schema_node_of(struct vc_gram *g, struct vc_schema_doc *doc, int whitespace, vc_gram_node *root);
/* The node of a goal: a rule for arrays and objects, whose body comes later, else the grammar itself. */
vc_status vc_schema_goal_node(struct vc_schema_cx *cx, struct vc_goal *goal, vc_gram_node *out);
vc_status vc_schema_number(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out);
vc_status vc_schema_array(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out);
vc_status vc_schema_object(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out);
vc_gram_node vc_schema_json_value(struct vc_schema_cx *cx, const json_t *v);

/* A string with its quotes. */
vc_status vc_schema_string(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out);
/* Names of properties that fulfil `names` (its clauses' strings; NULL: every name) and the patterns (text, neg, id),
 * and are none of not_names; with quotes. */
vc_status vc_schema_name(struct vc_schema_cx *cx, struct vc_goal *names, const struct vc_cell *patterns,
                         const struct vc_cell *not_names, vc_gram_node *out);
vc_status vc_schema_string_empty(struct vc_schema_cx *cx, const struct vc_clause *c, bool *empty);

/* Values of the enum or const of a clause that has one. */
size_t vc_schema_num_values(const struct vc_schema_cx *cx, const struct vc_clause *c);
const json_t *vc_schema_value_at(const struct vc_schema_cx *cx, const struct vc_clause *c, size_t i);
/* All values of goal, if they are few (at most cap) and known: *n of them, else *n = SIZE_MAX. */
vc_status vc_schema_values(struct vc_schema_cx *cx, struct vc_goal *goal, const json_t **v, size_t cap, size_t *n);

#endif
