/* SPDX-License-Identifier: Apache-2.0
 * iblk_plain.h: the iblk core in plain C on 16-bit lanes, for any machine. Included by matmul_iblk.c only.
 * A unit of 32 k is unpacked to int16 codes less their offset, [8 k groups][32 columns][4 k], and used for up to ROWS rows.
 * A lane sums at most 8 products: 8 * 32 * 127 = 32512 fits. Q8_0 is cut in two: w = 16 h + l + 8 with h, l in -8 … 7. */
#ifndef VC_KERN_CPU_IBLK_PLAIN_H
#define VC_KERN_CPU_IBLK_PLAIN_H

enum { ROWS = 48 };

struct plain_own {
    int16_t codes[2][8][128];                       /* [1]: l of Q8_0 */
    int32_t scale[16][32], min[16][32];
    int32_t total[ROWS][32], mins[ROWS][32];
    float acc[ROWS][32], sum[ROWS][32];
};
_Static_assert(sizeof(struct plain_own) <= VC_IBLK_OWN, "VC_IBLK_OWN");

/* Rows in int16: the 4 values of a k group twice, [K/4][8]. */
void VC_K(vc_iblk_rows)(const struct vc_iblk_job *j, void *acts, uint32_t r0, uint32_t r1) {
    for (uint32_t r = r0; r < r1; r++) {
        const int8_t *q = (const int8_t *)(const void *)row_of(j, r);
        int16_t *out = (int16_t *)acts + (size_t)r * j->K * 2;
        for (uint32_t k = 0; k < j->K; k += 4)
            for (uint32_t i = 0; i < 8; i++) out[2 * k + i] = q[k + i % 4];
    }
}

VC_INLINE void plain_codes(const enum vc_dtype f, const uint8_t *u, const uint8_t *low, struct plain_own *own) {
    const int offset = vc_iblk_offset(f);
    for (int g = 0; g < 8; g++) {
        int16_t *out = own->codes[0][g];
        const uint8_t *nib = u + (g & 3) * 128, *pair = u + (f == VC_Q6_K ? 512 : 0) + (g >> 2) * 128;
        const uint8_t *bit = u + (f == VC_Q3_K ? 256 : 512);
        for (int i = 0; i < 128; i++) {
            int code = 0;
            if (vc_iblk_nibbles(f)) code = nib[i] >> (g >> 2) * 4 & 15;
            if (vc_iblk_pairs(f)) code |= (pair[i] >> 2 * (g & 3) & 3) << (f == VC_Q6_K ? 4 : 0);
            if (vc_iblk_bits(f)) code |= (bit[i] >> g & 1) << (f == VC_Q3_K ? 2 : 4);
            if (f == VC_Q8_0) {
                code += offset - 8;
                own->codes[1][g][i] = (int16_t)((low[(g & 3) * 128 + i] >> (g >> 2) * 4 & 15) - 8);
            }
            out[i] = (int16_t)(code - offset);
        }
    }
}

/* isum[c] = sum over k groups [g0, g1) of codes by activations. */
static void plain_dots(int16_t codes[8][128], const int16_t *a, int g0, int g1, int32_t isum[32]) {
    for (int p = 0; p < 16; p++) {                  /* two columns in eight lanes */
        int16_t s[8] = { 0 };
        for (int g = g0; g < g1; g++)
            VC_UNROLL for (int l = 0; l < 8; l++) s[l] = (int16_t)(s[l] + codes[g][p * 8 + l] * a[g * 8 + l]);
        isum[2 * p] = s[0] + s[1] + s[2] + s[3];
        isum[2 * p + 1] = s[4] + s[5] + s[6] + s[7];
    }
}

/* c[32] = fma(d_w * d_a, isum, c), then with a minimum fma(m * m_a, msum, c). */
static void plain_add(float *c, const uint8_t *dw, float da, const int32_t *isum) {
    for (int h = 0; h < 32; h += 16) {
        const vc_vf t = vc_vf_mul(vc_vf_load_f16((const uint16_t *)(const void *)dw + h), vc_vf_set1(da));
        vc_vf_store(c + h, vc_vf_fma(t, vc_vi_to_float(vc_vi_load(isum + h)), vc_vf_load(c + h)));
    }
}

/* A block of 32 at w for rows [r0, r1); b: its index. */
VC_INLINE void plain_32(const enum vc_dtype f, const struct vc_iblk_job *j, const int16_t *acts, const uint8_t *w, const uint8_t *low,
                        struct plain_own *own, uint32_t r0, uint32_t r1, uint32_t b) {
    plain_codes(f, w + vc_iblk_head(f), low, own);
    for (uint32_t r = r0; r < r1; r++) {
        const char *x = row_of(j, r);
        const float da = ((const float *)(const void *)(x + vc_qact_d_at(j->K)))[b];
        const int16_t *sum = (const int16_t *)(const void *)(x + vc_qact_sum_at(j->K, 32)) + 2 * b;
        const int16_t *a = acts + ((size_t)r * j->K + (size_t)b * 32) * 2;
        int32_t isum[32], lsum[32];
        plain_dots(own->codes[0], a, 0, 8, isum);
        if (f == VC_Q8_0) {
            plain_dots(own->codes[1], a, 0, 8, lsum);
            for (int c = 0; c < 32; c++) isum[c] = 16 * isum[c] + lsum[c] + 8 * (sum[0] + sum[1]);
        }
        plain_add(own->acc[r - r0], w, da, isum);
        if (!vc_iblk_has_min(f)) continue;
        for (int c = 0; c < 32; c++) isum[c] = sum[0] + sum[1];
        plain_add(own->acc[r - r0], w + 64, da, isum);
    }
}

VC_INLINE void plain_scales(const enum vc_dtype f, const uint8_t *s, struct plain_own *own) {
    const int subs = 256 / (int)vc_iblk_sub(f), is_signed = f == VC_Q3_K || f == VC_Q6_K;
    for (int sub = 0; sub < subs; sub++)
        for (int c = 0; c < 32; c++) {
            const uint8_t v = s[sub * 32 + c], m = s[(f == VC_Q2_K ? 0 : 256) * vc_iblk_has_min(f) + sub / 2 * 64 + c * 2 + sub % 2];
            own->scale[sub][c] = is_signed ? (int8_t)v : f == VC_Q2_K ? v & 15 : v;
            own->min[sub][c] = f == VC_Q2_K ? m >> 4 : m;
        }
}

/* A super-block of 256. */
VC_INLINE void plain_256(const enum vc_dtype f, const struct vc_iblk_job *j, const int16_t *acts, const uint8_t *w,
                         struct plain_own *own, uint32_t r0, uint32_t r1, uint32_t b) {
    const int subs = 32 / (int)vc_iblk_sub(f);
    plain_scales(f, w + vc_iblk_scales_at(f), own);
    memset(own->total, 0, (r1 - r0) * sizeof own->total[0]);
    memset(own->mins, 0, (r1 - r0) * sizeof own->mins[0]);
    for (int unit = 0; unit < 8; unit++) {
        plain_codes(f, w + vc_iblk_head(f) + (size_t)unit * vc_iblk_unit(f), w, own);
        for (uint32_t r = r0; r < r1; r++) {
            const int16_t *sum = (const int16_t *)(const void *)(row_of(j, r) + vc_qact_sum_at(j->K, 256)) + 16 * b + 2 * unit;
            const int16_t *a = acts + ((size_t)r * j->K + (size_t)b * 256 + (size_t)unit * 32) * 2;
            int32_t *total = own->total[r - r0], *mins = own->mins[r - r0], isum[32];
            for (int h = 0; h < subs; h++) {
                const int sub = unit * subs + h, asum = subs == 1 ? sum[0] + sum[1] : sum[h];
                plain_dots(own->codes[0], a, h * 8 / subs, (h + 1) * 8 / subs, isum);
                for (int c = 0; c < 32; c++) total[c] += own->scale[sub][c] * isum[c];
                if (vc_iblk_has_min(f)) for (int c = 0; c < 32; c++) mins[c] -= own->min[sub][c] * asum;
            }
        }
    }
    for (uint32_t r = r0; r < r1; r++) {
        const float da = ((const float *)(const void *)(row_of(j, r) + vc_qact_d_at(j->K)))[b];
        plain_add(own->acc[r - r0], w, da, own->total[r - r0]);
        if (vc_iblk_has_min(f)) plain_add(own->acc[r - r0], w + 64, da, own->mins[r - r0]);
    }
}

VC_INLINE void plain_panel(const enum vc_dtype f, const struct vc_iblk_job *j, const int16_t *acts, struct plain_own *own,
                           uint32_t r0, uint32_t r1, uint32_t p) {
    const uint32_t cut = vc_kblock(j->K) / vc_iblk_block(f), blocks = j->K / vc_iblk_block(f), n = (r1 - r0) * VC_IBLK_COLS;
    const uint8_t *w = j->panel + p * vc_iblk_panel_bytes(f, j->K), *low = j->low + p * vc_iblk_low_bytes(f, j->K);
    for (uint32_t b = 0; b < blocks; b++, w += vc_iblk_block_bytes(f)) {
        if (b % cut == 0) memset(own->acc, 0, n * sizeof(float));
        if (vc_iblk_is_k(f)) plain_256(f, j, acts, w, own, r0, r1, b);
        else plain_32(f, j, acts, w, low + b * vc_iblk_low(f), own, r0, r1, b);
        if ((b + 1) % cut == 0 || b + 1 == blocks) add_block(own->sum[0], own->acc[0], n, b < cut);
    }
    for (uint32_t r = r0; r < r1; r++) store_row(j, r, p, own->sum[r - r0]);
}

#define PLAIN(f)                                                                                                     \
    static void plain_##f(const struct vc_iblk_job *j, const int16_t *acts, struct plain_own *own, uint32_t r0,      \
                          uint32_t r1, uint32_t p) { plain_panel(VC_##f, j, acts, own, r0, r1, p); }
PLAIN(Q4_0) PLAIN(Q4_1) PLAIN(Q5_0) PLAIN(Q5_1) PLAIN(Q8_0) PLAIN(Q2_K) PLAIN(Q3_K) PLAIN(Q4_K) PLAIN(Q5_K) PLAIN(Q6_K)
#define ROW_OF(f) [VC_##f] = plain_##f
static void (*const plain[])(const struct vc_iblk_job *, const int16_t *, struct plain_own *, uint32_t, uint32_t, uint32_t) = {
    ROW_OF(Q4_0), ROW_OF(Q4_1), ROW_OF(Q5_0), ROW_OF(Q5_1), ROW_OF(Q8_0),
    ROW_OF(Q2_K), ROW_OF(Q3_K), ROW_OF(Q4_K), ROW_OF(Q5_K), ROW_OF(Q6_K),
};

void VC_K(vc_iblk_panels)(const struct vc_iblk_job *j, const void *acts, void *own, uint32_t p0, uint32_t p1) {
    for (uint32_t r = 0; r < j->M; r += ROWS)
        for (uint32_t p = p0; p < p1; p++) plain[j->weight](j, acts, own, r, VC_MIN(r + ROWS, j->M), p);
}

#endif
