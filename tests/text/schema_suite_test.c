/* SPDX-License-Identifier: Apache-2.0
 * JSON schemas against goldens/structured/schema_suite.jsonl (tests/text/make/schema_suite.py): what Python's
 * jsonschema calls invalid is never accepted; what it calls valid is, where order and spelling are those of the schema.
 */
#include "schema_run.h"

struct tally { size_t rows, accept, reject, either, taken, refused, nothing, bad; };

static void texts(struct vc_grammar *g, const json_t *row, const char *list, int want, struct tally *t) {
    const json_t *l = json_object_get(row, list);
    for (size_t i = 0; i < json_array_size(l); i++) {
        const json_t *s = json_array_get(l, i);
        size_t at;
        bool got = schema_accepts(g, json_string_value(s), json_string_length(s), &at);
        if (want < 0) {
            t->either++;
            t->taken += got;
        } else {
            *(want ? &t->accept : &t->reject) += 1;
        }
        if (want < 0 || got == (want == 1)) continue;
        char *spec = json_dumps(json_object_get(row, "spec"), JSON_COMPACT | JSON_ENCODE_ANY);
        printf("%s: should %s %s (%zu bytes taken): %.600s\n", json_string_value(json_object_get(row, "id")), list,
               json_string_value(s), at, spec);
        free(spec);
        t->bad++;
    }
}

static void one_schema(const json_t *row, struct tally *t) {
    const char *id = json_string_value(json_object_get(row, "id")),
               *refuse = json_string_value(json_object_get(row, "refuse"));
    struct vc_buf spec = schema_text(json_object_get(row, "spec"));
    struct vc_grammar *g;
    struct vc_grammar_where where;
    vc_err err;
    vc_status s = schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &spec, VC_GRAMMAR_WS_DEFAULT, &where, &err);
    bool nothing = !json_array_size(json_object_get(row, "accept")) && !json_array_size(json_object_get(row, "either"));
    t->rows++;
    if (s == VC_OK) {
        texts(g, row, "accept", 1, t);
        texts(g, row, "either", -1, t);
        texts(g, row, "reject", 0, t);
    } else if (s == VC_E_UNSUPPORTED && !strcmp(where.keyword, refuse ? refuse : "uniqueItems")) {
        t->refused++;
        printf("%s refused: %s\n", id, err.text);
    } else if (s == VC_E_INVALID && nothing) {
        t->nothing++;
    } else {
        printf("%s: %s: %.600s\n", id, err.text, spec.p);
        t->bad++;
    }
    vc_grammar_unref(g);
    vc_buf_free(&spec);
}

static void suite(void **state) {
    (void)state;
    struct tally t = { 0 };
    const char *path = vc_golden("structured/schema_suite.jsonl");
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    for (json_t *row; (row = schema_next_row(f)); json_decref(row)) one_schema(row, &t);
    fclose(f);
    printf("%zu schemas (%zu refused, %zu without a value), %zu to accept, %zu to reject, %zu of %zu optional ones "
           "taken, %zu wrong\n",
           t.rows, t.refused, t.nothing, t.accept, t.reject, t.taken, t.either, t.bad);
    assert_true(t.rows > 200);
    assert_int_equal(t.bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(suite) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
