/* SPDX-License-Identifier: Apache-2.0
 * Filters for markup: escape, safe, striptags, urlencode, xmlattr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_entity.h"
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

/* Removes <!-- … --> (to the end of the text if it is open), then <…>. */
static vc_jv without_tags(vc_jx *x, const struct vc_jstr *s, const char *open, const char *close) {
    struct vc_jstr o = { open, strlen(open), 0 }, e = { close, strlen(close), 0 };
    struct vc_jbuf b = { 0 };
    size_t at = 0;
    for (;;) {
        size_t a = vc_j_search(s->p, s->n, &o, at), z = a == SIZE_MAX ? SIZE_MAX : vc_j_search(s->p, s->n, &e, a);
        if (z == SIZE_MAX) break;
        vc_j_put(x, &b, s->p + at, a - at);
        at = z + e.n;
    }
    vc_j_put(x, &b, s->p + at, s->n - at);
    return vc_j_done(x, &b);
}

vc_jv vc_j_striptags(vc_jx *x, const struct vc_jstr *s) {
    vc_jv v = without_tags(x, s, "<!--", "-->");
    v = without_tags(x, v.u.s, "<", ">");
    struct vc_jcall none = { 0 };
    vc_jv words = vc_j_apply(x, vc_j_method(VC_J_STR, "split", 5), "method", v, &none);
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < words.u.l->n; i++) {
        if (i) vc_j_putc(x, &b, ' ');
        vc_j_puts_str(x, &b, words.u.l->v[i].u.s);
    }
    return vc_j_unescape_html(x, vc_j_done(x, &b).u.s);
}

VC_J_FILTER(striptags) {
    VC_J_UNUSED;
    return vc_j_striptags(x, vc_j_to_str(x, arg[0]).u.s);
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
