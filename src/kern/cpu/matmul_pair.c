/* SPDX-License-Identifier: Apache-2.0
 * matmul_pair.c: matmul by the pair core, any of f32, bf16, f16 by any of them: y = x w^T + bias.
 * Rows of the table: few (up to MATMUL_FEW rows: every thread packs the rows for itself, one phase) and many (packing
 * shared, then the product); dp is bf16 by bf16 through vdpbf16ps. All give the bits of op/ref/matmul.c. */
#include "kern/cpu/pair_loop.h"

#include "dev/kernel.h"
#include "op/kblock.h"

enum { MATMUL_FEW = 8 };

/* ---- tiles ---- */
#define BUF(mr, w, muladd)                                                                                             \
    static void buf##mr##_##w##_##muladd(const struct tile_call *t) { \
        tile_buf(mr, w / TF_LANES, muladd, t);                                                                         \
    }
#define DIRECT(F, mr, w)                                                                                               \
    static void direct##F##mr##_##w(const struct tile_call *t) { \
        tile_direct(VC_##F, ODD_FIRST, mr, w / TF_LANES, t);                                     \
    }
#define DP(mr, w)                                                                                                      \
    static void dp##mr##_##w(const struct tile_call *t) {  \
        tile_dp(mr, w / TF_LANES, t);                                                            \
    }

#if VC_TIER_LEVEL == 0
BUF(1, 16, 0) BUF(2, 16, 0)
static const struct tiles buf_tiles = { { [1] = { NULL, NULL, buf1_16_0 }, [2] = { NULL, NULL, buf2_16_0 } } };
#if VC_TILE_MULADD
BUF(1, 16, 1) BUF(2, 16, 1)
static const struct tiles muladd_tiles = { { [1] = { NULL, NULL, buf1_16_1 }, [2] = { NULL, NULL, buf2_16_1 } } };
#endif
#elif VC_TIER_LEVEL == 1
BUF(1, 16, 0) BUF(2, 16, 0) BUF(3, 16, 0) BUF(4, 16, 0) BUF(5, 16, 0) BUF(6, 16, 0) BUF(2, 32, 0) BUF(3, 32, 0)
static const struct tiles buf_tiles = { { [1] = { NULL, NULL, buf1_16_0 }, [2] = { NULL, buf2_32_0, buf2_16_0 }, [3] = { NULL, buf3_32_0, buf3_16_0 },
                                          [4] = { NULL, NULL, buf4_16_0 }, [5] = { NULL, NULL, buf5_16_0 }, [6] = { NULL, NULL, buf6_16_0 } } };
#define DIRECTS(F)                                                                                                     \
    DIRECT(F, 1, 64) DIRECT(F, 1, 32) DIRECT(F, 1, 16) DIRECT(F, 2, 32) DIRECT(F, 2, 16)                               \
    DIRECT(F, 3, 16) DIRECT(F, 4, 16) DIRECT(F, 5, 16) DIRECT(F, 6, 16)
#define DIRECT_ROWS(F) { { [1] = { direct##F##1_64, direct##F##1_32, direct##F##1_16 }, [2] = { NULL, direct##F##2_32, direct##F##2_16 }, \
                           [3] = { NULL, NULL, direct##F##3_16 }, [4] = { NULL, NULL, direct##F##4_16 },               \
                           [5] = { NULL, NULL, direct##F##5_16 }, [6] = { NULL, NULL, direct##F##6_16 } } }
#else
#define WIDTHS(T, mr) T(mr, 64) T(mr, 32) T(mr, 16)
#define BUF0(mr, w) BUF(mr, w, 0)
WIDTHS(BUF0, 1) WIDTHS(BUF0, 2) WIDTHS(BUF0, 3) WIDTHS(BUF0, 4) WIDTHS(BUF0, 5) WIDTHS(BUF0, 6)
WIDTHS(DP, 1) WIDTHS(DP, 2) WIDTHS(DP, 3) WIDTHS(DP, 4) WIDTHS(DP, 5) WIDTHS(DP, 6)
#define BUF_ROW(mr) [mr] = { buf##mr##_64_0, buf##mr##_32_0, buf##mr##_16_0 }
#define DP_ROW(mr) [mr] = { dp##mr##_64, dp##mr##_32, dp##mr##_16 }
static const struct tiles buf_tiles = { { BUF_ROW(1), BUF_ROW(2), BUF_ROW(3), BUF_ROW(4), BUF_ROW(5), BUF_ROW(6) } };
static const struct tiles dp_tiles = { { DP_ROW(1), DP_ROW(2), DP_ROW(3), DP_ROW(4), DP_ROW(5), DP_ROW(6) } };
#define DIRECT3(F, mr) DIRECT(F, mr, 64) DIRECT(F, mr, 32) DIRECT(F, mr, 16)
#define DIRECTS(F) DIRECT3(F, 1) DIRECT3(F, 2) DIRECT3(F, 3) DIRECT3(F, 4) DIRECT3(F, 5) DIRECT3(F, 6)
#define DIRECT_ROW(F, mr) [mr] = { direct##F##mr##_64, direct##F##mr##_32, direct##F##mr##_16 }
#define DIRECT_ROWS(F) { { DIRECT_ROW(F, 1), DIRECT_ROW(F, 2), DIRECT_ROW(F, 3), DIRECT_ROW(F, 4), DIRECT_ROW(F, 5), DIRECT_ROW(F, 6) } }
#endif

enum { MAX_DIRECT = VC_TIER_LEVEL >= 1 ? 12 : 0 };     /* rows up to which the panel is widened in registers */
enum { DIRECT_KC = 128 };                             /* then a cache block of the panel stays in the first cache */
#if VC_TIER_LEVEL >= 1
DIRECTS(BF16) DIRECTS(F16) DIRECTS(F32)
static const struct tiles direct_bf16 = DIRECT_ROWS(BF16), direct_f16 = DIRECT_ROWS(F16), direct_f32 = DIRECT_ROWS(F32);
static const struct tiles *direct_tiles(enum vc_dtype t) { return t == VC_BF16 ? &direct_bf16 : t == VC_F16 ? &direct_f16 : &direct_f32; }
#else
static const struct tiles *direct_tiles(enum vc_dtype t) { (void)t; return NULL; }
#endif

/* ---- the call ---- */
static size_t up16(size_t floats) { return (floats + 15) & ~(size_t)15; }

static void store(const struct pair_job *j, uint32_t r0, uint32_t r1, uint32_t n0, uint32_t n1, float *tot) {
    const struct vc_op_call *c = j->ctx;
    const struct vc_view *y = &c->out[0];
    const float *bias = c->in[2].data;
    for (uint32_t r = r0; r < r1; r++, tot += VC_PANEL_COLS) {
        char *row = (char *)y->data + (size_t)r * y->stride;
        for (uint32_t n = n0; n < n1; n += 16) {
            const uint32_t len = VC_MIN(16u, n1 - n);
            vc_vf v = vc_vf_load(tot + (n - n0));
            if (bias) v = vc_vf_add(v, len == 16 ? vc_vf_load(bias + n) : vc_vf_load_n(bias + n, len));
            if (len == 16) vc_vf_store_as(y->dtype, row, n, v);
            else vc_vf_store_as_n(y->dtype, row, n, v, len);
        }
    }
}

static struct row_source rows_of(const struct vc_view *x) {
    return (struct row_source){ x->dtype, x->data, x->stride, NULL, x->cols };
}

static struct pair_job job_of(const struct vc_op_call *c, enum vc_dtype panel, int dp) {
    const struct vc_view *x = &c->in[0], *w = &c->in[1];
    struct pair_job j = { .buf = &buf_tiles, .format = panel, .order = ODD_FIRST, .packed_bf16 = dp, .M = x->rows, .N = w->rows,
                          .kp = vc_panel_kp(x->cols), .kblock = vc_kblock(x->cols), .step = LOOP_KC, .w = w->data, .done = store, .ctx = c };
#if VC_TIER_LEVEL == 2
    if (dp) j.direct = &dp_tiles;
#endif
#if VC_TILE_MULADD
    if (x->dtype != VC_F32 && panel != VC_F32) j.buf = &muladd_tiles;
#endif
    if (!dp && j.M <= MAX_DIRECT) j.direct = direct_tiles(panel);
    if (j.direct && j.M <= MAX_DIRECT) j.step = DIRECT_KC;
    return j;
}
static void pack(const struct pair_job *j, const struct row_source *s, size_t p0, size_t p1, float *a) {
    if (j->packed_bf16) pack_rows_bf16(s, j->M, j->kp, p0, p1, a);
    else pack_rows(s, j->M, j->kp, j->order, p0, p1, a);
}
static void product(struct pair_job *j, uint32_t part, uint32_t parts) {
    uint64_t lo, hi;
    vc_share(j->N, 16, part, parts, &lo, &hi);
    loop_outputs(j, lo, hi);
}

static void few(const struct vc_op_call *c, uint32_t part, uint32_t parts, enum vc_dtype panel, int dp) {
    struct pair_job j = job_of(c, panel, dp);
    const struct row_source s = rows_of(&c->in[0]);
    const size_t rows = up16(MATMUL_FEW * j.kp);
    float *own = (float *)c->scratch + (size_t)part * (rows + LOOP_FLOATS);
    pack(&j, &s, 0, j.kp, own);
    j.a = own;
    j.scratch = own + rows;
    product(&j, part, parts);
}
static void many_pack(const struct vc_op_call *c, uint32_t part, uint32_t parts, enum vc_dtype panel, int dp) {
    const struct pair_job j = job_of(c, panel, dp);
    const struct row_source s = rows_of(&c->in[0]);
    uint64_t p0, p1;
    vc_share(j.kp, 64, part, parts, &p0, &p1);
    pack(&j, &s, p0, p1, c->scratch);
}
static void many(const struct vc_op_call *c, uint32_t part, uint32_t parts, enum vc_dtype panel, int dp) {
    struct pair_job j = job_of(c, panel, dp);
    j.a = c->scratch;
    j.scratch = (float *)c->scratch + up16(j.M * j.kp) + (size_t)part * LOOP_FLOATS;
    product(&j, part, parts);
}

size_t VC_K(vc_pair_few_scratch)(const struct vc_dims *d, uint32_t parts);
size_t VC_K(vc_pair_few_scratch)(const struct vc_dims *d, uint32_t parts) {
    return parts * (up16(MATMUL_FEW * vc_panel_kp(d->K)) + LOOP_FLOATS) * sizeof(float);
}
size_t VC_K(vc_pair_many_scratch)(const struct vc_dims *d, uint32_t parts);
size_t VC_K(vc_pair_many_scratch)(const struct vc_dims *d, uint32_t parts) {
    return (up16(d->max_rows * vc_panel_kp(d->K)) + (size_t)parts * LOOP_FLOATS) * sizeof(float);
}

#define ENTRY(name, fn, panel, dp)                                                                                     \
    vc_op_fn VC_K(name);                                                                                               \
    void VC_K(name)(const struct vc_op_call *c, uint32_t part, uint32_t parts) { fn(c, part, parts, panel, dp); }
ENTRY(vc_pair_few_bf16, few, VC_BF16, 0)
ENTRY(vc_pair_few_f16, few, VC_F16, 0)
ENTRY(vc_pair_few_f32, few, VC_F32, 0)
ENTRY(vc_pair_pack, many_pack, VC_BF16, 0)            /* the rows' packing does not depend on the panel */
ENTRY(vc_pair_many_bf16, many, VC_BF16, 0)
ENTRY(vc_pair_many_f16, many, VC_F16, 0)
ENTRY(vc_pair_many_f32, many, VC_F32, 0)
#if VC_TIER_LEVEL == 2
ENTRY(vc_pair_few_dp, few, VC_BF16, 1)
ENTRY(vc_pair_pack_dp, many_pack, VC_BF16, 1)
ENTRY(vc_pair_many_dp, many, VC_BF16, 1)
#endif
