/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "base/grow.h"
#include "cli/load.h"

static bool add_ids(struct cli_answer *a, const vc_output *o) {
    void *v = a->ids;
    bool ok = vc_grow(&v, a->num_ids, &a->cap_ids, o->num_token_ids, sizeof *a->ids);
    a->ids = v;
    if (!ok) return false;
    if (o->num_token_ids) memcpy(a->ids + a->num_ids, o->token_ids, o->num_token_ids * sizeof *a->ids);
    a->num_ids += o->num_token_ids;
    return true;
}

static bool add_logprobs(struct cli_answer *a, const vc_output *o) {
    size_t n = (size_t)o->num_logprobs * o->num_token_ids;
    void *v = a->logprobs;
    bool ok = vc_grow(&v, a->num_logprobs, &a->cap_logprobs, n, sizeof *a->logprobs);
    a->logprobs = v;
    if (!ok) return false;
    if (n) memcpy(a->logprobs + a->num_logprobs, o->logprobs, n * sizeof *a->logprobs);
    a->num_logprobs += n;
    if (n) a->per_token = o->num_logprobs;
    return true;
}

static bool add_prompt_logprobs(struct cli_answer *a, const vc_output *o) {
    a->num_prompt = o->num_prompt_tokens;
    size_t n = (size_t)o->num_prompt_logprobs * o->num_prompt_tokens;
    if (!n || a->prompt_logprobs) return true;
    a->prompt_logprobs = malloc(n * sizeof *a->prompt_logprobs);
    if (!a->prompt_logprobs) return false;
    memcpy(a->prompt_logprobs, o->prompt_logprobs, n * sizeof *a->prompt_logprobs);
    a->per_prompt_token = o->num_prompt_logprobs;
    return true;
}

void cli_answer_add(struct cli_answer *a, const vc_output *o) {
    if (!add_ids(a, o) || !add_logprobs(a, o) || !add_prompt_logprobs(a, o)) a->failed = true;
    vc_buf_add(&a->text, o->text, o->text_len);
    if (a->text.failed) a->failed = true;
    a->seed = o->seed;
    a->stop_token = o->stop_token;
    if (o->stop_string) snprintf(a->stop_string, sizeof a->stop_string, "%s", o->stop_string);
    if (o->finished) {
        a->finish_reason = o->finish_reason;
        a->error = o->error;
    }
}

void cli_answer_free(struct cli_answer *a) {
    free(a->ids);
    free(a->logprobs);
    free(a->prompt_logprobs);
    vc_buf_free(&a->text);
    *a = (struct cli_answer){ 0 };
}

static void one_logprob(struct vc_json_out *w, const vc_model *m, const vc_logprob *l) {
    struct vc_buf piece = { 0 };
    cli_piece(m, l->token, &piece);
    vc_jo_key(w, "token_id");
    vc_jo_int(w, l->token);
    if (cli_has_tokenizer(m)) {
        vc_jo_key(w, "token");
        vc_jo_strn(w, piece.p ? piece.p : "", piece.n);
    }
    vc_jo_key(w, "logprob");
    vc_jo_f32(w, l->logprob);
    vc_jo_key(w, "rank");
    vc_jo_uint(w, l->rank);
    vc_buf_free(&piece);
}

void cli_json_logprobs(struct vc_json_out *w, const vc_model *m, const vc_logprob *v, size_t tokens,
                       uint32_t per_token) {
    if (!v) {
        vc_jo_null(w);
        return;
    }
    vc_jo_begin_arr(w);
    for (size_t t = 0; t < tokens; t++, v += per_token) {
        if (v->token < 0) {                    /* the first token of a prompt has none */
            vc_jo_null(w);
            continue;
        }
        vc_jo_begin_obj(w);
        one_logprob(w, m, v);
        vc_jo_key(w, "top");
        vc_jo_begin_arr(w);
        for (uint32_t k = 1; k < per_token; k++) {
            vc_jo_begin_obj(w);
            one_logprob(w, m, &v[k]);
            vc_jo_end_obj(w);
        }
        vc_jo_end_arr(w);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

void cli_json_ids(struct vc_json_out *w, const int32_t *ids, size_t n) {
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < n; i++) vc_jo_int(w, ids[i]);
    vc_jo_end_arr(w);
}
