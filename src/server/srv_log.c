/* SPDX-License-Identifier: Apache-2.0
 * srv_log.c: lines of the log go through memory to a thread that writes them, so that a full disk or a reader that has
 * stopped holds up nobody. What does not fit is lost, and counted. As text, or as a JSON object per line. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "server/srv_log.h"

enum { ROOM = 256 << 10, LINE_MOST = 8 << 10, END_MS = 1000 };
struct srv_log {
    pthread_mutex_t lock;
    pthread_cond_t more, ended;
    pthread_t thread;
    bool json, quit, done;
    uint64_t lost;                         /* lines, since the last that was told */
    size_t from, n;                        /* bytes that wait, in `ring` */
    char ring[ROOM];
};

/* ---- lines ---- */

static const char *const level_names[] = { "error", "warning", "info", "debug" };

/* {"time":"2026-01-31T12:00:00.123Z","level":"info", and then the caller's members without braces. */
static void json_line(struct vc_buf *b, int level, const char *members, size_t n) {
    struct timespec t;
    struct tm tm;
    char when[32] = "";
    clock_gettime(CLOCK_REALTIME, &t);
    if (gmtime_r(&t.tv_sec, &tm)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    vc_buf_printf(b, "{\"time\":\"%s.%03dZ\",\"level\":\"%s\",", when, (int)(t.tv_nsec / 1000000), level_names[level]);
    vc_buf_add(b, members, n);
    vc_buf_adds(b, "}\n");
}

static void put_locked(struct srv_log *l, const char *line, size_t n) {
    if (n > ROOM - l->n) {
        l->lost++;
        return;
    }
    size_t at = (l->from + l->n) % ROOM, first = n < ROOM - at ? n : ROOM - at;
    memcpy(l->ring + at, line, first);
    memcpy(l->ring, line + first, n - first);
    l->n += n;
    pthread_cond_signal(&l->more);
}

static void put(struct srv_log *l, const struct vc_buf *b) {
    pthread_mutex_lock(&l->lock);
    if (b->failed || b->n > LINE_MOST) l->lost++;
    else put_locked(l, b->p, b->n);
    pthread_mutex_unlock(&l->lock);
}

static void on_line(int level, const char *text, void *arg) {
    struct srv_log *l = arg;
    struct vc_buf b = { 0 }, m = { 0 };
    if (l->json) {
        vc_buf_adds(&m, "\"message\":");
        vc_json_add_str(&m, text, strlen(text));
        json_line(&b, level, m.p ? m.p : "", m.n);
        b.failed |= m.failed;
    } else {
        vc_buf_printf(&b, "vllmc: %s: %s\n", level_names[level], text);
    }
    put(l, &b);
    vc_buf_free(&b);
    vc_buf_free(&m);
}

bool srv_log_json(const struct srv_log *l) { return l && l->json; }

void srv_log_object(struct srv_log *l, int level, const struct vc_buf *members) {
    struct vc_buf b = { 0 };
    if (level > vc_log_level()) return;
    json_line(&b, level, members->p ? members->p : "", members->n);
    b.failed |= members->failed;
    put(l, &b);
    vc_buf_free(&b);
}

/* ---- writing ---- */

/* A write that fails loses its bytes: a disk that is full now may have room later. */
static void write_out(const char *p, size_t n) {
    while (n) {
        ssize_t k = write(STDERR_FILENO, p, n);
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        } else if (k < 0 && errno == EAGAIN) {
            struct pollfd f = { .fd = STDERR_FILENO, .events = POLLOUT };
            (void)poll(&f, 1, 100);
        } else if (k == 0 || errno != EINTR) {
            return;
        }
    }
}

static void tell_lost(struct srv_log *l) {
    struct vc_buf b = { 0 }, m = { 0 };
    if (l->json) {
        vc_buf_printf(&m, "\"message\":\"%llu lines of the log are lost\"", (unsigned long long)l->lost);
        json_line(&b, VC_LOG_WARN, m.p ? m.p : "", m.n);
    } else {
        vc_buf_printf(&b, "vllmc: warning: %llu lines of the log are lost\n", (unsigned long long)l->lost);
    }
    l->lost = 0;
    if (!b.failed) put_locked(l, b.p, b.n);
    vc_buf_free(&b);
    vc_buf_free(&m);
}

static void *run(void *arg) {
    struct srv_log *l = arg;
    static const size_t most = 16 << 10;
    char *part = malloc(most);
    vc_thread_name("vllmc-log");
    pthread_mutex_lock(&l->lock);
    while (part) {
        while (!l->n && !l->quit) pthread_cond_wait(&l->more, &l->lock);
        if (!l->n) break;
        size_t n = l->n < most ? l->n : most, first = n < ROOM - l->from ? n : ROOM - l->from;
        memcpy(part, l->ring + l->from, first);
        memcpy(part + first, l->ring, n - first);
        l->from = (l->from + n) % ROOM;
        l->n -= n;
        pthread_mutex_unlock(&l->lock);
        write_out(part, n);
        pthread_mutex_lock(&l->lock);
        if (l->lost && l->n < ROOM / 2) tell_lost(l);
    }
    l->done = true;
    pthread_cond_signal(&l->ended);
    pthread_mutex_unlock(&l->lock);
    free(part);
    return NULL;
}

struct srv_log *srv_log_start(bool json) {
    struct srv_log *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->json = json;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    vc_cond_init(&l->ended);
    if (pthread_create(&l->thread, NULL, run, l) != 0) {
        free(l);
        return NULL;
    }
    vc_log_set(vc_log_level(), on_line, l);
    return l;
}

void srv_log_stop(struct srv_log *l) {
    if (!l) return;
    struct timespec until = vc_deadline(END_MS);
    vc_log_set(vc_log_level(), NULL, NULL);
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_cond_signal(&l->more);
    int rc = 0;
    while (!l->done && rc == 0) rc = pthread_cond_timedwait(&l->ended, &l->lock, &until);
    bool done = l->done;
    pthread_mutex_unlock(&l->lock);
    if (!done) {                           /* its reader has stopped: thread and memory go with the process */
        pthread_detach(l->thread);
        return;
    }
    pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->more);
    pthread_cond_destroy(&l->ended);
    free(l);
}
