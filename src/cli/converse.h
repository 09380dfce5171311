/* SPDX-License-Identifier: Apache-2.0
 * converse.h: one request driven from the main thread: submitted, streamed, timed, ended by Ctrl-C. */
#ifndef VC_CLI_CONVERSE_H
#define VC_CLI_CONVERSE_H

#include "cli/answer.h"
#include "cli/cli.h"

struct cli_timings {
    double load_s, ttft_s, decode_s, total_s;
    uint32_t prompt_tokens, cached_tokens, generated;   /* generated: of all choices */
};
double cli_prompt_rate(const struct cli_timings *t);    /* tokens per second; 0 where nothing was measured */
double cli_decode_rate(const struct cli_timings *t);

/* Runs a request to its end; answers[n] are collected. stream(arg, output), if any, sees each output; false from it (or
 * Ctrl-C) cancels the request. VC_E_CANCELLED: it was interrupted. A request that ended in an error returns it. */
typedef bool cli_stream_fn(void *arg, const vc_output *o);
vc_status cli_converse(vc_model *m, const vc_request_params *rp, struct cli_answer *answers, cli_stream_fn *stream,
                       void *arg, struct cli_timings *t, vc_err *err);

/* One message of a conversation as JSON, "[" or "," before it by the caller. */
void cli_add_message(struct vc_buf *b, const char *role, const char *text, size_t n);
/* Renders the messages (a JSON array) and tokenizes them; *ids is the caller's (vc_free). */
vc_status cli_chat_ids(const vc_model *m, const char *messages, int32_t **ids, size_t *n, vc_err *err);

#endif
