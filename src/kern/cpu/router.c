/* SPDX-License-Identifier: Apache-2.0
 * The top k experts of each token and their weights. Choice and order are scalar (op/route.h); the exponentials of
 * route-lowest run on lanes. Parts share the rows. */
#include "base/pool.h"
#include "kern/cpu/simd_math.h"
#include "op/args.h"
#include "op/route.h"

static void widen(const struct vc_view *x, uint64_t r, uint32_t E, float *logit) {
    const void *row = (const char *)x->data + r * x->stride;
    for (uint32_t i = 0; i < E; i += 16) {
        uint32_t n = E - i < 16 ? E - i : 16;
        vc_vf v = n == 16 ? vc_vf_load_as(x->dtype, row, i) : vc_vf_load_as_n(x->dtype, row, i, n);
        vc_vf_store_n(logit + i, v, n == 16 ? 16 : n);
    }
}

/* w_j = exp(v_j - max) / sum, the sum over the chosen or over all in index order. */
static void lowest_weights(const float *logit, uint32_t E, const int32_t *ids, uint32_t k, int renorm, uint8_t fmt, float *w) {
    float v[VC_MAX_EXPERTS + 16], s = 0.0f, m = logit[ids[0]];
    uint32_t n = renorm ? k : E;
    if (renorm)
        for (uint32_t j = 0; j < k; j++) v[j] = logit[ids[j]];
    else
        memcpy(v, logit, (size_t)E * 4);
    for (uint32_t i = n; i % 16; i++) v[i] = m;
    for (uint32_t i = 0; i < n; i += 16) vc_vf_store(v + i, vc_vf_exp(vc_vf_sub(vc_vf_load(v + i), vc_vf_set1(m))));
    for (uint32_t i = 0; i < n; i++) s = s + v[i];
    for (uint32_t j = 0; j < k; j += 16) {
        uint32_t left = k - j < 16 ? k - j : 16;
        float e[16] = { 0 };
        for (uint32_t l = 0; l < left; l++) e[l] = renorm ? v[j + l] : v[ids[j + l]];
        vc_vf_store(e, vc_vf_round_to(fmt, vc_vf_div(vc_vf_load(e), vc_vf_set1(s))));
        memcpy(w + j, e, (size_t)left * 4);
    }
}

vc_op_fn VC_K(vc_router);
void VC_K(vc_router)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_router_args *a = c->args;
    uint32_t E = a->num_experts, k = a->top_k;
    uint8_t fmt = c->contract->slot[VC_SLOT_ROUTE];
    float logit[VC_MAX_EXPERTS];
    struct vc_route_item q[VC_MAX_EXPERTS];
    uint64_t lo, hi;
    vc_share(c->in[0].rows, 1, part, parts, &lo, &hi);
    for (uint64_t r = lo; r < hi; r++) {
        int32_t *ids = (int32_t *)(void *)((char *)c->out[0].data + r * c->out[0].stride);
        float *w = (float *)(void *)((char *)c->out[1].data + r * c->out[1].stride);
        widen(&c->in[0], r, E, logit);
        if (c->contract->core == VC_ARITH_ROUTE_TORCH) {
            for (uint32_t i = 0; i < E; i++) q[i] = (struct vc_route_item){ logit[i], (int32_t)i };
            vc_route_torch(q, E, k);
            for (uint32_t j = 0; j < k; j++) ids[j] = q[j].i;
            vc_route_weights_torch(logit, E, ids, k, a->renorm, fmt, w);
        } else {
            vc_route_lowest(logit, E, k, ids);
            lowest_weights(logit, E, ids, k, a->renorm, fmt, w);
        }
    }
}
