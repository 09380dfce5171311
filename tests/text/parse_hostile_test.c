/* SPDX-License-Identifier: Apache-2.0
 * Outputs that want to cost time or memory, and the contract of the interface. No times are asserted: what is not
 * linear does not end within the test's limit. */
#include "parse_run.h"
#include "test.h"

static const json_t *no_tools;

static void run_all(const char *tool, const char *think, const char *text, size_t n) {
    static const int cuts[] = { CUT_ONE, 1, CUT_WHOLE };
    struct parse_result first, r;
    parse_run(&first, tool, think, no_tools, text, n, CUT_ONE, 0);
    if (first.wrong) printf("%s: %s\n", tool, first.wrong);
    assert_null(first.wrong);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        parse_run(&r, tool, think, no_tools, text, n, cuts[i], 0);
        if (r.wrong) printf("%s, %s: %s\n", tool, cut_name(cuts[i]), r.wrong);
        assert_null(r.wrong);
        if (cuts[i] != CUT_WHOLE) assert_null(parse_result_differs(&first, &r));
        parse_result_free(&r);
    }
    parse_result_free(&first);
}

static void run_tools(const char *text, size_t n) {
    const struct vc_parser_name *name;
    for (size_t i = 0; (name = vc_parser_tool_name(i)); i++) run_all(name->name, NULL, text, n);
}

static char *repeat(const char *head, const char *unit, const char *tail, size_t bytes, size_t *n) {
    struct vc_buf b = { 0 };
    vc_buf_adds(&b, head);
    while (b.n < bytes) vc_buf_adds(&b, unit);
    vc_buf_adds(&b, tail);
    return vc_buf_take(&b, n);
}

/* What could begin a marker, for each format; 1 MB of it for two. */
static void prefixes(void **state) {
    (void)state;
    static const char *const units[] = { "<",     "<tool_cal",     "{",   "[",          "[f(", "{\"a\":",
                                         "\n```", "<\xef\xbd\x9c", "```", "[TOOL_CALL", "<|",  "<think",
                                         " " };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n;
        char *s = repeat("", units[i], "", 1 << 14, &n);
        run_tools(s, n);
        free(s);
    }
    size_t n;
    char *s = repeat("", "<tool_cal", "", 1 << 20, &n);
    run_all("hermes", "deepseek_r1", s, n);
    free(s);
    s = repeat("", "<<<<<<<<", "", 1 << 20, &n);
    run_all("qwen3_xml", "qwen3", s, n);
    free(s);
}

/* 10^5 levels in arguments: malformed, in every format of JSON and of literals. */
static void deep(void **state) {
    (void)state;
    static const struct {
        const char *tool, *head, *unit;
    } rows[] = {
        { "hermes", "<tool_call>{\"name\": \"f\", \"arguments\": ", "[" },
        { "hermes", "<tool_call>{\"name\": \"f\", \"arguments\": ", "{\"a\":" },
        { "llama3_json", "", "{\"a\":" },
        { "mistral", "[TOOL_CALLS]f[ARGS]", "{\"a\":" },
        { "kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
          "[" },
        { "granite", "<|tool_call|>[{\"name\": \"f\", \"arguments\": ", "{\"a\":" },
        { "cohere_command3", "<|START_ACTION|>[{\"tool_name\": \"f\", \"parameters\": ", "[" },
        { "apertus", "<|tools_prefix|>[{\"f\": ", "{\"a\":" },
        { "pythonic", "[f(a=", "[" },
        { "lfm2", "<|tool_call_start|>[f(a=", "{1:" },
        { "olmo3", "<function_calls>f(a=", "(" },
        { "gemma4", "<|tool_call>call:f{a:", "{a:" },
        { "functiongemma", "<start_function_call>call:f{a:", "[" },
        { "qwen3_xml", "<tool_call><function=f><parameter=a>", "[" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n;
        char *s = repeat(rows[i].head, rows[i].unit, "", 100000 * strlen(rows[i].unit), &n);
        run_all(rows[i].tool, NULL, s, n);
        free(s);
    }
}

static void many_calls(void **state) {
    (void)state;
    size_t n;
    char *s = repeat("", "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", "", 1 << 18, &n);
    struct parse_result r;
    parse_run(&r, "hermes", NULL, NULL, s, n, CUT_ONE, 0);
    assert_int_equal(r.n_calls, 1024);
    assert_null(r.wrong);
    parse_result_free(&r);
    free(s);
}

/* Names, keys, values and reasoning that never end. */
static void endless(void **state) {
    (void)state;
    static const struct {
        const char *tool, *think, *head;
    } rows[] = {
        { "qwen3_xml", NULL, "<tool_call><function=" },
        { "qwen3_xml", NULL, "<tool_call><function=f><parameter=" },
        { "qwen3_xml", NULL, "<tool_call><function=f><parameter=a>" },
        { "glm45", NULL, "<tool_call>" },
        { "glm45", NULL, "<tool_call>f<arg_key>" },
        { "mistral", NULL, "[TOOL_CALLS]" },
        { "kimi_k2", NULL, "<|tool_calls_section_begin|><|tool_call_begin|>" },
        { "pythonic", NULL, "[" },
        { "pythonic", NULL, "[f(" },
        { "pythonic", NULL, "[f(a='" },
        { "pythonic", NULL, "[f(a=1" },
        { "gemma4", NULL, "<|tool_call>call:" },
        { "gemma4", NULL, "<|tool_call>call:f{" },
        { "gemma4", NULL, "<|tool_call>call:f{a:<|\"|>" },
        { "hermes", NULL, "<tool_call>{\"name\": \"" },
        { "hermes", NULL, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"" },
        { "openai", "openai_gptoss", "<|channel|>" },
        { "openai", "openai_gptoss", "" },
        { NULL, "granite", "Here is my thought process:" },
        { NULL, "olmo3", "<think>" },
        { NULL, "hunyuan_a13b", "<think>\n" },
        { NULL, "gemma4", "<|channel>thought\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n;
        char *s = repeat(rows[i].head, "1", "", 1 << 17, &n);
        run_all(rows[i].tool, rows[i].think, s, n);
        free(s);
    }
}

static void bytes(void **state) {
    (void)state;
    struct vc_buf b = { 0 };
    for (int i = 0; i < 4096; i++) vc_buf_addc(&b, (char)(i * 37 ^ i >> 3));
    vc_buf_adds(&b, "<tool_call>{\"name\": \"f\xff\", \"arguments\": {\"a\": \"\xc3\"}}</tool_call>");
    run_tools(b.p, b.n);
    /* a word that grows too long within a code point, in a call that was already sent */
    b.n = 0;
    vc_buf_adds(&b, "[f(a=");
    for (int i = 0; i < 400; i++) vc_buf_adds(&b, "\xef\xbf\xbd");
    vc_buf_adds(&b, " tail");
    run_tools(b.p, b.n);
    b.n = 0;
    vc_buf_add(&b, "a\0b<tool_call>\0{\"name\": \"f\"}\xe2\x82", 31);
    run_tools(b.p, b.n);
    vc_buf_free(&b);
}

static void unknown_names(void **state) {
    (void)state;
    struct vc_parser *p = NULL;
    vc_err err = VC_ERR_INIT;
    struct vc_parser_params q = { .tool_parser = "hermess" };
    assert_int_equal(vc_parser_new(&p, &q, &err), VC_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "hermess"));
    assert_non_null(strstr(err.text, "granite-20b-fc"));
    q = (struct vc_parser_params){ .reasoning_parser = "identity" };
    assert_int_equal(vc_parser_new(&p, &q, &err), VC_E_NOT_FOUND);
    json_t *tools = json_object();
    q = (struct vc_parser_params){ .tool_parser = "hermes", .tools = tools };
    assert_int_equal(vc_parser_new(&p, &q, &err), VC_E_INVALID);
    json_decref(tools);
    q = (struct vc_parser_params){ .tool_parser = "openai", .reasoning_parser = "qwen3" };
    assert_int_equal(vc_parser_new(&p, &q, &err), VC_E_INVALID);
    assert_null(p);
}

/* Every name works alone, and the tables are sorted for people. */
static void all_names(void **state) {
    (void)state;
    const struct vc_parser_name *name;
    static const char text[] = "Hello <b>world</b> & [1] {2}.";
    for (size_t i = 0; (name = vc_parser_tool_name(i)); i++) {
        struct parse_result r;
        parse_run(&r, name->name, NULL, NULL, text, sizeof text - 1, 1, 0);
        assert_null(r.wrong);
        assert_int_equal(r.n_calls, 0);
        assert_string_equal(r.content.p, text);
        parse_result_free(&r);
        assert_true(strlen(name->text) > 3);
        if (i) assert_true(strcmp(vc_parser_tool_name(i - 1)->name, name->name) < 0);
    }
    for (size_t i = 0; (name = vc_parser_reasoning_name(i)); i++) {
        if (i) assert_true(strcmp(vc_parser_reasoning_name(i - 1)->name, name->name) < 0);
    }
}

static void collect(void *user, const struct vc_parse_delta *d) {
    struct vc_buf *b = user;
    vc_buf_printf(b, "%c%.*s|", "RCBAE"[d->kind], (int)d -> text.n, d->text.p);
}

static void feed(struct vc_buf *b, const struct vc_parser_params *q, const char *const *push) {
    struct vc_parser *p = NULL;
    vc_err err = VC_ERR_INIT;
    struct vc_parse_sink sink = { collect, b };
    b->n = 0;
    assert_int_equal(vc_parser_new(&p, q, &err), VC_OK);
    for (; *push; push++) assert_int_equal(vc_parser_push(p, *push, strlen(*push), &sink, &err), VC_OK);
    assert_int_equal(vc_parser_finish(p, &sink, &err), VC_OK);
    assert_int_equal(vc_parser_push(p, "x", 1, &sink, &err), VC_E_STATE);
    vc_parser_del(p);
}

/* Text is sent when it is certain: names before arguments, arguments and long strings as they arrive. */
static void as_it_arrives(void **state) {
    (void)state;
    struct vc_buf b = { 0 };
    struct vc_parser_params q = { .tool_parser = "hermes", .reasoning_parser = "deepseek_r1", .thinking_open = true };
    feed(&b, &q,
         (const char *const[]){ "I ", "think</th", "ink>Hi", " there<tool", "_call>{\"name\": \"f\"",
                                ", \"arguments\": {\"a\":", " 1}", "}</tool_call>", NULL });
    assert_string_equal(b.p, "RI |Rthink|CHi|C there|Bf|A{\"a\":|A 1}|E|");
    q = (struct vc_parser_params){ .tool_parser = "hermes", .reasoning_parser = "deepseek_r1", .thinking_off = true };
    feed(&b, &q, (const char *const[]){ "I think</think>Hi", NULL });
    assert_string_equal(b.p, "CI think</think>Hi|");
    q = (struct vc_parser_params){ .tool_parser = "hermes", .no_calls = true };
    feed(&b, &q, (const char *const[]){ "A<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", NULL });
    assert_string_equal(b.p, "CA|");
    q = (struct vc_parser_params){ .tool_parser = "hermes", .whole = true };
    feed(&b, &q, (const char *const[]){ "A<tool_call>{\"name\": \"f\", ", "\"arguments\": {\"a\": ", NULL });
    assert_string_equal(b.p, "CA<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": |");
    /* a string without end takes the rest of the output, unless all of it waits */
    q = (struct vc_parser_params){ .tool_parser = "kimi_k2", .whole = true };
    const char *const unclosed[] = {
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": \"1}<|tool_call_end|>",
        "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", NULL,
    };
    feed(&b, &q, unclosed);
    assert_string_equal(b.p, "Bf|A{\"a\": \"1}|E|Bg|A{}|E|");
    vc_buf_free(&b);
    /* a string of 600 bytes is not held until its end */
    char *s = malloc(700);
    struct vc_parser *p = NULL;
    vc_err err = VC_ERR_INIT;
    struct vc_parse_sink sink = { collect, &b };
    memset(s, 'x', 600);
    q = (struct vc_parser_params){ .tool_parser = "qwen3_coder" };
    assert_int_equal(vc_parser_new(&p, &q, &err), VC_OK);
    static const char head[] = "<tool_call><function=f><parameter=a>";
    assert_int_equal(vc_parser_push(p, head, strlen(head), &sink, &err), VC_OK);
    assert_int_equal(vc_parser_push(p, s, 600, &sink, &err), VC_OK);
    assert_true(b.n > 600);
    vc_parser_del(p);
    free(s);
    vc_buf_free(&b);
}

/* Literals of the Python formats, and their JSON. */
static void python(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        { "1", "1" },
        { "-1.5", "-1.5" },
        { "+3", "3" },
        { "--2", "2" },
        { "1_000", "1000" },
        { "0x1F", "31" },
        { "07", "7" },
        { "1e3", "1e3" },
        { ".5", "0.5" },
        { "1.", "1.0" },
        { "True", "true" },
        { "false", "false" },
        { "None", "null" },
        { "''", "\"\"" },
        { "'a' \"b\"", "\"ab\"" },
        { "r'\\n'", "\"\\\\n\"" },
        { "'\\x41\\u00e9\\n\\\\'", "\"A\xc3\xa9\\n\\\\\"" },
        { "'\\ud83d\\ude00'", "\"\xf0\x9f\x98\x80\"" },
        { "'''a'b\n'''", "\"a'b\\n\"" },
        { "f'x'", "\"x\"" },
        { "'\\101\\q'", "\"A\\\\q\"" },
        { "[1, 'a', None]", "[1, \"a\", null]" },
        { "(1, 2)", "[1, 2]" },
        { "(1)", "1" },
        { "('a')", "\"a\"" },
        { "()", "[]" },
        { "(1,)", "[1]" },
        { "{}", "{}" },
        { "{'a': 1, 'b': [2, {}]}", "{\"a\": 1, \"b\": [2, {}]}" },
        { "{1: 'x', None: 2, True: 3}", "{\"1\": \"x\", \"null\": 2, \"true\": 3}" },
        { "{'a', 'b'}", "[\"a\", \"b\"]" },
        { "[[], [[]],]", "[[], [[]]]" },
        { "{'a': ('b' 'c'),}", "{\"a\": \"bc\"}" },
    };
    static const char *const bad[] = {
        "1+1",         "open('x')",     "x",         "b'a'",      "f'{1}'",      "__import__('os')",
        "[1",          "{'a': 1, 'b'}", "{1, 2: 3}", "'a' + 'b'", "not True",    "-'a'",
        "'\\N{DASH}'", "1 2",           "[1 2]",     "lambda: 1", "'a'.upper()", "{[1]: 2}"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256], want[256];
        struct parse_result r;
        snprintf(text, sizeof text, "[f(k=%s)]", rows[i][0]);
        snprintf(want, sizeof want, "{\"k\": %s}", rows[i][1]);
        parse_run(&r, "pythonic", NULL, NULL, text, strlen(text), 1, 0);
        if (r.n_calls != 1 || strcmp(r.call[0].args.p, want) != 0)
            printf("%s: %s\n", text, r.n_calls ? r.call[0].args.p : r.content.p);
        assert_int_equal(r.n_calls, 1);
        assert_string_equal(r.call[0].args.p, want);
        assert_true(r.call[0].complete);
        parse_result_free(&r);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];
        struct parse_result r;
        snprintf(text, sizeof text, "[f(k=%s)]", bad[i]);
        parse_run(&r, "pythonic", NULL, NULL, text, strlen(text), 1, 0);
        if (r.n_calls) printf("%s: %s\n", text, r.call[0].args.p);
        assert_int_equal(r.n_calls, 0);
        assert_string_equal(r.content.p, text);
        parse_result_free(&r);
    }
}

/* Types of a parameter's text, by schema. */
static void types(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        { "{\"type\":\"integer\"}", "007", "7" },
        { "{\"type\":\"integer\"}", "7.5", "7.5" },
        { "{\"type\":\"integer\"}", "many", "\"many\"" },
        { "{\"type\":\"number\"}", "1e3", "1e3" },
        { "{\"type\":\"number\"}", "inf", "\"inf\"" },
        { "{\"type\":\"number\"}", "1e999", "\"1e999\"" },
        { "{\"type\":\"boolean\"}", "True", "true" },
        { "{\"type\":\"boolean\"}", "0", "false" },
        { "{\"type\":[\"string\",\"null\"]}", "null", "null" },
        { "{\"type\":\"string\"}", "null", "\"null\"" },
        { "{\"type\":\"string\"}", "{\\\"a\\\":1}", "\"{\\\\\\\"a\\\\\\\":1}\"" },
        { "{\"type\":\"object\"}", "{\\\"a\\\":1}", "{\\\"a\\\":1}" },
        { "{\"type\":\"array\"}", "[1, 2]", "[1, 2]" },
        { "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}", "12", "12" },
        { "{\"enum\":[1,2]}", "2", "2" },
        { "{}", "5", "\"5\"" },
        { "true", "5", "\"5\"" },
        { "{\"type\":\"int\"}", "5", "5" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char schema[512], text[256], want[256], raw[128], value[128];
        size_t n = 0, m = 0;
        for (const char *s = rows[i][1]; *s; s++)
            if (*s != '\\') raw[n++] = *s;
        raw[n] = '\0';
        for (const char *s = rows[i][2]; *s; s++) {
            if (*s == '\\') s++;
            value[m++] = *s;
        }
        value[m] = '\0';
        snprintf(schema, sizeof schema,
                 "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"k\":%s}}}}]",
                 rows[i][0]);
        snprintf(text, sizeof text, "<tool_call><function=f><parameter=k>%s</parameter></function></tool_call>", raw);
        snprintf(want, sizeof want, "{\"k\": %s}", value);
        json_t *tools = json_loads(schema, 0, NULL);
        assert_non_null(tools);
        struct parse_result r;
        parse_run(&r, "qwen3_coder", NULL, tools, text, strlen(text), 1, 0);
        assert_int_equal(r.n_calls, 1);
        if (!parse_json_equal(r.call[0].args.p, want)) printf("%s as %s: %s\n", raw, rows[i][0], r.call[0].args.p);
        assert_true(parse_json_equal(r.call[0].args.p, want));
        parse_result_free(&r);
        json_decref(tools);
    }
}

static void detect(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        { "{{ '<tool_call>' }}", "hermes", NULL },
        { "<tool_call><function=x><parameter=y> <|im_start|> </think>", "qwen3_coder", "qwen3" },
        { "[TOOL_CALLS] [THINK]", "mistral", "mistral" },
        { "<|tool_calls_section_begin|> </think>", "kimi_k2", "kimi_k2" },
        { "<tool_call> <arg_key> </think>", "glm45", "glm45" },
        { "<|channel|> <|message|>", "openai", "openai_gptoss" },
        { "nothing", NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct vc_parser_choice c = vc_parser_detect(rows[i][0], strlen(rows[i][0]));
        assert_true(rows[i][1] ? c.tool && !strcmp(c.tool, rows[i][1]) : !c.tool);
        assert_true(rows[i][2] ? c.reasoning && !strcmp(c.reasoning, rows[i][2]) : !c.reasoning);
    }
    static const struct {
        const char *parser, *prompt;
        bool opens;
    } prompts[] = {
        { "qwen3", "<|im_start|>assistant\n<think>\n", true },
        { "qwen3", "<think> is a tag<|im_start|>assistant\n", false },
        { "gemma4", "<|channel>thought\n", true },
        { "none", "<think>", false },
    };
    for (size_t i = 0; i < sizeof prompts / sizeof prompts[0]; i++) {
        assert_int_equal(vc_parser_opens(prompts[i].parser, prompts[i].prompt, strlen(prompts[i].prompt)),
                         prompts[i].opens);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes),  cmocka_unit_test(deep),          cmocka_unit_test(many_calls),
        cmocka_unit_test(endless),   cmocka_unit_test(bytes),         cmocka_unit_test(unknown_names),
        cmocka_unit_test(all_names), cmocka_unit_test(as_it_arrives), cmocka_unit_test(python),
        cmocka_unit_test(types),     cmocka_unit_test(detect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
