/* SPDX-License-Identifier: Apache-2.0
 * tok_gguf.h: a GGUF vocabulary while it is read: arrays of the file, and what its keys ask for. */
#ifndef VC_TEXT_TOK_GGUF_H
#define VC_TEXT_TOK_GGUF_H

#include "io/gguf.h"
#include "text/tok/tok_int.h"

/* tokenizer.ggml.token_type */
enum { VC_GGUF_TOK_NORMAL = 1, VC_GGUF_TOK_UNKNOWN, VC_GGUF_TOK_CONTROL, VC_GGUF_TOK_USER, VC_GGUF_TOK_UNUSED, VC_GGUF_TOK_BYTE };

struct vc_tok_gguf {
    const struct vc_gguf *g;
    const vc_str *text;
    size_t n;
    const void *type, *score;        /* unaligned; NULL: absent */
    bool whole_scores;               /* scores are integers */
    bool add_bos, add_eos;           /* defaults of the kind; the keys go before */
    bool must_bos;                   /* BOS is added whatever the keys say */
    bool gemma4, words;              /* tokenizer.ggml.model is "gemma4", "whitespace" */
    int32_t last;                    /* what add_eos adds, -1: EOS */
};

int32_t vc_tok_gguf_type(const struct vc_tok_gguf *s, size_t i);
float vc_tok_gguf_score(const struct vc_tok_gguf *s, size_t i);
/* Texts, flags and added tokens of t. */
vc_status vc_tok_gguf_vocab(struct vc_tokenizer *t, const struct vc_tok_gguf *s, vc_err *err);
/* Pieces of vocabularies that spell a space "▁" and a byte "<0xNN>". */
vc_status vc_tok_gguf_pieces(struct vc_tokenizer *t, const struct vc_tok_gguf *s, vc_err *err);
/* *id: the value of key, as it was where the key is absent; -1 if outside the vocabulary. */
vc_status vc_tok_gguf_special(const struct vc_tokenizer *t, const struct vc_tok_gguf *s, const char *key, int32_t *id, vc_err *err);

/* tok_gguf_kinds.c: tokenizer.ggml.model "bert", "t5", "rwkv", "plamo2". */
vc_status vc_tok_gguf_bert(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err);
vc_status vc_tok_gguf_t5(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err);
vc_status vc_tok_gguf_rwkv(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err);
vc_status vc_tok_gguf_plamo2(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err);

#endif
