/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_gumbel.h"

#include <math.h>

#include "base/rng.h"
#include "run/sample_math.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)   /* SplitMix64's increment */

/* A SplitMix64 stream per (seed, index), read at position `token`. */
static uint64_t stream(uint64_t seed, uint32_t index) {
    return vc_mix64(vc_mix64(seed + GOLDEN) + (index + UINT64_C(1)) * GOLDEN);
}

static uint64_t bits53(uint64_t base, uint32_t token) { return vc_mix64(base + (token + UINT64_C(1)) * GOLDEN) >> 11; }

static double noise(uint64_t r) {
    double u = r == 0 ? 0x1p-54 : (double)r * 0x1p-53;
    return -vc_sm_log64(-vc_sm_log64(u));
}

double vc_gumbel(uint64_t seed, uint32_t index, uint32_t token) { return noise(bits53(stream(seed, index), token)); }

/* True when noise(r) < gap for certain, without a logarithm: -ln u >= 1 - u gives g <= -ln(1 - u), and with z leading
 * ones in the 53 bits of r, 1 - u > 2^-(z+1), so g < (z + 1) ln 2. The gap is shortened a little against rounding. */
static int below(uint64_t r, double gap) {
    const uint64_t one = UINT64_C(1) << 53;
    if (!(gap > 0.7)) return 0;
    if (gap > 38) return 1;                              /* g <= 54 ln 2 < 37.5 */
    uint32_t need = (uint32_t)((gap - 1e-9) * 1.4426950408);  /* z must be at least this */
    return r < one - (one >> need);
}

uint32_t vc_gumbel_argmax(const float *x, uint32_t n, uint32_t best, uint64_t seed, uint32_t index) {
    uint64_t base = stream(seed, index);
    double top = (double)x[best] + noise(bits53(base, best));
    for (uint32_t i = 0; i < n; i++) {
        if (x[i] == -INFINITY || i == best) continue;
        uint64_t r = bits53(base, i);
        if (below(r, top - (double)x[i])) continue;
        double v = (double)x[i] + noise(r);
        if (v > top || (v == top && i < best)) {
            top = v;
            best = i;
        }
    }
    return best;
}
