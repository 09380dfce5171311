/* SPDX-License-Identifier: Apache-2.0
 * cmd_template.c: vllmc template: renders conversations with a model's chat template, without the model, and shows the
 * place of an error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/term.h"
#include "io/json.h"
#include "io/json_out.h"
#include "text/chat_request.h"
#include "text/template_source.h"

/* One conversation, from a JSON object or a list of messages. Values borrow from root. */
struct request {
    json_t *root, *messages, *tools, *documents, *kwargs, *owned[3];
    bool generate, goes_on;
    int64_t now;
};

/* A compiled template is kept for the next line that wants it. */
struct session {
    const struct cli_opts *o;
    struct vc_template_source source;
    const struct vc_template_named *named;
    struct vc_template *t;
    struct vc_template_place place;
};

static vc_status use(struct session *s, const json_t *tools, vc_err *err) {
    const struct vc_template_named *named = NULL;
    s->place = (struct vc_template_place){ 0, 0 };
    VC_TRY(vc_template_source_pick(&s->source, NULL, json_array_size(tools) > 0, &named, err));
    if (s->t && named == s->named) return VC_OK;
    vc_template_del(s->t);
    s->named = named;
    return vc_template_compile_at(&s->t, named->text.p, named->text.n, &s->place, err);
}

/* ---- reading ---- */
static json_t *not_null(json_t *v) { return json_is_null(v) ? NULL : v; }

static vc_status want(const json_t *v, const char *key, bool object, vc_err *err) {
    if (!v || (object ? json_is_object(v) : json_is_array(v))) return VC_OK;
    return vc_fail(err, VC_E_INVALID, "%s: must be %s, not %s", key, object ? "an object" : "a list",
                   vc_json_type_name(v));
}

/* The clock of strftime_now: SOURCE_DATE_EPOCH if it is set, so that a prompt can be made again. */
static int64_t clock_now(void) {
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    uint64_t v;
    return fixed && cli_read_u64(fixed, &v) && v <= INT64_MAX ? (int64_t)v : (int64_t)time(NULL);
}

/* Members besides messages, tools, documents, kwargs (or chat_template_kwargs), add_generation_prompt,
 * continue_final_message and now (Unix time) are not looked at: a whole request body will do. add_generation_prompt is
 * off by default, as in transformers; on for a list of messages alone, and with --served, as in the API. */
static vc_status read_request(struct request *r, const char *text, size_t n, const char *name, bool served,
                              vc_err *err) {
    *r = (struct request){ .generate = true, .now = clock_now() };
    VC_TRY(vc_json_parse(&r->root, text, n, name, err));
    if (json_is_array(r->root)) {
        r->messages = r->root;
        return VC_OK;
    }
    if (!json_is_object(r->root))
        return vc_fail(err, VC_E_INVALID, "%s: expected an object with messages, or a list of messages", name);
    r->messages = json_object_get(r->root, "messages");
    r->tools = not_null(json_object_get(r->root, "tools"));
    r->documents = not_null(json_object_get(r->root, "documents"));
    r->kwargs = not_null(json_object_get(r->root, "kwargs"));
    if (!r->kwargs) r->kwargs = not_null(json_object_get(r->root, "chat_template_kwargs"));
    VC_TRY(vc_json_opt_bool(r->root, "continue_final_message", &r->goes_on, err));
    r->generate = served && !r->goes_on;
    VC_TRY(vc_json_opt_bool(r->root, "add_generation_prompt", &r->generate, err));
    VC_TRY(vc_json_opt_i64(r->root, "now", &r->now, err));
    if (!r->messages) return vc_fail(err, VC_E_INVALID, "%s: messages: missing", name);
    VC_TRY(want(r->messages, "messages", false, err));
    VC_TRY(want(r->tools, "tools", false, err));
    VC_TRY(want(r->documents, "documents", false, err));
    VC_TRY(want(r->kwargs, "kwargs", true, err));
    if (r->goes_on && r->generate)
        return vc_fail(err, VC_E_INVALID,
                       "Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
    return VC_OK;
}

static void free_request(struct request *r) {
    for (size_t i = 0; i < VC_ARRAY_LEN(r->owned); i++) json_decref(r->owned[i]);
    json_decref(r->root);
}

/* --served: messages, tools and variables become what the server makes of them. */
static vc_status as_served(struct request *r, const struct vc_template *t, vc_err *err) {
    struct vc_chat_style style = vc_chat_style_of(t, NULL);
    const char *effort = json_string_value(json_object_get(r->root, "reasoning_effort"));
    VC_TRY(vc_chat_messages(&r->owned[0], r->messages, &style, NULL, err));
    VC_TRY(vc_chat_tools(&r->owned[1], r->tools, NULL, err));
    VC_TRY(vc_chat_kwargs(&r->owned[2], NULL, r->kwargs, effort, NULL, err));
    r->messages = r->owned[0];
    r->tools = r->owned[1];
    r->kwargs = r->owned[2];
    return VC_OK;
}

static vc_status render(struct session *s, struct request *r, struct vc_buf *out, vc_err *err) {
    VC_TRY(use(s, r->tools, err));
    if (s->o->served) VC_TRY(as_served(r, s->t, err));
    struct vc_template_args a = { .messages = r->messages,
                                  .tools = r->tools,
                                  .documents = r->documents,
                                  .kwargs = r->kwargs,
                                  .add_generation_prompt = r->generate,
                                  .continue_final_message = r->goes_on,
                                  .now = r->now,
                                  .place = &s->place };
    a.bos_token = s->source.bos_token;
    a.eos_token = s->source.eos_token;
    a.unk_token = s->source.unk_token;
    a.pad_token = s->source.pad_token;
    return vc_template_render(s->t, &a, out, err);
}

/* ---- JSON lines ---- */
/* The text without the place that it begins with. */
static const char *bare(const vc_err *err, struct vc_template_place at) {
    char prefix[64];
    int n = snprintf(prefix, sizeof prefix, "line %u, column %u: ", at.line, at.column);
    return at.line && !strncmp(err->text, prefix, (size_t)n) ? err->text + n : err->text;
}

static void put_place(struct vc_json_out *w, const char *key, uint32_t v) {
    vc_jo_key(w, key);
    if (v) vc_jo_uint(w, v);
    else vc_jo_null(w);
}

/* false: the answer is an error. */
static bool answer_line(struct session *s, const char *line, size_t n, size_t number, struct vc_buf *b) {
    char name[32];
    struct request r;
    struct vc_buf out = { 0 };
    struct vc_json_out w;
    vc_err err = VC_ERR_INIT;
    snprintf(name, sizeof name, "line %zu", number);
    s->place = (struct vc_template_place){ 0, 0 };
    vc_status st = read_request(&r, line, n, name, s->o->served, &err);
    if (st == VC_OK) st = render(s, &r, &out, &err);
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, st == VC_OK ? "output" : "error");
    if (st == VC_OK) {
        vc_jo_strn(&w, out.p ? out.p : "", out.n);
    } else {
        vc_jo_str(&w, bare(&err, s->place));
        put_place(&w, "line", s->place.line);
        put_place(&w, "column", s->place.column);
    }
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
    vc_buf_free(&out);
    free_request(&r);
    return st == VC_OK;
}

/* Each answer is written before the next line is read. CLI_FAILED when one of them is an error. */
static int run_lines(struct session *s, const char *file) {
    bool is_stdin = !strcmp(file, "-");
    FILE *f = is_stdin ? stdin : fopen(file, "rb");
    if (!f) return cli_fail("%s: %s", file, strerror(errno));
    char *line = NULL;
    size_t cap = 0, number = 0;
    int code = CLI_OK;
    bool bad = false;
    for (ssize_t n; code == CLI_OK && (n = getline(&line, &cap, f)) >= 0;) {
        struct vc_buf b = { 0 };
        number++;
        if (n > 0 && line[n - 1] == '\n') n--;
        if (strspn(line, " \t\r") >= (size_t)n) continue;
        bad |= !answer_line(s, line, (size_t)n, number, &b);
        code = cli_print(&b);
        fflush(stdout);
    }
    if (code == CLI_OK && ferror(f)) code = cli_fail("%s: %s", file, strerror(errno));
    free(line);
    if (!is_stdin) fclose(f);
    return code == CLI_OK && bad ? CLI_FAILED : code;
}

/* ---- one conversation, for a reader ---- */
/* The line of the template with a mark under the column. */
static void show_place(const struct vc_template_named *t, struct vc_template_place at) {
    const char *p = t->text.p, *end = p + t->text.n, *stop;
    for (uint32_t line = 1; line < at.line && p; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (p) p++;
    }
    if (!at.line || !p) return;
    stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop) stop = end;
    fprintf(stderr, "%s%6u |%s %.*s\n", cli_err_style(CLI_DIM), at.line, cli_err_style(CLI_PLAIN),
            (int)VC_MIN(stop - p, 2000), p);
    fprintf(stderr, "%s       |%s ", cli_err_style(CLI_DIM), cli_err_style(CLI_PLAIN));
    for (uint32_t col = 1; col < at.column && p < stop; p++) {
        if (((unsigned char)*p & 0xC0) == 0x80) continue;
        fputc(*p == '\t' ? '\t' : ' ', stderr);
        col++;
    }
    fprintf(stderr, "%s^%s\n", cli_err_style(CLI_RED), cli_err_style(CLI_PLAIN));
}

static int fail_at(const struct session *s, const vc_err *err) {
    int code = s->place.line ? cli_fail("%s: line %u, column %u: %s", s->source.path, s->place.line, s->place.column,
                                        bare(err, s->place))
                             : cli_fail_err(err);
    if (s->named) show_place(s->named, s->place);
    return code;
}

static int run_one(struct session *s, const char *text, size_t n, const char *name) {
    struct request r;
    struct vc_buf out = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status st = read_request(&r, text, n, name, s->o->served, &err);
    if (st == VC_OK) st = render(s, &r, &out, &err);
    free_request(&r);
    if (st == VC_OK) {
        if (cli_out_is_terminal() && out.n && out.p[out.n - 1] != '\n') vc_buf_addc(&out, '\n');
        return cli_print(&out);
    }
    vc_buf_free(&out);
    return fail_at(s, &err);
}

/* ---- what the template is ---- */
static const char sample[] =
    "[{\"role\":\"system\",\"content\":\"You are a helpful assistant.\"},{\"role\":\"user\",\"content\":\"Hello!\"},"
    "{\"role\":\"assistant\",\"content\":\"Hi, how can I help?\"},{\"role\":\"user\",\"content\":\"What is 2 + 2?\"}]";
static const char sample_without_system[] = "[{\"role\":\"user\",\"content\":\"Hello!\"}]";

static void print_json(const struct session *s, struct vc_buf *b) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_PRETTY);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "path");
    vc_jo_str(&w, s->source.path);
    vc_jo_key(&w, "templates");
    vc_jo_begin_arr(&w);
    for (size_t i = 0; i < s->source.n; i++) vc_jo_str(&w, s->source.v[i].name);
    vc_jo_end_arr(&w);
    vc_jo_key(&w, "content_format");
    vc_jo_str(&w, vc_template_content_format(s->t) == VC_CONTENT_PARTS ? "openai" : "string");
    vc_jo_key(&w, "knows_developer");
    vc_jo_bool(&w, vc_template_knows_developer(s->t));
    vc_jo_key(&w, "variables");
    vc_jo_begin_arr(&w);
    for (size_t i = 0; vc_template_variable(s->t, i); i++) vc_jo_str(&w, vc_template_variable(s->t, i));
    vc_jo_end_arr(&w);
    vc_jo_key(&w, "bos_token");
    vc_jo_str(&w, s->source.bos_token);
    vc_jo_key(&w, "eos_token");
    vc_jo_str(&w, s->source.eos_token);
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
}

/* The list of variables, broken into lines. */
static void print_variables(const struct session *s, struct vc_buf *b) {
    size_t column = 17, width = (size_t)VC_MAX(cli_term_width(), 40);
    vc_buf_adds(b, "variables       ");
    for (size_t i = 0; vc_template_variable(s->t, i); i++) {
        const char *name = vc_template_variable(s->t, i);
        if (i && column + strlen(name) + 1 > width) {
            vc_buf_adds(b, "\n                ");
            column = 17;
        }
        vc_buf_printf(b, "%s ", name);
        column += strlen(name) + 1;
    }
    vc_buf_addc(b, '\n');
}

static void print_summary(const struct session *s, struct vc_buf *b) {
    vc_buf_printf(b, "from            %s\n", s->source.path);
    if (s->source.n > 1) {
        vc_buf_adds(b, "templates       ");
        for (size_t i = 0; i < s->source.n; i++)
            vc_buf_printf(b, "%s%s ", s->source.v[i].name, &s->source.v[i] == s->named ? " (shown)" : "");
        vc_buf_addc(b, '\n');
    }
    bool parts = vc_template_content_format(s->t) == VC_CONTENT_PARTS;
    vc_buf_printf(b, "content         %s\n", parts ? "openai: a list of parts" : "string: one text");
    vc_buf_printf(b, "tools           %s\n", vc_template_uses(s->t, "tools") ? "read" : "not read");
    print_variables(s, b);
}

/* Without a conversation: what the template reads, and how it writes a small one. */
static int run_about(struct session *s) {
    vc_err err = VC_ERR_INIT;
    struct vc_buf b = { 0 }, out = { 0 };
    struct request r;
    vc_status st = use(s, NULL, &err);
    if (st != VC_OK) return fail_at(s, &err);
    if (s->o->json) {
        print_json(s, &b);
        return cli_print(&b);
    }
    print_summary(s, &b);
    for (int i = 0; i < 2 && (i == 0 || st != VC_OK); i++) {
        const char *text = i ? sample_without_system : sample;
        vc_err ignored = VC_ERR_INIT;
        st = read_request(&r, text, strlen(text), "sample", false, &ignored);
        out.n = 0;
        if (st == VC_OK) st = render(s, &r, &out, &ignored);
        free_request(&r);
    }
    if (st == VC_OK)
        vc_buf_printf(&b, "\n%sA conversation, as it writes it:%s\n\n", cli_style(CLI_DIM), cli_style(CLI_PLAIN));
    if (st == VC_OK) vc_buf_add(&b, out.p ? out.p : "", out.n);
    vc_buf_addc(&b, '\n');
    vc_buf_free(&out);
    return cli_print(&b);
}

int cli_template(struct cli_opts *o) {
    if (o->num_args < 1)
        return cli_usage(o, "template needs a model: a GGUF file, a folder, a tokenizer_config.json or a .jinja file");
    if (o->num_args > 2) return cli_usage(o, "'%s': too many arguments", o->arg[2]);
    if (o->num_args == 2 && o->file) return cli_usage(o, "more than one conversation is given");
    struct session s = { .o = o };
    struct vc_buf text = { 0 };
    vc_err err = VC_ERR_INIT;
    if (vc_template_source_open(&s.source, o->arg[0], &err) != VC_OK) return cli_fail_err(&err);
    const char *file = o->file ? o->file : o->num_args == 2 ? o->arg[1] : NULL;
    int code;
    if (o->jsonl) code = run_lines(&s, file ? file : "-");
    else if (!file) code = run_about(&s);
    else if (cli_read_file(file, &text, &err) != VC_OK) code = cli_fail_err(&err);
    else code = run_one(&s, text.p ? text.p : "", text.n, strcmp(file, "-") ? file : "standard input");
    vc_buf_free(&text);
    vc_template_del(s.t);
    vc_template_source_close(&s.source);
    return code;
}
