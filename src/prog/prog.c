/* SPDX-License-Identifier: Apache-2.0
 * prog.c: building and running a program. The memory plan is in plan.c, its text in print.c. */
#include "prog/prog_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"

vc_status vc_prog_new(struct vc_prog **out, struct vc_dev *dev, const struct vc_numerics *n, uint32_t max_tokens, uint32_t max_out, uint32_t max_seqs, vc_err *err) {
    struct vc_prog *p = calloc(1, sizeof *p);
    *out = p;
    if (!p) return vc_fail(err, VC_E_NOMEM, "out of memory for the program");
    p->dev = dev;
    p->numerics = *n;
    p->max_tokens = max_tokens;
    p->max_out = max_out;
    p->max_seqs = max_seqs;
    p->head_at = UINT32_MAX;
    return VC_OK;
}

void vc_prog_del(struct vc_prog *p) {
    if (!p) return;
    if (p->workspace) p->dev->be->free(p->dev, p->workspace, p->workspace_bytes);
    free(p->streams);
    free(p->weights);
    free(p->lines);
    vc_arena_free(&p->arena);
    free(p);
}

/* Makes room for one more element of *array; false marks the program failed (seen by vc_prog_plan). */
static bool grow(struct vc_prog *p, void **array, uint32_t n, size_t size) {
    if (n & (n - 1)) return true;                      /* full only at powers of two */
    void *q = realloc(*array, (n ? (size_t)n * 2 : 1) * size);
    if (!q) return !(p->failed = true);
    *array = q;
    return true;
}

uint32_t vc_prog_stream_bytes(struct vc_prog *p, uint32_t cols, enum vc_dtype dtype, size_t row_bytes, enum vc_rows rows) {
    void *a = p->streams;
    if (!grow(p, &a, p->num_streams, sizeof *p->streams)) return 0;
    p->streams = a;
    p->streams[p->num_streams] = (struct stream){ .cols = cols, .dtype = dtype, .stride = vc_round_up(row_bytes, 64), .rows = rows,
                                                  .first = UINT32_MAX };
    return p->num_streams++;
}

uint32_t vc_prog_stream(struct vc_prog *p, uint32_t cols, enum vc_dtype dtype, enum vc_rows rows) {
    return vc_prog_stream_bytes(p, cols, dtype, (size_t)cols * vc_dtype_info(dtype)->bytes, rows);
}

uint32_t vc_prog_weight(struct vc_prog *p, const struct vc_view *w) {
    void *a = p->weights;
    if (!grow(p, &a, p->num_weights, sizeof *p->weights)) return 0;
    p->weights = a;
    p->weights[p->num_weights] = *w;
    return p->num_weights++;
}

/* After a failure, which vc_prog_plan reports, there may be no stream at all. */
enum vc_dtype vc_prog_dtype(const struct vc_prog *p, uint32_t s) { return s < p->num_streams ? p->streams[s].dtype : VC_F32; }
uint32_t vc_prog_cols(const struct vc_prog *p, uint32_t s) { return s < p->num_streams ? p->streams[s].cols : 0; }
void vc_prog_keep(struct vc_prog *p, uint32_t s) {
    if (s < p->num_streams) p->streams[s].keep = true;
}
void vc_prog_begin_head(struct vc_prog *p) { p->head_at = p->num_lines; }
void vc_prog_set_kv(struct vc_prog *p, const struct vc_kv_pool *kv) { p->kv = *kv; }
size_t vc_prog_workspace(const struct vc_prog *p) { return p->workspace_bytes; }

void vc_prog_set_probe(struct vc_prog *p, vc_probe_fn *fn, void *ctx) {
    p->probe = fn;
    p->probe_ctx = ctx;
}

void vc_prog_line(struct vc_prog *p, const struct vc_line_spec *s) {
    void *a = p->lines;
    if (!grow(p, &a, p->num_lines, sizeof *p->lines)) return;
    p->lines = a;
    struct line *l = &p->lines[p->num_lines++];
    *l = (struct line){ .op = s->op, .core = s->core, .dims = s->dims };
    memcpy(l->in, s->in, sizeof l->in);
    memcpy(l->out, s->out, sizeof l->out);
    l->label = vc_arena_strdup(&p->arena, s->label ? s->label : "");
    if (s->args_bytes) {
        l->args = vc_arena_alloc(&p->arena, s->args_bytes, 16);
        if (l->args) memcpy(l->args, s->args, s->args_bytes);
    }
    if (p->arena.failed) p->failed = true;
}

static uint32_t rows_of(const struct stream *s, uint32_t n_tok, uint32_t n_out) { return s->rows == VC_ROWS_TOKENS ? n_tok : n_out; }

struct vc_view vc_prog_view(const struct vc_prog *p, uint32_t id, uint32_t rows) {
    const struct stream *s = &p->streams[id];
    return (struct vc_view){ .data = p->workspace + s->offset, .stride = s->stride, .rows = rows, .cols = s->cols, .dtype = s->dtype };
}

static struct vc_view stream_view(const struct vc_prog *p, const struct vc_operand *o, uint32_t n_tok, uint32_t n_out) {
    struct vc_view v = vc_prog_view(p, o->id, rows_of(&p->streams[o->id], n_tok, n_out));
    if (o->cols) {
        v.data = (char *)v.data + (size_t)o->col0 * vc_dtype_info(v.dtype)->bytes;
        v.cols = o->cols;
    }
    return v;
}

static struct vc_view array_view(const void *data, uint32_t rows, enum vc_dtype dtype) {
    return (struct vc_view){ .data = (void *)(uintptr_t)data, .stride = vc_dtype_info(dtype)->bytes, .rows = rows, .cols = 1, .dtype = dtype };
}

static struct vc_view input_view(const struct vc_batch *b, const struct vc_operand *o, uint32_t first_out, uint32_t n_out) {
    uint32_t id = o->id;
    switch (id) {
        case VC_INPUT_EMBED_AT: return array_view(b->embed_at, b->n_tok, VC_I32);
        case VC_INPUT_SLOTS: return array_view(b->slots + o->group * b->slot_stride, b->n_tok, VC_I64);
        case VC_INPUT_OUT_ROWS: return array_view(b->out_rows + first_out, n_out, VC_I32);
        case VC_INPUT_ROW_SCALE: return array_view(b->row_scale, b->n_tok, VC_F32);
        default: break;
    }
    if (id >= VC_INPUT_ROPE_ROWS) return b->rope_rows[id - VC_INPUT_ROPE_ROWS];
    return b->rope_table[id - VC_INPUT_ROPE_TABLE];
}

static struct vc_view view_of(const struct vc_prog *p, const struct vc_operand *o, const struct vc_batch *b, uint32_t first_out, uint32_t n_out) {
    switch (o->kind) {
        case VC_OPND_STREAM: return stream_view(p, o, b->n_tok, n_out);
        case VC_OPND_WEIGHT: return p->weights[o->id];
        case VC_OPND_INPUT: return input_view(b, o, first_out, n_out);
        case VC_OPND_KV:
            return (struct vc_view){ .data = p->kv.base + o->id * p->kv.place_bytes, .stride = p->kv.page_bytes, .rows = p->kv.pages,
                                     .cols = (uint32_t)(p->kv.page_bytes / vc_dtype_info(p->kv.dtype)->bytes), .dtype = p->kv.dtype };
        case VC_OPND_NONE: break;
    }
    return (struct vc_view){ .dtype = VC_F32 };
}

static void enqueue(struct vc_prog *p, uint32_t from, uint32_t to, const struct vc_batch *b, uint32_t first_out, uint32_t n_out) {
    for (uint32_t i = from; i < to; i++) {
        struct line *l = &p->lines[i];
        for (int k = 0; k < VC_MAX_IN; k++) l->call.in[k] = view_of(p, &l->in[k], b, first_out, n_out);
        for (int k = 0; k < VC_MAX_OUT; k++) l->call.out[k] = view_of(p, &l->out[k], b, first_out, n_out);
        l->call.args = l->args;
        if (l->op == VC_OP_ATTENTION) {
            struct vc_attention_args *a = l->args;
            a->seqs = b->seqs + l->in[1].group * b->seq_stride;
            a->num_seqs = b->n_seqs;
        }
        if (l->op == VC_OP_MATMUL) ((struct vc_matmul_args *)l->args)->max_only = b->max_only && i >= p->head_at;
        p->dev->be->enqueue(p->dev, l->kernel, &l->call);
        if (p->probe) {
            p->dev->be->sync(p->dev);
            p->probe(p->probe_ctx, l->label, &l->call.out[0]);
        }
    }
}

bool vc_prog_finds_max(const struct vc_prog *p) {
    const struct line *l = p->num_lines ? &p->lines[p->num_lines - 1] : NULL;
    return l && p->head_at < p->num_lines && l->op == VC_OP_MATMUL && p->dev->be->finds_max(p->dev, l->kernel, 1);
}

void vc_prog_run(struct vc_prog *p, const struct vc_batch *b) {
    uint32_t body = p->head_at < p->num_lines ? p->head_at : p->num_lines, n = VC_MIN(b->n_out, p->max_out);
    enqueue(p, 0, body, b, 0, n);
    if (n) enqueue(p, body, p->num_lines, b, 0, n);
    p->dev->be->sync(p->dev);
}

void vc_prog_run_head(struct vc_prog *p, const struct vc_batch *b, uint32_t first, uint32_t n) {
    enqueue(p, VC_MIN(p->head_at, p->num_lines), p->num_lines, b, first, n);
    p->dev->be->sync(p->dev);
}
