/* SPDX-License-Identifier: Apache-2.0
 * pair_loop.h: the loops around the tiles of pair_tile.h, for one thread: rows packed by pack_rows, a range of a
 * panel's outputs, K in blocks. Order: panel, block of rows, K block, cache block of K, sub-panel, row tile; the
 * widened cache block is used by all row tiles. Rows are spread evenly over the tiles. */
#ifndef VC_KERN_PAIR_LOOP_H
#define VC_KERN_PAIR_LOOP_H

#include "base/pool.h"
#include "kern/cpu/pair_tile.h"

enum {
    LOOP_KC = 256,                                    /* K of a cache block; divides every K block */
    LOOP_TILES = 126 / TILE_ROWS,                     /* row tiles of a block of rows */
    LOOP_ROWS = LOOP_TILES * TILE_ROWS,
    LOOP_BUF = VC_PANEL_COLS * LOOP_KC,               /* floats of the three parts of a thread's scratch */
    LOOP_SUMS = LOOP_ROWS * VC_PANEL_COLS,
    LOOP_FLOATS = LOOP_BUF + 2 * LOOP_SUMS,
    NUM_WIDTHS = 3                                    /* tiles of 64, 32, 16 outputs */
};

/* Tiles by [rows][width], width 0, 1, 2 for 64, 32, 16 outputs; NULL: not made. */
struct tiles { tile_fn *f[TILE_ROWS + 1][NUM_WIDTHS]; };

struct pair_job {
    const struct tiles *direct;                       /* reads the panel itself; NULL: widened beforehand */
    const struct tiles *buf;
    enum vc_dtype format;                             /* of the panel */
    int order;                                        /* ODD_FIRST or ASCENDING */
    int packed_bf16;                                  /* rows are packed as bf16 pairs, for tile_dp */
    int muladd;                                       /* buf multiplies and adds separately (VC_TILE_MULADD) */
    uint32_t M, N;
    size_t kp, kblock;                                /* padded K; K block (kp: one chain) */
    size_t step;                                      /* K of a cache block, a divisor of LOOP_KC */
    const float *a;                                   /* packed rows */
    const char *w;
    float *scratch;                                   /* LOOP_FLOATS, this thread's own */
    /* Outputs [n0, n1) of rows [r0, r1) are finished: tot[(r - r0) * VC_PANEL_COLS + n - n0]. */
    void (*done)(const struct pair_job *j, uint32_t r0, uint32_t r1, uint32_t n0, uint32_t n1, float *tot);
    const void *ctx;
};

#if VC_TIER_LEVEL == 2
extern const struct tiles VC_K(vc_pair_dp);           /* pair_dp.c: rows packed as bf16 pairs */
#endif

/* Sets direct, buf, step, muladd for the job's M, format, order, packed_bf16 and the format of its rows. */
void VC_K(vc_pair_choose)(struct pair_job *j, enum vc_dtype x);

VC_INLINE uint32_t num_tiles(uint32_t M) { return (M + TILE_ROWS - 1) / TILE_ROWS; }
VC_INLINE uint32_t tile_row(uint32_t M, uint32_t t) {
    const uint32_t n = num_tiles(M), rest = M % n;
    return M / n * t + (t < rest ? t : rest);
}

/* Values [k, k + n) of a row as f32, zeros from K on; n a multiple of 16, at most LOOP_KC. */
static inline void widen_row(enum vc_dtype t, const void *row, uint32_t K, size_t k, size_t n, float *dst) {
    for (size_t i = 0; i < n; i += 16) {
        const size_t at = k + i;
        if (at + 16 <= K) vc_vf_store(dst + i, vc_vf_load_as(t, row, (uint32_t)at));
        else if (at < K) vc_vf_store(dst + i, vc_vf_load_as_n(t, row, (uint32_t)at, (uint32_t)(K - at)));
        else vc_vf_store(dst + i, vc_vf_zero());
    }
}

/* Where row r of a call lies; lets the experts gather rows. */
struct row_source {
    enum vc_dtype format;
    const char *base;
    size_t stride;
    const uint32_t *index;                            /* row r is row index[r] of base; NULL: r */
    uint32_t K;
};
static inline const char *source_row(const struct row_source *s, uint32_t r) {
    return s->base + (size_t)(s->index ? s->index[r] : r) * s->stride;
}

/* Packed rows: [cache block of LOOP_KC positions][row tile][position][row], so that what one cache block of weights
 * meets is one stream. Offset of position p of the tile that begins at row r0 and has mr rows: */
VC_INLINE size_t packed_at(uint32_t M, size_t kp, uint32_t r0, uint32_t mr, size_t p) {
    const size_t block = p / LOOP_KC * LOOP_KC, n = VC_MIN((size_t)LOOP_KC, kp - block);
    return block * M + n * r0 + (p - block) * mr;
}

/* Positions [p0, p1) of all rows; both even. */
static inline void pack_rows(const struct row_source *s, uint32_t M, size_t kp, int order, size_t p0, size_t p1,
                             float *a) {
    float v[LOOP_KC];
    for (uint32_t t = 0; t < num_tiles(M); t++) {
        const uint32_t r0 = tile_row(M, t), mr = tile_row(M, t + 1) - r0;
        for (size_t p = p0, n; p < p1; p += n) {
            n = VC_MIN(LOOP_KC - p % LOOP_KC, p1 - p);
            for (uint32_t i = 0; i < mr; i++) {
                widen_row(s->format, source_row(s, r0 + i), s->K, p, (n + 15) & ~(size_t)15, v);
                float *d = a + packed_at(M, kp, r0, mr, p) + i;
                for (size_t q = 0; q < n; q += 2, d += 2 * mr) {
                    d[0] = v[q + (order ? 1 : 0)];
                    d[mr] = v[q + (order ? 0 : 1)];
                }
            }
        }
    }
}
/* The same as bf16 pairs in K order, [cache block][tile][pair][row]. */
static inline void pack_rows_bf16(const struct row_source *s, uint32_t M, size_t kp, size_t p0, size_t p1, float *a) {
    for (uint32_t t = 0; t < num_tiles(M); t++) {
        const uint32_t r0 = tile_row(M, t), mr = tile_row(M, t + 1) - r0;
        for (size_t p = p0, n; p < p1; p += n) {
            n = VC_MIN(LOOP_KC - p % LOOP_KC, p1 - p);
            for (uint32_t i = 0; i < mr; i++) {
                const uint16_t *v = (const uint16_t *)(const void *)source_row(s, r0 + i);
                float *d = a + packed_at(M, kp, r0, mr, p) / 2 + i;
                for (size_t k = p; k < p + n; k += 2, d += mr) {
                    const uint16_t pair[2] = { v[k], k + 1 < s->K ? v[k + 1] : (uint16_t)0 };
                    memcpy(d, pair, 4);
                }
            }
        }
    }
}

/* Positions of k0 … k0+n-1 of outputs [c0, c1) of a panel, widened to [c / VC_SUB][n][VC_SUB]. */
static inline void widen_panel(const struct pair_job *j, const char *panel, size_t k0, size_t n, uint32_t c0,
                               uint32_t c1, float *buf) {
    for (size_t p = 0; p < n; p += 2)
        for (uint32_t c = c0; c < c1; c += 16) {
            const char *src = panel + vc_panel_at(j->format, j->kp, c, k0 + p);
            float *d = buf + c / VC_SUB * (n * VC_SUB) + p * VC_SUB + c % VC_SUB;
            float *even = j->order ? d + VC_SUB : d, *odd = j->order ? d : d + VC_SUB;
            if (j->format == VC_BF16) {
                const int32_t *pairs = (const int32_t *)(const void *)src;
                const vc_vi v = vc_vi_load(pairs);
                vc_vf_store(odd, vc_vi_float(vc_vi_and(v, vc_vi_set1((int32_t)0xFFFF0000u))));
                vc_vf_store(even, vc_vi_float(vc_vi_shl(v, 16)));
            } else if (j->format == VC_F16) {
                vc_vf_store(even, vc_vf_load_f16((const uint16_t *)(const void *)src));
                vc_vf_store(odd, vc_vf_load_f16((const uint16_t *)(const void *)src + VC_PANEL_COLS));
            } else {
                vc_vf_store(even, vc_vf_load((const float *)(const void *)src));
                vc_vf_store(odd, vc_vf_load((const float *)(const void *)src + VC_PANEL_COLS));
            }
        }
}

/* The widest tile made for mr rows that fits in c … c1. */
static inline tile_fn *tile_for(const struct tiles *t, uint32_t mr, uint32_t c, uint32_t c1, uint32_t *width) {
    for (int w = 0; w < NUM_WIDTHS; w++) {
        *width = 64u >> w;
        if (t->f[mr][w] && c % *width == 0 && c + *width <= c1) return t->f[mr][w];
    }
    return NULL;
}

/* One cache block: positions [k, k + n) of outputs [c0, c1) of a panel for row tiles [t0, t1). The panel's next bytes
 * are fetched meanwhile, a share in each tile. */
static inline void loop_block(const struct pair_job *j, const char *panel, size_t k, size_t n, uint32_t c0, uint32_t c1,
                              uint32_t t0, uint32_t t1, int mode) {
    float *buf = j->scratch, *run = buf + LOOP_BUF, *tot = run + LOOP_SUMS;
    const struct tiles *set = j->direct ? j->direct : j->buf;
    const uint32_t row0 = tile_row(j->M, t0),
                   widest = tile_row(j->M, t0 + 1) - row0; /* the first tile is a largest one */
    const char *next = panel + vc_panel_at(j->format, j->kp, 0, k + n);
    const size_t bytes = (size_t)(next - panel) - vc_panel_at(j->format, j->kp, 0, k), words = j->packed_bf16 ? 2 : 1;
    if (!j->direct) widen_panel(j, panel, k, n, c0, c1, buf);
    for (uint32_t c = c0, width; c < c1; c += width) {
        tile_for(set, widest, c, c1, &width);
        const size_t share = bytes * width / VC_PANEL_COLS / (t1 - t0);
        struct tile_call call = {
            .n = n, .sub = n * VC_SUB, .mode = mode, .ahead = next + bytes * c / VC_PANEL_COLS, .ahead_step = share / n
        };
        call.b = j->direct ? panel + vc_panel_at(j->format, j->kp, c, k)
                           : (const char *)(buf + c / VC_SUB * (n * VC_SUB) + c % VC_SUB);
        for (uint32_t t = t0; t < t1; t++, call.ahead += share) {
            const uint32_t r = tile_row(j->M, t), mr = tile_row(j->M, t + 1) - r;
            const size_t at = (size_t)(r - row0) * VC_PANEL_COLS + (c - c0);
            call.a = j->a + packed_at(j->M, j->kp, r, mr, k) / words;
            call.run = run + at;
            call.tot = tot + at;
            set->f[mr][width == 64 ? 0 : width == 32 ? 1 : 2](&call);
        }
    }
}

#if VC_TILE_MULADD
/* An output again from its packed row and the panel, by vc_fma. */
static inline float exact_output(const struct pair_job *j, uint32_t r, uint32_t n) {
    uint32_t t = 0;
    while (tile_row(j->M, t + 1) <= r) t++;
    const uint32_t r0 = tile_row(j->M, t), mr = tile_row(j->M, t + 1) - r0;
    float tot = 0;
    for (size_t k0 = 0; k0 < j->kp; k0 += j->kblock) {
        float acc = 0;
        for (size_t p = k0; p < VC_MIN(k0 + j->kblock, j->kp); p++) {
            const size_t k = p ^ (size_t)j->order;
            const char *w = j->w + vc_panel_at(j->format, j->kp, n, k & ~(size_t)1);
            const uint16_t *h = (const uint16_t *)(const void *)w;
            acc = vc_fma(j->a[packed_at(j->M, j->kp, r0, mr, p) + (r - r0)],
                         j->format == VC_BF16 ? vc_bf16_f32(h[k & 1]) : vc_f16_f32(h[(k & 1) * VC_PANEL_COLS]), acc);
        }
        tot = k0 ? tot + acc : acc;
    }
    return tot;
}
static inline void mend_overflow(const struct pair_job *j, uint32_t r0, uint32_t r1, uint32_t n0, uint32_t n1,
                                 float *tot) {
    for (uint32_t r = r0; r < r1; r++)
        for (uint32_t n = n0; n < n1; n++) {
            float *y = &tot[(size_t)(r - r0) * VC_PANEL_COLS + (n - n0)];
            if (!(fabsf(*y) < INFINITY)) *y = exact_output(j, r, n);
        }
}
#endif

/* Outputs [lo, hi) of all rows; lo a multiple of 16, hi too or N. */
static inline void loop_outputs(const struct pair_job *j, uint64_t lo, uint64_t hi) {
    const uint32_t nt = num_tiles(j->M);
    const size_t panel_bytes = vc_panel_at(j->format, j->kp, VC_PANEL_COLS, 0),
                 step = j->direct && j->M == 1 ? j->kblock : j->step;
    for (uint64_t n0 = lo, n1; n0 < hi; n0 = n1) {
        n1 = VC_MIN((n0 / VC_PANEL_COLS + 1) * VC_PANEL_COLS, hi);
        const char *panel = j->w + n0 / VC_PANEL_COLS * panel_bytes;
        const uint32_t c0 = (uint32_t)(n0 % VC_PANEL_COLS), c1 = c0 + (((uint32_t)(n1 - n0) + 15) & ~15u);
        for (uint32_t t0 = 0; t0 < nt; t0 += LOOP_TILES) {
            const uint32_t t1 = VC_MIN(t0 + LOOP_TILES, nt), r0 = tile_row(j->M, t0), r1 = tile_row(j->M, t1);
            for (size_t kb = 0; kb < j->kp; kb += j->kblock) {
                const size_t ke = VC_MIN(kb + j->kblock, j->kp);
                for (size_t k = kb; k < ke; k += step) {
                    const size_t n = VC_MIN(step, ke - k);
                    const int mode = (k == kb ? TILE_BEGIN : 0) | (k + n == ke ? TILE_END | (kb ? TILE_ADD : 0) : 0);
                    loop_block(j, panel, k, n, c0, c1, t0, t1, mode);
                }
            }
            float *tot = j->scratch + LOOP_BUF + LOOP_SUMS;
#if VC_TILE_MULADD
            if (j->muladd) mend_overflow(j, r0, r1, (uint32_t)n0, (uint32_t)n1, tot);
#endif
            j->done(j, r0, r1, (uint32_t)n0, (uint32_t)n1, tot);
        }
    }
}

#endif
