/* SPDX-License-Identifier: Apache-2.0
 * Configs: all (state, set of stacks) pairs that a text can be in, each config once, with a table of the next one per
 * class of bytes that is filled when it is asked for. Config 0 is dead. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "text/gram/gram_int.h"

static uint32_t fail(struct vc_grammar *r, const char *what) {
    if (!r->failed) r->failed = what;
    return GC_NONE;
}
static uint32_t no_memory(struct vc_grammar *r) { return fail(r, "out of memory"); }

uint64_t vc_conf_bytes(const struct vc_grammar *r) {
    return r->cap_sets * sizeof *r->sets + r->cap_frames * sizeof *r->frames + r->cap_confs * sizeof *r->confs +
           r->cap_items * sizeof *r->items + (r->cap_set_table + r->cap_conf_table) * sizeof(uint32_t) +
           r->cap_unions * sizeof *r->unions + r->n_next * r->n_cls * sizeof(uint32_t) + r->row_bytes;
}

static bool table_grow(struct vc_grammar *r) {
    size_t cap = r->cap_conf_table ? r->cap_conf_table * 2 : 256;
    uint32_t *t = calloc(cap, sizeof *t);
    if (!t) return false;
    for (size_t i = 0; i < r->n_confs; i++) {
        size_t at = r->confs[i].hash & (cap - 1);
        while (t[at]) at = (at + 1) & (cap - 1);
        t[at] = (uint32_t)i + 1;
    }
    free(r->conf_table);
    r->conf_table = t;
    r->cap_conf_table = cap;
    return true;
}

uint32_t vc_conf_intern(struct vc_grammar *r, const struct gitem *v, size_t n, bool accepting) {
    if (r->n_confs * 2 >= r->cap_conf_table && !table_grow(r)) return no_memory(r);
    uint64_t h = n * 2 + accepting;
    for (size_t i = 0; i < n; i++) h = vc_mix64(h ^ ((uint64_t)v[i].state << 32 | v[i].set));
    uint32_t hash = (uint32_t)vc_mix64(h);
    size_t at = hash & (r->cap_conf_table - 1);
    for (; r->conf_table[at]; at = (at + 1) & (r->cap_conf_table - 1)) {
        const struct gconf *c = &r->confs[r->conf_table[at] - 1];
        if (c->hash == hash && c->n == n && c->accepting == accepting && !memcmp(r->items + c->off, v, n * sizeof *v)) {
            return r->conf_table[at] - 1;
        }
    }
    if (!VC_GRAM_ROOM(r->confs, r->n_confs, r->cap_confs) || r->n_items + n > UINT32_MAX ||
        !vc_gram_grow((void **)&r->items, r->n_items + n, &r->cap_items, sizeof *r->items)) {
        return no_memory(r);
    }
    if (vc_conf_bytes(r) > r->budget) return fail(r, "its memory budget");
    if (n) memcpy(r->items + r->n_items, v, n * sizeof *v);
    r->confs[r->n_confs] = (struct gconf){ .off = (uint32_t)r->n_items,
                                           .n = (uint32_t)n,
                                           .hash = hash,
                                           .accepting = accepting,
                                           .rest = GC_NONE,
                                           .far = GC_NONE };
    r->n_items += n;
    r->conf_table[at] = (uint32_t)++r->n_confs;
    return (uint32_t)r->n_confs - 1;
}

/* ---- closure ---- */
static bool seen_grow(struct vc_grammar *r) {
    size_t cap = r->cap_seen ? r->cap_seen * 2 : 256;
    struct gseen *t = calloc(cap, sizeof *t);
    if (!t) return false;
    for (size_t i = 0; i < r->cap_seen; i++) {
        if (r->seen[i].stamp != r->stamp) continue;
        size_t at = vc_mix64(r->seen[i].key) & (cap - 1);
        while (t[at].stamp) at = (at + 1) & (cap - 1);
        t[at] = r->seen[i];
    }
    free(r->seen);
    r->seen = t;
    r->cap_seen = cap;
    return true;
}

/* Frames of a site that can still come to an end at this state. */
static uint32_t live_frames(struct vc_grammar *r, uint32_t mark, uint32_t set) {
    const struct nmark *m = &r->g->nfa.marks[mark];
    const struct nsite *s = &r->g->nfa.sites[m->site];
    const struct gset x = r->sets[set];
    if (!vc_gram_grow((void **)&r->tmp, x.n, &r->cap_tmp, sizeof *r->tmp)) return no_memory(r);
    size_t n = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        struct gframe f = r->frames[x.off + i];
        if (vc_nfa_live(s, m->bit, f.count)) r->tmp[n++] = f;
    }
    if (n == x.n) return set;
    return n ? vc_set_intern(r, r->tmp, n) : UINT32_MAX - 1;
}

static bool add(struct vc_grammar *r, uint32_t state, uint32_t set) {
    if (set == GC_NONE) return false;
    const uint32_t mark = r->states[state].mark;
    if (mark) {
        set = live_frames(r, mark - 1, set);
        if (set == GC_NONE) return false;
        if (set == UINT32_MAX - 1) return true;
    }
    if (r->n_seen * 2 >= r->cap_seen && !seen_grow(r)) return no_memory(r), false;
    uint64_t key = (uint64_t)state << 32 | set;
    size_t at = vc_mix64(key) & (r->cap_seen - 1);
    for (; r->seen[at].stamp == r->stamp; at = (at + 1) & (r->cap_seen - 1)) {
        if (r->seen[at].key == key) return true;
    }
    r->seen[at].key = key;
    r->seen[at].stamp = r->stamp;
    if (++r->n_seen > r->g->lim.items) return fail(r, "too many ways through the grammar at once"), false;
    if (!VC_GRAM_ROOM(r->work, r->n_work, r->cap_work)) return no_memory(r), false;
    r->work[r->n_work++] = (struct gitem){ state, set };
    return true;
}

/* The end of a rule: on to where each frame returns. */
static bool pop(struct vc_grammar *r, uint32_t set, bool *accepting) {
    for (uint32_t i = 0; i < r->sets[set].n; i++) {
        struct gframe f = r->frames[r->sets[set].off + i];
        if (f.code == GF_END) *accepting = true;
        else if (!add(r, f.code, f.parent)) return false;
    }
    return true;
}

static uint32_t push(struct vc_grammar *r, uint32_t code, uint32_t set) {
    return vc_set_intern(r, &(struct gframe){ code, 0, set }, 1);
}

static bool inc(struct vc_grammar *r, const struct nedge *e, uint32_t set) {
    const struct nsite *s = &r->g->nfa.sites[e->arg];
    const struct gset x = r->sets[set];
    if (!vc_gram_grow((void **)&r->tmp, x.n, &r->cap_tmp, sizeof *r->tmp)) return no_memory(r), false;
    size_t n = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        struct gframe f = r->frames[x.off + i];
        if (s->max != VC_GRAM_INF && f.count >= s->max) continue;
        if (s->max != VC_GRAM_INF || f.count < s->min) f.count++;
        r->tmp[n++] = f;
    }
    return !n || add(r, e->to, vc_set_intern(r, r->tmp, n));
}

static bool leave(struct vc_grammar *r, const struct nedge *e, uint32_t set) {
    const struct nsite *s = &r->g->nfa.sites[e->arg];
    uint32_t all = GC_NONE;
    for (uint32_t i = 0; i < r->sets[set].n; i++) {
        struct gframe f = r->frames[r->sets[set].off + i];
        if (f.count < s->min) continue;
        all = all == GC_NONE ? f.parent : vc_set_union(r, all, f.parent);
        if (all == GC_NONE) return false;
    }
    return all == GC_NONE || add(r, e->to, all);
}

static bool follow(struct vc_grammar *r, const struct nedge *e, uint32_t set) {
    switch (e->kind) {
    case NE_EPS: return add(r, e->to, set);
    case NE_CALL: {
        uint32_t start = r->g->nfa.rules[e->arg].start;
        return add(r, start, r->states[e->to].tail ? set : push(r, e->to, set));
    }
    case NE_ENTER: return add(r, e->to, push(r, GF_SITE | e->arg, set));
    case NE_INC: return inc(r, e, set);
    case NE_EXIT: return leave(r, e, set);
    default: return true;
    }
}

static int by_state(const void *a, const void *b) {
    const struct gitem *x = a, *y = b;
    if (x->state != y->state) return x->state < y->state ? -1 : 1;
    return x->set < y->set ? -1 : x->set > y->set;
}

/* Seeds already stand in work. */
static uint32_t closure(struct vc_grammar *r) {
    bool accepting = false;
    r->n_found = 0;
    for (size_t i = 0; i < r->n_work; i++) {
        const struct gitem w = r->work[i];
        const struct gstate *s = &r->states[w.state];
        if (s->final && !pop(r, w.set, &accepting)) return GC_NONE;
        if (s->bytes) {
            if (!VC_GRAM_ROOM(r->found, r->n_found, r->cap_found)) return no_memory(r);
            r->found[r->n_found++] = w;
        }
        for (uint32_t k = s->edge + s->n_bytes; k < s->edge + s->n_edges; k++) {
            if (!follow(r, &r->edges[k], w.set)) return GC_NONE;
        }
    }
    if (r->n_found > 1) qsort(r->found, r->n_found, sizeof *r->found, by_state);
    size_t n = 0;
    for (size_t i = 0; i < r->n_found; i++) {
        if (n && r->found[n - 1].state == r->found[i].state) {
            uint32_t u = vc_set_union(r, r->found[n - 1].set, r->found[i].set);
            if (u == GC_NONE) return GC_NONE;
            r->found[n - 1].set = u;
        } else {
            r->found[n++] = r->found[i];
        }
    }
    return vc_conf_intern(r, r->found, n, accepting);
}

static void begin(struct vc_grammar *r) {
    r->n_work = r->n_seen = 0;
    if (++r->stamp == 0) {
        memset(r->seen, 0, r->cap_seen * sizeof *r->seen);
        r->stamp = 1;
    }
}

uint32_t vc_conf_closure(struct vc_grammar *r, const struct gitem *v, size_t n) {
    begin(r);
    for (size_t i = 0; i < n; i++) {
        if (!add(r, v[i].state, v[i].set)) return GC_NONE;
    }
    return closure(r);
}

uint32_t vc_conf_step(struct vc_grammar *r, uint32_t conf, unsigned cls) {
    if (!r->confs[conf].next) {
        uint32_t *next = malloc(r->n_cls * sizeof *next);
        if (!next) return no_memory(r);
        for (unsigned i = 0; i < r->n_cls; i++) next[i] = GC_NONE;
        r->confs[conf].next = next;
        r->n_next++;
    }
    const uint8_t b = r->rep[cls];
    begin(r);
    for (uint32_t i = 0; i < r->confs[conf].n; i++) {
        const struct gitem it = r->items[r->confs[conf].off + i];
        const struct gstate *s = &r->states[it.state];
        for (uint32_t k = s->edge; k < s->edge + s->n_bytes; k++) {
            const struct nedge *e = &r->edges[k];
            if (e->lo <= b && b <= e->hi && !add(r, e->to, it.set)) return GC_NONE;
        }
    }
    uint32_t to = r->n_work ? closure(r) : GC_DEAD;
    if (to != GC_NONE) r->confs[conf].next[cls] = to;
    return to;
}

void vc_conf_drop_rows(struct vc_grammar *r) {
    for (size_t i = 0; i < r->n_confs; i++) {
        free(r->confs[i].row);
        r->confs[i].row = NULL;
    }
    r->n_queue = r->queue_head = 0;
    r->row_bytes = 0;
}

static void free_tables(struct vc_grammar *r) {
    vc_conf_drop_rows(r);
    for (size_t i = 0; i < r->n_confs; i++) free(r->confs[i].next);
    free(r->sets);
    free(r->frames);
    free(r->confs);
    free(r->items);
    free(r->set_table);
    free(r->conf_table);
    free(r->unions);
}

void vc_conf_free(struct vc_grammar *r) {
    free_tables(r);
    free(r->work);
    free(r->found);
    free(r->seen);
    free(r->tmp);
    free(r->row_queue);
    free(r->lexemes);
    free(r->path);
    free(r->states);
    free(r->edges);
}

/* The bottom of all stacks, the dead config. */
static bool ground(struct vc_grammar *r) {
    return vc_set_intern(r, &(struct gframe){ GF_END, 0, 0 }, 1) == 0 && vc_conf_intern(r, NULL, 0, false) == GC_DEAD;
}

/* Copies the marked sets of old in order (those below come first) and notes their new numbers in to. */
static bool move_sets(struct vc_grammar *r, const struct vc_grammar *old, uint32_t *to) {
    for (size_t i = 0; i < old->n_sets; i++) {
        if (!to[i]) continue;
        const struct gset s = old->sets[i];
        if (!vc_gram_grow((void **)&r->tmp, s.n, &r->cap_tmp, sizeof *r->tmp)) return false;
        for (uint32_t k = 0; k < s.n; k++) {
            r->tmp[k] = old->frames[s.off + k];
            if (r->tmp[k].code != GF_END) r->tmp[k].parent = to[r->tmp[k].parent];
        }
        to[i] = vc_set_intern(r, r->tmp, s.n);
        if (to[i] == GC_NONE) return false;
    }
    return true;
}

static uint32_t move_conf(struct vc_grammar *r, const struct vc_grammar *old, uint32_t conf, const uint32_t *to) {
    const struct gconf *c = &old->confs[conf];
    r->n_found = 0;
    if (!vc_gram_grow((void **)&r->found, c->n, &r->cap_found, sizeof *r->found)) return GC_NONE;
    for (uint32_t i = 0; i < c->n; i++) {
        struct gitem it = old->items[c->off + i];
        r->found[i] = (struct gitem){ it.state, to[it.set] };
    }
    return vc_conf_intern(r, r->found, c->n, c->accepting);
}

static void mark_conf(const struct vc_grammar *r, uint32_t conf, uint32_t *to) {
    for (uint32_t i = 0; i < r->confs[conf].n; i++) to[r->items[r->confs[conf].off + i].set] = 1;
}

void vc_conf_collect(struct vc_grammar *r) {
    if (vc_conf_bytes(r) < r->collect_at) return;
    uint32_t *to = calloc(r->n_sets + 1, sizeof *to);
    if (!to) return;
    to[0] = 1;
    mark_conf(r, r->initial, to);
    for (const struct vc_matcher *m = r->matchers; m; m = m->next) {
        for (size_t i = 0; i < m->n; i++) mark_conf(r, m->hist[i], to);
    }
    for (size_t i = r->n_sets; i-- > 1;) {
        for (uint32_t k = 0; to[i] && k < r->sets[i].n; k++) {
            struct gframe f = r->frames[r->sets[i].off + k];
            if (f.code != GF_END) to[f.parent] = 1;
        }
    }
    struct vc_grammar old = *r;
    r->sets = NULL, r->frames = NULL, r->confs = NULL, r->items = NULL, r->set_table = NULL, r->conf_table = NULL,
    r->unions = NULL, r->cap_unions = 0;
    r->n_sets = r->cap_sets = r->n_frames = r->cap_frames = r->n_confs = r->cap_confs = 0;
    r->n_items = r->cap_items = r->cap_set_table = r->cap_conf_table = 0;
    r->n_next = r->row_bytes = r->n_queue = r->queue_head = 0;
    bool ok = ground(r) && move_sets(r, &old, to);
    /* Two passes: first all must fit, then the matchers change over. */
    ok = ok && move_conf(r, &old, old.initial, to) != GC_NONE;
    for (const struct vc_matcher *m = r->matchers; ok && m; m = m->next) {
        for (size_t i = 0; ok && i < m->n; i++) ok = move_conf(r, &old, m->hist[i], to) != GC_NONE;
    }
    if (ok) {
        r->initial = move_conf(r, &old, old.initial, to);
        for (struct vc_matcher *m = r->matchers; m; m = m->next) {
            for (size_t i = 0; i < m->n; i++) m->hist[i] = move_conf(r, &old, m->hist[i], to);
        }
        old.work = NULL;
        free_tables(&old);
        r->collect_at = VC_MAX(r->budget / 2, VC_MIN(r->budget - r->budget / 8, 2 * vc_conf_bytes(r)));
    } else {
        struct vc_grammar broken = *r;
        struct vc_grammar keep = old;
        keep.tmp = r->tmp, keep.cap_tmp = r->cap_tmp, keep.found = r->found, keep.cap_found = r->cap_found;
        *r = keep;
        r->collect_at = r->budget;
        free_tables(&broken);
    }
    free(to);
}

/* ---- from the NFA ---- */
/* Bytes that no edge tells apart are one class: each distinct range of bytes splits the classes. */
static void classes(struct vc_grammar *r) {
    static const uint32_t none = UINT32_MAX;
    uint64_t done[1024] = { 0 };        /* ranges lo * 256 + hi */
    r->n_cls = 1;
    memset(r->cls, 0, sizeof r->cls);
    for (size_t i = 0; i < r->n_edges && r->n_cls < 256; i++) {
        const struct nedge *e = &r->edges[i];
        uint32_t key = (uint32_t)e->lo * 256 + e->hi;
        if (e->kind != NE_BYTE || done[key / 64] >> key % 64 & 1) continue;
        done[key / 64] |= 1ull << key % 64;
        uint32_t in[256], out[256], n = 0;
        for (int c = 0; c < 256; c++) in[c] = out[c] = none;
        uint8_t cls[256];
        for (unsigned b = 0; b < 256; b++) {
            uint32_t *to = e->lo <= b && b <= e->hi ? &in[r->cls[b]] : &out[r->cls[b]];
            if (*to == none) *to = n++;
            cls[b] = (uint8_t)*to;
        }
        memcpy(r->cls, cls, sizeof cls);
        r->n_cls = n;
    }
    for (unsigned b = 256; b-- > 0;) {
        r->rep[r->cls[b]] = (uint8_t)b;
        r->width[r->cls[b]]++;
    }
}

static bool states(struct vc_grammar *r) {
    const struct nfa *a = &r->g->nfa;
    r->n_states = a->n_states;
    r->n_edges = a->n_edges;
    r->states = calloc((size_t)a->n_states + 1, sizeof *r->states);
    r->edges = malloc((a->n_edges + 1) * sizeof *r->edges);
    if (!r->states || !r->edges) return false;
    for (size_t i = 0; i < a->n_edges; i++) {
        struct gstate *s = &r->states[a->edges[i].from];
        s->n_edges++;
        s->n_bytes += a->edges[i].kind == NE_BYTE;
    }
    uint32_t at = 0;
    for (uint32_t s = 0; s < a->n_states; s++) {
        r->states[s].edge = at;
        r->states[s].bytes = r->states[s].n_bytes > 0;
        at += r->states[s].n_edges;
        r->states[s].n_edges = r->states[s].n_bytes;        /* next free place of other edges */
        r->states[s].n_bytes = 0;
    }
    for (size_t i = 0; i < a->n_edges; i++) {
        struct gstate *s = &r->states[a->edges[i].from];
        r->edges[s->edge + (a->edges[i].kind == NE_BYTE ? s->n_bytes++ : s->n_edges++)] = a->edges[i];
    }
    for (size_t i = 0; i < a->n_rules; i++) r->states[a->rules[i].final].final = 1;
    for (size_t i = 0; i < a->n_sites; i++) {
        if (a->sites[i].flags & NS_HEAVY) r->states[a->sites[i].body].lex = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < a->n_marks; i++) r->states[a->marks[i].state].mark = (uint32_t)i + 1;
    for (uint32_t s = 0; s < a->n_states; s++) {
        uint32_t t = s;
        for (int i = 0; i < 64 && !r->states[t].final; i++) {
            if (r->states[t].n_edges != 1 || r->edges[r->states[t].edge].kind != NE_EPS) break;
            t = r->edges[r->states[t].edge].to;
        }
        r->states[s].tail = r->states[t].final && !r->states[t].n_edges;
    }
    return true;
}

vc_status vc_conf_init(struct vc_grammar *r, vc_err *err) {
    r->budget = r->g->lim.memory_bytes;
    r->collect_at = r->budget / 2;
    if (!states(r)) return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    classes(r);
    r->start = r->g->nfa.rules[0].start;
    if (ground(r)) {
        r->initial = vc_conf_closure(r, &(struct gitem){ r->start, 0 }, 1);
        if (r->initial == GC_DEAD) return vc_fail(err, VC_E_INVALID, "grammar: no text matches it");
        if (r->initial != GC_NONE) return VC_OK;
    }
    return vc_fail(err, VC_E_INVALID, "grammar: %s", r->failed ? r->failed : "out of memory");
}
