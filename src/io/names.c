/* SPDX-License-Identifier: Apache-2.0 */
#include "io/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { MAX_PROBES = 64, MAX_SEEDS = 8 };

static uint64_t hash(const char *s, uint64_t seed) {
    uint64_t h = 0xCBF29CE484222325u ^ seed;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001B3u;
    return vc_mix64(h);
}

/* 0 done, 1 duplicate, 2 a probe sequence grew too long. */
static int fill(struct vc_names *x, size_t n, size_t *dup, bool any_length) {
    memset(x->slot, 0, (size_t)(x->mask + 1) * sizeof *x->slot);
    for (size_t i = 0; i < n; i++) {
        uint64_t at = hash(x->name[i], x->seed) & x->mask, steps = 0;
        for (; x->slot[at]; at = (at + 1) & x->mask) {
            if (!strcmp(x->name[x->slot[at] - 1], x->name[i])) {
                *dup = i;
                return 1;
            }
            if (++steps > MAX_PROBES && !any_length) return 2;
        }
        x->slot[at] = (uint32_t)(i + 1);
    }
    return 0;
}

int vc_names_build(struct vc_names *x, const char *const *name, size_t n, size_t *dup) {
    *x = (struct vc_names){ 0 };
    if (n >= UINT32_MAX / 4) return -1;
    size_t size = 8;
    while (size < 2 * n) size *= 2;
    x->slot = calloc(size, sizeof *x->slot);
    if (!x->slot) return -1;
    x->name = name;
    x->mask = size - 1;
    int r = 2;
    for (int k = 0; k < MAX_SEEDS && r == 2; k++) {
        x->seed = vc_mix64((uint64_t)(uintptr_t)x->slot + (uint64_t)k + 1);
        r = fill(x, n, dup, k == MAX_SEEDS - 1);
    }
    return r;
}

size_t vc_names_find(const struct vc_names *x, const char *name) {
    if (!x->slot || !name) return SIZE_MAX;
    for (uint64_t at = hash(name, x->seed) & x->mask; x->slot[at]; at = (at + 1) & x->mask)
        if (!strcmp(x->name[x->slot[at] - 1], name)) return x->slot[at] - 1;
    return SIZE_MAX;
}

void vc_names_free(struct vc_names *x) {
    free(x->slot);
    *x = (struct vc_names){ 0 };
}
