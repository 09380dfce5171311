/* SPDX-License-Identifier: Apache-2.0
 * The draw and the filters on larger rows: distribution against softmax, pruned search against the plain one, radix
 * filters against sorting, independence of neighbours. */
#include "test.h"

#include <math.h>

#include "base/rng.h"
#include "run/sample.h"
#include "run/sample_filter.h"
#include "run/sample_gumbel.h"
#include "run/sample_math.h"
#include "run/sample_penalty.h"
#include "run/sample_prob.h"
#include "run/sample_topk.h"

enum { K = 12, DRAWS = 200000, V = 5000 };

/* Chi-square of DRAWS draws against softmax(x), by (seed, index) given by step. */
static double chi_square(const float *x, uint64_t seed0, uint64_t seed_step, uint32_t index_step) {
    double p[K], sum = 0, chi = 0;
    uint32_t count[K] = { 0 }, best = vc_row_argmax(x, K);
    for (int i = 0; i < K; i++) sum += p[i] = exp((double)x[i]);
    for (uint32_t d = 0; d < DRAWS; d++) count[vc_gumbel_argmax(x, K, best, seed0 + d * seed_step, d * index_step)]++;
    for (int i = 0; i < K; i++) {
        double want = p[i] / sum * DRAWS;
        chi += (count[i] - want) * (count[i] - want) / want;
    }
    return chi;
}

static void distribution(void **state) {
    (void)state;
    const float x[K] = { 0, 1, 2, 3, -1, 3, 0.5f, -2, 1.5f, 2.5f, -4, 0.25f };
    /* 11 degrees of freedom: above 37.4 with probability 1e-4. The seeds are fixed, so the outcome is too. */
    double a = chi_square(x, 0, 1, 0), b = chi_square(x, UINT64_C(0xDEADBEEFCAFE), 0, 1),
           c = chi_square(x, 12345, UINT64_C(0x100000001), 3);
    printf("chi-square (11 df) over %d draws: seeds %.1f, output indices %.1f, both %.1f\n", DRAWS, a, b, c);
    assert_true(a < 37.4 && b < 37.4 && c < 37.4);
    /* A wrong distribution is noticed. */
    float y[K];
    for (int i = 0; i < K; i++) y[i] = x[i] * 1.03f;
    double p[K], sum = 0, chi = 0;
    uint32_t count[K] = { 0 };
    for (int i = 0; i < K; i++) sum += p[i] = exp((double)x[i]);
    for (uint32_t d = 0; d < DRAWS; d++) count[vc_gumbel_argmax(y, K, vc_row_argmax(y, K), d, 0)]++;
    for (int i = 0; i < K; i++)
        chi += (count[i] - p[i] / sum * DRAWS) * (count[i] - p[i] / sum * DRAWS) / (p[i] / sum * DRAWS);
    assert_true(chi > 60);
}

static void log_accuracy(void **state) {
    (void)state;
    uint64_t rng = 5;
    double worst = 0;
    for (int i = 0; i < 200000; i++) {
        double u = (double)((vc_rng_next(&rng) >> 11) + 1) * 0x1p-53 * (i % 3 == 0 ? 1 : i % 3 == 1 ? 1e-6 : 50);
        double want = log(u), got = vc_sm_log64(u);
        if (want != 0) worst = fmax(worst, fabs(got - want) / fabs(want));
    }
    assert_true(vc_sm_log64(1.0) == 0.0);
    double tail = vc_sm_log64(1 - 0x1p-53);
    assert_true(fabs(tail + 0x1p-53) < 0x1p-104);
    printf("log64: worst relative error %.3g\n", worst);
    assert_true(worst < 4e-16);
}

static void fill(float *x, uint32_t n, uint64_t *rng, double scale, bool coarse) {
    for (uint32_t i = 0; i < n; i++) {
        double a = 0;
        for (int k = 0; k < 6; k++) a += (double)vc_rng_float(rng);
        x[i] = (float)((a - 3) * scale);
        if (coarse) x[i] = rintf(x[i] * 4) / 4;
    }
}

static void pruned_search(void **state) {
    (void)state;
    static float x[V];
    uint64_t rng = 11;
    for (int t = 0; t < 60; t++) {
        fill(x, V, &rng, 0.1 * (1 + t), t % 2);
        for (uint32_t i = 0; i < V; i += 2 + (uint32_t)t % 7) x[i] = t % 3 ? x[i] : -INFINITY;
        uint32_t best = vc_row_argmax(x, V), want = V;
        double top = -INFINITY;
        for (uint32_t i = 0; i < V; i++) {
            double v = (double)x[i] + vc_gumbel((uint64_t)t, 9, i);
            if (x[i] != -INFINITY && v > top) {
                top = v;
                want = i;
            }
        }
        assert_int_equal(vc_gumbel_argmax(x, V, best, (uint64_t)t, 9), want);
    }
}

static int by_float(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}
static const float *sort_row;
static int by_row(const void *a, const void *b) {     /* ascending, of equals the higher id first */
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (sort_row[i] != sort_row[j]) return sort_row[i] < sort_row[j] ? -1 : 1;
    return (i < j) - (i > j);
}

/* top_k and top_p by sorting; elements whose running sum is within 1e-9 of the limit may go either way. */
static void filters(void **state) {
    (void)state;
    static float x[V], y[V], sorted[V], p[V];
    static uint32_t keys[V], order[V];
    static struct vc_filter_scratch s;
    s.keys = keys;
    s.probs = p;
    s.exp_sum = vc_exp_sum_pick();
    uint64_t rng = 3;
    unsigned near = 0;
    for (int t = 0; t < 80; t++) {
        uint32_t n = t % 4 == 3 ? 17 + (uint32_t)t : V;
        fill(x, n, &rng, 0.2 + 0.1 * t, t % 2);
        if (t == 10) memset(x, 0, sizeof x);
        uint32_t k = 1 + vc_rng_below(&rng, n - 1);
        memcpy(y, x, sizeof x);
        memcpy(sorted, x, sizeof x);
        qsort(sorted, n, sizeof *sorted, by_float);
        vc_filter_top_k(&s, y, n, k);
        for (uint32_t i = 0; i < n; i++) assert_true(x[i] < sorted[n - k] ? isinf(y[i]) : y[i] == x[i]);

        memcpy(x, y, sizeof x);
        float top_p = 0.01f + 0.98f * vc_rng_float(&rng);
        vc_filter_top_p(&s, y, n, top_p);
        double sum = 0, run = 0, mx = (double)sorted[n - 1];
        for (uint32_t i = 0; i < n; i++) sum += exp((double)x[i] - mx), order[i] = i;
        sort_row = x;
        qsort(order, n, sizeof *order, by_row);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t i = order[r];
            if (isinf(x[i])) continue;
            run += exp((double)x[i] - mx) / sum;
            bool drop = run <= (double)(1.0f - top_p) && r + 1 < n;
            if (fabs(run - (double)(1.0f - top_p)) < 2e-6) near++;
            else assert_true(drop ? isinf(y[i]) : y[i] == x[i]);
        }
    }
    assert_true(near < 400);
}

static void top_logprobs(void **state) {
    (void)state;
    static float x[V];
    static uint32_t order[V];
    static vc_logprob lp[V + 3];
    uint64_t rng = 21;
    fill(x, V, &rng, 2, true);
    for (uint32_t i = 0; i < V; i++) order[i] = i;
    sort_row = x;
    qsort(order, V, sizeof *order, by_row);
    for (uint32_t k = 0; k <= V + 2; k = k < 8 ? k + 1 : k * 3 + 1 > V && k < V ? V : k >= V ? k + 1 : k * 3 + 1) {
        vc_logprobs_pick(x, V, 77, k, lp);
        assert_int_equal(lp[0].token, 77);
        assert_int_equal(lp[0].rank, vc_row_count_ge(x, V, x[77]));
        for (uint32_t i = 0; i < k; i++) {
            if (i >= V) assert_int_equal(lp[1 + i].token, -1);
            else if (lp[1 + i].token != (int32_t)order[V - 1 - i] || lp[1 + i].rank != i + 1)
                fail_msg("k %u, entry %u", k, i);
        }
    }
}

/* A row's token is the same whatever was sampled before with the same scratch. */
static void independent(void **state) {
    (void)state;
    static float x[V], y[V];
    struct vc_sampler *a, *b;
    struct vc_sampling *p;
    struct vc_sample_seq *q;
    const struct vc_sampling_limits lim = { .vocab_size = V, .max_logprobs = 20 };
    vc_sampling_params pub = { .n = 1,
                               .temperature = 0.8f,
                               .top_p = 0.9f,
                               .top_k = 200,
                               .min_p = 0.001f,
                               .repetition_penalty = 1.2f,
                               .presence_penalty = 0.5f,
                               .logprobs = 3,
                               .prompt_logprobs = -1,
                               .detokenize = 1 };
    assert_int_equal(vc_sampling_new(&p, &pub, &lim, NULL), VC_OK);
    int32_t prompt[3] = { 4, 4, 9 }, out[64];
    assert_int_equal(vc_sample_seq_new(&q, p, 42, prompt, 3, 64, V, NULL), VC_OK);
    assert_int_equal(vc_sampler_new(&a, V, NULL), VC_OK);
    uint64_t rng = 8;
    for (uint32_t i = 0; i < 64; i++) {
        vc_logprob la[4], lb[4];
        struct vc_sampled ra, rb;
        fill(x, V, &rng, 1.5, false);
        memcpy(y, x, sizeof x);
        assert_int_equal(vc_sampler_new(&b, V, NULL), VC_OK);
        assert_int_equal(vc_sample_row(a, q, x, NULL, out, i, &ra, la, NULL), VC_OK);
        assert_int_equal(vc_sample_row(b, q, y, NULL, out, i, &rb, lb, NULL), VC_OK);
        assert_int_equal(ra.token, rb.token);
        assert_memory_equal(la, lb, sizeof la);
        assert_memory_equal(x, y, sizeof x);
        vc_sampler_del(b);
        out[i] = ra.token;
        vc_sample_seq_push(q, ra.token);
    }
    vc_sample_seq_del(q);
    vc_sampling_del(p);
    vc_sampler_del(a);
}

static void bad_rows(void **state) {
    (void)state;
    struct vc_sampler *s;
    struct vc_sampling *p;
    struct vc_sample_seq *q;
    struct vc_sampled r;
    vc_err err = VC_ERR_INIT;
    const struct vc_sampling_limits lim = { .vocab_size = 40, .max_logprobs = 20 };
    const int32_t allowed[2] = { 3, 5 };
    const int32_t w3 = 3, w5 = 5;
    const vc_token_list bad[2] = { { &w3, 1 }, { &w5, 1 } };
    vc_sampling_params pub = { .n = 1,
                               .temperature = 1,
                               .top_p = 1,
                               .repetition_penalty = 1,
                               .logprobs = -1,
                               .prompt_logprobs = -1,
                               .detokenize = 1,
                               .allowed_token_ids = allowed,
                               .num_allowed_token_ids = 2,
                               .bad_words = bad,
                               .num_bad_words = 2 };
    assert_int_equal(vc_sampling_new(&p, &pub, &lim, NULL), VC_OK);
    assert_int_equal(vc_sample_seq_new(&q, p, 0, NULL, 0, 4, 40, NULL), VC_OK);
    assert_int_equal(vc_sampler_new(&s, 40, NULL), VC_OK);
    float x[40] = { 0 };
    assert_int_equal(vc_sample_row(s, q, x, NULL, NULL, 0, &r, NULL, &err), VC_E_INVALID);
    memset(x, 0, sizeof x);
    x[39] = NAN;
    assert_int_equal(vc_sample_row(s, q, x, NULL, NULL, 0, &r, NULL, &err), VC_E_NUMERIC);
    assert_non_null(strstr(err.text, "token 39"));
    x[39] = INFINITY;
    vc_logprob lp[2];
    assert_int_equal(vc_sample_logprobs(s, x, 1, 1, lp, &err), VC_E_NUMERIC);
    vc_sample_seq_del(q);
    vc_sampling_del(p);
    vc_sampler_del(s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(distribution),  cmocka_unit_test(log_accuracy),
                                        cmocka_unit_test(pruned_search), cmocka_unit_test(filters),
                                        cmocka_unit_test(top_logprobs),  cmocka_unit_test(independent),
                                        cmocka_unit_test(bad_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
