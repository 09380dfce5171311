/* SPDX-License-Identifier: Apache-2.0
 * srv_front.c: the front pool: a few threads that read bodies, render, tokenize, submit, and write long answers, so
 * that neither the HTTP thread nor the pump waits for one request. The queue is as long as there are calls. */
#include <stdlib.h>

#include "base/thread.h"
#include "server/srv_background.h"
#include "server/srv_int.h"

enum { MAX_THREADS = 8 };
struct job { struct job *next; struct srv_call *call; srv_handler *fn; };
struct srv_front {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct job *head, **tail;
    pthread_t threads[MAX_THREADS]; uint32_t n;
    uint32_t busy;
    bool quit;
};

static void *run(void *arg) {
    struct srv_front *f = arg;
    vc_thread_name("vllmc-front");
    for (;;) {
        pthread_mutex_lock(&f->lock);
        while (!f->head && !f->quit) pthread_cond_wait(&f->work, &f->lock);
        struct job *j = f->head;
        if (j) {
            f->head = j->next;
            if (!f->head) f->tail = &f->head;
            f->busy++;
        }
        pthread_mutex_unlock(&f->lock);
        if (!j) return NULL;
        j->fn(j->call);
        srv_call_unref(j->call);
        free(j);
        pthread_mutex_lock(&f->lock);
        f->busy--;
        pthread_mutex_unlock(&f->lock);
    }
}

vc_status srv_front_start(struct srv *s, uint32_t threads, vc_err *err) {
    struct srv_front *f = calloc(1, sizeof *f);
    if (!f) return vc_fail(err, VC_E_NOMEM, "out of memory");
    s->front = f;
    f->tail = &f->head;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->work, NULL);
    for (f->n = 0; f->n < threads && f->n < MAX_THREADS; f->n++)
        if (pthread_create(&f->threads[f->n], NULL, run, f) != 0) break;
    return f->n ? VC_OK : vc_fail(err, VC_E_NOMEM, "the system refused a thread");
}

void srv_front_push(struct srv_call *c, srv_handler *fn) {
    struct srv_front *f = c->srv->front;
    struct job *j = malloc(sizeof *j);
    if (!j) {
        srv_error(c, 503, NULL, NULL, "out of memory");
        if (c->background) srv_background_end(c);
        return;
    }
    *j = (struct job){ .call = c, .fn = fn };
    srv_call_ref(c);
    pthread_mutex_lock(&f->lock);
    *f->tail = j;
    f->tail = &j->next;
    pthread_cond_signal(&f->work);
    pthread_mutex_unlock(&f->lock);
}

bool srv_front_idle(struct srv *s) {
    struct srv_front *f = s->front;
    pthread_mutex_lock(&f->lock);
    bool idle = !f->head && !f->busy;
    pthread_mutex_unlock(&f->lock);
    return idle;
}

/* Jobs that wait are still done: they hold calls that must be answered. */
void srv_front_stop(struct srv *s) {
    struct srv_front *f = s->front;
    if (!f) return;
    pthread_mutex_lock(&f->lock);
    f->quit = true;
    pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
    for (uint32_t i = 0; i < f->n; i++) pthread_join(f->threads[i], NULL);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->work);
    free(f);
    s->front = NULL;
}
