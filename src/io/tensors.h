/* SPDX-License-Identifier: Apache-2.0
 * tensors.h: all tensors of a model, whatever the container: name, format, shape, bytes.
 * Names are unique over all files, every tensor's bytes lie inside its file and are exactly what format and shape need.
 * Immutable after opening; data is borrowed from the mapping, unaligned in safetensors files. */
#ifndef VC_IO_TENSORS_H
#define VC_IO_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/gguf.h"
#include "num/dtype.h"

enum { VC_MAX_DIMS = 8 };

struct vc_tensor {
    const char *name;           /* owned by the vc_tensors or vc_gguf */
    enum vc_dtype dtype;
    uint32_t n_dims;            /* 0: a scalar */
    uint64_t dims[VC_MAX_DIMS]; /* row-major, outermost first (GGUF's ne[] reversed) */
    const void *data;           /* borrowed from the map */
    uint64_t bytes;
    uint32_t file;              /* index for vc_tensors_file */
    uint64_t offset;            /* of data in that file */
};

struct vc_tensors;

/* g is borrowed and must outlive the result. */
vc_status vc_tensors_open_gguf(struct vc_tensors **out, const struct vc_gguf *g, vc_err *err);
/* path: one .safetensors file, or a folder: its model.safetensors.index.json if there is one (every tensor must lie in
 * the file that the index names), else all its *.safetensors but golden.safetensors and vllm_logits.safetensors. */
vc_status vc_tensors_open_safetensors(struct vc_tensors **out, const char *path, vc_err *err);
void vc_tensors_close(struct vc_tensors *t);    /* NULL is fine */

const struct vc_tensor *vc_tensors_find(const struct vc_tensors *t, const char *name);      /* NULL: absent */
size_t vc_tensors_count(const struct vc_tensors *t);
const struct vc_tensor *vc_tensors_at(const struct vc_tensors *t, size_t i);
size_t vc_tensors_num_files(const struct vc_tensors *t);
const char *vc_tensors_file(const struct vc_tensors *t, size_t i);     /* path of file i */
/* The pages of x are not needed for a while (madvise); its data stays readable. */
void vc_tensors_drop(const struct vc_tensors *t, const struct vc_tensor *x);
void vc_tensors_drop_all(const struct vc_tensors *t);

/* Copies bytes [at, at + bytes) of x's data, without its pages becoming resident. False: the file cannot be read. */
bool vc_tensors_read(const struct vc_tensors *t, const struct vc_tensor *x, uint64_t at, uint64_t bytes, void *dst);

/* Product of the dims (never overflows: checked at opening). */
uint64_t vc_tensor_elems(const struct vc_tensor *x);

#endif
