/* SPDX-License-Identifier: Apache-2.0
 *
 * sched.h: which tokens of which sequences are computed in a step, and in which KV blocks they lie.
 * Reproduces the decisions of vLLM's V1 scheduler (synchronous): FCFS and priority, chunked prefill, prefix cache,
 * preemption by recomputation. Owner: the engine thread. After vc_sched_add, a sequence needs no further memory:
 * schedule and update allocate nothing.
 *
 *     step = vc_sched_schedule(s);  … run the model on step->items, zero step->new_blocks first …
 *     done = vc_sched_update(s, sampled);  … report, then vc_seq_del each sequence that is done … */
#ifndef VC_RUN_SCHED_H
#define VC_RUN_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "kv/cache.h"

enum vc_sched_policy { VC_SCHED_FCFS, VC_SCHED_PRIORITY };

struct vc_sched_config {
    uint32_t block_size, num_blocks;       /* of the KV pool, the null block included */
    uint32_t num_groups;                   /* KV groups; 0: one of full attention */
    const uint32_t *windows;               /* [num_groups] as in vc_kv_config; borrowed for vc_sched_new */
    uint32_t max_num_seqs;                 /* running at once */
    uint32_t max_num_batched_tokens;       /* per step */
    uint32_t max_model_len;
    enum vc_sched_policy policy;
    bool prefix_caching;
    bool chunked_prefill;                  /* false: needs max_num_batched_tokens >= max_model_len */
    bool reserve_full_isl;                 /* admit a sequence only if all its tokens fit the free blocks */
    uint32_t long_prefill_token_threshold; /* largest chunk while more than one sequence exists; 0: none */
    double watermark;                      /* share of the pool kept free when admitting beside running sequences */
    enum vc_hash_algo hash_algo;
    const char *hash_seed;                 /* NULL: default */
};
/* vLLM's defaults; block_size 16, num_blocks and max_model_len 0 (to be filled in). */
void vc_sched_config_init(struct vc_sched_config *c);

enum vc_seq_state { VC_SEQ_WAITING, VC_SEQ_RUNNING, VC_SEQ_PREEMPTED, VC_SEQ_FINISHED };
enum vc_finish { VC_FINISH_NONE, VC_FINISH_STOP, VC_FINISH_LENGTH, VC_FINISH_ABORT, VC_FINISH_ERROR, VC_FINISH_REPETITION };
const char *vc_finish_name(enum vc_finish f);   /* "stop", "length", "abort", "error", "repetition"; NULL for NONE */

/* Ends a sequence whose last outputs are one pattern of least (1 or more) to most tokens `count` times, once there are `after` outputs.
 * most 0: off. */
struct vc_seq_repetition { uint32_t most, least, count, after; };

enum {
    VC_SEQ_NO_CACHE = 1,        /* neither reads nor feeds the prefix cache (dynamic rope beyond the trained length) */
    VC_SEQ_NO_CACHE_READ = 2,   /* does not read it (prompt logprobs need every position's logits) */
    VC_SEQ_NO_OUTPUT = 4        /* has no outputs: the caller ends it once its prompt is computed (embeddings) */
};

struct vc_seq_params {
    uint64_t id;                           /* the caller's; only copied */
    const int32_t *prompt; uint32_t num_prompt;
    uint32_t max_tokens;                   /* outputs; 0: up to max_model_len, none with VC_SEQ_NO_OUTPUT */
    int32_t eos_token;                     /* -1: none, or ignored */
    const int32_t *stop_ids; uint32_t num_stop_ids;
    int32_t priority;                      /* lower is sooner (VC_SCHED_PRIORITY) */
    const char *cache_salt;                /* NULL or "": none */
    uint32_t flags;                        /* VC_SEQ_ */
    struct vc_seq_repetition repetition;
    void *user;
};

/* One allocation. Everything is read-only for others, but for user. */
struct vc_seq {
    uint64_t id;
    void *user;
    int32_t *tokens;                       /* prompt, then outputs */
    uint32_t num_prompt, num_tokens, cap_tokens;
    uint32_t num_computed;                 /* tokens in the KV cache, those of the scheduled step included */
    uint32_t max_tokens;
    int32_t num_cached;                    /* prompt tokens taken from the prefix cache at first admission; -1 before */
    uint32_t num_preemptions;
    enum vc_seq_state state;
    enum vc_finish finish;
    int32_t stop_token;                    /* the one of stop_ids that stopped it, else -1 (also for eos_token) */
    int32_t eos_token, priority;
    const int32_t *stop_ids; uint32_t num_stop_ids;
    struct vc_seq_repetition repetition;
    struct vc_kv_table kv;                 /* vc_kv_row(&kv, group), kv.num_blocks */
    uint64_t arrival;                      /* order of addition */
    struct vc_seq *prev, *next;            /* waiting queue under FCFS */
    uint32_t at;                           /* index in the heap under priority */
};
static inline uint32_t vc_seq_num_outputs(const struct vc_seq *q) { return q->num_tokens - q->num_prompt; }

enum { VC_ITEM_NEW = 1, VC_ITEM_RESUMED = 2 };   /* first time scheduled; again after a preemption */

struct vc_sched_item {
    struct vc_seq *seq;
    uint32_t num_computed;                 /* before this step: position of the first token */
    uint32_t num_tokens;                   /* tokens[num_computed … num_computed + num_tokens) are computed */
    uint32_t first_new_block;              /* every row of seq->kv from here on was handed out for this step */
    uint32_t flags;                        /* VC_ITEM_ */
    bool samples;                          /* the last token is the sequence's last: its logits give the next one */
};

struct vc_sched_step {
    const struct vc_sched_item *items;     /* in batch order: running, then newly admitted */
    uint32_t num_items, num_tokens;        /* num_tokens: sum over the items */
    struct vc_seq *const *preempted;       /* while scheduling this step, in order */
    uint32_t num_preempted;
    const uint64_t *finished;              /* ids finished since the last schedule, in order */
    uint32_t num_finished;
    const uint32_t *new_blocks;            /* all blocks handed out for this step: zero them before use */
    uint32_t num_new_blocks;
};

struct vc_sched_done { struct vc_seq *const *seqs; uint32_t n; };   /* seqs[i]->finish, ->stop_token */

/* Admissions that looked into the prefix cache; their tokens; tokens found. */
struct vc_prefix_stats { uint64_t requests, queries, hits; };
struct vc_sched_stats {
    uint32_t running, waiting, free_blocks;
    double kv_usage;
    uint64_t steps, preemptions;           /* since _new, as the following */
    struct vc_prefix_stats prefix, prefix_resumed;   /* first admissions; those after a preemption */
};

struct vc_sched;
vc_status vc_sched_new(struct vc_sched **out, const struct vc_sched_config *c, vc_err *err);
void vc_sched_del(struct vc_sched *s);     /* deletes the sequences that it still holds */

/* Could such a sequence, alone in the pool, be admitted and run to its end? max_tokens as in vc_seq_params; 1 asks for
 * the prompt alone. Sequences for which this is false may be added all the same, but wait at the head of the queue for
 * ever, from the start or once they outgrow the pool. */
bool vc_sched_fits(const struct vc_sched *s, uint32_t num_prompt, uint32_t max_tokens);
/* The same for a prompt without outputs (VC_SEQ_NO_OUTPUT). */
bool vc_sched_fits_prompt(const struct vc_sched *s, uint32_t num_prompt);

/* Copies params and queues a sequence. It belongs to the scheduler until it is finished, then to the caller.
 * VC_E_INVALID: no prompt or a negative token; VC_E_TOO_LONG: prompt over max_model_len; VC_E_NOMEM. */
vc_status vc_sched_add(struct vc_sched *s, const struct vc_seq_params *p, struct vc_seq **out, vc_err *err);
/* Ends a sequence from outside: VC_FINISH_ABORT, VC_FINISH_STOP (stop string), or VC_FINISH_ERROR, which also takes its
 * blocks out of the prefix cache. False if it is finished already. Allowed between schedule and update. */
bool vc_sched_finish(struct vc_sched *s, struct vc_seq *q, enum vc_finish f);
/* Frees a finished sequence. Not between schedule and update. */
void vc_seq_del(struct vc_seq *q);

/* The next step, owned by s, valid until the next schedule. num_items may be 0. */
const struct vc_sched_step *vc_sched_schedule(struct vc_sched *s);
/* Closes the step: sampled[i] is the token of items[i], -1 for none. Appends, checks for the end (eos, stop ids,
 * max_tokens, max_model_len), frees the blocks of finished ones. The result is valid until the next call. */
struct vc_sched_done vc_sched_update(struct vc_sched *s, const int32_t *sampled);

/* Appends an output that needs no sampling (the only one allowed): the next step computes it together with the one before.
 * q runs; not between schedule and update. The same checks for the end as in update. */
enum vc_finish vc_sched_extend(struct vc_sched *s, struct vc_seq *q, int32_t token);

bool vc_sched_reset_prefix_cache(struct vc_sched *s);      /* false while blocks are held */
bool vc_sched_idle(const struct vc_sched *s);              /* nothing waits, nothing runs */
void vc_sched_get_stats(const struct vc_sched *s, struct vc_sched_stats *out);
/* Writes up to cap waiting (in queue order; under priority only the first is in place) or running sequences; returns
 * how many there are. */
uint32_t vc_sched_waiting(const struct vc_sched *s, struct vc_seq **out, uint32_t cap);
uint32_t vc_sched_running(const struct vc_sched *s, struct vc_seq **out, uint32_t cap);

#endif
