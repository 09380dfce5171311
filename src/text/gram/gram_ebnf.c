/* SPDX-License-Identifier: Apache-2.0
 * GBNF, the notation of llama.cpp's grammars (also read by xgrammar): name ::= alternatives of sequences of literals,
 * classes, names, groups and "." with ? * + {m,n} behind them. A rule ends where the next "name ::=" begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "text/gram/gram_int.h"

struct name { const char *p; size_t n; vc_gram_node rule; size_t at; };     /* at: where it is first used */
struct ebnf {
    struct vc_gram *g;
    const char *p;
    size_t n, at;
    unsigned depth;
    vc_err *err;
    bool failed;
    struct name *names; size_t n_names, cap_names;
    uint32_t *table; size_t cap_table;
};

static bool bad(struct ebnf *x, size_t at, vc_status s, const char *what) {
    if (x->failed) return false;
    x->failed = true;
    unsigned line = 1, column = 1;
    for (size_t i = 0; i < at && i < x->n; i++) {
        column++;
        if (x->p[i] == '\n') line++, column = 1;
    }
    vc_fail(x->err, s, "grammar: line %u, column %u: %s", line, column, what);
    return false;
}

static char peek(const struct ebnf *x) { return x->at < x->n ? x->p[x->at] : 0; }

static void blank(struct ebnf *x) {
    while (x->at < x->n) {
        char c = x->p[x->at];
        if (c == '#') {
            while (x->at < x->n && x->p[x->at] != '\n') x->at++;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            x->at++;
        } else {
            break;
        }
    }
}

static bool name_char(char c, bool first) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

static size_t name_at(const struct ebnf *x) {
    size_t n = 0;
    while (x->at + n < x->n && name_char(x->p[x->at + n], n == 0)) n++;
    return n;
}

/* At a name that a rule begins with? */
static bool at_rule(struct ebnf *x) {
    size_t n = name_at(x), keep = x->at;
    if (!n) return false;
    x->at += n;
    blank(x);
    bool is = x->n - x->at >= 3 && !memcmp(x->p + x->at, "::=", 3);
    x->at = keep;
    return is;
}

static bool names_grow(struct ebnf *x) {
    size_t cap = x->cap_table ? x->cap_table * 2 : 64;
    uint32_t *t = calloc(cap, sizeof *t);
    if (!t) return bad(x, x->at, VC_E_NOMEM, "out of memory");
    free(x->table);
    x->table = t;
    x->cap_table = cap;
    for (size_t i = 0; i < x->n_names; i++) {
        uint64_t h = 0;
        for (size_t k = 0; k < x->names[i].n; k++) h = vc_mix64(h ^ (unsigned char)x->names[i].p[k]);
        size_t at = h & (cap - 1);
        while (t[at]) at = (at + 1) & (cap - 1);
        t[at] = (uint32_t)i + 1;
    }
    return true;
}

static vc_gram_node rule_of(struct ebnf *x, const char *p, size_t n) {
    if (x->n_names * 2 >= x->cap_table && !names_grow(x)) return 0;
    uint64_t h = 0;
    for (size_t k = 0; k < n; k++) h = vc_mix64(h ^ (unsigned char)p[k]);
    size_t at = h & (x->cap_table - 1);
    for (; x->table[at]; at = (at + 1) & (x->cap_table - 1)) {
        const struct name *m = &x->names[x->table[at] - 1];
        if (m->n == n && !memcmp(m->p, p, n)) return m->rule;
    }
    if (!VC_GRAM_ROOM(x->names, x->n_names, x->cap_names)) return bad(x, x->at, VC_E_NOMEM, "out of memory");
    vc_gram_node r = vc_gram_rule(x->g);
    vc_gram_name_rule(x->g, r, p, n);
    x->names[x->n_names] = (struct name){ p, n, r, x->at };
    x->table[at] = (uint32_t)++x->n_names;
    return r;
}

static bool hex(struct ebnf *x, unsigned digits, uint32_t *c) {
    size_t from = x->at;
    *c = 0;
    for (unsigned i = 0; i < digits; i++, x->at++) {
        int v = vc_digit(peek(x), 16);
        if (v < 0) return bad(x, from, VC_E_INVALID, "expected hexadecimal digits");
        *c = *c * 16 + (uint32_t)v;
    }
    if (*c > 0x10FFFF || (*c >= 0xD800 && *c < 0xE000))
        return bad(x, from, VC_E_INVALID, "no character has this number");
    return true;
}

/* A character of a literal or class, escapes read. */
static bool character(struct ebnf *x, uint32_t *c) {
    size_t n = x->at < x->n ? vc_utf8_decode(x->p + x->at, x->n - x->at, c) : 0;
    if (!n) return bad(x, x->at, VC_E_INVALID, "not valid UTF-8");
    x->at += n;
    if (*c != '\\') return true;
    size_t from = x->at - 1;
    char e = peek(x);
    x->at++;
    switch (e) {
    case 'n': *c = '\n'; return true;
    case 't': *c = '\t'; return true;
    case 'r': *c = '\r'; return true;
    case 'f': *c = '\f'; return true;
    case 'v': *c = '\v'; return true;
    case 'b': *c = '\b'; return true;
    case 'a': *c = '\a'; return true;
    case '0': *c = 0; return true;
    case 'x': return hex(x, 2, c);
    case 'u': return hex(x, 4, c);
    case 'U': return hex(x, 8, c);
    default: break;
    }
    if (!e || !strchr("\\\"'?[]-^/.(){}|*+$ ", e)) return bad(x, from, VC_E_INVALID, "unknown escape");
    *c = (unsigned char)e;
    return true;
}

static bool literal(struct ebnf *x, vc_gram_node *out) {
    size_t from = x->at++;
    struct vc_buf b = { 0 };
    bool ok = true;
    while (ok && peek(x) != '"') {
        uint32_t c;
        if (x->at >= x->n || peek(x) == '\n') ok = bad(x, from, VC_E_INVALID, "a literal without its closing quote");
        else ok = character(x, &c);
        if (ok) vc_buf_utf8(&b, c);
    }
    x->at++;
    if (ok && b.failed) ok = bad(x, from, VC_E_NOMEM, "out of memory");
    if (ok) *out = vc_gram_text(x->g, b.p ? b.p : "", b.n);
    vc_buf_free(&b);
    return ok;
}

static bool class(struct ebnf *x, vc_gram_node *out) {
    size_t from = x->at++, n = 0, cap = 0;
    struct vc_gram_range *r = NULL;
    bool negate = peek(x) == '^', ok = true;
    if (negate) x->at++;
    while (ok && peek(x) != ']') {
        uint32_t lo, hi;
        if (x->at >= x->n || peek(x) == '\n') {
            ok = bad(x, from, VC_E_INVALID, "a class without its closing bracket");
            break;
        }
        size_t begin = x->at;
        ok = character(x, &lo);
        hi = lo;
        if (ok && peek(x) == '-' && x->at + 1 < x->n && x->p[x->at + 1] != ']') {
            x->at++;
            ok = character(x, &hi);
            if (ok && hi < lo) ok = bad(x, begin, VC_E_INVALID, "a range whose end is before its begin");
        }
        if (ok) ok = VC_GRAM_ROOM(r, n, cap) || bad(x, begin, VC_E_NOMEM, "out of memory");
        if (ok) r[n++] = (struct vc_gram_range){ lo, hi };
    }
    x->at++;
    if (ok) *out = vc_gram_class(x->g, r, n, negate);
    free(r);
    return ok;
}

static bool number(struct ebnf *x, uint32_t *v) {
    uint64_t n = 0;
    size_t from = x->at;
    while (peek(x) >= '0' && peek(x) <= '9') {
        n = n * 10 + (uint64_t)(peek(x) - '0');
        if (n >= VC_GRAM_INF) return bad(x, from, VC_E_INVALID, "a repeat count over 4294967294");
        x->at++;
    }
    *v = (uint32_t)n;
    return true;
}

static bool braces(struct ebnf *x, uint32_t *min, uint32_t *max) {
    size_t from = x->at++;
    blank(x);
    bool low = peek(x) >= '0' && peek(x) <= '9';
    if (!number(x, min)) return false;
    *max = *min;
    blank(x);
    if (peek(x) == ',') {
        x->at++;
        blank(x);
        bool high = peek(x) >= '0' && peek(x) <= '9';
        if (!number(x, max)) return false;
        if (!high) *max = VC_GRAM_INF;
        low = low || high;
        blank(x);
    }
    if (!low || peek(x) != '}') return bad(x, from, VC_E_INVALID, "expected {m}, {m,} or {m,n}");
    x->at++;
    return *min <= *max || bad(x, from, VC_E_INVALID, "a repeat whose maximum is below its minimum");
}

static bool repeats(struct ebnf *x, vc_gram_node *v) {
    for (;;) {
        uint32_t min = 0, max = VC_GRAM_INF;
        switch (peek(x)) {
        case '*': x->at++; break;
        case '+': x->at++, min = 1; break;
        case '?': x->at++, max = 1; break;
        case '{':
            if (!braces(x, &min, &max)) return false;
            break;
        default: return true;
        }
        *v = vc_gram_repeat(x->g, *v, min, max);
    }
}

static bool alternatives(struct ebnf *x, vc_gram_node *out);

static bool element(struct ebnf *x, vc_gram_node *v) {
    size_t from = x->at, n;
    char c = peek(x);
    if (c == '"') return literal(x, v);
    if (c == '[') return class(x, v);
    if (c == '.') {
        x->at++;
        *v = vc_gram_class(x->g, NULL, 0, true);
        return true;
    }
    if (c == '(') {
        x->at++;
        if (peek(x) == '=') return bad(x, from, VC_E_UNSUPPORTED, "look-ahead is not supported");
        if (++x->depth > x->g->lim.depth) return bad(x, from, VC_E_INVALID, "groups are nested too deeply");
        if (!alternatives(x, v)) return false;
        x->depth--;
        if (peek(x) != ')') return bad(x, from, VC_E_INVALID, "a group without its closing parenthesis");
        x->at++;
        return true;
    }
    n = name_at(x);
    if (!n) return bad(x, from, VC_E_INVALID, "expected a literal, a class, a name or a group");
    *v = rule_of(x, x->p + x->at, n);
    x->at += n;
    return !x->failed;
}

static bool sequence(struct ebnf *x, vc_gram_node *out) {
    vc_gram_node *v = NULL;
    size_t n = 0, cap = 0;
    bool ok = true;
    for (blank(x); ok; blank(x)) {
        if (x->at >= x->n || peek(x) == '|' || peek(x) == ')' || at_rule(x)) break;
        vc_gram_node e = 0;
        ok = element(x, &e) && repeats(x, &e);
        if (ok) ok = VC_GRAM_ROOM(v, n, cap) || bad(x, x->at, VC_E_NOMEM, "out of memory");
        if (ok) v[n++] = e;
    }
    if (ok) *out = vc_gram_seq(x->g, v, n);
    free(v);
    return ok;
}

static bool alternatives(struct ebnf *x, vc_gram_node *out) {
    vc_gram_node *v = NULL;
    size_t n = 0, cap = 0;
    bool ok = true;
    for (;; x->at++) {
        vc_gram_node s = 0;
        ok = sequence(x, &s) && (VC_GRAM_ROOM(v, n, cap) || bad(x, x->at, VC_E_NOMEM, "out of memory"));
        if (ok) v[n++] = s;
        if (!ok || peek(x) != '|') break;
    }
    if (ok) *out = vc_gram_alt(x->g, v, n);
    free(v);
    return ok;
}

static bool rules(struct ebnf *x) {
    for (blank(x); x->at < x->n; blank(x)) {
        size_t from = x->at, n = name_at(x);
        if (!at_rule(x)) return bad(x, from, VC_E_INVALID, "expected \"name ::=\"");
        vc_gram_node rule = rule_of(x, x->p + x->at, n), body = 0;
        x->at += n;
        blank(x);
        x->at += 3;
        if (x->failed || !alternatives(x, &body)) return false;
        if (peek(x) == ')') return bad(x, x->at, VC_E_INVALID, "a closing parenthesis without its group");
        if (vc_gram_status(x->g, NULL) != VC_OK) return false;
        if (x->g->kids[x->g->nodes[rule].off]) return bad(x, from, VC_E_INVALID, "this rule is defined twice");
        vc_gram_define(x->g, rule, body);
    }
    return true;
}

vc_gram_node vc_gram_ebnf(struct vc_gram *g, const char *text, size_t n, vc_err *err) {
    struct ebnf x = { .g = g, .p = text, .n = n, .err = err };
    vc_gram_node root = 0;
    if (vc_gram_status(g, err) == VC_OK && rules(&x)) {
        for (size_t i = 0; i < x.n_names && !x.failed; i++) {
            const struct name *m = &x.names[i];
            char what[160];
            if (m->n == 4 && !memcmp(m->p, "root", 4)) root = m->rule;
            if (g->kids[g->nodes[m->rule].off]) continue;
            snprintf(what, sizeof what, "rule \"%.*s\" is not defined", (int)VC_MIN(m->n, (size_t)100), m->p);
            bad(&x, m->at, VC_E_INVALID, what);
        }
        if (!root && !x.failed) bad(&x, 0, VC_E_INVALID, "no rule is named \"root\"");
    }
    if (!x.failed && vc_gram_status(g, err) != VC_OK) root = 0;
    free(x.names);
    free(x.table);
    return x.failed ? 0 : root;
}
