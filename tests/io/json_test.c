/* SPDX-License-Identifier: Apache-2.0
 * json_test.c: parsing with positions and limits; getters and the text of their errors. */
#include "test.h"

#include "base/compat.h"
#include "io/json.h"

static json_t *parse(const char *text) {
    json_t *v;
    vc_err err = VC_ERR_INIT;
    if (vc_json_parse(&v, text, strlen(text), "test", &err)) fail_msg("%s", err.text);
    return v;
}

static void refused(const char *text, size_t n, const char *word) {
    json_t *v;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_json_parse(&v, text, n, "f.json", &err);
    if (s != VC_E_FORMAT || v || !strstr(err.text, word))
        fail_msg("%s: '%s' lacks '%s'", vc_status_name(s), err.text, word);
}

static void test_parse_errors(void **state) {
    (void)state;
    static const struct { const char *text, *word;
    } bad[] = {
        { "", "f.json:1:0" },
        { "{\"a\":1,\n\"b\":}", "f.json:2:" },
        { "{\"a\":1,\"a\":2}", "duplicate" },
        { "{} x", "f.json:1:" },
        { "[1,]", "f.json" },
        { "{\"a\":\"\xff\"}", "f.json:1:" },
        { "nul", "f.json" },
        { "[1e999]", "overflow" },
        { "\"open", "f.json" },
        { "[\"\\", "f.json" },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(bad); i++) refused(bad[i].text, strlen(bad[i].text), bad[i].word);
    char *deep = malloc(200001);
    assert_non_null(deep);
    memset(deep, '[', 200000);
    refused(deep, 200000, "f.json:1:513: nested more than 512");
    memset(deep, '[', 512);
    memset(deep + 512, ']', 512);
    json_t *v;
    assert_int_equal(vc_json_parse(&v, deep, 1024, "deep", NULL), VC_OK);
    json_decref(v);
    free(deep);
    v = parse("\"[[[[ \\\" [[[ a\\u0000b\"");
    assert_int_equal(json_string_length(v), 14);
    json_decref(v);
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_json_load(&v, "/there/is/none", &err), VC_E_NOT_FOUND);
}

static void test_long_integers(void **state) {
    (void)state;
    /* As in many tokenizer_config.json files. */
    json_t *v = parse("{\"model_max_length\": 1000000000000000019884624838656, \"a\": 9223372036854775807, \"b\": "
                      "-9223372036854775808, \"s\": "
                      "\"99999999999999999999\", \"c\": [18446744073709551615,-99999999999999999999], \"d\": "
                      "9223372036854775808}");
    double d;
    int64_t i;
    uint64_t u;
    vc_str s;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_json_f64(v, "model_max_length", &d, &err), VC_OK);
    assert_true(d == 1000000000000000019884624838656.0);
    assert_int_equal(vc_json_u64(v, "model_max_length", &u, &err), VC_E_FORMAT);
    assert_int_equal(vc_json_i64(v, "a", &i, &err), VC_OK);
    assert_true(i == INT64_MAX);
    assert_int_equal(vc_json_i64(v, "b", &i, &err), VC_OK);
    assert_true(i == INT64_MIN);
    assert_int_equal(vc_json_str(v, "s", &s, &err), VC_OK);
    assert_true(vc_str_is(s, "99999999999999999999"));
    assert_int_equal(vc_json_f64(v, "c.1", &d, &err), VC_OK);
    assert_true(d == -1e20);
    assert_int_equal(vc_json_u64(v, "d", &u, &err), VC_OK);
    assert_true(u == 1ull << 63);
    assert_int_equal(vc_json_i64(v, "d", &i, &err), VC_E_FORMAT);
    json_decref(v);
}

static void expect(vc_status got, vc_status want, const vc_err *err, const char *a, const char *b) {
    assert_int_equal(got, want);
    if (!strstr(err->text, a) || !strstr(err->text, b)) fail_msg("'%s' lacks '%s' or '%s'", err->text, a, b);
}

static const char config[] = "{\"n\":32,\"big\":4294967296,\"neg\":-3,\"whole\":64.0,\"half\":0.5,\"eps\":1e-6,"
                             "\"huge\":1e300,\"name\":\"x\\u0000y\",\"yes\":true,\"nil\":null,"
                             "\"rope\":{\"type\":\"yarn\",\"list\":[1,{\"k\":7}]},\"arr\":[5,6]}";

static void test_getters(void **state) {
    (void)state;
    json_t *v = parse(config), *o;
    uint32_t u;
    float f;
    double d;
    bool b;
    vc_str s;
    int64_t i;
    assert_int_equal(vc_json_u32(v, "n", &u, NULL), VC_OK);
    assert_int_equal(u, 32);
    assert_int_equal(vc_json_u32(v, "whole", &u, NULL), VC_OK);
    assert_int_equal(u, 64);
    assert_int_equal(vc_json_f32(v, "eps", &f, NULL), VC_OK);
    assert_true(f == 1e-6f);
    assert_int_equal(vc_json_f64(v, "n", &d, NULL), VC_OK);
    assert_true(d == 32);
    assert_int_equal(vc_json_bool(v, "yes", &b, NULL), VC_OK);
    assert_true(b);
    assert_int_equal(vc_json_str(v, "name", &s, NULL), VC_OK);
    assert_int_equal(s.n, 3);
    assert_int_equal(vc_json_str(v, "rope.type", &s, NULL), VC_OK);
    assert_true(vc_str_is(s, "yarn"));
    assert_int_equal(vc_json_i64(v, "rope.list.1.k", &i, NULL), VC_OK);
    assert_int_equal(i, 7);
    assert_int_equal(vc_json_arr(v, "arr", &o, NULL), VC_OK);
    assert_int_equal(json_array_size(o), 2);
    assert_int_equal(vc_json_obj(v, "rope", &o, NULL), VC_OK);
    u = 9;
    assert_int_equal(vc_json_opt_u32(v, "absent", &u, NULL), VC_OK);
    assert_int_equal(vc_json_opt_u32(v, "nil", &u, NULL), VC_OK);
    assert_int_equal(vc_json_opt_u32(v, "rope.absent.deeper", &u, NULL), VC_OK);
    assert_int_equal(u, 9);
    f = 2.5f;
    assert_int_equal(vc_json_opt_f32(v, "absent", &f, NULL), VC_OK);
    assert_true(f == 2.5f);
    assert_null(vc_json_at(v, "arr.2"));
    assert_null(vc_json_at(v, "arr.x"));
    assert_null(vc_json_at(v, "arr.-1"));
    assert_null(vc_json_at(v, ""));
    json_decref(v);
}

static void test_getter_errors(void **state) {
    (void)state;
    json_t *v = parse(config), *o;
    uint32_t u;
    uint64_t w;
    float f;
    bool b;
    vc_str s;
    vc_err err = VC_ERR_INIT;
    expect(vc_json_str(v, "rope.kind", &s, &err), VC_E_NOT_FOUND, &err, "'rope.kind' is missing", "a string");
    expect(vc_json_u32(v, "nil", &u, &err), VC_E_NOT_FOUND, &err, "'nil' is null", "integer");
    expect(vc_json_str(v, "n", &s, &err), VC_E_FORMAT, &err, "'n' is of type integer", "a string");
    expect(vc_json_u32(v, "big", &u, &err), VC_E_FORMAT, &err, "4294967296", "at most 4294967295");
    expect(vc_json_u64(v, "neg", &w, &err), VC_E_FORMAT, &err, "-3", "0 or more");
    expect(vc_json_opt_u32(v, "half", &u, &err), VC_E_FORMAT, &err, "0.5", "integer");
    expect(vc_json_u64(v, "huge", &w, &err), VC_E_FORMAT, &err, "1e+300", "integer");
    expect(vc_json_f32(v, "huge", &f, &err), VC_E_FORMAT, &err, "1e+300", "f32");
    expect(vc_json_opt_f32(v, "name", &f, &err), VC_E_FORMAT, &err, "type string", "a number");
    expect(vc_json_bool(v, "n", &b, &err), VC_E_FORMAT, &err, "type integer", "true or false");
    expect(vc_json_obj(v, "arr", &o, &err), VC_E_FORMAT, &err, "type array", "an object");
    expect(vc_json_opt_arr(v, "rope", &o, &err), VC_E_FORMAT, &err, "type object", "an array");
    json_decref(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_errors),
        cmocka_unit_test(test_long_integers),
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_getter_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
