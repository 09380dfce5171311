/* SPDX-License-Identifier: Apache-2.0
 * Root-mean-square norm, with and without a residual, in the two orders of summation. */
#include "op/ref/norm.h"

void vc_ref_rmsnorm(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_rmsnorm_args *a = c->args;
    const struct vc_view *x = &c->in[0], *w = &c->in[1], *res = c->in[2].data ? &c->in[2] : NULL, *y = &c->out[0];
    const struct vc_view *res_out = c->out[1].data ? &c->out[1] : NULL;
    uint8_t pregamma = c->contract->slot[a->weight_offset != 0.0f ? VC_SLOT_NORM1P_PREGAMMA : VC_SLOT_NORM_PREGAMMA];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < x->rows; r++) {
        struct vc_norm_row row = { x, res, r, 0 };
        float k = vc_norm_factor(&row, x->cols, a->eps, c->contract->core);
        for (uint32_t i = 0; i < x->cols; i++) {
            float s = vc_norm_value(&row, i);
            if (res_out) vc_store(res_out, r, i, s);
            vc_store(y, r, i, vc_round_to(pregamma, s * k) * vc_norm_weight(w, i, a->weight_offset));
        }
    }
}
