/* SPDX-License-Identifier: Apache-2.0
 * act(gate) * up. */
#include "op/act.h"
#include "op/ref/ref.h"

void vc_ref_actmul(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_actmul_args *a = c->args;
    const struct vc_view *x = &c->in[0], *y = &c->out[0];
    uint8_t gate = c->contract->slot[VC_SLOT_ACT_GATE];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < y->rows; r++)
        for (uint32_t i = 0; i < y->cols; i++) {
            float g = vc_load(x, r, i), u = vc_load(x, r, y->cols + i), v = vc_round_to(gate, vc_act(a->act, g));
            if (gate == VC_BF16 && a->act == VC_ACT_GELU_TANH && i < y->cols / 64 * 64 && vc_gelu_tanh_hole(g)) v = -0.0f;
            vc_store(y, r, i, v * u);
        }
}
