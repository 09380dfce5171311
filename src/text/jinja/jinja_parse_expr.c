/* SPDX-License-Identifier: Apache-2.0
 * Expressions, from `a if b else c` down to literals, calls, filters and tests. */
#include <string.h>

#include "text/jinja/jinja_parse.h"

static const struct vc_jnode *parse_unary(struct vc_jparser *p, bool with_filter);
static const struct vc_jnode *parse_primary(struct vc_jparser *p, unsigned flags);

static const struct vc_jnode *binary(struct vc_jparser *p, enum vc_jkind kind, unsigned op, const struct vc_jnode *at,
                                     const struct vc_jnode *a, const struct vc_jnode *b) {
    struct vc_jnode *n = vc_jp_node(p, kind);
    n->line = at->line;
    n->col = at->col;
    n->op = (uint8_t)op;
    n->a = a;
    n->b = b;
    return n;
}

static const struct vc_jnode *parse_pow(struct vc_jparser *p) {
    const struct vc_jnode *left = parse_unary(p, true);
    while (p->t->kind == VC_JT_POW) {
        struct vc_jnode *at = vc_jp_node(p, VC_JN_ARITH);
        vc_jp_advance(p);
        left = binary(p, VC_JN_ARITH, VC_J_POW, at, left, parse_unary(p, true));
    }
    return left;
}

static const struct vc_jnode *parse_math2(struct vc_jparser *p) {
    const struct vc_jnode *left = parse_pow(p);
    for (;;) {
        enum vc_jtok_kind k = p->t->kind;
        unsigned op = k == VC_JT_MUL        ? VC_J_MUL
                      : k == VC_JT_DIV      ? VC_J_DIV
                      : k == VC_JT_FLOORDIV ? VC_J_FLOORDIV
                                            : VC_J_MOD;
        if (k != VC_JT_MUL && k != VC_JT_DIV && k != VC_JT_FLOORDIV && k != VC_JT_MOD) return left;
        struct vc_jnode *at = vc_jp_node(p, VC_JN_ARITH);
        vc_jp_advance(p);
        left = binary(p, VC_JN_ARITH, op, at, left, parse_pow(p));
    }
}

static const struct vc_jnode *parse_concat(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_CONCAT);
    const struct vc_jnode *first = parse_math2(p);
    if (p->t->kind != VC_JT_TILDE) return first;
    struct vc_jnodes l = { 0 };
    vc_jp_add(p, &l, first);
    while (vc_jp_skip_kind(p, VC_JT_TILDE)) vc_jp_add(p, &l, parse_math2(p));
    n->list = vc_jp_body(&l);
    return n;
}

static const struct vc_jnode *parse_math1(struct vc_jparser *p) {
    const struct vc_jnode *left = parse_concat(p);
    while (p->t->kind == VC_JT_ADD || p->t->kind == VC_JT_SUB) {
        unsigned op = p->t->kind == VC_JT_ADD ? VC_J_ADD : VC_J_SUB;
        struct vc_jnode *at = vc_jp_node(p, VC_JN_ARITH);
        vc_jp_advance(p);
        left = binary(p, VC_JN_ARITH, op, at, left, parse_concat(p));
    }
    return left;
}

/* The comparison operator at the current token, which is passed over; -1: none. */
static int compare_op(struct vc_jparser *p) {
    static const uint8_t map[][2] = { { VC_JT_EQ, VC_J_EQ }, { VC_JT_NE, VC_J_NE }, { VC_JT_LT, VC_J_LT },
                                      { VC_JT_LE, VC_J_LE }, { VC_JT_GT, VC_J_GT }, { VC_JT_GE, VC_J_GE } };
    for (size_t i = 0; i < VC_ARRAY_LEN(map); i++) {
        if (p->t->kind == (enum vc_jtok_kind)map[i][0]) {
            vc_jp_advance(p);
            return map[i][1];
        }
    }
    if (vc_jp_skip(p, "in")) return VC_J_IN;
    if (vc_jp_is(p, "not") && vc_jp_is_next(p, "in")) {
        vc_jp_advance(p);
        vc_jp_advance(p);
        return VC_J_NOTIN;
    }
    return -1;
}

static const struct vc_jnode *parse_compare(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_COMPARE);
    const struct vc_jnode *first = parse_math1(p);
    struct vc_jnodes l = { 0 };
    struct vc_jbuf op = { 0 };
    for (int o; (o = compare_op(p)) >= 0;) {
        vc_j_putc(p->x, &op, (char)o);
        vc_jp_add(p, &l, parse_math1(p));
    }
    if (l.n == 0) return first;
    n->a = first;
    n->list = vc_jp_body(&l);
    n->ops = (const uint8_t *)op.p;
    return n;
}

static const struct vc_jnode *parse_not(struct vc_jparser *p) {
    if (!vc_jp_is(p, "not")) return parse_compare(p);
    struct vc_jnode *n = vc_jp_node(p, VC_JN_NOT);
    vc_jp_enter(p);
    vc_jp_advance(p);
    n->a = parse_not(p);
    p->depth--;
    return n;
}

static const struct vc_jnode *parse_and(struct vc_jparser *p) {
    const struct vc_jnode *left = parse_not(p);
    while (vc_jp_skip(p, "and")) left = binary(p, VC_JN_AND, 0, left, left, parse_not(p));
    return left;
}

const struct vc_jnode *vc_jp_expr_nocond(struct vc_jparser *p) {
    const struct vc_jnode *left = parse_and(p);
    while (vc_jp_skip(p, "or")) left = binary(p, VC_JN_OR, 0, left, left, parse_and(p));
    return left;
}

const struct vc_jnode *vc_jp_expr(struct vc_jparser *p) {
    vc_jp_enter(p);
    uint32_t unknown = p->n_unknown;
    const struct vc_jnode *e = vc_jp_expr_nocond(p);
    while (vc_jp_skip(p, "if")) {
        struct vc_jnode *n = vc_jp_node(p, VC_JN_COND);
        n->b = e;
        n->a = vc_jp_expr_nocond(p);
        if (vc_jp_skip(p, "else")) n->c = vc_jp_expr(p);
        vc_jp_soften(p, unknown, true);
        e = n;
    }
    p->depth--;
    return e;
}

static bool tuple_end(const struct vc_jparser *p, const char *end_name) {
    enum vc_jtok_kind k = p->t->kind;
    return k == VC_JT_VAR_END || k == VC_JT_BLOCK_END || k == VC_JT_RPAREN || (end_name && vc_jp_is(p, end_name));
}

const struct vc_jnode *vc_jp_tuple(struct vc_jparser *p, unsigned flags, const char *end_name) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_TUPLE);
    struct vc_jnodes l = { 0 };
    bool is_tuple = false;
    for (;;) {
        if (l.n) vc_jp_expect(p, VC_JT_COMMA);
        if (tuple_end(p, end_name)) break;
        vc_jp_add(p, &l,
                  flags & VC_JP_SIMPLE   ? parse_primary(p, flags)
                  : flags & VC_JP_NOCOND ? vc_jp_expr_nocond(p)
                                         : vc_jp_expr(p));
        if (p->t->kind != VC_JT_COMMA) break;
        is_tuple = true;
    }
    if (!is_tuple) {
        if (l.n) return l.v[0];
        if (!(flags & VC_JP_PAREN)) vc_jp_unexpected(p, "an expression");
    }
    n->list = vc_jp_body(&l);
    return n;
}

static const struct vc_jnode *parse_list(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_LIST);
    struct vc_jnodes l = { 0 };
    vc_jp_advance(p);
    while (p->t->kind != VC_JT_RBRACKET) {
        if (l.n) vc_jp_expect(p, VC_JT_COMMA);
        if (p->t->kind == VC_JT_RBRACKET) break;
        vc_jp_add(p, &l, vc_jp_expr(p));
    }
    vc_jp_advance(p);
    n->list = vc_jp_body(&l);
    return n;
}

static const struct vc_jnode *parse_dict(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_DICT);
    struct vc_jnodes l = { 0 };
    vc_jp_advance(p);
    while (p->t->kind != VC_JT_RBRACE) {
        if (l.n) vc_jp_expect(p, VC_JT_COMMA);
        if (p->t->kind == VC_JT_RBRACE) break;
        vc_jp_add(p, &l, vc_jp_expr(p));
        vc_jp_expect(p, VC_JT_COLON);
        vc_jp_add(p, &l, vc_jp_expr(p));
    }
    vc_jp_advance(p);
    n->list = vc_jp_body(&l);
    return n;
}

static const struct vc_jnode *parse_number(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_CONST);
    const struct vc_jtok *t = p->t;
    if (t->kind == VC_JT_FLOAT) {
        struct vc_jbuf b = { 0 };
        for (size_t i = 0; i < t->n; i++)
            if (t->p[i] != '_') vc_j_putc(p->x, &b, t->p[i]);
        n->val = vc_j_float(0);
        if (!vc_j_parse_double(b.p, b.n, &n->val.u.f)) vc_jp_fail(p, "a number is malformed");
    } else {
        char c = t->n > 2 && t->p[0] == '0' ? (char)(t->p[1] | 0x20) : 0;
        unsigned base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
        size_t skip = base == 10 ? 0 : t->p[2] == '_' ? 3 : 2;
        if (!vc_j_parse_int(p->x, t->p + skip, t->n - skip, base, &n->val)) vc_jp_fail(p, "a number is malformed");
    }
    vc_jp_advance(p);
    return n;
}

static const struct vc_jnode *parse_string(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_CONST);
    const struct vc_jtok *t = p->t;
    vc_jp_advance(p);
    if (p->t->kind != VC_JT_STRING) {
        n->val = vc_j_str(p->x, t->p, t->n);
        return n;
    }
    struct vc_jbuf b = { 0 };
    vc_j_put(p->x, &b, t->p, t->n);
    for (; p->t->kind == VC_JT_STRING; vc_jp_advance(p)) vc_j_put(p->x, &b, p->t->p, p->t->n);
    n->val = vc_j_done(p->x, &b);
    return n;
}

static const struct vc_jnode *parse_name(struct vc_jparser *p, unsigned flags) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_NAME);
    const struct vc_jtok *t = p->t;
    bool is_true = vc_jp_is(p, "true") || vc_jp_is(p, "True"), is_false = vc_jp_is(p, "false") || vc_jp_is(p, "False");
    bool is_none = vc_jp_is(p, "none") || vc_jp_is(p, "None");
    vc_jp_advance(p);
    if (is_true || is_false || is_none) {
        n->kind = VC_JN_CONST;
        n->val = is_none ? vc_j_none() : vc_j_bool(is_true);
        return n;
    }
    n->id = vc_jp_name_id(p, t->p, t->n);
    if ((flags & VC_JP_NSREF) && p->t->kind == VC_JT_DOT) {
        vc_jp_advance(p);
        if (p->t->kind != VC_JT_NAME) vc_jp_unexpected(p, "a name");
        n->kind = VC_JN_NSREF;
        n->val = vc_j_str(p->x, p->t->p, p->t->n);
        vc_jp_advance(p);
    } else if (!(flags & VC_JP_STORE)) {
        uint8_t f = n->id == p->prog->id_caller ? VC_JF_CALLER : n->id == p->prog->id_varargs ? VC_JF_VARARGS
                  : n->id == p->prog->id_kwargs ? VC_JF_KWARGS : 0;
        for (uint32_t i = 0; f && i < p->n_macro; i++) p->macro_flags[i] |= f;
    }
    return n;
}

static const struct vc_jnode *parse_primary(struct vc_jparser *p, unsigned flags) {
    switch (p->t->kind) {
    case VC_JT_NAME: return parse_name(p, flags);
    case VC_JT_STRING: return parse_string(p);
    case VC_JT_INT:
    case VC_JT_FLOAT: return parse_number(p);
    case VC_JT_LPAREN: {
        vc_jp_enter(p);
        vc_jp_advance(p);
        const struct vc_jnode *n =
            vc_jp_tuple(p, VC_JP_PAREN | (flags & VC_JP_STORE ? VC_JP_SIMPLE | VC_JP_STORE : 0), NULL);
        vc_jp_expect(p, VC_JT_RPAREN);
        p->depth--;
        return n;
    }
    case VC_JT_LBRACKET: return parse_list(p);
    case VC_JT_LBRACE: return parse_dict(p);
    default: vc_jp_unexpected(p, NULL);
    }
}

static const struct vc_jnode *parse_subscribed(struct vc_jparser *p) {
    const struct vc_jnode *part[3] = { NULL, NULL, NULL };
    struct vc_jnode *n = vc_jp_node(p, VC_JN_SLICE);
    if (p->t->kind != VC_JT_COLON) {
        part[0] = vc_jp_expr(p);
        if (p->t->kind != VC_JT_COLON) return part[0];
    }
    for (int i = 1; i < 3 && vc_jp_skip_kind(p, VC_JT_COLON); i++) {
        enum vc_jtok_kind k = p->t->kind;
        if (k != VC_JT_COLON && k != VC_JT_RBRACKET && k != VC_JT_COMMA) part[i] = vc_jp_expr(p);
    }
    const struct vc_jnode **v = vc_j_array(p->x, 3, sizeof *v);
    memcpy(v, part, sizeof part);
    n->list = (struct vc_jbody){ v, 3 };
    return n;
}

static const struct vc_jnode *parse_subscript(struct vc_jparser *p, const struct vc_jnode *obj) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_GETITEM);
    n->a = obj;
    if (vc_jp_skip_kind(p, VC_JT_DOT)) {
        if (p->t->kind == VC_JT_NAME) {
            n->kind = VC_JN_GETATTR;
            n->val = vc_j_str(p->x, p->t->p, p->t->n);
            vc_jp_advance(p);
        } else if (p->t->kind == VC_JT_INT) {
            n->b = parse_number(p);
        } else {
            vc_jp_unexpected(p, "a name or a number");
        }
        return n;
    }
    vc_jp_advance(p);
    struct vc_jnodes l = { 0 };
    while (p->t->kind != VC_JT_RBRACKET) {
        if (l.n) vc_jp_expect(p, VC_JT_COMMA);
        vc_jp_add(p, &l, parse_subscribed(p));
    }
    vc_jp_advance(p);
    if (l.n == 1) {
        n->b = l.v[0];
        return n;
    }
    for (uint32_t i = 0; i < l.n; i++)
        if (l.v[i]->kind == VC_JN_SLICE) vc_jp_fail(p, "a slice can't stand beside other subscripts");
    struct vc_jnode *tuple = vc_jp_node(p, VC_JN_TUPLE);
    tuple->list = vc_jp_body(&l);
    n->b = tuple;
    return n;
}

static void one_arg(struct vc_jparser *p, struct vc_jargs *a, struct vc_jnodes *pos, struct vc_jnodes *kw,
                    struct vc_jnodes *names) {
    bool ok = true;
    if (vc_jp_skip_kind(p, VC_JT_MUL)) {
        ok = !a->dyn && !a->dyn_kw;
        a->dyn = vc_jp_expr(p);
    } else if (vc_jp_skip_kind(p, VC_JT_POW)) {
        ok = !a->dyn_kw;
        a->dyn_kw = vc_jp_expr(p);
    } else if (p->t->kind == VC_JT_NAME && p->t[1].kind == VC_JT_ASSIGN) {
        ok = !a->dyn_kw;
        struct vc_jnode *name = vc_jp_node(p, VC_JN_CONST);
        name->val = vc_j_str(p->x, p->t->p, p->t->n);
        for (uint32_t i = 0; i < names->n; i++)
            if (vc_j_str_same(names->v[i]->val.u.s, name->val.u.s))
                vc_jp_fail(p, "keyword argument repeated: %.*s", (int)VC_MIN(p->t->n, 64u), p->t->p);
        vc_jp_advance(p);
        vc_jp_advance(p);
        vc_jp_add(p, names, name);
        vc_jp_add(p, kw, vc_jp_expr(p));
    } else {
        ok = !a->dyn && !a->dyn_kw && !kw->n;
        vc_jp_add(p, pos, vc_jp_expr(p));
    }
    if (!ok) vc_jp_fail(p, "invalid order of arguments in a call");
}

static struct vc_jargs *parse_args(struct vc_jparser *p) {
    struct vc_jargs *a = VC_J_NEW(p->x, struct vc_jargs);
    struct vc_jnodes pos = { 0 }, kw = { 0 }, names = { 0 };
    vc_jp_expect(p, VC_JT_LPAREN);
    for (bool comma = false; p->t->kind != VC_JT_RPAREN; comma = true) {
        if (comma) {
            vc_jp_expect(p, VC_JT_COMMA);
            if (p->t->kind == VC_JT_RPAREN) break;
        }
        one_arg(p, a, &pos, &kw, &names);
    }
    vc_jp_advance(p);
    a->pos = vc_jp_body(&pos);
    a->kw = vc_jp_body(&kw);
    a->kw_name = vc_j_array(p->x, kw.n, sizeof *a->kw_name);
    for (uint32_t i = 0; i < kw.n; i++) a->kw_name[i] = names.v[i]->val.u.s;
    return a;
}

static const struct vc_jnode *parse_call(struct vc_jparser *p, const struct vc_jnode *fn) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_CALL);
    n->a = fn;
    n->args = parse_args(p);
    return n;
}

static const struct vc_jnode *parse_postfix(struct vc_jparser *p, const struct vc_jnode *n) {
    for (;;) {
        if (p->t->kind == VC_JT_DOT || p->t->kind == VC_JT_LBRACKET) n = parse_subscript(p, n);
        else if (p->t->kind == VC_JT_LPAREN) n = parse_call(p, n);
        else return n;
    }
}

/* `name` or `name.name`, of a filter or a test. */
static vc_jv dotted_name(struct vc_jparser *p) {
    struct vc_jbuf b = { 0 };
    for (;;) {
        if (p->t->kind != VC_JT_NAME) vc_jp_unexpected(p, "a name");
        vc_j_put(p->x, &b, p->t->p, p->t->n);
        vc_jp_advance(p);
        if (!vc_jp_skip_kind(p, VC_JT_DOT)) return vc_j_done(p->x, &b);
        vc_j_putc(p->x, &b, '.');
    }
}

static void note_unknown(struct vc_jparser *p, const struct vc_jnode *n, const char *what) {
    if (p->n_unknown == p->cap_unknown) {
        uint32_t cap = p->cap_unknown ? p->cap_unknown * 2 : 16;
        struct vc_junknown *u = vc_j_array(p->x, cap, sizeof *u);
        if (p->n_unknown) memcpy(u, p->unknown, p->n_unknown * sizeof *u);
        p->unknown = u;
        p->cap_unknown = cap;
    }
    p->unknown[p->n_unknown++] = (struct vc_junknown){ .node = n, .what = what };
}

const struct vc_jnode *vc_jp_filters(struct vc_jparser *p, const struct vc_jnode *n, bool inline_start) {
    while (inline_start || p->t->kind == VC_JT_PIPE) {
        if (!inline_start) vc_jp_advance(p);
        inline_start = false;
        struct vc_jnode *f = vc_jp_node(p, VC_JN_FILTER);
        f->val = dotted_name(p);
        f->a = n;
        f->args = p->t->kind == VC_JT_LPAREN ? parse_args(p) : VC_J_NEW(p->x, struct vc_jargs);
        f->fn = vc_j_filter(f->val.u.s->p, f->val.u.s->n);
        if (!f->fn) note_unknown(p, f, "filter");
        n = f;
    }
    return n;
}

static const struct vc_jnode *parse_test(struct vc_jparser *p, const struct vc_jnode *a) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_TEST);
    vc_jp_advance(p);
    bool negated = vc_jp_skip(p, "not");
    n->val = dotted_name(p);
    n->a = a;
    enum vc_jtok_kind k = p->t->kind;
    bool name = k == VC_JT_NAME && !vc_jp_is(p, "else") && !vc_jp_is(p, "or") && !vc_jp_is(p, "and");
    if (k == VC_JT_LPAREN) {
        n->args = parse_args(p);
    } else {
        n->args = VC_J_NEW(p->x, struct vc_jargs);
        if (name || k == VC_JT_STRING || k == VC_JT_INT || k == VC_JT_FLOAT || k == VC_JT_LBRACKET ||
            k == VC_JT_LBRACE) {
            if (vc_jp_is(p, "is")) vc_jp_fail(p, "tests can't be chained with is");
            struct vc_jnodes l = { 0 };
            vc_jp_add(p, &l, parse_postfix(p, parse_primary(p, 0)));
            n->args->pos = vc_jp_body(&l);
        }
    }
    n->fn = vc_j_test(n->val.u.s->p, n->val.u.s->n);
    if (!n->fn) note_unknown(p, n, "test");
    if (!negated) return n;
    struct vc_jnode *not_ = vc_jp_node(p, VC_JN_NOT);
    not_->a = n;
    return not_;
}

static const struct vc_jnode *parse_unary(struct vc_jparser *p, bool with_filter) {
    const struct vc_jnode *n;
    vc_jp_enter(p);
    if (p->t->kind == VC_JT_SUB || p->t->kind == VC_JT_ADD) {
        struct vc_jnode *u = vc_jp_node(p, p->t->kind == VC_JT_SUB ? VC_JN_NEG : VC_JN_POS);
        vc_jp_advance(p);
        u->a = parse_unary(p, false);
        n = u;
    } else {
        n = parse_primary(p, 0);
    }
    n = parse_postfix(p, n);
    while (with_filter) {
        if (p->t->kind == VC_JT_PIPE) n = vc_jp_filters(p, n, false);
        else if (vc_jp_is(p, "is")) n = parse_test(p, n);
        else if (p->t->kind == VC_JT_LPAREN) n = parse_call(p, n);
        else break;
    }
    p->depth--;
    return n;
}

static bool assignable(const struct vc_jnode *n) {
    if (n->kind == VC_JN_TUPLE || n->kind == VC_JN_LIST) {
        for (uint32_t i = 0; i < n->list.n; i++)
            if (!assignable(n->list.v[i])) return false;
        return n->kind == VC_JN_TUPLE;
    }
    return n->kind == VC_JN_NAME || n->kind == VC_JN_NSREF;
}

const struct vc_jnode *vc_jp_target(struct vc_jparser *p, bool with_ns, const char *end_name) {
    const struct vc_jnode *n = vc_jp_tuple(p, VC_JP_SIMPLE | VC_JP_STORE | (with_ns ? VC_JP_NSREF : 0), end_name);
    if (!assignable(n)) vc_jp_fail(p, "can't assign to this expression");
    return n;
}

const struct vc_jnode *vc_jp_target_name(struct vc_jparser *p) {
    if (p->t->kind != VC_JT_NAME) vc_jp_unexpected(p, "a name");
    const struct vc_jnode *n = parse_name(p, VC_JP_STORE);
    if (n->kind != VC_JN_NAME) vc_jp_fail(p, "can't assign to a constant");
    return n;
}
