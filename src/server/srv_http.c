/* SPDX-License-Identifier: Apache-2.0
 * srv_http.c: the edge to libmicrohttpd: a call per request, its body within the limits, its answer whole or as a
 * stream. A connection that waits is suspended; whoever has news for it wakes it. Only this file and srv_call.c see
 * MHD. */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "server/srv_int.h"
#include "server/srv_log.h"
#include "server/srv_metrics.h"
#include "server/srv_tls.h"

enum {
    DISCARD_LIMIT = 1 << 20,       /* bytes of a refused body that are read, so that the client sees the answer */
    STREAM_BLOCK = 8 << 10,
    FEW_CONNECTIONS = 1000,        /* fewer than these are worth a warning */
    SPARE_FILES = 128              /* files that are not connections: models, logs, devices */
};

/* How much of n bytes to send in one block of at most max: up to the end of the last event that is in it whole, for clients that take
 * a chunk of HTTP for events; an event longer than a block is cut. */
static size_t whole_events(const char *p, size_t n, size_t max) {
    if (n <= max) return n;
    for (size_t i = max; i >= 2; i--)
        if (p[i - 1] == '\n' && p[i - 2] == '\n') return i;
    return max;
}

/* A stream's next bytes. Nothing there: the connection sleeps until srv_wake_locked. */
static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max) {
    struct srv_call *c = cls;
    (void)pos;
    pthread_mutex_lock(&c->lock);
    size_t left = c->out.n - c->sent, n = whole_events(c->out.p + c->sent, left, max);
    ssize_t result = (ssize_t)n;
    if (c->gone) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (n) {
        memcpy(buf, c->out.p + c->sent, n);
        c->sent += n;
        if (c->sent == c->out.n) c->sent = c->out.n = 0;
    } else if (c->ended) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        c->suspended = true;
        MHD_suspend_connection(c->conn);
    }
    pthread_mutex_unlock(&c->lock);
    return result;
}

static void stream_done(void *cls) { srv_call_unref(cls); }

static void add_header(struct MHD_Response *r, const char *name, const char *value) {
    if (value && *value) (void)MHD_add_response_header(r, name, value);
}

static void add_cors(const struct srv_call *c, struct MHD_Response *r) {
    if (!c->origin || !srv_origin_allowed(c->srv, c->origin)) return;
    add_header(r, "Access-Control-Allow-Origin", c->origin);
    add_header(r, "Vary", "Origin");
    if (c->srv->p.allow_credentials) add_header(r, "Access-Control-Allow-Credentials", "true");
    if (strcmp(c->method, "OPTIONS") != 0) return;
    char methods[512], headers[1024];
    add_header(r, "Access-Control-Allow-Methods", srv_cors_methods(c->srv, methods, sizeof methods));
    add_header(r, "Access-Control-Allow-Headers", srv_cors_headers(c, headers, sizeof headers));
    add_header(r, "Access-Control-Max-Age", "600");
}

/* OpenAI's headers of a key with limits. */
static void add_rate(const struct srv_call *c, struct MHD_Response *r) {
    const struct { const char *name; const struct srv_allowance *a; } all[] = {
        { "requests", &c->rate.requests }, { "tokens", &c->rate.tokens },
    };
    for (size_t i = 0; c->rated && i < VC_ARRAY_LEN(all); i++) {
        char name[64], value[32];
        if (!all[i].a->limit) continue;
        snprintf(name, sizeof name, "x-ratelimit-limit-%s", all[i].name);
        snprintf(value, sizeof value, "%u", all[i].a->limit);
        add_header(r, name, value);
        snprintf(name, sizeof name, "x-ratelimit-remaining-%s", all[i].name);
        snprintf(value, sizeof value, "%llu", (unsigned long long)all[i].a->left);
        add_header(r, name, value);
        snprintf(name, sizeof name, "x-ratelimit-reset-%s", all[i].name);
        add_header(r, name, srv_duration(all[i].a->reset, value, sizeof value));
    }
}

/* Hands the answer of c to its connection. Without an answer the client has left: the connection is closed.
 * libmicrohttpd locks the response here and around read_stream, so the call's lock is not held. */
static enum MHD_Result queue_answer(struct srv_call *c) {
    struct MHD_Response *r;
    struct vc_buf body = { 0 };
    pthread_mutex_lock(&c->lock);
    bool ready = c->status && !c->gone;
    if (ready && !c->stream) {
        body = c->out;
        c->out = (struct vc_buf){ 0 };
    }
    pthread_mutex_unlock(&c->lock);
    if (!ready) return MHD_NO;
    if (c->stream) {
        srv_call_ref(c);
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, c, stream_done);
        if (!r) srv_call_unref(c);
    } else {
        void *bytes = body.n ? body.p : (void *)(uintptr_t)"";
        r = MHD_create_response_from_buffer(body.n, bytes, body.n ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
        if (!r || !body.n) vc_buf_free(&body);
    }
    if (!r) return MHD_NO;
    add_header(r, "Content-Type", c->type);
    if (c->stream) add_header(r, "Cache-Control", "no-cache");
    if (c->extra_name) add_header(r, c->extra_name, c->extra_value);
    add_header(r, "metadata", c->metadata);
    for (const char *const *h = c->headers; h && *h; h += 2) add_header(r, h[0], h[1]);
    if (c->srv->p.request_id_headers || c->request_id) add_header(r, "X-Request-Id", c->request_id);
    add_rate(c, r);
    add_cors(c, r);
    enum MHD_Result rc = MHD_queue_response(c->conn, (unsigned)c->status, r);
    MHD_destroy_response(r);
    return rc;
}

/* ---- the first look at a request ---- */

static const char *header(struct MHD_Connection *conn, const char *name) {
    return MHD_lookup_connection_value(conn, MHD_HEADER_KIND, name);
}

const char *srv_header(const struct srv_call *c, const char *name) { return header(c->conn, name); }

static bool is_json(const char *type) {
    if (!type) return false;
    size_t n = strcspn(type, "; \t");
    if (n == 16 && !strncasecmp(type, "application/json", n)) return true;
    return n > 5 && !strncasecmp(type, "application/", 12) && !strncasecmp(type + n - 5, "+json", 5);
}

/* Request ids are echoed in bodies and headers: printable ASCII without quotes, at most 128 bytes; another one is not
 * taken. */
static char *copy_id(const char *id) {
    if (!id || !*id || strlen(id) > 128) return NULL;
    for (const char *p = id; *p; p++)
        if (*p <= ' ' || *p > '~' || *p == '"' || *p == '\\') return NULL;
    return strdup(id);
}

/* The path with a proxy's prefix taken off; as routes spell it. */
static const char *strip_root(const struct srv *s, const char *url) {
    const char *root = s->p.root_path;
    size_t n = root ? strlen(root) : 0;
    while (n && root[n - 1] == '/') n--;
    if (n && !strncmp(url, root, n) && url[n] == '/') return url + n;
    return url;
}

static const char *const known_methods[] = { "GET", "POST", "OPTIONS", "HEAD", "PUT", "DELETE", "PATCH" };

/* An argument without a value, or with one that is no UTF-8, is an empty text. */
static enum MHD_Result keep_argument(void *query, enum MHD_ValueKind kind, const char *name, const char *value) {
    json_t *v = json_string(value ? value : "");
    (void)kind;
    json_object_set_new(query, name, v ? v : json_string(""));
    return MHD_YES;
}

static struct srv_call *call_begin(struct srv *s, struct MHD_Connection *conn, const char *url, const char *method) {
    struct srv_call *c = srv_call_new(s);
    if (!c) return NULL;
    c->conn = conn;
    c->begun = vc_now();
    c->method = "OTHER";
    for (size_t i = 0; i < VC_ARRAY_LEN(known_methods); i++)
        if (!strcmp(method, known_methods[i])) c->method = known_methods[i];
    const char *path = strip_root(s, url);
    c->route = srv_route_find(path);
    if (c->route && !srv_route_served(c->route, s)) c->route = NULL;
    c->path = strdup(path);
    if (c->route && (c->route->flags & SRV_PREFIX) && (c->query = json_object()))
        MHD_get_connection_values(conn, MHD_GET_ARGUMENT_KIND, keep_argument, c->query);
    c->request_id = copy_id(header(conn, "X-Request-Id"));
    const char *origin = header(conn, "Origin");
    c->origin = origin && strlen(origin) < 256 ? strdup(origin) : NULL;
    c->json_type = is_json(header(conn, "Content-Type"));
    c->body_limit = s->p.max_body_bytes;
    return c;
}

static void allow_header(struct srv_call *c, unsigned flags) {
    c->extra_name = "Allow";
    bool both = (flags & SRV_GET) && (flags & SRV_POST);
    snprintf(c->extra_value, sizeof c->extra_value, "%s", both ? "GET, POST" : flags & SRV_GET ? "GET" : "POST");
}

/* What can be said before the body: key, path, method, size. Answers (c->status) or leaves the call for its handler. */
static void check_head(struct srv_call *c) {
    const struct srv *s = c->srv;
    unsigned flags = c->route ? c->route->flags : 0;
    bool is_get = !strcmp(c->method, "GET") || !strcmp(c->method, "HEAD");
    const char *length = header(c->conn, "Content-Length");
    if (!strcmp(c->method, "OPTIONS") && header(c->conn, "Access-Control-Request-Method")) {
        srv_preflight(c);
        return;
    }
    int most = (int)VC_MIN(s->p.max_headers, (uint32_t)INT32_MAX);
    if (MHD_get_connection_values(c->conn, MHD_HEADER_KIND, NULL, NULL) > most) {
        srv_error(c, 431, NULL, NULL, "The request has more than %u headers.", s->p.max_headers);
        return;
    }
    if (!(flags & SRV_OPEN) && !srv_authorized(c, header(c->conn, "Authorization"), header(c->conn, "X-Api-Key"))) {
        struct vc_buf b = { 0 };
        vc_buf_adds(&b, "{\"error\":\"Unauthorized\"}");
        c->extra_name = "WWW-Authenticate";
        snprintf(c->extra_value, sizeof c->extra_value, "Bearer");
        srv_reply_json(c, 401, &b);
        return;
    }
    if (!c->route) {
        srv_detail(c, 404, "Not Found");
    } else if (!(is_get ? flags & SRV_GET : !strcmp(c->method, "POST") && (flags & SRV_POST))) {
        allow_header(c, flags);
        srv_detail(c, 405, "Method Not Allowed");
    } else if (length && (strlen(length) > 18 || strtoull(length, NULL, 10) > c->body_limit)) {
        srv_error(c, 413, NULL, NULL, "The request body is larger than the limit of %llu bytes.", c->body_limit);
    } else {
        (void)srv_admitted(c);
    }
}

/* More of the body. A refused or oversized one is read to DISCARD_LIMIT bytes further, then the connection is
 * closed. */
static enum MHD_Result take_body(struct srv_call *c, const char *data, size_t *n) {
    c->body_seen += *n;
    bool keep = c->status == 0 && !c->too_large;
    if (keep && c->body_seen > c->body_limit) {
        c->too_large = true;
        vc_buf_free(&c->body);
        keep = false;
    }
    if (!keep && c->body_seen > c->body_limit + DISCARD_LIMIT) return MHD_NO;
    if (keep) vc_buf_add(&c->body, data, *n);
    *n = 0;
    return c->body.failed ? MHD_NO : MHD_YES;
}

/* The whole request is there. */
static enum MHD_Result dispatch(struct srv_call *c) {
    struct srv *s = c->srv;
    if (c->too_large) {
        srv_error(c, 413, NULL, NULL, "The request body is larger than the limit of %llu bytes.", c->body_limit);
        return MHD_YES;
    }
    if ((c->route->flags & SRV_NEEDS_MODEL) && !atomic_load(&s->loaded)) {
        srv_error(c, 503, "ServiceUnavailable", NULL, "The model is still loading.");
        return MHD_YES;
    }
    if (!srv_route_served(c->route, s)) {      /* loaded meanwhile */
        srv_detail(c, 404, "Not Found");
        return MHD_YES;
    }
    if (atomic_load(&s->draining) && !(c->route->flags & (SRV_INLINE | SRV_DRAINS))) {
        srv_error(c, 503, "ServiceUnavailable", NULL, "The server is shutting down.");
        return MHD_YES;
    }
    if (c->route->flags & SRV_INLINE) {
        c->route->fn(c);
        return MHD_YES;
    }
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!srv_call_enter(c)) return MHD_NO;
    c->begun_front = true;
    pthread_mutex_lock(&c->lock);
    c->suspended = true;
    MHD_suspend_connection(c->conn);
    pthread_mutex_unlock(&c->lock);
    if (fd) srv_watch_add(c, (int)fd->connect_fd);
    srv_front_push(c, c->route->fn);
    return MHD_YES;
}

static struct srv_conn *conn_of(struct MHD_Connection *conn) {
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

static void connection_changed(void *cls, struct MHD_Connection *conn, void **ctx,
                               enum MHD_ConnectionNotificationCode what) {
    struct srv *s = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
        *ctx = fd ? srv_conn_open(s, (int)fd->connect_fd) : NULL;
        bool ok = !s->tls || (*ctx && srv_tls_begin(s->tls, conn, srv_conn_late, *ctx, srv_conn_tls(*ctx)));
        if (!ok && fd) shutdown(fd->connect_fd, SHUT_RDWR);        /* no certificate would be asked for */
    } else {
        if (s->tls && *ctx) srv_tls_end(s->tls, srv_conn_tls(*ctx));
        srv_conn_close(s, *ctx);
        *ctx = NULL;
    }
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *conn, const char *url, const char *method,
                              const char *version, const char *data, size_t *n, void **ctx) {
    struct srv *s = cls;
    struct srv_call *c = *ctx;
    (void)version;
    if (!c) {
        *ctx = c = call_begin(s, conn, url, method);
        if (!c) return MHD_NO;
        check_head(c);
        srv_conn_headers(s, conn_of(conn), c);
        if (c->status != 413) return MHD_YES;
    }
    if (*n && c->status != 413) return take_body(c, data, n);
    if (!srv_conn_whole(s, conn_of(conn))) return MHD_NO;
    if (!c->begun_front && c->status == 0) {
        enum MHD_Result rc = dispatch(c);
        if (rc != MHD_YES || c->begun_front) return rc;
    }
    return queue_answer(c);
}

/* ---- the end of a request ---- */

/* Is path one of "a,b"? */
static bool is_quiet(const char *list, const char *path) {
    for (const char *p = list ? list : ""; *p;) {
        size_t n = strcspn(p, ",");
        if (strlen(path) == n && !strncmp(p, path, n)) return true;
        p += n + (p[n] == ',');
    }
    return false;
}

/* Never text of a request: the query of a path is not among what MHD calls the path. */
static void access_object(const struct srv_call *c) {
    struct vc_buf b = { 0 };
    char path[160];
    vc_buf_printf(&b, "\"event\":\"request\",\"method\":\"%s\",\"path\":", c->method);
    vc_printable(path, sizeof path, c->path, strlen(c->path));
    vc_json_add_str(&b, path, strlen(path));
    vc_buf_printf(&b, ",\"status\":%d,\"ms\":%.1f,\"bytes_in\":%llu,\"bytes_out\":%llu", c->left.status,
                  1e3 * (vc_now() - c->begun), (unsigned long long)c->body_seen, (unsigned long long)c->left.out);
    vc_buf_printf(&b, ",\"stream\":%s,\"client_left\":%s", c->left.stream ? "true" : "false",
                  c->left.gone ? "true" : "false");
    if (c->key) vc_buf_printf(&b, ",\"key\":\"%s\"", srv_key_name(c->key));        /* a name has nothing to escape */
    if (c->request_id) {
        vc_buf_adds(&b, ",\"request_id\":");
        vc_json_add_str(&b, c->request_id, strlen(c->request_id));
    }
    srv_log_object(c->srv->log, VC_LOG_INFO, &b);
    vc_buf_free(&b);
}

static void access_log(const struct srv_call *c) {
    const struct vc_server_params *sp = &c->srv->p;
    if (sp->no_access_log || sp->http_log < VC_LOG_INFO || is_quiet(sp->quiet_paths, c->path)) return;
    if (srv_log_json(c->srv->log)) {
        access_object(c);
        return;
    }
    char path[160], id[160];
    const char *given = c->request_id ? c->request_id : "";
    vc_printable(path, sizeof path, c->path, strlen(c->path));
    vc_printable(id, sizeof id, given, strlen(given));
    vc_log_line(VC_LOG_INFO, "%s %s %d %.1f ms, %llu B in, %llu B out%s%s%s%s%s", c->method, path, c->left.status,
                1e3 * (vc_now() - c->begun), (unsigned long long)c->body_seen, (unsigned long long)c->left.out,
                c->left.gone ? ", client left" : "", c->key ? ", key " : "", c->key ? srv_key_name(c->key) : "",
                c->request_id ? ", id " : "", id);
}

static void completed(void *cls, struct MHD_Connection *conn, void **ctx, enum MHD_RequestTerminationCode why) {
    struct srv *s = cls;
    struct srv_call *c = *ctx;
    srv_conn_next(s, conn_of(conn));
    if (!c) return;
    *ctx = NULL;
    srv_watch_remove(c);
    pthread_mutex_lock(&c->lock);
    c->conn = NULL;
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK) c->gone = true;
    c->left.status = atomic_load(&c->late) ? 408 : c->status;
    c->left.stream = c->stream;
    c->left.gone = c->gone;
    c->left.out = c->out_total;
    pthread_mutex_unlock(&c->lock);
    if (c->left.gone) srv_gen_cancel(c);
    access_log(c);
    srv_metrics_http(s->metrics, c);
    if (c->begun_front) srv_call_leave(c);
    srv_call_unref(c);
}

static void mhd_log(void *cls, const char *fmt, va_list ap) {
    char line[512];
    const struct srv *s = cls;
    vsnprintf(line, sizeof line, fmt, ap);
    line[strcspn(line, "\r\n")] = '\0';
    vc_log_line(s->p.http_log >= VC_LOG_DEBUG ? VC_LOG_INFO : VC_LOG_DEBUG, "http: %s", line);
}

/* Connections that the file limit allows, after raising it as far as the system lets us. */
static unsigned connection_limit(uint32_t wanted) {
    struct rlimit r;
    unsigned most = 16384;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        if (r.rlim_cur < r.rlim_max) {
            r.rlim_cur = r.rlim_max;
            if (setrlimit(RLIMIT_NOFILE, &r) != 0) getrlimit(RLIMIT_NOFILE, &r);
        }
        uint64_t room = r.rlim_cur > 2 * SPARE_FILES ? r.rlim_cur - SPARE_FILES : r.rlim_cur / 2;
        if (room < most) most = (unsigned)room;
    }
    if (!wanted && most < 16384)
        vc_log_line(most < FEW_CONNECTIONS ? VC_LOG_WARN : VC_LOG_INFO,
                    "the limit of open files, %llu, allows %u connections; ulimit -n or LimitNOFILE= raises it",
                    (unsigned long long)r.rlim_cur, most);
    if (wanted > most)
        vc_log_line(VC_LOG_WARN, "--max-connections %u: the limit of open files allows %u", wanted, most);
    return wanted && wanted < most ? wanted : most;
}

/* A connection's pool holds the head and a little of libmicrohttpd's own. Above 32 KiB the library maps pools instead
 * of taking them from the heap, and their pages go back with the connection: thousands of idle ones hold what they
 * have touched, not what their predecessors had. */
enum { POOL_EXTRA = 4096 };

/* libmicrohttpd wants credentials of its own, too. It has parsed them when it has started. */
static vc_status start_daemon(struct srv *s, unsigned flags, uint32_t max_connections, struct MHD_OptionItem *more,
                              vc_err *err) {
    s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, s,
                                 MHD_OPTION_EXTERNAL_LOGGER, mhd_log, s,
                                 MHD_OPTION_LISTEN_SOCKET, (MHD_socket)s->listen_fd,
                                 MHD_OPTION_NOTIFY_COMPLETED, completed, s,
                                 MHD_OPTION_NOTIFY_CONNECTION, connection_changed, s,
                                 MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)s->p.max_connections_per_address,
                                 MHD_OPTION_CONNECTION_LIMIT, connection_limit(max_connections),
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)s->p.max_head_bytes + POOL_EXTRA,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->p.idle_timeout,
                                 MHD_OPTION_ARRAY, more, MHD_OPTION_END);
    return s->daemon ? VC_OK : vc_fail(err, VC_E_IO, "the HTTP server did not start");
}

vc_status srv_http_start(struct srv *s, uint32_t max_connections, vc_err *err) {
    /* With epoll, libmicrohttpd 0.9.75 goes round and round while a handshake of TLS is under way: it forgets that the
     * socket had nothing more to read. A few clients that stop there would take a processor, and so poll it is. */
    unsigned loop = s->tls ? MHD_USE_POLL_INTERNAL_THREAD : MHD_USE_EPOLL_INTERNAL_THREAD;
    unsigned flags = loop | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    struct vc_buf key = { 0 }, cert = { 0 };
    const struct MHD_OptionItem end = { MHD_OPTION_END, 0, NULL };
    struct MHD_OptionItem tls[] = { end, end, end };
    if (!s->tls) return start_daemon(s, flags, max_connections, tls, err);
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return vc_fail(err, VC_E_UNSUPPORTED, "--ssl-certfile: this libmicrohttpd has no TLS");
    vc_status st = srv_tls_read(s->p.ssl_certfile, &cert, err);
    if (st == VC_OK) st = srv_tls_read(s->p.ssl_keyfile ? s->p.ssl_keyfile : s->p.ssl_certfile, &key, err);
    if (st == VC_OK) {
        tls[0] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, key.p };
        tls[1] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, cert.p };
        st = start_daemon(s, flags | MHD_USE_TLS, max_connections, tls, err);
        memset(key.p, 0, key.n);
    }
    vc_buf_free(&key);
    vc_buf_free(&cert);
    return st;
}

void srv_http_quiesce(struct srv *s) {
    if (s->daemon) (void)MHD_quiesce_daemon(s->daemon);
}

void srv_http_stop(struct srv *s) {
    if (s->daemon) MHD_stop_daemon(s->daemon);
    s->daemon = NULL;
}
