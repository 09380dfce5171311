/* SPDX-License-Identifier: Apache-2.0
 * Recorded answers of vLLM's parsers, and what is right where those are faulty: every row in every cutting. */
#include <ctype.h>

#include "parse_run.h"
#include "test.h"

static const char *const tool_files[] = {
    "apertus",
    "cohere_command3",
    "deepseek_v3",
    "deepseek_v31",
    "deepseek_v32",
    "deepseek_v4",
    "ernie45",
    "functiongemma",
    "gemma4",
    "glm45",
    "glm47",
    "granite-20b-fc",
    "granite",
    "granite4",
    "harmony",
    "hermes",
    "hunyuan_a13b",
    "internlm",
    "jamba",
    "kimi_k2",
    "lfm2",
    "llama3_json",
    "llama3_json_python_tag",
    "llama4_pythonic",
    "longcat",
    "minimax_m2",
    "mistral_json",
    "mistral_v11",
    "olmo3",
    "phi4_mini_json",
    "pythonic",
    "qwen3_coder",
    "qwen3_json",
    "qwen3_xml",
    "seed_oss",
    "step3",
    "xlam",
};
static const char *const reasoning_files[] = {
    "deepseek_r1", "deepseek_r1_no_start",    "glm45_reasoning",   "granite_reasoning", "holo2", "hy_v3",
    "mimo",        "minimax_m2_append_think", "mistral_reasoning", "nemotron_v3",       "qwen3", "qwen3_no_start",
    "step3p5",
};

/* Rows that are not followed, and why. `whole`: only the answer that waits differs. */
static const struct {
    const char *file, *name, *why;
} left[] = {
#include "parse_left.def"
};

static const char *reason_to_leave(const char *file, const char *name) {
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        bool all = !strcmp(left[i].name, "*");
        if (!strcmp(left[i].file, file) && (all || !strcmp(left[i].name, name))) return left[i].why;
    }
    return NULL;
}

static bool text_equal(const char *have, const json_t *want, bool trim) {
    const char *w = json_is_string(want) ? json_string_value(want) : "";
    size_t n = have ? strlen(have) : 0, m = strlen(w);
    if (!have) have = "";
    while (trim && n && isspace((unsigned char)have[n - 1])) n--;
    while (trim && m && isspace((unsigned char)w[m - 1])) m--;
    while (trim && n && isspace((unsigned char)*have)) have++, n--;
    while (trim && m && isspace((unsigned char)*w)) w++, m--;
    return n == m && !memcmp(have, w, n);
}

static const char *row_differs(const struct parse_result *r, const json_t *row) {
    const json_t *want = json_object_get(row, "expected"), *calls = json_object_get(want, "tool_calls");
    if (r->wrong) return r->wrong;
    if (json_is_null(want)) return NULL;
    bool trim = !strcmp(json_string_value(json_object_get(row, "source")), "sane");
    if (!text_equal(r->reasoning.p, json_object_get(want, "reasoning"), trim)) return "reasoning";
    if (!text_equal(r->content.p, json_object_get(want, "content"), trim)) return "content";
    if (r->n_calls != json_array_size(calls)) return "number of calls";
    for (uint32_t i = 0; i < r->n_calls; i++) {
        const json_t *c = json_array_get(calls, i);
        if (!text_equal(r->call[i].name.p, json_object_get(c, "name"), false)) return "name";
        const char *args = json_string_value(json_object_get(c, "arguments"));
        if (!parse_json_equal(r->call[i].args.p, args)) return "arguments";
    }
    return NULL;
}

static void show(const struct parse_result *r, const json_t *row, const char *file, int cut, const char *what) {
    char *want = json_dumps(json_object_get(row, "expected"), JSON_COMPACT);
    printf("%s: %s, %s: %s\n  text %.300s\n  want %.300s\n  have reasoning %.100s | content %.200s |", file,
           json_string_value(json_object_get(row, "case")), cut_name(cut), what,
           json_string_value(json_object_get(row, "text")), want, r->reasoning.p ? r->reasoning.p : "",
           r->content.p ? r->content.p : "");
    for (uint32_t i = 0; i < r->n_calls && i < 4; i++)
        printf(" %s(%.200s)%s", r->call[i].name.p ? r->call[i].name.p : "",
               r->call[i].args.p ? r->call[i].args.p : "", r->call[i].complete ? "" : " cut");
    printf("\n");
    free(want);
}

/* Kinds in which a stream that has sent a name may differ from the answer that waits. */
static bool may_differ(const char *name) {
    return !strncmp(name, "truncated_", 10) || !strcmp(name, "malformed") || !strcmp(name, "start_marker_only");
}

static int row_test(const char *file, const json_t *row, const json_t *tools, size_t n_ok[2]) {
    static const int cuts[] = { CUT_ONE, 1, 3, 7, CUT_TOKEN, CUT_RANDOM, CUT_RANDOM };
    const char *text = json_string_value(json_object_get(row, "text")),
               *name = json_string_value(json_object_get(row, "case"));
    const char *tool = json_string_value(json_object_get(row, "tool_parser")),
               *think = json_string_value(json_object_get(row, "reasoning_parser"));
    const char *leave = reason_to_leave(file, name);
    size_t n = json_string_length(json_object_get(row, "text"));
    struct parse_result first, r;
    int bad = 0;
    parse_run(&r, tool, think, tool ? tools : NULL, text, n, CUT_WHOLE, 0);
    const char *what = row_differs(&r, row);
    n_ok[0] += !what;
    if (what && !leave) show(&r, row, file, CUT_WHOLE, what), bad = 1;
    if (!what && leave) printf("%s: %s is followed after all\n", file, name);
    parse_result_free(&r);
    parse_run(&first, tool, think, tool ? tools : NULL, text, n, CUT_ONE, 0);
    what = row_differs(&first, row);
    n_ok[1] += !what;
    bool free_kind = may_differ(name) && !first.wrong;
    if (what && !leave && !free_kind) show(&first, row, file, CUT_ONE, what), bad = 1;
    for (size_t i = 1; i < sizeof cuts / sizeof cuts[0]; i++) {
        parse_run(&r, tool, think, tool ? tools : NULL, text, n, cuts[i], (uint32_t)i * 977u);
        what = r.wrong ? r.wrong : parse_result_differs(&first, &r);
        if (what) show(&r, row, file, cuts[i], what), bad = 1;
        parse_result_free(&r);
    }
    parse_result_free(&first);
    return bad;
}

static int file_test(const char *folder, const char *file, const json_t *tools, size_t *rows, size_t *ok) {
    char name[128];
    snprintf(name, sizeof name, "%s/%s.jsonl", folder, file);
    const char *path = vc_golden(name);
    if (!path) {
        vc_left_out(name);
        return 0;
    }
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    static char line[1 << 20];
    size_t n = 0, n_ok[2] = { 0, 0 };
    int bad = 0;
    while (fgets(line, sizeof line, f)) {
        json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        bad += row_test(file, row, tools, n_ok);
        n++;
        json_decref(row);
    }
    fclose(f);
    printf("%-24s %3zu rows, %3zu as they wait, %3zu in pieces\n", file, n, n_ok[0], n_ok[1]);
    *rows += n;
    *ok += n_ok[0] < n_ok[1] ? n_ok[0] : n_ok[1];
    return bad;
}

static void run_files(const char *folder, const char *const *files, size_t n_files) {
    const char *path = vc_golden("tool-parsers/tools.json");
    if (!path) {
        vc_left_out("tool-parsers/tools.json");
        return;
    }
    json_t *tools = json_load_file(path, 0, NULL);
    size_t rows = 0, ok = 0;
    int bad = 0;
    for (size_t i = 0; i < n_files; i++) bad += file_test(folder, files[i], tools, &rows, &ok);
    printf("%s: %zu rows, %d wrong\n", folder, rows, bad);
    json_decref(tools);
    assert_int_equal(bad, 0);
    assert_true(rows > 0);
}

static void tool_rows(void **state) {
    (void)state;
    run_files("tool-parsers", tool_files, sizeof tool_files / sizeof tool_files[0]);
}

static void reasoning_rows(void **state) {
    (void)state;
    run_files("reasoning-parsers", reasoning_files, sizeof reasoning_files / sizeof reasoning_files[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(tool_rows), cmocka_unit_test(reasoning_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
