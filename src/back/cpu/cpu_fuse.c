/* SPDX-License-Identifier: Apache-2.0 */
#include "back/cpu/cpu_fuse.h"

/* Operands that have one row per row of in[0] (bit k: in[k] or out[k]); the others are shared by all rows. */
static const struct { uint8_t in, out; } row_operands[VC_NUM_OPS] = {
    [VC_OP_EMBED] = { 1, 1 },
    [VC_OP_RMSNORM] = { 1 | 4, 1 | 2 },
    [VC_OP_HEADNORM] = { 1, 1 },
    [VC_OP_QUANTIZE] = { 1, 1 },
    [VC_OP_ROPE] = { 1 | 4, 1 },
    [VC_OP_ROWSCALE] = { 1 | 2, 1 },
    [VC_OP_KVSTORE] = { 1 | 2 | 4, 0 },
    [VC_OP_ACTMUL] = { 1, 1 },
    [VC_OP_ROUTER] = { 1, 1 | 2 },
    [VC_OP_SOFTCAP] = { 1, 1 },
};

bool vc_fuse_rowwise(enum vc_op op) { return row_operands[op].in != 0; }

static void slice(struct vc_view *v, uint32_t lo, uint32_t hi) {
    if (!v->data) return;
    v->data = (char *)v->data + (size_t)lo * v->stride;
    v->rows = hi - lo;
}

void vc_fuse_rows(vc_op_fn *fn, const struct vc_op_call *c, uint32_t lo, uint32_t hi) {
    struct vc_op_call part = *c;
    for (int k = 0; k < VC_MAX_IN; k++)
        if (row_operands[c->contract->op].in >> k & 1) slice(&part.in[k], lo, hi);
    for (int k = 0; k < VC_MAX_OUT; k++)
        if (row_operands[c->contract->op].out >> k & 1) slice(&part.out[k], lo, hi);
    fn(&part, 0, 1);
}
