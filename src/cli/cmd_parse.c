/* SPDX-License-Identifier: Apache-2.0
 * cmd_parse.c: vllmc parse: reasoning, content and tool calls of an output, in one piece or in pieces as a stream has
 * them, from the text alone. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/term.h"
#include "io/json.h"
#include "io/json_out.h"
#include "text/parser.h"
#include "text/tokenizer.h"

enum { CHUNK_WHOLE, CHUNK_BYTES, CHUNK_TOKEN };

struct parse_job {
    const struct cli_opts *o;
    const char *tool, *reasoning;
    int chunk;
    size_t bytes;
    struct vc_tokenizer *tok;       /* of --tokenizer, or NULL */
    json_t *tools;                  /* of --tools, or NULL */
};

/* What one output became. */
struct parse_call { struct vc_buf name, id, args; bool complete; };
struct parse_out {
    struct vc_buf reasoning, content, deltas;
    struct parse_call *call;
    size_t n_calls, cap;
    struct vc_json_out w;           /* of deltas */
    bool failed;
};

static void out_free(struct parse_out *r) {
    vc_buf_free(&r->reasoning);
    vc_buf_free(&r->content);
    vc_buf_free(&r->deltas);
    for (size_t i = 0; i < r->n_calls; i++) {
        vc_buf_free(&r->call[i].name);
        vc_buf_free(&r->call[i].id);
        vc_buf_free(&r->call[i].args);
    }
    free(r->call);
}

static struct parse_call *call_at(struct parse_out *r, size_t i) {
    if (i == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 8;
        struct parse_call *c = realloc(r->call, cap * sizeof *c);
        if (!c) {
            r->failed = true;
            return NULL;
        }
        r->call = c;
        r->cap = cap;
    }
    if (i == r->n_calls) r->call[r->n_calls++] = (struct parse_call){ 0 };
    return &r->call[i];
}

static void delta_json(struct vc_json_out *w, const struct vc_parse_delta *d) {
    static const char *const key[] = { "reasoning", "content", "name", "arguments", "complete" };
    vc_jo_begin_obj(w);
    if (d->kind > VC_PARSE_CONTENT) {
        vc_jo_key(w, "index");
        vc_jo_uint(w, d->index);
    }
    vc_jo_key(w, key[d->kind]);
    if (d->kind == VC_PARSE_CALL_END) vc_jo_bool(w, d->complete);
    else vc_jo_strn(w, d->text.p, d->text.n);
    if (d->id.n) {
        vc_jo_key(w, "id");
        vc_jo_strn(w, d->id.p, d->id.n);
    }
    vc_jo_end_obj(w);
}

static void on_delta(void *user, const struct vc_parse_delta *d) {
    struct parse_out *r = user;
    delta_json(&r->w, d);
    if (d->kind == VC_PARSE_REASONING) vc_buf_add(&r->reasoning, d->text.p, d->text.n);
    if (d->kind == VC_PARSE_CONTENT) vc_buf_add(&r->content, d->text.p, d->text.n);
    if (d->kind <= VC_PARSE_CONTENT) return;
    struct parse_call *c = call_at(r, d->index);
    if (!c) return;
    if (d->kind == VC_PARSE_CALL_BEGIN) {
        vc_buf_add(&c->name, d->text.p, d->text.n);
        vc_buf_add(&c->id, d->id.p, d->id.n);
    } else if (d->kind == VC_PARSE_CALL_ARGS) {
        vc_buf_add(&c->args, d->text.p, d->text.n);
    } else {
        c->complete = d->complete;
    }
}

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (unsigned char)c >= 0x80;
}

/* Without a vocabulary a token is a run of letters and digits with the space before it, or one other character. */
static size_t word(const char *s, size_t n) {
    size_t k = 0;
    while (k < n && (unsigned char)s[k] <= ' ') k++;
    if (k > 1) return k - 1;
    size_t from = k;
    while (k < n && is_word(s[k])) k++;
    return k > from ? k : from + (from < n);
}

static vc_status push_tokens(const struct parse_job *j, struct vc_parser *p, const char *s, size_t n,
                             struct vc_parse_sink *sink, vc_err *err) {
    struct vc_ids ids = { .with_offsets = true };
    vc_status st = vc_tok_encode(j->tok, s, n, VC_ENC_PARSE_SPECIAL, &ids, err);
    size_t at = 0;
    for (size_t i = 0; st == VC_OK && i < ids.n; i++) {
        if (ids.end[i] <= at) continue;
        st = vc_parser_push(p, s + at, ids.end[i] - at, sink, err);
        at = ids.end[i];
    }
    if (st == VC_OK && at < n) st = vc_parser_push(p, s + at, n - at, sink, err);
    vc_ids_free(&ids);
    return st;
}

static vc_status push_all(const struct parse_job *j, struct vc_parser *p, const char *s, size_t n,
                          struct vc_parse_sink *sink, vc_err *err) {
    if (j->chunk == CHUNK_TOKEN && j->tok) return push_tokens(j, p, s, n, sink, err);
    for (size_t at = 0, k; at < n; at += k) {
        k = j->chunk == CHUNK_WHOLE ? n : j->chunk == CHUNK_TOKEN ? word(s + at, n - at) : VC_MIN(j->bytes, n - at);
        VC_TRY(vc_parser_push(p, s + at, k, sink, err));
    }
    return VC_OK;
}

static vc_status parse(const struct parse_job *j, const char *s, size_t n, const json_t *tools, struct parse_out *r,
                       vc_err *err) {
    const char *think = j->o->thinking;
    struct vc_parser_params q = {
        .tool_parser = j->tool,
        .reasoning_parser = j->reasoning,
        .tools = tools ? tools : j->tools,
        .thinking_open = think && !strcmp(think, "open"),
        .thinking_off = think && !strcmp(think, "off"),
        .whole = j->chunk == CHUNK_WHOLE,
    };
    struct vc_parser *p = NULL;
    struct vc_parse_sink sink = { on_delta, r };
    vc_jo_init(&r->w, &r->deltas, VC_JSON_COMPACT);
    vc_jo_begin_arr(&r->w);
    VC_TRY(vc_parser_new(&p, &q, err));
    vc_status st = push_all(j, p, s, n, &sink, err);
    if (st == VC_OK) st = vc_parser_finish(p, &sink, err);
    vc_parser_del(p);
    vc_jo_end_arr(&r->w);
    if (st == VC_OK && (r->failed || r->deltas.failed)) {
        st = vc_fail(err, VC_E_NOMEM, "no memory for the parts of an output");
    }
    return st;
}

static void text_or_null(struct vc_json_out *w, const char *key, const struct vc_buf *b) {
    vc_jo_key(w, key);
    if (b->n) vc_jo_strn(w, b->p, b->n);
    else vc_jo_null(w);
}

static void result_json(const struct parse_job *j, const struct parse_out *r, struct vc_buf *b) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    text_or_null(&w, "reasoning", &r->reasoning);
    text_or_null(&w, "content", &r->content);
    vc_jo_key(&w, "tool_calls");
    if (!r->n_calls) vc_jo_null(&w);
    else vc_jo_begin_arr(&w);
    for (size_t i = 0; i < r->n_calls; i++) {
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "name");
        vc_jo_strn(&w, r->call[i].name.p ? r->call[i].name.p : "", r->call[i].name.n);
        vc_jo_key(&w, "arguments");
        vc_jo_strn(&w, r->call[i].args.p ? r->call[i].args.p : "", r->call[i].args.n);
        if (r->call[i].id.n) text_or_null(&w, "id", &r->call[i].id);
        vc_jo_key(&w, "complete");
        vc_jo_bool(&w, r->call[i].complete);
        vc_jo_end_obj(&w);
    }
    if (r->n_calls) vc_jo_end_arr(&w);
    if (j->o->deltas) {
        vc_jo_key(&w, "deltas");
        vc_jo_raw(&w, r->deltas.p, r->deltas.n);
    }
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
}

static void error_json(const vc_err *err, struct vc_buf *b) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "error");
    vc_jo_str(&w, err->text);
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
}

static vc_status line(const struct parse_job *j, const char *s, size_t n, unsigned number, struct vc_buf *b,
                      vc_err *err) {
    char name[32];
    json_t *row = NULL;
    struct parse_out r = { 0 };
    vc_str text;
    snprintf(name, sizeof name, "line %u", number);
    vc_status st = vc_json_parse(&row, s, n, name, err);
    if (st == VC_OK) st = vc_json_str(row, "text", &text, err);
    if (st == VC_OK) st = parse(j, text.p, text.n, json_object_get(row, "tools"), &r, err);
    if (st == VC_OK) result_json(j, &r, b);
    out_free(&r);
    json_decref(row);
    return st;
}

static int lines(const struct parse_job *j, const struct vc_buf *in) {
    struct vc_buf b = { 0 };
    unsigned number = 0;
    bool failed = false;
    for (size_t at = 0; at < in->n;) {
        const char *end = memchr(in->p + at, '\n', in->n - at);
        size_t n = end ? (size_t)(end - in->p) - at : in->n - at;
        vc_err err = VC_ERR_INIT;
        number++;
        if (n && line(j, in->p + at, n, number, &b, &err) != VC_OK) {
            error_json(&err, &b);
            failed = true;
        }
        at += n + 1;
    }
    int rc = cli_print(&b);
    return rc ? rc : failed ? CLI_FAILED : CLI_OK;
}

static void block(struct vc_buf *b, const char *title, const struct vc_buf *text, enum cli_style style) {
    if (!text->n) return;
    vc_buf_printf(b, "%s%s%s\n%s", cli_style(CLI_BOLD), title, cli_style(CLI_PLAIN), cli_style(style));
    vc_buf_add(b, text->p, text->n);
    vc_buf_printf(b, "%s%s", text->p[text->n - 1] == '\n' ? "" : "\n", cli_style(CLI_PLAIN));
}

static void call_text(struct vc_buf *b, size_t i, const struct parse_call *c) {
    const char *plain = cli_style(CLI_PLAIN);
    vc_buf_printf(b, "%scall %zu%s  %s%s%s", cli_style(CLI_BOLD), i, plain, cli_style(CLI_GREEN),
                  c->name.p ? c->name.p : "", plain);
    if (c->id.n) vc_buf_printf(b, "  %s%s%s", cli_style(CLI_DIM), c->id.p, plain);
    if (!c->complete) vc_buf_printf(b, "  %sincomplete%s", cli_style(CLI_RED), plain);
    vc_buf_printf(b, "\n  %s\n", c->args.p ? c->args.p : "");
}

static int terminal(const struct parse_job *j, const struct vc_buf *in) {
    struct parse_out r = { 0 };
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status st = parse(j, in->p ? in->p : "", in->n, NULL, &r, &err);
    if (st == VC_OK && j->o->json) {
        result_json(j, &r, &b);
    } else if (st == VC_OK) {
        block(&b, "reasoning", &r.reasoning, CLI_DIM);
        block(&b, "content", &r.content, CLI_PLAIN);
        for (size_t i = 0; i < r.n_calls; i++) call_text(&b, i, &r.call[i]);
        if (j->o->deltas) vc_buf_printf(&b, "%sdeltas%s\n%s\n", cli_style(CLI_BOLD), cli_style(CLI_PLAIN), r.deltas.p);
    }
    out_free(&r);
    if (st == VC_OK) return cli_print(&b);
    vc_buf_free(&b);
    return cli_fail_err(&err);
}

static void names(struct vc_buf *b, const char *title, const struct vc_parser_name *(*name)(size_t)) {
    vc_buf_printf(b, "%s%s%s\n", cli_style(CLI_BOLD), title, cli_style(CLI_PLAIN));
    for (size_t i = 0; name(i); i++) {
        vc_buf_printf(b, "  %-24s%s%s%s\n", name(i)->name, cli_style(CLI_DIM), name(i)->text, cli_style(CLI_PLAIN));
    }
}

static int list(void) {
    struct vc_buf b = { 0 };
    names(&b, "tool calls", vc_parser_tool_name);
    names(&b, "reasoning", vc_parser_reasoning_name);
    return cli_print(&b);
}

/* auto: by the markers in --chat-template. */
static vc_status resolve(struct parse_job *j, vc_err *err) {
    const struct cli_opts *o = j->o;
    bool tool = o->tool_parser && !strcmp(o->tool_parser, "auto");
    bool think = o->reasoning_parser && !strcmp(o->reasoning_parser, "auto");
    j->tool = tool ? NULL : o->tool_parser;
    j->reasoning = think ? NULL : o->reasoning_parser;
    if (!tool && !think) return VC_OK;
    if (!o->template_file) return vc_fail(err, VC_E_INVALID, "auto looks for markers in --chat-template FILE");
    struct vc_buf t = { 0 };
    VC_TRY(cli_read_file(o->template_file, &t, err));
    struct vc_parser_choice c = vc_parser_detect(t.p ? t.p : "", t.n);
    vc_buf_free(&t);
    if (tool) j->tool = c.tool;
    if (think) j->reasoning = c.reasoning;
    return VC_OK;
}

static vc_status set_up(struct parse_job *j, vc_err *err) {
    const struct cli_opts *o = j->o;
    VC_TRY(resolve(j, err));
    if (o->parse_tokenizer) VC_TRY(vc_tokenizer_open(&j->tok, o->parse_tokenizer, err));
    if (o->tools_file) VC_TRY(vc_json_load(&j->tools, o->tools_file, err));
    return VC_OK;
}

static bool read_chunk(const char *s, struct parse_job *j) {
    uint64_t n;
    j->chunk = CHUNK_BYTES;
    j->bytes = 1;
    if (!s || !strcmp(s, "whole")) j->chunk = CHUNK_WHOLE;
    else if (!strcmp(s, "token")) j->chunk = CHUNK_TOKEN;
    else if (strcmp(s, "byte") != 0) {
        if (!cli_read_u64(s, &n) || !n || n > SIZE_MAX / 2) return false;
        j->bytes = (size_t)n;
    }
    return true;
}

int cli_parse(struct cli_opts *o) {
    struct parse_job j = { .o = o };
    struct vc_buf in = { 0 };
    vc_err err = VC_ERR_INIT;
    if (o->list) return list();
    if (o->num_args) return cli_usage(o, "'%s': the output is read from --file or standard input", o->arg[0]);
    if (!read_chunk(o->chunk, &j)) {
        return cli_usage(o, "--chunk %s: whole, byte, token or a number of bytes is expected", o->chunk);
    }
    int rc;
    vc_status st = set_up(&j, &err);
    if (st == VC_OK) st = cli_read_file(o->file ? o->file : "-", &in, &err);
    if (st != VC_OK) rc = cli_fail_err(&err);
    else rc = o->jsonl ? lines(&j, &in) : terminal(&j, &in);
    vc_tokenizer_close(j.tok);
    json_decref(j.tools);
    vc_buf_free(&in);
    return rc;
}
