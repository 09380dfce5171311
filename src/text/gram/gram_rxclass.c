/* SPDX-License-Identifier: Apache-2.0
 * Escapes and character classes of regular expressions (ECMA-262 22.2.1 with the u flag; Python's re with re.ASCII). */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "text/gram/gram_regex.h"

bool vc_rx_add(struct rx *x, struct rx_set *s, uint32_t first, uint32_t last) {
    if (!VC_GRAM_ROOM(s->v, s->n, s->cap)) return vc_rx_bad(x, x->at, VC_E_NOMEM, "out of memory");
    s->v[s->n++] = (struct vc_gram_range){ first, last };
    return true;
}

static int by_first(const void *a, const void *b) {
    const struct vc_gram_range *p = a, *q = b;
    return p->first < q->first ? -1 : p->first > q->first;
}

/* Adds t, or what is outside it. */
static bool add_all(struct rx *x, struct rx_set *s, struct rx_set *t, bool negate) {
    bool ok = true;
    uint32_t at = 0;
    if (t->n) qsort(t->v, t->n, sizeof *t->v, by_first);
    for (size_t i = 0; ok && i < t->n; i++) {
        if (!negate) ok = vc_rx_add(x, s, t->v[i].first, t->v[i].last);
        else if (t->v[i].first > at) ok = vc_rx_add(x, s, at, t->v[i].first - 1);
        at = VC_MAX(at, t->v[i].last + 1);
    }
    if (ok && negate && at <= 0x10FFFF) ok = vc_rx_add(x, s, at, 0x10FFFF);
    return ok;
}

static bool named(struct rx *x, struct rx_set *s, char c) {
    static const struct vc_gram_range digits[] = { { '0', '9' } },
                                      words[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
    static const struct vc_gram_range blank[] = { { 9, 13 }, { 32, 32 } };
    static const struct vc_gram_range ecma[] = { { 9, 13 },          { 32, 32 },         { 0xA0, 0xA0 },
                                                 { 0x1680, 0x1680 }, { 0x2000, 0x200A }, { 0x2028, 0x2029 },
                                                 { 0x202F, 0x202F }, { 0x205F, 0x205F }, { 0x3000, 0x3000 },
                                                 { 0xFEFF, 0xFEFF } };
    struct rx_set t = { 0 };
    const struct vc_gram_range *r = digits;
    size_t n = 1;
    if (c == 'w' || c == 'W') r = words, n = VC_ARRAY_LEN(words);
    if (c == 's' || c == 'S') {
        r = x->flags & VC_GRAM_RX_ECMA ? ecma : blank;
        n = x->flags & VC_GRAM_RX_ECMA ? VC_ARRAY_LEN(ecma) : VC_ARRAY_LEN(blank);
    }
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) ok = vc_rx_add(x, &t, r[i].first, r[i].last);
    ok = ok && add_all(x, s, &t, c < 'a');
    free(t.v);
    return ok;
}

static bool hex(struct rx *x, unsigned digits, uint32_t *c) {
    size_t from = x->at;
    *c = 0;
    for (unsigned i = 0; i < digits; i++, x->at++) {
        int v = vc_digit(rx_peek(x), 16);
        if (!rx_more(x) || v < 0) return vc_rx_bad(x, from, VC_E_INVALID, "expected hexadecimal digits");
        *c = *c * 16 + (uint32_t)v;
    }
    return true;
}

/* \u: XXXX, a surrogate pair of them, or {X…} */
static bool unicode(struct rx *x, uint32_t *c) {
    size_t from = x->at;
    if (rx_peek(x) == '{' && x->flags & VC_GRAM_RX_ECMA) {
        size_t end = ++x->at;
        while (end < x->n && x->p[end] != '}') end++;
        if (end == x->n || end == x->at || end - x->at > 8)
            return vc_rx_bad(x, from, VC_E_INVALID, "\\u{ without its number and }");
        if (!hex(x, (unsigned)(end - x->at), c)) return false;
        x->at++;
    } else {
        if (!hex(x, 4, c)) return false;
        if (*c >= 0xD800 && *c < 0xDC00 && x->n - x->at >= 6 && x->p[x->at] == '\\' && x->p[x->at + 1] == 'u') {
            uint32_t low;
            size_t keep = x->at;
            x->at += 2;
            if (!hex(x, 4, &low)) return false;
            if (low >= 0xDC00 && low < 0xE000) *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
            else x->at = keep;
        }
    }
    if (*c > 0x10FFFF || (*c >= 0xD800 && *c < 0xE000))
        return vc_rx_bad(x, from, VC_E_INVALID, "no character has this number");
    return true;
}

/* \p{L}, \p{Lu}, \p{General_Category=L} */
static bool property(struct rx *x, struct rx_set *s, bool negate) {
    static const char cats[][3] = {
        "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
        "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"
    }; /* in utf8proc's order */
    size_t from = x->at;
    if (rx_peek(x) != '{') return vc_rx_bad(x, from, VC_E_INVALID, "\\p without {");
    size_t end = ++x->at;
    while (end < x->n && x->p[end] != '}') end++;
    if (end == x->n) return vc_rx_bad(x, from, VC_E_INVALID, "\\p{ without }");
    vc_str name = { x->p + x->at, end - x->at };
    static const char *const prefix[] = { "General_Category=", "gc=" };
    for (int i = 0; i < 2; i++) {
        if (vc_str_starts(name, prefix[i])) name = (vc_str){ name.p + strlen(prefix[i]), name.n - strlen(prefix[i]) };
    }
    x->at = end + 1;
    bool in[VC_ARRAY_LEN(cats)] = { false }, any = false;
    for (size_t i = 0; i < VC_ARRAY_LEN(cats); i++) {
        in[i] = (name.n == 1 && name.p[0] == cats[i][0]) || vc_str_is(name, cats[i]) || vc_str_is(name, "Any");
        any |= in[i];
    }
    if (!any)
        return vc_rx_bad(x, from, VC_E_UNSUPPORTED,
                         "this Unicode property is not supported (general categories are)");
    struct rx_set t = { 0 };
    bool ok = true;
    uint32_t start = UINT32_MAX;
    for (uint32_t c = 0; ok && c <= 0x110000; c++) {
        bool is = c < 0x110000 && in[utf8proc_category((utf8proc_int32_t)c)];
        if (is && start == UINT32_MAX) start = c;
        if (!is && start != UINT32_MAX) {
            ok = vc_rx_add(x, &t, start, c - 1);
            start = UINT32_MAX;
        }
    }
    ok = ok && add_all(x, s, &t, negate);
    free(t.v);
    return ok;
}

static bool letter_escape(struct rx *x, char e, bool in_class, uint32_t *c) {
    const bool ecma = x->flags & VC_GRAM_RX_ECMA;
    size_t from = x->at - 2;
    switch (e) {
    case 't': *c = 9; return true;
    case 'n': *c = 10; return true;
    case 'v': *c = 11; return true;
    case 'f': *c = 12; return true;
    case 'r': *c = 13; return true;
    case 'x': return hex(x, 2, c);
    case 'u': return unicode(x, c);
    case 'b':
        if (in_class) {
            *c = 8;
            return true;
        }
        return vc_rx_bad(x, from, VC_E_UNSUPPORTED, "word boundaries are not supported");
    case 'B': return vc_rx_bad(x, from, VC_E_UNSUPPORTED, "word boundaries are not supported");
    case 'k':
    case 'g': return vc_rx_bad(x, from, VC_E_UNSUPPORTED, "back references are not supported");
    default: break;
    }
    if (e == 'a' && !ecma) {
        *c = 7;
        return true;
    }
    if (e == 'U' && !ecma) {
        if (!hex(x, 8, c)) return false;
        return *c <= 0x10FFFF || vc_rx_bad(x, from, VC_E_INVALID, "no character has this number");
    }
    if (e == 'c' && ecma && rx_more(x) && ((rx_peek(x) | 32) >= 'a' && (rx_peek(x) | 32) <= 'z')) {
        *c = (uint32_t)(x->p[x->at++] & 31);
        return true;
    }
    return vc_rx_bad(x, from, VC_E_INVALID, "unknown escape");
}

bool vc_rx_escape(struct rx *x, bool in_class, uint32_t *c, struct rx_set *s) {
    size_t from = x->at - 1;
    if (!rx_more(x)) return vc_rx_bad(x, from, VC_E_INVALID, "a backslash at the end");
    char e = x->p[x->at];
    *c = UINT32_MAX;
    if (strchr("dDwWsS", e) && e) {
        x->at++;
        return named(x, s, e);
    }
    if (e == 'p' || e == 'P') {
        x->at++;
        return property(x, s, e == 'P');
    }
    if (e == '0') {
        x->at++;
        *c = 0;
        for (int i = 0; i < 2 && !(x->flags & VC_GRAM_RX_ECMA) && rx_peek(x) >= '0' && rx_peek(x) <= '7'; i++)
            *c = *c * 8 + (uint32_t)(x->p[x->at++] - '0');
        return true;
    }
    if (e >= '1' && e <= '9') return vc_rx_bad(x, from, VC_E_UNSUPPORTED, "back references are not supported");
    if ((e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z')) {
        x->at++;
        return letter_escape(x, e, in_class, c);
    }
    return vc_rx_char(x, c);
}

bool vc_rx_class(struct rx *x, struct rx_set *s, bool *negate) {
    size_t from = x->at - 1;
    *negate = rx_peek(x) == '^';
    if (*negate) x->at++;
    for (bool first = !(x->flags & VC_GRAM_RX_ECMA);; first = false) {
        if (!rx_more(x)) return vc_rx_bad(x, from, VC_E_INVALID, "a class without its closing bracket");
        if (rx_peek(x) == ']' && !first) break;
        uint32_t lo, hi;
        size_t begin = x->at;
        if (!vc_rx_char(x, &lo)) return false;
        if (lo == '\\' && !vc_rx_escape(x, true, &lo, s)) return false;
        bool range = x->at + 1 < x->n && x->p[x->at] == '-' && x->p[x->at + 1] != ']';
        if (!range) {
            if (lo != UINT32_MAX && !vc_rx_add(x, s, lo, lo)) return false;
            continue;
        }
        x->at++;
        if (!vc_rx_char(x, &hi)) return false;
        if (hi == '\\' && !vc_rx_escape(x, true, &hi, s)) return false;
        if (lo == UINT32_MAX || hi == UINT32_MAX)
            return vc_rx_bad(x, begin, VC_E_INVALID, "a range that begins or ends with a set");
        if (lo > hi) return vc_rx_bad(x, begin, VC_E_INVALID, "a range whose end is before its begin");
        if (!vc_rx_add(x, s, lo, hi)) return false;
    }
    x->at++;
    return true;
}
