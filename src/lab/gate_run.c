/* SPDX-License-Identifier: Apache-2.0
 * gate_run.c: prompts through the public API, with the engine's tap for the logits. */
#include <string.h>

#include "api/api_int.h"
#include "lab/gate_run.h"

static void tap(void *ctx, void *user, uint32_t pos, const float *logits) {
    (void)ctx;
    const struct api_choice *c = user;
    struct lab_job *j = c->request->user;
    if (j && j->on_row) j->on_row(j->ctx, pos, logits);
}

static vc_status submit(vc_model *m, struct lab_job *j, vc_err *err) {
    vc_request_params rp;
    vc_request_params_init(&rp);
    rp.prompt_ids = j->prompt;
    rp.num_prompt_ids = j->num_prompt;
    rp.user = j;
    rp.sampling.temperature = 0;
    rp.sampling.max_tokens = j->max_tokens;
    rp.sampling.ignore_eos = 1;
    rp.sampling.detokenize = 0;
    rp.sampling.logprobs = j->logprob ? 0 : -1;
    j->num_out = 0;
    VC_TRY(vc_submit(m, &rp, &j->id, err));
    for (struct api_request *r = m->pending; r; r = r->next)
        if (r->id == j->id) r->all_logits = j->all_logits;
    return VC_OK;
}

static vc_status drain(vc_model *m, vc_err *err) {
    vc_output *o;
    vc_status s, failed = VC_OK;
    while ((s = vc_next(m, -1, &o, err)) == VC_OK) {
        struct lab_job *j = o->user;
        for (uint32_t i = 0; i < o->num_token_ids && j->num_out < j->max_tokens; i++) {
            if (j->out) j->out[j->num_out] = o->token_ids[i];
            if (j->logprob) j->logprob[j->num_out] = o->num_logprobs ? o->logprobs[0].logprob : 0.0f;
            j->num_out++;
        }
        if (o->error.status != VC_OK) {
            j->err = o->error;
            if (failed == VC_OK) failed = j->err.status;
            if (err) *err = j->err;
        }
        vc_output_free(o);
        if (failed != VC_OK) return failed;
    }
    return s == VC_E_DONE ? VC_OK : s;
}

vc_status lab_run_jobs(vc_model *m, struct lab_job *jobs, uint32_t n, uint32_t at_once, vc_err *err) {
    vc_engine_set_tap(vc_model_engine(m), tap, NULL);
    vc_status s = VC_OK;
    for (uint32_t at = 0; at < n && s == VC_OK; at += at_once) {
        for (uint32_t i = at; i < n && i < at + at_once && s == VC_OK; i++) s = submit(m, &jobs[i], err);
        if (s == VC_OK) s = drain(m, err);
    }
    vc_engine_set_tap(vc_model_engine(m), NULL, NULL);
    return s;
}
