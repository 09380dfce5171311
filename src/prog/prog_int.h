/* SPDX-License-Identifier: Apache-2.0
 * prog_int.h: the program's own structures, shared by prog.c, plan.c and print.c. */
#ifndef VC_PROG_PROG_INT_H
#define VC_PROG_PROG_INT_H

#include "prog/prog.h"

struct stream {
    uint32_t cols;
    enum vc_dtype dtype;
    enum vc_rows rows;
    bool keep;
    size_t stride, offset;              /* bytes per row; place in the workspace */
    uint32_t first, last;               /* lines of its first and last use; first UINT32_MAX: never used */
};
struct line {
    enum vc_op op;
    enum vc_arith core;
    struct vc_operand in[VC_MAX_IN], out[VC_MAX_OUT];
    struct vc_dims dims;
    void *args;
    const char *label;
    struct vc_dev_kernel *kernel;
    struct vc_op_call call;
};
struct vc_prog {
    struct vc_dev *dev;                 /* borrowed */
    struct vc_numerics numerics;
    struct vc_arena arena;              /* arguments and labels */
    uint32_t max_tokens, max_out, max_seqs, head_at;
    struct stream *streams;             /* owned arrays */
    struct vc_view *weights;
    struct line *lines;
    uint32_t num_streams, num_weights, num_lines;
    uint8_t *workspace;
    size_t workspace_bytes;
    struct vc_kv_pool kv;
    vc_probe_fn *probe;
    void *probe_ctx;
    bool failed;
};

#endif
