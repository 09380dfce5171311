/* SPDX-License-Identifier: Apache-2.0
 * step.c: one engine step: plan, compute, sample, report. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "num/half.h"
#include "num/round.h"
#include "run/engine_int.h"

/* ---- the batch ---- */

static void add_outputs(struct vc_engine *e, uint32_t item, uint32_t row0) {
    const struct vc_sched_item *it = &e->step->items[item];
    const struct vc_engine_seq *q = it->seq->user;
    for (uint32_t i = 0; i < it->num_tokens; i++) {
        uint32_t pos = it->num_computed + i;
        bool samples = it->samples && i + 1 == it->num_tokens, prompt = q->prompt_logprobs && !q->prompt_sent && pos + 1 < it->seq->num_prompt;
        if (q->pooled ? !vc_pool_wants(e, it, pos) : !samples && !prompt && !q->all_logits) continue;
        e->out_rows[e->num_outs] = (int32_t)(row0 + i);
        e->outs[e->num_outs++] = (struct out_row){ item, pos, samples, prompt };
    }
}

/* Item k of the step in one KV group: its block table, and the slot of each of its tokens. */
static void add_pages(struct vc_engine *e, uint32_t k, uint32_t group, uint32_t row0) {
    const struct vc_sched_item *it = &e->step->items[k];
    const uint32_t *table = vc_kv_row(&it->seq->kv, group), block = e->params.block_size;
    int64_t *slots = e->slots + (size_t)group * e->params.max_num_batched_tokens + row0;
    e->seqs[(size_t)group * e->params.max_num_seqs + k] = (struct vc_attn_seq){ row0, it->num_tokens, it->num_computed, table };
    for (uint32_t i = 0; i < it->num_tokens; i++) {
        uint32_t pos = it->num_computed + i;
        slots[i] = (int64_t)table[pos / block] * block + pos % block;
    }
}

static void make_batch(struct vc_engine *e) {
    uint32_t row = 0;
    e->num_outs = 0;
    for (uint32_t k = 0; k < e->step->num_items; k++) {
        const struct vc_sched_item *it = &e->step->items[k];
        const struct vc_seq *s = it->seq;
        for (uint32_t g = 0; g < e->net->groups.num; g++) add_pages(e, k, g, row);
        for (uint32_t i = 0; i < it->num_tokens; i++) {
            uint32_t pos = it->num_computed + i;
            e->ids[row + i] = s->tokens[pos];
            e->pos[row + i] = pos;
            e->seq_len[row + i] = VC_MAX(s->num_prompt, pos + 1);
        }
        add_outputs(e, k, row);
        row += it->num_tokens;
    }
    e->batch = (struct vc_net_step){ .pos = e->pos, .seq_len = e->seq_len,
        .batch = { .n_tok = row, .n_out = e->num_outs, .n_seqs = e->step->num_items, .ids = e->ids, .slots = e->slots, .out_rows = e->out_rows, .seqs = e->seqs,
                   .slot_stride = e->params.max_num_batched_tokens, .seq_stride = e->params.max_num_seqs } };
}

/* ---- rows of logits ---- */

float *vc_engine_row(struct vc_engine *e, uint32_t r, uint32_t thread) {
    struct vc_view v = vc_net_logits(e->net, e->head_count);
    char *p = (char *)v.data + (size_t)r * v.stride;
    if (v.dtype == VC_F32) return (float *)(void *)p;
    float *dst = e->row[thread];
    const uint16_t *src = (const uint16_t *)(const void *)p;
    for (uint32_t i = 0; i < v.cols; i++) dst[i] = v.dtype == VC_BF16 ? vc_bf16_f32(src[i]) : vc_f16_f32(src[i]);
    return dst;
}

/* The only row of the step wants its greatest logit and nothing else. Shapes no result: the head computes the same greatest. */
static bool max_is_enough(struct vc_engine *e) {
    if (e->num_outs != 1 || e->tap || e->net->pooler.on || !vc_prog_finds_max(e->net->prog)) return false;
    const struct out_row *o = &e->outs[0];
    const struct vc_engine_seq *q = e->step->items[o->item].seq->user;
    if (!o->samples || o->prompt || q->all_logits || q->constraint || !vc_sample_is_max(q->sampling)) return false;
    if (e->max_pause == 0) return true;
    e->max_pause--;
    return false;
}

/* Flat logits leave little out, and looking first costs half a pass: then longer and longer without, up to 256 steps. */
static void weigh_max(struct vc_engine *e) {
    bool paid = e->max_left_out >= e->net->config.vocab_size / 4 * 3;
    e->max_paused = paid ? 0 : VC_MIN(2 * e->max_paused + 8, 256u);
    e->max_pause = e->max_paused;
}

static void one_row(struct vc_engine *e, uint32_t r, uint32_t thread) {
    const struct out_row *o = &e->outs[e->head_first + r];
    struct vc_seq *s = e->step->items[o->item].seq;
    struct vc_engine_seq *q = s->user;
    if (!o->prompt && !o->samples) return;
    float *logits = vc_engine_row(e, r, thread);
    vc_status st = VC_OK;
    if (e->batch.batch.max_only) {
        e->results[o->item] = (struct vc_sampled){ .token = -1 };
        st = vc_sample_max(logits, e->net->config.vocab_size, &e->results[o->item].token, &e->max_left_out, &q->error);
        if (st != VC_OK) e->failed[o->item] = 1;
        else e->sampled[o->item] = e->results[o->item].token;
        return;
    }
    if (o->prompt) {
        uint32_t k = (uint32_t)q->sampling->prompt_logprobs;
        st = vc_sample_logprobs(e->sampler[thread], logits, s->tokens[o->pos + 1], k, q->prompt_logprobs + (size_t)(o->pos + 1) * (k + 1), &q->error);
    }
    const uint32_t *allowed = o->samples && q->constraint && q->constraint->ops->mask(q->constraint, e->mask[thread]) ? e->mask[thread] : NULL;
    if (st == VC_OK && o->samples)
        st = vc_sample_row(e->sampler[thread], q->sample, logits, allowed, s->tokens + s->num_prompt, vc_seq_num_outputs(s), &e->results[o->item], q->logprobs, &q->error);
    if (st != VC_OK) e->failed[o->item] = 1;
    else if (o->samples) e->sampled[o->item] = e->results[o->item].token;
}

static void rows_of_thread(void *ctx, uint32_t thread) {
    struct vc_engine *e = ctx;
    for (uint32_t r = thread; r < e->head_count; r += e->threads) one_row(e, r, thread);
}

static void handle_rows(struct vc_engine *e, uint32_t first, uint32_t count) {
    e->head_first = first;
    e->head_count = count;
    if (e->tap)
        for (uint32_t r = 0; r < count; r++) {
            const struct out_row *o = &e->outs[first + r];
            const struct vc_engine_seq *q = e->step->items[o->item].seq->user;
            e->tap(e->tap_ctx, q->user, o->pos, vc_engine_row(e, r, 0));
        }
    if (e->net->pooler.on) vc_pool_rows(e);
    else if (count == 1) one_row(e, 0, 0);
    else e->net->dev->be->parallel(e->net->dev, e->threads, rows_of_thread, e);
}

/* ---- a value that is not finite: which layer had it first ---- */

struct hunt { uint32_t row0, rows; char label[96]; };

static bool row_is_finite(const struct vc_view *v, uint32_t r) {
    const char *p = (const char *)v->data + (size_t)r * v->stride;
    for (uint32_t c = 0; c < v->cols; c++) {
        float x = v->dtype == VC_F32 ? ((const float *)(const void *)p)[c] : v->dtype == VC_BF16 ? vc_bf16_f32(((const uint16_t *)(const void *)p)[c])
                                                                                                 : vc_f16_f32(((const uint16_t *)(const void *)p)[c]);
        if (!isfinite(x)) return false;
    }
    return true;
}

static void look(void *ctx, const char *label, const struct vc_view *out) {
    struct hunt *h = ctx;
    if (h->label[0] || !vc_dtype_is_float(out->dtype)) return;
    for (uint32_t r = h->row0; r < h->row0 + h->rows && r < out->rows; r++)
        if (!row_is_finite(out, r)) {
            snprintf(h->label, sizeof h->label, "%s", label);
            return;
        }
}

/* Runs the step again with probes: the same tokens at the same places give the same bits. */
static void name_first_layer(struct vc_engine *e, uint32_t item) {
    struct vc_engine_seq *q = e->step->items[item].seq->user;
    struct hunt h = { e->seqs[item].row0, e->seqs[item].rows, "" };
    vc_prog_set_probe(e->net->prog, look, &h);
    vc_err ignored = VC_ERR_INIT;
    e->batch.batch.max_only = false;
    vc_net_run(e->net, &e->batch, &ignored);
    vc_prog_set_probe(e->net->prog, NULL, NULL);
    if (h.label[0]) vc_fail(&q->error, VC_E_NUMERIC, "a value that is not finite first appears in %s", h.label);
}

/* ---- reporting ---- */

/* Best minus second best logit in ulps of the format in which logits are stored, at the larger magnitude of the two. */
static float margin_of(const struct vc_engine *e, const struct vc_sampled *s) {
    if (s->second == -INFINITY) return INFINITY;
    double a = (double)s->best, b = (double)s->second;
    return (float)((a - b) / vc_ulp(vc_net_logits(e->net, 1).dtype, fmax(fabs(a), fabs(b))));
}

static void report_item(struct vc_engine *e, uint32_t k) {
    struct vc_seq *s = e->step->items[k].seq;
    struct vc_engine_seq *q = s->user;
    if (e->sampled[k] < 0 && s->finish == VC_FINISH_NONE) return;
    struct vc_engine_event ev = vc_engine_event_of(q, e->now);
    ev.token = e->sampled[k];
    e->num_new += ev.token >= 0;
    if (ev.token >= 0 && q->logprobs) {
        ev.logprobs = q->logprobs;
        ev.num_logprobs = e->results[k].num_logprobs;
    }
    float margin = 0;
    if (ev.token >= 0 && !e->batch.batch.max_only) {           /* where only the greatest was computed, the second is not known */
        margin = margin_of(e, &e->results[k]);
        if (isfinite(margin)) vc_histogram_add(&e->figures.margins, (double)margin);
        if (q->sampling->margin) ev.margin = &margin;
    }
    if (ev.token >= 0 && q->prompt_logprobs && !q->prompt_sent) {
        ev.prompt_logprobs = q->prompt_logprobs;
        q->prompt_sent = true;
    }
    if (s->finish == VC_FINISH_ERROR) ev.error = &q->error;
    else if (q->pooled && q->pooled->done) {
        ev.embedding = q->pooled->vector;
        ev.num_embedding = q->pooled->dimensions;
    }
    e->event(e->event_ctx, &ev);
}

static void push_token(struct vc_engine_seq *q, int32_t token) {
    vc_sample_seq_push(q->sample, token);
    if (q->constraint) q->constraint->ops->accept(q->constraint, token);
}

/* Jump-forward: where the constraint leaves one token, it is an output without a forward pass of its own. Left to the
 * sampler where that would have more to say: log-probabilities, or lists that may forbid the token. */
static void jump(struct vc_engine *e, struct vc_seq *s) {
    struct vc_engine_seq *q = s->user;
    if (!q->constraint || s->state != VC_SEQ_RUNNING || q->stop_soon) return;      /* ended: what q borrows may be gone */
    const struct vc_sampling *p = q->sampling;
    const float alone = INFINITY;
    bool plain = p->logprobs < 0 && !p->num_allowed_ids && !p->num_bad_words && !p->num_logit_bias && !p->min_tokens && !q->all_logits;
    if (!plain || vc_seq_num_outputs(s) == 0) return;
    while (s->state == VC_SEQ_RUNNING && !q->stop_soon) {
        int32_t token = q->constraint->ops->forced(q->constraint);
        if (token < 0) return;
        push_token(q, token);
        vc_sched_extend(e->sched, s, token);
        struct vc_engine_event ev = vc_engine_event_of(q, e->now);
        ev.token = token;
        if (p->margin) ev.margin = &alone;
        e->num_new++;
        e->event(e->event_ctx, &ev);
    }
}

static void report(struct vc_engine *e) {
    for (uint32_t k = 0; k < e->step->num_items; k++) {
        struct vc_engine_seq *q = e->step->items[k].seq->user;
        if (e->failed[k]) vc_sched_finish(e->sched, q->seq, VC_FINISH_ERROR);
        else if (q->pooled && q->pooled->done) vc_sched_finish(e->sched, q->seq, VC_FINISH_STOP);
        else if (e->sampled[k] >= 0) push_token(q, e->sampled[k]);
    }
    vc_sched_update(e->sched, e->sampled);
    for (uint32_t k = 0; k < e->step->num_items; k++) {
        report_item(e, k);
        jump(e, e->step->items[k].seq);
    }
    /* Those that ended in this step, by themselves, by an error, or because a stop string was seen just now. */
    for (uint32_t k = 0; k < e->step->num_items; k++) {
        struct vc_seq *s = e->step->items[k].seq;
        struct vc_engine_seq *q = s->user;
        if (s->finish == VC_FINISH_NONE && !q->stop_soon) continue;
        if (s->finish == VC_FINISH_NONE) vc_sched_finish(e->sched, s, VC_FINISH_STOP);
        vc_engine_seq_release(q);
    }
}

/* Sequences that are placed for the first time; prompt tokens that the step computes. */
static uint32_t begin_items(struct vc_engine *e, double now) {
    uint32_t prompt = 0;
    for (uint32_t k = 0; k < e->step->num_items; k++) {
        const struct vc_sched_item *it = &e->step->items[k];
        struct vc_engine_seq *q = it->seq->user;
        if (q->scheduled_at <= 0) q->scheduled_at = now;
        uint32_t end = VC_MIN(it->num_computed + it->num_tokens, it->seq->num_prompt);
        prompt += end > it->num_computed ? end - it->num_computed : 0;
        e->sampled[k] = -1;
        e->failed[k] = 0;
    }
    return prompt;
}

vc_status vc_engine_step(struct vc_engine *e, vc_err *err) {
    double begun = vc_now();
    e->step = vc_sched_schedule(e->sched);
    if (e->step->num_items == 0) return vc_sched_idle(e->sched) ? VC_E_DONE : vc_fail(err, VC_E_STATE, "the scheduler cannot place a waiting sequence");
    for (uint32_t i = 0; i < e->step->num_new_blocks; i++) vc_net_zero_page(e->net, e->step->new_blocks[i]);
    make_batch(e);
    uint32_t prompt = begin_items(e, begun), rows = e->step->num_tokens;
    e->batch.batch.max_only = max_is_enough(e);
    VC_TRY(vc_net_run(e->net, &e->batch, err));
    uint32_t piece = e->net->max_out;
    for (uint32_t at = 0; at < e->num_outs; at += piece) {
        uint32_t n = VC_MIN(piece, e->num_outs - at);
        if (at) vc_net_head(e->net, &e->batch, at, n);
        handle_rows(e, at, n);
    }
    if (e->batch.batch.max_only) weigh_max(e);
    for (uint32_t k = 0; k < e->step->num_items; k++)
        if (e->failed[k] && ((struct vc_engine_seq *)e->step->items[k].seq->user)->error.status == VC_E_NUMERIC) name_first_layer(e, k);
    e->now = vc_now();
    e->num_new = 0;
    report(e);
    vc_figures_step(&e->figures, rows, prompt + e->num_new, vc_now() - begun);
    return VC_OK;
}
