/* SPDX-License-Identifier: Apache-2.0
 * request.c: requests: submitted and checked on the caller's thread, turned into sequences, then into outputs. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "base/rng.h"


void vc_sampling_params_init(vc_sampling_params *p) {
    *p = (vc_sampling_params){ .struct_size = sizeof *p,
                               .n = 1,
                               .temperature = 1.0f,
                               .top_p = 1.0f,
                               .repetition_penalty = 1.0f,
                               .logprobs = -1,
                               .prompt_logprobs = -1,
                               .skip_special_tokens = 1,
                               .detokenize = 1 };
}

void vc_request_params_init(vc_request_params *p) {
    *p = (vc_request_params){ .struct_size = sizeof *p,
                              .tokenize_flags = VC_TOK_ADD_SPECIAL,
                              .use_activation = -1,
                              .thinking_token_budget = -1 };
    vc_sampling_params_init(&p->sampling);
}

void vc_sampling_from_model(const vc_model *m, vc_sampling_params *p) {
    p->temperature = m->defaults.temperature;
    p->top_p = m->defaults.top_p;
    p->top_k = m->defaults.top_k;
    p->min_p = m->defaults.min_p;
    p->repetition_penalty = m->defaults.repetition_penalty;
    p->max_tokens = m->defaults.max_tokens;
}

void api_request_free(struct api_request *r) {
    if (!r) return;
    for (uint32_t i = 0; r->sampling && i < r->sampling->n; i++) {
        api_constraint_free(&r->choice[i].constraint);
        vc_parser_del(r->choice[i].parser);
        vc_detok_free(&r->choice[i].detok);
        vc_buf_free(&r->choice[i].text);
        if (r->choice[i].spare) vc_output_free(&r->choice[i].spare->o);
    }
    vc_sampling_del(r->sampling);
    vc_grammar_unref(r->grammar);
    free(r->prompt);
    vc_free(r->closing);
    free(r->cache_salt);
    free(r);
}

/* Token ids of the prompt, malloc'd. */
static vc_status prompt_ids(struct vc_model *m, const vc_request_params *p, int32_t **ids, size_t *n, vc_err *err) {
    if (p->prompt_ids) {
        if (p->num_prompt_ids > 1u << 28) return vc_fail(err, VC_E_TOO_LONG, "prompt: %zu tokens", p->num_prompt_ids);
        *ids = malloc((p->num_prompt_ids + 1) * sizeof **ids);
        if (!*ids) return vc_fail(err, VC_E_NOMEM, "out of memory for the prompt");
        memcpy(*ids, p->prompt_ids, p->num_prompt_ids * sizeof **ids);
        *n = p->num_prompt_ids;
        return VC_OK;
    }
    if (!p->prompt) return vc_fail(err, VC_E_INVALID, "prompt: neither text nor token ids are given");
    return vc_tokenize(m, p->prompt, p->prompt_len ? p->prompt_len : strlen(p->prompt), p->tokenize_flags, ids, n, err);
}

static vc_status check(struct vc_model *m, const struct api_request *r, vc_err *err) {
    struct vc_engine_seq_params sp = {
        .prompt = r->prompt, .num_prompt = r->num_prompt, .sampling = r->sampling, .pool = r->pool
    };
    uint32_t max_tokens;
    if (r->sampling->num_stop && !m->tokenizer)
        return vc_fail(err, VC_E_INVALID, "stop: the model has no tokenizer, so stop strings cannot be found");
    return vc_engine_check(m->engine, &sp, &max_tokens, err);
}

/* What only text, or only an embedding, can honour. */
static vc_status check_kind(const struct vc_model *m, const vc_request_params *p, vc_err *err) {
    if (m->info.pooling) {
        if (p->sampling.n != 1)
            return vc_fail(err, VC_E_INVALID, "n: %u, but a prompt has one embedding", p->sampling.n);
        if (p->constraint_kind || p->tool_parser || p->reasoning_parser)
            return vc_fail(err, VC_E_INVALID, "the model makes embeddings: constraints and parsers are for text");
        return VC_OK;
    }
    if (p->dimensions || p->use_activation >= 0)
        return vc_fail(err, VC_E_INVALID, "%s: the model generates text; embeddings need runner 'pooling'",
                       p->dimensions ? "dimensions" : "use_activation");
    return VC_OK;
}

/* All that a choice needs, before anyone else can see the request. */
static vc_status init_choices(struct vc_model *m, struct api_request *r, vc_err *err) {
    const struct vc_sampling *s = r->sampling;
    for (uint32_t i = 0; i < s->num_stop; i++)
        if (s->stop_len[i] > r->longest_stop) r->longest_stop = s->stop_len[i];
    for (uint32_t i = 0; i < s->n; i++) {
        struct api_choice *c = &r->choice[i];
        c->request = r;
        c->index = i;
        c->spare = api_output_take(m);
        if (!c->spare || !vc_buf_reserve(&c->text, 4096))
            return vc_fail(err, VC_E_NOMEM, "out of memory for a request");
        bool skips_special = s->skip_special_tokens && !c->parser;      /* a parser's markers may be special */
        if (m->tokenizer) vc_detok_init(&c->detok, m->tokenizer, skips_special);
        if (r->closing) api_constraint_budget(&c->constraint, m, c->parser, r);
        bool waits = c->parser && vc_parser_in_reasoning(c->parser);
        if (r->grammar) VC_TRY(api_constraint_init(&c->constraint, m, r->grammar, waits, err));
    }
    r->open_choices = s->n;
    return VC_OK;
}

static vc_status make_request(struct vc_model *m, const vc_request_params *p, struct api_request **out, vc_err *err) {
    struct vc_sampling *s;
    struct vc_sampling_limits lim = { .vocab_size = m->info.vocab_size,
                                      .max_logprobs = m->max_logprobs,
                                      .eos_ids = m->eos_ids,
                                      .num_eos_ids = m->num_eos };
    VC_TRY(check_kind(m, p, err));
    VC_TRY(vc_sampling_new(&s, &p->sampling, &lim, err));
    struct api_request *r = calloc(1, sizeof *r + s->n * sizeof r->choice[0]);
    if (!r) {
        vc_sampling_del(s);
        return vc_fail(err, VC_E_NOMEM, "out of memory for a request");
    }
    r->sampling = s;
    r->priority = p->priority;
    r->user = p->user;
    r->pool = (struct vc_engine_pool){ .dimensions = p->dimensions, .use_activation = p->use_activation };
    size_t n = 0;
    vc_status st = prompt_ids(m, p, &r->prompt, &n, err);
    r->num_prompt = (uint32_t)n;
    if (st == VC_OK && p->cache_salt && !(r->cache_salt = strdup(p->cache_salt)))
        st = vc_fail(err, VC_E_NOMEM, "out of memory for a request");
    if (st == VC_OK) st = check(m, r, err);
    if (st == VC_OK) st = api_grammar_get(m, p, &r->grammar, err);
    if (st == VC_OK) st = api_parser_init(m, r, p, err);
    if (st == VC_OK) st = init_choices(m, r, err);
    if (st != VC_OK) {
        api_request_free(r);
        return st;
    }
    *out = r;
    return VC_OK;
}

vc_status vc_submit(vc_model *m, const vc_request_params *p, uint64_t *id, vc_err *err) {
    if (p->struct_size != sizeof *p || p->sampling.struct_size != sizeof p->sampling)
        return vc_fail(err, VC_E_INVALID,
                       "vc_submit: struct_size is not that of this library; call vc_request_params_init");
    struct api_request *r = NULL;
    VC_TRY(make_request(m, p, &r, err));
    r->queued_at = vc_now();
    pthread_mutex_lock(&m->lock);
    if (m->num_live == 0) m->progress_at = r->queued_at;
    r->id = ++m->next_id;
    if (id) *id = r->id;
    /* A seed of our own has 53 bits, so that every JSON reader keeps it exactly. */
    uint64_t own = vc_mix64(m->base_seed + r->id * UINT64_C(0x9E3779B97F4A7C15)) >> 11;
    uint64_t seed = r->sampling->has_seed ? r->sampling->seed : own;
    for (uint32_t i = 0; i < r->sampling->n; i++) r->choice[i].seed = seed + i;
    *m->pending_tail = r;
    m->pending_tail = &r->next;
    m->num_live++;
    pthread_cond_signal(&m->work);
    pthread_mutex_unlock(&m->lock);
    return VC_OK;
}

static struct api_request *find(struct api_request *list, uint64_t id) {
    while (list && list->id != id) list = list->next;
    return list;
}

vc_status vc_cancel(vc_model *m, uint64_t id) {
    pthread_mutex_lock(&m->lock);
    struct api_request *r = find(m->pending, id);
    if (!r) r = find(m->live, id);
    if (r) r->cancelled = m->any_cancelled = true;
    pthread_cond_signal(&m->work);
    pthread_mutex_unlock(&m->lock);
    return r ? VC_OK : VC_E_NOT_FOUND;
}

/* ---- on the engine's side ---- */

static void admit_one(struct vc_model *m, struct api_request *r) {
    uint32_t n = r->sampling->n;                                /* r is gone once its last choice has ended */
    for (uint32_t i = 0; i < n; i++) {
        struct api_choice *c = &r->choice[i];
        struct vc_engine_seq_params sp = { .id = r->id * 1024 + i,
                                           .prompt = r->prompt,
                                           .num_prompt = r->num_prompt,
                                           .sampling = r->sampling,
                                           .seed = c->seed,
                                           .priority = r->priority,
                                           .cache_salt = r->cache_salt,
                                           .all_logits = r->all_logits,
                                           .pool = r->pool,
                                           .constraint = c->constraint.base.ops ? &c->constraint.base : NULL,
                                           .user = c };
        vc_err err = VC_ERR_INIT;
        if (vc_engine_add(m->engine, &sp, &c->seq, &err) == VC_OK) continue;
        struct vc_engine_event e = {
            .user = c, .token = -1, .finish = VC_FINISH_ERROR, .stop_token = -1, .error = &err
        };
        api_event(m, &e);
    }
}

static void cancel_one(struct vc_model *m, struct api_request *r) {
    uint32_t n = r->sampling->n, left = r->open_choices;
    for (uint32_t i = 0; i < n && left; i++) {
        struct api_choice *c = &r->choice[i];
        if (c->finished) continue;
        left--;                                                 /* r may be gone after the last */
        struct vc_engine_event e = { .user = c, .token = -1, .finish = VC_FINISH_ABORT, .stop_token = -1 };
        if (c->seq) vc_engine_end(m->engine, c->seq, VC_FINISH_ABORT);
        else api_event(m, &e);
    }
}

/* Takes what is pending, and ends what was cancelled. */
void api_admit(struct vc_model *m) {
    pthread_mutex_lock(&m->lock);
    struct api_request *list = m->pending;
    m->pending = NULL;
    m->pending_tail = &m->pending;
    pthread_mutex_unlock(&m->lock);
    for (struct api_request *r = list, *next; r; r = next) {
        next = r->next;
        pthread_mutex_lock(&m->lock);
        r->next = m->live;
        r->prev = NULL;
        if (m->live) m->live->prev = r;
        m->live = r;
        bool cancelled = r->cancelled;
        pthread_mutex_unlock(&m->lock);
        if (!cancelled) admit_one(m, r);
    }
    for (;;) {                                                  /* one at a time: ending one changes the list */
        pthread_mutex_lock(&m->lock);
        struct api_request *r = m->any_cancelled ? m->live : NULL;
        while (r && !r->cancelled) r = r->next;
        if (!r) m->any_cancelled = false;
        pthread_mutex_unlock(&m->lock);
        if (!r) return;
        cancel_one(m, r);
    }
}
