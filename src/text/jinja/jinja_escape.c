/* SPDX-License-Identifier: Apache-2.0 */
#include "text/jinja/jinja_escape.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_run.h"

static void put_checked(vc_jx *x, struct vc_jbuf *b, uint32_t cp) {
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
        vc_j_raise(x, "a string literal holds U+%04X, which is not a character", cp);
    vc_j_putcp(x, b, cp);
}

static size_t hex_escape(vc_jx *x, struct vc_jbuf *b, const char *s, size_t n, size_t want) {
    uint32_t cp = 0;
    for (size_t i = 0; i < want; i++) {
        int h = i < n ? vc_digit(s[i], 16) : -1;
        if (h < 0) vc_j_raise(x, "a hexadecimal escape in a string literal needs %zu digits", want);
        cp = cp << 4 | (uint32_t)h;
    }
    put_checked(x, b, cp);
    return want;
}

/* One escape behind the backslash; returns the bytes it takes. */
static size_t one_escape(vc_jx *x, struct vc_jbuf *b, const char *s, size_t n) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    char c = s[0];
    const char *hit = c ? strchr(from, c) : NULL;
    if (hit) {
        vc_j_putc(x, b, to[hit - from]);
        return 1;
    }
    if (c == '\n') return 1;
    if (c == 'x') return 1 + hex_escape(x, b, s + 1, n - 1, 2);
    if (c == 'u') return 1 + hex_escape(x, b, s + 1, n - 1, 4);
    if (c == 'U') return 1 + hex_escape(x, b, s + 1, n - 1, 8);
    if (c == 'N') vc_j_raise(x, "a string literal uses \\N{…}; characters by name are not supported");
    if (c >= '0' && c <= '7') {
        uint32_t cp = 0;
        size_t k = 0;
        while (k < 3 && k < n && s[k] >= '0' && s[k] <= '7') cp = cp << 3 | (uint32_t)(s[k++] - '0');
        put_checked(x, b, cp);
        return k;
    }
    vc_j_putc(x, b, '\\');
    if ((unsigned char)c < 0x80) return 0;
    /* Jinja first turns the character into its own escape, whose backslash the one before it then escapes. */
    uint32_t cp;
    size_t k = vc_utf8_decode(s, n, &cp);
    char hex[12];
    snprintf(hex, sizeof hex, cp < 0x100 ? "x%02x" : cp < 0x10000 ? "u%04x" : "U%08x", cp);
    vc_j_puts(x, b, hex);
    return k;
}

void vc_j_unescape(vc_jx *x, struct vc_jbuf *b, const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        const char *bs = memchr(s + i, '\\', n - i);
        size_t k = bs ? (size_t)(bs - s) : n;
        vc_j_put(x, b, s + i, k - i);
        i = k;
        if (!bs) break;
        if (i + 1 >= n) vc_j_raise(x, "a string literal ends with a backslash");
        i++;
        i += one_escape(x, b, s + i, n - i);
    }
}
