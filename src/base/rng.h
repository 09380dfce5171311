/* SPDX-License-Identifier: Apache-2.0
 * rng.h: SplitMix64 (Steele, Lea, Flood 2014), as a stream and as a hash. */
#ifndef VC_BASE_RNG_H
#define VC_BASE_RNG_H

#include <stdint.h>

static inline uint64_t vc_mix64(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}
static inline uint64_t vc_rng_next(uint64_t *state) { return vc_mix64(*state += 0x9E3779B97F4A7C15u); }
/* Uniform in [0, n), n > 0. */
static inline uint32_t vc_rng_below(uint64_t *state, uint32_t n) { return (uint32_t)((vc_rng_next(state) >> 32) * n >> 32); }
/* Uniform in [0, 1) on a grid of 2^-24. */
static inline float vc_rng_float(uint64_t *state) { return (float)(vc_rng_next(state) >> 40) * 0x1p-24f; }

#endif
