/* SPDX-License-Identifier: Apache-2.0
 * batch_line.c: from lines of JSON to prompts. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "cli/batch.h"
#include "cli/converse.h"

/* ---- the file ---- */
static const char *custom_id_of(struct cli_batch_input *in, const char *text, size_t n) {
    json_t *root = NULL;
    vc_err ignored = VC_ERR_INIT;
    const char *id = NULL;
    if (vc_json_parse(&root, text, n, "", &ignored) != VC_OK) return NULL;
    const json_t *v = json_object_get(root, "custom_id");
    if (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v)) id = vc_arena_strdup(&in->arena, json_string_value(v));
    json_decref(root);
    return id;
}

static vc_status check_ids(const struct cli_batch_input *in, const char *path, vc_err *err) {
    const char **names = malloc((in->n + 1) * sizeof *names);
    size_t *line = malloc((in->n + 1) * sizeof *line), n = 0, dup = 0;
    struct vc_names x = { 0 };
    vc_status s = VC_OK;
    for (size_t i = 0; names && line && i < in->n; i++) {
        if (!in->v[i].custom_id) continue;
        names[n] = in->v[i].custom_id;
        line[n++] = in->v[i].number;
    }
    int r = names && line ? vc_names_build(&x, names, n, &dup) : -1;
    if (r < 0) s = vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    if (r > 0) {
        size_t first = 0;
        while (strcmp(names[first], names[dup]) != 0) first++;
        char text[200];
        s = vc_fail(err, VC_E_INVALID, "%s: line %zu: custom_id '%s' is also that of line %zu", path, line[dup],
                    vc_printable(text, sizeof text, names[dup], strlen(names[dup])), line[first]);
    }
    vc_names_free(&x);
    free(names);
    free(line);
    return s;
}

vc_status cli_batch_read(struct cli_batch_input *in, const char *path, vc_err *err) {
    VC_TRY(cli_read_file(path, &in->text, err));
    size_t lines = 1, number = 0;
    for (size_t i = 0; i < in->text.n; i++) lines += in->text.p[i] == '\n';
    in->v = calloc(lines, sizeof *in->v);
    if (!in->v) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    for (size_t at = 0; at < in->text.n;) {
        const char *p = in->text.p + at, *end = memchr(p, '\n', in->text.n - at);
        size_t n = end ? (size_t)(end - p) : in->text.n - at, blank = 0;
        number++;
        at += n + 1;
        while (blank < n && strchr(" \t\r", p[blank])) blank++;
        if (blank == n) continue;
        in->v[in->n++] = (struct cli_batch_line){ p, n, number, custom_id_of(in, p, n) };
    }
    return in->arena.failed ? vc_fail(err, VC_E_NOMEM, "%s: out of memory", path) : check_ids(in, path, err);
}

void cli_batch_input_free(struct cli_batch_input *in) {
    vc_buf_free(&in->text);
    free(in->v);
    vc_arena_free(&in->arena);
}

/* ---- one line ---- */
vc_status cli_batch_refuse(struct cli_batch_job *job, const char *field, vc_err *err, const char *fmt, ...) {
    char text[800];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(job->param, sizeof job->param, "%s", field);
    return vc_fail(err, VC_E_INVALID, "%s: %s", field, text);
}

static vc_status keep_ids(struct cli_batch_job *job, const int32_t *ids, size_t n, vc_err *err) {
    int32_t *v = VC_NEW_ARRAY(&job->arena, int32_t, n + 1);
    if (!v) return vc_fail(err, VC_E_NOMEM, "out of memory");
    if (n) memcpy(v, ids, n * sizeof *v);
    job->part[job->num_parts++] = (struct cli_batch_part){ .job = job, .ids = v, .n = n };
    return VC_OK;
}

static vc_status text_prompt(struct cli_batch_job *job, const vc_model *m, const json_t *v, vc_err *err) {
    int32_t *ids = NULL;
    size_t n = 0;
    int flags = VC_TOK_PARSE_SPECIAL | (job->add_special ? VC_TOK_ADD_SPECIAL : 0);
    vc_status s = vc_tokenize(m, json_string_value(v), json_string_length(v), flags, &ids, &n, err);
    if (s == VC_OK) s = keep_ids(job, ids, n, err);
    vc_free(ids);
    return s;
}

static vc_status ids_prompt(struct cli_batch_job *job, const json_t *v, vc_err *err) {
    size_t n = json_array_size(v);
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    if (!ids) return vc_fail(err, VC_E_NOMEM, "out of memory");
    vc_status s = VC_OK;
    for (size_t i = 0; s == VC_OK && i < n; i++) {
        const json_t *e = json_array_get(v, i);
        json_int_t id = json_is_integer(e) ? json_integer_value(e) : -1;
        if (id < 0 || id > INT32_MAX) s = cli_batch_refuse(job, "prompt", err, "element %zu is not a token id", i);
        else ids[i] = (int32_t)id;
    }
    if (s == VC_OK) s = keep_ids(job, ids, n, err);
    free(ids);
    return s;
}

/* prompt: a string, an array of ids, or an array of either. */
static vc_status prompts(struct cli_batch_job *job, const vc_model *m, const json_t *v, vc_err *err) {
    const json_t *first = json_array_get(v, 0);
    bool many = json_is_string(first) || json_is_array(first);
    size_t n = many ? json_array_size(v) : 1;
    if (!json_is_string(v) && !(json_is_array(v) && first))
        return cli_batch_refuse(job, "prompt", err, "expected a string, an array of token ids, or an array of these");
    job->part = VC_NEW_ARRAY(&job->arena, struct cli_batch_part, n);
    if (!job->part) return vc_fail(err, VC_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *p = many ? json_array_get(v, i) : v;
        if (json_is_string(p)) VC_TRY(text_prompt(job, m, p, err));
        else if (json_is_array(p)) VC_TRY(ids_prompt(job, p, err));
        else return cli_batch_refuse(job, "prompt", err, "element %zu is %s, expected a string or an array of token ids", i, vc_json_type_name(p));
    }
    return VC_OK;
}

/* Content given in parts becomes one string, as vLLM does for templates that take strings. */
static vc_status flatten(struct cli_batch_job *job, json_t *message, size_t at, vc_err *err) {
    const json_t *parts = json_object_get(message, "content");
    if (!json_is_array(parts)) return VC_OK;
    struct vc_buf b = { 0 };
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i), *type = json_object_get(part, "type"), *text = json_object_get(part, "text");
        if (!json_is_string(type) || strcmp(json_string_value(type), "text") != 0 || !json_is_string(text)) {
            vc_buf_free(&b);
            return cli_batch_refuse(job, "messages", err, "message %zu: content part %zu is not text, the only kind that is supported", at, i);
        }
        if (i) vc_buf_addc(&b, '\n');
        vc_buf_add(&b, json_string_value(text), json_string_length(text));
    }
    int r = b.failed ? -1 : json_object_set_new(message, "content", json_stringn(b.p ? b.p : "", b.n));
    vc_buf_free(&b);
    return r ? vc_fail(err, VC_E_NOMEM, "out of memory") : VC_OK;
}

static vc_status messages(struct cli_batch_job *job, const vc_model *m, const json_t *v, vc_err *err) {
    if (!json_is_array(v) || json_array_size(v) == 0) return cli_batch_refuse(job, "messages", err, "expected an array of messages");
    for (size_t i = 0; i < json_array_size(v); i++) {
        json_t *message = json_array_get(v, i);
        if (!json_is_object(message) || !json_is_string(json_object_get(message, "role")))
            return cli_batch_refuse(job, "messages", err, "message %zu: expected an object with a role", i);
        VC_TRY(flatten(job, message, i, err));
    }
    job->part = VC_NEW(&job->arena, struct cli_batch_part);
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    int32_t *ids = NULL;
    size_t n = 0;
    vc_status s = text && job->part ? cli_chat_ids(m, text, &ids, &n, err) : vc_fail(err, VC_E_NOMEM, "out of memory");
    if (s == VC_OK) s = keep_ids(job, ids, n, err);
    vc_free(ids);
    free(text);
    return s;
}

static vc_status make_answers(struct cli_batch_job *job, vc_err *err) {
    if (job->sampling.n < 1 || job->sampling.n > 1024) return cli_batch_refuse(job, "n", err, "%u, expected 1 to 1024", job->sampling.n);
    for (size_t i = 0; i < job->num_parts; i++) {
        job->part[i].answers = VC_NEW_ARRAY(&job->arena, struct cli_answer, job->sampling.n);
        if (!job->part[i].answers) return vc_fail(err, VC_E_NOMEM, "out of memory");
    }
    return VC_OK;
}

static vc_status parse(struct cli_batch_job *job, const vc_model *m, const struct cli_batch_line *line, vc_err *err) {
    vc_str method = VC_STR("POST"), url;
    json_t *body;
    if (!line->custom_id) return vc_fail(err, VC_E_FORMAT, "custom_id: expected a string");
    VC_TRY(vc_json_opt_str(job->root, "method", &method, err));
    VC_TRY(vc_json_str(job->root, "url", &url, err));
    VC_TRY(vc_json_obj(job->root, "body", &body, err));
    if (!vc_str_is(method, "POST")) return cli_batch_refuse(job, "method", err, "'%.20s', expected POST", method.p);
    if (vc_str_is(url, "/v1/chat/completions")) job->chat = true;
    else if (!vc_str_is(url, "/v1/completions"))
        return cli_batch_refuse(job, "url", err, "'%.60s', expected /v1/chat/completions or /v1/completions", url.p);
    VC_TRY(cli_batch_body(job, m, body, err));
    VC_TRY(job->chat ? messages(job, m, json_object_get(body, "messages"), err) : prompts(job, m, json_object_get(body, "prompt"), err));
    return make_answers(job, err);
}

vc_status cli_batch_parse(struct cli_batch_job *job, const vc_model *m, const struct cli_batch_line *line, vc_err *err) {
    *job = (struct cli_batch_job){ .line = line->number, .custom_id = line->custom_id, .add_special = true };
    vc_status s = vc_json_parse(&job->root, line->text, line->n, "request", &job->error);
    if (s == VC_OK) s = parse(job, m, line, &job->error);
    if (s != VC_OK) job->num_parts = 0;
    job->open_parts = job->num_parts;
    if (s != VC_E_NOMEM) return VC_OK;
    *err = job->error;
    return s;
}

void cli_batch_job_free(struct cli_batch_job *job) {
    for (size_t p = 0; p < job->num_parts; p++)
        for (uint32_t i = 0; job->part[p].answers && i < job->sampling.n; i++) cli_answer_free(&job->part[p].answers[i]);
    json_decref(job->root);
    vc_arena_free(&job->arena);
}
