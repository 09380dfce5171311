/* SPDX-License-Identifier: Apache-2.0
 * attn_plan.h: how the parts of an attention call share its work: blocks of query rows of one KV head, in a fixed order,
 * each with a cost; a part takes the stretch between its two shares of the whole cost. Whole blocks go to the part
 * in which their middle lies; blocks that may be cut are cut at a tile. No result depends on any of this. */
#ifndef VC_KERN_CPU_ATTN_PLAN_H
#define VC_KERN_CPU_ATTN_PLAN_H

#include "base/compat.h"
#include "op/args.h"
#include "op/attention.h"

enum { VC_AT_MR = 6, VC_AT_ROWS = 24, VC_AT_CUT_ROWS = 12 };   /* rows of a register tile; of a block; of one that is cut */

/* Query rows r0 … r0+n-1 of one KV head of one sequence; rows are (token, query head of the group), tokens outside. */
struct vc_at_block {
    const struct vc_attn_seq *seq;
    uint32_t kv_head, r0, n;
    uint32_t lo, hi;                          /* first and last key that any row sees */
    uint32_t tiles;                           /* tiles of 64 keys that hold them; the first is lo / 64 */
    uint64_t before, cost;                    /* of all blocks before; of this one, `tiles` times weight */
};

struct vc_at_plan {
    const struct vc_attention_args *a;
    uint32_t group, rows, parts;              /* query heads per KV head; most rows of a block */
    uint32_t seq, kv_head, r;                 /* the next block */
    uint64_t before, total;
};

VC_INLINE uint32_t vc_at_pos(const struct vc_at_block *b, uint32_t group, uint32_t i) { return b->seq->pos0 + (b->r0 + i) / group; }
VC_INLINE uint32_t vc_at_first(uint32_t window, uint32_t pos) { return window && pos >= window ? pos - window + 1 : 0; }
/* Reading the keys counts as three rows. */
VC_INLINE uint64_t vc_at_weight(const struct vc_at_block *b) { return b->n + 3; }

/* The next block; 0 after the last. */
VC_INLINE int vc_at_next(struct vc_at_plan *p, struct vc_at_block *b) {
    const struct vc_attention_args *a = p->a;
    while (p->seq < a->num_seqs && p->r >= a->seqs[p->seq].rows * p->group) {
        p->r = 0;
        if (++p->kv_head < a->geom.num_kv_heads && a->seqs[p->seq].rows) continue;
        p->kv_head = 0;
        p->seq++;
    }
    if (p->seq >= a->num_seqs) return 0;
    *b = (struct vc_at_block){ .seq = &a->seqs[p->seq], .kv_head = p->kv_head, .r0 = p->r, .before = p->before };
    b->n = VC_MIN(p->rows, b->seq->rows * p->group - p->r);
    b->lo = vc_at_first(a->window, vc_at_pos(b, p->group, 0));
    b->hi = vc_at_pos(b, p->group, b->n - 1);
    b->tiles = b->hi / VC_ATTN_TILE - b->lo / VC_ATTN_TILE + 1;
    b->cost = b->tiles * vc_at_weight(b);
    p->before += b->cost;
    p->r += b->n;
    return 1;
}

VC_INLINE void vc_at_rewind(struct vc_at_plan *p) {
    p->seq = p->kv_head = p->r = 0;
    p->before = 0;
}

/* Chooses the rows of a block: large ones where there are enough of them; `cut`: blocks may be cut at tiles. */
VC_INLINE void vc_at_start(struct vc_at_plan *p, const struct vc_attention_args *a, uint32_t parts, int cut) {
    struct vc_at_block b;
    uint64_t rows = 0, blocks = 0;
    *p = (struct vc_at_plan){ .a = a, .group = a->num_heads / a->geom.num_kv_heads, .rows = VC_AT_ROWS, .parts = parts };
    for (uint32_t s = 0; s < a->num_seqs; s++) rows += (uint64_t)a->seqs[s].rows * a->num_heads;
    if (rows < (uint64_t)VC_AT_ROWS * 4 * parts) {
        uint64_t want = (rows / (4 * parts) + VC_AT_MR) / VC_AT_MR * VC_AT_MR;
        if (cut) want = VC_AT_CUT_ROWS;
        want = VC_MAX(want, p->group);
        p->rows = (uint32_t)VC_MIN(want, cut ? (uint64_t)VC_AT_CUT_ROWS : VC_AT_ROWS);
    }
    for (uint32_t s = 0; s < a->num_seqs; s++)
        blocks += ((uint64_t)a->seqs[s].rows * p->group + p->rows - 1) / p->rows * a->geom.num_kv_heads;
    if (!cut && blocks < parts) p->rows = (uint32_t)VC_MIN(p->rows, (rows + parts - 1) / parts);
    while (vc_at_next(p, &b)) p->total = p->before;
    vc_at_rewind(p);
}

/* The part that computes a block that is not cut. */
VC_INLINE uint32_t vc_at_owner(const struct vc_at_plan *p, const struct vc_at_block *b) {
    return (uint32_t)((2 * b->before + b->cost) * p->parts / (2 * p->total));
}

/* Most tiles of a block that a part after the block's first one computes: they wait in scratch to be merged. */
VC_INLINE uint32_t vc_at_cap(uint32_t parts) { return parts == 1 ? 0 : VC_MAX(2048 / parts, 64u); }

/* The tile of a block at which a part begins: it computes the tiles from there to the next part's. */
VC_INLINE uint32_t vc_at_cut_raw(const struct vc_at_plan *p, const struct vc_at_block *b, uint32_t part) {
    if (part >= p->parts) return b->tiles;
    if (b->n > VC_AT_CUT_ROWS) return vc_at_owner(p, b) >= part ? 0 : b->tiles;
    uint64_t share = p->total * part / p->parts;
    if (share <= b->before) return 0;
    uint64_t tile = (share - b->before + vc_at_weight(b) - 1) / vc_at_weight(b);
    return (uint32_t)VC_MIN(tile, b->tiles);
}
VC_INLINE uint32_t vc_at_cut(const struct vc_at_plan *p, const struct vc_at_block *b, uint32_t part) {
    uint32_t at = vc_at_cut_raw(p, b, part), cap = vc_at_cap(p->parts);
    if (b->tiles <= cap || at == 0 || b->n > VC_AT_CUT_ROWS) return at;
    for (uint32_t q = p->parts, next = b->tiles; q-- > part; next = at) {
        at = vc_at_cut_raw(p, b, q);
        at = VC_MAX(at, next > cap ? next - cap : 0);
    }
    return at;
}

/* Scratch of one part, in floats. Rows of sums are padded to whole vectors. */
VC_INLINE size_t vc_at_up16(size_t n) { return (n + 15) & ~(size_t)15; }
/* Carried: a row of q, q by groups, sums, and the scores of a KV tile in pieces of 64 keys. */
VC_INLINE size_t vc_at_carried_pieces(uint32_t hd) { return (vc_carried_tile(hd) + VC_ATTN_TILE - 1) / VC_ATTN_TILE; }
VC_INLINE size_t vc_at_carried_floats(uint32_t hd) {
    size_t rows = VC_AT_ROWS;
    return vc_at_up16(hd) + rows * hd + rows * vc_at_up16(hd) + rows * VC_ATTN_TILE * vc_at_carried_pieces(hd);
}
/* Tiled: maxima and sums (16 floats per group each), a row of q, q by groups, sums of P V, those of a tile, scores; then the
 * records of single tiles: 16 maxima, 16 sums, rows of sums of P V. */
VC_INLINE size_t vc_at_record_floats(uint32_t hd, uint32_t rows) { return 32 + rows * vc_at_up16(hd); }
VC_INLINE size_t vc_at_tiled_floats(uint32_t hd, uint32_t parts) {
    size_t rows = VC_AT_ROWS, groups = VC_AT_ROWS / VC_AT_MR;
    return 32 * groups + vc_at_up16(hd) + rows * hd + (rows + VC_AT_MR) * vc_at_up16(hd) + rows * VC_ATTN_TILE
           + vc_at_cap(parts) * vc_at_record_floats(hd, VC_AT_CUT_ROWS);
}

#endif
