/* SPDX-License-Identifier: Apache-2.0
 * Rows of the embedding table, decoded block by block. */
#include "num/block.h"
#include "op/ref/ref.h"

void vc_ref_embed(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_embed_args *a = c->args;
    const struct vc_view *ids = &c->in[0], *table = &c->in[1], *x = &c->out[0];
    const struct vc_dtype_info *t = vc_dtype_info(table->dtype);
    size_t row_bytes = (size_t)(table->cols / t->block) * t->bytes;
    float e[256];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < x->rows; r++) {
        const int32_t *id = (const int32_t *)(const void *)((const char *)ids->data + (size_t)r * ids->stride);
        const char *row = (const char *)table->raw + (size_t)*id * row_bytes;
        for (uint32_t i = 0; i < table->cols; i++) {
            if (i % t->block == 0) vc_decode(table->dtype, row + (size_t)(i / t->block) * t->bytes, t->block, e);
            float v = vc_round_to((uint8_t)a->cast, vc_flush(e[i % t->block]));
            vc_store(x, r, i, a->scale == 1.0f ? v : v * a->scale);
        }
    }
}
