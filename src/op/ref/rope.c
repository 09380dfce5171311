/* SPDX-License-Identifier: Apache-2.0
 * Rotary position embedding from a table of cosines and sines. */
#include "op/ref/ref.h"

/* The same bits where the formats agree. */
static void copy(const struct vc_view *x, const struct vc_view *y, uint32_t r, uint32_t i) {
    size_t bytes = vc_dtype_info(x->dtype)->bytes;
    if (x->dtype != y->dtype) vc_store(y, r, i, vc_load(x, r, i));
    else memmove((char *)y->data + r * y->stride + i * bytes, (const char *)x->data + r * x->stride + i * bytes, bytes);
}

static void head(const struct vc_op_call *c, uint32_t r, uint32_t at, uint32_t table_row) {
    const struct vc_rope_args *a = c->args;
    const struct vc_view *x = &c->in[0], *table = &c->in[1], *y = &c->out[0];
    uint32_t half = a->rotary_dim / 2;
    for (uint32_t i = 0; i < half; i++) {
        uint32_t ia = at + (a->style == VC_ROPE_NEOX ? i : 2 * i), ib = at + (a->style == VC_ROPE_NEOX ? i + half : 2 * i + 1);
        float cos = vc_load(table, table_row, i), sin = vc_load(table, table_row, half + i), va = vc_load(x, r, ia), vb = vc_load(x, r, ib);
        float ac = va * cos, bs = vb * sin, bc = vb * cos, as = va * sin;
        vc_store(y, r, ia, ac - bs);
        vc_store(y, r, ib, bc + as);
    }
    for (uint32_t i = a->rotary_dim; i < a->head_dim; i++) copy(x, y, r, at + i);
}

void vc_ref_rope(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_rope_args *a = c->args;
    const struct vc_view *rows = &c->in[2];
    (void)parts;
    if (part != 0) return;
    for (uint32_t r = 0; r < c->in[0].rows; r++) {
        const int32_t *at = (const int32_t *)(const void *)((const char *)rows->data + (size_t)r * rows->stride);
        for (uint32_t h = 0; h < a->heads; h++) head(c, r, h * a->head_dim, (uint32_t)*at);
    }
}
