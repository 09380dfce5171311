/* SPDX-License-Identifier: Apache-2.0
 * Characters as they may be spelt inside a JSON string (RFC 8259 section 7). */
#include <stdlib.h>

#include "text/gram/gram_int.h"

/* Hex digits of the values [lo, hi], either case. */
static vc_gram_node digit(struct vc_gram *g, unsigned lo, unsigned hi) {
    struct vc_gram_range r[3];
    size_t n = 0;
    if (lo < 10) r[n++] = (struct vc_gram_range){ '0' + lo, '0' + VC_MIN(hi, 9u) };
    if (hi >= 10) {
        unsigned a = VC_MAX(lo, 10u) - 10, b = hi - 10;
        r[n++] = (struct vc_gram_range){ 'a' + a, 'a' + b };
        r[n++] = (struct vc_gram_range){ 'A' + a, 'A' + b };
    }
    return vc_gram_class(g, r, n, false);
}

/* Hex spelling with `digits` digits of the numbers [lo, hi]: where both ends agree that digit, in between the whole
 * range. */
static vc_gram_node hex(struct vc_gram *g, uint32_t lo, uint32_t hi, unsigned digits) {
    vc_gram_node alt[16];
    size_t n = 0;
    while (lo <= hi) {
        /* The largest aligned power of 16, or a run of them, that begins at lo. */
        unsigned low = 0;
        while (low + 1 < digits && !(lo & ((16u << 4 * low) - 1)) && lo + ((16u << 4 * low) - 1) <= hi) low++;
        uint32_t unit = 1u << 4 * low, first = lo >> 4 * low & 15, last = first;
        while (last < 15 && lo + (last - first + 2) * unit - 1 <= hi) last++;
        vc_gram_node v[8];
        for (unsigned d = digits; d-- > 0;) {
            unsigned at = digits - 1 - d, x = lo >> 4 * d & 15;
            v[at] = d > low ? digit(g, x, x) : d == low ? digit(g, first, last) : digit(g, 0, 15);
        }
        alt[n++] = vc_gram_seq(g, v, digits);
        lo += (last - first + 1) * unit;
        if (!lo || n == VC_ARRAY_LEN(alt)) break;
    }
    return vc_gram_alt(g, alt, n);
}

static vc_gram_node escape(struct vc_gram *g, uint32_t lo, uint32_t hi) {
    return vc_gram_seq2(g, vc_gram_text(g, "\\u", 2), hex(g, lo, hi, 4));
}

static vc_gram_node pair(struct vc_gram *g, uint32_t high0, uint32_t high1, uint32_t low0, uint32_t low1) {
    return vc_gram_seq2(g, escape(g, 0xD800 + high0, 0xD800 + high1), escape(g, 0xDC00 + low0, 0xDC00 + low1));
}

/* \uXXXX, above U+FFFF a pair. */
static vc_gram_node escapes(struct vc_gram *g, struct vc_gram_range r) {
    vc_gram_node v[4];
    size_t n = 0;
    if (r.first < 0x10000) v[n++] = escape(g, r.first, VC_MIN(r.last, 0xFFFFu));
    if (r.last >= 0x10000) {
        uint32_t a = VC_MAX(r.first, 0x10000u) - 0x10000, b = r.last - 0x10000, ha = a >> 10, hb = b >> 10;
        if (ha == hb) {
            v[n++] = pair(g, ha, ha, a & 1023, b & 1023);
        } else {
            if (a & 1023) v[n++] = pair(g, ha, ha, a & 1023, 1023), ha++;
            if ((b & 1023) != 1023) v[n++] = pair(g, hb, hb, 0, b & 1023), hb--;
            if (ha <= hb) v[n++] = pair(g, ha, hb, 0, 1023);
        }
    }
    return vc_gram_alt(g, v, n);
}

static bool has(const struct vc_gram_range *r, size_t n, uint32_t c) {
    for (size_t i = 0; i < n; i++) {
        if (r[i].first <= c && c <= r[i].last) return true;
    }
    return false;
}

struct alts { vc_gram_node *v; size_t n, cap; };
static bool push(struct vc_gram *g, struct alts *a, vc_gram_node x) {
    if (!VC_GRAM_ROOM(a->v, a->n, a->cap)) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    a->v[a->n++] = x;
    return true;
}

/* r[0 … n) is sorted and without surrogates. */
static bool spellings(struct vc_gram *g, const struct vc_gram_range *r, size_t n, bool any, struct alts *a) {
    static const struct { uint32_t c; char text[3];
    } shorts[] = { { '"', "\\\"" }, { '\\', "\\\\" }, { 8, "\\b" },  { 9, "\\t" },
                   { 10, "\\n" },   { 12, "\\f" },    { 13, "\\r" }, { '/', "\\/" } };
    struct vc_gram_range *plain = malloc((n + 3) * sizeof *plain);
    if (!plain) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    size_t m = 0;
    static const struct vc_gram_range free_of[3] = { { 0x20, 0x21 }, { 0x23, 0x5B }, { 0x5D, 0x10FFFF } };
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            uint32_t lo = VC_MAX(r[i].first, free_of[k].first), hi = VC_MIN(r[i].last, free_of[k].last);
            if (lo > hi) continue;
            struct vc_gram_range *p = realloc(plain, (m + 1 + n + 3) * sizeof *plain);
            if (!p) {
                free(plain);
                return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
            }
            plain = p;
            plain[m++] = (struct vc_gram_range){ lo, hi };
        }
    }
    bool ok = push(g, a, vc_gram_class(g, plain, m, false));
    free(plain);
    for (size_t i = 0; ok && i < VC_ARRAY_LEN(shorts); i++) {
        if (has(r, n, shorts[i].c) && (any || shorts[i].c != '/')) ok = push(g, a, vc_gram_text(g, shorts[i].text, 2));
    }
    static const struct vc_gram_range musts[3] = { { 0, 0x1F }, { '"', '"' }, { '\\', '\\' } };
    for (size_t i = 0; ok && i < n; i++) {
        if (any) ok = push(g, a, escapes(g, r[i]));
        for (int k = 0; ok && !any && k < 3; k++) {
            uint32_t lo = VC_MAX(r[i].first, musts[k].first), hi = VC_MIN(r[i].last, musts[k].last);
            if (lo <= hi) ok = push(g, a, escape(g, lo, hi));
        }
    }
    return ok;
}

vc_gram_node vc_gram_json_class(struct vc_gram *g, const struct vc_gram_range *r, size_t n, bool negate,
                                bool any_escape) {
    vc_gram_node c = vc_gram_class(g, r, n, negate);       /* sorted, disjoint, without surrogates */
    if (!c) return 0;
    const struct gnode x = g->nodes[c];
    struct vc_gram_range *v = malloc((x.n + 1) * sizeof *v);
    if (!v) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    size_t m = 0;
    if (x.kind == GN_CLASS) {
        for (; m < x.n; m++) v[m] = g->ranges[x.off + m];
    } else {
        uint32_t cp = 0;
        vc_utf8_decode(g->bytes + x.off, x.n, &cp);
        v[m++] = (struct vc_gram_range){ cp, cp };
    }
    struct alts a = { 0 };
    vc_gram_node out = spellings(g, v, m, any_escape, &a) ? vc_gram_alt(g, a.v, a.n) : 0;
    free(a.v);
    free(v);
    return out;
}
