/* SPDX-License-Identifier: Apache-2.0
 * srv_bandwidth.c: what part of the memory's read bandwidth the engine's steps use. The bandwidth is measured once,
 * after the first scrape, in a moment in which the engine is idle, by a thread that then ends. */
#include <stdlib.h>
#include <time.h>

#include "base/bandwidth.h"
#include "base/cpu.h"
#include "base/thread.h"
#include "server/srv_int.h"
#include "server/srv_metrics.h"

struct srv_bandwidth {
    struct srv *s;
    pthread_mutex_t lock;
    pthread_t thread;
    bool started;
    atomic_bool quit;
    double bytes_s;                        /* lock; 0: not known yet */
    struct last { uint64_t bytes; double seconds; } last[];    /* lock: of each model, as of the scrape before */
};

struct srv_bandwidth *srv_bandwidth_new(struct srv *s) {
    struct srv_bandwidth *b = calloc(1, sizeof *b + s->num_models * sizeof b->last[0]);
    if (!b) return NULL;
    b->s = s;
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void srv_bandwidth_del(struct srv_bandwidth *b) {
    if (!b) return;
    atomic_store(&b->quit, true);
    if (b->started) pthread_join(b->thread, NULL);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static bool busy(const struct srv *s) {
    for (uint32_t i = 0; i < s->num_models; i++) {
        vc_stats t = { .struct_size = sizeof t };
        if (vc_get_stats(s->models[i].engine, &t) != VC_OK || t.running || t.waiting) return true;
    }
    return false;
}

static void *measure(void *arg) {
    struct srv_bandwidth *b = arg;
    vc_thread_name("vllmc-measure");
    double bytes_s = 0;
    vc_err err = VC_ERR_INIT;
    while (!atomic_load(&b->quit) && busy(b->s)) nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
    if (atomic_load(&b->quit)) return NULL;
    if (vc_read_bandwidth(&bytes_s, vc_cpu_threads(), &err) != VC_OK) {
        vc_log_line(VC_LOG_WARN, "the memory bandwidth was not measured: %s", err.text);
        return NULL;
    }
    pthread_mutex_lock(&b->lock);
    b->bytes_s = bytes_s;
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

void srv_bandwidth_share(struct srv_bandwidth *b, uint32_t model, const vc_stats *t, double *bytes_s, double *share) {
    pthread_mutex_lock(&b->lock);
    if (!b->started && !atomic_load(&b->quit)) b->started = pthread_create(&b->thread, NULL, measure, b) == 0;
    struct last *last = &b->last[model];
    double seconds = t->step_seconds - last->seconds, bytes = (double)(t->weight_bytes - last->bytes);
    *last = (struct last){ t->weight_bytes, t->step_seconds };
    *bytes_s = b->bytes_s;
    *share = seconds > 0 && b->bytes_s > 0 ? bytes / seconds / b->bytes_s : 0;
    pthread_mutex_unlock(&b->lock);
}
