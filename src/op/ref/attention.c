/* SPDX-License-Identifier: Apache-2.0
 * attention.c: reference of ATTENTION, both cores: the orders that every kernel repeats. One query row and head at a time.
 * Masked keys take no part. `+ 0` before the last product removes the sign of a zero sum, the one thing that a masked
 * key (p = +0, any finite v) could change in a kernel that keeps it in the chain. */
#include <float.h>
#include <math.h>

#include "op/attention.h"
#include "op/fast_exp.h"
#include "op/math.h"
#include "op/ref/ref.h"

enum { MAX_TILE = 8192 };                                  /* above vc_carried_tile of every head_dim from 8 */

/* One query row of one head. */
struct row {
    const struct vc_op_call *c;
    const struct vc_attention_args *a;
    const uint32_t *block_table;
    uint32_t kv_head, lo, hi;                              /* visible keys lo … hi */
    float q[VC_ATTN_MAX_HEAD_DIM], out[VC_ATTN_MAX_HEAD_DIM];
};

static float cached(const struct row *r, uint32_t pos, uint32_t d, int value) {
    const struct vc_kv_geom *g = &r->a->geom;
    const struct vc_view *pool = &r->c->in[1];
    uint32_t tok = pos % g->page_tokens;
    size_t at = value ? vc_kv_v_index(g, r->kv_head, tok, d) : vc_kv_k_index(g, r->kv_head, tok, d);
    size_t size = pool->dtype == VC_F32 ? 4 : 2;
    const char *page = (const char *)pool->data + (size_t)r->block_table[pos / g->page_tokens] * pool->stride;
    struct vc_view one = { .data = (char *)(uintptr_t)(page + at * size), .dtype = pool->dtype };
    return vc_load(&one, 0, 0);
}

/* (l + l+16) + (l+32 + l+48) where there are 64 lanes, then l+8, l+4, l+2, l+1. */
static float tree16(float *w) {
    for (int h = 8; h; h /= 2)
        for (int i = 0; i < h; i++) w[i] = w[i] + w[i + h];
    return w[0];
}

/* Carried: s = one ascending fma chain of (q * scale) k; softcap by fast_exp. */
static float score_carried(const struct row *r, uint32_t pos) {
    const struct vc_attention_args *a = r->a;
    float s = 0.0f;
    for (uint32_t d = 0; d < a->geom.head_dim; d++) s = vc_fma(vc_flush(r->q[d] * a->scale), cached(r, pos, d, 0), s);
    if (a->softcap > 0.0f) {
        float e = vc_fast_exp(s * (float)(1.0 / (double)a->softcap)), i = 1.0f / e;
        s = ((e - i) / (e + i)) * a->softcap;
    }
    return vc_round_to(r->c->contract->slot[VC_SLOT_ATTN_SCORE], s);
}

static void carried(struct row *r) {
    float p[MAX_TILE];
    uint32_t hd = r->a->geom.head_dim, tile = vc_carried_tile(hd);
    float m = -FLT_MAX, sum = 0.0f, *acc = r->out;
    for (uint32_t d = 0; d < hd; d++) acc[d] = 0.0f;
    for (uint32_t t = r->lo / tile * tile; t <= r->hi; t += tile) {
        uint32_t from = VC_MAX(t, r->lo), to = VC_MIN(t + tile - 1, r->hi);
        float top = m, lanes[16] = { 0 };
        for (uint32_t j = from; j <= to; j++) {
            p[j - t] = score_carried(r, j);
            top = p[j - t] > top ? p[j - t] : top;
        }
        float drop = m - top;
        int moved = drop < -8.0f;
        if (moved) m = top;
        for (uint32_t j = from; j <= to; j++) {
            p[j - t] = vc_fast_exp(p[j - t] - m);
            lanes[j % 16] += p[j - t];
        }
        float f = vc_flush(vc_glibc_expf(drop)), part = tree16(lanes);
        sum = moved ? vc_fma(f, sum, part) : part + sum;
        for (uint32_t d = 0; d < hd; d++) {
            if (moved) acc[d] = acc[d] * f;
            for (uint32_t j = from; j <= to; j++)
                acc[d] = vc_fma(vc_round_to(r->c->contract->slot[VC_SLOT_ATTN_PROB], p[j - t]), cached(r, j, d, 1), acc[d]);
        }
    }
    float inv = 1.0f / sum;
    for (uint32_t d = 0; d < hd; d++) acc[d] = inv * (acc[d] + 0.0f);
}

/* Tiled: s = one pair chain over head_dim, the odd element of each pair first; times scale; softcap by tanh. */
static float score_tiled(const struct row *r, uint32_t pos) {
    const struct vc_attention_args *a = r->a;
    float s = 0.0f;
    for (uint32_t d = 0; d < a->geom.head_dim; d += 2) {
        s = vc_fma(r->q[d + 1], cached(r, pos, d + 1, 0), s);
        s = vc_fma(r->q[d], cached(r, pos, d, 0), s);
    }
    s = s * a->scale;
    if (a->softcap > 0.0f) s = vc_tanhf(s / a->softcap) * a->softcap;
    return vc_round_to(r->c->contract->slot[VC_SLOT_ATTN_SCORE], s);
}

static void tiled(struct row *r) {
    uint32_t hd = r->a->geom.head_dim;
    float M = -INFINITY, L = 0.0f, *O = r->out;
    for (uint32_t d = 0; d < hd; d++) O[d] = 0.0f;
    for (uint32_t t = r->lo / VC_ATTN_TILE * VC_ATTN_TILE; t <= r->hi; t += VC_ATTN_TILE) {
        uint32_t from = VC_MAX(t, r->lo) - t, to = VC_MIN(t + VC_ATTN_TILE - 1, r->hi) - t;
        float p[VC_ATTN_TILE] = { 0 }, w[16], m = -INFINITY;
        for (uint32_t j = from; j <= to; j++) {
            p[j] = score_tiled(r, t + j);
            m = p[j] > m ? p[j] : m;
        }
        for (uint32_t j = from; j <= to; j++) p[j] = vc_attn_exp(p[j] - m);
        for (int i = 0; i < 16; i++) w[i] = (p[i] + p[i + 16]) + (p[i + 32] + p[i + 48]);
        float l = tree16(w);
        for (uint32_t j = from; j <= to; j++) p[j] = vc_round_to(r->c->contract->slot[VC_SLOT_ATTN_PROB], p[j]);
        /* merge: the tile (m, l, o) into (M, L, O) */
        float X = M > m ? M : m, f = vc_attn_exp(M - X), g = vc_attn_exp(m - X);
        M = X;
        L = vc_fma(l, g, L * f);
        for (uint32_t d = 0; d < hd; d++) {
            float o = 0.0f;
            for (uint32_t j = 0; j < VC_ATTN_TILE; j++) {
                uint32_t k = j ^ 1;                        /* 1, 0, 3, 2, … */
                if (k >= from && k <= to) o = vc_fma(p[k], cached(r, t + k, d, 1), o);
            }
            O[d] = vc_fma(o, g, O[d] * f);
        }
    }
    float inv = 1.0f / L;
    for (uint32_t d = 0; d < hd; d++) O[d] = (O[d] + 0.0f) * inv;
}

void vc_ref_attention(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    struct row r;
    const struct vc_attention_args *a = c->args;
    uint32_t hd = a->geom.head_dim, group = a->num_heads / a->geom.num_kv_heads;
    (void)parts;
    if (part) return;
    r.c = c;
    r.a = a;
    for (uint32_t s = 0; s < a->num_seqs; s++)
        for (uint32_t i = 0; i < a->seqs[s].rows; i++)
            for (uint32_t h = 0; h < a->num_heads; h++) {
                uint32_t at = a->seqs[s].row0 + i;
                r.block_table = a->seqs[s].block_table;
                r.kv_head = h / group;
                r.hi = a->seqs[s].pos0 + i;
                r.lo = a->window && r.hi >= a->window ? r.hi - a->window + 1 : 0;
                for (uint32_t d = 0; d < hd; d++) r.q[d] = vc_load(&c->in[0], at, h * hd + d);
                (c->contract->core == VC_ARITH_ATTN_CARRIED ? carried : tiled)(&r);
                for (uint32_t d = 0; d < hd; d++) vc_store(&c->out[0], at, h * hd + d, r.out[d]);
            }
}
