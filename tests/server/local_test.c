/* SPDX-License-Identifier: Apache-2.0
 * local_test.c: the same bodies over HTTP and as lines of vllmc batch: equal statuses, equal JSON, so equal ids and
 * log-probabilities, although a batch runs its lines together. */
#include <unistd.h>

#include "io/json.h"
#include "server/client.h"

struct body { const char *path, *json; };
static const struct body text_bodies[] = {
    { "/v1/completions", "{\"prompt\":\"the the\",\"max_tokens\":9,\"temperature\":0,\"logprobs\":3,\"return_token_ids\":true}" },
    { "/v1/completions", "{\"prompt\":[\"a\",[5,6,7]],\"n\":2,\"best_of\":2,\"seed\":4,\"max_tokens\":7,\"echo\":true,\"logprobs\":2}" },
    { "/v1/completions", "{\"prompt\":\"a\",\"use_beam_search\":true,\"n\":2,\"max_tokens\":5,\"temperature\":0}" },
    { "/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":12,\"seed\":1,\"structured_outputs\":{\"regex\":\"[0-9]{3,8}\"}}" },
    { "/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":4,\"prompt_logprobs\":1,\"logit_bias\":{\"7\":5},\"seed\":9,\"stop\":[\"qq\"]}" },
    { "/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}],\"seed\":3,"
                              "\"max_completion_tokens\":10,\"logprobs\":true,\"top_logprobs\":2,\"return_token_ids\":true}" },
    { "/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"seed\":3,\"max_tokens\":40,\"response_format\":"
                              "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"o\",\"schema\":{\"type\":\"object\",\"properties\":"
                              "{\"a\":{\"type\":\"boolean\"}},\"required\":[\"a\"],\"additionalProperties\":false}}}}" },
    { "/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"seed\":3,\"max_tokens\":60,\"tool_choice\":\"required\","
                              "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\","
                              "\"properties\":{\"a\":{\"enum\":[1,2]}},\"required\":[\"a\"],\"additionalProperties\":false}}}]}" },
    { "/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[{\"type\":\"function\"}]}" },
    { "/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"temperature\":\"hot\",\"top_p\":7}" },
    { "/v1/chat/completions", "{\"messages\":[]}" },
    { "/v1/completions", "{\"prompt\":[1],\"max_tokens\":0}" },
    { "/v1/completions", "{\"prompt\":[1],\"model\":\"nobody\"}" },
    { "/v1/completions", "{}" },
    { "/v1/embeddings", "{\"input\":\"a\"}" },
    { "/v1/responses", "{\"input\":\"hi\",\"max_output_tokens\":5,\"temperature\":0}" },
    { "/v1/messages", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"max_tokens\":5,\"temperature\":0,\"model\":\"m\"}" },
    { "/tokenize", "{\"prompt\":\"some text\"}" },
};
static const struct body vector_bodies[] = {
    { "/v1/embeddings", "{\"input\":[[3,4,5],[6]]}" },
    { "/v1/embeddings", "{\"input\":\"one text\",\"encoding_format\":\"base64\"}" },
    { "/score", "{\"text_1\":\"a text\",\"text_2\":[\"another\",\"a third\"]}" },
    { "/v1/rerank", "{\"query\":\"a text\",\"documents\":[\"another\",\"a third\"]}" },
    { "/v1/embeddings", "{\"input\":[1],\"dimensions\":16}" },
    { "/v1/embeddings", "{\"input\":[]}" },
    { "/v1/completions", "{\"prompt\":[1]}" },
};

/* What differs from call to call: ids and times. */
static void drop_ids(json_t *v) {
    json_t *e;
    const char *key;
    size_t i;
    static const char *const names[] = { "id", "created", "created_at", "completed_at" };
    if (json_is_object(v))
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) json_object_del(v, names[k]);
    json_object_foreach(v, key, e) drop_ids(e);
    json_array_foreach(v, i, e) drop_ids(e);
}

/* One line per body, two of each, through the program; the bodies of its answers as lists by line. */
static json_t *run_lines(const struct body *b, size_t n, const char *const *argv) {
    char in[512], out[512];
    snprintf(in, sizeof in, "%s/local-%d.in.jsonl", VC_TEST_TMP, (int)getpid());
    snprintf(out, sizeof out, "%s/local-%d.out.jsonl", VC_TEST_TMP, (int)getpid());
    unlink(out);
    FILE *f = fopen(in, "wb");
    assert_non_null(f);
    for (size_t i = 0; i < 2 * n; i++)
        fprintf(f, "{\"custom_id\":\"%zu\",\"url\":\"%s\",\"body\":%s}\n", i, b[i % n].path, b[i % n].json);
    fclose(f);
    const char *words[32] = { "batch", NULL };
    size_t k = 1;
    for (const char *const *a = argv; *a; a++) words[k++] = *a;
    const char *const tail[] = { "-i", in, "-o", out, NULL };
    for (size_t i = 0; i < 5; i++) words[k++] = tail[i];
    struct said s = program(NULL, words);
    expect_rc(&s, 0, "batch");
    said_free(&s);
    json_t *all = json_object();
    char *text = read_text(out);
    assert_non_null(text);
    for (char *p = text; *p; p += strcspn(p, "\n") + 1) {
        json_t *r = json_loadb(p, strcspn(p, "\n"), 0, NULL);
        assert_non_null(r);
        assert_null(json_object_get(all, json_string_value(json_object_get(r, "custom_id"))));
        json_object_set(all, json_string_value(json_object_get(r, "custom_id")), r);
        json_decref(r);
    }
    free(text);
    unlink(in);
    unlink(out);
    assert_int_equal(json_object_size(all), 2 * n);
    return all;
}

static void compare(const struct body *b, size_t n, size_t least_good, const char *const *argv) {
    struct server s;
    json_t *lines = run_lines(b, n, argv);
    size_t good = 0;
    server_start(&s, argv);
    for (size_t i = 0; i < 2 * n; i++) {
        char key[16];
        snprintf(key, sizeof key, "%zu", i);
        struct answer a = post(&s, b[i % n].path, b[i % n].json);
        json_t *want = answer_json(&a), *got = json_deep_copy(vc_json_at(json_object_get(lines, key), "response.body"));
        drop_ids(want);
        drop_ids(got);
        if (!json_equal(want, got)) {
            char *text = json_dumps(got, JSON_COMPACT);
            print_error("%s %s\nover HTTP: %s\nin a batch: %s\n", b[i % n].path, b[i % n].json, a.body, text ? text : "nothing");
            free(text);
        }
        assert_true(json_equal(want, got));
        assert_int_equal(json_integer_value(vc_json_at(json_object_get(lines, key), "response.status_code")), a.status);
        assert_int_equal(json_is_null(json_object_get(json_object_get(lines, key), "error")), a.status == 200);
        good += a.status == 200;
        json_decref(want);
        json_decref(got);
        answer_free(&a);
    }
    assert_true(good >= 2 * least_good);
    json_decref(lines);
    assert_int_equal(server_stop(&s), 0);
}

static void test_text(void **state) {
    (void)state;
    const char *const argv[] = {
        vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), "--served-model-name", "m", "--kv-cache-memory-bytes", "16M", "--threads", "1",
        "--chat-template", "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]",
        "--enable-auto-tool-choice", "--tool-call-parser", "hermes", NULL
    };
    compare(text_bodies, sizeof text_bodies / sizeof *text_bodies, 11, argv);
}

static void test_vectors(void **state) {
    (void)state;
    const char *const argv[] = { vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), "--convert", "embed", "--served-model-name", "m",
                                 "--kv-cache-memory-bytes", "16M", "--threads", "1", NULL };
    compare(vector_bodies, sizeof vector_bodies / sizeof *vector_bodies, 4, argv);
}

/* No line can hold bytes. */
static void test_refused(void **state) {
    (void)state;
    static const struct body cases[] = {
        { "/v1/embeddings", "{\"input\":[1,2],\"encoding_format\":\"bytes\"}" },
        { "/v1/embeddings", "{\"input\":[1,2],\"encoding_format\":\"bytes_only\"}" },
    };
    const char *const argv[] = { vc_golden("models/qwen3-embed"), "--kv-cache-memory-bytes", "16M", "--threads", "1", NULL };
    for (size_t i = 0; i < 2; i++) {
        json_t *lines = run_lines(&cases[i], 1, argv);
        assert_int_equal(json_integer_value(vc_json_at(lines, "0.response.status_code")), 400);
        assert_string_equal(json_string_value(vc_json_at(lines, "0.response.body.error.param")), "encoding_format");
        json_decref(lines);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_text), cmocka_unit_test(test_vectors), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
