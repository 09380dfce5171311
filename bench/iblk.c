/* SPDX-License-Identifier: Apache-2.0
 * Speed of the iblk matmul rows on this machine's best tier (VLLMC_CPU narrows it): iblk [threads [N K [format]]].
 * M = 1: bytes of the panel per second and the share of a plain read of the same panel; M = 2 … 512 (from 9 on with few panels): products and sums per second
 * and the share of a vpmaddubsw loop. Yardstick and kernel alternate; times are the CPU's own of the slowest thread, so
 * that a busy machine disturbs less. Prints the best rate and the median share. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compat.h"
#include "base/cpu.h"
#include "base/pool.h"
#include "base/rng.h"
#include "dev/kernel.h"
#include "op/qact.h"

#if VC_HAVE_TARGET_AVX2_FMA
#include <immintrin.h>
#endif

enum { REPS = 41, PEAK_STEPS = 1 << 13, PEAK_CHAINS = 10, MAX_THREADS = 64 };

static double seconds[MAX_THREADS];
static uint64_t sinks[MAX_THREADS * 8];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if VC_HAVE_TARGET_AVX2_FMA
VC_TARGET_AVX2_FMA static void peak_loop(uint32_t part) {
    __m256i a[PEAK_CHAINS], x = _mm256_set1_epi8((char)(sinks[0] + 3));
    VC_UNROLL for (int i = 0; i < PEAK_CHAINS; i++) a[i] = _mm256_set1_epi8((char)i);
    for (int s = 0; s < PEAK_STEPS; s++) VC_UNROLL for (int i = 0; i < PEAK_CHAINS; i++) a[i] = _mm256_maddubs_epi16(a[i], x);
    VC_UNROLL for (int i = 0; i < PEAK_CHAINS; i++) sinks[part * 8] += (uint64_t)_mm256_extract_epi64(a[i], 0);
}
VC_TARGET_AVX2_FMA static void read_loop(const char *p, size_t n, uint32_t part) {
    __m256i s[4] = { _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256() };
    for (size_t k = 0; k + 128 <= n; k += 128)
        VC_UNROLL for (int i = 0; i < 4; i++)
            s[i] = _mm256_xor_si256(s[i], _mm256_loadu_si256((const __m256i *)(const void *)(p + k + 32 * i)));
    sinks[part * 8] += (uint64_t)_mm256_extract_epi64(_mm256_xor_si256(_mm256_xor_si256(s[0], s[1]), _mm256_xor_si256(s[2], s[3])), 0);
}
#else
static void peak_loop(uint32_t part) {
    int16_t a[320];
    for (int i = 0; i < 320; i++) a[i] = (int16_t)i;
    for (int s = 0; s < PEAK_STEPS; s++) for (int i = 0; i < 320; i++) a[i] = (int16_t)(a[i] * 3);
    for (int i = 0; i < 320; i++) sinks[part * 8] += (uint64_t)a[i];
}
static void read_loop(const char *p, size_t n, uint32_t part) {
    uint64_t s[8] = { 0 };
    for (const uint64_t *q = (const uint64_t *)(const void *)p, *e = (const uint64_t *)(const void *)(p + n / 64 * 64); q < e; q += 8)
        for (int i = 0; i < 8; i++) s[i] += q[i];
    for (int i = 0; i < 8; i++) sinks[part * 8] += s[i];
}
#endif

static void peak(void *ctx, uint32_t part, uint32_t parts) {
    (void)ctx, (void)parts;
    const double t = now();
    peak_loop(part);
    seconds[part] = now() - t;
}
struct bytes { const char *p; size_t n; };
static void read_all(void *ctx, uint32_t part, uint32_t parts) {
    const struct bytes *b = ctx;
    uint64_t lo, hi;
    const double t = now();
    vc_share(b->n, 64, part, parts, &lo, &hi);
    read_loop(b->p + lo, (size_t)(hi - lo), part);
    seconds[part] = now() - t;
}
struct run { const struct vc_kernel *k; struct vc_op_call call; struct vc_pool *pool; };
static void run_kernel(void *ctx, uint32_t part, uint32_t parts) {
    const struct run *r = ctx;
    const double t = now();
    for (int i = 0; i < VC_MAX_PHASES && r->k->phase[i]; i++) {
        if (i) vc_pool_barrier(r->pool);
        r->k->phase[i](&r->call, part, parts);
    }
    seconds[part] = now() - t;
}
static double timed(struct vc_pool *pool, vc_pool_fn *fn, void *ctx) {
    double worst = 0;
    vc_pool_run(pool, fn, ctx);
    for (uint32_t i = 0; i < vc_pool_threads(pool); i++) worst = VC_MAX(worst, seconds[i]);
    return worst;
}

static void *get(size_t n) {
    void *p = aligned_alloc(64, (n + 63) / 64 * 64);
    if (!p) exit(1);
    memset(p, 0, n);
    return p;
}

/* Random blocks packed; returns the bytes of the panel. */
static size_t make_panel(enum vc_dtype f, uint32_t N, uint32_t K, void **panel) {
    const struct vc_packer *p = vc_packer_select(vc_cpu_packers, VC_OP_MATMUL, VC_ARITH_IBLK, f);
    uint64_t raw_bytes, rng = 3;
    if (!p || vc_dtype_bytes(f, (uint64_t)N * K, &raw_bytes)) exit(1);
    uint8_t *raw = get(raw_bytes);
    for (size_t i = 0; i + 8 <= raw_bytes; i += 8) {
        const uint64_t v = vc_rng_next(&rng) & 0xBFBFBFBFBFBFBFBFu;              /* no f16 Inf or NaN */
        memcpy(raw + i, &v, 8);
    }
    const size_t bytes = p->bytes(f, N, K);
    *panel = get(bytes);
    const double t = now();
    p->pack(&(struct vc_pack_job){ .src = f, .panel = f, .raw = raw, .rows = N, .K = K, .N = N, .dst = *panel });
    printf("%-5s %u x %u  pack %.2f GB/s (one thread)", vc_dtype_name(f), N, K, (double)raw_bytes / (now() - t) * 1e-9);
    free(raw);
    return bytes;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void one_format(struct vc_pool *pool, enum vc_tier tier, enum vc_dtype f, uint32_t N, uint32_t K) {
    static const uint32_t rows[] = { 1, 2, 4, 8, 32, 512 };
    const uint32_t parts = vc_pool_threads(pool), block = vc_qact_block(f), max = 512;
    const enum vc_dtype in = block == 32 ? VC_A8_32 : VC_A8_256;
    struct vc_contract c = { .op = VC_OP_MATMUL, .core = VC_ARITH_IBLK };
    memset(c.slot, VC_F32, sizeof c.slot);
    void *panel;
    const size_t bytes = make_panel(f, N, K, &panel), stride = vc_qact_stride(K, block);
    struct bytes b = { panel, bytes };
    char *x = get(max * stride), *y = get((size_t)max * N * 4);
    uint64_t rng = 9;
    for (size_t r = 0; r < max; r++) {
        for (uint32_t k = 0; k < K; k++) x[r * stride + k] = (char)((int)vc_rng_below(&rng, 255) - 127);
        for (uint32_t k = 0; k < K / block; k++) ((float *)(void *)(x + r * stride + vc_qact_d_at(K)))[k] = 0.01f;
    }
    for (size_t i = 0; i < VC_ARRAY_LEN(rows); i++) {
        const uint32_t M = rows[i], cols = M <= 8 ? N : VC_MIN(N, 64 * parts);
        const struct vc_dims d = { .max_rows = M, .N = cols, .K = K, .in0 = in, .weight = f, .out0 = VC_F32 };
        struct run r = { .pool = pool, .k = vc_kernel_select(vc_cpu_kernels, tier, &c, &d, M) };
        if (!r.k) exit(1);
        void *scratch = get(r.k->scratch(&d, parts));
        r.call = (struct vc_op_call){ .contract = &c, .scratch = scratch, .in = { { x, NULL, stride, M, K, in }, { panel, NULL, 0, cols, K, f } },
                                      .out = { { y, NULL, (size_t)cols * 4, M, cols, VC_F32 } } };
        double best = 1e9, share[REPS];
        for (int rep = 0; rep < REPS; rep++) {
            const double yard = M == 1 ? timed(pool, read_all, &b) : timed(pool, peak, NULL), t = timed(pool, run_kernel, &r);
            const double peak_t = M == 1 ? yard : yard * M * cols * K / (32.0 * PEAK_CHAINS * PEAK_STEPS * parts);
            share[rep] = peak_t / t;
            best = VC_MIN(best, t);
        }
        qsort(share, REPS, sizeof share[0], ascending);
        if (M == 1) printf("  M 1: %.1f GB/s, %.0f %%; Gop/s at M", (double)bytes / best * 1e-9, 100 * share[REPS / 2]);
        else printf("  %u: %.0f %.0f %%", M, 2e-9 * M * cols * K / best, 100 * share[REPS / 2]);
        free(scratch);
    }
    printf("\n");
    free(panel);
    free(x);
    free(y);
}

int main(int argc, char **argv) {
    static const enum vc_dtype formats[] = { VC_Q4_0, VC_Q4_1, VC_Q5_0, VC_Q5_1, VC_Q8_0, VC_Q2_K, VC_Q3_K, VC_Q4_K, VC_Q5_K, VC_Q6_K };
    vc_err err;
    enum vc_tier tier;
    struct vc_pool *pool;
    const uint32_t threads = argc > 1 ? (uint32_t)atoi(argv[1]) : vc_cpu_threads();
    const uint32_t N = argc > 3 ? (uint32_t)atoi(argv[2]) : 24576, K = argc > 3 ? (uint32_t)atoi(argv[3]) : 1536;
    if (threads < 1 || threads > MAX_THREADS || vc_cpu_tier(&tier, &err) || vc_pool_new(&pool, threads, &err)) return 1;
    printf("%s, %s, %u threads\n", vc_cpu_model(), vc_tier_name(tier), threads);
    for (size_t i = 0; i < VC_ARRAY_LEN(formats); i++)
        if (argc < 5 || !strcmp(argv[4], vc_dtype_name(formats[i]))) one_format(pool, tier, formats[i], N, K);
    vc_pool_del(pool);
    return 0;
}
