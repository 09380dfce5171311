/* SPDX-License-Identifier: Apache-2.0
 * srv_gen.c: a generation from its fields to submitted requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "server/srv_gen.h"
#include "server/srv_metrics.h"

void srv_random_hex(char *dst, size_t bytes) {
    unsigned char raw[32];
    static const char hex[] = "0123456789abcdef";
    if (getrandom(raw, bytes, 0) != (ssize_t)bytes) memset(raw, 0, sizeof raw);
    for (size_t i = 0; i < bytes; i++) {
        dst[2 * i] = hex[raw[i] >> 4];
        dst[2 * i + 1] = hex[raw[i] & 15];
    }
    dst[2 * bytes] = '\0';
}

const char *srv_fingerprint(const struct srv_gen *g) {
    const char *set = g->call->srv->p.fingerprint;
    return !set ? "vllmc-" VC_VERSION : *set ? set : NULL;
}

void srv_add_fingerprint(const struct srv_gen *g, struct vc_buf *b) {
    const char *text = srv_fingerprint(g);
    if (!text) return;
    vc_buf_adds(b, ",\"system_fingerprint\":");
    vc_json_add_str(b, text, strlen(text));
}

bool srv_model_known(struct srv_call *c, const char *name) {
    if (!name || c->srv->p.any_name || srv_model_named(c->srv, name)) return true;
    char shown[256];
    struct vc_buf names = { 0 };
    for (uint32_t i = 0; i < c->srv->num_models; i++)
        vc_buf_printf(&names, "%s%s", i ? ", " : "", srv_model_name(&c->srv->models[i]));
    srv_error(c, 404, NULL, "model", "The model `%s` does not exist. Valid aliases: %s.",
              vc_printable(shown, sizeof shown, name, strlen(name)), names.p ? names.p : "");
    vc_buf_free(&names);
    return false;
}

struct srv_gen *srv_gen_new(struct srv_call *c, const struct srv_writer *w) {
    struct srv_gen *g = calloc(1, sizeof *g);
    if (!g) {
        srv_error(c, 503, NULL, NULL, "out of memory");
        return NULL;
    }
    g->call = c;
    g->writer = w;
    g->created = (int64_t)time(NULL);
    g->model = srv_model_name(c->model);
    g->role = c->srv->p.response_role;
    g->include_reasoning = true;
    g->prompt_name = "prompt";
    g->error = (vc_err)VC_ERR_INIT;
    vc_request_params_init(&g->rp);
    pthread_mutex_lock(&c->lock);
    c->gen = g;
    g->cancelled = c->gone;
    pthread_mutex_unlock(&c->lock);
    return g;
}

static void answer_free(struct srv_answer *a) {
    vc_buf_free(&a->text);
    vc_buf_free(&a->reasoning);
    free(a->ids);
    free(a->logprobs);
    free(a->margins);
    srv_held_free(a->held);
    free(a->stop_string);
    srv_calls_free(&a->calls);
    for (uint32_t i = 0; i < a->num_tools; i++) {
        free(a->tools[i].name);
        vc_buf_free(&a->tools[i].arguments);
    }
    free(a->tools);
}

void srv_gen_free(struct srv_gen *g) {
    if (!g) return;
    for (uint32_t i = 0; i < g->num_parts; i++) {
        struct srv_part *p = &g->parts[i];
        if (p->owns_ids) vc_free(p->ids);
        free(p->prompt_logprobs);
        free(p->embedding);
        for (uint32_t k = 0; p->answers && k < g->rp.sampling.n; k++) answer_free(&p->answers[k]);
    }
    srv_beam_free(g);
    json_decref(g->root);
    json_decref(g->request);
    vc_buf_free(&g->head);
    free(g->tools_text);
    free(g->constraint_text);
    vc_arena_free(&g->arena);
    free(g);
}

void srv_gen_cancel(struct srv_call *c) {
    pthread_mutex_lock(&c->lock);
    struct srv_gen *g = c->gen;
    bool first = g && !g->cancelled;
    uint32_t parts = g ? g->num_parts : 0;         /* what comes later finds `cancelled` */
    if (g) g->cancelled = true;
    bool searches = first && g->search;
    pthread_mutex_unlock(&c->lock);
    if (searches) srv_beam_cancel(g);
    for (uint32_t i = 0; first && i < parts; i++) {
        pthread_mutex_lock(&c->lock);
        uint64_t id = g->parts[i].submitted ? g->parts[i].id : 0;
        pthread_mutex_unlock(&c->lock);
        if (id) (void)vc_cancel(c->model->engine, id);
    }
}

/* {"include_usage": …, "continuous_usage_stats": …} */
static bool stream_options(struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_STREAM_OPTIONS];
    g->include_usage = g->stream && g->call->srv->p.force_include_usage;
    if (!v->given) return true;
    if (!g->stream)
        return srv_refuse_field(g->call, "stream_options", "Stream options can only be defined when `stream=True`.");
    const json_t *usage = json_object_get(v->json, "include_usage");
    if (usage) g->include_usage |= json_is_true(usage);
    g->continuous_usage = g->include_usage && json_is_true(json_object_get(v->json, "continuous_usage_stats"));
    return true;
}

/* The id of the answer: the body's request_id, the header's, or a random one. */
static bool make_id(struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_REQUEST_ID];
    char random[33];
    const char *id = v->given ? v->s : g->call->request_id;
    if (id && strlen(id) > 128)
        return srv_refuse_field(g->call, "request_id", "request_id is longer than 128 bytes.");
    srv_random_hex(random, 16);
    snprintf(g->id, sizeof g->id, "%s%s", g->writer->id_prefix, id && *id ? id : random);
    return true;
}

bool srv_gen_common(struct srv_gen *g, enum srv_body_kind where) {
    (void)where;
    const struct srv_value *model = &g->f.v[SRV_F_MODEL], *v = g->f.v;
    g->stream = v[SRV_F_STREAM].b;
    g->echo = v[SRV_F_ECHO].b;
    g->return_token_ids = v[SRV_F_RETURN_TOKEN_IDS].b;
    const struct srv_value *as_ids = &v[SRV_F_RETURN_TOKENS_AS_TOKEN_IDS];
    g->tokens_as_ids = as_ids->given ? as_ids->b : g->call->srv->p.return_tokens_as_ids != 0;
    if (g->stream && g->call->wake)
        return srv_refuse_field(g->call, "stream", "Streaming is not possible here: an answer is given whole.");
    if (!stream_options(g) || !make_id(g)) return false;
    if (!srv_model_known(g->call, model->given ? model->s : NULL)) return false;
    if (model->given) g->model = model->s;
    return true;
}

/* ---- into the engine ---- */

static void rejected(struct srv_gen *g, const vc_err *err) {
    struct srv_call *c = g->call;
    (void)srv_refuse_err(c, err);
    pthread_mutex_lock(&c->lock);
    if (c->stream) {                           /* an earlier part has begun the stream: it is cut */
        c->gone = true;
        srv_wake_locked(c);
    }
    pthread_mutex_unlock(&c->lock);
    srv_gen_cancel(c);
}

/* All parts get their answers before the first is submitted: the pump may be faster than this thread. */
static bool make_answers(struct srv_gen *g) {
    for (uint32_t i = 0; i < g->num_parts; i++) {
        struct srv_part *p = &g->parts[i];
        p->answers = VC_NEW_ARRAY(&g->arena, struct srv_answer, g->rp.sampling.n);
        p->open_answers = g->rp.sampling.n;
        if (!p->answers) return false;
        for (uint32_t k = 0; k < g->rp.sampling.n; k++) {
            p->answers[k].stop_token = -1;
            p->answers[k].index = k;
            srv_calls_init(&p->answers[k].calls, g->tools == SRV_TOOLS_NAMED);
        }
    }
    g->open_parts = g->num_parts;
    vc_buf_adds(&g->head, "data: {\"id\":");
    vc_json_add_str(&g->head, g->id, strlen(g->id));
    vc_buf_printf(&g->head, ",\"object\":\"%s\",\"created\":%lld,\"model\":", g->writer->object, (long long)g->created);
    vc_json_add_str(&g->head, g->model, strlen(g->model));
    vc_buf_adds(&g->head, ",\"choices\":[");
    return !g->head.failed;
}

static bool has_room(struct srv_gen *g) {
    struct srv_model *m = g->call->model;
    uint64_t want = (uint64_t)g->num_parts * g->rp.sampling.n;
    if (atomic_load(&m->live) + want <= m->max_live) return true;
    srv_metrics_rejected(m->metrics);
    srv_error(g->call, 429, NULL, NULL, "Too many requests are waiting; try again later.");
    return false;
}

static vc_status submit_part(struct srv_gen *g, struct srv_part *p, vc_err *err) {
    struct srv_call *c = g->call;
    vc_request_params rp = g->rp;
    uint32_t room = c->model->info.max_model_len - (uint32_t)p->num_ids;
    rp.prompt_ids = p->ids;
    rp.num_prompt_ids = p->num_ids;
    rp.user = p;
    if (rp.sampling.max_tokens > room) rp.sampling.max_tokens = room;
    p->submitted_at = vc_now();
    uint64_t id = 0;
    srv_call_ref(c);
    atomic_fetch_add(&c->model->live, rp.sampling.n);
    vc_status s = vc_submit(c->model->engine, &rp, &id, err);
    if (s != VC_OK) {
        atomic_fetch_sub(&c->model->live, rp.sampling.n);
        srv_call_unref(c);
        return s;
    }
    if (c->key) srv_key_tokens(c->srv->keys, c->key, p->num_ids);
    pthread_mutex_lock(&c->lock);
    p->id = id;
    p->submitted = true;
    bool cancelled = g->cancelled;
    pthread_mutex_unlock(&c->lock);
    srv_pump_kick(c->model);
    if (cancelled) (void)vc_cancel(c->model->engine, id);
    return VC_OK;
}

void srv_gen_submit(struct srv_gen *g) {
    struct srv_call *c = g->call;
    const vc_sampling_params *p = &g->rp.sampling;
    vc_err err = VC_ERR_INIT;
    bool beams = g->f.v[SRV_F_USE_BEAM_SEARCH].b;
    if (beams && !srv_beam_check(g)) return;
    if (!has_room(g)) return;
    if (!make_answers(g)) {
        srv_error(c, 503, NULL, NULL, "out of memory");
        return;
    }
    if (c->srv->p.log_requests)
        vc_log_line(VC_LOG_INFO,
                    "request %s: %u prompts, %zu tokens in the first, n %u, max_tokens %u, temperature %g%s", g->id,
                    g->num_parts, g->parts[0].num_ids, p->n, p->max_tokens, (double)p->temperature,
                    g->stream ? ", stream" : "");
    if (beams) {
        if (!srv_beam_start(g)) srv_error(c, 503, NULL, NULL, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < g->num_parts; i++) {
        if (submit_part(g, &g->parts[i], &err) == VC_OK) continue;
        rejected(g, &err);
        return;
    }
    pthread_mutex_lock(&c->lock);
    g->submitted = true;
    pthread_mutex_unlock(&c->lock);
}
