/* SPDX-License-Identifier: Apache-2.0
 * kernel.h: kernel rows and weight packers, and the choice among them.
 * A row covers a contract if op and core agree, its masks hold the views' formats, and every INNER slot that the
 * contract narrows is one that the row honours. Rows are tried in the order of their table: best first, portable last. */
#ifndef VC_DEV_KERNEL_H
#define VC_DEV_KERNEL_H

#include <stdbool.h>

#include "base/cpu.h"
#include "op/args.h"
#include "op/numerics.h"

#define VC_FMT(t) (UINT64_C(1) << VC_##t)                  /* bit of a dtype in a mask */
#define VC_FMT_FLOATS (VC_FMT(F32) | VC_FMT(BF16) | VC_FMT(F16))
#define VC_INNER(s) (UINT64_C(1) << VC_SLOT_##s)           /* bit of a slot */
#define VC_INNER_MAX_ONLY (UINT64_C(1) << 63)              /* beside the slots: the row heeds vc_matmul_args.max_only */

/* What is known about a call when the program is planned. */
struct vc_dims {
    uint32_t max_rows;                                     /* most rows of in[0] in one step */
    uint32_t N, K;                                         /* matmul: outputs, inputs; moe: hidden both; else K = columns */
    uint32_t num_heads, num_kv_heads, head_dim, rotary_dim, page_tokens;
    uint32_t num_experts, top_k, intermediate, max_seqs;
    enum vc_dtype in0, weight, out0;                       /* weight: panel or KV format; F32 where there is none */
    const void *args;
};

enum { VC_MAX_PHASES = 4 };
struct vc_kernel {
    const char *name;                                      /* "matmul_pair_avx2" */
    enum vc_op op;
    enum vc_arith core;
    enum vc_tier tier;
    uint64_t in0, weight, out0;                            /* masks of VC_FMT */
    uint32_t m_lo, m_hi;                                   /* rows of in[0] in one call, inclusive */
    uint64_t inner;                                        /* VC_INNER slots honoured in any format */
    bool (*accepts)(const struct vc_contract *, const struct vc_dims *);   /* further conditions; NULL: none */
    size_t (*scratch)(const struct vc_dims *, uint32_t parts);             /* bytes; NULL: 0 */
    vc_op_fn *phase[VC_MAX_PHASES];                        /* run in order with a barrier between; the first NULL ends */
};

/* Repacks checkpoint rows into the panel that the kernels of one core read, the same for all tiers. */
struct vc_pack_job {
    enum vc_dtype src, panel;      /* stored format; format in the panel (src, or a plain float format to cast to, nearest even) */
    const void *raw;               /* [rows][K] in src, rows adjacent */
    uint32_t rows, K;
    uint32_t N, at;                /* the panel has N rows; these become rows at … at+rows-1 */
    void *dst;                     /* vc_packer.bytes, zeroed before the first job, 64-byte aligned */
};
struct vc_packer {
    enum vc_arith core;
    enum vc_op op;                 /* VC_OP_MATMUL or VC_OP_MOE */
    uint64_t panel;                /* formats it makes */
    size_t (*bytes)(enum vc_dtype panel, uint32_t N, uint32_t K);
    uint32_t unit;                 /* jobs that begin and end at multiples of it may run in parallel */
    void (*pack)(const struct vc_pack_job *j);
};

/* All rows of the CPU backend, ended by a row without a name; likewise the packers. */
extern const struct vc_kernel vc_cpu_kernels[];
extern const struct vc_packer vc_cpu_packers[];

bool vc_kernel_covers(const struct vc_kernel *k, const struct vc_contract *c, const struct vc_dims *d);
/* First row for m rows that the tier allows; NULL: only op/ref computes this. */
const struct vc_kernel *vc_kernel_select(const struct vc_kernel *rows, enum vc_tier tier, const struct vc_contract *c, const struct vc_dims *d, uint32_t m);
const struct vc_packer *vc_packer_select(const struct vc_packer *rows, enum vc_op op, enum vc_arith core, enum vc_dtype panel);

#endif
