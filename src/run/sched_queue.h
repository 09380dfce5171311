/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_queue.h: the waiting sequences: a linked list under FCFS, a binary heap on (priority, arrival) under priority.
 * Borrows the sequences. Only vc_waitq_reserve allocates. */
#ifndef VC_RUN_SCHED_QUEUE_H
#define VC_RUN_SCHED_QUEUE_H

#include "run/sched.h"

struct vc_waitq {
    enum vc_sched_policy policy;
    uint32_t n;
    struct vc_seq *head, *tail;      /* FCFS */
    struct vc_seq **heap;            /* priority; owned */
    uint32_t cap;
};

/* Room for `cap` sequences in all. False: out of memory. */
bool vc_waitq_reserve(struct vc_waitq *w, uint32_t cap);
void vc_waitq_free(struct vc_waitq *w);
struct vc_seq *vc_waitq_first(const struct vc_waitq *w);          /* NULL when empty */
void vc_waitq_add(struct vc_waitq *w, struct vc_seq *q);          /* at its place: the end, or by priority */
void vc_waitq_put_back(struct vc_waitq *w, struct vc_seq *q);     /* preempted: the head, or by priority */
void vc_waitq_remove(struct vc_waitq *w, struct vc_seq *q);
uint32_t vc_waitq_list(const struct vc_waitq *w, struct vc_seq **out, uint32_t cap);

/* Order under priority: lower (priority, arrival) is sooner. */
static inline bool vc_seq_sooner(const struct vc_seq *a, const struct vc_seq *b) {
    return a->priority != b->priority ? a->priority < b->priority : a->arrival < b->arrival;
}

#endif
