/* SPDX-License-Identifier: Apache-2.0
 * srv_beam.c: use_beam_search, as vLLM's BeamSearchOnlineMixin does it on top of the engine: in each round every beam
 * is a request for one token with the 2·width best log-probabilities, whose prompt is mostly in the prefix cache; the
 * width best continuations go on. An end token completes a beam. Score of a beam: sum of log-probabilities / (tokens of
 * prompt and answer)^length_penalty. The pump collects the tokens of a round; a front job makes the next one. All
 * prompts of a call go through their rounds together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/srv_gen.h"

/* The answer so far. */
struct beam {
    int32_t *ids;         /* [n] owned */
    vc_logprob *logprobs; /* [n][shown + 1] owned */
    uint32_t n;
    double sum;
    bool ended;
};
/* Of a prompt: the beams that go on, and the best of those that ended. */
struct lane {
    struct beam *beams, *done;
    uint32_t num, num_done, max_tokens;
};
struct srv_search {
    uint32_t width;
    uint32_t shown; /* log-probabilities of a token in the answer, beside its own */
    uint32_t per;   /* entries that come with a token */
    double length_penalty;
    uint32_t round;
    atomic_uint pending;    /* requests of the round, and the thread that submits them */
    struct lane *lanes;     /* [num_parts], in the arena, as the following */
    struct srv_part *items; /* [num_parts * width] what the requests return as their user */
    vc_logprob *got;
    uint32_t *num_got; /* [num_parts * width][per] */
    vc_err error;      /* call->lock: the first of the round */
};

static void beam_free(struct beam *b) {
    free(b->ids);
    free(b->logprobs);
    *b = (struct beam){ 0 };
}

void srv_beam_free(struct srv_gen *g) {
    struct srv_search *s = g->search;
    for (uint32_t p = 0; s && s->lanes && p < g->num_parts; p++) {
        struct lane *l = &s->lanes[p];
        for (uint32_t i = 0; l->beams && i < l->num; i++) beam_free(&l->beams[i]);
        for (uint32_t i = 0; l->done && i < l->num_done; i++) beam_free(&l->done[i]);
    }
}

static bool is_eos(const struct srv_gen *g, int32_t token) {
    const vc_model_info *m = &g->call->model->info;
    for (uint32_t i = 0; i < m->num_eos_token_ids; i++)
        if (m->eos_token_ids[i] == token) return true;
    return false;
}

/* ---- beams ---- */

/* `from` and a token; with its log-probabilities where the answer shows them. An end token may be left out. */
static bool extend(const struct srv_search *s, const struct beam *from, int32_t token, double sum,
                   const vc_logprob *got, bool keep_id, struct beam *out) {
    uint32_t n = from->n + (keep_id ? 1u : 0u), per = s->shown + 1;
    *out = (struct beam){ .n = n,
                          .sum = sum,
                          .ids = malloc((n + 1) * sizeof *out->ids),
                          .logprobs = malloc((size_t)(n + 1) * per * sizeof *out->logprobs) };
    if (!out->ids || !out->logprobs) {
        beam_free(out);
        return false;
    }
    if (from->n) memcpy(out->ids, from->ids, from->n * sizeof *out->ids);
    if (from->n) memcpy(out->logprobs, from->logprobs, (size_t)from->n * per * sizeof *out->logprobs);
    if (!keep_id) return true;
    vc_logprob *v = out->logprobs + (size_t)from->n * per;
    out->ids[from->n] = token;
    for (uint32_t k = s->per; k-- > 0;)
        if (got[k].token == token) v[0] = got[k];
    memcpy(v + 1, got + 1, s->shown * sizeof *v);
    return true;
}

static double score(const struct srv_gen *g, const struct srv_part *p, const struct beam *b) {
    int32_t last = b->n ? b->ids[b->n - 1] : p->ids[p->num_ids - 1];
    double len = (double)p->num_ids + b->n - (is_eos(g, last) ? 1 : 0);
    return b->sum / pow(fmax(len, 1), g->search->length_penalty);
}

/* Keeps the width best, the earlier before its equals; takes b. */
static void complete(struct srv_gen *g, uint32_t part, struct beam *b) {
    struct lane *l = &g->search->lanes[part];
    const struct srv_part *p = &g->parts[part];
    uint32_t at = l->num_done;
    double mine = score(g, p, b);
    while (at > 0 && score(g, p, &l->done[at - 1]) < mine) at--;
    if (at == g->search->width) {
        beam_free(b);
        return;
    }
    if (l->num_done == g->search->width) beam_free(&l->done[--l->num_done]);
    memmove(&l->done[at + 1], &l->done[at], (l->num_done - at) * sizeof *b);
    l->done[at] = *b;
    l->num_done++;
    *b = (struct beam){ 0 };
}

/* ---- a round ---- */

struct candidate {
    double sum;
    int32_t token;
    uint32_t beam, order;
};

static int better(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->sum > y->sum || x->sum < y->sum) return x->sum > y->sum ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static bool seen_before(const vc_logprob *v, uint32_t k) {
    for (uint32_t i = 0; i < k; i++)
        if (v[i].token == v[k].token) return true;
    return false;
}

/* Continuations of all beams of a prompt; those that end are completed. */
static bool collect(struct srv_gen *g, uint32_t part, struct candidate *c, uint32_t *num) {
    const struct srv_search *s = g->search;
    struct lane *l = &s->lanes[part];
    bool ends = !g->rp.sampling.ignore_eos;
    *num = 0;
    for (uint32_t i = 0; i < l->num; i++) {
        const vc_logprob *v = s->got + (size_t)(part * s->width + i) * s->per;
        for (uint32_t k = 0; k < s->num_got[part * s->width + i]; k++) {
            if (v[k].token < 0 || seen_before(v, k)) continue;
            double sum = l->beams[i].sum + (double)v[k].logprob;
            if (!ends || !is_eos(g, v[k].token)) {
                c[*num] = (struct candidate){ sum, v[k].token, i, *num };
                ++*num;
                continue;
            }
            struct beam b;
            if (!extend(s, &l->beams[i], v[k].token, sum, v, g->rp.sampling.include_stop_str_in_output != 0, &b))
                return false;
            b.ended = true;
            complete(g, part, &b);
        }
    }
    return true;
}

static bool advance(struct srv_gen *g, uint32_t part) {
    const struct srv_search *s = g->search;
    struct lane *l = &s->lanes[part];
    uint32_t num = 0, kept = 0;
    struct candidate *c = malloc((size_t)l->num * s->per * sizeof *c);
    struct beam *next = VC_NEW_ARRAY(&g->arena, struct beam, s->width);
    bool ok = c && next && collect(g, part, c, &num);
    if (ok && num) qsort(c, num, sizeof *c, better);
    for (uint32_t i = 0; ok && i < num && i < s->width; i++) {
        const vc_logprob *v = s->got + (size_t)(part * s->width + c[i].beam) * s->per;
        ok = extend(s, &l->beams[c[i].beam], c[i].token, c[i].sum, v, true, &next[i]);
        kept += ok;
    }
    free(c);
    for (uint32_t i = 0; next && i < l->num; i++) beam_free(&l->beams[i]);
    if (next) {
        l->beams = next;
        l->num = kept;
    }
    return ok;
}

/* Asks for the next token of beam i of a prompt. */
static vc_status ask(struct srv_gen *g, uint32_t part, uint32_t i) {
    struct srv_search *s = g->search;
    struct srv_call *c = g->call;
    const struct srv_part *p = &g->parts[part];
    struct srv_part *item = &s->items[part * s->width + i];
    const struct beam *b = &s->lanes[part].beams[i];
    vc_request_params rp;
    vc_err err = VC_ERR_INIT;
    int32_t *ids = malloc((p->num_ids + b->n) * sizeof *ids);
    if (!ids) return VC_E_NOMEM;
    memcpy(ids, p->ids, p->num_ids * sizeof *ids);
    if (b->n) memcpy(ids + p->num_ids, b->ids, b->n * sizeof *ids);
    vc_request_params_init(&rp);
    rp.prompt_ids = ids;
    rp.num_prompt_ids = p->num_ids + b->n;
    rp.priority = g->rp.priority;
    rp.cache_salt = g->rp.cache_salt;
    rp.user = item;
    rp.sampling.max_tokens = 1;
    rp.sampling.temperature = 0;
    rp.sampling.logprobs = (int32_t)s->per - 1;
    rp.sampling.detokenize = 0;
    s->num_got[part * s->width + i] = 0;
    uint64_t id = 0;
    vc_status st = vc_submit(c->model->engine, &rp, &id, &err);
    free(ids);
    pthread_mutex_lock(&c->lock);
    item->id = id;
    item->submitted = st == VC_OK;
    if (st != VC_OK && s->error.status == VC_OK) s->error = err;
    bool cancelled = g->cancelled;
    pthread_mutex_unlock(&c->lock);
    if (st == VC_OK) srv_pump_kick(c->model);
    if (st == VC_OK && cancelled) (void)vc_cancel(c->model->engine, id);
    return st;
}

static void turn(struct srv_call *c);

static void one_less(struct srv_gen *g) {
    if (atomic_fetch_sub(&g->search->pending, 1) == 1) srv_front_push(g->call, turn);
}

/* Submits what goes on. Whoever is last, this thread or the pump, queues the turn that follows. */
static void submit_round(struct srv_gen *g) {
    struct srv_search *s = g->search;
    atomic_store(&s->pending, 1);
    for (uint32_t p = 0; p < g->num_parts; p++)
        for (uint32_t i = 0; i < s->lanes[p].num; i++) {
            atomic_fetch_add(&s->pending, 1);
            if (ask(g, p, i) != VC_OK) atomic_fetch_sub(&s->pending, 1);
        }
    one_less(g);
}

void srv_beam_output(struct srv_part *item, const vc_output *o) {
    struct srv_gen *g = item->call->gen;
    struct srv_search *s = g->search;
    if (o->num_token_ids && o->num_logprobs && o->num_logprobs <= s->per) {
        memcpy(s->got + (size_t)item->index * s->per, o->logprobs, o->num_logprobs * sizeof *o->logprobs);
        s->num_got[item->index] = o->num_logprobs;
    }
    if (!o->request_finished) return;
    pthread_mutex_lock(&item->call->lock);
    item->submitted = false;
    if (o->error.status != VC_OK && s->error.status == VC_OK) s->error = o->error;
    pthread_mutex_unlock(&item->call->lock);
    one_less(g);
}

/* ---- the end ---- */

/* Answer k of a prompt, as an output of the engine would be. */
static void answer(struct srv_gen *g, uint32_t part, uint32_t k, bool aborted) {
    struct srv_search *s = g->search;
    struct lane *l = &s->lanes[part];
    const struct beam *b = k < l->num_done ? &l->done[k] : NULL;
    vc_output o = { .index = k,
                    .user = &g->parts[part],
                    .text = "",
                    .reasoning = "",
                    .finished = 1,
                    .request_finished = k + 1 == s->width,
                    .stop_token = -1,
                    .num_prompt_tokens = (uint32_t)g->parts[part].num_ids,
                    .finish_reason = aborted         ? "abort"
                                     : b && b->ended ? "stop"
                                                     : "length",
                    .error = VC_ERR_INIT };
    char *text = NULL;
    size_t n = 0;
    vc_err err = VC_ERR_INIT;
    if (b) {
        bool drop = b->n && is_eos(g, b->ids[b->n - 1]) && !g->rp.sampling.ignore_eos;
        if (vc_detokenize(g->call->model->engine, b->ids, b->n - (drop ? 1u : 0u),
                          g->rp.sampling.skip_special_tokens ? VC_DETOK_SKIP_SPECIAL : 0, &text, &n, &err) == VC_OK) {
            o.text = text;
            o.text_len = n;
        }
        o.token_ids = b->ids;
        o.num_token_ids = b->n;
        o.logprobs = g->logprobs ? b->logprobs : NULL;
        o.num_logprobs = g->logprobs ? s->shown + 1 : 0;
        if (b->ended) o.stop_token = g->call->model->info.eos_token_ids[0];
    }
    if (s->error.status != VC_OK || err.status != VC_OK) {
        o.error = s->error.status != VC_OK ? s->error : err;
        o.finish_reason = "error";
    }
    srv_gen_output(&g->parts[part], &o);
    vc_free(text);
}

static void finish(struct srv_gen *g, bool aborted) {
    for (uint32_t p = 0; p < g->num_parts; p++) {
        struct lane *l = &g->search->lanes[p];
        for (uint32_t i = 0; i < l->num; i++) complete(g, p, &l->beams[i]);
        l->num = 0;
        for (uint32_t k = 0; k < g->search->width; k++) answer(g, p, k, aborted);
    }
}

/* Front job: all tokens of a round are there. */
static void turn(struct srv_call *c) {
    struct srv_gen *g = c->gen;
    struct srv_search *s = g->search;
    bool more = false;
    pthread_mutex_lock(&c->lock);
    bool stop = g->cancelled, failed = s->error.status != VC_OK;
    pthread_mutex_unlock(&c->lock);
    for (uint32_t p = 0; !stop && !failed && p < g->num_parts; p++) {
        struct lane *l = &s->lanes[p];
        if (!l->num) continue;
        if (!advance(g, p)) {
            vc_fail(&s->error, VC_E_NOMEM, "out of memory for a beam");
            failed = true;
        }
        if (s->round + 1 == l->max_tokens) {
            for (uint32_t i = 0; i < l->num; i++) complete(g, p, &l->beams[i]);
            l->num = 0;
        }
        more |= l->num > 0;
    }
    s->round++;
    if (stop || failed || !more)
        finish(g, stop);
    else
        submit_round(g);
}

/* What changes or reads the probabilities of a search, beside what vLLM's own has: refused by name, as it would do
 * nothing. */
bool srv_beam_check(struct srv_gen *g) {
    const vc_sampling_params *p = &g->rp.sampling;
    const struct srv_value *v = g->f.v;
    int64_t most =
        g->call->model->p->params.max_logprobs < 0 ? (int64_t)UINT32_MAX : g->call->model->p->params.max_logprobs;
    const struct {
        bool on;
        const char *name;
    } no[] = { { p->num_stop > 0, "stop" },
               { p->num_stop_token_ids > 0, "stop_token_ids" },
               { p->min_tokens > 0, "min_tokens" },
               { p->num_logit_bias > 0, "logit_bias" },
               { p->num_allowed_token_ids > 0, "allowed_token_ids" },
               { p->num_bad_words > 0, "bad_words" },
               { p->prompt_logprobs >= 0 && !g->echo, "prompt_logprobs" },
               { p->num_logprob_token_ids > 0, "logprob_token_ids" },
               { p->return_margin != 0, "return_margin" },
               { p->repetition_max_pattern > 0, "repetition_detection" },
               { g->num_shown != p->n, "best_of" },
               { g->rp.constraint_kind != NULL, "structured_outputs" },
               { g->tools != SRV_TOOLS_NONE, "tool_choice" },
               { g->rp.reasoning_parser != NULL, "--reasoning-parser" },
               { v[SRV_F_PRESENCE_PENALTY].given && fabs(v[SRV_F_PRESENCE_PENALTY].f) > 0, "presence_penalty" },
               { v[SRV_F_FREQUENCY_PENALTY].given && fabs(v[SRV_F_FREQUENCY_PENALTY].f) > 0, "frequency_penalty" },
               { v[SRV_F_REPETITION_PENALTY].given && fabs(v[SRV_F_REPETITION_PENALTY].f - 1) > 0,
                 "repetition_penalty" },
               { g->echo && g->logprobs, "echo with logprobs" } };
    for (size_t i = 0; i < VC_ARRAY_LEN(no); i++)
        if (no[i].on) {
            srv_error(g->call, 400, NULL, "use_beam_search",
                      "use_beam_search cannot be used with %s. (parameter=use_beam_search)", no[i].name);
            return false;
        }
    if (2 * (int64_t)p->n <= most) return true;
    srv_error(g->call, 400, NULL, "use_beam_search",
              "use_beam_search with n=%u needs %u log-probabilities of a token, more than --max-logprobs %lld. "
              "(parameter=use_beam_search)",
              p->n, 2 * p->n, (long long)most);
    return false;
}

bool srv_beam_start(struct srv_gen *g) {
    struct srv_call *c = g->call;
    struct srv_search *s = VC_NEW(&g->arena, struct srv_search);
    uint32_t width = g->rp.sampling.n, parts = g->num_parts, len = c->model->info.max_model_len;
    if (!s) return false;
    s->width = width;
    s->shown = g->logprobs && g->rp.sampling.logprobs > 0 ? (uint32_t)g->rp.sampling.logprobs : 0;
    s->per = 1 + VC_MAX(VC_MIN(2 * width, c->model->info.vocab_size), s->shown);
    s->length_penalty = g->f.v[SRV_F_LENGTH_PENALTY].given ? g->f.v[SRV_F_LENGTH_PENALTY].f : 1;
    s->error = (vc_err)VC_ERR_INIT;
    s->lanes = VC_NEW_ARRAY(&g->arena, struct lane, parts);
    s->items = VC_NEW_ARRAY(&g->arena, struct srv_part, (size_t)parts * width);
    s->got = VC_NEW_ARRAY(&g->arena, vc_logprob, (size_t)parts * width * s->per);
    s->num_got = VC_NEW_ARRAY(&g->arena, uint32_t, (size_t)parts * width);
    if (!s->lanes || !s->items || !s->got || !s->num_got) return false;
    for (uint32_t i = 0; i < parts * width; i++)
        s->items[i] = (struct srv_part){ .call = c, .index = i, .is_beam = true };
    for (uint32_t p = 0; p < parts; p++) {
        struct lane *l = &s->lanes[p];
        l->beams = VC_NEW_ARRAY(&g->arena, struct beam, width);
        l->done = VC_NEW_ARRAY(&g->arena, struct beam, width + 1);
        if (!l->beams || !l->done) return false;
        l->num = 1;
        l->max_tokens = VC_MIN(g->rp.sampling.max_tokens, len - (uint32_t)g->parts[p].num_ids);
    }
    pthread_mutex_lock(&c->lock);
    g->search = s;
    pthread_mutex_unlock(&c->lock);
    for (uint32_t p = 0; p < parts; p++) { /* given back by the end of each part */
        srv_call_ref(c);
        atomic_fetch_add(&c->model->live, width);
        g->parts[p].submitted_at = vc_now();
        if (c->key) srv_key_tokens(c->srv->keys, c->key, g->parts[p].num_ids);
    }
    submit_round(g);
    return true;
}

void srv_beam_cancel(struct srv_gen *g) {
    struct srv_call *c = g->call;
    struct srv_search *s = g->search;
    for (uint32_t i = 0; s && i < g->num_parts * s->width; i++) {
        pthread_mutex_lock(&c->lock);
        uint64_t id = s->items[i].submitted ? s->items[i].id : 0;
        pthread_mutex_unlock(&c->lock);
        if (id) (void)vc_cancel(c->model->engine, id);
    }
}
