/* SPDX-License-Identifier: Apache-2.0
 * gram_int.h: what the files of the grammar core share. Nodes (gram_node.c) become an NFA with calls and counted
 * sites (gram_nfa.c, gram_frag.c, gram_product.c); it is run as sets of (state, stack set) pairs, made when they are
 * first met and kept (gram_conf.c); masks come from walks of the vocabulary's trie (gram_vocab.c, gram_mask.c) and
 * from loops analysed once per vocabulary (gram_lexeme.c). */
#ifndef VC_TEXT_GRAM_INT_H
#define VC_TEXT_GRAM_INT_H

#include <pthread.h>

#include "base/str.h"
#include "text/gram/gram_build.h"

/* ---- growing arrays: false when memory is out ---- */
bool vc_gram_grow(void **p, size_t n, size_t *cap, size_t elem);
#define VC_GRAM_ROOM(p, n, cap) ((n) < (cap) || vc_gram_grow((void **)&(p), (n) + 1, &(cap), sizeof *(p)))

/* ---- nodes ---- */
enum gnode_kind { GN_FAILED, GN_EMPTY, GN_TEXT, GN_CLASS, GN_SEQ, GN_ALT, GN_REPEAT, GN_RULE, GN_BOTH, GN_MINUS };
enum { GN_NULLABLE = 1, GN_RULES = 2, GN_COUNTED = 4, GN_SITE = 8, GN_DEFINED = 16, GN_EXACT = 32 };
/* COUNTED: a repeat with real counts is inside that is not unrolled; SITE: one with a frame of its own (COUNTED or
 * heavy). */
struct gnode {
    uint8_t kind, flags;
    /* TEXT: bytes; CLASS: ranges; SEQ, ALT, BOTH, MINUS, REPEAT, RULE: kids (body of a rule, 0: none) */
    uint32_t off, n;
    uint32_t min, max;          /* REPEAT; RULE: offset and length of its name */
    uint32_t size;              /* states it takes, about; saturates */
    uint32_t first[8];          /* bytes that a text may begin with; too many never hurt */
};

/* ---- NFA ---- */
enum { NE_BYTE, NE_EPS, NE_CALL, NE_ENTER, NE_INC, NE_EXIT };
struct nedge {
    uint32_t from, to, arg;     /* CALL: rule; ENTER, INC, EXIT: site */
    uint8_t kind, lo, hi;
};
/* Which counts let a state of a product come to an end: state is in row k iff the exit is reached after exactly k
 * more rounds. Rows repeat from `wrap` on with period n_rows - wrap (n_rows == wrap: all later rows are empty). */
struct nlive {
    uint64_t *rows;             /* owned; n_rows x words */
    uint32_t n_rows, wrap, words;
};
enum { NS_HEAVY = 1, NS_LIVE = 2, NS_EXACT = 4 };
struct nsite {
    uint32_t min, max, flags;
    uint32_t node;              /* body, when HEAVY */
    uint32_t body, exit_to;     /* first state of the body; where EXIT goes (HEAVY) */
    struct nlive live;          /* LIVE */
};
struct nrule { uint32_t start, final, node; };
struct nfa {
    struct nedge *edges; size_t n_edges, cap_edges;
    uint32_t n_states;
    struct nsite *sites; size_t n_sites, cap_sites;
    struct nrule *rules; size_t n_rules, cap_rules;
    /* states of products inside a LIVE site */
    struct nmark { uint32_t state, site, bit; } *marks; size_t n_marks, cap_marks;
};
void vc_nfa_free(struct nfa *a);

struct vc_gram {
    struct vc_gram_limits lim;
    uint64_t end_ns;
    uint32_t ticks;
    vc_err err;                                     /* first failure */
    struct gnode *nodes; size_t n_nodes, cap_nodes;
    uint32_t *kids; size_t n_kids, cap_kids;
    struct vc_gram_range *ranges; size_t n_ranges, cap_ranges;
    char *bytes; size_t n_bytes, cap_bytes;
    uint32_t *table; size_t cap_table;              /* hash of nodes, open addressing */
    /* while compiling */
    uint32_t *rule_of; size_t n_rule_of;            /* node -> rule + 1 */
    uint32_t *uses; size_t n_uses;
    uint32_t *nonnull; size_t n_nonnull;            /* node -> node without the empty text */
    struct nfa nfa;
    uint32_t total_states;                          /* of all NFAs made so far, products' too */
    uint32_t product_depth;
    bool compiled;
};
/* Sets the first failure; returns 0. */
vc_gram_node vc_gram_fail(struct vc_gram *g, vc_status s, const char *fmt, ...) VC_PRINTF(3, 4);
static inline const struct gnode *gnode_at(const struct vc_gram *g, vc_gram_node x) { return &g->nodes[x]; }
void vc_gram_name_rule(struct vc_gram *g, vc_gram_node rule, const char *name, size_t n);
bool vc_gram_settle(struct vc_gram *g);                         /* nullability of nodes with rules */
vc_gram_node vc_gram_nonnull(struct vc_gram *g, vc_gram_node x);
/* A site of 0 … many rounds; counted: that keeps every count. */
vc_gram_node vc_gram_exact_loop(struct vc_gram *g, vc_gram_node x, bool counted);
bool vc_gram_unroll(const struct vc_gram *g, const struct gnode *x);    /* a repeat that is written out */
/* Copy of x (no rules inside) into another builder. */
vc_gram_node vc_gram_copy(struct vc_gram *to, struct vc_gram *from, vc_gram_node x);
/* A text that is equal for equal graphs (no rules inside). */
bool vc_gram_canon(const struct vc_gram *g, vc_gram_node x, struct vc_buf *out);

/* One character's ranges as byte sequences: calls fn for each with up to 4 byte ranges. */
typedef bool vc_utf8_seq_fn(void *ctx, const uint8_t (*seq)[2], unsigned n);
bool vc_utf8_ranges(uint32_t first, uint32_t last, vc_utf8_seq_fn *fn, void *ctx);

/* Fragment of node x between two states of a. unroll: no sites, no outlined rules; part: no outlined rules, heavy loops
 * as plain loops. */
enum { FR_PART = 1, FR_UNROLL = 2 };
bool vc_nfa_state(struct vc_gram *g, struct nfa *a, uint32_t *s);
bool vc_nfa_edge(struct vc_gram *g, struct nfa *a, struct nedge e);
bool vc_nfa_site(struct vc_gram *g, struct nfa *a, struct nsite s, uint32_t *site);
bool vc_nfa_fragment(struct vc_gram *g, struct nfa *a, vc_gram_node x, uint32_t s, uint32_t t, int flags);
bool vc_nfa_product(struct vc_gram *g, struct nfa *a, const struct gnode *x, uint32_t s, uint32_t t, int flags);
bool vc_nfa_live(const struct nsite *site, uint32_t bit, uint32_t count);
/* Marks the states that can reach the end of their rule. live: n_states bytes. */
bool vc_nfa_trim(const struct nfa *a, uint8_t *live);
vc_status vc_nfa_left_recursion(struct vc_gram *g, vc_err *err);

/* ---- running ---- */
struct gframe { uint32_t code, count, parent; };    /* code: state to return to, GF_SITE | site, or GF_END */
#define GF_SITE 0x80000000u
#define GF_END 0x7FFFFFFFu
struct gset { uint32_t off, n, hash, far; };         /* far: see gconf */
struct gitem { uint32_t state, set; };
struct gconf {
    uint32_t off, n, hash;      /* items */
    uint32_t rest;              /* config of the items outside heavy loops, GC_NONE: not made yet */
    uint32_t far;               /* config that no token of row_vocab tells from it; GC_NONE: not made yet */
    uint32_t *next;             /* per byte class; NULL: none known */
    uint32_t *row;              /* mask, NULL: not kept */
    bool accepting, loops_known;
    uint64_t loops; /* groups of bytes (vc_byte_group) that lead back to it; GC_UTF8: all other characters do */
};
#define GC_NONE UINT32_MAX
#define GC_DEAD 0u

struct gstate { uint32_t edge, n_edges, n_bytes, mark, lex; uint8_t bytes, final, tail; };
/* edge, n_edges: into edges, the n_bytes with bytes first; mark: index + 1 of nmark; lex: heavy site + 1 whose body
 * begins here */

struct vc_grammar {
    pthread_mutex_t *lock;      /* owned */
    uint32_t refs;              /* under lock */
    struct vc_gram *g;          /* nodes; owned */
    struct gstate *states; uint32_t n_states;
    struct nedge *edges;        /* by state, bytes first */
    size_t n_edges;
    uint32_t start;             /* first state of the root rule */
    uint8_t cls[256]; uint32_t n_cls;           /* byte -> class */
    uint8_t rep[256]; uint32_t width[256];      /* a byte and the number of bytes of each class */
    struct gset *sets; size_t n_sets, cap_sets;
    struct gframe *frames; size_t n_frames, cap_frames;
    struct gconf *confs; size_t n_confs, cap_confs;
    struct gitem *items; size_t n_items, cap_items;
    uint32_t *set_table; size_t cap_set_table;
    uint32_t *conf_table; size_t cap_conf_table;
    struct gunion { uint32_t a, b, r; } *unions; size_t cap_unions;      /* direct-mapped memo */
    /* closure work */
    struct gitem *work; size_t n_work, cap_work;
    struct gitem *found; size_t n_found, cap_found;
    struct gseen { uint64_t key; uint32_t stamp; } *seen; size_t n_seen, cap_seen; uint32_t stamp;
    struct gframe *tmp; size_t n_tmp, cap_tmp;
    uint64_t n_next, row_bytes, collect_at;     /* tables of next configs; bytes of rows; when to collect */
    uint64_t budget;                            /* memory in all */
    uint32_t *row_queue; size_t n_queue, cap_queue, queue_head;     /* configs with rows, oldest first */
    uint32_t initial;
    const char *failed;         /* a budget that the last operation exceeded */
    const struct vc_grammar_vocab *row_vocab;   /* whose rows and lexemes are kept */
    struct gsite { struct vc_lexeme *lex; uint64_t follow[4]; } *lexemes;     /* per site, the one used last */
    uint32_t *path; size_t cap_path;            /* configs of a walk, by level */
    struct vc_matcher *matchers;
    uint64_t masks, mask_hits, walked;          /* walked: nodes of the trie by masks */
};
/* All under the lock. GC_NONE: a budget or memory ran out (failed says which). */
vc_status vc_conf_init(struct vc_grammar *r, vc_err *err);
uint32_t vc_conf_step(struct vc_grammar *r, uint32_t conf, unsigned cls);
uint32_t vc_conf_closure(struct vc_grammar *r, const struct gitem *v, size_t n);
uint32_t vc_conf_intern(struct vc_grammar *r, const struct gitem *v, size_t n, bool accepting);
/* The set of the frames (any order; changed by the call). */
uint32_t vc_set_intern(struct vc_grammar *r, struct gframe *v, size_t n);
uint32_t vc_set_union(struct vc_grammar *r, uint32_t a, uint32_t b);
uint64_t vc_conf_bytes(const struct vc_grammar *r);
void vc_conf_drop_rows(struct vc_grammar *r);
/* Frees what no matcher needs when the budget is near. */
void vc_conf_collect(struct vc_grammar *r);
void vc_conf_free(struct vc_grammar *r);
/* Groups of bytes for quick tests: most ASCII characters alone, GC_UTF8 for all bytes above. */
#define GC_UTF8 (1ull << 63)
#define GC_BROKEN (1ull << 62)     /* of a subtree: bytes that are no UTF-8 from its node on */
uint64_t vc_byte_group(unsigned byte);
/* confs[conf].loops, worked out when first asked for; 0 also when memory or a budget ran out. */
uint64_t vc_conf_loops(struct vc_grammar *r, uint32_t conf);
static inline uint32_t vc_conf_next(struct vc_grammar *r, uint32_t conf, unsigned cls) {
    const uint32_t *next = r->confs[conf].next;
    if (VC_LIKELY(next && next[cls] != GC_NONE)) return next[cls];
    return vc_conf_step(r, conf, cls);
}

/* ---- vocabulary ---- */
struct vc_lexeme {
    struct vc_lexeme *chain;
    char *canon; size_t n_canon;        /* body's canonical text */
    uint64_t follow[4];                 /* bytes that may follow the loop */
    bool counted;                       /* rounds matter; else need is 0 for all and lo, hi are nothing */
    bool unusable;                      /* counts at an exit are no interval: walk instead */
    uint32_t max_need;
    uint32_t *full;                     /* tokens that stay in the loop, whatever they need */
    uint32_t *order; uint32_t *upto;    /* tokens by need; upto[r]: how many need at most r rounds */
    uint32_t **rows;                    /* per r < max_need, made when first asked for */
    struct vc_cand { uint32_t node; uint16_t lo, hi; } *cands; size_t n_cands, cap_cands;
};
struct vc_grammar_vocab {
    uint32_t size, words;
    char *blob; uint32_t *off;          /* bytes of each id: off[i] … off[i + 1] */
    /* trie in preorder */
    uint32_t n_nodes, depth;
    uint8_t *byte; uint16_t *level; uint32_t *end, *tok;
    uint32_t *same;                     /* next id with the same bytes */
    uint64_t *cover;                    /* groups of the bytes below each node */
    uint32_t *first, *order;            /* tokens in the order of nodes; how many stand before each node */
    uint16_t *leads;                    /* of each in that order: its bytes that begin a character */
    uint32_t *all;                      /* mask of all of them */
    int32_t *eos; size_t n_eos;
    pthread_mutex_t lock;               /* lexemes */
    struct vc_lexeme *lexemes;
    uint64_t lexeme_bytes; uint32_t n_lexemes;
};
#define VC_NO_TOKEN UINT32_MAX
/* The analysis of a loop over this vocabulary, made when first asked for; NULL: memory. Lives as long as the
 * vocabulary. */
struct vc_lexeme *vc_lexeme_get(struct vc_grammar_vocab *v, struct vc_gram *g, vc_gram_node body, bool counted,
                                const uint64_t follow[4], vc_err *err);
const uint32_t *vc_lexeme_row(struct vc_grammar_vocab *v, struct vc_lexeme *l, uint32_t rounds);
void vc_lexeme_free_all(struct vc_grammar_vocab *v);

struct vc_matcher {
    struct vc_matcher *prev, *next;     /* list of the grammar */
    struct vc_grammar *g;               /* a reference */
    struct vc_grammar_vocab *v;         /* borrowed */
    uint32_t *hist; size_t n, cap;      /* config after each step; hist[0] is the oldest kept */
    bool ended;                         /* an end-of-sequence id is the last step */
};
/* A config with the same mask: counts that no token brings to a border of their repeat are all one count. len: bytes
 * of the longest token. */
uint32_t vc_conf_far(struct vc_grammar *r, uint32_t conf, uint32_t len);
/* Mask without end-of-sequence ids. */
vc_status vc_mask_fill(struct vc_grammar *r, struct vc_grammar_vocab *v, uint32_t conf, uint32_t *bits, vc_err *err);
vc_status vc_mask_prepare(struct vc_grammar *r, struct vc_grammar_vocab *v, vc_err *err);

#endif
