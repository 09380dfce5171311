/* SPDX-License-Identifier: Apache-2.0
 * srv_local.h: the routes of the server without HTTP: a JSON body in, a status and a body out, by the same handlers.
 * Many calls are in work at once; their answers are taken in the order in which they are ready. One thread owns a
 * srv_local. */
#ifndef VC_SERVER_SRV_LOCAL_H
#define VC_SERVER_SRV_LOCAL_H

#include <stdbool.h>

#include <jansson.h>

#include "base/str.h"
#include "server/server.h"

struct srv_local;
struct srv_local_answer {
    uint64_t tag;                          /* of the call */
    int status;                            /* as over HTTP */
    bool is_json;
    struct vc_buf body;                    /* becomes the taker's */
};

/* Opens the models of p. Of its other fields those count that change answers; the queue has no limit. Strings and
 * models stay borrowed until srv_local_close, which is due whatever this returns. */
vc_status srv_local_open(struct srv_local **l, const struct vc_server_params *p, vc_err *err);
/* A POST to path, which takes a body. body becomes the server's: nobody else may hold it. id: the answer is named by it
 * ("cmpl-ID"), as by the header X-Request-Id. Whatever is wrong with the request is said by its answer; "stream": true
 * is refused. */
vc_status srv_local_post(struct srv_local *l, const char *path, const char *id, json_t *body, uint64_t tag,
                         vc_err *err);
/* The next answer, within ms milliseconds. VC_E_TIMEOUT: none yet; VC_E_STATE: an engine has stopped, so that none may
 * come. */
vc_status srv_local_take(struct srv_local *l, uint32_t ms, struct srv_local_answer *a, vc_err *err);
uint32_t srv_local_choices(const struct srv_local *l);     /* in the engines, running or waiting */
uint64_t srv_local_tokens(const struct srv_local *l);      /* generated; of embedders, read */
/* Ends what still runs, without an answer. NULL is allowed. */
void srv_local_close(struct srv_local **l);

#endif
