/* SPDX-License-Identifier: Apache-2.0
 * engine_int.h: the engine's own structures, shared by engine.c (life, sequences), step.c and pool_size.c. */
#ifndef VC_RUN_ENGINE_INT_H
#define VC_RUN_ENGINE_INT_H

#include "run/engine.h"

/* State of one sequence beside the scheduler's. */
struct vc_engine_seq {
    struct vc_seq *seq;                    /* the scheduler's until finished, then freed by us */
    struct vc_sample_seq *sample;          /* owned */
    const struct vc_sampling *sampling;    /* borrowed */
    struct vc_constraint *constraint;      /* borrowed, or NULL */
    vc_logprob *prompt_logprobs;           /* owned, or NULL */
    vc_logprob *logprobs;                  /* owned, room for one token's; NULL without logprobs */
    bool all_logits, prompt_sent, stop_soon;
    struct pooled *pooled;                 /* owned; NULL: it generates */
    vc_err error;
    void *user;
    double scheduled_at;                   /* monotonic seconds of its first step; 0: none yet */
};

/* The vector of a sequence that pools, while its prompt is computed (pooling.c). */
struct pooled {
    uint32_t dimensions;                   /* of the result */
    bool use_activation, done;
    double *sum;                           /* [hidden_size] for the mean, else NULL */
    float *vector;                         /* [hidden_size] */
};

/* A row of logits that somebody wants. prompt: it gives the log-probability of prompt token pos + 1. */
struct out_row { uint32_t item, pos; bool samples, prompt; };

struct vc_engine {
    struct vc_engine_params params;
    struct vc_net *net;                    /* owned */
    struct vc_sched *sched;                /* owned */
    vc_engine_event_fn *event;
    void *event_ctx;
    vc_engine_tap_fn *tap;
    void *tap_ctx;
    uint32_t threads;
    struct vc_sampler **sampler;           /* owned, one per thread */
    float **row;                           /* owned: one f32 row of logits per thread */
    uint32_t **mask;                       /* owned: one set of allowed tokens per thread */

    /* The step in flight: arrays of max_num_batched_tokens or max_num_seqs. */
    const struct vc_sched_step *step;
    struct vc_net_step batch;
    int32_t *ids, *out_rows;
    int64_t *slots;
    uint32_t *pos, *seq_len;
    struct vc_attn_seq *seqs;
    struct out_row *outs;
    uint32_t num_outs;
    int32_t *sampled;                      /* per item */
    struct vc_sampled *results;            /* per item */
    uint8_t *failed;                       /* per item: its error is set */
    uint32_t head_first, head_count;       /* output rows in the logits stream now */
    uint32_t max_left_out;                 /* of the last step for which the maximum was enough: logits that the head left out */
    double now;                            /* when the step's tokens were known */
    uint32_t num_new;                      /* tokens that became outputs in this step */
    struct vc_figures figures;
    uint32_t max_pause, max_paused;        /* steps that compute all logits since leaving out did not pay; how many the last time */
};

void vc_engine_seq_release(struct vc_engine_seq *q);     /* frees it and the scheduler's half */

/* What every event of a sequence tells; the caller adds the token and more. */
struct vc_engine_event vc_engine_event_of(const struct vc_engine_seq *q, double at);

/* A row of the logits stream as f32: in place where it is, else widened into the thread's row. */
float *vc_engine_row(struct vc_engine *e, uint32_t r, uint32_t thread);

/* pooling.c */
vc_status vc_engine_check_pool(const struct vc_engine *e, const struct vc_engine_seq_params *p, vc_err *err);
vc_status vc_pooled_new(struct pooled **out, const struct vc_engine *e, const struct vc_engine_pool *p, vc_err *err);
void vc_pooled_del(struct pooled *p);
bool vc_pool_wants(const struct vc_engine *e, const struct vc_sched_item *it, uint32_t pos);
void vc_pool_rows(struct vc_engine *e);                  /* those in the logits stream now, one after the other */

/* pool_size.c: pages for the cache, and max_model_len cut to what fits where the user did not set it. */
vc_status vc_engine_size_pool(struct vc_engine *e, bool len_given, vc_err *err);

#endif
