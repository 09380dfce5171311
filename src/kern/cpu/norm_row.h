/* SPDX-License-Identifier: Apache-2.0
 * norm_row.h: one root-mean-square norm of H adjacent elements, in both orders of summation (op/arith.def); what the
 * rmsnorm and headnorm kernels share. Two passes over the row: the second one finds it in the cache. */
#ifndef VC_KERN_CPU_NORM_ROW_H
#define VC_KERN_CPU_NORM_ROW_H

#include <stdbool.h>

#include "kern/cpu/simd.h"
#include "op/torch_sum.h"

struct vc_norm_io {
    const void *x, *res;              /* res NULL: none */
    void *y, *res_out;                /* res_out NULL: not wanted */
    const float *w;
    uint32_t H;
    enum vc_dtype tx, tres, ty, tres_out;
    enum vc_arith core;
    float eps, offset;
    uint8_t pregamma;
};

/* Elements i … i+15, or the first n < 16 of them. */
VC_INLINE vc_vf vc_norm_load(const struct vc_norm_io *io, uint32_t i) {
    vc_vf s = vc_vf_load_as(io->tx, io->x, i);
    return io->res ? vc_vf_add(s, vc_vf_load_as(io->tres, io->res, i)) : s;
}
VC_INLINE vc_vf vc_norm_load_n(const struct vc_norm_io *io, uint32_t i, uint32_t n) {
    vc_vf s = vc_vf_load_as_n(io->tx, io->x, i, n);
    return io->res ? vc_vf_add(s, vc_vf_load_as_n(io->tres, io->res, i, n)) : s;
}

VC_INLINE vc_vf vc_norm_add_square(vc_vf acc, vc_vf s) { return vc_vf_add(acc, vc_vf_mul(s, s)); }

/* The last H mod 32 elements and the lanes of the four accumulators (op/torch_sum.h). */
VC_INLINE float vc_norm_torch_end(const struct vc_norm_io *io, const float acc[32], uint32_t done) {
    float sq[32], s = 0.0f, lane[8];
    uint32_t rest = io->H - done, n = rest < 16 ? rest : 16;
    vc_vf v = n == 16 ? vc_norm_load(io, done) : vc_norm_load_n(io, done, n);
    vc_vf_store(sq, vc_vf_mul(v, v));
    if (rest > 16) {
        v = vc_norm_load_n(io, done + 16, rest - 16);
        vc_vf_store(sq + 16, vc_vf_mul(v, v));
    }
    for (uint32_t l = 0; l < 8; l++) {
        lane[l] = acc[l];
        for (uint32_t j = l; j < rest / 8 * 8; j += 8) lane[l] = lane[l] + sq[j];
        lane[l] = lane[l] + acc[8 + l];
        lane[l] = lane[l] + acc[16 + l];
        lane[l] = lane[l] + acc[24 + l];
    }
    for (uint32_t j = rest / 8 * 8; j < rest; j++) s = s + sq[j];
    for (uint32_t l = 0; l < 8; l++) s = s + lane[l];
    return s;
}

VC_INLINE float vc_norm_sum_torch(const struct vc_norm_io *io) {
    uint32_t groups = io->H / 32, power = vc_torch_sum_power(groups), step = 1u << power, i = 0;
    vc_vf level[4][2];
    for (int j = 0; j < 4; j++) level[j][0] = level[j][1] = vc_vf_zero();
    while (i < groups) {
        uint32_t end = i + step <= groups ? i + step : groups;
        int whole = end - i == step;
        vc_vf a = level[0][0], b = level[0][1];
        for (; i < end; i++) {
            a = vc_norm_add_square(a, vc_norm_load(io, i * 32));
            b = vc_norm_add_square(b, vc_norm_load(io, i * 32 + 16));
        }
        level[0][0] = a;
        level[0][1] = b;
        for (uint32_t j = 1; whole && j < 4; j++) {
            for (int h = 0; h < 2; h++) {
                level[j][h] = vc_vf_add(level[j][h], level[j - 1][h]);
                level[j - 1][h] = vc_vf_zero();
            }
            if (i & (step - 1) << (j * power)) break;
        }
    }
    float acc[32];
    for (int h = 0; h < 2; h++) {
        for (int j = 1; j < 4; j++) level[0][h] = vc_vf_add(level[0][h], level[j][h]);
        vc_vf_store(acc + 16 * h, level[0][h]);
    }
    return vc_norm_torch_end(io, acc, groups * 32);
}

VC_INLINE float vc_norm_sum_lanes(const struct vc_norm_io *io) {
    vc_vf acc[4];
    uint32_t i = 0;
    for (int j = 0; j < 4; j++) acc[j] = vc_vf_zero();
    for (; i + 64 <= io->H; i += 64) {
        acc[0] = vc_norm_add_square(acc[0], vc_norm_load(io, i));
        acc[1] = vc_norm_add_square(acc[1], vc_norm_load(io, i + 16));
        acc[2] = vc_norm_add_square(acc[2], vc_norm_load(io, i + 32));
        acc[3] = vc_norm_add_square(acc[3], vc_norm_load(io, i + 48));
    }
    for (int j = 0; i < io->H; i += 16, j++)
        acc[j] = vc_norm_add_square(acc[j], i + 16 <= io->H ? vc_norm_load(io, i) : vc_norm_load_n(io, i, io->H - i));
    return vc_vf_tree(vc_vf_add(vc_vf_add(acc[0], acc[1]), vc_vf_add(acc[2], acc[3])));
}

VC_INLINE vc_vf vc_norm_out(const struct vc_norm_io *io, vc_vf s, vc_vf k, vc_vf w) {
    if (io->offset != 0.0f) w = vc_vf_add(w, vc_vf_set1(io->offset));
    return vc_vf_mul(vc_vf_round_to(io->pregamma, vc_vf_mul(s, k)), w);
}

VC_INLINE void vc_norm_row(const struct vc_norm_io *io) {
    float n = io->core == VC_ARITH_NORM_TORCH ? vc_norm_sum_torch(io) : vc_norm_sum_lanes(io);
    float factor = 1.0f / __builtin_sqrtf(n / (float)io->H + io->eps);
    vc_vf k = vc_vf_set1(factor);
    uint32_t i = 0;
    for (; i + 16 <= io->H; i += 16) {
        vc_vf s = vc_norm_load(io, i);
        if (io->res_out) vc_vf_store_as(io->tres_out, io->res_out, i, s);
        vc_vf_store_as(io->ty, io->y, i, vc_norm_out(io, s, k, vc_vf_load(io->w + i)));
    }
    if (i < io->H) {
        uint32_t left = io->H - i;
        vc_vf s = vc_norm_load_n(io, i, left);
        if (io->res_out) vc_vf_store_as_n(io->tres_out, io->res_out, i, s, left);
        vc_vf_store_as_n(io->ty, io->y, i, vc_norm_out(io, s, k, vc_vf_load_n(io->w + i, left)), left);
    }
}

/* The stored types that fast profiles use are folded in; others are tested at each vector. */
static void vc_norm_row_as(const struct vc_norm_io *io) {
    struct vc_norm_io f = *io;
    bool same = io->tx == io->ty && io->tx == io->tres && io->tx == io->tres_out;
    if (same && io->tx == VC_BF16) {
        f.tx = f.tres = f.ty = f.tres_out = VC_BF16;
        vc_norm_row(&f);
    } else if (same && io->tx == VC_F32) {
        f.tx = f.tres = f.ty = f.tres_out = VC_F32;
        vc_norm_row(&f);
    } else {
        vc_norm_row(&f);
    }
}

#endif
