/* SPDX-License-Identifier: Apache-2.0
 * choice.c: one choice of a request on the engine's side: its tokens become text, and text becomes outputs. */
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "api/api_int.h"

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

/* Moves text that can no longer become part of a stop string from the choice to the output. False: memory is short. */
static bool send_text(struct api_choice *c, struct api_output *o, bool last) {
    size_t end = c->text.n, stop = c->request->longest_stop, hold = !last && stop ? stop - 1 : 0, upto;
    upto = end > hold ? end - hold : 0;
    while (upto > 0 && upto < end && ((unsigned char)c->text.p[upto] & 0xC0) == 0x80) upto--;   /* whole characters */
    upto = VC_MAX(upto, c->keep);
    bool ok = (upto == c->keep && !last) || api_parse(c, o, c->text.p + c->keep, upto - c->keep, last);
    c->keep = upto;
    size_t drop = c->keep > stop ? c->keep - stop : 0;          /* what a stop string could still begin in stays */
    if (drop > 2048 || (drop && !stop)) {
        memmove(c->text.p, c->text.p + drop, c->text.n - drop + 1);
        c->text.n -= drop;
        c->keep -= drop;
    }
    return ok;
}

/* A lost delta would be a wrong answer: the choice ends here. */
static enum vc_finish end_short(struct api_choice *c, struct api_output *o, enum vc_finish finish) {
    if (finish == VC_FINISH_ERROR) return finish;
    if (finish == VC_FINISH_NONE) vc_engine_stop_soon(c->seq);
    vc_fail(&o->o.error, VC_E_NOMEM, "out of memory for an output");
    return VC_FINISH_ERROR;
}

/* Text of a new token into the choice; true when a stop string ends it. */
static bool add_token_text(struct vc_model *m, struct api_choice *c, const struct vc_engine_event *e,
                           struct api_output *o) {
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

/* False when memory is short. */
static bool fill_logprobs(struct api_output *o, const struct api_choice *c, const struct vc_engine_event *e) {
    if (e->margin) {
        o->margin = *e->margin;
        o->o.margins = &o->margin;
    }
    if (e->logprobs) {
        if (!copy_logprobs(&o->logprobs, &o->cap_logprobs, e->logprobs, e->num_logprobs)) return false;
        o->o.logprobs = o->logprobs;
        o->o.num_logprobs = e->num_logprobs;
    }
    if (e->prompt_logprobs && c->index == 0) {
        uint32_t per = (uint32_t)c->request->sampling->prompt_logprobs + 1;
        if (!copy_logprobs(&o->prompt_logprobs, &o->cap_prompt_logprobs, e->prompt_logprobs,
                           per * c->request->num_prompt))
            return false;
        o->o.prompt_logprobs = o->prompt_logprobs;
        o->o.num_prompt_logprobs = per;
    }
    return true;
}

static void fill_times(struct api_output *o, struct api_choice *c, const struct vc_engine_event *e) {
    if (e->token >= 0) {
        c->last_token_at = e->at;
        if (c->num_tokens == 0) c->first_token_at = e->at;
    }
    o->o.queued_at = c->request->queued_at;
    o->o.scheduled_at = e->scheduled_at;
    o->o.first_token_at = c->first_token_at;
    o->o.last_token_at = c->last_token_at;
    o->o.num_preemptions = e->num_preemptions;
}

/* False when memory is short. */
static bool fill_embedding(struct api_output *o, const struct vc_engine_event *e) {
    if (e->num_embedding > o->cap_embedding) {
        float *p = realloc(o->embedding, e->num_embedding * sizeof *p);
        if (!p) return false;
        o->embedding = p;
        o->cap_embedding = e->num_embedding;
    }
    memcpy(o->embedding, e->embedding, e->num_embedding * sizeof *o->embedding);
    o->o.embedding = o->embedding;
    o->o.num_embedding = e->num_embedding;
    return true;
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
    bool short_of_memory = !o;
    if (!o) {
        o = c->spare;
        c->spare = NULL;
    }
    o->o.request_id = r->id;
    o->o.index = c->index;
    o->o.user = r->user;
    o->o.seed = c->seed;
    o->o.num_prompt_tokens = r->num_prompt;
    o->o.num_cached_tokens = e->num_cached;
    fill_times(o, c, e);
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
        if (!fill_logprobs(o, c, e)) short_of_memory = true;
    } else if (finish != VC_FINISH_NONE && m->tokenizer) {
        vc_err err = VC_ERR_INIT;
        vc_detok_finish(&c->detok, &c->text, &err);
    }
    if (e->embedding) {
        m->prompt_tokens += r->num_prompt;
        if (!fill_embedding(o, e)) short_of_memory = true;
    }
    if (short_of_memory) finish = end_short(c, o, finish);
    if (!send_text(c, o, finish != VC_FINISH_NONE)) finish = end_short(c, o, finish);
    o->o.finish_reason = vc_finish_name(finish);
    if (finish == VC_FINISH_REPETITION) {          /* as vLLM names it in stop_reason */
        snprintf(o->stop_string, sizeof o->stop_string, "repetition_detected");
        o->o.stop_string = o->stop_string;
    }
    o->o.stop_token = o->o.stop_string ? -1 : e->stop_token;
    if (e->error) o->o.error = *e->error;
    bool end = finish != VC_FINISH_NONE;
    o->o.finished = end;
    o->o.request_finished = end && r->open_choices == 1;
    api_output_send(m, o);
    if (end) end_choice(m, c);
}
