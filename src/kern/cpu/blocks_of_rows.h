/* SPDX-License-Identifier: Apache-2.0
 * blocks_of_rows.h: how elementwise ops are shared: pieces of 1024 columns of a row, so that a single row also uses all
 * threads. */
#ifndef VC_KERN_CPU_BLOCKS_OF_ROWS_H
#define VC_KERN_CPU_BLOCKS_OF_ROWS_H

#include "base/pool.h"

enum { VC_PIECE_COLS = 1024 };
struct vc_pieces { uint64_t lo, hi; uint32_t cols, per_row; };
struct vc_piece { uint32_t row, lo, hi; };

static inline struct vc_pieces vc_pieces_of(uint32_t rows, uint32_t cols, uint32_t part, uint32_t parts) {
    struct vc_pieces p = { .cols = cols, .per_row = (cols + VC_PIECE_COLS - 1) / VC_PIECE_COLS };
    vc_share((uint64_t)rows * p.per_row, 1, part, parts, &p.lo, &p.hi);
    return p;
}
static inline struct vc_piece vc_piece_at(const struct vc_pieces *p, uint64_t i) {
    uint32_t lo = (uint32_t)(i % p->per_row) * VC_PIECE_COLS, left = p->cols - lo;
    return (struct vc_piece){ (uint32_t)(i / p->per_row), lo, lo + (left < VC_PIECE_COLS ? left : VC_PIECE_COLS) };
}

#endif
