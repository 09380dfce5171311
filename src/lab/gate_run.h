/* SPDX-License-Identifier: Apache-2.0
 * gate_run.h: prompts through the real engine, with every row of logits shown to a function. */
#ifndef VC_LAB_GATE_RUN_H
#define VC_LAB_GATE_RUN_H

#include "vllmc.h"

/* A row of logits in f32; pos: position of the token just read. Valid during the call. */
typedef void lab_row_fn(void *ctx, uint32_t pos, const float *logits);

struct lab_job {
    const int32_t *prompt;
    uint32_t num_prompt, max_tokens;
    bool all_logits; /* on_row sees every position of the prompt */
    lab_row_fn *on_row;
    void *ctx;
    int32_t *out;
    float *logprob; /* [max_tokens], the caller's; may be NULL */
    uint32_t num_out;
    uint64_t id;
    vc_err err;
};

/* Greedy, end-of-sequence ignored, `at_once` requests in flight, in order, in groups that start together. The first
 * failing request ends it. m must not be run by a thread. */
vc_status lab_run_jobs(vc_model *m, struct lab_job *jobs, uint32_t n, uint32_t at_once, vc_err *err);

/* The router's distance between its k-th and (k+1)-th logits after prompt, the least over all layers, in ulps of bf16.
 * *ulps is infinity where the model has no router. */
vc_status lab_router_margin(vc_model *m, const int32_t *prompt, uint32_t num_prompt, double *ulps, vc_err *err);

#endif
