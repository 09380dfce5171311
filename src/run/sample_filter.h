/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_filter.h: min_p, top_k and top_p on a row of logits: what is dropped becomes -inf, what stays is unchanged.
 * Thresholds are found by radix selection on the bits of the logits, in a fixed number of passes over the row. */
#ifndef VC_RUN_SAMPLE_FILTER_H
#define VC_RUN_SAMPLE_FILTER_H

#include <stdint.h>

#include "run/sample_prob.h"

enum { VC_RADIX = 2048 };
struct vc_filter_scratch {
    vc_exp_sum_fn *exp_sum;
    uint32_t *keys;             /* [n] */
    float *probs;               /* [n] */
    uint32_t count[VC_RADIX];
    double sum[VC_RADIX];
};

/* Drops x where softmax(x) < min_p * its maximum. */
void vc_filter_min_p(struct vc_filter_scratch *s, float *x, uint32_t n, float min_p);
/* Drops x below the k-th largest (1 <= k < n); ties with it stay. */
void vc_filter_top_k(struct vc_filter_scratch *s, float *x, uint32_t n, uint32_t k);
/* In ascending order of x, drops the elements whose running sum of softmax(x), themselves included, is at most
 * 1 - top_p; the largest stays. Among equal logits the lower ids stay. Sums are f64, compared after rounding to f32. */
void vc_filter_top_p(struct vc_filter_scratch *s, float *x, uint32_t n, float top_p);

#endif
