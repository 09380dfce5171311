/* SPDX-License-Identifier: Apache-2.0
 * iblk_max.h: one row times a wide Q8_0 weight when only the greatest output is asked for (vc_matmul_args.max_only). Included
 * by matmul_iblk.c only; AVX2 and AVX-512.
 * A code is q = 16 h + l - 128. The high nibbles alone, half of the bytes, give every output to within a bound:
 *     Σ d a (16 h - 128 + l) = Σ_b d_b da_b (16 Σ h a - 120.5 Σ a) ± Σ_b |d_b| da_b 7.5 Σ|a|
 * First pass: upper bounds of all columns to y, and in each part the exact panel of the column that looks best. Second pass:
 * panels with a column that may reach the best exact value are computed exactly, by the tile that computes whole rows, so
 * the greatest and all its equals have their bits; all other outputs become -inf. */
#ifndef VC_KERN_CPU_IBLK_MAX_H
#define VC_KERN_CPU_IBLK_MAX_H

#include <math.h>

/* Behind the activations of a part: what both passes need. Per block 16, -120.5 Σa and 7.5 Σ|a| times nothing else: da is in the act. */
struct max_part { float best; uint32_t exact; };
static const enum vc_dtype MAX_F = VC_Q8_0;

/* Upper bounds of the 32 columns of panel p to u; the greatest estimate is returned. off, span: per block, as above; w_end: of a tile. */
static float max_bounds(const struct vc_iblk_job *j, const uint32_t *q, const float *d, const float *off, const float *span, uint32_t p,
                        const uint8_t *w_end, float *u) {
    enum { NV = 32 / VL };
    const uint8_t *w = j->panel + p * vc_iblk_panel_bytes(MAX_F, j->K);
    const uint32_t blocks = j->K / 32;
    /* Both chains of blocks + 1 roundings, of terms at most 17.1 times the bound's. */
    const vf slack = V(set1_ps)(1.0f + (float)(40 * (blocks + 8)) * 0x1p-24f), sixteen = V(set1_ps)(16.0f);
    vf y[NV], r[NV], top = V(set1_ps)(-INFINITY);
    VC_UNROLL for (int v = 0; v < NV; v++) y[v] = r[v] = V(setzero_ps)();
    for (uint32_t b = 0; b < blocks; b++, w += vc_iblk_block_bytes(MAX_F), q += 8) {
        vi s[MR][4];
        vc_iblk_ahead(w, vc_iblk_block_bytes(MAX_F), w_end);
        VC_UNROLL for (int v = 0; v < NV; v++) s[0][v] = zero_i();
        vc_iblk_dots(VC_Q4_0, 1, NV, 1, w + vc_iblk_head(MAX_F), w, q, 0, 8, s);      /* h, as the codes of Q4_0 without their offset */
        const vf da = V(set1_ps)(d[b]), o = V(set1_ps)(off[b]), sp = V(set1_ps)(span[b]);
        VC_UNROLL for (int v = 0; v < NV; v++) {
            const vf dw = V(mul_ps)(load_half(w + v * VL * 2), da);
            vi t = s[0][v];
#if VC_TIER_LEVEL == 1
            t = _mm256_madd_epi16(t, _mm256_set1_epi16(1));
#endif
            y[v] = V(fmadd_ps)(dw, V(fmadd_ps)(sixteen, V(cvtepi32_ps)(t), o), y[v]);
            r[v] = V(fmadd_ps)(V(max_ps)(dw, V(sub_ps)(V(setzero_ps)(), dw)), sp, r[v]);
        }
    }
    VC_UNROLL for (int v = 0; v < NV; v++) {
        V(storeu_ps)(u + v * VL, V(add_ps)(V(fmadd_ps)(r[v], slack, y[v]), V(set1_ps)(0x1p-60f)));
        top = V(max_ps)(top, y[v]);
    }
    float lane[VL], best = -INFINITY;
    V(storeu_ps)(lane, top);
    for (int i = 0; i < VL; i++) best = VC_MAX(best, lane[i]);
    return best;
}

/* Sums of a row's codes: off and span of each block. */
static void max_sums(const struct vc_iblk_job *j, const int8_t *a, float *off, float *span) {
    for (uint32_t b = 0; b < j->K / 32; b++, a += 32) {
        int sum = 0, abs = 0;
        for (int i = 0; i < 32; i++) {
            sum += a[i];
            abs += a[i] < 0 ? -a[i] : a[i];
        }
        off[b] = -120.5f * (float)sum;
        span[b] = 7.5f * (float)abs;
    }
}

/* Columns of panel p exactly: to y; the greatest is returned. What is not finite becomes NaN: a -inf of this row's own must not
 * be taken for an output that was left out. */
static float max_exact(const struct vc_iblk_job *j, const void *acts, struct vc_iblk_own *own, uint32_t p) {
    const uint32_t c0 = p * VC_IBLK_COLS, n = VC_MIN(j->N - c0, (uint32_t)VC_IBLK_COLS);
    float *y = (float *)(void *)j->y + c0, best = -INFINITY;
    panel_row(j, acts, own, p, j->panel, j->low);                 /* a single panel: nothing to ask for ahead */
    store_row(j, 0, p, own->sum[0]);
    for (uint32_t c = 0; c < n; c++) {
        if (!(y[c] - y[c] == 0)) y[c] = NAN;
        if (y[c] > best) best = y[c];
    }
    return best;
}

static void max_screen(const struct vc_iblk_job *j, const void *acts, struct vc_iblk_own *own, float *sums, struct max_part *out, uint32_t p0, uint32_t p1) {
    const struct vc_iblk_act at = vc_iblk_act(MAX_F, j->K);
    const uint8_t *w_end = vc_iblk_ahead_end(j->panel, vc_iblk_panel_bytes(MAX_F, j->K), p0, p1);
    const char *a = acts;
    float *off = sums, *span = sums + j->K / 32, estimate = -INFINITY, u[VC_IBLK_COLS];
    *out = (struct max_part){ -INFINITY, p0 };
    max_sums(j, (const int8_t *)acts, off, span);
    for (uint32_t p = p0; p < p1; p++) {
        const uint32_t c0 = p * VC_IBLK_COLS, n = VC_MIN(j->N - c0, (uint32_t)VC_IBLK_COLS);
        float top = max_bounds(j, acts, (const float *)(const void *)(a + at.d), off, span, p, w_end, u);
        memcpy((float *)(void *)j->y + c0, u, n * sizeof *u);
        if (top > estimate) {
            estimate = top;
            out->exact = p;
        }
    }
    if (p0 < p1) out->best = max_exact(j, acts, own, out->exact);
}

static void max_refine(const struct vc_iblk_job *j, const void *acts, struct vc_iblk_own *own, const struct max_part *part, float best, uint32_t p0, uint32_t p1) {
    for (uint32_t p = p0; p < p1; p++) {
        const uint32_t c0 = p * VC_IBLK_COLS, n = VC_MIN(j->N - c0, (uint32_t)VC_IBLK_COLS);
        float *y = (float *)(void *)j->y + c0;
        int may = 0;
        if (p == part->exact) continue;
        for (uint32_t c = 0; c < n; c++) may |= !(y[c] < best);           /* a bound that is not a number may be anything */
        if (may) best = VC_MAX(best, max_exact(j, acts, own, p));
        else for (uint32_t c = 0; c < n; c++) y[c] = -INFINITY;
    }
}

#endif
