/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_prob.h: softmax, log-softmax and simple statistics of a row. Order of the sum: element i goes to lane i
 * mod 16, lanes meet as i + (i+8), + (i+4), + (i+2), + (i+1); rows shorter than 16 in index order (torch's vector
 * code). */
#ifndef VC_RUN_SAMPLE_PROB_H
#define VC_RUN_SAMPLE_PROB_H

#include <stdbool.h>
#include <stdint.h>

bool vc_row_finite(const float *x, uint32_t n);
/* Largest element; the lowest index among equals. n >= 1, no NaN. */
uint32_t vc_row_argmax(const float *x, uint32_t n);

/* The two largest elements, equal ones counted apart; n = 1: *second is -inf. n >= 1, no NaN. */
void vc_row_top2(const float *x, uint32_t n, float *best, float *second);

/* e[i] = e^(x[i] - m); returns their sum. All of these give the same bits. */
typedef float vc_exp_sum_fn(const float *x, uint32_t n, float m, float *e);
vc_exp_sum_fn vc_exp_sum_portable;
/* The fastest for this machine, within VLLMC_CPU. */
vc_exp_sum_fn *vc_exp_sum_pick(void);

/* p[i] = e^(x[i] - max x) / sum. x may hold -inf (p = 0), but not only; p may be x. */
void vc_softmax_row(vc_exp_sum_fn *exp_sum, const float *x, uint32_t n, float *p);
/* y[i] = (x[i] - max x) - ln sum, as torch's log_softmax on f32 (word for word what vLLM's CPU path reports). */
void vc_log_softmax_row(vc_exp_sum_fn *exp_sum, const float *x, uint32_t n, float *y);
/* Number of elements >= v. */
uint32_t vc_row_count_ge(const float *x, uint32_t n, float v);

#endif
