/* SPDX-License-Identifier: Apache-2.0
 * MATMUL, core iblk: one row straight from the panel; two and more over chunks that are unpacked once for up to ROWS rows.
 * Threads share panels of 32 columns. Tiles: iblk_tile.h; the portable tier: iblk_plain.h; the greatest output alone: iblk_max.h. */
#include "kern/cpu/simd.h"
#include "base/ckd.h"
#include "base/pool.h"
#include "kern/cpu/iblk.h"
#include "op/kblock.h"

vc_op_fn VC_K(vc_matmul_iblk_row), VC_K(vc_matmul_iblk_arrange), VC_K(vc_matmul_iblk);
size_t VC_K(vc_matmul_iblk_scratch)(const struct vc_dims *d, uint32_t parts);

/* Columns of panel p of one row, from f32, with bias and rounding. */
VC_INLINE void store_row(const struct vc_iblk_job *j, uint32_t row, uint32_t p, const float *y) {
    const uint32_t c0 = p * VC_IBLK_COLS, n = VC_MIN(j->N - c0, (uint32_t)VC_IBLK_COLS);
    char *out = j->y + (size_t)row * j->y_stride;
    for (uint32_t c = 0; c < n; c += 16) {
        vc_vf v = vc_vf_load(y + c);
        if (n - c >= 16) {
            if (j->bias) v = vc_vf_add(v, vc_vf_load(j->bias + c0 + c));
            vc_vf_store_as(j->out, out, c0 + c, v);
        } else {
            if (j->bias) v = vc_vf_add(v, vc_vf_load_n(j->bias + c0 + c, n - c));
            vc_vf_store_as_n(j->out, out, c0 + c, v, n - c);
        }
    }
}
/* sum = acc for the first K block, else sum + acc; n floats, a multiple of 16. */
VC_INLINE void add_block(float *sum, const float *acc, uint32_t n, int first) {
    for (uint32_t i = 0; i < n; i += 16) {
        const vc_vf a = vc_vf_load(acc + i);
        vc_vf_store(sum + i, first ? a : vc_vf_add(vc_vf_load(sum + i), a));
    }
}
static inline const char *row_of(const struct vc_iblk_job *j, uint32_t r) {
    return j->x + (size_t)(j->x_rows ? j->x_rows[r] : r) * j->x_stride;
}

#if VC_TIER_LEVEL == 0
#include "kern/cpu/iblk_plain.h"
#else
#include "kern/cpu/iblk_wide.h"
#include "kern/cpu/iblk_max.h"
#endif

static struct vc_iblk_job job_of(const struct vc_op_call *c) {
    struct vc_iblk_job j = {
        .weight = c->in[1].dtype, .out = c->out[0].dtype, .M = c->in[0].rows, .N = c->in[1].rows, .K = c->in[1].cols,
        .x = c->in[0].data, .x_stride = c->in[0].stride, .bias = c->in[2].data,
        .y = c->out[0].data, .y_stride = c->out[0].stride,
    };
    vc_iblk_at(&j, c->in[1].data, j.N, 0);
    return j;
}
static void share_panels(const struct vc_iblk_job *j, uint32_t part, uint32_t parts, uint32_t *p0, uint32_t *p1) {
    uint64_t lo, hi;
    vc_share(vc_iblk_num_panels(j->N), 1, part, parts, &lo, &hi);
    *p0 = (uint32_t)lo;
    *p1 = (uint32_t)hi;
}

/* Scratch: this thread's memory for each part, then the arranged rows (one row: for each part its own, inside). */
size_t VC_K(vc_matmul_iblk_scratch)(const struct vc_dims *d, uint32_t parts) {
    return (size_t)parts * (VC_IBLK_OWN + vc_iblk_acts(1, d->K)) + vc_iblk_acts(d->max_rows, d->K);
}
static char *own_of(const struct vc_op_call *c, uint32_t K, uint32_t part) {
    return (char *)c->scratch + (size_t)part * (VC_IBLK_OWN + vc_iblk_acts(1, K));
}

/* One row: each part arranges it for itself, so there is no barrier. */
void VC_K(vc_matmul_iblk_row)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_iblk_job j = job_of(c);
    uint32_t p0, p1;
    share_panels(&j, part, parts, &p0, &p1);
    if (p0 == p1) return;
    char *own = own_of(c, j.K, part);
    VC_K(vc_iblk_rows)(&j, own + VC_IBLK_OWN, 0, 1);
    VC_K(vc_iblk_panels)(&j, own + VC_IBLK_OWN, own, p0, p1);
}

void VC_K(vc_matmul_iblk_arrange)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_iblk_job j = job_of(c);
    uint64_t lo, hi;
    vc_share(j.M, VC_IBLK_ROWS, part, parts, &lo, &hi);
    VC_K(vc_iblk_rows)(&j, own_of(c, j.K, parts), (uint32_t)lo, (uint32_t)hi);
}

void VC_K(vc_matmul_iblk)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_iblk_job j = job_of(c);
    uint32_t p0, p1;
    share_panels(&j, part, parts, &p0, &p1);
    VC_K(vc_iblk_panels)(&j, own_of(c, j.K, parts), own_of(c, j.K, part), p0, p1);
}

#if VC_TIER_LEVEL > 0
vc_op_fn VC_K(vc_matmul_iblk_screen), VC_K(vc_matmul_iblk_refine);
bool VC_K(vc_matmul_iblk_wide)(const struct vc_contract *c, const struct vc_dims *d);
size_t VC_K(vc_matmul_iblk_max_scratch)(const struct vc_dims *d, uint32_t parts);

/* Screening pays where the weights are many; two passes cost a barrier. */
bool VC_K(vc_matmul_iblk_wide)(const struct vc_contract *c, const struct vc_dims *d) {
    (void)c;
    return d->N >= 8192;
}

/* Of each part, beside what a row needs: sums per block, then all parts' bests. */
static size_t max_bytes(uint32_t K) { return vc_round_up((size_t)K / 32 * 2 * sizeof(float), 64); }
size_t VC_K(vc_matmul_iblk_max_scratch)(const struct vc_dims *d, uint32_t parts) {
    return VC_K(vc_matmul_iblk_scratch)(d, parts) + parts * (max_bytes(d->K) + 64);
}
static char *max_of(const struct vc_op_call *c, uint32_t K, uint32_t parts, uint32_t part) {
    return own_of(c, K, parts) + vc_iblk_acts(1, K) + part * (max_bytes(K) + 64);
}

void VC_K(vc_matmul_iblk_screen)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_iblk_job j = job_of(c);
    const struct vc_matmul_args *args = c->args;
    uint32_t p0, p1;
    if (!args->max_only) {
        VC_K(vc_matmul_iblk_row)(c, part, parts);
        return;
    }
    share_panels(&j, part, parts, &p0, &p1);
    char *own = own_of(c, j.K, part), *mine = max_of(c, j.K, parts, part);
    VC_K(vc_iblk_rows)(&j, own + VC_IBLK_OWN, 0, 1);
    max_screen(&j, own + VC_IBLK_OWN, (void *)own, (float *)(void *)(mine + 64), (struct max_part *)(void *)mine, p0, p1);
}

void VC_K(vc_matmul_iblk_refine)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_iblk_job j = job_of(c);
    const struct vc_matmul_args *args = c->args;
    uint32_t p0, p1;
    if (!args->max_only) return;
    share_panels(&j, part, parts, &p0, &p1);
    float best = -INFINITY;
    for (uint32_t i = 0; i < parts; i++) best = VC_MAX(best, ((struct max_part *)(void *)max_of(c, j.K, parts, i))->best);
    char *own = own_of(c, j.K, part);
    max_refine(&j, own + VC_IBLK_OWN, (void *)own, (struct max_part *)(void *)max_of(c, j.K, parts, part), best, p0, p1);
}
#endif
