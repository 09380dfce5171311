/* SPDX-License-Identifier: Apache-2.0
 * api_int.h: what a vc_model is made of.
 * Two locks: `engine_lock` is held by whoever steps; `lock` guards the queues between callers and the engine. Taken in
 * that order. Requests belong to the engine side once they left `pending`. */
#ifndef VC_API_API_INT_H
#define VC_API_API_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "run/engine.h"
#include "text/chat_request.h"
#include "text/grammar.h"
#include "text/parser.h"
#include "text/template.h"
#include "text/tokenizer.h"

/* An output with its storage; recycled, so that a steady step allocates nothing. */
struct api_output {
    vc_output o;                           /* first: vc_output_free gets its address */
    struct api_output *next;
    struct api_pool *pool;
    int32_t token;
    float margin;
    struct vc_buf text, reasoning;
    struct vc_buf tool_text;               /* names and arguments of the deltas, each with a NUL; offsets until sent */
    vc_tool_delta *tools; uint32_t cap_tools;
    vc_logprob *logprobs; uint32_t cap_logprobs;
    vc_logprob *prompt_logprobs; uint32_t cap_prompt_logprobs;
    float *embedding; uint32_t cap_embedding;
    char stop_string[256];
};
/* Free outputs. Outlives the model while outputs are in the caller's hands. */
struct api_pool { pthread_mutex_t lock; struct api_output *free; uint32_t refs; };

/* What binds one choice to its request's grammar. */
struct api_constraint {
    struct vc_constraint base;             /* first */
    struct vc_matcher *matcher;            /* owned; NULL: the choice is free */
    uint32_t *wide;                        /* owned; NULL unless the vocabulary has more tokens than there are logits */
    const struct vc_model *model;
    bool waits;                            /* the model still reasons: anything goes */
    bool over;                             /* it has ended its text; ignore_eos lets it go on, freely */
    /* thinking_token_budget: these ids come once `left` tokens of reasoning did. Borrowed from the request; NULL: no
     * budget. */
    const struct vc_parser *parser;
    const int32_t *closing; uint32_t num_closing, at;
    int64_t left;
};
/* The grammars used lately, by their spec; and the vocabulary as the matchers need it, made with the first. */
struct api_grammar { char *spec; size_t n; int kind, whitespace; struct vc_grammar *grammar; uint64_t used; };
struct api_grammars {
    pthread_mutex_t lock;
    struct vc_grammar_vocab *vocab;
    struct api_grammar v[64];
    uint64_t clock;
};

struct api_request;
struct api_choice {
    struct api_request *request;
    struct vc_engine_seq *seq;             /* NULL: not added, or finished */
    uint32_t index, num_tokens;
    struct vc_detok detok;
    struct api_constraint constraint;
    struct vc_parser *parser;              /* owned; NULL: text is content */
    struct api_output *spare;              /* owned: tells the end when memory runs out */
    struct vc_buf text;                    /* not sent yet, after `keep` bytes that were */
    size_t keep;
    uint64_t seed;
    bool finished;
    double first_token_at, last_token_at;  /* monotonic seconds; 0: no token yet */
};
struct api_request {
    struct api_request *next, *prev;       /* pending list (next only), then live list */
    uint64_t id;
    int32_t *prompt; uint32_t num_prompt;
    struct vc_sampling *sampling;          /* owned */
    char *cache_salt;
    struct vc_grammar *grammar;            /* a reference, or NULL */
    struct vc_engine_pool pool;
    int32_t priority;
    void *user;
    size_t longest_stop;
    uint32_t open_choices;
    int32_t *closing; uint32_t num_closing;        /* owned: ids that end the reasoning, with a budget for it */
    int64_t thinking_budget;
    bool all_logits, cancelled;
    double queued_at;                      /* monotonic seconds of vc_submit */
    struct api_choice choice[];
};

struct api_chat {
    struct vc_template *template;          /* NULL: error says why there is none */
    char *text;                            /* its source; NULL: none */
    vc_err error;
};

struct vc_model {
    struct vc_engine *engine;
    struct vc_tokenizer *tokenizer;        /* NULL: the model has none; token ids only */
    uint32_t max_logprobs;
    struct api_chat chat, chat_tools;      /* the default template, and that of requests with tools (NULL: the same) */
    struct vc_arena arena;                 /* strings of the info */
    vc_model_info info;
    vc_sampling_params defaults;           /* from generation_config.json */
    int32_t eos_ids[32]; uint32_t num_eos;
    uint64_t base_seed, next_seed;
    void (*turn)(int begins, void *arg);   /* of the params; NULL: none */
    void *turn_arg;

    pthread_mutex_t engine_lock, lock;
    pthread_cond_t work, ready;            /* for the thread; for readers of outputs */
    uint64_t next_id;
    struct api_request *pending, **pending_tail, *live;
    atomic_uint num_live;                  /* pending and live; written under lock */
    _Atomic double progress_at;            /* monotonic: a step began or ended, or the first request came */
    struct api_output *out_head, **out_tail;
    struct api_pool *pool;
    struct api_grammars grammars;
    pthread_t thread;
    bool threaded, quit, any_cancelled;
    uint64_t steps, prompt_tokens, generated_tokens;
    double step_seconds;
    double step_began;                     /* under lock: 0 between steps */
    vc_stats stats;                        /* under lock: as of the end of the last step */
    vc_err step_error;
};

/* output.c */
struct api_pool *api_pool_new(void);
void api_pool_release(struct api_pool *p);
struct api_output *api_output_take(struct vc_model *m);
void api_output_send(struct vc_model *m, struct api_output *o);

/* loop.c: what vc_get_stats tells until the next step has ended. */
void api_publish(struct vc_model *m);

/* request.c */
void api_admit(struct vc_model *m);                       /* pending requests into the engine; engine_lock held */
void api_request_free(struct api_request *r);

/* parse.c: text of a choice through its parser into an output; last: the text is over. False: memory is short. */
vc_status api_parser_init(struct vc_model *m, struct api_request *r, const vc_request_params *p, vc_err *err);
bool api_parse(struct api_choice *c, struct api_output *o, const char *text, size_t n, bool last);

/* choice.c: called by the engine inside a step, and by vc_engine_end. */
void api_event(void *ctx, const struct vc_engine_event *e);

/* stop.c: looks for stop strings in the text that ends with the newest `fresh` bytes. Returns the offset where the text
 * must be cut, or SIZE_MAX; *which: the string. */
size_t api_find_stop(const struct vc_sampling *s, const char *text, size_t n, size_t fresh, const char **which);

/* defaults.c: generation_config.json, eos ids. */
vc_status api_load_defaults(struct vc_model *m, const vc_model_params *p, vc_err *err);

/* constraint.c. get: the grammar that the request asks for, a reference of the caller's, or NULL. */
vc_status api_grammar_get(struct vc_model *m, const vc_request_params *p, struct vc_grammar **out, vc_err *err);
vc_status api_constraint_init(struct api_constraint *c, struct vc_model *m, struct vc_grammar *g, bool waits,
                              vc_err *err);
void api_constraint_budget(struct api_constraint *c, const struct vc_model *m, const struct vc_parser *parser,
                           const struct api_request *r);
void api_constraint_begin(struct api_constraint *c, const char *text, size_t n);
void api_constraint_free(struct api_constraint *c);
void api_grammars_free(struct api_grammars *gs);

/* text.c */
vc_status api_load_chat(struct vc_model *m, const vc_model_params *p, const struct vc_gguf *g, vc_err *err);
void api_chat_free(struct api_chat *c);
/* g: the model, NULL: a folder. */
vc_status api_load_text(struct vc_model *m, const vc_model_params *p, const struct vc_gguf *g, vc_err *err);

/* For rooms above that look inside (lab). */
struct vc_engine *vc_model_engine(struct vc_model *m);

#endif
