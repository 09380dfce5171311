/* SPDX-License-Identifier: Apache-2.0
 * gguf.h: GGUF files (ggml's docs/gguf.md), versions 2 and 3, single or split in -0000i-of-0000N parts: key-values
 * here, tensors through tensors.h. Everything is checked when the file is opened; values borrow from the mapping.
 * An opened vc_gguf is immutable but for the tables that vc_gguf_strings makes and vc_gguf_drop frees: call these
 * from one thread at a time. */
#ifndef VC_IO_GGUF_H
#define VC_IO_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

struct vc_gguf;     /* one file, or all files of a split; key-values are those of the first */

enum vc_gguf_type {
    VC_GGUF_U8, VC_GGUF_I8, VC_GGUF_U16, VC_GGUF_I16, VC_GGUF_U32, VC_GGUF_I32, VC_GGUF_F32,
    VC_GGUF_BOOL, VC_GGUF_STRING, VC_GGUF_ARRAY, VC_GGUF_U64, VC_GGUF_I64, VC_GGUF_F64,
    VC_GGUF_NUM_TYPES
};
const char *vc_gguf_type_name(enum vc_gguf_type t);     /* "u32", "string", … */

struct vc_gguf_value {
    enum vc_gguf_type type;
    union {
        uint64_t u;         /* U8 U16 U32 U64 BOOL */
        int64_t i;          /* I8 I16 I32 I64 */
        double f;           /* F32 F64 */
        vc_str s;           /* STRING; borrowed, may hold NULs, not NUL-terminated */
        struct {
            enum vc_gguf_type of;   /* never ARRAY */
            uint64_t n;             /* elements */
            const uint8_t *data;    /* borrowed, unaligned, little-endian; strings as u64 length + bytes */
            size_t bytes;
        } a;                /* ARRAY */
    };
};

/* A file of a split opens all its parts; a part other than the first is refused with the name of the first. */
vc_status vc_gguf_open(struct vc_gguf **out, const char *path, vc_err *err);
/* One file in memory, borrowed until close; a split is refused. name is used in error text. */
vc_status vc_gguf_open_mem(struct vc_gguf **out, const void *p, size_t n, const char *name, vc_err *err);
void vc_gguf_close(struct vc_gguf *g);      /* NULL is fine */
/* The key-values are not needed for a while: frees the tables of vc_gguf_strings and lets the pages go (madvise);
 * everything stays readable. */
void vc_gguf_drop(struct vc_gguf *g);
const char *vc_gguf_path(const struct vc_gguf *g);      /* of the first file */
uint32_t vc_gguf_version(const struct vc_gguf *g);
size_t vc_gguf_num_files(const struct vc_gguf *g);

const struct vc_gguf_value *vc_gguf_find(const struct vc_gguf *g, const char *key);     /* NULL: absent */
size_t vc_gguf_num_kv(const struct vc_gguf *g);
const char *vc_gguf_key(const struct vc_gguf *g, size_t i);
const struct vc_gguf_value *vc_gguf_at(const struct vc_gguf *g, size_t i);

/* Typed getters. Absent key: E_NOT_FOUND naming file and key. Wrong type or a value out of range: E_FORMAT naming
 * file, key, the type found and the type wanted. Integers are taken from any integer type whose value fits; f32
 * from F32 or F64. */
vc_status vc_gguf_u32(const struct vc_gguf *g, const char *key, uint32_t *v, vc_err *err);
vc_status vc_gguf_u64(const struct vc_gguf *g, const char *key, uint64_t *v, vc_err *err);
vc_status vc_gguf_f32(const struct vc_gguf *g, const char *key, float *v, vc_err *err);
vc_status vc_gguf_bool(const struct vc_gguf *g, const char *key, bool *v, vc_err *err);
vc_status vc_gguf_str(const struct vc_gguf *g, const char *key, vc_str *v, vc_err *err);
/* Array of strings as a table of slices, made at the first call and owned by g until vc_gguf_drop. */
vc_status vc_gguf_strings(const struct vc_gguf *g, const char *key, const vc_str **v, size_t *n, vc_err *err);
/* Array of plain elements of exactly the type `of`: unaligned little-endian bytes, to be copied out with memcpy. */
vc_status vc_gguf_array(const struct vc_gguf *g, const char *key, enum vc_gguf_type of, const void **data,
                        size_t *n, vc_err *err);

/* Element i (< a.n) of an array of integers or bools as an integer (u64 above INT64_MAX: INT64_MAX), or of any
 * plain type as a double. */
int64_t vc_gguf_elem_int(const struct vc_gguf_value *array, size_t i);
double vc_gguf_elem_f64(const struct vc_gguf_value *array, size_t i);

#endif
