/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sched_queue.h"

#include <stdlib.h>

bool vc_waitq_reserve(struct vc_waitq *w, uint32_t cap) {
    if (w->policy == VC_SCHED_FCFS || cap <= w->cap) return true;
    uint32_t n = w->cap ? w->cap : 64;
    while (n < cap) n = n > UINT32_MAX / 2 ? cap : n * 2;
    struct vc_seq **p = realloc(w->heap, n * sizeof *p);
    if (!p) return false;
    w->heap = p;
    w->cap = n;
    return true;
}

void vc_waitq_free(struct vc_waitq *w) {
    free(w->heap);
    w->heap = NULL;
}

struct vc_seq *vc_waitq_first(const struct vc_waitq *w) {
    if (w->policy == VC_SCHED_FCFS) return w->head;
    return w->n ? w->heap[0] : NULL;
}

static void place(struct vc_waitq *w, uint32_t i, struct vc_seq *q) {
    w->heap[i] = q;
    q->at = i;
}

static void sift_up(struct vc_waitq *w, uint32_t i, struct vc_seq *q) {
    while (i && vc_seq_sooner(q, w->heap[(i - 1) / 2])) {
        place(w, i, w->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(w, i, q);
}

static void sift_down(struct vc_waitq *w, uint32_t i, struct vc_seq *q) {
    for (uint32_t c; (c = 2 * i + 1) < w->n; i = c) {
        if (c + 1 < w->n && vc_seq_sooner(w->heap[c + 1], w->heap[c])) c++;
        if (!vc_seq_sooner(w->heap[c], q)) break;
        place(w, i, w->heap[c]);
    }
    place(w, i, q);
}

void vc_waitq_add(struct vc_waitq *w, struct vc_seq *q) {
    w->n++;
    if (w->policy == VC_SCHED_PRIORITY) {
        sift_up(w, w->n - 1, q);
        return;
    }
    q->next = NULL;
    q->prev = w->tail;
    *(w->tail ? &w->tail->next : &w->head) = q;
    w->tail = q;
}

void vc_waitq_put_back(struct vc_waitq *w, struct vc_seq *q) {
    if (w->policy == VC_SCHED_PRIORITY) {
        vc_waitq_add(w, q);
        return;
    }
    w->n++;
    q->prev = NULL;
    q->next = w->head;
    *(w->head ? &w->head->prev : &w->tail) = q;
    w->head = q;
}

void vc_waitq_remove(struct vc_waitq *w, struct vc_seq *q) {
    w->n--;
    if (w->policy == VC_SCHED_PRIORITY) {
        uint32_t i = q->at;
        struct vc_seq *last = w->heap[w->n];
        if (i == w->n) return;
        if (i && vc_seq_sooner(last, w->heap[(i - 1) / 2])) sift_up(w, i, last);
        else sift_down(w, i, last);
        return;
    }
    *(q->prev ? &q->prev->next : &w->head) = q->next;
    *(q->next ? &q->next->prev : &w->tail) = q->prev;
    q->prev = q->next = NULL;
}

uint32_t vc_waitq_list(const struct vc_waitq *w, struct vc_seq **out, uint32_t cap) {
    uint32_t i = 0;
    if (w->policy == VC_SCHED_PRIORITY) {
        for (; i < w->n && i < cap; i++) out[i] = w->heap[i];
    } else {
        for (struct vc_seq *q = w->head; q && i < cap; q = q->next) out[i++] = q;
    }
    return w->n;
}
