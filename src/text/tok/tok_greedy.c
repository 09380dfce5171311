/* SPDX-License-Identifier: Apache-2.0
 * tok_greedy.c: longest piece first, from the left: WordPiece (Schuster, Nakajima 2012; models/wordpiece of the tokenizers
 * crate, llm_tokenizer_wpm of llama.cpp), where a word that cannot be covered is unknown as a whole, and RWKV's tokenizer,
 * which runs over the bytes of the text. */
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

/* Length of the longest piece at p[0 … n), 0: none. */
static size_t longest(const struct vc_trie *t, const char *p, size_t n, int32_t *id) {
    size_t len = 0;
    uint32_t node = t->first[(unsigned char)p[0]];
    for (size_t i = 1; node; i++) {
        if (t->value[node] >= 0) {
            len = i;
            *id = t->value[node];
        }
        if (i >= n) break;
        node = vc_trie_step(t, node, (unsigned char)p[i]);
    }
    return len;
}

static bool too_long(const char *w, size_t n, uint32_t most) {
    size_t chars = 0;
    if (n <= most) return false;
    for (size_t i = 0; i < n && chars <= most; i++) chars += !vc_chr_tail(w[i]);
    return chars > most;
}

vc_status vc_tok_wordpiece_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n, vc_err *err) {
    const struct vc_tok_greedy *g = &t->greedy;
    size_t lead = g->lead.n, m = n + lead, i = 0;
    const char *p = w;
    bool covered = !too_long(w, n, g->max_chars);
    if (covered && lead) {
        if (!vc_tok_grow(s, &s->word, &s->cap_word, m, 1)) return VC_OK;
        memcpy(s->word, g->lead.p, lead);
        memcpy(s->word + lead, w, n);
        p = s->word;
    }
    while (covered && i < m) {
        int32_t id = -1;
        size_t len = longest(i == 0 || g->one_trie ? &g->start : &g->rest, p + i, m - i, &id);
        size_t a = i > lead ? i - lead : 0, b = i + len > lead ? i + len - lead : 0;
        covered = len > 0;
        if (covered) vc_tok_push_sym(s, id, a, b - a);
        i += len;
    }
    if (covered) return VC_OK;
    s->num_sym = 0;
    if (t->bpe.unk < 0) return vc_fail(err, VC_E_INVALID, "%s: a word is not in the vocabulary, which has no unknown token", t->name);
    vc_tok_push_sym(s, t->bpe.unk, 0, n);
    return VC_OK;
}

/* Every byte is a token (checked when the vocabulary was loaded), so each step takes at least one. */
void vc_tok_greedy_text(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n) {
    for (size_t i = 0, len; i < n; i += len) {
        int32_t id = -1;
        len = longest(&t->greedy.start, w + i, n - i, &id);
        if (!len || !vc_tok_push_sym(s, id, i, len)) return;
    }
}
