/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_gumbel.h"

#include <math.h>

#include "base/rng.h"
#include "run/sample_math.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)   /* SplitMix64's increment */

/* A SplitMix64 stream per (seed, index), read at position `token`. */
static uint64_t stream(uint64_t seed, uint32_t index) { return vc_mix64(vc_mix64(seed + GOLDEN) + (index + UINT64_C(1)) * GOLDEN); }

static uint64_t bits53(uint64_t base, uint32_t token) { return vc_mix64(base + (token + UINT64_C(1)) * GOLDEN) >> 11; }

static double noise(uint64_t r) {
    double u = r == 0 ? 0x1p-54 : (double)r * 0x1p-53;
    return -vc_sm_log64(-vc_sm_log64(u));
}

double vc_gumbel(uint64_t seed, uint32_t index, uint32_t token) { return noise(bits53(stream(seed, index), token)); }

/* An upper bound of noise(r) without a logarithm: -ln u >= 1 - u, so g <= -ln(1 - u), and 1 - u > 2^-(z+1) where z counts
 * the leading ones of the 53 bits of r. 0.6931471806 is above ln 2. */
static double noise_bound(uint64_t r) {
    uint64_t rest = ~(r << 11) | 0x7FF;
    uint32_t z = 0;
    while (!(rest >> 63)) {
        rest <<= 1;
        z++;
    }
    return 0.6931471806 * (z + 1) + 1e-9;
}

uint32_t vc_gumbel_argmax(const float *x, uint32_t n, uint32_t best, uint64_t seed, uint32_t index) {
    uint64_t base = stream(seed, index);
    double top = (double)x[best] + noise(bits53(base, best));
    for (uint32_t i = 0; i < n; i++) {
        if (x[i] == -INFINITY || i == best) continue;
        uint64_t r = bits53(base, i);
        if ((double)x[i] + noise_bound(r) < top) continue;
        double v = (double)x[i] + noise(r);
        if (v > top || (v == top && i < best)) {
            top = v;
            best = i;
        }
    }
    return best;
}
