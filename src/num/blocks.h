/* SPDX-License-Identifier: Apache-2.0
 * blocks.h: the packed layouts of GGUF's block formats (ggml-common.h) and the small decodings that kernels share.
 * All members are bytes, so the structs have alignment 1 and may lie anywhere in a file; 16-bit scales are
 * little-endian f16. */
#ifndef VC_NUM_BLOCKS_H
#define VC_NUM_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "base/compat.h"
#include "num/half.h"

/* 32 values. Low nibbles of qs[j] are value j, high nibbles value j + 16; qh bit j is bit 4 of value j. */
struct vc_q4_0 { uint8_t d[2], qs[16]; };                       /* d (q - 8) */
struct vc_q4_1 { uint8_t d[2], m[2], qs[16]; };                 /* d q + m */
struct vc_q5_0 { uint8_t d[2], qh[4], qs[16]; };                /* d (q - 16) */
struct vc_q5_1 { uint8_t d[2], m[2], qh[4], qs[16]; };          /* d q + m */
struct vc_q8_0 { uint8_t d[2]; int8_t qs[32]; };                /* d q */

/* 256 values in sub-blocks of 16 (Q2_K, Q3_K, Q6_K) or 32 (Q4_K, Q5_K). */
struct vc_q2_k { uint8_t scales[16], qs[64], d[2], dmin[2]; };          /* d (sc & 15) q - dmin (sc >> 4) */
struct vc_q3_k { uint8_t hmask[32], qs[64], scales[12], d[2]; };        /* d (sc - 32) (q - 4) */
struct vc_q4_k { uint8_t d[2], dmin[2], scales[12], qs[128]; };         /* d sc q - dmin m */
struct vc_q5_k { uint8_t d[2], dmin[2], scales[12], qh[32], qs[128]; }; /* d sc q - dmin m */
struct vc_q6_k { uint8_t ql[128], qh[64]; int8_t scales[16]; uint8_t d[2]; };   /* d sc (q - 32) */

_Static_assert(sizeof(struct vc_q4_0) == 18 && sizeof(struct vc_q4_1) == 20 && sizeof(struct vc_q5_0) == 22 &&
               sizeof(struct vc_q5_1) == 24 && sizeof(struct vc_q8_0) == 34, "32-value blocks");
_Static_assert(sizeof(struct vc_q2_k) == 84 && sizeof(struct vc_q3_k) == 110 && sizeof(struct vc_q4_k) == 144 &&
               sizeof(struct vc_q5_k) == 176 && sizeof(struct vc_q6_k) == 210, "256-value blocks");

VC_INLINE uint16_t vc_load_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
VC_INLINE uint32_t vc_load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
VC_INLINE void vc_store_u16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)v; p[1] = (uint8_t)(v >> 8); }
VC_INLINE float vc_load_f16(const uint8_t *p) { return vc_f16_f32(vc_load_u16(p)); }
VC_INLINE void vc_store_f16(uint8_t *p, float v) { vc_store_u16(p, vc_f32_f16(v)); }

/* Q4_K, Q5_K: 8 six-bit scales and 8 six-bit minimums of the 12 bytes (ggml's get_scale_min_k4). */
VC_INLINE void vc_k4_scales(const uint8_t s[12], uint8_t sc[8], uint8_t m[8]) {
    for (int j = 0; j < 4; j++) {
        sc[j] = s[j] & 63;
        m[j] = s[j + 4] & 63;
        sc[j + 4] = (uint8_t)((s[j + 8] & 15) | (s[j] >> 6) << 4);
        m[j + 4] = (uint8_t)(s[j + 8] >> 4 | (s[j + 4] >> 6) << 4);
    }
}
/* Q3_K: 16 six-bit scales, 32 taken off: -32 … 31. Low nibbles in bytes 0-7, high two bits in bytes 8-11. */
VC_INLINE void vc_k3_scales(const uint8_t s[12], int8_t sc[16]) {
    for (int j = 0; j < 16; j++) {
        int lo = j < 8 ? s[j] & 15 : s[j - 8] >> 4, hi = s[8 + (j & 3)] >> (2 * (j >> 2)) & 3;
        sc[j] = (int8_t)((lo | hi << 4) - 32);
    }
}

/* Unsigned codes of one block in value order; the offset (8, 16, 4, 32) is not taken off. */
VC_INLINE void vc_q4_codes(const uint8_t qs[16], uint8_t q[32]) {
    for (int j = 0; j < 16; j++) { q[j] = qs[j] & 15; q[j + 16] = qs[j] >> 4; }
}
VC_INLINE void vc_q5_codes(const uint8_t qh[4], const uint8_t qs[16], uint8_t q[32]) {
    uint32_t h = vc_load_u32(qh);
    for (int j = 0; j < 16; j++) {
        q[j] = (uint8_t)((qs[j] & 15) | (h >> j & 1) << 4);
        q[j + 16] = (uint8_t)(qs[j] >> 4 | (h >> (j + 16) & 1) << 4);
    }
}
/* Q2_K: 0…3. Halves of 128 values share 32 bytes; 32 values per bit pair. */
VC_INLINE void vc_q2_k_codes(const struct vc_q2_k *b, uint8_t q[256]) {
    for (int i = 0; i < 256; i++) q[i] = b->qs[(i >> 7) * 32 + (i & 31)] >> (i >> 5 & 3) * 2 & 3;
}
/* Q3_K: 0…7 (hmask gives bit 2). */
VC_INLINE void vc_q3_k_codes(const struct vc_q3_k *b, uint8_t q[256]) {
    for (int i = 0; i < 256; i++) {
        int lo = b->qs[(i >> 7) * 32 + (i & 31)] >> (i >> 5 & 3) * 2 & 3, hi = b->hmask[i & 31] >> (i >> 5) & 1;
        q[i] = (uint8_t)(lo | hi << 2);
    }
}
/* Q4_K: 0…15. 64 values share 32 bytes: low nibbles first. */
VC_INLINE void vc_q4_k_codes(const struct vc_q4_k *b, uint8_t q[256]) {
    for (int i = 0; i < 256; i++) q[i] = b->qs[(i >> 6) * 32 + (i & 31)] >> (i >> 5 & 1) * 4 & 15;
}
/* Q5_K: 0…31. */
VC_INLINE void vc_q5_k_codes(const struct vc_q5_k *b, uint8_t q[256]) {
    for (int i = 0; i < 256; i++) {
        int lo = b->qs[(i >> 6) * 32 + (i & 31)] >> (i >> 5 & 1) * 4 & 15, hi = b->qh[i & 31] >> (i >> 5) & 1;
        q[i] = (uint8_t)(lo | hi << 4);
    }
}
/* Q6_K: 0…63. */
VC_INLINE void vc_q6_k_codes(const struct vc_q6_k *b, uint8_t q[256]) {
    for (int i = 0; i < 256; i++) {
        int h = i >> 7, j = i & 127, l = j & 31, k = j >> 5;      /* half, place in it, column, quarter */
        int lo = b->ql[h * 64 + (k & 1) * 32 + l] >> (k >> 1) * 4 & 15, hi = b->qh[h * 32 + l] >> 2 * k & 3;
        q[i] = (uint8_t)(lo | hi << 4);
    }
}

#endif
