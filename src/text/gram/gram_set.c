/* SPDX-License-Identifier: Apache-2.0
 * Sets of stacks, each once. A set is a sorted list of frames (code, count, set of the stacks below); frames with
 * equal code and count share one set below, so that ambiguous grammars have few sets where they have many stacks. Set
 * 0 is the bottom alone. In a loop of which every round may be the last, a lower count can do all that a higher one
 * can: the higher one is dropped. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "text/gram/gram_int.h"

enum { MIN_UNIONS = 256, MAX_UNIONS = 1 << 18, MERGE_DEPTH = 1500 };

static int by_frame(const void *a, const void *b) {
    const struct gframe *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    return x->parent < y->parent ? -1 : x->parent > y->parent;
}

static bool table_grow(struct vc_grammar *r) {
    size_t cap = r->cap_set_table ? r->cap_set_table * 2 : 256;
    uint32_t *t = calloc(cap, sizeof *t);
    if (!t) {
        r->failed = "out of memory";
        return false;
    }
    for (size_t i = 0; i < r->n_sets; i++) {
        size_t at = r->sets[i].hash & (cap - 1);
        while (t[at]) at = (at + 1) & (cap - 1);
        t[at] = (uint32_t)i + 1;
    }
    free(r->set_table);
    r->set_table = t;
    r->cap_set_table = cap;
    return true;
}

/* v is sorted and as it shall be. */
static uint32_t intern(struct vc_grammar *r, const struct gframe *v, size_t n) {
    if (r->n_sets * 2 >= r->cap_set_table && !table_grow(r)) return GC_NONE;
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) h = vc_mix64(h ^ ((uint64_t)v[i].code << 32 | v[i].count)) + v[i].parent;
    uint32_t hash = (uint32_t)vc_mix64(h);
    size_t at = hash & (r->cap_set_table - 1);
    for (; r->set_table[at]; at = (at + 1) & (r->cap_set_table - 1)) {
        const struct gset *s = &r->sets[r->set_table[at] - 1];
        if (s->hash == hash && s->n == n && !memcmp(r->frames + s->off, v, n * sizeof *v)) return r->set_table[at] - 1;
    }
    if (n > r->g->lim.items) {
        r->failed = "too many ways through the grammar at once";
        return GC_NONE;
    }
    if (!VC_GRAM_ROOM(r->sets, r->n_sets, r->cap_sets) || r->n_frames + n > UINT32_MAX ||
        !vc_gram_grow((void **)&r->frames, r->n_frames + n, &r->cap_frames, sizeof *r->frames)) {
        r->failed = "out of memory";
        return GC_NONE;
    }
    memcpy(r->frames + r->n_frames, v, n * sizeof *v);
    r->sets[r->n_sets] = (struct gset){ .off = (uint32_t)r->n_frames, .n = (uint32_t)n, .hash = hash, .far = GC_NONE };
    r->n_frames += n;
    r->set_table[at] = (uint32_t)++r->n_sets;
    return (uint32_t)r->n_sets - 1;
}

static uint32_t unite(struct vc_grammar *r, uint32_t a, uint32_t b, unsigned depth);

/* Is x made needless by a frame before it, with the same code and the same stacks below? */
static bool dominated(const struct vc_grammar *r, const struct gframe *v, size_t n, const struct gframe *x) {
    if (!(x->code & GF_SITE) || x->code == UINT32_MAX) return false;
    const struct nsite *s = &r->g->nfa.sites[x->code & ~GF_SITE];
    if (s->flags & (NS_EXACT | NS_LIVE) || x->count < s->min) return false;
    for (size_t i = n; i-- > 0 && v[i].code == x->code && v[i].count >= s->min;) {
        if (v[i].parent == x->parent) return true;
    }
    return false;
}

static uint32_t tidy(struct vc_grammar *r, struct gframe *v, size_t n, unsigned depth) {
    if (n > 1) qsort(v, n, sizeof *v, by_frame);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (m && !by_frame(&v[m - 1], &v[i])) continue;
        if (m && v[m - 1].code == v[i].code && v[m - 1].count == v[i].count && depth < MERGE_DEPTH) {
            uint32_t p = unite(r, v[m - 1].parent, v[i].parent, depth + 1);
            if (p == GC_NONE) return GC_NONE;
            v[m - 1].parent = p;
            continue;
        }
        v[m++] = v[i];
    }
    n = m;
    m = 0;
    for (size_t i = 0; i < n; i++) {
        if (!dominated(r, v, m, &v[i])) v[m++] = v[i];
    }
    return intern(r, v, m);
}

static uint32_t unite(struct vc_grammar *r, uint32_t a, uint32_t b, unsigned depth) {
    if (a == b) return a;
    if (a > b) {
        uint32_t c = a;
        a = b;
        b = c;
    }
    struct gunion *memo = &r->unions[vc_mix64((uint64_t)a << 32 | b) & (r->cap_unions - 1)];
    if (memo->a == a && memo->b == b && memo->r != GC_NONE) return memo->r;
    size_t n = (size_t)r->sets[a].n + r->sets[b].n;
    struct gframe small[6], *v = n <= VC_ARRAY_LEN(small) ? small : malloc(n * sizeof *v);
    if (!v) {
        r->failed = "out of memory";
        return GC_NONE;
    }
    memcpy(v, r->frames + r->sets[a].off, r->sets[a].n * sizeof *v);
    memcpy(v + r->sets[a].n, r->frames + r->sets[b].off, r->sets[b].n * sizeof *v);
    uint32_t u = tidy(r, v, n, depth);
    if (v != small) free(v);
    r->unions[vc_mix64((uint64_t)a << 32 | b) & (r->cap_unions - 1)] = (struct gunion){ a, b, u };
    return u;
}

uint32_t vc_set_union(struct vc_grammar *r, uint32_t a, uint32_t b) { return unite(r, a, b, 0); }

/* The memo grows with the number of sets; what it forgets is worked out again. */
static bool memo_ready(struct vc_grammar *r) {
    size_t cap = r->cap_unions ? r->cap_unions : MIN_UNIONS;
    if (r->unions && (r->n_sets < cap || cap == MAX_UNIONS)) return true;
    while (cap <= r->n_sets && cap < MAX_UNIONS) cap *= 4;
    struct gunion *u = malloc(cap * sizeof *u);
    if (!u) {
        r->failed = "out of memory";
        return false;
    }
    for (size_t i = 0; i < cap; i++) u[i] = (struct gunion){ 0, 0, GC_NONE };
    for (size_t i = 0; i < r->cap_unions; i++) {
        struct gunion x = r->unions[i];
        if (x.r != GC_NONE) u[vc_mix64((uint64_t)x.a << 32 | x.b) & (cap - 1)] = x;
    }
    free(r->unions);
    r->unions = u;
    r->cap_unions = cap;
    return true;
}

uint32_t vc_set_intern(struct vc_grammar *r, struct gframe *v, size_t n) {
    if (!memo_ready(r)) return GC_NONE;
    return tidy(r, v, n, 0);
}
