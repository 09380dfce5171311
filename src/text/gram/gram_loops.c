/* SPDX-License-Identifier: Apache-2.0
 * Which bytes lead from a config back to itself: below a node of the trie that holds only such bytes every token is
 * allowed, and need not be walked. The inside of a JSON string is the case that matters. */
#include "text/gram/gram_int.h"

uint64_t vc_byte_group(unsigned b) {
    if (b >= 0x80) return GC_UTF8;
    if (b >= '0' && b <= '9') return 1;
    if (b >= 'a' && b <= 'z') return b <= 'f' ? 2 : 4;
    if (b >= 'A' && b <= 'Z') return b <= 'F' ? 8 : 16;
    switch (b) {
    case '\t': return 1ull << 5;
    case '\n': return 1ull << 6;
    case '\r': return 1ull << 7;
    default: break;
    }
    if (b < 0x20 || b == 0x7F) return 1ull << 8;
    unsigned n = b < '0' ? b - ' ' : b < 'A' ? 16 + b - ':' : b < 'a' ? 23 + b - '[' : 29 + b - '{';
    return 1ull << (9 + n);         /* 9 … 41 */
}

struct range { uint8_t lo, hi; };
/* All continuations of c by bytes of r[0 … n) in turn end in `home`. */
static bool all_home(struct vc_grammar *r, uint32_t c, const struct range *v, unsigned n, uint32_t home) {
    uint32_t last = GC_NONE;
    for (unsigned b = v->lo; b <= v->hi; b++) {
        uint32_t to = vc_conf_next(r, c, r->cls[b]);
        if (to == GC_NONE || to == GC_DEAD) return false;
        if (to == last) continue;
        last = to;
        if (n == 1 ? to != home : !all_home(r, to, v + 1, n - 1, home)) return false;
    }
    return true;
}

/* The well-formed sequences of RFC 3629. */
static bool utf8_home(struct vc_grammar *r, uint32_t c) {
    static const struct { struct range v[4]; unsigned n; } all[] = {
        { { { 0xC2, 0xDF }, { 0x80, 0xBF } }, 2 },
        { { { 0xE0, 0xE0 }, { 0xA0, 0xBF }, { 0x80, 0xBF } }, 3 },
        { { { 0xE1, 0xEC }, { 0x80, 0xBF }, { 0x80, 0xBF } }, 3 },
        { { { 0xED, 0xED }, { 0x80, 0x9F }, { 0x80, 0xBF } }, 3 },
        { { { 0xEE, 0xEF }, { 0x80, 0xBF }, { 0x80, 0xBF } }, 3 },
        { { { 0xF0, 0xF0 }, { 0x90, 0xBF }, { 0x80, 0xBF }, { 0x80, 0xBF } }, 4 },
        { { { 0xF1, 0xF3 }, { 0x80, 0xBF }, { 0x80, 0xBF }, { 0x80, 0xBF } }, 4 },
        { { { 0xF4, 0xF4 }, { 0x80, 0x8F }, { 0x80, 0xBF }, { 0x80, 0xBF } }, 4 },
    };
    for (unsigned i = 0; i < VC_ARRAY_LEN(all); i++) {
        if (!all_home(r, c, all[i].v, all[i].n, c)) return false;
    }
    return true;
}

uint64_t vc_conf_loops(struct vc_grammar *r, uint32_t conf) {
    if (r->confs[conf].loops_known) return r->confs[conf].loops;
    uint64_t in = 0, out = 0;
    for (unsigned b = 0; b < 128; b++) {
        if (vc_conf_next(r, conf, r->cls[b]) == conf) in |= vc_byte_group(b);
        else out |= vc_byte_group(b);
    }
    in &= ~out;
    if (in && utf8_home(r, conf)) in |= GC_UTF8;
    r->confs[conf].loops = in;
    r->confs[conf].loops_known = true;
    return in;
}
