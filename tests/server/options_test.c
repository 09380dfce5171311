/* SPDX-License-Identifier: Apache-2.0
 * options_test.c: options of the server that change its answers. Expected forms are vLLM's; the answers to preflight
 * requests are Starlette's (middleware/cors.py). The model is the small one of goldens/models with a vocabulary of
 * words. */
#include <sys/stat.h>
#include <unistd.h>

#include "server/client.h"

static struct server g_server;

static const char *tokenizer(void) {
    static char path[512];
    snprintf(path, sizeof path, "%s/words-tokenizer.json", VC_TEST_TMP);
    write_text(path, "{\"version\":\"1.0\",\"added_tokens\":[],\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},"
                     "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"x\":3,\"y\":4,"
                     "\"tools\":5,\"z\":6}}}");
    return path;
}

static json_t *answer_of(const char *path, const char *body, long status) {
    struct answer a = post(&g_server, path, body);
    if (a.status != status) print_error("%s %s: %ld, expected %ld: %s\n", path, body, a.status, status, a.body);
    assert_int_equal(a.status, status);
    json_t *v = answer_json(&a);
    answer_free(&a);
    return v;
}

static void ids_are(const char *path, const char *body, const char *key, const char *want) {
    json_t *v = answer_of(path, body, 200), *ids = json_object_get(v, key);
    char *text = json_dumps(ids, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text, want);
    free(text);
    json_decref(v);
}

#define MESSAGES "\"messages\":[{\"role\":\"user\",\"content\":\"z\"}]"
#define TOOLS "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\"tool_choice\":\"none\""

static void test_templates(void **state) {
    (void)state;
    ids_are("/tokenize", "{" MESSAGES "}", "tokens", "[3,4,6]");
    ids_are("/tokenize", "{" MESSAGES ",\"chat_template_kwargs\":{\"k\":\"y\"}}", "tokens", "[4,6]");
    ids_are("/v1/chat/completions", "{" MESSAGES ",\"max_tokens\":1,\"return_token_ids\":true}", "prompt_token_ids",
            "[3,4,6]");
    ids_are("/v1/chat/completions", "{" MESSAGES "," TOOLS ",\"max_tokens\":1,\"return_token_ids\":true}",
            "prompt_token_ids", "[3,4,6]");
}

static size_t events(const char *text) {
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, "data: {")); p++) n++;
    return n;
}

static void test_answers(void **state) {
    (void)state;
    json_t *v = answer_of("/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":2,\"ignore_eos\":true}", 200);
    assert_string_equal(json_string_value(json_object_get(v, "system_fingerprint")), "fp \"1\"");
    json_decref(v);
    struct answer a =
        post(&g_server, "/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":9,\"ignore_eos\":true,\"stream\":true}");
    assert_non_null(strstr(a.body, "\"system_fingerprint\":\"fp \\\"1\\\"\""));
    assert_int_equal(events(a.body), 3); /* tokens 1, 2 to 5, 6 to 9 */
    answer_free(&a);
    a = post(&g_server, "/v1/completions",
             "{\"prompt\":[1,2,3],\"max_tokens\":9,\"ignore_eos\":true,\"stream\":true,\"stream_interval\":1}");
    assert_int_equal(events(a.body), 9);
    answer_free(&a);
    v = answer_of("/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":1,\"logprobs\":3}", 400);
    assert_non_null(strstr(json_string_value(json_object_get(json_object_get(v, "error"), "message")),
                           "greater than max allowed: 2"));
    json_decref(v);
    /* Greedy by --override-generation-config: the same answer without a seed. */
    json_t *one =
               answer_of("/v1/completions",
                         "{\"prompt\":[1,2,3],\"max_tokens\":12,\"ignore_eos\":true,\"return_token_ids\":true}", 200),
           *two = answer_of(
               "/v1/completions",
               "{\"prompt\":[1,2,3],\"max_tokens\":12,\"ignore_eos\":true,\"return_token_ids\":true,\"temperature\":0}",
               200);
    const json_t *a1 = json_object_get(json_array_get(json_object_get(one, "choices"), 0), "token_ids"),
                 *a2 = json_object_get(json_array_get(json_object_get(two, "choices"), 0), "token_ids");
    assert_int_equal(json_array_size(a1), 12);
    assert_true(json_equal(a1, a2));
    json_decref(one);
    json_decref(two);
}

/* Status and one header of the answer to OPTIONS with these three lines. */
static void preflight(const char *origin, const char *method, const char *headers, long status, const char *says,
                      const char *allows) {
    char request[1024];
    size_t n;
    int fd = raw_open(&g_server);
    snprintf(request, sizeof request,
             "OPTIONS /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nOrigin: "
             "%s\r\nAccess-Control-Request-Method: %s\r\nAccess-Control-Request-Headers: %s\r\n\r\n",
             origin, method, headers);
    raw_send(fd, request, strlen(request));
    char *text = raw_read(fd, 5000, &n), line[32];
    snprintf(line, sizeof line, "HTTP/1.1 %ld ", status);
    if (strncmp(text, line, strlen(line)) != 0 || !strstr(text, says) || (allows && !strstr(text, allows)))
        print_error("%s\n%s\nexpected %ld, %s\n", request, text, status, says);
    assert_true(strncmp(text, line, strlen(line)) == 0);
    assert_non_null(strstr(text, says));
    if (allows) assert_non_null(strstr(text, allows));
    free(text);
    close(fd);
}

static void test_cors(void **state) {
    (void)state;
    preflight("http://a", "POST", "content-type, x-mine", 200, "OK",
              "Access-Control-Allow-Headers: Accept, Accept-Language, Content-Language, Content-Type, X-Mine\r\n");
    preflight("http://b", "POST", "X-Mine", 200, "OK", "Access-Control-Allow-Methods: POST\r\n");
    preflight("http://c", "POST", "x-mine", 400, "Disallowed CORS origin", NULL);
    preflight("http://a", "GET", "x-mine", 400, "Disallowed CORS method", NULL);
    preflight("http://a", "POST", "authorization", 400, "Disallowed CORS headers", NULL);
    preflight("http://c", "GET", "authorization", 400, "Disallowed CORS origin, method, headers", NULL);
}

static void test_head(void **state) {
    (void)state;
    char request[4096] = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    for (int more = 0; more < 2; more++) { /* 10 headers, then 11 */
        for (int i = 0; i < (more ? 1 : 8); i++) strcat(request, "X-A: b\r\n");
        int fd = raw_open(&g_server);
        raw_send(fd, request, strlen(request));
        raw_send(fd, "\r\n", 2);
        size_t n;
        char *text = raw_read(fd, 5000, &n);
        assert_int_equal(strncmp(text, more ? "HTTP/1.1 431 " : "HTTP/1.1 200 ", 13), 0);
        free(text);
        close(fd);
    }
    /* 20 KiB of one header pass below --h11-max-incomplete-event-size 64K. */
    char *big = malloc(40 << 10), *at = big;
    at += sprintf(big, "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: ");
    memset(at, 'a', 20 << 10);
    strcpy(at + (20 << 10), "\r\n\r\n");
    int fd = raw_open(&g_server);
    raw_send(fd, big, strlen(big));
    size_t n;
    char *text = raw_read(fd, 5000, &n);
    assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
    free(text);
    free(big);
    close(fd);
}

static void test_log(void **state) {
    (void)state;
    struct answer a = get(&g_server, "/version");
    answer_free(&a);
    a = get(&g_server, "/v1/models");
    answer_free(&a);
    char *log = NULL;
    for (int i = 0; i < 100; i++) { /* the line comes after the answer */
        free(log);
        log = read_text(g_server.err);
        if (log && strstr(log, "GET /v1/models 200")) break;
        usleep(20000);
    }
    assert_non_null(strstr(log, "GET /v1/models 200"));
    assert_null(strstr(log, "GET /version"));
    assert_non_null(strstr(log, "--trust-remote-code asks for what is so"));
    free(log);
}

static void test_server(void **state) {
    (void)state;
    const char *model = vc_golden("models/llama");
    SERVER_START(&g_server, model, "--tokenizer", tokenizer(), "--chat-template",
                 "{{ k }} {% if tools %}tools {% endif %}{{ messages[0]['content'] }}", "--threads", "1",
                 "--default-chat-template-kwargs", "{\"k\": \"x y\"}", "--exclude-tools-when-tool-choice-none",
                 "--fingerprint-mode", "custom", "--fingerprint-value", "fp \"1\"", "--stream-interval", "4",
                 "--max-logprobs", "2", "--override-generation-config", "{\"temperature\": 0}", "--allowed-origins",
                 "[\"http://a\", \"http://b\"]", "--allowed-methods", "POST", "--allowed-headers", "X-Mine",
                 "--h11-max-header-count", "10", "--h11-max-incomplete-event-size", "64K",
                 "--disable-access-log-for-endpoints", "/health,/version", "--trust-remote-code",
                 "--num-gpu-blocks-override", "40", "--prefix-caching-hash-algo", "xxhash_cbor",
                 "--long-prefill-token-threshold", "16");
    test_templates(state);
    test_answers(state);
    test_cors(state);
    test_head(state);
    test_log(state);
    struct answer a = get(&g_server, "/metrics");
    assert_non_null(strstr(a.body, "num_gpu_blocks=\"40\""));
    answer_free(&a);
    assert_int_equal(server_stop(&g_server), 0);
}

/* The other values of the same options. */
static void test_others(void **state) {
    (void)state;
    const char *model = vc_golden("models/llama");
    SERVER_START(&g_server, model, "--skip-tokenizer-init", "--threads", "1", "--fingerprint-mode", "none",
                 "--max-logprobs", "-1", "--max-num-scheduled-tokens", "300", "--uvicorn-log-level", "warning",
                 "--gpu-memory-utilization", "0.5", "--no-enable-chunked-prefill", "--max-num-batched-tokens", "512",
                 "--no-scheduler-reserve-full-isl", "--watermark", "0.01", "--max-model-len", "256",
                 "--no-use-tqdm-on-load");
    json_t *v = answer_of("/v1/completions",
                          "{\"prompt\":[1,2,3],\"max_tokens\":1,\"logprobs\":-1,\"return_token_ids\":true}", 200);
    assert_true(json_is_null(json_object_get(v, "system_fingerprint")));
    json_decref(v);
    json_decref(answer_of("/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":1}", 400));
    json_decref(answer_of("/v1/chat/completions", "{" MESSAGES ",\"max_tokens\":1}", 400));
    struct answer a = post(&g_server, "/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":2,\"stream\":true}");
    assert_null(strstr(a.body, "system_fingerprint"));
    answer_free(&a);
    char *log = read_text(g_server.err);
    assert_null(strstr(log, "POST /v1"));
    free(log);
    assert_int_equal(server_stop(&g_server), 0);
}

/* Sizes of a cache hold for each of several models. */
static void test_two_models(void **state) {
    (void)state;
    char a[600], b[600];
    snprintf(a, sizeof a, "one=%s,num-gpu-blocks-override=40", vc_golden("models/llama"));
    snprintf(b, sizeof b, "two=%s,num-gpu-blocks-override=50", vc_golden("models/llama"));
    SERVER_START(&g_server, "--model", a, "--model", b, "--threads", "1");
    struct answer m = get(&g_server, "/metrics");
    assert_non_null(strstr(m.body, "num_gpu_blocks=\"40\""));
    assert_non_null(strstr(m.body, "num_gpu_blocks=\"50\""));
    answer_free(&m);
    assert_int_equal(server_stop(&g_server), 0);
}

/* Refused before anything is loaded. */
static void refused(const char *says, const char *const *argv) {
    struct said s = program(NULL, argv);
    if (!strstr(s.err, says)) print_error("expected '%s', got: %s\n", says, s.err);
    assert_non_null(strstr(s.err, says));
    expect_rc(&s, 2, says);
    said_free(&s);
}
#define REFUSED(says, ...) refused(says, (const char *const[]){ "serve", "m", __VA_ARGS__, NULL })

/* /tokenizer_info is the file's object: AddedTokens as their texts, no places of files; what it lacks from the vocabulary. */
static void test_tokenizer_info(void **state) {
    (void)state;
    char path[512], folder[400];
    snprintf(folder, sizeof folder, "%s/tokenizer-info", VC_TEST_TMP);
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    write_text(path, "{\"tokenizer_class\":\"WordsTokenizer\",\"vocab_file\":\"/a/b\",\"merges_file\":null,"
                     "\"bos_token\":{\"__type\":\"AddedToken\",\"content\":\"x\",\"lstrip\":false},"
                     "\"model_max_length\":512,\"added_tokens_decoder\":{\"3\":{\"content\":\"x\",\"special\":true}},"
                     "\"extra\":[1,{\"content\":\"y\"}]}");
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    write_text(path, "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":7,\"content\":\"<s>\",\"special\":true,"
                     "\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false}],"
                     "\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"model\":{\"type\":\"WordLevel\","
                     "\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"x\":3,\"y\":4}}}");
    SERVER_START(&g_server, vc_golden("models/llama"), "--tokenizer", path, "--enable-tokenizer-info-endpoint",
                 "--kv-cache-memory-bytes", "4M", "--threads", "1", "--chat-template", "{{ 1 }}");
    struct answer a = get(&g_server, "/tokenizer_info");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "{\"tokenizer_class\":\"WordsTokenizer\",\"bos_token\":\"x\",\"model_max_length\":512,"
                                "\"added_tokens_decoder\":{\"3\":\"x\"},\"extra\":[1,\"y\"],\"add_bos_token\":false,"
                                "\"chat_template\":\"{{ 1 }}\"}");
    answer_free(&a);
    assert_int_equal(server_stop(&g_server), 0);
    SERVER_START(&g_server, vc_golden("models/llama"), "--tokenizer", tokenizer(), "--kv-cache-memory-bytes", "4M");
    a = get(&g_server, "/tokenizer_info");
    assert_int_equal(a.status, 404);
    answer_free(&a);
    assert_int_equal(server_stop(&g_server), 0);
    SERVER_START(&g_server, vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), "--enable-tokenizer-info-endpoint",
                 "--kv-cache-memory-bytes", "4M", "--threads", "1");
    a = get(&g_server, "/tokenizer_info");
    assert_int_equal(a.status, 200);
    json_t *v = answer_json(&a), *special = json_object_get(v, "added_tokens_decoder");
    assert_string_equal(json_string_value(json_object_get(v, "tokenizer_class")), "PreTrainedTokenizerFast");
    assert_string_equal(json_string_value(json_object_get(v, "eos_token")), "<|im_end|>");
    assert_string_equal(json_string_value(json_object_get(special, "1")), "<|im_start|>");
    json_decref(v);
    answer_free(&a);
    assert_int_equal(server_stop(&g_server), 0);
}

static void test_refused(void **state) {
    (void)state;
    REFUSED("--fingerprint-mode custom needs --fingerprint-value", "--fingerprint-mode", "custom");
    REFUSED("--fingerprint-value is for", "--fingerprint-value", "x");
    REFUSED("--default-chat-template-kwargs: '[]', expected a JSON object", "--default-chat-template-kwargs", "[]");
    REFUSED("--allowed-methods: at most 64 names", "--allowed-methods", "GET, POST");
    REFUSED("--stream-interval: 0, expected at least 1", "--stream-interval", "0");
    REFUSED("--h11-max-incomplete-event-size: expected 16K to 64M", "--h11-max-incomplete-event-size", "100");
    REFUSED("disable_additional_properties: only false", "--structured-outputs-config",
            "{\"disable_additional_properties\": true}");
    REFUSED("'backnd': expected backend", "--structured-outputs-config", "{\"backnd\": \"auto\"}");
    REFUSED("--load-format gguf: m is no GGUF file", "--load-format", "gguf");
    REFUSED("--quantization fp8: the formats of weights are read from the files", "-q", "fp8");
    REFUSED("--quantization gguf: m is no GGUF file", "--quantization=gguf");
    REFUSED("--max-logprobs: -2, expected -1 or more", "--max-logprobs", "-2");
    struct said s = PROGRAM(NULL, "serve", vc_golden("models/llama"), "--port", "0", "--override-generation-config",
                            "{\"temprature\": 1}", "--threads", "1");
    expect_rc(&s, 2, "override");
    assert_non_null(strstr(s.err, "override_generation_config: no key 'temprature'"));
    said_free(&s);
    s = PROGRAM(NULL, "serve", vc_golden("models/llama"), "--port", "0", "--gpu-memory-utilization", "0.0000001");
    assert_int_not_equal(s.rc, 0);
    assert_non_null(strstr(s.err, "of the memory is 0 MiB, but weights and workspace take"));
    said_free(&s);
    s = PROGRAM(NULL, "serve", vc_golden("models/llama"), "--port", "0", "--gpu-memory-utilization", "1.5");
    expect_rc(&s, 2, "a share above 1");
    assert_non_null(strstr(s.err, "memory_utilization: 1.5, expected above 0, at most 1"));
    said_free(&s);
    s = PROGRAM(NULL, "serve", vc_golden("models/llama"), "--port", "0", "--no-enable-chunked-prefill",
                "--max-num-batched-tokens", "64", "--threads", "1");
    assert_int_not_equal(s.rc, 0);
    assert_non_null(strstr(s.err, "without chunked prefill at least max_model_len"));
    said_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_server), cmocka_unit_test(test_others),
                                        cmocka_unit_test(test_two_models), cmocka_unit_test(test_tokenizer_info),
                                        cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
