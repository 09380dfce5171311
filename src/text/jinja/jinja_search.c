/* SPDX-License-Identifier: Apache-2.0
 * Text in text, in linear time whatever the texts: a plain scan for short patterns, else the two-way algorithm
 * (Crochemore and Perrin, "Two-way string-matching", JACM 38, 1991), forwards or backwards. */
#include <string.h>

#include "text/jinja/jinja_method.h"

enum { SHORT = 32 };    /* bytes of a pattern that may be compared again at every place */

/* A text read from its start, or from its end when `step` is -1. */
struct seq { const char *p; int64_t n, step; };
static struct seq seq_of(const char *p, size_t n, bool back) {
    return (struct seq){ back && n ? p + n - 1 : p, (int64_t)n, back ? -1 : 1 };
}
VC_INLINE unsigned char at(const struct seq *s, int64_t i) { return (unsigned char)s->p[i * s->step]; }

/* Place before the maximal suffix of t, for one of the two orders of letters, and the suffix's period. */
static int64_t max_suffix(const struct seq *t, bool other_order, int64_t *period) {
    int64_t ms = -1, j = 0, k = 1, p = 1;
    while (j + k < t->n) {
        unsigned char a = at(t, j + k), b = at(t, ms + k);
        if (other_order ? a > b : a < b) {
            j += k;
            k = 1;
            p = j - ms;
        } else if (a == b) {
            if (k != p) {
                k++;
            } else {
                j += p;
                k = 1;
            }
        } else {
            ms = j++;
            k = p = 1;
        }
    }
    *period = p;
    return ms;
}

static bool has_period(const struct seq *t, int64_t cut, int64_t period) {
    for (int64_t i = 0; i <= cut; i++)
        if (at(t, i) != at(t, i + period)) return false;
    return true;
}

static int64_t two_way(const struct seq *y, const struct seq *t) {
    int64_t p, q, i = max_suffix(t, false, &p), j = max_suffix(t, true, &q), m = t->n;
    int64_t cut = i > j ? i : j, period = i > j ? p : q, memory = -1;
    bool periodic = has_period(t, cut, period);
    if (!periodic) period = VC_MAX(cut + 1, m - cut - 1) + 1;
    for (j = 0; j <= y->n - m;) {
        for (i = VC_MAX(cut, memory) + 1; i < m && at(t, i) == at(y, i + j);) i++;
        if (i < m) {
            j += i - cut;
            memory = -1;
            continue;
        }
        for (i = cut; i > memory && at(t, i) == at(y, i + j);) i--;
        if (i <= memory) return j;
        j += period;
        memory = periodic ? m - period - 1 : -1;
    }
    return -1;
}

size_t vc_j_search(const char *p, size_t n, const struct vc_jstr *t, size_t from) {
    if (from > n || t->n > n - from) return SIZE_MAX;
    if (!t->n) return from;
    if (t->n > SHORT) {
        struct seq y = seq_of(p + from, n - from, false), pat = seq_of(t->p, t->n, false);
        int64_t hit = two_way(&y, &pat);
        return hit < 0 ? SIZE_MAX : from + (size_t)hit;
    }
    while (from + t->n <= n) {
        const char *hit = memchr(p + from, t->p[0], n - t->n + 1 - from);
        if (!hit) return SIZE_MAX;
        if (!memcmp(hit, t->p, t->n)) return (size_t)(hit - p);
        from = (size_t)(hit - p) + 1;
    }
    return SIZE_MAX;
}

size_t vc_j_search_last(const char *p, size_t n, const struct vc_jstr *t) {
    if (t->n > n) return SIZE_MAX;
    if (t->n > SHORT) {
        struct seq y = seq_of(p, n, true), pat = seq_of(t->p, t->n, true);
        int64_t hit = two_way(&y, &pat);
        return hit < 0 ? SIZE_MAX : n - t->n - (size_t)hit;
    }
    for (size_t i = n - t->n + 1; i-- > 0;)
        if (!t->n || !memcmp(p + i, t->p, t->n)) return i;
    return SIZE_MAX;
}
