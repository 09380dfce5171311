/* SPDX-License-Identifier: Apache-2.0
 * srv_background.c: the life of a response in the background: queued, in_progress, and its end: as the body says,
 * cancelled or failed. Its entry in the store stays while the job runs, so that the job may point to it. */
#include "server/srv_background.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/srv_responses.h"
#include "server/srv_store.h"

enum { READER_MOST = 2 * SRV_ENTRY_BYTES };    /* bytes that a client has not read yet */
static const char *const words[] = { "queued", "in_progress", "cancelled", "failed" };

/* Lock held: another word in the body, with the NUL behind it. */
static void set_status(struct srv_entry *e, enum srv_entry_status to) {
    size_t was = strlen(words[e->status]), is = strlen(words[to]);
    char *word = e->body + e->status_at;
    memmove(word + is, word + was, e->n - e->status_at - was + 1);
    memcpy(word, words[to], is);
    e->n = e->n - was + is;
    e->status = to;
}

/* ---- events: each ends with an empty line, and has none inside ---- */

static uint64_t count_events(const char *p, size_t n) {
    uint64_t k = 0;
    for (size_t i = 1; i < n; i++) k += p[i] == '\n' && p[i - 1] == '\n';
    return k;
}

/* Bytes of the first k events. */
static size_t skip_events(const char *p, size_t n, uint64_t k) {
    size_t i = 0;
    while (k && i < n) {
        i++;
        if (i > 1 && p[i - 1] == '\n' && p[i - 2] == '\n') k--;
    }
    return i;
}

/* What of `k` events with number `first` and following the reader wants; false: it has left. */
static bool deliver(struct srv_reader *r, const char *p, size_t n, uint64_t first, uint64_t k) {
    struct srv_call *c = r->call;
    size_t from = r->next <= first ? 0 : r->next >= first + k ? n : skip_events(p, n, r->next - first);
    pthread_mutex_lock(&c->lock);
    if (from < n) {
        vc_buf_add(&c->out, p + from, n - from);
        c->out_total += n - from;
        r->next = first + k;
    }
    if (c->out.failed || c->out.n - c->sent > READER_MOST) c->gone = true;
    bool there = !c->gone;
    srv_wake_locked(c);
    pthread_mutex_unlock(&c->lock);
    return there;
}

static void keep_events(struct srv_store *s, struct srv_entry *e, const char *p, size_t n) {
    if (e->lost) return;
    bool room = e->events.n + n <= SRV_ENTRY_BYTES && srv_store_room(s, 0, n);
    if (room) vc_buf_add(&e->events, p, n);
    if (room && !e->events.failed) {
        e->bytes += n;
        s->bytes += n;
        return;
    }
    e->lost = true;
    e->bytes -= e->events.n;
    s->bytes -= e->events.n;
    vc_buf_free(&e->events);
}

void srv_background_events(struct srv_call *job) {
    struct srv_store *s = job->srv->store;
    struct srv_entry *e = job->background;
    struct vc_buf *b = &job->out;
    pthread_mutex_lock(&s->lock);
    if (b->n && e->status != SRV_CANCELLED) {
        uint64_t k = count_events(b->p, b->n);
        for (uint32_t i = 0; i < e->num_readers;) {
            if (deliver(&e->readers[i], b->p, b->n, e->num_events, k)) {
                i++;
                continue;
            }
            srv_call_unref(e->readers[i].call);
            e->readers[i] = e->readers[--e->num_readers];
        }
        keep_events(s, e, b->p, b->n);
        e->num_events += k;
    }
    pthread_mutex_unlock(&s->lock);
    b->n = job->sent = 0;
}

/* Lock held: c is sent the events from `first` on. */
static void attach(struct srv_entry *e, struct srv_call *c, uint64_t first) {
    size_t from = skip_events(e->events.p, e->events.n, first);
    struct srv_reader *v = e->job ? realloc(e->readers, (e->num_readers + 1) * sizeof *v) : NULL;
    if (v) {
        e->readers = v;
        v[e->num_readers++] = (struct srv_reader){ c, first > e->num_events ? first : e->num_events };
        srv_call_ref(c);
    }
    pthread_mutex_lock(&c->lock);
    srv_stream_begin_locked(c);
    if (c->stream && from < e->events.n) {
        vc_buf_add(&c->out, e->events.p + from, e->events.n - from);
        c->out_total += e->events.n - from;
    }
    if (!e->job) c->ended = true;
    else if (!v) c->gone = true;
    srv_wake_locked(c);
    pthread_mutex_unlock(&c->lock);
}

static void not_found(struct srv_call *c, const char *id) {
    srv_error(c, 404, NULL, "response_id", "Response with id '%.100s' not found.", id);
}

/* The events of a response from number `first` on, those that come, too. */
static void read_events(struct srv_call *c, const char *id, uint64_t first) {
    struct srv_store *s = c->srv->store;
    pthread_mutex_lock(&s->lock);
    struct srv_entry *e = srv_store_find(s, id);
    bool found = e != NULL, has = e && e->streams && !e->lost;
    if (has) attach(e, c, first);
    pthread_mutex_unlock(&s->lock);
    if (!found)
        not_found(c, id);
    else if (!has)
        (void)srv_refuse_field(c, "response_id",
                               "The response '%.100s' has no events that are kept: it needs background and stream.", id);
}

/* ---- the job ---- */

struct srv_call *srv_background_job(struct srv_call *c) {
    struct srv_call *j = srv_call_new(c->srv);
    if (!j) {
        srv_error(c, 503, NULL, NULL, "out of memory");
        return NULL;
    }
    j->model = c->model;
    j->route = c->route;
    j->method = c->method;
    j->begun = vc_now();
    j->path = strdup(c->path);
    j->request_id = c->request_id ? strdup(c->request_id) : NULL;
    j->key = srv_key_ref(c->key);
    if (j->path && (j->request_id || !c->request_id) && srv_call_enter(j)) return j;
    srv_error(c, 503, NULL, NULL, j->path ? "The server is shutting down." : "out of memory");
    srv_call_unref(j);
    return NULL;
}

void srv_background_refused(struct srv_call *c, struct srv_call *job) {
    pthread_mutex_lock(&job->lock);
    struct vc_buf b = job->out;
    int status = job->status;
    const char *type = job->type;
    job->out = (struct vc_buf){ 0 };
    pthread_mutex_unlock(&job->lock);
    if (job->extra_name) {
        c->extra_name = job->extra_name;
        memcpy(c->extra_value, job->extra_value, sizeof c->extra_value);
    }
    srv_reply(c, status ? status : 503, type, &b);
    srv_call_leave(job);
    srv_call_unref(job);
}

/* The response's place in the store, with the response as it is; false: answered on the job. */
static bool enter(struct srv_gen *g, struct vc_buf *body) {
    struct srv_call *job = g->call;
    struct srv_store *s = job->srv->store;
    struct vc_json_out w;
    vc_jo_init(&w, body, VC_JSON_COMPACT);
    size_t at = srv_jo_response(&w, g, words[SRV_QUEUED]);
    json_t *messages = srv_response_messages(g);
    struct srv_entry *e = body->failed || !messages ? NULL : srv_entry_new(g->id, body->p, body->n, messages);
    json_decref(messages);
    if (!e) {
        srv_error(job, 503, NULL, NULL, "out of memory");
        return false;
    }
    e->status = SRV_QUEUED;
    e->status_at = at;
    e->streams = g->stream;
    pthread_mutex_lock(&s->lock);
    struct srv_entry *old = srv_store_find(s, g->id);
    bool twice = old && old->job, room = !twice && e->bytes <= SRV_ENTRY_BYTES && srv_store_room(s, 1, e->bytes);
    if (room) {
        old = srv_store_find(s, g->id);
        if (old) srv_store_remove(s, old);
        e->job = job;
        job->background = e;
        srv_store_add(s, e);
    }
    pthread_mutex_unlock(&s->lock);
    if (room) return true;
    srv_entry_free(e);
    if (twice) return srv_refuse_field(job, "request_id", "The response '%.150s' is being made.", g->id);
    srv_error(job, 429, NULL, NULL, "Too many responses are being made in the background; try again later.");
    return false;
}

/* Lock held: nothing more comes. */
static void end_readers(struct srv_entry *e) {
    for (uint32_t i = 0; i < e->num_readers; i++) {
        struct srv_call *c = e->readers[i].call;
        pthread_mutex_lock(&c->lock);
        c->ended = true;
        srv_wake_locked(c);
        pthread_mutex_unlock(&c->lock);
        srv_call_unref(c);
    }
    e->num_readers = 0;
}

/* The engine did not take the job. */
static void leave(struct srv_call *job) {
    struct srv_store *s = job->srv->store;
    pthread_mutex_lock(&s->lock);
    struct srv_entry *e = job->background;
    job->background = NULL;
    e->job = NULL;
    end_readers(e);
    srv_store_remove(s, e);
    pthread_mutex_unlock(&s->lock);
}

void srv_background_run(struct srv_call *c, struct srv_gen *g) {
    struct srv_call *job = g->call;
    struct vc_buf body = { 0 };
    char id[sizeof g->id];
    bool stream = g->stream;
    memcpy(id, g->id, sizeof id);
    if (!enter(g, &body)) {
        vc_buf_free(&body);
        srv_background_refused(c, job);
        return;
    }
    srv_call_ref(job);                         /* the pump may be faster than this thread */
    srv_gen_submit(g);
    pthread_mutex_lock(&job->lock);
    bool taken = g->submitted;
    pthread_mutex_unlock(&job->lock);
    if (!taken) {
        leave(job);
        srv_background_refused(c, job);
    } else if (stream) {
        read_events(c, id, 0);
    } else {
        srv_reply_json(c, 200, &body);
    }
    vc_buf_free(&body);
    srv_call_unref(job);
}

void srv_background_output(struct srv_call *job) {
    struct srv_store *s = job->srv->store;
    struct srv_entry *e = job->background;
    pthread_mutex_lock(&s->lock);
    if (e->status == SRV_QUEUED) set_status(e, SRV_IN_PROGRESS);
    pthread_mutex_unlock(&s->lock);
}

void srv_background_store(struct srv_call *job, const char *body, size_t n, const json_t *messages) {
    struct srv_store *s = job->srv->store;
    struct srv_entry *e = job->background, *done = srv_entry_new("", body, n, messages);
    if (!done) return;
    pthread_mutex_lock(&s->lock);
    size_t was = e->bytes - e->events.n, more = done->bytes > was ? done->bytes - was : 0;
    bool keep = e->status <= SRV_IN_PROGRESS && done->bytes <= SRV_ENTRY_BYTES && srv_store_room(s, 0, more);
    if (keep) {
        char *text = e->body;
        json_t *m = e->messages;
        e->body = done->body;
        e->n = done->n;
        e->messages = done->messages;
        e->status = SRV_ENDED;
        s->bytes = s->bytes - was + done->bytes;
        e->bytes = e->bytes - was + done->bytes;
        done->body = text;
        done->messages = m;
    }
    pthread_mutex_unlock(&s->lock);
    srv_entry_free(done);
}

/* A stream that failed before its first event has the error as its only one. */
static void add_fault(struct srv_call *job) {
    struct srv_gen *g = job->gen;
    if (!g->stream || job->stream) return;
    if (g->error.status == VC_OK) (void)vc_fail(&g->error, VC_E_NOMEM, "out of memory");
    pthread_mutex_lock(&job->lock);
    job->out.n = 0;
    g->writer->fail(g, &g->error);
    srv_background_events(job);
    pthread_mutex_unlock(&job->lock);
}

void srv_background_end(struct srv_call *job) {
    struct srv_store *s = job->srv->store;
    struct srv_entry *e = job->background;
    add_fault(job);
    pthread_mutex_lock(&s->lock);
    if (e->status <= SRV_IN_PROGRESS) set_status(e, SRV_FAILED);
    end_readers(e);
    e->job = NULL;
    pthread_mutex_unlock(&s->lock);
    job->background = NULL;
    srv_call_leave(job);
    srv_call_unref(job);
}

/* ---- GET /v1/responses/{id}, POST /v1/responses/{id}/cancel ---- */

static const char *id_of(const struct srv_call *c, char *dst, size_t cap) {
    const char *at = c->path + strlen("/v1/responses/");
    snprintf(dst, cap, "%.*s", (int)VC_MIN(strcspn(at, "/"), cap - 1), at);
    return dst;
}

/* stream and starting_after of the query. */
static bool read_query(struct srv_call *c, bool *stream, uint64_t *first) {
    const char *on = json_string_value(json_object_get(c->query, "stream"));
    const char *after = json_string_value(json_object_get(c->query, "starting_after"));
    char *end = NULL, shown[64];
    long long n = after ? strtoll(after, &end, 10) : -1;
    if (on && !srv_word_bool(on, stream))
        return srv_refuse_value(c, "query.stream", "bool_parsing", "Input should be a valid boolean",
                                vc_printable(shown, sizeof shown, on, strlen(on)));
    if (after && (!*after || *end))
        return srv_refuse_value(c, "query.starting_after", "int_parsing", "Input should be a valid integer",
                                vc_printable(shown, sizeof shown, after, strlen(after)));
    *first = n < 0 ? 0 : (uint64_t)n + 1;
    return true;
}

void srv_get_response(struct srv_call *c) {
    struct vc_buf b = { 0 };
    char id[256];
    bool stream = false;
    uint64_t first = 0;
    if (!read_query(c, &stream, &first)) return;
    id_of(c, id, sizeof id);
    if (stream && !strcmp(c->method, "GET")) {
        read_events(c, id, first);
        return;
    }
    json_t *found = srv_store_get(c->srv->store, id, &b, NULL);
    if (found) srv_reply_json(c, 200, &b);
    else not_found(c, id);
    json_decref(found);
}

void srv_post_cancel(struct srv_call *c) {
    struct srv_store *s = c->srv->store;
    struct srv_call *job = NULL;
    struct vc_buf b = { 0 };
    char id[256];
    if (!s) {                                  /* without HTTP there are no ids */
        srv_detail(c, 404, "Not Found");
        return;
    }
    id_of(c, id, sizeof id);
    pthread_mutex_lock(&s->lock);
    struct srv_entry *e = srv_store_find(s, id);
    bool found = e != NULL;
    if (e && e->job && e->status <= SRV_IN_PROGRESS) {
        set_status(e, SRV_CANCELLED);
        vc_buf_add(&b, e->body, e->n);
        job = e->job;
        srv_call_ref(job);
    }
    pthread_mutex_unlock(&s->lock);
    if (!found) not_found(c, id);
    else if (!job) srv_error(c, 400, "invalid_request_error", "response_id", "Cannot cancel a synchronous response.");
    if (!job) return;
    srv_gen_cancel(job);
    srv_call_unref(job);
    srv_reply_json(c, 200, &b);
}
