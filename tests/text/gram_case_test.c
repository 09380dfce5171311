/* SPDX-License-Identifier: Apache-2.0
 * The regex, grammar and choice rows of goldens/structured/cases.jsonl: every verdict, and errors where errors
 * belong. */
#include "test.h"

#include <jansson.h>

#include "text/grammar.h"

static unsigned n_cases, n_verdicts, n_wrong;

static void wrong(const char *id, const char *what, const char *detail) {
    printf("  %s: %s: %s\n", id, what, detail);
    n_wrong++;
}

static void strings(const char *id, struct vc_grammar *g, const json_t *list, bool want) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *s = json_array_get(list, i);
        struct vc_matcher *m = NULL;
        vc_err err = VC_ERR_INIT;
        assert_int_equal(vc_matcher_new(&m, g, NULL, &err), VC_OK);
        bool ok = vc_matcher_accept_bytes(m, json_string_value(s), json_string_length(s)) && vc_matcher_accepting(m);
        /* The same byte by byte, and every prefix of an accepted text must be one that can go on. */
        vc_matcher_reset(m);
        bool slow = true;
        for (size_t k = 0; slow && k < json_string_length(s); k++)
            slow = vc_matcher_accept_bytes(m, json_string_value(s) + k, 1);
        slow = slow && vc_matcher_accepting(m);
        if (ok != want || slow != want) wrong(id, want ? "not accepted" : "accepted", json_string_value(s));
        vc_matcher_del(m);
        n_verdicts++;
    }
}

static void one(const json_t *c) {
    const char *id = json_string_value(json_object_get(c, "id")), *kind = json_string_value(json_object_get(c, "kind"));
    if (!strcmp(kind, "json_schema")) return;
    const json_t *spec = json_object_get(c, "spec"), *error = json_object_get(c, "error");
    char *text = json_is_string(spec) ? strdup(json_string_value(spec)) : json_dumps(spec, JSON_ENCODE_ANY);
    size_t n = json_is_string(spec) ? json_string_length(spec) : strlen(text);
    struct vc_grammar *g = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_grammar_compile(&g, (enum vc_grammar_kind)vc_grammar_kind_of(kind), text, n, NULL, NULL, &err);
    n_cases++;
    if (json_is_true(error)) {
        if (s == VC_OK) wrong(id, "compiled, but is an error", text);
    } else if (s == VC_E_UNSUPPORTED && json_is_true(json_object_get(c, "unsupported"))) {
        assert_true(err.text[0]);
    } else if (s != VC_OK) {
        if (!json_is_null(error)) wrong(id, "did not compile", err.text);
    } else {
        strings(id, g, json_object_get(c, "accept"), true);
        strings(id, g, json_object_get(c, "reject"), false);
    }
    vc_grammar_unref(g);
    free(text);
}

static void cases(void **state) {
    (void)state;
    const char *path = vc_golden("structured/cases.jsonl");
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, f)) > 0) {
        json_error_t e;
        json_t *c = json_loadb(line, (size_t)n, JSON_ALLOW_NUL, &e);
        assert_non_null(c);
        one(c);
        json_decref(c);
    }
    free(line);
    fclose(f);
    printf("%u specs, %u verdicts, %u wrong\n", n_cases, n_verdicts, n_wrong);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_cases, 50);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
