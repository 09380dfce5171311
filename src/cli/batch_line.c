/* SPDX-License-Identifier: Apache-2.0
 * batch_line.c: the lines of a batch, and what they ask for. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "cli/batch.h"

/* ---- the file ---- */
static const char *custom_id_of(struct cli_batch_input *in, const char *text, size_t n) {
    json_t *root = NULL;
    vc_err ignored = VC_ERR_INIT;
    const char *id = NULL;
    if (vc_json_parse(&root, text, n, "", &ignored) != VC_OK) return NULL;
    const json_t *v = json_object_get(root, "custom_id");
    if (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v))
        id = vc_arena_strdup(&in->arena, json_string_value(v));
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
vc_status cli_batch_parse(struct cli_batch_request *r, const struct cli_batch_line *line, vc_err *err) {
    vc_str method = VC_STR("POST"), url;
    *r = (struct cli_batch_request){ 0 };
    VC_TRY(vc_json_parse(&r->root, line->text, line->n, "request", err));
    r->param = "custom_id";
    if (!line->custom_id) return vc_fail(err, VC_E_FORMAT, "custom_id: expected a string");
    r->param = "method";
    VC_TRY(vc_json_opt_str(r->root, "method", &method, err));
    if (!vc_str_is(method, "POST")) return vc_fail(err, VC_E_INVALID, "method: '%.20s', expected POST", method.p);
    r->param = "url";
    VC_TRY(vc_json_str(r->root, "url", &url, err));
    r->url = url.p;
    r->param = "body";
    VC_TRY(vc_json_obj(r->root, "body", &r->body, err));
    json_incref(r->body);
    json_object_del(r->root, "body");
    r->param = NULL;
    return VC_OK;
}
