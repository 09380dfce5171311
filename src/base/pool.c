/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <sched.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/crew.h"

struct vc_pool {
    struct vc_turn turn;
    VC_ALIGNED(64) _Atomic uint32_t arrived;
    VC_ALIGNED(64) _Atomic uint32_t phase;
    VC_ALIGNED(64) _Atomic uint64_t claim;   /* unit << 32 | next index of it */
    VC_ALIGNED(64) _Atomic uint32_t done;    /* finished indices of the unit */
    struct vc_worker *worker[];              /* those of the turn */
};

void vc_pool_barrier(struct vc_pool *p) {
    if (p->turn.threads == 1) return;
    uint32_t phase = atomic_load_explicit(&p->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) + 1 == p->turn.threads) {
        atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&p->phase, phase + 1, memory_order_release);
        return;
    }
    for (int i = 0; atomic_load_explicit(&p->phase, memory_order_acquire) == phase; i++) {
        if (i < p->turn.spin / 8) vc_relax();
        else sched_yield();
    }
}

/* Waits until unit u is over. On a machine of its own the others need microseconds; beyond that somebody else has a core,
 * and yielding lets the worker run that we wait for. */
static void await_unit(struct vc_pool *p, uint32_t u) {
    for (int i = 0; (uint32_t)(atomic_load_explicit(&p->claim, memory_order_acquire) >> 32) <= u; i++) {
        if (i < p->turn.spin / 8) vc_relax();
        else sched_yield();
    }
}

void vc_pool_unit(struct vc_pool *p, uint32_t u, uint32_t n, vc_pool_fn *fn, void *ctx) {
    if (p->turn.threads == 1) {
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

void vc_pool_take(struct vc_pool *p) { vc_crew_take(&p->turn); }
void vc_pool_give(struct vc_pool *p) { vc_crew_give(&p->turn); }

void vc_pool_run(struct vc_pool *p, vc_pool_fn *fn, void *ctx) {
    uint32_t old = vc_fp_flush();
    vc_crew_take(&p->turn);
    p->turn.fn = fn;
    p->turn.ctx = ctx;
    atomic_store_explicit(&p->claim, 0, memory_order_relaxed);
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    vc_crew_start(&p->turn);
    fn(ctx, 0, p->turn.threads);
    vc_crew_finish(&p->turn);
    vc_crew_give(&p->turn);
    vc_fp_restore(old);
}

vc_status vc_pool_new_on(struct vc_pool **out, uint32_t threads, const struct vc_cpu_list *cpus, vc_err *err) {
    *out = NULL;
    struct vc_pool *p = NULL;
    size_t bytes = (sizeof *p + VC_MIN(threads, (uint32_t)VC_MAX_THREADS) * sizeof p->worker[0] + 63) / 64 * 64;
    p = aligned_alloc(64, bytes);
    if (!p) return vc_fail(err, VC_E_NOMEM, "out of memory for %u worker threads", threads);
    *p = (struct vc_pool){ .turn = { .threads = threads, .worker = p->worker } };
    vc_status s = vc_crew_join(&p->turn, cpus, err);
    if (s != VC_OK) {
        free(p);
        return s;
    }
    *out = p;
    return VC_OK;
}

vc_status vc_pool_new(struct vc_pool **out, uint32_t threads, vc_err *err) { return vc_pool_new_on(out, threads, NULL, err); }

void vc_pool_del(struct vc_pool *p) {
    if (!p) return;
    vc_crew_leave(&p->turn);
    free(p);
}

uint32_t vc_pool_threads(const struct vc_pool *p) { return p->turn.threads; }
