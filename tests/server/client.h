/* SPDX-License-Identifier: Apache-2.0
 * client.h: a server under test and requests to it. One server at a time; everything fails the test on error. */
#ifndef VC_TEST_SERVER_CLIENT_H
#define VC_TEST_SERVER_CLIENT_H

#include "cli/program.h"

struct server { pid_t pid; int port; char out[1024], err[1024]; int keep_err; };
/* Starts `vllmc serve` with these arguments and --port 0; returns when it answers. */
void server_start(struct server *s, const char *const *argv);
#define SERVER_START(s, ...) server_start(s, (const char *const[]){ __VA_ARGS__, NULL })
/* The same with its standard error going to a file that is there: a device, a pipe. */
void server_start_err(struct server *s, const char *err, const char *const *argv);
/* SIGTERM, and what it ended with: the exit code, 1000 + signal when it was killed. Prints its log when that is not 0. */
int server_stop(struct server *s);
/* How often its log has the text; and whether it gets it `times` times within 30 s: the log has a thread of its own, and a line may
 * come after the answer that it is about. */
int server_log_count(const struct server *s, const char *text);
bool server_log_gets(const struct server *s, const char *text, int times);

struct answer { long status; char *body; size_t n; char *headers; };
/* body NULL: none. header: one more "Name: value", or NULL. */
struct answer ask(const struct server *s, const char *method, const char *path, const char *body, size_t n, const char *header);
struct answer post(const struct server *s, const char *path, const char *json);
struct answer get(const struct server *s, const char *path);
void answer_free(struct answer *a);
/* Value of a header in a's headers, lower-case name; "" when absent. In a static buffer. */
const char *answer_header(const struct answer *a, const char *name);
json_t *answer_json(const struct answer *a);

/* A plain connection, for what no client library sends. */
int raw_open(const struct server *s);
void raw_send(int fd, const char *bytes, size_t n);
/* All that comes until the end or `ms` of silence; NUL-terminated, owned by the caller. */
char *raw_read(int fd, int ms, size_t *n);

/* Value of a sample of /metrics, by the beginning of its line; -1: none. */
double metric(const struct server *s, const char *line);

#endif
