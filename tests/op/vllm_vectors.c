/* SPDX-License-Identifier: Apache-2.0
 * The row operations' references against the words of vLLM's CPU path (goldens/vllm-cpu). */
#include "vectors.h"

#include "base/cpu.h"
#include "op/args.h"
#include "op/numerics.h"
#include "op/ref/ref.h"
#include "op/rope_table.h"

static struct vc_contract contract(enum vc_op op, enum vc_arith core) {
    struct vc_numerics n;
    struct vc_contract c;
    assert_int_equal(vc_numerics_parse(&n, "vllm", VC_BF16, NULL), VC_OK);
    vc_contract_make(&c, &n, op, core);
    return c;
}

static size_t words, bad_words;
static void equal(const char *what, int c, const void *got, const struct vec *want, size_t bytes) {
    size_t bad = 0;
    for (size_t i = 0; i < want->count; i++) bad += memcmp((const char *)got + i * bytes, (const char *)want->p + i * bytes, bytes) != 0;
    if (bad) printf("%s, case %d: %zu of %zu words differ\n", what, c, bad, want->count);
    words += want->count;
    bad_words += bad;
}
static void report(const char *what) {
    printf("%s: %zu of %zu words differ\n", what, bad_words, words);
    assert_true(words > 0 && bad_words == 0);
    words = bad_words = 0;
}

static struct vc_view out_like(const struct vec *v, enum vc_dtype t, uint32_t cols) {
    struct vec o = *v;
    o.p = vec_alloc((v->count + 16) * 4);
    return vec_view(&o, t, cols);
}

static void norm_case(const struct vec_file *f, int c, const struct vec *x, int gemma) {
    struct vec res = vec_need(f, c, "res"), wb = vec_need(f, c, "w"), w = vec_widen(&wb), eps = vec_need(f, c, "eps");
    struct vec want = vec_need(f, c, gemma ? "out_gemma" : "out"), want_add = vec_need(f, c, gemma ? "out_add_gemma" : "out_add"), res_out = vec_need(f, c, "res_out");
    struct vc_contract k = contract(VC_OP_RMSNORM, VC_ARITH_NORM_TORCH);
    struct vc_rmsnorm_args a = { (float)*(const double *)eps.p, (float)gemma };
    uint32_t H = x->dim[x->dims - 1];
    struct vc_op_call call = { .contract = &k, .args = &a, .in = { vec_view(x, VC_BF16, H), vec_view(&w, VC_F32, H) } };
    call.out[0] = out_like(x, VC_BF16, H);
    vc_ref_rmsnorm(&call, 0, 1);
    equal("norm", c, call.out[0].data, &want, 2);
    call.in[2] = vec_view(&res, VC_BF16, H);
    call.out[1] = out_like(x, VC_BF16, H);
    vc_ref_rmsnorm(&call, 0, 1);
    equal("norm of the sum", c, call.out[0].data, &want_add, 2);
    equal("residual", c, call.out[1].data, &res_out, 2);
    /* A head norm is the same arithmetic on pieces of rows. */
    struct vc_headnorm_args h = { a.eps, a.weight_offset, 1, H };
    struct vc_contract hk = contract(VC_OP_HEADNORM, VC_ARITH_NORM_TORCH);
    call.contract = &hk;
    call.args = &h;
    vc_ref_headnorm(&call, 0, 1);
    equal("head norm", c, call.out[0].data, &want, 2);
}
static void test_norm(void **state) {
    struct vec_file f = { 0 };
    struct vec x;
    (void)state;
    if (!vec_open(&f, "vllm-cpu/norm.safetensors")) return;
    for (int c = 0; vec_get(&f, c, "x", &x); c++)
        for (int gemma = 0; gemma < 2; gemma++) norm_case(&f, c, &x, gemma);
    vec_close(&f);
    report("norm");
}

static void test_rope(void **state) {
    struct vec_file f = { 0 };
    struct vec args;
    (void)state;
    if (!vec_open(&f, "vllm-cpu/rope.safetensors")) return;
    for (int c = 0; vec_get(&f, c, "args", &args); c++) {
        struct vec pos = vec_need(&f, c, "pos"), cache = vec_need(&f, c, "cache"), q = vec_need(&f, c, "q"), q_out = vec_need(&f, c, "q_out");
        json_t *j = json_loadb(args.p, args.count, 0, NULL);
        uint32_t n = (uint32_t)pos.count, at[256], dim = (uint32_t)json_integer_value(json_object_get(j, "dim")), hd = q.dim[2], heads = q.dim[1];
        struct vc_rope_params p = { .rotary_dim = dim, .theta = json_number_value(json_object_get(j, "base")) };
        struct vc_view table = out_like(&cache, VC_BF16, dim);
        int32_t rows[256];
        assert_true(n <= 256);
        for (uint32_t i = 0; i < n; i++) {
            at[i] = (uint32_t)((const int64_t *)pos.p)[i];
            rows[i] = (int32_t)i;
        }
        assert_int_equal(vc_rope_rows(&p, VC_ARITH_ROPE_TORCH, at, n, 0, VC_BF16, table.data, NULL), VC_OK);
        equal("rope table", c, table.data, &cache, 2);
        struct vc_contract k = contract(VC_OP_ROPE, VC_ARITH_ELEMENT);
        struct vc_rope_args a = { heads, hd, dim, VC_ROPE_NEOX };
        struct vc_op_call call = { .contract = &k, .args = &a, .in = { vec_view(&q, VC_BF16, heads * hd), table, { .data = rows, .stride = 4, .rows = n, .cols = 1, .dtype = VC_I32 } } };
        call.out[0] = out_like(&q, VC_BF16, heads * hd);
        vc_ref_rope(&call, 0, 1);
        equal("rope", c, call.out[0].data, &q_out, 2);
        json_decref(j);
    }
    vec_close(&f);
    report("rope");
}

/* All finite bf16 arguments but those below 2^-120, whose halves or thirtieths are below 2^-125: those are flushed here. */
static void unary(const char *name, const struct vec *want, vc_op_fn *fn, struct vc_op_call *call) {
    const uint16_t *got = call->out[0].data, *w = want->p;
    fn(call, 0, 1);
    for (uint32_t i = 0; i < 65536; i++) {
        if ((i & 0x7F80u) == 0x7F80u || (i & 0x7F80u) < (127 - 120) << 7) continue;
        words++;
        float a = vc_flush(vc_bf16_f32(w[i]));                                     /* subnormal results are flushed too */
        if (vc_f32_bits(vc_bf16_f32(got[i])) == vc_f32_bits(a)) continue;
        if (bad_words++ < 8) printf("%s(%g): %04x, vLLM %04x\n", name, (double)vc_bf16_f32((uint16_t)i), got[i], w[i]);
    }
}
/* One gate value per row of `cols` columns, up = 1; column 0 is in torch's vector part if cols >= 64. */
static void test_unary(void **state) {
    static const struct { const char *name; enum vc_act act; uint32_t cols; } acts[] = {
        { "silu", VC_ACT_SILU, 65536 }, { "gelu_tanh", VC_ACT_GELU_TANH, 65536 }, { "gelu_tanh_tail", VC_ACT_GELU_TANH, 1 },
    };
    struct vec_file f = { 0 };
    (void)state;
    if (!vec_open(&f, "vllm-cpu/unary.safetensors")) return;
    uint16_t *x = vec_alloc(2 * 65536 * 2), *y = vec_alloc(65536 * 2);
    uint32_t old = vc_fp_flush();
    for (size_t k = 0; k < VC_ARRAY_LEN(acts); k++) {
        struct vec want = vec_need(&f, 0, acts[k].name);
        struct vc_contract c = contract(VC_OP_ACTMUL, VC_ARITH_ELEMENT);
        struct vc_actmul_args a = { acts[k].act };
        uint32_t cols = acts[k].cols, rows = 65536 / cols;
        for (uint32_t i = 0; i < 65536; i++) {
            x[i / cols * cols * 2 + i % cols] = (uint16_t)i;
            x[i / cols * cols * 2 + cols + i % cols] = 0x3F80;
        }
        struct vc_op_call call = { .contract = &c, .args = &a, .in = { { .data = x, .stride = cols * 4, .rows = rows, .cols = 2 * cols, .dtype = VC_BF16 } },
                                   .out = { { .data = y, .stride = cols * 2, .rows = rows, .cols = cols, .dtype = VC_BF16 } } };
        unary(acts[k].name, &want, vc_ref_actmul, &call);
    }
    struct vec want = vec_need(&f, 0, "softcap30");
    struct vc_contract c = contract(VC_OP_SOFTCAP, VC_ARITH_ELEMENT);
    struct vc_softcap_args a = { 30.0f };
    for (uint32_t i = 0; i < 65536; i++) x[i] = (uint16_t)i;
    struct vc_op_call call = { .contract = &c, .args = &a, .in = { { .data = x, .stride = 131072, .rows = 1, .cols = 65536, .dtype = VC_BF16 } },
                               .out = { { .data = y, .stride = 131072, .rows = 1, .cols = 65536, .dtype = VC_BF16 } } };
    unary("softcap30", &want, vc_ref_softcap, &call);
    vc_fp_restore(old);
    vec_close(&f);
    report("activations");
}

static void test_router(void **state) {
    struct vec_file f = { 0 };
    struct vec logits;
    (void)state;
    if (!vec_open(&f, "vllm-cpu/router.safetensors")) return;
    for (int c = 0; vec_get(&f, c, "logits", &logits); c++) {
        struct vec ids = vec_need(&f, c, "ids"), w[2] = { vec_need(&f, c, "weights_nonorm"), vec_need(&f, c, "weights") };
        uint32_t E = logits.dim[1], k = ids.dim[1];
        for (int renorm = 0; renorm < 2; renorm++) {
            struct vc_contract con = contract(VC_OP_ROUTER, VC_ARITH_ROUTE_TORCH);
            struct vc_router_args a = { E, k, renorm };
            struct vc_op_call call = { .contract = &con, .args = &a, .in = { vec_view(&logits, VC_BF16, E) } };
            call.out[0] = out_like(&ids, VC_I32, k);
            call.out[1] = out_like(&ids, VC_F32, k);
            vc_ref_router(&call, 0, 1);
            equal("ids", c, call.out[0].data, &ids, 4);
            equal("weights", c, call.out[1].data, &w[renorm], 4);
        }
    }
    vec_close(&f);
    report("router");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_norm), cmocka_unit_test(test_rope), cmocka_unit_test(test_unary), cmocka_unit_test(test_router) };
    return cmocka_run_group_tests_name("vllm vectors", tests, NULL, NULL);
}
