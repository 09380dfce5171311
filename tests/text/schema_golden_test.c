/* SPDX-License-Identifier: Apache-2.0
 * JSON schemas against goldens/structured: verdicts of jsonschema for cases.jsonl, token masks found by brute force
 * with xgrammar's matcher for token_masks.jsonl. */
#include <openssl/evp.h>

#include "schema_run.h"
#include "text/tokenizer.h"

static char *deep_schema(size_t depth) {
    struct vc_buf b = { 0 };
    for (size_t i = 0; i < depth; i++) vc_buf_adds(&b, "{\"type\":\"array\",\"items\":");
    vc_buf_adds(&b, "{\"type\":\"integer\"}");
    for (size_t i = 0; i < depth; i++) vc_buf_addc(&b, '}');
    return vc_buf_take(&b, NULL);
}

struct tally { size_t rows, strings, refused, either, bad; };

static void verdicts(struct vc_grammar *g, const char *id, const json_t *list, bool want, struct tally *t) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *s = json_array_get(list, i);
        size_t at;
        t->strings++;
        if (schema_accepts(g, json_string_value(s), json_string_length(s), &at) == want) continue;
        t->bad++;
        printf("%s: %s %.200s (%zu bytes taken)\n", id, want ? "should accept" : "should reject", json_string_value(s),
               at);
    }
}

static void one_case(const json_t *row, struct tally *t) {
    const char *id = json_string_value(json_object_get(row, "id"));
    const json_t *error = json_object_get(row, "error"), *text = json_object_get(row, "spec_text");
    struct vc_buf spec = { 0 };
    struct vc_grammar *g;
    struct vc_grammar_where where;
    vc_err err;
    if (json_is_string(text)) vc_buf_adds(&spec, json_string_value(text));
    else if (json_object_get(row, "spec_generator")) spec.p = deep_schema(3000), spec.n = strlen(spec.p);
    else spec = schema_text(json_object_get(row, "spec"));
    vc_status s = schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &spec, VC_GRAMMAR_WS_DEFAULT, &where, &err);
    t->rows++;
    if (s == VC_OK && json_is_true(error)) {
        t->bad++;
        printf("%s: should be an error\n", id);
    } else if (s == VC_OK) {
        verdicts(g, id, json_object_get(row, "accept"), true, t);
        verdicts(g, id, json_object_get(row, "reject"), false, t);
    } else if (!json_is_false(error)) {
        if (vc_status_http(s) != 400 || !strchr(where.path, '#')) {
            t->bad++;
            printf("%s: error without a place or class: %s\n", id, err.text);
        }
    } else if (json_is_true(json_object_get(row, "unsupported")) && s == VC_E_UNSUPPORTED && *where.keyword) {
        t->refused++;
        printf("%s refused: %s\n", id, err.text);
    } else {
        t->bad++;
        printf("%s: %s\n", id, err.text);
    }
    vc_grammar_unref(g);
    vc_buf_free(&spec);
}

static void cases(void **state) {
    (void)state;
    struct tally t = { 0 };
    const char *path = vc_golden("structured/cases.jsonl");
    if (!path) {
        vc_left_out("structured/cases.jsonl");
        return;
    }
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (json_t *row; (row = schema_next_row(f)); json_decref(row))
        if (!strcmp(json_string_value(json_object_get(row, "kind")), "json_schema")) one_case(row, &t);
    fclose(f);
    printf("%zu schemas, %zu strings, %zu refused, %zu wrong\n", t.rows, t.strings, t.refused, t.bad);
    assert_true(t.rows >= 100);
    assert_int_equal(t.bad, 0);
}

/* Where this grammar is wider or narrower than xgrammar's on purpose; the standard or cases.jsonl decide. */
static const char *set_aside(const json_t *row) {
    static const struct { const char *id, *mode, *prefix, *why;
    } list[] = {
        { "max_length", NULL, "",
          "escapes are allowed and count as one character; raw control characters are not JSON" },
        { "max_length", NULL, "\"",
          "escapes are allowed and count as one character; raw control characters are not JSON" },
        { "max_length", NULL, "\"ab",
          "escapes are allowed and count as one character; raw control characters are not JSON" },
        { "max_length", NULL, "\"日",
          "escapes are allowed and count as one character; raw control characters are not JSON" },
        { "any_true", "compact", "[1",
          "there a list is [1,\"a\"]; the golden allows a comma, but nothing that begins with one" },
        { NULL, NULL, NULL, NULL },
    };
    const char *id = json_string_value(json_object_get(row, "case")),
               *prefix = json_string_value(json_object_get(row, "prefix"));
    const char *mode = json_string_value(json_object_get(row, "mode"));
    for (size_t i = 0; list[i].id; i++)
        if (!strcmp(list[i].id, id) && !strcmp(list[i].prefix, prefix) &&
            (!list[i].mode || !strcmp(list[i].mode, mode)))
            return list[i].why;
    return NULL;
}

static json_t *case_of(const char *path, const char *id) {
    FILE *f = fopen(path, "rb");
    json_t *row;
    assert_non_null(f);
    while ((row = schema_next_row(f)) && strcmp(json_string_value(json_object_get(row, "id")), id) != 0)
        json_decref(row);
    fclose(f);
    assert_non_null(row);
    return row;
}

static void sha256(const uint32_t *bits, size_t bytes, char hex[65]) {
    unsigned char *le = malloc(bytes), md[32];
    for (size_t i = 0; i < bytes; i++) le[i] = (unsigned char)(bits[i / 4] >> i % 4 * 8);
    assert_int_equal(EVP_Digest(le, bytes, md, NULL, EVP_sha256(), NULL), 1);
    for (size_t i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", md[i]);
    free(le);
}

static bool mask_equal(const json_t *row, struct vc_grammar *g, struct vc_grammar_vocab *v) {
    const json_t *prefix = json_object_get(row, "prefix");
    size_t words = vc_grammar_mask_words(v), count = 0;
    uint32_t *bits = calloc(words, sizeof *bits);
    struct vc_matcher *m = NULL;
    vc_err err = VC_ERR_INIT;
    char hex[65];
    assert_int_equal(vc_matcher_new(&m, g, v, &err), VC_OK);
    bool taken = vc_matcher_accept_bytes(m, json_string_value(prefix), json_string_length(prefix));
    if (taken) assert_int_equal(vc_matcher_mask(m, bits, &err), VC_OK);
    for (uint32_t i = 0; i < vc_grammar_vocab_size(v); i++) count += bits[i / 32] >> i % 32 & 1;
    sha256(bits, (vc_grammar_vocab_size(v) + 7) / 8, hex);
    vc_matcher_del(m);
    free(bits);
    bool same = taken && !strcmp(hex, json_string_value(json_object_get(row, "sha256")));
    if (!same)
        printf("%s%s %s %s: %zu tokens, expected %lld\n", set_aside(row) ? "set aside: " : "",
               json_string_value(json_object_get(row, "case")), json_string_value(json_object_get(row, "mode")),
               json_string_value(prefix), count, (long long)json_integer_value(json_object_get(row, "count")));
    return same;
}

static struct vc_grammar *grammar_of(const char *cases_path, const char *id, bool compact) {
    json_t *row = case_of(cases_path, id);
    struct vc_buf spec = schema_text(json_object_get(row, "spec"));
    struct vc_grammar *g;
    struct vc_grammar_where where;
    vc_err err;
    if (schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &spec, compact ? VC_GRAMMAR_WS_COMPACT : VC_GRAMMAR_WS_ANY, &where,
                       &err)) {
        printf("%s: %s\n", id, err.text);
        fail();
    }
    vc_buf_free(&spec);
    json_decref(row);
    return g;
}

static struct vc_grammar_vocab *smollm2(void) {
    const char *dir = getenv("VLLMC_TEST_MODELS"), *home = getenv("HOME");
    char path[1024];
    struct vc_tokenizer *t = NULL;
    struct vc_grammar_vocab *v = NULL;
    vc_err err = VC_ERR_INIT;
    snprintf(path, sizeof path, "%s%s/SmolLM2-135M-Instruct.Q4_1.gguf",
             dir    ? dir
             : home ? home
                    : "",
             dir ? "" : "/.cache/vllmc/models");
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fclose(f);
    assert_int_equal(vc_tokenizer_open(&t, path, &err), VC_OK);
    int32_t eos = vc_tok_eos(t);
    assert_int_equal(vc_grammar_tokens(&v, t, &eos, 1, &err), VC_OK);
    vc_tokenizer_close(t);
    return v;
}

static void masks(void **state) {
    (void)state;
    const char *path = vc_golden("structured/token_masks.jsonl");
    char cases_path[1024];
    struct vc_grammar_vocab *v = path ? smollm2() : NULL;
    if (!v) {
        vc_left_out(path ? "SmolLM2-135M-Instruct.Q4_1.gguf" : "structured/token_masks.jsonl");
        return;
    }
    snprintf(cases_path, sizeof cases_path, "%s", vc_golden("structured/cases.jsonl"));
    char have[64] = "";
    struct vc_grammar *g = NULL;
    size_t rows = 0, same = 0, aside = 0;
    FILE *f = fopen(path, "rb");
    for (json_t *row; (row = schema_next_row(f)); json_decref(row)) {
        char want[64];
        const char *id = json_string_value(json_object_get(row, "case")),
                   *mode = json_string_value(json_object_get(row, "mode"));
        snprintf(want, sizeof want, "%.30s %.30s", id, mode);
        if (strcmp(have, want) != 0) {
            vc_grammar_unref(g);
            g = grammar_of(cases_path, id, !strcmp(mode, "compact"));
            memcpy(have, want, sizeof have);
        }
        rows++;
        if (mask_equal(row, g, v)) same++;
        else aside += set_aside(row) != NULL;
    }
    fclose(f);
    vc_grammar_unref(g);
    vc_grammar_vocab_del(v);
    printf("%zu of %zu masks equal, %zu set aside\n", same, rows, aside);
    assert_int_equal(same + aside, rows);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(cases), cmocka_unit_test(masks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
