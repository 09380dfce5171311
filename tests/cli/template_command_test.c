/* SPDX-License-Identifier: Apache-2.0
 * vllmc template: conversations for people, JSON lines, and errors with their place. */
#include "cli/program.h"

#define JINJA VC_TEST_TMP "/chat_template_test.jinja"
#define CONFIG VC_TEST_TMP "/chat_template_test.json"
#define CONVERSATION VC_TEST_TMP "/chat_template_test_messages.json"

static const char text[] = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
                           "{% if tools %}tools: {{ tools | length }}\n{% endif %}{% if add_generation_prompt %}<assistant>{% endif %}";

static void says(int rc, const char *out, const char *err, const char *const *argv) {
    struct said s = program("", argv);
    expect_rc(&s, rc, argv[1]);
    if (out) assert_string_equal(s.out, out);
    if (err && !strstr(s.err, err)) fail_msg("expected \"%s\": %s", err, s.err);
    said_free(&s);
}
#define SAYS(rc, out, err, ...) says(rc, out, err, (const char *const[]){ "template", __VA_ARGS__, NULL })

static void test_conversation(void **state) {
    (void)state;
    write_text(JINJA, text);
    write_text(CONVERSATION, "[{\"role\":\"user\",\"content\":\"hi\"}]");
    SAYS(0, "<user>hi\n<assistant>", NULL, JINJA, "-f", CONVERSATION);
    write_text(CONVERSATION, "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[{}],\"kwargs\":{\"bos_token\":\"^\"}}");
    SAYS(0, "^<user>hi\ntools: 1\n", NULL, JINJA, "-f", CONVERSATION);
    SAYS(2, NULL, "tools[0].function: must be an object", JINJA, "-f", CONVERSATION, "--served");
    write_text(CONVERSATION, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},\"b\"]}]}");
    SAYS(0, "<user>a\nb\n<assistant>", NULL, JINJA, "-f", CONVERSATION, "--served");
    write_text(CONVERSATION, "{}");
    SAYS(2, NULL, "messages: missing", JINJA, "-f", CONVERSATION);
}

/* Two templates in a tokenizer_config.json; the one for tools is taken when there are tools. */
static void test_config(void **state) {
    (void)state;
    write_text(CONFIG, "{\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":\"</s>\",\"chat_template\":[{\"name\":\"default\",\"template\":"
                       "\"{{ bos_token }}plain\"},{\"name\":\"tool_use\",\"template\":\"{{ eos_token }}tools\"}]}");
    write_text(CONVERSATION, "{\"messages\":[],\"tools\":[{}]}");
    SAYS(0, "</s>tools", NULL, CONFIG, "-f", CONVERSATION);
    write_text(CONVERSATION, "{\"messages\":[]}");
    SAYS(0, "<s>plain", NULL, CONFIG, "-f", CONVERSATION);
    json_t *about = PROGRAM_JSON(0, "template", CONFIG, "--json");
    assert_int_equal(json_array_size(json_object_get(about, "templates")), 2);
    assert_string_equal(json_string_value(json_object_get(about, "bos_token")), "<s>");
    json_decref(about);
}

static void test_errors(void **state) {
    (void)state;
    write_text(CONVERSATION, "[{\"role\":\"user\",\"content\":\"hi\"}]");
    write_text(JINJA, "line one\n\t{{ messages[0].content.x.y }}");
    SAYS(1, "", "line 2, column 26: 'str object' has no attribute 'x'\n     2 | \t{{ messages[0].content.x.y }}\n       | \t                        ^\n",
         JINJA, "-f", CONVERSATION);
    write_text(JINJA, "{{ 'a' | nosuch }}");
    SAYS(1, "", "line 1, column 10: no filter named 'nosuch'\n     1 | {{ 'a' | nosuch }}\n       |          ^\n", JINJA);
    SAYS(1, "", "there is no chat template", VC_TEST_TMP);
}

static void test_lines(void **state) {
    (void)state;
    static const char *const want[] = {
        "{\"output\":\"<user>hi\\n\"}",
        "{\"output\":\"<user>hi\\n<assistant>\"}",
        "{\"error\":\"the template variable 'tools' is set by the renderer and can't be given\",\"line\":null,\"column\":null}",
        "{\"error\":\"messages: must be a list, not integer\",\"line\":null,\"column\":null}",
        NULL,   /* a message that is a number: the words and the place are looked at below */
    };
    static const char input[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"model\":\"m\"}\n\n"
                                "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"add_generation_prompt\":true}\n"
                                "{\"messages\":[],\"kwargs\":{\"tools\":1}}\n{\"messages\":1}\n{\"messages\":[1]}";
    write_text(JINJA, "{{ bos_token }}{% for m in messages %}<{{ m.role.upper() | lower }}>{{ m.content }}\n{% endfor %}"
                      "{% if add_generation_prompt %}<assistant>{% endif %}");
    struct said s = PROGRAM(input, "template", JINJA, "--jsonl");
    expect_rc(&s, 1, "--jsonl with lines that are errors");
    char *p = s.out;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        size_t n = strcspn(p, "\n");
        assert_int_equal(p[n], '\n');
        p[n] = '\0';
        if (want[i]) assert_string_equal(p, want[i]);
        else if (!strstr(p, "has no attribute 'role'") || !strstr(p, "\"line\":1,\"column\":")) fail_msg("%s", p);
        p += n + 1;
    }
    assert_int_equal(*p, 0);
    said_free(&s);
    s = PROGRAM("{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n", "template", JINJA, "--jsonl");
    expect_rc(&s, 0, "--jsonl");
    said_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_conversation), cmocka_unit_test(test_config),
                                        cmocka_unit_test(test_errors), cmocka_unit_test(test_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
