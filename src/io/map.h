/* SPDX-License-Identifier: Apache-2.0
 * map.h: a file mapped read-only. The bytes stay valid until vc_map_close; nobody else may shorten the file meanwhile.
 * What is not a model file but often lies in its place (a Git LFS pointer, an HTML page, an empty file, a folder, a
 * pipe) is refused by name. */
#ifndef VC_IO_MAP_H
#define VC_IO_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct vc_map {
    const uint8_t *p;   /* owned mapping, NULL when closed */
    size_t n;           /* bytes, at least 1 */
    int fd;             /* owned, while p is not NULL */
};

/* E_NOT_FOUND: no such file; E_IO: not readable or not a regular file; E_FORMAT: empty, LFS pointer or HTML page. */
vc_status vc_map_open(struct vc_map *m, const char *path, vc_err *err);
void vc_map_close(struct vc_map *m);

/* Lets the kernel take back the whole pages inside [offset, offset + bytes); they are read again when touched. */
void vc_map_drop(const struct vc_map *m, uint64_t offset, uint64_t bytes);

/* Copies bytes of the file, without their pages becoming resident in this process. False: they cannot be read (outside
 * the file, shortened meanwhile, an error of the disk). */
bool vc_map_read(const struct vc_map *m, uint64_t offset, uint64_t bytes, void *dst);

/* The check for LFS pointers and HTML pages alone, on bytes in memory; name is used in the error text. */
vc_status vc_map_check(const void *p, size_t n, const char *name, vc_err *err);

#endif
