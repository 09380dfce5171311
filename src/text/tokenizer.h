/* SPDX-License-Identifier: Apache-2.0
 * tokenizer.h: text to token ids and back, from a tokenizer.json, the vocabulary of a GGUF file, a SentencePiece model, a
 * tekken.json or tiktoken ranks. A tokenizer is immutable after loading; every function that takes a const one may be called
 * from any thread. tokenizer.json behaves as Hugging Face tokenizers 0.23 does, the others as llama.cpp, sentencepiece,
 * mistral_common and tiktoken do. Text must be valid UTF-8. A component, model or pre-tokenizer that is not known here is
 * refused by name. */
#ifndef VC_TEXT_TOKENIZER_H
#define VC_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "base/str.h"

struct vc_gguf;
struct vc_tokenizer;

/* GGUF: tokenizer.ggml.* keys; g is needed only during the call. */
vc_status vc_tokenizer_from_gguf(struct vc_tokenizer **out, const struct vc_gguf *g, vc_err *err);
/* tokenizer.json, or Mistral's tekken.json; tokenizer_config.json, special_tokens_map.json and chat_template.jinja beside it are read for BOS,
 * EOS and the chat template where they exist. */
vc_status vc_tokenizer_from_json(struct vc_tokenizer **out, const char *path, vc_err *err);
/* A SentencePiece model (protocol buffers). Files beside it are read as above; BOS is added unless they say otherwise. */
vc_status vc_tokenizer_from_sentencepiece(struct vc_tokenizer **out, const char *path, vc_err *err);
/* tiktoken ranks, lines of base64 and rank. The pattern that cuts words is known from the file's name (cl100k_base.tiktoken
 * …), the tokenizer_class in tokenizer_config.json, or the number of ranks (Llama 3); else the file is refused. */
vc_status vc_tokenizer_from_tiktoken(struct vc_tokenizer **out, const char *path, vc_err *err);
/* Any of these files, told by their first bytes, or a folder that holds one: tokenizer.json before tekken.json before the
 * others. */
vc_status vc_tokenizer_open(struct vc_tokenizer **out, const char *path, vc_err *err);
/* Which file of a folder that would be, put into path; false: none. */
bool vc_tokenizer_find(const char *folder, struct vc_buf *path);
void vc_tokenizer_close(struct vc_tokenizer *t);    /* NULL is allowed */

/* Same bits as VC_TOK_* of vllmc.h.
 * ADD_SPECIAL: BOS, EOS or the post-processor's template around the text.
 * PARSE_SPECIAL: special (control) tokens written in the text become their ids; added tokens that are not special
 * always do. */
enum { VC_ENC_ADD_SPECIAL = 1, VC_ENC_PARSE_SPECIAL = 2 };

/* A growing list of ids, zero-initialised by its owner. With with_offsets set before encoding, start[i] and end[i]
 * are the bytes of the text that token i stands for, widened to whole characters; 0, 0 for tokens that were added. With
 * with_types, type[i] is the segment (token type) of token i, and VC_IDS_ADDED where it stands for no text. */
enum { VC_IDS_ADDED = 128 };
struct vc_ids {
    int32_t *v;
    size_t n, cap;
    uint32_t *start, *end;    /* same capacity; only with offsets */
    uint8_t *type;            /* same capacity; only with types */
    size_t pair_from;         /* set by vc_tok_encode_pair: first token of the second text */
    bool with_offsets, with_types, failed;
};
bool vc_ids_push(struct vc_ids *ids, int32_t id, uint32_t start, uint32_t end);
void vc_ids_free(struct vc_ids *ids);

/* Appends the ids of text[0 … n) to out. */
vc_status vc_tok_encode(const struct vc_tokenizer *t, const char *text, size_t n, int flags, struct vc_ids *out, vc_err *err);
/* Two texts by the pair template of the tokenizer (one after the other where it has none). Offsets are those of the text
 * that the token is from. */
vc_status vc_tok_encode_pair(const struct vc_tokenizer *t, const vc_str text[2], int flags, struct vc_ids *out, vc_err *err);
/* Appends the text of ids to out, always valid UTF-8: bytes that form no character become U+FFFD. */
vc_status vc_tok_decode(const struct vc_tokenizer *t, const int32_t *ids, size_t n, bool skip_special, struct vc_buf *out, vc_err *err);

/* Incremental decoding: the pieces and the flush of finish, put together, are the whole decode of all pushed ids.
 * A piece never ends in the middle of a character. One owner thread; t must outlive it. */
struct vc_detok {
    const struct vc_tokenizer *t;
    bool skip_special;
    struct vc_ids window;      /* ids whose text is not certain yet, after those of the piece before */
    size_t window_prefix;      /* ids of the piece before */
    struct vc_buf prefix;      /* their text, as decoded alone */
    struct vc_buf pending;     /* bytes held back where decoding is a concatenation of bytes */
    struct vc_buf work;
};
void vc_detok_init(struct vc_detok *d, const struct vc_tokenizer *t, bool skip_special);
vc_status vc_detok_push(struct vc_detok *d, int32_t id, struct vc_buf *out, vc_err *err);
vc_status vc_detok_finish(struct vc_detok *d, struct vc_buf *out, vc_err *err);    /* flushes; d is as after init */
void vc_detok_free(struct vc_detok *d);

int32_t vc_tok_bos(const struct vc_tokenizer *t);                     /* -1: none */
int32_t vc_tok_eos(const struct vc_tokenizer *t);                     /* -1: none */
uint32_t vc_tok_size(const struct vc_tokenizer *t);                   /* highest id + 1 */
vc_str vc_tok_text(const struct vc_tokenizer *t, int32_t id);         /* as the vocabulary spells it ("Ġthe"); empty: unused id */
bool vc_tok_is_special(const struct vc_tokenizer *t, int32_t id);
int32_t vc_tok_find(const struct vc_tokenizer *t, const char *text, size_t n);    /* by vocabulary spelling; -1: none */
/* Appends the bytes that the token stands for in running text (" the"); may be a part of a character. */
vc_status vc_tok_piece(const struct vc_tokenizer *t, int32_t id, struct vc_buf *out, vc_err *err);
/* Whether special tokens in a text are looked for by the library that the format comes from. SentencePiece and Tekken never
 * do; a chat template's text still needs VC_ENC_PARSE_SPECIAL. */
bool vc_tok_parses_special(const struct vc_tokenizer *t);
const char *vc_tok_chat_template(const struct vc_tokenizer *t);       /* NULL: none */
/* An object like tokenizer_config.json: that of the file where it has one, without places of files, special tokens as texts;
 * what it lacks from the vocabulary. A new reference. */
vc_status vc_tok_info(const struct vc_tokenizer *t, json_t **out, vc_err *err);
/* "bpe", "byte-level bpe", "sentencepiece bpe", "unigram", "wordpiece", "word level", "rwkv", "plamo2" */
const char *vc_tok_kind(const struct vc_tokenizer *t);

#endif
