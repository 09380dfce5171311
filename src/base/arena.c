/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

struct vc_arena_block {
    struct vc_arena_block *next;
    size_t size, at;               /* bytes after the header; bytes in use */
};
enum { FIRST = 16 << 10, LARGEST = 8 << 20 };

static struct vc_arena_block *grow(struct vc_arena *a, size_t need) {
    size_t size = a->head ? a->head->size * 2 : FIRST;
    if (size > LARGEST) size = LARGEST;
    if (size < need) size = need;
    if (size > SIZE_MAX - sizeof(struct vc_arena_block)) return NULL;
    struct vc_arena_block *b = malloc(sizeof *b + size);
    if (!b) return NULL;
    *b = (struct vc_arena_block){ .next = a->head, .size = size };
    a->head = b;
    a->total += sizeof *b + size;
    return b;
}

void *vc_arena_alloc(struct vc_arena *a, size_t bytes, size_t align) {
    if (bytes > SIZE_MAX / 2) { a->failed = true; return NULL; }
    for (int round = 0; round < 2; round++) {
        struct vc_arena_block *b = a->head;
        if (b) {
            uintptr_t base = (uintptr_t)(b + 1), p = (base + b->at + align - 1) & ~(uintptr_t)(align - 1);
            size_t end = (size_t)(p - base) + bytes;
            if (end <= b->size) {
                b->at = end;
                a->used += bytes;
                return (char *)(b + 1) + (p - base);
            }
        }
        if (!grow(a, bytes + align)) break;
    }
    a->failed = true;
    return NULL;
}

void *vc_arena_zalloc(struct vc_arena *a, size_t bytes) {
    void *p = vc_arena_alloc(a, bytes, 16);
    if (p) memset(p, 0, bytes);
    return p;
}

void *vc_arena_array(struct vc_arena *a, size_t n, size_t size) {
    if (size && n > SIZE_MAX / 2 / size) { a->failed = true; return NULL; }
    return vc_arena_zalloc(a, n * size);
}

char *vc_arena_strndup(struct vc_arena *a, const char *s, size_t n) {
    char *p = vc_arena_alloc(a, n + 1, 1);
    if (!p) return NULL;
    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *vc_arena_strdup(struct vc_arena *a, const char *s) { return vc_arena_strndup(a, s, strlen(s)); }

void vc_arena_free(struct vc_arena *a) {
    for (struct vc_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct vc_arena){ 0 };
}

void vc_heap_trim(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}
