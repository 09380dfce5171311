/* SPDX-License-Identifier: Apache-2.0
 * gguf_writer.h: builds GGUF files for tests: header, key-values, tensor infos, padding, data, in that order. */
#ifndef VC_TEST_GGUF_WRITER_H
#define VC_TEST_GGUF_WRITER_H

#include "test.h"

#include "base/str.h"
#include "io/gguf.h"

static inline void gw_u32(struct vc_buf *b, uint32_t v) { vc_buf_add(b, (const char *)&v, 4); }
static inline void gw_u64(struct vc_buf *b, uint64_t v) { vc_buf_add(b, (const char *)&v, 8); }
static inline void gw_str(struct vc_buf *b, const char *s) {
    gw_u64(b, strlen(s));
    vc_buf_adds(b, s);
}
static inline void gw_begin(struct vc_buf *b, uint64_t tensors, uint64_t kvs) {
    vc_buf_add(b, "GGUF", 4);
    gw_u32(b, 3);
    gw_u64(b, tensors);
    gw_u64(b, kvs);
}
static inline void gw_key(struct vc_buf *b, const char *key, enum vc_gguf_type t) {
    gw_str(b, key);
    gw_u32(b, (uint32_t)t);
}
static inline void gw_kv(struct vc_buf *b, const char *key, enum vc_gguf_type t, const void *v, size_t n) {
    gw_key(b, key, t);
    vc_buf_add(b, v, n);
}
static inline void gw_array(struct vc_buf *b, const char *key, enum vc_gguf_type of, uint64_t n) {
    gw_key(b, key, VC_GGUF_ARRAY);
    gw_u32(b, (uint32_t)of);
    gw_u64(b, n);
}
static inline void gw_tensor(struct vc_buf *b, const char *name, uint32_t n_dims, const uint64_t *ne, uint32_t type,
                             uint64_t offset) {
    gw_str(b, name);
    gw_u32(b, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) gw_u64(b, ne[i]);
    gw_u32(b, type);
    gw_u64(b, offset);
}
static inline void gw_pad(struct vc_buf *b, size_t align) {
    while (b->n % align) vc_buf_addc(b, 0);
}
static inline void gw_save(const struct vc_buf *b, const char *path) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->p, 1, b->n, f), b->n);
    assert_int_equal(fclose(f), 0);
}

#endif
