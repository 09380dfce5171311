/* SPDX-License-Identifier: Apache-2.0
 * urlize: addresses in a text become links. Follows jinja2/utils.py (3.1), its two regular expressions included. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_ctype.h"
#include "text/jinja/jinja_filter.h"

struct links {
    int64_t limit;
    vc_jv rel, target, schemes;
}; /* limit < 0: none; rel and target: whole attributes, escaped */

static bool starts(vc_str s, const char *p) { return s.n >= strlen(p) && !memcmp(s.p, p, strlen(p)); }
static bool ends(vc_str s, const char *p) { return s.n >= strlen(p) && !memcmp(s.p + s.n - strlen(p), p, strlen(p)); }

static bool starts_fold(vc_str s, const char *p) {
    for (size_t i = 0; p[i]; i++)
        if (i >= s.n || ((s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] | 0x20 : s.p[i]) != p[i])) return false;
    return true;
}

static size_t count(vc_str s, const char *t) {
    struct vc_jstr pat = { t, strlen(t), 0 };
    size_t n = 0;
    for (size_t at = 0; (at = vc_j_search(s.p, s.n, &pat, at)) != SIZE_MAX; at += pat.n) n++;
    return n;
}

/* Characters of \w, of those in `more`; how many there are, or -1 when another one is among them. */
static int64_t only(vc_str s, const char *more) {
    int64_t n = 0;
    uint32_t cp = 0;
    for (size_t i = 0, w; i < s.n; i += w, n++) {
        w = vc_utf8_decode(s.p + i, s.n - i, &cp);
        bool ok = w && (cp == '_' || vc_j_is_alpha(cp) || vc_j_is_digit(cp) || vc_j_is_numeric(cp) ||
                        (cp && cp < 0x80 && strchr(more, (int)cp)));
        if (!ok) return -1;
    }
    return n;
}

static bool all_letters(vc_str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] | 0x20) < 'a' || (s.p[i] | 0x20) > 'z') return false;
    return true;
}

static bool is_tld(vc_str s, bool common) {
    static const char *const names[] = { "com", "net", "int", "edu", "gov", "org", "info", "mil" };
    if (!common) {
        vc_str rest = { s.p + 4, s.n - 4 };
        if (s.n > 4 && starts_fold(s, "xn--")) {
            int64_t n = only(rest, "%");
            if (n >= 2 && n <= 59) return true;
        }
        return s.n >= 2 && s.n <= 63 && all_letters(s);
    }
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++)
        if (s.n == strlen(names[i]) && starts_fold(s, names[i])) return true;
    return false;
}

/* Labels apart by dots. common: at least two, the last one of a few names, the others of 2 to 63 characters. */
static bool is_domain(vc_str s, bool common) {
    size_t labels = 0;
    for (;;) {
        const char *dot = memchr(s.p, '.', s.n);
        if (!dot) return (labels || !common) && is_tld(s, common);
        vc_str label = { s.p, (size_t)(dot - s.p) };
        int64_t n = only(label, "%-");
        if (n < (common ? 2 : 1) || (common && n > 63)) return false;
        s.n -= label.n + 1;
        s.p = dot + 1;
        labels++;
    }
}

static size_t run_of(vc_str s, size_t at, bool hex, size_t most) {
    size_t k = at;
    while (k < s.n && k - at < most &&
           ((s.p[k] >= '0' && s.p[k] <= '9') || (hex && (s.p[k] | 0x20) >= 'a' && (s.p[k] | 0x20) <= 'f')))
        k++;
    return k - at;
}

static bool is_ipv4(vc_str s) {
    size_t at = 0;
    for (int i = 0; i < 4; i++) {
        size_t n = run_of(s, at, false, 3);
        if (!n) return false;
        at += n;
        if (i < 3 && (at >= s.n || s.p[at++] != '.')) return false;
    }
    return at == s.n;
}

/* [ two groups with a colon, one to six groups with or without one ] */
static bool is_ipv6(vc_str s) {
    if (s.n < 4 || s.p[0] != '[' || s.p[s.n - 1] != ']') return false;
    s = (vc_str){ s.p + 1, s.n - 2 };
    size_t at = 0, groups = 0;
    for (int i = 0; i < 2; i++) {
        at += run_of(s, at, true, 4);
        if (at >= s.n || s.p[at++] != ':') return false;
    }
    for (; at < s.n; groups++) {
        size_t from = at;
        at += run_of(s, at, true, 4);
        if (at < s.n && s.p[at] == ':') at++;
        if (at == from) return false;
    }
    return groups <= 6;
}

static bool is_http(vc_str s) {
    bool scheme = starts_fold(s, "http://") || starts_fold(s, "https://"), www = !scheme && starts_fold(s, "www.");
    size_t skip = scheme ? (s.p[4] == ':' ? 7 : 8) : 0, end = skip;
    while (end < s.n && s.p[end] != '/' && s.p[end] != '?' && s.p[end] != '#') end++;
    vc_str host = { s.p + skip, end - skip }, rest;
    size_t colon = host.n;
    while (colon > 0 && host.p[colon - 1] >= '0' && host.p[colon - 1] <= '9') colon--;
    if (colon > 0 && colon < host.n && host.n - colon <= 5 && host.p[colon - 1] == ':') host.n = colon - 1;
    rest = www ? (vc_str){ host.p + 4, host.n - 4 } : host;
    if ((scheme || (www && host.n >= 4)) && is_domain(rest, false)) return true;
    return scheme ? is_ipv4(host) || is_ipv6(host) : is_domain(host, true);
}

static bool is_email(vc_str s) {
    size_t at = s.n;
    while (at > 0 && s.p[at - 1] != '@') at--;
    if (at < 2) return false;
    vc_str host = { s.p + at, s.n - at };
    size_t dot = host.n;
    while (dot > 0 && host.p[dot - 1] != '.') dot--;
    if (dot < 2) return false;
    vc_str name = { host.p, dot - 1 }, last = { host.p + dot, host.n - dot }, first = name;
    for (first.n = 1; first.n < name.n && ((unsigned char)name.p[first.n] & 0xC0) == 0x80;) first.n++;
    return only(first, "") == 1 && only(name, ".-") > 0 && only(last, "") > 0;
}

static void put_link(vc_jx *x, struct vc_jbuf *b, const struct links *l, const char *prefix, vc_str url, vc_str shown,
                     bool attrs) {
    vc_j_puts(x, b, "<a href=\"");
    vc_j_puts(x, b, prefix);
    vc_j_put(x, b, url.p, url.n);
    vc_j_putc(x, b, '"');
    if (attrs) vc_j_puts_str(x, b, l->rel.u.s);
    if (attrs) vc_j_puts_str(x, b, l->target.u.s);
    vc_j_putc(x, b, '>');
    vc_j_put(x, b, shown.p, shown.n);
}

static void put_http(vc_jx *x, struct vc_jbuf *b, const struct links *l, vc_str s) {
    struct vc_jstr all = { s.p, s.n, vc_j_count_cp(s.p, s.n) };
    vc_str shown = s;
    bool cut = l->limit >= 0 && all.len > (uint64_t)l->limit;
    if (cut) shown.n = vc_j_offset(&all, (size_t)l->limit);
    put_link(x, b, l, starts(s, "https://") || starts(s, "http://") ? "" : "https://", s, shown, true);
    vc_j_puts(x, b, cut ? "...</a>" : "</a>");
}

static void put_middle(vc_jx *x, struct vc_jbuf *b, const struct links *l, vc_str s) {
    vc_str mail = starts(s, "mailto:") ? (vc_str){ s.p + 7, s.n - 7 } : s, scheme = { NULL, 0 };
    bool plain = mail.n == s.n;
    if (is_http(s)) {
        put_http(x, b, l, s);
        return;
    }
    if (!plain && is_email(mail)) {
        put_link(x, b, l, "", s, mail, false);
    } else if (plain && !starts(s, "www.") && !starts(s, "@") && !memchr(s.p, ':', s.n) && is_email(s)) {
        put_link(x, b, l, "mailto:", s, s, false);
    } else {
        for (size_t i = 0; i < l->schemes.u.l->n && !scheme.p; i++) {
            const struct vc_jstr *t = l->schemes.u.l->v[i].u.s;
            if (s.n > t->n && !memcmp(s.p, t->p, t->n)) scheme = s;
        }
        if (!scheme.p) {
            vc_j_put(x, b, s.p, s.n);
            return;
        }
        put_link(x, b, l, "", s, s, true);
    }
    vc_j_puts(x, b, "</a>");
}

/* Cuts a word into what stands before an address, the address, and what stands behind it. */
static void put_word(vc_jx *x, struct vc_jbuf *b, const struct links *l, vc_str w) {
    static const char *const pair[3][2] = { { "(", ")" }, { "<", ">" }, { "&lt;", "&gt;" } };
    size_t a = 0, z = w.n;
    vc_j_step(x, 4 + w.n / 8);
    for (size_t k; a < w.n; a += k) {
        vc_str rest = { w.p + a, w.n - a };
        k = *rest.p == '(' || *rest.p == '<' ? 1 : starts(rest, "&lt;") ? 4 : 0;
        if (!k) break;
    }
    for (size_t k; z > a; z -= k) {
        vc_str part = { w.p + a, z - a };
        k = ends(part, "&gt;") ? 4 : strchr(")>.,", part.p[part.n - 1]) && part.p[part.n - 1] ? 1 : 0;
        if (!k) break;
    }
    for (int i = 0; i < 3; i++) {
        vc_str middle = { w.p + a, z - a }, tail = { w.p + z, w.n - z };
        struct vc_jstr close = { pair[i][1], strlen(pair[i][1]), 0 };
        size_t open = count(middle, pair[i][0]), moves;
        if (open <= count(middle, pair[i][1])) continue;
        moves = VC_MIN(open, count(tail, pair[i][1]));
        while (moves-- > 0) z = vc_j_search(w.p, w.n, &close, z) + close.n;
    }
    vc_j_put(x, b, w.p, a);
    put_middle(x, b, l, (vc_str){ w.p + a, z - a });
    vc_j_put(x, b, w.p + z, w.n - z);
}

/* ---- arguments ---- */
/* The words of rel, nofollow and noopener, sorted, each once, as an attribute. */
static vc_jv rel_attribute(vc_jx *x, vc_jv rel, bool nofollow) {
    struct vc_jcall none = { 0 };
    vc_jv words = vc_j_list(x, 0), set = vc_j_dict(x);
    if (vc_j_has(rel)) {
        vc_j_need_str(x, rel, "urlize's rel");
        words = vc_j_apply(x, vc_j_method(VC_J_STR, "split", 5), "method", rel, &none);
    }
    if (nofollow) vc_j_push(x, words, vc_j_lit(x, "nofollow"));
    vc_j_push(x, words, vc_j_lit(x, "noopener"));
    vc_j_sort(x, words.u.l->v, NULL, words.u.l->n, false);
    struct vc_jbuf b = { 0 };
    vc_j_puts(x, &b, " rel=\"");
    for (size_t i = 0; i < words.u.l->n; i++) {
        if (vc_j_find(x, set.u.d, words.u.l->v[i])) continue;
        vc_j_set(x, set.u.d, words.u.l->v[i], vc_j_none());
        if (i) vc_j_putc(x, &b, ' ');
        vc_j_put_escaped(x, &b, words.u.l->v[i]);
    }
    vc_j_putc(x, &b, '"');
    return vc_j_done(x, &b);
}

static vc_jv target_attribute(vc_jx *x, vc_jv target) {
    struct vc_jbuf b = { 0 };
    if (vc_j_flag(target)) {
        vc_j_puts(x, &b, " target=\"");
        vc_j_put_escaped(x, &b, target);
        vc_j_putc(x, &b, '"');
    }
    return vc_j_done(x, &b);
}

/* Two or more of [\w.+-], a colon, and up to two slashes. */
static vc_jv checked_schemes(vc_jx *x, vc_jv v) {
    vc_jv l = vc_j_has(v) ? vc_j_to_list(x, v) : vc_j_list(x, 0);
    for (size_t i = 0; i < l.u.l->n; i++) {
        const struct vc_jstr *t = vc_j_need_str(x, l.u.l->v[i], "a URI scheme");
        vc_str name = { t->p, t->n };
        for (int k = 0; k < 2 && ends(name, "/"); k++) name.n--;
        char shown[64];
        if (!ends(name, ":") || (name.n--, only(name, ".+-") < 2))
            vc_j_raise(x, "'%s' is not a valid URI scheme prefix", vc_printable(shown, sizeof shown, t->p, t->n));
    }
    return l;
}

VC_J_FILTER(urlize) {
    VC_J_UNUSED;
    struct links l = { .limit = vc_j_has(arg[1]) ? vc_j_as_index(x, arg[1], "urlize's limit") : -1 };
    if (vc_j_has(arg[1]) && l.limit < 0) vc_j_raise(x, "urlize's limit must not be negative");
    l.rel = rel_attribute(x, arg[4], vc_j_flag(arg[2]));
    l.target = target_attribute(x, arg[3]);
    l.schemes = checked_schemes(x, arg[5]);
    const struct vc_jstr *s = vc_j_escape(x, arg[0]).u.s;
    struct vc_jbuf b = { 0 };
    uint32_t cp = 0;
    for (size_t i = 0, k, w; i < s->n; i = k) {
        for (k = i; k < s->n && (w = vc_utf8_decode(s->p + k, s->n - k, &cp)) > 0 && vc_j_space(cp);) k += w;
        vc_j_put(x, &b, s->p + i, k - i);
        i = k;
        for (; k < s->n && (w = vc_utf8_decode(s->p + k, s->n - k, &cp)) > 0 && !vc_j_space(cp);) k += w;
        if (k > i) put_word(x, &b, &l, (vc_str){ s->p + i, k - i });
    }
    vc_jv r = vc_j_done(x, &b);
    r.sub = x->autoescape;
    return r;
}
