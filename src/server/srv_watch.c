/* SPDX-License-Identifier: Apache-2.0
 * srv_watch.c: clients that leave. A suspended connection is not polled by libmicrohttpd, so its socket is watched
 * here for a hang-up. Sockets come and go on the HTTP thread alone: added when a call leaves it, taken out when
 * libmicrohttpd tells that the call has ended, which it does before it closes the socket. So none is watched that is
 * closed, and its number is not yet another one's. A slot carries a generation: an event that was already on its way
 * when the call ended finds another one and does nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "server/srv_gen.h"
#include "server/srv_int.h"

struct slot { struct srv_call *call; uint32_t generation, next_free; int fd; };
struct srv_watch {
    pthread_mutex_t lock;
    pthread_t thread;
    struct srv *srv;
    int epoll, quit;                       /* quit: an eventfd */
    struct slot *slots; uint32_t n, cap, free;      /* free: first unused slot, UINT32_MAX: none */
};

static void client_left(struct srv_call *c) {
    pthread_mutex_lock(&c->lock);
    c->gone = true;
    srv_wake_locked(c);
    pthread_mutex_unlock(&c->lock);
    srv_gen_cancel(c);
    srv_call_unref(c);
}

/* The call of an event with a new reference, or NULL when the slot has moved on. */
static struct srv_call *claim(struct srv_watch *w, uint64_t key) {
    uint32_t i = (uint32_t)key;
    struct srv_call *c = NULL;
    pthread_mutex_lock(&w->lock);
    if (i < w->n && w->slots[i].call && w->slots[i].generation == (uint32_t)(key >> 32)) {
        c = w->slots[i].call;
        srv_call_ref(c);
    }
    pthread_mutex_unlock(&w->lock);
    return c;
}

static void *watch(void *arg) {
    struct srv_watch *w = arg;
    vc_thread_name("vllmc-watch");
    struct epoll_event ev[64];
    uint64_t limit = 1000 * (uint64_t)w->srv->p.request_timeout;
    int pause = limit ? (int)VC_MIN(VC_MAX(limit / 4, 50u), 1000u) : w->srv->p.keep_alive ? 1000 : -1;
    double swept = vc_now();
    for (;;) {
        int n = epoll_wait(w->epoll, ev, 64, pause);
        if (n < 0 && errno != EINTR) return NULL;
        if (pause >= 0 && vc_now() - swept >= 1e-3 * pause) {
            if (limit) srv_conns_sweep(w->srv);
            if (w->srv->p.keep_alive) srv_keep_alive(w->srv);
            swept = vc_now();
        }
        for (int i = 0; i < n; i++) {
            if (ev[i].data.u64 == UINT64_MAX) return NULL;
            struct srv_call *c = claim(w, ev[i].data.u64);
            if (c) client_left(c);
        }
    }
}

vc_status srv_watch_start(struct srv *s, vc_err *err) {
    struct srv_watch *w = calloc(1, sizeof *w);
    if (!w) return vc_fail(err, VC_E_NOMEM, "out of memory");
    s->watcher = w;
    w->srv = s;
    pthread_mutex_init(&w->lock, NULL);
    w->free = UINT32_MAX;
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->quit = eventfd(0, EFD_CLOEXEC);
    struct epoll_event ev = { .events = EPOLLIN, .data.u64 = UINT64_MAX };
    if (w->epoll < 0 || w->quit < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->quit, &ev) != 0 ||
        pthread_create(&w->thread, NULL, watch, w) != 0)
        return vc_fail(err, VC_E_IO, "the watcher of connections did not start: %s", strerror(errno));
    return VC_OK;
}

/* Lock held. UINT32_MAX: out of memory. */
static uint32_t take_slot(struct srv_watch *w) {
    if (w->free != UINT32_MAX) {
        uint32_t i = w->free;
        w->free = w->slots[i].next_free;
        return i;
    }
    if (w->n == w->cap) {
        uint32_t cap = w->cap ? 2 * w->cap : 64;
        struct slot *p = realloc(w->slots, cap * sizeof *p);
        if (!p) return UINT32_MAX;
        w->slots = p;
        w->cap = cap;
    }
    w->slots[w->n] = (struct slot){ .fd = -1 };
    return w->n++;
}

void srv_watch_add(struct srv_call *c, int fd) {
    struct srv_watch *w = c->srv->watcher;
    pthread_mutex_lock(&w->lock);
    uint32_t i = take_slot(w);
    if (i != UINT32_MAX) {
        struct slot *t = &w->slots[i];
        t->call = c;
        t->generation++;
        t->fd = fd;
        c->watch = i;
        struct epoll_event ev = { .events = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLONESHOT,
                                  .data.u64 = (uint64_t)t->generation << 32 | i };
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev);
    }
    pthread_mutex_unlock(&w->lock);
}

void srv_watch_remove(struct srv_call *c) {
    struct srv_watch *w = c->srv->watcher;
    if (c->watch < 0 || !w) return;
    pthread_mutex_lock(&w->lock);
    struct slot *t = &w->slots[c->watch];
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, t->fd, NULL);
    t->fd = -1;
    t->call = NULL;
    t->next_free = w->free;
    w->free = (uint32_t)c->watch;
    c->watch = -1;
    pthread_mutex_unlock(&w->lock);
}

void srv_watch_stop(struct srv *s) {
    struct srv_watch *w = s->watcher;
    if (!w) return;
    uint64_t one = 1;
    if (w->thread && write(w->quit, &one, sizeof one) == sizeof one) pthread_join(w->thread, NULL);
    if (w->epoll >= 0) close(w->epoll);
    if (w->quit >= 0) close(w->quit);
    pthread_mutex_destroy(&w->lock);
    free(w->slots);
    free(w);
    s->watcher = NULL;
}
