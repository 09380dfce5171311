/* SPDX-License-Identifier: Apache-2.0
 * half.h: scalar conversions between f32 and the 16-bit formats, nearest even, in integer arithmetic:
 * independent of the floating-point environment (FTZ, DAZ, rounding mode). */
#ifndef VC_NUM_HALF_H
#define VC_NUM_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t vc_f32_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float vc_bits_f32(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

static inline float vc_bf16_f32(uint16_t h) { return vc_bits_f32((uint32_t)h << 16); }
/* NaN stays NaN (quiet); subnormals are kept. */
static inline uint16_t vc_f32_bf16(float f) {
    uint32_t u = vc_f32_bits(f);
    if ((u & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
}

static inline float vc_f16_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 1023u;
    if (e == 31) return vc_bits_f32(sign | 0x7F800000u | m << 13);
    if (e) return vc_bits_f32(sign | (e + 112) << 23 | m << 13);
    if (!m) return vc_bits_f32(sign);
    uint32_t shift = (uint32_t)__builtin_clz(m) - 21;      /* brings the leading one to bit 10 */
    return vc_bits_f32(sign | (113 - shift) << 23 | (m << shift & 1023u) << 13);
}
static inline uint16_t vc_f32_f16(float f) {
    uint32_t u = vc_f32_bits(f), sign = u >> 16 & 0x8000u;
    u &= 0x7FFFFFFFu;
    if (u > 0x7F800000u) return (uint16_t)(sign | 0x7E00u | (u >> 13 & 1023u));
    if (u >= 0x47800000u) return (uint16_t)(sign | 0x7C00u);                  /* 65536 and more */
    if (u >= 0x38800000u) return (uint16_t)(sign + ((u - 0x38000000u + 0xFFFu + (u >> 13 & 1)) >> 13));
    if (u < 0x33000000u) return (uint16_t)sign;                               /* below half the least subnormal */
    uint32_t m = (u & 0x7FFFFFu) | 0x800000u, shift = 126 - (u >> 23);        /* 14 … 24 */
    uint32_t half = 1u << (shift - 1), rest = m & (2 * half - 1), q = m >> shift;
    return (uint16_t)(sign | (q + (rest > half || (rest == half && (q & 1)))));
}

#endif
