/* SPDX-License-Identifier: Apache-2.0
 * cmd_embed.c: vllmc embed: a text, or JSON lines of texts and token ids, to vectors as JSON lines, in the order of the
 * input. A line that cannot be done gets {"error": …}, and the next one is read. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/load.h"
#include "io/json.h"
#include "io/json_out.h"

/* One input: where it lies, and what became of it. */
struct item { const char *line; size_t n, number; bool done, failed; struct vc_buf out; };
struct embed {
    struct cli_opts *o;
    vc_model *m;
    struct item *items; size_t num;
    size_t live, most;                     /* requests in the engine */
    bool any_failed;
};

static void fill_vector(struct item *x, const vc_output *o) {
    struct vc_json_out w;
    vc_jo_init(&w, &x->out, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "tokens");
    vc_jo_uint(&w, o->num_prompt_tokens);
    vc_jo_key(&w, "embedding");
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < o->num_embedding; i++) vc_jo_f32(&w, o->embedding[i]);
    vc_jo_end_arr(&w);
    vc_jo_end_obj(&w);
    x->done = true;
}

static void fill_error(struct item *x, const vc_err *err) {
    vc_buf_adds(&x->out, "{\"error\":");
    vc_json_add_str(&x->out, err->text[0] ? err->text : vc_status_text(err->status),
                    strlen(err->text[0] ? err->text : vc_status_text(err->status)));
    vc_buf_addc(&x->out, '}');
    x->done = x->failed = true;
}

/* {"ids": [1, 2, 3]}; *ids is the caller's. */
static vc_status line_ids(const json_t *list, int32_t **ids, vc_err *err) {
    size_t n = json_array_size(list);
    if (!n) return vc_fail(err, VC_E_INVALID, "ids: a list of token ids is expected");
    *ids = malloc(n * sizeof **ids);
    if (!*ids) return vc_fail(err, VC_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX)
            return vc_fail(err, VC_E_INVALID, "ids.%zu: a token id is expected", i);
        (*ids)[i] = (int32_t)json_integer_value(v);
    }
    return VC_OK;
}

static vc_status submit(struct embed *e, size_t at, vc_request_params *rp, vc_err *err) {
    rp->tokenize_flags = VC_TOK_PARSE_SPECIAL | (e->o->add_special ? VC_TOK_ADD_SPECIAL : 0);
    rp->dimensions = e->o->dimensions;
    rp->use_activation = e->o->given[CLI_OPT_ACTIVATION] ? e->o->use_activation : -1;
    rp->sampling.detokenize = 0;
    rp->user = (void *)(uintptr_t)at;
    return vc_submit(e->m, rp, NULL, err);
}

/* {"text"} or {"ids"}. */
static vc_status submit_line(struct embed *e, size_t at, vc_err *err) {
    const struct item *x = &e->items[at];
    json_t *row = NULL;
    int32_t *ids = NULL;
    vc_request_params rp;
    char name[32];
    vc_request_params_init(&rp);
    snprintf(name, sizeof name, "line %zu", x->number);
    VC_TRY(vc_json_parse(&row, x->line, x->n, name, err));
    const json_t *text = json_object_get(row, "text"), *list = json_object_get(row, "ids");
    vc_status s = VC_OK;
    if (list) {
        s = line_ids(list, &ids, err);
        rp.prompt_ids = ids;
        rp.num_prompt_ids = json_array_size(list);
    } else if (json_is_string(text)) {
        rp.prompt = json_string_value(text);
        rp.prompt_len = json_string_length(text);
    } else {
        s = vc_fail(err, VC_E_INVALID, text ? "text: a string is expected" : "text or ids: is missing");
    }
    if (s == VC_OK) s = submit(e, at, &rp, err);
    free(ids);
    json_decref(row);
    return s;
}

static vc_status submit_one(struct embed *e, size_t at, vc_err *err) {
    const struct cli_opts *o = e->o;
    vc_request_params rp;
    if (o->jsonl) return submit_line(e, at, err);
    vc_request_params_init(&rp);
    rp.prompt = e->items[at].line;
    rp.prompt_len = e->items[at].n;
    if (o->prompt_ids.n) {
        rp.prompt_ids = o->prompt_ids.v;
        rp.num_prompt_ids = o->prompt_ids.n;
    }
    return submit(e, at, &rp, err);
}

static vc_status take_output(struct embed *e, vc_err *err) {
    vc_output *o = NULL;
    VC_TRY(vc_next(e->m, -1, &o, err));
    struct item *x = &e->items[(uintptr_t)o->user];
    if (o->embedding) fill_vector(x, o);
    else fill_error(x, &o->error);
    e->live--;
    vc_output_free(o);
    return VC_OK;
}

static int print_done(struct embed *e, size_t *next) {
    for (; *next < e->num && e->items[*next].done; (*next)++) {
        struct item *x = &e->items[*next];
        e->any_failed |= x->failed;
        vc_buf_addc(&x->out, '\n');
        int rc = cli_print(&x->out);
        x->out = (struct vc_buf){ 0 };
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}

static int work(struct embed *e) {
    size_t given = 0, printed = 0;
    vc_err err = VC_ERR_INIT;
    while (printed < e->num) {
        for (; given < e->num && e->live < e->most; given++) {
            vc_err why = VC_ERR_INIT;
            if (submit_one(e, given, &why) == VC_OK) e->live++;
            else if (!e->o->jsonl) return cli_fail_err(&why);
            else fill_error(&e->items[given], &why);
        }
        if (e->live && take_output(e, &err) != VC_OK) return cli_fail_err(&err);
        int rc = print_done(e, &printed);
        if (rc != CLI_OK) return rc;
    }
    return e->any_failed ? CLI_FAILED : CLI_OK;
}

/* Lines that are not empty, or the whole. */
static vc_status split(struct embed *e, const struct vc_buf *text, vc_err *err) {
    size_t lines = 1;
    for (size_t i = 0; i < text->n; i++) lines += text->p[i] == '\n';
    e->items = calloc(lines, sizeof *e->items);
    if (!e->items) return vc_fail(err, VC_E_NOMEM, "out of memory");
    if (!e->o->jsonl) {
        e->items[e->num++] = (struct item){ .line = text->p ? text->p : "", .n = text->n };
        return VC_OK;
    }
    for (size_t at = 0, number = 1; at < text->n; number++) {
        const char *line = text->p + at, *end = memchr(line, '\n', text->n - at);
        size_t n = end ? (size_t)(end - line) : text->n - at;
        if (n && strspn(line, " \t\r") < n)
            e->items[e->num++] = (struct item){ .line = line, .n = n, .number = number };
        at += n + 1;
    }
    return VC_OK;
}

static int check(const struct cli_opts *o) {
    if (o->num_args < 1) return cli_usage(o, "embed needs a model: a GGUF file or a folder");
    if (o->num_args > 2 || (o->num_args == 2 && strcmp(o->arg[1], "-") != 0))
        return cli_usage(o, "'%s': unexpected; a text is given with -p TEXT, -f FILE or -", o->arg[o->num_args - 1]);
    int sources = (o->prompt != NULL) + (o->file != NULL) + (o->num_args == 2) + (o->prompt_ids.n > 0);
    if (sources > 1 || (!sources && !o->jsonl))
        return cli_usage(o, "%s text; give one of -p TEXT, -f FILE, - (standard input) or --prompt-ids IDS",
                         sources ? "more than one" : "no");
    if (o->jsonl && (o->prompt || o->prompt_ids.n)) return cli_usage(o, "--jsonl reads a file or standard input");
    return CLI_OK;
}

int cli_embed(struct cli_opts *o) {
    struct embed e = { .o = o };
    struct vc_buf text = { 0 };
    vc_err err = VC_ERR_INIT;
    int rc = check(o);
    if (rc != CLI_OK) return rc;
    vc_status s = VC_OK;
    if (o->prompt) vc_buf_adds(&text, o->prompt);
    else if (!o->prompt_ids.n) s = cli_read_file(o->file ? o->file : "-", &text, &err);
    if (s == VC_OK) s = split(&e, &text, &err);
    if (!o->given[CLI_OPT_RUNNER] && !o->given[CLI_OPT_CONVERT]) o->model.runner = "pooling";
    rc = s == VC_OK ? cli_load(o, 0, &e.m, NULL) : cli_fail_err(&err);
    e.most = (size_t)o->model.max_num_seqs * 2;
    if (rc == CLI_OK) rc = work(&e);
    vc_model_close(&e.m);
    for (size_t i = 0; i < e.num; i++) vc_buf_free(&e.items[i].out);
    free(e.items);
    vc_buf_free(&text);
    return rc;
}
