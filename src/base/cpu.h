/* SPDX-License-Identifier: Apache-2.0
 * cpu.h: what this machine offers: instruction sets, threads, memory, caches.
 * VLLMC_CPU=portable|avx2|avx512|avx512bf16 narrows the instruction sets (tests run every tier so). */
#ifndef VC_BASE_CPU_H
#define VC_BASE_CPU_H

#include <stdint.h>

#include "base/status.h"

/* Tiers are what kernels are compiled for; a tier is usable when all its features are present. */
enum vc_tier { VC_TIER_PORTABLE, VC_TIER_AVX2, VC_TIER_AVX512, VC_TIER_AVX512BF16, VC_NUM_TIERS };
enum { VC_CPU_AVX2 = 1, VC_CPU_FMA = 2, VC_CPU_F16C = 4, VC_CPU_AVX512 = 8 /* F, BW, DQ, VL */, VC_CPU_VNNI = 16, VC_CPU_BF16 = 32 };

uint32_t vc_cpu_features(void);                   /* of the machine; not narrowed */
const char *vc_cpu_model(void);                   /* "AMD EPYC …" */
const char *vc_tier_name(enum vc_tier t);         /* "portable", "avx2", "avx512", "avx512bf16" */
uint32_t vc_tier_needs(enum vc_tier t);           /* VC_CPU_ bits */
/* The best usable tier, narrowed by VLLMC_CPU; an unknown or unusable name there is an error. */
vc_status vc_cpu_tier(enum vc_tier *t, vc_err *err);

uint32_t vc_cpu_threads(void);                    /* affinity mask and cgroup quota, at least 1 */
uint64_t vc_cpu_last_cache(void);                 /* bytes of the first processor's third-level cache; 0: not known */
uint64_t vc_mem_total(void);                      /* bytes, cgroup-aware */
void vc_mem_trim(void);                           /* free memory that the allocator keeps goes back to the system; takes milliseconds */
uint64_t vc_mem_available(void);                  /* bytes that can be had without swapping, cgroup-aware */

/* Flush-to-zero and denormals-are-zero of the calling thread (MXCSR, FPCR). Returns the old state for _restore. */
uint32_t vc_fp_flush(void);
void vc_fp_restore(uint32_t old);

#endif
