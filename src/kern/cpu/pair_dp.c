/* SPDX-License-Identifier: Apache-2.0
 * pair_dp.c: the tiles of bf16 by bf16 through vdpbf16ps, which adds to each lane the odd product, then the even one, fused,
 * subnormals as zero: the pair order. The only source that is compiled with AVX512-BF16; many machines with AVX-512 lack it. */
#include "kern/cpu/pair_loop.h"

/* a: [n/2][mr] pairs of bf16. */
VC_INLINE void tile_dp(const int mr, const int nv, const struct tile_call *t) {
    tf c[TILE_ROWS][MAX_NV];
    const float *a = t->a, *end = a + t->n / 2 * (size_t)mr;
    const char *b = t->b, *ahead = t->ahead;
    const size_t step = 2 * t->ahead_step;
    tile_begin(mr, nv, c, t);
    for (; a != end; a += mr, b += 4 * VC_PANEL_COLS, ahead += step) {
        __m512i w[4];
        VC_PREFETCH(ahead);
        VC_UNROLL for (int j = 0; j < nv; j++) w[j] = _mm512_loadu_si512((const void *)(b + (size_t)j * 64));
        VC_UNROLL for (int i = 0; i < mr; i++) {
            const __m512i x = _mm512_castps_si512(_mm512_set1_ps(a[i]));
            VC_UNROLL for (int j = 0; j < nv; j++) c[i][j] = _mm512_dpbf16_ps(c[i][j], (__m512bh)x, (__m512bh)w[j]);
        }
    }
    tile_end(mr, nv, c, t);
}

#define DP(mr, w)                                                                                                      \
    static void dp##mr##_##w(const struct tile_call *t) { tile_dp(mr, w / TF_LANES, t); }
#define WIDTHS(mr) DP(mr, 64) DP(mr, 32) DP(mr, 16)
WIDTHS(1) WIDTHS(2) WIDTHS(3) WIDTHS(4) WIDTHS(5) WIDTHS(6)
#define ROW(mr) [mr] = { dp##mr##_64, dp##mr##_32, dp##mr##_16 }
const struct tiles VC_K(vc_pair_dp) = { { ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6) } };
