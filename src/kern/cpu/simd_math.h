/* SPDX-License-Identifier: Apache-2.0
 * simd_math.h: vc_vf_exp, exp2, log, tanh, erf: op/math.h on sixteen lanes, bit for bit. */
#ifndef VC_KERN_CPU_SIMD_MATH_H
#define VC_KERN_CPU_SIMD_MATH_H

#include "kern/cpu/simd.h"

#define F(op) VC_CAT(vc_vf_, op)
#define N(op) VC_CAT(vc_vi_, op)
#define M_VF vc_vf
#define M_VI vc_vi
#define M_FN VC_TIER_INLINE
#include "op/math_steps.h"
#undef F
#undef N
#undef M_VF
#undef M_VI
#undef M_FN

#endif
