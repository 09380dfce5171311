/* SPDX-License-Identifier: Apache-2.0
 * bench_peak.c: what this machine can do at best: bytes read per second, and multiply-adds per second in registers,
 * each with all threads at once, for the instructions of the tier in use. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bandwidth.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/status.h"
#include "cli/bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 100000, CHAINS = 12 };             /* loop rounds of one measurement; independent accumulators */

const char *cli_peak_name(enum cli_peak_kind k) {
    static const char *const name[CLI_NUM_PEAKS] = { "f32 fma", "bf16 dot", "int8 dot" };
    return name[k];
}

/* ---- loops; each returns the operations it did ---- */
static double f32_portable(void) {
    float acc[4 * CHAINS], m = 0.999f, a = 0.001f;
    for (int i = 0; i < 4 * CHAINS; i++) acc[i] = (float)i;
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < 4 * CHAINS; i++) acc[i] = acc[i] * m + a;
        VC_KEEP(&acc);
    }
    return 2.0 * 4 * CHAINS * ROUNDS;
}

#if defined(__x86_64__)
VC_TARGET("avx2,fma") static double f32_avx2(void) {
    __m256 acc[CHAINS], m = _mm256_set1_ps(0.999f), a = _mm256_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++) acc[i] = _mm256_set1_ps((float)i);
    for (int r = 0; r < ROUNDS; r++) {
        VC_UNROLL
        for (int i = 0; i < CHAINS; i++) acc[i] = _mm256_fmadd_ps(acc[i], m, a);
    }
    for (int i = 0; i < CHAINS; i++) VC_KEEP(_mm256_cvtss_f32(acc[i]));
    return 2.0 * 8 * CHAINS * ROUNDS;
}

/* Unsigned times signed bytes in pairs, pairs of words, sum: the int8 dot product of AVX2. */
VC_TARGET("avx2,fma") static double int8_avx2(void) {
    __m256i acc[CHAINS], x = _mm256_set1_epi8(3), w = _mm256_set1_epi8(5), one = _mm256_set1_epi16(1);
    for (int i = 0; i < CHAINS; i++) acc[i] = _mm256_setzero_si256();
    for (int r = 0; r < ROUNDS; r++) {
        VC_UNROLL
        for (int i = 0; i < CHAINS; i++) {
            __m256i p = _mm256_maddubs_epi16(_mm256_xor_si256(x, acc[i]), w);
            acc[i] = _mm256_add_epi32(acc[i], _mm256_madd_epi16(p, one));
        }
    }
    for (int i = 0; i < CHAINS; i++) VC_KEEP(_mm256_extract_epi32(acc[i], 0));
    return 2.0 * 32 * CHAINS * ROUNDS;
}

VC_TARGET("avx512f") static double f32_avx512(void) {
    __m512 acc[CHAINS], m = _mm512_set1_ps(0.999f), a = _mm512_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_set1_ps((float)i);
    for (int r = 0; r < ROUNDS; r++) {
        VC_UNROLL
        for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_fmadd_ps(acc[i], m, a);
    }
    for (int i = 0; i < CHAINS; i++) VC_KEEP(_mm512_cvtss_f32(acc[i]));
    return 2.0 * 16 * CHAINS * ROUNDS;
}

VC_TARGET("avx512f,avx512vnni") static double int8_avx512(void) {
    __m512i acc[CHAINS], x = _mm512_set1_epi32(0x03030303), w = _mm512_set1_epi32(0x05050505);
    for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_setzero_si512();
    for (int r = 0; r < ROUNDS; r++) {
        VC_UNROLL
        for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_dpbusd_epi32(acc[i], x, w);
    }
    for (int i = 0; i < CHAINS; i++) VC_KEEP(_mm_cvtsi128_si32(_mm512_castsi512_si128(acc[i])));
    return 2.0 * 64 * CHAINS * ROUNDS;
}

VC_TARGET("avx512f,avx512bw,avx512vl,avx512bf16") static double bf16_avx512(void) {
    __m512 acc[CHAINS];
    __m512bh x = (__m512bh)_mm512_set1_epi16(0x3F80), w = (__m512bh)_mm512_set1_epi16(0x3C00);
    for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_set1_ps((float)i);
    for (int r = 0; r < ROUNDS; r++) {
        VC_UNROLL
        for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_dpbf16_ps(acc[i], x, w);
    }
    for (int i = 0; i < CHAINS; i++) VC_KEEP(_mm512_cvtss_f32(acc[i]));
    return 2.0 * 32 * CHAINS * ROUNDS;
}
#endif

typedef double loop_fn(void);
static loop_fn *loop_of(enum vc_tier tier, enum cli_peak_kind k) {
#if defined(__x86_64__)
    static loop_fn *const table[VC_NUM_TIERS][CLI_NUM_PEAKS] = {
        [VC_TIER_PORTABLE] = { f32_portable, NULL, NULL },
        [VC_TIER_AVX2] = { f32_avx2, NULL, int8_avx2 },
        [VC_TIER_AVX512] = { f32_avx512, NULL, int8_avx512 },
        [VC_TIER_AVX512BF16] = { f32_avx512, bf16_avx512, int8_avx512 },
    };
    return table[tier][k];
#else
    (void)tier;
    return k == CLI_PEAK_F32 ? f32_portable : NULL;
#endif
}

/* One slot per thread, on a line of its own. */
struct slot { VC_ALIGNED(64) double ops; };
struct work { struct vc_pool *pool; loop_fn *loop; struct slot *slot; };

static void run_loop(void *ctx, uint32_t part, uint32_t parts) {
    struct work *w = ctx;
    (void)parts;
    w->slot[part].ops = w->loop();
}

/* Best of several runs: at least five, for a third of a second. */
static double best_rate(struct work *w, uint32_t threads) {
    double best = 0, begun = vc_now();
    for (int i = 0; i < 5 || vc_now() - begun < 0.33; i++) {
        double t0 = vc_now();
        vc_pool_run(w->pool, run_loop, w);
        double s = vc_now() - t0, done = 0;
        for (uint32_t t = 0; t < threads; t++) done += w->slot[t].ops;
        if (s > 0) best = fmax(best, done / s);
    }
    return best;
}

vc_status cli_measure_limits(struct cli_limits *l, enum vc_tier tier, uint32_t threads, vc_err *err) {
    struct work w = { 0 };
    *l = (struct cli_limits){ 0 };
    VC_TRY(vc_read_bandwidth(&l->read_bytes_s, threads, err));
    VC_TRY(vc_pool_new(&w.pool, threads, err));
    threads = vc_pool_threads(w.pool);
    w.slot = aligned_alloc(64, threads * sizeof *w.slot);
    vc_status s = w.slot ? VC_OK : vc_fail(err, VC_E_NOMEM, "out of memory");
    if (s == VC_OK) {
        memset(w.slot, 0, threads * sizeof *w.slot);
        for (int k = 0; k < CLI_NUM_PEAKS; k++) {
            w.loop = loop_of(tier, (enum cli_peak_kind)k);
            if (w.loop) l->ops_s[k] = best_rate(&w, threads);
        }
    }
    free(w.slot);
    vc_pool_del(w.pool);
    return s;
}
