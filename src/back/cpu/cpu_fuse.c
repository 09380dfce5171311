/* SPDX-License-Identifier: Apache-2.0 */
#include "back/cpu/cpu_fuse.h"

#include "op/rowwise.h"

static void slice(struct vc_view *v, uint32_t lo, uint32_t hi) {
    if (!v->data) return;
    v->data = (char *)v->data + (size_t)lo * v->stride;
    v->rows = hi - lo;
}

void vc_fuse_rows(vc_op_fn *fn, const struct vc_op_call *c, uint32_t lo, uint32_t hi) {
    struct vc_row_operands rows = vc_op_rowwise(c->contract->op);
    struct vc_op_call part = *c;
    for (int k = 0; k < VC_MAX_IN; k++)
        if (rows.in >> k & 1) slice(&part.in[k], lo, hi);
    for (int k = 0; k < VC_MAX_OUT; k++)
        if (rows.out >> k & 1) slice(&part.out[k], lo, hi);
    fn(&part, 0, 1);
}
