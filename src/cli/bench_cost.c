/* SPDX-License-Identifier: Apache-2.0
 * bench_cost.c: multiplications and bytes that a token takes, from the model's own program data. */
#include <math.h>

#include "api/api_int.h"
#include "cli/bench.h"

static double linear_macs(const struct vc_linear *l) { return (double)l->w.rows * l->w.cols; }

static double fused_macs(const struct vc_fused *f) {
    double n = 0;
    for (uint32_t i = 0; i < f->n; i++) n += linear_macs(&f->part[i]);
    return n;
}

/* The peak that the matrix products of a core can reach on a tier. */
static enum cli_peak_kind peak_of(enum vc_arith core, enum vc_dtype weight, enum vc_dtype act, enum vc_tier tier) {
    if (core == VC_ARITH_IBLK) return tier == VC_TIER_PORTABLE ? CLI_PEAK_F32 : CLI_PEAK_INT8;
    bool bf16 = core == VC_ARITH_PAIR && weight == VC_BF16 && act == VC_BF16;
    return bf16 && tier == VC_TIER_AVX512BF16 ? CLI_PEAK_BF16 : CLI_PEAK_F32;
}

void cli_model_cost(struct cli_cost *c, const vc_model *m, enum vc_tier tier) {
    const struct vc_net *n = vc_engine_net(vc_model_engine((struct vc_model *)(uintptr_t)m));
    const struct vc_config *f = &n->config;
    const struct vc_weights *w = &n->weights;
    *c = (struct cli_cost){ .experts = f->num_experts, .experts_used = f->num_experts_per_tok };
    for (uint32_t l = 0; l < f->num_layers; l++) {
        const struct vc_layer_weights *x = &w->layers[l];
        c->macs_per_token += fused_macs(&x->qkv) + linear_macs(&x->o);
        if (f->layer_moe[l]) {
            c->macs_per_token += linear_macs(&x->router);
            c->macs_per_token += 3.0 * f->hidden_size * f->moe_intermediate_size * f->num_experts_per_tok;
            c->expert_bytes += (double)f->num_experts * (double)(x->stride13 + x->stride2);
        } else {
            c->macs_per_token += fused_macs(&x->gate_up) + linear_macs(&x->down);
        }
    }
    c->macs_head = linear_macs(&w->head);
    c->attn_macs = 2.0 * f->num_heads * f->head_dim * f->num_layers;
    c->weight_bytes = fmax((double)w->region_bytes - c->expert_bytes, 0);
    c->kv_bytes = 2.0 * f->num_kv_heads * f->head_dim * f->num_layers * vc_dtype_info(n->kv.dtype)->bytes;
    const struct vc_linear *first = &w->layers[0].o;
    c->peak = peak_of(first->core, first->w.dtype, (enum vc_dtype)n->numerics.slot[VC_SLOT_ATTN_OUT], tier);
}

double cli_prefill_ops(const struct cli_cost *c, uint32_t prompt) {
    double p = prompt;
    return 2 * (c->macs_per_token * p + c->macs_head + c->attn_macs * p * (p + 1) / 2);
}

double cli_decode_bytes(const struct cli_cost *c, uint32_t requests, double context) {
    double met = c->experts ? 1 - pow(1 - (double)c->experts_used / c->experts, requests) : 0; /* expected share */
    return c->weight_bytes + c->expert_bytes * met + c->kv_bytes * context * requests;
}
