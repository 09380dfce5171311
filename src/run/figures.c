/* SPDX-License-Identifier: Apache-2.0 */
#include "run/figures.h"

#include <math.h>

#include "base/compat.h"

static const double token_bounds[] = { 1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384 }; /* vLLM's */
static const double time_bounds[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                      0.25,   0.5,   1,      2.5,   5,    10,    30,   60 };

static const double margin_bounds[] = { 0,   1,    2,    4,     8,     16,     32,      64,      128,     256,
                                        512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216 };

#define BOUNDS(a) { .bounds = a, .num_bounds = VC_ARRAY_LEN(a) }

void vc_histogram_add(vc_histogram *h, double v) {
    uint32_t i = 0;
    while (i < h->num_bounds && v > h->bounds[i]) i++;
    h->count[i]++;
    h->sum += v;
}

void vc_figures_init(struct vc_figures *f, const struct vc_weights *w) {
    const struct vc_config *c = w->config;
    *f = (struct vc_figures){ .step_tokens = BOUNDS(token_bounds),
                              .step_time = BOUNDS(time_bounds),
                              .margins = BOUNDS(margin_bounds),
                              .experts = c->num_experts,
                              .experts_used = c->num_experts_per_tok };
    for (uint32_t l = 0; l < c->num_layers; l++)
        if (c->layer_moe[l])
            f->expert_bytes += (double)c->num_experts * (double)(w->layers[l].stride13 + w->layers[l].stride2);
    f->dense_bytes = fmax((double)w->region_bytes - f->expert_bytes, 0);
}

void vc_figures_step(struct vc_figures *f, uint32_t rows, uint32_t tokens, double seconds) {
    double part =
        f->experts ? 1 - pow(1 - (double)f->experts_used / f->experts, rows) : 0; /* expected share of experts met */
    f->weight_bytes += (uint64_t)(f->dense_bytes + f->expert_bytes * part);
    vc_histogram_add(&f->step_tokens, tokens);
    vc_histogram_add(&f->step_time, seconds);
}
