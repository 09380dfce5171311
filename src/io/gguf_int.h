/* SPDX-License-Identifier: Apache-2.0
 * gguf_int.h: what the files of the GGUF reader share. gguf.c owns opening, splits and the merged tensor list;
 * gguf_parse.c turns the bytes of one file into a vc_gguf_file; gguf_get.c reads values. */
#ifndef VC_IO_GGUF_INT_H
#define VC_IO_GGUF_INT_H

#include "base/arena.h"
#include "io/gguf.h"
#include "io/map.h"
#include "io/names.h"
#include "io/tensors.h"

/* One file. Arrays are owned (malloc) and grow while parsing, so that counts in the header allocate nothing. */
struct vc_gguf_file {
    struct vc_map map;              /* closed for a file in memory */
    const uint8_t *p;               /* its bytes */
    size_t n;
    const char *path;               /* in the arena of vc_gguf */
    uint32_t version;
    uint64_t align, data_start;
    const char **key;               /* n_kv names in the arena */
    struct vc_gguf_value *kv;
    size_t n_kv, cap_kv;
    struct vc_names keys;
    struct vc_tensor *tensor;
    size_t n_tensors, cap_tensors;
};

struct vc_gguf {
    struct vc_arena arena;          /* names and paths */
    struct vc_gguf_file *file;      /* owned */
    size_t n_files;
    vc_str **strings;               /* per key-value of file 0: its table, made when first asked for; owned */
    struct vc_tensor *tensor;       /* all files' tensors; owned */
    const char **tensor_name;
    size_t n_tensors;
    struct vc_names tensors;
};

/* Parses f->p[0…n) (path set). Names go to the arena. On failure f is still valid for vc_gguf_file_free. */
vc_status vc_gguf_parse(struct vc_gguf_file *f, struct vc_arena *a, vc_err *err);
void vc_gguf_file_free(struct vc_gguf_file *f);
const struct vc_gguf_value *vc_gguf_file_find(const struct vc_gguf_file *f, const char *key);
/* Integer of any type, if it is one and fits. */
bool vc_gguf_value_u64(const struct vc_gguf_value *v, uint64_t *u);

#endif
