/* SPDX-License-Identifier: Apache-2.0
 * batch.h: the parts of vllmc batch: lines of requests, bodies, results, the file of results. The main thread owns all
 * of it; the engine steps on the library's thread. */
#ifndef VC_CLI_BATCH_H
#define VC_CLI_BATCH_H

#include "cli/answer.h"
#include "cli/cli.h"
#include "io/json.h"
#include "io/names.h"

/* ---- the requests: batch_line.c ---- */
struct cli_batch_line { const char *text; size_t n, number; const char *custom_id; };   /* id NULL: the line is not a request */
struct cli_batch_input {
    struct vc_buf text;
    struct cli_batch_line *v; size_t n;         /* lines that are not blank; owned */
    struct vc_arena arena;
};
/* Reads all lines and their custom_ids. Two equal ones are an error that names both lines. */
vc_status cli_batch_read(struct cli_batch_input *in, const char *path, vc_err *err);
void cli_batch_input_free(struct cli_batch_input *in);

/* ---- one request in work ---- */
struct cli_batch_job;
struct cli_batch_part { struct cli_batch_job *job; const int32_t *ids; size_t n; struct cli_answer *answers; uint64_t id; bool finished; };
struct cli_batch_job {
    struct cli_batch_job *next, *prev;          /* the list of those in the engine */
    size_t line;
    const char *custom_id;                      /* NULL: bad line */
    bool chat, return_token_ids, add_special;
    vc_sampling_params sampling;
    int32_t priority;
    const char *cache_salt, *model;
    struct cli_batch_part *part; size_t num_parts, open_parts;      /* one per prompt, n answers each */
    struct vc_arena arena;                      /* everything above but what the answers hold */
    json_t *root;                               /* strings borrow from it */
    vc_err error;                               /* status != 0: the result is this error */
    char param[64];                             /* field at fault, "" none */
};
/* Parses a line into *job. An error is left in job->error (the job then has no parts). Only memory can fail. */
vc_status cli_batch_parse(struct cli_batch_job *job, const vc_model *m, const struct cli_batch_line *line, vc_err *err);
void cli_batch_job_free(struct cli_batch_job *job);

/* batch_body.c: sampling fields and refusals of the body; prompt and messages are batch_line.c's. */
vc_status cli_batch_body(struct cli_batch_job *job, const vc_model *m, const json_t *body, vc_err *err);
/* Fails with job->param = the field's name. */
vc_status cli_batch_refuse(struct cli_batch_job *job, const char *field, vc_err *err, const char *fmt, ...) VC_PRINTF(4, 5);

/* batch_choice.c: the result line, without newline. */
void cli_batch_result(const struct cli_batch_job *job, const vc_model *m, struct vc_buf *b);

/* ---- the results: batch_store.c ---- */
struct cli_store {
    int fd;
    const char *path;
    uint64_t bytes;                             /* of whole lines */
    const char **done; size_t num_done;         /* custom_ids; owned array, strings in the arena */
    struct vc_names index;
    uint64_t *bad; size_t num_bad;              /* numbers of lines without an id that have a result */
    struct vc_arena arena;
};
/* Opens or creates the file, locks it, cuts off an unfinished last line and reads which requests are done. "-": stdout. */
vc_status cli_store_open(struct cli_store *s, const char *path, vc_err *err);
bool cli_store_has(const struct cli_store *s, const struct cli_batch_line *line);
/* Appends b and a newline with one write and syncs; a write that fails is taken back. */
vc_status cli_store_add(struct cli_store *s, struct vc_buf *b, vc_err *err);
void cli_store_close(struct cli_store *s);

#endif
