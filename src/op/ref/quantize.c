/* SPDX-License-Identifier: Apache-2.0 */
#include "op/qact.h"
#include "op/ref/ref.h"

/* Nearest integer, ties to even; |x| <= 128. */
static int nearest(float x) {
    const float magic = 12582912.0f;                            /* 1.5 * 2^23 */
    return (int)((x + magic) - magic);
}

/* One block: the scale, and q. The maximum is taken over the bit patterns of |x|, so that Inf and NaN win; a scale that
 * is 0 or not finite makes every q 0 (0 * Inf and 0 * NaN then carry NaN into the outputs). */
static float block(const struct vc_view *x, uint32_t row, uint32_t k0, uint32_t n, int8_t *q) {
    uint32_t top = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u = vc_f32_bits(vc_load(x, row, k0 + i)) & 0x7FFFFFFFu;
        if (u > top) top = u;
    }
    const float d = vc_flush(vc_bits_f32(top) / 127.0f);
    const int usable = d != 0 && (vc_f32_bits(d) & 0x7F800000u) != 0x7F800000u;
    const float inverse = usable ? 1.0f / d : 0.0f;
    for (uint32_t i = 0; i < n; i++) q[i] = (int8_t)(usable ? nearest(vc_load(x, row, k0 + i) * inverse) : 0);
    return d;
}

void vc_ref_quantize(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    (void)parts;
    if (part != 0) return;
    const struct vc_quantize_args *a = c->args;
    const struct vc_view *x = &c->in[0];
    const uint32_t K = x->cols;
    for (uint32_t r = 0; r < x->rows; r++) {
        char *row = (char *)c->out[0].data + (size_t)r * c->out[0].stride;
        int8_t *q = (int8_t *)(void *)row;
        float *d = (float *)(void *)(row + vc_qact_d_at(K));
        int16_t *sum = (int16_t *)(void *)(row + vc_qact_sum_at(K, a->block));
        for (uint32_t b = 0; b < K / a->block; b++) {
            d[b] = block(x, r, b * a->block, a->block, q + b * a->block);
            if (a->block == 32) d[b] = vc_round_to(c->contract->slot[VC_SLOT_QUANT_SCALE], d[b]);
        }
        for (uint32_t i = 0; i < K / 16; i++) {
            int s = 0;
            for (uint32_t j = 0; j < 16; j++) s += q[i * 16 + j];
            sum[i] = (int16_t)s;
        }
    }
}
