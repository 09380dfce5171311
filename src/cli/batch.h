/* SPDX-License-Identifier: Apache-2.0
 * batch.h: the parts of vllmc batch: lines of requests, results, the file of results. The main thread owns all of it;
 * the requests themselves are the server's (server/srv_local.h). */
#ifndef VC_CLI_BATCH_H
#define VC_CLI_BATCH_H

#include "cli/cli.h"
#include "io/json.h"
#include "io/names.h"
#include "server/srv_local.h"

/* ---- the requests: batch_line.c ---- */
/* custom_id NULL: the line is not a request. */
struct cli_batch_line { const char *text; size_t n, number; const char *custom_id; };
struct cli_batch_input {
    struct vc_buf text;
    struct cli_batch_line *v; size_t n;         /* lines that are not blank; owned */
    struct vc_arena arena;
};
/* Reads all lines and their custom_ids. Two equal ones are an error that names both lines. */
vc_status cli_batch_read(struct cli_batch_input *in, const char *path, vc_err *err);
void cli_batch_input_free(struct cli_batch_input *in);

/* What a line asks for. */
struct cli_batch_request {
    json_t *root;                               /* owned; url borrows from it */
    const char *url;
    json_t *body;                               /* owned, by nobody else */
    const char *param;                          /* static: the member at fault; NULL: none */
};
/* Leaves r to json_decref, whatever it returns. */
vc_status cli_batch_parse(struct cli_batch_request *r, const struct cli_batch_line *line, vc_err *err);

/* ---- results: batch_result.c. A line without its newline ---- */
void cli_batch_result(struct vc_buf *b, const struct cli_batch_line *line, const struct srv_local_answer *a);
/* The answer to a line that is no request, or whose answer is no JSON. */
void cli_batch_refusal(struct srv_local_answer *a, const char *param, const char *text);

/* ---- the file of results: batch_store.c ---- */
struct cli_store {
    int fd;
    const char *path;
    uint64_t bytes;                             /* of whole lines */
    const char **done; size_t num_done;         /* custom_ids; owned array, strings in the arena */
    struct vc_names index;
    uint64_t *bad; size_t num_bad;              /* numbers of lines without an id that have a result */
    struct vc_arena arena;
};
/* Opens or creates the file, locks it, cuts off an unfinished last line and reads which requests are done. "-":
 * stdout. */
vc_status cli_store_open(struct cli_store *s, const char *path, vc_err *err);
bool cli_store_has(const struct cli_store *s, const struct cli_batch_line *line);
/* Appends b and a newline with one write and syncs; a write that fails is taken back. */
vc_status cli_store_add(struct cli_store *s, struct vc_buf *b, vc_err *err);
void cli_store_close(struct cli_store *s);

#endif
