/* SPDX-License-Identifier: Apache-2.0
 * srv_serve.c: the server from start to end: bind, load, answer, drain. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "io/json.h"
#include "server/srv_gen.h"
#include "server/srv_log.h"
#include "server/srv_metrics.h"
#include "server/srv_tls.h"

enum { REFRESH_MS = 1000 }; /* between looks at the files of TLS */

void vc_server_params_init(struct vc_server_params *p) {
    *p = (struct vc_server_params){ .host = "127.0.0.1",
                                    .port = 8000,
                                    .max_body_bytes = 32 << 20,
                                    .request_timeout = 60,
                                    .idle_timeout = 75,
                                    .stall_timeout = 300,
                                    .response_role = "assistant",
                                    .content_format = "auto",
                                    .front_threads = 2,
                                    .stream_interval = 1,
                                    .http_log = VC_LOG_INFO,
                                    .max_headers = 256,
                                    .max_head_bytes = 32 << 10 };
}

/* ---- signals ---- */

static int signals_open(sigset_t *old) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, old); /* inherited by the threads that start from here on */
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* The next signal, or 0 after `ms` without one (-1: waits). */
static int next_signal(int fd, int ms) {
    struct pollfd p = { .fd = fd, .events = POLLIN };
    struct signalfd_siginfo info;
    if (poll(&p, 1, ms) <= 0) return 0;
    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* ---- the models, on a thread of its own, so that signals end a long load ---- */

struct load {
    struct srv *s;
    vc_err err;
    vc_status status;
    atomic_bool done;
};

static void *load(void *arg) {
    struct load *l = arg;
    vc_thread_name("vllmc-load");
    l->status = srv_models_open(l->s, &l->err);
    atomic_store(&l->done, true);
    return NULL;
}

/* VC_E_CANCELLED: a signal came first. */
static vc_status load_models(struct srv *s, int signals, vc_err *err) {
    struct load l = { .s = s, .err = VC_ERR_INIT };
    pthread_t t;
    bool cut = false;
    if (pthread_create(&t, NULL, load, &l) != 0) return vc_fail(err, VC_E_NOMEM, "the system refused a thread");
    while (!atomic_load(&l.done) && !cut) {
        int sig = next_signal(signals, 20);
        if (sig == SIGINT || sig == SIGTERM) cut = true;
        if (sig == SIGHUP) srv_reload(s);
    }
    pthread_join(t, NULL);
    if (cut) return vc_fail(err, VC_E_CANCELLED, "a signal came while a model was loading");
    *err = l.err;
    if (l.status != VC_OK) return l.status;
    atomic_store(&s->loaded, true);
    return VC_OK;
}

/* ---- the end ---- */

/* Waits until no call is left, at most `seconds`; a second signal cuts it short. */
static void drain(struct srv *s, int signals, uint32_t seconds) {
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (;;) {
        pthread_mutex_lock(&s->lock);
        uint32_t left = s->calls;
        pthread_mutex_unlock(&s->lock);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (left == 0 || now.tv_sec - begun.tv_sec >= (time_t)seconds) return;
        int sig = next_signal(signals, 50);
        if (sig == SIGINT || sig == SIGTERM) return;
    }
}

static void stop_all(struct srv *s) {
    atomic_store(&s->draining, true);
    srv_calls_cut(s);
    if (s->front) srv_calls_wait(s);
    srv_models_stop(s);
    srv_http_stop(s);
    srv_front_stop(s);
    srv_bandwidth_del(s->bandwidth);
    srv_watch_stop(s);
    srv_models_del(s);
    srv_http_metrics_del(s->metrics);
    srv_conns_del(s->conns);
    srv_store_del(s->store);
    json_decref(s->template_kwargs);
    srv_keys_close(s->keys);
    srv_tls_close(s->tls);
    srv_origins_free(s->origins);
    if (s->p.uds && !strncmp(s->url, "unix:", 5)) unlink(s->p.uds);
    pthread_mutex_destroy(&s->lock);
}

/* The signal that ends the server; until then what it is asked to read again is read. */
static int wait_end(struct srv *s, int signals) {
    for (;;) {
        int sig = next_signal(signals, s->p.ssl_refresh ? REFRESH_MS : -1);
        if (sig == SIGHUP)
            srv_reload(s);
        else if (sig)
            return sig;
        else if (s->p.ssl_refresh)
            srv_refresh_tls(s);
    }
}

vc_status srv_begin(struct srv *s, vc_err *err) {
    const char *kwargs = s->p.template_kwargs;
    if (kwargs)
        VC_TRY(vc_json_parse(&s->template_kwargs, kwargs, strlen(kwargs), "default chat template kwargs", err));
    return srv_models_new(s, err);
}

static vc_status start(struct srv *s, vc_err *err) {
    s->metrics = srv_http_metrics_new();
    s->store = srv_store_new();
    if (!s->metrics || !s->store) return vc_fail(err, VC_E_NOMEM, "out of memory");
    VC_TRY(srv_origins_set(s, s->p.allowed_origins, s->p.num_allowed_origins, err));
    VC_TRY(srv_keys_open(&s->p, &s->keys, err));
    VC_TRY(srv_tls_open(&s->p, &s->tls, err));
    VC_TRY(srv_begin(s, err));
    s->bandwidth = srv_bandwidth_new(s);
    if (!s->bandwidth) return vc_fail(err, VC_E_NOMEM, "out of memory");
    s->conns = srv_conns_new();
    if (!s->conns) return vc_fail(err, VC_E_NOMEM, "out of memory");
    VC_TRY(srv_listen(s, err));
    VC_TRY(srv_watch_start(s, err));
    VC_TRY(srv_front_start(s, s->p.front_threads, err));
    return srv_http_start(s, s->p.max_connections, err);
}

static vc_status run(struct srv *s, int signals, vc_err *err) {
    VC_TRY(start(s, err));
    vc_log_line(VC_LOG_INFO, "listening on %s", s->url);
    VC_TRY(load_models(s, signals, err));
    for (uint32_t i = 0; i < s->num_models; i++) {
        const struct srv_model *m = &s->models[i];
        vc_log_line(VC_LOG_INFO, "ready on %s: %s, %u tokens of context, KV cache for %llu", s->url, srv_model_name(m),
                    m->info.max_model_len, (unsigned long long)m->info.kv_tokens);
    }
    if (s->p.ready) s->p.ready(s->url, s->p.ready_arg);
    int sig = wait_end(s, signals);
    vc_log_line(VC_LOG_INFO, "signal %d: no new requests%s", sig, s->p.shutdown_timeout ? ", waiting for answers" : "");
    atomic_store(&s->draining, true);
    srv_http_quiesce(s);
    drain(s, signals, s->p.shutdown_timeout);
    return VC_OK;
}

vc_status vc_serve(const struct vc_server_params *p, vc_err *err) {
    struct srv s = { .p = *p, .listen_fd = -1, .created = (int64_t)time(NULL) };
    sigset_t old;
    pthread_mutex_init(&s.lock, NULL);
    int signals = signals_open(&old);
    s.log = srv_log_start(p->log_format && !strcmp(p->log_format, "json"));
    vc_status st = signals < 0 ? vc_fail(err, VC_E_IO, "signalfd: %s", strerror(errno)) : run(&s, signals, err);
    stop_all(&s);
    srv_log_stop(s.log);
    if (signals >= 0) close(signals);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return st;
}
