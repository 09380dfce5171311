/* SPDX-License-Identifier: Apache-2.0
 * tok_unigram.c: unigram language models: the segmentation of highest total score, found from left to right as
 * SentencePiece's EncodeOptimized and the tokenizers crate's encode_optimized do it (of equal scores the piece that
 * begins first stays), and PLaMo-2's, found from right to left on integer costs (llama.cpp's llm_tokenizer_plamo2). */
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

static void offer(const struct vc_tok_unigram *u, struct vc_tok_best *to, int32_t id, double score, uint32_t from) {
    if (u->f32) score = (double)(float)score;
    if (to->from == UINT32_MAX || score > to->score) *to = (struct vc_tok_best){ score, id, from };
}

static bool find_path(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n) {
    const struct vc_tok_unigram *u = &t->uni;
    if (!vc_tok_grow(s, &s->best, &s->cap_best, n + 1, sizeof *s->best)) return false;
    struct vc_tok_best *best = s->best;
    for (size_t i = 0; i <= n; i++) best[i] = (struct vc_tok_best){ 0, -1, UINT32_MAX };
    for (size_t i = 0, k; i < n; i += k) {
        double here = best[i].score;
        bool single = false;
        k = vc_chr_len(w[i]);
        uint32_t node = u->trie.first[(unsigned char)w[i]];
        for (size_t j = i + 1; node; j++) {
            int32_t id = u->trie.value[node];
            if (id >= 0) {
                offer(u, &best[j], id, u->score[id] + here, (uint32_t)i);
                single |= j - i == k;
            }
            if (j >= n) break;
            node = vc_trie_step(&u->trie, node, (unsigned char)w[j]);
        }
        if (!single) offer(u, &best[i + k], t->bpe.unk, u->unk_score + here, (uint32_t)i);
    }
    return true;
}

/* What no piece stands for: the token of that text if there is one, its bytes, or the unknown token. */
static bool unknown(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t a, size_t b) {
    int32_t id = !t->uni.by_text ? -1 : vc_text_map_find(&t->by_text, w + a, b - a);
    if (id < 0 && t->uni.byte_fallback && vc_tok_push_bytes(s, &t->bpe, w + a, b - a, a)) return true;
    if (id < 0) id = t->bpe.unk;
    if (id >= 0) vc_tok_push_sym(s, id, a, b - a);
    return id >= 0;
}

vc_status vc_tok_unigram_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n, vc_err *err) {
    if (!find_path(t, s, w, n)) return VC_OK;
    struct vc_tok_best *best = s->best;
    size_t at = n, next = n;
    for (size_t from; at > 0; next = at, at = from) {    /* turns the links: from then says where the piece that begins here ends */
        from = best[at].from;
        best[at].from = (uint32_t)next;
    }
    best[0].from = (uint32_t)next;
    for (size_t i = 0; i < n;) {
        size_t end = best[i].from;
        int32_t id = best[end].id;
        if (id == t->bpe.unk) {    /* a run of unknown characters is one */
            while (end < n && best[best[end].from].id == t->bpe.unk) end = best[end].from;
            if (!unknown(t, s, w, i, end))
                return vc_fail(err, VC_E_INVALID, "%s: a character is not in the vocabulary, which has no unknown token", t->name);
        } else vc_tok_push_sym(s, id, i, end - i);
        i = end;
    }
    return VC_OK;
}

enum { PLAMO2_UNKNOWN = 10000000 };

void vc_tok_plamo2_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n) {
    const struct vc_tok_unigram *u = &t->uni;
    size_t begin = n >= 3 && !memcmp(w, "\xEF\xBB\xBF", 3) ? 3 : 0;    /* a byte order mark is no text */
    if (!vc_tok_grow(s, &s->heap, &s->cap_heap, n + 1, sizeof *s->heap)) return;
    if (!vc_tok_grow(s, &s->best, &s->cap_best, n + 1, sizeof *s->best)) return;
    struct vc_tok_best *best = s->best;
    int64_t *cost = (int64_t *)s->heap;
    cost[n] = 0;
    for (size_t i = n; i > begin;) {
        i--;
        if (vc_chr_tail(w[i])) continue;
        size_t k = vc_chr_len(w[i]);
        int64_t low = INT64_MAX;
        uint32_t node = u->trie.first[(unsigned char)w[i]];
        for (size_t j = i + 1; node; j++) {
            int32_t id = u->trie.value[node];
            if (id >= 0 && cost[j] + u->cost[id] <= low) {    /* of equal costs the longest piece */
                low = cost[j] + u->cost[id];
                best[i] = (struct vc_tok_best){ 0, id, (uint32_t)j };
            }
            if (j >= n) break;
            node = vc_trie_step(&u->trie, node, (unsigned char)w[j]);
        }
        if (low == INT64_MAX || cost[i + k] + PLAMO2_UNKNOWN < low) {
            low = cost[i + k] + PLAMO2_UNKNOWN;
            best[i] = (struct vc_tok_best){ 0, -1, (uint32_t)(i + k) };
        }
        cost[i] = low;
    }
    for (size_t i = begin, end; i < n; i = end) {
        end = best[i].from;
        if (best[i].id >= 0) vc_tok_push_sym(s, best[i].id, i, end - i);
        else vc_tok_push_bytes(s, &t->bpe, w + i, end - i, i);
    }
}
