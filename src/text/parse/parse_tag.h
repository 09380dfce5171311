/* SPDX-License-Identifier: Apache-2.0
 *
 * parse_tag.h: finding any of a few markers in text that arrives in pieces. Text that could be the beginning of a
 * marker is held; everything else is given back at once, in order. No marker of a set is a prefix of another.
 */
#ifndef VC_TEXT_PARSE_TAG_H
#define VC_TEXT_PARSE_TAG_H

#include "base/str.h"

enum { VC_TAG_MAX = 64, VC_TAGS_MAX = 24 };

struct vc_tags {
    struct { const char *s; uint8_t n, role, arg; } t[VC_TAGS_MAX];
    size_t n;
    uint64_t first[4];      /* bit per first byte */
};
void vc_tags_clear(struct vc_tags *t);
void vc_tags_add(struct vc_tags *t, const char *s, unsigned role, unsigned arg);    /* NULL and "" are left out */

struct vc_tagger {
    char held[VC_TAG_MAX], out[VC_TAG_MAX];
    size_t n;
};
/* Takes some of s[0..n) and returns how many bytes. *plain is text that is no marker (may be empty; lies in s or in g);
 * *hit is the index of a marker that ended with the last byte taken, else -1. At most one of them is given. */
size_t vc_tag_next(struct vc_tagger *g, const struct vc_tags *t, const char *s, size_t n, vc_str *plain, int *hit);

#endif
