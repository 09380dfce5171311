/* SPDX-License-Identifier: Apache-2.0
 * Every pair matmul row on every tier against op/ref: shapes around each tile edge, all pairs of formats, odd K. */
#include "harness.h"

#include "num/block.h"

static uint64_t rng = 11;

struct shape { uint32_t M, N, K; };
static const enum vc_dtype floats[] = { VC_F32, VC_BF16, VC_F16 };

static const struct vc_packer *packer(enum vc_dtype panel) {
    return vc_packer_select(vc_cpu_packers, VC_OP_MATMUL, VC_ARITH_PAIR, panel);
}

/* Packs all of w's raw rows by jobs of uneven sizes, the last one first. */
static void *panel_of(const struct vc_view *w, enum vc_dtype panel) {
    const struct vc_packer *p = packer(panel);
    assert_non_null(p);
    char *dst = h_alloc(p->bytes(panel, w->rows, w->cols), 64);
    const uint32_t cut = w->rows / 3;
    const size_t row = h_row_bytes(w);
    struct vc_pack_job j = { .src = w->dtype, .panel = panel, .K = w->cols, .N = w->rows, .dst = dst };
    j.raw = (const char *)w->raw + cut * row, j.rows = w->rows - cut, j.at = cut;
    p->pack(&j);
    j.raw = w->raw, j.rows = cut, j.at = 0;
    p->pack(&j);
    return dst;
}

struct mix { enum vc_dtype x, w, y; enum h_data xd, wd; int bias; };

static void run(struct shape s, struct mix m) {
    struct vc_contract c = h_contract(VC_OP_MATMUL, VC_ARITH_PAIR);
    struct vc_matmul_args args = { 0 };
    struct vc_op_call call = { .contract = &c, .args = &args };
    char what[160];
    call.in[0] = h_view(m.x, s.M, s.K, m.bias ? 24 : 0);
    call.in[1] = h_view(m.w, s.N, s.K, 0);
    h_fill(&call.in[0], m.xd, &rng);
    h_fill(&call.in[1], m.wd, &rng);
    call.in[1].data = panel_of(&call.in[1], m.w);
    if (m.bias) {
        call.in[2] = h_view(VC_F32, 1, s.N, 0);
        h_fill(&call.in[2], H_NORMAL, &rng);
    }
    call.out[0] = h_view(m.y, s.M, s.N, m.bias ? 8 : 0);
    struct vc_dims d = { .max_rows = s.M, .N = s.N, .K = s.K, .in0 = m.x, .weight = m.w, .out0 = m.y, .args = &args };
    snprintf(what, sizeof what, "%s x %s -> %s, M %u N %u K %u, %s by %s", vc_dtype_name(m.x), vc_dtype_name(m.w),
             vc_dtype_name(m.y), s.M, s.N, s.K, h_data_name(m.xd), h_data_name(m.wd));
    assert_true(h_check(&call, &d, what) >= 2);
    h_free_all();
}

static const struct shape shapes[] = {
    { 1, 1, 1 },     { 1, 16, 2 },     { 1, 64, 512 },  { 1, 65, 513 },  { 1, 130, 1027 }, { 1, 208, 2050 },
    { 2, 15, 3 },    { 2, 64, 64 },    { 2, 97, 1025 }, { 3, 33, 17 },   { 3, 128, 1024 }, { 4, 63, 255 },
    { 4, 17, 1537 }, { 5, 48, 256 },   { 6, 100, 257 }, { 7, 81, 300 },  { 8, 64, 130 },   { 8, 40, 1100 },
    { 9, 65, 64 },   { 10, 16, 2049 }, { 11, 31, 514 }, { 12, 64, 256 }, { 13, 130, 70 },  { 17, 47, 511 },
    { 40, 20, 600 }, { 251, 3, 33 },   { 253, 17, 40 }, { 300, 2, 270 }, { 509, 1, 12 },
};

static void all_formats_and_shapes(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t x = 0; x < VC_ARRAY_LEN(floats); x++)
        for (size_t w = 0; w < VC_ARRAY_LEN(floats); w++)
            for (size_t i = 0; i < VC_ARRAY_LEN(shapes); i++, turn++)
                run(shapes[i], (struct mix){ floats[x], floats[w], floats[turn % 3], H_NORMAL, H_NORMAL, turn & 1 });
}

static void all_data(void **state) {
    (void)state;
    static const struct shape few[] = { { 1, 70, 1030 }, { 3, 20, 97 }, { 6, 40, 520 }, { 14, 33, 258 } };
    for (size_t x = 0; x < VC_ARRAY_LEN(floats); x++)
        for (size_t w = 0; w < VC_ARRAY_LEN(floats); w++)
            for (int k = 0; k < H_NUM_DATA; k++) {
                if (k == H_TINY) continue;
                run(few[k % 4], (struct mix){ floats[x], floats[w], VC_F32, (enum h_data)k, (enum h_data)k, k & 1 });
                run(few[(k + 1) % 4], (struct mix){ floats[x], floats[w], VC_BF16, (enum h_data)k, H_NORMAL, 0 });
            }
}

/* Subnormal operands are read as zero; least normal ones times integers stay exact. */
static void flushed_operands(void **state) {
    (void)state;
    for (size_t x = 0; x < VC_ARRAY_LEN(floats); x++)
        for (size_t w = 0; w < VC_ARRAY_LEN(floats); w++) {
            run((struct shape){ 1, 70, 300 }, (struct mix){ floats[x], floats[w], VC_F32, H_TINY, H_INTS, 0 });
            run((struct shape){ 5, 33, 700 }, (struct mix){ floats[x], floats[w], VC_F32, H_INTS, H_TINY, 1 });
            run((struct shape){ 13, 20, 65 }, (struct mix){ floats[x], floats[w], VC_BF16, H_TINY, H_INTS, 0 });
        }
}

/* Products beyond f32's range that a fused sum brings back into it: 2^64 * 2^64 - 2^127. */
static void overflowing_products(void **state) {
    (void)state;
    struct vc_contract c = h_contract(VC_OP_MATMUL, VC_ARITH_PAIR);
    for (uint32_t M = 1; M <= 13; M += 4) {
        struct vc_op_call call = { .contract = &c };
        call.in[0] = h_view(VC_BF16, M, 6, 0);
        call.in[1] = h_view(VC_BF16, 20, 6, 0);
        call.out[0] = h_view(VC_F32, M, 20, 0);
        for (uint32_t r = 0; r < M; r++) {
            const float v[6] = { 0x1p64f, -0x1p63f, 1.0f, 2.0f, -0x1p64f, 0 };
            for (uint32_t k = 0; k < 6; k++) vc_store(&call.in[0], r, k, v[k]);
        }
        for (uint32_t n = 0; n < 20; n++) {
            const float v[6] = { n & 1 ? 0x1p64f : 1.0f, 0x1p64f, 1.0f, 3.0f, n == 7 ? 0x1p64f : 0.0f, 0 };
            for (uint32_t k = 0; k < 6; k++) vc_store(&call.in[1], n, k, v[k]);
        }
        call.in[1].data = panel_of(&call.in[1], VC_BF16);
        struct vc_dims d = { .max_rows = M, .N = 20, .K = 6, .in0 = VC_BF16, .weight = VC_BF16, .out0 = VC_F32 };
        assert_true(h_check(&call, &d, "overflowing products") >= 2);
        const float *y = call.out[0].data;
        assert_true(y[1] == 0x1p127f);                /* -2^127 + 2^128 and what vanishes beside it */
        h_free_all();
    }
}

/* Panels in another format than the checkpoint: cast, or decoded to f32; the reference then reads the panel's values.
 */
static void packing_casts(void **state) {
    (void)state;
    static const struct { enum vc_dtype src, panel;
    } cases[] = {
        { VC_F32, VC_BF16 }, { VC_F32, VC_F16 },  { VC_F16, VC_F32 },  { VC_BF16, VC_F32 },
        { VC_Q8_0, VC_F32 }, { VC_Q4_1, VC_F32 }, { VC_Q4_K, VC_F32 }, { VC_Q6_K, VC_F32 },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(cases); i++) {
        const uint32_t N = 37, K = vc_dtype_info(cases[i].src)->block == 1 ? 331 : 768;
        struct vc_contract c = h_contract(VC_OP_MATMUL, VC_ARITH_PAIR);
        struct vc_view plain = h_view(VC_F32, N, K, 0), src = h_view(cases[i].src, N, K, 0),
                       panel = h_view(cases[i].panel, N, K, 0);
        h_fill(&plain, H_NORMAL, &rng);
        assert_true(vc_encode(cases[i].src, plain.raw, (uint64_t)N * K, src.data));
        assert_true(vc_decode(cases[i].src, src.raw, (uint64_t)N * K, plain.data));
        assert_true(vc_encode(cases[i].panel, plain.raw, (uint64_t)N * K, panel.data));
        struct vc_op_call call = { .contract = &c };
        call.in[0] = h_view(VC_F32, 4, K, 0);
        h_fill(&call.in[0], H_NORMAL, &rng);
        call.in[1] = panel;
        if (vc_dtype_info(cases[i].src)->block > 1) call.in[1] = src; /* the reference decodes block formats itself */
        call.in[1].data = panel_of(&src, cases[i].panel);
        call.out[0] = h_view(VC_F32, 4, N, 0);
        struct vc_dims d = { .max_rows = 4, .N = N, .K = K, .in0 = VC_F32, .weight = cases[i].panel, .out0 = VC_F32 };
        assert_true(h_check(&call, &d, vc_dtype_name(cases[i].src)) >= 2);
        h_free_all();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_formats_and_shapes), cmocka_unit_test(all_data), cmocka_unit_test(flushed_operands),
        cmocka_unit_test(overflowing_products), cmocka_unit_test(packing_casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
