/* SPDX-License-Identifier: Apache-2.0
 * ckd.h: arithmetic that tells when it overflows. For every value that came from a file or a socket. */
#ifndef VC_BASE_CKD_H
#define VC_BASE_CKD_H

#include <stdbool.h>
#include <stdint.h>

/* Each returns true when the result did not fit; *r is then unspecified (C23's ckd_ convention). */
static inline bool vc_ckd_add(uint64_t *r, uint64_t a, uint64_t b) { return __builtin_add_overflow(a, b, r); }
static inline bool vc_ckd_sub(uint64_t *r, uint64_t a, uint64_t b) { return __builtin_sub_overflow(a, b, r); }
static inline bool vc_ckd_mul(uint64_t *r, uint64_t a, uint64_t b) { return __builtin_mul_overflow(a, b, r); }

/* Rounds up to a multiple of m (m > 0). */
static inline uint64_t vc_round_up(uint64_t x, uint64_t m) { return (x + m - 1) / m * m; }
static inline uint64_t vc_div_up(uint64_t x, uint64_t m) { return (x + m - 1) / m; }

#endif
