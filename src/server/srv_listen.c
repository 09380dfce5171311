/* SPDX-License-Identifier: Apache-2.0
 * srv_listen.c: the listening socket: host and port, a Unix socket, or the one that systemd hands over
 * (LISTEN_PID, LISTEN_FDS; sd_listen_fds(3)). */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/srv_int.h"

enum { BACKLOG = 4096, SYSTEMD_FIRST_FD = 3 };

static int systemd_socket(void) {
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
    if (!pid || !n || strtol(pid, NULL, 10) != (long)getpid() || strtol(n, NULL, 10) < 1) return -1;
    if (strtol(n, NULL, 10) > 1)
        vc_log_line(VC_LOG_WARN, "systemd passed %s sockets; the first is served, the others are not", n);
    fcntl(SYSTEMD_FIRST_FD, F_SETFD, FD_CLOEXEC);
    return SYSTEMD_FIRST_FD;
}

/* Whether somebody listens there; a socket file that was left behind refuses. */
static bool in_use(const struct sockaddr_un *a) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool yes = fd >= 0 && (connect(fd, (const struct sockaddr *)a, sizeof *a) == 0 || errno == EAGAIN);
    if (fd >= 0) close(fd);
    return yes;
}

static vc_status listen_unix(struct srv *s, vc_err *err) {
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct stat st;
    if (strlen(s->p.uds) >= sizeof a.sun_path)
        return vc_fail(err, VC_E_INVALID, "--uds: the path is longer than %zu bytes", sizeof a.sun_path - 1);
    memcpy(a.sun_path, s->p.uds, strlen(s->p.uds) + 1);
    if (lstat(s->p.uds, &st) == 0) {
        if (!S_ISSOCK(st.st_mode)) return vc_fail(err, VC_E_INVALID, "--uds: %s exists and is not a socket", s->p.uds);
        if (in_use(&a)) return vc_fail(err, VC_E_IO, "--uds: another program listens on %s", s->p.uds);
        unlink(s->p.uds);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, BACKLOG) != 0) {
        vc_fail(err, VC_E_IO, "--uds %s: %s", s->p.uds, strerror(errno));
        if (fd >= 0) close(fd);
        return VC_E_IO;
    }
    s->listen_fd = fd; /* from here on the path is this server's, to be removed at its end */
    snprintf(s->url, sizeof s->url, "unix:%.240s", s->p.uds);
    return VC_OK;
}

static int bind_one(const struct addrinfo *a) {
    int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static unsigned bound_port(int fd) {
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0) return 0;
    if (a.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)(void *)&a)->sin_port);
    return a.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)(void *)&a)->sin6_port) : 0;
}

static vc_status listen_tcp(struct srv *s, vc_err *err) {
    char port[16];
    struct addrinfo want = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *list = NULL;
    snprintf(port, sizeof port, "%u", s->p.port);
    if (s->p.port > 65535) return vc_fail(err, VC_E_INVALID, "--port: %u, expected 0 to 65535", s->p.port);
    int rc = getaddrinfo(s->p.host, port, &want, &list);
    if (rc != 0) return vc_fail(err, VC_E_INVALID, "--host %s: %s", s->p.host, gai_strerror(rc));
    for (const struct addrinfo *a = list; a && s->listen_fd < 0; a = a->ai_next) s->listen_fd = bind_one(a);
    int why = errno;
    freeaddrinfo(list);
    if (s->listen_fd < 0) return vc_fail(err, VC_E_IO, "%s port %u: %s", s->p.host, s->p.port, strerror(why));
    bool six = strchr(s->p.host, ':') != NULL;
    snprintf(s->url, sizeof s->url, "http%s://%s%.200s%s:%u", s->p.ssl_certfile ? "s" : "", six ? "[" : "", s->p.host,
             six ? "]" : "", bound_port(s->listen_fd));
    return VC_OK;
}

vc_status srv_listen(struct srv *s, vc_err *err) {
    s->listen_fd = systemd_socket();
    if (s->listen_fd >= 0) {
        snprintf(s->url, sizeof s->url, "the socket of systemd");
        return VC_OK;
    }
    return s->p.uds ? listen_unix(s, err) : listen_tcp(s, err);
}
