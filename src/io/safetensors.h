/* SPDX-License-Identifier: Apache-2.0
 * safetensors.h: one safetensors file (u64 header length, JSON header, data): its parser on bytes in memory and a
 * writer. Follows the format's README and the Rust reader, stricter on duplicate keys. Models use tensors.h. */
#ifndef VC_IO_SAFETENSORS_H
#define VC_IO_SAFETENSORS_H

#include "base/arena.h"
#include "io/tensors.h"

enum { VC_SAFETENSORS_MAX_HEADER = 100000000 };

struct vc_safetensors {
    struct vc_tensor *v;        /* in the order of the header; data points into the parsed bytes */
    size_t n;
    struct { const char *key, *value; } *meta;      /* __metadata__ */
    size_t n_meta;
};

/* Parses the whole file p[0…n). Arrays and names come from the arena; `file` of each tensor is 0. name is for
 * errors. */
vc_status vc_safetensors_parse(struct vc_safetensors *out, struct vc_arena *a, const void *p, size_t n,
                               const char *name, vc_err *err);

/* Writes name, dtype, n_dims, dims and data of n tensors in this order, to path.tmp first, then renamed over path. */
vc_status vc_safetensors_write(const char *path, const struct vc_tensor *v, size_t n, vc_err *err);

#endif
