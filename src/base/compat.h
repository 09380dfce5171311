/* SPDX-License-Identifier: Apache-2.0
 * compat.h: the only place for compiler extensions. */
#ifndef VC_BASE_COMPAT_H
#define VC_BASE_COMPAT_H

#define VC_INLINE static inline __attribute__((always_inline))
#define VC_NOINLINE __attribute__((noinline))
#define VC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define VC_UNUSED __attribute__((unused))
#define VC_LIKELY(x) __builtin_expect(!!(x), 1)
#define VC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define VC_ALIGNED(n) __attribute__((aligned(n)))
#define VC_VECTOR(bytes) __attribute__((vector_size(bytes)))
#define VC_PREFETCH(p) __builtin_prefetch(p)          /* any address; read, keep */
#define VC_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Full unrolling of a loop with a constant trip count; clang ignores gcc's pragma and the reverse. */
#ifdef __clang__
#define VC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VC_UNROLL _Pragma("GCC unroll 32")
#endif

/* A function that may use AVX2 and FMA whatever the flags of its file: to be called only where the CPU has both. */
#if defined(__x86_64__)
#define VC_HAVE_TARGET_AVX2_FMA 1
#define VC_TARGET_AVX2_FMA __attribute__((target("avx2,fma")))
#else
#define VC_HAVE_TARGET_AVX2_FMA 0
#endif

/* A function compiled for an instruction set whatever the flags of its file: to be called only where the CPU has it. */
#define VC_TARGET(isa) __attribute__((target(isa)))
/* The value is computed here, whatever is done with it. */
#define VC_KEEP(x) __asm__ volatile("" : : "g"(x) : "memory")

#define VC_CAT2(a, b) a##b
#define VC_CAT(a, b) VC_CAT2(a, b)
#define VC_MIN(a, b) ((a) < (b) ? (a) : (b))
#define VC_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
