/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_gumbel.h: a draw from softmax(x) by Gumbel-argmax: the token with the largest x + g, g = -ln(-ln u), ties
 * to the lowest id. u is a hash of (seed, output index, token id): a token's noise depends on nothing else, so the
 * result depends on no order of summation, and a draft token is right iff this rule picks it. */
#ifndef VC_RUN_SAMPLE_GUMBEL_H
#define VC_RUN_SAMPLE_GUMBEL_H

#include <stdint.h>

/* Noise of one token, in f64; u lies on a grid of 2^-53, never 0 or 1. */
double vc_gumbel(uint64_t seed, uint32_t index, uint32_t token);
/* best: the index of the largest x, where the search begins. Elements that are -inf are never drawn. */
uint32_t vc_gumbel_argmax(const float *x, uint32_t n, uint32_t best, uint64_t seed, uint32_t index);

#endif
