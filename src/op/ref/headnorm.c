/* SPDX-License-Identifier: Apache-2.0
 * Root-mean-square norm of each head. */
#include "op/ref/norm.h"

void vc_ref_headnorm(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_headnorm_args *a = c->args;
    const struct vc_view *x = &c->in[0], *w = &c->in[1], *y = &c->out[0];
    uint8_t pregamma = c->contract->slot[a->weight_offset != 0.0f ? VC_SLOT_NORM1P_PREGAMMA : VC_SLOT_HEADNORM_PREGAMMA];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < x->rows; r++)
        for (uint32_t h = 0; h < a->heads; h++) {
            struct vc_norm_row row = { x, NULL, r, h * a->head_dim };
            float k = vc_norm_factor(&row, a->head_dim, a->eps, c->contract->core);
            for (uint32_t i = 0; i < a->head_dim; i++)
                vc_store(y, r, h * a->head_dim + i,
                         vc_round_to(pregamma, vc_norm_value(&row, i) * k) * vc_norm_weight(w, i, a->weight_offset));
        }
}
