/* SPDX-License-Identifier: Apache-2.0
 * The linear layers and fused experts of vLLM's CPU path, word for word: op/ref's pair and chain cores against
 * goldens/vllm-cpu. One case differs by design: vLLM cuts K > 1024 in blocks of 512 when a call has one row, where ours
 * are 1024 for any number of rows; for that case the words must differ from vLLM's by an ulp at most. */
#include "vectors.h"

#include "base/cpu.h"
#include "op/ref/ref.h"

static struct vc_contract contract(enum vc_op op, enum vc_arith core) {
    struct vc_contract c = { .op = op, .core = core };
    for (int s = 0; s < VC_NUM_SLOTS; s++) c.slot[s] = VC_F32;
    return c;
}
static void ref(const struct vc_op_call *call) {
    const uint32_t old = vc_fp_flush();
    vc_op_ref[call->contract->op](call, 0, 1);
    vc_fp_restore(old);
}
static struct vc_view words(uint32_t rows, uint32_t cols) {
    struct vc_view v = { .rows = rows, .cols = cols, .stride = (size_t)cols * 2, .dtype = VC_BF16 };
    v.data = vec_alloc((size_t)rows * cols * 2);
    return v;
}

static void linear(void **state) {
    (void)state;
    struct vec_file f = { 0 };
    if (!vec_open(&f, "vllm-cpu/linear.safetensors")) skip();
    const struct vc_contract c = contract(VC_OP_MATMUL, VC_ARITH_PAIR);
    struct vec x = { 0 }, bias = { 0 };
    size_t compared = 0, near_words = 0;
    int n = 0;
    for (; vec_get(&f, n, "x", &x); n++) {
        const struct vec w = vec_need(&f, n, "w"), out = vec_need(&f, n, "out");
        const uint32_t M = x.dim[0], K = x.dim[1], N = w.dim[0];
        struct vc_op_call call = { .contract = &c,
                                   .in = { vec_view(&x, VC_BF16, K), vec_view(&w, VC_BF16, K) },
                                   .out = { words(M, N) } };
        if (vec_get(&f, n, "bias", &bias)) {
            const struct vec wide = vec_widen(&bias);
            call.in[2] = vec_view(&wide, VC_F32, N);
        }
        ref(&call);
        const uint16_t *got = call.out[0].data, *want = out.p;
        for (size_t i = 0; i < (size_t)M * N; i++) {
            const int apart = abs((int)got[i] - (int)want[i]);
            if (M == 1 && K > 1024) {
                assert_true(apart <= 1);
                near_words++;
            } else {
                if (apart) fail_msg("case %d, word %zu: %04x, vLLM has %04x", n, i, got[i], want[i]);
                compared++;
            }
        }
    }
    printf("%zu words of %d cases equal, %zu of one row with K > 1024 within an ulp\n", compared, n, near_words);
    assert_true(n >= 7 && compared >= 900);
    vec_close(&f);
}

static void fused_moe(void **state) {
    (void)state;
    struct vec_file f = { 0 };
    if (!vec_open(&f, "vllm-cpu/moe.safetensors")) skip();
    struct vc_contract c = contract(VC_OP_MOE, VC_ARITH_CHAIN);
    c.slot[VC_SLOT_EXPERT_HIDDEN] = VC_BF16;
    struct vec x = { 0 };
    size_t compared = 0;
    int n = 0;
    for (; vec_get(&f, n, "x", &x); n++) {
        const struct vec w13 = vec_need(&f, n, "w13"), w2 = vec_need(&f, n, "w2"), weights = vec_need(&f, n, "weights"),
                         ids = vec_need(&f, n, "ids"), out = vec_need(&f, n, "out");
        const uint32_t T = x.dim[0], H = x.dim[1], E = w13.dim[0], I = w2.dim[2], k = ids.dim[1];
        const struct vc_moe_args args = { E, k, I, VC_ACT_SILU, 0, 0 };
        struct vc_op_call call = { .contract = &c,
                                   .args = &args,
                                   .out = { words(T, H) },
                                   .in = { vec_view(&x, VC_BF16, H), vec_view(&ids, VC_I32, k),
                                           vec_view(&weights, VC_F32, k), vec_view(&w13, VC_BF16, H),
                                           vec_view(&w2, VC_BF16, I) } };
        call.in[3].rows = 2 * I;
        call.in[4].rows = H;
        ref(&call);
        const uint16_t *got = call.out[0].data, *want = out.p;
        for (size_t i = 0; i < (size_t)T * H; i++, compared++)
            if (got[i] != want[i]) fail_msg("case %d, word %zu: %04x, vLLM has %04x", n, i, got[i], want[i]);
    }
    printf("%zu words of %d cases equal\n", compared, n);
    assert_true(n >= 3 && compared >= 1000);
    vec_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(linear), cmocka_unit_test(fused_moe) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
