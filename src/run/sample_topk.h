/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_topk.h: the entries that are reported from a row of log-probabilities. */
#ifndef VC_RUN_SAMPLE_TOPK_H
#define VC_RUN_SAMPLE_TOPK_H

#include <stdint.h>

#include "vllmc.h"

/* out[0]: `token`, its rank is the number of elements >= its own (tied tokens share the larger). out[1 … k]: the k
 * largest, the lower id first among equals, ranks 1 … k; entries beyond the vocabulary have token -1. */
void vc_logprobs_pick(const float *lp, uint32_t n, int32_t token, uint32_t k, vc_logprob *out);
/* out[0] as above, out[1 … k]: the ids in their order, rank 0. */
void vc_logprobs_of(const float *lp, uint32_t n, int32_t token, const int32_t *ids, uint32_t k, vc_logprob *out);

#endif
