/* SPDX-License-Identifier: Apache-2.0
 * block_test.c: decoders and encoders against llama.cpp's bytes and values (goldens/gguf-quants/blocks.safetensors). */
#include "test.h"

#include <math.h>

#include "base/compat.h"
#include "io/tensors.h"
#include "num/block.h"
#include "num/blocks.h"
#include "num/f8.h"
#include "num/round.h"

static const struct { const char *name; enum vc_dtype t;
} types[] = {
    { "F32", VC_F32 },   { "F16", VC_F16 },   { "BF16", VC_BF16 }, { "Q4_0", VC_Q4_0 }, { "Q4_1", VC_Q4_1 },
    { "Q5_0", VC_Q5_0 }, { "Q5_1", VC_Q5_1 }, { "Q8_0", VC_Q8_0 }, { "Q2_K", VC_Q2_K }, { "Q3_K", VC_Q3_K },
    { "Q4_K", VC_Q4_K }, { "Q5_K", VC_Q5_K }, { "Q6_K", VC_Q6_K },
};

static const struct vc_tensor *need(const struct vc_tensors *t, const char *type, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", type, what);
    const struct vc_tensor *x = vc_tensors_find(t, name);
    if (!x) fail_msg("blocks.safetensors has no %s", name);
    return x;
}

static int setup(void **state) {
    vc_err err = VC_ERR_INIT;
    const char *path = vc_golden("gguf-quants/blocks.safetensors");
    if (!path || vc_tensors_open_safetensors((struct vc_tensors **)state, path, &err)) {
        print_error("blocks.safetensors: %s\n", path ? err.text : "missing");
        return 1;
    }
    return 0;
}

static int teardown(void **state) {
    vc_tensors_close(*state);
    return 0;
}

/* Decodes from an odd address and compares bits. */
static void decode_equal(const struct vc_tensor *raw, const struct vc_tensor *deq, enum vc_dtype t, const char *name) {
    uint64_t n = vc_tensor_elems(deq), wrong = 0;
    uint8_t *src = malloc(raw->bytes + 1);
    float *y = malloc(n * 4);
    assert_true(src && y);
    memcpy(src + 1, raw->data, raw->bytes);
    assert_true(vc_decode(t, src + 1, n, y));
    for (uint64_t i = 0; i < n; i++) wrong += memcmp(&y[i], (const char *)deq->data + 4 * i, 4) != 0;
    if (wrong)
        fail_msg("%s: %llu of %llu decoded values differ", name, (unsigned long long)wrong, (unsigned long long)n);
    free(src);
    free(y);
}

static void test_decode(void **state) {
    unsigned total = 0;
    for (size_t i = 0; i < VC_ARRAY_LEN(types); i++) {
        static const char *const set[2][2] = { { "real.raw", "real.deq" }, { "random.raw", "random.deq" } };
        for (int k = 0; k < 2; k++) {
            const struct vc_tensor *deq = need(*state, types[i].name, set[k][1]);
            decode_equal(need(*state, types[i].name, set[k][0]), deq, types[i].t, types[i].name);
            total += (unsigned)vc_tensor_elems(deq);
        }
    }
    printf("%u values of %zu formats decoded bit for bit\n", total, VC_ARRAY_LEN(types));
}

static void test_encode(void **state) {
    const struct vc_tensor *src = vc_tensors_find(*state, "src");
    assert_non_null(src);
    uint64_t n = vc_tensor_elems(src);
    float *x = malloc(src->bytes);
    assert_non_null(x);
    memcpy(x, src->data, src->bytes);
    for (size_t i = 0; i < VC_ARRAY_LEN(types); i++) {
        const struct vc_tensor *raw = need(*state, types[i].name, "real.raw");
        uint8_t *got = calloc(1, raw->bytes + 1);
        assert_non_null(got);
        assert_true(vc_encode(types[i].t, x, n, got + 1));
        uint64_t wrong = 0, first = UINT64_MAX;
        for (uint64_t k = 0; k < raw->bytes; k++)
            if (got[k + 1] != ((const uint8_t *)raw->data)[k]) {
                wrong++;
                if (first == UINT64_MAX) first = k;
            }
        if (wrong)
            fail_msg("%s: %llu of %llu encoded bytes differ, first %llu", types[i].name, (unsigned long long)wrong,
                     (unsigned long long)raw->bytes, (unsigned long long)first);
        free(got);
    }
    free(x);
}

/* Hostile values must not be undefined behaviour, whatever the bytes. */
static void test_encode_odd_values(void **state) {
    (void)state;
    const float odd[] = { 0.0f,       -0.0f, 1e38f, -1e38f, 1e-45f, -1e-40f, (float)INFINITY, -(float)INFINITY,
                          (float)NAN, 1e-16f };
    float x[256], y[256];
    uint8_t out[2048];
    for (size_t a = 0; a < VC_ARRAY_LEN(odd); a++)
        for (size_t b = 0; b < VC_ARRAY_LEN(odd); b++) {
            for (size_t i = 0; i < 256; i++) x[i] = i % 7 ? odd[a] : odd[b];
            for (size_t i = 0; i < VC_ARRAY_LEN(types); i++) {
                assert_true(vc_encode(types[i].t, x, 256, out));
                assert_true(vc_decode(types[i].t, out, 256, y));
            }
        }
}

static void test_refused(void **state) {
    (void)state;
    float y[64];
    uint8_t b[256] = { 0 };
    assert_false(vc_decodable(VC_IQ4_XS) || vc_encodable(VC_MXFP4) || vc_decodable(VC_I8) || vc_decodable(VC_NO_DTYPE));
    assert_false(vc_decode(VC_IQ2_XXS, b, 256, y));
    assert_false(vc_decode(VC_Q4_0, b, 33, y));
    assert_false(vc_encode(VC_Q4_K, y, 32, b));
    assert_true(vc_decode(VC_Q4_0, b, 0, y));
}

/* f64, fp8: every pattern of the 8-bit formats against vc_bits_value, which test_round checks against the formula. */
static void test_plain(void **state) {
    (void)state;
    float y[256], one;
    uint8_t b[256], back[256];
    for (int i = 0; i < 256; i++) b[i] = (uint8_t)i;
    const enum vc_dtype f8[2] = { VC_F8E4M3, VC_F8E5M2 };
    for (int k = 0; k < 2; k++) {
        assert_true(vc_decode(f8[k], b, 256, y));
        assert_true(vc_encode(f8[k], y, 256, back));
        for (int i = 0; i < 256; i++) {
            double v = vc_bits_value(f8[k], (uint64_t)i);
            if (v != v) assert_true(y[i] != y[i]);
            else {
                assert_true((double)y[i] == v);
                assert_int_equal(back[i], i);
            }
        }
    }
    double d = 1.0 + 0x1p-24 + 0x1p-50;     /* just above a tie */
    assert_true(vc_decode(VC_F64, &d, 1, &one));
    assert_true(one == 1.0f + 0x1p-23f);
}

/* The shared inlines equal the decoders. */
static void test_codes(void **state) {
    const struct vc_tensor *raw = need(*state, "Q3_K", "random.raw");
    struct vc_q3_k b;
    uint8_t q[256];
    int8_t sc[16];
    float y[256];
    memcpy(&b, raw->data, sizeof b);
    assert_true(vc_decode(VC_Q3_K, &b, 256, y));
    vc_q3_k_codes(&b, q);
    vc_k3_scales(b.scales, sc);
    for (int i = 0; i < 256; i++) assert_true(y[i] == vc_load_f16(b.d) * (float)sc[i / 16] * (float)(q[i] - 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode), cmocka_unit_test(test_encode), cmocka_unit_test(test_encode_odd_values),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_plain), cmocka_unit_test(test_codes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
