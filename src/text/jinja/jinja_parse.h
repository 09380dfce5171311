/* SPDX-License-Identifier: Apache-2.0
 * jinja_parse.h: shared by the two halves of the parser (statements, expressions). The grammar is that of jinja2/parser.py. */
#ifndef VC_TEXT_JINJA_PARSE_H
#define VC_TEXT_JINJA_PARSE_H

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_lex.h"

enum { VC_J_PARSE_DEPTH = 160 };

/* A filter or test whose name is not known. Inside an `if` that is an error only when it is reached (as in Jinja), elsewhere
 * it makes the template invalid. */
struct vc_junknown { const struct vc_jnode *node; const char *what; bool soft, settled; };

struct vc_jparser {
    vc_jx *x;
    struct vc_jprog *prog;
    const struct vc_jtok *t;        /* current token */
    vc_jv names;                    /* dict: name → id */
    uint32_t cap_names;
    struct vc_junknown *unknown;
    uint32_t n_unknown, cap_unknown;
    uint8_t *macro_flags;           /* what the body of the innermost macro refers to; of outer ones at lower indices */
    uint32_t n_macro, n_loop, depth;
};

/* A list of nodes under construction. */
struct vc_jnodes { const struct vc_jnode **v; uint32_t n, cap; };
void vc_jp_add(struct vc_jparser *p, struct vc_jnodes *l, const struct vc_jnode *n);
struct vc_jbody vc_jp_body(const struct vc_jnodes *l);

struct vc_jnode *vc_jp_node(struct vc_jparser *p, enum vc_jkind kind);      /* at the current token */
noreturn void vc_jp_fail(struct vc_jparser *p, const char *fmt, ...) VC_PRINTF(2, 3);
noreturn void vc_jp_unexpected(struct vc_jparser *p, const char *expected);
bool vc_jp_is(const struct vc_jparser *p, const char *name);                /* current token is this name */
bool vc_jp_is_next(const struct vc_jparser *p, const char *name);
bool vc_jp_skip(struct vc_jparser *p, const char *name);
bool vc_jp_skip_kind(struct vc_jparser *p, enum vc_jtok_kind k);
void vc_jp_expect(struct vc_jparser *p, enum vc_jtok_kind k);
void vc_jp_advance(struct vc_jparser *p);
void vc_jp_enter(struct vc_jparser *p);
uint32_t vc_jp_name_id(struct vc_jparser *p, const char *s, size_t n);
void vc_jp_soften(struct vc_jparser *p, uint32_t from, bool soft);

const struct vc_jnode *vc_jp_expr(struct vc_jparser *p);
const struct vc_jnode *vc_jp_expr_nocond(struct vc_jparser *p);
enum { VC_JP_SIMPLE = 1, VC_JP_NOCOND = 2, VC_JP_PAREN = 4, VC_JP_NSREF = 8, VC_JP_STORE = 16 };
const struct vc_jnode *vc_jp_tuple(struct vc_jparser *p, unsigned flags, const char *end_name);
const struct vc_jnode *vc_jp_target(struct vc_jparser *p, bool with_ns, const char *end_name);
const struct vc_jnode *vc_jp_target_name(struct vc_jparser *p);
const struct vc_jnode *vc_jp_filters(struct vc_jparser *p, const struct vc_jnode *n, bool inline_start);

#endif
