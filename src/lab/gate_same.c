/* SPDX-License-Identifier: Apache-2.0
 * gate_same.c: the engine for a gate, and its free runs: at every concurrency, in every repeat a fresh engine, each
 * compared with the first bit for bit (ids, logits, log-probabilities). */
#include <string.h>

#include "api/api_int.h"
#include "lab/gate_judge.h"
#include "num/half.h"

static vc_status alloc_runs(struct lab_gate *g, struct lab_run **out, vc_err *err) {
    *out = VC_NEW_ARRAY(&g->arena, struct lab_run, g->num_seqs + 1);
    for (uint32_t i = 0; *out && i < g->num_seqs; i++)
        (*out)[i].pos = VC_NEW_ARRAY(&g->arena, struct lab_pos, g->seq[i].num_steps);
    return g->arena.failed ? vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path) : VC_OK;
}

vc_status lab_open(struct lab_gate *g, vc_model **m, vc_err *err) {
    vc_model_params p;
    uint32_t len = 0;
    for (uint32_t i = 0; i < g->num_seqs; i++) len = VC_MAX(len, g->seq[i].num_prompt + g->seq[i].num_steps + 1);
    vc_model_params_init(&p);
    p.path = g->model;
    p.dtype = g->dtype;
    p.numerics = g->numerics;
    p.threads = g->args->threads;
    p.enable_prefix_caching = 0;
    p.max_model_len = len;
    p.max_num_seqs = 8;
    for (uint32_t i = 0; i < g->num_concurrency; i++) p.max_num_seqs = VC_MAX(p.max_num_seqs, g->concurrency[i]);
    VC_TRY(vc_model_open(m, &p, err));
    const struct vc_net *net = vc_engine_net(vc_model_engine(*m));
    if (g->vocab < 1u << 24 && g->vocab != (*m)->info.vocab_size)
        return vc_fail(err, VC_E_FORMAT, "%s: its logits have %u ids, the model %u", g->path, g->vocab,
                       (*m)->info.vocab_size);
    g->vocab = (*m)->info.vocab_size;
    g->architecture = lab_text(g, "%s", (*m)->info.architecture);
    if (g->forced) return VC_OK; /* a repeat */
    g->numerics = lab_text(g, "%s", (*m)->info.numerics);
    VC_TRY(alloc_runs(g, &g->forced, err));
    for (uint32_t i = 0; i < g->num_seqs; i++)
        g->forced[i].rope_varies = vc_net_rope_varies(net, g->seq[i].num_prompt + g->seq[i].num_steps);
    return VC_OK;
}

/* One free run of all sequences; first: its rows are judged too. */
static vc_status free_run(struct lab_gate *g, vc_model *m, uint32_t at_once, struct lab_run *run, bool first,
                          vc_err *err) {
    struct lab_job *jobs = VC_NEW_ARRAY(&g->arena, struct lab_job, g->num_seqs);
    struct lab_watch *w = VC_NEW_ARRAY(&g->arena, struct lab_watch, g->num_seqs);
    if (!jobs || !w) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        w[i] = (struct lab_watch){ .g = g,
                                   .seq = i,
                                   .same = first,
                                   .pos = run[i].pos,
                                   .out = VC_NEW_ARRAY(&g->arena, int32_t, s->num_steps),
                                   .logprob = VC_NEW_ARRAY(&g->arena, float, s->num_steps) };
        if (!w[i].out || !w[i].logprob) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
        jobs[i] = (struct lab_job){ .prompt = s->prompt,
                                    .num_prompt = s->num_prompt,
                                    .max_tokens = s->num_steps,
                                    .on_row = lab_watch_row,
                                    .ctx = &w[i],
                                    .out = w[i].out,
                                    .logprob = w[i].logprob };
    }
    VC_TRY(lab_run_jobs(m, jobs, g->num_seqs, at_once, err));
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        if (jobs[i].num_out != s->num_steps)
            return vc_fail(err, VC_E_STATE, "%s: %s: %u tokens came, %u were asked for", g->path, s->name,
                           jobs[i].num_out, s->num_steps);
        for (uint32_t k = 0; k < s->num_steps; k++) {
            run[i].pos[k].logprob = w[i].logprob[k];
            if (w[i].out[k] != run[i].pos[k].ours)
                return vc_fail(err, VC_E_STATE, "%s: %s, step %u: token %d came, the argmax of its row is %d", g->path,
                               s->name, k, w[i].out[k], run[i].pos[k].ours);
        }
    }
    return VC_OK;
}

static void compare_runs(struct lab_gate *g, const struct lab_run *run, uint32_t repeat, uint32_t at_once) {
    for (uint32_t i = 0; i < g->num_seqs; i++)
        for (uint32_t k = 0; k < g->seq[i].num_steps; k++) {
            const struct lab_pos *a = &g->free_run[i].pos[k], *b = &run[i].pos[k];
            bool same = a->ours == b->ours && a->hash == b->hash && vc_f32_bits(a->logprob) == vc_f32_bits(b->logprob);
            if (!same && !g->not_same)
                g->not_same = lab_text(g, "%s, step %u: repeat %u at concurrency %u differs from the first run",
                                       g->seq[i].name, k, repeat + 1, at_once);
        }
}

vc_status lab_free_runs(struct lab_gate *g, vc_model **m, vc_err *err) {
    for (uint32_t r = 0; r < VC_MAX(g->args->repeats, 1u); r++) {
        if (r) {
            vc_model_close(m);
            VC_TRY(lab_open(g, m, err));
        }
        for (uint32_t c = 0; c < g->num_concurrency; c++) {
            struct lab_run *run;
            bool first = g->runs == 0;
            VC_TRY(alloc_runs(g, &run, err));
            VC_TRY(free_run(g, *m, g->concurrency[c], run, first, err));
            if (first)
                g->free_run = run;
            else
                compare_runs(g, run, r, g->concurrency[c]);
            g->runs++;
        }
    }
    return VC_OK;
}
