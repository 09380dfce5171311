/* SPDX-License-Identifier: Apache-2.0
 * arena.h: bump allocation with one lifetime. Blocks come from malloc, double in size, and are freed together.
 * A failed allocation returns NULL and sets `failed`, so a builder may check once at its end. */
#ifndef VC_BASE_ARENA_H
#define VC_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct vc_arena_block;
struct vc_arena {
    struct vc_arena_block *head;   /* owned */
    size_t used, total;            /* bytes handed out; bytes taken from malloc */
    bool failed;
};

void *vc_arena_alloc(struct vc_arena *a, size_t bytes, size_t align);   /* not cleared */
void *vc_arena_zalloc(struct vc_arena *a, size_t bytes);                /* cleared, 16-byte aligned */
void *vc_arena_array(struct vc_arena *a, size_t n, size_t size);        /* cleared, overflow-checked */
char *vc_arena_strndup(struct vc_arena *a, const char *s, size_t n);    /* adds a NUL */
char *vc_arena_strdup(struct vc_arena *a, const char *s);
void vc_arena_free(struct vc_arena *a);

/* Gives the free pages of malloc's heap back to the system, where it can: after work that freed much. */
void vc_heap_trim(void);

#define VC_NEW(a, type) ((type *)vc_arena_zalloc((a), sizeof(type)))
#define VC_NEW_ARRAY(a, type, n) ((type *)vc_arena_array((a), (n), sizeof(type)))

#endif
