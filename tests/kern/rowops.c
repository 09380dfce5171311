/* SPDX-License-Identifier: Apache-2.0
 * The row and element operations on all tiers against op/ref, bit for bit: stored types, inner slots, sizes around the
 * vector and piece lengths, adversarial data, in place and not. */
#include "harness.h"

#include "num/block.h"
#include "op/route.h"

static const enum vc_dtype floats[3] = { VC_F32, VC_BF16, VC_F16 };
static uint64_t rng = 1;

static const char *label(const char *op, const struct vc_view *x, const struct vc_view *y, enum h_data kind, uint32_t extra) {
    static char text[256];
    snprintf(text, sizeof text, "%s %s to %s, %u x %u, %s, %u", op, vc_dtype_name(x->dtype), vc_dtype_name(y->dtype), x->rows, x->cols, h_data_name(kind), extra);
    return text;
}
/* Every tier that runs here has a row for each call of this file. */
static void need(int ran) {
    int tiers = 1;
#if VC_HAVE_X86_TIERS
    tiers += h_tier_runs(VC_TIER_AVX2) + h_tier_runs(VC_TIER_AVX512);
#endif
    assert_int_equal(ran, tiers);
}

/* with: 0 no residual, 1 read, 2 written, 3 in place, 4 from one format to another. */
static void rmsnorm_case(enum vc_arith core, uint32_t rows, uint32_t H, int types, int with, float offset, uint8_t pre, enum h_data kind) {
    enum vc_dtype tx = floats[types % 3], ty = floats[types / 3 % 3], tr = floats[types / 9 % 3];
    struct vc_contract c = h_contract(VC_OP_RMSNORM, core);
    struct vc_rmsnorm_args a = { 1e-6f, offset };
    struct vc_view w = h_view(VC_F32, 1, H, 0), x = h_view(tx, rows, H, 6), res = h_view(tr, rows, H, 2);
    struct vc_op_call call = { .contract = &c, .args = &a, .in = { x, w }, .out = { h_view(ty, rows, H, 4) } };
    struct vc_dims d = { .max_rows = rows, .K = H, .in0 = tx, .weight = VC_F32, .out0 = ty, .args = &a };
    c.slot[VC_SLOT_NORM_PREGAMMA] = c.slot[VC_SLOT_NORM1P_PREGAMMA] = pre;
    h_fill(&x, kind, &rng);
    h_fill(&res, kind, &rng);
    h_fill(&w, H_NORMAL, &rng);
    if (with & 1) call.in[2] = res;
    if (with == 3) call.out[1] = res;                                   /* in place */
    if (with == 2) call.out[1] = h_view(tr, rows, H, 2);                /* the first layer: x becomes the residual */
    if (with == 4) call.in[2] = res, call.out[1] = h_view(floats[(types / 9 + 1) % 3], rows, H, 0);
    need(h_check_tiny(&call, &d, label("rmsnorm", &x, &call.out[0], kind, (uint32_t)with)));
    h_free_all();
}
static void test_rmsnorm(void **state) {
    static const uint32_t sizes[] = { 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 511, 512, 576, 1031 };
    (void)state;
    for (int core = 0; core < 2; core++) {
        enum vc_arith k = core ? VC_ARITH_NORM_LANES : VC_ARITH_NORM_TORCH;
        for (size_t s = 0; s < VC_ARRAY_LEN(sizes); s++)
            for (int types = 0; types < 27; types += s % 2 ? 5 : 13)
                rmsnorm_case(k, 1 + (uint32_t)(s % 4), sizes[s], types, types % 5, s % 3 == 0 ? 1.0f : 0.0f, (uint8_t)floats[(s + (size_t)types) % 3], (enum h_data)(s % H_HUGE));
        for (enum h_data kind = 0; kind < H_NUM_DATA; kind++)
            for (int pre = 0; pre < 3; pre++) {
                rmsnorm_case(k, 5, 200, 13, 3, 0.0f, (uint8_t)floats[pre], kind);
                rmsnorm_case(k, 2, 200, 0, 1, 1.0f, (uint8_t)floats[pre], kind);
            }
        /* Several levels of torch's cascade. */
        rmsnorm_case(k, 40, 32 * 16 * 16 * 2 + 77, 0, 0, 0.0f, VC_F32, H_NORMAL);
        rmsnorm_case(k, 20, 32 * 16 * 17 + 45, 0, 0, 0.0f, VC_F32, H_WIDE);
        rmsnorm_case(k, 2, 8192, 13, 3, 0.0f, VC_BF16, H_NORMAL);
    }
}

static void test_headnorm(void **state) {
    static const uint32_t heads[] = { 1, 3, 8 }, dims[] = { 16, 24, 64, 128, 256 };
    (void)state;
    for (int i = 0; i < 90; i++) {
        uint32_t n = heads[i % 3], hd = dims[i % 5];
        enum vc_dtype tx = floats[i % 3], ty = floats[i / 3 % 3];
        float offset = i % 7 == 0 ? 1.0f : 0.0f;
        struct vc_contract c = h_contract(VC_OP_HEADNORM, i % 2 ? VC_ARITH_NORM_TORCH : VC_ARITH_NORM_LANES);
        struct vc_headnorm_args a = { 1e-5f, offset, n, hd };
        struct vc_view x = h_view(tx, 1 + (uint32_t)i % 4, n * hd, 6), w = h_view(VC_F32, 1, hd, 0);
        struct vc_op_call call = { .contract = &c, .args = &a, .in = { x, w } };
        call.out[0] = tx == ty && i % 4 == 0 ? x : h_view(ty, x.rows, n * hd, 2);
        c.slot[VC_SLOT_HEADNORM_PREGAMMA] = (uint8_t)floats[i / 9 % 3];
        struct vc_dims d = { .max_rows = x.rows, .K = n * hd, .in0 = tx, .weight = VC_F32, .out0 = ty, .args = &a };
        h_fill(&x, (enum h_data)(i % H_NUM_DATA), &rng);
        h_fill(&w, H_NORMAL, &rng);
        need(h_check_tiny(&call, &d, label("headnorm", &x, &call.out[0], (enum h_data)(i % H_NUM_DATA), n)));
        h_free_all();
    }
}

static void test_rope(void **state) {
    static const struct { uint32_t heads, hd, rot; } shapes[] = { { 1, 2, 2 }, { 3, 16, 16 }, { 2, 30, 30 }, { 4, 64, 64 }, { 2, 80, 32 }, { 1, 128, 128 }, { 3, 96, 50 }, { 2, 256, 64 } };
    (void)state;
    for (int i = 0; i < 216; i++) {
        size_t s = (size_t)i % VC_ARRAY_LEN(shapes);
        enum vc_dtype tx = floats[i % 3], tt = floats[i / 3 % 3], ty = floats[i / 9 % 3];
        enum h_data kind = (enum h_data)(i % H_NUM_DATA);
        struct vc_contract c = h_contract(VC_OP_ROPE, VC_ARITH_ELEMENT);
        struct vc_rope_args a = { shapes[s].heads, shapes[s].hd, shapes[s].rot, i / 27 % 2 ? VC_ROPE_GPTJ : VC_ROPE_NEOX };
        struct vc_view x = h_view(tx, 1 + (uint32_t)i % 5, a.heads * a.head_dim, 10), table = h_view(tt, 9, a.rotary_dim, 2), rows = h_view(VC_I32, x.rows, 1, 0);
        struct vc_op_call call = { .contract = &c, .args = &a, .in = { x, table, rows } };
        call.out[0] = tx == ty && i % 2 ? x : h_view(ty, x.rows, x.cols, 0);
        struct vc_dims d = { .max_rows = x.rows, .K = x.cols, .head_dim = a.head_dim, .rotary_dim = a.rotary_dim, .in0 = tx, .weight = VC_F32, .out0 = ty, .args = &a };
        h_fill(&x, kind, &rng);
        h_fill(&table, kind == H_HUGE || kind == H_SPECIAL ? H_NORMAL : kind, &rng);
        h_fill_u32(&rows, 9, &rng);
        need(h_check_tiny(&call, &d, label("rope", &x, &call.out[0], kind, (uint32_t)a.style)));
        h_free_all();
    }
}

static const uint32_t widths[] = { 1, 3, 15, 16, 17, 63, 64, 65, 100, 1023, 1024, 1025, 2500 };

static void test_actmul(void **state) {
    (void)state;
    for (int i = 0; i < 4 * 27 * 4; i++) {
        uint32_t I = widths[(size_t)i * 7 % VC_ARRAY_LEN(widths)];
        enum vc_dtype tx = floats[i / 4 % 3], ty = floats[i / 12 % 3];
        enum h_data kind = (enum h_data)(i % H_NUM_DATA);
        struct vc_contract c = h_contract(VC_OP_ACTMUL, VC_ARITH_ELEMENT);
        struct vc_actmul_args a = { (enum vc_act)(i % 4) };
        struct vc_view x = h_view(tx, 1 + (uint32_t)i % 3, 2 * I, 6);
        struct vc_op_call call = { .contract = &c, .args = &a, .in = { x }, .out = { h_view(ty, x.rows, I, 8) } };
        struct vc_dims d = { .max_rows = x.rows, .K = 2 * I, .in0 = tx, .weight = VC_F32, .out0 = ty, .args = &a };
        c.slot[VC_SLOT_ACT_GATE] = (uint8_t)floats[i / 36 % 3];
        h_fill(&x, kind, &rng);
        if (i % 5 == 0 && I >= 4)                                        /* the arguments of gelu_tanh's exception */
            for (uint32_t k = 0; k < I; k++) vc_store(&x, 0, k, -5.0f - (float)(k % 8) * 0.03125f);
        need(h_check_tiny(&call, &d, label("actmul", &x, &call.out[0], kind, (uint32_t)a.act)));
        h_free_all();
    }
}

/* Every 16-bit argument of the acts and the soft cap, and f32 ones over all exponents. */
static void test_all_arguments(void **state) {
    (void)state;
    for (int i = 0; i < 3 * 5; i++) {
        enum vc_dtype t = floats[i / 5];
        struct vc_contract c = h_contract(i % 5 == 4 ? VC_OP_SOFTCAP : VC_OP_ACTMUL, VC_ARITH_ELEMENT);
        struct vc_actmul_args a = { (enum vc_act)(i % 5) };
        struct vc_softcap_args s = { 30.0f };
        uint32_t n = 65536;
        struct vc_view x = h_view(t, 1, i % 5 == 4 ? n : 2 * n, 0);
        for (uint32_t k = 0; k < n; k++) {
            uint16_t h = (uint16_t)k;
            uint32_t u = k << 16 | vc_rng_below(&rng, 65536);
            if (t == VC_F32) memcpy((char *)x.data + 4 * (size_t)k, &u, 4);
            else memcpy((char *)x.data + 2 * (size_t)k, &h, 2);
            if (c.op == VC_OP_ACTMUL) vc_store(&x, 0, n + k, 1.0f);
        }
        struct vc_op_call call = { .contract = &c, .args = c.op == VC_OP_SOFTCAP ? (const void *)&s : (const void *)&a, .in = { x }, .out = { h_view(t, 1, n, 0) } };
        struct vc_dims d = { .max_rows = 1, .K = x.cols, .in0 = t, .weight = VC_F32, .out0 = t, .args = call.args };
        c.slot[VC_SLOT_ACT_GATE] = c.slot[VC_SLOT_SOFTCAP_INNER] = (uint8_t)t;
        need(h_check_tiny(&call, &d, label("all arguments", &x, &call.out[0], H_NORMAL, (uint32_t)(i % 5))));
        h_free_all();
    }
}

static void test_softcap_rowscale(void **state) {
    (void)state;
    for (int i = 0; i < 27 * 8; i++) {
        uint32_t n = widths[(size_t)i * 5 % VC_ARRAY_LEN(widths)];
        enum vc_dtype tx = floats[i % 3], ty = floats[i / 3 % 3];
        enum h_data kind = (enum h_data)(i % H_NUM_DATA);
        struct vc_contract c = h_contract(i % 2 ? VC_OP_SOFTCAP : VC_OP_ROWSCALE, VC_ARITH_ELEMENT);
        struct vc_softcap_args a = { 30.0f };
        struct vc_view x = h_view(tx, 1 + (uint32_t)i % 3, n, 6), s = h_view(VC_F32, x.rows, 1, 0);
        struct vc_op_call call = { .contract = &c, .args = &a, .in = { x } };
        struct vc_dims d = { .max_rows = x.rows, .K = n, .in0 = tx, .weight = VC_F32, .out0 = ty, .args = &a };
        c.slot[VC_SLOT_SOFTCAP_INNER] = c.slot[VC_SLOT_ROWSCALE_FACTOR] = (uint8_t)floats[i / 9 % 3];
        h_fill(&x, kind, &rng);
        h_fill(&s, H_NORMAL, &rng);
        if (c.op == VC_OP_ROWSCALE) call.in[1] = s;
        call.out[0] = tx == ty && i % 4 < 2 ? x : h_view(ty, x.rows, n, 2);
        need(h_check_tiny(&call, &d, label(i % 2 ? "softcap" : "rowscale", &x, &call.out[0], kind, 0)));
        h_free_all();
    }
}

static void test_embed(void **state) {
    static const enum vc_dtype tables[] = { VC_F32, VC_BF16, VC_F16, VC_F64, VC_F8E4M3, VC_F8E5M2, VC_Q4_0, VC_Q4_1, VC_Q5_0, VC_Q5_1, VC_Q8_0,
                                            VC_Q2_K, VC_Q3_K, VC_Q4_K, VC_Q5_K, VC_Q6_K };
    static const uint32_t plain[] = { 1, 17, 64, 300 };
    (void)state;
    for (size_t t = 0; t < VC_ARRAY_LEN(tables); t++)
        for (int i = 0; i < 9; i++) {
            uint32_t block = vc_dtype_info(tables[t])->block, H = block > 1 ? block * (uint32_t)(1 + i % 3) : plain[i % 4];
            struct vc_contract c = h_contract(VC_OP_EMBED, VC_ARITH_ELEMENT);
            struct vc_embed_args a = { i % 2 ? 1.0f : 11.3125f, floats[i / 3] };
            struct vc_view table = h_view(tables[t], 11, H, 0), ids = h_view(VC_I32, 1 + (uint32_t)i % 4, 1, 0);
            struct vc_op_call call = { .contract = &c, .args = &a, .in = { ids, table }, .out = { h_view(floats[i % 3], ids.rows, H, 6) } };
            struct vc_dims d = { .max_rows = ids.rows, .K = H, .in0 = VC_I32, .weight = tables[t], .out0 = floats[i % 3], .args = &a };
            float *row = malloc(H * sizeof *row);
            for (uint32_t r = 0; r < 11; r++) {
                for (uint32_t k = 0; k < H; k++) row[k] = h_gauss(&rng);
                char *dst = (char *)table.data + r * table.stride;
                if (tables[t] == VC_F64)
                    for (uint32_t k = 0; k < H; k++) {
                        double v = (double)row[k] + 1e-9;
                        memcpy(dst + 8 * (size_t)k, &v, 8);
                    }
                else
                    assert_true(vc_encode(tables[t], row, H, dst));
            }
            free(row);
            h_fill_u32(&ids, 11, &rng);
            c.slot[VC_SLOT_EMBED_SCALE] = VC_BF16;
            need(h_check(&call, &d, label("embed", &table, &call.out[0], H_NORMAL, (uint32_t)i)));
            h_free_all();
        }
}

static void test_gather(void **state) {
    (void)state;
    for (int i = 0; i < 24; i++) {
        enum vc_dtype t = floats[i % 3];
        struct vc_contract c = h_contract(VC_OP_GATHER, VC_ARITH_ELEMENT);
        struct vc_view x = h_view(t, 9, 1 + (uint32_t)i * 7, 6), rows = h_view(VC_I32, 1 + (uint32_t)i % 6, 1, 0);
        struct vc_op_call call = { .contract = &c, .in = { x, rows }, .out = { h_view(t, rows.rows, x.cols, 2) } };
        struct vc_dims d = { .max_rows = 9, .K = x.cols, .in0 = t, .weight = VC_F32, .out0 = t };
        h_fill(&x, H_SPECIAL, &rng);
        h_fill_u32(&rows, 9, &rng);
        need(h_check(&call, &d, label("gather", &x, &call.out[0], H_SPECIAL, rows.rows)));
        h_free_all();
    }
}

static void test_router(void **state) {
    static const struct { uint32_t E, k; } shapes[] = { { 1, 1 }, { 4, 2 }, { 8, 3 }, { 17, 17 }, { 60, 4 }, { 64, 1 }, { 128, 8 }, { 256, 2 }, { 512, 10 }, { 1000, 40 } };
    (void)state;
    for (int i = 0; i < 240; i++) {
        uint32_t E = shapes[i % 10].E, k = shapes[i % 10].k;
        enum vc_dtype t = floats[i / 10 % 3];
        enum h_data kind = i / 30 % 2 ? H_NORMAL : H_INTS;                /* integers: many ties */
        struct vc_contract c = h_contract(VC_OP_ROUTER, i / 60 % 2 ? VC_ARITH_ROUTE_TORCH : VC_ARITH_ROUTE_LOWEST);
        struct vc_router_args a = { E, k, i / 120 };
        struct vc_view x = h_view(t, 1 + (uint32_t)i % 7, E, 6);
        struct vc_op_call call = { .contract = &c, .args = &a, .in = { x }, .out = { h_view(VC_I32, x.rows, k, 0), h_view(VC_F32, x.rows, k, 0) } };
        struct vc_dims d = { .max_rows = x.rows, .K = E, .num_experts = E, .top_k = k, .in0 = t, .weight = VC_F32, .out0 = VC_I32, .args = &a };
        c.slot[VC_SLOT_ROUTE] = (uint8_t)floats[i % 3];
        h_fill(&x, kind, &rng);
        need(h_check(&call, &d, label("router", &x, &call.out[0], kind, k)));
        h_free_all();
    }
}

/* The choice against plain sorting: the same values, each id once, ties to the lowest under route-lowest. */
static void test_choice(void **state) {
    (void)state;
    for (int i = 0; i < 400; i++) {
        uint32_t E = 1 + vc_rng_below(&rng, 300), k = 1 + vc_rng_below(&rng, E), taken = 0;
        float logit[300];
        int32_t ids[300];
        struct vc_route_item q[300];
        for (uint32_t e = 0; e < E; e++) {
            logit[e] = (float)vc_rng_below(&rng, i % 2 ? 1000000 : 6);
            q[e] = (struct vc_route_item){ logit[e], (int32_t)e };
        }
        vc_route_lowest(logit, E, k, ids);
        vc_route_torch(q, E, k);
        double sum[2] = { 0, 0 };
        bool seen[300] = { false };
        for (uint32_t j = 0; j < k; j++) {
            sum[0] += (double)logit[ids[j]];
            sum[1] += (double)q[j].v;
            taken += !seen[q[j].i];
            seen[q[j].i] = true;
            assert_true(q[j].v == logit[q[j].i]);
            if (j) assert_true(logit[ids[j]] < logit[ids[j - 1]] || (logit[ids[j]] == logit[ids[j - 1]] && ids[j] > ids[j - 1]));
        }
        assert_int_equal(taken, k);
        assert_true(sum[0] == sum[1]);
        for (uint32_t e = 0; e < E; e++) {
            bool in = false;
            for (uint32_t j = 0; j < k; j++) in |= ids[j] == (int32_t)e;
            if (!in) assert_true(logit[e] < logit[ids[k - 1]] || (logit[e] == logit[ids[k - 1]] && (int32_t)e > ids[k - 1]));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rmsnorm), cmocka_unit_test(test_headnorm), cmocka_unit_test(test_rope), cmocka_unit_test(test_actmul),
        cmocka_unit_test(test_all_arguments), cmocka_unit_test(test_softcap_rowscale), cmocka_unit_test(test_embed), cmocka_unit_test(test_gather),
        cmocka_unit_test(test_router), cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests_name("row operations", tests, NULL, NULL);
}
