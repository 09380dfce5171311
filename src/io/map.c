/* SPDX-License-Identifier: Apache-2.0 */
#include "io/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool starts_nocase(const char *p, size_t n, const char *word) {
    size_t len = strlen(word);
    return n >= len && !strncasecmp(p, word, len);
}

vc_status vc_map_check(const void *data, size_t n, const char *name, vc_err *err) {
    static const char lfs[] = "version https://git-lfs.github.com/spec/";
    const char *p = data;
    if (n == 0) return vc_fail(err, VC_E_FORMAT, "%s: the file is empty", name);
    if (n >= sizeof lfs - 1 && !memcmp(p, lfs, sizeof lfs - 1))
        return vc_fail(err, VC_E_FORMAT,
                       "%s: this is a Git LFS pointer, not the file itself; run `git lfs pull` in its repository",
                       name);
    size_t at = n >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (at < n && at < 64 && (p[at] == ' ' || p[at] == '\n' || p[at] == '\r' || p[at] == '\t')) at++;
    if (starts_nocase(p + at, n - at, "<!doctype html") || starts_nocase(p + at, n - at, "<html") ||
        starts_nocase(p + at, n - at, "<?xml"))
        return vc_fail(err, VC_E_FORMAT, "%s: this is a web page (an error page of a download?), not a model file",
                       name);
    return VC_OK;
}

static vc_status map_fd(struct vc_map *m, int fd, const char *path, vc_err *err) {
    struct stat st;
    if (fstat(fd, &st)) return vc_fail(err, VC_E_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return vc_fail(err, VC_E_IO, "%s: is a folder, expected a file", path);
    if (!S_ISREG(st.st_mode)) return vc_fail(err, VC_E_IO, "%s: is not a regular file", path);
    if (st.st_size == 0) return vc_fail(err, VC_E_FORMAT, "%s: the file is empty", path);
    if ((uint64_t)st.st_size > SIZE_MAX) return vc_fail(err, VC_E_IO, "%s: larger than the address space", path);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return vc_fail(err, VC_E_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    m->p = p;
    m->n = (size_t)st.st_size;
    m->fd = fd;
    return VC_OK;
}

vc_status vc_map_open(struct vc_map *m, const char *path, vc_err *err) {
    *m = (struct vc_map){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);     /* O_NONBLOCK: a pipe must not hang */
    if (fd < 0) {
        vc_status s = errno == ENOENT || errno == ENOTDIR ? VC_E_NOT_FOUND : VC_E_IO;
        return vc_fail(err, s, "%s: %s", path, strerror(errno));
    }
    vc_status s = map_fd(m, fd, path, err);
    if (s != VC_OK) close(fd);
    if (s == VC_OK && (s = vc_map_check(m->p, m->n, path, err)) != VC_OK) vc_map_close(m);
    return s;
}

void vc_map_close(struct vc_map *m) {
    if (m->p) {
        munmap((void *)(uintptr_t)m->p, m->n);
        close(m->fd);
    }
    *m = (struct vc_map){ 0 };
}

void vc_map_drop(const struct vc_map *m, uint64_t offset, uint64_t bytes) {
    long size = sysconf(_SC_PAGESIZE);
    if (!m->p || size <= 0 || offset >= m->n || bytes > m->n - offset) return;
    uint64_t page = (uint64_t)size, lo = (offset + page - 1) / page * page, hi = (offset + bytes) / page * page;
    if (offset + bytes == m->n) hi = m->n;
    if (lo < hi) madvise((void *)(uintptr_t)(m->p + lo), (size_t)(hi - lo), MADV_DONTNEED);
}

bool vc_map_read(const struct vc_map *m, uint64_t offset, uint64_t bytes, void *dst) {
    if (!m->p || offset > m->n || bytes > m->n - offset) return false;
    for (uint64_t done = 0; done < bytes;) {
        ssize_t k = pread(m->fd, (char *)dst + done, (size_t)(bytes - done), (off_t)(offset + done));
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        done += (uint64_t)k;
    }
    return true;
}
