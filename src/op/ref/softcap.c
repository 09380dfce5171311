/* SPDX-License-Identifier: Apache-2.0
 * cap * tanh(x / cap). */
#include "op/math.h"
#include "op/ref/ref.h"

void vc_ref_softcap(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    float cap = ((const struct vc_softcap_args *)c->args)->cap;
    uint8_t inner = c->contract->slot[VC_SLOT_SOFTCAP_INNER];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < c->in[0].rows; r++)
        for (uint32_t i = 0; i < c->in[0].cols; i++) {
            float t = vc_round_to(inner, vc_tanhf(vc_round_to(inner, vc_load(&c->in[0], r, i) / cap)));
            vc_store(&c->out[0], r, i, t * cap);
        }
}
