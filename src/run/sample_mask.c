/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_mask.h"

#include <math.h>
#include <string.h>

/* allowed_ids are sorted and unique: everything between them goes. */
static void allow(const struct vc_sampling *p, float *x, uint32_t vocab) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < vocab; i++) {
        if (at < p->num_allowed_ids && (uint32_t)p->allowed_ids[at] == i) at++;
        else x[i] = -INFINITY;
    }
}

/* The last token of a word goes when the tokens before it end the output. */
static void forbid(const struct vc_sampling *p, float *x, const int32_t *output, uint32_t num_output) {
    for (uint32_t i = 0; i < p->num_bad_words; i++) {
        const struct vc_bad_word *w = &p->bad_words[i];
        uint32_t k = w->n - 1;
        if (k > num_output) continue;
        if (k && memcmp(output + (num_output - k), w->ids, k * sizeof *output) != 0) continue;
        x[w->ids[k]] = -INFINITY;
    }
}

void vc_mask_row(const struct vc_sampling *p, float *x, uint32_t vocab, const int32_t *output, uint32_t num_output) {
    if (p->num_allowed_ids) allow(p, x, vocab);
    forbid(p, x, output, num_output);
    if (num_output < p->min_tokens)
        for (uint32_t i = 0; i < p->num_min_ids; i++) x[p->min_ids[i]] = -INFINITY;
    for (uint32_t i = 0; i < p->num_logit_bias; i++) x[p->logit_bias[i].token] += p->logit_bias[i].bias;
}
