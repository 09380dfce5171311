/* SPDX-License-Identifier: Apache-2.0
 * torch_sum.h: the order of torch.sum over a contiguous f32 axis (ATen SumKernel.cpp, AVX2 and AVX-512 builds): vectors of
 * 8 lanes, vector v in accumulator v mod 4; whole groups of four go through a cascade of 4 levels with step
 * 2^max(4, ceil(log2 groups) / 4); left-over vectors go to accumulator 0; then accumulators 0+1+2+3, and in scalar the
 * H mod 8 tail from 0, then lanes 0 … 7. */
#ifndef VC_OP_TORCH_SUM_H
#define VC_OP_TORCH_SUM_H

#include <stdint.h>
#include <string.h>

#include "base/compat.h"

/* log2 of the cascade's step for so many groups of 32 elements. */
static inline uint32_t vc_torch_sum_power(uint32_t groups) {
    uint32_t log = groups > 1 ? 32 - (uint32_t)__builtin_clz(groups - 1) : 0;
    return log / 4 > 4 ? log / 4 : 4;
}

/* Sum of the values that get(ctx, i) returns for i < H. Plain form for references. */
typedef float vc_sum_get(const void *ctx, uint32_t i);
static inline float vc_torch_sum(vc_sum_get *get, const void *ctx, uint32_t H) {
    uint32_t vectors = H / 8, groups = vectors / 4, power = vc_torch_sum_power(groups), step = 1u << power, i = 0;
    float acc[4][32], lane[8], s = 0.0f;
    memset(acc, 0, sizeof acc);
    while (i + step <= groups) {
        for (uint32_t n = 0; n < step; n++, i++)
            for (uint32_t l = 0; l < 32; l++) acc[0][l] = acc[0][l] + get(ctx, i * 32 + l);
        for (uint32_t j = 1; j < 4; j++) {
            for (uint32_t l = 0; l < 32; l++) {
                acc[j][l] = acc[j][l] + acc[j - 1][l];
                acc[j - 1][l] = 0.0f;
            }
            if (i & (step - 1) << (j * power)) break;
        }
    }
    for (; i < groups; i++)
        for (uint32_t l = 0; l < 32; l++) acc[0][l] = acc[0][l] + get(ctx, i * 32 + l);
    for (uint32_t j = 1; j < 4; j++)
        for (uint32_t l = 0; l < 32; l++) acc[0][l] = acc[0][l] + acc[j][l];
    for (uint32_t l = 0; l < 8; l++) {
        lane[l] = acc[0][l];
        for (uint32_t v = groups * 4; v < vectors; v++) lane[l] = lane[l] + get(ctx, v * 8 + l);
        for (uint32_t k = 1; k < 4; k++) lane[l] = lane[l] + acc[0][k * 8 + l];
    }
    for (uint32_t k = vectors * 8; k < H; k++) s = s + get(ctx, k);
    for (uint32_t l = 0; l < 8; l++) s = s + lane[l];
    return s;
}

#endif
