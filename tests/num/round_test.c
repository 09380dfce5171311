/* SPDX-License-Identifier: Apache-2.0
 * round_test.c: round.h against a search over each format's grid, made from the formula 2^e (1 + m/2^frac). */
#include "test.h"

#include <fenv.h>
#include <math.h>

#include "base/cpu.h"
#include "base/compat.h"
#include "base/rng.h"
#include "num/half.h"
#include "num/round.h"

struct fmt { enum vc_dtype t; int frac, emin; uint64_t max; bool inf; };
static const struct fmt fmts[] = {
    { VC_F8E4M3, 3, -6, 0x7E, false },  { VC_F8E5M2, 2, -14, 0x7B, true },      { VC_F16, 10, -14, 0x7BFF, true },
    { VC_BF16, 7, -126, 0x7F7F, true }, { VC_F32, 23, -126, 0x7F7FFFFF, true },
};

static double grid(const struct fmt *f, uint64_t i) {
    uint64_t e = i >> f->frac, m = i & ((1u << f->frac) - 1);
    double one = (double)(1u << f->frac);
    return e ? ldexp(1.0 + (double)m / one, (int)e - 1 + f->emin) : ldexp((double)m / one, f->emin);
}

/* Magnitude index expected for |x|, given by a binary search; max + 1 stands for overflow. */
static uint64_t expect(const struct fmt *f, double x, int mode, bool neg, uint32_t random) {
    uint64_t lo = 0, hi = f->max + 1;       /* grid(lo) <= x < grid(hi); index max + 1 continues the grid */
    if (x >= grid(f, hi))
        return mode == VC_ROUND_ZERO || (mode == VC_ROUND_UP && neg) || (mode == VC_ROUND_DOWN && !neg)
                   ? f->max
                   : f->max + 1;
    while (hi - lo > 1) {
        uint64_t mid = (lo + hi) / 2;
        if (grid(f, mid) <= x) lo = mid;
        else hi = mid;
    }
    double a = grid(f, lo), b = grid(f, hi), part = (x - a) / (b - a);
    if (part == 0) return lo;
    switch (mode) {
    case VC_ROUND_ZERO: return lo;
    case VC_ROUND_UP: return neg ? lo : hi;
    case VC_ROUND_DOWN: return neg ? hi : lo;
    case VC_ROUND_AWAY: return part >= 0.5 ? hi : lo;
    case VC_ROUND_STOCHASTIC: return (double)random < floor(part * 4294967296.0) ? hi : lo;
    default: return part > 0.5 || (part == 0.5 && (lo & 1)) ? hi : lo;
    }
}

static void check(const struct fmt *f, double v, uint64_t *seed) {
    int width = (int)vc_dtype_info(f->t)->bytes * 8;
    bool neg = signbit(v) != 0;
    for (int mode = 0; mode < VC_ROUND_NUM_MODES; mode++) {
        uint32_t random = (uint32_t)vc_rng_next(seed);
        uint64_t u = expect(f, fabs(v), mode, neg, random), sign = (uint64_t)neg << (width - 1);
        uint64_t want = u, saturated = u;
        if (u > f->max) {
            bool stays = mode == VC_ROUND_ZERO || (mode == VC_ROUND_UP && neg) || (mode == VC_ROUND_DOWN && !neg);
            want = stays ? f->max : f->max + 1;     /* the pattern after the largest is infinity, or NaN in e4m3fn */
            saturated = f->max;
        }
        uint64_t got = vc_round_f64(f->t, v, mode, random);
        if (got != (sign | want))
            fail_msg("%s mode %d: %a gives %llx, expected %llx", vc_dtype_name(f->t), mode, v,
                     (unsigned long long)got, (unsigned long long)(sign | want));
        assert_int_equal(vc_round_f64(f->t, v, mode | VC_ROUND_SATURATE, random), sign | saturated);
        if ((double)(float)v == v) assert_int_equal(vc_round_f32(f->t, (float)v, mode, random), got);
    }
}

static void test_modes(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (size_t k = 0; k < VC_ARRAY_LEN(fmts); k++) {
        const struct fmt *f = &fmts[k];
        for (int i = 0; i < 40000; i++) {
            uint64_t at = f->max < 40000 ? (uint64_t)i % (f->max + 1) : vc_rng_next(&seed) % (f->max + 1);
            double a = grid(f, at), b = grid(f, at + 1), r = (double)(vc_rng_next(&seed) >> 11) * 0x1p-53;
            const double x[] = { a,
                                 (a + b) / 2,
                                 nextafter((a + b) / 2, 0),
                                 nextafter((a + b) / 2, INFINITY),
                                 a + (b - a) * r,
                                 nextafter(a, INFINITY) };
            double v = x[i % 6];
            check(f, i & 8 ? -v : v, &seed);
        }
        check(f, 0x1p-1060, &seed);
        check(f, 1e308, &seed);
        check(f, -1e300, &seed);
    }
}

static void test_known(void **state) {
    (void)state;
    /* PyTorch's conversions of float8_e4m3fn and float8_e5m2. */
    const struct { enum vc_dtype t; float x; unsigned u;
    } v[] = {
        { VC_F8E4M3, 448, 0x7E },     { VC_F8E4M3, 464, 0x7E },
        { VC_F8E4M3, 465, 0x7F },     { VC_F8E4M3, 1, 0x38 },
        { VC_F8E4M3, 0x1p-9f, 0x01 }, { VC_F8E4M3, 0x1p-10f, 0x00 },
        { VC_F8E4M3, -0.0f, 0x80 },   { VC_F8E4M3, (float)INFINITY, 0x7F },
        { VC_F8E5M2, 57344, 0x7B },   { VC_F8E5M2, 61440, 0x7C },
        { VC_F8E5M2, 61439, 0x7B },   { VC_F8E5M2, -(float)INFINITY, 0xFC },
        { VC_F8E5M2, 1, 0x3C },       { VC_F8E5M2, 0x1p-16f, 0x01 },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(v); i++)
        assert_int_equal(vc_round_f32(v[i].t, v[i].x, VC_ROUND_EVEN, 0), v[i].u);
    assert_int_equal(vc_round_f64(VC_F32, -NAN, VC_ROUND_EVEN, 0) & 0x7FC00000, 0x7FC00000);
    assert_int_equal(vc_round_f64(VC_F32, INFINITY, VC_ROUND_ZERO, 0), 0x7F800000);
    assert_int_equal(vc_round_f64(VC_F8E4M3, INFINITY, VC_ROUND_EVEN | VC_ROUND_SATURATE, 0), 0x7E);
    assert_true(vc_round_has(VC_F64) && !vc_round_has(VC_Q4_0) && !vc_round_has(VC_I8));
}

static void test_agrees_with_hardware(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < 200000; i++) {
        uint64_t u = vc_rng_next(&seed);
        double d;
        if (i & 1) u = (u & 0x800FFFFFFFFFFFFFu) | (uint64_t)(1023 - 160 + u % 300) << 52;
        memcpy(&d, &u, 8);
        if (isnan(d)) continue;
        float f = (float)d;
        assert_int_equal(vc_round_f64(VC_F32, d, VC_ROUND_EVEN, 0), vc_f32_bits(f));
        assert_true(vc_bits_value(VC_F32, vc_f32_bits(f)) == (double)f);
        assert_int_equal(vc_round_f64(VC_F64, d, VC_ROUND_UP, 0), u);
    }
}

static void test_environment(void **state) {
    (void)state;
    uint32_t old = vc_fp_flush();
    fesetround(FE_UPWARD);
    uint64_t a = vc_round_f32(VC_BF16, vc_bits_f32(0x00012345), VC_ROUND_EVEN, 0),
             b = vc_round_f64(VC_F32, 0x1p-140, VC_ROUND_EVEN, 0);
    double u = vc_ulp(VC_F64, 0);
    uint64_t bits;
    memcpy(&bits, &u, 8);
    fesetround(FE_TONEAREST);
    vc_fp_restore(old);
    assert_int_equal(a, 1);
    assert_int_equal(b, 1u << 9);
    assert_int_equal(bits, 1);
}

static void test_ulp(void **state) {
    (void)state;
    assert_true(vc_ulp(VC_F32, 1) == 0x1p-23 && vc_ulp(VC_F32, 1.999) == 0x1p-23 && vc_ulp(VC_F32, -2) == 0x1p-22);
    assert_true(vc_ulp(VC_BF16, 20.0) == 0x1p-3 && vc_ulp(VC_F16, 0) == 0x1p-24 && vc_ulp(VC_F8E4M3, 1e9) == 32);
    assert_true(isnan(vc_ulp(VC_F16, NAN)) && isinf(vc_ulp(VC_F16, INFINITY)));
    assert_true(vc_ulp_distance(VC_F32, 1.0, (double)nextafterf(1.0f, 2)) == 1);
    assert_true(vc_ulp_distance(VC_F32, 0x1p-149, -0x1p-149) == 2 && vc_ulp_distance(VC_F32, 0.0, -0.0) == 0);
    assert_true(vc_ulp_distance(VC_BF16, 1.0, 2.0) == 128 && vc_ulp_distance(VC_BF16, 2.0, 1.0) == 128);
    assert_true(vc_ulp_distance(VC_BF16, 16.0, 16.03125) == 0.25);          /* a quarter of the step 0.125 */
    assert_true(vc_ulp_distance(VC_F16, 65504, INFINITY) == 1 && vc_ulp_distance(VC_F16, 65504, 65520) == 0.5);
    assert_true(vc_ulp_distance(VC_F16, NAN, NAN) == 0 && isinf(vc_ulp_distance(VC_F16, NAN, 1)));
    assert_true(vc_ulp_distance(VC_F8E4M3, 448, 464) == 0.5 && vc_ulp_distance(VC_F16, INFINITY, INFINITY) == 0);
    uint64_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        uint32_t a = (uint32_t)vc_rng_next(&seed) & 0x7FFFFFFF, b = a + (uint32_t)(vc_rng_next(&seed) % 1000);
        if (a > 0x7F000000) continue;
        assert_true(vc_ulp_distance(VC_F32, (double)vc_bits_f32(a), (double)vc_bits_f32(b)) == b - a);
        assert_true(vc_ulp_distance(VC_F32, -(double)vc_bits_f32(a), (double)vc_bits_f32(b)) == (double)a + b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes), cmocka_unit_test(test_known), cmocka_unit_test(test_agrees_with_hardware),
        cmocka_unit_test(test_environment), cmocka_unit_test(test_ulp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
