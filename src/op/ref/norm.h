/* SPDX-License-Identifier: Apache-2.0
 * norm.h: what the references of rmsnorm and headnorm share. */
#ifndef VC_OP_REF_NORM_H
#define VC_OP_REF_NORM_H

#include "op/ref/ref.h"
#include "op/torch_sum.h"

/* Elements col0, col0 + 1, … of row r of x, plus the residual if there is one. */
struct vc_norm_row { const struct vc_view *x, *residual; uint32_t r, col0; };

static inline float vc_norm_value(const struct vc_norm_row *n, uint32_t i) {
    float x = vc_load(n->x, n->r, n->col0 + i);
    return n->residual ? x + vc_load(n->residual, n->r, n->col0 + i) : x;
}
static inline float vc_norm_square(const void *row, uint32_t i) {
    float s = vc_norm_value(row, i);
    return s * s;
}
/* Element i in lane i mod 64; (l + l+16) + (l+32 + l+48), then +8, +4, +2, +1. */
static inline float vc_norm_lanes(const struct vc_norm_row *row, uint32_t H) {
    float lane[64] = { 0 };
    for (uint32_t i = 0; i < H; i++) lane[i % 64] = lane[i % 64] + vc_norm_square(row, i);
    for (uint32_t l = 0; l < 16; l++) lane[l] = (lane[l] + lane[l + 16]) + (lane[l + 32] + lane[l + 48]);
    for (uint32_t h = 8; h; h >>= 1)
        for (uint32_t l = 0; l < h; l++) lane[l] = lane[l] + lane[l + h];
    return lane[0];
}
/* 1 / sqrt(sum / H + eps). */
static inline float vc_norm_factor(const struct vc_norm_row *row, uint32_t H, float eps, enum vc_arith core) {
    float n = core == VC_ARITH_NORM_TORCH ? vc_torch_sum(vc_norm_square, row, H) : vc_norm_lanes(row, H);
    return 1.0f / __builtin_sqrtf(n / (float)H + eps);
}
static inline float vc_norm_weight(const struct vc_view *w, uint32_t i, float offset) {
    float v = vc_load(w, 0, i);
    return offset == 0.0f ? v : v + offset;
}

#endif
