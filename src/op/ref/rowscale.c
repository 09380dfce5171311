/* SPDX-License-Identifier: Apache-2.0
 * Each row times its own factor. */
#include "op/ref/ref.h"

void vc_ref_rowscale(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_view *x = &c->in[0], *s = &c->in[1], *y = &c->out[0];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < x->rows; r++) {
        float f = vc_round_to(c->contract->slot[VC_SLOT_ROWSCALE_FACTOR], vc_load(s, r, 0));
        for (uint32_t i = 0; i < x->cols; i++) vc_store(y, r, i, vc_load(x, r, i) * f);
    }
}
