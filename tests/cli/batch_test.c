/* SPDX-License-Identifier: Apache-2.0
 * batch_test.c: vllmc batch: results, refusals by line, and that a killed run is taken up without a lost or repeated line. */
#include "cli/program.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/json.h"

static char g_in[512], g_out[512];

static int setup(void **state) {
    (void)state;
    snprintf(g_in, sizeof g_in, "%s/cli-batch-%d.in.jsonl", VC_TEST_TMP, (int)getpid());
    snprintf(g_out, sizeof g_out, "%s/cli-batch-%d.out.jsonl", VC_TEST_TMP, (int)getpid());
    unlink(g_out);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    unlink(g_in);
    unlink(g_out);
    return 0;
}

/* All result lines as an array; each must be whole JSON. */
static json_t *results(void) {
    json_t *all = json_array();
    char *text = read_text(g_out);
    assert_non_null(text);
    size_t n = strlen(text);
    assert_true(n == 0 || text[n - 1] == '\n');
    for (char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        json_t *r = json_loadb(p, len, 0, NULL);
        if (!r) print_error("not a result: %.*s\n", (int)len, p);
        assert_non_null(r);
        json_array_append_new(all, r);
        p += len + 1;
    }
    free(text);
    return all;
}

static const json_t *by_id(const json_t *all, const char *id) {
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *r = json_array_get(all, i), *v = json_object_get(r, "custom_id");
        if (json_is_string(v) && !strcmp(json_string_value(v), id)) return r;
    }
    print_error("no result for %s\n", id);
    return NULL;
}

static void run_batch(int rc) {
    struct said s = PROGRAM(NULL, "batch", vc_golden("models/llama"), "-i", g_in, "-o", g_out, "--numerics", "f32");
    expect_rc(&s, rc, "batch");
    said_free(&s);
}

static void test_results(void **state) {
    (void)state;
    write_text(g_in, "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/"
                     "completions\",\"body\":{\"model\":\"x\",\"prompt\":[54],\"max_tokens\":6,\"temperature\":0,"
                     "\"return_token_ids\":true,\"logprobs\":2,\"stream\":false,\"tools\":null}}\n"
                     "{\"custom_id\":\"b\",\"method\":\"POST\",\"url\":\"/v1/"
                     "completions\",\"body\":{\"prompt\":[[54],[243,100,19,251,43]],\"max_tokens\":3,\"seed\":3,\"n\":2,"
                     "\"return_token_ids\":true,\"ignore_eos\":true}}\n"
                     "\n"
                     "{\"custom_id\":\"c\",\"url\":\"/v1/"
                     "completions\",\"body\":{\"prompt\":[54],\"temperature\":0,\"return_token_ids\":true,\"ignore_eos\":true}}\n");
    run_batch(0);
    json_t *all = results();
    assert_int_equal(json_array_size(all), 3);
    const json_t *a = by_id(all, "a"), *b = by_id(all, "b"), *c = by_id(all, "c");
    assert_true(json_is_null(json_object_get(a, "error")));
    assert_int_equal(json_integer_value(vc_json_at(a, "response.status_code")), 200);
    assert_string_equal(json_string_value(vc_json_at(a, "response.body.object")), "text_completion");
    assert_string_equal(json_string_value(vc_json_at(a, "response.body.model")), "x");
    json_t *want = json_pack("[i,i,i,i,i,i]", 48, 138, 73, 219, 96, 75);                       /* hf_f64 of the golden */
    assert_true(json_equal(vc_json_at(a, "response.body.choices.0.token_ids"), want));
    json_decref(want);
    assert_int_equal(json_array_size(vc_json_at(a, "response.body.choices.0.logprobs.token_logprobs")), 6);
    assert_int_equal(json_integer_value(vc_json_at(a, "response.body.usage.completion_tokens")), 6);
    assert_int_equal(json_integer_value(vc_json_at(a, "response.body.usage.total_tokens")), 7);
    const json_t *choices = vc_json_at(b, "response.body.choices");
    assert_int_equal(json_array_size(choices), 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(json_integer_value(json_object_get(json_array_get(choices, i), "index")), (json_int_t)i);
    assert_int_equal(json_array_size(vc_json_at(b, "response.body.choices.2.prompt_token_ids")), 5);
    assert_int_equal(json_array_size(vc_json_at(c, "response.body.choices.0.token_ids")), 16);     /* default of completions */
    json_decref(all);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct { const char *body, *text; } cases[] = {       /* text: of the message; NULL: honoured, or ignored as in vLLM */
        { "\"stream\":true", "stream" },
        { "\"temperature\":\"hot\"", "body.temperature" },
        { "\"stop_token_ids\":[-4]", "stop_token_ids" },
        { "\"n\":0", "n must be at least 1" },
        { "\"logit_bias\":{\"x\":1}", "logit_bias" },
        { "\"suffix\":\"x\"", "suffix" },
        { "\"vllm_xargs\":{\"x\":1}", "vllm_xargs" },
        { "\"max_tokens\":0", "max_tokens" },
        { "\"min_tokens\":-1", "min_tokens" },
        { "\"frobnicate\":1", NULL },
        { "\"echo\":true", NULL },
        { "\"messages\":[]", NULL },
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    char text[8192];
    int n = snprintf(text, sizeof text, "this is no JSON\n{\"method\":\"POST\"}\n{\"custom_id\":\"url\",\"url\":\"/v1/embeddings\",\"body\":{}}\n"
                     "{\"custom_id\":\"get\",\"method\":\"GET\",\"url\":\"/v1/completions\",\"body\":{}}\n"
                     "{\"custom_id\":\"health\",\"url\":\"/health\",\"body\":{}}\n"
                     "{\"custom_id\":\"cancel\",\"url\":\"/v1/responses/resp_1/cancel\",\"body\":{}}\n");
    for (size_t i = 0; i < CASES; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "{\"custom_id\":\"r%zu\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":[54],%s}}\n", i, cases[i].body);
    snprintf(text + n, sizeof text - (size_t)n, "{\"custom_id\":\"good\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":[54],\"max_tokens\":1}}\n");
    write_text(g_in, text);
    for (int round = 0; round < 2; round++) {                /* the second finds everything done */
        run_batch(0);
        json_t *all = results();
        assert_int_equal(json_array_size(all), 7 + CASES);
        assert_int_equal(json_integer_value(vc_json_at(by_id(all, "good"), "response.status_code")), 200);
        for (size_t i = 0; i < CASES; i++) {
            char id[16];
            snprintf(id, sizeof id, "r%zu", i);
            const json_t *r = by_id(all, id);
            assert_int_equal(json_integer_value(vc_json_at(r, "response.status_code")), cases[i].text ? 400 : 200);
            if (!cases[i].text) continue;
            assert_int_equal(json_integer_value(vc_json_at(r, "error.line")), (json_int_t)i + 7);
            const char *message = json_string_value(vc_json_at(r, "response.body.error.message"));
            if (!strstr(message, cases[i].text)) print_error("%s: %s\n", cases[i].body, message);
            assert_non_null(strstr(message, cases[i].text));
        }
        assert_int_equal(json_integer_value(vc_json_at(by_id(all, "url"), "response.status_code")), 404);
        assert_int_equal(json_integer_value(vc_json_at(by_id(all, "get"), "response.status_code")), 400);
        assert_int_equal(json_integer_value(vc_json_at(by_id(all, "health"), "response.status_code")), 405);
        assert_int_equal(json_integer_value(vc_json_at(by_id(all, "cancel"), "response.status_code")), 405);
        size_t bad = 0;
        for (size_t i = 0; i < json_array_size(all); i++) bad += json_is_null(json_object_get(json_array_get(all, i), "custom_id"));
        assert_int_equal(bad, 2);
        json_decref(all);
    }
}

static void test_duplicates(void **state) {
    (void)state;
    write_text(g_in, "{\"custom_id\":\"a\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":[1]}}\n\n{\"custom_id\":\"a\",\"url\":\"/v1/"
                     "completions\",\"body\":{\"prompt\":[2]}}\n");
    struct said s = PROGRAM(NULL, "batch", vc_golden("models/llama"), "-i", g_in, "-o", g_out);
    expect_rc(&s, 1, "batch");
    assert_non_null(strstr(s.err, "line 3: custom_id 'a' is also that of line 1"));
    said_free(&s);
    write_text(g_in, "{\"custom_id\":\"a\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":[1]}}\n");
    write_text(g_out, "some other file\n");
    s = PROGRAM(NULL, "batch", vc_golden("models/llama"), "-i", g_in, "-o", g_out);
    expect_rc(&s, 1, "batch");
    assert_non_null(strstr(s.err, "line 1 is not a result"));
    said_free(&s);
    char *kept = read_text(g_out);
    assert_string_equal(kept, "some other file\n");           /* and it is left alone */
    free(kept);
}

static void write_many(int n) {
    FILE *f = fopen(g_in, "wb");
    assert_non_null(f);
    for (int i = 0; i < n; i++)
        fprintf(f,
                "{\"custom_id\":\"q%d\",\"url\":\"/v1/"
                "completions\",\"body\":{\"prompt\":[%d,%d,%d],\"max_tokens\":40,\"temperature\":0,\"ignore_eos\":true,\"return_token_"
                "ids\":true}}\n",
                i, i % 251 + 3, i * 7 % 251 + 3, i * 13 % 251 + 3);
    fclose(f);
}

static long file_size(const char *path) {
    char *text = read_text(path);
    long n = text ? (long)strlen(text) : 0;
    free(text);
    return n;
}

/* The ids of each request from an undisturbed run are those of a run that was killed several times. */
static void test_kill(void **state) {
    (void)state;
    enum { REQUESTS = 150 };
    write_many(REQUESTS);
    run_batch(0);
    json_t *want = results();
    assert_int_equal(json_array_size(want), REQUESTS);
    unlink(g_out);
    const char *const argv[] = { "batch", vc_golden("models/llama"), "-i", g_in, "-o", g_out, "--numerics", "f32", "--max-num-seqs", "4", NULL };
    int kills = 0;
    for (int i = 0; i < 4; i++) {
        long before = file_size(g_out);
        pid_t pid = program_start(argv, "/dev/null", "/dev/null");
        int status, waited = 0;
        while (waitpid(pid, &status, WNOHANG) == 0) {
            usleep(1000);
            if (file_size(g_out) > before + 3000 * (i + 1) || ++waited > 20000) {
                kill(pid, SIGKILL);
                waitpid(pid, &status, 0);
                kills += WIFSIGNALED(status);
                break;
            }
        }
        FILE *f = fopen(g_out, "ab");                       /* a line that was cut in the middle */
        assert_non_null(f);
        fputs("{\"id\":\"batch_req_1\",\"custom_id\":\"q", f);
        fclose(f);
    }
    assert_true(kills >= 1);
    run_batch(0);
    json_t *all = results();
    assert_int_equal(json_array_size(all), REQUESTS);
    for (int i = 0; i < REQUESTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "q%d", i);
        assert_true(json_equal(vc_json_at(by_id(all, id), "response.body.choices.0.token_ids"),
                               vc_json_at(by_id(want, id), "response.body.choices.0.token_ids")));
    }
    printf("%d kills, %d requests, each answered once\n", kills, REQUESTS);
    json_decref(all);
    json_decref(want);
}

/* Ctrl-C: exit code 130, and what was ready is not done again. */
static void test_interrupt(void **state) {
    (void)state;
    enum { REQUESTS = 400 };
    write_many(REQUESTS);
    const char *const argv[] = { "batch", vc_golden("models/llama"), "-i", g_in, "-o", g_out, "--numerics", "f32", "--max-num-seqs", "2", NULL };
    pid_t pid = program_start(argv, "/dev/null", "/dev/null");
    int status = 0;
    for (int waited = 0; file_size(g_out) < 2000 && waited < 20000; waited++) usleep(1000);
    kill(pid, SIGINT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    json_t *some = results();
    assert_in_range(json_array_size(some), 1, REQUESTS - 1);
    for (size_t i = 0; i < json_array_size(some); i++)
        assert_int_equal(json_integer_value(vc_json_at(json_array_get(some, i), "response.body.usage.completion_tokens")), 40);
    json_decref(some);
    run_batch(0);
    json_t *all = results();
    assert_int_equal(json_array_size(all), REQUESTS);
    for (int i = 0; i < REQUESTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "q%d", i);
        assert_non_null(by_id(all, id));
    }
    json_decref(all);
}

static void test_chat(void **state) {
    (void)state;
    const char *m = real_model("SmolLM2-135M-Instruct.Q4_1.gguf");
    if (!m) {
        vc_left_out("SmolLM2-135M-Instruct.Q4_1.gguf");
        return;
    }
    write_text(g_in, "{\"custom_id\":\"x\",\"method\":\"POST\",\"url\":\"/v1/chat/"
                     "completions\",\"body\":{\"messages\":[{\"role\":\"system\",\"content\":\"You are terse.\"},"
                     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"What is the capital "
                     "of\"},{\"type\":\"text\",\"text\":\"France?\"}]}],\"max_completion_tokens\":12,\"temperature\":0,\"logprobs\":true,"
                     "\"top_logprobs\":2}}\n");
    struct said s = PROGRAM(NULL, "batch", m, "-i", g_in, "-o", g_out);
    expect_rc(&s, 0, "batch");
    said_free(&s);
    json_t *all = results();
    const json_t *r = by_id(all, "x");
    assert_string_equal(json_string_value(vc_json_at(r, "response.body.object")), "chat.completion");
    assert_string_equal(json_string_value(vc_json_at(r, "response.body.choices.0.message.role")), "assistant");
    assert_non_null(strstr(json_string_value(vc_json_at(r, "response.body.choices.0.message.content")), "Paris"));
    assert_int_equal(json_array_size(vc_json_at(r, "response.body.choices.0.logprobs.content.0.top_logprobs")), 2);
    json_decref(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_results, setup, teardown), cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_duplicates, setup, teardown), cmocka_unit_test_setup_teardown(test_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interrupt, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chat, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
