/* SPDX-License-Identifier: Apache-2.0
 * act_lanes.h: op/act.h on sixteen lanes, the same operations in the same order. */
#ifndef VC_KERN_CPU_ACT_LANES_H
#define VC_KERN_CPU_ACT_LANES_H

#include "kern/cpu/simd_math.h"
#include "op/act.h"

VC_INLINE vc_vf vc_vf_act(enum vc_act act, vc_vf g) {
    vc_vf one = vc_vf_set1(1.0f), half = vc_vf_mul(vc_vf_set1(0.5f), g);
    if (act == VC_ACT_SILU) return vc_vf_div(g, vc_vf_add(one, vc_vf_exp(vc_vf_neg(g))));
    if (act == VC_ACT_GELU_TANH) {
        vc_vf cube = vc_vf_mul(vc_vf_mul(g, g), g), sum = vc_vf_add(g, vc_vf_mul(vc_vf_set1(VC_GELU_C), cube));
        return vc_vf_mul(half, vc_vf_add(one, vc_vf_tanh(vc_vf_mul(vc_vf_set1(VC_GELU_K), sum))));
    }
    if (act == VC_ACT_GELU) return vc_vf_mul(half, vc_vf_add(one, vc_vf_erf(vc_vf_mul(g, vc_vf_set1(VC_SQRT_HALF)))));
    return vc_vf_select(vc_vf_lt(g, vc_vf_zero()), vc_vf_zero(), g);
}
/* -0 where vc_gelu_tanh_hole(g), else v. */
VC_INLINE vc_vf vc_vf_gelu_tanh_hole(vc_vf g, vc_vf v) {
    vc_vf minus_zero = vc_vf_set1(-0.0f), inner = vc_vf_select(vc_vf_le(vc_vf_set1(-5.15625f), g), minus_zero, v);
    return vc_vf_select(vc_vf_le(g, vc_vf_set1(-5.0625f)), inner, v);
}

#endif
