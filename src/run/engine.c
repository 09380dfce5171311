/* SPDX-License-Identifier: Apache-2.0
 * engine.c: opening and closing an engine; sequences in and out. The step is in step.c. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/engine_int.h"

enum { MAX_HEAD_ROWS = 64 };               /* rows of logits in the workspace at once */

static vc_status open_net(struct vc_engine *e, vc_err *err) {
    struct vc_net_params np = e->params.net;
    np.max_tokens = e->params.max_num_batched_tokens;
    np.max_seqs = e->params.max_num_seqs;
    np.max_out = VC_MIN(e->params.max_num_seqs, (uint32_t)MAX_HEAD_ROWS);
    np.page_tokens = e->params.block_size;
    if (!np.threads) np.threads = vc_cpu_threads();
    e->threads = np.threads;
    VC_TRY(vc_net_open(&e->net, &np, err));
    return vc_engine_size_pool(e, np.max_model_len != 0, err);
}

static vc_status open_sched(struct vc_engine *e, vc_err *err) {
    struct vc_sched_config c;
    vc_sched_config_init(&c);
    c.block_size = e->params.block_size;
    c.num_blocks = e->net->kv.pages;
    c.num_groups = e->net->groups.num;
    c.windows = e->net->groups.windows;
    c.max_num_seqs = e->params.max_num_seqs;
    c.max_num_batched_tokens = e->params.scheduled_tokens ? e->params.scheduled_tokens : e->params.max_num_batched_tokens;
    c.max_model_len = e->net->max_model_len;
    c.policy = e->params.priority_policy ? VC_SCHED_PRIORITY : VC_SCHED_FCFS;
    c.prefix_caching = e->params.prefix_caching;
    c.chunked_prefill = !e->params.whole_prefill;
    c.reserve_full_isl = !e->params.no_reserve;
    c.long_prefill_token_threshold = e->params.long_prefill_threshold;
    c.watermark = (double)e->params.watermark;
    c.hash_algo = e->params.hash_algo;
    return vc_sched_new(&e->sched, &c, err);
}

static vc_status open_arrays(struct vc_engine *e, vc_err *err) {
    size_t T = e->params.max_num_batched_tokens, S = e->params.max_num_seqs, V = e->net->config.vocab_size, G = e->net->groups.num;
    e->ids = calloc(T, sizeof *e->ids);
    e->out_rows = calloc(T, sizeof *e->out_rows);
    e->slots = calloc(G * T, sizeof *e->slots);
    e->pos = calloc(T, sizeof *e->pos);
    e->seq_len = calloc(T, sizeof *e->seq_len);
    e->seqs = calloc(G * S, sizeof *e->seqs);
    e->outs = calloc(T, sizeof *e->outs);
    e->sampled = calloc(S, sizeof *e->sampled);
    e->results = calloc(S, sizeof *e->results);
    e->failed = calloc(S, 1);
    e->sampler = calloc(e->threads, sizeof *e->sampler);
    e->row = calloc(e->threads, sizeof *e->row);
    e->mask = calloc(e->threads, sizeof *e->mask);
    if (!e->ids || !e->out_rows || !e->slots || !e->pos || !e->seq_len || !e->seqs || !e->outs || !e->sampled || !e->results || !e->failed || !e->sampler || !e->row || !e->mask)
        return vc_fail(err, VC_E_NOMEM, "out of memory for steps of %zu tokens", T);
    for (uint32_t i = 0; i < e->threads; i++) {
        e->row[i] = calloc(VC_MAX(V, e->net->config.hidden_size) + 64, sizeof(float));
        e->mask[i] = calloc(V / 32 + 1, sizeof **e->mask);
        if (!e->row[i] || !e->mask[i]) return vc_fail(err, VC_E_NOMEM, "out of memory for a row of %zu logits", V);
        VC_TRY(vc_sampler_new(&e->sampler[i], (uint32_t)V, err));
    }
    return VC_OK;
}

static vc_status check_params(const struct vc_engine_params *p, vc_err *err) {
    if (p->max_num_seqs < 1 || p->max_num_seqs > 1u << 16) return vc_fail(err, VC_E_INVALID, "max_num_seqs: %u, expected 1 to 65536", p->max_num_seqs);
    if (p->max_num_batched_tokens < 1 || p->max_num_batched_tokens > 1u << 20)
        return vc_fail(err, VC_E_INVALID, "max_num_batched_tokens: %u, expected 1 to 1048576", p->max_num_batched_tokens);
    if (p->block_size < 16 || p->block_size % 16 || p->block_size > 4096)
        return vc_fail(err, VC_E_INVALID, "block_size: %u, expected a multiple of 16 up to 4096", p->block_size);
    return VC_OK;
}

vc_status vc_engine_open(struct vc_engine **out, const struct vc_engine_params *p, vc_engine_event_fn *fn, void *ctx, vc_err *err) {
    *out = NULL;
    VC_TRY(check_params(p, err));
    struct vc_engine *e = calloc(1, sizeof *e);
    if (!e) return vc_fail(err, VC_E_NOMEM, "out of memory for the engine");
    e->params = *p;
    e->event = fn;
    e->event_ctx = ctx;
    vc_status s = open_net(e, err);
    if (s == VC_OK) s = open_sched(e, err);
    if (s == VC_OK) s = open_arrays(e, err);
    if (s == VC_OK) vc_figures_init(&e->figures, &e->net->weights);
    if (s != VC_OK) {
        vc_engine_close(e);
        return s;
    }
    *out = e;
    return VC_OK;
}

static void seq_free(struct vc_engine_seq *q) {
    if (!q) return;
    vc_sample_seq_del(q->sample);
    free(q->prompt_logprobs);
    free(q->logprobs);
    vc_pooled_del(q->pooled);
    free(q);
}

void vc_engine_close(struct vc_engine *e) {
    if (!e) return;
    if (e->sched) {                                /* what still runs belongs to the scheduler, its other half to us */
        struct vc_seq *some[64];
        for (uint32_t n; (n = VC_MIN(vc_sched_running(e->sched, some, 64), 64u)) > 0;)
            for (uint32_t i = 0; i < n; i++) vc_engine_end(e, some[i]->user, VC_FINISH_ABORT);
        for (uint32_t n; (n = VC_MIN(vc_sched_waiting(e->sched, some, 64), 64u)) > 0;)
            for (uint32_t i = 0; i < n; i++) vc_engine_end(e, some[i]->user, VC_FINISH_ABORT);
    }
    vc_sched_del(e->sched);
    for (uint32_t i = 0; i < e->threads && e->sampler; i++) vc_sampler_del(e->sampler[i]);
    for (uint32_t i = 0; i < e->threads && e->row; i++) free(e->row[i]);
    for (uint32_t i = 0; i < e->threads && e->mask; i++) free(e->mask[i]);
    vc_net_close(e->net);
    free(e->mask);
    free(e->ids);
    free(e->out_rows);
    free(e->slots);
    free(e->pos);
    free(e->seq_len);
    free(e->seqs);
    free(e->outs);
    free(e->sampled);
    free(e->results);
    free(e->failed);
    free(e->sampler);
    free(e->row);
    free(e);
}

struct vc_net *vc_engine_net(struct vc_engine *e) { return e->net; }
uint32_t vc_engine_threads(const struct vc_engine *e) { return e->threads; }
void vc_engine_take(struct vc_engine *e) { e->net->dev->be->take(e->net->dev); }
void vc_engine_give(struct vc_engine *e) { e->net->dev->be->give(e->net->dev); }
void vc_engine_set_tap(struct vc_engine *e, vc_engine_tap_fn *fn, void *ctx) {
    e->tap = fn;
    e->tap_ctx = ctx;
}
void vc_engine_stats(const struct vc_engine *e, struct vc_sched_stats *out) { vc_sched_get_stats(e->sched, out); }
const struct vc_figures *vc_engine_figures(const struct vc_engine *e) { return &e->figures; }
bool vc_engine_reset_prefix_cache(struct vc_engine *e) { return vc_sched_reset_prefix_cache(e->sched); }

vc_status vc_engine_check(const struct vc_engine *e, const struct vc_engine_seq_params *p, uint32_t *max_tokens, vc_err *err) {
    uint32_t len = e->net->max_model_len, V = e->net->config.vocab_size;
    if (p->num_prompt < 1) return vc_fail(err, VC_E_INVALID, "prompt: it has no tokens");
    if (p->num_prompt >= len && !e->net->pooler.on)
        return vc_fail(err, VC_E_TOO_LONG, "prompt: %u tokens leave no room to generate below max_model_len %u", p->num_prompt, len);
    for (uint32_t i = 0; i < p->num_prompt; i++)
        if (p->prompt[i] < 0 || (uint32_t)p->prompt[i] >= V)
            return vc_fail(err, VC_E_INVALID, "prompt: token %d at place %u is outside the vocabulary of %u", p->prompt[i], i, V);
    *max_tokens = e->net->pooler.on ? 0 : len - p->num_prompt;
    if (e->net->pooler.on) return vc_engine_check_pool(e, p, err);
    if (p->sampling->max_tokens && p->sampling->max_tokens < *max_tokens) *max_tokens = p->sampling->max_tokens;
    if (!vc_sched_fits(e->sched, p->num_prompt, *max_tokens))
        return vc_fail(err, VC_E_TOO_LONG, "prompt: %u tokens and %u to generate do not fit the KV cache of %u tokens", p->num_prompt, *max_tokens,
                       vc_net_kv_tokens(e->net, e->net->kv.pages - 1, e->params.block_size, e->params.max_num_batched_tokens));
    return VC_OK;
}

static vc_status seq_buffers(struct vc_engine *e, struct vc_engine_seq *q, const struct vc_engine_seq_params *p, uint32_t max_tokens, vc_err *err) {
    const struct vc_sampling *s = p->sampling;
    if (e->net->pooler.on) return vc_pooled_new(&q->pooled, e, &p->pool, err);
    if (s->logprobs >= 0) q->logprobs = calloc((size_t)s->logprobs + 1, sizeof *q->logprobs);
    if (s->prompt_logprobs >= 0) q->prompt_logprobs = calloc((size_t)p->num_prompt * ((size_t)s->prompt_logprobs + 1), sizeof *q->prompt_logprobs);
    if ((s->logprobs >= 0 && !q->logprobs) || (s->prompt_logprobs >= 0 && !q->prompt_logprobs)) return vc_fail(err, VC_E_NOMEM, "out of memory for log-probabilities");
    if (q->prompt_logprobs)
        for (int32_t k = 0; k <= s->prompt_logprobs; k++) q->prompt_logprobs[k].token = -1;
    return vc_sample_seq_new(&q->sample, s, p->seed, p->prompt, p->num_prompt, max_tokens, e->net->config.vocab_size, err);
}

vc_status vc_engine_add(struct vc_engine *e, const struct vc_engine_seq_params *p, struct vc_engine_seq **out, vc_err *err) {
    uint32_t max_tokens;
    *out = NULL;
    VC_TRY(vc_engine_check(e, p, &max_tokens, err));
    struct vc_engine_seq *q = calloc(1, sizeof *q);
    if (!q) return vc_fail(err, VC_E_NOMEM, "out of memory for a sequence");
    q->sampling = p->sampling;
    q->constraint = p->constraint;
    q->user = p->user;
    q->all_logits = p->all_logits;
    vc_status s = seq_buffers(e, q, p, max_tokens, err);
    uint32_t flags = vc_net_rope_varies(e->net, p->num_prompt + max_tokens) ? VC_SEQ_NO_CACHE : 0;
    if (q->pooled) flags |= VC_SEQ_NO_OUTPUT | (e->net->pooler.type == VC_POOL_LAST ? 0u : VC_SEQ_NO_CACHE_READ);    /* others need every row, or the first */
    else if (q->all_logits || p->sampling->prompt_logprobs >= 0) flags |= VC_SEQ_NO_CACHE_READ;
    struct vc_seq_params sp = { .id = p->id, .prompt = p->prompt, .num_prompt = p->num_prompt, .max_tokens = max_tokens, .eos_token = p->sampling->eos_token,
                                .stop_ids = p->sampling->stop_ids, .num_stop_ids = p->sampling->num_stop_ids, .priority = p->priority,
                                .cache_salt = p->cache_salt, .flags = flags, .user = q,
                                .repetition = { p->sampling->repetition_most, p->sampling->repetition_least, p->sampling->repetition_count, p->sampling->min_tokens } };
    if (s == VC_OK) s = vc_sched_add(e->sched, &sp, &q->seq, err);
    if (s != VC_OK) {
        seq_free(q);
        return s;
    }
    *out = q;
    return VC_OK;
}

void vc_engine_seq_release(struct vc_engine_seq *q) {
    vc_seq_del(q->seq);
    seq_free(q);
}

struct vc_engine_event vc_engine_event_of(const struct vc_engine_seq *q, double at) {
    const struct vc_seq *s = q->seq;
    return (struct vc_engine_event){ .user = q->user, .token = -1, .stop_token = s->stop_token, .finish = s->finish, .at = at,
                                     .num_cached = (uint32_t)VC_MAX(s->num_cached, 0), .scheduled_at = q->scheduled_at, .num_preemptions = s->num_preemptions };
}

void vc_engine_end(struct vc_engine *e, struct vc_engine_seq *q, enum vc_finish f) {
    if (!vc_sched_finish(e->sched, q->seq, f)) return;
    struct vc_engine_event ev = vc_engine_event_of(q, vc_now());
    e->event(e->event_ctx, &ev);
    vc_engine_seq_release(q);
}

void vc_engine_stop_soon(struct vc_engine_seq *q) {
    q->stop_soon = true;
}
