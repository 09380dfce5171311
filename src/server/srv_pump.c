/* SPDX-License-Identifier: Apache-2.0
 * srv_pump.c: the thread that takes the engine's outputs. It sleeps while nothing runs. */
#include <stdlib.h>

#include "base/clock.h"
#include "server/srv_gen.h"
#include "server/srv_metrics.h"

struct srv_pump {
    pthread_mutex_t lock;
    pthread_cond_t work;
    uint64_t kicks;
    bool quit;
    pthread_t thread;
    _Atomic double last;                   /* when an output came, or the engine was idle */
};
enum { STUCK_AFTER = 300 };                /* seconds; a step of the longest prompt takes less */

/* Waits until something was submitted after `seen`; false: the end. */
static bool wait_work(struct srv_pump *p, uint64_t seen) {
    pthread_mutex_lock(&p->lock);
    while (p->kicks == seen && !p->quit) pthread_cond_wait(&p->work, &p->lock);
    bool go = !p->quit;
    pthread_mutex_unlock(&p->lock);
    return go;
}

static uint64_t kicks(struct srv_pump *p, bool *quit) {
    pthread_mutex_lock(&p->lock);
    uint64_t k = p->kicks;
    *quit = p->quit;
    pthread_mutex_unlock(&p->lock);
    return k;
}

static void *run(void *arg) {
    struct srv *s = arg;
    struct srv_pump *p = s->pump;
    for (;;) {
        bool quit;
        uint64_t seen = kicks(p, &quit);
        if (quit) return NULL;
        vc_output *o = NULL;
        vc_err err = VC_ERR_INIT;
        vc_status st = vc_next(s->model, 500, &o, &err);
        if (st != VC_E_TIMEOUT) atomic_store(&p->last, vc_now());
        if (st == VC_OK) {
            srv_gen_output(o->user, o);
            vc_output_free(o);
        } else if (st == VC_E_DONE) {
            if (!wait_work(p, seen)) return NULL;
        } else if (st != VC_E_TIMEOUT) {
            vc_log_line(VC_LOG_ERROR, "the engine stopped: %s", err.text);
            atomic_store(&s->failed, true);
            if (!wait_work(p, seen)) return NULL;
        }
    }
}

vc_status srv_pump_start(struct srv *s, vc_err *err) {
    struct srv_pump *p = calloc(1, sizeof *p);
    if (!p) return vc_fail(err, VC_E_NOMEM, "out of memory");
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    s->pump = p;
    if (pthread_create(&p->thread, NULL, run, s) == 0) return VC_OK;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    free(p);
    s->pump = NULL;
    return vc_fail(err, VC_E_NOMEM, "the system refused a thread");
}

void srv_pump_kick(struct srv *s) {
    pthread_mutex_lock(&s->pump->lock);
    if (atomic_load(&s->live) <= 1) atomic_store(&s->pump->last, vc_now());
    s->pump->kicks++;
    pthread_cond_signal(&s->pump->work);
    pthread_mutex_unlock(&s->pump->lock);
}

void srv_pump_stop(struct srv *s) {
    struct srv_pump *p = s->pump;
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

void srv_pump_del(struct srv *s) {
    struct srv_pump *p = s->pump;
    if (!p) return;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    free(p);
    s->pump = NULL;
}

bool srv_pump_stuck(struct srv *s) { return s->pump && atomic_load(&s->live) && vc_now() - atomic_load(&s->pump->last) > STUCK_AFTER; }
