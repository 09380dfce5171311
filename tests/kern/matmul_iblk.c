/* SPDX-License-Identifier: Apache-2.0
 * Every iblk matmul row on every tier against op/ref: all block formats, shapes around the tile edges, extreme codes and
 * activations; op/ref against f64 arithmetic on decoded weights; weights packed by several jobs. */
#include "harness.h"

#include <math.h>

#include "num/block.h"
#include "op/kblock.h"
#include "op/qact.h"

static uint64_t rng = 21;
static const enum vc_dtype formats[] = { VC_Q4_0, VC_Q4_1, VC_Q5_0, VC_Q5_1, VC_Q8_0, VC_Q2_K, VC_Q3_K, VC_Q4_K, VC_Q5_K, VC_Q6_K };

/* Where the f16 scales of a block are: one or two. */
static int scale_places(enum vc_dtype t, uint32_t at[2]) {
    switch (t) {
        case VC_Q2_K: at[0] = 80, at[1] = 82; return 2;
        case VC_Q3_K: at[0] = 108; return 1;
        case VC_Q6_K: at[0] = 208; return 1;
        case VC_Q4_1: case VC_Q5_1: case VC_Q4_K: case VC_Q5_K: at[0] = 0, at[1] = 2; return 2;
        default: at[0] = 0; return 1;
    }
}

/* How weights and activations are made. LOW, HIGH: every code bit 0 or 1, activations all +-127: the largest sums. */
enum kind { RANDOM, LOW, HIGH, NONFINITE, NUM_KINDS };
static const char *const kind_name[] = { "random", "all bits 0", "all bits 1", "inf and nan" };

/* Random blocks. Scales: random signs and exponents; some subnormal f16, some 0. */
static void fill_weights(const struct vc_view *w, enum kind kind) {
    const struct vc_dtype_info *t = vc_dtype_info(w->dtype);
    uint8_t *p = w->data;
    uint32_t at[2];
    const int places = scale_places(w->dtype, at);
    for (size_t n = (size_t)w->rows * w->cols / t->block; n; n--, p += t->bytes) {
        for (uint32_t i = 0; i < t->bytes; i++) p[i] = kind == LOW ? 0 : kind == HIGH ? 0xFF : (uint8_t)vc_rng_next(&rng);
        for (int i = 0; i < places; i++) {
            uint16_t h = (uint16_t)((vc_rng_next(&rng) & 0x83FF) | (vc_rng_below(&rng, 8) + 4) << 10);
            if (vc_rng_below(&rng, 32) == 0) h &= 0x83FF;
            if (vc_rng_below(&rng, 64) == 0) h = 0;
            if (kind == NONFINITE && vc_rng_below(&rng, 50) == 0) h |= 0x7C00;
            p[at[i]] = (uint8_t)h;
            p[at[i] + 1] = (uint8_t)(h >> 8);
        }
    }
}

static void quantize(const struct vc_view *x, const struct vc_view *q, uint32_t block) {
    struct vc_contract c = h_contract(VC_OP_QUANTIZE, VC_ARITH_ELEMENT);
    struct vc_quantize_args args = { block };
    struct vc_op_call call = { .contract = &c, .args = &args, .in = { *x }, .out = { *q } };
    h_ref(&call);
}

static void fill_activations(const struct vc_view *q, uint32_t block, enum kind kind, enum h_data data) {
    struct vc_view x = h_view(VC_F32, q->rows, q->cols, 0);
    h_fill(&x, data, &rng);
    float *v = x.data;
    const int signs = (int)vc_rng_below(&rng, 3);           /* all plus, all minus, mixed */
    for (size_t i = 0; i < (size_t)q->rows * q->cols; i++)
        if (kind == LOW || kind == HIGH) v[i] = signs == 0 || (signs == 2 && vc_rng_below(&rng, 2)) ? 127.0f : -127.0f;
    quantize(&x, q, block);
}

struct shape { uint32_t M, N, K; };
struct mix { enum vc_dtype w, y; enum kind kind; enum h_data data; int bias; };

/* Packs all of w's raw rows by jobs of uneven sizes, the last one first. */
static void *panel_of(const struct vc_view *w) {
    const struct vc_packer *p = vc_packer_select(vc_cpu_packers, VC_OP_MATMUL, VC_ARITH_IBLK, w->dtype);
    assert_non_null(p);
    char *dst = h_alloc(p->bytes(w->dtype, w->rows, w->cols), 64);
    const uint32_t cut = w->rows / 3, cut2 = w->rows - w->rows / 4;
    const size_t row = h_row_bytes(w);
    const uint32_t ends[4] = { w->rows, cut2, cut, 0 };
    for (int i = 0; i < 3; i++) {
        struct vc_pack_job j = { .src = w->dtype, .panel = w->dtype, .K = w->cols, .N = w->rows, .dst = dst };
        j.at = ends[i + 1];
        j.rows = ends[i] - ends[i + 1];
        j.raw = (const char *)w->raw + j.at * row;
        p->pack(&j);
    }
    return dst;
}

static struct vc_op_call make(struct shape s, struct mix m, struct vc_contract *c) {
    static const struct vc_matmul_args args = { 0 };
    *c = h_contract(VC_OP_MATMUL, VC_ARITH_IBLK);
    struct vc_op_call call = { .contract = c, .args = &args };
    const uint32_t block = vc_qact_block(m.w);
    call.in[0] = h_view(block == 32 ? VC_A8_32 : VC_A8_256, s.M, s.K, 0);
    call.in[1] = h_view(m.w, s.N, s.K, 0);
    fill_weights(&call.in[1], m.kind);
    fill_activations(&call.in[0], block, m.kind, m.data);
    call.in[1].data = panel_of(&call.in[1]);
    if (m.bias) {
        call.in[2] = h_view(VC_F32, 1, s.N, 0);
        h_fill(&call.in[2], H_NORMAL, &rng);
    }
    call.out[0] = h_view(m.y, s.M, s.N, m.bias ? 8 : 0);
    return call;
}

static void run(struct shape s, struct mix m) {
    struct vc_contract c;
    char what[160];
    struct vc_op_call call = make(s, m, &c);
    struct vc_dims d = { .max_rows = s.M, .N = s.N, .K = s.K, .in0 = call.in[0].dtype, .weight = m.w, .out0 = m.y, .args = call.args };
    snprintf(what, sizeof what, "%s -> %s, M %u N %u K %u, %s, %s", vc_dtype_name(m.w), vc_dtype_name(m.y), s.M, s.N, s.K,
             kind_name[m.kind], h_data_name(m.data));
    assert_true(h_check(&call, &d, what) >= 2);
    h_free_all();
}

/* K in units of the format's block; up to several K blocks. */
static void all_formats_and_shapes(void **state) {
    (void)state;
    static const struct shape k32[] = {
        { 1, 1, 32 }, { 1, 32, 64 }, { 1, 33, 512 }, { 1, 97, 544 }, { 1, 160, 576 }, { 1, 31, 1024 }, { 1, 65, 1056 }, { 1, 40, 2080 },
        { 2, 32, 32 }, { 2, 70, 1536 }, { 3, 33, 96 }, { 4, 64, 512 }, { 5, 48, 608 }, { 6, 31, 1120 }, { 7, 96, 64 }, { 8, 20, 544 },
        { 9, 65, 160 }, { 12, 32, 1088 }, { 13, 17, 96 }, { 25, 33, 64 }, { 49, 40, 96 }, { 121, 9, 64 }, { 125, 5, 1056 }, { 250, 3, 32 },
    };
    static const struct shape k256[] = {
        { 1, 1, 256 }, { 1, 33, 512 }, { 1, 97, 768 }, { 1, 64, 1024 }, { 1, 40, 1280 }, { 1, 31, 2560 },
        { 2, 32, 256 }, { 2, 40, 1536 }, { 3, 33, 512 }, { 4, 64, 768 }, { 5, 17, 1280 }, { 6, 31, 256 }, { 7, 36, 512 }, { 8, 20, 2304 },
        { 9, 65, 256 }, { 13, 17, 512 }, { 25, 33, 256 }, { 49, 5, 768 }, { 122, 9, 256 }, { 125, 5, 1280 },
    };
    static const enum vc_dtype outs[] = { VC_F32, VC_BF16, VC_F16 };
    unsigned turn = 0;
    for (size_t f = 0; f < VC_ARRAY_LEN(formats); f++) {
        const int is_k = vc_qact_block(formats[f]) == 256;
        for (size_t i = 0; i < (is_k ? VC_ARRAY_LEN(k256) : VC_ARRAY_LEN(k32)); i++, turn++)
            run(is_k ? k256[i] : k32[i], (struct mix){ formats[f], turn % 4 < 2 ? VC_F32 : outs[turn % 3], RANDOM, H_NORMAL, turn & 1 });
    }
}

static void all_data(void **state) {
    (void)state;
    static const struct shape few[] = { { 1, 70, 1280 }, { 3, 20, 512 }, { 6, 40, 768 }, { 14, 33, 256 } };
    for (size_t f = 0; f < VC_ARRAY_LEN(formats); f++) {
        for (int k = 0; k < H_NUM_DATA; k++) run(few[k % 4], (struct mix){ formats[f], VC_F32, RANDOM, (enum h_data)k, k & 1 });
        for (int kind = LOW; kind < NUM_KINDS; kind++)
            for (int i = 0; i < 4; i++) run(few[i], (struct mix){ formats[f], VC_F32, (enum kind)kind, H_NORMAL, 0 });
    }
}

/* |y - f64| <= per output (2 * blocks + K blocks + 8) * 2^-24 * sum of |a| * 5 * (largest |w| of its block): two roundings
 * for each of at most two terms of a block, one for each K block, those of the decoded weights; a term d q or m of random
 * codes is at most 5 times the block's largest value. */
static void the_reference_is_near_f64(void **state) {
    (void)state;
    const struct shape s = { 3, 40, 1280 };
    for (size_t f = 0; f < VC_ARRAY_LEN(formats); f++) {
        struct vc_contract c;
        struct vc_op_call call = make(s, (struct mix){ formats[f], VC_F32, RANDOM, H_NORMAL, 1 }, &c);
        const uint32_t block = vc_dtype_info(formats[f])->block;
        const size_t row = h_row_bytes(&call.in[1]);
        float *w = h_alloc(s.K * sizeof(float), 4);
        h_ref(&call);
        for (uint32_t n = 0; n < s.N; n++) {
            assert_true(vc_decode(formats[f], (const char *)call.in[1].raw + n * row, s.K, w));
            for (uint32_t m = 0; m < s.M; m++) {
                const char *x = (const char *)call.in[0].data + m * call.in[0].stride;
                const int8_t *q = (const int8_t *)(const void *)x;
                const float *d = (const float *)(const void *)(x + vc_qact_d_at(s.K));
                double y = 0, size = 0, got = (double)((const float *)(const void *)((const char *)call.out[0].data + m * call.out[0].stride))[n];
                for (uint32_t b = 0; b < s.K / block; b++) {
                    double top = 0;
                    for (uint32_t i = b * block; i < (b + 1) * block; i++) top = fmax(top, fabs((double)w[i]));
                    for (uint32_t i = b * block; i < (b + 1) * block; i++) {
                        y += (double)w[i] * q[i] * (double)d[b];
                        size += 5 * top * fabs(q[i] * (double)d[b]);
                    }
                }
                y += (double)((const float *)call.in[2].data)[n];
                const double bound = (2.0 * s.K / block + 3 + 8) * 0x1p-24 * (size + fabs(y));
                if (!(fabs(got - y) <= bound)) fail_msg("%s: y[%u, %u] is %.9g, not %.9g +- %.3g", vc_dtype_name(formats[f]), m, n, got, y, bound);
            }
        }
        h_free_all();
    }
}

/* The panel is at most 1.1 times the format's own bytes. */
static void the_panel_is_small(void **state) {
    (void)state;
    for (size_t f = 0; f < VC_ARRAY_LEN(formats); f++) {
        const struct vc_packer *p = vc_packer_select(vc_cpu_packers, VC_OP_MATMUL, VC_ARITH_IBLK, formats[f]);
        uint64_t own;
        assert_false(vc_dtype_bytes(formats[f], 576 * 2048, &own));
        assert_true((double)p->bytes(formats[f], 576, 2048) <= 1.1 * (double)own);
    }
}

/* max_only: the greatest output and all its equals have their bits; the others have them or are -inf; what is not finite is NaN. */
static void greatest_alone(void **state) {
    (void)state;
    static const struct shape shapes[] = { { 1, 8192, 32 }, { 1, 8201, 640 }, { 1, 9000, 1056 } };
    struct vc_matmul_args args = { .max_only = 1 };
    unsigned rows = 0;
    for (unsigned turn = 0; turn < 3 * 6; turn++) {
        const struct shape s = shapes[turn % 3];
        struct vc_contract c;
        struct vc_op_call call = make(s, (struct mix){ VC_Q8_0, VC_F32, turn < 12 ? RANDOM : turn < 15 ? HIGH : NONFINITE, H_NORMAL, 0 }, &c);
        struct vc_dims d = { .max_rows = 1, .N = s.N, .K = s.K, .in0 = call.in[0].dtype, .weight = VC_Q8_0, .out0 = VC_F32, .args = &args };
        call.args = &args;
        h_ref(&call);
        float *want = h_alloc(s.N * sizeof *want, 64), *got = call.out[0].data, best = -INFINITY;
        memcpy(want, got, s.N * sizeof *want);
        bool finite = true;
        for (uint32_t n = 0; n < s.N; n++) {
            finite &= isfinite(want[n]) != 0;
            best = fmaxf(best, want[n]);
        }
        for (const struct vc_kernel *k = vc_cpu_kernels; k->name; k++) {
            if (!(k->inner & VC_INNER_MAX_ONLY) || !h_tier_runs(k->tier)) continue;
            assert_true(vc_kernel_covers(k, &c, &d));
            for (uint32_t parts = 1; parts <= 5; parts += 2, rows++) {
                uint32_t left_out = 0;
                memset(got, 0, s.N * sizeof *got);
                h_run(k, &call, &d, parts);
                for (uint32_t n = 0; n < s.N; n++) {
                    if (got[n] == -INFINITY) {
                        left_out++;
                        if (!(want[n] < best)) fail_msg("%s: output %u, %.9g, was left out; the greatest is %.9g", k->name, n, (double)want[n], (double)best);
                    } else if (isnan(got[n]) ? isfinite(want[n]) : memcmp(got + n, want + n, sizeof *got) != 0) {
                        fail_msg("%s: output %u is %.9g, not %.9g", k->name, n, (double)got[n], (double)want[n]);
                    }
                }
                if (!finite && turn >= 15) continue;
                if (s.K > 32 && turn < 12) assert_true(left_out > s.N / 4);             /* it does screen */
            }
        }
        h_free_all();
    }
    if (!rows) print_message("left out: no row here heeds max_only\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_panel_is_small),
        cmocka_unit_test(the_reference_is_near_f64),
        cmocka_unit_test(greatest_alone),
        cmocka_unit_test(all_formats_and_shapes),
        cmocka_unit_test(all_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
