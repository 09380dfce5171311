/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }

static void show_log(const struct server *s) {
    char *text = s->keep_err ? NULL : read_text(s->err);
    size_t n = text ? strlen(text) : 0;
    print_error("the server's log ends:\n%s\n", text ? text + (n > 4000 ? n - 4000 : 0) : "");
    free(text);
}

static void start(struct server *s, const char *const *argv) {
    const char *all[64] = { "serve" };
    size_t n = 1;
    static int count;
    snprintf(s->out, sizeof s->out, "%s/server-%d-%d.out", VC_TEST_TMP, (int)getpid(), ++count);
    if (!s->keep_err) snprintf(s->err, sizeof s->err, "%s/server-%d-%d.err", VC_TEST_TMP, (int)getpid(), count);
    for (; argv[n - 1]; n++) all[n] = argv[n - 1];
    all[n++] = "--port";
    all[n++] = "0";
    all[n] = NULL;
    write_text(s->out, "");
    s->pid = program_start(all, s->out, s->err);
    for (int i = 0; i < 2400; i++) {
        char *text = read_text(s->out), *url = text ? strstr(text, "http") : NULL;
        s->port = url && strchr(url, '\n') ? atoi(strrchr(url, ':') + 1) : 0;
        free(text);
        if (s->port) return;
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) break;
        pause_ms(50);
    }
    show_log(s);
    fail_msg("the server did not start");
}

void server_start(struct server *s, const char *const *argv) {
    s->keep_err = 0;
    start(s, argv);
}

void server_start_err(struct server *s, const char *err, const char *const *argv) {
    s->keep_err = 1;
    snprintf(s->err, sizeof s->err, "%s", err);
    start(s, argv);
}

int server_stop(struct server *s) {
    int status = 0;
    kill(s->pid, SIGTERM);
    for (int i = 0; i < 600; i++) {
        if (waitpid(s->pid, &status, WNOHANG) == s->pid) break;
        if (i == 599) {
            kill(s->pid, SIGKILL);
            waitpid(s->pid, &status, 0);
        }
        pause_ms(50);
    }
    int rc = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    if (rc != 0) show_log(s);
    unlink(s->out);
    if (!s->keep_err) unlink(s->err);
    return rc;
}

static size_t append(char *data, size_t size, size_t n, void *arg) {
    struct answer *a = arg;
    size_t more = size * n;
    a->body = realloc(a->body, a->n + more + 1);
    assert_non_null(a->body);
    memcpy(a->body + a->n, data, more);
    a->n += more;
    a->body[a->n] = '\0';
    return more;
}

static size_t append_header(char *data, size_t size, size_t n, void *arg) {
    struct answer *a = arg, part = { .body = a->headers, .n = a->headers ? strlen(a->headers) : 0 };
    append(data, size, n, &part);
    a->headers = part.body;
    return size * n;
}

struct answer ask(const struct server *s, const char *method, const char *path, const char *body, size_t n, const char *header) {
    struct answer a = { 0 };
    char url[512];
    CURL *c = curl_easy_init();
    struct curl_slist *list = NULL;
    assert_non_null(c);
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", s->port, path);
    if (body) list = curl_slist_append(list, header && !strncasecmp(header, "content-type", 12) ? header : "Content-Type: application/json");
    if (header && strncasecmp(header, "content-type", 12) != 0) list = curl_slist_append(list, header);
    list = curl_slist_append(list, "Expect:");
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(c, CURLOPT_TIMEOUT, 300L);
    if (body) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    }
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &a);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, append_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &a);
    CURLcode rc = curl_easy_perform(c);
    if (rc != CURLE_OK) {
        print_error("%s %s: %s\n", method, path, curl_easy_strerror(rc));
        show_log(s);
    }
    assert_int_equal(rc, CURLE_OK);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &a.status);
    curl_slist_free_all(list);
    curl_easy_cleanup(c);
    if (!a.body) append((char[]){ "" }, 1, 0, &a);
    return a;
}

struct answer post(const struct server *s, const char *path, const char *json) { return ask(s, "POST", path, json, strlen(json), NULL); }
struct answer get(const struct server *s, const char *path) { return ask(s, "GET", path, NULL, 0, NULL); }

void answer_free(struct answer *a) {
    free(a->body);
    free(a->headers);
    *a = (struct answer){ 0 };
}

const char *answer_header(const struct answer *a, const char *name) {
    static char value[512];
    size_t n = strlen(name);
    for (const char *p = a->headers; p && *p;) {
        const char *end = strchr(p, '\n');
        size_t len = end ? (size_t)(end - p) : strlen(p);
        if (len > n + 1 && !strncasecmp(p, name, n) && p[n] == ':') {
            size_t k = 0;
            const char *v = p + n + 1;
            while (v < p + len && isspace((unsigned char)*v)) v++;
            while (v < p + len && *v != '\r' && k + 1 < sizeof value) value[k++] = *v++;
            value[k] = '\0';
            return value;
        }
        p = end ? end + 1 : NULL;
    }
    return "";
}

json_t *answer_json(const struct answer *a) {
    json_error_t e;
    json_t *v = json_loadb(a->body, a->n, JSON_REJECT_DUPLICATES, &e);
    if (!v) print_error("not JSON (%s): %.500s\n", e.text, a->body);
    assert_non_null(v);
    return v;
}

int raw_open(const struct server *s) {
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)s->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

void raw_send(int fd, const char *bytes, size_t n) {
    while (n) {
        ssize_t k = send(fd, bytes, n, MSG_NOSIGNAL);
        if (k <= 0) return;                 /* the server may close early */
        bytes += k;
        n -= (size_t)k;
    }
}

char *raw_read(int fd, int ms, size_t *n) {
    char *text = calloc(1, 1), part[4096];
    size_t len = 0;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    while (poll(&p, 1, ms) > 0) {
        ssize_t k = recv(fd, part, sizeof part, 0);
        if (k <= 0) break;
        text = realloc(text, len + (size_t)k + 1);
        assert_non_null(text);
        memcpy(text + len, part, (size_t)k);
        len += (size_t)k;
        text[len] = '\0';
    }
    if (n) *n = len;
    return text;
}

double metric(const struct server *s, const char *line) {
    struct answer a = get(s, "/metrics");
    char *at = strstr(a.body, line), *value = at ? strchr(at, ' ') : NULL;
    double v = value ? strtod(value, NULL) : -1;
    answer_free(&a);
    return v;
}

int server_log_count(const struct server *s, const char *text) {
    char *log = read_text(s->err);
    int n = 0;
    for (const char *p = log; p && (p = strstr(p, text)); p++) n++;
    free(log);
    return n;
}

bool server_log_gets(const struct server *s, const char *text, int times) {
    for (int i = 0; i < 600 && server_log_count(s, text) < times; i++) nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    return server_log_count(s, text) >= times;
}
