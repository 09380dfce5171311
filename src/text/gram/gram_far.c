/* SPDX-License-Identifier: Apache-2.0
 * Configs that no token tells apart. A token of len bytes begins at most len rounds of any repeat, so a count that is
 * more than len away from its repeat's borders may as well be another such count: all of them become one, and share
 * one mask. */
#include <stdlib.h>

#include "text/gram/gram_int.h"

enum { MAX_DEPTH = 200 };

static uint32_t far_count(const struct nsite *s, uint32_t c, uint32_t len) {
    if (s->max == VC_GRAM_INF && c >= s->min) return c;            /* counted no further anyway */
    uint64_t room = s->max == VC_GRAM_INF ? UINT64_MAX : s->max - c;
    uint64_t rows = s->flags & NS_LIVE ? s->live.n_rows : 0;      /* with so many rounds left all that can end does */
    if (c >= s->min) return room > rows + len ? s->min : c;
    return !(s->flags & NS_LIVE) && s->min - c > len ? 0 : c;
}

static uint32_t far_set(struct vc_grammar *r, uint32_t set, uint32_t len, unsigned depth) {
    if (r->sets[set].far != GC_NONE || depth > MAX_DEPTH) return depth > MAX_DEPTH ? set : r->sets[set].far;
    const uint32_t n = r->sets[set].n;
    struct gframe small[32], *v = n <= 32 ? small : malloc(n * sizeof *v);
    if (!v) return GC_NONE;
    uint32_t out = 0;
    bool same = true;
    for (uint32_t i = 0; i < n && out != GC_NONE; i++) {
        struct gframe f = r->frames[r->sets[set].off + i];
        if (f.code != GF_END) {
            out = f.parent = far_set(r, f.parent, len, depth + 1);
            if (f.code & GF_SITE) f.count = far_count(&r->g->nfa.sites[f.code & ~GF_SITE], f.count, len);
        }
        const struct gframe *old = &r->frames[r->sets[set].off + i];
        same = same && f.count == old->count && f.parent == old->parent;
        v[i] = f;
    }
    if (out != GC_NONE) out = same ? set : vc_set_intern(r, v, n);
    if (v != small) free(v);
    r->sets[set].far = out;
    return out;
}

uint32_t vc_conf_far(struct vc_grammar *r, uint32_t conf, uint32_t len) {
    if (r->confs[conf].far != GC_NONE) return r->confs[conf].far;
    const struct gconf c = r->confs[conf];
    bool same = true;
    if (!vc_gram_grow((void **)&r->found, c.n + 1u, &r->cap_found, sizeof *r->found)) return GC_NONE;
    for (uint32_t i = 0; i < c.n; i++) {
        struct gitem it = r->items[c.off + i];
        uint32_t set = far_set(r, it.set, len, 0);
        if (set == GC_NONE) return GC_NONE;
        same = same && set == it.set;
        r->found[i] = (struct gitem){ it.state, set };
    }
    uint32_t far = same ? conf : vc_conf_intern(r, r->found, c.n, c.accepting);
    r->confs[conf].far = far;
    return far;
}
