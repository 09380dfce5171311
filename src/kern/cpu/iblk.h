/* SPDX-License-Identifier: Apache-2.0
 * iblk.h: the panel of block-format weights, and the matmul of the iblk core over it (op/ref/matmul_iblk.c is the order).
 * A panel is 32 columns (weight rows), block after block along K, the same on every tier. A block is a head, then its
 * units of 32 k, each unit its planes; a plane row holds [32 columns][4 consecutive k], so four bytes are one column:
 *   head  f16 d[32] | formats with minimum: f16 m[32] (dmin) | K-quants: 512 bytes of scales (below)
 *   unit  nibbles 4 x 128: row r has k 4r+0…3 in the low nibbles, 16+4r+0…3 in the high ones
 *         pairs 2 x 128: row r has k 16r+4i+0…3 in bits 2i, 2i+1 (Q2_K, Q3_K low bits; Q6_K bits 4, 5)
 *         bits 1 x 128: bit g has k 4g+0…3 (Q5_*: bit 4 of the code; Q3_K: bit 2)
 * Q8_0 is cut in two: q + 128 = 16 h + l. The unit has the nibbles h; those of l follow behind the last panel of the weight, in
 * the same order, so that h can be streamed alone, without a gap (iblk_max.h).
 * Scales, j sub-block, c column: Q3_K, Q6_K int8 [16][32]; Q4_K, Q5_K u8 scale [8][32], then u8 minimum [4][32][2] (pairs of
 * sub-blocks); Q2_K [16][32]: low nibble the scale of (j, c), high nibble of byte (j/2)*64 + c*2 + j%2 the minimum. */
#ifndef VC_KERN_CPU_IBLK_H
#define VC_KERN_CPU_IBLK_H

#include "base/compat.h"
#include "dev/kernel.h"
#include "op/qact.h"

enum { VC_IBLK_COLS = 32 };

/* Facts of a format; constants fold. */
VC_INLINE int vc_iblk_is_k(enum vc_dtype f) { return f == VC_Q2_K || f == VC_Q3_K || f == VC_Q4_K || f == VC_Q5_K || f == VC_Q6_K; }
VC_INLINE uint32_t vc_iblk_block(enum vc_dtype f) { return vc_iblk_is_k(f) ? 256 : 32; }
VC_INLINE int vc_iblk_has_min(enum vc_dtype f) {
    return f == VC_Q4_1 || f == VC_Q5_1 || f == VC_Q2_K || f == VC_Q4_K || f == VC_Q5_K;
}
/* k values that share a scale, and what is taken off a stored code. */
VC_INLINE uint32_t vc_iblk_sub(enum vc_dtype f) { return f == VC_Q2_K || f == VC_Q3_K || f == VC_Q6_K ? 16 : 32; }
VC_INLINE int vc_iblk_offset(enum vc_dtype f) {
    return f == VC_Q4_0 ? 8 : f == VC_Q5_0 ? 16 : f == VC_Q8_0 ? 128 : f == VC_Q3_K ? 4 : f == VC_Q6_K ? 32 : 0;
}
VC_INLINE int vc_iblk_nibbles(enum vc_dtype f) { return f != VC_Q2_K && f != VC_Q3_K; }
VC_INLINE int vc_iblk_pairs(enum vc_dtype f) { return f == VC_Q2_K || f == VC_Q3_K || f == VC_Q6_K; }
VC_INLINE int vc_iblk_bits(enum vc_dtype f) { return f == VC_Q5_0 || f == VC_Q5_1 || f == VC_Q5_K || f == VC_Q3_K; }
VC_INLINE size_t vc_iblk_unit(enum vc_dtype f) {
    return (size_t)(vc_iblk_nibbles(f) ? 512 : 0) + (vc_iblk_pairs(f) ? 256 : 0) + (vc_iblk_bits(f) ? 128 : 0);
}
VC_INLINE size_t vc_iblk_scales_at(enum vc_dtype f) { return vc_iblk_has_min(f) ? 128 : 64; }
VC_INLINE size_t vc_iblk_head(enum vc_dtype f) { return vc_iblk_scales_at(f) + (vc_iblk_is_k(f) ? 512 : 0); }
VC_INLINE size_t vc_iblk_block_bytes(enum vc_dtype f) { return vc_iblk_head(f) + vc_iblk_block(f) / 32 * vc_iblk_unit(f); }
/* Bytes of a block that stand behind the panels. */
VC_INLINE size_t vc_iblk_low(enum vc_dtype f) { return f == VC_Q8_0 ? 512 : 0; }
VC_INLINE size_t vc_iblk_panel_bytes(enum vc_dtype f, uint32_t K) {
    return (size_t)(K / vc_iblk_block(f)) * vc_iblk_block_bytes(f);
}
VC_INLINE size_t vc_iblk_low_bytes(enum vc_dtype f, uint32_t K) { return (size_t)(K / vc_iblk_block(f)) * vc_iblk_low(f); }
VC_INLINE size_t vc_iblk_num_panels(uint32_t N) { return ((size_t)N + VC_IBLK_COLS - 1) / VC_IBLK_COLS; }

/* The packer: bytes of an [N, K] weight (N rounded up to whole panels), and rows into their places. */
size_t vc_iblk_bytes(enum vc_dtype f, uint32_t N, uint32_t K);
void vc_iblk_pack(const struct vc_pack_job *j);

/* y[i] = x[i] w^T (+ bias) for i < M. Row i of x (qact.h) lies at x + (x_rows ? x_rows[i] : i) * x_stride; row i of y, in
 * format `out`, at y + i * y_stride. All pointers are borrowed. */
struct vc_iblk_job {
    enum vc_dtype weight, out;
    uint32_t M, N, K;
    const uint8_t *panel, *low;                    /* of the first column; low: its part behind the panels, panel where there is none */
    const char *x;
    size_t x_stride;
    const uint32_t *x_rows;
    const float *bias;
    char *y;
    size_t y_stride;
};

/* Points j at the columns from n0 on, a multiple of 32, of the packed weight at `base`, which has N. */
VC_INLINE void vc_iblk_at(struct vc_iblk_job *j, const void *base, uint32_t N, uint32_t n0) {
    const size_t panel = vc_iblk_panel_bytes(j->weight, j->K), low = vc_iblk_low_bytes(j->weight, j->K), first = n0 / VC_IBLK_COLS;
    j->panel = (const uint8_t *)base + first * panel;
    j->low = low ? (const uint8_t *)base + vc_iblk_num_panels(N) * panel + first * low : j->panel;
}

/* For each tier (suffix _portable, _avx2, _avx512), in this order:
 *   vc_iblk_rows     arranges rows [r0, r1) of x in `acts`, vc_iblk_acts(M, K) bytes shared by all threads; r0 and r1 are
 *                    multiples of VC_IBLK_ROWS or M
 *   vc_iblk_panels   columns [32 p0, 32 p1) of y for all rows; `own`: VC_IBLK_OWN bytes of this thread, 64-byte aligned */
enum { VC_IBLK_ROWS = 24, VC_IBLK_OWN = 60 * 1024 };
VC_INLINE size_t vc_iblk_acts(uint32_t M, uint32_t K) { return vc_qact_up64((size_t)M * K * 5); }
#define VC_IBLK_TIER(t)                                                                                  \
    void vc_iblk_rows_##t(const struct vc_iblk_job *j, void *acts, uint32_t r0, uint32_t r1);            \
    void vc_iblk_panels_##t(const struct vc_iblk_job *j, const void *acts, void *own, uint32_t p0, uint32_t p1);
VC_IBLK_TIER(portable)
VC_IBLK_TIER(avx2)
VC_IBLK_TIER(avx512)
#undef VC_IBLK_TIER

#endif
