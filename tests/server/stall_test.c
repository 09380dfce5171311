/* SPDX-License-Identifier: Apache-2.0
 * stall_test.c: /health while the engine's thread stands still. A debugger's stop (ptrace) holds that one thread as a
 * hung step would; the rest of the server goes on. */
#include <dirent.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/client.h"

static struct server g_server;

static void pause_ms(long ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }

/* The thread of the server with this name; 0: there is none. */
static pid_t thread_named(const char *name) {
    char folder[64], path[512];
    pid_t found = 0;
    snprintf(folder, sizeof folder, "/proc/%d/task", (int)g_server.pid);
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; !found && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%.200s/comm", folder, e->d_name);
        char *comm = read_text(path);
        if (comm && !strncmp(comm, name, strlen(name)) && comm[strlen(name)] == '\n') found = atoi(e->d_name);
        free(comm);
    }
    closedir(d);
    return found;
}

static long health(void) {
    struct answer a = get(&g_server, "/health");
    long status = a.status;
    answer_free(&a);
    return status;
}

static int ask_completion(void) {
    static const char body[] = "{\"prompt\":[1,2,3],\"temperature\":0,\"max_tokens\":3,\"stream\":true}";
    char text[512];
    int n = snprintf(text, sizeof text,
                     "POST /v1/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: "
                     "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     sizeof body - 1, body);
    int fd = raw_open(&g_server);
    raw_send(fd, text, (size_t)n);
    return fd;
}

static void wait_for_health(long want) {
    for (int i = 0; i < 600 && health() != want; i++) pause_ms(50);
    assert_int_equal(health(), want);
}

/* Idle it may stand as long as it likes; with a request it may not; afterwards everything goes on. */
static void stopped_engine(void **state) {
    (void)state;
    SERVER_START(&g_server, vc_golden("models/llama"), "--stall-timeout", "1", "--sse-keep-alive-interval", "1",
                 "--kv-cache-memory-bytes", "64M", "--threads", "1");
    pid_t engine = thread_named("vllmc-engine");
    assert_true(engine > 0);
    assert_int_equal(health(), 200);
    if (ptrace(PTRACE_SEIZE, engine, NULL, NULL) != 0) {
        vc_left_out("a stopped engine: ptrace is not allowed here");
        assert_int_equal(server_stop(&g_server), 0);
        skip();
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, engine, NULL, NULL), 0);
    assert_int_equal(waitpid(engine, NULL, __WALL), engine);
    pause_ms(1500);
    assert_int_equal(health(), 200);
    int fd = ask_completion();
    wait_for_health(503);
    /* Meanwhile the stream is kept alive by comments, before it has a token. */
    char alive[4096] = "";
    for (size_t n = 0; !strstr(alive, "\r\n: keep-alive\n\n") && n < sizeof alive - 1;) {
        ssize_t got = recv(fd, alive + n, sizeof alive - 1 - n, 0);
        assert_true(got > 0);
        n += (size_t)got;
        alive[n] = '\0';
    }
    assert_int_equal(strncmp(alive, "HTTP/1.1 200 ", 13), 0);
    assert_non_null(strstr(alive, "Content-Type: text/event-stream"));
    assert_null(strstr(alive, "data:"));
    struct answer a = get(&g_server, "/metrics");
    const char *line = strstr(a.body, "\nvllmc:engine_stalled_seconds{");
    assert_non_null(line);
    assert_true(strtod(strchr(line, ' '), NULL) > 1);
    answer_free(&a);
    assert_int_equal(ptrace(PTRACE_DETACH, engine, NULL, NULL), 0);
    char *text = raw_read(fd, 10000, NULL);
    assert_non_null(strstr(text, "data: [DONE]"));
    free(text);
    close(fd);
    wait_for_health(200);
    assert_true(server_log_gets(&g_server, "makes progress again", 1));
    char *log = read_text(g_server.err);
    const char *first = strstr(log, "has made no progress for");
    assert_non_null(first);
    assert_null(strstr(first + 1, "has made no progress for"));        /* told once */
    assert_non_null(strstr(first, "makes progress again"));
    free(log);
    assert_int_equal(server_stop(&g_server), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(stopped_engine) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
