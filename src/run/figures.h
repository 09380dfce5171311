/* SPDX-License-Identifier: Apache-2.0
 * figures.h: what the engine counts of its steps: tokens, time, bytes of weights. Owner: the engine thread; memory is
 * fixed, so a step allocates nothing for it. */
#ifndef VC_RUN_FIGURES_H
#define VC_RUN_FIGURES_H

#include "model/weights.h"
#include "vllmc.h"

struct vc_figures {
    vc_histogram step_tokens, step_time, margins;
    uint64_t weight_bytes;                 /* read by all steps so far */
    double dense_bytes, expert_bytes;      /* of the model: read by every step; of all experts */
    uint32_t experts, experts_used;
};
void vc_figures_init(struct vc_figures *f, const struct vc_weights *w);
/* rows: tokens that the step computed. tokens: prompt tokens among them, and tokens that became outputs, which is what
 * vLLM's iteration_tokens_total counts. */
void vc_figures_step(struct vc_figures *f, uint32_t rows, uint32_t tokens, double seconds);
void vc_histogram_add(vc_histogram *h, double v);

#endif
