/* SPDX-License-Identifier: Apache-2.0
 * The vocabulary: bytes of every id, and a trie of them in preorder, so that a walk is a loop and a dead end a jump. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"
#include "text/tokenizer.h"

struct entry { const char *p; uint32_t n, id; };

static int by_bytes(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int c = memcmp(x->p, y->p, VC_MIN(x->n, y->n));
    if (c) return c;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Nodes of the trie of sorted entries; with arrays NULL only counts them. open[level]: node that is open there. */
static void nodes(struct vc_grammar_vocab *v, const struct entry *e, size_t n, uint32_t *open) {
    uint32_t at = 1, depth = 0;
    bool fill = v->byte != NULL;
    if (fill) {
        v->tok[0] = VC_NO_TOKEN;
        open[0] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t k = 0;
        if (i) {
            uint32_t m = VC_MIN(e[i - 1].n, e[i].n);
            while (k < m && e[i].p[k] == e[i - 1].p[k]) k++;
        }
        if (fill) {
            for (; depth > k; depth--) v->end[open[depth]] = at;
            for (; k < e[i].n; k++, at++) {
                v->byte[at] = (uint8_t)e[i].p[k];
                v->level[at] = (uint16_t)(k + 1);
                v->tok[at] = VC_NO_TOKEN;
                open[++depth] = at;
            }
            v->same[e[i].id] = v->tok[open[depth]];
            v->tok[open[depth]] = e[i].id;
        } else {
            at += e[i].n - k;
        }
    }
    if (fill) {
        for (; depth > 0; depth--) v->end[open[depth]] = at;
        v->end[0] = at;
    }
    v->n_nodes = at;
}

/* How a byte continues UTF-8: state 0 is between characters, 9 broken; the rest are what is expected next. */
static uint8_t utf8_next(uint8_t state, unsigned b) {
    static const uint8_t lo[9] = { 0, 0x80, 0x80, 0x80, 0xA0, 0x80, 0x90, 0x80, 0 },
                         hi[9] = { 0, 0xBF, 0xBF, 0xBF, 0xBF, 0x9F, 0xBF, 0x8F, 0 };
    static const uint8_t to[9] = { 0, 0, 1, 2, 1, 1, 2, 2, 0 };
    if (state == 9) return 9;
    if (state) return b >= lo[state] && b <= hi[state] ? to[state] : 9;
    if (b < 0x80) return 0;
    if (b < 0xC2 || b > 0xF4) return 9;
    if (b < 0xE0) return 1;
    if (b < 0xF0) return b == 0xE0 ? 4 : b == 0xED ? 5 : 2;
    return b == 0xF0 ? 6 : b == 0xF4 ? 7 : 3;
}

/* What lies below each node, and the tokens in order. broken: some text below is not UTF-8 when read from the node
 * on, which is so for most nodes in the middle of a character. */
static bool covers(struct vc_grammar_vocab *v) {
    uint32_t *up = malloc(((size_t)v->depth + 2) * sizeof *up), at = 0;
    v->cover = calloc(v->n_nodes, sizeof *v->cover);
    v->first = malloc(((size_t)v->n_nodes + 1) * sizeof *v->first);
    v->order = malloc(((size_t)v->size + 1) * sizeof *v->order);
    v->leads = malloc(((size_t)v->size + 1) * sizeof *v->leads);
    v->all = calloc((size_t)v->words + 1, sizeof *v->all);
    bool ok = up && v->cover && v->first && v->order && v->leads && v->all;
    for (uint32_t i = 0; ok && i < v->n_nodes; i++) {
        v->first[i] = at;
        for (uint32_t t = v->tok[i]; t != VC_NO_TOKEN; t = v->same[t]) {
            v->leads[at] = 0;
            for (uint32_t k = v->off[t]; k < v->off[t + 1]; k++)
                v->leads[at] = (uint16_t)(v->leads[at] + ((v->blob[k] & 0xC0) != 0x80));
            v->order[at++] = t;
            v->all[t / 32] |= 1u << t % 32;
        }
        up[v->level[i]] = i;
        for (uint32_t k = 0; i && k < v->level[i]; k++) v->cover[up[k]] |= vc_byte_group(v->byte[i]);
        /* From each node above, the bytes down to here as UTF-8. */
        for (uint32_t k = 0; i && k < v->level[i]; k++) {
            if (v->cover[up[k]] & GC_BROKEN) continue;
            uint8_t s = 0;
            for (uint32_t j = k + 1; j <= v->level[i]; j++) s = utf8_next(s, v->byte[up[j]]);
            if (s == 9) v->cover[up[k]] |= GC_BROKEN;
        }
    }
    if (ok) v->first[v->n_nodes] = at;
    free(up);
    return ok;
}

static bool trie(struct vc_grammar_vocab *v, struct entry *e, size_t n) {
    qsort(e, n, sizeof *e, by_bytes);
    v->same = malloc(((size_t)v->size + 1) * sizeof *v->same);
    uint32_t *open = malloc(((size_t)v->depth + 2) * sizeof *open);
    bool ok = v->same && open;
    if (ok) {
        for (uint32_t i = 0; i < v->size; i++) v->same[i] = VC_NO_TOKEN;
        nodes(v, e, n, open);
        v->level = calloc(v->n_nodes, sizeof *v->level);
        v->end = calloc(v->n_nodes, sizeof *v->end);
        v->tok = calloc(v->n_nodes, sizeof *v->tok);
        v->byte = calloc(v->n_nodes, 1);
        ok = v->level && v->end && v->tok && v->byte;
    }
    if (ok) nodes(v, e, n, open);
    free(open);
    return ok && covers(v);
}

void vc_grammar_vocab_del(struct vc_grammar_vocab *v) {
    if (!v) return;
    vc_lexeme_free_all(v);
    pthread_mutex_destroy(&v->lock);
    free(v->blob);
    free(v->off);
    free(v->byte);
    free(v->level);
    free(v->end);
    free(v->tok);
    free(v->same);
    free(v->cover);
    free(v->first);
    free(v->order);
    free(v->leads);
    free(v->all);
    free(v->eos);
    free(v);
}

static bool fill(struct vc_grammar_vocab *v, const char *const *bytes, const uint32_t *len, const int32_t *eos,
                 size_t n_eos) {
    size_t total = 0, m = 0;
    for (uint32_t i = 0; i < v->size; i++) total += len[i];
    if (total > UINT32_MAX / 2) return false;
    v->blob = malloc(total + 1);
    v->off = calloc((size_t)v->size + 1, sizeof *v->off);
    v->eos = malloc((n_eos + 1) * sizeof *v->eos);
    struct entry *e = malloc(((size_t)v->size + 1) * sizeof *e);
    bool ok = v->blob && v->off && v->eos && e;
    for (uint32_t i = 0; ok && i < v->size; i++) {
        v->off[i + 1] = v->off[i] + len[i];
        if (!len[i]) continue;
        memcpy(v->blob + v->off[i], bytes[i], len[i]);
        if (len[i] >= UINT16_MAX) continue;      /* no text is that sure of itself */
        e[m++] = (struct entry){ v->blob + v->off[i], len[i], i };
        v->depth = VC_MAX(v->depth, len[i]);
    }
    for (size_t i = 0; ok && i < n_eos; i++) {
        if (eos[i] >= 0 && (uint32_t)eos[i] < v->size) v->eos[v->n_eos++] = eos[i];
    }
    ok = ok && trie(v, e, m);
    free(e);
    return ok;
}

vc_status vc_grammar_vocab_new(struct vc_grammar_vocab **out, const char *const *bytes, const uint32_t *len, uint32_t n,
                               const int32_t *eos, size_t n_eos, vc_err *err) {
    *out = NULL;
    struct vc_grammar_vocab *v = calloc(1, sizeof *v);
    if (!v || pthread_mutex_init(&v->lock, NULL)) {
        free(v);
        return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    }
    v->size = n;
    v->words = n / 32 + (n % 32 != 0);
    if (!fill(v, bytes, len, eos, n_eos)) {
        vc_grammar_vocab_del(v);
        return vc_fail(err, VC_E_NOMEM, "grammar: out of memory for a vocabulary of %u tokens", n);
    }
    *out = v;
    return VC_OK;
}

vc_status vc_grammar_tokens(struct vc_grammar_vocab **out, const struct vc_tokenizer *t, const int32_t *eos,
                            size_t n_eos, vc_err *err) {
    *out = NULL;
    uint32_t n = vc_tok_size(t);
    struct vc_buf b = { 0 };
    size_t *at = calloc((size_t)n + 1, sizeof *at);
    uint32_t *len = calloc((size_t)n + 1, sizeof *len);
    const char **bytes = calloc((size_t)n + 1, sizeof *bytes);
    vc_status s = at && len && bytes ? VC_OK : vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    for (uint32_t i = 0; s == VC_OK && i < n; i++) {
        at[i] = b.n;
        bool end = false;
        for (size_t k = 0; k < n_eos; k++) end |= eos[k] == (int32_t)i;
        if (end || vc_tok_is_special(t, (int32_t)i) || !vc_tok_text(t, (int32_t)i).n) continue;
        s = vc_tok_piece(t, (int32_t)i, &b, err);
        len[i] = (uint32_t)(b.n - at[i]);
    }
    if (s == VC_OK && b.failed) s = vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    for (uint32_t i = 0; s == VC_OK && i < n; i++) bytes[i] = b.p ? b.p + at[i] : "";
    if (s == VC_OK) s = vc_grammar_vocab_new(out, bytes, len, n, eos, n_eos, err);
    vc_buf_free(&b);
    free(at);
    free(len);
    free(bytes);
    return s;
}

uint32_t vc_grammar_vocab_size(const struct vc_grammar_vocab *v) { return v->size; }
size_t vc_grammar_mask_words(const struct vc_grammar_vocab *v) { return v->words; }
