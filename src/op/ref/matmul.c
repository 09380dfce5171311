/* SPDX-License-Identifier: Apache-2.0 */
#include "num/block.h"
#include "op/fma.h"
#include "op/kblock.h"
#include "op/ref/ref.h"

vc_op_fn vc_ref_matmul_iblk;                      /* op/ref/matmul_iblk.c */

/* Values [k0, k0 + n) of weight row `row`, decoded from the checkpoint's own storage. k0 is a multiple of CHUNK, which
 * every block size divides. */
enum { CHUNK = 512 };
static void weights(const struct vc_view *w, uint32_t row, uint32_t k0, uint32_t n, float *dst) {
    const struct vc_dtype_info *t = vc_dtype_info(w->dtype);
    const size_t row_bytes = (size_t)w->cols / t->block * t->bytes;
    vc_decode(w->dtype, (const char *)w->raw + row * row_bytes + (size_t)k0 / t->block * t->bytes, n, dst);
    for (uint32_t i = 0; i < n; i++) dst[i] = vc_flush(dst[i]);
}

static float step(float x, float w, float acc) { return vc_flush(vc_fma(x, w, acc)); }

/* acc carried over values [k0, k1) of row m of x and row n of w: by pairs, the odd element first, or ascending. */
static float chain(const struct vc_op_call *c, uint32_t m, uint32_t n, uint32_t k0, uint32_t k1, int pairs) {
    float w[CHUNK], acc = 0;
    for (uint32_t k = k0; k < k1; k += CHUNK) {
        const uint32_t len = k1 - k < CHUNK ? k1 - k : CHUNK;
        weights(&c->in[1], n, k, len, w);
        if (pairs) {
            for (uint32_t i = 0; i < len; i += 2) {
                if (i + 1 < len) acc = step(vc_load(&c->in[0], m, k + i + 1), w[i + 1], acc);
                acc = step(vc_load(&c->in[0], m, k + i), w[i], acc);
            }
        } else {
            for (uint32_t i = 0; i < len; i++) acc = step(vc_load(&c->in[0], m, k + i), w[i], acc);
        }
    }
    return acc;
}

/* y[m, n] before the bias: block sums left to right, or one unblocked chain. */
static float output(const struct vc_op_call *c, uint32_t m, uint32_t n) {
    const uint32_t K = c->in[1].cols;
    if (c->contract->core == VC_ARITH_CHAIN) return chain(c, m, n, 0, K, 0);
    const uint32_t block = vc_kblock(K);
    float sum = chain(c, m, n, 0, K < block ? K : block, 1);
    for (uint32_t k = block; k < K; k += block) sum = vc_flush(sum + chain(c, m, n, k, K - k < block ? K : k + block, 1));
    return sum;
}

void vc_ref_matmul(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    if (c->contract->core == VC_ARITH_IBLK) {
        vc_ref_matmul_iblk(c, part, parts);
        return;
    }
    if (part != 0) return;
    const float *bias = c->in[2].data;
    for (uint32_t m = 0; m < c->in[0].rows; m++)
        for (uint32_t n = 0; n < c->in[1].rows; n++) {
            float y = output(c, m, n);
            if (bias) y = vc_flush(y + vc_flush(bias[n]));
            vc_store(&c->out[0], m, n, y);
        }
}
