/* SPDX-License-Identifier: Apache-2.0
 * Every MOE row on every tier against op/ref: cores, formats, slots, acts; experts without rows, with all rows, and
 * with more rows than a chunk; intermediate sizes that leave `up` anywhere in a panel. */
#include "harness.h"

#include "num/block.h"
#include "op/qact.h"

static uint64_t rng = 21;

struct shape { uint32_t T, E, k, H, I; };
struct mix {
    enum vc_arith core;
    enum vc_dtype x, w13, w2, y;
    enum vc_act act;
    uint8_t gate, actf, hidden, down;
    enum h_data data;
};

/* [E][rows][cols] weights: raw, and a panel per expert at a stride that is not the tight one. */
static struct vc_view experts(enum vc_dtype t, enum vc_arith core, uint32_t E, uint32_t rows, uint32_t cols,
                              enum h_data data, size_t *stride) {
    struct vc_view plain = h_view(vc_dtype_is_float(t) ? t : VC_F32, E * rows, cols, 0), all = plain;
    h_fill(&plain, data, &rng);
    if (!vc_dtype_is_float(t)) {
        all = h_view(t, E * rows, cols, 0);
        assert_true(vc_encode(t, plain.raw, (uint64_t)E * rows * cols, all.data));
    }
    const struct vc_packer *p = vc_packer_select(vc_cpu_packers, VC_OP_MOE, core, t);
    assert_non_null(p);
    *stride = (p->bytes(t, rows, cols) + 127) / 64 * 64;
    char *panels = h_alloc((E - 1) * *stride + p->bytes(t, rows, cols), 64);
    for (uint32_t e = 0; e < E; e++)
        p->pack(&(struct vc_pack_job){ .src = t,
                                       .panel = t,
                                       .raw = (const char *)all.raw + (size_t)e * rows * h_row_bytes(&all),
                                       .rows = rows,
                                       .K = cols,
                                       .N = rows,
                                       .dst = panels + e * *stride });
    all.rows = rows;
    all.data = panels;
    return all;
}

static void route(const struct vc_view *ids, const struct vc_view *weights, uint32_t E, uint32_t k, bool lopsided) {
    for (uint32_t t = 0; t < ids->rows; t++) {
        int32_t *id = (int32_t *)(void *)((char *)ids->data + t * ids->stride);
        float *w = (float *)(void *)((char *)weights->data + t * weights->stride);
        for (uint32_t j = 0; j < k; j++) {
            uint32_t e, clash;
            do {
                e = lopsided && j == 0 ? 1 % E : vc_rng_below(&rng, E);
                clash = 0;
                for (uint32_t i = 0; i < j; i++) clash |= id[i] == (int32_t)e;
            } while (clash);
            id[j] = (int32_t)e;
            w[j] = vc_rng_float(&rng);
        }
    }
}

static struct vc_view quantized(const struct vc_view *x, uint32_t block) {
    struct vc_view q = h_view(block == 32 ? VC_A8_32 : VC_A8_256, x->rows, x->cols, 0);
    const struct vc_quantize_args a = { block };
    const struct vc_contract plain = h_contract(VC_OP_QUANTIZE, VC_ARITH_ELEMENT);
    struct vc_op_call call = { .contract = &plain, .in = { *x }, .out = { q }, .args = &a };
    vc_ref_quantize(&call, 0, 1);
    return q;
}

static void run(struct shape s, struct mix m, bool lopsided) {
    struct vc_contract c = h_contract(VC_OP_MOE, m.core);
    c.slot[VC_SLOT_EXPERT_GATE] = m.gate, c.slot[VC_SLOT_EXPERT_ACT] = m.actf, c.slot[VC_SLOT_EXPERT_HIDDEN] = m.hidden,
    c.slot[VC_SLOT_EXPERT_DOWN] = m.down;
    struct vc_moe_args args = { s.E, s.k, s.I, m.act, 0, 0 };
    struct vc_op_call call = { .contract = &c, .args = &args };
    char what[200];
    call.in[0] = h_view(m.x, s.T, s.H, lopsided ? 16 : 0);
    h_fill(&call.in[0], m.data, &rng);
    if (m.core == VC_ARITH_IBLK) call.in[0] = quantized(&call.in[0], vc_qact_block(m.w13));
    call.in[1] = h_view(VC_I32, s.T, s.k, lopsided ? 4 : 0);
    call.in[2] = h_view(VC_F32, s.T, s.k, 0);
    route(&call.in[1], &call.in[2], s.E, s.k, lopsided);
    call.in[3] = experts(m.w13, m.core, s.E, 2 * s.I, s.H, m.data, &args.stride13);
    call.in[4] = experts(m.w2, m.core, s.E, s.H, s.I, m.data, &args.stride2);
    call.out[0] = h_view(m.y, s.T, s.H, lopsided ? 32 : 0);
    struct vc_dims d = { .max_rows = s.T, .N = s.H, .K = s.H, .num_experts = s.E, .top_k = s.k, .intermediate = s.I,
                         .in0 = call.in[0].dtype, .weight = m.w13, .out0 = m.y, .args = &args };
    snprintf(what, sizeof what, "%s, %s x %s, %s -> %s, T %u E %u k %u H %u I %u, act %d", vc_arith_info(m.core)->name,
             vc_dtype_name(call.in[0].dtype), vc_dtype_name(m.w13), vc_dtype_name(m.w2), vc_dtype_name(m.y), s.T, s.E,
             s.k, s.H, s.I, m.act);
    assert_true(h_check(&call, &d, what) >= 2);
    h_free_all();
}

static const struct shape shapes[] = {
    { 1, 4, 2, 64, 32 },  { 1, 8, 8, 40, 24 },  { 2, 3, 1, 130, 70 },  { 5, 6, 2, 33, 65 },   { 9, 2, 2, 16, 100 },
    { 30, 4, 3, 48, 17 }, { 14, 1, 1, 20, 13 }, { 3, 2, 2, 1100, 30 }, { 2, 2, 1, 20, 1090 },
};

static void chain_rows(void **state) {
    (void)state;
    static const enum vc_dtype f[] = { VC_BF16, VC_F16, VC_F32 };
    for (size_t i = 0; i < VC_ARRAY_LEN(shapes); i++)
        for (int t = 0; t < 3; t++) {
            struct mix m = { VC_ARITH_CHAIN,
                             f[t],
                             f[t],
                             f[t],
                             f[t],
                             VC_ACT_SILU,
                             VC_F32,
                             VC_F32,
                             (uint8_t)f[t],
                             VC_F32,
                             i == 3 ? H_INTS : H_NORMAL };
            run(shapes[i], m, i & 1);
        }
    run((struct shape){ 130, 2, 1, 24, 20 },
        (struct mix){ VC_ARITH_CHAIN, VC_BF16, VC_BF16, VC_BF16, VC_BF16, VC_ACT_SILU, VC_F32, VC_F32, VC_BF16, VC_F32,
                      H_NORMAL },
        true);
}

static void pair_rows(void **state) {
    (void)state;
    static const enum vc_dtype f[] = { VC_BF16, VC_F16, VC_F32 };
    unsigned turn = 0;
    for (size_t i = 0; i < VC_ARRAY_LEN(shapes); i++)
        for (int t = 0; t < 3; t++, turn++) {
            struct mix f32 = { VC_ARITH_PAIR, VC_F32,
                               f[t],          f[((unsigned)t + turn) % 3],
                               VC_F32,        (enum vc_act)(turn % 4),
                               VC_F32,        VC_F32,
                               VC_F32,        VC_F32,
                               H_NORMAL };
            struct mix hf = { VC_ARITH_PAIR, f[t],          f[t],
                              f[t],          f[t],          (enum vc_act)((turn + 1) % 4),
                              (uint8_t)f[t], (uint8_t)f[t], (uint8_t)f[t],
                              (uint8_t)f[t], H_NORMAL };
            run(shapes[i], f32, turn & 1);
            run(shapes[i], hf, !(turn & 1));
        }
    run((struct shape){ 250, 2, 1, 18, 34 },
        (struct mix){ VC_ARITH_PAIR, VC_F32, VC_BF16, VC_BF16, VC_F32, VC_ACT_SILU, VC_F32, VC_F32, VC_F32, VC_F32,
                      H_NORMAL },
        true);
}

static void iblk_rows(void **state) {
    (void)state;
    static const enum vc_dtype small[] = { VC_Q4_0, VC_Q4_1, VC_Q5_0, VC_Q5_1, VC_Q8_0 },
                               large[] = { VC_Q2_K, VC_Q3_K, VC_Q4_K, VC_Q5_K, VC_Q6_K };
    static const struct shape s[] = {
        { 1, 4, 2, 64, 32 }, { 2, 3, 1, 96, 288 }, { 5, 6, 2, 32, 64 }, { 26, 3, 2, 64, 96 }
    };
    static const struct shape k[] = { { 1, 3, 2, 256, 256 }, { 3, 2, 1, 512, 256 }, { 5, 3, 2, 256, 512 } };
    const struct mix f32 = { .core = VC_ARITH_IBLK,
                             .x = VC_F32,
                             .y = VC_F32,
                             .act = VC_ACT_SILU,
                             .gate = VC_F32,
                             .actf = VC_F32,
                             .hidden = VC_F32,
                             .down = VC_F32,
                             .data = H_NORMAL };
    for (unsigned i = 0; i < 5; i++) {
        struct mix m = f32;
        m.w13 = small[i], m.w2 = small[(i + 2) % 5], m.act = (enum vc_act)(i % 4);
        for (size_t j = 0; j < VC_ARRAY_LEN(s); j++) run(s[j], m, j & 1);
        m.w13 = large[i], m.w2 = i % 2 ? large[(i + 1) % 5] : small[i];
        for (size_t j = 0; j < VC_ARRAY_LEN(k); j++) run(k[j], m, j & 1);
        m.w13 = small[i], m.w2 = large[i], m.y = VC_BF16;
        run((struct shape){ 4, 2, 2, 96, 256 }, m, false);
    }
    struct mix m = f32;
    m.w13 = VC_Q8_0, m.w2 = VC_Q4_0;
    run((struct shape){ 125, 2, 1, 32, 32 }, m, true);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(chain_rows), cmocka_unit_test(pair_rows),
                                        cmocka_unit_test(iblk_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
