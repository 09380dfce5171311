/* SPDX-License-Identifier: Apache-2.0
 * tok_int.h: what a tokenizer is made of, for the files of this room that load and run it.
 * A text passes: added tokens cut out → normalizer steps → added tokens of the normalized kind cut out → pre-tokenizer
 * steps → model per word → post-processor. Every component is one row of a table in tok_parts.c (JSON) or set by
 * tok_gguf.c. Everything here is written while loading and only read afterwards, but for the list of scratch. */
#ifndef VC_TEXT_TOK_INT_H
#define VC_TEXT_TOK_INT_H

#include <pthread.h>

#include "base/arena.h"
#include "text/tok/tok_charsmap.h"
#include "text/tok/tok_map.h"
#include "text/tok/tok_regex.h"
#include "text/tokenizer.h"

enum vc_tok_split { VC_SPLIT_REMOVED, VC_SPLIT_ISOLATED, VC_SPLIT_PREVIOUS, VC_SPLIT_NEXT, VC_SPLIT_CONTIGUOUS };

/* What a step looks for: one of a regex, a literal text, or a class of characters. */
struct vc_tok_pattern {
    struct vc_tok_regex *regex;      /* owned by the tokenizer's list */
    vc_str text;                     /* when regex and is are NULL */
    bool (*is)(uint32_t cp);
};

enum vc_tok_norm_kind {
    VC_NORM_NFC, VC_NORM_NFD, VC_NORM_NFKC, VC_NORM_NFKD, VC_NORM_LOWER, VC_NORM_ACCENTS, VC_NORM_STRIP,
    VC_NORM_PREPEND, VC_NORM_REPLACE, VC_NORM_BYTES, VC_NORM_CLEAN, VC_NORM_CHINESE, VC_NORM_NONSPACING, VC_NORM_NMT,
    VC_NORM_CHARSMAP, VC_NORM_SENTENCEPIECE, VC_NORM_FIRST_OF_NFD, VC_NORM_CONTROL
};
/* How a SentencePiece normalizer treats spaces; UGM: as llama.cpp's unigram tokenizer does, else as SentencePiece. */
enum { VC_SP_DUMMY = 1, VC_SP_MERGE = 2, VC_SP_ESCAPE = 4, VC_SP_SUFFIX = 8, VC_SP_UGM = 16 };
struct vc_tok_norm {
    enum vc_tok_norm_kind kind;
    bool left, right;                /* STRIP */
    unsigned flags;                  /* SENTENCEPIECE */
    vc_str text;                     /* PREPEND, REPLACE: what is put in */
    struct vc_tok_pattern pattern;   /* REPLACE */
    struct vc_charsmap map;          /* CHARSMAP, SENTENCEPIECE */
    const struct vc_trie *keep;      /* SENTENCEPIECE: texts that stay as they are; NULL: none */
};

enum vc_tok_pre_kind { VC_PRE_SPLIT, VC_PRE_SPACE, VC_PRE_BYTES, VC_PRE_METASPACE, VC_PRE_FIXED, VC_PRE_SCRIPTS, VC_PRE_DIGITS };
enum { VC_PREPEND_NEVER, VC_PREPEND_FIRST, VC_PREPEND_ALWAYS };
struct vc_tok_pre {
    enum vc_tok_pre_kind kind;
    struct vc_tok_pattern pattern;   /* SPLIT */
    enum vc_tok_split behavior;
    bool invert;                     /* SPLIT; DIGITS: see digits_step */
    vc_str text;                     /* METASPACE: the replacement */
    int prepend;                     /* METASPACE */
    uint32_t length;                 /* FIXED: characters */
};

enum vc_tok_dec_kind {
    VC_DEC_BYTELEVEL, VC_DEC_BYTEFALLBACK, VC_DEC_FUSE, VC_DEC_STRIP, VC_DEC_REPLACE, VC_DEC_METASPACE, VC_DEC_SUFFIX, VC_DEC_WORDPIECE, VC_DEC_CTC
};
struct vc_tok_dec {
    enum vc_tok_dec_kind kind;
    vc_str text;                     /* STRIP: the character; REPLACE: what is put in; METASPACE: replacement; SUFFIX; WORDPIECE: prefix; CTC: pad */
    vc_str delimiter;                /* CTC: stands for a space */
    bool cleanup;                    /* WORDPIECE, CTC */
    uint32_t start, stop;            /* STRIP */
    int prepend;                     /* METASPACE */
    struct vc_tok_pattern pattern;   /* REPLACE */
};

/* A part of the template of two texts: text 0 or 1, or (text -1) a token. */
struct vc_tok_part { int32_t text, id; uint8_t type; };

/* How ids become text: pieces of bytes put together, the chain of steps, or texts joined by a space (no decoder). */
enum vc_tok_decode { VC_DECODE_PIECES, VC_DECODE_CHAIN, VC_DECODE_JOIN };

/* Of the first token one leading space is dropped (FIRST), or one of the first that shows anything (SHOWN), or of every
 * token until something is shown (ALL). */
enum vc_tok_strip { VC_STRIP_NONE, VC_STRIP_FIRST, VC_STRIP_SHOWN, VC_STRIP_ALL };

enum { VC_ADDED_LSTRIP = 1, VC_ADDED_RSTRIP = 2, VC_ADDED_WORD = 4, VC_ADDED_SPECIAL = 8 };
struct vc_tok_added { int32_t id; uint8_t flags; vc_str text; };
struct vc_tok_added_set {
    struct vc_tok_added *v;          /* in the arena */
    size_t n;
    struct vc_trie trie;             /* text → index in v */
    bool longest_first;              /* llama.cpp: of overlapping matches the longest wins, not the leftmost */
    bool ascii_space;                /* LSTRIP and RSTRIP take C's isspace only */
};

enum vc_tok_model { VC_MODEL_BPE, VC_MODEL_SPM, VC_MODEL_UNIGRAM, VC_MODEL_WORDPIECE, VC_MODEL_WORDLEVEL, VC_MODEL_GREEDY, VC_MODEL_PLAMO2 };
enum { VC_TOKF_SPECIAL = 1, VC_TOKF_ADDED = 2, VC_TOKF_USED = 4 };

/* Byte-pair merges. In byte mode symbols are bytes and words are raw bytes, else symbols are characters. */
struct vc_tok_bpe {
    bool bytes;                      /* the ByteLevel alphabet is folded away: keys of `map` are raw bytes */
    bool byte_fallback, fuse_unk, ignore_merges;
    bool pieces_by_byte;             /* llama.cpp: a symbol that is no token becomes the tokens of its bytes */
    bool whole_newlines;             /* a word of newlines alone that is a token stays whole */
    bool unknown_runs;               /* SentencePiece: symbols that are no piece become bytes or, a run of them, one unknown piece */
    bool cut_spaces;                 /* words are cut before each "▁" behind another character, which changes no result … */
    bool spanned[256];               /* … but not where the byte before it is one that tokens with "x▁" in them have there */
    int32_t unk;                     /* -1: none */
    vc_str prefix, suffix;           /* continuing_subword_prefix, end_of_word_suffix */
    const struct vc_text_map *map;   /* symbol or token → id; ids ≥ the vocabulary's size are symbols that are no token */
    struct vc_text_map own;          /* what map points at, where that is not by_text */
    struct vc_pair_map pairs;
    int32_t byte_id[256];            /* byte mode: id of the single byte, -1 none; else of "<0xNN>" */
    const uint32_t *order;           /* SPM: by id, smaller is merged sooner (the score, mapped to an ordered integer) */
    uint32_t max_len;                /* SPM: bytes of the longest token */
};

/* Unigram language model (Kudo 2018): the path of highest score, by Viterbi. score[id] is what a piece adds. */
struct vc_tok_unigram {
    struct vc_trie trie;             /* text → id of the pieces that may be chosen */
    double *score, unk_score;        /* by id, in the arena */
    bool f32;                        /* sums are rounded to f32, as SentencePiece has them */
    bool byte_fallback;
    bool by_text;                    /* a run of unknown characters is looked up as a whole, as the tokenizers crate does */
    const int64_t *cost;             /* PLAMO2: -round(score · 10^4) by id */
};

/* Longest piece first, from the left. */
struct vc_tok_greedy {
    struct vc_trie start, rest;      /* pieces that begin a word; that continue one */
    bool one_trie;                   /* `start` for both */
    vc_str lead;                     /* is put before each word */
    uint32_t max_chars;              /* a word of more characters is unknown */
};

struct vc_tok_scratch;

struct vc_tokenizer {
    struct vc_arena arena;
    char *name;                      /* file, for error text */
    char *config;                    /* tokenizer_config.json beside it, in the arena; NULL: a GGUF file */
    const char *kind;
    enum vc_tok_model model;
    struct vc_tok_bpe bpe;           /* unk and byte_id are those of every model */
    struct vc_tok_unigram uni;
    struct vc_tok_greedy greedy;

    uint32_t size;                   /* ids 0 … size-1 */
    vc_str *text, *piece;            /* by id: the vocabulary's spelling; the bytes in running text (DECODE_PIECES) */
    uint8_t *flags;
    struct vc_text_map by_text;

    struct vc_tok_added_set added[2];    /* matched in the text as it is; matched after normalizing */
    struct vc_tok_norm *norm;
    struct vc_tok_pre *pre;
    struct vc_tok_dec *dec;
    uint32_t num_norm, num_pre, num_dec;
    enum vc_tok_decode decode;
    enum vc_tok_strip strip_first;   /* DECODE_PIECES: leading space */
    bool clean_spaces;               /* DECODE_PIECES: " ." becomes "." and so on (llama.cpp's clean_spaces) */
    bool plain_text;                 /* the format's own library never looks for special tokens in a text */
    bool trim_offsets, trim_keeps_first;
    bool needs_places;               /* a step asks where a word comes from */
    int32_t *before, *after;         /* the template's ids around a text */
    uint32_t num_before, num_after;
    struct vc_tok_part *pair;        /* the template of two texts; NULL: one after the other */
    uint32_t num_pair;
    bool templated;                  /* a post-processor that adds tokens is there */
    struct vc_tok_regex *regexes;    /* list, owned */

    int32_t bos, eos;
    char *chat_template;             /* in the arena, or NULL */
    struct vc_trie keep;             /* what vc_tok_norm.keep points at */

    pthread_mutex_t lock;            /* of the list below only */
    struct vc_tok_scratch *scratch;
};

/* A text on its way: bytes, and where each of them came from. While `at` is NULL byte i is byte base + i of the
 * original. */
struct vc_tok_place { uint32_t start, end; };
struct vc_tok_view { const char *p; size_t n; const struct vc_tok_place *at; uint32_t base; };
struct vc_tok_store { char *p; struct vc_tok_place *at; size_t n, cap, at_cap; };

struct vc_tok_seg { uint32_t start, end; bool first; };   /* a word: bytes of the view; first: begins at byte 0 of the original text */
struct vc_tok_segs { struct vc_tok_seg *v; size_t n, cap; };
struct vc_tok_sym { int32_t id; uint32_t at, len; int32_t prev, next; uint32_t pair_rank; int32_t pair_id; };   /* at: in the word */
struct vc_tok_best { double score; int32_t id; uint32_t from; };
struct vc_tok_found { uint32_t start, end, added; };

enum { VC_TOK_CACHE_SLOTS = 8192, VC_TOK_CACHE_KEY = 40, VC_TOK_CACHE_IDS = 10 };
struct vc_tok_cached {
    uint32_t tag;
    uint8_t klen, n;                 /* n ids; klen 0: empty */
    uint8_t at[VC_TOK_CACHE_IDS], len[VC_TOK_CACHE_IDS];
    char key[VC_TOK_CACHE_KEY];
    int32_t id[VC_TOK_CACHE_IDS];
};

/* Memory of one encoding at a time; taken from and given back to the tokenizer's list. */
struct vc_tok_scratch {
    struct vc_tok_scratch *next;
    struct vc_regex_run run;
    const char *orig;
    size_t orig_n;
    bool offsets, failed;
    struct vc_tok_store norm[2], pre[2];
    struct vc_tok_segs segs[2];
    struct vc_tok_found *found;
    size_t num_found, cap_found;
    uint8_t *taken;
    size_t cap_taken;
    struct { uint32_t cp; int32_t change; } *cps;
    size_t cap_cps;
    struct vc_tok_sym *sym;
    size_t num_sym, cap_sym;
    uint64_t *heap;
    size_t num_heap, cap_heap;
    struct vc_tok_best *best;
    size_t cap_best;
    char *word;
    size_t cap_word;
    struct vc_tok_cached *cache;
};

struct vc_tok_place vc_tok_place_of(const struct vc_tok_scratch *s, const struct vc_tok_view *v, size_t i);
/* Grows *p to hold n elements of `size` bytes; false when memory is short (s->failed is then set). */
bool vc_tok_grow(struct vc_tok_scratch *s, void *p, size_t *cap, size_t n, size_t size);
bool vc_tok_put(struct vc_tok_scratch *s, struct vc_tok_store *o, const char *p, size_t n, struct vc_tok_place at);
bool vc_tok_put_view(struct vc_tok_scratch *s, struct vc_tok_store *o, const struct vc_tok_view *v, size_t from, size_t to);
struct vc_tok_view vc_tok_view_of(const struct vc_tok_scratch *s, const struct vc_tok_store *o);

/* tok_match.c: calls fn for the segments that pattern cuts text[0 … n) into, in order, matches and rests. */
typedef bool vc_tok_cut_fn(void *ctx, size_t start, size_t end, bool is_match);
vc_status vc_tok_cut(struct vc_tok_scratch *s, const struct vc_tok_pattern *pat, const char *text, size_t n, vc_tok_cut_fn *fn, void *ctx, vc_err *err);

/* tok_added.c */
vc_status vc_tok_added_build(struct vc_tok_added_set *set, vc_err *err);
/* Fills s->found with the matches in text, in order. */
vc_status vc_tok_added_find(struct vc_tok_scratch *s, const struct vc_tok_added_set *set, const char *text, size_t n, bool special, vc_err *err);

/* tok_norm.c, tok_pre.c: *v is replaced by a view of the result, which lives in the scratch. */
vc_status vc_tok_normalize(struct vc_tok_scratch *s, const struct vc_tok_norm *step, uint32_t n, struct vc_tok_view *v, vc_err *err);
vc_status vc_tok_pretokenize(struct vc_tok_scratch *s, const struct vc_tok_pre *step, uint32_t n, struct vc_tok_view *v, struct vc_tok_segs **out, vc_err *err);
/* Appends to o what s->cps[0 … n) makes of v: change 0 replaces the next character, 1 inserts, -k replaces and swallows k more. */
bool vc_tok_apply(struct vc_tok_scratch *s, const struct vc_tok_view *v, size_t n, struct vc_tok_store *o);
bool vc_tok_add_cp(struct vc_tok_scratch *s, size_t *n, uint32_t cp, int32_t change);
/* tok_norm_sp.c: steps CHARSMAP and SENTENCEPIECE. */
bool vc_tok_norm_charsmap(struct vc_tok_scratch *s, const struct vc_tok_norm *st, const struct vc_tok_view *v, struct vc_tok_store *o);
bool vc_tok_norm_sp(struct vc_tok_scratch *s, const struct vc_tok_norm *st, const struct vc_tok_view *v, struct vc_tok_store *o);
/* tok_norm_char.c: steps that look at one character at a time. */
bool vc_tok_norm_char(struct vc_tok_scratch *s, const struct vc_tok_norm *st, const struct vc_tok_view *v, struct vc_tok_store *o);
/* tok_script.c: script of a character, as UnicodeScripts sees it; 0: goes with any other. */
uint32_t vc_tok_script(uint32_t cp);

/* tok_model.c: the symbols of one word, in s->sym[0 … s->num_sym) without holes, prev and next unused. */
vc_status vc_tok_model_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n, vc_err *err);
bool vc_tok_push_sym(struct vc_tok_scratch *s, int32_t id, size_t at, size_t len);
/* The tokens of bytes p[0 … n) at `at` of the word, each of them `len` bytes long there; false if one is missing. */
bool vc_tok_push_bytes(struct vc_tok_scratch *s, const struct vc_tok_bpe *b, const char *p, size_t n, size_t at);
/* tok_bpe.c, tok_unigram.c, tok_greedy.c: one model each. */
void vc_tok_bpe_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n);
vc_status vc_tok_unigram_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n, vc_err *err);
void vc_tok_plamo2_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n);
vc_status vc_tok_wordpiece_word(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n, vc_err *err);
void vc_tok_greedy_text(const struct vc_tokenizer *t, struct vc_tok_scratch *s, const char *w, size_t n);
/* Higher scores first: the float's order as an unsigned integer's, reversed. */
uint32_t vc_tok_order_of(float score);
/* Finishes the tables once the vocabulary and the merges are in. */
void vc_tok_bpe_finish(struct vc_tokenizer *t);

/* tok_decode.c */
vc_status vc_tok_check_id(const struct vc_tokenizer *t, int32_t id, vc_err *err);
void vc_tok_lossy(struct vc_buf *out, const char *p, size_t n);   /* appends, each broken part as U+FFFD */
/* Appends the piece of a token; *first: whether a leading space may still be dropped. */
void vc_tok_add_piece(const struct vc_tokenizer *t, int32_t id, bool *first, struct vc_buf *raw);
/* llama.cpp's clean_spaces on out[from …). */
void vc_tok_clean(struct vc_buf *out, size_t from);

/* tok_parts.c, tok_parts_dec.c, tok_parts_post.c: one component each from its JSON description; path names it in errors. */
struct json_t;
typedef vc_status vc_tok_load_fn(struct vc_tokenizer *t, const struct json_t *j, const char *path, vc_err *err);
struct vc_tok_row { const char *type; vc_tok_load_fn *load; };
vc_tok_load_fn vc_tok_load_normalizer, vc_tok_load_pre, vc_tok_load_decoder, vc_tok_load_post;
vc_status vc_tok_load_pattern(struct vc_tokenizer *t, struct vc_tok_pattern *p, const char *regex, size_t n, vc_err *err);
/* Parts of the above: the row of j's type, the members of a Sequence, a string, a flag, a pattern, prepend_scheme. */
vc_status vc_tok_by_type(struct vc_tokenizer *t, const struct vc_tok_row *rows, size_t n, const char *what, const struct json_t *j, const char *path, vc_err *err);
vc_status vc_tok_sequence(struct vc_tokenizer *t, const struct json_t *j, const char *key, const char *path, vc_tok_load_fn *load, vc_err *err);
vc_status vc_tok_str_at(struct vc_tokenizer *t, const struct json_t *j, const char *key, vc_str *s, const char *path, vc_err *err);
vc_status vc_tok_flag_at(struct vc_tokenizer *t, const struct json_t *j, const char *key, bool *b, const char *path, vc_err *err);
vc_status vc_tok_pattern_at(struct vc_tokenizer *t, const struct json_t *j, struct vc_tok_pattern *p, const char *path, vc_err *err);
vc_status vc_tok_prepend_at(struct vc_tokenizer *t, const struct json_t *j, int *prepend, const char *path, vc_err *err);
vc_status vc_tok_add_norm(struct vc_tokenizer *t, struct vc_tok_norm n, vc_err *err);
vc_status vc_tok_add_pre(struct vc_tokenizer *t, struct vc_tok_pre p, vc_err *err);
int vc_tok_byte_piece(vc_str w);          /* the byte of "<0xNN>"; -1: w is none */
vc_status vc_tok_nomem(const struct vc_tokenizer *t, vc_err *err);

/* tok_json_model.c: model and vocabulary of tokenizer.json. */
vc_status vc_tok_load_model(struct vc_tokenizer *t, const struct json_t *root, vc_err *err);
/* Raw bytes of a text in the ByteLevel alphabet, in the arena; p NULL if it has other characters. */
vc_str vc_tok_raw_bytes(struct vc_tokenizer *t, vc_str w);

/* tok_tekken.c: t from the tree of a tekken.json. */
vc_status vc_tok_load_tekken(struct vc_tokenizer *t, const struct json_t *root, const char *path, vc_err *err);

/* tok_config.c: tokenizer_config.json and the other files beside path: BOS, EOS, chat template. add_bos, add_eos: what
 * the configuration says, else as they were. */
vc_status vc_tok_load_beside(struct vc_tokenizer *t, const char *path, bool *add_bos, bool *add_eos, vc_err *err);
/* BOS and EOS around a text. */
vc_status vc_tok_set_ends(struct vc_tokenizer *t, bool bos, bool eos, vc_err *err);

/* tok_encode.c */
void vc_tok_scratch_free(struct vc_tok_scratch *s);

/* tokenizer.c */
struct vc_tokenizer *vc_tokenizer_alloc(const char *name);
void *vc_tok_append(struct vc_tokenizer *t, void *v, uint32_t *n, size_t size);   /* arena array of steps, grown by one */
/* text, piece, flags for ids below n, cleared. */
vc_status vc_tok_set_size(struct vc_tokenizer *t, uint32_t n, vc_err *err);

#endif
