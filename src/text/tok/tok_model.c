/* SPDX-License-Identifier: Apache-2.0
 * tok_model.c: a word to its tokens, by the tokenizer's kind of model. */
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

bool vc_tok_push_sym(struct vc_tok_scratch *s, int32_t id, size_t at, size_t len) {
    if (!vc_tok_grow(s, &s->sym, &s->cap_sym, s->num_sym + 1, sizeof *s->sym)) return false;
    s->sym[s->num_sym++] = (struct vc_tok_sym){ .id = id, .at = (uint32_t)at, .len = (uint32_t)len };
    return true;
}

bool vc_tok_push_bytes(struct vc_tok_scratch *s, const struct vc_tok_bpe *b, const char *p, size_t n, size_t at) {
    for (size_t i = 0; i < n; i++) {
        if (b->byte_id[(unsigned char)p[i]] < 0) return false;
    }
    for (size_t i = 0; i < n; i++) vc_tok_push_sym(s, b->byte_id[(unsigned char)p[i]], at, n);
    return true;
}

static vc_status word_level(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n, vc_err *err) {
    int32_t id = vc_text_map_find(t->bpe.map, w, n);
    if (id < 0) id = t->bpe.unk;
    if (id < 0) return vc_fail(err, VC_E_INVALID, "%s: a word is not in the vocabulary, which has no unknown token", t->name);
    vc_tok_push_sym(s, id, 0, n);
    return VC_OK;
}

vc_status vc_tok_model_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n, vc_err *err) {
    vc_status r = VC_OK;
    s->num_sym = 0;
    if (n > INT32_MAX / 2) return vc_fail(err, VC_E_TOO_LONG, "tokenizer: a word of %zu bytes", n);
    switch (t->model) {
    case VC_MODEL_BPE: case VC_MODEL_SPM: vc_tok_bpe_word(t, s, w, n); break;
    case VC_MODEL_UNIGRAM: r = vc_tok_unigram_word(t, s, w, n, err); break;
    case VC_MODEL_WORDPIECE: r = vc_tok_wordpiece_word(t, s, w, n, err); break;
    case VC_MODEL_WORDLEVEL: r = word_level(t, s, w, n, err); break;
    case VC_MODEL_GREEDY: vc_tok_greedy_text(t, s, w, n); break;
    case VC_MODEL_PLAMO2: vc_tok_plamo2_word(t, s, w, n); break;
    }
    if (r == VC_OK && s->failed) r = vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    return r;
}
