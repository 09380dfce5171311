/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/thread.h"

/* A run is announced by raising `gen`; its end is one more barrier. Sleepers wait on `wake`. */
struct vc_pool {
    uint32_t threads;
    int spin;                          /* rounds of pause before yielding; 0 when there are more threads than cores */
    vc_pool_fn *fn;
    void *ctx;
    VC_ALIGNED(64) _Atomic uint32_t gen;
    VC_ALIGNED(64) _Atomic uint32_t arrived;
    VC_ALIGNED(64) _Atomic uint32_t phase;
    VC_ALIGNED(64) _Atomic uint64_t claim;   /* unit << 32 | next index of it */
    VC_ALIGNED(64) _Atomic uint32_t done;    /* finished indices of the unit */
    _Atomic uint32_t sleepers;
    _Atomic bool quit;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct worker { struct vc_pool *pool; uint32_t part; pthread_t thread; } worker[];
};

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

void vc_pool_barrier(struct vc_pool *p) {
    if (p->threads == 1) return;
    uint32_t phase = atomic_load_explicit(&p->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) + 1 == p->threads) {
        atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&p->phase, phase + 1, memory_order_release);
        return;
    }
    for (int i = 0; atomic_load_explicit(&p->phase, memory_order_acquire) == phase; i++) {
        if (i < p->spin / 8) relax();
        else sched_yield();
    }
}

/* Waits until unit u is over. On a machine of its own the others need microseconds; beyond that somebody else has a core,
 * and yielding lets the worker run that we wait for. */
static void await_unit(struct vc_pool *p, uint32_t u) {
    for (int i = 0; (uint32_t)(atomic_load_explicit(&p->claim, memory_order_acquire) >> 32) <= u; i++) {
        if (i < p->spin / 8) relax();
        else sched_yield();
    }
}

void vc_pool_unit(struct vc_pool *p, uint32_t u, uint32_t n, vc_pool_fn *fn, void *ctx) {
    if (p->threads == 1) {
        for (uint32_t i = 0; i < n; i++) fn(ctx, i, n);
        return;
    }
    uint64_t v = atomic_load_explicit(&p->claim, memory_order_acquire);
    for (;;) {
        if ((uint32_t)(v >> 32) > u) return;
        if ((uint32_t)v >= n) break;
        if (!atomic_compare_exchange_weak_explicit(&p->claim, &v, v + 1, memory_order_acq_rel, memory_order_acquire)) continue;
        fn(ctx, (uint32_t)v, n);
        if (atomic_fetch_add_explicit(&p->done, 1, memory_order_acq_rel) + 1 == n) {
            atomic_store_explicit(&p->done, 0, memory_order_relaxed);
            atomic_store_explicit(&p->claim, (uint64_t)(u + 1) << 32, memory_order_release);
            return;
        }
        v = atomic_load_explicit(&p->claim, memory_order_acquire);
    }
    await_unit(p, u);
}

static bool changed(struct vc_pool *p, uint32_t seen) {
    return atomic_load_explicit(&p->gen, memory_order_acquire) != seen || atomic_load_explicit(&p->quit, memory_order_acquire);
}

static void await_run(struct vc_pool *p, uint32_t seen) {
    for (int i = 0; i < p->spin; i++) {
        if (changed(p, seen)) return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (!changed(p, seen)) pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg) {
    struct worker *w = arg;
    struct vc_pool *p = w->pool;
    vc_thread_name("vllmc-worker");
    vc_fp_flush();
    for (uint32_t seen = 0;;) {
        await_run(p, seen);
        if (atomic_load_explicit(&p->quit, memory_order_acquire)) return NULL;
        seen = atomic_load_explicit(&p->gen, memory_order_acquire);
        p->fn(p->ctx, w->part, p->threads);
        vc_pool_barrier(p);
    }
}

static void wake_all(struct vc_pool *p) {
    if (atomic_load(&p->sleepers) == 0) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void vc_pool_run(struct vc_pool *p, vc_pool_fn *fn, void *ctx) {
    uint32_t old = vc_fp_flush();
    if (p->threads > 1) {
        p->fn = fn;
        p->ctx = ctx;
        atomic_store_explicit(&p->claim, 0, memory_order_relaxed);
        atomic_store_explicit(&p->done, 0, memory_order_relaxed);
        atomic_fetch_add(&p->gen, 1);
        wake_all(p);
    }
    fn(ctx, 0, p->threads);
    vc_pool_barrier(p);
    vc_fp_restore(old);
}

vc_status vc_pool_new(struct vc_pool **out, uint32_t threads, vc_err *err) {
    *out = NULL;
    if (threads < 1 || threads > 1024) return vc_fail(err, VC_E_INVALID, "threads: %u, expected 1 to 1024", threads);
    struct vc_pool *p = NULL;
    size_t bytes = (sizeof *p + threads * sizeof p->worker[0] + 63) / 64 * 64;
    p = aligned_alloc(64, bytes);
    if (!p) return vc_fail(err, VC_E_NOMEM, "out of memory for %u worker threads", threads);
    *p = (struct vc_pool){ .threads = threads, .spin = threads <= vc_cpu_threads() ? 20000 : 0 };
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (uint32_t i = 1; i < threads; i++) {
        p->worker[i] = (struct worker){ .pool = p, .part = i };
        if (pthread_create(&p->worker[i].thread, NULL, work, &p->worker[i]) != 0) {
            p->threads = i;                         /* those that run are joined below */
            vc_pool_del(p);
            return vc_fail(err, VC_E_NOMEM, "the system refused worker thread %u of %u", i, threads);
        }
    }
    *out = p;
    return VC_OK;
}

void vc_pool_del(struct vc_pool *p) {
    if (!p) return;
    atomic_store(&p->quit, true);
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 1; i < p->threads; i++) pthread_join(p->worker[i].thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    free(p);
}

uint32_t vc_pool_threads(const struct vc_pool *p) { return p->threads; }
