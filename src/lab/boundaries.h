/* SPDX-License-Identifier: Apache-2.0
 * boundaries.h: `vllmc lab boundaries`: the stages of one recorded prefill, each run from its captured input with the
 * engine's own kernels. The oracle is the recording (goldens/moe-gate/README.md names its tensors). */
#ifndef VC_LAB_BOUNDARIES_H
#define VC_LAB_BOUNDARIES_H

#include <jansson.h>

#include "base/arena.h"
#include "dev/dev.h"
#include "io/tensors.h"

struct lab_replay {
    struct vc_arena arena;
    struct vc_dev *dev;                    /* owned */
    struct vc_tensors *weights, *captured; /* owned */
    struct lab_replay_block *blocks;       /* device memory, owned */
    json_t *json, *config;                 /* owned */
    const char *path;
    uint32_t rows, hidden, heads, kv_heads, head_dim, experts, top_k, intermediate;
    float eps, theta;
    vc_err err; /* first failure; the stages do nothing after one */
};
vc_status lab_replay_open(struct lab_replay *r, const char *dir, vc_err *err);
void lab_replay_close(struct lab_replay *r);

/* A matrix in device memory. lab_input: a captured tensor, rows as they are; NULL data after a failure. */
struct vc_view lab_matrix(struct lab_replay *r, uint32_t rows, uint32_t cols, enum vc_dtype dtype);
struct vc_view lab_input(struct lab_replay *r, const char *name);
/* Words of got differing from the captured tensor; *total: of how many. got may be stored wider: it is rounded once. */
uint64_t lab_differ(struct lab_replay *r, const struct vc_view *got, const char *name, uint64_t *total);
void lab_run_op(struct lab_replay *r, const struct vc_numerics *n, enum vc_op op, enum vc_arith core, const void *args,
                struct vc_dims dims, const struct vc_view *in, uint32_t num_in, const struct vc_view *out,
                uint32_t num_out);

/* A stage under a numerics spec: words that differ, of how many. which selects what is compared. */
struct lab_stage {
    const char *prefix, *name;
}; /* "l0.", "qkv"; "" and "final_norm" */
enum lab_what { LAB_OUT, LAB_RESIDUAL, LAB_Q, LAB_K, LAB_IDS, LAB_SINGLE, LAB_SUM };
/* boundaries_weights.c */
const char *lab_join(struct lab_replay *r, const char *a, const char *b, const char *c); /* in the arena */
bool lab_numerics(struct lab_replay *r, const char *spec, struct vc_numerics *n);        /* false: r->err */
const struct vc_tensor *lab_weight(struct lab_replay *r, const struct lab_stage *s, const char *name);
/* n tensors one below the other, `experts` times: panels in data (*stride bytes apart), rows in raw. */
struct vc_view lab_panel(struct lab_replay *r, enum vc_op op, enum vc_arith core, const struct vc_tensor *const *t,
                         uint32_t n, uint32_t experts, size_t *stride);

uint64_t lab_stage_norm(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                        bool round_sum, uint64_t *total);
uint64_t lab_stage_linear(struct lab_replay *r, const struct lab_stage *s, const char *spec, uint64_t *total);
uint64_t lab_stage_headnorm(struct lab_replay *r, const struct lab_stage *s, const char *spec, uint64_t *total);
uint64_t lab_stage_rope(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                        uint64_t *total);
uint64_t lab_stage_attention(struct lab_replay *r, const struct lab_stage *s, const char *spec, uint64_t *total);
uint64_t lab_stage_route(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                         uint64_t *total);
uint64_t lab_stage_experts(struct lab_replay *r, const struct lab_stage *s, const char *spec, enum lab_what what,
                           uint64_t *total);

#endif
