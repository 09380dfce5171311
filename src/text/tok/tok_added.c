/* SPDX-License-Identifier: Apache-2.0
 * tok_added.c: finding added tokens in a text. Leftmost-longest with the flags of the tokenizers crate
 * (AddedVocabulary::find_matches), or longest-first as llama.cpp's tokenizer_st_partition cuts its text. */
#include <stdlib.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

vc_status vc_tok_added_build(struct vc_tok_added_set *set, vc_err *err) {
    for (size_t i = 0; i < set->n; i++) {
        if (set->v[i].text.n && !vc_trie_add(&set->trie, set->v[i].text.p, set->v[i].text.n, (int32_t)i))
            return vc_fail(err, VC_E_NOMEM, "added tokens: out of memory");
    }
    return VC_OK;
}

/* Longest token at p[at …) of at most `most` bytes, or -1. With special false only tokens that are not special. */
static int32_t longest(const struct vc_tok_added_set *set, const char *p, size_t at, size_t n, size_t most, bool special, uint32_t *len) {
    int32_t best = -1;
    uint32_t node = set->trie.first[(unsigned char)p[at]];
    for (size_t i = at; node;) {
        int32_t v = set->trie.value[node];
        i++;
        if (i - at > most) break;
        if (v >= 0 && (special || !(set->v[v].flags & VC_ADDED_SPECIAL))) { best = v; *len = (uint32_t)(i - at); }
        if (i == n) break;
        node = vc_trie_step(&set->trie, node, (unsigned char)p[i]);
    }
    return best;
}

static bool found(struct vc_tok_scratch *s, size_t a, size_t b, int32_t which) {
    if (!vc_tok_grow(s, &s->found, &s->cap_found, s->num_found + 1, sizeof *s->found)) return false;
    s->found[s->num_found++] = (struct vc_tok_found){ (uint32_t)a, (uint32_t)b, (uint32_t)which };
    return true;
}

/* Whether a longer token begins inside [a, b) and reaches beyond: then leftmost and longest-first differ. */
static bool contested(const struct vc_tok_added_set *set, const char *p, size_t n, size_t a, size_t b, bool special) {
    for (size_t i = a + 1; i < b; i++) {
        uint32_t len;
        if (set->trie.first[(unsigned char)p[i]] && longest(set, p, i, n, SIZE_MAX, special, &len) >= 0 && len > b - a) return true;
    }
    return false;
}

static int by_start(const void *x, const void *y) {
    const struct vc_tok_found *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void longest_first(struct vc_tok_scratch *s, const struct vc_tok_added_set *set, const char *p, size_t n, bool special) {
    if (!vc_tok_grow(s, &s->taken, &s->cap_taken, n, 1)) return;
    memset(s->taken, 0, n);
    s->num_found = 0;
    for (size_t most = set->trie.max_len; most > 0; most--) {
        for (size_t i = 0; i < n; i++) {
            uint32_t len = 0;
            if (s->taken[i] || !set->trie.first[(unsigned char)p[i]]) continue;
            int32_t v = longest(set, p, i, n, most, special, &len);
            if (v < 0 || len != most || memchr(s->taken + i, 1, len)) continue;
            memset(s->taken + i, 1, len);
            if (!found(s, i, i + len, v)) return;
            i += len - 1;
        }
    }
    if (s->num_found) qsort(s->found, s->num_found, sizeof *s->found, by_start);
}

/* The flags of each match, against the text and the match before. */
static void apply_flags(struct vc_tok_scratch *s, const struct vc_tok_added_set *set, const char *p, size_t n, bool special) {
    bool (*space)(uint32_t) = set->ascii_space ? vc_chr_ascii_space : vc_chr_space;
    size_t kept = 0, last = 0;
    for (size_t i = 0; i < s->num_found; i++) {
        struct vc_tok_found f = s->found[i];
        unsigned flags = set->v[f.added].flags;
        uint32_t cp;
        if (!special && (flags & VC_ADDED_SPECIAL)) continue;
        if (flags & VC_ADDED_WORD) {
            if (f.start > 0 && (vc_chr_before(p, f.start, &cp), vc_chr_word(cp))) continue;
            if (f.end < n && (vc_chr_at(p + f.end, &cp), vc_chr_word(cp))) continue;
        }
        if (f.start < last) continue;    /* swallowed by the spaces of the match before */
        if (flags & VC_ADDED_LSTRIP) {
            for (size_t k; f.start > last && (k = vc_chr_before(p, f.start, &cp), space(cp));) f.start -= (uint32_t)k;
        }
        if (flags & VC_ADDED_RSTRIP) {
            for (size_t k; f.end < n && (k = vc_chr_at(p + f.end, &cp), space(cp));) f.end += (uint32_t)k;
        }
        last = f.end;
        s->found[kept++] = f;
    }
    s->num_found = kept;
}

vc_status vc_tok_added_find(struct vc_tok_scratch *s, const struct vc_tok_added_set *set, const char *text, size_t n, bool special, vc_err *err) {
    s->num_found = 0;
    if (!set->n) return VC_OK;
    bool all = special || !set->longest_first, contest = false;
    for (size_t i = 0; i < n && !contest;) {
        uint32_t len = 1;
        int32_t v = -1;
        if (set->trie.first[(unsigned char)text[i]]) v = longest(set, text, i, n, SIZE_MAX, all, &len);
        if (v < 0) { i++; continue; }
        contest = set->longest_first && contested(set, text, n, i, i + len, all);
        if (!found(s, i, i + len, v)) break;
        i += len;
    }
    if (contest) longest_first(s, set, text, n, all);
    apply_flags(s, set, text, n, special);
    if (s->failed) return vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    return VC_OK;
}
