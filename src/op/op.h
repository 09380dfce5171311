/* SPDX-License-Identifier: Apache-2.0
 * op.h: what an operation is: its id, its views, its contract, one call.
 * The reference (op/ref) and every kernel have the same signature, vc_op_fn. */
#ifndef VC_OP_OP_H
#define VC_OP_OP_H

#include <stddef.h>
#include <stdint.h>

#include "num/dtype.h"

enum vc_op {
#define VC_OP(id, name, in, out, text) VC_OP_##id,
#include "op/ops.def"
#undef VC_OP
    VC_NUM_OPS,
    VC_OP_ANY = VC_NUM_OPS
};
enum vc_slot {
#define VC_SLOT(id, name, op, kind, text) VC_SLOT_##id,
#include "op/slots.def"
#undef VC_SLOT
    VC_NUM_SLOTS
};
enum vc_arith {
#define VC_ARITH(id, name, op, cls, c, text) VC_ARITH_##id,
#include "op/arith.def"
#undef VC_ARITH
    VC_NUM_ARITHS
};

/* A matrix in memory: rows x cols values of dtype, row r at data + r * stride bytes.
 * Weights: `raw` is the checkpoint's own storage ([rows][cols] row-major in dtype), `data` the panel made by the
 * kernel's pack function (op/ref reads raw, kernels read data). Absent optional views have data and raw NULL. */
struct vc_view {
    void *data;
    const void *raw;
    size_t stride;                /* bytes between rows of data */
    uint32_t rows, cols;
    enum vc_dtype dtype;
};

/* Format of each slot (VC_F32, VC_BF16 or VC_F16). What an op reads of it: its INNER slots; STORE slots are the
 * dtypes of its views. */
struct vc_contract {
    enum vc_op op;
    enum vc_arith core;
    uint8_t slot[VC_NUM_SLOTS];
};

enum { VC_MAX_IN = 5, VC_MAX_OUT = 2 };
struct vc_op_call {
    const struct vc_contract *contract;
    struct vc_view in[VC_MAX_IN], out[VC_MAX_OUT];   /* in the order of ops.def */
    const void *args;             /* struct vc_<name>_args, op/args.h */
    void *scratch;                /* shared by all parts; size from the kernel row; 64-byte aligned; content undefined */
};

/* Computes this part's share of the call; the parts together compute all of it. Never fails, never allocates.
 * The caller has set flush-to-zero (vc_fp_flush). */
typedef void vc_op_fn(const struct vc_op_call *c, uint32_t part, uint32_t parts);

struct vc_op_info { const char *name, *inputs, *outputs, *text; };
struct vc_slot_info { const char *name, *text; enum vc_op op; int inner; };
struct vc_arith_info { const char *name, *text; enum vc_op op; };
const struct vc_op_info *vc_op_info(enum vc_op op);
const struct vc_slot_info *vc_slot_info(enum vc_slot s);
const struct vc_arith_info *vc_arith_info(enum vc_arith a);

/* The oracle of an op: honours every slot and every core of it. Part 0 does all the work. */
extern vc_op_fn *const vc_op_ref[VC_NUM_OPS];

#endif
