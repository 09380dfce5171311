/* SPDX-License-Identifier: Apache-2.0
 * Chosen rows, byte for byte. */
#include "op/ref/ref.h"

void vc_ref_gather(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_view *x = &c->in[0], *rows = &c->in[1], *y = &c->out[0];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < y->rows; r++) {
        const int32_t *from = (const int32_t *)(const void *)((const char *)rows->data + (size_t)r * rows->stride);
        const char *src = (const char *)x->data + (size_t)*from * x->stride;
        char *dst = (char *)y->data + (size_t)r * y->stride;
        size_t bytes = (size_t)y->cols * vc_dtype_info(y->dtype)->bytes;
        for (size_t i = 0; i < bytes; i++) dst[i] = src[i];
    }
}
