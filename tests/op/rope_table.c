/* SPDX-License-Identifier: Apache-2.0
 * Rope tables against the numpy model of vLLM (bf16 words) and against transformers' formulas in 40 digits (f32 words);
 * made by goldens/rope/make.py. And the errors of params that cannot be computed. */
#include "vectors.h"

#include "op/rope_table.h"

static double num(const json_t *j, const char *key) {
    const json_t *v = json_object_get(j, key);
    return v ? json_number_value(v) : 0.0;
}
static const float *list(const json_t *j, const char *key, float *f) {
    const json_t *l = json_object_get(j, key);
    for (size_t i = 0; i < json_array_size(l); i++) f[i] = (float)json_number_value(json_array_get(l, i));
    return f;
}
static struct vc_rope_params params(const json_t *j, float *shorts, float *longs) {
    static const struct { const char *name; enum vc_rope_kind kind; } kinds[] = {
        { "default", VC_ROPE_DEFAULT }, { "linear", VC_ROPE_LINEAR }, { "dynamic", VC_ROPE_DYNAMIC },
        { "yarn", VC_ROPE_YARN }, { "llama3", VC_ROPE_LLAMA3 }, { "longrope", VC_ROPE_LONGROPE },
    };
    struct vc_rope_params p = {
        .rotary_dim = (uint32_t)num(j, "dim"), .theta = num(j, "theta"), .factor = num(j, "factor"), .max_position = (uint32_t)num(j, "max_position"),
        .original_max_position = (uint32_t)num(j, "original"), .beta_fast = num(j, "beta_fast"), .beta_slow = num(j, "beta_slow"), .mscale = num(j, "mscale"),
        .mscale_all_dim = num(j, "mscale_all_dim"), .attention_factor = num(j, "attention_factor"), .low_freq_factor = num(j, "low_freq_factor"),
        .high_freq_factor = num(j, "high_freq_factor"), .no_truncate = json_is_false(json_object_get(j, "truncate")),
        .short_factor = list(j, "short", shorts), .long_factor = list(j, "long", longs),
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(kinds); i++)
        if (!strcmp(json_string_value(json_object_get(j, "kind")), kinds[i].name)) p.kind = kinds[i].kind;
    return p;
}

static void test_tables(void **state) {
    struct vec_file f = { 0 };
    struct vec args, torch;
    size_t words = 0, bad = 0;
    (void)state;
    assert_true(vec_open(&f, "rope/tables.safetensors"));
    for (int c = 0; vec_get(&f, c, "args", &args); c++) {
        struct vec pos = vec_need(&f, c, "pos"), exact = vec_need(&f, c, "exact");
        float shorts[64], longs[64];
        json_t *j = json_loadb(args.p, args.count, 0, NULL);
        struct vc_rope_params p = params(j, shorts, longs);
        uint32_t n = (uint32_t)pos.count, at[64], len = (uint32_t)num(j, "seq_len");
        float *f32 = malloc(exact.count * 4);
        uint16_t *bf16 = malloc(exact.count * 2);
        vc_err err;
        for (uint32_t i = 0; i < n; i++) at[i] = (uint32_t)((const int64_t *)pos.p)[i];
        assert_int_equal(vc_rope_rows(&p, VC_ARITH_ROPE_F64, at, n, len, VC_F32, f32, &err), VC_OK);
        assert_int_equal(vc_rope_rows(&p, VC_ARITH_ROPE_TORCH, at, n, len, VC_BF16, bf16, &err), VC_OK);
        size_t before = bad;
        for (size_t i = 0; i < exact.count; i++) bad += f32[i] != ((const float *)exact.p)[i];
        words += exact.count;
        if (vec_get(&f, c, "torch", &torch)) {
            for (size_t i = 0; i < torch.count; i++) bad += bf16[i] != ((const uint16_t *)torch.p)[i];
            words += torch.count;
        }
        if (bad != before) printf("case %d, %s: %zu words differ\n", c, json_string_value(json_object_get(j, "kind")), bad - before);
        free(f32);
        free(bf16);
        json_decref(j);
    }
    vec_close(&f);
    printf("%zu of %zu words differ\n", bad, words);
    assert_true(words > 10000 && bad == 0);
}

static void test_errors(void **state) {
    (void)state;
    const struct vc_rope_params good = { .kind = VC_ROPE_LLAMA3, .rotary_dim = 64, .theta = 1e4, .factor = 8, .original_max_position = 64, .low_freq_factor = 1, .high_freq_factor = 4 };
    vc_err err;
    assert_int_equal(vc_rope_check(&good, &err), VC_OK);
    for (int i = 0; i < 8; i++) {
        struct vc_rope_params p = good;
        switch (i) {
            case 0: p.rotary_dim = 63; break;
            case 1: p.rotary_dim = 4096; break;
            case 2: p.theta = 0; break;
            case 3: p.factor = 0; break;
            case 4: p.original_max_position = 0; break;
            case 5: p.high_freq_factor = 1; break;
            case 6: p.kind = VC_ROPE_LONGROPE; break;
            default: p.kind = VC_ROPE_DYNAMIC;
        }
        assert_int_not_equal(vc_rope_check(&p, &err), VC_OK);
    }
    uint16_t row[64];
    uint32_t pos = 0;
    assert_int_not_equal(vc_rope_rows(&good, VC_ARITH_PAIR, &pos, 1, 0, VC_BF16, row, &err), VC_OK);
    assert_int_not_equal(vc_rope_rows(&good, VC_ARITH_ROPE_F64, &pos, 1, 0, VC_Q8_0, row, &err), VC_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tables), cmocka_unit_test(test_errors) };
    return cmocka_run_group_tests_name("rope tables", tests, NULL, NULL);
}
