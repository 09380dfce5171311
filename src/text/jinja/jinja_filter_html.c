/* SPDX-License-Identifier: Apache-2.0
 * Filters for markup: escape, safe, striptags, urlencode, xmlattr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_filter.h"

VC_J_FILTER(escape) { VC_J_UNUSED; return vc_j_escape(x, arg[0]); }

VC_J_FILTER(forceescape) {
    VC_J_UNUSED;
    vc_jv v = vc_j_to_str(x, arg[0]);
    v.sub = 0;
    return vc_j_escape(x, v);
}

VC_J_FILTER(safe) {
    VC_J_UNUSED;
    vc_jv v = vc_j_to_str(x, arg[0]);
    v.sub = 1;
    return v;
}

/* One character reference at s ("&…;"): its bytes, 0 if it is none that we know. */
static size_t reference(const char *s, size_t n, uint32_t *cp) {
    static const struct {
        const char *name;
        uint32_t cp;
    } names[] = { { "&amp;", '&' },  { "&lt;", '<' },    { "&gt;", '>' },
                  { "&quot;", '"' }, { "&apos;", '\'' }, { "&nbsp;", 0xA0 } };
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++) {
        size_t k = strlen(names[i].name);
        if (n >= k && !memcmp(s, names[i].name, k)) {
            *cp = names[i].cp;
            return k;
        }
    }
    if (n < 4 || s[1] != '#') return 0;
    bool hex = (s[2] | 0x20) == 'x';
    uint32_t v = 0;
    size_t i = hex ? 3 : 2, from = i;
    for (; i < n && i < from + 7; i++) {
        int d = s[i] >= '0' && s[i] <= '9'                            ? s[i] - '0'
                : hex && (s[i] | 0x20) >= 'a' && (s[i] | 0x20) <= 'f' ? (s[i] | 0x20) - 'a' + 10
                                                                      : -1;
        if (d < 0) break;
        v = v * (hex ? 16 : 10) + (uint32_t)d;
    }
    if (i == from || i >= n || s[i] != ';' || v == 0 || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) return 0;
    *cp = v;
    return i + 1;
}

/* Removes <!-- … --> (to the end of the text if it is open), then <…>. */
static vc_jv without_tags(vc_jx *x, const struct vc_jstr *s, const char *open, const char *close) {
    struct vc_jstr o = { open, strlen(open), 0 }, e = { close, strlen(close), 0 };
    struct vc_jbuf b = { 0 };
    size_t at = 0;
    for (;;) {
        size_t a = vc_j_search(s->p, s->n, &o, at), z = a == SIZE_MAX ? SIZE_MAX : vc_j_search(s->p, s->n, &e, a + o.n);
        if (z == SIZE_MAX) break;
        vc_j_put(x, &b, s->p + at, a - at);
        at = z + e.n;
    }
    vc_j_put(x, &b, s->p + at, s->n - at);
    return vc_j_done(x, &b);
}

VC_J_FILTER(striptags) {
    VC_J_UNUSED;
    vc_jv v = without_tags(x, vc_j_to_str(x, arg[0]).u.s, "<!--", "-->");
    v = without_tags(x, v.u.s, "<", ">");
    const struct vc_jfn *split = vc_j_method(VC_J_STR, "split", 5);
    struct vc_jcall none = { 0 };
    vc_jv words = vc_j_apply(x, split, "method", v, &none);
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < words.u.l->n; i++) {
        const struct vc_jstr *s = words.u.l->v[i].u.s;
        if (i) vc_j_putc(x, &b, ' ');
        for (size_t k = 0; k < s->n;) {
            uint32_t cp;
            size_t w = s->p[k] == '&' ? reference(s->p + k, s->n - k, &cp) : 0;
            if (w) vc_j_putcp(x, &b, cp);
            else vc_j_putc(x, &b, s->p[k]);
            k += w ? w : 1;
        }
    }
    return vc_j_done(x, &b);
}

static void quote(vc_jx *x, struct vc_jbuf *b, vc_jv v, bool query) {
    const struct vc_jstr *s = vc_j_to_str(x, v).u.s;
    char hex[8];
    for (size_t i = 0; i < s->n; i++) {
        unsigned char ch = (unsigned char)s->p[i];
        bool plain = (ch >= '0' && ch <= '9') || ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z') ||
                     (ch && strchr("_.-~", ch)) || (ch == '/' && !query);
        snprintf(hex, sizeof hex, plain ? "%c" : "%%%02X", ch);
        vc_j_puts(x, b, query && ch == ' ' ? "+" : hex);
    }
}

VC_J_FILTER(urlencode) {
    VC_J_UNUSED;
    struct vc_jbuf b = { 0 };
    vc_jv v = arg[0], pair;
    if (v.t == VC_J_STR || !vc_j_iterable(v)) {
        quote(x, &b, v, false);
        return vc_j_done(x, &b);
    }
    if (v.t == VC_J_DICT) v = (vc_jv){ .t = VC_J_VIEW, .sub = VC_J_ITEMS, .u.d = v.u.d };
    struct vc_jit it = vc_j_iter(x, v);
    for (size_t i = 0; vc_j_next(x, &it, &pair); i++) {
        vc_jv l = vc_j_to_list(x, pair);
        if (l.u.l->n != 2) vc_j_raise(x, "urlencode needs pairs");
        if (i) vc_j_putc(x, &b, '&');
        quote(x, &b, l.u.l->v[0], true);
        vc_j_putc(x, &b, '=');
        quote(x, &b, l.u.l->v[1], true);
    }
    return vc_j_done(x, &b);
}

VC_J_FILTER(xmlattr) {
    VC_J_UNUSED;
    if (arg[0].t != VC_J_DICT) vc_j_raise(x, "xmlattr needs a dict, not %s", vc_j_type_name(arg[0]));
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < arg[0].u.d->n; i++) {
        const struct vc_jent *e = &arg[0].u.d->e[i];
        if (e->v.t == VC_J_NONE || e->v.t == VC_J_UNDEF) continue;
        const struct vc_jstr *k = vc_j_to_str(x, e->k).u.s;
        for (size_t j = 0; j < k->n; j++)
            if (k->p[j] && strchr(" \t\n\r\f/>=", k->p[j])) vc_j_raise(x, "invalid character in attribute name");
        if (b.n || !vc_j_given(arg[1]) || vc_j_truth(arg[1])) vc_j_putc(x, &b, ' ');
        vc_j_put_escaped(x, &b, e->k);
        vc_j_puts(x, &b, "=\"");
        vc_j_put_escaped(x, &b, e->v);
        vc_j_putc(x, &b, '"');
    }
    vc_jv r = vc_j_done(x, &b);
    r.sub = x->autoescape;
    return r;
}
