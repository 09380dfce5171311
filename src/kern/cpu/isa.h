/* SPDX-License-Identifier: Apache-2.0
 * isa.h: what every kernel source includes first. A source is compiled once per tier (cmake/rooms.cmake):
 * VC_TIER_LEVEL is 0 portable (any CPU, no x86 headers), 1 AVX2+FMA+F16C, 2 AVX-512 F/BW/DQ/VL/VNNI (BF16: pair_dp.c alone);
 * VC_K(name) is the function's name in this tier, name_portable, name_avx2 or name_avx512.
 * With VC_EMULATE_AVX512 level 2 is compiled for AVX2 machines over SIMDe and the shims of tests/kern/emulate_avx512.h. */
#ifndef VC_KERN_CPU_ISA_H
#define VC_KERN_CPU_ISA_H

#include "base/compat.h"

#ifndef VC_TIER_LEVEL
#error "kernel sources are compiled through vc_tiers (cmake/rooms.cmake)"
#endif

#define VC_K(name) VC_CAT(VC_CAT(name, _), VC_TIER_SUFFIX)

#if VC_TIER_LEVEL == 2 && defined(VC_EMULATE_AVX512)
#include "emulate_avx512.h"
#elif VC_TIER_LEVEL >= 1
#include <immintrin.h>
#endif

/* For functions that are worth inlining only where their operations are single instructions. */
#if VC_TIER_LEVEL == 0 || defined(VC_EMULATE_AVX512)
#define VC_TIER_INLINE static VC_NOINLINE VC_UNUSED
#else
#define VC_TIER_INLINE VC_INLINE
#endif

#endif
