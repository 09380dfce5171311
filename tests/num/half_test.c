/* SPDX-License-Identifier: Apache-2.0
 * half_test.c: half.h against the formulas of IEEE 754 in f64. */
#include "test.h"

#include <math.h>

#include "base/rng.h"
#include "num/half.h"

static double f16_value(unsigned h) {
    unsigned e = h >> 10 & 31, m = h & 1023;
    double v = e ? ldexp(1.0 + m / 1024.0, (int)e - 15) : ldexp(m / 1024.0, -14);
    return h & 0x8000 ? -v : v;
}

static void test_f16_all(void **state) {
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        float f = vc_f16_f32((uint16_t)h);
        if ((h & 0x7FFF) > 0x7C00) {
            assert_true(isnan(f));
            assert_true((vc_f32_f16(f) & 0x7FFF) > 0x7C00);
            continue;
        }
        if ((h & 0x7FFF) == 0x7C00) assert_true(isinf(f) && (f < 0) == (h >> 15));
        else assert_true((double)f == f16_value(h) && (signbit(f) != 0) == (h >> 15));
        assert_int_equal(vc_f32_f16(f), h);
    }
}

/* The result must be the nearest of it and its two neighbours, even when two are equally near. */
static void check_f16(float f) {
    unsigned h = vc_f32_f16(f), a = h & 0x7FFF;
    double x = fabs((double)f);
    assert_int_equal(h >> 15, signbit(f) != 0);
    if (x >= 65520.0) {         /* the tie with 2^16 goes to infinity */
        assert_int_equal(a, 0x7C00);
        return;
    }
    double d = fabs(f16_value(a) - x), up = a < 0x7BFF ? fabs(f16_value(a + 1) - x) : 65536.0 - x,
           down = a ? fabs(f16_value(a - 1) - x) : 1e300;
    if (a & 1) assert_true(d < up && d < down);
    else assert_true(d <= up && d <= down);
}

static void test_f16_random(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 2000000; i++) {
        uint32_t u = (uint32_t)vc_rng_next(&seed);
        float f = vc_bits_f32(i & 1 ? u : (u & 0x8FFFFFFFu) | 0x30000000u);     /* half of them near f16's range */
        if (isfinite(f)) check_f16(f);
    }
    for (unsigned h = 0; h < 0x7C00; h++) {        /* ties and their neighbours */
        float mid = (float)((f16_value(h) + (h < 0x7BFF ? f16_value(h + 1) : 65536.0)) / 2);
        check_f16(mid);
        check_f16(nextafterf(mid, 0));
        check_f16(nextafterf(mid, INFINITY));
        check_f16(-mid);
    }
}

static void test_bf16(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (unsigned h = 0; h < 65536; h++) {
        float f = vc_bf16_f32((uint16_t)h);
        if (isnan(f)) assert_true(isnan(vc_bf16_f32(vc_f32_bf16(f))));
        else assert_int_equal(vc_f32_bf16(f), h);
    }
    for (int i = 0; i < 2000000; i++) {
        uint32_t u = (uint32_t)vc_rng_next(&seed);
        if (i % 3 == 0) u = (u & 0xFFFF0000u) | 0x8000u;
        float f = vc_bits_f32(u);
        if (!isfinite(f)) continue;
        uint32_t low = u & 0xFFFF, want = (u >> 16) + (low > 0x8000 || (low == 0x8000 && (u >> 16 & 1)));
        assert_int_equal(vc_f32_bf16(f), want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_f16_all), cmocka_unit_test(test_f16_random),
                                        cmocka_unit_test(test_bf16) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
