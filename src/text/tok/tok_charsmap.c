/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tok/tok_charsmap.h"

#include <string.h>

#include "text/tok/tok_chars.h"

static uint32_t unit(const struct vc_charsmap *m, uint32_t i) {
    const uint8_t *p = m->units + (size_t)i * 4;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint32_t offset_of(uint32_t u) { return (u >> 10) << ((u & (1u << 9)) >> 6); }
static uint32_t label_of(uint32_t u) { return u & (1u << 31 | 0xFF); }

const char *vc_charsmap_open(struct vc_charsmap *m, const void *p, size_t n) {
    const uint8_t *b = p;
    *m = (struct vc_charsmap){ 0 };
    if (n == 0) return NULL;
    if (n < 4) return "shorter than its length field";
    uint32_t bytes = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    if (bytes % 4 || bytes > n - 4) return "the double array is longer than the data, or no multiple of 4 bytes";
    vc_str out = { (const char *)b + 4 + bytes, n - 4 - bytes };
    if (bytes && (!out.n || out.p[out.n - 1])) return "the replacements do not end in NUL";
    size_t ok = vc_chr_valid(out.p, out.n);
    if (ok < out.n) return "the replacements are not UTF-8";
    *m = (struct vc_charsmap){ b + 4, bytes / 4, out };
    return NULL;
}

size_t vc_charsmap_find(const struct vc_charsmap *m, const char *text, size_t n, bool longest, vc_str *to) {
    if (!m->num_units) return 0;
    size_t found = 0;
    uint32_t at = offset_of(unit(m, 0)), value = 0;
    for (size_t i = 0; i < n && text[i]; i++) {
        unsigned char c = (unsigned char)text[i];
        at ^= c;
        if (at >= m->num_units) break;
        uint32_t u = unit(m, at);
        if (label_of(u) != c) break;
        at ^= offset_of(u);
        if (at >= m->num_units) break;
        if (!(u >> 8 & 1)) continue;
        value = unit(m, at) & ~(1u << 31);
        found = i + 1;
        if (!longest) break;
    }
    if (!found || value >= m->out.n) return 0;
    *to = (vc_str){ m->out.p + value, strlen(m->out.p + value) };
    if (vc_chr_valid(to->p, to->n) < to->n) return 0;    /* the offset points into a character */
    return found;
}
