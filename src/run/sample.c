/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "run/sample_filter.h"
#include "run/sample_gumbel.h"
#include "run/sample_mask.h"
#include "run/sample_penalty.h"
#include "run/sample_prob.h"
#include "run/sample_topk.h"

struct vc_sampler {
    uint32_t vocab;
    float *lp;                       /* [vocab] owned: log-probabilities */
    struct vc_filter_scratch filter; /* its arrays are owned */
};

struct vc_sample_seq {
    const struct vc_sampling *p;
    uint64_t seed;
    struct vc_token_counts counts;   /* in use when p->penalties */
};

vc_status vc_sampler_new(struct vc_sampler **out, uint32_t vocab_size, vc_err *err) {
    *out = NULL;
    if (vocab_size == 0 || vocab_size > INT32_MAX)
        return vc_fail(err, VC_E_INVALID, "vocab_size: %u, expected 1 to 2^31 - 1", vocab_size);
    struct vc_sampler *s = calloc(1, sizeof *s);
    if (s) {
        s->vocab = vocab_size;
        s->lp = malloc(vocab_size * sizeof *s->lp);
        s->filter.keys = malloc(vocab_size * sizeof *s->filter.keys);
        s->filter.probs = malloc(vocab_size * sizeof *s->filter.probs);
        s->filter.exp_sum = vc_exp_sum_pick();
    }
    if (!s || !s->lp || !s->filter.keys || !s->filter.probs) {
        vc_sampler_del(s);
        return vc_fail(err, VC_E_NOMEM, "sampler: no memory for a vocabulary of %u", vocab_size);
    }
    *out = s;
    return VC_OK;
}

void vc_sampler_del(struct vc_sampler *s) {
    if (!s) return;
    free(s->lp);
    free(s->filter.keys);
    free(s->filter.probs);
    free(s);
}

vc_status vc_sample_seq_new(struct vc_sample_seq **out, const struct vc_sampling *p, uint64_t seed,
                            const int32_t *prompt, uint32_t num_prompt, uint32_t max_tokens, uint32_t vocab_size,
                            vc_err *err) {
    *out = NULL;
    struct vc_sample_seq *q = calloc(1, sizeof *q);
    uint64_t most = (uint64_t)num_prompt + max_tokens;
    if (most > vocab_size) most = vocab_size;
    if (!q || (p->penalties && !vc_counts_init(&q->counts, (uint32_t)most + 1))) {
        free(q);
        return vc_fail(err, VC_E_NOMEM, "sampling: no memory for the counts of %llu tokens", (unsigned long long)most);
    }
    q->p = p;
    q->seed = seed;
    for (uint32_t i = 0; p->penalties && i < num_prompt; i++)
        if (prompt[i] >= 0 && (uint32_t)prompt[i] < vocab_size) vc_counts_add(&q->counts, prompt[i], false);
    *out = q;
    return VC_OK;
}

void vc_sample_seq_del(struct vc_sample_seq *q) {
    if (!q) return;
    vc_counts_free(&q->counts);
    free(q);
}

uint64_t vc_sample_seq_seed(const struct vc_sample_seq *q) { return q->seed; }

void vc_sample_seq_push(struct vc_sample_seq *q, int32_t token) {
    if (q->p->penalties) vc_counts_add(&q->counts, token, true);
}

static vc_status check_row(const float *logits, uint32_t n, vc_err *err) {
    if (vc_row_finite(logits, n)) return VC_OK;
    uint32_t i = 0;
    while (isfinite(logits[i])) i++;
    return vc_fail(err, VC_E_NUMERIC, "logits: the value of token %u is %s", i,
                   isnan(logits[i]) ? "not a number" : "infinite");
}

/* After temperature: filters, then the draw. */
static int32_t draw(struct vc_sampler *s, const struct vc_sample_seq *q, float *x, uint32_t index) {
    const struct vc_sampling *p = q->p;
    for (uint32_t i = 0; i < s->vocab; i++) x[i] /= p->temperature;
    if (p->min_p > 0) vc_filter_min_p(&s->filter, x, s->vocab, p->min_p);
    if (p->top_k && p->top_k < s->vocab) vc_filter_top_k(&s->filter, x, s->vocab, p->top_k);
    if (p->top_p < 1) vc_filter_top_p(&s->filter, x, s->vocab, p->top_p);
    return (int32_t)vc_gumbel_argmax(x, s->vocab, vc_row_argmax(x, s->vocab), q->seed, index);
}

vc_status vc_sample_row(struct vc_sampler *s, const struct vc_sample_seq *q, float *logits, const uint32_t *allowed,
                        const int32_t *output, uint32_t num_output, struct vc_sampled *out, vc_logprob *logprobs, vc_err *err) {
    const struct vc_sampling *p = q->p;
    VC_TRY(check_row(logits, s->vocab, err));
    for (uint32_t i = 0; allowed && i < s->vocab; i++)
        if (!(allowed[i / 32] >> i % 32 & 1)) logits[i] = -INFINITY;
    vc_row_top2(logits, s->vocab, &out->best, &out->second);
    if (p->logprobs >= 0) vc_log_softmax_row(s->filter.exp_sum, logits, s->vocab, s->lp);
    vc_mask_row(p, logits, s->vocab, output, num_output);
    if (p->penalties) vc_penalize(&q->counts, p, logits, s->vocab);
    uint32_t best = vc_row_argmax(logits, s->vocab);
    if (logits[best] == -INFINITY)
        return vc_fail(err, VC_E_INVALID,
                       "%sallowed_token_ids, bad_words, min_tokens and logit_bias leave no token to choose",
                       allowed ? "the structure asked for and " : "");
    out->token = vc_sampling_greedy(p) ? (int32_t)best : draw(s, q, logits, num_output);
    out->num_logprobs = 0;
    if (p->logprobs >= 0) {
        out->num_logprobs = 1 + (uint32_t)p->logprobs;
        if (p->num_logprob_ids) vc_logprobs_of(s->lp, s->vocab, out->token, p->logprob_ids, p->num_logprob_ids, logprobs);
        else vc_logprobs_pick(s->lp, s->vocab, out->token, (uint32_t)p->logprobs, logprobs);
    }
    return VC_OK;
}

bool vc_sample_is_max(const struct vc_sampling *p) {
    return vc_sampling_greedy(p) && !p->margin && p->logprobs < 0 && p->prompt_logprobs < 0 && !p->penalties && !p->min_tokens && !p->num_bad_words &&
           !p->num_allowed_ids && !p->num_logit_bias;
}

vc_status vc_sample_max(const float *logits, uint32_t n, int32_t *token, uint32_t *left_out, vc_err *err) {
    uint32_t bad = 0, out = 0;
    for (uint32_t i = 0; i < n; i++) {
        bad |= (uint32_t) !(logits[i] < INFINITY);
        out += (uint32_t)(logits[i] == -INFINITY);
    }
    *left_out = out;
    if (bad) {
        uint32_t i = 0;
        while (logits[i] < INFINITY) i++;
        return vc_fail(err, VC_E_NUMERIC, "logits: the value of token %u is not finite", i);
    }
    *token = (int32_t)vc_row_argmax(logits, n);
    return VC_OK;
}

vc_status vc_sample_logprobs(struct vc_sampler *s, const float *logits, int32_t token, uint32_t k,
                             vc_logprob *logprobs, vc_err *err) {
    assert(token >= 0 && (uint32_t)token < s->vocab);
    VC_TRY(check_row(logits, s->vocab, err));
    vc_log_softmax_row(s->filter.exp_sum, logits, s->vocab, s->lp);
    vc_logprobs_pick(s->lp, s->vocab, token, k, logprobs);
    return VC_OK;
}
