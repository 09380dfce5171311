/* SPDX-License-Identifier: Apache-2.0
 * Loops over a vocabulary, analysed once whatever grammar they stand in. The loop runs alone with its rounds counted;
 * at each node of the trie this gives how many more rounds a token needs (tokens that stay in the loop), and where
 * the loop may be left by a byte that follows it there (candidates, which a mask then walks on from what really
 * follows). Rounds are counted from a place just inside a round, the body's first state: with count m there, m - 1
 * are complete. Where every round ends in the config that the loop begins in, and only there, rounds are counted
 * along the trie by the walk itself; else counts are part of the configs (`exact`). */
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"

enum { MAX_ROWS_KEPT = 64, MAX_CANDS = 32768 };

struct info { uint16_t need, lo, hi; bool known, exit, bad; };
struct look {
    struct vc_grammar_vocab *v;
    struct vc_lexeme *l;
    struct vc_grammar *r;
    uint32_t body;              /* first state of the body */
    uint32_t *conf;             /* config per level */
    uint16_t *rounds, *leads;   /* complete rounds per level, unless exact; bytes that begin a character */
    bool exact, unclear;        /* unclear: a config is at a border of rounds and inside one */
    struct info *infos;         /* per config */
    size_t n_infos, cap_infos;
    uint16_t *need;             /* per token; UINT16_MAX: leaves the loop or is not allowed */
};

static const struct info *info_of(struct look *k, uint32_t conf) {
    if (conf >= k->n_infos) {
        size_t before = k->n_infos;
        if (!vc_gram_grow((void **)&k->infos, k->r->n_confs, &k->cap_infos, sizeof *k->infos)) return NULL;
        k->n_infos = k->r->n_confs;
        memset(k->infos + before, 0, (k->n_infos - before) * sizeof *k->infos);
    }
    struct info *x = &k->infos[conf];
    if (x->known) return x;
    uint32_t need = UINT16_MAX, lo = UINT32_MAX, hi = 0, exits = 0;
    const struct gconf *c = &k->r->confs[conf];
    for (uint32_t i = 0; i < c->n; i++) {
        const struct gitem it = k->r->items[c->off + i];
        const struct gset s = k->r->sets[it.set];
        for (uint32_t f = 0; f < s.n; f++) {
            uint32_t m = k->exact ? k->r->frames[s.off + f].count : 2;
            bool at_exit = it.state == k->body && m >= 2;
            need = VC_MIN(need, at_exit ? m - 2 : m - 1);
            if (it.state != k->body) continue;
            lo = VC_MIN(lo, m);
            hi = VC_MAX(hi, m);
            exits++;
        }
    }
    *x = (struct info){ .need = (uint16_t)need, .known = true };
    if (exits && !k->exact && conf != k->r->initial) k->unclear = true;
    if (exits) {
        x->exit = true;
        x->bad = hi - lo + 1 != exits;
        x->lo = (uint16_t)lo;
        x->hi = (uint16_t)hi;
    }
    return x;
}

static bool candidate(struct look *k, uint32_t node, uint32_t parent) {
    const struct info *x = info_of(k, parent);
    if (!x) return false;
    if (!x->exit) return true;
    if (x->bad || k->l->n_cands >= MAX_CANDS) k->l->unusable = true;
    if (!VC_GRAM_ROOM(k->l->cands, k->l->n_cands, k->l->cap_cands)) return false;
    const uint16_t m = (uint16_t)(k->rounds[k->v->level[node] - 1] + 1);
    k->l->cands[k->l->n_cands++] = k->exact ? (struct vc_cand){ node, x->lo, x->hi } : (struct vc_cand){ node, m, m };
    return true;
}

static bool walk(struct look *k) {
    const struct vc_grammar_vocab *v = k->v;
    uint64_t follow = 0;
    for (unsigned b = 0; b < 256; b++) follow |= k->l->follow[b / 64] >> b % 64 & 1 ? vc_byte_group(b) : 0;
    const bool counted = k->l->counted;
    k->conf[0] = k->r->initial;
    k->rounds[0] = k->leads[0] = 0;
    for (uint32_t i = 1; i < v->n_nodes && !k->l->unusable;) {
        uint8_t b = v->byte[i];
        uint32_t level = v->level[i], parent = k->conf[level - 1];
        if (level > 1 && k->l->follow[b / 64] >> b % 64 & 1 && !candidate(k, i, parent)) return false;
        uint32_t c = vc_conf_next(k->r, parent, k->r->cls[b]);
        if (c == GC_NONE) return false;
        if (c == GC_DEAD || !k->r->confs[c].n) {
            /* A candidate below is one of the node's own: its subtree is walked by the mask. */
            i = v->end[i];
            continue;
        }
        k->conf[level] = c;
        k->rounds[level] = (uint16_t)(k->rounds[level - 1] + (c == k->r->initial));
        k->leads[level] = (uint16_t)(k->leads[level - 1] + ((b & 0xC0) != 0x80));
        /* A subtree that stays in the loop and has no place to leave it is taken as a whole; each of its characters
         * is a round. */
        if (v->end[i] - i > 16 && !(v->cover[i] & (follow | GC_BROKEN)) &&
            (!counted || (!k->exact && c == k->r->initial)) && !(v->cover[i] & ~vc_conf_loops(k->r, c))) {
            uint32_t base =
                (uint32_t)k->rounds[level] + UINT16_MAX - k->leads[level]; /* rounds - leads - 1, modulo 2^16 */
            for (uint32_t t = v->first[i]; t < v->first[v->end[i]]; t++)
                k->need[v->order[t]] = counted ? (uint16_t)(base + v->leads[t]) : 0;
            i = v->end[i];
            continue;
        }
        if (v->tok[i] != VC_NO_TOKEN) {
            const struct info *x = info_of(k, c);
            if (!x) return false;
            uint16_t need = x->need;
            if (!k->exact && counted) need = (uint16_t)(k->rounds[level] - (c == k->r->initial));
            if (!counted) need = 0;
            for (uint32_t t = v->tok[i]; t != VC_NO_TOKEN; t = v->same[t]) k->need[t] = need;
        }
        i++;
    }
    return true;
}

static bool order(struct look *k) {
    struct vc_lexeme *l = k->l;
    uint32_t n = k->v->size, m = 0;
    l->full = calloc((size_t)k->v->words + 1, sizeof *l->full);
    if (!l->full) return false;
    for (uint32_t t = 0; t < n; t++) {
        if (k->need[t] == UINT16_MAX) continue;
        l->max_need = VC_MAX(l->max_need, k->need[t]);
        l->full[t / 32] |= 1u << t % 32;
        m++;
    }
    l->upto = calloc((size_t)l->max_need + 2, sizeof *l->upto);
    l->order = malloc(((size_t)m + 1) * sizeof *l->order);
    l->rows = calloc((size_t)l->max_need + 1, sizeof *l->rows);
    if (!l->upto || !l->order || !l->rows) return false;
    for (uint32_t t = 0; t < n; t++) {
        if (k->need[t] != UINT16_MAX) l->upto[k->need[t] + 1]++;
    }
    for (uint32_t r = 1; r <= l->max_need + 1; r++) l->upto[r] += l->upto[r - 1];
    for (uint32_t t = 0; t < n; t++) {
        if (k->need[t] != UINT16_MAX) l->order[l->upto[k->need[t]]++] = t;
    }
    return true;        /* upto[r] is now the number of tokens that need at most r */
}

static void lexeme_free(struct vc_lexeme *l) {
    if (!l) return;
    for (uint32_t r = 0; l->rows && r <= l->max_need; r++) free(l->rows[r]);
    free(l->canon);
    free(l->full);
    free(l->order);
    free(l->upto);
    free(l->rows);
    free(l->cands);
    free(l);
}

void vc_lexeme_free_all(struct vc_grammar_vocab *v) {
    while (v->lexemes) {
        struct vc_lexeme *l = v->lexemes;
        v->lexemes = l->chain;
        lexeme_free(l);
    }
}

/* The loop as a grammar of its own. */
static vc_status alone(struct vc_grammar *r, struct vc_gram *g, vc_gram_node body, bool counted, vc_err *err) {
    struct vc_gram_limits lim = { .states = 65536, .time_ms = 60000, .memory_bytes = 64u << 20 };
    VC_TRY(vc_gram_new(&r->g, &lim, err));
    VC_TRY(vc_gram_compile(r->g, vc_gram_exact_loop(r->g, vc_gram_copy(r->g, g, body), counted), err));
    return vc_conf_init(r, err);
}

/* The parts of look that depend on the engine. */
static void look_free(struct look *k) {
    free(k->conf);
    free(k->rounds);
    free(k->leads);
    free(k->need);
    free(k->infos);
    if (k->r) {
        vc_conf_free(k->r);
        vc_gram_del(k->r->g);
        free(k->r);
    }
    *k = (struct look){ .v = k->v, .l = k->l };
}

static bool analysed(struct look *k) {
    for (size_t i = 0; i < k->r->g->nfa.n_sites; i++) {
        if (k->r->g->nfa.sites[i].flags & NS_EXACT) k->body = k->r->g->nfa.sites[i].body;
    }
    k->conf = malloc(((size_t)k->v->depth + 2) * sizeof *k->conf);
    k->need = malloc(((size_t)k->v->size + 1) * sizeof *k->need);
    k->rounds = malloc(((size_t)k->v->depth + 2) * sizeof *k->rounds);
    k->leads = malloc(((size_t)k->v->depth + 2) * sizeof *k->leads);
    if (!k->conf || !k->need || !k->rounds || !k->leads) return false;
    memset(k->need, 0xFF, ((size_t)k->v->size + 1) * sizeof *k->need);
    if (!walk(k)) {
        k->l->unusable = true;         /* its own budgets: walk it in its place then */
        return true;
    }
    return k->unclear && k->l->counted ? true : order(k);
}

/* One engine over the trie; false: memory. */
static bool look(struct look *k, struct vc_gram *g, vc_gram_node body, bool exact) {
    vc_err err = VC_ERR_INIT;
    k->exact = exact;
    k->r = calloc(1, sizeof *k->r);
    if (!k->r) return false;
    if (alone(k->r, g, body, exact, &err) == VC_OK) return analysed(k);
    k->l->unusable = true;
    return true;
}

static struct vc_lexeme *make(struct vc_grammar_vocab *v, struct vc_gram *g, vc_gram_node body, bool counted,
                              const uint64_t follow[4], struct vc_buf *canon) {
    struct vc_lexeme *l = calloc(1, sizeof *l);
    struct look k = { .v = v, .l = l };
    bool ok = l != NULL;
    if (ok) {
        memcpy(l->follow, follow, sizeof l->follow);
        l->counted = counted;
        ok = look(&k, g, body, false);
        if (ok && counted && k.unclear && !l->unusable) {
            look_free(&k);
            l->n_cands = 0;
            ok = look(&k, g, body, true);
        }
        l->canon = vc_buf_take(canon, &l->n_canon);
        ok = ok && l->canon;
    }
    look_free(&k);
    if (ok) return l;
    lexeme_free(l);
    return NULL;
}

struct vc_lexeme *vc_lexeme_get(struct vc_grammar_vocab *v, struct vc_gram *g, vc_gram_node body, bool counted,
                                const uint64_t follow[4], vc_err *err) {
    struct vc_buf canon = { 0 };
    struct vc_lexeme *l = NULL;
    if (!vc_gram_canon(g, body, &canon)) {
        vc_buf_free(&canon);
        vc_fail(err, VC_E_UNSUPPORTED, "grammar: a loop too large to be analysed");
        return NULL;
    }
    pthread_mutex_lock(&v->lock);
    for (l = v->lexemes; l; l = l->chain) {
        if (l->counted == counted && l->n_canon == canon.n && !memcmp(l->follow, follow, sizeof l->follow) &&
            !memcmp(l->canon, canon.p, canon.n))
            break;
    }
    if (!l && v->lexeme_bytes < 256u << 20) {
        l = make(v, g, body, counted, follow, &canon);
        if (l) {
            l->chain = v->lexemes;
            v->lexemes = l;
            v->n_lexemes++;
            v->lexeme_bytes += (uint64_t)v->words * 4 + (l->upto ? l->upto[l->max_need] : 0) * sizeof *l->order +
                               l->cap_cands * sizeof *l->cands + l->n_canon;
        }
    }
    pthread_mutex_unlock(&v->lock);
    vc_buf_free(&canon);
    if (!l) vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    return l;
}

const uint32_t *vc_lexeme_row(struct vc_grammar_vocab *v, struct vc_lexeme *l, uint32_t rounds) {
    if (rounds >= l->max_need) return l->full;
    if (rounds >= MAX_ROWS_KEPT) return NULL;
    pthread_mutex_lock(&v->lock);
    uint32_t *row = l->rows[rounds];
    if (!row) {
        row = calloc((size_t)v->words + 1, sizeof *row);
        for (uint32_t i = 0; row && i < l->upto[rounds]; i++) row[l->order[i] / 32] |= 1u << l->order[i] % 32;
        l->rows[rounds] = row;
        v->lexeme_bytes += row ? (uint64_t)v->words * 4 : 0;
    }
    pthread_mutex_unlock(&v->lock);
    return row;
}
