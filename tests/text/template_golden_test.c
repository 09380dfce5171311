/* SPDX-License-Identifier: Apache-2.0
 * Chat templates against transformers' own renders: snippets of the language (committed), and the real templates with all
 * conversations where they are on this machine. Set VC_SHOW=1 to see every difference. */
#include <time.h>

#include "test.h"
#include "text/template.h"

/* 2025-06-07 08:09:10, the clock of the reference; the test runs in UTC. */
enum { NOW = 1749283750 };

static char *read_all(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    struct vc_buf b = { 0 };
    char chunk[65536];
    for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;) vc_buf_add(&b, chunk, k);
    fclose(f);
    return vc_buf_take(&b, n);
}

static const char *member(const json_t *row, const char *key) { return json_string_value(json_object_get(row, key)); }

/* Does this result agree with the row? An error must be an error; its words count only for raise_exception. */
static bool agrees(const json_t *row, vc_status s, const struct vc_buf *got, const vc_err *err) {
    const json_t *want = json_object_get(row, "output");
    if (!want) {
        const char *class = member(row, "error");
        if (s == VC_OK) return false;
        return strcmp(class, "TemplateError") != 0 || !strcmp(err->text, member(row, "message"));
    }
    if (s != VC_OK) return false;
    size_t n = json_string_length(want);
    bool prefix = json_is_true(json_object_get(row, "address"));
    return (prefix ? got->n >= n : got->n == n) && (n == 0 || !memcmp(got->p, json_string_value(want), n));
}

static void show(const char *what, const json_t *row, vc_status s, const struct vc_buf *got, const vc_err *err) {
    if (!getenv("VC_SHOW")) return;
    const char *want = member(row, "output");
    printf("-- %s\n   want: %s%s\n   got:  %s%s\n", what, want ? "" : "error ", want ? want : member(row, "message"),
           s ? "error " : "",
           s        ? err->text
           : got->p ? got->p
                    : "");
}

/* Rows of snippets, all with the same variables; where `vars` is NULL, the first row has them. Returns how many agree. */
static size_t run_snippets(const char *file, json_t *vars, size_t *rows) {
    json_error_t je;
    size_t n, good = 0;
    const char *path = vc_golden(file);
    assert_non_null(path);
    char *text = read_all(path, &n);
    assert_non_null(text);
    json_t *owned = NULL;
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        json_t *row = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, &je);
        assert_non_null(row);
        const json_t *src = json_object_get(row, "template");
        if (!src) {
            owned = row;
            vars = json_object_get(row, "context");
            continue;
        }
        struct vc_template *t = NULL;
        struct vc_buf out = { 0 };
        vc_err err = VC_ERR_INIT;
        vc_status s = vc_template_compile(&t, json_string_value(src), json_string_length(src), &err);
        if (!s) s = vc_template_render_vars(t, vars, NOW, NULL, &out, &err);
        ++*rows;
        if (agrees(row, s, &out, &err)) good++;
        else show(json_string_value(src), row, s, &out, &err);
        vc_buf_free(&out);
        vc_template_del(t);
        json_decref(row);
    }
    json_decref(owned);
    free(text);
    return good;
}

static void snippets(void **state) {
    (void)state;
    json_error_t je;
    size_t rows = 0, more = 0;
    const char *vars_path = vc_golden("chat-templates/snippet_context.json");
    assert_non_null(vars_path);
    json_t *vars = json_load_file(vars_path, 0, &je);
    assert_non_null(vars);
    size_t good = run_snippets("chat-templates/snippets.jsonl", vars, &rows),
           more_good = run_snippets("chat/snippets.jsonl", NULL, &more);
    json_decref(vars);
    printf("snippets: %zu of %zu and %zu of %zu as in Jinja2\n", good, rows, more_good, more);
    assert_int_equal(good, rows);
    assert_int_equal(rows, 552);
    assert_int_equal(more_good, more);
    assert_true(more > 900);
}

static struct vc_template_args args_of(const json_t *conv, const json_t *special, json_t **kwargs) {
    static const char *const known[] = { "messages", "tools", "documents", "add_generation_prompt",
                                         "continue_final_message" };
    *kwargs = json_copy((json_t *)(uintptr_t)conv);
    for (size_t i = 0; i < VC_ARRAY_LEN(known); i++) json_object_del(*kwargs, known[i]);
    return (struct vc_template_args){
        .messages = json_object_get(conv, "messages"),
        .tools = json_object_get(conv, "tools"),
        .documents = json_object_get(conv, "documents"),
        .add_generation_prompt = json_is_true(json_object_get(conv, "add_generation_prompt")),
        .continue_final_message = json_is_true(json_object_get(conv, "continue_final_message")),
        .kwargs = *kwargs,
        .bos_token = member(special, "bos_token"),
        .eos_token = member(special, "eos_token"),
        .unk_token = member(special, "unk_token"),
        .pad_token = member(special, "pad_token"),
        .now = NOW,
    };
}

static bool one_render(const json_t *row, const json_t *convs, const struct vc_template *t, vc_status compiled,
                       const vc_err *compile_err) {
    vc_err err = *compile_err;
    struct vc_buf out = { 0 };
    json_t *kwargs = NULL;
    struct vc_template_args a =
        args_of(json_object_get(json_object_get(convs, "conversations"), member(row, "conversation")),
                json_object_get(convs, "special"), &kwargs);
    vc_status s = compiled ? compiled : vc_template_render(t, &a, &out, &err);
    bool ok = agrees(row, s, &out, &err);
    if (!ok) {
        char what[256];
        snprintf(what, sizeof what, "%s / %s", member(row, "template"), member(row, "conversation"));
        show(what, row, s, &out, &err);
    }
    json_decref(kwargs);
    vc_buf_free(&out);
    return ok;
}

static void renders(void **state) {
    (void)state;
    json_error_t je;
    size_t n, rows = 0, bad = 0;
    const char *path = vc_golden("chat-templates/renders.jsonl"),
               *conv_path = vc_golden("chat-templates/conversations.json");
    if (!path || !conv_path) {
        vc_left_out("renders of real chat templates");
        skip();
    }
    json_t *convs = json_load_file(conv_path, 0, &je);
    char *text = read_all(path, &n), name[256] = "";
    assert_non_null(convs);
    assert_non_null(text);
    struct vc_template *t = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status compiled = VC_OK;
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        json_t *row = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, &je);
        assert_non_null(row);
        if (strcmp(name, member(row, "template"))) {
            char file[512];
            snprintf(name, sizeof name, "%s", member(row, "template"));
            snprintf(file, sizeof file, "chat-templates/templates/%s", name);
            size_t len;
            char *src = read_all(vc_golden(file), &len);
            assert_non_null(src);
            vc_template_del(t);
            t = NULL;
            err = (vc_err)VC_ERR_INIT;
            compiled = vc_template_compile(&t, src, len, &err);
            free(src);
        }
        rows++;
        bad += !one_render(row, convs, t, compiled, &err);
        json_decref(row);
    }
    vc_template_del(t);
    printf("renders: %zu of %zu as in transformers\n", rows - bad, rows);
    assert_int_equal(bad, 0);
    assert_true(rows >= 1275);
    free(text);
    json_decref(convs);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    tzset();
    const struct CMUnitTest tests[] = { cmocka_unit_test(snippets), cmocka_unit_test(renders) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
