/* SPDX-License-Identifier: Apache-2.0
 * plan.c: kernels for every line, and a place in the workspace for every stream.
 * Placement is first fit over streams in the order of their first use: a stream takes the lowest offset that is free
 * from its first to its last line. */
#include <stdlib.h>

#include "base/ckd.h"
#include "op/rowwise.h"
#include "prog/prog_int.h"

static void use(struct vc_prog *p, const struct vc_operand *o, uint32_t line) {
    if (o->kind != VC_OPND_STREAM) return;
    struct stream *s = &p->streams[o->id];
    if (s->first == UINT32_MAX) s->first = line;
    s->last = line;
}

/* Time is the index of a line, but a run of row-wise lines is one moment: workers may be at different lines of it. */
static void find_lifetimes(struct vc_prog *p) {
    uint32_t moment = 0;
    for (uint32_t i = 0; i < p->num_lines; i++) {
        bool joins = i > 0 && i != p->head_at && vc_op_rowwise(p->lines[i].op).in && vc_op_rowwise(p->lines[i - 1].op).in;
        if (!joins) moment = i;
        for (int k = 0; k < VC_MAX_IN; k++) use(p, &p->lines[i].in[k], moment);
        for (int k = 0; k < VC_MAX_OUT; k++) use(p, &p->lines[i].out[k], moment);
    }
    for (uint32_t i = 0; i < p->num_streams; i++) {
        struct stream *s = &p->streams[i];
        bool body = s->first < p->head_at, head = s->last >= p->head_at && s->first != UINT32_MAX;
        if (s->keep || (body && head)) s->last = UINT32_MAX;       /* the head may run again */
        if (s->keep && s->first != UINT32_MAX) s->first = 0;
    }
}

static size_t bytes_of(const struct vc_prog *p, const struct stream *s) {
    return s->stride * (s->rows == VC_ROWS_TOKENS ? p->max_tokens : p->max_out);
}

static bool meet(const struct stream *a, const struct stream *b) { return a->first <= b->last && b->first <= a->last; }

static void place(struct vc_prog *p, const uint32_t *order, uint32_t i) {
    struct stream *s = &p->streams[order[i]];
    size_t need = bytes_of(p, s), at = 0;
    for (bool moved = true; moved;) {                              /* raise `at` until nothing alive overlaps */
        moved = false;
        for (uint32_t j = 0; j < i; j++) {
            const struct stream *o = &p->streams[order[j]];
            size_t end = o->offset + bytes_of(p, o);
            if (meet(s, o) && at < end && o->offset < at + need) {
                at = end;
                moved = true;
            }
        }
    }
    s->offset = at;
    if (at + need > p->workspace_bytes) p->workspace_bytes = at + need;
}

static vc_status place_all(struct vc_prog *p, vc_err *err) {
    uint32_t *order = malloc((p->num_streams + 1) * sizeof *order), n = 0;
    if (!order) return vc_fail(err, VC_E_NOMEM, "out of memory planning the workspace");
    for (uint32_t i = 0; i < p->num_streams; i++)
        if (p->streams[i].first != UINT32_MAX) order[n++] = i;
    for (uint32_t i = 1; i < n; i++)                               /* insertion sort by first use; nearly sorted already */
        for (uint32_t j = i; j > 0 && p->streams[order[j]].first < p->streams[order[j - 1]].first; j--) {
            uint32_t t = order[j];
            order[j] = order[j - 1];
            order[j - 1] = t;
        }
    for (uint32_t i = 0; i < n; i++) place(p, order, i);
    free(order);
    p->workspace_bytes = vc_round_up(p->workspace_bytes + 4096, 4096);   /* kernels may read a vector past the last row */
    p->workspace = p->dev->be->alloc(p->dev, p->workspace_bytes, VC_MEM_SPARSE);
    if (!p->workspace) return vc_fail(err, VC_E_NOMEM, "out of memory for a workspace of %zu bytes", p->workspace_bytes);
    return VC_OK;
}

static enum vc_dtype format_of(const struct vc_prog *p, const struct vc_operand *o, enum vc_dtype none) {
    switch (o->kind) {
        case VC_OPND_STREAM: return p->streams[o->id].dtype;
        case VC_OPND_WEIGHT: return p->weights[o->id].dtype;
        case VC_OPND_KV: return (enum vc_dtype)p->numerics.slot[VC_SLOT_KV];
        case VC_OPND_INPUT:
            if (o->id >= VC_INPUT_ROPE_TABLE && o->id < VC_INPUT_ROPE_ROWS) return (enum vc_dtype)p->numerics.slot[VC_SLOT_ROPE_TABLE];
            return none;
        default: return none;
    }
}

static vc_status prepare(struct vc_prog *p, struct line *l, bool head, vc_err *err) {
    struct vc_contract c;
    vc_contract_make(&c, &p->numerics, l->op, l->core);
    l->dims.max_rows = head && l->op != VC_OP_GATHER ? p->max_out : p->max_tokens;
    l->dims.max_seqs = p->max_seqs;
    l->dims.args = l->args;
    l->dims.in0 = format_of(p, &l->in[0], VC_I32);
    bool weighted = l->op == VC_OP_MOE;                            /* its first weight is in[3] */
    l->dims.weight = format_of(p, &l->in[weighted ? 3 : 1], VC_F32);
    l->dims.out0 = format_of(p, &l->out[0], VC_F32);
    vc_status s = p->dev->be->prepare(p->dev, &c, &l->dims, &l->kernel, err);
    if (s != VC_OK) vc_fail_prefix(err, "%s", l->label);
    return s;
}

vc_status vc_prog_plan(struct vc_prog *p, vc_err *err) {
    if (p->failed) return vc_fail(err, VC_E_NOMEM, "out of memory building the program");
    find_lifetimes(p);
    VC_TRY(place_all(p, err));
    for (uint32_t i = 0; i < p->num_lines; i++) VC_TRY(prepare(p, &p->lines[i], i >= p->head_at, err));
    return VC_OK;
}
