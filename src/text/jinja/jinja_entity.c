/* SPDX-License-Identifier: Apache-2.0
 * html.unescape() of Python: numeric and named character references, the latter also by the longest name that fits. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_entity.h"

static const struct entity { const char *name, *text; } entities[] = {
#define E(name, text) { name, text },
#include "text/jinja/jinja_entity.def"
#undef E
};

enum { MAX_NAME = 32 };

static const char *find(const char *p, size_t n) {
    size_t lo = 0, hi = VC_ARRAY_LEN(entities);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2, k = strlen(entities[mid].name);
        int c = memcmp(p, entities[mid].name, VC_MIN(n, k));
        if (c == 0 && n == k) return entities[mid].text;
        if (c < 0 || (c == 0 && n < k)) hi = mid;
        else lo = mid + 1;
    }
    return NULL;
}

/* What HTML says of a number: of 0x80…0x9F what Windows-1252 has there, U+FFFD for what is no character, nothing for
 * controls and noncharacters. */
static void put_number(vc_jx *x, struct vc_jbuf *b, uint32_t v) {
    static const uint16_t windows[32] = { 0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                          0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                          0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                          0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178 };
    if (v >= 0x80 && v <= 0x9F) v = windows[v - 0x80];
    else if (v == 0 || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) v = 0xFFFD;
    else if ((v < 0x20 && v != '\t' && v != '\n' && v != '\f' && v != '\r') || v == 0x7F ||
             (v >= 0xFDD0 && v <= 0xFDEF) || (v & 0xFFFE) == 0xFFFE || v == 0x0B)
        return;
    vc_j_putcp(x, b, v);
}

/* "#…" behind the ampersand; returns the bytes it takes, 0: none. */
static size_t number(vc_jx *x, struct vc_jbuf *b, const char *s, size_t n) {
    bool hex = n > 1 && (s[1] | 0x20) == 'x';
    size_t from = hex ? 2 : 1, i = from;
    uint32_t v = 0;
    for (; i < n; i++) {
        int base = hex ? 16 : 10, d = vc_digit(s[i], base);
        if (d < 0) break;
        if (v <= 0x110000) v = v * (uint32_t)base + (uint32_t)d;
    }
    if (i == from) return 0;
    put_number(x, b, v);
    return i + (i < n && s[i] == ';');
}

/* A name behind the ampersand, as long as may be; returns the bytes it takes, 0: none. */
static size_t named(vc_jx *x, struct vc_jbuf *b, const char *s, size_t n) {
    size_t k = 0, chars = 0;
    while (k < n && !strchr("\t\n\f <&#;", s[k]) && chars < MAX_NAME) {
        uint32_t cp;
        size_t w = vc_utf8_decode(s + k, n - k, &cp);
        k += w ? w : 1;
        chars++;
    }
    if (k < n && s[k] == ';') k++;
    for (; k > 1; k--) {
        const char *text = find(s, k);
        if (!text) continue;
        vc_j_puts(x, b, text);
        return k;
    }
    return 0;
}

vc_jv vc_j_unescape_html(vc_jx *x, const struct vc_jstr *s) {
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < s->n;) {
        const char *amp = memchr(s->p + i, '&', s->n - i);
        size_t k = amp ? (size_t)(amp - s->p) : s->n;
        vc_j_put(x, &b, s->p + i, k - i);
        i = k;
        if (!amp) break;
        const char *p = s->p + i + 1;
        size_t n = s->n - i - 1, took = 0;
        vc_j_step(x, 4);
        if (n && *p == '#') took = number(x, &b, p, n);
        else if (n && *p) took = named(x, &b, p, n);
        if (!took) vc_j_putc(x, &b, '&');
        i += 1 + took;
    }
    return vc_j_done(x, &b);
}
