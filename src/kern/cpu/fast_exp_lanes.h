/* SPDX-License-Identifier: Apache-2.0
 * fast_exp_lanes.h: vc_fast_exp of op/fast_exp.h on sixteen lanes, the same steps. */
#ifndef VC_KERN_CPU_FAST_EXP_LANES_H
#define VC_KERN_CPU_FAST_EXP_LANES_H

#include "kern/cpu/simd.h"
#include "op/fast_exp.h"

VC_INLINE vc_vf vc_vf_fast_exp(vc_vf x) {
    const vc_vf lo = vc_vf_set1(vc_bits_f32(VC_FAST_EXP_MIN)), hi = vc_vf_set1(vc_bits_f32(VC_FAST_EXP_MAX));
    const vc_vf v = vc_vf_max(vc_vf_min(x, hi), lo);
    const vc_vf n = vc_vf_floor(vc_vf_fma(v, vc_vf_set1(vc_bits_f32(VC_FAST_EXP_LOG2E)), vc_vf_set1(0.5f)));
    const vc_vf r = vc_vf_fnma(n, vc_vf_set1(vc_bits_f32(VC_FAST_EXP_LN2)), v);
    vc_vf p = vc_vf_fma(r, vc_vf_set1(VC_FAST_EXP_C5), vc_vf_set1(VC_FAST_EXP_C4));
    p = vc_vf_fma(r, p, vc_vf_set1(VC_FAST_EXP_C3));
    p = vc_vf_fma(r, p, vc_vf_set1(VC_FAST_EXP_C2));
    p = vc_vf_fma(r, p, vc_vf_set1(VC_FAST_EXP_C1));
    p = vc_vf_fma(r, p, vc_vf_set1(1.0f));
    const vc_vf scale = vc_vi_float(vc_vi_shl(vc_vi_add(vc_vf_int(n), vc_vi_set1(126)), 23));
    return vc_vf_select(vc_vf_lt(x, lo), vc_vf_zero(), vc_vf_mul(vc_vf_mul(p, scale), vc_vf_set1(2.0f)));
}

#endif
