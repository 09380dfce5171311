/* SPDX-License-Identifier: Apache-2.0
 * gate_judge.c: the runs of one gate. Free: the engine's own text. Forced: prompt and reference as one prompt, so
 * that every position is judged in the reference's context. Truth: the f64 text as one prompt against the kept rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "api/api_int.h"
#include "base/rng.h"
#include "lab/gate_judge.h"
#include "num/half.h"

uint64_t lab_row_hash(const float *row, uint32_t n) {
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = (h ^ vc_f32_bits(row[i])) * UINT64_C(0x9E3779B97F4A7C15), h ^= h >> 29;
    return vc_mix64(h);
}

static int32_t argmax(const float *row, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (row[i] > row[best]) best = i;
    return (int32_t)best;
}

static void compare_words(struct lab_words *w, const uint16_t *want, const float *row, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) w->differ += vc_f32_bits(row[i]) != (uint32_t)want[i] << 16;
    w->total += n;
}

static bool digest_equal(const char *want, const float *row, uint32_t n) {
    unsigned char d[EVP_MAX_MD_SIZE], le[512];
    char hex[33];
    unsigned len = 0;
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    if (!c || !EVP_DigestInit_ex(c, EVP_sha256(), NULL)) {
        EVP_MD_CTX_free(c);
        return false;
    }
    for (uint32_t i = 0; i < n;) {
        size_t k = 0;
        for (; i < n && k < sizeof le; i++, k += 2) {
            uint32_t u = vc_f32_bits(row[i]);
            if (u & 0xFFFF) n = 0; /* not a bf16 value: never equal */
            le[k] = (unsigned char)(u >> 16);
            le[k + 1] = (unsigned char)(u >> 24);
        }
        EVP_DigestUpdate(c, le, k);
    }
    bool ok = n && EVP_DigestFinal_ex(c, d, &len) && len == 32;
    EVP_MD_CTX_free(c);
    for (unsigned i = 0; ok && i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", d[i]);
    return ok && memcmp(hex, want, 32) == 0;
}

/* Ours and the reference's distance from the truth at the ids that both know. */
static void errors_at(struct lab_gate *g, const struct lab_step *st, const float *row) {
    const struct lab_known *t = &st->truth, *r = &st->ref;
    bool logprob = r->kind == LAB_LOGPROB && !r->words && !r->row && t->row;
    if (logprob) {
        double zt = lab_logsumexp(t->row, g->vocab), zo = lab_logsumexp(row, g->vocab);
        for (uint32_t j = 0; j < r->num_top; j++) {
            double truth = (double)t->row[r->top[j].id] - zt;
            lab_error_add(&g->logprob, (double)row[r->top[j].id] - zo - truth);
            lab_error_add(&g->logprob_ref, r->top[j].value - truth);
        }
        return;
    }
    if (r->kind == LAB_MARGIN && !r->words && !r->row) return;
    for (uint32_t j = 0; t->row && j < g->vocab; j++) {
        double v;
        if (!lab_known_value(r, (int32_t)j, &v)) continue;
        lab_error_add(&g->logit, (double)row[j] - (double)t->row[j]);
        lab_error_add(&g->logit_ref, v - (double)t->row[j]);
    }
    for (uint32_t j = 0; !t->row && t->kind == LAB_LOGIT && j < t->num_top; j++) {
        double v;
        if (!lab_known_value(r, t->top[j].id, &v)) continue;
        lab_error_add(&g->logit, (double)row[t->top[j].id] - t->top[j].value);
        lab_error_add(&g->logit_ref, v - t->top[j].value);
    }
}

void lab_watch_row(void *ctx, uint32_t at, const float *row) {
    struct lab_watch *w = ctx;
    struct lab_gate *g = w->g;
    struct lab_seq *s = &g->seq[w->seq];
    if (at + 1 < s->num_prompt || at + 1 - s->num_prompt >= s->num_steps) return;
    uint32_t k = at + 1 - s->num_prompt;
    struct lab_pos *p = &w->pos[k];
    p->ours = argmax(row, g->vocab);
    p->hash = lab_row_hash(row, g->vocab);
    p->logit_ours = row[p->ours];
    p->judged = s->tokens && w->same;
    if (!p->judged) return;
    const struct lab_step *st = &s->step[k];
    p->logit_ref = row[s->tokens[k]];
    if (st->ref.words)
        compare_words(&(w->forced ? g->words_forced : g->words_free)[at + 1 > 96], st->ref.words, row, g->vocab);
    if (st->digest && !w->forced) {
        g->digests++;
        g->digests_equal += digest_equal(st->digest, row, g->vocab);
    }
    if (w->forced) {
        errors_at(g, st, row);
        if (g->kind == LAB_GREEDY && st->ref.num_top == 2) {
            double gap = st->ref.top[0].value - st->ref.top[1].value;
            lab_error_add(&g->gap, (double)row[st->ref.top[0].id] - (double)row[st->ref.top[1].id] - gap);
            g->wide += gap >= 0.5;
            g->wide_differ += gap >= 0.5 && p->ours != s->tokens[k];
        }
    } else if (p->ours != s->tokens[k])
        w->same = false;
}

static int32_t *joined(struct lab_gate *g, const struct lab_seq *s, const int32_t *tokens) {
    int32_t *v = VC_NEW_ARRAY(&g->arena, int32_t, s->num_prompt + s->num_steps);
    if (!v) return NULL;
    memcpy(v, s->prompt, s->num_prompt * sizeof *v);
    memcpy(v + s->num_prompt, tokens, (s->num_steps - 1) * sizeof *v);
    return v;
}

/* Where the rotary tables depend on the length, prompt and answer in one prompt are another computation: the free run
 * stands in for as long as it follows the reference. */
static vc_status forced_run(struct lab_gate *g, vc_model *m, vc_err *err) {
    struct lab_job *jobs = VC_NEW_ARRAY(&g->arena, struct lab_job, g->num_seqs);
    struct lab_watch *w = VC_NEW_ARRAY(&g->arena, struct lab_watch, g->num_seqs);
    uint32_t n = 0;
    if (!jobs || !w) return vc_fail(err, VC_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        struct lab_run *r = &g->forced[i];
        if (!s->tokens) continue;
        if (r->rope_varies) {
            memcpy(r->pos, g->free_run[i].pos, s->num_steps * sizeof *r->pos);
            continue;
        }
        w[n] = (struct lab_watch){ .g = g, .seq = i, .forced = true, .same = true, .pos = r->pos };
        jobs[n] = (struct lab_job){ .prompt = joined(g, s, s->tokens),
                                    .num_prompt = s->num_prompt + s->num_steps - 1,
                                    .max_tokens = 1,
                                    .all_logits = true,
                                    .on_row = lab_watch_row,
                                    .ctx = &w[n] };
        if (!jobs[n].prompt) return vc_fail(err, VC_E_NOMEM, "out of memory");
        n++;
    }
    return lab_run_jobs(m, jobs, n, 8, err);
}

struct truth_watch {
    struct lab_gate *g;
    const struct lab_seq *s;
};
static void truth_row(void *ctx, uint32_t at, const float *row) {
    struct truth_watch *w = ctx;
    if (at < w->s->row0 || at >= w->s->row1) return;
    const float *t = w->s->rows + (size_t)(at - w->s->row0) * w->g->vocab;
    for (uint32_t i = 0; i < w->g->vocab; i++) lab_error_add(&w->g->rows, (double)row[i] - (double)t[i]);
}

static vc_status truth_run(struct lab_gate *g, vc_model *m, vc_err *err) {
    struct truth_watch *w = VC_NEW_ARRAY(&g->arena, struct truth_watch, g->num_seqs);
    if (!w) return vc_fail(err, VC_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        if (!s->rows) continue;
        w[i] = (struct truth_watch){ g, s };
        struct lab_job j = { .prompt = joined(g, s, s->truth_tokens),
                             .num_prompt = s->num_prompt + s->num_steps - 1,
                             .max_tokens = 1,
                             .all_logits = true,
                             .on_row = truth_row,
                             .ctx = &w[i] };
        if (!j.prompt) return vc_fail(err, VC_E_NOMEM, "out of memory");
        VC_TRY(lab_run_jobs(m, &j, 1, 1, err));
    }
    return VC_OK;
}

static bool is_member(const struct lab_seq *s, const struct lab_run *r) {
    for (uint32_t i = 0; i < s->num_members; i++) {
        uint32_t k = 0;
        while (k < s->num_steps && r->pos[k].ours == s->member[i][k]) k++;
        if (k == s->num_steps) return true;
    }
    return false;
}

static void count(struct lab_gate *g) {
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        if (!s->tokens) continue;
        g->num_answers++;
        g->num_members += is_member(s, &g->free_run[i]);
        for (uint32_t k = 0; k < s->num_steps; k++) {
            const struct lab_pos *f = &g->free_run[i].pos[k], *t = &g->forced[i].pos[k];
            g->num_positions++;
            g->free_equal += f->ours == s->tokens[k];
            g->forced_equal += t->judged && t->ours == s->tokens[k];
            g->not_judged += !t->judged;
            if (f->judged && t->judged && f->hash != t->hash && !g->not_same)
                g->not_same =
                    lab_text(g, "%s, step %u: generating and reading the same text give different logits", s->name, k);
        }
    }
}

static vc_status check_ids(const struct lab_gate *g, vc_err *err) {
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        for (uint32_t k = 0; s->tokens && k < s->num_steps; k++) {
            bool ok = s->tokens[k] >= 0 && (uint32_t)s->tokens[k] < g->vocab;
            for (uint32_t j = 0; j < s->step[k].ref.num_top; j++)
                ok = ok && (uint32_t)s->step[k].ref.top[j].id < g->vocab;
            if (!ok)
                return vc_fail(err, VC_E_FORMAT, "%s: %s, step %u: an id is outside the model's vocabulary of %u",
                               g->path, s->name, k, g->vocab);
        }
    }
    return VC_OK;
}

static vc_status judge(struct lab_gate *g, vc_model **m, vc_err *err) {
    VC_TRY(lab_open(g, m, err));
    VC_TRY(check_ids(g, err));
    VC_TRY(lab_free_runs(g, m, err));
    VC_TRY(forced_run(g, *m, err));
    VC_TRY(truth_run(g, *m, err));
    count(g);
    VC_TRY(lab_gate_ties(g, err));
    for (uint32_t i = 0; i < g->num_diffs; i++) {
        struct lab_diff *d = &g->diff[i];
        const struct lab_seq *s = &g->seq[d->seq];
        if (!g->moe || g->forced[d->seq].rope_varies) continue;
        VC_TRY(lab_router_margin(*m, joined(g, s, s->tokens), s->num_prompt + d->step, &d->router_margin_ulps, err));
        d->router_tie = d->router_margin_ulps <= 1;
    }
    return VC_OK;
}

void lab_gate_judge(struct lab_gate *g) {
    vc_model *m = NULL;
    vc_status s = judge(g, &m, &g->error);
    if (s != VC_OK && g->error.status == VC_OK) vc_fail(&g->error, s, "%s", vc_status_text(s));
    if (m) vc_model_close(&m);
}
