/* SPDX-License-Identifier: Apache-2.0
 * flags_test.c: every flag of vLLM's server (reference/vllm-flags.json, beside the complete goldens) is an option or is
 * in the table of those that are none. Options agree with it in kind, choices and default, or stand in doc/compat.md,
 * section Flags; the others accept vLLM's default and have a sentence for anything else. */
#include "cli/options.h"
#include "cli/program.h"
#include "io/json.h"

static json_t *g_flags;
static char *g_differences; /* the section of doc/compat.md */
static struct cli_opts g_opts;

static const char *long_name(const json_t *flag) {
    size_t i;
    const json_t *v;
    json_array_foreach(json_object_get(flag, "flags"), i,
                       v) if (!strncmp(json_string_value(v), "--", 2)) return json_string_value(v) +
        2;
    return "";
}

static bool is_bool(const json_t *flag) {
    const char *kind = json_string_value(json_object_get(flag, "kind"));
    return !strcmp(kind, "BooleanOptionalAction");
}
static bool is_switch(const json_t *flag) {
    const json_t *nargs = json_object_get(flag, "nargs");
    return json_is_integer(nargs) && json_integer_value(nargs) == 0;
}

static bool listed(const char *name) {
    char cell[100];
    snprintf(cell, sizeof cell, "`--%s`", name);
    return strstr(g_differences, cell) != NULL;
}

#define CHECK(ok, name, what)                                                                                          \
    do {                                                                                                               \
        if (!(ok)) print_error("--%s: %s, and doc/compat.md, Flags, does not say so\n", name, what);                   \
        assert_true(ok);                                                                                               \
    } while (0)

/* Each spelling leads to one and the same row. */
static void spellings(const json_t *flag, size_t *opt, const struct cli_vllm_flag **row) {
    size_t i;
    const json_t *v;
    const char *name = long_name(flag);
    bool off;
    *opt = cli_find_option(&g_opts, name, strlen(name), &off);
    *row = cli_vllm_find(&g_opts, name, strlen(name), &off);
    if (*opt == CLI_NUM_OPTS && !*row) print_error("--%s is unknown\n", name);
    if (*opt != CLI_NUM_OPTS && *row) print_error("--%s is an option, and in vllm_flags.def\n", name);
    assert_true((*opt != CLI_NUM_OPTS) != (*row != NULL));
    json_array_foreach(json_object_get(flag, "flags"), i, v) {
        const char *text = json_string_value(v);
        bool is_off = !strncmp(text, "--no-", 5), is_long = !strncmp(text, "--", 2);
        const char *word = is_long ? text + 2 : text;
        bool found = *row      ? cli_vllm_find(&g_opts, word, strlen(word), &off) == *row
                     : is_long ? cli_find_option(&g_opts, word, strlen(word), &off) == *opt
                               : cli_option_letter(&g_opts, text[1]) == *opt;
        if (!found || (is_off && !off)) print_error("%s does not lead to --%s\n", text, name);
        assert_true(found);
        if (is_long) assert_int_equal(off, is_off);
    }
}

/* vLLM's default as the table shows it; false: it has none, or one that is computed. */
static bool default_of(const json_t *flag, char *dst, size_t cap) {
    const json_t *d = json_object_get(flag, "default");
    if (json_is_boolean(d))
        snprintf(dst, cap, "%s", json_is_true(d) ? "on" : "off");
    else if (json_is_integer(d))
        snprintf(dst, cap, "%lld", (long long)json_integer_value(d));
    else if (json_is_real(d))
        snprintf(dst, cap, "%g", json_real_value(d));
    else if (json_is_string(d))
        snprintf(dst, cap, "%s", json_string_value(d));
    else if (json_is_object(d) && !json_object_size(d))
        snprintf(dst, cap, "{}");
    else if (json_is_array(d) && json_array_size(d) == 1)
        snprintf(dst, cap, "%s", json_string_value(json_array_get(d, 0)));
    else
        return false;
    const char *word = strstr(dst, "Enum."); /* Python's name of a member; its word is written */
    if (word) memmove(dst, word + 5, strlen(word + 5) + 1);
    return strcmp(dst, "==SUPPRESS==") != 0 && !strchr(dst, '(');
}

static void check_option(const json_t *flag, size_t i) {
    const struct cli_opt *t = &cli_opts_table[i];
    const char *name = long_name(flag), *type = json_string_value(json_object_get(flag, "type")),
               *nargs = json_string_value(json_object_get(flag, "nargs"));
    size_t k;
    const json_t *v;
    char d[256];
    CHECK(cli_is_switch(t) == is_switch(flag) || listed(name), name, "a switch here or there");
    if (is_bool(flag)) CHECK(t->kind == CLI_BOOL || listed(name), name, "no --no- form");
    if (nargs && *nargs == '+') CHECK(t->kind == CLI_STRS || listed(name), name, "takes no list");
    if (type && strstr(type, "int"))
        CHECK(t->kind == CLI_U32 || t->kind == CLI_I32 || t->kind == CLI_U64 || t->kind == CLI_BYTES || listed(name),
              name, "takes no integer");
    if (type && !strcmp(type, "float")) CHECK(t->kind == CLI_F32 || listed(name), name, "takes no number");
    if (type && !strcmp(type, "loads"))
        CHECK(t->kind == CLI_JSON || t->kind == CLI_LIST || listed(name), name, "takes no JSON");
    json_array_foreach(json_object_get(flag, "choices"), k, v) {
        if (listed(name)) break;
        CHECK(cli_set_option(&g_opts, i, false, json_string_value(v), name) == CLI_OK, name, json_string_value(v));
    }
    if (!default_of(flag, d, sizeof d) || listed(name) || (!*d && !t->dflt)) return;
    float x, y;
    bool same = t->dflt && (!strcmp(t->dflt, d) || (cli_read_f32(t->dflt, &x) && cli_read_f32(d, &y) && x - y == 0));
    if (!t->dflt && !strcmp(d, "off")) same = true;
    CHECK(same, name, "another default");
}

static void check_row(const json_t *flag, const struct cli_vllm_flag *f) {
    static const char *const wrong[] = { "no such value", "-7.25" };
    const char *name = long_name(flag), *nargs = json_string_value(json_object_get(flag, "nargs"));
    char d[256];
    assert_string_equal(f->group, json_string_value(json_object_get(flag, "group")));
    assert_true(strlen(f->text) > 10);
    enum cli_takes takes = is_bool(flag)            ? CLI_TAKES_SWITCH
                           : is_switch(flag)        ? CLI_TAKES_NOTHING
                           : nargs && *nargs == '+' ? CLI_TAKES_MANY
                           : nargs                  ? CLI_TAKES_MAYBE
                                                    : CLI_TAKES_ONE;
    if (f->takes != takes) print_error("--%s takes another number of values\n", name);
    assert_int_equal(f->takes, takes);
    if (default_of(flag, d, sizeof d) && strcmp(d, "[]") != 0 && d[0] != '{')
        CHECK(cli_vllm_accepts(f, d) || listed(name), name, "refuses vLLM's default");
    if (is_switch(flag) || (f->accepts && !strcmp(f->accepts, "*"))) return;
    for (size_t i = 0; i < 2; i++)
        if (cli_vllm_accepts(f, wrong[i])) fail_msg("--%s accepts '%s'", name, wrong[i]);
}

static void test_all(void **state) {
    (void)state;
    size_t i, honoured = 0, refused = 0;
    const json_t *flag;
    if (!g_flags) {
        vc_left_out("reference/vllm-flags.json");
        return;
    }
    assert_int_equal(json_array_size(g_flags), 317);
    json_array_foreach(g_flags, i, flag) {
        size_t opt;
        const struct cli_vllm_flag *row;
        spellings(flag, &opt, &row);
        if (row)
            check_row(flag, row);
        else
            check_option(flag, opt);
        honoured += !row;
        refused += row != NULL;
    }
    size_t older = 0;
    for (size_t k = 0; k < cli_num_vllm_flags; k++) older += !strcmp(cli_vllm_flags[k].group, "Older");
    assert_int_equal(refused + older, cli_num_vllm_flags); /* no row that vLLM does not know, or knew */
    print_message("%zu flags are options, %zu are not\n", honoured, refused);
}

/* As a user meets them. */
static void said(int rc, const char *says, const char *const *argv) {
    struct said s = program(NULL, argv);
    if (s.rc != rc || !strstr(s.err, says)) print_error("expected %d, '%s', got %d: %s\n", rc, says, s.rc, s.err);
    assert_int_equal(s.rc, rc);
    assert_non_null(strstr(s.err, says));
    said_free(&s);
}
#define REFUSED(says, ...) said(2, says, (const char *const[]){ "serve", "m", "--print-config", __VA_ARGS__, NULL })
#define TAKEN(...) said(0, "", (const char *const[]){ "serve", "m", "--print-config", __VA_ARGS__, NULL })

static void test_words(void **state) {
    (void)state;
    TAKEN("-tp", "1", "-pp=1", "--data_parallel_size=1", "--no-enable-lora", "--enforce-eager", "-O3",
          "--device-memory-utilization", "0.9", "--max-model-len", "auto", "--port", "0");
    TAKEN("--dtype", "half", "--log-level", "CRITICAL", "--ignore-patterns", "original/**/*", "--cpu-offload-gb", "0.0",
          "--no-enable-auto-tool-choice");
    TAKEN("--disable-log-requests", "--swap-space", "0");
    REFUSED("-tp 2: one process computes", "-tp", "2");
    REFUSED("--tensor-parallel-size 8: one process computes", "--tensor-parallel-size=8");
    REFUSED("--enable-lora: adapters are not applied", "--enable-lora");
    REFUSED("--no-enable-flash-nothing", "--no-enable-flash-nothing");
    REFUSED("--compilation-config.mode 3: nothing is compiled", "--compilation-config.mode", "3");
    REFUSED("-cc {\"mode\": 3}: nothing is compiled", "-cc", "{\"mode\": 3}");
    REFUSED("--hf-token: nothing is downloaded", "--hf-token");
    REFUSED("--data-parallel-rank -1: one process", "--data-parallel-rank", "-1");
    REFUSED("--tensor-parallel-size needs a value", "--tensor-parallel-size");
    REFUSED("--enable-lora takes no value", "--enable-lora=1");
    REFUSED("unknown option --tensor-paralel-size; did you mean --tensor-parallel-size?", "--tensor-paralel-size", "1");
}

static int load(void **state) {
    (void)state;
    vc_err err = VC_ERR_INIT;
    if (*VC_GOLDENS && vc_json_load(&g_flags, VC_GOLDENS "/../reference/vllm-flags.json", &err) != VC_OK)
        g_flags = NULL;
    char *text = read_text(VC_TEST_GOLDENS "/../../doc/compat.md"), *begin = text ? strstr(text, "\n## Flags\n") : NULL,
         *end = begin ? strstr(begin + 2, "\n## ") : NULL;
    if (!begin) return -1;
    if (end) *end = '\0';
    g_differences = strdup(begin);
    free(text);
    char *argv[] = { (char[]){ "vllmc" } };
    g_opts.command = CLI_SERVE;
    return cli_read_options(&g_opts, 1, argv, 1);
}

static int unload(void **state) {
    (void)state;
    json_decref(g_flags);
    free(g_differences);
    cli_opts_free(&g_opts);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all), cmocka_unit_test(test_words) };
    return cmocka_run_group_tests(tests, load, unload);
}
