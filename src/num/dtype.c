/* SPDX-License-Identifier: Apache-2.0 */
#include "num/dtype.h"

#include <string.h>

#include "base/ckd.h"

static const struct vc_dtype_info table[VC_NUM_DTYPES] = {
#define VC_DTYPE(id, name, gguf, st, block, bytes) [VC_##id] = { name, gguf, st, block, bytes },
#include "num/dtype.def"
#undef VC_DTYPE
};

const struct vc_dtype_info *vc_dtype_info(enum vc_dtype t) { return &table[t]; }
const char *vc_dtype_name(enum vc_dtype t) { return t < VC_NUM_DTYPES ? table[t].name : "none"; }

enum vc_dtype vc_dtype_by_name(const char *name) {
    static const struct { const char *name; enum vc_dtype t; } alias[] = {
        { "bfloat16", VC_BF16 }, { "float16", VC_F16 }, { "half", VC_F16 }, { "float32", VC_F32 }, { "float", VC_F32 },
    };
    for (size_t i = 0; i < sizeof alias / sizeof alias[0]; i++)
        if (!strcmp(name, alias[i].name)) return alias[i].t;
    for (int i = 0; i < VC_NUM_DTYPES; i++)
        if (!strcmp(name, table[i].name)) return (enum vc_dtype)i;
    return VC_NO_DTYPE;
}

enum vc_dtype vc_dtype_by_gguf(uint32_t id) {
    for (int i = 0; i < VC_NUM_DTYPES; i++)
        if (table[i].gguf >= 0 && (uint32_t)table[i].gguf == id) return (enum vc_dtype)i;
    return VC_NO_DTYPE;
}

enum vc_dtype vc_dtype_by_safetensors(const char *name, size_t n) {
    for (int i = 0; i < VC_NUM_DTYPES; i++) {
        size_t len = strlen(table[i].safetensors);
        if (len && len == n && !memcmp(name, table[i].safetensors, n)) return (enum vc_dtype)i;
    }
    return VC_NO_DTYPE;
}

bool vc_dtype_bytes(enum vc_dtype t, uint64_t n, uint64_t *bytes) {
    if (n % table[t].block) return true;
    return vc_ckd_mul(bytes, n / table[t].block, table[t].bytes);
}
