/* SPDX-License-Identifier: Apache-2.0
 * QUANTIZE on every tier against op/ref, and op/ref against the definition. */
#include "harness.h"

#include "op/qact.h"

static uint64_t rng = 5;

static struct vc_view qact_view(uint32_t rows, uint32_t K, uint32_t block) {
    return h_view(block == 32 ? VC_A8_32 : VC_A8_256, rows, K, 0);
}

static void run(enum vc_dtype t, uint32_t rows, uint32_t K, uint32_t block, enum h_data kind) {
    struct vc_contract c = h_contract(VC_OP_QUANTIZE, VC_ARITH_ELEMENT);
    c.slot[VC_SLOT_QUANT_SCALE] = rows == 2 ? VC_F16 : rows == 3 ? VC_BF16 : VC_F32;
    struct vc_quantize_args args = { block };
    struct vc_op_call call = { .contract = &c, .args = &args };
    char what[120];
    call.in[0] = h_view(t, rows, K, rows > 1 ? 12 : 0);
    h_fill(&call.in[0], kind, &rng);
    call.out[0] = qact_view(rows, K, block);
    struct vc_dims d = { .max_rows = rows, .K = K, .in0 = t, .weight = VC_F32, .out0 = call.out[0].dtype, .args = &args };
    snprintf(what, sizeof what, "%s, rows %u K %u block %u, %s", vc_dtype_name(t), rows, K, block, h_data_name(kind));
    assert_true(h_check(&call, &d, what) >= 2);
    h_free_all();
}

static void every_row_equals_the_reference(void **state) {
    (void)state;
    static const enum vc_dtype types[] = { VC_F32, VC_BF16, VC_F16 };
    static const uint32_t lengths[] = { 32, 64, 96, 480, 512, 544, 576, 1056, 1536 };
    for (size_t t = 0; t < VC_ARRAY_LEN(types); t++)
        for (int kind = 0; kind < H_NUM_DATA; kind++)
            for (uint32_t rows = 1; rows <= 4; rows++) {
                for (size_t i = 0; i < VC_ARRAY_LEN(lengths); i++) run(types[t], rows, lengths[i], 32, (enum h_data)kind);
                for (uint32_t K = 256; K <= 1024; K += 256) run(types[t], rows, K, 256, (enum h_data)kind);
                run(types[t], rows, 4352, 256, (enum h_data)kind);
            }
}

/* d = max / 127 to half an ulp; |x - q d| <= (0.5 + 127 * 2^-22) d; sums add up; a block of zeros, and one with Inf. */
static void the_reference_is_the_definition(void **state) {
    (void)state;
    enum { K = 768 };
    for (uint32_t block = 32; block <= 256; block += 224) {
        struct vc_contract c = h_contract(VC_OP_QUANTIZE, VC_ARITH_ELEMENT);
        struct vc_quantize_args args = { block };
        struct vc_op_call call = { .contract = &c, .args = &args };
        call.in[0] = h_view(VC_F32, 1, K, 0);
        h_fill(&call.in[0], H_WIDE, &rng);
        float *x = call.in[0].data;
        for (uint32_t i = 0; i < block; i++) x[i] = i & 1 ? -0.0f : 0.0f;
        x[block + 7] = vc_bits_f32(0x7F800000u);
        call.out[0] = qact_view(1, K, block);
        h_ref(&call);
        const int8_t *q = call.out[0].data;
        const float *d = (const float *)(const void *)((const char *)call.out[0].data + vc_qact_d_at(K));
        const int16_t *sum = (const int16_t *)(const void *)((const char *)call.out[0].data + vc_qact_sum_at(K, block));
        for (uint32_t b = 0; b < K / block; b++) {
            double top = 0;
            for (uint32_t i = 0; i < block; i++) {
                const double a = x[b * block + i] < 0 ? -(double)x[b * block + i] : (double)x[b * block + i];
                if (a > top) top = a;
            }
            if (b <= 1) {
                for (uint32_t i = 0; i < block; i++) assert_int_equal(q[b * block + i], 0);
                assert_true(b ? vc_f32_bits(d[b]) == 0x7F800000u : d[b] == 0);
                continue;
            }
            assert_true(top / 127 - (double)d[b] <= top * 0x1p-24 && (double)d[b] - top / 127 <= top * 0x1p-24);
            for (uint32_t i = 0; i < block; i++) {
                const double err = (double)x[b * block + i] - q[b * block + i] * (double)d[b];
                assert_true(err <= (0.5 + 0x1p-15) * (double)d[b] && -err <= (0.5 + 0x1p-15) * (double)d[b]);
            }
        }
        for (uint32_t i = 0; i < K / 16; i++) {
            int s = 0;
            for (uint32_t l = 0; l < 16; l++) s += q[i * 16 + l];
            assert_int_equal(sum[i], s);
        }
        h_free_all();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_equals_the_reference),
        cmocka_unit_test(the_reference_is_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
