/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crew.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/thread.h"

enum { SPIN = 20000 }; /* pauses between two runs before a worker sleeps: about a millisecond */

/* Idle workers belong to the crew, others to the turn that they were given to, which writes what is not atomic before
 * it raises `seq`. A worker touches its turn last when it raises `finished`. */
struct vc_worker {
    VC_ALIGNED(64) _Atomic uint32_t seq; /* raised: a run begins */
    _Atomic bool quit;
    struct vc_turn *turn;
    uint32_t part;
    int spin, cpu;
    bool busy; /* crew_lock */
    struct vc_crew *crew;
    pthread_t thread;
    pthread_mutex_t lock; /* with `wake`: sleeping until `seq` or `quit` changes */
    pthread_cond_t wake;
};

struct vc_crew {
    struct vc_crew *next;
    struct vc_cpu_list cpus; /* n 0: not bound */
    struct vc_cpu_mask mask;
    bool cpu_busy[VC_MAX_CPUS];    /* by index of cpus */
    uint32_t capacity, used;       /* processors; those of the turns that are granted */
    uint32_t users, wanted, most;  /* pools; sum of their threads - 1; most threads of one */
    struct vc_turn *first, **last; /* who waits */
    uint32_t num_workers;
    struct vc_worker *worker[VC_MAX_THREADS]; /* owned */
    VC_ALIGNED(64) _Atomic uint32_t sleepers;
};

/* The one piece of state that all models of a process share, whoever opened them. */
static pthread_mutex_t crew_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vc_crew *crews;

/* ---- workers ---- */

static bool changed(struct vc_worker *w, uint32_t seen) {
    return atomic_load_explicit(&w->seq, memory_order_acquire) != seen ||
           atomic_load_explicit(&w->quit, memory_order_acquire);
}

static void await_run(struct vc_worker *w, uint32_t seen, int spin) {
    for (int i = 0; i < spin; i++) {
        if (changed(w, seen)) return;
        vc_relax();
    }
    pthread_mutex_lock(&w->lock);
    atomic_fetch_add(&w->crew->sleepers, 1);
    while (!changed(w, seen)) pthread_cond_wait(&w->wake, &w->lock);
    atomic_fetch_sub(&w->crew->sleepers, 1);
    pthread_mutex_unlock(&w->lock);
}

static void wake(struct vc_worker *w) {
    pthread_mutex_lock(&w->lock);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

static void *work(void *arg) {
    struct vc_worker *w = arg;
    int cpu = -1, spin = SPIN;
    vc_thread_name("vllmc-worker");
    vc_fp_flush();
    for (uint32_t seen = 0;;) {
        await_run(w, seen, spin);
        if (atomic_load_explicit(&w->quit, memory_order_acquire)) return NULL;
        seen = atomic_load_explicit(&w->seq, memory_order_acquire);
        struct vc_turn *t = w->turn;
        spin = w->spin;
        if (w->cpu != cpu && w->cpu >= 0) (void)vc_thread_pin((uint32_t)w->cpu);
        cpu = w->cpu;
        t->fn(t->ctx, w->part, t->threads);
        atomic_fetch_add_explicit(&t->finished, 1, memory_order_acq_rel);
    }
}

void vc_crew_start(struct vc_turn *t) {
    atomic_store_explicit(&t->finished, 0, memory_order_relaxed);
    for (uint32_t i = 0; i + 1 < t->threads; i++) {
        struct vc_worker *w = t->worker[i];
        atomic_store_explicit(&w->seq, atomic_load_explicit(&w->seq, memory_order_relaxed) + 1, memory_order_release);
    }
    /* Read by an exchange: either a worker on its way to sleep is counted here, or it sees its `seq`. */
    if (atomic_fetch_add(&t->crew->sleepers, 0) == 0) return;
    for (uint32_t i = 0; i + 1 < t->threads; i++) wake(t->worker[i]);
}

void vc_crew_finish(struct vc_turn *t) {
    for (int i = 0; atomic_load_explicit(&t->finished, memory_order_acquire) != t->threads - 1; i++) {
        if (i < t->spin / 8)
            vc_relax();
        else
            sched_yield();
    }
}

static vc_status add_worker(struct vc_crew *c, vc_err *err) {
    struct vc_worker *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
    if (!w) return vc_fail(err, VC_E_NOMEM, "out of memory for a worker thread");
    *w = (struct vc_worker){ .crew = c };
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    if (pthread_create(&w->thread, NULL, work, w) != 0) {
        pthread_cond_destroy(&w->wake);
        pthread_mutex_destroy(&w->lock);
        free(w);
        return vc_fail(err, VC_E_NOMEM, "the system refused worker thread %u", c->num_workers + 1);
    }
    c->worker[c->num_workers++] = w;
    return VC_OK;
}

/* As many as can be in turns at once. */
static vc_status add_workers(struct vc_crew *c, vc_err *err) {
    uint32_t need = VC_MIN(c->wanted, VC_MAX(c->most, c->capacity) - 1);
    while (c->num_workers < need) VC_TRY(add_worker(c, err));
    return VC_OK;
}

static void crew_free(struct vc_crew *c) {
    for (uint32_t i = 0; i < c->num_workers; i++) {
        atomic_store(&c->worker[i]->quit, true);
        wake(c->worker[i]);
    }
    for (uint32_t i = 0; i < c->num_workers; i++) {
        struct vc_worker *w = c->worker[i];
        pthread_join(w->thread, NULL);
        pthread_cond_destroy(&w->wake);
        pthread_mutex_destroy(&w->lock);
        free(w);
    }
    free(c);
}

/* ---- pools come and go ---- */

/* The crew of these processors; *out NULL: there is none. */
static vc_status find(struct vc_crew **out, const struct vc_cpu_list *cpus, vc_err *err) {
    struct vc_cpu_mask m = vc_cpu_mask_of(cpus);
    *out = NULL;
    for (struct vc_crew *c = crews; c; c = c->next) {
        if (!memcmp(&m, &c->mask, sizeof m)) {
            *out = c;
            return VC_OK;
        }
        for (uint32_t i = 0; i < cpus->n; i++)
            if (vc_cpu_mask_has(&c->mask, cpus->cpu[i]))
                return vc_fail(err, VC_E_INVALID,
                               "cpu_bind: another model is bound to processor %u and to others; expected the same "
                               "processors, or none of them",
                               cpus->cpu[i]);
    }
    return VC_OK;
}

static vc_status find_or_make(struct vc_crew **out, const struct vc_cpu_list *cpus, vc_err *err) {
    VC_TRY(find(out, cpus, err));
    if (*out) return VC_OK;
    struct vc_crew *c = aligned_alloc(64, (sizeof *c + 63) / 64 * 64);
    if (!c) return vc_fail(err, VC_E_NOMEM, "out of memory for worker threads");
    memset(c, 0, sizeof *c);
    c->cpus = *cpus;
    c->mask = vc_cpu_mask_of(cpus);
    c->capacity = VC_MIN(vc_cpu_threads(), (uint32_t)VC_MAX_THREADS);
    if (cpus->n && cpus->n < c->capacity) c->capacity = cpus->n;
    c->last = &c->first;
    c->next = crews;
    crews = c;
    *out = c;
    return VC_OK;
}

/* With crew_lock: one pool less. The crew, if nobody is left: it is to be freed without the lock. */
static struct vc_crew *less(struct vc_crew *c, uint32_t threads) {
    c->wanted -= threads - 1;
    if (--c->users) return NULL;
    struct vc_crew **at = &crews;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    return c;
}

static vc_status join_locked(struct vc_turn *t, const struct vc_cpu_list *cpus, struct vc_crew **over, vc_err *err) {
    struct vc_crew *c;
    *over = NULL;
    VC_TRY(find_or_make(&c, cpus, err));
    c->users++;
    c->wanted += t->threads - 1;
    c->most = VC_MAX(c->most, t->threads);
    t->crew = c;
    t->bound = cpus->n != 0;
    t->spin = t->threads <= c->capacity ? SPIN : 0;
    vc_status s = add_workers(c, err);
    if (s != VC_OK) *over = less(c, t->threads);
    return s;
}

vc_status vc_crew_join(struct vc_turn *t, const struct vc_cpu_list *cpus, vc_err *err) {
    static const struct vc_cpu_list none;
    struct vc_crew *over;
    if (t->threads < 1 || t->threads > VC_MAX_THREADS)
        return vc_fail(err, VC_E_INVALID, "threads: %u, expected 1 to %d", t->threads, VC_MAX_THREADS);
    if (cpus && cpus->n && t->threads > cpus->n)
        return vc_fail(err, VC_E_INVALID, "threads: %u, expected at most %u, as many processors as cpu_bind names",
                       t->threads, cpus->n);
    pthread_mutex_lock(&crew_lock);
    vc_status s = join_locked(t, cpus ? cpus : &none, &over, err);
    pthread_mutex_unlock(&crew_lock);
    if (s != VC_OK) {
        t->crew = NULL;
        if (over) crew_free(over);
        return s;
    }
    pthread_cond_init(&t->grant, NULL);
    return VC_OK;
}

void vc_crew_leave(struct vc_turn *t) {
    if (!t->crew) return;
    pthread_mutex_lock(&crew_lock);
    struct vc_crew *over = less(t->crew, t->threads);
    pthread_mutex_unlock(&crew_lock);
    pthread_cond_destroy(&t->grant);
    if (over) crew_free(over);
}

/* ---- turns ---- */

static uint32_t share_of(const struct vc_turn *t) { return VC_MIN(t->threads, t->crew->capacity); }
static bool fits(const struct vc_turn *t) {
    return t->crew->used == 0 || t->crew->used + share_of(t) <= t->crew->capacity;
}

/* The first processor of the crew, from *i on, that is in no turn. */
static int next_cpu(struct vc_crew *c, uint32_t *i) {
    while (*i < c->cpus.n && c->cpu_busy[*i]) ++*i;
    if (*i == c->cpus.n) return -1;
    c->cpu_busy[*i] = true;
    return c->cpus.cpu[*i];
}

/* With crew_lock: the same workers and processors each time, as long as they are free. */
static void grant(struct vc_turn *t) {
    struct vc_crew *c = t->crew;
    uint32_t at_cpu = 0, n = 0;
    c->used += share_of(t);
    t->granted = true;
    t->cpu = next_cpu(c, &at_cpu);
    for (uint32_t i = 0; i < c->num_workers && n + 1 < t->threads; i++) {
        struct vc_worker *w = c->worker[i];
        if (w->busy) continue;
        w->busy = true;
        w->turn = t;
        w->part = n + 1;
        w->spin = t->spin;
        w->cpu = next_cpu(c, &at_cpu);
        t->worker[n++] = w;
    }
}

static void free_cpu(struct vc_crew *c, int cpu) {
    for (uint32_t i = 0; i < c->cpus.n; i++)
        if (c->cpus.cpu[i] == cpu) c->cpu_busy[i] = false;
}

static void ungrant(struct vc_turn *t) {
    struct vc_crew *c = t->crew;
    t->granted = false;
    c->used -= share_of(t);
    if (t->bound) free_cpu(c, t->cpu);
    for (uint32_t i = 0; i + 1 < t->threads; i++) {
        t->worker[i]->busy = false;
        if (t->bound) free_cpu(c, t->worker[i]->cpu);
    }
    while (c->first && fits(c->first)) {
        struct vc_turn *f = c->first;
        c->first = f->next;
        if (!c->first) c->last = &c->first;
        grant(f);
        pthread_cond_signal(&f->grant);
    }
}

void vc_crew_take(struct vc_turn *t) {
    if (t->depth++ > 0) return;
    struct vc_crew *c = t->crew;
    pthread_mutex_lock(&crew_lock);
    if (!c->first && fits(t)) {
        grant(t);
    } else {
        t->next = NULL;
        *c->last = t;
        c->last = &t->next;
        while (!t->granted) pthread_cond_wait(&t->grant, &crew_lock);
    }
    pthread_mutex_unlock(&crew_lock);
    if (t->bound && vc_thread_get_cpus(&t->own)) (void)vc_thread_pin((uint32_t)t->cpu);
}

void vc_crew_give(struct vc_turn *t) {
    if (--t->depth > 0) return;
    if (t->bound) (void)vc_thread_set_cpus(&t->own);
    pthread_mutex_lock(&crew_lock);
    ungrant(t);
    pthread_mutex_unlock(&crew_lock);
}
