/* SPDX-License-Identifier: Apache-2.0 */
#include "text/parse/parse_tag.h"

#include <assert.h>
#include <string.h>

void vc_tags_clear(struct vc_tags *t) { memset(t, 0, sizeof *t); }

void vc_tags_add(struct vc_tags *t, const char *s, unsigned role, unsigned arg) {
    if (!s || !s[0]) return;
    size_t n = strlen(s);
    assert(n <= VC_TAG_MAX && t->n < VC_TAGS_MAX);
    for (size_t i = 0; i < t->n; i++) {
        if (t->t[i].n == n && !memcmp(t->t[i].s, s, n)) return;     /* the first meaning stands */
    }
    t->t[t->n].s = s;
    t->t[t->n].n = (uint8_t)n;
    t->t[t->n].role = (uint8_t)role;
    t->t[t->n].arg = (uint8_t)arg;
    t->n++;
    t->first[(unsigned char)s[0] >> 6] |= (uint64_t)1 << ((unsigned char)s[0] & 63);
}

static bool is_first(const struct vc_tags *t, char c) {
    return t->first[(unsigned char)c >> 6] >> ((unsigned char)c & 63) & 1;
}

/* The marker that s is; -1: the beginning of one; -2: neither. */
static int probe(const struct vc_tags *t, const char *s, size_t n) {
    int r = -2;
    for (size_t i = 0; i < t->n; i++) {
        if (n > t->t[i].n || memcmp(s, t->t[i].s, n)) continue;
        if (n == t->t[i].n) return (int)i;
        r = -1;
    }
    return r;
}

size_t vc_tag_next(struct vc_tagger *g, const struct vc_tags *t, const char *s, size_t n, vc_str *plain, int *hit) {
    *plain = (vc_str){ NULL, 0 };
    *hit = -1;
    if (!g->n) {
        size_t i = 0;
        while (i < n && !is_first(t, s[i])) i++;
        if (i) {
            *plain = (vc_str){ s, i };
            return i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        g->held[g->n++] = s[i];
        int r = probe(t, g->held, g->n);
        if (r >= 0) {
            g->n = 0;
            *hit = r;
            return i + 1;
        }
        if (r == -1) continue;
        /* The longest end of the held text that may still begin a marker stays, without the byte just read if it was
         * not held before: that byte is looked at again. */
        size_t had = g->n - 1, k = 1;
        if (!had) {
            g->n = 0;
            *plain = (vc_str){ s + i, 1 };
            return i + 1;
        }
        while (k < had && probe(t, g->held + k, had - k) == -2) k++;
        memcpy(g->out, g->held, k);
        memmove(g->held, g->held + k, had - k);
        g->n = had - k;
        *plain = (vc_str){ g->out, k };
        return i;
    }
    return n;
}
