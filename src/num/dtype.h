/* SPDX-License-Identifier: Apache-2.0
 * dtype.h: the number formats by name and size (table: dtype.def). */
#ifndef VC_NUM_DTYPE_H
#define VC_NUM_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vc_dtype {
#define VC_DTYPE(id, name, gguf, st, block, bytes) VC_##id,
#include "num/dtype.def"
#undef VC_DTYPE
    VC_NUM_DTYPES,
    VC_NO_DTYPE = VC_NUM_DTYPES
};

struct vc_dtype_info {
    const char *name;
    int gguf;                   /* type id in GGUF, -1 none */
    const char *safetensors;    /* name there, "" none */
    uint32_t block;             /* values per block; 1 for plain formats */
    uint32_t bytes;             /* bytes per block */
};

const struct vc_dtype_info *vc_dtype_info(enum vc_dtype t);
const char *vc_dtype_name(enum vc_dtype t);
enum vc_dtype vc_dtype_by_name(const char *name);          /* VC_NO_DTYPE if unknown; also takes "bfloat16", "float16", "float32" */
enum vc_dtype vc_dtype_by_gguf(uint32_t id);
enum vc_dtype vc_dtype_by_safetensors(const char *name, size_t n);

/* Bytes of n values; true (overflow or n no multiple of the block) means *bytes is unspecified. */
bool vc_dtype_bytes(enum vc_dtype t, uint64_t n, uint64_t *bytes);
static inline bool vc_dtype_is_float(enum vc_dtype t) { return t == VC_F32 || t == VC_F16 || t == VC_BF16; }

#endif
