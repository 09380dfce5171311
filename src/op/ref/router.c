/* SPDX-License-Identifier: Apache-2.0
 * The top k experts of each token and their weights. */
#include "op/fast_exp.h"
#include "op/math.h"
#include "op/ref/ref.h"
#include "op/route.h"

/* route-torch: softmax of the k values in their order (libm's expf), or exp(v - logsumexp) with every step rounded. */
static void torch_weights(const float *logit, uint32_t E, const int32_t *ids, uint32_t k, int renorm, uint8_t fmt, float *w) {
    float m = logit[ids[0]], s = 0.0f, e[VC_MAX_EXPERTS];
    if (renorm) {
        for (uint32_t j = 1; j < k; j++) m = logit[ids[j]] > m ? logit[ids[j]] : m;
        for (uint32_t j = 0; j < k; j++) s = s + (w[j] = vc_glibc_expf(logit[ids[j]] - m));
        for (uint32_t j = 0; j < k; j++) w[j] = vc_round_to(fmt, w[j] / s);
        return;
    }
    for (uint32_t i = 0; i < E; i++) m = logit[i] > m ? logit[i] : m;
    for (uint32_t i = 0; i < E; i++) e[i] = vc_round_to(fmt, (float)vc_exp((double)vc_round_to(fmt, logit[i] - m)));
    s = vc_round_to(fmt, vc_route_sum(e, E));
    float z = vc_round_to(fmt, vc_round_to(fmt, (float)vc_log((double)s)) + m);
    for (uint32_t j = 0; j < k; j++) w[j] = vc_round_to(fmt, (float)vc_exp((double)vc_round_to(fmt, logit[ids[j]] - z)));
}

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
            torch_weights(logit, E, ids, k, a->renorm, fmt, w);
        } else {
            vc_route_lowest(logit, E, k, ids);
            lowest_weights(logit, E, ids, k, a->renorm, fmt, w);
        }
    }
}
