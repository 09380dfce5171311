/* SPDX-License-Identifier: Apache-2.0
 * prog.h: a model as a list of op lines over streams, with a memory plan, run once per step.
 * Building: declare streams and weights, append lines, then vc_prog_plan. Running: vc_prog_run with a batch.
 * A stream has one row per token of the step (or per output row) and is placed in one workspace; streams whose
 * lifetimes do not meet share bytes. Owner: the engine thread. */
#ifndef VC_PROG_PROG_H
#define VC_PROG_PROG_H

#include "base/arena.h"
#include "dev/dev.h"

enum vc_rows { VC_ROWS_TOKENS, VC_ROWS_OUT };
enum vc_operand_kind { VC_OPND_NONE, VC_OPND_STREAM, VC_OPND_WEIGHT, VC_OPND_INPUT, VC_OPND_KV };
/* What a batch brings. Rope inputs exist per rope set (k = 0, 1). */
enum vc_input {
    VC_INPUT_EMBED_AT, VC_INPUT_SLOTS, VC_INPUT_OUT_ROWS, VC_INPUT_ROW_SCALE,
    VC_INPUT_ROPE_TABLE, VC_INPUT_ROPE_ROWS = VC_INPUT_ROPE_TABLE + 2, VC_NUM_INPUTS = VC_INPUT_ROPE_ROWS + 2
};

/* Columns [col0, col0 + cols) of a stream (cols 0: all), a weight, an input, or a layer's cache: its place in a page of its
 * KV group. The slots of an input, and the block tables of a cache, are those of `group`. */
struct vc_operand { enum vc_operand_kind kind; uint32_t id, col0, cols, group; };
static inline struct vc_operand vc_stream(uint32_t id) { return (struct vc_operand){ VC_OPND_STREAM, id, 0, 0, 0 }; }
static inline struct vc_operand vc_columns(uint32_t id, uint32_t col0, uint32_t cols) { return (struct vc_operand){ VC_OPND_STREAM, id, col0, cols, 0 }; }
static inline struct vc_operand vc_weight(uint32_t id) { return (struct vc_operand){ VC_OPND_WEIGHT, id, 0, 0, 0 }; }
static inline struct vc_operand vc_input(uint32_t id) { return (struct vc_operand){ VC_OPND_INPUT, id, 0, 0, 0 }; }
static inline struct vc_operand vc_slots(uint32_t group) { return (struct vc_operand){ VC_OPND_INPUT, VC_INPUT_SLOTS, 0, 0, group }; }
static inline struct vc_operand vc_kv(uint32_t group, uint32_t place) { return (struct vc_operand){ VC_OPND_KV, place, 0, 0, group }; }

/* One line as the builder gives it. */
struct vc_line_spec {
    enum vc_op op;
    enum vc_arith core;
    struct vc_operand in[VC_MAX_IN], out[VC_MAX_OUT];
    const void *args;                  /* copied */
    size_t args_bytes;
    struct vc_dims dims;               /* geometry; formats and max_rows are filled in */
    const char *label;                 /* probe point of the output, "l12.attn.q_rope"; copied */
};

/* Everything that changes from step to step. Arrays are borrowed until the run returns. */
struct vc_batch {
    uint32_t n_tok, n_out, n_seqs;
    const int32_t *ids, *embed_at, *out_rows;      /* embed_at: a token's row in the table that the program reads */
    const int64_t *slots;              /* of KV group g: from slots + g * slot_stride */
    const float *row_scale;
    const struct vc_attn_seq *seqs;    /* of KV group g: from seqs + g * seq_stride */
    size_t slot_stride, seq_stride;
    bool max_only;                     /* of the head's outputs only each row's greatest is read (vc_matmul_args) */
    struct vc_view rope_table[2], rope_rows[2];
};

/* The paged cache (layout: op/args.h). A page belongs to one KV group at a time and holds the keys and values of each of
 * its layers, at most `places` of them: those of place l at base + l * place_bytes + page * page_bytes. */
struct vc_kv_pool { uint8_t *base; size_t place_bytes, page_bytes, bytes; enum vc_dtype dtype; uint32_t places, pages; struct vc_kv_geom geom; };

struct vc_prog;
/* Called after a line ran, when probes are on; view = its output. */
typedef void vc_probe_fn(void *ctx, const char *label, const struct vc_view *out);

vc_status vc_prog_new(struct vc_prog **out, struct vc_dev *dev, const struct vc_numerics *n, uint32_t max_tokens, uint32_t max_out, uint32_t max_seqs, vc_err *err);
void vc_prog_del(struct vc_prog *p);
uint32_t vc_prog_stream(struct vc_prog *p, uint32_t cols, enum vc_dtype dtype, enum vc_rows rows);
uint32_t vc_prog_stream_bytes(struct vc_prog *p, uint32_t cols, enum vc_dtype dtype, size_t row_bytes, enum vc_rows rows);  /* row layout of its own */
uint32_t vc_prog_weight(struct vc_prog *p, const struct vc_view *w);
enum vc_dtype vc_prog_dtype(const struct vc_prog *p, uint32_t stream);
uint32_t vc_prog_cols(const struct vc_prog *p, uint32_t stream);
void vc_prog_line(struct vc_prog *p, const struct vc_line_spec *s);
void vc_prog_keep(struct vc_prog *p, uint32_t stream);         /* its bytes are not shared: read after the run */
/* Lines appended from here on are the head: they run over output rows, in pieces of at most max_out. */
void vc_prog_begin_head(struct vc_prog *p);
vc_status vc_prog_plan(struct vc_prog *p, vc_err *err);        /* prepares kernels, allocates the workspace */
/* Planned: the head is a matmul whose kernel for one row heeds max_only, and nothing after it. */
bool vc_prog_finds_max(const struct vc_prog *p);
size_t vc_prog_workspace(const struct vc_prog *p);
void vc_prog_set_kv(struct vc_prog *p, const struct vc_kv_pool *kv);
void vc_prog_set_probe(struct vc_prog *p, vc_probe_fn *fn, void *ctx);   /* NULL: off */

/* Runs the body for b, and the head for the first min(n_out, max_out) output rows. */
void vc_prog_run(struct vc_prog *p, const struct vc_batch *b);
/* Runs the head alone for output rows [first, first + n), n <= max_out, after vc_prog_run of the same batch. */
void vc_prog_run_head(struct vc_prog *p, const struct vc_batch *b, uint32_t first, uint32_t n);
struct vc_view vc_prog_view(const struct vc_prog *p, uint32_t stream, uint32_t rows);

/* Text of the plan, one line per op: label, op, core, formats, slots, kernels. */
void vc_prog_print(const struct vc_prog *p, struct vc_buf *out);

#endif
