/* SPDX-License-Identifier: Apache-2.0
 * answer.h: one choice of a request, collected from its outputs. */
#ifndef VC_CLI_ANSWER_H
#define VC_CLI_ANSWER_H

#include "base/str.h"
#include "io/json_out.h"
#include "vllmc.h"

struct cli_answer {
    int32_t *ids; size_t num_ids, cap_ids;             /* owned, as all arrays here */
    struct vc_buf text;
    vc_logprob *logprobs; size_t num_logprobs, cap_logprobs;   /* per_token entries per token */
    uint32_t per_token;
    vc_logprob *prompt_logprobs; uint32_t per_prompt_token, num_prompt;
    const char *finish_reason;                          /* static string, NULL while it runs */
    char stop_string[256];                              /* "": none */
    int32_t stop_token;                                 /* -1: none */
    uint64_t seed;
    vc_err error;
    bool failed;                                        /* out of memory */
};
void cli_answer_add(struct cli_answer *a, const vc_output *o);
void cli_answer_free(struct cli_answer *a);

/* Array of one object per token: {"token_id", "token", "logprob", "rank", "top": [same without top]}, or null. */
void cli_json_logprobs(struct vc_json_out *w, const vc_model *m, const vc_logprob *v, size_t tokens,
                       uint32_t per_token);
void cli_json_ids(struct vc_json_out *w, const int32_t *ids, size_t n);

#endif
