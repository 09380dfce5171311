/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_penalty.h: token counts of a sequence, kept as tokens come, and the penalties computed from them. */
#ifndef VC_RUN_SAMPLE_PENALTY_H
#define VC_RUN_SAMPLE_PENALTY_H

#include <stdbool.h>
#include <stdint.h>

#include "run/sample_params.h"

/* Distinct tokens in order of appearance, with a hash table over them. All memory is taken by _init. */
struct vc_token_counts {
    uint32_t n, cap, mask;
    int32_t *id;               /* [cap]; owned, with the next two */
    uint32_t *outputs;         /* [cap] occurrences in the output; 0: in the prompt only */
    uint32_t *slot;            /* [mask + 1] index + 1, 0: free */
};

bool vc_counts_init(struct vc_token_counts *c, uint32_t cap);    /* false: out of memory */
void vc_counts_free(struct vc_token_counts *c);
void vc_counts_add(struct vc_token_counts *c, int32_t token, bool output);   /* at most cap distinct tokens */

/* For every token in prompt or output: repetition (x > 0 ? x (1/r) : x r), then - frequency * count in the output, then
 * - presence if it is in the output. */
void vc_penalize(const struct vc_token_counts *c, const struct vc_sampling *p, float *x, uint32_t vocab);

#endif
