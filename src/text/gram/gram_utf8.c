/* SPDX-License-Identifier: Apache-2.0
 * Ranges of code points as sequences of byte ranges (UTF-8, RFC 3629): a range is cut where the length changes and
 * where only a part of the continuation bytes is covered. */
#include "text/gram/gram_int.h"

static unsigned encode(uint32_t c, uint8_t b[4]) {
    if (c < 0x80) {
        b[0] = (uint8_t)c;
        return 1;
    }
    unsigned n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (unsigned i = n - 1; i > 0; i--, c >>= 6) b[i] = (uint8_t)(0x80 | (c & 0x3F));
    b[0] = (uint8_t)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | c);
    return n;
}

bool vc_utf8_ranges(uint32_t first, uint32_t last, vc_utf8_seq_fn *fn, void *ctx) {
    static const uint32_t ends[4] = { 0x7F, 0x7FF, 0xFFFF, 0x10FFFF };
    while (first <= last) {
        uint32_t hi = last;
        for (int i = 0; i < 4; i++) {
            if (first <= ends[i] && hi > ends[i]) hi = ends[i];
        }
        /* Cut at multiples of 2^(6k) so that the lower k bytes run over all their values, or the upper ones are one. */
        for (unsigned k = 1; k < 4 && first > 0x7F; k++) {
            uint32_t m = (1u << 6 * k) - 1;
            if ((first & ~m) == (hi & ~m)) continue;
            if (first & m) {
                hi = first | m;
                break;
            }
            if ((hi & m) != m) hi = (hi & ~m) - 1;
        }
        uint8_t a[4], b[4], seq[4][2];
        unsigned n = encode(first, a);
        encode(hi, b);
        for (unsigned i = 0; i < n; i++) {
            seq[i][0] = a[i];
            seq[i][1] = b[i];
        }
        if (!fn(ctx, (const uint8_t (*)[2])seq, n)) return false;
        first = hi + 1;
    }
    return true;
}
