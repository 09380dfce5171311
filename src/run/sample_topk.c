/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_topk.h"

#include <math.h>

#include "run/sample_prob.h"

static int better(const vc_logprob *a, const vc_logprob *b) {
    return a->logprob != b->logprob ? a->logprob > b->logprob : a->token < b->token;
}

/* h[0 … n) is a heap with the worst at its root, but for the root itself. */
static void sift(vc_logprob *h, uint32_t n, uint32_t i) {
    vc_logprob v = h[i];
    for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && better(&h[c], &h[c + 1])) c++;
        if (!better(&v, &h[c])) break;
        h[i] = h[c];
    }
    h[i] = v;
}

void vc_logprobs_pick(const float *lp, uint32_t n, int32_t token, uint32_t k, vc_logprob *out) {
    out[0] = (vc_logprob){ token, lp[token], vc_row_count_ge(lp, n, lp[token]) };
    vc_logprob *h = out + 1;
    uint32_t m = k < n ? k : n;
    for (uint32_t i = m; i < k; i++) h[i] = (vc_logprob){ -1, -INFINITY, 0 };
    if (!m) return;
    for (uint32_t i = 0; i < m; i++) h[i] = (vc_logprob){ (int32_t)i, lp[i], 0 };
    for (uint32_t i = m / 2; i-- > 0;) sift(h, m, i);
    for (uint32_t i = m; i < n; i++) {
        if (!(lp[i] > h[0].logprob)) continue;   /* an equal one has a higher id */
        h[0] = (vc_logprob){ (int32_t)i, lp[i], 0 };
        sift(h, m, 0);
    }
    for (uint32_t end = m; end-- > 1;) {         /* the worst to the end: best first */
        vc_logprob v = h[0];
        h[0] = h[end];
        h[end] = v;
        sift(h, end, 0);
    }
    for (uint32_t i = 0; i < m; i++) h[i].rank = i + 1;
}

void vc_logprobs_of(const float *lp, uint32_t n, int32_t token, const int32_t *ids, uint32_t k, vc_logprob *out) {
    out[0] = (vc_logprob){ token, lp[token], vc_row_count_ge(lp, n, lp[token]) };
    for (uint32_t i = 0; i < k; i++) out[1 + i] = (vc_logprob){ ids[i], lp[ids[i]], 0 };
}
