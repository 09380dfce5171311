/* SPDX-License-Identifier: Apache-2.0
 * matmul_pair_pack.c: checkpoint rows into the panels of pair_panel.h. A chunk of K of up to 64 rows is written at a
 * time, so that the lines it touches stay in the first cache. */
#include "base/compat.h"
#include "dev/kernel.h"
#include "kern/cpu/pair_panel.h"
#include "num/block.h"
#include "num/half.h"

enum { CHUNK = 256 };                                 /* every block size divides it */

size_t vc_pair_bytes(enum vc_dtype panel, uint32_t N, uint32_t K);
void vc_pair_pack(const struct vc_pack_job *j);

size_t vc_pair_bytes(enum vc_dtype panel, uint32_t N, uint32_t K) { return vc_panel_bytes(panel, N, K); }

/* n values of one output, from k (a multiple of CHUNK) on, as 16- or 32-bit words. */
static void put16(const struct vc_pack_job *j, size_t col, size_t k, const uint16_t *v, size_t n) {
    const size_t kp = vc_panel_kp(j->K);
    uint16_t *d = (uint16_t *)(void *)((char *)j->dst + vc_panel_at(j->panel, kp, col, k));
    if (j->panel == VC_BF16) {
        for (size_t i = 0; i + 1 < n; i += 2) memcpy(d + i * VC_PANEL_COLS, v + i, 4);
        if (n & 1) d[(n - 1) * VC_PANEL_COLS] = v[n - 1];
    } else {
        for (size_t i = 0; i < n; i++) d[i * VC_PANEL_COLS] = v[i];
    }
}
static void put32(const struct vc_pack_job *j, size_t col, size_t k, const float *v, size_t n) {
    float *d = (float *)(void *)((char *)j->dst + vc_panel_at(j->panel, vc_panel_kp(j->K), col, k));
    for (size_t i = 0; i < n; i++) d[i * VC_PANEL_COLS] = v[i];
}

static void put_decoded(const struct vc_pack_job *j, size_t col, size_t k, const void *src, size_t n) {
    float v[CHUNK];
    uint16_t h[CHUNK];
    vc_decode(j->src, src, n, v);
    if (j->panel == VC_F32) {
        put32(j, col, k, v, n);
        return;
    }
    for (size_t i = 0; i < n; i++) h[i] = j->panel == VC_BF16 ? vc_f32_bf16(v[i]) : vc_f32_f16(v[i]);
    put16(j, col, k, h, n);
}

static void put(const struct vc_pack_job *j, size_t col, size_t k, const void *src, size_t n) {
    if (j->src != j->panel) put_decoded(j, col, k, src, n);
    else if (j->panel == VC_F32) {
        float v[CHUNK];
        memcpy(v, src, n * sizeof v[0]);              /* the source has any alignment */
        put32(j, col, k, v, n);
    } else {
        uint16_t h[CHUNK];
        memcpy(h, src, n * sizeof h[0]);
        put16(j, col, k, h, n);
    }
}

void vc_pair_pack(const struct vc_pack_job *j) {
    const struct vc_dtype_info *t = vc_dtype_info(j->src);
    const size_t row_bytes = (size_t)j->K / t->block * t->bytes;
    for (size_t r = 0; r < j->rows;) {
        const size_t in_panel = VC_PANEL_COLS - (j->at + r) % VC_PANEL_COLS, end = VC_MIN(r + in_panel, (size_t)j->rows);
        for (size_t k = 0; k < j->K; k += CHUNK) {
            const size_t n = VC_MIN((size_t)CHUNK, j->K - k);
            for (size_t i = r; i < end; i++)
                put(j, j->at + i, k, (const char *)j->raw + i * row_bytes + k / t->block * t->bytes, n);
        }
        r = end;
    }
}
