/* SPDX-License-Identifier: Apache-2.0
 * tok_bpe.c: byte-pair merges of one word (Sennrich et al. 2016, as in the tokenizers crate's models/bpe/word.rs): the
 * pair of lowest rank first, the leftmost of equals. Short words by repeated scans, longer ones with a heap: O(n log n).
 * The SentencePiece kind (llama.cpp's llm_tokenizer_spm) merges where the joined text is a token, highest score first. */
#include <stdlib.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

enum { SHORT_WORD = 24 };
static const char UNDER[] = "\xE2\x96\x81";    /* U+2581 */

static void push_sym(struct vc_tok_scratch *s, int32_t id, size_t len) { vc_tok_push_sym(s, id, 0, len); }    /* `at` comes last */

/* ---- first symbols -------------------------------------------------------------------------------------------- */

static int32_t affixed(const struct vc_tok_bpe *b, const char *p, size_t n, bool first, bool last) {
    vc_str pre = first ? (vc_str){ "", 0 } : b->prefix, suf = last ? b->suffix : (vc_str){ "", 0 };
    if (!pre.n && !suf.n) return b->bytes ? b->byte_id[(unsigned char)*p] : vc_text_map_find(b->map, p, n);
    char t[128];
    if (pre.n + n + suf.n > sizeof t) return -1;
    memcpy(t, pre.p, pre.n);
    memcpy(t + pre.n, p, n);
    memcpy(t + pre.n + n, suf.p, suf.n);
    return vc_text_map_find(b->map, t, pre.n + n + suf.n);
}

static bool fall_back(struct vc_tok_scratch *s, const struct vc_tok_bpe *b, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (b->byte_id[(unsigned char)p[i]] < 0) return false;
    }
    for (size_t i = 0; i < n; i++) push_sym(s, b->byte_id[(unsigned char)p[i]], 1);
    return true;
}

/* One symbol per character or byte. What the vocabulary lacks becomes its bytes, the unknown token, or nothing. */
static void first_symbols(struct vc_tok_scratch *s, const struct vc_tok_bpe *b, const char *w, size_t n) {
    size_t unk = 0;    /* bytes of an unknown token not yet put */
    for (size_t i = 0, k; i < n; i += k) {
        k = b->bytes ? 1 : vc_chr_len(w[i]);
        int32_t id = affixed(b, w + i, k, i == 0, i + k == n);
        if (id >= 0 || b->pieces_by_byte) {
            if (unk) push_sym(s, b->unk, unk);
            unk = 0;
            push_sym(s, id, k);
            continue;
        }
        if (b->byte_fallback && !b->prefix.n && !b->suffix.n && fall_back(s, b, w + i, k)) continue;
        if (b->unk < 0) continue;
        if (unk && !b->fuse_unk) {
            push_sym(s, b->unk, unk);
            unk = 0;
        }
        unk += k;
    }
    if (unk) push_sym(s, b->unk, unk);
}

/* ---- merging by rank ------------------------------------------------------------------------------------------ */

static void merge_short(struct vc_tok_scratch *s, const struct vc_pair_map *m) {
    const struct vc_pair_slot *pair[SHORT_WORD];
    struct vc_tok_sym *y = s->sym;
    size_t n = s->num_sym;
    for (size_t i = 0; i + 1 < n; i++) pair[i] = vc_pair_map_find(m, y[i].id, y[i + 1].id);
    while (n > 1) {
        size_t best = SIZE_MAX;
        uint32_t rank = UINT32_MAX;
        for (size_t i = 0; i + 1 < n; i++) {
            if (pair[i] && pair[i]->rank < rank) { rank = pair[i]->rank; best = i; }
        }
        if (best == SIZE_MAX) break;
        y[best].id = pair[best]->id;
        y[best].len += y[best + 1].len;
        n--;
        memmove(y + best + 1, y + best + 2, (n - best - 1) * sizeof *y);
        if (best + 1 < n) memmove(pair + best + 1, pair + best + 2, (n - best - 2) * sizeof *pair);
        if (best > 0) pair[best - 1] = vc_pair_map_find(m, y[best - 1].id, y[best].id);
        if (best + 1 < n) pair[best] = vc_pair_map_find(m, y[best].id, y[best + 1].id);
    }
    s->num_sym = n;
}

/* The heap holds rank << 32 | position of the left symbol, so equal ranks come from the left. An entry is stale unless the
 * pair that begins at its position has its rank still. Four children per node: fewer cache misses than two. */
static void heap_down(uint64_t *h, size_t n, size_t i) {
    uint64_t x = h[i];
    for (size_t c; (c = 4 * i + 1) < n; i = c) {
        size_t last = c + 4 < n ? c + 4 : n;
        for (size_t j = c + 1; j < last; j++) {
            if (h[j] < h[c]) c = j;
        }
        if (h[c] >= x) break;
        h[i] = h[c];
    }
    h[i] = x;
}

static void heap_push(struct vc_tok_scratch *s, uint64_t x) {
    if (!vc_tok_grow(s, &s->heap, &s->cap_heap, s->num_heap + 1, sizeof *s->heap)) return;
    size_t i = s->num_heap++;
    for (; i > 0 && s->heap[(i - 1) / 4] > x; i = (i - 1) / 4) s->heap[i] = s->heap[(i - 1) / 4];
    s->heap[i] = x;
}

static uint64_t heap_pop(struct vc_tok_scratch *s) {
    uint64_t x = s->heap[0];
    s->heap[0] = s->heap[--s->num_heap];
    if (s->num_heap) heap_down(s->heap, s->num_heap, 0);
    return x;
}

#define NO_RANK UINT32_MAX

/* Looks up the pair that symbol l begins. */
static bool candidate(const struct vc_tokenizer *t, const struct vc_tok_scratch *s, const char *w, int32_t l) {
    struct vc_tok_sym *y = &s->sym[l];
    y->pair_rank = NO_RANK;
    if (y->next < 0) return false;
    const struct vc_tok_sym *z = &s->sym[y->next];
    if (t->model == VC_MODEL_BPE) {
        const struct vc_pair_slot *p = vc_pair_map_find(&t->bpe.pairs, y->id, z->id);
        if (!p) return false;
        y->pair_rank = p->rank;
        y->pair_id = p->id;
        return true;
    }
    uint64_t len = (uint64_t)y->len + z->len;    /* SPM: id is the symbol's offset in w, pair_id the token */
    if (len > t->bpe.max_len) return false;
    y->pair_id = vc_text_map_find(t->bpe.map, w + y->id, len);
    if (y->pair_id < 0) return false;
    y->pair_rank = t->bpe.order[y->pair_id];
    return true;
}

static uint64_t key_of(const struct vc_tok_scratch *s, int32_t l) { return (uint64_t)s->sym[l].pair_rank << 32 | (uint32_t)l; }

static void seed_heap(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w) {
    s->num_heap = 0;
    if (!vc_tok_grow(s, &s->heap, &s->cap_heap, s->num_sym, sizeof *s->heap)) return;
    for (size_t i = 0; i < s->num_sym; i++) {
        s->sym[i].prev = (int32_t)i - 1;
        s->sym[i].next = i + 1 < s->num_sym ? (int32_t)i + 1 : -1;
    }
    for (size_t i = 0; i < s->num_sym; i++) {
        if (candidate(t, s, w, (int32_t)i)) s->heap[s->num_heap++] = key_of(s, (int32_t)i);
    }
    for (size_t i = s->num_heap / 4 + 1; i-- > 0;) {
        if (i < s->num_heap) heap_down(s->heap, s->num_heap, i);
    }
}

static void merge_long(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w) {
    struct vc_tok_sym *y = s->sym;
    seed_heap(t, s, w);
    while (s->num_heap && !s->failed) {
        uint64_t x = heap_pop(s);
        int32_t l = (int32_t)(x & UINT32_MAX);
        if (y[l].pair_rank != (uint32_t)(x >> 32)) continue;
        int32_t r = y[l].next;
        if (t->model == VC_MODEL_BPE) y[l].id = y[l].pair_id;
        y[l].len += y[r].len;
        y[r].pair_rank = NO_RANK;
        y[l].next = y[r].next;
        if (y[r].next >= 0) y[y[r].next].prev = l;
        if (y[l].prev >= 0 && candidate(t, s, w, y[l].prev)) heap_push(s, key_of(s, y[l].prev));
        if (candidate(t, s, w, l)) heap_push(s, key_of(s, l));
    }
}

static void compact(struct vc_tok_scratch *s) {
    size_t n = 0;
    for (int32_t i = 0; i >= 0 && s->num_sym; i = s->sym[i].next) s->sym[n++] = s->sym[i];
    s->num_sym = n;
}

/* ---- the end of a word ---------------------------------------------------------------------------------------- */

/* Symbols that are no token become the tokens of their bytes; with a ByteLevel vocabulary only bytes that are their own
 * printable stand-in are tried, as llama.cpp does. */
static void symbols_to_tokens(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w) {
    const struct vc_tok_bpe *b = &t->bpe;
    size_t n = s->num_sym, at = 0;
    bool all = true;
    for (size_t i = 0; i < n && all; i++) all = s->sym[i].id >= 0 && (uint32_t)s->sym[i].id < t->size;
    if (all) return;
    for (size_t i = 0; i < n; i++) {    /* appended behind, then moved to the front */
        struct vc_tok_sym y = s->sym[i];
        if (y.id >= 0 && (uint32_t)y.id < t->size) {
            push_sym(s, y.id, y.len);
        } else {
            size_t skipped = 0;
            for (size_t j = 0; j < y.len; j++) {
                unsigned char c = (unsigned char)w[at + j];
                int32_t id = !b->bytes || (c >= 33 && c <= 126) ? b->byte_id[c] : -1;
                if (id < 0 && t->model == VC_MODEL_SPM) id = b->unk;
                if (id >= 0 && (uint32_t)id < t->size) { push_sym(s, id, 1 + skipped); skipped = 0; }
                else skipped++;
            }
        }
        at += y.len;
        if (s->failed) return;
    }
    memmove(s->sym, s->sym + n, (s->num_sym - n) * sizeof *s->sym);
    s->num_sym -= n;
}

/* SentencePiece: a symbol that is no piece becomes its bytes, or with those of its kind beside it one unknown piece. */
static void symbols_to_pieces(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w) {
    size_t n = s->num_sym, at = 0;
    bool all = true, after_unknown = false;
    for (size_t i = 0; i < n && all; i++) all = s->sym[i].id >= 0;
    if (all) return;
    for (size_t i = 0; i < n && !s->failed; i++) {    /* appended behind, then moved to the front */
        struct vc_tok_sym y = s->sym[i];
        bool unknown = y.id < 0;
        if (!unknown) push_sym(s, y.id, y.len);
        else if (t->bpe.byte_fallback) fall_back(s, &t->bpe, w + at, y.len);
        else if (after_unknown) s->sym[s->num_sym - 1].len += y.len;
        else push_sym(s, t->bpe.unk, y.len);
        after_unknown = unknown;
        at += y.len;
    }
    if (s->failed) return;
    memmove(s->sym, s->sym + n, (s->num_sym - n) * sizeof *s->sym);
    s->num_sym -= n;
}

static void spm_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n) {
    for (size_t i = 0, k; i < n && !s->failed; i += k) {
        k = vc_chr_len(w[i]);
        push_sym(s, (int32_t)i, k);
    }
    if (s->failed) return;
    merge_long(t, s, w);
    compact(s);
    for (size_t i = 0; i < s->num_sym; i++) s->sym[i].id = vc_text_map_find(t->bpe.map, w + s->sym[i].id, s->sym[i].len);
}

static bool newlines(const char *w, size_t n) {
    while (n && w[n - 1] == '\n') n--;
    return n == 0;
}

void vc_tok_bpe_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n) {
    const struct vc_tok_bpe *b = &t->bpe;
    if (t->model == VC_MODEL_SPM) {
        spm_word(t, s, w, n);
    } else {
        bool stays = b->ignore_merges || (b->whole_newlines && newlines(w, n));
        int32_t whole = stays ? vc_text_map_find(b->map, w, n) : -1;
        if (whole >= 0 && (uint32_t)whole < t->size) {
            push_sym(s, whole, n);
        } else {
            first_symbols(s, b, w, n);
            if (s->num_sym <= SHORT_WORD) merge_short(s, &b->pairs);
            else if (!s->failed) {
                merge_long(t, s, w);
                compact(s);
            }
        }
    }
    if (b->pieces_by_byte && !s->failed) symbols_to_tokens(t, s, w);
    if (b->unknown_runs && !s->failed) symbols_to_pieces(t, s, w);
    uint32_t at = 0;
    for (size_t i = 0; i < s->num_sym; at += s->sym[i++].len) s->sym[i].at = at;
}

/* ---- tables --------------------------------------------------------------------------------------------------- */

uint32_t vc_tok_order_of(float score) {
    uint32_t u;
    score += 0.0f;    /* -0 becomes 0 */
    memcpy(&u, &score, 4);
    u ^= u >> 31 ? UINT32_MAX : 0x80000000u;
    return ~u < UINT32_MAX ? ~u : UINT32_MAX - 1;    /* the last value is "no rank" */
}

/* Marks the bytes before a "▁" in tokens that have it behind another character. */
static void mark_spanned(struct vc_tokenizer *t) {
    for (uint32_t i = 0; i < t->size; i++) {
        vc_str k = t->text[i];
        size_t j = 1;
        for (const char *q; j + 3 <= k.n && (q = memchr(k.p + j, UNDER[0], k.n - j - 2)); j = (size_t)(q - k.p) + 1) {
            size_t at = (size_t)(q - k.p);
            if (memcmp(q, UNDER, 3)) continue;
            if (at < 3 || memcmp(q - 3, UNDER, 3)) t->bpe.spanned[(unsigned char)q[-1]] = true;
        }
    }
}

void vc_tok_bpe_finish(struct vc_tokenizer *t) {
    struct vc_tok_bpe *b = &t->bpe;
    b->cut_spaces = !b->bytes && !b->ignore_merges && !b->prefix.n && !b->suffix.n && vc_text_map_find(b->map, UNDER, 3) >= 0;
    if (b->cut_spaces) mark_spanned(t);
}
