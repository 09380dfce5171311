/* SPDX-License-Identifier: Apache-2.0
 * srv_embed.h: what the routes of embedders share. */
#ifndef VC_SERVER_SRV_EMBED_H
#define VC_SERVER_SRV_EMBED_H

#include "server/srv_gen.h"

extern const struct srv_writer srv_embed_writer, srv_pooling_writer, srv_score_writer, srv_rerank_writer;

/* A call with its fields read as `where`; NULL: answered. */
struct srv_gen *srv_embed_begin(struct srv_call *c, enum srv_body_kind where, enum srv_body_kind chat,
                                const struct srv_writer *w);
/* Prompts are there: the rest of the fields, then into the engine. */
void srv_embed_submit(struct srv_gen *g);
/* False: a vector is missing (the server ends); answered. */
bool srv_embed_complete(struct srv_gen *g);
/* "usage": prompt tokens of all parts. */
void srv_embed_usage(struct vc_json_out *w, uint64_t prompt);
uint64_t srv_embed_tokens(const struct srv_gen *g);

#endif
