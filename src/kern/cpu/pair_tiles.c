/* SPDX-License-Identifier: Apache-2.0
 * pair_tiles.c: the tiles of pair_tile.h for every size, format and order, and the choice among them. */
#include "kern/cpu/pair_loop.h"

#define BUF(mr, w, muladd)                                                                                             \
    static void buf##mr##_##w##_##muladd(const struct tile_call *t) {                                                  \
        tile_buf(mr, w / TF_LANES, muladd, t);                                                                         \
    }
/* O: P pair order, A ascending. */
#define DIRECT1(F, O, order, mr, w)                                                                                    \
    static void direct##F##O##mr##_##w(const struct tile_call *t) { tile_direct(VC_##F, order, mr, w / TF_LANES, t); }
#define DIRECT(F, mr, w) DIRECT1(F, P, ODD_FIRST, mr, w) DIRECT1(F, A, ASCENDING, mr, w)

#if VC_TIER_LEVEL == 0
BUF(1, 16, 0) BUF(2, 16, 0)
static const struct tiles buf_tiles = { { [1] = { NULL, NULL, buf1_16_0 }, [2] = { NULL, NULL, buf2_16_0 } } };
#if VC_TILE_MULADD
BUF(1, 16, 1) BUF(2, 16, 1)
static const struct tiles muladd_tiles = { { [1] = { NULL, NULL, buf1_16_1 }, [2] = { NULL, NULL, buf2_16_1 } } };
#endif
#elif VC_TIER_LEVEL == 1
BUF(1, 16, 0) BUF(2, 16, 0) BUF(3, 16, 0) BUF(4, 16, 0) BUF(5, 16, 0) BUF(6, 16, 0) BUF(2, 32, 0) BUF(3, 32, 0)
static const struct tiles buf_tiles = { {
    [1] = { NULL, NULL, buf1_16_0 }, [2] = { NULL, buf2_32_0, buf2_16_0 }, [3] = { NULL, buf3_32_0, buf3_16_0 },
    [4] = { NULL, NULL, buf4_16_0 }, [5] = { NULL, NULL, buf5_16_0 }, [6] = { NULL, NULL, buf6_16_0 },
} };
#define DIRECTS(F)                                                                                                     \
    DIRECT(F, 1, 64) DIRECT(F, 1, 32) DIRECT(F, 1, 16) DIRECT(F, 2, 32) DIRECT(F, 2, 16)                               \
    DIRECT(F, 3, 16) DIRECT(F, 4, 16) DIRECT(F, 5, 16) DIRECT(F, 6, 16)
#define DIRECT_ROWS(F) { {                                                                                             \
    [1] = { direct##F##1_64, direct##F##1_32, direct##F##1_16 }, [2] = { NULL, direct##F##2_32, direct##F##2_16 },     \
    [3] = { NULL, NULL, direct##F##3_16 }, [4] = { NULL, NULL, direct##F##4_16 },                                      \
    [5] = { NULL, NULL, direct##F##5_16 }, [6] = { NULL, NULL, direct##F##6_16 } } }
#else
#define WIDTHS(T, mr) T(mr, 64) T(mr, 32) T(mr, 16)
#define BUF0(mr, w) BUF(mr, w, 0)
WIDTHS(BUF0, 1) WIDTHS(BUF0, 2) WIDTHS(BUF0, 3) WIDTHS(BUF0, 4) WIDTHS(BUF0, 5) WIDTHS(BUF0, 6)
#define BUF_ROW(mr) [mr] = { buf##mr##_64_0, buf##mr##_32_0, buf##mr##_16_0 }
static const struct tiles buf_tiles = { { BUF_ROW(1), BUF_ROW(2), BUF_ROW(3), BUF_ROW(4), BUF_ROW(5), BUF_ROW(6) } };
#define DIRECT3(F, mr) DIRECT(F, mr, 64) DIRECT(F, mr, 32) DIRECT(F, mr, 16)
#define DIRECTS(F) DIRECT3(F, 1) DIRECT3(F, 2) DIRECT3(F, 3) DIRECT3(F, 4) DIRECT3(F, 5) DIRECT3(F, 6)
#define DIRECT_ROW(F, mr) [mr] = { direct##F##mr##_64, direct##F##mr##_32, direct##F##mr##_16 }
#define DIRECT_ROWS(F)                                                                                                 \
    { { DIRECT_ROW(F, 1), DIRECT_ROW(F, 2), DIRECT_ROW(F, 3), DIRECT_ROW(F, 4), DIRECT_ROW(F, 5), DIRECT_ROW(F, 6) } }
#endif

#if VC_TIER_LEVEL >= 1
DIRECTS(BF16) DIRECTS(F16) DIRECTS(F32)
/* [order][format]; ASCENDING is 0. */
static const struct tiles direct_tiles[2][3] = { { DIRECT_ROWS(BF16A), DIRECT_ROWS(F16A), DIRECT_ROWS(F32A) },
                                                 { DIRECT_ROWS(BF16P), DIRECT_ROWS(F16P), DIRECT_ROWS(F32P) } };
#endif

/* Up to MAX_DIRECT rows the panel is widened in registers, in cache blocks of DIRECT_KC that stay in the first cache. */
enum { MAX_DIRECT = 12, DIRECT_KC = 128 };

void VC_K(vc_pair_choose)(struct pair_job *j, enum vc_dtype x) {
    j->buf = &buf_tiles;
    j->direct = NULL;
    j->step = j->M <= MAX_DIRECT && VC_TIER_LEVEL >= 1 ? DIRECT_KC : LOOP_KC;
#if VC_TIER_LEVEL >= 1
    if (j->M <= MAX_DIRECT) j->direct = &direct_tiles[j->order][j->format == VC_BF16 ? 0 : j->format == VC_F16 ? 1 : 2];
#endif
#if VC_TIER_LEVEL == 2
    if (j->packed_bf16) j->direct = &VC_K(vc_pair_dp);
#endif
    j->muladd = VC_TILE_MULADD && x != VC_F32 && j->format != VC_F32;
#if VC_TILE_MULADD
    if (j->muladd) j->buf = &muladd_tiles;
#endif
}
