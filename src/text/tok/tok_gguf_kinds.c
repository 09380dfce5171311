/* SPDX-License-Identifier: Apache-2.0
 * tok_gguf_kinds.c: GGUF vocabularies that are no BPE: WordPiece ("bert"), unigram ("t5"), RWKV's and PLaMo-2's. Behave as
 * llama.cpp's llm_tokenizer_wpm, _ugm, _rwkv and _plamo2. */
#include <float.h>
#include <math.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_gguf.h"

static vc_status opt_bool(const struct vc_tok_gguf *s, const char *key, bool *v, vc_err *err) {
    return vc_gguf_find(s->g, key) ? vc_gguf_bool(s->g, key, v, err) : VC_OK;
}

static vc_status add_split(struct vc_tokenizer *t, bool (*is)(uint32_t), enum vc_tok_split b, vc_err *err) {
    return vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPLIT, .pattern.is = is, .behavior = b }, err);
}

vc_status vc_tok_gguf_bert(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    bool lower = true, accents;
    t->model = VC_MODEL_WORDPIECE;
    t->kind = "wordpiece";
    t->bos = 101;
    t->bpe.unk = 100;
    s->add_bos = true;
    s->add_eos = true;
    s->last = 102;    /* [SEP] behind a text, whatever add_eos_token says */
    t->clean_spaces = true;
    VC_TRY(opt_bool(s, "tokenizer.ggml.normalizer.lowercase", &lower, err));
    accents = lower;
    VC_TRY(opt_bool(s, "tokenizer.ggml.normalizer.strip_accents", &accents, err));
    VC_TRY(vc_tok_gguf_vocab(t, s, err));
    VC_TRY(vc_tok_gguf_special(t, s, "tokenizer.ggml.seperator_token_id", &s->last, err));
    if (accents) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_FIRST_OF_NFD }, err));
    VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_CONTROL }, err));
    if (lower) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_LOWER }, err));
    VC_TRY(add_split(t, vc_chr_space, VC_SPLIT_REMOVED, err));
    VC_TRY(add_split(t, vc_chr_wpm, VC_SPLIT_ISOLATED, err));
    t->greedy.one_trie = true;
    t->greedy.lead = VC_STR("\xE2\x96\x81");
    t->greedy.max_chars = UINT32_MAX;
    for (uint32_t i = 0; i < t->size; i++) {
        if (!vc_trie_add(&t->greedy.start, t->text[i].p, t->text[i].n, (int32_t)i)) return vc_tok_nomem(t, err);
    }
    return vc_tok_gguf_pieces(t, s, err);
}

/* ---- unigram -------------------------------------------------------------------------------------------------- */

static vc_status charsmap(struct vc_tokenizer *t, const struct vc_tok_gguf *s, struct vc_charsmap *m, vc_err *err) {
    static const char key[] = "tokenizer.ggml.precompiled_charsmap";
    const struct vc_gguf_value *v = vc_gguf_find(s->g, key);
    if (!v) return VC_OK;
    if (v->type != VC_GGUF_ARRAY || (v->a.of != VC_GGUF_U8 && v->a.of != VC_GGUF_I8))
        return vc_fail(err, VC_E_FORMAT, "%s: %s: an array of bytes is expected", t->name, key);
    char *copy = vc_arena_strndup(&t->arena, (const char *)v->a.data, v->a.bytes);
    if (!copy) return vc_tok_nomem(t, err);
    const char *bad = vc_charsmap_open(m, copy, v->a.bytes);
    return bad ? vc_fail(err, VC_E_FORMAT, "%s: %s: %s", t->name, key, bad) : VC_OK;
}

static vc_status set_scores(struct vc_tokenizer *t, const struct vc_tok_gguf *s, vc_err *err) {
    struct vc_tok_unigram *u = &t->uni;
    float least = FLT_MAX;
    u->score = VC_NEW_ARRAY(&t->arena, double, (size_t)t->size + 1);
    if (!u->score) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < t->size; i++) {
        int32_t type = vc_tok_gguf_type(s, i);
        float score = vc_tok_gguf_score(s, i);
        if (!isfinite(score)) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.scores: entry %u is not finite", t->name, i);
        if (type == VC_GGUF_TOK_NORMAL) least = fminf(least, score);
        u->score[i] = type == VC_GGUF_TOK_USER ? 0 : (double)score;
        if (type == VC_GGUF_TOK_USER && !vc_trie_add(&t->keep, t->text[i].p, t->text[i].n, (int32_t)i)) return vc_tok_nomem(t, err);
        if ((type == VC_GGUF_TOK_NORMAL || type == VC_GGUF_TOK_USER || type == VC_GGUF_TOK_UNUSED) &&
            !vc_trie_add(&u->trie, t->text[i].p, t->text[i].n, (int32_t)i))
            return vc_tok_nomem(t, err);
    }
    u->unk_score = (double)(least - 10.0f);
    return VC_OK;
}

vc_status vc_tok_gguf_t5(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    bool dummy = false, merge = false;
    struct vc_tok_norm n = { .kind = VC_NORM_SENTENCEPIECE };
    t->model = VC_MODEL_UNIGRAM;
    t->kind = "unigram";
    t->eos = 1;
    t->bpe.unk = 2;
    s->add_eos = true;
    VC_TRY(opt_bool(s, "tokenizer.ggml.add_space_prefix", &dummy, err));
    VC_TRY(opt_bool(s, "tokenizer.ggml.remove_extra_whitespaces", &merge, err));
    VC_TRY(vc_tok_gguf_vocab(t, s, err));
    VC_TRY(charsmap(t, s, &n.map, err));
    VC_TRY(set_scores(t, s, err));
    n.flags = VC_SP_UGM | VC_SP_ESCAPE | (dummy ? VC_SP_DUMMY : 0u) | (merge ? VC_SP_MERGE : 0u);
    n.keep = t->keep.num_nodes ? &t->keep : NULL;
    t->strip_first = dummy ? VC_STRIP_FIRST : VC_STRIP_NONE;
    VC_TRY(vc_tok_add_norm(t, n, err));
    return vc_tok_gguf_pieces(t, s, err);
}

/* ---- RWKV ----------------------------------------------------------------------------------------------------- */

/* \t \n \r \xNN, and any other character behind a backslash as itself. SIZE_MAX: \x without two digits. */
static size_t unescape(char *dst, vc_str w) {
    size_t n = 0;
    for (size_t i = 0; i < w.n; i++) {
        char c = w.p[i];
        if (c == '\\' && i + 1 < w.n) {
            c = w.p[++i];
            if (c == 'x') {
                if (i + 2 >= w.n) return SIZE_MAX;
                int a = vc_digit(w.p[i + 1], 16), b = vc_digit(w.p[i + 2], 16);
                if (a < 0 || b < 0) return SIZE_MAX;
                c = (char)(a << 4 | b);
                i += 2;
            } else c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
        }
        dst[n++] = c;
    }
    return n;
}

vc_status vc_tok_gguf_rwkv(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    size_t total = 0;
    t->model = VC_MODEL_GREEDY;
    t->kind = "rwkv";
    VC_TRY(vc_tok_gguf_vocab(t, s, err));
    for (uint32_t i = 0; i < t->size; i++) total += t->text[i].n;
    char *blob = vc_arena_alloc(&t->arena, total + 1, 1);
    if (!blob) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < t->size; i++) {
        size_t n = unescape(blob, t->text[i]);
        if (n == SIZE_MAX) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.tokens: token %u has \\x without two digits", t->name, i);
        t->piece[i] = (vc_str){ blob, n };
        blob += n;
        if (!vc_trie_add(&t->greedy.start, t->piece[i].p, n, (int32_t)i)) return vc_tok_nomem(t, err);
    }
    for (unsigned b = 0; b < 256; b++) {
        uint32_t node = t->greedy.start.first[b];
        if (!node || t->greedy.start.value[node] < 0) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.tokens: no token is the byte 0x%02X", t->name, b);
    }
    return VC_OK;
}

/* ---- PLaMo-2 -------------------------------------------------------------------------------------------------- */

enum { PLAMO2_INVALID = 20000000 };

vc_status vc_tok_gguf_plamo2(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    t->model = VC_MODEL_PLAMO2;
    t->kind = "plamo2";
    t->bos = 1;
    t->eos = 2;
    t->bpe.unk = 0;
    VC_TRY(vc_tok_gguf_vocab(t, s, err));
    int64_t *cost = VC_NEW_ARRAY(&t->arena, int64_t, (size_t)t->size + 1);
    if (!cost) return vc_tok_nomem(t, err);
    t->uni.cost = cost;
    VC_TRY(vc_tok_gguf_pieces(t, s, err));
    for (uint32_t i = 0; i < t->size; i++) {
        double score = (double)vc_tok_gguf_score(s, i) * 1e4;
        if (vc_tok_gguf_type(s, i) == VC_GGUF_TOK_BYTE) continue;
        t->piece[i] = t->text[i];
        if (!(fabs(score) < PLAMO2_INVALID)) continue;    /* never chosen */
        cost[i] = -(int64_t)llround(score);
        if (!vc_trie_add(&t->uni.trie, t->text[i].p, t->text[i].n, (int32_t)i)) return vc_tok_nomem(t, err);
    }
    for (int b = 0; b < 256; b++) {
        if (t->bpe.byte_id[b] < 0) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.tokens: no token <0x%02X>", t->name, (unsigned)b);
    }
    return VC_OK;
}
