/* SPDX-License-Identifier: Apache-2.0
 * cap * tanh(x / cap). */
#include "kern/cpu/blocks_of_rows.h"
#include "kern/cpu/simd_math.h"
#include "op/args.h"

VC_INLINE vc_vf capped(vc_vf x, vc_vf cap, uint8_t inner) {
    vc_vf t = vc_vf_round_to(inner, vc_vf_tanh(vc_vf_round_to(inner, vc_vf_div(x, cap))));
    return vc_vf_mul(t, cap);
}

vc_op_fn VC_K(vc_softcap);
void VC_K(vc_softcap)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_softcap_args *a = c->args;
    const struct vc_view *x = &c->in[0], *y = &c->out[0];
    uint8_t inner = c->contract->slot[VC_SLOT_SOFTCAP_INNER];
    vc_vf cap = vc_vf_set1(a->cap);
    struct vc_pieces all = vc_pieces_of(x->rows, x->cols, part, parts);
    for (uint64_t u = all.lo; u < all.hi; u++) {
        struct vc_piece p = vc_piece_at(&all, u);
        const void *src = (const char *)x->data + p.row * x->stride;
        void *dst = (char *)y->data + p.row * y->stride;
        uint32_t i = p.lo;
        for (; i + 16 <= p.hi; i += 16) vc_vf_store_as(y->dtype, dst, i, capped(vc_vf_load_as(x->dtype, src, i), cap, inner));
        if (i < p.hi) vc_vf_store_as_n(y->dtype, dst, i, capped(vc_vf_load_as_n(x->dtype, src, i, p.hi - i), cap, inner), p.hi - i);
    }
}
