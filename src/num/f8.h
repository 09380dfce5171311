/* SPDX-License-Identifier: Apache-2.0
 * f8.h: the two 8-bit formats to f32, exactly. e4m3fn (OCP 8-bit floating point, no infinity, 0x7F and 0xFF NaN) and
 * e5m2 (the upper byte of an f16). The way back: round.h. */
#ifndef VC_NUM_F8_H
#define VC_NUM_F8_H

#include "num/half.h"

static inline float vc_e5m2_f32(uint8_t b) { return vc_f16_f32((uint16_t)(b << 8)); }

static inline float vc_e4m3_f32(uint8_t b) {
    uint32_t sign = (uint32_t)(b & 0x80u) << 24, e = b >> 3 & 15u, m = b & 7u;
    if (e == 15 && m == 7) return vc_bits_f32(sign | 0x7FC00000u);
    if (e) return vc_bits_f32(sign | (e + 120) << 23 | m << 20);
    if (!m) return vc_bits_f32(sign);
    uint32_t shift = (uint32_t)__builtin_clz(m) - 28;      /* brings the leading one to bit 3 */
    return vc_bits_f32(sign | (121 - shift) << 23 | (m << shift & 7u) << 20);
}

#endif
