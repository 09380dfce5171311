/* SPDX-License-Identifier: Apache-2.0
 * srv_openapi.h: what the tables of routes, fields and answers say, for people and programs: /openapi.json, /docs,
 * doc/fields.md. */
#ifndef VC_SERVER_SRV_OPENAPI_H
#define VC_SERVER_SRV_OPENAPI_H

#include "io/json_out.h"
#include "server/srv_fields.h"
#include "server/srv_int.h"

enum srv_answer_id {
#define ANSWER(id, name, type, also) SRV_ANSWER_##id,
#define MEMBER(owner, name, kind, of, flags)
#include "server/answers.def"
#undef ANSWER
#undef MEMBER
    SRV_NUM_ANSWERS
};
struct srv_answer_row { const char *name, *type, *also; };
extern const struct srv_answer_row srv_answer_rows[SRV_NUM_ANSWERS];

/* Bodies with the names of their schemas, as fields.def has their letters. */
struct srv_body_row { unsigned bit; const char *name, *text; };
extern const struct srv_body_row srv_body_rows[];
extern const size_t srv_num_body_rows;

/* Statuses that a route may answer with beside 200, with the shape of the answer; in ascending order. */
struct srv_status_row { int status; unsigned when; enum srv_answer_id answer; const char *text; };
/* The next row at or behind *i that applies to the route, *i set behind it; NULL: there is none. */
const struct srv_status_row *srv_route_status(const struct srv_route *r, size_t *i);
bool srv_route_streams(const struct srv_route *r);         /* a body with stream: true is answered by events */

void srv_jo_schemas(struct vc_json_out *w);        /* an object: all request bodies and answers by name */
void srv_jo_ref(struct vc_json_out *w, const char *name);
void srv_field_range(const struct srv_field *f, struct vc_buf *b);         /* "whole number, 1 to 20": for people */

/* The three documents. */
void srv_openapi(struct vc_buf *b);
void srv_docs_html(struct vc_buf *b);
void srv_fields_markdown(struct vc_buf *b);

#endif
