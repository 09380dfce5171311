/* SPDX-License-Identifier: Apache-2.0
 * constrain_test.c: vllmc constrain: verdicts for people, and JSON lines with the masks of goldens/structured. */
#include "cli/program.h"

#define SCHEMA "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"],\"additionalProperties\":false}"

static void says(int rc, const char *want, const char *const *argv) {
    struct said s = program("", argv);
    expect_rc(&s, rc, argv[2]);
    if (!strstr(rc == 2 ? s.err : s.out, want)) {
        print_error("expected \"%s\": %s%s\n", want, s.out, s.err);
        fail();
    }
    said_free(&s);
}
#define SAYS(rc, want, ...) says(rc, want, (const char *const[]){ "constrain", __VA_ARGS__, NULL })

static void test_plain(void **state) {
    (void)state;
    SAYS(0, "accepted", "--schema", SCHEMA, "{\"a\": 12}");
    SAYS(1, "not allowed at byte 6", "--schema", SCHEMA, "{\"a\": x}");
    SAYS(1, "  {\"a\": x}\n        ^ not allowed", "--schema", SCHEMA, "{\"a\": x}");
    SAYS(1, "incomplete at byte 5", "--schema", SCHEMA, "{\"a\":");
    SAYS(1, "possible here: }\n", "--whitespace", "compact", "--schema", "{\"type\":\"object\",\"maxProperties\":0}", "{");
    SAYS(0, "accepted", "--regex", "a+b", "aab");
    SAYS(0, "accepted", "--choice", "red", "--choice", "green", "green");
    SAYS(0, "accepted", "--grammar", "root ::= \"x\"+", "xxx");
    SAYS(0, "accepted", "--json-object", "{}");
    SAYS(1, "possible here: <\n", "--structural-tag", "{\"format\":{\"type\":\"const_string\",\"value\":\"<x>\"}}", "");
    SAYS(2, "#/items: type: \"integr\" is no type", "--schema", "{\"items\":{\"type\":\"integr\"}}", "[]");
    SAYS(2, "needs a specification", "x");
    SAYS(2, "more than one", "--json-object", "--regex", "a", "x");
    SAYS(2, "expected compact, any or a number", "--whitespace", "some", "--json-object", "x");
}

static json_t *line_of(const char **p) {
    size_t n = strcspn(*p, "\n");
    json_t *row = json_loadb(*p, n, 0, NULL);
    assert_non_null(row);
    *p += n + ((*p)[n] == '\n');
    return row;
}

static void test_lines(void **state) {
    static const char input[] =
        "{\"kind\":\"json_schema\",\"spec\":{\"type\":\"integer\"},\"text\":\"12\"}\n"
        "{\"kind\":\"json_schema\",\"spec\":{\"type\":\"integer\"},\"text\":\"-\"}\n"
        "{\"kind\":\"json_schema\",\"spec\":{\"type\":\"integer\"},\"text\":\"x\"}\n"
        "{\"kind\":\"json_schema\",\"spec\":{\"properties\":{\"a\":{\"uniqueItems\":true,\"type\":\"array\"}}}}\n"
        "{\"kind\":\"regex\",\"spec\":\"[0-9]+\"}\n"
        "not JSON\n"
        "{\"kind\":\"nonsense\",\"spec\":1}\n";
    (void)state;
    struct said s = PROGRAM(input, "constrain", "--jsonl");
    expect_rc(&s, 0, "--jsonl");
    const char *p = s.out;
    for (int i = 0; i < 7; i++) {
        json_t *r = line_of(&p);
        const json_t *accepts = json_object_get(r, "accepts"), *prefix = json_object_get(r, "prefix_ok");
        if (i < 3) assert_true(json_is_true(accepts) == (i == 0) && json_is_true(prefix) == (i < 2));
        if (i == 3) {
            assert_string_equal(json_string_value(json_object_get(r, "keyword")), "uniqueItems");
            assert_string_equal(json_string_value(json_object_get(r, "path")), "#/properties/a");
        }
        if (i == 4) assert_true(json_is_true(json_object_get(r, "compiles")));
        if (i > 4) assert_non_null(json_object_get(r, "error"));
        json_decref(r);
    }
    said_free(&s);
}

/* One mask of the goldens, by its hash. */
static void test_mask(void **state) {
    (void)state;
    const char *m = real_model("SmolLM2-135M-Instruct.Q4_1.gguf"), *path = vc_golden("structured/token_masks.jsonl");
    if (!m || !path) {
        vc_left_out("SmolLM2-135M-Instruct.Q4_1.gguf");
        return;
    }
    char *text = read_text(path);
    const char *p = text;
    struct said s = PROGRAM("{\"kind\":\"json_schema\",\"spec\":{\"type\":\"integer\",\"minimum\":18,\"maximum\":120},\"text\":\"12\"}\n", "constrain",
                            "--jsonl", "--tokenizer", m, "--whitespace", "compact");
    expect_rc(&s, 0, "--tokenizer");
    const char *out = s.out;
    json_t *got = line_of(&out);
    bool found = false;
    while (*p && !found) {
        json_t *row = line_of(&p);
        found = !strcmp(json_string_value(json_object_get(row, "case")), "min_max_int") &&
                !strcmp(json_string_value(json_object_get(row, "prefix")), "12");
        if (found) {
            assert_string_equal(json_string_value(json_object_get(got, "sha256")), json_string_value(json_object_get(row, "sha256")));
            assert_true(json_equal(json_object_get(got, "allowed"), json_object_get(row, "count")));
            assert_true(json_equal(json_object_get(got, "eos"), json_object_get(row, "eos")));
        }
        json_decref(row);
    }
    assert_true(found);
    json_decref(got);
    said_free(&s);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain), cmocka_unit_test(test_lines), cmocka_unit_test(test_mask) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
