/* SPDX-License-Identifier: Apache-2.0
 * batch_result.c: answers of the server as OpenAI's batch output lines. */
#include <stdio.h>
#include <string.h>

#include "cli/batch.h"
#include "io/json_out.h"

static void str(struct vc_json_out *w, const char *key, const char *v) {
    vc_jo_key(w, key);
    vc_jo_str(w, v);
}

static void id(struct vc_json_out *w, const char *key, const char *prefix, size_t number) {
    char text[48];
    snprintf(text, sizeof text, "%s%zu", prefix, number);
    str(w, key, text);
}

/* Beside the response: for a reader who looks only here, with the number of the line. The two forms of the server's
 * errors are {"error": {"message", "type"}} and {"detail"}. */
static void error_object(struct vc_json_out *w, const struct cli_batch_line *line, const struct srv_local_answer *a) {
    json_t *body = a->body.n ? json_loadb(a->body.p, a->body.n, 0, NULL) : NULL;
    const json_t *error = json_object_get(body, "error");
    const char *text = json_string_value(error ? json_object_get(error, "message") : json_object_get(body, "detail"));
    const char *type = json_string_value(json_object_get(error, "type"));
    struct vc_buf message = { 0 };
    vc_buf_printf(&message, "line %zu: %s", line->number, text ? text : "no answer");
    vc_jo_begin_obj(w);
    str(w, "code", type ? type : text);
    str(w, "message", message.p);
    vc_jo_key(w, "line");
    vc_jo_uint(w, line->number);
    vc_jo_end_obj(w);
    vc_buf_free(&message);
    json_decref(body);
}

void cli_batch_result(struct vc_buf *b, const struct cli_batch_line *line, const struct srv_local_answer *a) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    id(&w, "id", "batch_req_", line->number);
    str(&w, "custom_id", line->custom_id);
    vc_jo_key(&w, "response");
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "status_code");
    vc_jo_int(&w, a->status);
    id(&w, "request_id", "req_", line->number);
    vc_jo_key(&w, "body");
    if (a->body.n) vc_jo_raw(&w, a->body.p, a->body.n);
    else vc_jo_null(&w);
    vc_jo_end_obj(&w);
    vc_jo_key(&w, "error");
    if (a->status >= 400) error_object(&w, line, a);
    else vc_jo_null(&w);
    vc_jo_end_obj(&w);
}

void cli_batch_refusal(struct srv_local_answer *a, const char *param, const char *text) {
    struct vc_json_out w;
    a->status = 400;
    a->is_json = true;
    a->body.n = 0;
    vc_jo_init(&w, &a->body, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "error");
    vc_jo_begin_obj(&w);
    str(&w, "message", text);
    str(&w, "type", "BadRequestError");
    str(&w, "param", param);
    vc_jo_key(&w, "code");
    vc_jo_int(&w, a->status);
    vc_jo_end_obj(&w);
    vc_jo_end_obj(&w);
}
