/* SPDX-License-Identifier: Apache-2.0
 * Each row times its own factor. */
#include "kern/cpu/blocks_of_rows.h"
#include "kern/cpu/simd.h"
#include "op/args.h"

VC_INLINE void piece(enum vc_dtype tx, const void *x, enum vc_dtype ty, void *y, vc_vf f, struct vc_piece p) {
    uint32_t i = p.lo;
    for (; i + 16 <= p.hi; i += 16) vc_vf_store_as(ty, y, i, vc_vf_mul(vc_vf_load_as(tx, x, i), f));
    if (i < p.hi) vc_vf_store_as_n(ty, y, i, vc_vf_mul(vc_vf_load_as_n(tx, x, i, p.hi - i), f), p.hi - i);
}

vc_op_fn VC_K(vc_rowscale);
void VC_K(vc_rowscale)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_view *x = &c->in[0], *s = &c->in[1], *y = &c->out[0];
    struct vc_pieces all = vc_pieces_of(x->rows, x->cols, part, parts);
    for (uint64_t u = all.lo; u < all.hi; u++) {
        struct vc_piece p = vc_piece_at(&all, u);
        vc_vf f = vc_vf_set1(*(const float *)(const void *)((const char *)s->data + p.row * s->stride));
        f = vc_vf_round_to(c->contract->slot[VC_SLOT_ROWSCALE_FACTOR], f);
        const void *src = (const char *)x->data + p.row * x->stride;
        void *dst = (char *)y->data + p.row * y->stride;
        if (x->dtype == VC_BF16 && y->dtype == VC_BF16) piece(VC_BF16, src, VC_BF16, dst, f, p);
        else piece(x->dtype, src, y->dtype, dst, f, p);
    }
}
