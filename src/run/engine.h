/* SPDX-License-Identifier: Apache-2.0
 * engine.h: the engine of one model: scheduler, cache, program and sampler, step by step.
 * Knows token ids only. Every function is called by the thread that owns the engine. A step allocates nothing. */
#ifndef VC_RUN_ENGINE_H
#define VC_RUN_ENGINE_H

#include "model/net.h"
#include "run/constraint.h"
#include "run/figures.h"
#include "run/sample.h"
#include "run/sched.h"

struct vc_engine_params {
    struct vc_net_params net;              /* max_tokens, max_seqs, max_out and page_tokens are filled in */
    uint32_t max_num_seqs, max_num_batched_tokens, block_size;
    uint64_t kv_bytes;                     /* 0: from free memory */
    bool prefix_caching, priority_policy;
    bool whole_prefill;                    /* prompts are not cut */
    bool no_reserve;                       /* a sequence begins although its whole prompt may not fit */
    uint32_t scheduled_tokens;             /* of a step; 0: max_num_batched_tokens */
    uint32_t long_prefill_threshold;       /* 0: none */
    float watermark, memory_share;         /* as in vc_model_params */
    uint32_t num_blocks;                   /* of the KV pool; 0: by bytes */
    enum vc_hash_algo hash_algo;
};

/* How a model that pools makes the vector of a sequence. */
struct vc_engine_pool {
    uint32_t dimensions;                   /* 0: the model's */
    int use_activation;                    /* -1: the model's; 0: as pooled; 1: of length 1 */
};

/* One sequence to generate (one choice of a request). Everything is copied but `sampling` and `constraint`, which must live
 * until the sequence is finished. */
struct vc_engine_seq_params {
    uint64_t id;
    const int32_t *prompt; uint32_t num_prompt;
    const struct vc_sampling *sampling;
    uint64_t seed;
    int32_t priority;
    const char *cache_salt;
    struct vc_constraint *constraint;      /* NULL: none */
    bool all_logits;                       /* the tap sees every position, not only those that sample */
    struct vc_engine_pool pool;            /* of a model that pools; sampling is not read then */
    void *user;
};

struct vc_engine_seq;
/* What a step did for one sequence: a token, an end, or both. Pointers are valid during the call. */
struct vc_engine_event {
    void *user;
    int32_t token;                         /* -1: none */
    const vc_logprob *logprobs; uint32_t num_logprobs;
    const float *margin;                   /* with a token, if asked for: vc_output.margins */
    const vc_logprob *prompt_logprobs;     /* with the first token, if asked for: [num_prompt][1 + k], entry 0 unset */
    const float *embedding; uint32_t num_embedding;   /* with the end of a sequence that pools */
    uint32_t num_cached;
    enum vc_finish finish;
    int32_t stop_token;
    const vc_err *error;                   /* with VC_FINISH_ERROR */
    double at, scheduled_at;               /* monotonic seconds: of the event; of the first step with the sequence, 0: none yet */
    uint32_t num_preemptions;
};
typedef void vc_engine_event_fn(void *ctx, const struct vc_engine_event *e);
/* A row of logits in f32, before the sampler works on it; pos: position of the token just read. */
typedef void vc_engine_tap_fn(void *ctx, void *user, uint32_t pos, const float *logits);

struct vc_engine;
vc_status vc_engine_open(struct vc_engine **out, const struct vc_engine_params *p, vc_engine_event_fn *fn, void *ctx, vc_err *err);
void vc_engine_close(struct vc_engine *e);
struct vc_net *vc_engine_net(struct vc_engine *e);
uint32_t vc_engine_threads(const struct vc_engine *e);   /* that compute */
void vc_engine_set_tap(struct vc_engine *e, vc_engine_tap_fn *fn, void *ctx);

/* Would vc_engine_add refuse it? Any thread may ask. *max_tokens: outputs that it can have. */
vc_status vc_engine_check(const struct vc_engine *e, const struct vc_engine_seq_params *p, uint32_t *max_tokens, vc_err *err);
vc_status vc_engine_add(struct vc_engine *e, const struct vc_engine_seq_params *p, struct vc_engine_seq **out, vc_err *err);
/* Ends a sequence from outside (abort, or stop by a stop string); its event says so. Frees it: not from inside an event. */
void vc_engine_end(struct vc_engine *e, struct vc_engine_seq *q, enum vc_finish f);
/* Asks for the same from inside an event; done when the step is over, without a further event. */
void vc_engine_stop_soon(struct vc_engine_seq *q);

/* Between the two the device is this engine's: takes wait for that in the order of asking. For who adds sequences before
 * a step: what comes while another engine computes is then part of it. */
void vc_engine_take(struct vc_engine *e);
void vc_engine_give(struct vc_engine *e);
/* One step. VC_E_DONE: nothing runs or waits. */
vc_status vc_engine_step(struct vc_engine *e, vc_err *err);
void vc_engine_stats(const struct vc_engine *e, struct vc_sched_stats *out);
const struct vc_figures *vc_engine_figures(const struct vc_engine *e);
bool vc_engine_reset_prefix_cache(struct vc_engine *e);

#endif
