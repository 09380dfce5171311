/* SPDX-License-Identifier: Apache-2.0
 * srv_call.c: the life of a call, and answers: whole ones, errors, the beginning of a stream. */
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/srv_gen.h"
#include "server/srv_int.h"

struct srv_call *srv_call_new(struct srv *s) {
    struct srv_call *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->srv = s;
    c->model = &s->models[0];
    c->watch = -1;
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

void srv_call_ref(struct srv_call *c) { atomic_fetch_add(&c->refs, 1); }

void srv_call_unref(struct srv_call *c) {
    if (atomic_fetch_sub(&c->refs, 1) != 1) return;
    srv_gen_free(c->gen);
    json_decref(c->query);
    vc_buf_free(&c->body);
    json_decref(c->json);
    vc_buf_free(&c->out);
    srv_key_unref(c->key);
    free(c->path);
    free(c->request_id);
    free(c->origin);
    free(c->metadata);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void srv_wake_locked(struct srv_call *c) {
    if (c->wake) c->wake(c);
    if (!c->suspended || !c->conn) return;
    c->suspended = false;
    MHD_resume_connection(c->conn);
}

void srv_reply(struct srv_call *c, int status, const char *type, struct vc_buf *b) {
    if (b->failed) {
        vc_buf_free(b);
        status = 503;
        type = NULL;
    }
    pthread_mutex_lock(&c->lock);
    if (c->status == 0 && !c->stream) {
        c->status = status;
        c->type = type;
        c->out = *b;
        c->out_total = b->n;
        *b = (struct vc_buf){ 0 };
        srv_wake_locked(c);
    }
    pthread_mutex_unlock(&c->lock);
    vc_buf_free(b);
}

void srv_reply_json(struct srv_call *c, int status, struct vc_buf *b) { srv_reply(c, status, "application/json", b); }

const char *srv_error_type(int status) {
    switch (status) {
        case 400: return "BadRequestError";
        case 401: return "Unauthorized";
        case 404: return "NotFoundError";
        case 408: return "RequestTimeout";
        case 413: return "RequestEntityTooLarge";
        case 429: return "RateLimitError";
        case 501: return "NotImplementedError";
        case 503: return "ServiceUnavailable";
        default: return "InternalServerError";
    }
}

static void anthropic_error(struct vc_buf *b, int status, const char *text) {
    const char *type = status == 404   ? "not_found_error"
                       : status == 413 ? "request_too_large"
                       : status == 429 ? "rate_limit_error"
                       : status == 503 ? "overloaded_error"
                       : status < 500  ? "invalid_request_error"
                                       : "api_error";
    vc_buf_printf(b, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":", type);
    vc_json_add_str(b, text, strlen(text));
    vc_buf_adds(b, "}}");
}

void srv_error_body(const struct srv_call *c, struct vc_buf *b, int status, const char *type, const char *param,
                    const char *text) {
    struct vc_json_out w;
    if (c && c->route && (c->route->flags & SRV_ANTHROPIC)) {
        anthropic_error(b, status, text);
        return;
    }
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "error");
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "message");
    vc_jo_str(&w, text);
    vc_jo_key(&w, "type");
    vc_jo_str(&w, type ? type : srv_error_type(status));
    vc_jo_key(&w, "param");
    vc_jo_str(&w, param);
    vc_jo_key(&w, "code");
    vc_jo_int(&w, status);
    vc_jo_end_obj(&w);
    vc_jo_end_obj(&w);
}

enum { ERROR_TEXT = 2048 };

static void reply_error(struct srv_call *c, int status, const char *type, const char *param, const char *text) {
    struct vc_buf b = { 0 };
    srv_error_body(c, &b, status, type, param, text);
    if (status == 429 || status == 503) {
        c->extra_name = "Retry-After";
        snprintf(c->extra_value, sizeof c->extra_value, "%d", status == 429 ? 1 : 5);
    }
    srv_reply_json(c, status, &b);
}

void srv_error(struct srv_call *c, int status, const char *type, const char *param, const char *fmt, ...) {
    char text[ERROR_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    reply_error(c, status, type, param, text);
}

bool srv_refuse(struct srv_call *c, const char *param, const char *fmt, ...) {
    char text[ERROR_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    reply_error(c, 400, NULL, param, text);
    return false;
}

bool srv_refuse_field(struct srv_call *c, const char *field, const char *fmt, ...) {
    char text[ERROR_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return srv_refuse(c, field, "%s (parameter=%s)", text, field);
}

bool srv_refuse_value(struct srv_call *c, const char *loc, const char *type, const char *msg, const char *input) {
    const char *quote = strchr(msg, '\'') ? "\"" : "'";
    srv_error(c, 400, "Bad Request", loc,
              "1 validation error:\n  {'type': '%s', 'loc': '%s', 'msg': %s%s%s, 'input': '%s'}", type, loc, quote, msg,
              quote, input);
    return false;
}

const char *srv_err_text(const vc_err *err) { return err->text[0] ? err->text : vc_status_text(err->status); }

bool srv_refuse_err(struct srv_call *c, const vc_err *err) {
    reply_error(c, vc_status_http(err->status), NULL, NULL, srv_err_text(err));
    return false;
}

void srv_detail(struct srv_call *c, int status, const char *text) {
    struct vc_buf b = { 0 };
    vc_buf_printf(&b, "{\"detail\":\"%s\"}", text);
    srv_reply_json(c, status, &b);
}

void srv_stream_begin_locked(struct srv_call *c) {
    if (c->status != 0) return;
    c->stream = true;
    c->status = 200;
    c->type = "text/event-stream; charset=utf-8";
    srv_wake_locked(c);
}

void srv_stream_begin(struct srv_call *c) {
    pthread_mutex_lock(&c->lock);
    srv_stream_begin_locked(c);
    pthread_mutex_unlock(&c->lock);
}

bool srv_call_enter(struct srv_call *c) {
    struct srv *s = c->srv;
    pthread_mutex_lock(&s->lock);
    if (s->cut) {
        pthread_mutex_unlock(&s->lock);
        return false;
    }
    c->next = s->in_flight;
    if (c->next) c->next->prev = c;
    s->in_flight = c;
    s->calls++;
    pthread_mutex_unlock(&s->lock);
    return true;
}

void srv_call_leave(struct srv_call *c) {
    struct srv *s = c->srv;
    pthread_mutex_lock(&s->lock);
    if (c->prev) c->prev->next = c->next;
    else s->in_flight = c->next;
    if (c->next) c->next->prev = c->prev;
    s->calls--;
    pthread_mutex_unlock(&s->lock);
}

void srv_calls_cut(struct srv *s) {
    pthread_mutex_lock(&s->lock);
    s->cut = true;
    for (struct srv_call *c = s->in_flight; c; c = c->next) {
        srv_gen_cancel(c);
        pthread_mutex_lock(&c->lock);
        c->gone = true;
        srv_wake_locked(c);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Cancelled requests end within a step; their calls go with their last output, and jobs with them. */
void srv_calls_wait(struct srv *s) {
    struct timespec ms = { 0, 5000000 };
    for (int i = 0; i < 1000 && (srv_models_live(s) || !srv_front_idle(s)); i++) nanosleep(&ms, NULL);
}
