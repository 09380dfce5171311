/* SPDX-License-Identifier: Apache-2.0
 * grammar.h: constrained output. A grammar says which texts are allowed; a matcher follows one text through it and says
 * which tokens may come next. A grammar and a vocabulary are shared by any number of matchers and threads (their caches
 * are under locks of their own); a matcher has one owner thread.
 * A token is allowed iff the text so far and its bytes can be continued to an accepted text; special tokens never are;
 * end-of-sequence ids are allowed iff the text so far is accepted. */
#ifndef VC_TEXT_GRAMMAR_H
#define VC_TEXT_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct vc_tokenizer;
struct vc_grammar;
struct vc_grammar_vocab;
struct vc_matcher;

enum vc_grammar_kind {
    VC_GRAMMAR_JSON_SCHEMA,       /* JSON Schema, draft 2020-12 */
    VC_GRAMMAR_JSON_OBJECT,       /* any JSON object; spec is not read */
    VC_GRAMMAR_REGEX,             /* the whole text matches */
    VC_GRAMMAR_CHOICE,            /* JSON array of strings: one of them */
    VC_GRAMMAR_EBNF,              /* GBNF; the rule "root" is the text */
    VC_GRAMMAR_STRUCTURAL_TAG     /* free text with parts that follow a grammar */
};
/* "json_schema", "json_object", "regex", "choice", "grammar", "structural_tag"; -1: unknown. */
int vc_grammar_kind_of(const char *name);
const char *vc_grammar_kind_name(enum vc_grammar_kind kind);

/* Budgets; 0 takes the default. Exceeding one is VC_E_INVALID with a text that names it. */
struct vc_gram_limits {
    uint32_t nodes;          /* nodes of the grammar while it is built; default 4,000,000 */
    uint32_t states;         /* states of the automaton; default 1,000,000 */
    uint64_t memory_bytes;   /* one compiled grammar with its caches; default 256 MiB */
    uint32_t time_ms;        /* compiling; default 5000 */
    uint32_t depth;          /* nesting of groups, schemas, rules' bodies; default 1000 */
    uint32_t items;          /* parallel ways through the grammar at one position of a text; default 65536 */
};

enum { VC_GRAMMAR_WS_DEFAULT = -2, VC_GRAMMAR_WS_ANY = -1, VC_GRAMMAR_WS_COMPACT = 0 };
struct vc_grammar_options {
    int whitespace; /* JSON: characters of white space at one place: DEFAULT (32), ANY, COMPACT, or a number */
    struct vc_gram_limits limits;
};

/* Where a spec was refused. */
struct vc_grammar_where {
    char keyword[64];        /* JSON schema keyword, or "" */
    char path[512];          /* JSON pointer of the schema, cut to fit */
};

/* Compiles a spec; spec[0 … n) is not kept. opt and where may be NULL (all defaults). VC_E_INVALID: not a spec of
 * that kind, or nothing can match, or a budget; VC_E_UNSUPPORTED: valid, but not enforceable here. Both name the
 * place. */
vc_status vc_grammar_compile(struct vc_grammar **out, enum vc_grammar_kind kind, const char *spec, size_t n,
                             const struct vc_grammar_options *opt, struct vc_grammar_where *where, vc_err *err);
struct vc_grammar *vc_grammar_ref(struct vc_grammar *g);
void vc_grammar_unref(struct vc_grammar *g);             /* NULL is allowed; from any thread */

/* The vocabulary as a trie of bytes, made once per model. t is needed only during the call; eos ids are copied. */
vc_status vc_grammar_tokens(struct vc_grammar_vocab **out, const struct vc_tokenizer *t, const int32_t *eos,
                            size_t n_eos, vc_err *err);
/* The same from a list: bytes[i], len[i] of id i (len 0: never allowed). */
vc_status vc_grammar_vocab_new(struct vc_grammar_vocab **out, const char *const *bytes, const uint32_t *len, uint32_t n,
                               const int32_t *eos, size_t n_eos, vc_err *err);
void vc_grammar_vocab_del(struct vc_grammar_vocab *v);   /* after all matchers over it */
uint32_t vc_grammar_vocab_size(const struct vc_grammar_vocab *v);
size_t vc_grammar_mask_words(const struct vc_grammar_vocab *v);     /* uint32_t words of a mask */

/* Prepares what does not depend on the text (part of compiling; optional: a mask prepares what it misses). */
vc_status vc_grammar_prepare(struct vc_grammar *g, struct vc_grammar_vocab *v, vc_err *err);

/* v may be NULL where no tokens are asked for. The matcher keeps a reference to g and borrows v. */
vc_status vc_matcher_new(struct vc_matcher **out, struct vc_grammar *g, struct vc_grammar_vocab *v, vc_err *err);
vc_status vc_matcher_clone(struct vc_matcher **out, const struct vc_matcher *m, vc_err *err);
void vc_matcher_del(struct vc_matcher *m);
void vc_matcher_reset(struct vc_matcher *m);             /* back to the empty text */

/* false: not allowed, and nothing has changed. An end-of-sequence id is taken iff the text is accepted; afterwards
 * the matcher is done and takes nothing more. A token or a call of accept_bytes is one step for rollback. */
bool vc_matcher_accept_token(struct vc_matcher *m, int32_t id);
bool vc_matcher_accept_bytes(struct vc_matcher *m, const char *p, size_t n);
/* How many of the bytes could be taken; changes nothing. */
size_t vc_matcher_prefix(struct vc_matcher *m, const char *p, size_t n);
/* Takes back the last n steps; false and no change when fewer are kept (at least 1024 are). */
bool vc_matcher_rollback(struct vc_matcher *m, size_t n);
bool vc_matcher_accepting(const struct vc_matcher *m);   /* the text so far is accepted */
bool vc_matcher_done(const struct vc_matcher *m);        /* an end-of-sequence id was taken, or the text can't go on */
/* Bit i%32 of word i/32 is set iff id i may come next. Writes vc_grammar_mask_words words. */
vc_status vc_matcher_mask(struct vc_matcher *m, uint32_t *bits, vc_err *err);
/* Jump-forward: bytes that must come next whatever is chosen; at most cap are written. 0 where the text may end or
 * fork. */
size_t vc_matcher_forced(struct vc_matcher *m, char *dst, size_t cap);
/* The only id of the mask, or -1 when it has none or several. */
vc_status vc_matcher_forced_token(struct vc_matcher *m, int32_t *id, vc_err *err);

/* For tests and benchmarks. */
struct vc_grammar_stats {
    uint64_t states, configs, masks, mask_hits, lexemes, cache_bytes;
};
void vc_grammar_stats(struct vc_grammar *g, struct vc_grammar_stats *out);

#endif
