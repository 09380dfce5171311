/* SPDX-License-Identifier: Apache-2.0
 * srv_responses.h: the response object, for its answer and its events. */
#ifndef VC_SERVER_SRV_RESPONSES_H
#define VC_SERVER_SRV_RESPONSES_H

#include "server/srv_gen.h"

enum srv_item { SRV_ITEM_NONE, SRV_ITEM_REASONING, SRV_ITEM_MESSAGE, SRV_ITEM_CALL };
/* Ids of items: kind and the place in the output, behind the response's own. */
void srv_item_id(const struct srv_gen *g, enum srv_item kind, uint32_t at, char *dst, size_t cap);
/* The object; with a status: without output, as the first events show it; NULL: it is finished. Where in w->b the
 * status begins. */
size_t srv_jo_response(struct vc_json_out *w, const struct srv_gen *g, const char *status);
/* The conversation without the instructions, which are those of one request alone; a new reference. */
json_t *srv_response_messages(const struct srv_gen *g);
void srv_jo_message_item(struct vc_json_out *w, const struct srv_gen *g, const char *id, const char *text, size_t n,
                         bool done);
void srv_jo_reasoning_item(struct vc_json_out *w, const char *id, const char *text, size_t n, bool done);
void srv_jo_call_item(struct vc_json_out *w, const char *id, const struct srv_tool *t, bool done);
/* Keeps it, unless the request says store: false. The body is the finished object. */
void srv_response_store(const struct srv_gen *g, const char *body, size_t n);

#endif
