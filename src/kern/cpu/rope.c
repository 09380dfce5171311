/* SPDX-License-Identifier: Apache-2.0
 * Rotary position embedding. Parts share the rows, and the heads of a row. x and y may be the same memory: both
 * elements of a pair are read before either is written. */
#include "base/pool.h"
#include "kern/cpu/simd.h"
#include "op/args.h"

struct io { const char *x, *table; char *y; enum vc_dtype tx, tt, ty; };

/* First and second elements of n <= 16 pairs, rotated. */
VC_INLINE void turn(vc_vf *a, vc_vf *b, vc_vf cos, vc_vf sin) {
    vc_vf ac = vc_vf_mul(*a, cos), bs = vc_vf_mul(*b, sin), bc = vc_vf_mul(*b, cos), as = vc_vf_mul(*a, sin);
    *a = vc_vf_sub(ac, bs);
    *b = vc_vf_add(bc, as);
}
VC_INLINE vc_vf load(enum vc_dtype t, const void *p, uint32_t i, uint32_t n) { return n == 16 ? vc_vf_load_as(t, p, i) : vc_vf_load_as_n(t, p, i, n); }
VC_INLINE void store(enum vc_dtype t, void *p, uint32_t i, vc_vf v, uint32_t n) {
    if (n == 16) vc_vf_store_as(t, p, i, v);
    else vc_vf_store_as_n(t, p, i, v, n);
}
VC_INLINE void neox(const struct io *io, uint32_t half) {
    for (uint32_t i = 0; i < half; i += 16) {
        uint32_t n = half - i < 16 ? half - i : 16;
        vc_vf a = load(io->tx, io->x, i, n), b = load(io->tx, io->x, half + i, n);
        turn(&a, &b, load(io->tt, io->table, i, n), load(io->tt, io->table, half + i, n));
        store(io->ty, io->y, i, a, n);
        store(io->ty, io->y, half + i, b, n);
    }
}
VC_INLINE void gptj(const struct io *io, uint32_t half) {
    for (uint32_t i = 0; i < half; i += 16) {
        uint32_t n = half - i < 16 ? half - i : 16, first = 2 * n < 16 ? 2 * n : 16, second = 2 * n - first;
        float f[32] = { 0 }, a[16], b[16];
        vc_vf_store(f, load(io->tx, io->x, 2 * i, first));
        if (second) vc_vf_store(f + 16, load(io->tx, io->x, 2 * i + 16, second));
        for (int l = 0; l < 16; l++) {
            a[l] = f[2 * l];
            b[l] = f[2 * l + 1];
        }
        vc_vf va = vc_vf_load(a), vb = vc_vf_load(b);
        turn(&va, &vb, load(io->tt, io->table, i, n), load(io->tt, io->table, half + i, n));
        vc_vf_store(a, va);
        vc_vf_store(b, vb);
        for (int l = 0; l < 16; l++) {
            f[2 * l] = a[l];
            f[2 * l + 1] = b[l];
        }
        store(io->ty, io->y, 2 * i, vc_vf_load(f), first);
        if (second) store(io->ty, io->y, 2 * i + 16, vc_vf_load(f + 16), second);
    }
}
/* Elements behind the rotated ones: the same bits, or converted. */
static void rest(const struct io *io, uint32_t lo, uint32_t hi) {
    size_t bytes = vc_dtype_info(io->tx)->bytes;
    if (io->tx == io->ty) {
        if (io->x != io->y) memcpy(io->y + lo * bytes, io->x + lo * bytes, (hi - lo) * bytes);
        return;
    }
    for (uint32_t i = lo; i < hi; i += 16) {
        uint32_t n = hi - i < 16 ? hi - i : 16;
        store(io->ty, io->y, i, load(io->tx, io->x, i, n), n);
    }
}
static void head(const struct io *io, const struct vc_rope_args *a) {
    uint32_t half = a->rotary_dim / 2;
    struct io f = *io;
    if (a->style == VC_ROPE_GPTJ) {
        gptj(io, half);
    } else if (io->tx == VC_BF16 && io->tt == VC_BF16 && io->ty == VC_BF16) {
        f.tx = f.tt = f.ty = VC_BF16;
        neox(&f, half);
    } else if (io->tx == VC_F32 && io->tt == VC_F32 && io->ty == VC_F32) {
        f.tx = f.tt = f.ty = VC_F32;
        neox(&f, half);
    } else {
        neox(io, half);
    }
    if (a->rotary_dim < a->head_dim) rest(io, a->rotary_dim, a->head_dim);
}

vc_op_fn VC_K(vc_rope);
void VC_K(vc_rope)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct vc_rope_args *a = c->args;
    const struct vc_view *x = &c->in[0], *table = &c->in[1], *rows = &c->in[2], *y = &c->out[0];
    size_t xb = vc_dtype_info(x->dtype)->bytes, yb = vc_dtype_info(y->dtype)->bytes;
    struct io io = { .tx = x->dtype, .tt = table->dtype, .ty = y->dtype };
    uint64_t lo, hi;
    vc_share((uint64_t)x->rows * a->heads, 1, part, parts, &lo, &hi);
    for (uint64_t u = lo; u < hi; u++) {
        uint64_t r = u / a->heads, at = u % a->heads * a->head_dim;
        const int32_t *row = (const int32_t *)(const void *)((const char *)rows->data + r * rows->stride);
        io.table = (const char *)table->data + (size_t)*row * table->stride;
        io.x = (const char *)x->data + r * x->stride + at * xb;
        io.y = (char *)y->data + r * y->stride + at * yb;
        head(&io, a);
    }
}
