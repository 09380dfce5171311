/* SPDX-License-Identifier: Apache-2.0
 * names.h: open-addressing hash from names to indices of an array, built once. FNV-1a with a final mix; hostile
 * names can only make lookups slower, so the longest probe is limited by rehashing with another seed. */
#ifndef VC_IO_NAMES_H
#define VC_IO_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vc_names {
    uint32_t *slot;             /* owned; index + 1, 0 empty */
    const char *const *name;    /* borrowed array of names, or NULL while empty */
    uint64_t mask, seed;
};

/* Indexes n names; the array must outlive the index. Returns 0 when all differ, 1 with *dup = the later index of a
 * pair of equal names, or -1 when memory is short. */
int vc_names_build(struct vc_names *x, const char *const *name, size_t n, size_t *dup);
/* SIZE_MAX: absent. */
size_t vc_names_find(const struct vc_names *x, const char *name);
void vc_names_free(struct vc_names *x);

#endif
