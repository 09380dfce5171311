/* SPDX-License-Identifier: Apache-2.0
 * digits_test.c: shortest digits: read back by the C library, and no longer than the shortest printf that reads
 * back. */
#include "test.h"

#include <math.h>

#include "base/rng.h"
#include "base/compat.h"
#include "num/digits.h"
#include "num/half.h"

/* Significant digits of a printed number. */
static int digits_of(const char *s) {
    int n = 0, zeros = 0;
    for (; *s && *s != 'e'; s++) {
        if (*s < '0' || *s > '9') continue;
        if (*s == '0' && n == 0) continue;
        if (*s == '0') zeros++;
        else { n += zeros + 1; zeros = 0; }
    }
    return n;
}

static void check_f32(uint32_t u) {
    float f = vc_bits_f32(u);
    char text[VC_DIGITS_MAX], other[40];
    if (!isfinite(f)) return;
    size_t n = vc_print_f32(text, f);
    assert_int_equal(n, strlen(text));
    assert_int_equal(vc_f32_bits(strtof(text, NULL)), u);
    assert_int_equal(vc_f32_bits((float)strtod(text, NULL)), u);
    if (f == 0) return;
    for (int p = 1; p <= 9; p++) {
        snprintf(other, sizeof other, "%.*e", p - 1, (double)f);
        if (vc_f32_bits(strtof(other, NULL)) != u || vc_f32_bits((float)strtod(other, NULL)) != u) continue;
        if (digits_of(text) > p) fail_msg("%s is longer than %s", text, other);
        return;
    }
}

static void test_f32(void **state) {
    (void)state;
    uint64_t seed = 6;
    for (int i = 0; i < 300000; i++) check_f32((uint32_t)vc_rng_next(&seed));
    for (uint32_t e = 0; e < 255; e++)                 /* around powers of two; all exponents */
        for (uint32_t k = 0; k < 3; k++) check_f32((e << 23) + k - (e > 0));
    check_f32(0x15AE43FD);      /* its 7-digit decimal rounds to a neighbour through f64 */
}

static void test_f64(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 60000; i++) {
        uint64_t u = i < 4096 ? (uint64_t)(i / 2) << 52 | (i & 1) : vc_rng_next(&seed), back;
        double d, r;
        char text[VC_DIGITS_MAX], other[40];
        memcpy(&d, &u, 8);
        if (!isfinite(d)) continue;
        vc_print_f64(text, d);
        r = strtod(text, NULL);
        memcpy(&back, &r, 8);
        assert_int_equal(back, u);
        for (int p = 1; p <= 17 && d != 0; p++) {
            snprintf(other, sizeof other, "%.*e", p - 1, d);
            if (strtod(other, NULL) != d) continue;
            if (digits_of(text) > p) fail_msg("%s is longer than %s", text, other);
            break;
        }
    }
}

static void test_text(void **state) {
    (void)state;
    const struct { double v; const char *text;
    } c[] = {
        { 0.0, "0.0" },
        { -0.0, "-0.0" },
        { 1, "1.0" },
        { -1.5, "-1.5" },
        { 0.1, "0.1" },
        { 1e-5, "0.00001" },
        { 1e-6, "1e-6" },
        { 1e15, "1000000000000000.0" },
        { 1e16, "1e16" },
        { 1.25e-7, "1.25e-7" },
        { 5e-324, "5e-324" },
        { 1.7976931348623157e308, "1.7976931348623157e308" },
        { 9007199254740993.0, "9007199254740992.0" },
        { 1e23, "1e23" },
        { 123456.789, "123456.789" },
        { 2.2250738585072014e-308, "2.2250738585072014e-308" },
        { INFINITY, "inf" },
        { -INFINITY, "-inf" },
        { NAN, "nan" },
    };
    char text[VC_DIGITS_MAX];
    for (size_t i = 0; i < VC_ARRAY_LEN(c); i++) {
        vc_print_f64(text, c[i].v);
        assert_string_equal(text, c[i].text);
    }
    vc_print_f32(text, 0.1f);
    assert_string_equal(text, "0.1");
    vc_print_f32(text, 16777216.0f);
    assert_string_equal(text, "16777216.0");
    vc_print_f32(text, 3.4028234663852886e38f);
    assert_string_equal(text, "3.4028235e38");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_f32), cmocka_unit_test(test_f64),
                                        cmocka_unit_test(test_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
