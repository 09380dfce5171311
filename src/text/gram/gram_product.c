/* SPDX-License-Identifier: Apache-2.0
 * Intersection and difference: the NFA of a beside the deterministic automaton of b, pairs made as they are reached.
 * One counted site of a may stay: then, for each pair inside it, the numbers of further rounds after which the whole
 * can come to its end are worked out (a sequence of sets of pairs, which repeats in the end), so that no text is
 * begun that can't be finished. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "text/gram/gram_dfa.h"

enum { MAX_ROWS = 4096, MAX_NESTING = 16 };

struct pair { uint32_t q, d; };
struct product {
    struct vc_gram *g;
    struct nfa *out;            /* where the pairs' edges go */
    struct nfa a, b;
    struct dfa dfa;
    uint32_t *at, *list;        /* edges of a by first state */
    struct pair *pairs; size_t n_pairs, cap_pairs;
    uint32_t *state;            /* state of out of each pair */
    size_t cap_state;
    uint32_t *table; size_t cap_table;
    uint32_t edge0;             /* first edge in out that is ours */
    uint32_t site;              /* in out */
    uint32_t s, t;
    bool minus;
};

static bool no_memory(struct vc_gram *g) {
    vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    return false;
}

static bool table_grow(struct product *p) {
    size_t cap = p->cap_table ? p->cap_table * 2 : 256;
    uint32_t *t = calloc(cap, sizeof *t);
    if (!t) return no_memory(p->g);
    for (size_t i = 0; i < p->n_pairs; i++) {
        size_t at = vc_mix64((uint64_t)p->pairs[i].q << 32 | p->pairs[i].d) & (cap - 1);
        while (t[at]) at = (at + 1) & (cap - 1);
        t[at] = (uint32_t)i + 1;
    }
    free(p->table);
    p->table = t;
    p->cap_table = cap;
    return true;
}

/* State of out for (q, d). */
static bool pair_state(struct product *p, uint32_t q, uint32_t d, uint32_t *state) {
    if (p->n_pairs * 2 >= p->cap_table && !table_grow(p)) return false;
    size_t at = vc_mix64((uint64_t)q << 32 | d) & (p->cap_table - 1);
    for (; p->table[at]; at = (at + 1) & (p->cap_table - 1)) {
        uint32_t i = p->table[at] - 1;
        if (p->pairs[i].q == q && p->pairs[i].d == d) {
            *state = p->state[i];
            return true;
        }
    }
    if (!VC_GRAM_ROOM(p->pairs, p->n_pairs, p->cap_pairs) || !VC_GRAM_ROOM(p->state, p->n_pairs, p->cap_state))
        return no_memory(p->g);
    if (!vc_nfa_state(p->g, p->out, state)) return false;
    p->pairs[p->n_pairs] = (struct pair){ q, d };
    p->state[p->n_pairs] = *state;
    p->table[at] = (uint32_t)++p->n_pairs;
    return true;
}

static bool byte_pairs(struct product *p, const struct nedge *e, uint32_t from, uint32_t d) {
    for (unsigned b = e->lo; b <= e->hi;) {
        const uint32_t *next = vc_dfa_next(&p->dfa, d);
        if (!next) return false;
        unsigned last = b;
        while (last < e->hi && next[last + 1] == next[b]) last++;
        uint32_t to, dest = next[b];
        if (dest || p->minus) {
            if (!pair_state(p, e->to, dest, &to)) return false;
            struct nedge n = { .from = from, .to = to, .kind = NE_BYTE, .lo = (uint8_t)b, .hi = (uint8_t)last };
            if (!vc_nfa_edge(p->g, p->out, n)) return false;
        }
        b = last + 1;
    }
    return true;
}

static bool all_pairs(struct product *p, uint32_t start, uint32_t d0) {
    uint32_t to;
    if (!pair_state(p, start, d0, &to)) return false;
    if (!vc_nfa_edge(p->g, p->out, (struct nedge){ .from = p->s, .to = to, .kind = NE_EPS })) return false;
    for (size_t i = 0; i < p->n_pairs; i++) {
        const struct pair x = p->pairs[i];
        const uint32_t from = p->state[i];
        if (!vc_gram_in_time(p->g)) return false;
        if (x.q == start + 1 && p->dfa.states[x.d].accept != p->minus) {
            if (!vc_nfa_edge(p->g, p->out, (struct nedge){ .from = from, .to = p->t, .kind = NE_EPS })) return false;
        }
        for (uint32_t k = p->at[x.q]; k < p->at[x.q + 1]; k++) {
            struct nedge e = p->a.edges[p->list[k]];
            if (e.kind == NE_BYTE) {
                if (!byte_pairs(p, &e, from, x.d)) return false;
                continue;
            }
            if (!pair_state(p, e.to, x.d, &to)) return false;
            e.from = from;
            e.to = to;
            if (e.kind != NE_EPS) e.arg = p->site;
            if (!vc_nfa_edge(p->g, p->out, e)) return false;
        }
    }
    return true;
}

/* ---- counts ---- */
bool vc_nfa_live(const struct nsite *site, uint32_t bit, uint32_t count) {
    const struct nlive *l = &site->live;
    uint32_t lo = site->min > count ? site->min - count : 0, period = l->n_rows - l->wrap;
    if (site->max != VC_GRAM_INF && count > site->max) return false;
    uint64_t hi = site->max == VC_GRAM_INF ? UINT64_MAX : site->max - count;
    if (hi > (uint64_t)lo + l->n_rows) hi = (uint64_t)lo + l->n_rows;
    for (uint64_t k = lo; k <= hi; k++) {
        if (k >= l->n_rows && !period) return false;
        uint64_t row = k < l->n_rows ? k : l->wrap + (k - l->wrap) % period;
        if (l->rows[row * l->words + bit / 64] >> bit % 64 & 1) return true;
    }
    return false;
}

struct count {
    struct product *p;
    uint32_t base, n;           /* states of out: base … base + n */
    uint8_t *inside, *ends;     /* in the site; outside and able to reach t */
    uint32_t *bit;              /* of states inside */
    uint32_t bits;
    uint32_t *at, *list;        /* our edges by their end */
    uint32_t *stack;
    struct nlive live;
    size_t cap_rows;
};

static const struct nedge *our_edge(const struct count *c, uint32_t k) { return &c->p->out->edges[c->list[k]]; }

static bool edges_by_end(struct count *c) {
    const struct nfa *o = c->p->out;
    c->at = calloc((size_t)c->n + 2, sizeof *c->at);
    c->list = malloc((o->n_edges - c->p->edge0 + 1) * sizeof *c->list);
    if (!c->at || !c->list) return no_memory(c->p->g);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = c->p->edge0; i < o->n_edges; i++) {
            uint32_t to = o->edges[i].to;
            if (to < c->base || o->edges[i].from < c->base) continue;
            if (pass) c->list[c->at[to - c->base + 1]++] = (uint32_t)i;
            else c->at[to - c->base + 2]++;
        }
        if (pass) break;
        for (uint32_t s = 2; s <= c->n + 1; s++) c->at[s] += c->at[s - 1];
    }
    return true;
}

/* Which pairs lie inside the site: reached from its ENTER and not yet by its EXIT. */
static void mark_inside(struct count *c) {
    const struct nfa *o = c->p->out;
    bool again = true;
    for (size_t i = c->p->edge0; i < o->n_edges; i++) {
        if (o->edges[i].kind == NE_ENTER) c->inside[o->edges[i].to - c->base] = 1;
    }
    while (again) {
        again = false;
        for (size_t i = c->p->edge0; i < o->n_edges; i++) {
            const struct nedge *e = &o->edges[i];
            if (e->from < c->base || e->kind == NE_EXIT || e->kind == NE_ENTER || !c->inside[e->from - c->base])
                continue;
            if (e->to < c->base || c->inside[e->to - c->base]) continue;
            c->inside[e->to - c->base] = 1;
            again = true;
        }
    }
    for (uint32_t s = 0; s < c->n; s++) {
        if (c->inside[s]) c->bit[s] = c->bits++;
    }
}

static bool row_has(const struct count *c, const uint64_t *row, uint32_t s) {
    return row[c->bit[s] / 64] >> c->bit[s] % 64 & 1;
}

static void row_add(struct count *c, uint64_t *row, uint32_t s, size_t *n) {
    if (!c->inside[s] || row_has(c, row, s)) return;
    row[c->bit[s] / 64] |= 1ull << c->bit[s] % 64;
    c->stack[(*n)++] = s;
}

/* Adds what reaches the row without another round. */
static void row_close(struct count *c, uint64_t *row, size_t n) {
    while (n) {
        uint32_t s = c->stack[--n];
        for (uint32_t k = c->at[s]; k < c->at[s + 1]; k++) {
            const struct nedge *e = our_edge(c, k);
            if (e->kind == NE_BYTE || e->kind == NE_EPS) row_add(c, row, e->from - c->base, &n);
        }
    }
}

static uint64_t *row_new(struct count *c) {
    struct nlive *l = &c->live;
    if (!vc_gram_grow((void **)&l->rows, ((size_t)l->n_rows + 1) * l->words, &c->cap_rows, sizeof *l->rows)) {
        no_memory(c->p->g);
        return NULL;
    }
    uint64_t *row = l->rows + (size_t)l->n_rows * l->words;
    memset(row, 0, l->words * sizeof *row);
    return row;
}

/* Rows of c->live: row 0 reaches an EXIT whose end is in `ends`, row k + 1 has one round before row k. */
static bool rows_made(struct count *c) {
    struct nlive *l = &c->live;
    l->n_rows = 0;
    l->words = c->bits / 64 + 1;
    uint32_t limit = (uint32_t)VC_MIN((uint64_t)MAX_ROWS, (64u << 20) / (8u * (uint64_t)l->words)),
             *sum = malloc(MAX_ROWS * sizeof *sum);
    if (!sum) return no_memory(c->p->g);
    bool ok = true, done = false;
    while (ok && !done) {
        uint64_t *row = row_new(c);
        if (!row) break;
        size_t n = 0;
        const uint64_t *before = l->n_rows ? row - l->words : NULL;
        for (uint32_t s = 0; s < c->n; s++) {
            for (uint32_t k = c->at[s]; k < c->at[s + 1]; k++) {
                const struct nedge *e = our_edge(c, k);
                bool to = e->kind == NE_EXIT && !before
                              ? c->ends[s]
                              : e->kind == NE_INC && before && c->inside[s] && row_has(c, before, s);
                if (to) row_add(c, row, e->from - c->base, &n);
            }
        }
        row_close(c, row, n);
        uint64_t h = 0;
        bool empty = true;
        for (uint32_t w = 0; w < l->words; w++) {
            h = vc_mix64(h ^ row[w]);
            empty &= !row[w];
        }
        for (uint32_t k = 0; k < l->n_rows && !done && !empty; k++) {
            if (sum[k] != (uint32_t)h || memcmp(l->rows + (size_t)k * l->words, row, l->words * sizeof *row)) continue;
            l->wrap = k;
            done = true;
        }
        if (empty) {
            l->wrap = l->n_rows;
            done = true;
        }
        if (done) break;
        ok = l->n_rows < limit - 1 && vc_gram_in_time(c->p->g);
        if (!ok)
            vc_gram_fail(c->p->g, VC_E_INVALID,
                         "grammar: a pattern with a counted length is too complex (period over %u)", limit);
        sum[l->n_rows++] = (uint32_t)h;
    }
    free(sum);
    return done;
}

/* States outside that reach t, entering the site only where that can end. */
static void ends_close(struct count *c, const struct nsite *site, bool *grew) {
    const struct nfa *o = c->p->out;
    bool again = true;
    *grew = false;
    while (again) {
        again = false;
        for (size_t i = o->n_edges; i-- > c->p->edge0;) {      /* backwards, as ends come late */
            const struct nedge *e = &o->edges[i];
            if (e->from < c->base || c->inside[e->from - c->base] || c->ends[e->from - c->base]) continue;
            bool live = e->to == c->p->t;
            if (!live && e->to >= c->base) {
                uint32_t s = e->to - c->base;
                live = e->kind == NE_ENTER ? c->live.rows && vc_nfa_live(site, c->bit[s], 0)
                                           : !c->inside[s] && c->ends[s];
            }
            if (!live) continue;
            c->ends[e->from - c->base] = 1;
            again = *grew = true;
        }
    }
}

static bool counts(struct count *c) {
    struct product *p = c->p;
    struct nsite *site = &p->out->sites[p->site];
    if (!edges_by_end(c)) return false;
    mark_inside(c);
    bool grew = true;
    for (bool first = true; grew || first; first = false) {
        struct nsite with = *site;
        with.live = c->live;
        ends_close(c, &with, &grew);
        if (!grew && !first) break;
        if (!rows_made(c)) return false;
    }
    for (uint32_t s = 0; s < c->n; s++) {
        if (!c->inside[s]) continue;
        if (!VC_GRAM_ROOM(p->out->marks, p->out->n_marks, p->out->cap_marks)) return no_memory(p->g);
        p->out->marks[p->out->n_marks++] = (struct nmark){ c->base + s, p->site, c->bit[s] };
    }
    site->live = c->live;
    site->flags |= NS_LIVE;
    c->live = (struct nlive){ 0 };
    size_t n = p->edge0;
    for (size_t i = p->edge0; i < p->out->n_edges; i++) {
        const struct nedge e = p->out->edges[i];
        if (e.kind == NE_ENTER && !vc_nfa_live(site, c->bit[e.to - c->base], 0)) continue;
        if (e.kind == NE_EXIT && !c->ends[e.to - c->base]) continue;
        p->out->edges[n++] = e;
    }
    p->out->n_edges = n;
    return true;
}

static bool keep_counts(struct product *p, uint32_t base) {
    struct count c = { .p = p, .base = base, .n = p->out->n_states - base };
    c.inside = calloc((size_t)c.n + 1, 1);
    c.ends = calloc((size_t)c.n + 1, 1);
    c.bit = calloc((size_t)c.n + 1, sizeof *c.bit);
    c.stack = malloc(((size_t)c.n + 1) * sizeof *c.stack);
    bool ok = c.inside && c.ends && c.bit && c.stack ? counts(&c) : no_memory(p->g);
    free(c.inside);
    free(c.ends);
    free(c.bit);
    free(c.stack);
    free(c.at);
    free(c.list);
    free(c.live.rows);
    return ok;
}

/* An NFA with states 0 (first) and 1 (last) for x. */
static bool alone(struct vc_gram *g, struct nfa *a, vc_gram_node x, int flags) {
    struct nrule r = { 0 };
    if (!vc_nfa_state(g, a, &r.start) || !vc_nfa_state(g, a, &r.final)) return false;
    if (!VC_GRAM_ROOM(a->rules, a->n_rules, a->cap_rules)) return no_memory(g);
    a->rules[a->n_rules++] = r;
    return vc_nfa_fragment(g, a, x, r.start, r.final, flags);
}

static bool sides(struct product *p, const struct gnode *x, int flags) {
    vc_gram_node a = p->g->kids[x->off], b = p->g->kids[x->off + 1];
    if (!alone(p->g, &p->a, a, flags | FR_PART) || !alone(p->g, &p->b, b, FR_PART | FR_UNROLL)) return false;
    if (p->a.n_sites > 1 || (p->a.n_sites && p->a.sites[0].flags & NS_LIVE)) {
        vc_nfa_free(&p->a);
        if (!alone(p->g, &p->a, a, FR_PART | FR_UNROLL)) return false;
    }
    p->at = calloc((size_t)p->a.n_states + 2, sizeof *p->at);
    p->list = malloc((p->a.n_edges + 1) * sizeof *p->list);
    if (!p->at || !p->list) return no_memory(p->g);
    for (size_t i = 0; i < p->a.n_edges; i++) p->at[p->a.edges[i].from + 2]++;
    for (uint32_t s = 2; s <= p->a.n_states + 1; s++) p->at[s] += p->at[s - 1];
    for (size_t i = 0; i < p->a.n_edges; i++) p->list[p->at[p->a.edges[i].from + 1]++] = (uint32_t)i;
    return true;
}

static bool made(struct product *p, const struct gnode *x, int flags) {
    uint32_t d0;
    if (!sides(p, x, flags)) return false;
    if (!vc_dfa_init(&p->dfa, p->g, &p->b, 0, 1, &d0)) return false;
    if (p->a.n_sites) {
        struct nsite s = p->a.sites[0];
        s.flags = 0;
        s.body = UINT32_MAX;
        if (!vc_nfa_site(p->g, p->out, s, &p->site)) return false;
    }
    uint32_t base = p->out->n_states;
    p->edge0 = (uint32_t)p->out->n_edges;
    return all_pairs(p, 0, d0) && (!p->a.n_sites || keep_counts(p, base));
}

bool vc_nfa_product(struct vc_gram *g, struct nfa *out, const struct gnode *x, uint32_t s, uint32_t t, int flags) {
    if (g->product_depth >= MAX_NESTING) {
        return vc_gram_fail(g, VC_E_INVALID, "grammar: intersections are nested more than %d deep", MAX_NESTING);
    }
    g->product_depth++;
    struct product p = { .g = g, .out = out, .s = s, .t = t, .minus = x->kind == GN_MINUS };
    bool ok = made(&p, x, flags);
    g->product_depth--;
    vc_nfa_free(&p.a);
    vc_nfa_free(&p.b);
    if (p.dfa.g) vc_dfa_free(&p.dfa);
    free(p.at);
    free(p.list);
    free(p.pairs);
    free(p.state);
    free(p.table);
    return ok;
}
