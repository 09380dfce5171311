/* SPDX-License-Identifier: Apache-2.0
 * kvstore.c: KVSTORE (op/ref/kvstore.c), all tiers: rows of k and v rounded to the cache's format and put at their slots.
 * Parts share out tokens. V rows are written whole; a K row is spread, element d at d * 16. */
#include "base/pool.h"
#include "dev/kernel.h"
#include "kern/cpu/simd.h"

/* n elements (8 or 16) from element i of a row; subnormals become zeros of their sign. */
VC_INLINE vc_vf load(enum vc_dtype t, const void *row, uint32_t i, uint32_t n) {
    vc_vf x = n == 16 ? vc_vf_load_as(t, row, i) : vc_vf_load_as_n(t, row, i, n);
    vc_vf zero = vc_vi_float(vc_vi_and(vc_vf_bits(x), vc_vi_set1((int32_t)0x80000000u)));
    return vc_vf_select(vc_vf_lt(vc_vf_abs(x), vc_vf_set1(0x1p-126f)), zero, x);
}

/* head_dim elements of k from element i to the strided place `to`. */
static void spread(enum vc_dtype t, const void *row, uint32_t i, uint32_t head_dim, enum vc_dtype cache, char *to) {
    for (uint32_t d = 0; d < head_dim; d += 16) {
        uint32_t n = VC_MIN(head_dim - d, 16u);
        vc_vf x = load(t, row, i + d, n);
        if (cache == VC_F32) {
            float f[16];
            vc_vf_store(f, x);
            for (uint32_t j = 0; j < n; j++) memcpy(to + (size_t)(d + j) * 64, &f[j], 4);
        } else {
            uint16_t h[16];
            if (cache == VC_BF16) vc_vf_store_bf16(h, x);
            else vc_vf_store_f16(h, x);
            for (uint32_t j = 0; j < n; j++) memcpy(to + (size_t)(d + j) * 32, &h[j], 2);
        }
    }
}
static void copy(enum vc_dtype t, const void *row, uint32_t i, uint32_t head_dim, enum vc_dtype cache, char *to) {
    for (uint32_t d = 0; d < head_dim; d += 16) {
        uint32_t n = VC_MIN(head_dim - d, 16u);
        vc_vf x = load(t, row, i + d, n);
        if (n == 16) vc_vf_store_as(cache, to, d, x);
        else vc_vf_store_as_n(cache, to, d, x, n);
    }
}

vc_op_fn VC_K(vc_kvstore);
void VC_K(vc_kvstore)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_kvstore_args *a = c->args;
    const struct vc_kv_geom *g = &a->geom;
    const struct vc_view *k = &c->in[0], *v = &c->in[1], *slots = &c->in[2], *pool = &c->out[0];
    size_t size = pool->dtype == VC_F32 ? 4 : 2;
    uint64_t lo, hi;
    vc_share(k->rows, 16, part, parts, &lo, &hi);
    for (uint64_t t = lo; t < hi; t++) {
        int64_t slot;
        memcpy(&slot, (const char *)slots->data + t * slots->stride, sizeof slot);
        if (slot < 0) continue;
        char *page = (char *)pool->data + (uint64_t)slot / g->page_tokens * pool->stride;
        uint32_t tok = (uint32_t)((uint64_t)slot % g->page_tokens);
        for (uint32_t h = 0; h < g->num_kv_heads; h++) {
            spread(k->dtype, (const char *)k->data + t * k->stride, h * g->head_dim, g->head_dim, pool->dtype, page + vc_kv_k_index(g, h, tok, 0) * size);
            copy(v->dtype, (const char *)v->data + t * v->stride, h * g->head_dim, g->head_dim, pool->dtype, page + vc_kv_v_index(g, h, tok, 0) * size);
        }
    }
}
