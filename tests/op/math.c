/* SPDX-License-Identifier: Apache-2.0
 * Errors of op/math.h against glibc's long double functions, in ulps of the exact value, over samples of all arguments. */
#include "test.h"

#include <math.h>

#include "op/math.h"
#include "op/sleef.h"

static long double ulp32(long double y) {
    int e;
    frexpl(y, &e);
    return ldexpl(1.0L, (e < -125 ? -125 : e) - 24);
}

typedef float fn32(float);
typedef long double fnl(long double);
static float f_exp(float x) { return vc_expf(x); }
static float f_exp2(float x) { return vc_exp2f(x); }
static float f_log(float x) { return vc_logf(x); }
static float f_tanh(float x) { return vc_tanhf(x); }
static float f_erf(float x) { return vc_erff(x); }
static float s_exp(float x) { return vc_sleef_expf(x); }
static float s_log(float x) { return vc_sleef_logf(x); }

/* Largest error over every 1009th f32 of [lo, hi]; results below 2^-126 may be 0. */
static void scan(const char *name, fn32 *f, fnl *ref, float lo, float hi, long double limit) {
    long double worst = 0;
    float at = 0;
    for (uint64_t u = 0; u < UINT64_C(0x100000000); u += 1009) {
        float x = vc_bits_f32((uint32_t)u);
        if (!(x >= lo && x <= hi) || (fabsf(x) < 0x1p-126f)) continue;
        long double want = ref(x), got = f(x), err = fabsl(got - want) / ulp32(want);
        if (fabsl(want) < 0x1p-126L || fabsl(want) >= 0x1.ffffffp127L) continue;
        if (err > worst) worst = err, at = x;
    }
    printf("%-10s %.3Lf ulp at %.9g\n", name, worst, (double)at);
    assert_true(worst <= limit);
}

static void test_f32(void **state) {
    (void)state;
    scan("exp", f_exp, expl, -87.3365f, 88.7228f, 1.0L);
    scan("exp2", f_exp2, exp2l, -126.0f, 127.99f, 0.8L);
    scan("log", f_log, logl, 0x1p-126f, 3e38f, 0.9L);
    scan("tanh", f_tanh, tanhl, -100.0f, 100.0f, 1.0L);
    scan("erf", f_erf, erfl, -100.0f, 100.0f, 1.1L);
    scan("sleef exp", s_exp, expl, -87.3f, 88.7f, 1.0L);
    scan("sleef log", s_log, logl, 0x1p-126f, 3e38f, 1.0L);
}

static void test_special(void **state) {
    (void)state;
    float inf = vc_bits_f32(0x7F800000u), nan = vc_bits_f32(0x7FC00000u);
    assert_true(vc_expf(inf) == inf && vc_expf(-inf) == 0.0f && vc_expf(nan) != vc_expf(nan) && vc_expf(89.0f) == inf && vc_expf(-88.0f) == 0.0f);
    assert_true(vc_exp2f(128.0f) == inf && vc_exp2f(-127.0f) == 0.0f && vc_exp2f(10.0f) == 1024.0f && vc_exp2f(-126.0f) == 0x1p-126f);
    assert_true(vc_logf(inf) == inf && vc_logf(0.0f) == -inf && vc_logf(-0.0f) == -inf && vc_logf(-1.0f) != vc_logf(-1.0f) && vc_logf(1.0f) == 0.0f);
    assert_true(vc_tanhf(inf) == 1.0f && vc_tanhf(-inf) == -1.0f && vc_tanhf(nan) != vc_tanhf(nan) && vc_f32_bits(vc_tanhf(-0.0f)) == 0x80000000u);
    assert_true(vc_erff(inf) == 1.0f && vc_erff(-inf) == -1.0f && vc_erff(nan) != vc_erff(nan) && vc_f32_bits(vc_erff(-0.0f)) == 0x80000000u);
    assert_true(vc_exp(0.0) == 1.0 && vc_exp(-1000.0) == 0.0 && vc_log(1.0) == 0.0 && vc_sin(0.0) == 0.0 && vc_cos(0.0) == 1.0);
}

static double rnd(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (double)(*s >> 11) * 0x1p-53;
}

static void test_f64(void **state) {
    (void)state;
    uint64_t seed = 1;
    long double worst[5] = { 0 }, rel = 0;
    for (int i = 0; i < 400000; i++) {
        double r = rnd(&seed), angle = i % 2 ? r * 1e6 : r * 8.0, base = exp(rnd(&seed) * 18.0), y = rnd(&seed);
        if (i % 16 == 0) angle = floor(angle) * 1.5707963267948966;
        long double s = sinl(angle), c = cosl(angle), p = powl(base, y), l = logl(base), e = expl(r * 40 - 20);
        worst[0] = fmaxl(worst[0], fabsl(vc_sin(angle) - s));
        worst[1] = fmaxl(worst[1], fabsl(vc_cos(angle) - c));
        worst[2] = fmaxl(worst[2], fabsl(vc_pow(base, y) - p) / p);
        worst[3] = fmaxl(worst[3], fabsl(vc_log(base) - l) / fabsl(l));
        worst[4] = fmaxl(worst[4], fabsl(vc_exp(r * 40 - 20) - e) / e);
        if (fabsl(s) > 0x1p-40L) rel = fmaxl(rel, fabsl(vc_sin(angle) - s) / fabsl(s));
    }
    printf("f64 errors: sin %.2Lg (relative %.2Lg), cos %.2Lg absolute; pow %.2Lg, log %.2Lg, exp %.2Lg relative\n", worst[0], rel, worst[1],
           worst[2], worst[3], worst[4]);
    assert_true(worst[0] < 0x1p-53L && worst[1] < 0x1p-53L && rel < 0x1p-52L);
    assert_true(worst[2] < 0x1p-52L && worst[3] < 0x1p-52L && worst[4] < 0x1p-52L);
}

/* fma: both forms against the f64 result of long double arithmetic where that is exact enough, and hard cases. */
static void test_fma(void **state) {
    (void)state;
    uint64_t seed = 7;
    size_t bad = 0;
    for (int i = 0; i < 2000000; i++) {
        uint32_t w[3];
        for (int j = 0; j < 3; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            w[j] = (uint32_t)(seed >> 32);
            uint32_t e = 100 + (w[j] >> 23 & 63) % 50;               /* near each other, so that sums cancel and tie */
            w[j] = (w[j] & 0x80000000u) | e << 23 | (i % 3 ? w[j] & 0x7FFFFFu : w[j] & 0x700000u);
        }
        float a = vc_bits_f32(w[0]), b = vc_bits_f32(w[1]), c = vc_bits_f32(w[2]);
        if (i % 5 == 0) c = -(a * b);
        float want = fmaf(a, b, c);
        bad += vc_f32_bits(vc_fma_f64(a, b, c)) != vc_f32_bits(want) || vc_f32_bits(vc_fma(a, b, c)) != vc_f32_bits(want);
    }
    assert_int_equal(bad, 0);
    float inf = vc_bits_f32(0x7F800000u);
    assert_true(vc_fma_f64(inf, 1.0f, 3.0f) == inf && vc_fma_f64(0x1p127f, 2.0f, 0.0f) == inf);
    assert_true(vc_fma_f64(inf, 1.0f, -inf) != vc_fma_f64(inf, 1.0f, -inf));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_f32), cmocka_unit_test(test_special), cmocka_unit_test(test_f64), cmocka_unit_test(test_fma) };
    return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}
