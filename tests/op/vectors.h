/* SPDX-License-Identifier: Apache-2.0
 * vectors.h: the tensors c<case>.<name> of a file of goldens/vllm-cpu (safetensors). */
#ifndef VC_TESTS_OP_VECTORS_H
#define VC_TESTS_OP_VECTORS_H

#include "test.h"

#include <jansson.h>

#include "base/arena.h"

#include "num/half.h"
#include "op/op.h"

struct vec_file { char *raw; json_t *head; const char *data; size_t bytes; };
struct vec { const void *p; uint32_t dims, dim[4]; size_t count; };

/* False: not on this machine. */
static inline bool vec_open(struct vec_file *f, const char *name) {
    const char *path = vc_golden(name);
    if (!path) return !vc_left_out(name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    f->bytes = (size_t)ftell(in);
    rewind(in);
    f->raw = malloc(f->bytes);
    assert_int_equal(fread(f->raw, 1, f->bytes, in), f->bytes);
    fclose(in);
    uint64_t n;
    memcpy(&n, f->raw, 8);
    assert_true(f->bytes > 8 && n < f->bytes - 8);
    f->head = json_loadb(f->raw + 8, (size_t)n, 0, NULL);
    assert_non_null(f->head);
    f->data = f->raw + 8 + n;
    return true;
}
static inline void vec_close(struct vec_file *f) {
    json_decref(f->head);
    free(f->raw);
}
/* Memory that lives as long as the test program. */
static inline void *vec_alloc(size_t bytes) {
    static struct vc_arena arena;
    void *p = vc_arena_zalloc(&arena, bytes + 64);
    assert_non_null(p);
    return p;
}
/* False: no such tensor. The data is copied so that it is aligned. */
static inline bool vec_get(const struct vec_file *f, int c, const char *name, struct vec *v) {
    char key[64];
    snprintf(key, sizeof key, "c%d.%s", c, name);
    const json_t *t = json_object_get(f->head, key), *at = json_object_get(t, "data_offsets"), *shape = json_object_get(t, "shape");
    if (!t) return false;
    size_t lo = (size_t)json_integer_value(json_array_get(at, 0)), hi = (size_t)json_integer_value(json_array_get(at, 1));
    assert_true(lo <= hi && (size_t)(f->data - f->raw) + hi <= f->bytes);
    *v = (struct vec){ .dims = (uint32_t)json_array_size(shape), .count = 1 };
    for (uint32_t i = 0; i < v->dims && i < 4; i++) {
        v->dim[i] = (uint32_t)json_integer_value(json_array_get(shape, i));
        v->count *= v->dim[i];
    }
    void *copy = vec_alloc(hi - lo);
    memcpy(copy, f->data + lo, hi - lo);
    v->p = copy;
    return true;
}
static inline struct vec vec_need(const struct vec_file *f, int c, const char *name) {
    struct vec v = { 0 };
    if (!vec_get(f, c, name, &v)) fail_msg("c%d.%s is missing", c, name);
    return v;
}
/* rows x cols of a tensor as a view (its last dimension is cols unless given). */
static inline struct vc_view vec_view(const struct vec *v, enum vc_dtype t, uint32_t cols) {
    uint32_t bytes = vc_dtype_info(t)->bytes;
    return (struct vc_view){ .data = (void *)(uintptr_t)v->p, .raw = v->p, .stride = (size_t)cols * bytes, .rows = (uint32_t)(v->count / cols), .cols = cols, .dtype = t };
}
/* An f32 copy of bf16 words, as norm weights are stored. */
static inline struct vec vec_widen(const struct vec *v) {
    struct vec w = *v;
    float *f = vec_alloc(v->count * 4);
    for (size_t i = 0; i < v->count; i++) f[i] = vc_bf16_f32(((const uint16_t *)v->p)[i]);
    w.p = f;
    return w;
}

#endif
