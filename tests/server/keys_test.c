/* SPDX-License-Identifier: Apache-2.0
 * keys_test.c: --api-key-file: names, limits, digests, and what SIGHUP changes. */
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/client.h"

static struct server g_server;
static char g_file[1024];

#define ALICE "Authorization: Bearer alice-secret-key"
#define BOB "X-Api-Key: bob-secret-key"
#define CAROL "Authorization: Bearer carol-secret-key"
/* printf bob-secret-key | sha256sum */
#define BOB_DIGEST "2656fecc42e5ed2e72a2a5f2d92068d8c7bfe8f9af4c62895a25dcb6f5bbb64b"

static const char *g_first =
    "# keys of the test\n\n"
    "alice\talice-secret-key 2 -\r\n"
    "bob   sha256:" BOB_DIGEST "\n"
    "carol carol-secret-key - 40\n";

static void start(void) {
    snprintf(g_file, sizeof g_file, "%s/keys-%d", VC_TEST_TMP, (int)getpid());
    write_text(g_file, g_first);
    chmod(g_file, 0600);
    SERVER_START(&g_server, vc_golden("models/llama"), "--served-model-name", "tiny", "--api-key-file", g_file, "--kv-cache-memory-bytes", "16M", "--threads", "1");
}

static void stop(void) {
    assert_int_equal(server_stop(&g_server), 0);
    unlink(g_file);
}

static const char *g_body = "{\"prompt\":[1,2,3,4,5,6,7],\"max_tokens\":24,\"temperature\":0,\"ignore_eos\":true}";

static struct answer complete(const char *key, long want) {
    struct answer a = ask(&g_server, "POST", "/v1/completions", g_body, strlen(g_body), key);
    if (a.status != want) print_error("%s: %ld, expected %ld: %s\n", key, a.status, want, a.body);
    assert_int_equal(a.status, want);
    return a;
}

static void status_is(const char *path, const char *key, long want) {
    struct answer a = ask(&g_server, "GET", path, NULL, 0, key);
    assert_int_equal(a.status, want);
    answer_free(&a);
}

static void header_is(const struct answer *a, const char *name, const char *want) { assert_string_equal(answer_header(a, name), want); }

/* Two requests of a key that may make two a minute, then one more. */
static void requests_limit(void) {
    struct answer a = complete(ALICE, 200);
    header_is(&a, "x-ratelimit-limit-requests", "2");
    header_is(&a, "x-ratelimit-remaining-requests", "1");
    header_is(&a, "x-ratelimit-limit-tokens", "");
    assert_true(strlen(answer_header(&a, "x-ratelimit-reset-requests")) > 1);
    answer_free(&a);
    a = complete(ALICE, 200);
    header_is(&a, "x-ratelimit-remaining-requests", "0");
    answer_free(&a);
    a = complete(ALICE, 429);
    int wait = atoi(answer_header(&a, "retry-after"));
    assert_true(wait >= 1 && wait <= 30);
    header_is(&a, "x-ratelimit-remaining-requests", "0");
    json_t *v = answer_json(&a), *e = json_object_get(v, "error");
    assert_string_equal(json_string_value(json_object_get(e, "type")), "RateLimitError");
    assert_int_equal(json_integer_value(json_object_get(e, "code")), 429);
    assert_non_null(strstr(json_string_value(json_object_get(e, "message")), "alice: 2 requests per minute"));
    json_decref(v);
    answer_free(&a);
    status_is("/v1/models", ALICE, 200);           /* costs nothing */
}

/* 31 tokens a request, 40 a minute: the second is let in with 9 left, the third is not. */
static void tokens_limit(void) {
    struct answer a = complete(CAROL, 200);
    header_is(&a, "x-ratelimit-limit-tokens", "40");
    header_is(&a, "x-ratelimit-remaining-tokens", "40");
    header_is(&a, "x-ratelimit-limit-requests", "");
    answer_free(&a);
    a = complete(CAROL, 200);
    assert_in_range(atoi(answer_header(&a, "x-ratelimit-remaining-tokens")), 9, 20);
    answer_free(&a);
    a = complete(CAROL, 429);
    header_is(&a, "x-ratelimit-remaining-tokens", "0");
    assert_non_null(strstr(a.body, "carol: 40 tokens per minute"));
    answer_free(&a);
}

static void limits(void **state) {
    (void)state;
    static const char *const wrong[] = { "Authorization: Bearer alice", "Authorization: Bearer alice-secret-key1", "Authorization: Bearer sha256:" BOB_DIGEST,
                                         "Authorization: Bearer " BOB_DIGEST, "X-Api-Key: -", "X-Api-Key: 2" };
    start();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) status_is("/v1/models", wrong[i], 401);
    status_is("/metrics", NULL, 401);
    status_is("/nothing", NULL, 401);
    status_is("/health", NULL, 200);
    status_is("/ready", NULL, 200);
    requests_limit();
    tokens_limit();
    for (int i = 0; i < 6; i++) {
        struct answer a = complete(BOB, 200);
        header_is(&a, "x-ratelimit-limit-requests", "");
        answer_free(&a);
    }
    assert_true(server_log_gets(&g_server, ", key alice", 1));
    assert_true(server_log_gets(&g_server, ", key bob", 1));
    assert_int_equal(server_log_count(&g_server, "secret"), 0);
    stop();
}

/* Sends SIGHUP and waits for this in the log; `times`: how often it must be there. */
static void reload(const char *says, int times) {
    kill(g_server.pid, SIGHUP);
    if (!server_log_gets(&g_server, says, times)) fail_msg("the log does not say %d times: %s", times, says);
}

static void reloads(void **state) {
    (void)state;
    start();
    static const char stream[] = "{\"prompt\":[1,2,3],\"max_tokens\":400,\"ignore_eos\":true,\"stream\":true}";
    char request[1024];
    int n = snprintf(request, sizeof request, "POST /v1/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     BOB, strlen(stream), stream);
    int fd = raw_open(&g_server);
    raw_send(fd, request, (size_t)n);
    struct answer a = complete(ALICE, 200);
    answer_free(&a);
    a = complete(ALICE, 200);
    answer_free(&a);
    write_text(g_file, "alice alice-other-key 2\ndora dora-key\n");
    reload("reloaded: options, keys", 1);
    status_is("/v1/models", BOB, 401);             /* gone; its stream runs on */
    status_is("/v1/models", ALICE, 401);
    status_is("/v1/models", "X-Api-Key: dora-key", 200);
    a = complete("X-Api-Key: alice-other-key", 429);       /* the name keeps what is left */
    answer_free(&a);
    write_text(g_file, "alice alice-other-key 2\ndora dora-key x\n");
    reload("reload: the keys stay as they were", 1);
    assert_true(server_log_gets(&g_server, "line 2: a limit is a whole number per minute", 1));
    status_is("/v1/models", "X-Api-Key: dora-key", 200);
    unlink(g_file);
    reload("reload: the keys stay as they were", 2);
    status_is("/v1/models", "X-Api-Key: dora-key", 200);
    write_text(g_file, "alice alice-other-key 50\n");
    reload("reloaded: options, keys", 2);
    a = complete("X-Api-Key: alice-other-key", 200);       /* another limit begins anew */
    header_is(&a, "x-ratelimit-remaining-requests", "49");
    answer_free(&a);
    char *text = raw_read(fd, 60000, NULL);
    assert_non_null(strstr(text, "data: [DONE]"));
    free(text);
    close(fd);
    assert_int_equal(server_log_count(&g_server, "alice-other-key") + server_log_count(&g_server, "dora-key") + server_log_count(&g_server, "secret"), 0);
    stop();
}

static void origin_is_allowed(const char *origin, bool yes) {
    char header[256];
    snprintf(header, sizeof header, "Origin: %s", origin);
    struct answer a = ask(&g_server, "GET", "/health", NULL, 0, header);
    assert_string_equal(answer_header(&a, "access-control-allow-origin"), yes ? origin : "");
    answer_free(&a);
}

/* --log-level and --allowed-origins of a file of --config. */
static void options(void **state) {
    (void)state;
    char config[1100];
    snprintf(config, sizeof config, "%s/keys-config-%d.yaml", VC_TEST_TMP, (int)getpid());
    write_text(config, "allowed-origins: [http://one.example]\nthreads: 1\n");
    SERVER_START(&g_server, vc_golden("models/llama"), "--config", config, "--kv-cache-memory-bytes", "16M");
    origin_is_allowed("http://one.example", true);
    origin_is_allowed("http://two.example", false);
    assert_true(server_log_gets(&g_server, "GET /health", 1));
    write_text(config, "allowed-origins: [http://two.example, http://three.example]\nthreads: 1\nlog-level: warning\n");
    kill(g_server.pid, SIGHUP);
    for (int i = 0; i < 600; i++) {                        /* its line is below the new level */
        struct answer a = ask(&g_server, "GET", "/health", NULL, 0, "Origin: http://two.example");
        bool yes = !strcmp(answer_header(&a, "access-control-allow-origin"), "http://two.example");
        answer_free(&a);
        if (yes) break;
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
    origin_is_allowed("http://three.example", true);
    origin_is_allowed("http://one.example", false);
    write_text(config, "allowed-origins: [http://one.example]\nthreads: 1\nlog-lvl: x\n");
    reload("reload: the options stay as they were", 1);
    assert_true(server_log_gets(&g_server, "log-lvl", 1));
    origin_is_allowed("http://two.example", true);
    write_text(config, "allowed-origins: [http://one.example]\nlog-level: info\n");
    reload("reloaded: options", 1);
    origin_is_allowed("http://one.example", true);
    assert_int_equal(server_stop(&g_server), 0);
    unlink(config);
}

static void bad_file(const char *text, const char *says) {
    snprintf(g_file, sizeof g_file, "%s/keys-%d", VC_TEST_TMP, (int)getpid());
    unlink(g_file);
    if (text) write_text(g_file, text);
    struct said s = PROGRAM(NULL, "serve", "--port", "0", vc_golden("models/llama"), "--api-key-file", g_file);
    assert_int_not_equal(s.rc, 0);
    if (!strstr(s.err, says)) print_error("expected '%s' in: %s\n", says, s.err);
    assert_non_null(strstr(s.err, says));
    assert_null(strstr(s.err, "hidden"));
    said_free(&s);
    unlink(g_file);
}

static void bad_files(void **state) {
    (void)state;
    bad_file(NULL, "No such file");
    bad_file("", "holds no key");
    bad_file("# nothing\n", "holds no key");
    bad_file("a\n", "line 1: expected NAME KEY");
    bad_file("a hidden 1 2 3\n", "line 1: expected NAME KEY");
    bad_file("x hidden\na/b hidden2\n", "line 2: a name has letters");
    bad_file("a sha256:hidden\n", "line 1: sha256: is followed by 64");
    bad_file("a hidden -5\n", "line 1: a limit is");
    bad_file("a hidden 99999999999\n", "line 1: a limit is");
    bad_file("a hidden\na hidden2\n", "line 2: the name a was given before");
    bad_file("a hidden\nb hidden\n", "line 2: the key of b is that of a");
}

static void open_to_others(void **state) {
    (void)state;
    start();
    chmod(g_file, 0644);
    reload("other users can read or write it", 1);
    stop();
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(limits), cmocka_unit_test(reloads), cmocka_unit_test(options), cmocka_unit_test(bad_files), cmocka_unit_test(open_to_others) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
