/* SPDX-License-Identifier: Apache-2.0
 * Subset construction, state by state (Rabin and Scott 1959). */
#include "text/gram/gram_dfa.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static bool no_memory(struct vc_gram *g) {
    vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    return false;
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void add(struct dfa *d, uint32_t s) {
    if (d->seen[s] == d->stamp || !d->live[s]) return;
    d->seen[s] = d->stamp;
    d->work[d->n_work++] = s;
}

static bool table_grow(struct dfa *d) {
    size_t cap = d->cap_table ? d->cap_table * 2 : 256;
    uint32_t *t = calloc(cap, sizeof *t);
    if (!t) return no_memory(d->g);
    for (size_t i = 0; i < d->n_states; i++) {
        size_t at = d->states[i].hash & (cap - 1);
        while (t[at]) at = (at + 1) & (cap - 1);
        t[at] = (uint32_t)i + 1;
    }
    free(d->table);
    d->table = t;
    d->cap_table = cap;
    return true;
}

/* The state of the closure of what stands in work. */
static bool settle(struct dfa *d, uint32_t *out) {
    bool accept = false;
    for (uint32_t i = 0; i < d->n_work; i++) {
        uint32_t s = d->work[i];
        accept |= s == d->final;
        for (uint32_t k = d->at[s]; k < d->at[s + 1]; k++) {
            const struct nedge *e = &d->a->edges[d->list[k]];
            if (e->kind != NE_BYTE) add(d, e->to);
        }
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n_work; i++) {          /* only states with bytes tell sets apart, and the end */
        uint32_t s = d->work[i];
        bool bytes = s == d->final;
        for (uint32_t k = d->at[s]; k < d->at[s + 1] && !bytes; k++) bytes = d->a->edges[d->list[k]].kind == NE_BYTE;
        if (bytes) d->work[n++] = s;
    }
    if (n) qsort(d->work, n, sizeof *d->work, by_value);
    uint32_t hash = n;
    for (uint32_t i = 0; i < n; i++) hash = (uint32_t)vc_mix64((uint64_t)hash << 32 | d->work[i]);
    if (d->n_states * 2 >= d->cap_table && !table_grow(d)) return false;
    size_t at = hash & (d->cap_table - 1);
    for (; d->table[at]; at = (at + 1) & (d->cap_table - 1)) {
        const struct dstate *x = &d->states[d->table[at] - 1];
        if (x->hash == hash && x->n == n && (n == 0 || !memcmp(d->sets + x->off, d->work, n * sizeof *d->work))) {
            *out = d->table[at] - 1;
            return true;
        }
    }
    if (d->n_states > d->g->lim.states || d->n_sets > 16 * (size_t)d->g->lim.states) {
        vc_gram_fail(d->g, VC_E_INVALID, "grammar: an intersection takes more than %u states", d->g->lim.states);
        return false;
    }
    if (!VC_GRAM_ROOM(d->states, d->n_states, d->cap_states)) return no_memory(d->g);
    if (!vc_gram_grow((void **)&d->sets, d->n_sets + n, &d->cap_sets, sizeof *d->sets)) return no_memory(d->g);
    if (n) memcpy(d->sets + d->n_sets, d->work, n * sizeof *d->work);
    d->states[d->n_states] = (struct dstate){ .off = (uint32_t)d->n_sets, .n = n, .hash = hash, .accept = accept };
    d->n_sets += n;
    d->table[at] = (uint32_t)++d->n_states;
    *out = (uint32_t)d->n_states - 1;
    return true;
}

static bool edges_by_state(struct dfa *d) {
    const struct nfa *a = d->a;
    d->at = calloc((size_t)a->n_states + 2, sizeof *d->at);
    d->list = malloc((a->n_edges + 1) * sizeof *d->list);
    d->live = malloc((size_t)a->n_states + 1);
    d->work = malloc(((size_t)a->n_states + 1) * sizeof *d->work);
    d->seen = calloc((size_t)a->n_states + 1, sizeof *d->seen);
    if (!d->at || !d->list || !d->live || !d->work || !d->seen || !vc_nfa_trim(a, d->live)) return no_memory(d->g);
    for (size_t i = 0; i < a->n_edges; i++) d->at[a->edges[i].from + 2]++;
    for (uint32_t s = 2; s <= a->n_states + 1; s++) d->at[s] += d->at[s - 1];
    for (size_t i = 0; i < a->n_edges; i++) d->list[d->at[a->edges[i].from + 1]++] = (uint32_t)i;
    return true;
}

bool vc_dfa_init(struct dfa *d, struct vc_gram *g, const struct nfa *a, uint32_t start, uint32_t final,
                 uint32_t *first) {
    *d = (struct dfa){ .g = g, .a = a, .final = final };
    if (!edges_by_state(d)) return false;
    uint32_t dead;
    if (!settle(d, &dead)) return false;
    d->stamp = 1;
    add(d, start);
    return settle(d, first);
}

const uint32_t *vc_dfa_next(struct dfa *d, uint32_t s) {
    if (d->states[s].next) return d->states[s].next;
    uint32_t *next = malloc(256 * sizeof *next);
    if (!next) {
        no_memory(d->g);
        return NULL;
    }
    /* Bytes between two borders of edges behave alike. */
    uint8_t border[257] = { 1 };
    const uint32_t off = d->states[s].off, n = d->states[s].n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t q = d->sets[off + i];
        for (uint32_t k = d->at[q]; k < d->at[q + 1]; k++) {
            const struct nedge *e = &d->a->edges[d->list[k]];
            if (e->kind != NE_BYTE) continue;
            border[e->lo] = border[e->hi + 1] = 1;
        }
    }
    for (unsigned b = 0; b < 256; b++) {
        if (!border[b]) {
            next[b] = next[b - 1];
            continue;
        }
        d->stamp++;
        d->n_work = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t q = d->sets[off + i];
            for (uint32_t k = d->at[q]; k < d->at[q + 1]; k++) {
                const struct nedge *e = &d->a->edges[d->list[k]];
                if (e->kind == NE_BYTE && e->lo <= b && b <= e->hi) add(d, e->to);
            }
        }
        if (!vc_gram_in_time(d->g) || !settle(d, &next[b])) {
            free(next);
            return NULL;
        }
    }
    d->states[s].next = next;
    return next;
}

void vc_dfa_free(struct dfa *d) {
    for (size_t i = 0; i < d->n_states; i++) free(d->states[i].next);
    free(d->at);
    free(d->list);
    free(d->live);
    free(d->states);
    free(d->sets);
    free(d->table);
    free(d->work);
    free(d->seen);
}
