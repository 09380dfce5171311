/* SPDX-License-Identifier: Apache-2.0
 * Doubles as text, as Python writes and reads them. snprintf and strtod follow the process's locale, so its decimal
 * point is translated on both ways. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/jinja/jinja_run.h"

static char decimal_point(void) {
    const struct lconv *lc = localeconv();
    return lc && lc->decimal_point && lc->decimal_point[0] ? lc->decimal_point[0] : '.';
}

size_t vc_j_fixed(char *dst, size_t cap, double f, int prec, char conv) {
    int n = conv == 'e'   ? snprintf(dst, cap, "%.*e", prec, f)
            : conv == 'g' ? snprintf(dst, cap, "%.*g", prec, f)
                          : snprintf(dst, cap, "%.*f", prec, f);
    size_t len = n < 0 ? 0 : VC_MIN((size_t)n, cap - 1);
    char *dot = memchr(dst, decimal_point(), len);
    if (dot) *dot = '.';
    return len;
}

bool vc_j_parse_double(const char *s, size_t n, double *f) {
    char small[64], *buf = small, *end;
    if (n == 0) return false;
    if (n >= sizeof small && !(buf = malloc(n + 1))) return false;
    memcpy(buf, s, n);
    buf[n] = '\0';
    bool plain = strspn(buf, "0123456789+-.eE") == n;
    char *dot = strchr(buf, '.');
    if (dot) *dot = decimal_point();
    *f = strtod(buf, &end);
    bool ok = plain && end == buf + n;
    if (buf != small) free(buf);
    return ok;
}

/* repr(): the fewest digits that read back to the same value; exponent form below 1e-4 and from 1e16. */
size_t vc_j_repr_double(char *dst, double f) {
    char e[40];
    if (isnan(f) || isinf(f)) {
        strcpy(dst, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return strlen(dst);
    }
    double back;
    int prec = fabs(f) >= 1e-300 ? 14 : 0;      /* 15 digits, with zeros cut below, unless near the subnormals */
    for (;; prec++) {
        size_t n = vc_j_fixed(e, sizeof e, f, prec, 'e');
        if (prec >= 16 || (vc_j_parse_double(e, n, &back) && back == f)) break;
    }
    char digits[24], *exp = strchr(e, 'e');
    int n = 0, ex = atoi(exp + 1);
    for (const char *p = e; p < exp; p++)
        if (*p >= '0' && *p <= '9') digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0') n--;
    size_t o = 0;
    if (signbit(f)) dst[o++] = '-';
    if (ex < -4 || ex >= 16) {
        dst[o++] = digits[0];
        if (n > 1) dst[o++] = '.';
        for (int i = 1; i < n; i++) dst[o++] = digits[i];
        return o + (size_t)snprintf(dst + o, 8, "e%c%02d", ex < 0 ? '-' : '+', abs(ex));
    }
    if (ex < 0) {
        dst[o++] = '0';
        dst[o++] = '.';
        for (int i = -1; i > ex; i--) dst[o++] = '0';
        for (int i = 0; i < n; i++) dst[o++] = digits[i];
    } else {
        for (int i = 0; i < n || i <= ex; i++) {
            if (i == ex + 1) dst[o++] = '.';
            dst[o++] = i < n ? digits[i] : '0';
        }
        if (n <= ex + 1) {
            dst[o++] = '.';
            dst[o++] = '0';
        }
    }
    dst[o] = '\0';
    return o;
}
