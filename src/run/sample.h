/* SPDX-License-Identifier: Apache-2.0
 *
 * sample.h: from a row of logits to a token, in vLLM's order of operations: allowed ids, bad words, min_tokens, logit
 * bias, penalties, then argmax or temperature, min_p, top_k, top_p and a Gumbel draw. A row's result depends on nothing
 * but the row, the parameters, the sequence's tokens and its seed.
 * A vc_sampler is scratch for one row at a time: one per thread that samples. Rows are worked on in place. */
#ifndef VC_RUN_SAMPLE_H
#define VC_RUN_SAMPLE_H

#include <stdint.h>

#include "run/sample_params.h"

struct vc_sampler;
vc_status vc_sampler_new(struct vc_sampler **out, uint32_t vocab_size, vc_err *err);
void vc_sampler_del(struct vc_sampler *s);

/* State of one sequence (choice) beside its tokens: seed and token counts. Borrows p, which must outlive it. */
struct vc_sample_seq;
/* seed: of the choice (request's seed + choice). max_tokens: outputs that can come; bounds the memory for counts, all
 * of which is taken here. prompt is read only in this call. */
vc_status vc_sample_seq_new(struct vc_sample_seq **out, const struct vc_sampling *p, uint64_t seed,
                            const int32_t *prompt, uint32_t num_prompt, uint32_t max_tokens, uint32_t vocab_size,
                            vc_err *err);
void vc_sample_seq_del(struct vc_sample_seq *q);
uint64_t vc_sample_seq_seed(const struct vc_sample_seq *q);
/* Counts a token that became an output. */
void vc_sample_seq_push(struct vc_sample_seq *q, int32_t token);

struct vc_sampled {
    int32_t token;
    uint32_t num_logprobs;                 /* 0, or 1 + p->logprobs */
    float best, second;                    /* the two greatest logits of the row as log-probabilities are taken of it */
};
/* Draws the next token from logits[vocab_size], which is overwritten by the processed row. output: the num_output
 * tokens generated so far (all of them pushed). allowed: NULL, or bit i % 32 of allowed[i / 32] set iff token i may be drawn;
 * the others are -inf before everything else, log-probabilities included, as in vLLM. logprobs: room for 1 + p->logprobs entries if p->logprobs >= 0: [0] is
 * the drawn token, then the best in order, or p->logprob_ids; of the raw logits.
 * VC_E_NUMERIC: the row holds a value that is not finite. VC_E_INVALID: the parameters leave no token. */
vc_status vc_sample_row(struct vc_sampler *s, const struct vc_sample_seq *q, float *logits, const uint32_t *allowed,
                        const int32_t *output, uint32_t num_output, struct vc_sampled *out, vc_logprob *logprobs, vc_err *err);

/* Whether the token is simply the greatest logit: greedy, and nothing that looks at another or changes one. */
bool vc_sample_is_max(const struct vc_sampling *p);
/* That token, from a row in which lesser logits may be -inf; *left_out: how many are. VC_E_NUMERIC: a value is not a number or +inf. */
vc_status vc_sample_max(const float *logits, uint32_t n, int32_t *token, uint32_t *left_out, vc_err *err);

/* Log-probability and rank of `token` and of the k best under softmax(logits): 1 + k entries as above (prompt
 * logprobs). logits is not changed. VC_E_NUMERIC as above. */
vc_status vc_sample_logprobs(struct vc_sampler *s, const float *logits, int32_t token, uint32_t k,
                             vc_logprob *logprobs, vc_err *err);

#endif
