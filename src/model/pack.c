/* SPDX-License-Identifier: Apache-2.0
 * pack.c: repacking runs once, in parallel over pieces of a weight's rows; source pages are dropped as they are read.
 * Where the device has no packer for a core (then op/ref computes it), the rows are kept as plain rows of the format. */
#include "model/pack.h"

#include <string.h>

#include "base/ckd.h"
#include "num/block.h"
#include "num/half.h"

struct pack_plan {
    struct pack_plan *next;
    const struct vc_packer *packer;          /* NULL: plain rows */
    const struct vc_tensor **t;              /* [experts * n] */
    uint32_t n, experts;
    struct vc_view *view;                    /* the one that prog will copy */
    size_t offset, expert_bytes;
};

float vc_cast_value(enum vc_dtype cast, float x) {
    if (cast == VC_BF16) return vc_bf16_f32(vc_f32_bf16(x));
    if (cast == VC_F16) return vc_f16_f32(vc_f32_f16(x));
    return x;
}

vc_status vc_pack_plan(struct vc_weights *w, enum vc_op op, enum vc_arith core, const struct vc_tensor *const *t, uint32_t n, uint32_t experts,
                       struct vc_view *v, size_t *stride, vc_err *err) {
    struct pack_plan *p = VC_NEW(w->arena, struct pack_plan);
    const struct vc_tensor **copy = p ? vc_arena_array(w->arena, (size_t)n * experts, sizeof *copy) : NULL;
    if (!copy) return vc_fail(err, VC_E_NOMEM, "out of memory planning weights");
    memcpy(copy, t, (size_t)n * experts * sizeof *copy);
    *p = (struct pack_plan){ .next = w->plans, .t = copy, .n = n, .experts = experts, .view = v };
    p->packer = w->dev->be->packer(w->dev, op, core, v->dtype);
    uint64_t plain;
    if (p->packer) plain = p->packer->bytes(v->dtype, v->rows, v->cols);
    else if (vc_dtype_bytes(v->dtype, (uint64_t)v->rows * v->cols, &plain)) return vc_fail(err, VC_E_FORMAT, "tensor %s: its size overflows", t[0]->name);
    p->expert_bytes = vc_round_up(plain, 64);
    if (stride) *stride = p->expert_bytes;
    uint64_t bytes, end;
    if (vc_ckd_mul(&bytes, p->expert_bytes, experts) || vc_ckd_add(&end, w->region_bytes, bytes))
        return vc_fail(err, VC_E_FORMAT, "tensor %s: its size overflows", t[0]->name);
    p->offset = w->region_bytes;
    w->region_bytes = vc_round_up(end, 64);
    w->plans = p;
    w->num_plans++;
    return VC_OK;
}

vc_status vc_pack_place(struct vc_weights *w, vc_err *err) {
    w->region_bytes = vc_round_up(w->region_bytes + 4096, 4096);      /* kernels may read a vector past the end */
    w->region = w->dev->be->alloc(w->dev, w->region_bytes, VC_MEM_DENSE);
    if (!w->region) return vc_fail(err, VC_E_NOMEM, "out of memory for %zu bytes of weights", w->region_bytes);
    for (struct pack_plan *p = w->plans; p; p = p->next) {
        p->view->data = w->region + p->offset;
        bool whole = p->n == 1 && p->experts == 1 && p->t[0]->dtype == p->view->dtype;
        p->view->raw = whole ? p->t[0]->data : p->packer ? NULL : p->view->data;
    }
    return VC_OK;
}

/* Rows [row, row + n) of one tensor of one expert. */
struct piece { const struct pack_plan *plan; const struct vc_tensor *t; const uint8_t *raw; uint32_t rows, at; uint8_t *dst; };
enum { PIECE_ROWS = 256, MAX_PIECES = 4096 };

static void plain_rows(const struct piece *c) {
    const struct vc_view *v = c->plan->view;
    uint64_t n = (uint64_t)c->rows * v->cols, bytes = 0, at = 0;
    if (vc_dtype_bytes(v->dtype, n, &bytes) || vc_dtype_bytes(v->dtype, (uint64_t)c->at * v->cols, &at)) return;
    uint8_t *dst = c->dst + at;
    if (c->t->dtype == v->dtype) {
        memcpy(dst, c->raw, bytes);
        return;
    }
    float row[256];
    uint64_t src_step = 256 / vc_dtype_info(c->t->dtype)->block * vc_dtype_info(c->t->dtype)->bytes;
    for (uint64_t i = 0; i < n; i += 256) {
        uint64_t m = n - i < 256 ? n - i : 256;
        vc_decode(c->t->dtype, c->raw + i / 256 * src_step, m, row);
        for (uint64_t k = 0; k < m; k++) {
            if (v->dtype == VC_F32) memcpy(dst + (i + k) * 4, &row[k], 4);
            else {
                uint16_t h = v->dtype == VC_BF16 ? vc_f32_bf16(row[k]) : vc_f32_f16(row[k]);
                memcpy(dst + (i + k) * 2, &h, 2);
            }
        }
    }
}

static void pack_piece(void *ctx, uint32_t i) {
    const struct piece *c = (const struct piece *)ctx + i;
    const struct vc_view *v = c->plan->view;
    if (!c->plan->packer) {
        plain_rows(c);
        return;
    }
    struct vc_pack_job j = { .src = c->t->dtype, .panel = v->dtype, .raw = c->raw, .rows = c->rows, .K = v->cols, .N = v->rows, .at = c->at, .dst = c->dst };
    c->plan->packer->pack(&j);
}

/* Cuts a tensor at multiples of the packer's unit in the panel, so that no two pieces share a panel unit. Pieces of two
 * tensors that meet inside a unit are run in separate passes (`at` not a multiple of the unit). */
static uint32_t cut(const struct pack_plan *p, const struct vc_tensor *t, uint32_t first_row, uint32_t rows, uint32_t at, const uint8_t *raw, uint8_t *dst,
                    struct piece *out, uint32_t cap) {
    uint32_t unit = p->packer ? p->packer->unit : 1, n = 0, done = 0;
    uint64_t row_bytes = 0;
    if (vc_dtype_bytes(t->dtype, p->view->cols, &row_bytes)) return 0;
    while (done < rows) {
        uint32_t pos = at + done, end = (pos + PIECE_ROWS) / unit * unit;
        if (end <= pos || n + 1 == cap) end = at + rows;
        uint32_t take = VC_MIN(end - pos, rows - done);
        out[n++] = (struct piece){ p, t, raw + (size_t)(first_row + done) * row_bytes, take, pos, dst };
        done += take;
    }
    return n;
}

/* Tells the system that rows [first, first + rows) of a tensor have been read. */
static void drop_rows(const struct vc_weights *w, const struct vc_tensor *t, uint32_t first, uint32_t rows, uint64_t row_bytes) {
    struct vc_tensor part = *t;
    part.data = (const uint8_t *)t->data + first * row_bytes;
    part.offset += first * row_bytes;
    part.bytes = rows * row_bytes;
    vc_tensors_drop(w->tensors, &part);
}

/* Rows [first, first + rows) of a tensor to rows `at` … of the panel at dst, about a hundredth of the model at a time, so
 * that source and panel of a large tensor are never both in memory as a whole. */
static void pack_rows(struct vc_weights *w, const struct pack_plan *p, const struct vc_tensor *t, uint32_t first, uint32_t rows, uint32_t at, uint8_t *dst, struct piece *piece) {
    uint32_t unit = p->packer ? p->packer->unit : 1;
    uint64_t row_bytes = 0;
    if (vc_dtype_bytes(t->dtype, p->view->cols, &row_bytes)) return;
    uint64_t stretch = VC_MAX(w->region_bytes / 100, UINT64_C(1) << 20);
    uint64_t most = VC_MIN(VC_MAX(stretch / VC_MAX(row_bytes, 1u), (uint64_t)PIECE_ROWS), (uint64_t)PIECE_ROWS * (MAX_PIECES - 2));
    for (uint32_t done = 0; done < rows;) {
        uint32_t end = (uint32_t)((at + done + most) / unit * unit), take = VC_MIN(end - (at + done), rows - done);
        uint32_t n = cut(p, t, first + done, take, at + done, t->data, dst, piece, MAX_PIECES);
        w->dev->be->parallel(w->dev, n, pack_piece, piece);
        if (p->view->raw != t->data || p->packer) drop_rows(w, t, first + done, take, row_bytes);
        done += take;
    }
}

static void pack_one(struct vc_weights *w, const struct pack_plan *p, struct piece *piece) {
    for (uint32_t e = 0; e < p->experts; e++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < p->n; i++) {
            const struct vc_tensor *t = p->t[e * p->n + i];
            bool stacked = t->n_dims == 3;
            uint32_t rows = (uint32_t)(stacked ? t->dims[1] : t->dims[0]);
            pack_rows(w, p, t, stacked ? e * rows : 0, rows, at, w->region + p->offset + e * p->expert_bytes, piece);
            at += rows;
        }
    }
}

vc_status vc_weights_pack(struct vc_weights *w, void (*progress)(double, const char *, void *), void *arg, vc_err *err) {
    struct piece *piece = vc_arena_array(w->arena, MAX_PIECES, sizeof *piece);
    if (!piece) return vc_fail(err, VC_E_NOMEM, "out of memory packing weights");
    uint32_t done = 0;
    for (const struct pack_plan *p = w->plans; p; p = p->next) {
        pack_one(w, p, piece);
        if (progress) progress((double)++done / w->num_plans, "loading weights", arg);
    }
    vc_tensors_drop_all(w->tensors);       /* what shares a page with others: norms, the edges of tensors */
    return VC_OK;
}
