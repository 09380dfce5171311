/* SPDX-License-Identifier: Apache-2.0
 * srv_conns.c: by when a request must have arrived. libmicrohttpd's own limit counts silence, which a client that sends
 * a byte now and then never keeps; here every connection has a deadline while its request is on the way. A body that is
 * late gets a 408; a connection without whole headers is cut. The list and all sockets in it are guarded by `lock`:
 * libmicrohttpd tells of a closed connection before it closes the socket. A session of TLS belongs to the HTTP thread,
 * so there the 408 is only asked for: the socket ends for reading, and the read that finds it writes the answer. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "server/srv_int.h"

struct srv_conn {
    struct srv_conn *prev, *next;
    struct srv *srv;
    int fd;
    double deadline;                       /* monotonic seconds; 0: none, a request is being answered */
    struct srv_call *call;                 /* its headers are there, its body is not; borrowed */
    bool cut;
    void *tls;                             /* what srv_tls_begin gave it */
};
struct srv_conns {
    pthread_mutex_t lock;
    struct srv_conn *first;
    uint32_t n, closed;                    /* closed: since memory was trimmed */
    double trimmed;
};
enum { TRIM_CLOSED = 1000, TRIM_PAUSE = 10 };      /* connections, seconds */
enum { TLS_GRACE = 2 };                            /* seconds for the HTTP thread to write a 408 */

struct srv_conns *srv_conns_new(void) {
    struct srv_conns *l = calloc(1, sizeof *l);
    if (l) pthread_mutex_init(&l->lock, NULL);
    return l;
}

void srv_conns_del(struct srv_conns *l) {
    if (!l) return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static double deadline_in(const struct srv *s, double seconds) {
    return s->p.request_timeout ? vc_now() + seconds + s->p.request_timeout : 0;
}

struct srv_conn *srv_conn_open(struct srv *s, int fd) {
    struct srv_conns *l = s->conns;
    struct srv_conn *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (struct srv_conn){ .srv = s, .fd = fd, .deadline = deadline_in(s, 0) };
    pthread_mutex_lock(&l->lock);
    c->next = l->first;
    if (c->next) c->next->prev = c;
    l->first = c;
    l->n++;
    pthread_mutex_unlock(&l->lock);
    return c;
}

void **srv_conn_tls(struct srv_conn *c) { return &c->tls; }

void srv_conn_close(struct srv *s, struct srv_conn *c) {
    struct srv_conns *l = s->conns;
    if (!c) return;
    pthread_mutex_lock(&l->lock);
    *(c->prev ? &c->prev->next : &l->first) = c->next;
    if (c->next) c->next->prev = c->prev;
    l->n--;
    l->closed++;
    pthread_mutex_unlock(&l->lock);
    free(c);
}

void srv_conn_headers(struct srv *s, struct srv_conn *c, struct srv_call *call) {
    if (!c) return;
    double latest = deadline_in(s, 0);             /* of a later request: the silence before it does not count */
    pthread_mutex_lock(&s->conns->lock);
    if (!c->cut) {
        c->call = call;
        c->deadline = c->deadline > 0 ? VC_MIN(c->deadline, latest) : latest;
    }
    pthread_mutex_unlock(&s->conns->lock);
}

bool srv_conn_whole(struct srv *s, struct srv_conn *c) {
    if (!c) return true;
    pthread_mutex_lock(&s->conns->lock);
    bool ok = !c->cut;
    c->deadline = 0;
    c->call = NULL;
    pthread_mutex_unlock(&s->conns->lock);
    return ok;
}

void srv_conn_next(struct srv *s, struct srv_conn *c) {
    if (!c) return;
    pthread_mutex_lock(&s->conns->lock);
    c->call = NULL;
    c->deadline = s->p.idle_timeout ? deadline_in(s, s->p.idle_timeout) : 0;
    pthread_mutex_unlock(&s->conns->lock);
}

uint32_t srv_conns_count(struct srv *s) {
    pthread_mutex_lock(&s->conns->lock);
    uint32_t n = s->conns->n;
    pthread_mutex_unlock(&s->conns->lock);
    return n;
}

static void late_text(const struct srv_call *call, struct vc_buf *b) {
    struct vc_buf body = { 0 };
    srv_error_body(call, &body, 408, NULL, NULL, "The body of the request did not arrive in time.");
    vc_buf_printf(b,
                  "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: "
                  "application/json\r\nContent-Length: %zu\r\n\r\n",
                  body.n);
    vc_buf_add(b, body.p, body.n);
    b->failed |= body.failed;
    vc_buf_free(&body);
}

bool srv_conn_late(void *conn, struct vc_buf *b) {
    struct srv_conn *c = conn;
    pthread_mutex_lock(&c->srv->conns->lock);
    bool late = c->cut;
    if (late && c->call) late_text(c->call, b);
    if (late) c->call = NULL;
    pthread_mutex_unlock(&c->srv->conns->lock);
    return late;
}

/* Lock held. Nothing of an answer is out yet, so without TLS it can be written past libmicrohttpd, which then finds the
 * socket ended. What is still there after the grace ends in any case. */
static void cut_late(const struct srv *s, struct srv_conn *c, double now) {
    bool first = !c->cut;
    c->cut = true;
    c->deadline = 0;
    if (first && c->call) {
        atomic_store(&c->call->late, true);
        if (s->tls) {
            c->deadline = now + TLS_GRACE;
            (void)shutdown(c->fd, SHUT_RD);
            return;
        }
        struct vc_buf b = { 0 };
        late_text(c->call, &b);
        if (!b.failed) (void)send(c->fd, b.p, b.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        vc_buf_free(&b);
    }
    (void)shutdown(c->fd, SHUT_RDWR);
}

void srv_conns_sweep(struct srv *s) {
    struct srv_conns *l = s->conns;
    double now = vc_now();
    pthread_mutex_lock(&l->lock);
    for (struct srv_conn *c = l->first; c; c = c->next)
        if (c->deadline > 0 && now >= c->deadline) cut_late(s, c, now);
    /* Thousands of connections leave free pieces all over the heap, which the allocator would keep. */
    bool trim = l->closed >= TRIM_CLOSED && now - l->trimmed >= TRIM_PAUSE;
    if (trim) {
        l->closed = 0;
        l->trimmed = now;
    }
    pthread_mutex_unlock(&l->lock);
    if (trim) vc_mem_trim();
}
