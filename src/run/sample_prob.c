/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_prob.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "run/sample_math.h"

bool vc_row_finite(const float *x, uint32_t n) {
    uint32_t bad = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, x + i, 4);
        bad |= (u & 0x7F800000u) == 0x7F800000u;
    }
    return !bad;
}

static float row_max(const float *x, uint32_t n) {
    float lane[16], m = x[0];
    for (uint32_t j = 0; j < 16; j++) lane[j] = m;
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (uint32_t j = 0; j < 16; j++) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (; i < n; i++) m = x[i] > m ? x[i] : m;
    for (uint32_t j = 0; j < 16; j++) m = lane[j] > m ? lane[j] : m;
    return m;
}

uint32_t vc_row_argmax(const float *x, uint32_t n) {
    float m = row_max(x, n);
    uint32_t i = 0;
    while (i + 1 < n && x[i] != m) i++;
    return i;
}

static void top2(const float *x, uint32_t n, float *best, float *second) {
    for (uint32_t i = 0; i < n; i++) {
        if (x[i] > *best) {
            *second = *best;
            *best = x[i];
        } else if (x[i] > *second) {
            *second = x[i];
        }
    }
}

/* Most blocks hold neither, which their maximum tells at the speed of a maximum. */
void vc_row_top2(const float *x, uint32_t n, float *best, float *second) {
    enum { BLOCK = 256 };
    *best = *second = -INFINITY;
    uint32_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        if (row_max(x + i, BLOCK) > *second) top2(x + i, BLOCK, best, second);
    top2(x + i, n - i, best, second);
}

uint32_t vc_row_count_ge(const float *x, uint32_t n, float v) {
    uint32_t c = 0;
    for (uint32_t i = 0; i < n; i++) c += x[i] >= v;
    return c;
}

/* e[i] = e^(x[i] - m); returns their sum. */
VC_INLINE float exp_sum_body(const float *x, uint32_t n, float m, float *e, int hw) {
    float lane[16] = { 0 };
    for (uint32_t i = 0; i < n; i++) e[i] = vc_sm_exp(x[i] - m, hw);
    if (n < 16) {
        float s = e[0];
        for (uint32_t i = 1; i < n; i++) s += e[i];
        return s;
    }
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (uint32_t j = 0; j < 16; j++) lane[j] += e[i + j];
    for (uint32_t j = 0; i + j < n; j++) lane[j] += e[i + j];
    for (uint32_t h = 8; h; h /= 2)
        for (uint32_t j = 0; j < h; j++) lane[j] += lane[j + h];
    return lane[0];
}

float vc_exp_sum_portable(const float *x, uint32_t n, float m, float *e) { return exp_sum_body(x, n, m, e, 0); }

#if VC_HAVE_TARGET_AVX2_FMA
VC_TARGET_AVX2_FMA static float exp_sum_avx2(const float *x, uint32_t n, float m, float *e) {
    return exp_sum_body(x, n, m, e, 1);
}
#endif

vc_exp_sum_fn *vc_exp_sum_pick(void) {
#if VC_HAVE_TARGET_AVX2_FMA
    enum vc_tier t;
    if (!vc_cpu_tier(&t, NULL) && t >= VC_TIER_AVX2) return exp_sum_avx2;
#endif
    return vc_exp_sum_portable;
}

void vc_softmax_row(vc_exp_sum_fn *exp_sum, const float *x, uint32_t n, float *p) {
    float s = exp_sum(x, n, row_max(x, n), p);
    for (uint32_t i = 0; i < n; i++) p[i] /= s;
}

void vc_log_softmax_row(vc_exp_sum_fn *exp_sum, const float *x, uint32_t n, float *y) {
    float m = row_max(x, n), l = vc_sm_log(exp_sum(x, n, m, y));
    for (uint32_t i = 0; i < n; i++) y[i] = (x[i] - m) - l;
}
