/* SPDX-License-Identifier: Apache-2.0
 * json_out_test.c: written JSON read back by jansson; layout, escapes, numbers. */
#include "test.h"

#include <math.h>

#include "base/compat.h"
#include "base/rng.h"
#include "io/json.h"
#include "io/json_out.h"
#include "num/half.h"

static void write_sample(struct vc_json_out *w) {
    vc_jo_begin_obj(w);
    vc_jo_key(w, "a");
    vc_jo_begin_arr(w);
    vc_jo_int(w, -5);
    vc_jo_uint(w, UINT64_MAX);
    vc_jo_bool(w, true);
    vc_jo_null(w);
    vc_jo_begin_obj(w);
    vc_jo_end_obj(w);
    vc_jo_begin_arr(w);
    vc_jo_end_arr(w);
    vc_jo_end_arr(w);
    vc_jo_key(w, "b\"");
    vc_jo_str(w, "x\ny");
    vc_jo_key(w, "c");
    vc_jo_f32(w, 0.1f);
    vc_jo_keyn(w, "dx", 1);
    vc_jo_f64(w, NAN);
    vc_jo_key(w, "e");
    vc_jo_raw(w, "[1]", 3);
    vc_jo_key(w, "f");
    vc_jo_str(w, NULL);
    vc_jo_end_obj(w);
}

static void test_layout(void **state) {
    (void)state;
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    vc_jo_init(&w, &b, VC_JSON_COMPACT);
    write_sample(&w);
    assert_string_equal(b.p, "{\"a\":[-5,18446744073709551615,true,null,{},[]],\"b\\\"\":\"x\\ny\",\"c\":0.1,\"d\":"
                             "null,\"e\":[1],\"f\":null}");
    vc_buf_free(&b);
    vc_jo_init(&w, &b, VC_JSON_PRETTY);
    write_sample(&w);
    assert_string_equal(b.p, "{\n  \"a\": [\n    -5,\n    18446744073709551615,\n    true,\n    null,\n    {},\n   "
                             " []\n  ],\n  \"b\\\"\": \"x\\ny\",\n"
                             "  \"c\": 0.1,\n  \"d\": null,\n  \"e\": [1],\n  \"f\": null\n}");
    vc_buf_free(&b);
}

static void text_is(const char *s, size_t n, const char *want) {
    struct vc_buf b = { 0 };
    vc_json_add_str(&b, s, n);
    if (strcmp(b.p, want)) fail_msg("%s instead of %s", b.p, want);
    vc_buf_free(&b);
}

static void test_strings(void **state) {
    (void)state;
    text_is("", 0, "\"\"");
    text_is("a\0b\x1f\x7f/", 6, "\"a\\u0000b\\u001f\x7f/\"");
    text_is("\b\f\n\r\t\"\\", 7, "\"\\b\\f\\n\\r\\t\\\"\\\\\"");
    text_is("é日😀", 9, "\"é日😀\"");
    /* One U+FFFD per maximal subpart: Unicode 15, table 3-8 (and Python's errors="replace"). */
    text_is("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", 9, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41\"");
    text_is("\xC0\xAF\xE0\x80\xBF\x41", 6, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41\"");
    text_is("\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    text_is("x\xF0\x9F", 3, "\"x\xEF\xBF\xBD\"");
}

/* Any bytes become a string that a strict parser takes, equal where they were valid. */
static void test_random_strings(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < 20000; i++) {
        char s[24];
        size_t n = vc_rng_below(&seed, sizeof s);
        for (size_t k = 0; k < n; k++)
            s[k] = (char)(vc_rng_below(&seed, 2) ? vc_rng_below(&seed, 128) : vc_rng_below(&seed, 256));
        struct vc_buf b = { 0 };
        vc_err err = VC_ERR_INIT;
        json_t *v;
        vc_json_add_str(&b, s, n);
        if (vc_json_parse(&v, b.p, b.n, "text", &err)) fail_msg("%s in %s", err.text, b.p);
        bool valid = true;
        uint32_t cp;
        for (size_t at = 0, len; at < n && valid; at += len) valid = (len = vc_utf8_decode(s + at, n - at, &cp)) != 0;
        if (valid) assert_true(json_string_length(v) == n && !memcmp(json_string_value(v), s, n));
        json_decref(v);
        vc_buf_free(&b);
    }
}

static void test_f32(void **state) {
    (void)state;
    uint64_t seed = 12;
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    enum { N = 100000 };
    uint32_t *bits = malloc(N * sizeof *bits);
    assert_non_null(bits);
    vc_jo_init(&w, &b, VC_JSON_COMPACT);
    vc_jo_begin_arr(&w);
    for (int i = 0; i < N; i++) {
        bits[i] = (uint32_t)vc_rng_next(&seed);
        if (i % 4 == 0) bits[i] &= 0x807FFFFF;      /* subnormals */
        vc_jo_f32(&w, vc_bits_f32(bits[i]));
    }
    vc_jo_end_arr(&w);
    vc_err err = VC_ERR_INIT;
    json_t *v;
    if (vc_json_parse(&v, b.p, b.n, "numbers", &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < N; i++) {
        const json_t *x = json_array_get(v, i);
        if (!isfinite(vc_bits_f32(bits[i]))) assert_true(json_is_null(x));
        else assert_int_equal(vc_f32_bits((float)json_real_value(x)), bits[i]);
    }
    json_decref(v);
    vc_buf_free(&b);
    free(bits);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_layout), cmocka_unit_test(test_strings),
                                        cmocka_unit_test(test_random_strings), cmocka_unit_test(test_f32) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
