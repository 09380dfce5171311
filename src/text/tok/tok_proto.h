/* SPDX-License-Identifier: Apache-2.0
 * tok_proto.h: walking a protocol buffers message (wire format: varints, 32 and 64 bits, lengths) in bounded memory. */
#ifndef VC_TEXT_TOK_PROTO_H
#define VC_TEXT_TOK_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

struct vc_proto { const uint8_t *p, *end, *begin; bool bad; };
/* A field: number, and its value as an integer (also the bits of a fixed one) or as bytes. */
struct vc_proto_field { uint32_t number, wire; uint64_t value; vc_str bytes; };

static inline struct vc_proto vc_proto_open(vc_str s) {
    const uint8_t *p = (const uint8_t *)s.p;
    return (struct vc_proto){ p, p + s.n, p, false };
}

static inline uint64_t vc_proto_varint(struct vc_proto *m) {
    uint64_t v = 0;
    for (unsigned shift = 0; m->p < m->end && shift < 64; shift += 7) {
        uint8_t b = *m->p++;
        v |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80)) return v;
    }
    m->bad = true;
    return 0;
}

/* The next field; false at the end, or with m->bad where the bytes are no message. Groups are not taken. */
static inline bool vc_proto_next(struct vc_proto *m, struct vc_proto_field *f) {
    if (m->bad || m->p == m->end) return false;
    uint64_t key = vc_proto_varint(m), n = 0;
    *f = (struct vc_proto_field){ .number = (uint32_t)(key >> 3), .wire = key & 7, .bytes = { "", 0 } };
    switch (f->wire) {
    case 0: f->value = vc_proto_varint(m); break;
    case 1: n = 8; break;
    case 5: n = 4; break;
    case 2: n = vc_proto_varint(m); break;
    default: m->bad = true;
    }
    if (key >> 32 || f->number == 0 || n > (size_t)(m->end - m->p)) m->bad = true;
    if (m->bad) return false;
    f->bytes = (vc_str){ (const char *)m->p, n };
    for (unsigned i = 0; f->wire != 2 && f->wire != 0 && i < n; i++) f->value |= (uint64_t)m->p[i] << 8 * i;
    m->p += n;
    return true;
}

static inline float vc_proto_f32(const struct vc_proto_field *f) {
    uint32_t u = (uint32_t)f->value;
    float v;
    memcpy(&v, &u, 4);
    return v;
}

#endif
