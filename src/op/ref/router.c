/* SPDX-License-Identifier: Apache-2.0
 * The top k experts of each token and their weights. */
#include "op/math.h"
#include "op/ref/ref.h"
#include "op/route.h"

/* route-lowest: softmax of the k values, or of all, summed in index order; own exp. */
static void lowest_weights(const float *logit, uint32_t E, const int32_t *ids, uint32_t k, int renorm, uint8_t fmt, float *w) {
    float m = logit[ids[0]], s = 0.0f;
    for (uint32_t j = 0; j < k; j++) w[j] = vc_expf(logit[ids[j]] - m);
    if (renorm)
        for (uint32_t j = 0; j < k; j++) s = s + w[j];
    else
        for (uint32_t i = 0; i < E; i++) s = s + vc_expf(logit[i] - m);
    for (uint32_t j = 0; j < k; j++) w[j] = vc_round_to(fmt, w[j] / s);
}

void vc_ref_router(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_router_args *a = c->args;
    uint32_t E = a->num_experts, k = a->top_k;
    uint8_t fmt = c->contract->slot[VC_SLOT_ROUTE];
    float logit[VC_MAX_EXPERTS];
    struct vc_route_item q[VC_MAX_EXPERTS];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < c->in[0].rows; r++) {
        int32_t *ids = (int32_t *)(void *)((char *)c->out[0].data + (size_t)r * c->out[0].stride);
        float *w = (float *)(void *)((char *)c->out[1].data + (size_t)r * c->out[1].stride);
        for (uint32_t i = 0; i < E; i++) {
            logit[i] = vc_load(&c->in[0], r, i);
            q[i] = (struct vc_route_item){ logit[i], (int32_t)i };
        }
        if (c->contract->core == VC_ARITH_ROUTE_TORCH) {
            vc_route_torch(q, E, k);
            for (uint32_t j = 0; j < k; j++) ids[j] = q[j].i;
            vc_route_weights_torch(logit, E, ids, k, a->renorm, fmt, w);
        } else {
            vc_route_lowest(logit, E, k, ids);
            lowest_weights(logit, E, ids, k, a->renorm, fmt, w);
        }
    }
}
