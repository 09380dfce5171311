/* SPDX-License-Identifier: Apache-2.0
 * srv_background.h: responses that are made while nobody waits (background of /v1/responses). A call without a
 * connection, the job, does the work; clients ask for the response, read its events or cancel it by its id. */
#ifndef VC_SERVER_SRV_BACKGROUND_H
#define VC_SERVER_SRV_BACKGROUND_H

#include "server/srv_gen.h"

/* A job for what c asks for; NULL: an error was answered. */
struct srv_call *srv_background_job(struct srv_call *c);
/* Submits the job of g and answers c, with the response as it is or with its events. */
void srv_background_run(struct srv_call *c, struct srv_gen *g);
/* The job has not come so far: c gets its answer, an error. */
void srv_background_refused(struct srv_call *c, struct srv_call *job);

/* Of the pump and the front, for c->background. output: the first one makes it run. events: lock of the job held, what is
 * in its out goes to the readers. store: the finished response. end: nothing more comes. */
void srv_background_output(struct srv_call *job);
void srv_background_events(struct srv_call *job);
void srv_background_store(struct srv_call *job, const char *body, size_t n, const json_t *messages);
void srv_background_end(struct srv_call *job);

#endif
