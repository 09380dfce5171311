/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t vc_base64_decode(uint8_t *dst, const char *s, size_t n) {
    size_t out = 0;
    uint32_t bits = 0;
    if (n % 4 == 0) {
        for (unsigned pad = 0; pad < 2 && n && s[n - 1] == '='; pad++) n--;
    }
    if (n % 4 == 1) return SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        int d = digit(s[i]);
        if (d < 0) return SIZE_MAX;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 == 1) dst[out++] = (uint8_t)(bits >> 4);
        if (i % 4 == 2) dst[out++] = (uint8_t)(bits >> 2);
        if (i % 4 == 3) dst[out++] = (uint8_t)bits;
    }
    return out;
}

void vc_base64_add(struct vc_buf *b, const void *p, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *s = p;
    if (n > SIZE_MAX / 2 || !vc_buf_reserve(b, (n + 2) / 3 * 4 + 1)) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = (uint32_t)s[i] << 16 | (i + 1 < n ? (uint32_t)s[i + 1] << 8 : 0) | (i + 2 < n ? s[i + 2] : 0u);
        char *d = b->p + b->n;
        for (int k = 0; k < 4; k++) d[k] = digits[bits >> (18 - 6 * k) & 63];
        if (i + 1 >= n) d[2] = '=';
        if (i + 2 >= n) d[3] = '=';
        b->n += 4;
    }
    b->p[b->n] = '\0';
}
