/* SPDX-License-Identifier: Apache-2.0
 * limits_test.c: what a hostile or careless client meets: sizes, forms, keys, leaving, a full queue, the end of the server.
 * The model is the small one of goldens/models; prompts are token ids. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/client.h"

static struct server g_server;

static int open_server(void **state) {
    (void)state;
    const char *model = vc_golden("models/llama");
    SERVER_START(&g_server, model, "--served-model-name", "tiny", "--max-body-bytes", "64K", "--max-num-seqs", "4", "--max-num-queued-reqs", "96",
                 "--allowed-origins", "http://good.example", "--kv-cache-memory-bytes", "64M", "--threads", "1");
    return 0;
}

static int close_server(void **state) {
    (void)state;
    return server_stop(&g_server);
}

static void status_of(const char *path, const char *body, long want) {
    struct answer a = post(&g_server, path, body);
    if (a.status != want) print_error("%s %.200s: status %ld, expected %ld: %.300s\n", path, body, a.status, want, a.body);
    assert_int_equal(a.status, want);
    answer_free(&a);
}

/* The error object of an answer: type and param. */
static void error_is(const char *path, const char *body, long status, const char *type, const char *param) {
    struct answer a = post(&g_server, path, body);
    assert_int_equal(a.status, status);
    json_t *v = answer_json(&a), *e = json_object_get(v, "error");
    assert_string_equal(json_string_value(json_object_get(e, "type")), type);
    if (param) assert_string_equal(json_string_value(json_object_get(e, "param")), param);
    else assert_true(json_is_null(json_object_get(e, "param")));
    assert_int_equal(json_integer_value(json_object_get(e, "code")), status);
    json_decref(v);
    answer_free(&a);
}

static void works(void) { status_of("/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":3,\"temperature\":0}", 200); }

static void bodies(void **state) {
    (void)state;
    const char *path = "/v1/completions";
    static const char *const bad[] = { "{", "[]", "nul", "\"x\"", "{\"prompt\":[1,2],\"prompt\":[1]}", "{\"prompt\":\"a\\u0000\xff\"}", "{\"a\":1}{", "\x01\x02",
                                       "{\"prompt\":{}}", "{\"prompt\":[\"a\",1]}", "{\"prompt\":[1.5]}", "{\"prompt\":[[1],[-1]]}", "{\"prompt\":[99999999999999999999]}",
                                       "{\"prompt\":[1],\"temperature\":1e999}", "{\"prompt\":[1],\"n\":100000}", "{\"prompt\":[1],\"stop\":[[]]}",
                                       "{\"prompt\":[1],\"logit_bias\":{\"1\":\"x\"}}", "{\"prompt\":[1],\"stop_token_ids\":[123456789]}", "{\"prompt\":[[]]}" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) status_of(path, bad[i], 400);
    error_is(path, "{\"prompt\":[1],\"max_tokens\":\"x\"}", 400, "Bad Request", "body.max_tokens");
    error_is(path, "{\"prompt\":[1],\"watermarking\":true}", 400, "BadRequestError", "watermarking");
    error_is(path, "{\"prompt\":[1],\"prompt_embeds\":\"abc\"}", 400, "BadRequestError", "prompt_embeds");
    error_is(path, "{\"prompt\":[1],\"temperature\":-1}", 400, "BadRequestError", "temperature");
    error_is("/v1/chat/completions", "{\"messages\":[1]}", 400, "Bad Request", "body.messages.0");
    status_of(path, "{\"prompt\":[1],\"max_tokens\":1,\"unknown_field\":{\"a\":[1]},\"best_of\":1,\"use_beam_search\":false}", 200);
    works();
}

static void depth(void **state) {
    (void)state;
    char *deep = malloc(60001);
    memset(deep, '[', 60000);
    deep[60000] = '\0';
    status_of("/v1/completions", deep, 400);
    status_of("/v1/chat/completions", deep, 400);
    status_of("/tokenize", deep, 400);
    free(deep);
    works();
}

static void too_large(void **state) {
    (void)state;
    size_t n = 200000;
    char *body = malloc(n + 1);
    memset(body, ' ', n);
    body[n] = '\0';
    struct answer a = ask(&g_server, "POST", "/v1/completions", body, n, NULL);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    a = ask(&g_server, "POST", "/v1/completions", body, n, "Transfer-Encoding: chunked");
    assert_int_equal(a.status, 413);
    answer_free(&a);
    free(body);
    works();
}

static void raw(const char *bytes, size_t n, const char *begins) {
    int fd = raw_open(&g_server);
    raw_send(fd, bytes, n);
    char *text = raw_read(fd, 1500, NULL);
    if (strncmp(text, begins, strlen(begins)) != 0) print_error("%.60s: %.200s\n", bytes, text);
    assert_true(!strncmp(text, begins, strlen(begins)));
    free(text);
    close(fd);
}
#define RAW(bytes, begins) raw(bytes, sizeof(bytes) - 1, begins)

static void malformed_http(void **state) {
    (void)state;
    RAW("\0\0\0\0\r\n\r\n", "");
    RAW("GET\r\n\r\n", "");
    RAW("GET / HTTP/9.9\r\n\r\n", "HTTP/1.");
    RAW("POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 4");
    RAW("POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", "HTTP/1.1 4");
    RAW("POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "");
    char *long_header = malloc(80000);
    size_t n = (size_t)sprintf(long_header, "GET /health HTTP/1.1\r\nHost: a\r\nX: ");
    memset(long_header + n, 'x', 70000);
    n += 70000;
    raw(long_header, n, "HTTP/1.1 4");
    free(long_header);
    works();
}

static void paths(void **state) {
    (void)state;
    struct answer a = get(&g_server, "/v1/completions");
    assert_int_equal(a.status, 405);
    assert_string_equal(answer_header(&a, "allow"), "POST");
    answer_free(&a);
    a = get(&g_server, "/../../etc/passwd");
    assert_int_equal(a.status, 404);
    answer_free(&a);
    a = ask(&g_server, "DELETE", "/v1/models", NULL, 0, NULL);
    assert_int_equal(a.status, 405);
    answer_free(&a);
    a = ask(&g_server, "GET", "/v1/models", NULL, 0, "Origin: http://good.example");
    assert_string_equal(answer_header(&a, "access-control-allow-origin"), "http://good.example");
    answer_free(&a);
    a = ask(&g_server, "GET", "/v1/models", NULL, 0, "Origin: http://evil.example");
    assert_string_equal(answer_header(&a, "access-control-allow-origin"), "");
    answer_free(&a);
}

static const char long_request[] = "{\"prompt\":[1,2,3],\"temperature\":1,\"max_tokens\":200,\"ignore_eos\":true,\"n\":40,\"stream\":%s}";

static int begin_request(const char *stream) {
    char body[256], head[512];
    snprintf(body, sizeof body, long_request, stream);
    int n = snprintf(head, sizeof head, "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    int fd = raw_open(&g_server);
    raw_send(fd, head, (size_t)n);
    return fd;
}

static void wait_idle(void) {
    for (int i = 0; i < 200 && metric(&g_server, "vllm:num_requests_running{") + metric(&g_server, "vllm:num_requests_waiting{") > 0; i++)
        nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    assert_true(metric(&g_server, "vllm:num_requests_running{") <= 0);
    assert_true(metric(&g_server, "vllm:num_requests_waiting{") <= 0);
    assert_true(metric(&g_server, "vllm:kv_cache_usage_perc{") <= 0);
}

/* Until the engine has taken a request; it may be done with it already. */
static void wait_running(void) {
    for (int i = 0; i < 500 && metric(&g_server, "vllm:num_requests_waiting{") <= 0; i++) nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* 40 answers of which 4 run: a client that leaves ends them, streamed or not, running or queued. */
static void leaving(void **state) {
    (void)state;
    static const char *const streams[] = { "true", "false" };
    const char *aborted = "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\"";
    for (int i = 0; i < 2; i++) {
        double before = metric(&g_server, aborted);
        int fd = begin_request(streams[i]);
        wait_running();
        close(fd);
        wait_idle();
        assert_true(metric(&g_server, aborted) > before);
    }
    works();
}

static void full_queue(void **state) {
    (void)state;
    int a = begin_request("true"), b = begin_request("true");
    wait_running();
    char body[256];
    snprintf(body, sizeof body, long_request, "false");
    struct answer r = post(&g_server, "/v1/completions", body);
    assert_true(r.status == 429 || r.status == 200);       /* 200: the two were done already */
    if (r.status == 429) assert_true(atoi(answer_header(&r, "retry-after")) > 0);
    answer_free(&r);
    close(a);
    close(b);
    wait_idle();
    works();
}

static void many_half_open(void **state) {
    (void)state;
    int fd[400];
    for (int i = 0; i < 400; i++) {
        fd[i] = raw_open(&g_server);
        if (i % 2) raw_send(fd[i], "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Le", 50);
    }
    works();
    for (int i = 0; i < 400; i++) close(fd[i]);
    works();
}

/* Every HELP and TYPE line, and every bucket of the times, is one of vLLM's. */
static void metric_names(void **state) {
    (void)state;
    const char *golden = vc_golden("api/metrics.txt");
    if (!golden) {
        vc_left_out("names of metrics: goldens/api");
        skip();
    }
    works();
    char *want = read_text(golden);
    struct answer a = get(&g_server, "/metrics");
    int lines = 0;
    for (char *line = strtok(a.body, "\n"); line; line = strtok(NULL, "\n")) {
        char part[1024];
        const char *cut = strstr(line, "model_name="), *bucket = strstr(line, "_bucket{");
        if (line[0] == '#' && !strstr(line, " vllmc:")) snprintf(part, sizeof part, "%s\n", line);
        else if (bucket && cut && strncmp(line, "vllmc:", 6) != 0 && strstr(line, "_seconds_bucket")) snprintf(part, sizeof part, "%.*s", (int)(cut - line), line);
        else continue;
        if (!strstr(want, part)) print_error("not in vLLM's metrics: %s\n", part);
        assert_non_null(strstr(want, part));
        lines++;
    }
    assert_true(lines > 100);
    answer_free(&a);
    free(want);
}

/* Every metric of vLLM's but those with nothing to count. */
static void metrics_complete(void **state) {
    (void)state;
    static const char *const absent[] = { "vllm:estimated_", "vllm:external_prefix_cache_", "vllm:mm_cache_" };
    const char *golden = vc_golden("api/metrics.txt");
    if (!golden) {
        vc_left_out("names of metrics: goldens/api");
        skip();
    }
    char *want = read_text(golden), *rest = NULL;
    struct answer a = get(&g_server, "/metrics");
    for (char *line = strtok_r(want, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        bool leave = strncmp(line, "# TYPE vllm:", 12) != 0;
        for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) leave |= strstr(line, absent[i]) != NULL;
        if (leave) continue;
        if (!strstr(a.body, line)) print_error("not here: %s\n", line);
        assert_non_null(strstr(a.body, line));
    }
    answer_free(&a);
    free(want);
}

/* Histograms agree with the counters beside them. */
static void figures(void **state) {
    (void)state;
    works();
    wait_idle();
    double ended = metric(&g_server, "vllm:request_generation_tokens_count{"), steps = metric(&g_server, "vllm:iteration_tokens_total_count{");
    double tokens = metric(&g_server, "vllm:prompt_tokens_by_source_total{engine=\"0\",model_name=\"tiny\",source=\"local_compute\"}") +
                    metric(&g_server, "vllm:generation_tokens_total{");
    double before = metric(&g_server, "vllm:iteration_tokens_total_sum{"), bytes = metric(&g_server, "vllmc:weight_read_bytes_total{");
    works();
    wait_idle();
    assert_true(metric(&g_server, "vllm:request_num_preemptions_count{") == ended + 1);
    assert_true(metric(&g_server, "vllm:request_queue_time_seconds_count{") > 0);
    assert_true(metric(&g_server, "vllm:iteration_tokens_total_count{") == steps + 3);
    double more = metric(&g_server, "vllm:prompt_tokens_by_source_total{engine=\"0\",model_name=\"tiny\",source=\"local_compute\"}") +
                  metric(&g_server, "vllm:generation_tokens_total{") - tokens;
    assert_true(metric(&g_server, "vllm:iteration_tokens_total_sum{") - before == more);
    assert_true(metric(&g_server, "vllmc:step_time_seconds_count{") == steps + 3);
    assert_true(metric(&g_server, "vllmc:weight_read_bytes_total{") > bytes);
    double margins = metric(&g_server, "vllmc:tie_margin_ulps_count{");
    status_of("/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":7,\"temperature\":1}", 200);       /* a draw looks at every logit */
    wait_idle();
    double known = metric(&g_server, "vllmc:tie_margin_ulps_count{") - margins;
    assert_true(known >= 1 && known <= 7);
    double run = metric(&g_server, "vllm:request_inference_time_seconds_sum{"), prefill = metric(&g_server, "vllm:request_prefill_time_seconds_sum{"),
           decode = metric(&g_server, "vllm:request_decode_time_seconds_sum{");
    assert_true(run > 0 && prefill > 0 && decode > 0 && run - prefill - decode < 1e-6 * run && prefill + decode - run < 1e-6 * run);
    for (int i = 0; i < 3000 && metric(&g_server, "vllmc:memory_read_bandwidth_bytes_per_second{") <= 0; i++) nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    works();
    struct answer a = get(&g_server, "/metrics");
    const char *share = strstr(a.body, "\nvllmc:memory_bandwidth_share{");
    assert_non_null(share);
    assert_true(strtod(strchr(share, ' '), NULL) > 0);
    const char *kernel = strstr(a.body, "\nvllmc:kernel_info{cpu=\"");
    assert_non_null(kernel);
    assert_true(strstr(kernel, "tier=\"avx") || strstr(kernel, "tier=\"portable\""));
    answer_free(&a);
}

static void keys(void **state) {
    (void)state;
    struct server s;
    SERVER_START(&s, vc_golden("models/llama"), "--api-key", "secret-one", "--api-key", "secret-two", "--kv-cache-memory-bytes", "64M", "--threads", "1");
    static const char *const locked[] = { "/v1/models", "/metrics", "/version", "/ping", "/load", "/nothing" };
    struct answer a;
    for (size_t i = 0; i < sizeof locked / sizeof locked[0]; i++) {
        a = get(&s, locked[i]);
        assert_int_equal(a.status, 401);
        answer_free(&a);
    }
    static const char *const wrong[] = { "Authorization: Bearer secret-on", "Authorization: Bearer secret-one1", "Authorization: Bearer ", "Authorization: secret-one", "X-Api-Key: secret" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        a = ask(&s, "GET", "/v1/models", NULL, 0, wrong[i]);
        assert_int_equal(a.status, 401);
        answer_free(&a);
    }
    static const char *const right[] = { "Authorization: Bearer secret-one", "authorization: bearer secret-two", "X-Api-Key: secret-two" };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        a = ask(&s, "GET", "/v1/models", NULL, 0, right[i]);
        assert_int_equal(a.status, 200);
        answer_free(&a);
    }
    a = get(&s, "/health");
    assert_int_equal(a.status, 200);
    answer_free(&a);
    a = get(&s, "/ready");
    assert_int_equal(a.status, 200);
    answer_free(&a);
    assert_int_equal(server_stop(&s), 0);
}

/* SIGTERM: the answer that is being written is whole, then the server ends. */
static void drains(void **state) {
    (void)state;
    struct server old = g_server;
    SERVER_START(&g_server, vc_golden("models/llama"), "--shutdown-timeout", "60", "--max-num-seqs", "2", "--kv-cache-memory-bytes", "64M", "--threads", "1");
    int fd = begin_request("true");
    wait_running();
    kill(g_server.pid, SIGTERM);
    char *text = raw_read(fd, 30000, NULL);
    assert_non_null(strstr(text, "data: [DONE]"));
    free(text);
    close(fd);
    int status = 0;
    assert_int_equal(waitpid(g_server.pid, &status, 0), g_server.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    g_server = old;
}

/* Without a timeout the answers are cut, and nothing hangs. */
static void cut(void **state) {
    (void)state;
    struct server old = g_server;
    SERVER_START(&g_server, vc_golden("models/llama"), "--max-num-seqs", "2", "--kv-cache-memory-bytes", "64M", "--threads", "1");
    int a = begin_request("true"), b = begin_request("false");
    nanosleep(&(struct timespec){ 0, 30000000 }, NULL);
    assert_int_equal(server_stop(&g_server), 0);
    close(a);
    close(b);
    g_server = old;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies), cmocka_unit_test(depth), cmocka_unit_test(too_large), cmocka_unit_test(malformed_http), cmocka_unit_test(paths),
        cmocka_unit_test(leaving), cmocka_unit_test(full_queue), cmocka_unit_test(many_half_open), cmocka_unit_test(metric_names), cmocka_unit_test(metrics_complete), cmocka_unit_test(figures), cmocka_unit_test(keys), cmocka_unit_test(drains), cmocka_unit_test(cut),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
