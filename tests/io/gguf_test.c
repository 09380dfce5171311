/* SPDX-License-Identifier: Apache-2.0
 * gguf_test.c: values of every type, getters and their errors, a large vocabulary, and the tiny models of the
 * goldens. */
#include "gguf_writer.h"

#include "base/compat.h"
#include "base/clock.h"
#include "io/tensors.h"

static struct vc_gguf *open_golden(const char *name) {
    struct vc_gguf *g = NULL;
    vc_err err = VC_ERR_INIT;
    const char *path = vc_golden(name);
    if (!path || vc_gguf_open(&g, path, &err)) fail_msg("%s: %s", name, path ? err.text : "missing");
    return g;
}

static void test_values(void **state) {
    (void)state;
    struct vc_gguf *g = open_golden("gguf-quants/malformed/ok_all_kv_types.gguf");
    const vc_str *s;
    const void *data;
    size_t n;
    uint32_t u;
    uint64_t w;
    bool b;
    vc_str text;
    assert_int_equal(vc_gguf_version(g), 3);
    assert_int_equal(vc_gguf_num_kv(g), 11);
    assert_int_equal(vc_gguf_str(g, "general.architecture", &text, NULL), VC_OK);
    assert_true(vc_str_is(text, "llama"));
    assert_int_equal(vc_gguf_u32(g, "u8", &u, NULL), VC_OK);
    assert_int_equal(u, 255);
    assert_int_equal(vc_gguf_u64(g, "u16", &w, NULL), VC_OK);
    assert_int_equal(w, 65535);
    assert_int_equal(vc_gguf_u64(g, "u64", &w, NULL), VC_OK);
    assert_true(w == 1ull << 63);
    assert_int_equal(vc_gguf_bool(g, "b", &b, NULL), VC_OK);
    assert_true(b);
    assert_int_equal(vc_gguf_strings(g, "arr", &s, &n, NULL), VC_OK);
    assert_int_equal(n, 3);
    assert_true(vc_str_is(s[0], "x") && s[1].n == 0 && vc_str_is(s[2], "é"));
    assert_int_equal(vc_gguf_array(g, "ai", VC_GGUF_I32, &data, &n, NULL), VC_OK);
    int32_t v[2];
    memcpy(v, data, sizeof v);
    assert_true(n == 2 && v[0] == -1 && v[1] == 2);
    assert_int_equal(vc_gguf_elem_int(vc_gguf_find(g, "ai"), 0), -1);
    const struct vc_gguf_value *x = vc_gguf_find(g, "f64");
    assert_true(x && x->type == VC_GGUF_F64 && x->f == 1.5);
    x = vc_gguf_find(g, "i64");
    assert_true(x && x->type == VC_GGUF_I64 && x->i == -5);
    assert_string_equal(vc_gguf_key(g, 3), "u8");
    assert_ptr_equal(vc_gguf_at(g, 3), vc_gguf_find(g, "u8"));
    assert_null(vc_gguf_find(g, "u"));
    vc_gguf_close(g);
}

static void expect(vc_status got, vc_status want, const vc_err *err, const char *a, const char *b) {
    assert_int_equal(got, want);
    if (!strstr(err->text, a) || !strstr(err->text, b)) fail_msg("'%s' lacks '%s' or '%s'", err->text, a, b);
}

static void test_errors(void **state) {
    (void)state;
    struct vc_gguf *g = open_golden("gguf-quants/malformed/ok_all_kv_types.gguf");
    vc_err err = VC_ERR_INIT;
    uint32_t u = 7;
    uint64_t w;
    float f;
    bool b;
    vc_str s;
    const vc_str *t;
    const void *data;
    size_t n;
    expect(vc_gguf_u32(g, "llama.block_count", &u, &err), VC_E_NOT_FOUND, &err, "llama.block_count",
           "ok_all_kv_types.gguf");
    assert_int_equal(u, 7);
    expect(vc_gguf_u32(g, "general.name", &u, &err), VC_E_FORMAT, &err, "type string", "expected u32");
    expect(vc_gguf_u32(g, "u64", &u, &err), VC_E_FORMAT, &err, "9223372036854775808", "u32");
    expect(vc_gguf_u64(g, "i64", &w, &err), VC_E_FORMAT, &err, "-5", "u64");
    expect(vc_gguf_u64(g, "b", &w, &err), VC_E_FORMAT, &err, "type bool", "expected u64");
    expect(vc_gguf_f32(g, "u8", &f, &err), VC_E_FORMAT, &err, "type u8", "expected f32");
    expect(vc_gguf_bool(g, "u8", &b, &err), VC_E_FORMAT, &err, "type u8", "expected bool");
    expect(vc_gguf_str(g, "arr", &s, &err), VC_E_FORMAT, &err, "array of string", "expected string");
    expect(vc_gguf_strings(g, "ai", &t, &n, &err), VC_E_FORMAT, &err, "array of i32", "array of string");
    expect(vc_gguf_array(g, "ai", VC_GGUF_F32, &data, &n, &err), VC_E_FORMAT, &err, "array of i32", "array of f32");
    expect(vc_gguf_array(g, "arr", VC_GGUF_STRING, &data, &n, &err), VC_E_INVALID, &err, "string", "vc_gguf_array");
    vc_gguf_close(g);
    vc_gguf_close(NULL);
}

enum { VOCAB = 300000 };

static void test_vocabulary(void **state) {
    (void)state;
    struct vc_buf b = { 0 };
    char word[32];
    gw_begin(&b, 0, 3);
    gw_array(&b, "tokenizer.ggml.tokens", VC_GGUF_STRING, VOCAB);
    for (int i = 0; i < VOCAB; i++) {
        snprintf(word, sizeof word, "t%d", i * 7);
        gw_str(&b, word);
    }
    gw_array(&b, "tokenizer.ggml.scores", VC_GGUF_F32, VOCAB);
    for (int i = 0; i < VOCAB; i++) {
        float f = (float)-i;
        vc_buf_add(&b, (const char *)&f, 4);
    }
    gw_kv(&b, "general.name", VC_GGUF_STRING, "\1\0\0\0\0\0\0\0x", 9);
    gw_save(&b, VC_TEST_TMP "/vocabulary.gguf");
    vc_buf_free(&b);

    struct vc_gguf *g;
    const vc_str *s, *again;
    const void *scores;
    size_t n;
    vc_err err = VC_ERR_INIT;
    double start = vc_now();
    if (vc_gguf_open(&g, VC_TEST_TMP "/vocabulary.gguf", &err)) fail_msg("%s", err.text);
    assert_int_equal(vc_gguf_strings(g, "tokenizer.ggml.tokens", &s, &n, &err), VC_OK);
    printf("%d strings opened and tabled in %.1f ms\n", (int)VOCAB, (vc_now() - start) * 1e3);
    assert_int_equal(n, VOCAB);
    for (int i = 0; i < VOCAB; i += 997) {
        snprintf(word, sizeof word, "t%d", i * 7);
        assert_true(vc_str_is(s[i], word));
    }
    assert_true(vc_str_is(s[VOCAB - 1], "t2099993"));
    assert_int_equal(vc_gguf_strings(g, "tokenizer.ggml.tokens", &again, &n, &err), VC_OK);
    assert_ptr_equal(s, again);
    assert_int_equal(vc_gguf_array(g, "tokenizer.ggml.scores", VC_GGUF_F32, &scores, &n, &err), VC_OK);
    assert_true(n == VOCAB && vc_gguf_elem_f64(vc_gguf_find(g, "tokenizer.ggml.scores"), 9) == -9);
    vc_gguf_close(g);
}

static void test_models(void **state) {
    (void)state;
    static const char *const name[] = { "F16", "Q4_0", "Q8_0", "Q6_K", "Q4_K_M", "IQ4_XS", "Q2_K", "IQ2_XXS", "MXFP4" };
    for (size_t i = 0; i < VC_ARRAY_LEN(name); i++) {
        char path[128];
        struct vc_gguf *g;
        struct vc_tensors *t = NULL;
        vc_err err = VC_ERR_INIT;
        uint32_t layers;
        snprintf(path, sizeof path, "gguf-quants/models/tiny-%s.gguf", name[i]);
        const char *full = vc_golden(path);
        if (!full) {
            vc_left_out(path);
            continue;
        }
        if (vc_gguf_open(&g, full, &err) || vc_tensors_open_gguf(&t, g, &err)) fail_msg("%s", err.text);
        assert_int_equal(vc_gguf_u32(g, "llama.block_count", &layers, &err), VC_OK);
        assert_int_equal(layers, 2);
        const struct vc_tensor *x = vc_tensors_find(t, "token_embd.weight");
        assert_true(x && x->n_dims == 2 && x->dims[1] == 256 && x->dims[0] == 1500);
        assert_string_equal(vc_tensors_file(t, x->file), full);
        vc_tensors_drop(t, x);
        vc_tensors_close(t);
        vc_gguf_close(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
