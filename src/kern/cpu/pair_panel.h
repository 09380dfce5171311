/* SPDX-License-Identifier: Apache-2.0
 * pair_panel.h: the panel layout of float weights, the same for every tier; read by the pair and chain kernels.
 * N is cut in panels of 64 outputs, K is padded to an even number with zeros, N to a multiple of 64:
 *   bf16       [N/64][Kp/2][64][2]: the two values of a pair side by side, as vdpbf16ps wants them
 *   f16, f32   [N/64][Kp][64] */
#ifndef VC_KERN_PAIR_PANEL_H
#define VC_KERN_PAIR_PANEL_H

#include <stddef.h>
#include <stdint.h>

#include "num/dtype.h"

enum { VC_PANEL_COLS = 64 };

static inline size_t vc_panel_kp(uint32_t K) { return ((size_t)K + 1) & ~(size_t)1; }
static inline size_t vc_panel_elem(enum vc_dtype t) { return t == VC_F32 ? 4 : 2; }
static inline size_t vc_panel_bytes(enum vc_dtype t, uint32_t N, uint32_t K) {
    return ((size_t)N + VC_PANEL_COLS - 1) / VC_PANEL_COLS * VC_PANEL_COLS * vc_panel_kp(K) * vc_panel_elem(t);
}
/* Byte offset of (k, n): k even. */
static inline size_t vc_panel_at(enum vc_dtype t, size_t kp, size_t n, size_t k) {
    const size_t in_row = n % VC_PANEL_COLS * (t == VC_BF16 ? 2 : 1);
    return ((n / VC_PANEL_COLS * kp + k) * VC_PANEL_COLS + in_row) * vc_panel_elem(t);
}

#endif
