/* SPDX-License-Identifier: Apache-2.0
 * Matchers: a list of configs, one after each step. Each public function holds the grammar's lock while it runs. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"

enum { HISTORY = 2048, KEPT = 1024 };

static void enter(const struct vc_matcher *m) {
    pthread_mutex_lock(m->g->lock);
    m->g->failed = NULL;
    vc_conf_collect(m->g);
    m->g->failed = NULL;
}
static void leave(const struct vc_matcher *m) { pthread_mutex_unlock(m->g->lock); }
static uint32_t now(const struct vc_matcher *m) { return m->hist[m->n - 1]; }

static bool step(struct vc_matcher *m, uint32_t conf) {
    if (m->n >= HISTORY) {
        memmove(m->hist, m->hist + m->n - KEPT - 1, (KEPT + 1) * sizeof *m->hist);
        m->n = KEPT + 1;
    }
    if (!VC_GRAM_ROOM(m->hist, m->n, m->cap)) return false;
    m->hist[m->n++] = conf;
    return true;
}

static vc_status attach(struct vc_matcher **out, const struct vc_matcher *from, struct vc_grammar *g,
                        struct vc_grammar_vocab *v, vc_err *err) {
    *out = NULL;
    struct vc_matcher *m = calloc(1, sizeof *m);
    if (!m || !vc_gram_grow((void **)&m->hist, from ? from->n : 16, &m->cap, sizeof *m->hist)) {
        free(m);
        return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    }
    m->g = g;
    m->v = v;
    pthread_mutex_lock(g->lock);
    m->n = 1;
    m->hist[0] = g->initial;
    if (from) {
        m->n = from->n;
        m->ended = from->ended;
        memcpy(m->hist, from->hist, from->n * sizeof *m->hist);
    }
    g->refs++;
    m->next = g->matchers;
    if (m->next) m->next->prev = m;
    g->matchers = m;
    pthread_mutex_unlock(g->lock);
    *out = m;
    return VC_OK;
}

vc_status vc_matcher_new(struct vc_matcher **out, struct vc_grammar *g, struct vc_grammar_vocab *v, vc_err *err) {
    return attach(out, NULL, g, v, err);
}

vc_status vc_matcher_clone(struct vc_matcher **out, const struct vc_matcher *m, vc_err *err) {
    return attach(out, m, m->g, m->v, err);
}

void vc_matcher_del(struct vc_matcher *m) {
    if (!m) return;
    pthread_mutex_lock(m->g->lock);
    if (m->prev) m->prev->next = m->next;
    else m->g->matchers = m->next;
    if (m->next) m->next->prev = m->prev;
    pthread_mutex_unlock(m->g->lock);
    vc_grammar_unref(m->g);
    free(m->hist);
    free(m);
}

void vc_matcher_reset(struct vc_matcher *m) {
    enter(m);
    m->n = 1;
    m->hist[0] = m->g->initial;
    m->ended = false;
    leave(m);
}

/* Config after the bytes; *taken: how many of them could be. */
static uint32_t run(struct vc_grammar *r, uint32_t conf, const char *p, size_t n, size_t *taken) {
    size_t i = 0;
    for (; i < n; i++) {
        uint32_t to = vc_conf_next(r, conf, r->cls[(unsigned char)p[i]]);
        if (to == GC_DEAD || to == GC_NONE) break;
        conf = to;
    }
    *taken = i;
    return conf;
}

bool vc_matcher_accept_bytes(struct vc_matcher *m, const char *p, size_t n) {
    if (m->ended) return false;
    enter(m);
    size_t taken;
    uint32_t c = run(m->g, now(m), p, n, &taken);
    bool ok = taken == n && step(m, c);
    leave(m);
    return ok;
}

bool vc_matcher_accept_token(struct vc_matcher *m, int32_t id) {
    const struct vc_grammar_vocab *v = m->v;
    if (m->ended || !v || id < 0 || (uint32_t)id >= v->size) return false;
    for (size_t i = 0; i < v->n_eos; i++) {
        if (v->eos[i] != id) continue;
        enter(m);
        bool ok = m->g->confs[now(m)].accepting && step(m, now(m));
        m->ended = ok;
        leave(m);
        return ok;
    }
    uint32_t n = v->off[id + 1] - v->off[id];
    return n && n < UINT16_MAX && vc_matcher_accept_bytes(m, v->blob + v->off[id], n);
}

size_t vc_matcher_prefix(struct vc_matcher *m, const char *p, size_t n) {
    if (m->ended) return 0;
    enter(m);
    size_t taken;
    run(m->g, now(m), p, n, &taken);
    leave(m);
    return taken;
}

bool vc_matcher_rollback(struct vc_matcher *m, size_t n) {
    if (n >= m->n) return n == 0;
    enter(m);
    m->n -= n;
    if (n) m->ended = false;
    leave(m);
    return true;
}

bool vc_matcher_accepting(const struct vc_matcher *m) {
    enter(m);
    bool a = m->g->confs[now(m)].accepting;
    leave(m);
    return a;
}

bool vc_matcher_done(const struct vc_matcher *m) {
    if (m->ended) return true;
    enter(m);
    bool end = m->g->confs[now(m)].n == 0;
    leave(m);
    return end;
}

vc_status vc_matcher_mask(struct vc_matcher *m, uint32_t *bits, vc_err *err) {
    if (!m->v) return vc_fail(err, VC_E_STATE, "grammar: the matcher has no vocabulary");
    if (m->ended) {
        memset(bits, 0, (size_t)m->v->words * sizeof *bits);
        return VC_OK;
    }
    enter(m);
    vc_status s = vc_mask_fill(m->g, m->v, now(m), bits, err);
    bool accepting = m->g->confs[now(m)].accepting;
    leave(m);
    for (size_t i = 0; s == VC_OK && i < m->v->n_eos; i++) {
        uint32_t id = (uint32_t)m->v->eos[i];
        if (accepting) bits[id / 32] |= 1u << id % 32;
        else bits[id / 32] &= ~(1u << id % 32);
    }
    return s;
}

size_t vc_matcher_forced(struct vc_matcher *m, char *dst, size_t cap) {
    if (m->ended) return 0;
    enter(m);
    struct vc_grammar *r = m->g;
    size_t n = 0;
    for (uint32_t c = now(m); n < cap && !r->confs[c].accepting; n++) {
        uint32_t only = GC_DEAD, ways = 0;
        uint8_t b = 0;
        for (unsigned k = 0; k < r->n_cls && ways < 2; k++) {
            uint32_t to = vc_conf_next(r, c, k);
            if (to == GC_DEAD) continue;
            ways += to == GC_NONE ? 2 : r->width[k];
            only = to;
            b = r->rep[k];
        }
        if (ways != 1) break;
        dst[n] = (char)b;
        c = only;
    }
    leave(m);
    return n;
}

vc_status vc_matcher_forced_token(struct vc_matcher *m, int32_t *id, vc_err *err) {
    *id = -1;
    if (!m->v) return vc_fail(err, VC_E_STATE, "grammar: the matcher has no vocabulary");
    uint32_t *bits = malloc(((size_t)m->v->words + 1) * sizeof *bits);
    if (!bits) return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    vc_status s = vc_matcher_mask(m, bits, err);
    bool one = false;
    for (uint32_t w = 0; s == VC_OK && w < m->v->words; w++) {
        if (!bits[w]) continue;
        if (one || bits[w] & (bits[w] - 1)) {
            *id = -1;
            break;
        }
        one = true;
        uint32_t k = 0;
        while (!(bits[w] >> k & 1)) k++;
        *id = (int32_t)(w * 32 + k);
    }
    free(bits);
    return s;
}
