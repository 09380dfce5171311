/* SPDX-License-Identifier: Apache-2.0
 * srv_output.c: the pump's work: an output of the engine into the answer it belongs to, and into the stream of its
 * call. A stream whose client does not read is ended at STREAM_MOST bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "server/srv_background.h"
#include "server/srv_gen.h"
#include "server/srv_metrics.h"

enum { STREAM_MOST = 8 << 20 };

static bool keep_ids(struct srv_answer *a, const vc_output *o) {
    void *v = a->ids;
    bool ok = vc_grow(&v, a->num_ids, &a->cap_ids, o->num_token_ids, sizeof *a->ids);
    a->ids = v;
    if (!ok) return false;
    if (o->num_token_ids) memcpy(a->ids + a->num_ids, o->token_ids, o->num_token_ids * sizeof *a->ids);
    a->num_ids += o->num_token_ids;
    return true;
}

static bool keep_margins(struct srv_answer *a, const vc_output *o) {
    size_t n = o->margins ? o->num_token_ids : 0;
    void *v = a->margins;
    bool ok = vc_grow(&v, a->num_margins, &a->cap_margins, n, sizeof *a->margins);
    a->margins = v;
    if (ok && n) memcpy(a->margins + a->num_margins, o->margins, n * sizeof *a->margins);
    if (ok) a->num_margins += n;
    return ok;
}

static bool keep_logprobs(struct srv_answer *a, const vc_output *o) {
    size_t n = (size_t)o->num_logprobs * o->num_token_ids;
    if (!n) return true;
    void *v = a->logprobs;
    bool ok = vc_grow(&v, a->num_logprobs, &a->cap_logprobs, n, sizeof *a->logprobs);
    a->logprobs = v;
    if (!ok) return false;
    memcpy(a->logprobs + a->num_logprobs, o->logprobs, n * sizeof *a->logprobs);
    a->num_logprobs += n;
    a->per_token = o->num_logprobs;
    return true;
}

static bool keep_prompt_logprobs(struct srv_part *p, const vc_output *o) {
    size_t n = (size_t)o->num_prompt_logprobs * o->num_prompt_tokens;
    if (!n || p->prompt_logprobs) return true;
    p->prompt_logprobs = malloc(n * sizeof *p->prompt_logprobs);
    if (!p->prompt_logprobs) return false;
    memcpy(p->prompt_logprobs, o->prompt_logprobs, n * sizeof *p->prompt_logprobs);
    p->per_prompt_token = o->num_prompt_logprobs;
    return true;
}

static bool keep_embedding(struct srv_part *p, const vc_output *o) {
    if (!o->num_embedding || p->embedding) return true;
    p->embedding = malloc(o->num_embedding * sizeof *p->embedding);
    if (!p->embedding) return false;
    memcpy(p->embedding, o->embedding, o->num_embedding * sizeof *p->embedding);
    p->num_embedding = o->num_embedding;
    return true;
}

/* The call named by t->index; new ones are added in order. */
static struct srv_tool *tool_at(struct srv_answer *a, const vc_tool_delta *t) {
    if (t->index < a->num_tools) return &a->tools[t->index];
    if (t->index != a->num_tools) return NULL;
    struct srv_tool *v = realloc(a->tools, (a->num_tools + 1) * sizeof *v);
    if (!v) return NULL;
    a->tools = v;
    struct srv_tool *n = &v[a->num_tools++];
    *n = (struct srv_tool){ 0 };
    memcpy(n->id, "chatcmpl-tool-", 15);
    srv_random_hex(n->id + 14, 16);
    return n;
}

static bool keep_tools(struct srv_answer *a, const vc_output *o) {
    for (uint32_t i = 0; i < o->num_tools; i++) {
        const vc_tool_delta *t = &o->tools[i];
        struct srv_tool *v = tool_at(a, t);
        if (!v) return false;
        if (t->name && !v->name && !(v->name = strdup(t->name))) return false;
        if (t->arguments_len) vc_buf_add(&v->arguments, t->arguments, t->arguments_len);
        if (v->arguments.failed) return false;
    }
    return true;
}

/* What the answer must remember. A stream keeps no text: only what its last chunk needs. */
static void collect(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o) {
    bool ok = keep_tools(a, o) && keep_prompt_logprobs(p, o) && keep_embedding(p, o);
    if (!g->stream || g->writer->keep) {
        ok = ok && keep_ids(a, o) && keep_logprobs(a, o) && keep_margins(a, o);
        vc_buf_add(&a->text, o->text, o->text_len);
        if (o->reasoning_len) vc_buf_add(&a->reasoning, o->reasoning, o->reasoning_len);
        ok = ok && !a->text.failed && !a->reasoning.failed;
    }
    a->failed |= !ok;
    a->num_tokens += o->num_token_ids;
    a->seed = o->seed;
    p->num_cached = o->num_cached_tokens;
    if (!o->finished) return;
    a->finish_reason = o->finish_reason;
    a->stop_token = o->stop_token;
    if (o->stop_string) a->stop_string = strdup(o->stop_string);
}

/* Lock held: adds the chunk, keeps the buffer bounded. */
static void stream_chunk(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o) {
    struct srv_call *c = g->call;
    size_t before = c->out.n;
    if (!g->cancelled || o->finished) g->writer->chunk(g, p, a, o);
    c->out_total += c->out.n - before;
    if (c->out.failed || c->out.n - c->sent > STREAM_MOST) {
        c->gone = true;                        /* the connection is closed by its reader */
        g->cancelled = true;
    }
}

/* What was added to a stream goes to who reads it. */
static void send_locked(struct srv_call *c) {
    if (c->background) srv_background_events(c);
    else srv_wake_locked(c);
}

static void end_part(struct srv_gen *g, struct srv_part *p) {
    struct srv_call *c = g->call;
    atomic_fetch_sub(&c->model->live, g->rp.sampling.n);
    (void)p;
    if (--g->open_parts == 0) {
        pthread_mutex_lock(&c->lock);
        bool in_stream = g->stream && (g->begun || c->stream);
        if (in_stream) {
            if (g->error.status != VC_OK) g->writer->fail(g, &g->error);
            else g->writer->end(g);
            c->ended = true;
            send_locked(c);
        }
        g->closed = true;
        pthread_mutex_unlock(&c->lock);
        if (!in_stream) srv_front_push(c, srv_gen_finish);
        else if (c->background) srv_background_end(c);
    }
    srv_call_unref(c);
}

/* Forced calls: the text of o becomes deltas of tools in *copy; the raw text is kept for an answer that is cut. */
static const vc_output *forced_calls(struct srv_gen *g, struct srv_answer *a, const vc_output *o, vc_output *copy) {
    if (g->tools < SRV_TOOLS_REQUIRED) return o;
    srv_calls_push(&a->calls, o->text, o->text_len, g->tool_name);
    if (!g->stream || g->writer->keep) vc_buf_add(&a->text, o->text, o->text_len);
    *copy = *o;
    copy->text = "";
    copy->text_len = 0;
    copy->tools = a->calls.delta;
    copy->num_tools = a->calls.n;
    return copy;
}

void srv_gen_output(struct srv_part *p, const vc_output *output) {
    struct srv_call *c = p->call;
    if (p->is_beam) {
        srv_beam_output(p, output);
        return;
    }
    struct srv_gen *g = c->gen;
    struct srv_answer *a = &p->answers[output->index];
    vc_output copy, joined;
    const vc_output *o = forced_calls(g, a, output, &copy);
    bool failed = o->finished && o->error.status != VC_OK && o->finish_reason && !strcmp(o->finish_reason, "error");
    bool end = o->request_finished;
    srv_metrics_output(c->model->metrics, g, p, a, o);
    if (c->key) srv_key_tokens(c->srv->keys, c->key, o->num_token_ids);
    collect(g, p, a, o);
    if (failed && g->error.status == VC_OK) g->error = o->error;
    if (c->background) srv_background_output(c);
    if (g->stream && !g->begun) {              /* a comment may have begun the stream */
        pthread_mutex_lock(&c->lock);
        g->begun = c->stream;
        pthread_mutex_unlock(&c->lock);
    }
    if (g->stream && !(failed && !g->begun)) {
        if (!g->begun) {
            g->begun = true;
            srv_stream_begin(c);
        }
        const vc_output *send = g->interval > 1 ? srv_hold(g, a, o, &joined) : o;
        pthread_mutex_lock(&c->lock);
        if (send) stream_chunk(g, p, a, send);
        bool over = c->gone && p->submitted;       /* submit_part looks itself whether it is too late */
        send_locked(c);
        pthread_mutex_unlock(&c->lock);
        if (over && !end) (void)vc_cancel(c->model->engine, o->request_id);
    }
    if (o->finished) p->open_answers--;
    if (end) end_part(g, p);
}

static double mean_logprob(const struct srv_answer *a) {
    double sum = 0;
    size_t n = a->per_token ? a->num_logprobs / a->per_token : 0;
    for (size_t t = 0; t < n; t++) sum += (double)a->logprobs[t * a->per_token].logprob;
    return n ? sum / (double)n : -INFINITY;
}

static int by_logprob(const void *a, const void *b) {
    const struct srv_answer *x = a, *y = b;
    double p = mean_logprob(x), q = mean_logprob(y);
    return p != q ? (p > q ? -1 : 1) : x->index < y->index ? -1 : 1;
}

static void finish(struct srv_call *c) {
    struct srv_gen *g = c->gen;
    struct vc_buf b = { 0 };
    if (g->error.status != VC_OK) {
        (void)srv_refuse_err(c, &g->error);
        return;
    }
    for (uint32_t i = 0; i < g->num_parts; i++)
        for (uint32_t k = 0; k < g->rp.sampling.n; k++)
            if (g->parts[i].answers[k].failed) {
                srv_error(c, 503, NULL, NULL, "out of memory while the answer was collected");
                return;
            }
    /* best_of: the best come first */
    for (uint32_t i = 0; g->num_shown < g->rp.sampling.n && i < g->num_parts; i++)
        qsort(g->parts[i].answers, g->rp.sampling.n, sizeof g->parts[i].answers[0], by_logprob);
    g->writer->whole(g, &b);
    srv_reply(c, 200, g->reply_type ? g->reply_type : "application/json", &b);
}

void srv_gen_finish(struct srv_call *c) {
    finish(c);
    if (c->background) srv_background_end(c);
}
