/* SPDX-License-Identifier: Apache-2.0
 * iblk_wide.h: the loops around the tiles, AVX2 and AVX-512. Included by matmul_iblk.c only.
 * Order: group of ROWS rows, panel, K block, chunk of it (unpacked once), tile of rows. */
#ifndef VC_KERN_CPU_IBLK_WIDE_H
#define VC_KERN_CPU_IBLK_WIDE_H

#include "kern/cpu/iblk_act.h"

/* What is specific to a format, instantiated for each. */
struct format {
    void (*act_row)(const char *x, uint32_t K, uint32_t mr, uint32_t i, char *dst);
    void (*unpack)(const uint8_t *w, const uint8_t *low, uint32_t n, struct vc_iblk_own *own);
    vc_iblk_tile_fn *direct, *tile[MR + 1];
};

#define TILE(f, mr) static void tile_##f##_##mr(const struct vc_iblk_tile *t) { vc_iblk_tile(VC_##f, mr, NR, 0, t); }
#define TILE1(f) static void row_##f(const struct vc_iblk_tile *t) { vc_iblk_tile(VC_##f, 1, 32 / VL, 1, t); }
#define ACT(f) static void act_##f(const char *x, uint32_t K, uint32_t mr, uint32_t i, char *dst) { vc_iblk_act_row(VC_##f, x, K, mr, i, dst); }
#define UNPACK(f)                                                                                              \
    static void unpack_##f(const uint8_t *w, const uint8_t *low, uint32_t n, struct vc_iblk_own *own) {        \
        vc_iblk_unpack(VC_##f, w, low, n, own);                                                                \
    }
#define FORMAT(f) ACT(f) UNPACK(f) TILE1(f) TILE(f, 1) TILE(f, 2) TILE(f, 3) TILE(f, 4) TILE(f, 5) TILE(f, 6)
#define ROW_OF(f)                                                                                                    \
    [VC_##f] = { act_##f, unpack_##f, row_##f,                                                                       \
                 { NULL, tile_##f##_1, tile_##f##_2, tile_##f##_3, tile_##f##_4, tile_##f##_5, tile_##f##_6 } }

FORMAT(Q4_0) FORMAT(Q4_1) FORMAT(Q5_0) FORMAT(Q5_1) FORMAT(Q8_0)
FORMAT(Q2_K) FORMAT(Q3_K) FORMAT(Q4_K) FORMAT(Q5_K) FORMAT(Q6_K)
static const struct format formats[] = {
    ROW_OF(Q4_0), ROW_OF(Q4_1), ROW_OF(Q5_0), ROW_OF(Q5_1), ROW_OF(Q8_0),
    ROW_OF(Q2_K), ROW_OF(Q3_K), ROW_OF(Q4_K), ROW_OF(Q5_K), ROW_OF(Q6_K),
};

void VC_K(vc_iblk_rows)(const struct vc_iblk_job *j, void *acts, uint32_t r0, uint32_t r1) {
    const size_t row_bytes = vc_iblk_act(j->weight, j->K).row;
    const uint32_t rows = vc_iblk_tile_rows(j->weight);
    for (uint32_t r = r0; r < r1; r += rows) {
        const uint32_t mr = VC_MIN(r1 - r, rows);
        for (uint32_t i = 0; i < mr; i++)
            formats[j->weight].act_row(row_of(j, r + i), j->K, mr, i, (char *)acts + r * row_bytes);
    }
}

/* Points t at the activations of `mr` rows (at `rows`) from k0 on. */
static void point(struct vc_iblk_tile *t, const struct vc_iblk_job *j, const char *rows, uint32_t mr, uint32_t k0) {
    const enum vc_dtype f = j->weight;
    const struct vc_iblk_act at = vc_iblk_act(f, j->K);
    t->q = (const uint32_t *)(const void *)(rows + (size_t)k0 * mr);
    t->d = (const float *)(const void *)(rows + (at.d + k0 / vc_iblk_block(f) * 4) * mr);
    t->init = (const uint32_t *)(const void *)(rows + (at.init + k0 / vc_iblk_sub(f) * 4) * mr);
    t->aux = (const uint32_t *)(const void *)(rows + (at.aux + k0 / (!vc_iblk_is_k(f) ? 32 : 2 * vc_iblk_sub(f)) * 4) * mr);
    t->add = (const uint32_t *)(const void *)(rows + (at.add + k0 / 32 * 4) * mr);
}

/* One row: the columns of panel p to own->sum[0], K block after K block, straight through. w_end, low_end: of the tile. */
static void panel_row(const struct vc_iblk_job *j, const void *acts, struct vc_iblk_own *own, uint32_t p, const uint8_t *w_end, const uint8_t *low_end) {
    const enum vc_dtype f = j->weight;
    const uint32_t kblock = vc_kblock(j->K);
    const uint8_t *w = j->panel + p * vc_iblk_panel_bytes(f, j->K), *low = j->low + p * vc_iblk_low_bytes(f, j->K);
    for (uint32_t k = 0; k < j->K; k += kblock) {
        struct vc_iblk_tile t = {
            .w = w, .low = low, .w_end = w_end, .low_end = low_end, .own = own,
            .n = VC_MIN(kblock, j->K - k) / vc_iblk_block(f), .acc = own->acc[0], .first = 1,
        };
        point(&t, j, acts, 1, k);
        formats[f].direct(&t);
        add_block(own->sum[0], own->acc[0], VC_IBLK_COLS, k == 0);
        w += t.n * vc_iblk_block_bytes(f);
        low += t.n * vc_iblk_low(f);
    }
}

/* The n blocks at w from k on for rows [r0, r1), which are unpacked in own. */
static void chunk_rows(const struct vc_iblk_job *j, const char *acts, struct vc_iblk_own *own, uint32_t r0, uint32_t r1,
                       uint32_t k, uint32_t n, int first) {
    const enum vc_dtype f = j->weight;
    const size_t row_bytes = vc_iblk_act(f, j->K).row;
    const uint32_t half = n * vc_iblk_block(f) * NR * VL;
    const uint32_t rows = vc_iblk_tile_rows(f);
    for (uint32_t r = r0; r < r1; r += rows) {
        const uint32_t mr = VC_MIN(r1 - r, rows);
        struct vc_iblk_tile t = { .own = own, .n = n, .first = first };
        point(&t, j, acts + r * row_bytes, mr, k);
        for (uint32_t c = 0; c < VC_IBLK_COLS; c += NR * VL) {
            t.w = own->codes + c / (NR * VL) * half;
            t.c0 = c;
            t.acc = own->acc[r - r0] + c;
            formats[f].tile[mr](&t);
        }
    }
}

static void panel_rows(const struct vc_iblk_job *j, const char *acts, struct vc_iblk_own *own, uint32_t r0, uint32_t r1, uint32_t p) {
    const enum vc_dtype f = j->weight;
    const uint32_t kblock = vc_kblock(j->K), n = (r1 - r0) * VC_IBLK_COLS;
    const uint8_t *w = j->panel + p * vc_iblk_panel_bytes(f, j->K), *low = j->low + p * vc_iblk_low_bytes(f, j->K);
    const float *y = own->acc[0];
    for (uint32_t k = 0; k < j->K;) {
        const uint32_t in_block = k % kblock, len = VC_MIN(VC_MIN((uint32_t)CHUNK, kblock - in_block), j->K - k);
        const uint32_t blocks = len / vc_iblk_block(f);
        formats[f].unpack(w, low, blocks, own);
        chunk_rows(j, acts, own, r0, r1, k, blocks, in_block == 0);
        w += blocks * vc_iblk_block_bytes(f);
        low += blocks * vc_iblk_low(f);
        k += len;
        if (j->K > kblock && (k % kblock == 0 || k == j->K)) {
            add_block(own->sum[0], own->acc[0], n, k <= kblock);
            y = own->sum[0];
        }
    }
    for (uint32_t r = r0; r < r1; r++) store_row(j, r, p, y + (r - r0) * VC_IBLK_COLS);
}

void VC_K(vc_iblk_panels)(const struct vc_iblk_job *j, const void *acts, void *own, uint32_t p0, uint32_t p1) {
    if (j->M == 1) {
        struct vc_iblk_own *o = own;
        const uint8_t *w_end = vc_iblk_ahead_end(j->panel, vc_iblk_panel_bytes(j->weight, j->K), p0, p1);
        const uint8_t *low_end = vc_iblk_ahead_end(j->low, vc_iblk_low_bytes(j->weight, j->K), p0, p1);
        for (uint32_t p = p0; p < p1; p++) {
            panel_row(j, acts, o, p, w_end, low_end);
            store_row(j, 0, p, o->sum[0]);
        }
        return;
    }
    for (uint32_t r = 0; r < j->M; r += ROWS)
        for (uint32_t p = p0; p < p1; p++) panel_rows(j, acts, own, r, VC_MIN(r + ROWS, j->M), p);
}

#endif
