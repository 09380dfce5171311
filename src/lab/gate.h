/* SPDX-License-Identifier: Apache-2.0
 * gate.h: `vllmc lab gate`: what a reference says, what the engine said, and the verdict.
 * A reference is a list of sequences: a prompt and greedy tokens, and per step whatever the source recorded (all logits
 * as f32 or as bf16 words, a digest of the words, or the best ids). The truth is a second source in f64, known only
 * where its text is the reference's so far. One struct lab_gate lives from loading to printing, in one arena. */
#ifndef VC_LAB_GATE_H
#define VC_LAB_GATE_H

#include <jansson.h>

#include "base/arena.h"
#include "base/status.h"
#include "io/tensors.h"
#include "lab/lab_args.h"

enum lab_value { LAB_LOGIT, LAB_LOGPROB, LAB_MARGIN /* only differences mean something */ };
struct lab_top {
    int32_t id;
    double value;
};

/* Values of one position: of all ids, or of some. All pointers NULL: nothing is known. */
struct lab_known {
    const float *row;          /* [vocab] logits */
    const uint16_t *words;     /* [vocab] logits as bf16 words */
    const struct lab_top *top; /* [num_top], best first */
    uint32_t num_top;
    enum lab_value kind; /* of top */
};
bool lab_known_value(const struct lab_known *k, int32_t id, double *v);

struct lab_step {
    struct lab_known ref, truth, pair; /* pair: the truth's two best, where only their distance is recorded */
    const char *digest;                /* first 32 hex digits of sha256 over the row's bf16 words, or NULL */
};
struct lab_seq {
    const char *name;
    const int32_t *prompt;
    uint32_t num_prompt, num_steps;
    const int32_t *tokens; /* [num_steps]; NULL: the reference has no answer here */
    struct lab_step *step; /* [num_steps] */
    const int32_t *const *member;
    uint32_t num_members;        /* whole sequences that are accepted */
    const int32_t *truth_tokens; /* [num_steps]; NULL: no truth */
    const float *rows;
    uint32_t row0, row1; /* truth of positions [row0, row1) of prompt + truth_tokens, one forward */
};

struct lab_error {
    double max, sum2;
    uint64_t n;
}; /* of a difference */
static inline void lab_error_add(struct lab_error *e, double d) {
    d = d < 0 ? -d : d;
    if (!(d <= e->max)) e->max = d;
    e->sum2 += d * d;
    e->n++;
}
double lab_error_rms(const struct lab_error *e); /* 0 for none */
double lab_logsumexp(const float *row, uint32_t n);

struct lab_words {
    uint64_t differ, total;
};

/* What the engine said at one step: argmax of its row, its two logits, and a hash of the row. */
struct lab_pos {
    bool judged;
    int32_t ours;
    float logit_ours, logit_ref, logprob;
    uint64_t hash;
};
struct lab_run {
    struct lab_pos *pos;
    bool rope_varies;
}; /* of one sequence */

/* A position where the engine's token is not the reference's, in the reference's own context. */
struct lab_diff {
    uint32_t seq, step;
    int32_t ours, ref;
    double logit_ours, logit_ref, margin, margin_ulps, limit; /* margin: NAN where no source knows both ids */
    const char *source;                                       /* of the margin */
    bool near_tie, router_tie;
    double router_margin_ulps;
};

struct lab_check {
    const char *name, *text;
    bool ok;
};

enum lab_kind { LAB_MODELS, LAB_MOE, LAB_GREEDY, LAB_VLLM_FILE, LAB_QUANTS };

struct lab_gate {
    struct vc_arena arena;
    json_t *json[4];               /* owned */
    struct vc_tensors *tensors[3]; /* owned */
    const struct lab_gate_args *args;
    enum lab_kind kind;
    const char *path, *title, *ref, *model, *numerics, *dtype, *architecture;
    bool ref_is_vllm, moe;
    uint32_t vocab, num_seqs, concurrency[8], num_concurrency;
    struct lab_seq *seq;
    double f32_bound; /* the reference set's own largest f32 error; 0: not recorded */
    double vllm_rms;  /* rms error of vLLM's reported values against the truth; 0: not known */
    double peer_max;  /* quants: largest distance of llama.cpp from the truth */

    /* results */
    vc_err error;                      /* of the engine or the loader */
    bool left_out;                     /* error says why; not a failure */
    struct lab_run *free_run, *forced; /* [num_seqs] */
    uint32_t free_equal, forced_equal, num_positions, num_answers, num_members, not_judged;
    struct lab_words words_free[2], words_forced[2]; /* contexts up to 96 tokens; longer */
    uint32_t digests_equal, digests;
    struct lab_error rows, logit, logit_ref, logprob, logprob_ref, gap;
    uint32_t wide_differ, wide; /* positions whose margin is at least 0.5 */
    uint32_t runs;              /* repeats times concurrencies */
    const char *not_same;       /* first place where two runs differ, or NULL */
    struct lab_diff *diff;
    uint32_t num_diffs;
    struct lab_check check[8];
    uint32_t num_checks;
    bool pass;
};

/* gate_load.c */
struct lab_session {
    struct lab_error logprob, logprob_ref;
    uint32_t pooled;
    bool ok;
}; /* over all paths of a call */
/* Fills g from g->path; entry: which model of a folder that has several, or NULL. */
vc_status lab_gate_load(struct lab_gate *g, const char *entry, vc_err *err);
void lab_gate_free(struct lab_gate *g);

vc_status lab_ints(struct lab_gate *g, const json_t *a, const char *what, int32_t **v, uint32_t *n, vc_err *err);
vc_status lab_tops(struct lab_gate *g, const json_t *a, const char *what, struct lab_top **v, uint32_t *n, vc_err *err);
vc_status lab_f32_tensor(struct lab_gate *g, const struct vc_tensors *t, const char *name, const float **v,
                         uint32_t *rows, uint32_t cols, vc_err *err);
vc_status lab_member(struct lab_gate *g, struct lab_seq *s, const int32_t *tokens, vc_err *err);
vc_status lab_file(struct lab_gate *g, int slot, const char *name, vc_err *err); /* g->json[slot] from path/name */
const char *lab_text(struct lab_gate *g, const char *fmt, ...) VC_PRINTF(2, 3);  /* in the arena */
bool lab_is_vllm(const char *numerics);

/* One loader per layout; the README of each folder describes it. */
vc_status lab_load_models(struct lab_gate *g, vc_err *err);
vc_status lab_load_moe(struct lab_gate *g, vc_err *err);
vc_status lab_load_greedy(struct lab_gate *g, vc_err *err);
vc_status lab_load_vllm_file(struct lab_gate *g, vc_err *err);
vc_status lab_load_quants(struct lab_gate *g, const char *entry, vc_err *err);
/* Entries of gguf-quants/models.json that have a file. */
uint32_t lab_quants_entries(const json_t *root, const char *only, const char **names, uint32_t cap);

/* gate_judge.c: runs everything and fills the results. */
void lab_gate_judge(struct lab_gate *g);
/* gate_ties.c: the list of differing positions. */
vc_status lab_gate_ties(struct lab_gate *g, vc_err *err);
/* gate_checks.c: the rules. */
void lab_gate_checks(struct lab_gate *g, struct lab_session *s);
/* gate_report.c, gate_json.c */
struct vc_json_out;
void lab_report_text(const struct lab_gate *g);
void lab_report_json(const struct lab_gate *g, struct vc_json_out *w);

#endif
