/* SPDX-License-Identifier: Apache-2.0
 * Masks. Items inside analysed loops take the loop's row for the rounds that are left, and go on from its exits; all
 * other items are walked through the trie together. What cost much is kept with the config. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"

enum { KEEP_WORK = 3000, PREPARED = 256, PREPARE_WORK = 2000000 };

struct fill {
    struct vc_grammar *r;
    struct vc_grammar_vocab *v;
    uint32_t *bits;
    uint64_t work;          /* nodes walked */
};

static vc_status ran_out(const struct vc_grammar *r, vc_err *err) {
    const char *what = r->failed ? r->failed : "out of memory";
    return vc_fail(err, !strcmp(what, "out of memory") ? VC_E_NOMEM : VC_E_INVALID,
                   "grammar: a step needs more than allowed: %s", what);
}

static void set_tokens(struct fill *f, uint32_t node) {
    for (uint32_t t = f->v->tok[node]; t != VC_NO_TOKEN; t = f->v->same[t]) f->bits[t / 32] |= 1u << t % 32;
}

/* Is all below node i allowed after config c? Worth asking for large subtrees only. */
static inline bool covered(struct vc_grammar *r, const struct vc_grammar_vocab *v, uint32_t i, uint32_t c) {
    uint64_t cover = v->cover[i];
    return v->end[i] - i > 16 && !(cover & GC_BROKEN) && !(cover & ~vc_conf_loops(r, c));
}

static void set_range(struct fill *f, uint32_t from, uint32_t to) {
    for (uint32_t k = f->v->first[from]; k < f->v->first[to]; k++) {
        uint32_t t = f->v->order[k];
        f->bits[t / 32] |= 1u << t % 32;
    }
}

/* Nodes [i, end), whose parents' configs stand in path. */
static bool walk(struct fill *f, uint32_t i, uint32_t end) {
    struct vc_grammar *r = f->r;
    const struct vc_grammar_vocab *v = f->v;
    uint32_t *path = r->path;
    uint64_t work = 0;
    while (i < end) {
        uint32_t level = v->level[i], c = vc_conf_next(r, path[level - 1], r->cls[v->byte[i]]);
        work++;
        if (c == GC_DEAD) {
            i = v->end[i];
            continue;
        }
        if (c == GC_NONE) return false;
        path[level] = c;
        if (covered(r, v, i, c)) {
            set_range(f, i, v->end[i]);
            work += (v->end[i] - i) / 8;
            i = v->end[i];
            continue;
        }
        if (v->tok[i] != VC_NO_TOKEN) set_tokens(f, i);
        i++;
    }
    f->work += work;
    return true;
}

/* All nodes, for a config that allows most tokens; bits is empty before. What is not allowed is taken away. */
static bool walk_away(struct fill *f, uint32_t conf) {
    struct vc_grammar *r = f->r;
    const struct vc_grammar_vocab *v = f->v;
    memcpy(f->bits, v->all, (size_t)v->words * sizeof *f->bits);
    r->path[0] = conf;
    for (uint32_t i = 1; i < v->n_nodes;) {
        uint32_t level = v->level[i], c = vc_conf_next(r, r->path[level - 1], r->cls[v->byte[i]]);
        f->work++;
        if (c == GC_NONE) return false;
        if (c == GC_DEAD) {
            for (uint32_t k = v->first[i]; k < v->first[v->end[i]]; k++)
                f->bits[v->order[k] / 32] &= ~(1u << v->order[k] % 32);
            f->work += (v->end[i] - i) / 8;
            i = v->end[i];
            continue;
        }
        r->path[level] = c;
        i = covered(r, v, i, c) ? v->end[i] : i + 1;
    }
    return true;
}

static bool walk_all(struct fill *f, uint32_t conf) {
    if (conf == GC_NONE) return false;
    if (!f->r->confs[conf].n) return true;
    f->r->path[0] = conf;
    return walk(f, 1, f->v->n_nodes);
}

/* Bytes that config c can take. */
static bool follow_of(struct vc_grammar *r, uint32_t c, uint64_t follow[4]) {
    memset(follow, 0, 4 * sizeof *follow);
    for (unsigned b = 0; b < 256; b++) {
        uint32_t to = vc_conf_next(r, c, r->cls[b]);
        if (to == GC_NONE) return false;
        if (to != GC_DEAD) follow[b / 64] |= 1ull << b % 64;
    }
    return true;
}

static struct vc_lexeme *lexeme_of(struct fill *f, uint32_t site, const uint64_t follow[4]) {
    struct vc_grammar *r = f->r;
    struct gsite *s = &r->lexemes[site];
    if (!s->lex || memcmp(s->follow, follow, sizeof s->follow)) {
        vc_err err = VC_ERR_INIT;
        const struct nsite *n = &r->g->nfa.sites[site];
        s->lex = vc_lexeme_get(f->v, r->g, n->node, n->max != VC_GRAM_INF || n->min > 1, follow, &err);
        memcpy(s->follow, follow, sizeof s->follow);
    }
    return s->lex && !s->lex->unusable ? s->lex : NULL;
}

static void add_row(struct fill *f, struct vc_lexeme *l, uint32_t rounds) {
    const uint32_t *row = vc_lexeme_row(f->v, l, rounds);
    if (row) {
        for (uint32_t w = 0; w < f->v->words; w++) f->bits[w] |= row[w];
        return;
    }
    for (uint32_t i = 0; i < l->upto[rounds]; i++) f->bits[l->order[i] / 32] |= 1u << l->order[i] % 32;
}

/* Can the loop be left at the candidate, from one of the frames that have `parent` below? */
static bool may_leave(const struct vc_grammar *r, const struct nsite *site, struct gset s, uint32_t parent,
                      const struct vc_cand *c) {
    for (uint32_t i = 0; i < s.n; i++) {
        const struct gframe f = r->frames[s.off + i];
        if (f.parent != parent) continue;
        uint64_t lo = (uint64_t)f.count + c->lo - 2, hi = (uint64_t)f.count + c->hi - 2;
        if (hi >= site->min && (site->max == VC_GRAM_INF || lo <= site->max)) return true;
    }
    return false;
}

/* Frames of an item in a loop that share what lies below: what stays in the loop, and what leaves it. */
static bool loop_parent(struct fill *f, uint32_t site_id, uint32_t set, uint32_t parent, bool *usable) {
    struct vc_grammar *r = f->r;
    const struct nsite site = r->g->nfa.sites[site_id];
    uint64_t follow[4];
    uint32_t out = vc_conf_closure(r, &(struct gitem){ site.exit_to, parent }, 1);
    if (out == GC_NONE || !follow_of(r, out, follow)) return false;
    struct vc_lexeme *l = lexeme_of(f, site_id, follow);
    *usable = l != NULL;
    if (!l) return true;
    const struct gset s = r->sets[set];
    uint32_t rounds = 0;
    for (uint32_t i = 0; i < s.n; i++) {
        const struct gframe x = r->frames[s.off + i];
        if (x.parent == parent) rounds = VC_MAX(rounds, site.max == VC_GRAM_INF ? UINT32_MAX : site.max - x.count);
    }
    add_row(f, l, rounds);
    for (size_t i = 0; i < l->n_cands; i++) {
        const struct vc_cand *c = &l->cands[i];
        f->work++;
        if (l->counted && !may_leave(r, &site, s, parent, c)) continue;
        uint32_t to = vc_conf_next(r, out, r->cls[f->v->byte[c->node]]);
        if (to == GC_NONE) return false;
        if (to == GC_DEAD) continue;
        r->path[f->v->level[c->node]] = to;
        set_tokens(f, c->node);
        if (!walk(f, c->node + 1, f->v->end[c->node])) return false;
    }
    return true;
}

static bool loop_item(struct fill *f, struct gitem it) {
    struct vc_grammar *r = f->r;
    uint32_t site = r->states[it.state].lex - 1;
    bool usable = true;
    const struct gset s = r->sets[it.set];
    for (uint32_t i = 0; i < s.n && usable; i++) {
        uint32_t parent = r->frames[s.off + i].parent;
        bool before = false;
        for (uint32_t k = 0; k < i && !before; k++) before = r->frames[s.off + k].parent == parent;
        if (!before && !loop_parent(f, site, it.set, parent, &usable)) return false;
    }
    return usable || walk_all(f, vc_conf_intern(r, &it, 1, false));
}

/* The config of the items outside loops. */
static uint32_t rest_of(struct vc_grammar *r, uint32_t conf) {
    if (r->confs[conf].rest != GC_NONE) return r->confs[conf].rest;
    struct gconf c = r->confs[conf];
    r->n_found = 0;
    if (!vc_gram_grow((void **)&r->found, c.n + 1u, &r->cap_found, sizeof *r->found)) return GC_NONE;
    for (uint32_t i = 0; i < c.n; i++) {
        struct gitem it = r->items[c.off + i];
        if (!r->states[it.state].lex) r->found[r->n_found++] = it;
    }
    uint32_t rest = r->n_found == c.n ? conf : vc_conf_intern(r, r->found, r->n_found, false);
    r->confs[conf].rest = rest;
    return rest;
}

/* Does the config allow most tokens: it, or what follows it on most bytes, stays what it is on most characters? */
static bool permissive(struct vc_grammar *r, uint32_t conf) {
    enum { MANY_GROUPS = 20, MANY_BYTES = 64 };
    uint32_t good = GC_NONE, bytes = 0;
    for (unsigned k = 0; k < r->n_cls; k++) {
        uint32_t to = vc_conf_next(r, conf, k);
        if (to == GC_NONE || to == GC_DEAD) continue;
        if (to != good) {
            unsigned groups = 0;
            for (uint64_t g = vc_conf_loops(r, to); g; g &= g - 1) groups++;
            if (groups < MANY_GROUPS) continue;
            good = to;
        }
        bytes += r->width[k];
    }
    return bytes >= MANY_BYTES;
}

static bool fill(struct fill *f, uint32_t conf) {
    uint32_t rest = rest_of(f->r, conf);
    if (rest == GC_NONE) return false;
    bool most = f->r->confs[rest].n && permissive(f->r, rest);
    if (!(most ? walk_away(f, rest) : walk_all(f, rest))) return false;
    for (uint32_t i = 0; i < f->r->confs[conf].n; i++) {
        struct gitem it = f->r->items[f->r->confs[conf].off + i];
        if (f->r->states[it.state].lex && !loop_item(f, it)) return false;
    }
    return true;
}

static void keep(struct vc_grammar *r, const struct vc_grammar_vocab *v, uint32_t conf, const uint32_t *bits) {
    uint64_t bytes = (uint64_t)v->words * sizeof *bits;
    while (r->queue_head < r->n_queue && r->row_bytes + bytes > r->budget / 4) {
        struct gconf *c = &r->confs[r->row_queue[r->queue_head++]];
        free(c->row);
        c->row = NULL;
        r->row_bytes -= bytes;
    }
    if (r->row_bytes + bytes > r->budget / 4) return;
    if (r->queue_head > 4096 && r->queue_head * 2 > r->n_queue) {
        r->n_queue -= r->queue_head;
        memmove(r->row_queue, r->row_queue + r->queue_head, r->n_queue * sizeof *r->row_queue);
        r->queue_head = 0;
    }
    if (!VC_GRAM_ROOM(r->row_queue, r->n_queue, r->cap_queue)) return;
    uint32_t *row = malloc(bytes);
    if (!row) return;
    memcpy(row, bits, bytes);
    r->confs[conf].row = row;
    r->row_queue[r->n_queue++] = conf;
    r->row_bytes += bytes;
}

static bool over_vocab(struct vc_grammar *r, const struct vc_grammar_vocab *v) {
    if (r->row_vocab != v) {
        vc_conf_drop_rows(r);
        for (size_t i = 0; i < r->n_confs; i++) r->confs[i].far = GC_NONE;
        for (size_t i = 0; i < r->n_sets; i++) r->sets[i].far = GC_NONE;
        if (r->lexemes) memset(r->lexemes, 0, (r->g->nfa.n_sites + 1) * sizeof *r->lexemes);
        r->row_vocab = v;
    }
    if (!r->lexemes) r->lexemes = calloc(r->g->nfa.n_sites + 1, sizeof *r->lexemes);
    return r->lexemes && vc_gram_grow((void **)&r->path, (size_t)v->depth + 2, &r->cap_path, sizeof *r->path);
}

vc_status vc_mask_fill(struct vc_grammar *r, struct vc_grammar_vocab *v, uint32_t conf, uint32_t *bits, vc_err *err) {
    r->masks++;
    if (!over_vocab(r, v)) return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    conf = vc_conf_far(r, conf, v->depth);
    if (conf == GC_NONE) return ran_out(r, err);
    if (r->confs[conf].row) {
        r->mask_hits++;
        memcpy(bits, r->confs[conf].row, (size_t)v->words * sizeof *bits);
        return VC_OK;
    }
    struct fill f = { .r = r, .v = v, .bits = bits };
    memset(bits, 0, (size_t)v->words * sizeof *bits);
    bool ok = fill(&f, conf);
    r->walked += f.work;
    if (!ok) return ran_out(r, err);
    if (f.work > KEEP_WORK) keep(r, v, conf, bits);
    return VC_OK;
}

/* Masks of the configs that are met first, up to a limit of work: those that cost much are kept. */
static vc_status prepare_rows(struct vc_grammar *r, struct vc_grammar_vocab *v, vc_err *err) {
    const uint64_t end = r->walked + PREPARE_WORK;
    uint32_t *bits = malloc(((size_t)v->words + 1) * sizeof *bits);
    if (!bits) return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    vc_status s = VC_OK;
    for (uint32_t c = 1, n = (uint32_t)r->n_confs; s == VC_OK && c < n && c < PREPARED && r->walked < end; c++) {
        s = vc_mask_fill(r, v, c, bits, err);
    }
    free(bits);
    r->masks = r->mask_hits = 0;
    return s;
}

/* Analyses the loops of the configs that are met first. */
vc_status vc_mask_prepare(struct vc_grammar *r, struct vc_grammar_vocab *v, vc_err *err) {
    if (!over_vocab(r, v)) return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    struct fill f = { .r = r, .v = v };
    for (uint32_t c = 1; c < r->n_confs && c < PREPARED; c++) {
        for (unsigned k = 0; k < r->n_cls; k++) {
            if (vc_conf_next(r, c, k) == GC_NONE) return ran_out(r, err);
        }
        for (uint32_t i = 0; i < r->confs[c].n; i++) {
            const struct gitem it = r->items[r->confs[c].off + i];
            if (!r->states[it.state].lex) continue;
            uint64_t follow[4];
            uint32_t site = r->states[it.state].lex - 1, parent = r->frames[r->sets[it.set].off].parent;
            uint32_t out = vc_conf_closure(r, &(struct gitem){ r->g->nfa.sites[site].exit_to, parent }, 1);
            if (out == GC_NONE || !follow_of(r, out, follow)) return ran_out(r, err);
            lexeme_of(&f, site, follow);
        }
    }
    return prepare_rows(r, v, err);
}
