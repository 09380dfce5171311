/* SPDX-License-Identifier: Apache-2.0
 * gram_build.h: a grammar as a graph of nodes, built bottom-up. Nodes are values without identity: equal ones are
 * one, any may be used in several places. A vc_gram has one owner thread while it is built; vc_gram_compile makes it
 * an automaton. A node 0 is a failure; every function passes it through, and vc_gram_compile reports the first one.
 */
#ifndef VC_TEXT_GRAM_BUILD_H
#define VC_TEXT_GRAM_BUILD_H

#include "text/grammar.h"

struct vc_gram;
typedef uint32_t vc_gram_node;
struct vc_gram_range { uint32_t first, last; };          /* code points, inclusive */
#define VC_GRAM_INF UINT32_MAX

vc_status vc_gram_new(struct vc_gram **out, const struct vc_gram_limits *limits,
                      vc_err *err); /* limits may be NULL */
void vc_gram_del(struct vc_gram *g);
/* VC_OK, or why the first node 0 came about (out of a budget, a wrong argument, out of memory). */
vc_status vc_gram_status(const struct vc_gram *g, vc_err *err);
/* Checks the time budget now and then in long builds: false = it is used up (and the next node is 0). */
bool vc_gram_in_time(struct vc_gram *g);

vc_gram_node vc_gram_text(struct vc_gram *g, const char *bytes, size_t n); /* exactly those bytes; n = 0: empty */
/* One character out of the ranges (any order, may overlap), as UTF-8; surrogates never. No ranges: matches nothing.
 */
vc_gram_node vc_gram_class(struct vc_gram *g, const struct vc_gram_range *r, size_t n, bool negate);
vc_gram_node vc_gram_seq(struct vc_gram *g, const vc_gram_node *v, size_t n);         /* n = 0: empty */
vc_gram_node vc_gram_alt(struct vc_gram *g, const vc_gram_node *v, size_t n);         /* n = 0: matches nothing */
/* max VC_GRAM_INF: unbounded. Counted, not unrolled; min > max fails. */
vc_gram_node vc_gram_repeat(struct vc_gram *g, vc_gram_node x, uint32_t min, uint32_t max);
/* Texts of both a and b; texts of a that are not texts of b. Without rules inside. Large counted repeats keep their
 * count in a (one of them, not inside another repeat); in b, and where a has several, they are unrolled within the
 * budget. */
vc_gram_node vc_gram_both(struct vc_gram *g, vc_gram_node a, vc_gram_node b);
vc_gram_node vc_gram_minus(struct vc_gram *g, vc_gram_node a, vc_gram_node b);
vc_gram_node vc_gram_rule(struct vc_gram *g);                                         /* defined later: recursion */
void vc_gram_define(struct vc_gram *g, vc_gram_node rule, vc_gram_node body);
static inline vc_gram_node vc_gram_seq2(struct vc_gram *g, vc_gram_node a, vc_gram_node b) {
    return vc_gram_seq(g, (vc_gram_node[]){ a, b }, 2);
}
static inline vc_gram_node vc_gram_alt2(struct vc_gram *g, vc_gram_node a, vc_gram_node b) {
    return vc_gram_alt(g, (vc_gram_node[]){ a, b }, 2);
}
static inline vc_gram_node vc_gram_opt(struct vc_gram *g, vc_gram_node x) { return vc_gram_repeat(g, x, 0, 1); }
static inline vc_gram_node vc_gram_star(struct vc_gram *g, vc_gram_node x) {
    return vc_gram_repeat(g, x, 0, VC_GRAM_INF);
}
bool vc_gram_nullable(struct vc_gram *g, vc_gram_node x); /* matches the empty text (rules: as defined so far) */
bool vc_gram_has_rules(struct vc_gram *g, vc_gram_node x);          /* a rule is inside: not for both and minus */
/* Whether no text matches (without rules inside). On failure true, and vc_gram_status tells. */
bool vc_gram_is_empty(struct vc_gram *g, vc_gram_node x);

/* One character of the ranges as it may stand inside a JSON string: itself, or its escape where JSON demands one
 * (\" \\ \b \f \n \r \t, \u00XX for other controls, and the \u form of all of these); with any_escape also \/ and the
 * \uXXXX (pair) form of every other character. */
vc_gram_node vc_gram_json_class(struct vc_gram *g, const struct vc_gram_range *r, size_t n, bool negate,
                                bool any_escape);

enum {
    VC_GRAM_RX_SEARCH = 1, /* the pattern may match anywhere (JSON Schema); else the whole text */
    VC_GRAM_RX_JSON = 2,   /* characters are spelt as inside a JSON string (without the quotes) */
    VC_GRAM_RX_ECMA = 4,   /* . \s and class escapes as ECMA-262 with the u flag; else as Python's re with re.ASCII */
    VC_GRAM_RX_ANY_ESCAPE = 8 /* with JSON: see vc_gram_json_class */
};
/* A regular expression. An invalid one is VC_E_INVALID, an unsupported construct (look-around, back references, \b …)
 * VC_E_UNSUPPORTED; both name it and its byte offset, and the node is 0 without making g fail. */
vc_gram_node vc_gram_regex(struct vc_gram *g, const char *pattern, size_t n, int flags, vc_err *err);
/* GBNF: rules "name ::= …", literals, classes, groups, ? * + {m,n}, |, comments, "." Returns the rule root. Errors
 * name line and column. */
vc_gram_node vc_gram_ebnf(struct vc_gram *g, const char *text, size_t n, vc_err *err);

vc_status vc_gram_compile(struct vc_gram *g, vc_gram_node root, vc_err *err);
/* A compiled g becomes a grammar (owned by it; also on failure). */
vc_status vc_gram_finish(struct vc_grammar **out, struct vc_gram *g, vc_err *err);

/* schema_*.c, tag_*.c: what vc_grammar_compile calls for JSON_SCHEMA, JSON_OBJECT and STRUCTURAL_TAG. whitespace is
 * resolved (VC_GRAMMAR_WS_ANY, or characters per place). */
vc_status vc_schema_build(struct vc_gram *g, enum vc_grammar_kind kind, const char *spec, size_t n, int whitespace,
                          vc_gram_node *root, struct vc_grammar_where *where, vc_err *err);

#endif
