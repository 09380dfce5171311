/* SPDX-License-Identifier: Apache-2.0
 * srv_chat.h: conversations, for the routes that have them. All answer an error themselves and return false then. */
#ifndef VC_SERVER_SRV_CHAT_H
#define VC_SERVER_SRV_CHAT_H

#include "server/srv_gen.h"

/* messages, and what excludes each other. */
bool srv_chat_checked(struct srv_call *c, const struct srv_value *f);
/* The rendered conversation; *text becomes the caller's (vc_free). */
bool srv_chat_text(struct srv_call *c, const struct srv_value *f, bool with_tools, char **text, size_t *n);
/* response_format of a JSON schema; a new reference. schema NULL: none, which the checks refuse. */
json_t *srv_json_format(json_t *schema);
/* From the fields in g->f to what the engine gets, and to the engine. */
bool srv_chat_prepare(struct srv_gen *g);
bool srv_chat_submit(struct srv_gen *g);

#endif
