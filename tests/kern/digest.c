/* SPDX-License-Identifier: Apache-2.0
 * Runs every kernel row of a tier (portable unless named) on seeded data, compares it with op/ref, and prints one digest
 * of the output words per row and case: the same on every machine. Needs no library but libc, so that it also runs for
 * AArch64 under qemu-user (tools/check-aarch64). Exit status 1: a row differs from op/ref, or has no case here. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "dev/kernel.h"
#include "num/block.h"
#include "op/qact.h"
#include "op/ref/ref.h"

enum { MAX_BUFFERS = 32, ROWS = 5 };
struct call {
    struct vc_contract contract;
    struct vc_op_call call;
    struct vc_dims dims;
    union {
        struct vc_embed_args embed;
        struct vc_rmsnorm_args rmsnorm;
        struct vc_headnorm_args headnorm;
        struct vc_quantize_args quantize;
        struct vc_matmul_args matmul;
        struct vc_rope_args rope;
        struct vc_kvstore_args kvstore;
        struct vc_attention_args attention;
        struct vc_actmul_args actmul;
        struct vc_router_args router;
        struct vc_moe_args moe;
        struct vc_softcap_args softcap;
    } args;
    struct vc_attn_seq seq[2];
    uint32_t table[2][8];
    void *buffer[MAX_BUFFERS];
    int buffers;
};
static uint64_t rng;

static void *buffer(struct call *c, size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 128) / 64 * 64);
    if (!p || c->buffers == MAX_BUFFERS) exit(2);
    memset(p, 0, (bytes + 128) / 64 * 64);
    return c->buffer[c->buffers++] = p;
}
static float gauss(void) {
    float s = -6.0f;
    for (int i = 0; i < 12; i++) s += vc_rng_float(&rng);
    return s;
}
static struct vc_view view(struct call *c, enum vc_dtype t, uint32_t rows, uint32_t cols) {
    struct vc_view v = { .rows = rows, .cols = cols, .dtype = t };
    uint64_t bytes = 0;
    if (t == VC_A8_32 || t == VC_A8_256) bytes = vc_qact_stride(cols, t == VC_A8_32 ? 32 : 256);
    else if (vc_dtype_bytes(t, cols, &bytes)) exit(2);
    v.stride = (size_t)bytes;
    v.data = buffer(c, v.stride * rows);
    v.raw = v.data;
    return v;
}
/* Normal numbers in any format that can be encoded. */
static struct vc_view random_view(struct call *c, enum vc_dtype t, uint32_t rows, uint32_t cols) {
    struct vc_view v = view(c, t, rows, cols);
    float *row = malloc((cols + 1) * sizeof *row);
    for (uint32_t r = 0; row && r < rows; r++) {
        for (uint32_t i = 0; i < cols; i++) row[i] = gauss();
        if (!vc_encode(t, row, cols, (char *)v.data + r * v.stride)) exit(2);
    }
    free(row);
    return v;
}
static struct vc_view index_view(struct call *c, uint32_t rows, uint32_t below) {
    struct vc_view v = view(c, VC_I32, rows, 1);
    for (uint32_t r = 0; r < rows; r++) ((int32_t *)v.data)[r] = (int32_t)vc_rng_below(&rng, below);
    return v;
}
/* Experts side by side: raw as stored, data as the core's panels. */
static struct vc_view packed(struct call *c, enum vc_dtype t, uint32_t experts, uint32_t N, uint32_t K, size_t *stride) {
    const struct vc_packer *p = vc_packer_select(vc_cpu_packers, c->contract.op, c->contract.core, t);
    struct vc_view w = random_view(c, t, experts * N, K);
    size_t bytes = p->bytes(t, N, K);
    w.rows = N;
    if (stride) *stride = bytes;
    w.data = buffer(c, bytes * experts);
    for (uint32_t e = 0; e < experts; e++) {
        const void *raw = (const char *)w.raw + (size_t)e * N * w.stride;
        p->pack(&(struct vc_pack_job){ .src = t, .panel = t, .raw = raw, .rows = N, .K = K, .N = N, .dst = (char *)w.data + e * bytes });
    }
    return w;
}
static struct vc_view quantized(struct call *c, enum vc_dtype t, uint32_t rows, uint32_t K) {
    struct vc_quantize_args a = { t == VC_A8_32 ? 32 : 256 };
    struct vc_contract q = { .op = VC_OP_QUANTIZE, .core = VC_ARITH_ELEMENT };
    struct vc_op_call call = { .contract = &q, .args = &a, .in = { random_view(c, VC_F32, rows, K) }, .out = { view(c, t, rows, K) } };
    vc_op_ref[VC_OP_QUANTIZE](&call, 0, 1);
    return call.out[0];
}

static enum vc_dtype first(uint64_t mask) {
    int t = 0;
    while (!(mask >> t & 1)) t++;
    return (enum vc_dtype)t;
}

static void build_attention(struct call *c, const struct vc_kernel *k, enum vc_dtype kv) {
    struct vc_kv_geom g = { 2, 64, 16 };
    bool store = k->op == VC_OP_KVSTORE;
    uint32_t width = 2 * 2 * 64 * 16;
    c->dims.num_kv_heads = 2, c->dims.head_dim = 64, c->dims.page_tokens = 16, c->dims.num_heads = 4, c->dims.max_seqs = 2, c->dims.weight = kv;
    if (store) {
        c->args.kvstore.geom = g;
        c->call.in[0] = random_view(c, c->dims.in0, ROWS, 128);
        c->call.in[1] = random_view(c, c->dims.in0, ROWS, 128);
        c->call.in[2] = view(c, VC_I64, ROWS, 1);
        for (int i = 0; i < ROWS; i++) ((int64_t *)c->call.in[2].data)[i] = i == 3 ? -1 : i * 7;
        c->call.out[0] = view(c, kv, 8, width);
        return;
    }
    for (uint32_t i = 0; i < 8; i++) {
        c->table[0][i] = 15 - 2 * i;
        c->table[1][i] = 2 * i;
    }
    c->seq[0] = (struct vc_attn_seq){ 0, 4, 80, c->table[0] };
    c->seq[1] = (struct vc_attn_seq){ 4, 1, 30, c->table[1] };
    c->args.attention = (struct vc_attention_args){ g, 4, 0, 2, 0.125f, 0.0f, c->seq };
    c->call.in[0] = random_view(c, c->dims.in0, ROWS, 256);
    c->call.in[1] = random_view(c, kv, 16, width);
    c->call.out[0] = view(c, c->dims.out0, ROWS, 256);
}

static void build_matmul(struct call *c, const struct vc_kernel *k, enum vc_dtype w, uint32_t rows) {
    bool wide = k->inner & VC_INNER_MAX_ONLY;                   /* such rows take wide weights only */
    uint32_t K = wide ? 96 : 1536, N = wide ? 8200 : 70;
    bool iblk = k->core == VC_ARITH_IBLK;
    c->dims.N = N, c->dims.K = K, c->dims.weight = w;
    c->call.in[0] = iblk ? quantized(c, c->dims.in0, rows, K) : random_view(c, c->dims.in0, rows, K);
    c->call.in[1] = packed(c, w, 1, N, K, NULL);
    c->call.in[2] = random_view(c, VC_F32, 1, N);
    c->call.out[0] = view(c, c->dims.out0, rows, N);
}

static void build_moe(struct call *c, enum vc_dtype w, uint32_t rows) {
    uint32_t H = 256, I = 256, E = 6, k = 2;
    size_t s13, s2;
    c->dims.N = c->dims.K = H, c->dims.weight = w, c->dims.num_experts = E, c->dims.top_k = k, c->dims.intermediate = I;
    c->call.in[0] = vc_dtype_is_float(c->dims.in0) ? random_view(c, c->dims.in0, rows, H) : quantized(c, c->dims.in0, rows, H);
    c->call.in[1] = view(c, VC_I32, rows, k);
    c->call.in[2] = random_view(c, VC_F32, rows, k);
    for (uint32_t i = 0; i < rows * k; i++) ((int32_t *)c->call.in[1].data)[i] = (int32_t)((i / k * 5 + i % k * 2) % E);
    c->call.in[3] = packed(c, w, E, 2 * I, H, &s13);
    c->call.in[4] = packed(c, w, E, H, I, &s2);
    c->args.moe = (struct vc_moe_args){ E, k, I, VC_ACT_SILU, s13, s2 };
    c->call.out[0] = view(c, c->dims.out0, rows, H);
}

/* A call that the row covers, its formats the first of each mask but for the weight. False: no case for this op. */
static bool build(struct call *c, const struct vc_kernel *k, enum vc_dtype weight, uint32_t variant) {
    uint32_t rows = k->m_lo > ROWS ? k->m_lo : k->m_hi < ROWS ? k->m_hi : ROWS;
    enum vc_dtype in0 = first(k->in0), out0 = k->out0 == UINT64_MAX ? in0 : first(k->out0);
    *c = (struct call){ .contract = { .op = k->op, .core = k->core } };
    for (int s = 0; s < VC_NUM_SLOTS; s++) c->contract.slot[s] = variant && k->inner >> s & 1 ? VC_BF16 : VC_F32;
    c->call = (struct vc_op_call){ .contract = &c->contract, .args = &c->args };
    c->dims = (struct vc_dims){ .max_rows = rows, .K = 200, .in0 = in0, .weight = VC_F32, .out0 = out0, .args = &c->args };
    struct vc_view *in = c->call.in, *out = c->call.out;
    switch (k->op) {
        case VC_OP_EMBED:
            c->args.embed = (struct vc_embed_args){ 7.5f, VC_BF16 };
            in[0] = index_view(c, rows, 9), in[1] = random_view(c, VC_Q4_K, 9, 512), out[0] = view(c, out0, rows, 512);
            c->dims.weight = VC_Q4_K;
            return true;
        case VC_OP_RMSNORM:
            c->args.rmsnorm = (struct vc_rmsnorm_args){ 1e-6f, (float)variant };
            in[0] = random_view(c, in0, rows, 1100), in[1] = random_view(c, VC_F32, 1, 1100), in[2] = random_view(c, VC_BF16, rows, 1100);
            out[0] = view(c, out0, rows, 1100), out[1] = view(c, VC_BF16, rows, 1100);
            return true;
        case VC_OP_HEADNORM:
            c->args.headnorm = (struct vc_headnorm_args){ 1e-6f, 0.0f, 3, 64 };
            in[0] = random_view(c, in0, rows, 192), in[1] = random_view(c, VC_F32, 1, 64), out[0] = view(c, out0, rows, 192);
            return true;
        case VC_OP_QUANTIZE:
            c->args.quantize.block = out0 == VC_A8_32 ? 32 : 256;
            in[0] = random_view(c, in0, rows, 512), out[0] = view(c, out0, rows, 512);
            return true;
        case VC_OP_MATMUL: build_matmul(c, k, weight, rows); return true;
        case VC_OP_ROPE:
            c->args.rope = (struct vc_rope_args){ 3, 80, 64, variant ? VC_ROPE_GPTJ : VC_ROPE_NEOX };
            in[0] = random_view(c, in0, rows, 240), in[1] = random_view(c, VC_F32, 9, 64), in[2] = index_view(c, rows, 9), out[0] = view(c, out0, rows, 240);
            return true;
        case VC_OP_ROWSCALE: in[0] = random_view(c, in0, rows, 200), in[1] = random_view(c, VC_F32, rows, 1), out[0] = view(c, out0, rows, 200); return true;
        case VC_OP_KVSTORE: case VC_OP_ATTENTION: build_attention(c, k, weight); return true;
        case VC_OP_ACTMUL:
            c->args.actmul.act = (enum vc_act)variant;
            in[0] = random_view(c, in0, rows, 2 * 1100), out[0] = view(c, out0, rows, 1100);
            return true;
        case VC_OP_ROUTER:
            c->args.router = (struct vc_router_args){ 64, 6, variant ? 0 : 1 };
            in[0] = random_view(c, VC_F32, rows, 64), out[0] = view(c, VC_I32, rows, 6), out[1] = view(c, VC_F32, rows, 6);
            return true;
        case VC_OP_MOE: build_moe(c, weight, rows); return true;
        case VC_OP_GATHER: in[0] = random_view(c, in0, 9, 200), in[1] = index_view(c, rows, 9), out[0] = view(c, in0, rows, 200); return true;
        case VC_OP_SOFTCAP:
            c->args.softcap.cap = 30.0f;
            in[0] = random_view(c, in0, rows, 1100), out[0] = view(c, out0, rows, 1100);
            return true;
        default: return false;
    }
}

static uint64_t digest(const struct call *c) {
    uint64_t h = 0;
    for (int o = 0; o < VC_MAX_OUT; o++) {
        const struct vc_view *v = &c->call.out[o];
        for (size_t i = 0; v->data && i < v->stride * v->rows; i++) h = vc_mix64(h + ((const uint8_t *)v->data)[i] + 1);
    }
    return h;
}

static void run(const struct vc_kernel *k, struct call *c, uint32_t parts) {
    c->call.scratch = k->scratch ? buffer(c, k->scratch(&c->dims, parts)) : NULL;
    for (int p = 0; p < VC_MAX_PHASES && k->phase[p]; p++)
        for (uint32_t i = 0; i < parts; i++) k->phase[p](&c->call, i, parts);
}
static void clear(struct call *c) {
    for (int o = 0; o < VC_MAX_OUT; o++)
        if (c->call.out[o].data) memset(c->call.out[o].data, 0, c->call.out[o].stride * c->call.out[o].rows);
}

static int one(const struct vc_kernel *k, enum vc_dtype weight, uint32_t variant) {
    static struct call c;
    rng = 1 + (uint64_t)k->op * 1000 + (uint64_t)k->core * 100 + (uint64_t)weight * 10 + variant;
    if (!build(&c, k, weight, variant)) {
        printf("%s: no case\n", k->name);
        return 1;
    }
    int bad = !vc_kernel_covers(k, &c.contract, &c.dims);
    vc_op_ref[k->op](&c.call, 0, 1);
    uint64_t want = digest(&c);
    for (uint32_t parts = 1; parts <= 3; parts += 2) {
        clear(&c);
        run(k, &c, parts);
        bad |= digest(&c) != want;
    }
    printf("%.*s %s %s %u %016llx%s\n", (int)(strrchr(k->name, '_') - k->name), k->name, vc_arith_info(k->core)->name, vc_dtype_name(weight), variant,
           (unsigned long long)want, bad ? " differs from op/ref" : "");
    for (int i = 0; i < c.buffers; i++) free(c.buffer[i]);
    return bad;
}

int main(int argc, char **argv) {
    enum vc_tier tier = VC_TIER_PORTABLE;
    int bad = 0;
    for (int t = 0; argc > 1 && t < VC_NUM_TIERS; t++)
        if (!strcmp(argv[1], vc_tier_name((enum vc_tier)t))) tier = (enum vc_tier)t;
    if (vc_tier_needs(tier) & ~vc_cpu_features()) {
        printf("left out: %s (not on this machine)\n", vc_tier_name(tier));
        return 0;
    }
    vc_fp_flush();
    for (const struct vc_kernel *k = vc_cpu_kernels; k->name; k++) {
        if (k->tier != tier) continue;
        bool by_weight = k->op == VC_OP_MATMUL || k->op == VC_OP_MOE || k->op == VC_OP_ATTENTION || k->op == VC_OP_KVSTORE;
        for (int w = 0; w < VC_NUM_DTYPES; w++)
            for (uint32_t v = 0; v < (k->op == VC_OP_ACTMUL ? 4u : 2u); v++)
                if (by_weight ? k->weight >> w & 1 : w == VC_F32) bad |= one(k, (enum vc_dtype)w, v);
    }
    return bad;
}
