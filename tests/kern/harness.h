/* SPDX-License-Identifier: Apache-2.0
 * harness.h: what the kernel tests share. Buffers end at guard pages; every row of vc_cpu_kernels that covers a call is
 * run with 1, 2, 3 and 5 parts (one part after the other, in both directions) and compared with op/ref bit for bit,
 * bytes between and around rows included. The AVX-512 rows run emulated on machines without it (library vc_kern_emu).
 * A failing comparison prints row, parts, place and both words, and fails the cmocka test. */
#ifndef VC_TESTS_KERN_HARNESS_H
#define VC_TESTS_KERN_HARNESS_H

#include "test.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "dev/kernel.h"
#include "op/ref/ref.h"

/* Zeroed memory whose end (rounded up to align, a power of two) touches a page that cannot be accessed. */
void *h_alloc(size_t bytes, size_t align);
void h_free_all(void);                               /* everything from h_alloc; call at the end of each case */

/* A matrix, its last row ending at a guard page; `gap` further bytes between rows (filled with 0x5A). raw = data. */
struct vc_view h_view(enum vc_dtype t, uint32_t rows, uint32_t cols, size_t gap);
size_t h_row_bytes(const struct vc_view *v);         /* of one row's values; stride for A8 rows */

/* Data for float views (f32, bf16, f16). */
enum h_data {
    H_INTS,         /* integers -8 … 8: every order is exact */
    H_NORMAL,       /* normal distribution */
    H_WIDE,         /* normal times 2^(-20 … 20) (f16: 2^(-6 … 6)) */
    H_ZEROS,        /* +0 and -0, a few ones */
    H_TINY,         /* subnormals and least normal numbers among ordinary ones: flushed where they are read */
    H_HUGE,         /* up to 2^60 (f16: 60000) */
    H_SPECIAL,      /* ordinary numbers with a few Inf and NaN */
    H_NUM_DATA
};
const char *h_data_name(enum h_data k);
void h_fill(const struct vc_view *v, enum h_data kind, uint64_t *rng);
float h_gauss(uint64_t *rng);
void h_fill_u32(const struct vc_view *v, uint32_t below, uint64_t *rng);     /* i32 views: 0 … below-1 */

bool h_tier_runs(enum vc_tier t);                    /* on this machine, emulated or not */

/* Runs op/ref, then every covering row; outputs start with what they hold now (so in-place calls work). `what` is
 * printed on failure. Returns how many rows ran (0: none covers the call). */
int h_check(const struct vc_op_call *call, const struct vc_dims *d, const char *what);
/* The same, but words that are both below 2^-125 in magnitude count as equal. */
int h_check_tiny(const struct vc_op_call *call, const struct vc_dims *d, const char *what);
/* Only op/ref, with subnormals flushed. */
void h_ref(const struct vc_op_call *call);
/* One row on the call with that many parts; scratch is allocated and freed here. */
void h_run(const struct vc_kernel *k, const struct vc_op_call *call, const struct vc_dims *d, uint32_t parts);
/* A contract with every slot f32. */
struct vc_contract h_contract(enum vc_op op, enum vc_arith core);

#endif
