/* SPDX-License-Identifier: Apache-2.0
 * batch_choice.c: results as OpenAI's batch output lines with chat.completion and text_completion objects. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/batch.h"
#include "cli/load.h"

static void str(struct vc_json_out *w, const char *key, const char *v) {
    vc_jo_key(w, key);
    vc_jo_str(w, v);
}

/* The token's text; "token_id:7" for a model without a vocabulary, as vLLM writes it. */
static void token_text(const vc_model *m, int32_t id, struct vc_buf *piece) {
    piece->n = 0;
    if (cli_has_tokenizer(m)) cli_piece(m, id, piece);
    else vc_buf_printf(piece, "token_id:%d", id);
}

static void chat_token(struct vc_json_out *w, const vc_model *m, const vc_logprob *l, struct vc_buf *piece) {
    token_text(m, l->token, piece);
    vc_jo_key(w, "token");
    vc_jo_strn(w, piece->p ? piece->p : "", piece->n);
    vc_jo_key(w, "logprob");
    vc_jo_f32(w, l->logprob);
    vc_jo_key(w, "bytes");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < piece->n; i++) vc_jo_uint(w, (unsigned char)piece->p[i]);
    vc_jo_end_arr(w);
}

static void chat_logprobs(struct vc_json_out *w, const vc_model *m, const struct cli_answer *a) {
    struct vc_buf piece = { 0 };
    vc_jo_begin_obj(w);
    vc_jo_key(w, "content");
    vc_jo_begin_arr(w);
    for (size_t t = 0; t < a->num_ids && a->logprobs; t++) {
        const vc_logprob *l = a->logprobs + t * a->per_token;
        vc_jo_begin_obj(w);
        chat_token(w, m, l, &piece);
        vc_jo_key(w, "top_logprobs");
        vc_jo_begin_arr(w);
        for (uint32_t k = 1; k < a->per_token; k++) {
            vc_jo_begin_obj(w);
            chat_token(w, m, &l[k], &piece);
            vc_jo_end_obj(w);
        }
        vc_jo_end_arr(w);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
    vc_jo_end_obj(w);
    vc_buf_free(&piece);
}

/* One of the four parallel arrays of a text completion. */
enum column { TOKENS, TOKEN_LOGPROBS, TOP_LOGPROBS, TEXT_OFFSET };
static void text_column(struct vc_json_out *w, const vc_model *m, const struct cli_answer *a, enum column c) {
    struct vc_buf piece = { 0 };
    uint64_t offset = 0;
    vc_jo_begin_arr(w);
    for (size_t t = 0; t < a->num_ids && a->logprobs; t++) {
        const vc_logprob *l = a->logprobs + t * a->per_token;
        token_text(m, l->token, &piece);
        switch (c) {
            case TOKENS: vc_jo_strn(w, piece.p ? piece.p : "", piece.n); break;
            case TOKEN_LOGPROBS: vc_jo_f32(w, l->logprob); break;
            case TEXT_OFFSET: vc_jo_uint(w, offset); break;
            case TOP_LOGPROBS:
                vc_jo_begin_obj(w);
                for (uint32_t k = 0; k < a->per_token; k++) {
                    if (k && l[k].token == l[0].token) continue;
                    token_text(m, l[k].token, &piece);
                    vc_jo_keyn(w, piece.p ? piece.p : "", piece.n);
                    vc_jo_f32(w, l[k].logprob);
                }
                vc_jo_end_obj(w);
                break;
        }
        for (size_t i = 0; i < piece.n; i++) offset += ((unsigned char)piece.p[i] & 0xC0) != 0x80;     /* characters */
    }
    vc_jo_end_arr(w);
    vc_buf_free(&piece);
}

static void text_logprobs(struct vc_json_out *w, const vc_model *m, const struct cli_answer *a) {
    static const char *const names[] = { "tokens", "token_logprobs", "top_logprobs", "text_offset" };
    vc_jo_begin_obj(w);
    for (int c = 0; c < 4; c++) {
        vc_jo_key(w, names[c]);
        text_column(w, m, a, (enum column)c);
    }
    vc_jo_end_obj(w);
}

static void choice(struct vc_json_out *w, const struct cli_batch_job *job, const vc_model *m, const struct cli_batch_part *p, uint32_t i,
                   uint32_t index) {
    const struct cli_answer *a = &p->answers[i];
    vc_jo_begin_obj(w);
    vc_jo_key(w, "index");
    vc_jo_uint(w, index);
    if (job->chat) {
        vc_jo_key(w, "message");
        vc_jo_begin_obj(w);
        str(w, "role", "assistant");
    }
    vc_jo_key(w, job->chat ? "content" : "text");
    vc_jo_strn(w, a->text.p ? a->text.p : "", a->text.n);
    if (job->chat) vc_jo_end_obj(w);
    vc_jo_key(w, "logprobs");
    if (job->sampling.logprobs < 0) vc_jo_null(w);
    else if (job->chat) chat_logprobs(w, m, a);
    else text_logprobs(w, m, a);
    str(w, "finish_reason", a->finish_reason);
    vc_jo_key(w, "stop_reason");
    if (a->stop_string[0]) vc_jo_str(w, a->stop_string);
    else if (a->stop_token >= 0 && job->sampling.num_stop_token_ids) vc_jo_int(w, a->stop_token);
    else vc_jo_null(w);
    if (job->return_token_ids) {
        vc_jo_key(w, "token_ids");
        cli_json_ids(w, a->ids, a->num_ids);
        vc_jo_key(w, "prompt_token_ids");
        cli_json_ids(w, p->ids, p->n);
    }
    if (job->sampling.prompt_logprobs >= 0) {
        vc_jo_key(w, "prompt_logprobs");
        cli_json_logprobs(w, m, p->answers[0].prompt_logprobs, p->n, p->answers[0].per_prompt_token);
    }
    vc_jo_end_obj(w);
}

static void completion(struct vc_json_out *w, const struct cli_batch_job *job, const vc_model *m) {
    vc_model_info info = { .struct_size = sizeof info };
    vc_model_get_info(m, &info);
    char id[48];
    uint64_t prompt = 0, generated = 0, cached = 0;
    snprintf(id, sizeof id, "%s-batch-%zu", job->chat ? "chatcmpl" : "cmpl", job->line);
    vc_jo_begin_obj(w);
    str(w, "id", id);
    str(w, "object", job->chat ? "chat.completion" : "text_completion");
    vc_jo_key(w, "created");
    vc_jo_int(w, (int64_t)time(NULL));
    str(w, "model", job->model ? job->model : info.name);
    vc_jo_key(w, "choices");
    vc_jo_begin_arr(w);
    for (size_t p = 0; p < job->num_parts; p++) {
        prompt += job->part[p].n;
        cached += job->part[p].answers[0].num_cached;
        for (uint32_t i = 0; i < job->sampling.n; i++) {
            generated += job->part[p].answers[i].num_ids;
            choice(w, job, m, &job->part[p], i, (uint32_t)p * job->sampling.n + i);
        }
    }
    vc_jo_end_arr(w);
    vc_jo_key(w, "usage");
    vc_jo_begin_obj(w);
    vc_jo_key(w, "prompt_tokens");
    vc_jo_uint(w, prompt);
    vc_jo_key(w, "completion_tokens");
    vc_jo_uint(w, generated);
    vc_jo_key(w, "total_tokens");
    vc_jo_uint(w, prompt + generated);
    vc_jo_key(w, "prompt_tokens_details");
    vc_jo_begin_obj(w);
    vc_jo_key(w, "cached_tokens");
    vc_jo_uint(w, cached);
    vc_jo_end_obj(w);
    vc_jo_end_obj(w);
    vc_jo_end_obj(w);
}

static void error_body(struct vc_json_out *w, const struct cli_batch_job *job) {
    bool ours = vc_status_http(job->error.status) >= 500;
    vc_jo_begin_obj(w);
    vc_jo_key(w, "error");
    vc_jo_begin_obj(w);
    str(w, "message", job->error.text);
    str(w, "type", ours ? "InternalServerError" : "BadRequestError");
    str(w, "param", job->param[0] ? job->param : NULL);
    vc_jo_key(w, "code");
    vc_jo_int(w, vc_status_http(job->error.status));
    vc_jo_end_obj(w);
    vc_jo_end_obj(w);
}

/* Beside the response: for a reader who looks only here, with the number of the line. */
static void error_object(struct vc_json_out *w, const struct cli_batch_job *job) {
    char text[1200];
    snprintf(text, sizeof text, "line %zu: %s", job->line, job->error.text);
    vc_jo_begin_obj(w);
    str(w, "code", vc_status_name(job->error.status));
    str(w, "message", text);
    vc_jo_key(w, "line");
    vc_jo_uint(w, job->line);
    vc_jo_end_obj(w);
}

void cli_batch_result(const struct cli_batch_job *job, const vc_model *m, struct vc_buf *b) {
    struct vc_json_out w;
    bool failed = job->error.status != VC_OK;
    char id[48];
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    snprintf(id, sizeof id, "batch_req_%zu", job->line);
    str(&w, "id", id);
    str(&w, "custom_id", job->custom_id);
    vc_jo_key(&w, "response");
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "status_code");
    vc_jo_int(&w, failed ? vc_status_http(job->error.status) : 200);
    snprintf(id, sizeof id, "req_%zu", job->line);
    str(&w, "request_id", id);
    vc_jo_key(&w, "body");
    if (failed) error_body(&w, job);
    else completion(&w, job, m);
    vc_jo_end_obj(&w);
    vc_jo_key(&w, "error");
    if (failed) error_object(&w, job);
    else vc_jo_null(&w);
    vc_jo_end_obj(&w);
}
