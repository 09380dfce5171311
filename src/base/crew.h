/* SPDX-License-Identifier: Apache-2.0
 * crew.h: the worker threads of the process, and whose turn they are: what stands below pool.h.
 * A crew serves all pools that are bound to the same processors (most often one: those that are bound to none). It is
 * made with its first pool and ends with its last. A pool's turn takes as many of the crew's processors as the pool has
 * threads, the caller's among them, at most all; turns are given in the order in which they were asked for, and the
 * first in the queue holds up the others until there is room. So pools that want everything take turns, and pools whose
 * threads fit the processors together run beside each other. */
#ifndef VC_BASE_CREW_H
#define VC_BASE_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/compat.h"
#include "base/cpu_list.h"

enum { VC_MAX_THREADS = 1024 };
struct vc_crew;
struct vc_worker;

/* One pool's place in its crew. Owner: the thread that asks for its turns, one at a time; `next`, `granted` and the
 * processors are the crew's until a turn is granted. */
struct vc_turn {
    struct vc_crew *crew;
    uint32_t threads;
    int spin;       /* rounds of pause before yielding or sleeping; 0: more threads than processors */
    uint32_t depth; /* takes without their give */
    bool granted;
    struct vc_turn *next; /* in the queue */
    pthread_cond_t grant;
    int cpu;                /* the caller's during the turn; -1: not bound */
    struct vc_cpu_mask own; /* what the caller was bound to before */
    bool bound;
    void (*fn)(void *ctx, uint32_t part, uint32_t parts); /* of the run */
    void *ctx;
    struct vc_worker **worker;                /* [threads - 1], the pool's; those of the turn */
    VC_ALIGNED(64) _Atomic uint32_t finished; /* workers that are through with the run */
};

/* Fills t, whose `worker` and `threads` are set; cpus NULL or empty: not bound. t stays where it is until
 * vc_crew_leave. */
vc_status vc_crew_join(struct vc_turn *t, const struct vc_cpu_list *cpus, vc_err *err);
void vc_crew_leave(struct vc_turn *t);
void vc_crew_take(struct vc_turn *t);
void vc_crew_give(struct vc_turn *t);
/* Within a turn: fn(ctx, part, threads) on the workers, parts from 1 on; and waiting until all are through. */
void vc_crew_start(struct vc_turn *t);
void vc_crew_finish(struct vc_turn *t);

static inline void vc_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

#endif
