/* SPDX-License-Identifier: Apache-2.0
 * srv_local.c: calls that no connection waits for. A call wakes its srv_local as it would a connection, and is then in
 * the list of those that are answered. Locks are taken in the order srv_call, srv_local. */
#include "server/srv_local.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "server/srv_gen.h"

struct item { struct item *next; struct srv_local *l; struct srv_call *call; uint64_t tag; bool answered; };
struct srv_local {
    struct srv srv;
    pthread_mutex_t lock;
    pthread_cond_t ready;
    struct item *head, **tail;             /* answered, not taken */
};

vc_status srv_local_open(struct srv_local **out, const struct vc_server_params *p, vc_err *err) {
    struct srv_local *l = *out = calloc(1, sizeof *l);
    if (!l) return vc_fail(err, VC_E_NOMEM, "out of memory");
    l->tail = &l->head;
    pthread_mutex_init(&l->lock, NULL);
    vc_cond_init(&l->ready);
    struct srv *s = &l->srv;
    s->p = *p;
    s->p.max_queued = UINT32_MAX;
    s->listen_fd = -1;
    s->created = (int64_t)time(NULL);
    pthread_mutex_init(&s->lock, NULL);
    VC_TRY(srv_begin(s, err));
    VC_TRY(srv_front_start(s, p->front_threads, err));
    VC_TRY(srv_models_open(s, err));
    atomic_store(&s->loaded, true);
    return VC_OK;
}

/* Lock of c held. */
static void wake(struct srv_call *c) {
    struct item *i = c->waiter;
    if (!c->status || i->answered) return;
    i->answered = true;
    pthread_mutex_lock(&i->l->lock);
    *i->l->tail = i;
    i->l->tail = &i->next;
    pthread_cond_signal(&i->l->ready);
    pthread_mutex_unlock(&i->l->lock);
}

static void item_free(struct item *i) {
    srv_call_unref(i->call);
    free(i);
}

/* What a connection looks at before the body is read. */
static void dispatch(struct srv_call *c, const char *path) {
    const struct srv_route *r = srv_route_find(path);
    if (!r || !srv_route_served(r, c->srv)) {
        srv_detail(c, 404, "Not Found");
    } else if (!(r->flags & SRV_POST) || !r->bodies) {
        srv_detail(c, 405, "Method Not Allowed");
    } else {
        c->route = r;
        srv_front_push(c, r->fn);
    }
}

vc_status srv_local_post(struct srv_local *l, const char *path, const char *id, json_t *body, uint64_t tag,
                         vc_err *err) {
    struct item *i = calloc(1, sizeof *i);
    struct srv_call *c = i ? srv_call_new(&l->srv) : NULL;
    if (c) c->request_id = strdup(id);
    if (c) c->path = strdup(path);
    if (!c || !c->request_id || !c->path) {
        if (c) srv_call_unref(c);
        free(i);
        json_decref(body);
        return vc_fail(err, VC_E_NOMEM, "out of memory");
    }
    *i = (struct item){ .l = l, .call = c, .tag = tag };
    c->begun = vc_now();
    c->method = "POST";
    c->json = body;
    c->waiter = i;
    c->wake = wake;
    (void)srv_call_enter(c);
    dispatch(c, path);
    return VC_OK;
}

static struct item *wait_item(struct srv_local *l, uint32_t ms) {
    struct timespec until = vc_deadline(ms);
    int rc = 0;
    pthread_mutex_lock(&l->lock);
    while (!l->head && rc == 0) rc = pthread_cond_timedwait(&l->ready, &l->lock, &until);
    struct item *i = l->head;
    if (i) l->head = i->next;
    if (i && !l->head) l->tail = &l->head;
    pthread_mutex_unlock(&l->lock);
    return i;
}

vc_status srv_local_take(struct srv_local *l, uint32_t ms, struct srv_local_answer *a, vc_err *err) {
    struct item *i = wait_item(l, ms);
    if (!i && !srv_models_running(&l->srv))
        return vc_fail(err, VC_E_STATE, "the engine has stopped; the line before says why");
    if (!i) return vc_fail(err, VC_E_TIMEOUT, "no answer is ready");
    struct srv_call *c = i->call;
    pthread_mutex_lock(&c->lock);
    *a = (struct srv_local_answer){ .tag = i->tag, .status = c->status, .body = c->out };
    a->is_json = c->type && !strcmp(c->type, "application/json");
    c->out = (struct vc_buf){ 0 };
    pthread_mutex_unlock(&c->lock);
    srv_call_leave(c);
    item_free(i);
    return VC_OK;
}

uint32_t srv_local_choices(const struct srv_local *l) { return srv_models_live(&l->srv); }

uint64_t srv_local_tokens(const struct srv_local *l) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < l->srv.num_models; i++) {
        const struct srv_model *m = &l->srv.models[i];
        vc_stats t = { .struct_size = sizeof t };
        if (vc_get_stats(m->engine, &t) == VC_OK) sum += m->info.pooling ? t.prompt_tokens : t.generated_tokens;
    }
    return sum;
}

void srv_local_close(struct srv_local **out) {
    struct srv_local *l = *out;
    if (!l) return;
    struct srv *s = &l->srv;
    srv_calls_cut(s);
    if (s->front) srv_calls_wait(s);
    srv_models_stop(s);
    srv_front_stop(s);
    while (s->in_flight) {                 /* nobody else has them any more */
        struct srv_call *c = s->in_flight;
        srv_call_leave(c);
        item_free(c->waiter);
    }
    srv_models_del(s);
    json_decref(s->template_kwargs);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->ready);
    free(l);
    *out = NULL;
}
