/* SPDX-License-Identifier: Apache-2.0 */
#include "op/route.h"

#include <stdbool.h>

#include "op/fast_exp.h"
#include "op/math.h"
#include "op/ref/ref.h"
#include "op/torch_sum.h"

typedef struct vc_route_item item;
static bool greater(item a, item b) { return a.v > b.v; }
static void swap(item *a, item *b) { item t = *a; *a = *b; *b = t; }

/* std::__adjust_heap of a heap whose top is the least (comparison: greater), then __push_heap. */
static void adjust(item *h, int32_t hole, int32_t len, item v) {
    int32_t top = hole, child = hole;
    while (child < (len - 1) / 2) {
        child = 2 * (child + 1);
        if (greater(h[child], h[child - 1])) child--;
        h[hole] = h[child];
        hole = child;
    }
    if ((len & 1) == 0 && child == (len - 2) / 2) {
        child = 2 * (child + 1);
        h[hole] = h[child - 1];
        hole = child - 1;
    }
    for (int32_t parent = (hole - 1) / 2; hole > top && greater(h[parent], v); parent = (hole - 1) / 2) {
        h[hole] = h[parent];
        hole = parent;
    }
    h[hole] = v;
}

/* std::__heap_select of q[0 … mid-1] out of q[0 … len-1]. */
static void heap_select(item *q, int32_t mid, int32_t len) {
    for (int32_t p = (mid - 2) / 2; mid > 1 && p >= 0; p--) adjust(q, p, mid, q[p]);
    for (int32_t i = mid; i < len; i++)
        if (greater(q[i], q[0])) {
            item v = q[i];
            q[i] = q[0];
            adjust(q, 0, mid, v);
        }
}

static void partial_sort(item *q, int32_t k, int32_t len) {
    heap_select(q, k, len);
    for (int32_t l = k - 1; l > 0; l--) {
        item v = q[l];
        q[l] = q[0];
        adjust(q, 0, l, v);
    }
}

/* std::__move_median_to_first of q[a+1], q[mid], q[b-1], then __unguarded_partition of the rest around it. */
static int32_t partition(item *q, int32_t a, int32_t b) {
    int32_t x = a + 1, y = a + (b - a) / 2, z = b - 1, m;
    if (greater(q[x], q[y])) m = greater(q[y], q[z]) ? y : greater(q[x], q[z]) ? z : x;
    else m = greater(q[x], q[z]) ? x : greater(q[y], q[z]) ? z : y;
    swap(&q[a], &q[m]);
    for (int32_t i = a + 1, j = b;; i++) {
        while (greater(q[i], q[a])) i++;
        j--;
        while (greater(q[a], q[j])) j--;
        if (i >= j) return i;
        swap(&q[i], &q[j]);
    }
}

static void insertion_sort(item *q, int32_t a, int32_t b) {
    for (int32_t i = a + 1; i < b; i++) {
        item v = q[i];
        int32_t j = i;
        if (greater(v, q[a])) {
            for (; j > a; j--) q[j] = q[j - 1];
        } else {
            for (; greater(v, q[j - 1]); j--) q[j] = q[j - 1];
        }
        q[j] = v;
    }
}

void vc_route_torch(struct vc_route_item *q, uint32_t E, uint32_t k) {
    if ((uint64_t)k * 64 <= E) {
        partial_sort(q, (int32_t)k, (int32_t)E);
        return;
    }
    int32_t a = 0, b = (int32_t)E, nth = (int32_t)k - 1, depth = 2 * (31 - __builtin_clz(E));
    while (b - a > 3) {
        if (depth-- == 0) {
            heap_select(q + a, nth + 1 - a, b - a);
            swap(&q[a], &q[nth]);
            return;
        }
        int32_t cut = partition(q, a, b);
        if (cut <= nth) a = cut;
        else b = cut;
    }
    insertion_sort(q, a, b);
}

void vc_route_lowest(const float *logit, uint32_t E, uint32_t k, int32_t *ids) {
    uint32_t n = 0;
    for (uint32_t e = 0; e < E; e++) {
        uint32_t at = n;                                     /* the chosen are kept sorted; equal ones stay in front */
        while (at > 0 && logit[e] > logit[ids[at - 1]]) at--;
        if (at >= k) continue;
        if (n < k) n++;
        for (uint32_t j = n - 1; j > at; j--) ids[j] = ids[j - 1];
        ids[at] = (int32_t)e;
    }
}

/* torch.logsumexp's sum: pairs of vectors of 8 are added first, then torch.sum. */
struct folded { const float *e; };
static float fold(const void *ctx, uint32_t i) {
    const float *p = ((const struct folded *)ctx)->e + i / 8 * 16 + i % 8;
    return p[0] + p[8];
}
static float logsumexp_sum(const float *e, uint32_t E) {
    struct folded f = { e };
    uint32_t n = E / 16;
    float s = 0.0f;
    for (uint32_t j = n * 16; j < E; j++) s = s + e[j];
    if (n == 0) return s;
    float t = vc_torch_sum(fold, &f, n * 8);
    return E % 16 == 0 ? t : s + t;
}

void vc_route_weights_torch(const float *logit, uint32_t E, const int32_t *ids, uint32_t k, int renorm, uint8_t fmt, float *w) {
    float m = logit[ids[0]], s = 0.0f, e[VC_MAX_EXPERTS];
    if (renorm) {
        for (uint32_t j = 1; j < k; j++) m = logit[ids[j]] > m ? logit[ids[j]] : m;
        for (uint32_t j = 0; j < k; j++) s = s + (w[j] = vc_glibc_expf(logit[ids[j]] - m));
        for (uint32_t j = 0; j < k; j++) w[j] = vc_round_to(fmt, w[j] / s);
        return;
    }
    for (uint32_t i = 0; i < E; i++) m = logit[i] > m ? logit[i] : m;
    for (uint32_t i = 0; i < E; i++) e[i] = vc_round_to(fmt, (float)vc_exp((double)vc_round_to(fmt, logit[i] - m)));
    s = vc_round_to(fmt, logsumexp_sum(e, E));
    float z = vc_round_to(fmt, vc_round_to(fmt, (float)vc_log((double)s)) + m);
    for (uint32_t j = 0; j < k; j++) w[j] = vc_round_to(fmt, (float)vc_exp((double)vc_round_to(fmt, logit[ids[j]] - z)));
}
