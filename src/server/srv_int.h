/* SPDX-License-Identifier: Apache-2.0
 * srv_int.h: what the server is made of.
 * Threads: one HTTP thread (libmicrohttpd's), a front pool that reads bodies, renders and tokenizes, one pump per model
 * that takes its engine's outputs and writes answers, one watcher of clients that leave. A srv_call is shared by them:
 * `lock` guards the fields below it; everything above is set before the call leaves the HTTP thread. */
#ifndef VC_SERVER_SRV_INT_H
#define VC_SERVER_SRV_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/str.h"
#include "io/json_out.h"
#include "server/server.h"
#include "server/srv_keys.h"

struct MHD_Connection;
struct MHD_Daemon;
struct srv;
struct srv_call;
struct srv_gen;
struct srv_model;
struct srv_pump;
struct srv_tls;

typedef void srv_handler(struct srv_call *c);

/* ---- routes ---- */
enum {
    SRV_GET = 1, SRV_POST = 2,
    SRV_OPEN = 4,          /* answered without an API key */
    SRV_INLINE = 8,        /* quick: answered on the HTTP thread */
    SRV_NEEDS_MODEL = 16,  /* 503 while the model loads */
    SRV_ANTHROPIC = 32,    /* errors in Anthropic's form */
    SRV_PREFIX = 64,       /* the path has a {id}, a part of any name */
    SRV_GENERATES = 128,   /* of models that generate text; without one there is no such path */
    SRV_POOLS = 256,       /* of models that make embeddings; the same */
    SRV_STATE = 512,       /* 503 is an answer as good as 200: not in that state */
    SRV_SWITCHED = 1024,   /* an option leaves it out, or brings it: 404 then */
    SRV_DRAINS = 2048      /* answered while the server drains, too: for clients that wait for what runs */
};
enum srv_route_id {
#define SRV_ROUTE(id, path, flags, fn, bodies, answer, text) SRV_AT_##id,
#include "server/routes.def"
#undef SRV_ROUTE
    SRV_NUM_ROUTES
};
/* bodies: of srv_body_kind, 0: takes none; answer: of srv_answer_id, with status 200. */
struct srv_route { const char *path; unsigned flags; srv_handler *fn; unsigned bodies, answer; const char *text; };
extern const struct srv_route srv_routes[SRV_NUM_ROUTES];
const struct srv_route *srv_route_find(const char *path);
/* Whether a model, or one of the loaded models, has the route. */
bool srv_route_of(const struct srv_route *r, const struct srv_model *m);
bool srv_route_served(const struct srv_route *r, const struct srv *s);
#define SRV_ROUTE(id, path, flags, fn, bodies, answer, text) srv_handler fn;
#include "server/routes.def"
#undef SRV_ROUTE

/* ---- a request and its answer ---- */
struct srv_call {
    struct srv *srv;
    struct srv_model *model;               /* that the body names; the first where it names none */
    const struct srv_route *route;         /* NULL: none has the path */
    struct MHD_Connection *conn;           /* NULL once the connection is done with the call */
    void (*wake)(struct srv_call *c);      /* of a call without a connection: what srv_wake_locked does for waiter */
    void *waiter;
    atomic_uint refs;
    double begun;
    const char *method;                    /* of the connection; copied names below are owned */
    char *path, *request_id, *origin;
    unsigned long long body_limit;
    struct vc_buf body;
    json_t *json;                          /* the body of a call that has no bytes of one; owned */
    uint64_t body_seen;
    bool json_type, too_large, begun_front;
    atomic_bool late;                      /* a 408 was sent */
    json_t *query;                         /* owned: arguments of the path, as texts; of SRV_PREFIX routes */
    struct srv_entry *background;          /* of the store, while the call makes a response that nobody waits for */
    struct srv_key *key;                   /* a reference; NULL: none was asked for */
    bool rated; struct srv_rate rate;      /* what the key may still do, as the answer's headers say */
    int64_t watch;                         /* slot of the watcher; -1: none */
    struct srv_call *next, *prev;          /* calls in flight; srv->lock */

    pthread_mutex_t lock;
    int status;                            /* 0: no answer yet */
    const char *type;                      /* static; NULL: no body */
    struct vc_buf out; size_t sent;        /* the answer, or the part of a stream that is not out yet */
    const char *extra_name; char extra_value[64];   /* one more header */
    char *metadata;                        /* owned: of vectors as bytes, a header; NULL: none */
    const char *const *headers;            /* static: names and values, ended by NULL; NULL: none */
    bool stream, ended, suspended, gone;
    uint64_t out_total;
    struct { double at; uint64_t total; } alive;   /* when the stream last had bytes, as the watcher saw it */
    struct { int status; bool stream, gone; uint64_t out; } left;   /* as the connection left it; HTTP thread */
    struct srv_gen *gen;                   /* owned; NULL: no generation */
};
struct srv_call *srv_call_new(struct srv *s);
void srv_call_ref(struct srv_call *c);
void srv_call_unref(struct srv_call *c);
/* The whole answer: takes b. Wakes the connection. Only the first answer of a call counts. */
void srv_reply(struct srv_call *c, int status, const char *type, struct vc_buf *b);
void srv_reply_json(struct srv_call *c, int status, struct vc_buf *b);
/* vLLM's {"error": {"message", "type", "param", "code"}}, or Anthropic's {"type": "error", "error": {"type",
 * "message"}} where the route asks for it. param NULL: null. */
void srv_error(struct srv_call *c, int status, const char *type, const char *param, const char *fmt, ...)
    VC_PRINTF(5, 6);
/* A 400; false, so that a check can return it. */
bool srv_refuse(struct srv_call *c, const char *param, const char *fmt, ...) VC_PRINTF(3, 4);
/* The same, with vLLM's " (parameter=FIELD)" behind the text. */
bool srv_refuse_field(struct srv_call *c, const char *field, const char *fmt, ...) VC_PRINTF(3, 4);
/* The same in the form of pydantic's faults, one at loc. */
bool srv_refuse_value(struct srv_call *c, const char *loc, const char *type, const char *msg, const char *input);
/* What err says, with the status that belongs to it. */
bool srv_refuse_err(struct srv_call *c, const vc_err *err);
const char *srv_err_text(const vc_err *err);
/* A header of the request; NULL: absent. Only in handlers that run on the HTTP thread. */
const char *srv_header(const struct srv_call *c, const char *name);
/* {"detail": text}, as FastAPI answers for paths and methods. */
void srv_detail(struct srv_call *c, int status, const char *text);
void srv_error_body(const struct srv_call *c, struct vc_buf *b, int status, const char *type, const char *param,
                    const char *text);
const char *srv_error_type(int status);
/* Lock held: more of a stream is in c->out. */
void srv_wake_locked(struct srv_call *c);
/* Begins a stream of server-sent events (text in b, which is taken). */
void srv_stream_begin(struct srv_call *c);
void srv_stream_begin_locked(struct srv_call *c);

/* In flight from the moment it leaves the HTTP thread until its connection is done with it. */
bool srv_call_enter(struct srv_call *c);   /* false: the server ends */
void srv_call_leave(struct srv_call *c);
/* Every call in flight is cut: its request cancelled, its connection closed. */
void srv_calls_cut(struct srv *s);
/* Then: until nothing of them is left in the engines and the front pool. */
void srv_calls_wait(struct srv *s);

/* ---- request bodies ---- */
/* The body as a JSON object, a new reference in *root; false: an error was answered. */
bool srv_body(struct srv_call *c, json_t **root);

/* ---- the server ---- */
struct srv_metrics;
struct srv_http_metrics;
struct srv_bandwidth;
struct srv_conn;
struct srv_log;
/* One of the served models: its engine and all that belongs to it. */
struct srv_model {
    struct srv *srv;
    const struct vc_server_model *p;
    uint32_t index;
    vc_model *engine;                      /* set once, before `loaded`, as the next two */
    vc_model_info info;
    vc_sampling_params defaults;
    uint32_t max_live;
    atomic_uint live;                      /* choices in the engine */
    atomic_bool failed, stuck;             /* the engine has ended; it stood still when /health was last asked */
    struct srv_pump *pump;
    struct srv_metrics *metrics;
};
struct srv {
    struct vc_server_params p;
    struct srv_model *models; uint32_t num_models;         /* owned; at least one */
    atomic_bool loaded, draining;
    int64_t created;
    struct MHD_Daemon *daemon;
    int listen_fd;
    char url[256];

    pthread_mutex_t lock;                  /* calls in flight: those that left the HTTP thread and are not completed */
    struct srv_call *in_flight; uint32_t calls;
    bool cut;                              /* no call enters any more */

    struct srv_front *front;
    struct srv_watch *watcher;
    struct srv_conns *conns;
    struct srv_log *log;                   /* NULL: lines go to stderr at once */
    struct srv_http_metrics *metrics;
    struct srv_bandwidth *bandwidth;
    struct srv_store *store;
    json_t *template_kwargs;               /* owned; NULL: none */
    struct srv_keys *keys;                 /* NULL: everyone may ask */
    struct srv_tls *tls;                   /* NULL: plain HTTP */
    char **origins;                        /* allowed ones, ended by NULL; `lock` */
};

/* serve.c: what a server has with or without HTTP: variables of templates, the models. */
vc_status srv_begin(struct srv *s, vc_err *err);

/* models.c: opening (NULL engines until then), names, closing. */
vc_status srv_models_new(struct srv *s, vc_err *err);
vc_status srv_models_open(struct srv *s, vc_err *err);
void srv_models_stop(struct srv *s);       /* pumps and engines stand still */
void srv_models_del(struct srv *s);        /* after the HTTP thread, which asks whether they are stuck */
const char *srv_model_name(const struct srv_model *m);
struct srv_model *srv_model_named(const struct srv *s, const char *name);      /* NULL: none has the name */
uint32_t srv_models_live(const struct srv *s);         /* choices in all engines */
bool srv_models_running(const struct srv *s);          /* no engine has stopped */
bool srv_models_healthy(const struct srv *s);          /* nor is one stuck */


/* listen.c: a listening socket for host and port or a path; systemd's if it passed one. */
vc_status srv_listen(struct srv *s, vc_err *err);

/* http.c */
vc_status srv_http_start(struct srv *s, uint32_t max_connections, vc_err *err);
void srv_http_stop(struct srv *s);         /* after all calls were woken */
void srv_http_quiesce(struct srv *s);      /* no new connections */

/* conns.c: a connection from its opening to its end, in the HTTP thread; NULL where memory was short. */
struct srv_conns *srv_conns_new(void);
void srv_conns_del(struct srv_conns *l);
struct srv_conn *srv_conn_open(struct srv *s, int fd);
void srv_conn_close(struct srv *s, struct srv_conn *c);
void **srv_conn_tls(struct srv_conn *c);   /* its credentials of HTTPS, held until it ends */
void srv_conn_headers(struct srv *s, struct srv_conn *c, struct srv_call *call);       /* they are there */
/* HTTP thread: true when conn, a struct srv_conn, is cut; b then holds what its client is told, or nothing. Once. */
bool srv_conn_late(void *conn, struct vc_buf *b);
bool srv_conn_whole(struct srv *s, struct srv_conn *c);    /* the request is there; false: too late, it is cut */
void srv_conn_next(struct srv *s, struct srv_conn *c);     /* the answer is out: another request may come */
uint32_t srv_conns_count(struct srv *s);
void srv_conns_sweep(struct srv *s);       /* cuts those that are late; any thread */

/* auth.c, on the HTTP thread. srv_authorized: sets c->key; srv_admitted: false when a 429 was answered. */
bool srv_authorized(struct srv_call *c, const char *authorization, const char *x_api_key);
bool srv_admitted(struct srv_call *c);
bool srv_origin_allowed(struct srv *s, const char *origin);

/* reload.c */
void srv_reload(struct srv *s);            /* SIGHUP */
void srv_refresh_tls(struct srv *s);       /* reads the certificates again if their files have changed */
vc_status srv_origins_set(struct srv *s, const char *const *origins, size_t n, vc_err *err);
void srv_origins_free(char **v);

/* cors.c */
void srv_preflight(struct srv_call *c);
const char *srv_cors_methods(const struct srv *s, char *dst, size_t cap);
const char *srv_cors_headers(const struct srv_call *c, char *dst, size_t cap);

/* front.c: jobs beside the HTTP thread. The call keeps a reference while a job of it waits or runs. */
vc_status srv_front_start(struct srv *s, uint32_t threads, vc_err *err);
void srv_front_push(struct srv_call *c, srv_handler *fn);
bool srv_front_idle(struct srv *s);        /* no job waits or runs */
void srv_front_stop(struct srv *s);

/* alive.c: a comment into each stream that was silent for too long. */
void srv_keep_alive(struct srv *s);

/* watch.c: notices clients that leave while their connection is suspended. */
vc_status srv_watch_start(struct srv *s, vc_err *err);
void srv_watch_add(struct srv_call *c, int fd);
void srv_watch_remove(struct srv_call *c);
void srv_watch_stop(struct srv *s);

/* store.c: responses that may be asked for again or gone on from; the oldest go when there are too many. */
struct srv_store *srv_store_new(void);
void srv_store_del(struct srv_store *s);
/* Keeps a copy of body and messages. A store that is NULL keeps and has nothing. */
void srv_store_put(struct srv_store *s, const char *id, const char *body, size_t n, const json_t *messages);
/* A new reference to the messages of id, or NULL; with body, the response's text is added to it; made: it is no longer
 * being made. */
json_t *srv_store_get(struct srv_store *s, const char *id, struct vc_buf *body, bool *made);

/* pump.c */
vc_status srv_pump_start(struct srv_model *m, vc_err *err);
void srv_pump_stop(struct srv_model *m);
void srv_pump_del(struct srv_model *m);    /* after the HTTP thread, which asks whether it is stuck */
void srv_pump_kick(struct srv_model *m);   /* a request was submitted */
/* Seconds since it last went round, which it does twice a second at least; 0: it sleeps. */
double srv_pump_age(const struct srv_model *m);

#endif
