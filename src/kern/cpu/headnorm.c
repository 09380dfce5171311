/* SPDX-License-Identifier: Apache-2.0
 * Root-mean-square norm of each head. Parts share the heads of all rows. */
#include "base/pool.h"
#include "kern/cpu/norm_row.h"
#include "op/args.h"

vc_op_fn VC_K(vc_headnorm);
void VC_K(vc_headnorm)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_headnorm_args *a = c->args;
    const struct vc_view *x = &c->in[0], *y = &c->out[0];
    struct vc_norm_io io = {
        .w = c->in[1].data, .H = a->head_dim, .tx = x->dtype, .tres = x->dtype, .ty = y->dtype, .tres_out = x->dtype, .core = c->contract->core,
        .eps = a->eps, .offset = a->weight_offset,
        .pregamma = c->contract->slot[a->weight_offset != 0.0f ? VC_SLOT_NORM1P_PREGAMMA : VC_SLOT_HEADNORM_PREGAMMA],
    };
    size_t xb = vc_dtype_info(x->dtype)->bytes, yb = vc_dtype_info(y->dtype)->bytes;
    uint64_t lo, hi;
    vc_share((uint64_t)x->rows * a->heads, 1, part, parts, &lo, &hi);
    for (uint64_t u = lo; u < hi; u++) {
        uint64_t r = u / a->heads, at = u % a->heads * a->head_dim;
        io.x = (const char *)x->data + r * x->stride + at * xb;
        io.y = (char *)y->data + r * y->stride + at * yb;
        vc_norm_row_as(&io);
    }
}
