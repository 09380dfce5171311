/* SPDX-License-Identifier: Apache-2.0
 * fit.h: the scale searches behind the K-quant encoders. Each returns a scale and codes q[0…n), n <= 32; formulas,
 * candidate grids and summation orders are those of ggml-quants.c, without which the bytes would differ. */
#ifndef VC_NUM_FIT_H
#define VC_NUM_FIT_H

#include <stdint.h>

/* Nearest integer, ties to even; NaN gives 0, large values are cut at ±4194303. */
int vc_fit_nearest(float v);

/* x ~ scale (q - half), q in 0…2 half - 1, weights x^2: 19 candidate scales (make_qx_quants, rmse_type 1). */
float vc_fit_symmetric(int n, int half, const float *x, uint8_t *q);
/* The same model, codes improved one at a time in at most 5 sweeps (make_q3_quants). */
float vc_fit_sweep(int n, int half, const float *x, uint8_t *q);

struct vc_fit_grid { float first, delta; int steps; int absolute; };    /* absolute: |error|, else its square */
/* x ~ scale q - *min, q in 0…top, *min >= 0, weights w (make_qkx2_quants). */
float vc_fit_affine(int n, int top, const float *x, const float *w, const struct vc_fit_grid *g, uint8_t *q,
                    float *min);

#endif
