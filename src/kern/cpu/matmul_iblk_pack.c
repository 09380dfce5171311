/* SPDX-License-Identifier: Apache-2.0
 * Packs GGUF blocks into the panels of iblk.h, four bytes at a time. Every byte of a panel but the scales of Q2_K belongs
 * to one column, and all are or-ed or stored into zeroed memory, so columns may come in any order. */
#include <string.h>

#include "kern/cpu/iblk.h"
#include "num/blocks.h"

static inline uint32_t get4(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline void put4(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void put2(uint8_t *p, const uint8_t *v) { memcpy(p, v, 2); }
enum { ROW = 128 };                                     /* bytes of a plane row */

/* Bits 4g + k of h to bit g of byte k: the bits plane of one column. */
static inline uint32_t spread(uint32_t h) {
    uint32_t out = 0;
    VC_UNROLL for (int k = 0; k < 4; k++) {
        uint32_t x = h >> k & 0x11111111u;
        x = (x | x >> 3) & 0x03030303u;
        x = (x | x >> 6) & 0x000F000Fu;
        out |= ((x | x >> 12) & 0xFFu) << 8 * k;
    }
    return out;
}
/* In each of the four byte lanes: bit j of word g and bit g of word j change places. */
static inline void transpose8(uint32_t a[8]) {
    const uint32_t mask[3] = { 0x0F0F0F0Fu, 0x33333333u, 0x55555555u };
    VC_UNROLL for (int n = 0; n < 3; n++) {
        const int s = 4 >> n;
        VC_UNROLL for (int i = 0; i < 8; i++) {
            if (i & s) continue;
            const uint32_t t = (a[i] >> s ^ a[i + s]) & mask[n];
            a[i + s] ^= t;
            a[i] ^= t << s;
        }
    }
}
/* The same for 4 words and bit pairs. */
static inline void transpose4(uint32_t a[4]) {
    VC_UNROLL for (int i = 0; i < 2; i++) {
        const uint32_t t = (a[i] >> 4 ^ a[i + 2]) & 0x0F0F0F0Fu;
        a[i + 2] ^= t;
        a[i] ^= t << 4;
    }
    VC_UNROLL for (int i = 0; i < 4; i += 2) {
        const uint32_t t = (a[i] >> 2 ^ a[i + 1]) & 0x33333333u;
        a[i + 1] ^= t;
        a[i] ^= t << 2;
    }
}

/* 32 bytes whose low nibbles are the 32 codes of one unit and whose high nibbles those of another. */
static inline void nibble_units(const uint8_t src[32], uint8_t *lo, uint8_t *hi) {
    VC_UNROLL for (int r = 0; r < 4; r++) {
        const uint32_t a = get4(src + 4 * r), b = get4(src + 16 + 4 * r), m = 0x0F0F0F0Fu;
        put4(lo + ROW * r, (a & m) | (b & m) << 4);
        put4(hi + ROW * r, (a >> 4 & m) | (b & ~m));
    }
}
/* 32 bytes with the bit pairs of four units, lowest first. step: bytes from unit to unit. */
static inline void pair_units(const uint8_t src[32], uint8_t *dst, size_t step) {
    VC_UNROLL for (int r = 0; r < 2; r++) {
        uint32_t a[4];
        for (int i = 0; i < 4; i++) a[i] = get4(src + 16 * r + 4 * i);
        transpose4(a);
        for (int u = 0; u < 4; u++) put4(dst + (size_t)u * step + (size_t)r * ROW, a[u]);
    }
}
/* 32 bytes with the bits of eight units. */
static inline void bit_units(const uint8_t src[32], uint8_t *dst, size_t step) {
    uint32_t a[8];
    for (int g = 0; g < 8; g++) a[g] = get4(src + 4 * g);
    transpose8(a);
    for (int u = 0; u < 8; u++) put4(dst + (size_t)u * step, a[u]);
}

/* One block at src into column c of the panel block at dst. */
VC_INLINE void block32(enum vc_dtype f, const uint8_t *src, uint8_t *dst, uint8_t *low, uint32_t c) {
    uint8_t *unit = dst + vc_iblk_head(f) + c * 4;
    const uint8_t *q = src + 2;
    put2(dst + c * 2, src);
    if (vc_iblk_has_min(f)) {
        put2(dst + 64 + c * 2, src + 2);
        q += 2;
    }
    if (f == VC_Q8_0) {
        VC_UNROLL for (int r = 0; r < 4; r++) {
            const uint32_t a = get4(q + 4 * r) ^ 0x80808080u, b = get4(q + 16 + 4 * r) ^ 0x80808080u, m = 0x0F0F0F0Fu;
            put4(unit + ROW * r, (a >> 4 & m) | (b & ~m));
            put4(low + c * 4 + ROW * r, (a & m) | (b & m) << 4);
        }
        return;
    }
    if (vc_iblk_bits(f)) {
        put4(unit + 512, spread(vc_load_u32(q)));
        q += 4;
    }
    VC_UNROLL for (int r = 0; r < 4; r++) put4(unit + ROW * r, get4(q + 4 * r));
}

static inline void scales45(const uint8_t s[12], uint8_t *dst, uint32_t c) {
    uint8_t sc[8], m[8];
    vc_k4_scales(s, sc, m);
    for (uint32_t j = 0; j < 8; j++) {
        dst[j * 32 + c] = sc[j];
        dst[256 + j / 2 * 64 + c * 2 + j % 2] = m[j];
    }
}

VC_INLINE void block256(enum vc_dtype f, const uint8_t *src, uint8_t *dst, uint32_t c) {
    const size_t step = vc_iblk_unit(f);
    uint8_t *sc = dst + vc_iblk_scales_at(f), *unit = dst + vc_iblk_head(f) + c * 4;
    int8_t s3[16];
    if (f == VC_Q2_K) {
        const struct vc_q2_k *b = (const void *)src;
        put2(dst + c * 2, b->d);
        put2(dst + 64 + c * 2, b->dmin);
        for (uint32_t j = 0; j < 16; j++) {
            sc[j * 32 + c] |= b->scales[j] & 15;
            sc[j / 2 * 64 + c * 2 + j % 2] |= b->scales[j] & 0xF0;
        }
        for (int h = 0; h < 2; h++) pair_units(b->qs + 32 * h, unit + 4 * step * (size_t)h, step);
    } else if (f == VC_Q3_K) {
        const struct vc_q3_k *b = (const void *)src;
        put2(dst + c * 2, b->d);
        vc_k3_scales(b->scales, s3);
        for (uint32_t j = 0; j < 16; j++) sc[j * 32 + c] = (uint8_t)s3[j];
        for (int h = 0; h < 2; h++) pair_units(b->qs + 32 * h, unit + 4 * step * (size_t)h, step);
        bit_units(b->hmask, unit + 256, step);
    } else if (f == VC_Q6_K) {
        const struct vc_q6_k *b = (const void *)src;
        put2(dst + c * 2, b->d);
        for (uint32_t j = 0; j < 16; j++) sc[j * 32 + c] = (uint8_t)b->scales[j];
        for (int h = 0; h < 2; h++) {
            uint8_t *u = unit + 4 * step * (size_t)h;
            for (int k = 0; k < 2; k++) nibble_units(b->ql + 64 * h + 32 * k, u + step * (size_t)k, u + step * (size_t)(k + 2));
            pair_units(b->qh + 32 * h, u + 512, step);
        }
    } else {
        const struct vc_q4_k *b4 = (const void *)src;
        const struct vc_q5_k *b5 = (const void *)src;
        const uint8_t *qs = f == VC_Q4_K ? b4->qs : b5->qs;
        put2(dst + c * 2, src);
        put2(dst + 64 + c * 2, src + 2);
        scales45(src + 4, sc, c);
        for (int p = 0; p < 4; p++) nibble_units(qs + 32 * p, unit + step * (size_t)(2 * p), unit + step * (size_t)(2 * p + 1));
        if (f == VC_Q5_K) bit_units(b5->qh, unit + 512, step);
    }
}

/* Panel by panel, block by block, so that the destination is written front to back. */
VC_INLINE void pack(enum vc_dtype f, const struct vc_pack_job *j) {
    const size_t bytes = vc_dtype_info(f)->bytes, blocks = j->K / vc_iblk_block(f);
    const size_t panel = vc_iblk_panel_bytes(f, j->K), low_panel = vc_iblk_low_bytes(f, j->K);
    for (uint32_t row = 0; row < j->rows;) {
        const uint32_t n = j->at + row, c0 = n % VC_IBLK_COLS, left = j->rows - row;
        const uint32_t cols = left < VC_IBLK_COLS - c0 ? left : VC_IBLK_COLS - c0;
        uint8_t *dst = (uint8_t *)j->dst + n / VC_IBLK_COLS * panel;
        const uint8_t *src = (const uint8_t *)j->raw + row * blocks * bytes;
        uint8_t *low = (uint8_t *)j->dst + vc_iblk_num_panels(j->N) * panel + n / VC_IBLK_COLS * low_panel;
        for (size_t b = 0; b < blocks; b++, dst += vc_iblk_block_bytes(f), low += vc_iblk_low(f))
            for (uint32_t c = 0; c < cols; c++) {
                const uint8_t *s = src + (c * blocks + b) * bytes;
                if (vc_iblk_is_k(f)) block256(f, s, dst, c0 + c);
                else block32(f, s, dst, low, c0 + c);
            }
        row += cols;
    }
}

size_t vc_iblk_bytes(enum vc_dtype f, uint32_t N, uint32_t K) {
    return vc_iblk_num_panels(N) * (vc_iblk_panel_bytes(f, K) + vc_iblk_low_bytes(f, K));
}

void vc_iblk_pack(const struct vc_pack_job *j) {
    switch (j->panel) {
        case VC_Q4_0: pack(VC_Q4_0, j); break;
        case VC_Q4_1: pack(VC_Q4_1, j); break;
        case VC_Q5_0: pack(VC_Q5_0, j); break;
        case VC_Q5_1: pack(VC_Q5_1, j); break;
        case VC_Q8_0: pack(VC_Q8_0, j); break;
        case VC_Q2_K: pack(VC_Q2_K, j); break;
        case VC_Q3_K: pack(VC_Q3_K, j); break;
        case VC_Q4_K: pack(VC_Q4_K, j); break;
        case VC_Q5_K: pack(VC_Q5_K, j); break;
        case VC_Q6_K: pack(VC_Q6_K, j); break;
        default: break;
    }
}
