/* SPDX-License-Identifier: Apache-2.0
 * batch_body.c: the fields of a request's body beside prompt and messages: values, and what cannot be honoured. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "cli/batch.h"
#include "cli/load.h"

enum { CHAT = 1, TEXT = 2, BOTH = 3 };
enum kind { F32, U32, I32, SWITCH };
static const struct { const char *name; enum kind kind; size_t at; int where; } scalars[] = {
#define FIELD(field, kind) { #field, kind, offsetof(vc_sampling_params, field), BOTH }
    FIELD(temperature, F32), FIELD(top_p, F32), FIELD(top_k, I32), FIELD(min_p, F32), FIELD(presence_penalty, F32), FIELD(frequency_penalty, F32),
    FIELD(repetition_penalty, F32), FIELD(n, U32), FIELD(max_tokens, U32), FIELD(min_tokens, U32), FIELD(ignore_eos, SWITCH),
    FIELD(include_stop_str_in_output, SWITCH), FIELD(skip_special_tokens, SWITCH), FIELD(prompt_logprobs, I32),
#undef FIELD
    { "max_completion_tokens", U32, offsetof(vc_sampling_params, max_tokens), CHAT },
    { "logprobs", I32, offsetof(vc_sampling_params, logprobs), TEXT },
};
/* Read elsewhere, or without a meaning for a batch. */
static const char *const others[] = {
    "prompt", "messages", "stop", "seed", "stop_token_ids", "allowed_token_ids", "logit_bias", "bad_words", "logprobs", "top_logprobs", "priority",
    "cache_salt", "return_token_ids", "add_special_tokens", "model", "user", "metadata", "store", "service_tier",
};
/* Fields that are refused unless they ask for nothing: false, 0, "", [], {} or the word given. */
static const struct { const char *name, *neutral; } refused[] = {
    { "stream", NULL }, { "stream_options", NULL }, { "tools", NULL }, { "functions", NULL }, { "tool_choice", "none" }, { "function_call", "none" },
    { "parallel_tool_calls", NULL }, { "response_format", "text" }, { "echo", NULL }, { "suffix", NULL }, { "guided_json", NULL }, { "guided_regex", NULL },
    { "guided_choice", NULL }, { "guided_grammar", NULL }, { "structured_outputs", NULL }, { "chat_template", NULL }, { "chat_template_kwargs", NULL },
    { "continue_final_message", NULL }, { "documents", NULL }, { "reasoning_effort", "none" }, { "modalities", NULL }, { "audio", NULL },
    { "prediction", NULL }, { "web_search_options", NULL }, { "use_beam_search", NULL }, { "length_penalty", "1" }, { "logits_processors", NULL },
};

static bool asks_for_nothing(const json_t *v, const char *neutral) {
    const json_t *type = json_object_get(v, "type");
    const char *text = json_is_string(v) ? json_string_value(v) : json_is_string(type) ? json_string_value(type) : NULL;
    if (text) return !*text || (neutral && !strcmp(text, neutral));
    if (json_is_array(v)) return json_array_size(v) == 0;
    if (json_is_object(v)) return json_object_size(v) == 0;
    double number = json_number_value(v);
    return !json_is_true(v) && !(number < 0) && !(number > 0 && !(neutral && neutral[0] == '1' && number >= 1 && number <= 1));
}

static vc_status check_field(struct cli_batch_job *job, const char *name, const json_t *v, vc_err *err) {
    for (size_t i = 0; i < VC_ARRAY_LEN(refused); i++) {
        if (strcmp(name, refused[i].name) != 0) continue;
        return asks_for_nothing(v, refused[i].neutral) ? VC_OK : cli_batch_refuse(job, name, err, "not supported in a batch by this program");
    }
    for (size_t i = 0; i < VC_ARRAY_LEN(scalars); i++)
        if (!strcmp(name, scalars[i].name) && scalars[i].where & (job->chat ? CHAT : TEXT)) return VC_OK;
    for (size_t i = 0; i < VC_ARRAY_LEN(others); i++)
        if (!strcmp(name, others[i])) return VC_OK;
    char text[64];
    return cli_batch_refuse(job, vc_printable(text, sizeof text, name, strlen(name)), err, "unknown field");
}

static vc_status read_scalar(struct cli_batch_job *job, const json_t *body, size_t i, vc_err *err) {
    const char *name = scalars[i].name;
    void *at = (char *)&job->sampling + scalars[i].at;
    vc_status s = VC_OK;
    bool on;
    int64_t number = 0;
    const json_t *v = json_object_get(body, name);
    if (!v || json_is_null(v)) return VC_OK;
    snprintf(job->param, sizeof job->param, "%s", name);
    switch (scalars[i].kind) {
        case F32: s = vc_json_opt_f32(body, name, at, err); break;
        case U32: s = vc_json_opt_u32(body, name, at, err); break;
        case I32:
            s = vc_json_opt_i64(body, name, &number, err);
            if (s == VC_OK && (number < INT32_MIN || number > INT32_MAX)) s = cli_batch_refuse(job, name, err, "out of range");
            *(int32_t *)at = (int32_t)number;
            break;
        case SWITCH:
            s = vc_json_opt_bool(body, name, &on, err);
            if (s == VC_OK) *(int *)at = on;
            break;
    }
    if (s == VC_OK) job->param[0] = '\0';
    return s;
}

static vc_status read_ids(struct cli_batch_job *job, const json_t *body, const char *name, const int32_t **ids, size_t *n, vc_err *err) {
    const json_t *v = json_object_get(body, name);
    if (!v || json_is_null(v)) return VC_OK;
    int32_t *list = VC_NEW_ARRAY(&job->arena, int32_t, json_array_size(v) + 1);
    if (!list) return vc_fail(err, VC_E_NOMEM, "out of memory");
    bool ok = json_is_array(v);
    for (size_t i = 0; ok && i < json_array_size(v); i++) {
        const json_t *e = json_array_get(v, i);
        json_int_t id = json_is_integer(e) ? json_integer_value(e) : -1;
        ok = id >= 0 && id <= INT32_MAX;
        list[i] = ok ? (int32_t)id : 0;
    }
    if (!ok) return cli_batch_refuse(job, name, err, "expected an array of token ids");
    *ids = list;
    *n = json_array_size(v);
    return VC_OK;
}

/* A string or an array of strings, borrowed from the tree. */
static vc_status read_strings(struct cli_batch_job *job, const json_t *body, const char *name, const char *const **out, size_t *n, vc_err *err) {
    const json_t *v = json_object_get(body, name);
    if (!v || json_is_null(v)) return VC_OK;
    bool one = json_is_string(v);
    size_t count = one ? 1 : json_array_size(v);
    const char **list = VC_NEW_ARRAY(&job->arena, const char *, count + 1);
    if (!list) return vc_fail(err, VC_E_NOMEM, "out of memory");
    bool ok = one || json_is_array(v);
    for (size_t i = 0; ok && i < count; i++) {
        const json_t *e = one ? v : json_array_get(v, i);
        list[i] = json_string_value(e);
        ok = list[i] && strlen(list[i]) == json_string_length(e);
    }
    if (!ok) return cli_batch_refuse(job, name, err, "expected a string or an array of strings");
    *out = list;
    *n = count;
    return VC_OK;
}

/* {"token id": bias} */
static vc_status read_bias(struct cli_batch_job *job, const json_t *body, vc_err *err) {
    json_t *v = json_object_get(body, "logit_bias"), *e;
    const char *key;
    if (!v || json_is_null(v)) return VC_OK;
    if (!json_is_object(v)) return cli_batch_refuse(job, "logit_bias", err, "expected an object of token ids and numbers");
    vc_logit_bias *list = VC_NEW_ARRAY(&job->arena, vc_logit_bias, json_object_size(v) + 1);
    size_t n = 0;
    if (!list) return vc_fail(err, VC_E_NOMEM, "out of memory");
    json_object_foreach(v, key, e) {
        if (!cli_read_i32(key, &list[n].token) || !json_is_number(e))
            return cli_batch_refuse(job, "logit_bias", err, "expected an object of token ids and numbers");
        list[n++].bias = (float)json_number_value(e);
    }
    job->sampling.logit_bias = list;
    job->sampling.num_logit_bias = n;
    return VC_OK;
}

/* Chat: logprobs is a switch, top_logprobs a number. */
static vc_status read_chat_logprobs(struct cli_batch_job *job, const json_t *body, vc_err *err) {
    bool on = false;
    uint32_t top = 0;
    VC_TRY(vc_json_opt_bool(body, "logprobs", &on, err));
    VC_TRY(vc_json_opt_u32(body, "top_logprobs", &top, err));
    if (top && !on) return cli_batch_refuse(job, "top_logprobs", err, "needs logprobs to be true");
    if (top > 1024) return cli_batch_refuse(job, "top_logprobs", err, "%u is too many", top);
    if (on) job->sampling.logprobs = (int32_t)top;
    return VC_OK;
}

static vc_status read_lists(struct cli_batch_job *job, const vc_model *m, const json_t *body, vc_err *err) {
    vc_sampling_params *p = &job->sampling;
    const char *const *words = NULL;
    size_t n = 0;
    VC_TRY(read_strings(job, body, "stop", &p->stop, &p->num_stop, err));
    VC_TRY(read_ids(job, body, "stop_token_ids", &p->stop_token_ids, &p->num_stop_token_ids, err));
    VC_TRY(read_ids(job, body, "allowed_token_ids", &p->allowed_token_ids, &p->num_allowed_token_ids, err));
    VC_TRY(read_bias(job, body, err));
    VC_TRY(read_strings(job, body, "bad_words", &words, &n, err));
    return n ? cli_bad_words(m, &job->arena, words, n, p, err) : VC_OK;
}

vc_status cli_batch_body(struct cli_batch_job *job, const vc_model *m, const json_t *body, vc_err *err) {
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)body, name, v) {
        if (!json_is_null(v)) VC_TRY(check_field(job, name, v, err));
    }
    vc_sampling_params_init(&job->sampling);
    vc_sampling_from_model(m, &job->sampling);
    if (!job->chat) job->sampling.max_tokens = 16;                 /* OpenAI's default of completions */
    for (size_t i = 0; i < VC_ARRAY_LEN(scalars); i++)
        if (scalars[i].where & (job->chat ? CHAT : TEXT)) VC_TRY(read_scalar(job, body, i, err));
    static const char *const limits[] = { "max_tokens", "max_completion_tokens" };      /* 0 would mean no limit below */
    for (size_t i = 0; i < VC_ARRAY_LEN(limits); i++) {
        const json_t *limit = json_object_get(body, limits[i]);
        if (limit && !json_is_null(limit) && json_number_value(limit) < 1) return cli_batch_refuse(job, limits[i], err, "must be at least 1");
    }
    if (job->chat) VC_TRY(read_chat_logprobs(job, body, err));
    int64_t seed = 0, priority = 0;
    const json_t *given = json_object_get(body, "seed");
    VC_TRY(vc_json_opt_i64(body, "seed", &seed, err));
    VC_TRY(vc_json_opt_i64(body, "priority", &priority, err));
    job->sampling.seed = (uint64_t)seed;
    job->sampling.has_seed = given && !json_is_null(given);
    if (priority < INT32_MIN || priority > INT32_MAX) return cli_batch_refuse(job, "priority", err, "out of range");
    job->priority = (int32_t)priority;
    vc_str salt = { NULL, 0 }, model = { NULL, 0 };
    VC_TRY(vc_json_opt_str(body, "cache_salt", &salt, err));
    VC_TRY(vc_json_opt_str(body, "model", &model, err));
    job->cache_salt = salt.p;
    job->model = model.p;
    VC_TRY(vc_json_opt_bool(body, "return_token_ids", &job->return_token_ids, err));
    VC_TRY(vc_json_opt_bool(body, "add_special_tokens", &job->add_special, err));
    if (!cli_has_tokenizer(m)) job->sampling.detokenize = 0;
    return read_lists(job, m, body, err);
}
