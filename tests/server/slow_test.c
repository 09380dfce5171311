/* SPDX-License-Identifier: Apache-2.0
 * slow_test.c: clients that send or read slowly, too many connections, and logs that cannot be written. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/client.h"

#define MODEL                                                                                                          \
    vc_golden("models/llama"), "--served-model-name", "tiny", "--kv-cache-memory-bytes", "64M", "--threads", "1"
static struct server g_server;

static void pause_ms(long ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }

static int open_server(void **state) {
    (void)state;
    SERVER_START(&g_server, MODEL, "--request-timeout", "1", "--idle-timeout", "2");
    return 0;
}
static int close_server(void **state) {
    (void)state;
    return server_stop(&g_server);
}

static void send_text(int fd, const char *text) { raw_send(fd, text, strlen(text)); }

static const char half_body[] = "Host: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"prompt\":";

/* What comes until the connection ends, which it must within 20 s; owned by the caller. */
static char *until_end(int fd) {
    char *text = calloc(1, 1), part[4096];
    size_t n = 0;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    for (;;) {
        assert_true(poll(&p, 1, 20000) > 0);
        ssize_t k = recv(fd, part, sizeof part, 0);
        if (k <= 0) return text;
        text = realloc(text, n + (size_t)k + 1);
        assert_non_null(text);
        memcpy(text + n, part, (size_t)k);
        n += (size_t)k;
        text[n] = '\0';
    }
}

static void late_body(void **state) {
    (void)state;
    static const struct {
        const char *path, *error;
    } routes[] = { { "/v1/completions", "\"type\":\"RequestTimeout\"" }, { "/v1/messages", "{\"type\":\"error\"," } };
    for (size_t i = 0; i < 2; i++) {
        char head[128];
        int fd = raw_open(&g_server);
        snprintf(head, sizeof head, "POST %s HTTP/1.1\r\n", routes[i].path);
        send_text(fd, head);
        send_text(fd, half_body);
        char *text = until_end(fd);
        assert_true(!strncmp(text, "HTTP/1.1 408 Request Timeout\r\n", 30));
        assert_non_null(strstr(text, routes[i].error));
        free(text);
        close(fd);
    }
    for (int i = 0;
         i < 100 &&
         metric(&g_server, "http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"4xx\"}") < 1;
         i++)
        pause_ms(20);
    assert_true(metric(&g_server, "http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"4xx\"}") >=
                1);
}

/* A byte now and then until the server ends the connection; what it said meanwhile. */
static char *drip(int fd, const char *begin, char byte) {
    struct pollfd p = { .fd = fd, .events = POLLIN };
    send_text(fd, begin);
    for (int i = 0; i < 200; i++) {
        raw_send(fd, &byte, 1);
        if (poll(&p, 1, 100) > 0) return until_end(fd);
    }
    fail_msg("the connection is still there after 20 seconds");
    return NULL;
}

static void dripping(void **state) {
    (void)state;
    int fd = raw_open(&g_server);
    char *text = drip(fd, "GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ", 'x');
    assert_string_equal(text, "");
    free(text);
    close(fd);
    fd = raw_open(&g_server);
    text = drip(
        fd,
        "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
        ' ');
    assert_true(!strncmp(text, "HTTP/1.1 408 ", 13));
    free(text);
    close(fd);
    fd = raw_open(&g_server);                      /* a whole request first */
    send_text(fd, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    text = raw_read(fd, 500, NULL);
    assert_true(!strncmp(text, "HTTP/1.1 200 ", 13));
    free(text);
    text = drip(fd, "GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ", 'x');
    assert_string_equal(text, "");
    free(text);
    close(fd);
}

static void idle_connection(void **state) {
    (void)state;
    int fd = raw_open(&g_server);
    send_text(fd, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    char *text = until_end(fd);
    assert_true(!strncmp(text, "HTTP/1.1 200 ", 13));
    free(text);
    close(fd);
    fd = raw_open(&g_server);                      /* and one that never says anything */
    text = until_end(fd);
    assert_string_equal(text, "");
    free(text);
    close(fd);
}

/* In pieces, but in time; and an answer that is read later than the limit. */
static void slow_but_in_time(void **state) {
    (void)state;
    static const char body[] =
        "{\"prompt\":[1,2,3],\"temperature\":0,\"max_tokens\":200,\"ignore_eos\":true,\"stream\":true,\"n\":20}";
    char head[256];
    int fd = raw_open(&g_server);
    snprintf(head, sizeof head,
             "POST /v1/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: "
             "application/json\r\nContent-Length: %zu\r\n\r\n",
             sizeof body - 1);
    send_text(fd, head);
    raw_send(fd, body, 20);
    pause_ms(100);
    raw_send(fd, body + 20, sizeof body - 21);
    pause_ms(2500);
    char *text = until_end(fd);
    assert_true(!strncmp(text, "HTTP/1.1 200 ", 13));
    assert_non_null(strstr(text, "data: [DONE]"));
    free(text);
    close(fd);
}

static void per_address(void **state) {
    (void)state;
    struct server s;
    SERVER_START(&s, MODEL, "--max-connections-per-address", "3");
    int fd[3];
    for (int i = 0; i < 3; i++) {
        fd[i] = raw_open(&s);
        send_text(fd[i], "GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
        char *text = raw_read(fd[i], 500, NULL);
        assert_true(!strncmp(text, "HTTP/1.1 200 ", 13));
        free(text);
    }
    int more = raw_open(&s);
    char *text = until_end(more);
    assert_string_equal(text, "");
    free(text);
    close(more);
    for (int i = 0; i < 3; i++) close(fd[i]);
    long status = 0;
    for (int i = 0; i < 100 && status != 200; i++) {       /* until it has seen them go */
        int again = raw_open(&s);
        send_text(again, "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        text = until_end(again);
        status = strncmp(text, "HTTP/1.1 200 ", 13) ? 0 : 200;
        free(text);
        close(again);
        if (status != 200) pause_ms(20);
    }
    assert_int_equal(status, 200);
    assert_int_equal(server_stop(&s), 0);
}

/* ---- logs ---- */

/* More lines than any buffer between the server and its log holds. */
static void many_lines(const struct server *s) {
    char path[300];
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    for (int i = 0; i < 3000; i++) {
        struct answer a = get(s, path);
        assert_int_equal(a.status, 404);
        answer_free(&a);
    }
}

static void full_disk(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        vc_left_out("a full disk: /dev/full");
        skip();
    }
    struct server s;
    server_start_err(&s, "/dev/full", (const char *const[]){ MODEL, NULL });
    for (int i = 0; i < 20; i++) {
        struct answer a = post(&s, "/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":3}");
        assert_int_equal(a.status, 200);
        answer_free(&a);
    }
    assert_int_equal(server_stop(&s), 0);
}

/* The log goes into a pipe that nobody empties. */
static void stopped_reader(void **state) {
    (void)state;
    char path[1024];
    struct server s;
    snprintf(path, sizeof path, "%s/log-%d.pipe", VC_TEST_TMP, (int)getpid());
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDWR | O_NONBLOCK);
    assert_true(reader >= 0);
    server_start_err(&s, path, (const char *const[]){ MODEL, NULL });
    many_lines(&s);
    struct answer a = post(&s, "/v1/completions", "{\"prompt\":[1,2,3],\"max_tokens\":3}");
    assert_int_equal(a.status, 200);
    answer_free(&a);
    assert_int_equal(server_stop(&s), 0);
    close(reader);
    unlink(path);
}

static void json_log(void **state) {
    (void)state;
    struct server s;
    SERVER_START(&s, MODEL, "--log-format", "json", "--log-level", "debug", "--enable-log-requests");
    static const char body[] = "{\"prompt\":[1,2,3],\"max_tokens\":3,\"user\":\"SECRET-WORD\"}";
    struct answer a = ask(&s, "POST", "/v1/completions", body, sizeof body - 1, "X-Request-Id: abc-1");
    assert_int_equal(a.status, 200);
    answer_free(&a);
    a = post(&s, "/v1/completions", "{\"prompt\":[\"SECRET-WORD\",1]}");
    assert_int_equal(a.status, 400);
    answer_free(&a);
    a = get(&s, "/v1/models?key=SECRET-WORD");
    assert_int_equal(a.status, 200);
    answer_free(&a);
    kill(s.pid, SIGTERM);
    char *log = NULL;
    for (int i = 0; i < 200; i++) {
        free(log);
        pause_ms(50);
        log = read_text(s.err);
        if (strstr(log, "no new requests")) break;
    }
    int requests = 0, lines = 0;
    assert_null(strstr(log, "SECRET-WORD"));
    for (char *rest = NULL, *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++) {
        if (line[0] != '{') continue;              /* the progress of loading */
        json_error_t e;
        json_t *v = json_loads(line, 0, &e);
        if (!v) print_error("%s: %s\n", e.text, line);
        assert_non_null(v);
        assert_true(json_is_string(json_object_get(v, "time")) && json_is_string(json_object_get(v, "level")));
        const char *event = json_string_value(json_object_get(v, "event")),
                   *id = json_string_value(json_object_get(v, "request_id"));
        if (event && id && !strcmp(event, "request") && !strcmp(id, "abc-1")) {
            assert_string_equal(json_string_value(json_object_get(v, "method")), "POST");
            assert_string_equal(json_string_value(json_object_get(v, "path")), "/v1/completions");
            assert_int_equal(json_integer_value(json_object_get(v, "status")), 200);
            assert_int_equal(json_integer_value(json_object_get(v, "bytes_in")), sizeof body - 1);
            requests++;
        } else if (!event) {
            assert_true(json_is_string(json_object_get(v, "message")));
        }
        json_decref(v);
    }
    assert_int_equal(requests, 1);
    free(log);
    assert_int_equal(server_stop(&s), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_body),        cmocka_unit_test(dripping),    cmocka_unit_test(idle_connection),
        cmocka_unit_test(slow_but_in_time), cmocka_unit_test(per_address), cmocka_unit_test(full_disk),
        cmocka_unit_test(stopped_reader),   cmocka_unit_test(json_log),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
