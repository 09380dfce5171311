/* SPDX-License-Identifier: Apache-2.0
 * request.c: requests: submitted and checked on the caller's thread, turned into sequences, their tokens into outputs. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "base/rng.h"

enum { MAX_LOGPROBS = 20 };

void vc_sampling_params_init(vc_sampling_params *p) {
    *p = (vc_sampling_params){ .struct_size = sizeof *p, .n = 1, .temperature = 1.0f, .top_p = 1.0f, .repetition_penalty = 1.0f, .logprobs = -1,
                               .prompt_logprobs = -1, .skip_special_tokens = 1, .detokenize = 1 };
}

void vc_request_params_init(vc_request_params *p) {
    *p = (vc_request_params){ .struct_size = sizeof *p, .tokenize_flags = VC_TOK_ADD_SPECIAL };
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
        vc_detok_free(&r->choice[i].detok);
        vc_buf_free(&r->choice[i].text);
    }
    vc_sampling_del(r->sampling);
    free(r->prompt);
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
    struct vc_engine_seq_params sp = { .prompt = r->prompt, .num_prompt = r->num_prompt, .sampling = r->sampling };
    uint32_t max_tokens;
    if (r->sampling->num_stop && !m->tokenizer) return vc_fail(err, VC_E_INVALID, "stop: the model has no tokenizer, so stop strings cannot be found");
    return vc_engine_check(m->engine, &sp, &max_tokens, err);
}

static void init_choices(struct vc_model *m, struct api_request *r) {
    /* A seed of our own has 53 bits, so that every JSON reader keeps it exactly. */
    uint64_t seed = r->sampling->has_seed ? r->sampling->seed : vc_mix64(m->base_seed + r->id * UINT64_C(0x9E3779B97F4A7C15)) >> 11;
    for (uint32_t i = 0; i < r->sampling->n; i++) {
        struct api_choice *c = &r->choice[i];
        *c = (struct api_choice){ .request = r, .index = i, .seed = seed + i };
        vc_buf_reserve(&c->text, 4096);
        if (m->tokenizer) vc_detok_init(&c->detok, m->tokenizer, r->sampling->skip_special_tokens);
    }
    for (uint32_t i = 0; i < r->sampling->num_stop; i++)
        if (r->sampling->stop_len[i] > r->longest_stop) r->longest_stop = r->sampling->stop_len[i];
    r->open_choices = r->sampling->n;
}

static vc_status make_request(struct vc_model *m, const vc_request_params *p, struct api_request **out, vc_err *err) {
    struct vc_sampling *s;
    struct vc_sampling_limits lim = { .vocab_size = m->info.vocab_size, .max_logprobs = MAX_LOGPROBS, .eos_ids = m->eos_ids, .num_eos_ids = m->num_eos };
    VC_TRY(vc_sampling_new(&s, &p->sampling, &lim, err));
    struct api_request *r = calloc(1, sizeof *r + s->n * sizeof r->choice[0]);
    if (!r) {
        vc_sampling_del(s);
        return vc_fail(err, VC_E_NOMEM, "out of memory for a request");
    }
    r->sampling = s;
    r->priority = p->priority;
    r->user = p->user;
    size_t n = 0;
    vc_status st = prompt_ids(m, p, &r->prompt, &n, err);
    r->num_prompt = (uint32_t)n;
    if (st == VC_OK && p->cache_salt && !(r->cache_salt = strdup(p->cache_salt))) st = vc_fail(err, VC_E_NOMEM, "out of memory for a request");
    if (st == VC_OK) st = check(m, r, err);
    if (st != VC_OK) {
        api_request_free(r);
        return st;
    }
    *out = r;
    return VC_OK;
}

vc_status vc_submit(vc_model *m, const vc_request_params *p, uint64_t *id, vc_err *err) {
    if (p->struct_size != sizeof *p || p->sampling.struct_size != sizeof p->sampling)
        return vc_fail(err, VC_E_INVALID, "vc_submit: struct_size is not that of this library; call vc_request_params_init");
    if (p->constraint_kind || p->tool_parser || p->reasoning_parser) return vc_fail(err, VC_E_UNSUPPORTED, "structured output and parsers are not part of this build");
    struct api_request *r = NULL;
    VC_TRY(make_request(m, p, &r, err));
    pthread_mutex_lock(&m->lock);
    r->id = ++m->next_id;
    if (id) *id = r->id;
    init_choices(m, r);
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

static void forget(struct vc_model *m, struct api_request *r) {
    pthread_mutex_lock(&m->lock);
    if (r->prev) r->prev->next = r->next;
    else m->live = r->next;
    if (r->next) r->next->prev = r->prev;
    m->num_live--;
    pthread_cond_broadcast(&m->ready);
    pthread_mutex_unlock(&m->lock);
    api_request_free(r);
}

static bool copy_logprobs(vc_logprob **dst, uint32_t *cap, const vc_logprob *src, uint32_t n) {
    if (n > *cap) {
        vc_logprob *p = realloc(*dst, n * sizeof *p);
        if (!p) return false;
        *dst = p;
        *cap = n;
    }
    memcpy(*dst, src, n * sizeof *src);
    return true;
}

/* Moves text that can no longer become part of a stop string from the choice to the output. */
static void send_text(struct api_choice *c, struct api_output *o, bool last) {
    size_t end = c->text.n, stop = c->request->longest_stop, hold = !last && stop ? stop - 1 : 0, upto;
    upto = end > hold ? end - hold : 0;
    while (upto > 0 && upto < end && ((unsigned char)c->text.p[upto] & 0xC0) == 0x80) upto--;   /* whole characters */
    if (upto > c->keep) {
        vc_buf_add(&o->text, c->text.p + c->keep, upto - c->keep);
        c->keep = upto;
    }
    size_t drop = c->keep > stop ? c->keep - stop : 0;          /* what a stop string could still begin in stays */
    if (drop > 2048 || (drop && !stop)) {
        memmove(c->text.p, c->text.p + drop, c->text.n - drop + 1);
        c->text.n -= drop;
        c->keep -= drop;
    }
}

/* Text of a new token into the choice; true when a stop string ends it. */
static bool add_token_text(struct vc_model *m, struct api_choice *c, const struct vc_engine_event *e, struct api_output *o) {
    const struct vc_sampling *s = c->request->sampling;
    if (!m->tokenizer || !s->detokenize) return false;
    size_t before = c->text.n;
    bool stop_token = e->finish == VC_FINISH_STOP && !s->include_stop_str_in_output;
    vc_err err = VC_ERR_INIT;
    if (!stop_token) vc_detok_push(&c->detok, e->token, &c->text, &err);
    if (e->finish != VC_FINISH_NONE) vc_detok_finish(&c->detok, &c->text, &err);
    size_t fresh = c->text.n - before;
    if (s->num_stop && fresh && c->num_tokens > s->min_tokens) {
        const char *which = NULL;
        size_t cut = api_find_stop(s, c->text.p, c->text.n, fresh, &which);
        if (cut != SIZE_MAX) {
            c->text.n = VC_MAX(cut, c->keep);
            c->text.p[c->text.n] = '\0';
            snprintf(o->stop_string, sizeof o->stop_string, "%s", which);
            o->o.stop_string = o->stop_string;
            return true;
        }
    }
    return false;
}

static void fill_logprobs(struct api_output *o, const struct api_choice *c, const struct vc_engine_event *e) {
    if (e->logprobs && copy_logprobs(&o->logprobs, &o->cap_logprobs, e->logprobs, e->num_logprobs)) {
        o->o.logprobs = o->logprobs;
        o->o.num_logprobs = e->num_logprobs;
    }
    if (e->prompt_logprobs && c->index == 0) {
        uint32_t per = (uint32_t)c->request->sampling->prompt_logprobs + 1;
        if (copy_logprobs(&o->prompt_logprobs, &o->cap_prompt_logprobs, e->prompt_logprobs, per * c->request->num_prompt)) {
            o->o.prompt_logprobs = o->prompt_logprobs;
            o->o.num_prompt_logprobs = per;
        }
    }
}

/* The choice is over; its request goes with the last one. */
static void end_choice(struct vc_model *m, struct api_choice *c) {
    c->finished = true;
    c->seq = NULL;
    if (--c->request->open_choices == 0) forget(m, c->request);
}

/* Called by the engine inside a step (and by vc_engine_end). */
void api_event(void *ctx, const struct vc_engine_event *e) {
    struct vc_model *m = ctx;
    struct api_choice *c = e->user;
    struct api_request *r = c->request;
    struct api_output *o = api_output_take(m);
    enum vc_finish finish = e->finish;
    if (!o) {                                                   /* out of memory: this delta is lost, but never the end of a choice */
        if (finish != VC_FINISH_NONE) end_choice(m, c);
        return;
    }
    o->o.request_id = r->id;
    o->o.index = c->index;
    o->o.user = r->user;
    o->o.seed = c->seed;
    o->o.num_prompt_tokens = r->num_prompt;
    o->o.num_cached_tokens = e->num_cached;
    if (e->token >= 0) {
        o->token = e->token;
        o->o.token_ids = &o->token;
        o->o.num_token_ids = 1;
        c->num_tokens++;
        m->generated_tokens++;
        if (c->num_tokens == 1) m->prompt_tokens += r->num_prompt;
        if (add_token_text(m, c, e, o) && finish != VC_FINISH_ERROR) {
            if (finish == VC_FINISH_NONE) vc_engine_stop_soon(c->seq);
            finish = VC_FINISH_STOP;
        }
        fill_logprobs(o, c, e);
    } else if (finish != VC_FINISH_NONE && m->tokenizer) {
        vc_err err = VC_ERR_INIT;
        vc_detok_finish(&c->detok, &c->text, &err);
    }
    send_text(c, o, finish != VC_FINISH_NONE);
    o->o.finish_reason = vc_finish_name(finish);
    o->o.stop_token = o->o.stop_string ? -1 : e->stop_token;
    if (e->error) o->o.error = *e->error;
    bool end = finish != VC_FINISH_NONE;
    o->o.finished = end;
    o->o.request_finished = end && r->open_choices == 1;
    api_output_send(m, o);
    if (end) end_choice(m, c);
}

static void admit_one(struct vc_model *m, struct api_request *r) {
    uint32_t n = r->sampling->n;                                /* r is gone once its last choice has ended */
    for (uint32_t i = 0; i < n; i++) {
        struct api_choice *c = &r->choice[i];
        struct vc_engine_seq_params sp = { .id = r->id * 1024 + i, .prompt = r->prompt, .num_prompt = r->num_prompt, .sampling = r->sampling, .seed = c->seed,
                                           .priority = r->priority, .cache_salt = r->cache_salt, .all_logits = r->all_logits, .user = c };
        vc_err err = VC_ERR_INIT;
        if (vc_engine_add(m->engine, &sp, &c->seq, &err) == VC_OK) continue;
        struct vc_engine_event e = { .user = c, .token = -1, .finish = VC_FINISH_ERROR, .stop_token = -1, .error = &err };
        api_event(m, &e);
    }
}

static void cancel_one(struct vc_model *m, struct api_request *r) {
    uint32_t n = r->sampling->n, left = r->open_choices;
    for (uint32_t i = 0; i < n && left; i++) {
        struct api_choice *c = &r->choice[i];
        if (c->finished) continue;
        left--;                                                 /* r may be gone after the last */
        if (c->seq) vc_engine_end(m->engine, c->seq, VC_FINISH_ABORT);
        else api_event(m, &(struct vc_engine_event){ .user = c, .token = -1, .finish = VC_FINISH_ABORT, .stop_token = -1 });
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
