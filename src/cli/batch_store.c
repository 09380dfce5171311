/* SPDX-License-Identifier: Apache-2.0
 * batch_store.c: the file of results: whole lines only, whatever happens while one is written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/batch.h"

static vc_status io_error(const struct cli_store *s, vc_err *err) {
    return vc_fail(err, VC_E_IO, "%s: %s", s->path, strerror(errno));
}

/* The folder's entry of a file that was just made. */
static void sync_folder(const char *path) {
    char dir[4096];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n >= sizeof dir) return;
    memcpy(dir, n ? path : "./", n ? n : 2);
    dir[n ? n : 2] = '\0';
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* Notes what one line of the file says is done. */
static vc_status note(struct cli_store *s, const char *text, size_t n, size_t number, vc_err *err) {
    json_t *root = NULL;
    vc_status st = vc_json_parse(&root, text, n, s->path, err);
    if (st != VC_OK)
        return vc_fail(err, VC_E_FORMAT, "%s: line %zu is not a result of a batch; choose another output file", s->path,
                       number);
    const json_t *id = json_object_get(root, "custom_id"), *line = vc_json_at(root, "error.line");
    if (json_is_string(id)) {
        s->done[s->num_done] = vc_arena_strndup(&s->arena, json_string_value(id), json_string_length(id));
        if (!s->done[s->num_done++]) st = vc_fail(err, VC_E_NOMEM, "out of memory");
    } else if (json_is_null(id) && json_is_integer(line)) {
        s->bad[s->num_bad++] = (uint64_t)json_integer_value(line);
    } else {
        st = vc_fail(err, VC_E_FORMAT, "%s: line %zu has no custom_id; choose another output file", s->path, number);
    }
    json_decref(root);
    return st;
}

static vc_status read_all(struct cli_store *s, struct vc_buf *b, vc_err *err) {
    for (;;) {
        if (!vc_buf_reserve(b, 1 << 16)) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", s->path);
        ssize_t got = pread(s->fd, b->p + b->n, 1 << 16, (off_t)b->n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_error(s, err);
        if (got == 0) return VC_OK;
        b->n += (size_t)got;
    }
}

static vc_status recover(struct cli_store *s, const struct vc_buf *b, vc_err *err) {
    size_t whole = b->n, lines = 0, number = 0;
    while (whole > 0 && b->p[whole - 1] != '\n') whole--;
    if (whole < b->n && (ftruncate(s->fd, (off_t)whole) != 0 || fsync(s->fd) != 0)) return io_error(s, err);
    s->bytes = whole;
    for (size_t i = 0; i < whole; i++) lines += b->p[i] == '\n';
    s->done = calloc(lines + 1, sizeof *s->done);
    s->bad = calloc(lines + 1, sizeof *s->bad);
    if (!s->done || !s->bad) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", s->path);
    for (size_t at = 0; at < whole;) {
        size_t n = (size_t)((const char *)memchr(b->p + at, '\n', whole - at) - (b->p + at));
        number++;
        if (n) VC_TRY(note(s, b->p + at, n, number, err));
        at += n + 1;
    }
    size_t dup;
    int r = vc_names_build(&s->index, s->done, s->num_done, &dup);
    if (r < 0) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", s->path);
    if (r > 0)
        return vc_fail(err, VC_E_FORMAT, "%s: custom_id '%s' has two results; choose another output file", s->path,
                       s->done[dup]);
    return VC_OK;
}

vc_status cli_store_open(struct cli_store *s, const char *path, vc_err *err) {
    *s = (struct cli_store){ .fd = -1, .path = path };
    if (!strcmp(path, "-")) {
        s->fd = STDOUT_FILENO;
        return VC_OK;
    }
    bool fresh = access(path, F_OK) != 0;
    s->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (s->fd < 0) return io_error(s, err);
    if (flock(s->fd, LOCK_EX | LOCK_NB) != 0)
        return vc_fail(err, VC_E_BUSY, "%s: another batch writes to this file", path);
    if (fresh) sync_folder(path);
    struct vc_buf b = { 0 };
    vc_status st = read_all(s, &b, err);
    if (st == VC_OK) st = recover(s, &b, err);
    vc_buf_free(&b);
    return st;
}

bool cli_store_has(const struct cli_store *s, const struct cli_batch_line *line) {
    if (line->custom_id) return s->num_done && vc_names_find(&s->index, line->custom_id) != SIZE_MAX;
    for (size_t i = 0; i < s->num_bad; i++)
        if (s->bad[i] == line->number) return true;
    return false;
}

vc_status cli_store_add(struct cli_store *s, struct vc_buf *b, vc_err *err) {
    vc_buf_addc(b, '\n');
    if (b->failed) return vc_fail(err, VC_E_NOMEM, "%s: out of memory for a result", s->path);
    bool file = s->fd != STDOUT_FILENO;
    size_t done = 0;
    while (done < b->n) {                       /* one write, but for signals and pipes that take less */
        ssize_t put = write(s->fd, b->p + done, b->n - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            int why = errno;
            if (file && ftruncate(s->fd, (off_t)s->bytes) != 0) why = errno;
            errno = why;
            return io_error(s, err);
        }
        done += (size_t)put;
    }
    s->bytes += b->n;
    return file && fsync(s->fd) != 0 ? io_error(s, err) : VC_OK;
}

void cli_store_close(struct cli_store *s) {
    if (s->fd >= 0 && s->fd != STDOUT_FILENO) close(s->fd);
    vc_names_free(&s->index);
    free(s->done);
    free(s->bad);
    vc_arena_free(&s->arena);
}
