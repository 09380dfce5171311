/* SPDX-License-Identifier: Apache-2.0
 * Speed of the pair matmul rows on this machine's best tier (VLLMC_CPU narrows it), all threads or as many as argument
 * 1 says. Every repetition also runs the yardstick: a chain-free fma loop (M > 1) or a plain read of the same panel (M
 * = 1), so that the shares hold on a machine that others use too. Prints the best of each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/cpu.h"
#include "base/pool.h"
#include "base/rng.h"
#include "dev/kernel.h"
#include "num/half.h"

#if VC_HAVE_TARGET_AVX2_FMA
#include <immintrin.h>
#endif

enum { REPS = 9, PEAK_STEPS = 1 << 16 };

static float sinks[64];
#if VC_HAVE_TARGET_AVX2_FMA
/* Ten independent chains of 8 lanes. */
VC_TARGET_AVX2_FMA static void peak(void *ctx, uint32_t part, uint32_t parts) {
    (void)ctx, (void)parts;
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    __m256 a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y;
#define STEP(a) a = _mm256_fmadd_ps(a, x, y)
    for (int s = 0; s < PEAK_STEPS; s++) {
        STEP(a0);
        STEP(a1);
        STEP(a2);
        STEP(a3);
        STEP(a4);
        STEP(a5);
        STEP(a6);
        STEP(a7);
        STEP(a8);
        STEP(a9);
    }
#undef STEP
    a0 = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a0, a1), _mm256_add_ps(a2, a3)),
                       _mm256_add_ps(_mm256_add_ps(a4, a5), _mm256_add_ps(a6, a7)));
    sinks[part % 64] += _mm256_cvtss_f32(_mm256_add_ps(a0, _mm256_add_ps(a8, a9)));
}
#else
static void peak(void *ctx, uint32_t part, uint32_t parts) {
    (void)ctx, (void)parts;
    float a[80];
    for (int i = 0; i < 80; i++) a[i] = 0.001f;
    for (int s = 0; s < PEAK_STEPS; s++)
        for (int i = 0; i < 80; i++) a[i] = fmaf(a[i], 0.999f, 0.001f);
    for (int i = 0; i < 80; i++) sinks[part % 64] += a[i];
}
#endif

struct bytes { const char *p; size_t n; };
static void read_all(void *ctx, uint32_t part, uint32_t parts) {
    const struct bytes *b = ctx;
    uint64_t lo, hi, s[8] = { 0 };
    vc_share(b->n, 64, part, parts, &lo, &hi);
    for (const uint64_t *q = (const uint64_t *)(const void *)(b->p + lo),
                        *e = (const uint64_t *)(const void *)(b->p + hi);
         q + 8 <= e; q += 8)
        for (int i = 0; i < 8; i++) s[i] += q[i];
    for (int i = 0; i < 8; i++) sinks[part % 64] += (float)s[i];
}

struct run { const struct vc_kernel *k; struct vc_op_call call; struct vc_pool *pool; };
static void run_kernel(void *ctx, uint32_t part, uint32_t parts) {
    const struct run *r = ctx;
    for (int p = 0; p < VC_MAX_PHASES && r->k->phase[p]; p++) {
        r->k->phase[p](&r->call, part, parts);
        vc_pool_barrier(r->pool);
    }
}

static void fill(struct vc_view *v, uint64_t *rng) {
    for (size_t i = 0; i < (size_t)v->rows * v->cols; i++) {
        const float x = vc_rng_float(rng) - 0.5f;
        if (v->dtype == VC_F32) ((float *)v->data)[i] = x;
        else ((uint16_t *)v->data)[i] = v->dtype == VC_BF16 ? vc_f32_bf16(x) : vc_f32_f16(x);
    }
}
static struct vc_view view(enum vc_dtype t, uint32_t rows, uint32_t cols) {
    struct vc_view v = { .rows = rows, .cols = cols, .dtype = t, .stride = (size_t)cols * (t == VC_F32 ? 4 : 2) };
    v.data = aligned_alloc(64, (rows * v.stride + 63) / 64 * 64);
    v.raw = v.data;
    return v;
}

static void measure(struct vc_pool *pool, enum vc_tier tier, enum vc_dtype x, enum vc_dtype w, uint32_t N, uint32_t K,
                    const uint32_t *Ms, int n) {
    uint64_t rng = 5;
    const struct vc_packer *pk = vc_packer_select(vc_cpu_packers, VC_OP_MATMUL, VC_ARITH_PAIR, w);
    const size_t bytes = pk->bytes(w, N, K);
    struct vc_view wv = view(w, N, K);
    fill(&wv, &rng);
    wv.data = aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21);
    memset(wv.data, 0, bytes);
    double t0 = vc_now();
    pk->pack(&(struct vc_pack_job){ .src = w, .panel = w, .raw = wv.raw, .rows = N, .K = K, .N = N, .dst = wv.data });
    printf("%s x %s, N %u K %u (packed at %.1f GB/s, one thread)\n", vc_dtype_name(x), vc_dtype_name(w), N, K,
           (double)bytes / (vc_now() - t0) * 1e-9);
    for (int i = 0; i < n; i++) {
        struct vc_contract c = { .op = VC_OP_MATMUL, .core = VC_ARITH_PAIR };
        struct vc_dims d = { .max_rows = Ms[i], .N = N, .K = K, .in0 = x, .weight = w, .out0 = x };
        struct run r = { .k = vc_kernel_select(vc_cpu_kernels, tier, &c, &d, Ms[i]), .pool = pool };
        r.call = (struct vc_op_call){ .contract = &c, .in = { view(x, Ms[i], K), wv }, .out = { view(x, Ms[i], N) } };
        fill(&r.call.in[0], &rng);
        size_t need = r.k->scratch(&d, vc_pool_threads(pool));
        r.call.scratch = aligned_alloc(64, (need + 63) / 64 * 64);
        struct bytes all = { wv.data, bytes };
        double best = INFINITY, best_fma = INFINITY, best_read = INFINITY, a;
        const double flops = 2.0 * Ms[i] * N * K, peak_flops = 2.0 * 80 * PEAK_STEPS * vc_pool_threads(pool);
        for (int rep = 0; rep < REPS; rep++) {
            a = vc_now(), vc_pool_run(pool, peak, NULL), a = vc_now() - a, best_fma = fmin(best_fma, a);
            a = vc_now(), vc_pool_run(pool, read_all, &all), a = vc_now() - a, best_read = fmin(best_read, a);
            a = vc_now(), vc_pool_run(pool, run_kernel, &r), a = vc_now() - a, best = fmin(best, a);
        }
        printf("  M %4u  %-32s %8.3f ms  %7.1f Gflop/s  %6.1f GB/s  %5.1f %% of fma peak  %5.1f %% of read\n", Ms[i],
               r.k->name, best * 1e3, flops / best * 1e-9, (double)bytes / best * 1e-9,
               100 * flops / best / (peak_flops / best_fma), 100 * best_read / best);
        fflush(stdout);
        free(r.call.scratch), free(r.call.in[0].data), free(r.call.out[0].data);
    }
    free(wv.data), free((void *)(uintptr_t)wv.raw);
}

int main(int argc, char **argv) {
    static const uint32_t all[] = { 1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 32, 64, 128, 512 };
    struct vc_pool *pool;
    enum vc_tier tier;
    vc_err err = { 0 };
    if (vc_cpu_tier(&tier, &err) || vc_pool_new(&pool, argc > 1 ? (uint32_t)atoi(argv[1]) : vc_cpu_threads(), &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%s, %u threads, tier %s\n", vc_cpu_model(), vc_pool_threads(pool), vc_tier_name(tier));
    const int n = (int)VC_ARRAY_LEN(all);
    if (argc > 2) {                                   /* one case: x format, w format, N, K, rows… */
        uint32_t Ms[32];
        int m = 0;
        for (int i = 6; i < argc && m < 32; i++) Ms[m++] = (uint32_t)atoi(argv[i]);
        measure(pool, tier, vc_dtype_by_name(argv[2]), vc_dtype_by_name(argv[3]), (uint32_t)atoi(argv[4]),
                (uint32_t)atoi(argv[5]), m ? Ms : all, m ? m : n);
    } else {
        measure(pool, tier, VC_BF16, VC_BF16, 8192, 2048, all, n);
        measure(pool, tier, VC_BF16, VC_BF16, 2048, 8192, all, n);
        measure(pool, tier, VC_BF16, VC_BF16, 262144, 640, all, 6);
        measure(pool, tier, VC_F32, VC_F16, 8192, 2048, all, n);
        measure(pool, tier, VC_F32, VC_F32, 8192, 2048, all, n);
        measure(pool, tier, VC_BF16, VC_BF16, 960, 576, all, n);
    }
    vc_pool_del(pool);
    return 0;
}
