/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_mask.h: what the request's own lists do to a row of logits, in this order: allowed_token_ids, bad_words,
 * min_tokens, logit_bias. A masked logit is -inf. */
#ifndef VC_RUN_SAMPLE_MASK_H
#define VC_RUN_SAMPLE_MASK_H

#include <stdint.h>

#include "run/sample_params.h"

/* output: the num_output tokens generated so far. Bad words look at the output only, not at the prompt. */
void vc_mask_row(const struct vc_sampling *p, float *x, uint32_t vocab, const int32_t *output, uint32_t num_output);

#endif
