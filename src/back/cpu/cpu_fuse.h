/* SPDX-License-Identifier: Apache-2.0
 * cpu_fuse.h: runs of row-wise lines as one fused kernel: each worker takes its share of the rows through all lines of
 * the run, so that no barrier stands between them. Row-wise (op/rowwise.h) means that fusing changes no bit; --no-fuse
 * runs every line by itself. */
#ifndef VC_BACK_CPU_FUSE_H
#define VC_BACK_CPU_FUSE_H

#include "op/op.h"

/* Runs rows [lo, hi) of a row-wise call on the calling thread. */
void vc_fuse_rows(vc_op_fn *fn, const struct vc_op_call *c, uint32_t lo, uint32_t hi);

#endif
