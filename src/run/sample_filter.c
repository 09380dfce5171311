/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_filter.h"

#include <math.h>
#include <string.h>

void vc_filter_min_p(struct vc_filter_scratch *s, float *x, uint32_t n, float min_p) {
    vc_softmax_row(s->exp_sum, x, n, s->probs);
    float limit = s->probs[vc_row_argmax(x, n)] * min_p;
    for (uint32_t i = 0; i < n; i++) x[i] = s->probs[i] < limit ? -INFINITY : x[i];
}

/* Keys ascend as the floats do; -0 and +0 get one key. */
static void make_keys(struct vc_filter_scratch *s, const float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        float v = x[i] + 0.0f;
        uint32_t u;
        memcpy(&u, &v, 4);
        s->keys[i] = u ^ ((0u - (u >> 31)) | 0x80000000u);
    }
}

/* Digits of a key, from the highest: 11, 11 and 10 bits. */
static const uint32_t shift_of[3] = { 21, 10, 0 }, bits_of[3] = { 11, 11, 10 };
static uint32_t digit(uint32_t key, int level) { return key >> shift_of[level] & ((1u << bits_of[level]) - 1); }
static uint32_t above(int level) { return level ? ~UINT32_C(0) << shift_of[level - 1] : 0; }

void vc_filter_top_k(struct vc_filter_scratch *s, float *x, uint32_t n, uint32_t k) {
    make_keys(s, x, n);
    uint32_t prefix = 0, left = k;   /* the k-th largest begins with prefix and is the left-th largest of those */
    for (int level = 0; level < 3; level++) {
        memset(s->count, 0, sizeof s->count);
        for (uint32_t i = 0; i < n; i++)
            if ((s->keys[i] & above(level)) == prefix) s->count[digit(s->keys[i], level)]++;
        uint32_t d = (1u << bits_of[level]) - 1;
        for (; s->count[d] < left; d--) left -= s->count[d];
        prefix |= d << shift_of[level];
    }
    for (uint32_t i = 0; i < n; i++) x[i] = s->keys[i] < prefix ? -INFINITY : x[i];
}

/* Counts and sums of probabilities by digit, over the keys that begin with prefix; returns the highest digit present.
 * Elements of probability 0 are lower than all others and always dropped: they are not counted. */
static uint32_t count_level(struct vc_filter_scratch *s, uint32_t n, uint32_t prefix, int level) {
    memset(s->count, 0, sizeof s->count);
    memset(s->sum, 0, sizeof s->sum);
    for (uint32_t i = 0; i < n; i++) {
        if ((s->keys[i] & above(level)) != prefix || s->probs[i] == 0.0f) continue;
        uint32_t d = digit(s->keys[i], level);
        s->count[d]++;
        s->sum[d] += (double)s->probs[i];
    }
    uint32_t last = (1u << bits_of[level]) - 1;
    while (!s->count[last]) last--;
    return last;
}

void vc_filter_top_p(struct vc_filter_scratch *s, float *x, uint32_t n, float top_p) {
    vc_softmax_row(s->exp_sum, x, n, s->probs);
    make_keys(s, x, n);
    const float limit = 1.0f - top_p;
    double below = 0;                /* sum over the keys below prefix */
    uint32_t prefix = 0, ties = 0;
    double p = 0;
    for (int level = 0; level < 3; level++) {
        uint32_t last = count_level(s, n, prefix, level), d = 0;
        for (; d < last && (float)(below + s->sum[d]) <= limit; d++) below += s->sum[d];
        prefix |= d << shift_of[level];
        ties = s->count[d];
        p = ties ? s->sum[d] / ties : 0;
    }
    /* All keys below prefix go, and of the equal ones at it as many as the running sum allows. */
    uint32_t drop = 0;
    while (drop < ties && (float)(below + p * (drop + 1)) <= limit) drop++;
    uint32_t stay = ties > drop ? ties - drop : 1;
    for (uint32_t i = 0; i < n; i++) {
        if (s->keys[i] < prefix || (s->keys[i] == prefix && !stay)) x[i] = -INFINITY;
        else if (s->keys[i] == prefix) stay--;
    }
}
