/* SPDX-License-Identifier: Apache-2.0
 * Every row of the KV store on every tier against op/ref: formats, head sizes, page sizes, shuffled and skipped slots. */
#include "harness.h"

static uint64_t rng = 6;

struct shape { uint32_t rows, kv_heads, hd, page; };

static void run(const struct shape *s, enum vc_dtype from, enum vc_dtype to, enum h_data data) {
    struct vc_contract c = h_contract(VC_OP_KVSTORE, VC_ARITH_ELEMENT);
    struct vc_kvstore_args a = { .geom = { s->kv_heads, s->hd, s->page } };
    struct vc_op_call call = { .contract = &c, .args = &a };
    uint32_t pages = s->rows / s->page + 2, slots = pages * s->page;
    char what[160];
    call.in[0] = h_view(from, s->rows, s->kv_heads * s->hd, 32);
    call.in[1] = h_view(from, s->rows, s->kv_heads * s->hd, 0);
    h_fill(&call.in[0], data, &rng);
    h_fill(&call.in[1], data, &rng);
    int64_t *slot = h_alloc(s->rows * sizeof *slot, 8), *all = malloc(slots * sizeof *all);
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t j = vc_rng_below(&rng, i + 1);
        all[i] = all[j];
        all[j] = i;
    }
    for (uint32_t i = 0; i < s->rows; i++) slot[i] = i % 5 == 3 ? -1 : all[i];
    free(all);
    call.in[2] = (struct vc_view){ .data = slot, .raw = slot, .stride = sizeof *slot, .rows = s->rows, .cols = 1, .dtype = VC_I64 };
    call.out[0] = h_view(to, pages, 2 * s->kv_heads * s->page * s->hd, 64);
    struct vc_dims d = { .max_rows = s->rows, .K = s->kv_heads * s->hd, .num_kv_heads = s->kv_heads, .head_dim = s->hd, .page_tokens = s->page,
                         .in0 = from, .weight = to, .out0 = to, .args = &a };
    snprintf(what, sizeof what, "%u rows, %u heads of %u, page %u, %s -> %s, %s", s->rows, s->kv_heads, s->hd, s->page, vc_dtype_name(from),
             vc_dtype_name(to), h_data_name(data));
    assert_true(h_check(&call, &d, what) >= 2);
    h_free_all();
}

static void all(void **state) {
    (void)state;
    static const struct shape shapes[] = { { 1, 1, 64, 16 }, { 1, 3, 8, 16 }, { 40, 2, 24, 32 }, { 17, 1, 256, 48 }, { 100, 5, 80, 16 } };
    static const enum vc_dtype t[] = { VC_F32, VC_BF16, VC_F16 };
    for (size_t i = 0; i < VC_ARRAY_LEN(shapes); i++)
        for (int f = 0; f < 9; f++)
            for (int k = 0; k < H_NUM_DATA; k++) run(&shapes[i], t[f / 3], t[f % 3], (enum h_data)k);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(all) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
