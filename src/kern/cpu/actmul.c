/* SPDX-License-Identifier: Apache-2.0
 * act(gate) * up, the act and the common stored types folded in. */
#include "kern/cpu/act_lanes.h"
#include "kern/cpu/blocks_of_rows.h"

struct io { const void *gate, *up; void *y; enum vc_dtype tx, ty; uint8_t slot; uint32_t vector_end; };

VC_INLINE vc_vf product(enum vc_act act, const struct io *io, vc_vf g, vc_vf u, uint32_t i) {
    vc_vf v = vc_vf_round_to(io->slot, vc_vf_act(act, g));
    if (act == VC_ACT_GELU_TANH && io->slot == VC_BF16 && i < io->vector_end) v = vc_vf_gelu_tanh_hole(g, v);
    return vc_vf_mul(v, u);
}
/* Columns lo … hi-1; lo and vector_end are multiples of 16. */
VC_INLINE void columns(enum vc_act act, const struct io *io, struct vc_piece p) {
    uint32_t i = p.lo;
    for (; i + 16 <= p.hi; i += 16)
        vc_vf_store_as(io->ty, io->y, i, product(act, io, vc_vf_load_as(io->tx, io->gate, i), vc_vf_load_as(io->tx, io->up, i), i));
    if (i < p.hi) {
        uint32_t n = p.hi - i;
        vc_vf_store_as_n(io->ty, io->y, i, product(act, io, vc_vf_load_as_n(io->tx, io->gate, i, n), vc_vf_load_as_n(io->tx, io->up, i, n), i), n);
    }
}
VC_INLINE void columns_as(enum vc_act act, struct io io, struct vc_piece p) {
    if (io.tx == VC_BF16 && io.ty == VC_BF16 && io.slot == VC_BF16) {
        io.tx = io.ty = VC_BF16;
        io.slot = VC_BF16;
        columns(act, &io, p);
    } else if (io.tx == VC_F32 && io.ty == VC_F32 && io.slot == VC_F32) {
        io.tx = io.ty = VC_F32;
        io.slot = VC_F32;
        columns(act, &io, p);
    } else {
        columns(act, &io, p);
    }
}

vc_op_fn VC_K(vc_actmul);
void VC_K(vc_actmul)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_actmul_args *a = c->args;
    const struct vc_view *x = &c->in[0], *y = &c->out[0];
    struct io io = { .tx = x->dtype, .ty = y->dtype, .slot = c->contract->slot[VC_SLOT_ACT_GATE], .vector_end = y->cols / 64 * 64 };
    size_t up_at = (size_t)y->cols * vc_dtype_info(x->dtype)->bytes;
    struct vc_pieces all = vc_pieces_of(y->rows, y->cols, part, parts);
    for (uint64_t u = all.lo; u < all.hi; u++) {
        struct vc_piece p = vc_piece_at(&all, u);
        io.gate = (const char *)x->data + p.row * x->stride;
        io.up = (const char *)io.gate + up_at;
        io.y = (char *)y->data + p.row * y->stride;
        switch (a->act) {
            case VC_ACT_SILU: columns_as(VC_ACT_SILU, io, p); break;
            case VC_ACT_GELU_TANH: columns_as(VC_ACT_GELU_TANH, io, p); break;
            case VC_ACT_GELU: columns_as(VC_ACT_GELU, io, p); break;
            default: columns_as(VC_ACT_RELU, io, p);
        }
    }
}
