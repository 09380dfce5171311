/* SPDX-License-Identifier: Apache-2.0
 * models_test.c: two models in one process, asked at the same time: each answers bit for bit what it answers alone. */
#include <dirent.h>
#include <unistd.h>

#include "base/cpu.h"

#include "server/client.h"

enum { EACH = 4 };                         /* requests per model at once */
static struct server g_server;
static const char *const g_names[2] = { "a", "b" };

static const char *path_of(int model) { return vc_golden(model ? "models/qwen3" : "models/llama"); }

static void body_of(int model, int i, char *dst, size_t cap) {
    snprintf(dst, cap, "{\"model\":\"%s\",\"prompt\":[%d,17,23,5,%d,9,11],\"max_tokens\":24,\"temperature\":0.9,\"seed\":%d,\"logprobs\":3,\"return_token_ids\":true}",
             g_names[model], 3 + i, 40 + i, 100 + i);
}

/* The choices of an answer as text. */
static char *choices_of(const char *body) {
    json_error_t e;
    json_t *v = json_loads(body, 0, &e);
    if (!v || !json_object_get(v, "choices")) print_error("no choices: %.300s\n", body);
    assert_non_null(json_object_get(v, "choices"));
    char *text = json_dumps(json_object_get(v, "choices"), JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    assert_non_null(strstr(text, "token_ids"));
    json_decref(v);
    return text;
}

static void alone(int model, char *want[EACH]) {
    struct server s;
    SERVER_START(&s, path_of(model), "--served-model-name", g_names[model], "--kv-cache-memory-bytes", "16M", "--threads", "1");
    for (int i = 0; i < EACH; i++) {
        char body[512];
        body_of(model, i, body, sizeof body);
        struct answer a = post(&s, "/v1/completions", body);
        assert_int_equal(a.status, 200);
        want[i] = choices_of(a.body);
        answer_free(&a);
    }
    assert_int_equal(server_stop(&s), 0);
}

/* All requests are sent before the first answer is read. */
static void all_at_once(char *want[2][EACH]) {
    int fd[2][EACH];
    for (int i = 0; i < EACH; i++)
        for (int m = 0; m < 2; m++) {
            char body[512], text[1024];
            body_of(m, i, body, sizeof body);
            int n = snprintf(text, sizeof text, "POST /v1/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                             strlen(body), body);
            fd[m][i] = raw_open(&g_server);
            raw_send(fd[m][i], text, (size_t)n);
        }
    for (int i = 0; i < EACH; i++)
        for (int m = 0; m < 2; m++) {
            char *text = raw_read(fd[m][i], 60000, NULL), *body = strstr(text, "\r\n\r\n");
            assert_non_null(body);
            char *got = choices_of(body + 4);
            assert_string_equal(got, want[m][i]);
            free(got);
            free(text);
            close(fd[m][i]);
        }
}

static void start(const char *threads) {
    char a[1200], b[1200];
    snprintf(a, sizeof a, "a=%s,max-model-len=64,served-model-name=also-a%s", path_of(0), threads);
    snprintf(b, sizeof b, "b=%s,max_num_seqs=2,no-enable-prefix-caching%s", path_of(1), threads);
    SERVER_START(&g_server, "--model", a, "--model", b, "--log-level", "info");
}

/* Threads of the server that compute, beside those that step. */
static uint32_t workers(void) {
    char path[400], name[32];
    uint32_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)g_server.pid);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)g_server.pid, e->d_name);
        FILE *f = fopen(path, "r");
        if (!f) continue;
        if (fgets(name, sizeof name, f)) n += !strcmp(name, "vllmc-worker\n");
        fclose(f);
    }
    closedir(d);
    return n;
}

/* Turns at shared threads, bound or not, and threads of their own that fit the processors, or do not. */
static void same_bits(void **state) {
    (void)state;
    char *want[2][EACH];
    for (int m = 0; m < 2; m++) alone(m, want[m]);
    assert_string_not_equal(want[0][0], want[1][0]);
    static const struct { const char *options; uint32_t threads; } how[] = { { "", 0 }, { ",threads=1", 1 }, { ",cpu-bind=auto", 0 }, { ",threads=3", 3 } };
    for (size_t i = 0; i < VC_ARRAY_LEN(how); i++) {
        uint32_t all = vc_cpu_threads(), each = how[i].threads ? how[i].threads : all, both = 2 * (each - 1);
        start(how[i].options);
        for (int round = 0; round < 3; round++) all_at_once(want);
        assert_int_equal(workers(), VC_MIN(both, VC_MAX(each, all) - 1));
        assert_int_equal(server_stop(&g_server), 0);
    }
    for (int m = 0; m < 2; m++)
        for (int i = 0; i < EACH; i++) free(want[m][i]);
}

static void status_is(const char *path, const char *body, long status, const char *says) {
    struct answer a = body ? post(&g_server, path, body) : get(&g_server, path);
    if (a.status != status || (says && !strstr(a.body, says))) print_error("%s %s: %ld %.300s\n", path, body ? body : "", a.status, a.body);
    assert_int_equal(a.status, status);
    if (says) assert_non_null(strstr(a.body, says));
    answer_free(&a);
}

static void long_prompt(const char *model, char *dst, size_t cap) {
    size_t n = (size_t)snprintf(dst, cap, "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":[3", model);
    for (int i = 0; i < 99; i++) n += (size_t)snprintf(dst + n, cap - n, ",7");
    snprintf(dst + n, cap - n, "]}");
}

static void by_name(void **state) {
    (void)state;
    char body[1024];
    start("");
    long_prompt("a", body, sizeof body);
    status_is("/v1/completions", body, 400, "maximum context length is 64");
    long_prompt("also-a", body, sizeof body);
    status_is("/v1/completions", body, 400, "maximum context length is 64");
    long_prompt("b", body, sizeof body);
    status_is("/v1/completions", body, 200, "\"model\":\"b\"");
    status_is("/v1/completions", "{\"prompt\":[1,2],\"max_tokens\":1}", 200, "\"model\":\"a\"");
    status_is("/v1/completions", "{\"model\":\"c\",\"prompt\":[1,2],\"max_tokens\":1}", 404, "The model `c` does not exist.");
    status_is("/v1/messages", "{\"model\":\"c\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", 404, "not_found_error");
    status_is("/tokenize", "{\"model\":\"c\",\"prompt\":\"x\"}", 404, "does not exist");
    status_is("/health", NULL, 200, NULL);
    struct answer a = get(&g_server, "/v1/models");
    json_t *v = answer_json(&a), *data = json_object_get(v, "data");
    static const char *const ids[] = { "a", "also-a", "b" };
    assert_int_equal(json_array_size(data), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *m = json_array_get(data, i);
        assert_string_equal(json_string_value(json_object_get(m, "id")), ids[i]);
        assert_string_equal(json_string_value(json_object_get(m, "root")), path_of(i == 2));
        assert_true((json_integer_value(json_object_get(m, "max_model_len")) == 64) == (i < 2));
    }
    json_decref(v);
    answer_free(&a);
    assert_true(metric(&g_server, "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"a\"}") == 1);
    assert_true(metric(&g_server, "vllm:request_success_total{engine=\"1\",finished_reason=\"length\",model_name=\"b\"}") == 1);
    assert_true(metric(&g_server, "vllm:prompt_tokens_total{engine=\"1\",model_name=\"b\"}") == 100);
    char *log = read_text(g_server.err);
    assert_non_null(strstr(log, "model a: up to "));
    assert_non_null(strstr(log, "model b: up to "));
    assert_non_null(strstr(log, "take turns"));
    free(log);
    assert_int_equal(server_stop(&g_server), 0);
}

/* A start that cannot be names the model and the reason. */
static void refused(const char *b, int rc, const char *says) {
    char a[1200];
    snprintf(a, sizeof a, "a=%s", path_of(0));
    struct said s = PROGRAM(NULL, "serve", "--port", "0", "--kv-cache-memory-bytes", "16M", "--model", a, "--model", b);
    expect_rc(&s, rc, b);
    if (!strstr(s.err, says)) print_error("expected '%s' in: %s\n", says, s.err);
    assert_non_null(strstr(s.err, says));
    said_free(&s);
}

static void starts_that_fail(void **state) {
    (void)state;
    char b[1200];
    snprintf(b, sizeof b, "a=%s", path_of(1));
    refused(b, 2, "two models have the name a");
    snprintf(b, sizeof b, "b=%s,host=x", path_of(1));
    refused(b, 2, "host is one for all models");
    snprintf(b, sizeof b, "b=%s,max-model-lne=5", path_of(1));
    refused(b, 2, "unknown option 'max-model-lne'");
    snprintf(b, sizeof b, "b=%s,max-model-len=x", path_of(1));
    refused(b, 2, "max-model-len: 'x'");
    snprintf(b, sizeof b, "b=%s,cpu-bind=x", path_of(1));
    refused(b, 2, "cpu_bind: 'x'");
    refused("b=", 2, "expected [NAME=]PATH");
    refused("b=/nowhere/model.gguf", 1, "model b: /nowhere/model.gguf");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits), cmocka_unit_test(by_name), cmocka_unit_test(starts_that_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
