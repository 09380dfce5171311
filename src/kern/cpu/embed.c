/* SPDX-License-Identifier: Apache-2.0
 * Rows of the embedding table. Float tables are read directly; block formats, f8 and f64 are decoded in pieces of 256. */
#include "base/pool.h"
#include "kern/cpu/simd.h"
#include "num/block.h"
#include "op/args.h"

VC_INLINE vc_vf one(const struct vc_embed_args *a, vc_vf e) {
    e = vc_vf_round_to((uint8_t)a->cast, e);
    return a->scale == 1.0f ? e : vc_vf_mul(e, vc_vf_set1(a->scale));
}
static void row_of(const struct vc_embed_args *a, enum vc_dtype t, const void *src, uint32_t n, enum vc_dtype ty, void *y, uint32_t at) {
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) vc_vf_store_as(ty, y, at + i, one(a, vc_vf_load_as(t, src, i)));
    if (i < n) vc_vf_store_as_n(ty, y, at + i, one(a, vc_vf_load_as_n(t, src, i, n - i)), n - i);
}

vc_op_fn VC_K(vc_embed);
void VC_K(vc_embed)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_embed_args *a = c->args;
    const struct vc_view *ids = &c->in[0], *table = &c->in[1], *x = &c->out[0];
    const struct vc_dtype_info *t = vc_dtype_info(table->dtype);
    size_t row_bytes = (size_t)(table->cols / t->block) * t->bytes;
    uint64_t lo, hi;
    vc_share(x->rows, 1, part, parts, &lo, &hi);
    for (uint64_t r = lo; r < hi; r++) {
        const int32_t *id = (const int32_t *)(const void *)((const char *)ids->data + r * ids->stride);
        const char *src = (const char *)table->raw + (size_t)*id * row_bytes;
        void *dst = (char *)x->data + r * x->stride;
        if (vc_dtype_is_float(table->dtype)) {
            row_of(a, table->dtype, src, table->cols, x->dtype, dst, 0);
            continue;
        }
        for (uint32_t at = 0; at < table->cols; at += 256) {
            float e[256];
            uint32_t n = table->cols - at < 256 ? table->cols - at : 256;
            vc_decode(table->dtype, src + (size_t)(at / t->block) * t->bytes, n, e);
            row_of(a, VC_F32, e, n, x->dtype, dst, at);
        }
    }
}
