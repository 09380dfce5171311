/* SPDX-License-Identifier: Apache-2.0
 * srv_alive.c: comments in silent streams, so that no proxy takes them for dead (--sse-keep-alive-interval). Called
 * about once a second on the watcher's thread. A stream that waits for its first token is begun by its first comment.
 */
#include "base/clock.h"
#include "server/srv_gen.h"

/* Lock of c held. Only bytes that went out since the last look make a stream alive. */
static void look_at(struct srv_call *c, double now, double interval) {
    static const char comment[] = ": keep-alive\n\n";
    const struct srv_gen *g = c->gen;
    bool reads = !g && c->stream;              /* events of a response in the background */
    if (!c->conn || (!reads && (!g || !g->submitted || !g->stream || g->closed || g->cancelled))) return;
    if (c->ended || c->gone || c->out.n > c->sent || (c->status && !c->stream)) return;
    if (c->alive.at == 0) c->alive.at = c->begun;
    if (c->alive.total != c->out_total) {
        c->alive.total = c->out_total;
        c->alive.at = now;
    }
    if (now - c->alive.at < interval) return;
    c->alive.at = now;
    srv_stream_begin_locked(c);
    vc_buf_add(&c->out, comment, sizeof comment - 1);
    srv_wake_locked(c);
}

void srv_keep_alive(struct srv *s) {
    double now = vc_now();
    pthread_mutex_lock(&s->lock);
    for (struct srv_call *c = s->in_flight; c; c = c->next) {
        pthread_mutex_lock(&c->lock);
        look_at(c, now, s->p.keep_alive);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&s->lock);
}
