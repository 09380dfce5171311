/* SPDX-License-Identifier: Apache-2.0
 * Speed of the attention rows on this machine's best tier (VLLMC_CPU narrows it), threads = argument 1 (default 1).
 * Decode: GB/s of the cache that is read and the share of a plain read of the same bytes. Prefill: Gflop/s of the visible
 * keys and the share of an fma loop. Both yardsticks run in every repetition, about as long as the
 * kernel; the shares are medians over the repetitions, the times the best. With one thread the thread's own CPU time is
 * taken, which holds on a machine that others use too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

enum { REPS = 15, PEAK_STEPS = 1 << 20, PAGE = 32 };

static float sinks[64];
static double clock_of(uint32_t threads) {
    struct timespec t;
    if (threads > 1) return vc_now();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if VC_HAVE_TARGET_AVX2_FMA
VC_TARGET_AVX2_FMA
#endif
static void peak(void *ctx, uint32_t part, uint32_t parts) {
    (void)ctx, (void)parts;
#if VC_HAVE_TARGET_AVX2_FMA
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    __m256 a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y;
#define STEP(a) a = _mm256_fmadd_ps(a, x, y)
    for (int s = 0; s < PEAK_STEPS; s++) { STEP(a0); STEP(a1); STEP(a2); STEP(a3); STEP(a4); STEP(a5); STEP(a6); STEP(a7); STEP(a8); STEP(a9); }
#undef STEP
    a0 = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a0, a1), _mm256_add_ps(a2, a3)), _mm256_add_ps(_mm256_add_ps(a4, a5), _mm256_add_ps(a6, a7)));
    sinks[part % 64] += _mm256_cvtss_f32(_mm256_add_ps(a0, _mm256_add_ps(a8, a9)));
#else
    float a[80];
    for (int i = 0; i < 80; i++) a[i] = 0.001f;
    for (int s = 0; s < PEAK_STEPS; s++)
        for (int i = 0; i < 80; i++) a[i] = a[i] * 0.999f + 0.001f;
    for (int i = 0; i < 80; i++) sinks[part % 64] += a[i];
#endif
}

struct bytes { const char *p; size_t n; };
static void read_all(void *ctx, uint32_t part, uint32_t parts) {
    const struct bytes *b = ctx;
    uint64_t lo, hi, s[8] = { 0 };
    vc_share(b->n, 64, part, parts, &lo, &hi);
    for (const uint64_t *q = (const uint64_t *)(const void *)(b->p + lo), *e = (const uint64_t *)(const void *)(b->p + hi); q + 8 <= e; q += 8)
        for (int i = 0; i < 8; i++) s[i] += q[i];
    for (int i = 0; i < 8; i++) sinks[part % 64] += (float)s[i];
}

struct run { const struct vc_kernel *k; struct vc_op_call call; struct vc_pool *pool; };
static void run_kernel(void *ctx, uint32_t part, uint32_t parts) {
    const struct run *r = ctx;
    for (int p = 0; p < VC_MAX_PHASES && r->k->phase[p]; p++) {
        if (p && parts > 1) vc_pool_barrier(r->pool);
        r->k->phase[p](&r->call, part, parts);
    }
}

struct shape { const char *name; enum vc_arith core; enum vc_dtype q, kv; uint32_t hd, heads, kv_heads, rows, pos0, layers, window; };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *v) {
    qsort(v, REPS, sizeof *v, ascending);
    return v[REPS / 2];
}

static double timed(struct vc_pool *pool, uint32_t threads, vc_pool_fn *fn, void *ctx) {
    double t = clock_of(threads);
    if (threads > 1) vc_pool_run(pool, fn, ctx);
    else fn(ctx, 0, 1);
    return clock_of(threads) - t;
}

/* All layers' caches are one stretch of memory; a repetition runs one call per layer. */
static void bench(const struct shape *s, struct vc_pool *pool, uint32_t threads, enum vc_tier tier) {
    uint32_t keys = s->pos0 + s->rows, pages = (keys + PAGE - 1) / PAGE, size = s->kv == VC_F32 ? 4 : 2, q_size = s->q == VC_F32 ? 4 : 2;
    size_t page_bytes = (size_t)s->kv_heads * 2 * PAGE * s->hd * size, layer = pages * page_bytes, cols = (size_t)s->heads * s->hd;
    uint64_t rng = 1;
    uint16_t *pool_data = aligned_alloc(4096, (s->layers * layer + 4095) / 4096 * 4096);
    for (size_t i = 0; i < s->layers * layer / 2; i++) {
        float x = vc_rng_float(&rng) - 0.5f;
        pool_data[i] = s->kv == VC_F16 ? vc_f32_f16(x) : vc_f32_bf16(x);
    }
    uint16_t *q = malloc(s->rows * cols * q_size), *y = malloc(s->rows * cols * q_size);
    for (size_t i = 0; i < s->rows * cols * q_size / 2; i++) q[i] = vc_f32_bf16(vc_rng_float(&rng) - 0.5f);
    uint32_t *table = malloc(pages * sizeof *table);
    for (uint32_t i = 0; i < pages; i++) {
        uint32_t j = vc_rng_below(&rng, i + 1);
        table[i] = table[j];
        table[j] = i;
    }
    struct vc_attn_seq seq = { 0, s->rows, s->pos0, table };
    struct vc_attention_args a = { .geom = { s->kv_heads, s->hd, PAGE }, .num_heads = s->heads, .window = s->window, .num_seqs = 1, .scale = 0.125f, .seqs = &seq };
    struct vc_contract c = { .op = VC_OP_ATTENTION, .core = s->core };
    for (int i = 0; i < VC_NUM_SLOTS; i++) c.slot[i] = VC_F32;
    struct vc_dims d = { .max_rows = s->rows, .num_heads = s->heads, .num_kv_heads = s->kv_heads, .head_dim = s->hd, .page_tokens = PAGE, .max_seqs = 1,
                         .in0 = s->q, .weight = s->kv, .out0 = s->q, .args = &a };
    struct run r = { .k = vc_kernel_select(vc_cpu_kernels, tier, &c, &d, s->rows), .pool = pool };
    r.call = (struct vc_op_call){ .contract = &c, .args = &a };
    r.call.in[0] = (struct vc_view){ .data = q, .stride = cols * q_size, .rows = s->rows, .cols = (uint32_t)cols, .dtype = s->q };
    r.call.out[0] = (struct vc_view){ .data = y, .stride = cols * q_size, .rows = s->rows, .cols = (uint32_t)cols, .dtype = s->q };
    r.call.scratch = aligned_alloc(64, (r.k->scratch(&d, threads) + 63) / 64 * 64);
    double visible = 0, best = 1e9, of_fma[REPS], of_read[REPS], fma_speed = 0, read_speed = 0;
    for (uint32_t i = 0; i < s->rows; i++) visible += s->window ? VC_MIN(s->window, s->pos0 + i + 1) : s->pos0 + i + 1;
    double flops = 4.0 * visible * (double)(s->layers * cols), bytes = (double)(s->layers * layer);
    for (int rep = 0; rep < REPS; rep++) {
        double kernel = 0;
        for (uint32_t l = 0; l < s->layers; l++) {
            r.call.in[1] = (struct vc_view){ .data = (char *)pool_data + l * layer, .stride = page_bytes, .rows = pages, .dtype = s->kv };
            kernel += timed(pool, threads, run_kernel, &r);
        }
        struct bytes b = { (const char *)pool_data, s->layers * layer };
        double fma = 160.0 * PEAK_STEPS * threads / timed(pool, threads, peak, NULL), read = bytes / timed(pool, threads, read_all, &b);
        of_fma[rep] = flops / kernel / fma;
        of_read[rep] = bytes / kernel / read;
        best = VC_MIN(best, kernel);
        fma_speed = VC_MAX(fma_speed, fma);
        read_speed = VC_MAX(read_speed, read);
    }
    printf("%-34s %8.1f us/layer  %6.2f Gflop/s (%3.0f %% of %.0f)  %6.2f GB/s (%3.0f %% of %.1f)\n", s->name, best / s->layers * 1e6, flops / best * 1e-9,
           100 * median(of_fma), fma_speed * 1e-9, bytes / best * 1e-9, 100 * median(of_read), read_speed * 1e-9);
    free(pool_data), free(q), free(y), free(table), free(r.call.scratch);
}

static const struct shape shapes[] = {
#define C VC_ARITH_ATTN_CARRIED, VC_BF16, VC_BF16
#define T VC_ARITH_ATTN_TILED, VC_F32, VC_F16
    { "carried prefill 512 hd64 9/3", C, 64, 9, 3, 512, 0, 1, 0 },
    { "tiled   prefill 512 hd64 9/3", T, 64, 9, 3, 512, 0, 1, 0 },
    { "carried prefill 512 hd256 4/1", C, 256, 4, 1, 512, 0, 1, 0 },
    { "tiled   prefill 512 hd256 4/1", T, 256, 4, 1, 512, 0, 1, 0 },
    { "carried decode 1000 hd64 9/3 x30", C, 64, 9, 3, 1, 999, 30, 0 },
    { "tiled   decode 1000 hd64 9/3 x30", T, 64, 9, 3, 1, 999, 30, 0 },
    { "carried decode 1000 hd256 4/1 x18", C, 256, 4, 1, 1, 999, 18, 0 },
    { "tiled   decode 1000 hd256 4/1 x18", T, 256, 4, 1, 1, 999, 18, 0 },
    { "tiled   decode 4000 hd128 32/8 x4", T, 128, 32, 8, 1, 3999, 4, 0 },
    { "tiled   decode 4000 hd128 8/8 x4", T, 128, 8, 8, 1, 3999, 4, 0 },
};

int main(int argc, char **argv) {
    uint32_t threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    enum vc_tier tier;
    struct vc_pool *pool = NULL;
    vc_err err;
    if (vc_cpu_tier(&tier, &err) || vc_pool_new(&pool, threads, &err)) return 1;
    vc_fp_flush();
    printf("%s, %u threads\n", vc_tier_name(tier), threads);
    for (size_t i = 0; i < VC_ARRAY_LEN(shapes); i++) bench(&shapes[i], pool, threads, tier);
    vc_pool_del(pool);
    return sinks[0] > 1e30f;
}
