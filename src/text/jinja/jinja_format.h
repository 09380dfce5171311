/* SPDX-License-Identifier: Apache-2.0
 * jinja_format.h: one formatted value, shared by "%" formatting and str.format(). */
#ifndef VC_TEXT_JINJA_FORMAT_H
#define VC_TEXT_JINJA_FORMAT_H

#include "text/jinja/jinja_run.h"

/* [[fill]align][sign][#][0][width][grouping][.precision][type] */
struct vc_jspec {
    uint32_t fill;
    char align, sign, group, type;      /* 0: not given */
    bool alt;
    int64_t width, prec;                /* -1: not given */
};
enum { VC_J_MAX_WIDTH = 1 << 20, VC_J_MAX_PREC = 300 };

void vc_j_put_spec(vc_jx *x, struct vc_jbuf *b, vc_jv v, const struct vc_jspec *s);
void vc_j_put_padded(vc_jx *x, struct vc_jbuf *b, const char *sign, const char *body, size_t n,
                     const struct vc_jspec *s);
/* Digits of an int in base 2, 8, 10, 16 (upper: capital letters), without sign. */
vc_jv vc_j_digits(vc_jx *x, vc_jv v, unsigned base, bool upper);
bool vc_j_int_negative(vc_jv v);

#endif
