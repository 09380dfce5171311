/* SPDX-License-Identifier: Apache-2.0
 * srv_openapi.c: the OpenAPI 3.1 document: paths from the table of routes, with the statuses that their flags entail.
 */
#include "server/srv_openapi.h"

#include <stdio.h>
#include <string.h>

/* When a status can occur. */
enum {
    ALL = 1, KEYED = 2, BODY = 4, NAMED = 8, QUEUES = 16, WAITS = 32, STATE = 64, PAGE = 128, QUERY = 256, LIMITED = 512
};
static const struct srv_status_row statuses[] = {
    { 304, PAGE, SRV_ANSWER_NONE, "the page is as If-None-Match says" },
    { 400, BODY, SRV_ANSWER_ERROR,
      "the body is no JSON object, or a field has a wrong type or value or cannot be honoured; the message names it" },
    { 400, QUERY, SRV_ANSWER_ERROR, "an argument of the path has a wrong value, or the response is not in that state" },
    { 401, KEYED, SRV_ANSWER_UNAUTHORIZED, "keys are set, and none of them came" },
    { 404, NAMED, SRV_ANSWER_ERROR,
      "no served model has the name or this ability, nothing is stored under the id, or the path is switched off" },
    { 405, ALL, SRV_ANSWER_DETAIL, "the path has other methods" },
    { 408, BODY, SRV_ANSWER_ERROR, "the body did not arrive in time" },
    { 413, BODY, SRV_ANSWER_ERROR, "the body is larger than --max-body-bytes" },
    { 429, BODY | LIMITED, SRV_ANSWER_ERROR,
      "too many requests are waiting, or the key's limit is reached; Retry-After says when to come back" },
    { 431, ALL, SRV_ANSWER_ERROR, "there are too many headers" },
    { 500, QUEUES, SRV_ANSWER_ERROR, "the engine failed" },
    { 503, WAITS, SRV_ANSWER_ERROR, "the model is loading, the server is shutting down, or memory is short" },
    { 503, STATE, SRV_ANSWER_NONE, "not in that state" },
};
enum {
    AT_ONCE = SRV_BODY_COUNT | SRV_BODY_TOK_TEXT | SRV_BODY_TOK_CHAT | SRV_BODY_DETOK
}; /* bodies that the engine does not see */

static unsigned traits(const struct srv_route *r) {
    bool waits = (r->flags & SRV_NEEDS_MODEL) || !(r->flags & SRV_INLINE);
    return ALL | (r->flags & SRV_OPEN ? 0u : KEYED) | (r->bodies ? BODY : 0u) |
           (r->bodies || (r->flags & (SRV_PREFIX | SRV_GENERATES | SRV_POOLS | SRV_SWITCHED)) ? NAMED : 0u) |
           (r->bodies & ~(unsigned)AT_ONCE ? QUEUES : 0u) | (waits ? WAITS : 0u) | (r->flags & SRV_STATE ? STATE : 0u) |
           (r->flags & SRV_PREFIX ? QUERY : 0u) | (r->flags & SRV_POST && !(r->flags & SRV_INLINE) ? LIMITED : 0u) |
           (r == &srv_routes[SRV_AT_PAGE] ? PAGE : 0u);
}

bool srv_route_streams(const struct srv_route *r) {
    return (r->bodies || r == &srv_routes[SRV_AT_RESPONSE]) &&
           !strcmp(srv_answer_rows[r->answer].also, "text/event-stream");
}

const struct srv_status_row *srv_route_status(const struct srv_route *r, size_t *i) {
    while (*i < VC_ARRAY_LEN(statuses)) {
        const struct srv_status_row *s = &statuses[(*i)++];
        if (s->when & traits(r)) return s;
    }
    return NULL;
}

/* ---- the document ---- */

static void key_str(struct vc_json_out *w, const char *key, const char *v) {
    vc_jo_key(w, key);
    vc_jo_str(w, v);
}

static void begin(struct vc_json_out *w, const char *key) {
    vc_jo_key(w, key);
    vc_jo_begin_obj(w);
}

/* What a request may ask for in place of the first media type: events of a stream, or bytes. */
static void also(struct vc_json_out *w, const char *name) {
    static const char event[] = "{\"event\": {\"type\": \"string\"}, \"data\": {\"type\": \"string\"}}";
    bool stream = !strcmp(name, "text/event-stream");
    begin(w, name);
    begin(w, "schema");
    key_str(w, "description",
            stream ? "an event of the stream, asked for by stream; data is a chunk of the answer as JSON, or [DONE]"
                   : "asked for by encoding_format");
    key_str(w, "type", stream ? "object" : "string");
    if (stream) {
        vc_jo_key(w, "properties");
        vc_jo_raw(w, event, sizeof event - 1);
    }
    vc_jo_end_obj(w);
    vc_jo_end_obj(w);
}

/* "content": {type: {"schema": …}}; nothing for an answer without a body. A 404 comes from the route or from its
 * handler. */
static void content(struct vc_json_out *w, const struct srv_route *r, enum srv_answer_id id, int status) {
    const struct srv_answer_row *a =
        &srv_answer_rows[id == SRV_ANSWER_ERROR && (r->flags & SRV_ANTHROPIC) ? SRV_ANSWER_MESSAGES_ERROR : id];
    if (!a->type[0]) return;
    begin(w, "content");
    begin(w, a->type);
    vc_jo_key(w, "schema");
    if (status == 404) {
        vc_jo_begin_obj(w);
        vc_jo_key(w, "anyOf");
        vc_jo_begin_arr(w);
        srv_jo_ref(w, a->name);
        srv_jo_ref(w, srv_answer_rows[SRV_ANSWER_DETAIL].name);
        vc_jo_end_arr(w);
        vc_jo_end_obj(w);
    } else if (a->name[0]) {
        srv_jo_ref(w, a->name);
    } else {
        vc_jo_begin_obj(w);
        key_str(w, "type", !strcmp(a->type, "application/json") ? "object" : "string");
        vc_jo_end_obj(w);
    }
    vc_jo_end_obj(w);
    if (status == 200 && a->also[0] && (r->bodies || srv_route_streams(r))) also(w, a->also);
    vc_jo_end_obj(w);
}

static void answer(struct vc_json_out *w, const struct srv_route *r, int status, enum srv_answer_id id,
                   const char *text) {
    char code[12];
    snprintf(code, sizeof code, "%d", status);
    begin(w, code);
    key_str(w, "description", text);
    if (status == 429) {
        begin(w, "headers");
        begin(w, "Retry-After");
        key_str(w, "description", "seconds");
        begin(w, "schema");
        key_str(w, "type", "integer");
        vc_jo_end_obj(w);
        vc_jo_end_obj(w);
        vc_jo_end_obj(w);
    }
    content(w, r, id, status);
    vc_jo_end_obj(w);
}

static void answers(struct vc_json_out *w, const struct srv_route *r) {
    begin(w, "responses");
    answer(w, r, 200, (enum srv_answer_id)r->answer, r->text);
    const struct srv_status_row *s;
    for (size_t i = 0; (s = srv_route_status(r, &i));)
        answer(w, r, s->status, s->when == STATE ? (enum srv_answer_id)r->answer : s->answer, s->text);
    vc_jo_end_obj(w);
}

static void request(struct vc_json_out *w, const struct srv_route *r) {
    bool several = (r->bodies & (r->bodies - 1)) != 0;
    begin(w, "requestBody");
    vc_jo_key(w, "required");
    vc_jo_bool(w, true);
    begin(w, "content");
    begin(w, "application/json");
    vc_jo_key(w, "schema");
    if (several) {
        vc_jo_begin_obj(w);
        vc_jo_key(w, "anyOf");
        vc_jo_begin_arr(w);
    }
    for (size_t i = 0; i < srv_num_body_rows; i++)
        if (srv_body_rows[i].bit & r->bodies) srv_jo_ref(w, srv_body_rows[i].name);
    if (several) {
        vc_jo_end_arr(w);
        vc_jo_end_obj(w);
    }
    vc_jo_end_obj(w);
    vc_jo_end_obj(w);
    vc_jo_end_obj(w);
}

static void parameter(struct vc_json_out *w, const char *name, const char *in, const char *type) {
    vc_jo_begin_obj(w);
    key_str(w, "name", name);
    key_str(w, "in", in);
    vc_jo_key(w, "required");
    vc_jo_bool(w, !strcmp(in, "path"));
    begin(w, "schema");
    key_str(w, "type", type);
    vc_jo_end_obj(w);
    vc_jo_end_obj(w);
}

/* The name in the path of a SRV_PREFIX route, and what the query of the one that answers a response may have. */
static void parameters(struct vc_json_out *w, const struct srv_route *r) {
    vc_jo_key(w, "parameters");
    vc_jo_begin_arr(w);
    parameter(w, "id", "path", "string");
    if (srv_route_streams(r)) {
        parameter(w, "stream", "query", "boolean");
        parameter(w, "starting_after", "query", "integer");
    }
    vc_jo_end_arr(w);
}

static void operation(struct vc_json_out *w, const struct srv_route *r, const char *method) {
    begin(w, method);
    char id[128];
    size_t n = (size_t)snprintf(id, sizeof id, "%s", method);
    for (const char *p = r->path; *p && n + 1 < sizeof id; p++)
        if (!strchr("{}", *p)) id[n++] = *p == '/' || *p == '.' ? '_' : *p;
    id[n] = '\0';
    key_str(w, "operationId", id);
    key_str(w, "summary", r->text);
    if (r->flags & SRV_PREFIX) parameters(w, r);
    if (r->bodies) request(w, r);
    answers(w, r);
    if (r->flags & SRV_OPEN) { /* asks for no key; elsewhere the document's rule applies */
        vc_jo_key(w, "security");
        vc_jo_begin_arr(w);
        vc_jo_end_arr(w);
    }
    vc_jo_end_obj(w);
}

static void paths(struct vc_json_out *w) {
    begin(w, "paths");
    for (size_t i = 0; i < SRV_NUM_ROUTES; i++) {
        const struct srv_route *r = &srv_routes[i];
        begin(w, r->path);
        if (r->flags & SRV_GET) operation(w, r, "get");
        if (r->flags & SRV_POST) operation(w, r, "post");
        vc_jo_end_obj(w);
    }
    vc_jo_end_obj(w);
}

static void scheme(struct vc_json_out *w, const char *name, const char *const *members) {
    begin(w, name);
    for (; *members; members += 2) key_str(w, members[0], members[1]);
    vc_jo_end_obj(w);
}

/* With --api-key one of two headers is needed, without it none. */
static void security(struct vc_json_out *w) {
    static const char *const names[] = { "bearer", "key", NULL };
    vc_jo_key(w, "security");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++) {
        vc_jo_begin_obj(w);
        if (names[i]) {
            vc_jo_key(w, names[i]);
            vc_jo_begin_arr(w);
            vc_jo_end_arr(w);
        }
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

void srv_openapi(struct vc_buf *b) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_PRETTY);
    vc_jo_begin_obj(&w);
    key_str(&w, "openapi", "3.1.0");
    begin(&w, "info");
    key_str(&w, "title", "vllmc serve");
    key_str(&w, "version", VC_VERSION);
    key_str(&w, "description",
            "Printed from the tables of src/server. Whole numbers may be written as 5.0 or \"5\" and switches as 1 or "
            "\"true\"; fields that no table knows are accepted and not used.");
    vc_jo_end_obj(&w);
    paths(&w);
    begin(&w, "components");
    vc_jo_key(&w, "schemas");
    srv_jo_schemas(&w);
    begin(&w, "securitySchemes");
    scheme(&w, "bearer", (const char *const[]){ "type", "http", "scheme", "bearer", NULL });
    scheme(&w, "key", (const char *const[]){ "type", "apiKey", "in", "header", "name", "X-Api-Key", NULL });
    vc_jo_end_obj(&w);
    vc_jo_end_obj(&w);
    security(&w);
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
}

void srv_get_openapi(struct srv_call *c) {
    struct vc_buf b = { 0 };
    if (c->srv->p.no_docs) {
        srv_detail(c, 404, "Not Found");
        return;
    }
    srv_openapi(&b);
    srv_reply_json(c, 200, &b);
}
