/* SPDX-License-Identifier: Apache-2.0
 * pool.h: the worker pool. One caller at a time runs a function on all its threads; inside, they meet at barriers.
 * The caller is part 0 and takes its share. Workers compute with subnormals flushed (vc_fp_flush); the caller's own
 * state is set during the run and restored. Workers spin for a moment between runs, then sleep.
 * The threads behind all pools of a process are the same (crew.h): there are as many as the largest pool wants, or as
 * pools that fit the processors together want. A run, or what stands between take and give, is a turn: it waits until as
 * many processors are free as the pool has threads, first come, first served. */
#ifndef VC_BASE_POOL_H
#define VC_BASE_POOL_H

#include <stdint.h>

#include "base/status.h"

struct vc_cpu_list;
struct vc_pool;
typedef void vc_pool_fn(void *ctx, uint32_t part, uint32_t parts);

vc_status vc_pool_new(struct vc_pool **out, uint32_t threads, vc_err *err);
/* Bound: during a turn each thread, the caller's too, computes on one of these processors, at least as many as threads.
 * VC_E_INVALID where other pools of the process are bound to some of them and to others. NULL or empty: as vc_pool_new. */
vc_status vc_pool_new_on(struct vc_pool **out, uint32_t threads, const struct vc_cpu_list *cpus, vc_err *err);
void vc_pool_del(struct vc_pool *p);
uint32_t vc_pool_threads(const struct vc_pool *p);
/* Several runs in one turn. Calls may nest. The thread may wait for no turn of another pool meanwhile. */
void vc_pool_take(struct vc_pool *p);
void vc_pool_give(struct vc_pool *p);
void vc_pool_run(struct vc_pool *p, vc_pool_fn *fn, void *ctx);
/* Every part of a run must call it equally often; memory written before is visible after. */
void vc_pool_barrier(struct vc_pool *p);
/* Unit number u = 0, 1, 2 … of a sequence that all parts of a run walk alike: fn(ctx, i, n) is called once for each i in
 * [0, n), by whichever worker comes first, and memory written in it is visible to the next unit. Returns when all are
 * done. A worker that the system has put aside holds nobody up unless it is inside fn. */
void vc_pool_unit(struct vc_pool *p, uint32_t u, uint32_t n, vc_pool_fn *fn, void *ctx);

/* Share [*lo, *hi) of n items for this part, in whole multiples of `unit`; sizes differ by at most one unit. */
static inline void vc_share(uint64_t n, uint64_t unit, uint32_t part, uint32_t parts, uint64_t *lo, uint64_t *hi) {
    uint64_t units = (n + unit - 1) / unit, base = units / parts, rest = units % parts;
    uint64_t a = base * part + (part < rest ? part : rest), b = a + base + (part < rest);
    *lo = a * unit < n ? a * unit : n;
    *hi = b * unit < n ? b * unit : n;
}

#endif
