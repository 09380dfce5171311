/* SPDX-License-Identifier: Apache-2.0
 * route.h: which k of E logits a router takes and in which order. torch.topk(sorted=False) is libstdc++'s nth_element
 * (partial_sort where 64 k <= E) on (value, index) pairs compared by value only; ties and the order of the ids follow
 * from its steps (bits/stl_algo.h, bits/stl_heap.h), so they are repeated here. Shared by reference and kernel: the
 * algorithm is scalar on every tier. */
#ifndef VC_OP_ROUTE_H
#define VC_OP_ROUTE_H

#include <stdint.h>

enum { VC_MAX_EXPERTS = 1024 };
struct vc_route_item { float v; int32_t i; };

/* q[0 … E-1] are the logits in index order (no NaN); afterwards q[0 … k-1] are torch's choice in its order. 1 <= k <= E. */
void vc_route_torch(struct vc_route_item *q, uint32_t E, uint32_t k);
/* ids[0 … k-1] of the largest logits, largest first, ties to the lowest id. */
void vc_route_lowest(const float *logit, uint32_t E, uint32_t k, int32_t *ids);
/* route-torch: softmax of the k values in their order (glibc's expf), or exp(v - logsumexp) with every step rounded to fmt. */
void vc_route_weights_torch(const float *logit, uint32_t E, const int32_t *ids, uint32_t k, int renorm, uint8_t fmt, float *w);

#endif
