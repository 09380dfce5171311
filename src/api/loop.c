/* SPDX-License-Identifier: Apache-2.0
 * loop.c: who steps: the caller of vc_step or vc_next, or the library's own thread. */
#include <errno.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "base/thread.h"

void api_publish(struct vc_model *m) {
    struct vc_sched_stats e;
    vc_engine_stats(m->engine, &e);
    const struct vc_figures *f = vc_engine_figures(m->engine);
    pthread_mutex_lock(&m->lock);
    m->step_began = 0;
    m->progress_at = vc_now();
    m->stats = (vc_stats){ .running = e.running,
                           .waiting = e.waiting,
                           .kv_usage = e.kv_usage,
                           .steps = m->steps,
                           .prompt_tokens = m->prompt_tokens,
                           .generated_tokens = m->generated_tokens,
                           .preemptions = e.preemptions,
                           .prefix_queries = e.prefix.queries + e.prefix_resumed.queries,
                           .prefix_hits = e.prefix.hits + e.prefix_resumed.hits,
                           .step_seconds = m->step_seconds,
                           .free_blocks = e.free_blocks,
                           .weight_bytes = f->weight_bytes,
                           .step_tokens = f->step_tokens,
                           .step_time = f->step_time,
                           .margins = f->margins };
    pthread_mutex_unlock(&m->lock);
}

/* One step under engine_lock, in this engine's turn. VC_E_DONE: nothing runs or waits. */
static vc_status step_in_turn(struct vc_model *m, vc_err *err) {
    double t0 = vc_now();
    pthread_mutex_lock(&m->lock);
    m->step_began = t0;
    m->progress_at = t0;
    pthread_mutex_unlock(&m->lock);
    api_admit(m);
    vc_status s = vc_engine_step(m->engine, err);
    if (s == VC_OK) {
        m->steps++;
        m->step_seconds += vc_now() - t0;
    }
    api_publish(m);
    return s;
}

static vc_status step(struct vc_model *m, vc_err *err) {
    pthread_mutex_lock(&m->engine_lock);
    vc_engine_take(m->engine);
    vc_status s = step_in_turn(m, err);
    vc_engine_give(m->engine);
    pthread_mutex_unlock(&m->engine_lock);
    return s;
}

vc_status vc_step(vc_model *m, vc_err *err) {
    pthread_mutex_lock(&m->lock);
    bool threaded = m->threaded;
    pthread_mutex_unlock(&m->lock);
    if (threaded) return vc_fail(err, VC_E_STATE, "vc_step: a thread of the library steps this model (vc_start)");
    return step(m, err);
}

static void *run(void *arg) {
    struct vc_model *m = arg;
    bool idle = true;
    vc_thread_name("vllmc-engine");
    for (;;) {
        pthread_mutex_lock(&m->lock);
        while (idle && !m->quit && !m->pending && !m->any_cancelled) pthread_cond_wait(&m->work, &m->lock);
        bool quit = m->quit;
        pthread_mutex_unlock(&m->lock);
        if (quit) return NULL;
        vc_err err = VC_ERR_INIT;
        if (m->turn) m->turn(1, m->turn_arg);
        vc_status s = step(m, &err);
        if (m->turn) m->turn(0, m->turn_arg);
        idle = s != VC_OK;
        if (s != VC_OK && s != VC_E_DONE) {
            pthread_mutex_lock(&m->lock);
            m->step_error = err;
            pthread_cond_broadcast(&m->ready);
            pthread_mutex_unlock(&m->lock);
        }
    }
}

vc_status vc_start(vc_model *m, vc_err *err) {
    vc_status s = VC_OK;
    pthread_mutex_lock(&m->lock);
    if (m->threaded) {
        s = vc_fail(err, VC_E_STATE, "vc_start: a thread runs already");
    } else {
        m->quit = false;
        if (pthread_create(&m->thread, NULL, run, m) != 0)
            s = vc_fail(err, VC_E_NOMEM, "vc_start: the system refused a thread");
        else m->threaded = true;
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

vc_status vc_stop(vc_model *m) {
    pthread_mutex_lock(&m->lock);
    bool was = m->threaded;
    m->quit = true;
    pthread_cond_broadcast(&m->work);
    pthread_mutex_unlock(&m->lock);
    if (!was) return VC_E_STATE;
    pthread_join(m->thread, NULL);
    pthread_mutex_lock(&m->lock);
    m->threaded = false;
    pthread_cond_broadcast(&m->ready);
    pthread_mutex_unlock(&m->lock);
    return VC_OK;
}

/* Under lock: the first output, or NULL. */
static struct api_output *pop(struct vc_model *m) {
    struct api_output *o = m->out_head;
    if (!o) return NULL;
    m->out_head = o->next;
    if (!m->out_head) m->out_tail = &m->out_head;
    return o;
}

/* Under lock, with a thread: waits for an output. */
static vc_status wait_output(struct vc_model *m, int timeout_ms, struct api_output **o, vc_err *err) {
    struct timespec until = vc_deadline(timeout_ms > 0 ? (uint32_t)timeout_ms : 0);
    for (;;) {
        if ((*o = pop(m))) return VC_OK;
        if (m->step_error.status != VC_OK) {
            *err = m->step_error;
            m->step_error = (vc_err)VC_ERR_INIT;
            return err->status;
        }
        if (m->num_live == 0) return VC_E_DONE;
        if (!m->threaded) return vc_fail(err, VC_E_STATE, "vc_next: the thread was stopped");
        if (timeout_ms == 0) return VC_E_TIMEOUT;
        if (timeout_ms < 0) pthread_cond_wait(&m->ready, &m->lock);
        else if (pthread_cond_timedwait(&m->ready, &m->lock, &until) == ETIMEDOUT)
            return (*o = pop(m)) ? VC_OK : VC_E_TIMEOUT;
    }
}

vc_status vc_next(vc_model *m, int timeout_ms, vc_output **out, vc_err *err) {
    vc_err ignored = VC_ERR_INIT;
    if (!err) err = &ignored;
    double t0 = vc_now();
    *out = NULL;
    for (;;) {
        struct api_output *o = NULL;
        pthread_mutex_lock(&m->lock);
        bool threaded = m->threaded;
        vc_status s = VC_OK;
        if (threaded) s = wait_output(m, timeout_ms, &o, err);
        else o = pop(m);
        bool none = !o && m->num_live == 0;
        pthread_mutex_unlock(&m->lock);
        if (o) {
            *out = &o->o;
            return VC_OK;
        }
        if (threaded) return s;
        if (none) return VC_E_DONE;
        if (timeout_ms >= 0 && (vc_now() - t0) * 1000 > timeout_ms) return VC_E_TIMEOUT;
        s = vc_step(m, err);
        if (s != VC_OK && s != VC_E_DONE) return s;
    }
}
