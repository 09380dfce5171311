/* SPDX-License-Identifier: Apache-2.0
 * matmul_pair.c: matmul by the pair core, any of f32, bf16, f16 by any of them: y = x w^T + bias.
 * Rows of the table: few (up to MATMUL_FEW rows: every thread packs the rows for itself, one phase) and many (packing
 * shared, then the product); dp is bf16 by bf16 through vdpbf16ps. All give the bits of op/ref/matmul.c. */
#include "kern/cpu/pair_loop.h"

#include "dev/kernel.h"
#include "op/kblock.h"

enum { MATMUL_FEW = 8 };

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
    struct pair_job j = { .format = panel,
                          .order = ODD_FIRST,
                          .packed_bf16 = dp,
                          .M = x->rows,
                          .N = w->rows,
                          .kp = vc_panel_kp(x->cols),
                          .kblock = vc_kblock(x->cols),
                          .w = w->data,
                          .done = store,
                          .ctx = c };
    VC_K(vc_pair_choose)(&j, x->dtype);
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
