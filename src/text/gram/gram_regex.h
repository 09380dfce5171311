/* SPDX-License-Identifier: Apache-2.0
 * gram_regex.h: shared by the parser of regular expressions and that of their character classes. */
#ifndef VC_TEXT_GRAM_REGEX_H
#define VC_TEXT_GRAM_REGEX_H

#include "text/gram/gram_int.h"

struct rx {
    struct vc_gram *g;
    const char *p;
    size_t n, at;
    int flags;
    unsigned depth;
    vc_err *err;
    bool failed;
};
bool vc_rx_bad(struct rx *x, size_t at, vc_status s, const char *what);      /* returns false */
static inline bool rx_more(const struct rx *x) { return x->at < x->n; }
static inline char rx_peek(const struct rx *x) { return x->at < x->n ? x->p[x->at] : 0; }
/* The character at at, which moves behind it. */
bool vc_rx_char(struct rx *x, uint32_t *c);

struct rx_set { struct vc_gram_range *v; size_t n, cap; };
bool vc_rx_add(struct rx *x, struct rx_set *s, uint32_t first, uint32_t last);
/* An escape behind its backslash: one character in *c, or (*c = UINT32_MAX) a set added to s. */
bool vc_rx_escape(struct rx *x, bool in_class, uint32_t *c, struct rx_set *s);
/* [ … ] from behind its bracket. */
bool vc_rx_class(struct rx *x, struct rx_set *s, bool *negate);

#endif
