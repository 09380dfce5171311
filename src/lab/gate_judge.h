/* SPDX-License-Identifier: Apache-2.0
 * gate_judge.h: the pieces of a judgement: rows seen in the free and in the forced run, and runs compared with runs. */
#ifndef VC_LAB_GATE_JUDGE_H
#define VC_LAB_GATE_JUDGE_H

#include "lab/gate.h"
#include "lab/gate_run.h"

/* One sequence in one run. */
struct lab_watch {
    struct lab_gate *g;
    uint32_t seq;
    bool forced, same;   /* same: the context is the reference's so far */
    struct lab_pos *pos; /* [num_steps] */
    int32_t *out;
    float *logprob; /* [num_steps], free run */
};
uint64_t lab_row_hash(const float *row, uint32_t n);

/* gate_same.c: free runs at every concurrency and repeat; the first is judged, the others must equal it. */
vc_status lab_open(struct lab_gate *g, vc_model **m, vc_err *err);
vc_status lab_free_runs(struct lab_gate *g, vc_model **m, vc_err *err);
/* gate_judge.c: a row of the free or forced run. */
void lab_watch_row(void *ctx, uint32_t pos, const float *row);

#endif
