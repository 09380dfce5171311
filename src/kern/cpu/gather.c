/* SPDX-License-Identifier: Apache-2.0
 * Chosen rows, byte for byte. Parts share the rows. */
#include "base/pool.h"
#include "kern/cpu/isa.h"
#include "op/args.h"

#include <string.h>

vc_op_fn VC_K(vc_gather);
void VC_K(vc_gather)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_view *x = &c->in[0], *rows = &c->in[1], *y = &c->out[0];
    size_t bytes = (size_t)y->cols * vc_dtype_info(y->dtype)->bytes;
    uint64_t lo, hi;
    vc_share(y->rows, 1, part, parts, &lo, &hi);
    for (uint64_t r = lo; r < hi; r++) {
        const int32_t *from = (const int32_t *)(const void *)((const char *)rows->data + r * rows->stride);
        memcpy((char *)y->data + r * y->stride, (const char *)x->data + (size_t)*from * x->stride, bytes);
    }
}
