/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/arena.h"
#include "base/ckd.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/str.h"

static void status_texts(void **state) {
    (void)state;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_fail(&err, VC_E_FORMAT, "%s: offset %d", "f", 7), VC_E_FORMAT);
    assert_string_equal(err.text, "f: offset 7");
    assert_int_equal(vc_fail_prefix(&err, "model %s", "m"), VC_E_FORMAT);
    assert_string_equal(err.text, "model m: f: offset 7");
    assert_int_equal(vc_fail(NULL, VC_E_IO, "nobody listens"), VC_E_IO);
    char longer[3000];
    memset(longer, 0, sizeof longer);
    for (size_t i = 0; i + 3 < sizeof longer; i += 3) memcpy(longer + i, "\xe6\xbc\xa2", 3);     /* cut at a character, not inside */
    vc_fail(&err, VC_E_IO, "%s", longer);
    size_t n = strlen(err.text);
    assert_true(n < sizeof err.text && n % 3 == 0);
    assert_string_equal(vc_status_name(VC_E_BUSY), "E_BUSY");
    assert_int_equal(vc_status_http(VC_E_BUSY), 429);
    assert_string_equal(vc_status_name((vc_status)-999), "E_UNKNOWN");
}

static void utf8(void **state) {
    (void)state;
    static const struct { const char *s; size_t n, len; uint32_t cp; } cases[] = {
        { "a", 1, 1, 'a' }, { "\xc3\xa9", 2, 2, 0xE9 }, { "\xe6\xbc\xa2", 3, 3, 0x6F22 }, { "\xf0\x9f\x98\x80", 4, 4, 0x1F600 },
        { "\xc0\x80", 2, 0, 0 }, { "\xe0\x80\x80", 3, 0, 0 }, { "\xed\xa0\x80", 3, 0, 0 }, { "\xf4\x90\x80\x80", 4, 0, 0 },
        { "\x80", 1, 0, 0 }, { "\xe6\xbc", 2, 0, 0 }, { "\xff", 1, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t cp = 0;
        assert_int_equal(vc_utf8_decode(cases[i].s, cases[i].n, &cp), cases[i].len);
        if (cases[i].len) assert_int_equal(cp, cases[i].cp);
    }
    for (uint32_t cp = 1; cp < 0x110000; cp += cp < 0x3000 ? 1 : 97) {      /* encode, decode, and every cut is partial */
        if (cp >= 0xD800 && cp < 0xE000) continue;
        struct vc_buf b = { 0 };
        uint32_t back = 0;
        vc_buf_utf8(&b, cp);
        assert_int_equal(vc_utf8_decode(b.p, b.n, &back), b.n);
        assert_int_equal(back, cp);
        for (size_t cut = 1; cut < b.n; cut++) assert_int_equal(vc_utf8_partial(b.p, cut), cut);
        assert_int_equal(vc_utf8_partial(b.p, b.n), 0);
        vc_buf_free(&b);
    }
    assert_int_equal(vc_utf8_partial("\xed\xa0", 2), 0);                     /* can never become a character */
}

static void buffers(void **state) {
    (void)state;
    struct vc_buf b = { 0 };
    for (int i = 0; i < 1000; i++) vc_buf_printf(&b, "%d,", i);
    assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(b.p[b.n], 0);
    assert_false(vc_buf_reserve(&b, SIZE_MAX / 2));
    assert_true(b.failed);
    vc_buf_add(&b, "x", 1);
    size_t n = 0;
    assert_null(vc_buf_take(&b, &n));
    char *empty = vc_buf_take(&b, &n);
    assert_string_equal(empty, "");
    free(empty);
    char shown[16];
    static const struct { char c; int base, value; } digits[] = {
        { '0', 10, 0 }, { '9', 10, 9 },  { '9', 8, -1 },  { 'a', 10, -1 }, { 'a', 16, 10 },     { 'F', 16, 15 },
        { 'g', 16, -1 }, { 'Z', 36, 35 }, { '@', 36, -1 }, { '[', 36, -1 }, { '\x10', 16, -1 }, { '\xC1', 36, -1 },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(digits); i++) assert_int_equal(vc_digit(digits[i].c, digits[i].base), digits[i].value);
    assert_string_equal(vc_printable(shown, sizeof shown, "a\nb", 3), "a\\x0ab");
    assert_string_equal(vc_printable(shown, sizeof shown, "0123456789012345678", 19), "012345678901…");
}

static void arenas(void **state) {
    (void)state;
    struct vc_arena a = { 0 };
    char *first = vc_arena_strdup(&a, "first");
    for (size_t i = 1; i < 5000; i++) {
        char *p = vc_arena_alloc(&a, i, 64);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, (int)i, i);
    }
    assert_string_equal(first, "first");
    const unsigned char *z = vc_arena_array(&a, 100, 7);
    for (int i = 0; i < 700; i++) assert_int_equal(z[i], 0);
    assert_false(a.failed);
    assert_null(vc_arena_array(&a, SIZE_MAX / 2, 16));
    assert_true(a.failed);
    vc_arena_free(&a);
}

static void checked_arithmetic(void **state) {
    (void)state;
    uint64_t r;
    assert_false(vc_ckd_add(&r, UINT64_MAX - 1, 1));
    assert_true(vc_ckd_add(&r, UINT64_MAX, 1));
    assert_true(vc_ckd_mul(&r, UINT64_C(1) << 33, UINT64_C(1) << 31));
    assert_true(vc_ckd_sub(&r, 1, 2));
    assert_int_equal(vc_round_up(65, 64), 128);
    assert_int_equal(vc_div_up(64, 64), 1);
}

/* SplitMix64 of state 1234567, as its authors' published code gives it. */
static void splitmix(void **state) {
    (void)state;
    static const uint64_t want[] = { UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423) };
    uint64_t s = 1234567;
    for (int i = 0; i < 3; i++) assert_true(vc_rng_next(&s) == want[i]);
}

static void machine(void **state) {
    (void)state;
    vc_err err = VC_ERR_INIT;
    enum vc_tier best, t;
    assert_true(vc_cpu_threads() >= 1 && vc_mem_total() > 1 << 20 && vc_mem_available() <= vc_mem_total());
    unsetenv("VLLMC_CPU");
    assert_int_equal(vc_cpu_tier(&best, &err), VC_OK);
    setenv("VLLMC_CPU", "portable", 1);
    assert_int_equal(vc_cpu_tier(&t, &err), VC_OK);
    assert_int_equal(t, VC_TIER_PORTABLE);
    setenv("VLLMC_CPU", "mmx", 1);
    assert_int_equal(vc_cpu_tier(&t, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "mmx"));
    for (int i = 0; i < VC_NUM_TIERS; i++) {
        setenv("VLLMC_CPU", vc_tier_name((enum vc_tier)i), 1);
        assert_int_equal(vc_cpu_tier(&t, &err), i <= (int)best ? VC_OK : VC_E_UNSUPPORTED);
        if (i <= (int)best) assert_int_equal(t, i);
    }
    unsetenv("VLLMC_CPU");
    volatile float tiny = 1e-39f;
    uint32_t old = vc_fp_flush();
    assert_true(tiny * 1.0f == 0.0f);
    vc_fp_restore(old);
    assert_true(tiny * 1.0f != 0.0f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_texts), cmocka_unit_test(utf8), cmocka_unit_test(buffers), cmocka_unit_test(arenas),
        cmocka_unit_test(checked_arithmetic), cmocka_unit_test(splitmix), cmocka_unit_test(machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
