/* SPDX-License-Identifier: Apache-2.0 */
#include "model/archs.h"

#include <string.h>

const struct vc_arch *const vc_archs[] = {
#define VC_ARCH(id) &vc_arch_##id,
#include "model/archs.def"
#undef VC_ARCH
    NULL,
};

const struct vc_arch *vc_arch_by_hf(const char *class_name) {
    for (const struct vc_arch *const *a = vc_archs; *a; a++)
        for (const char *const *n = (*a)->hf_names; *n; n++)
            if (!strcmp(*n, class_name)) return *a;
    return NULL;
}

const struct vc_arch *vc_arch_by_gguf(const char *name, size_t n) {
    for (const struct vc_arch *const *a = vc_archs; *a; a++)
        if ((*a)->gguf_name && strlen((*a)->gguf_name) == n && !memcmp((*a)->gguf_name, name, n)) return *a;
    return NULL;
}
