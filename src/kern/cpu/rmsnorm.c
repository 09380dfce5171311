/* SPDX-License-Identifier: Apache-2.0
 * Root-mean-square norm of rows, with and without a residual. Parts share the rows. */
#include "base/pool.h"
#include "kern/cpu/norm_row.h"
#include "op/args.h"

vc_op_fn VC_K(vc_rmsnorm);
void VC_K(vc_rmsnorm)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_rmsnorm_args *a = c->args;
    const struct vc_view *x = &c->in[0], *res = &c->in[2], *y = &c->out[0], *res_out = &c->out[1];
    struct vc_norm_io io = {
        .w = c->in[1].data, .H = x->cols, .tx = x->dtype, .ty = y->dtype, .core = c->contract->core, .eps = a->eps, .offset = a->weight_offset,
        .tres = res->data ? res->dtype : x->dtype, .tres_out = res_out->data ? res_out->dtype : x->dtype,
        .pregamma = c->contract->slot[a->weight_offset != 0.0f ? VC_SLOT_NORM1P_PREGAMMA : VC_SLOT_NORM_PREGAMMA],
    };
    uint64_t lo, hi;
    vc_share(x->rows, 1, part, parts, &lo, &hi);
    for (uint64_t r = lo; r < hi; r++) {
        io.x = (const char *)x->data + r * x->stride;
        io.y = (char *)y->data + r * y->stride;
        if (res->data) io.res = (const char *)res->data + r * res->stride;
        if (res_out->data) io.res_out = (char *)res_out->data + r * res_out->stride;
        vc_norm_row_as(&io);
    }
}
