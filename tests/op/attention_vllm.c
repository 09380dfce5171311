/* SPDX-License-Identifier: Apache-2.0
 * The carried core's reference against vLLM's words (goldens/vllm-cpu/attention.safetensors, recorded with 2 threads).
 * Cases whose words depend on vLLM's own scheduling are named with their count of differing words: a KV range split
 * between threads, or another KV tile length than the fixed one. All others must be equal.
 * Also vc_fast_exp and vc_glibc_expf at chosen arguments. */
#include "test.h"

#include <math.h>

#include "io/json.h"
#include "io/tensors.h"
#include "op/attention.h"
#include "op/fast_exp.h"
#include "op/ref/ref.h"

enum { PAGE = 32, MAX_SEQS = 8 };

/* Cases in which vLLM's schedule had another shape, and how many words that changes: counted with the numpy model of
 * goldens/make/vllm_cpu_model.py (its _tile, one row at a time, tiles of the fixed length from key 0). */
static const struct { const char *name, *why; uint32_t differ; } scheduled[] = {
    { "c03", "vLLM split the keys between 2 threads", 0 },
    { "c04", "vLLM split the keys between 2 threads", 0 },
    { "c05", "vLLM split the keys between 2 threads", 0 },
    { "c10", "400 keys, vLLM's tile for 16 rows was longer than 320", 0 },
    { "c11", "330 keys, vLLM's tile for 120 rows was longer than 160", 2 },
};

static const struct vc_tensor *get(const struct vc_tensors *t, const char *name, const char *field) {
    char key[64];
    snprintf(key, sizeof key, "%s.%s", name, field);
    const struct vc_tensor *x = vc_tensors_find(t, key);
    if (!x) fail_msg("%s is missing", key);
    return x;
}

/* Puts the keys and values of all requests into pages, in reverse order of the pages. */
static void fill_pool(const struct vc_op_call *call, const struct vc_attention_args *a, const uint16_t *k, const uint16_t *v, const uint32_t *kv_lens) {
    const struct vc_kv_geom *g = &a->geom;
    for (uint32_t s = 0, at = 0; s < a->num_seqs; at += kv_lens[s], s++)
        for (uint32_t pos = 0; pos < kv_lens[s]; pos++)
            for (uint32_t h = 0; h < g->num_kv_heads; h++)
                for (uint32_t d = 0; d < g->head_dim; d++) {
                    uint16_t *page = (uint16_t *)(void *)((char *)call->in[1].data + a->seqs[s].block_table[pos / PAGE] * call->in[1].stride);
                    size_t from = ((size_t)(at + pos) * g->num_kv_heads + h) * g->head_dim + d;
                    page[vc_kv_k_index(g, h, pos % PAGE, d)] = k[from];
                    page[vc_kv_v_index(g, h, pos % PAGE, d)] = v[from];
                }
}

static void *copy_of(const struct vc_tensor *x) {
    void *p = malloc(x->bytes ? x->bytes : 1);
    memcpy(p, x->data, x->bytes);
    return p;
}

static uint32_t lens(json_t *args, const char *key, uint32_t out[MAX_SEQS]) {
    json_t *v = json_object_get(args, key);
    uint32_t n = (uint32_t)json_array_size(v);
    assert_true(n > 0 && n <= MAX_SEQS);
    for (uint32_t i = 0; i < n; i++) out[i] = (uint32_t)json_integer_value(json_array_get(v, i));
    return n;
}

static uint32_t differing(const uint16_t *got, const uint16_t *want, size_t n) {
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) bad += got[i] != want[i];
    return bad;
}

/* Runs one case; returns how many words differ. */
static uint32_t run_case(const struct vc_tensors *t, const char *name, size_t *words) {
    const struct vc_tensor *args = get(t, name, "args"), *q = get(t, name, "q"), *k = get(t, name, "k"), *out = get(t, name, "out");
    json_t *json = NULL;
    vc_err err;
    assert_int_equal(vc_json_parse(&json, args->data, args->bytes, name, &err), VC_OK);
    uint32_t q_lens[MAX_SEQS], kv_lens[MAX_SEQS], hd = (uint32_t)q->dims[2], tables[MAX_SEQS][64], pages = 0, row = 0;
    struct vc_attn_seq seqs[MAX_SEQS];
    struct vc_attention_args a = { .geom = { (uint32_t)k->dims[1], hd, PAGE }, .num_heads = (uint32_t)q->dims[1], .seqs = seqs };
    a.num_seqs = lens(json, "q_lens", q_lens);
    assert_int_equal(lens(json, "kv_lens", kv_lens), a.num_seqs);
    a.scale = (float)json_number_value(json_object_get(json, "scale"));
    a.softcap = (float)json_number_value(json_object_get(json, "cap"));
    a.window = (uint32_t)json_integer_value(json_object_get(json, "window"));      /* null: 0 */
    for (uint32_t s = 0; s < a.num_seqs; s++) pages += (kv_lens[s] + PAGE - 1) / PAGE;
    for (uint32_t s = 0, page = pages; s < a.num_seqs; s++) {
        seqs[s] = (struct vc_attn_seq){ .row0 = row, .rows = q_lens[s], .pos0 = kv_lens[s] - q_lens[s], .block_table = tables[s] };
        for (uint32_t i = 0; i < (kv_lens[s] + PAGE - 1) / PAGE; i++) tables[s][i] = --page;
        row += q_lens[s];
    }
    struct vc_contract c = { .op = VC_OP_ATTENTION, .core = VC_ARITH_ATTN_CARRIED };
    for (int s = 0; s < VC_NUM_SLOTS; s++) c.slot[s] = VC_F32;
    struct vc_op_call call = { .contract = &c, .args = &a };
    size_t cols = (size_t)a.num_heads * hd, page_bytes = (size_t)a.geom.num_kv_heads * 2 * PAGE * hd * 2;
    uint16_t *kc = copy_of(k), *vc = copy_of(get(t, name, "v")), *want = copy_of(out), *y = malloc(row * cols * 2);
    call.in[0] = (struct vc_view){ .data = copy_of(q), .stride = cols * 2, .rows = row, .cols = (uint32_t)cols, .dtype = VC_BF16 };
    call.in[1] = (struct vc_view){ .data = calloc(pages, page_bytes), .stride = page_bytes, .rows = pages, .cols = (uint32_t)(page_bytes / 2), .dtype = VC_BF16 };
    call.out[0] = (struct vc_view){ .data = y, .stride = cols * 2, .rows = row, .cols = (uint32_t)cols, .dtype = VC_BF16 };
    fill_pool(&call, &a, kc, vc, kv_lens);
    vc_ref_attention(&call, 0, 1);
    *words = row * cols;
    uint32_t bad = differing(y, want, *words);
    free(kc);
    free(vc);
    free(want);
    free(y);
    free(call.in[0].data);
    free(call.in[1].data);
    json_decref(json);
    return bad;
}

static void vllm_words(void **state) {
    (void)state;
    const char *path = vc_golden("vllm-cpu/attention.safetensors");
    if (!path) {
        vc_left_out("vllm-cpu/attention.safetensors");
        skip();
    }
    struct vc_tensors *t = NULL;
    vc_err err;
    assert_int_equal(vc_tensors_open_safetensors(&t, path, &err), VC_OK);
    int cases = 0;
    for (int i = 0; i < 100; i++) {
        char name[16], key[32];
        snprintf(name, sizeof name, "c%02d", i);
        snprintf(key, sizeof key, "%s.q", name);
        if (!vc_tensors_find(t, key)) continue;
        size_t words = 0;
        uint32_t bad = run_case(t, name, &words), expect = 0;
        for (size_t e = 0; e < VC_ARRAY_LEN(scheduled); e++)
            if (!strcmp(scheduled[e].name, name)) {
                expect = scheduled[e].differ;
                printf("%s: %u of %zu words differ: %s\n", name, bad, words, scheduled[e].why);
            }
        if (bad != expect) print_error("%s: %u of %zu words differ, %u expected\n", name, bad, words, expect);
        assert_int_equal(bad, expect);
        cases++;
    }
    assert_int_equal(cases, 12);
    vc_tensors_close(t);
}

/* Words by the numpy model and, for expf, by glibc. */
static void exponentials(void **state) {
    (void)state;
    static const struct { uint32_t x, fast, glibc; } at[] = {
        { 0x00000000u, 0x3F800000u, 0x3F800000u }, { 0x80000000u, 0x3F800000u, 0x3F800000u }, { 0xBF800000u, 0x3EBC5AB3u, 0x3EBC5AB2u },
        { 0xBF000000u, 0x3F1B4597u, 0x3F1B4598u }, { 0xC0FFF7CFu, 0x39B00E14u, 0x39B00E13u }, { 0xC1000419u, 0x39AFB404u, 0x39AFB403u },
        { 0xC1A20000u, 0x30DC9EF1u, 0x30DC9EF1u }, { 0xC2AE999Au, 0x00000000u, 0x0084C38Bu }, { 0x3F800000u, 0x402DF855u, 0x402DF854u },
        { 0x40500000u, 0x41CE529Du, 0x41CE529Eu }, { 0x42B00000u, 0x7EF882B3u, 0x7EF882B7u }, { 0x42B20000u, 0x7F800000u, 0x7F800000u },
        { 0xBA83126Fu, 0x3F7FBE7Fu, 0x3F7FBE7Fu }, { 0xBEB1719Fu, 0x3F35051Du, 0x3F35051Eu },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(at); i++) {
        assert_int_equal(vc_f32_bits(vc_fast_exp(vc_bits_f32(at[i].x))), at[i].fast);
        assert_int_equal(vc_f32_bits(vc_glibc_expf(vc_bits_f32(at[i].x))), at[i].glibc);
    }
    assert_true(vc_fast_exp(-INFINITY) == 0.0f && vc_glibc_expf(-INFINITY) == 0.0f);
    /* the tiled core's exponential against f64: 0.9 ulp */
    for (int i = 0; i < 86000; i++) {
        float x = (float)i * -0.001f;
        double want = exp((double)x), ulp = ldexp(1.0, ilogb(want) - 23);
        assert_true(fabs((double)vc_attn_exp(x) - want) <= 0.9 * ulp);
    }
    assert_true(vc_attn_exp(0.0f) == 1.0f && vc_attn_exp(-0.0f) == 1.0f && vc_attn_exp(-86.5f) == 0.0f && vc_attn_exp(-INFINITY) == 0.0f);
    assert_true(vc_attn_exp(NAN) == 0.0f);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(exponentials), cmocka_unit_test(vllm_words) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
