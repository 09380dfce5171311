/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_params.h: the engine's own copy of vc_sampling_params: validated with vLLM's ranges, cleaned up as vLLM's
 * SamplingParams does, deep-copied into one arena. Immutable after _new; shared by the n choices of a request. */
#ifndef VC_RUN_SAMPLE_PARAMS_H
#define VC_RUN_SAMPLE_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "vllmc.h"

struct vc_sampling_limits {
    uint32_t vocab_size;
    uint32_t max_logprobs;                 /* vLLM: 20 */
    const int32_t *eos_ids; uint32_t num_eos_ids;   /* [0]: the eos token; the others act as stop_token_ids */
};

struct vc_bad_word { const int32_t *ids; uint32_t n; };

struct vc_sampling {
    uint32_t n;
    float temperature;                     /* 0: greedy, else >= 0.01 */
    float top_p, min_p;
    uint32_t top_k;                        /* 0: off */
    float presence_penalty, frequency_penalty, repetition_penalty;
    bool penalties;                        /* any of the three acts */
    uint64_t seed; bool has_seed;
    uint32_t max_tokens, min_tokens;       /* max_tokens 0: up to the context's end */
    bool ignore_eos;
    int32_t eos_token;                     /* -1: none or ignored */
    const int32_t *stop_ids;
    uint32_t num_stop_ids; /* stop_token_ids and the further eos ids: give a stop reason */
    const int32_t *min_ids;
    uint32_t num_min_ids; /* eos_token and stop_ids within the vocabulary: held back by min_tokens */
    const char *const *stop; const uint32_t *stop_len; uint32_t num_stop;   /* stop strings */
    bool include_stop_str_in_output;
    const struct vc_bad_word *bad_words; uint32_t num_bad_words;
    const int32_t *allowed_ids; uint32_t num_allowed_ids;  /* sorted, unique */
    const vc_logit_bias *logit_bias; uint32_t num_logit_bias;
    int32_t logprobs, prompt_logprobs;     /* -1: none; logprobs with ids: how many */
    const int32_t *logprob_ids; uint32_t num_logprob_ids;   /* as given; 0: the best */
    bool margin;                           /* the two greatest logits are wanted */
    uint32_t repetition_most, repetition_least, repetition_count;   /* tokens of a pattern, least >= 1; how often; most 0: off */
    bool skip_special_tokens, detokenize;
};
static inline bool vc_sampling_greedy(const struct vc_sampling *p) { return p->temperature < 1e-5f; }

/* VC_E_INVALID with text that begins with the field's name. */
vc_status vc_sampling_new(struct vc_sampling **out, const vc_sampling_params *p,
                          const struct vc_sampling_limits *lim, vc_err *err);
void vc_sampling_del(struct vc_sampling *p);

#endif
