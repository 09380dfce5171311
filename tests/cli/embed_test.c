/* SPDX-License-Identifier: Apache-2.0
 * embed_test.c: vllmc embed: vLLM's recorded vectors from JSON lines, in the order of the lines; what cannot be done says so in its place. */
#include "cli/program.h"

#include <math.h>

#include "io/json.h"

static json_t *golden(void) {
    json_t *root = json_load_file(vc_golden("models/qwen3-embed/golden.json"), 0, NULL);
    assert_non_null(root);
    return root;
}

/* The next line of *text as JSON. */
static json_t *next_line(char **text) {
    size_t n = strcspn(*text, "\n");
    json_t *v = json_loadb(*text, n, 0, NULL);
    if (!v) print_error("no JSON: %.*s\n", (int)n, *text);
    assert_non_null(v);
    *text += n + ((*text)[n] == '\n');
    return v;
}

static double difference(const json_t *a, const json_t *b) {
    double most = 0;
    assert_int_equal(json_array_size(a), 64);
    for (size_t i = 0; i < 64; i++) most = fmax(most, fabs(json_number_value(json_array_get(a, i)) - json_number_value(json_array_get(b, i))));
    return most;
}

static void lines(void **state) {
    (void)state;
    json_t *root = golden(), *prompts = json_object_get(root, "prompts"), *pooled = vc_json_at(root, "refs.vllm_bf16_cc1.pooled");
    char in[16384] = "";
    for (size_t i = 0; i < 5; i++) {
        char *ids = json_dumps(json_array_get(prompts, i), JSON_COMPACT);
        strcat(strcat(strcat(in, "{\"ids\":"), ids), i == 1 ? "}\n\n{\"text\":5}\n[]x\n{\"ids\":[256]}\n" : "}\n");
        free(ids);
    }
    struct said s = PROGRAM(in, "embed", vc_golden("models/qwen3-embed"), "--jsonl", "--max-num-seqs", "2", "--kv-cache-memory-bytes", "16M");
    expect_rc(&s, 1, "embed --jsonl");
    static const char *const words[] = { "text", "line 5", "256" };
    char *at = s.out;
    for (size_t i = 0; i < 5; i++) {
        json_t *v = next_line(&at);
        assert_int_equal(json_integer_value(json_object_get(v, "tokens")), json_array_size(json_array_get(prompts, i)));
        assert_true(difference(json_object_get(v, "embedding"), json_array_get(pooled, i)) < 1.01e-6);
        json_decref(v);
        for (size_t k = 0; i == 1 && k < 3; k++) {
            v = next_line(&at);
            const char *text = json_string_value(json_object_get(v, "error"));
            assert_non_null(text);
            assert_non_null(strstr(text, words[k]));
            json_decref(v);
        }
    }
    assert_int_equal(*at, '\0');
    said_free(&s);
    json_decref(root);
}

/* A model that was made to generate is converted; options of the command. */
static void one_text(void **state) {
    (void)state;
    struct said s = PROGRAM("Hello, world", "embed", vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), "-", "--kv-cache-memory-bytes", "16M");
    expect_rc(&s, 0, "embed -");
    json_t *v = json_loads(s.out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(v, "embedding")), 256);
    double sum = 0;
    for (size_t i = 0; i < 256; i++) sum += pow(json_number_value(json_array_get(json_object_get(v, "embedding"), i)), 2);
    assert_true(fabs(sum - 1) < 1e-5);
    json_decref(v);
    said_free(&s);
    v = PROGRAM_JSON(0, "embed", vc_golden("models/qwen3-embed"), "--prompt-ids", "1,2", "--no-use-activation", "--kv-cache-memory-bytes", "16M");
    assert_true(fabs(json_number_value(json_array_get(json_object_get(v, "embedding"), 0)) - 0.8125) < 0.01);
    json_decref(v);
}

static void wrong(const char *word, const char *const *argv, int rc) {
    struct said s = program("", argv);
    expect_rc(&s, rc, word);
    if (!strstr(s.err, word)) fail_msg("'%s' does not name '%s'", s.err, word);
    said_free(&s);
}
#define WRONG(rc, word, ...) wrong(word, (const char *const[]){ "embed", __VA_ARGS__, NULL }, rc)

static void errors(void **state) {
    (void)state;
    const char *m = vc_golden("models/qwen3-embed");
    WRONG(2, "needs a model", "--jsonl");
    WRONG(2, "no text", m);
    WRONG(2, "more than one", m, "-p", "a", "-");
    WRONG(2, "unexpected", m, "text");
    WRONG(2, "standard input", m, "--jsonl", "-p", "a");
    WRONG(2, "matryoshka", m, "--prompt-ids", "1", "--dimensions", "8");
    WRONG(1, "tokenizer", m, "-p", "a");
    WRONG(2, "pooling_type", m, "--prompt-ids", "1", "--pooler-config", "{\"pooling_type\":\"MAX\"}");
    struct said s = PROGRAM(NULL, "run", m, "--prompt-ids", "1");
    expect_rc(&s, 1, "run");
    assert_non_null(strstr(s.err, "makes embeddings"));
    said_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(lines), cmocka_unit_test(one_text), cmocka_unit_test(errors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
