/* SPDX-License-Identifier: Apache-2.0
 * Regular expressions to nodes. What an expression matches is kept in four parts, by whether a ^ or a $ holds at its
 * ends, so that anchors may stand wherever they make sense; groups don't capture, and lazy repeats match what greedy
 * ones do. */
#include <stdlib.h>

#include "text/gram/gram_regex.h"

struct val { vc_gram_node n[2][2]; };       /* [begins at the start][ends at the end] */

bool vc_rx_bad(struct rx *x, size_t at, vc_status s, const char *what) {
    if (!x->failed) vc_fail(x->err, s, "regular expression: byte %zu: %s", at, what);
    x->failed = true;
    return false;
}

bool vc_rx_char(struct rx *x, uint32_t *c) {
    size_t n = rx_more(x) ? vc_utf8_decode(x->p + x->at, x->n - x->at, c) : 0;
    if (!n) return vc_rx_bad(x, x->at, VC_E_INVALID, rx_more(x) ? "not valid UTF-8" : "it ends too early");
    x->at += n;
    return true;
}

static vc_gram_node nothing(struct rx *x) { return vc_gram_alt(x->g, NULL, 0); }
static vc_gram_node empty(struct rx *x) { return vc_gram_text(x->g, "", 0); }
static struct val none(struct rx *x) {
    vc_gram_node n = nothing(x);
    return (struct val){ { { n, n }, { n, n } } };
}
static struct val plain(struct rx *x, vc_gram_node n) {
    struct val v = none(x);
    v.n[0][0] = n;
    return v;
}
static bool anchored(struct rx *x, const struct val *v) {
    vc_gram_node n = nothing(x);
    return v->n[0][1] != n || v->n[1][0] != n || v->n[1][1] != n;
}

static vc_gram_node chars(struct rx *x, const struct vc_gram_range *r, size_t n, bool negate) {
    if (x->flags & VC_GRAM_RX_JSON) return vc_gram_json_class(x->g, r, n, negate, x->flags & VC_GRAM_RX_ANY_ESCAPE);
    return vc_gram_class(x->g, r, n, negate);
}

static void or_into(struct rx *x, vc_gram_node *to, vc_gram_node n) { *to = vc_gram_alt2(x->g, *to, n); }

/* a then b. An end before b wants b empty, a start after a wants a empty. */
static struct val concat(struct rx *x, const struct val *a, const struct val *b) {
    struct val r = none(x);
    if (!anchored(x, a) && !anchored(x, b)) {
        r.n[0][0] = vc_gram_seq2(x->g, a->n[0][0], b->n[0][0]);
        return r;
    }
    vc_gram_node no = nothing(x);
    for (int i = 0; i < 16; i++) {
        int s = i & 1, e = i >> 1 & 1, s2 = i >> 2 & 1, e2 = i >> 3 & 1;
        vc_gram_node p = a->n[s][e], q = b->n[s2][e2];
        if (p == no || q == no) continue;
        bool pn = vc_gram_nullable(x->g, p), qn = vc_gram_nullable(x->g, q);
        if (!e && !s2) or_into(x, &r.n[s][e2], vc_gram_seq2(x->g, p, q));
        if (e && !s2 && qn) or_into(x, &r.n[s][1], p);
        if (!e && s2 && pn) or_into(x, &r.n[1][e2], q);
        if (e && s2 && pn && qn) or_into(x, &r.n[1][1], empty(x));
    }
    return r;
}

/* {m}, {m,}, {m,n}, {,n}: false and no move when it is none of these. */
static bool braces(struct rx *x, uint32_t *min, uint32_t *max) {
    uint64_t v[2] = { 0, 0 };
    bool have[2] = { false, false }, comma = false;
    size_t at = x->at + 1;
    for (; at < x->n && x->p[at] != '}'; at++) {
        char c = x->p[at];
        if (c == ',' && !comma) {
            comma = true;
            continue;
        }
        if (c < '0' || c > '9') return false;
        have[comma] = true;
        if (v[comma] < VC_GRAM_INF) v[comma] = v[comma] * 10 + (uint64_t)(c - '0');
    }
    if (at >= x->n || (!have[0] && !(comma && have[1] && !(x->flags & VC_GRAM_RX_ECMA)))) return false;
    if (v[0] >= VC_GRAM_INF || v[1] >= VC_GRAM_INF)
        return vc_rx_bad(x, x->at, VC_E_INVALID, "a repeat count over 4294967294");
    *min = (uint32_t)v[0];
    *max = !comma ? *min : have[1] ? (uint32_t)v[1] : VC_GRAM_INF;
    if (*min > *max) return vc_rx_bad(x, x->at, VC_E_INVALID, "a repeat whose maximum is below its minimum");
    x->at = at + 1;
    return true;
}

static bool quantifier(struct rx *x, uint32_t *min, uint32_t *max) {
    switch (rx_peek(x)) {
    case '*': *min = 0, *max = VC_GRAM_INF; break;
    case '+': *min = 1, *max = VC_GRAM_INF; break;
    case '?': *min = 0, *max = 1; break;
    case '{': return braces(x, min, max);
    default: return false;
    }
    x->at++;
    return true;
}

static bool repeats(struct rx *x, struct val *v) {
    size_t from = x->at;
    uint32_t min, max;
    if (!quantifier(x, &min, &max)) return !x->failed;
    if (rx_peek(x) == '?') x->at++;
    else if (rx_peek(x) == '+') return vc_rx_bad(x, x->at, VC_E_UNSUPPORTED, "possessive repeats are not supported");
    size_t behind = x->at;
    uint32_t a, b;
    if (quantifier(x, &a, &b)) return vc_rx_bad(x, behind, VC_E_INVALID, "a repeat of a repeat");
    if (x->failed) return false;
    if (!anchored(x, v)) {
        v->n[0][0] = vc_gram_repeat(x->g, v->n[0][0], min, max);
        return true;
    }
    if (max > 1) return vc_rx_bad(x, from, VC_E_UNSUPPORTED, "a repeat with an anchor inside is not supported");
    if (!max) *v = plain(x, empty(x));
    else if (!min) or_into(x, &v->n[0][0], empty(x));
    return true;
}

static bool alternation(struct rx *x, struct val *v);

static bool group(struct rx *x, struct val *v) {
    size_t from = x->at - 1;
    if (rx_peek(x) == '?') {
        char c = x->at + 1 < x->n ? x->p[x->at + 1] : 0, d = x->at + 2 < x->n ? x->p[x->at + 2] : 0;
        if (c == ':') {
            x->at += 2;
        } else if ((c == '<' && d != '=' && d != '!') || (c == 'P' && d == '<')) {
            size_t end = x->at + 2;
            while (end < x->n && x->p[end] != '>') end++;
            if (end == x->n) return vc_rx_bad(x, from, VC_E_INVALID, "a group name without >");
            x->at = end + 1;
        } else if (c == '=' || c == '!' || c == '<') {
            return vc_rx_bad(x, from, VC_E_UNSUPPORTED, "look-around is not supported");
        } else {
            return vc_rx_bad(x, from, c ? VC_E_UNSUPPORTED : VC_E_INVALID, "this kind of group is not supported");
        }
    }
    if (!alternation(x, v)) return false;
    if (rx_peek(x) != ')' || !rx_more(x))
        return vc_rx_bad(x, from, VC_E_INVALID, "a group without its closing parenthesis");
    x->at++;
    return true;
}

static bool escaped(struct rx *x, struct val *v) {
    char e = rx_peek(x);
    if (!(x->flags & VC_GRAM_RX_ECMA) && rx_more(x) && (e == 'A' || e == 'Z')) {
        x->at++;
        *v = none(x);
        v->n[e == 'A'][e == 'Z'] = empty(x);
        return true;
    }
    struct rx_set s = { 0 };
    uint32_t c;
    bool ok = vc_rx_escape(x, false, &c, &s);
    if (ok && c != UINT32_MAX) ok = vc_rx_add(x, &s, c, c);
    if (ok) *v = plain(x, chars(x, s.v, s.n, false));
    free(s.v);
    return ok;
}

static bool atom(struct rx *x, struct val *v) {
    static const struct vc_gram_range lines[] = { { '\n', '\n' }, { '\r', '\r' }, { 0x2028, 0x2029 } };
    size_t from = x->at;
    uint32_t c, min, max;
    if (rx_peek(x) == '{' && braces(x, &min, &max)) return vc_rx_bad(x, from, VC_E_INVALID, "a repeat of nothing");
    if (x->failed || !vc_rx_char(x, &c)) return false;
    switch (c) {
    case '^':
    case '$':
        *v = none(x);
        v->n[c == '^'][c == '$'] = empty(x);
        return true;
    case '.': *v = plain(x, chars(x, lines, x->flags & VC_GRAM_RX_ECMA ? 3 : 1, true)); return true;
    case '*':
    case '+':
    case '?': return vc_rx_bad(x, from, VC_E_INVALID, "a repeat of nothing");
    case '(':
        if (++x->depth > x->g->lim.depth) return vc_rx_bad(x, from, VC_E_INVALID, "groups are nested too deeply");
        if (!group(x, v)) return false;
        x->depth--;
        return true;
    case '[': {
        struct rx_set s = { 0 };
        bool negate, ok = vc_rx_class(x, &s, &negate);
        if (ok) *v = plain(x, chars(x, s.v, s.n, negate));
        free(s.v);
        return ok;
    }
    case '\\': return escaped(x, v);
    default: *v = plain(x, chars(x, &(struct vc_gram_range){ c, c }, 1, false)); return true;
    }
}

/* Unanchored pieces side by side are collected and joined at once. */
static bool sequence(struct rx *x, struct val *out) {
    vc_gram_node *run = NULL;
    size_t n = 0, cap = 0;
    bool ok = true;
    *out = plain(x, empty(x));
    while (ok && rx_more(x) && rx_peek(x) != '|' && rx_peek(x) != ')') {
        struct val v;
        ok = atom(x, &v) && repeats(x, &v);
        if (!ok) break;
        bool joins = !anchored(x, &v);
        if (joins) {
            ok = VC_GRAM_ROOM(run, n, cap) || vc_rx_bad(x, x->at, VC_E_NOMEM, "out of memory");
            if (ok) run[n++] = v.n[0][0];
            continue;
        }
        struct val before = plain(x, vc_gram_seq(x->g, run, n));
        n = 0;
        *out = concat(x, out, &before);
        *out = concat(x, out, &v);
    }
    struct val last = plain(x, vc_gram_seq(x->g, run, n));
    if (ok && n) *out = concat(x, out, &last);
    free(run);
    return ok;
}

static bool alternation(struct rx *x, struct val *v) {
    vc_gram_node *alts[2][2] = { { NULL, NULL }, { NULL, NULL } };
    size_t n = 0, cap[2][2] = { { 0, 0 }, { 0, 0 } };
    bool ok = true;
    for (;; x->at++) {
        struct val w;
        ok = sequence(x, &w);
        for (int i = 0; ok && i < 4; i++) {
            ok = VC_GRAM_ROOM(alts[i >> 1][i & 1], n, cap[i >> 1][i & 1]) ||
                 vc_rx_bad(x, x->at, VC_E_NOMEM, "out of memory");
            if (ok) alts[i >> 1][i & 1][n] = w.n[i >> 1][i & 1];
        }
        n++;
        if (!ok || !rx_more(x) || rx_peek(x) != '|') break;
    }
    for (int i = 0; i < 4; i++) {
        if (ok) v->n[i >> 1][i & 1] = vc_gram_alt(x->g, alts[i >> 1][i & 1], n);
        free(alts[i >> 1][i & 1]);
    }
    return ok;
}

vc_gram_node vc_gram_regex(struct vc_gram *g, const char *pattern, size_t n, int flags, vc_err *err) {
    struct rx x = { .g = g, .p = pattern, .n = n, .flags = flags, .err = err };
    struct val v;
    if (vc_gram_status(g, err) != VC_OK) return 0;
    if (!alternation(&x, &v)) return 0;
    if (rx_more(&x)) {
        vc_rx_bad(&x, x.at, VC_E_INVALID, "a closing parenthesis without its group");
        return 0;
    }
    vc_gram_node any = flags & VC_GRAM_RX_SEARCH ? vc_gram_star(g, chars(&x, NULL, 0, true)) : empty(&x), alt[4];
    for (int i = 0; i < 4; i++) {
        vc_gram_node seq[3] = { i >> 1 ? empty(&x) : any, v.n[i >> 1][i & 1], i & 1 ? empty(&x) : any };
        alt[i] = vc_gram_seq(g, seq, 3);
    }
    vc_gram_node r = vc_gram_alt(g, alt, 4);
    if (!r) vc_gram_status(g, err);
    return r;
}
