/* SPDX-License-Identifier: Apache-2.0 */
#include "num/fit.h"

#include <math.h>
#include <string.h>

static const float tiny = 1e-15f;       /* groups below this are all zero (GROUP_MAX_EPS) */

int vc_fit_nearest(float v) {
    if (!(v > -4194303.0f)) return v == v ? -4194303 : 0;
    if (v > 4194303.0f) return 4194303;
    float t = v + 12582912.0f;          /* 1.5 2^23: the sum's last bit is 1 */
    uint32_t u;
    memcpy(&u, &t, 4);
    return (int)(u & 0x7FFFFF) - 0x400000;
}

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

/* The value of largest magnitude; 0 when all are tiny. */
static float extreme(int n, const float *x) {
    float max = 0, amax = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > amax) amax = fabsf(max = x[i]);
    return amax < tiny ? 0 : max;
}

/* Codes for one inverse scale and the sums of w x l and w l^2. */
static void sums(int n, int half, const float *x, float iscale, int8_t *l, float *lx, float *l2) {
    *lx = *l2 = 0;
    for (int i = 0; i < n; i++) {
        l[i] = (int8_t)clamp(vc_fit_nearest(iscale * x[i]), -half, half - 1);
        float w = x[i] * x[i], li = (float)l[i];
        *lx += w * x[i] * li;
        *l2 += w * li * li;
    }
}

float vc_fit_symmetric(int n, int half, const float *x, uint8_t *q) {
    float max = extreme(n, x), lx, l2;
    int8_t l[32];
    memset(q, 0, (size_t)n);
    if (max == 0) return 0;
    sums(n, half, x, (float)-half / max, l, &lx, &l2);
    for (int i = 0; i < n; i++) q[i] = (uint8_t)(l[i] + half);
    float scale = l2 != 0 ? lx / l2 : 0, best = scale * lx;
    for (int k = -9; k <= 9; k++) {
        if (k == 0) continue;
        sums(n, half, x, -((float)half + 0.1f * (float)k) / max, l, &lx, &l2);
        if (!(l2 > 0 && lx * lx > best * l2)) continue;
        for (int i = 0; i < n; i++) q[i] = (uint8_t)(l[i] + half);
        scale = lx / l2;
        best = scale * lx;
    }
    return scale;
}

float vc_fit_sweep(int n, int half, const float *x, uint8_t *q) {
    float max = extreme(n, x), lx, l2;
    int8_t l[32];
    memset(q, 0, (size_t)n);
    if (max == 0) return 0;
    sums(n, half, x, (float)-half / max, l, &lx, &l2);
    for (int sweep = 0, changed = 1; sweep < 5 && changed; sweep++) {
        changed = 0;
        for (int i = 0; i < n; i++) {
            float w = x[i] * x[i], li = (float)l[i], sx = lx - w * x[i] * li;
            if (!(sx > 0)) continue;
            float s2 = l2 - w * li * li;
            int k = clamp(vc_fit_nearest(x[i] * s2 / sx), -half, half - 1);
            if (k == l[i]) continue;
            sx += w * x[i] * (float)k;
            s2 += w * (float)k * (float)k;
            if (s2 > 0 && sx * sx * l2 > lx * lx * s2) {
                l[i] = (int8_t)k;
                lx = sx;
                l2 = s2;
                changed = 1;
            }
        }
    }
    for (int i = 0; i < n; i++) q[i] = (uint8_t)(l[i] + half);
    return lx / l2;
}

struct group { int n, top; const float *x, *w; int absolute; };

static float weighted_error(const struct group *g, const uint8_t *q, float scale, float min) {
    float sum = 0;
    for (int i = 0; i < g->n; i++) {
        float diff = scale * (float)q[i] + min - g->x[i];
        sum += g->w[i] * (g->absolute ? fabsf(diff) : diff * diff);
    }
    return sum;
}

static void quantize(const struct group *g, float iscale, float min, uint8_t *q) {
    for (int i = 0; i < g->n; i++) q[i] = (uint8_t)clamp(vc_fit_nearest(iscale * (g->x[i] - min)), 0, g->top);
}

/* Weighted least squares of x ~ scale q + min, min <= 0; false when singular. */
static int solve(const struct group *g, const uint8_t *q, float sum_w, float sum_x, float *scale, float *min) {
    float l = 0, l2 = 0, xl = 0;
    for (int i = 0; i < g->n; i++) {
        float wl = g->w[i] * (float)q[i];
        l += wl;
        l2 += wl * (float)q[i];
        xl += wl * g->x[i];
    }
    float det = sum_w * l2 - l * l;
    if (!(det > 0)) return 0;
    *scale = (sum_w * xl - sum_x * l) / det;
    *min = (l2 * sum_x - l * xl) / det;
    if (*min > 0) {
        *min = 0;
        *scale = xl / l2;
    }
    return 1;
}

float vc_fit_affine(int n, int top, const float *x, const float *w, const struct vc_fit_grid *grid, uint8_t *q,
                    float *min_out) {
    struct group g = { n, top, x, w, grid->absolute };
    float min = x[0], max = x[0], sum_w = w[0], sum_x = w[0] * x[0];
    uint8_t trial[32];
    for (int i = 1; i < n; i++) {
        if (x[i] < min) min = x[i];
        if (x[i] > max) max = x[i];
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }
    if (min > 0) min = 0;
    memset(q, 0, (size_t)n);
    *min_out = -min;
    if (max == min) return 0;
    float iscale = (float)top / (max - min), scale = 1 / iscale;
    quantize(&g, iscale, min, q);
    float best = weighted_error(&g, q, scale, min);
    for (int k = 0; k <= grid->steps; k++) {
        float s, m;
        /* From the best minimum so far, as the reference does: later candidates depend on earlier ones. */
        quantize(&g, (grid->first + grid->delta * (float)k + (float)top) / (max - min), min, trial);
        if (!solve(&g, trial, sum_w, sum_x, &s, &m)) continue;
        float error = weighted_error(&g, trial, s, m);
        if (!(error < best)) continue;
        memcpy(q, trial, (size_t)n);
        best = error;
        scale = s;
        min = m;
    }
    *min_out = -min;
    return scale;
}
