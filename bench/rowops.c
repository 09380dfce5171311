/* SPDX-License-Identifier: Apache-2.0
 * Row operations of one tier: bytes read and written per second, and their share of memcpy over the same buffers in the
 * same run (medians of 9, interleaved). 512 rows, 8 MB in all, so second-level cache and memory speed, not first-level.
 * usage: bench_rowops [portable|avx2|avx512]
 * cc -O2 -Isrc -Iinclude bench/rowops.c libvc_kern.a libvc_dev.a libvc_op.a libvc_num.a libvc_base.a -lm -lpthread */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "dev/kernel.h"

enum { ROWS = 512, COLS = 2048, REPS = 9 };
static float *src, *dst, *weight;

/* This thread's own time, so that a busy machine disturbs less. */
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(enum vc_tier tier, const char *name, enum vc_op op, enum vc_arith core, enum vc_dtype t, const void *args, uint8_t slots) {
    struct vc_contract c = { .op = op, .core = core };
    uint32_t in_cols = op == VC_OP_ACTMUL ? 2 * COLS : COLS, bytes = vc_dtype_info(t)->bytes;
    size_t moved = (size_t)ROWS * (in_cols + COLS) * bytes;
    struct vc_view x = { src, src, (size_t)in_cols * bytes, ROWS, in_cols, t }, y = { dst, dst, (size_t)COLS * bytes, ROWS, COLS, t };
    struct vc_view w = { weight, weight, sizeof(float) * COLS, ROWS, op == VC_OP_ROPE ? 64 : COLS, VC_F32 }, rows = { calloc(ROWS, 4), NULL, 4, ROWS, 1, VC_I32 };
    struct vc_op_call call = { .contract = &c, .in = { x, w, op == VC_OP_ROPE ? rows : (struct vc_view){ 0 } }, .out = { y }, .args = args };
    struct vc_dims d = { .max_rows = ROWS, .K = in_cols, .in0 = t, .weight = VC_F32, .out0 = t, .args = args };
    double ours[REPS], copy[REPS];
    for (int s = 0; s < VC_NUM_SLOTS; s++) c.slot[s] = slots;
    const struct vc_kernel *k = vc_kernel_select(vc_cpu_kernels, tier, &c, &d, ROWS);
    for (int r = 0; k && r < REPS; r++) {
        uint64_t t0 = now();
        k->phase[0](&call, 0, 1);
        uint64_t t1 = now();
        memcpy(dst, src, moved / 2);
        uint64_t t2 = now();
        ours[r] = (double)moved / (double)(t1 - t0);
        copy[r] = (double)moved / (double)(t2 - t1);
    }
    free(rows.data);
    if (!k) return;
    qsort(ours, REPS, sizeof *ours, by_value);
    qsort(copy, REPS, sizeof *copy, by_value);
    printf("%-22s %-4s %6.2f GB/s, %3.0f %% of memcpy\n", name, vc_dtype_name(t), ours[REPS / 2], 100.0 * ours[REPS / 2] / copy[REPS / 2]);
}

int main(int argc, char **argv) {
    enum vc_tier tier = VC_TIER_PORTABLE;
    uint64_t rng = 1;
    vc_err err;
    if (vc_cpu_tier(&tier, &err) != VC_OK) return 1;
    for (int t = 0; argc > 1 && t < VC_NUM_TIERS; t++)
        if (!strcmp(argv[1], vc_tier_name((enum vc_tier)t))) tier = (enum vc_tier)t;
    size_t n = (size_t)ROWS * 2 * COLS;
    src = malloc(n * 4), dst = malloc(n * 4), weight = malloc((size_t)ROWS * COLS * 4);
    if (!src || !dst || !weight) return 1;
    for (size_t i = 0; i < n; i++) {                     /* two bf16 words, each an ordinary number; as f32 too */
        uint32_t u = (uint32_t)(vc_rng_next(&rng) >> 32);
        u = (u & 0x807F807Fu) | 0x3F803F80u;
        memcpy(src + i, &u, 4);
        dst[i] = 0;
    }
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) weight[i] = 1.5f;
    vc_fp_flush();
    struct vc_rmsnorm_args norm = { 1e-6f, 0 };
    struct vc_actmul_args silu = { VC_ACT_SILU }, gelu = { VC_ACT_GELU_TANH };
    struct vc_rope_args rope = { COLS / 64, 64, 64, VC_ROPE_NEOX };
    struct vc_softcap_args cap = { 30.0f };
    printf("%s\n", vc_tier_name(tier));
    for (int i = 0; i < 2; i++) {
        enum vc_dtype t = i ? VC_F32 : VC_BF16;
        measure(tier, "rmsnorm norm-torch", VC_OP_RMSNORM, VC_ARITH_NORM_TORCH, t, &norm, (uint8_t)t);
        measure(tier, "rmsnorm norm-lanes", VC_OP_RMSNORM, VC_ARITH_NORM_LANES, t, &norm, (uint8_t)t);
        measure(tier, "rope", VC_OP_ROPE, VC_ARITH_ELEMENT, t, &rope, (uint8_t)t);
        measure(tier, "actmul silu", VC_OP_ACTMUL, VC_ARITH_ELEMENT, t, &silu, (uint8_t)t);
        measure(tier, "actmul gelu_tanh", VC_OP_ACTMUL, VC_ARITH_ELEMENT, t, &gelu, (uint8_t)t);
        measure(tier, "softcap", VC_OP_SOFTCAP, VC_ARITH_ELEMENT, t, &cap, (uint8_t)t);
    }
    return 0;
}
