/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

vc_str vc_str_of(const char *s) { return (vc_str){ s, s ? strlen(s) : 0 }; }
bool vc_str_eq(vc_str a, vc_str b) { return a.n == b.n && (a.n == 0 || !memcmp(a.p, b.p, a.n)); }
bool vc_str_is(vc_str a, const char *s) { return vc_str_eq(a, vc_str_of(s)); }
bool vc_str_starts(vc_str a, const char *s) {
    size_t n = strlen(s);
    return a.n >= n && !memcmp(a.p, s, n);
}
bool vc_str_ends(vc_str a, const char *s) {
    size_t n = strlen(s);
    return a.n >= n && !memcmp(a.p + a.n - n, s, n);
}

bool vc_buf_reserve(struct vc_buf *b, size_t more) {
    if (b->failed) return false;
    if (more > SIZE_MAX / 4 - b->n) { b->failed = true; return false; }
    size_t need = b->n + more + 1;
    if (b->p && need <= b->cap) return true;
    size_t cap = b->cap ? b->cap * 2 : 64;
    if (cap < need) cap = need;
    char *p = realloc(b->p, cap);
    if (!p) { b->failed = true; return false; }
    b->p = p;
    b->cap = cap;
    return true;
}

void vc_buf_add(struct vc_buf *b, const char *s, size_t n) {
    if (!vc_buf_reserve(b, n)) return;
    if (n) memcpy(b->p + b->n, s, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void vc_buf_adds(struct vc_buf *b, const char *s) { vc_buf_add(b, s, strlen(s)); }
void vc_buf_addc(struct vc_buf *b, char c) { vc_buf_add(b, &c, 1); }

void vc_buf_printf(struct vc_buf *b, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && vc_buf_reserve(b, (size_t)n)) {
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void vc_buf_utf8(struct vc_buf *b, uint32_t cp) {
    char s[4];
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; cp >>= 6) s[i] = (char)(0x80 | (cp & 0x3F));
    static const unsigned char lead[5] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    s[0] = (char)(lead[n] | cp);
    vc_buf_add(b, s, n);
}

void vc_buf_free(struct vc_buf *b) {
    free(b->p);
    *b = (struct vc_buf){ 0 };
}

char *vc_buf_take(struct vc_buf *b, size_t *n) {
    if (!b->p) vc_buf_reserve(b, 0);
    if (b->failed) { vc_buf_free(b); return NULL; }
    char *p = b->p;
    p[b->n] = '\0';
    if (n) *n = b->n;
    *b = (struct vc_buf){ 0 };
    return p;
}

size_t vc_utf8_decode(const char *s, size_t n, uint32_t *cp) {
    const unsigned char *u = (const unsigned char *)s;
    if (n == 0) return 0;
    if (u[0] < 0x80) { *cp = u[0]; return 1; }
    size_t len = u[0] >= 0xF0 ? 4 : u[0] >= 0xE0 ? 3 : 2;
    if (u[0] < 0xC2 || u[0] > 0xF4 || n < len) return 0;
    uint32_t c = u[0] & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((u[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (u[i] & 0x3F);
    }
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
    *cp = c;
    return len;
}

size_t vc_utf8_partial(const char *s, size_t n) {
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)s[n - back];
        if ((c & 0xC0) == 0x80) continue;
        size_t len = c >= 0xF5 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 1;
        if (len <= back) return 0;
        unsigned char second = back > 1 ? (unsigned char)s[n - back + 1] : 0;
        if (back > 1 && ((c == 0xE0 && second < 0xA0) || (c == 0xED && second > 0x9F) || (c == 0xF0 && second < 0x90) || (c == 0xF4 && second > 0x8F)))
            return 0;
        return back;
    }
    return 0;
}

int vc_digit(char c, int base) {
    char low = (char)(c | 0x20);
    int v = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'z' ? low - 'a' + 10 : base;
    return v < base ? v : -1;
}

const char *vc_printable(char *dst, size_t cap, const char *s, size_t n) {
    size_t o = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        char one[5];
        int len = c >= 0x20 && c < 0x7F ? snprintf(one, sizeof one, "%c", c) : snprintf(one, sizeof one, "\\x%02x", c);
        if (o + (size_t)len + 4 > cap) {
            memcpy(dst + o, "…", sizeof "…");
            return dst;
        }
        memcpy(dst + o, one, (size_t)len);
        o += (size_t)len;
    }
    dst[o] = '\0';
    return dst;
}
