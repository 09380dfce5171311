/* SPDX-License-Identifier: Apache-2.0
 * kvstore.c: reference of KVSTORE: each k and v row rounded to the format of the cache and put at its slot. */
#include "op/ref/ref.h"

/* x at element `at` of the page, in the format of the pool. */
static void put(const struct vc_view *pool, uint64_t page, size_t at, float x) {
    struct vc_view row = { .data = (char *)pool->data + page * pool->stride, .dtype = pool->dtype };
    size_t size = pool->dtype == VC_F32 ? 4 : 2;
    row.data = (char *)row.data + at * size;
    vc_store(&row, 0, 0, x);
}

void vc_ref_kvstore(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_kvstore_args *a = c->args;
    const struct vc_kv_geom *g = &a->geom;
    const struct vc_view *k = &c->in[0], *v = &c->in[1], *slots = &c->in[2], *pool = &c->out[0];
    (void)parts;
    if (part) return;
    for (uint32_t t = 0; t < k->rows; t++) {
        int64_t slot = *(const int64_t *)(const void *)((const char *)slots->data + (size_t)t * slots->stride);
        if (slot < 0) continue;
        uint64_t page = (uint64_t)slot / g->page_tokens;
        uint32_t tok = (uint32_t)((uint64_t)slot % g->page_tokens);
        for (uint32_t h = 0; h < g->num_kv_heads; h++)
            for (uint32_t d = 0; d < g->head_dim; d++) {
                put(pool, page, vc_kv_k_index(g, h, tok, d), vc_load(k, t, h * g->head_dim + d));
                put(pool, page, vc_kv_v_index(g, h, tok, d), vc_load(v, t, h * g->head_dim + d));
            }
    }
}
