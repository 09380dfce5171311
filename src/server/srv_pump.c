/* SPDX-License-Identifier: Apache-2.0
 * srv_pump.c: the thread that takes an engine's outputs. It sleeps while nothing runs. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "server/srv_gen.h"
#include "server/srv_metrics.h"

struct srv_pump {
    pthread_mutex_t lock;
    pthread_cond_t work;
    uint64_t kicks;
    bool quit;
    pthread_t thread;
    _Atomic double beat;                   /* when it last went round; 0: it sleeps, for nothing runs */
};

/* Waits until something was submitted after `seen`; false: the end. */
static bool wait_work(struct srv_pump *p, uint64_t seen) {
    atomic_store(&p->beat, 0);
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
    struct srv_model *m = arg;
    struct srv_pump *p = m->pump;
    vc_thread_name("vllmc-pump");
    for (;;) {
        bool quit;
        atomic_store(&p->beat, vc_now());
        uint64_t seen = kicks(p, &quit);
        if (quit) return NULL;
        vc_output *o = NULL;
        vc_err err = VC_ERR_INIT;
        vc_status st = vc_next(m->engine, 500, &o, &err);
        if (st == VC_OK) {
            srv_gen_output(o->user, o);
            vc_output_free(o);
        } else if (st == VC_E_DONE) {
            if (!wait_work(p, seen)) return NULL;
        } else if (st != VC_E_TIMEOUT) {
            vc_log_line(VC_LOG_ERROR, "the engine of %s stopped: %s", srv_model_name(m), err.text);
            atomic_store(&m->failed, true);
            if (!wait_work(p, seen)) return NULL;
        }
    }
}

vc_status srv_pump_start(struct srv_model *m, vc_err *err) {
    struct srv_pump *p = calloc(1, sizeof *p);
    if (!p) return vc_fail(err, VC_E_NOMEM, "out of memory");
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    m->pump = p;
    if (pthread_create(&p->thread, NULL, run, m) == 0) return VC_OK;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    free(p);
    m->pump = NULL;
    return vc_fail(err, VC_E_NOMEM, "the system refused a thread");
}

void srv_pump_kick(struct srv_model *m) {
    pthread_mutex_lock(&m->pump->lock);
    m->pump->kicks++;
    pthread_cond_signal(&m->pump->work);
    pthread_mutex_unlock(&m->pump->lock);
}

void srv_pump_stop(struct srv_model *m) {
    struct srv_pump *p = m->pump;
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

void srv_pump_del(struct srv_model *m) {
    struct srv_pump *p = m->pump;
    if (!p) return;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    free(p);
    m->pump = NULL;
}

double srv_pump_age(const struct srv_model *m) {
    double beat = m->pump ? atomic_load(&m->pump->beat) : 0, age = vc_now() - beat;
    return beat > 0 && age > 0 ? age : 0;
}
