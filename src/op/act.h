/* SPDX-License-Identifier: Apache-2.0
 * act.h: the activations of gated MLPs as f32 operations (formulas: op/args.h). vLLM's words in bf16 follow from them
 * for all finite arguments of SILU and GELU_TANH. */
#ifndef VC_OP_ACT_H
#define VC_OP_ACT_H

#include <stdbool.h>

#include "op/args.h"
#include "op/math.h"

#define VC_GELU_K 0.797884561f               /* f32(sqrt(2 / pi)) */
#define VC_GELU_C 0.044715f
#define VC_SQRT_HALF 0.707106769f

static inline float vc_act(enum vc_act act, float g) {
    switch (act) {
        case VC_ACT_SILU: return g / (1.0f + vc_expf(-g));
        case VC_ACT_GELU_TANH: {
            float cube = g * g * g, inner = VC_GELU_K * (g + VC_GELU_C * cube);
            return 0.5f * g * (1.0f + vc_tanhf(inner));
        }
        case VC_ACT_GELU: return 0.5f * g * (1.0f + vc_erff(g * VC_SQRT_HALF));
        default: return g < 0.0f ? 0.0f : g;
    }
}

/* torch's vector code gives -0 for gelu_tanh of the bf16 values -5.0625, -5.09375, -5.125, -5.15625. */
static inline bool vc_gelu_tanh_hole(float g) { return g >= -5.15625f && g <= -5.0625f; }

#endif
