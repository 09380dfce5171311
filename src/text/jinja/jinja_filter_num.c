/* SPDX-License-Identifier: Apache-2.0
 * Filters over numbers: abs, int, float, round, filesizeformat. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_ctype.h"
#include "text/jinja/jinja_filter.h"

VC_J_FILTER(abs) {
    VC_J_UNUSED;
    vc_jv v = arg[0];
    if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
    if (v.t == VC_J_FLOAT) return vc_j_float(fabs(v.u.f));
    if (!vc_j_is_int(v)) vc_j_raise(x, "bad operand type for abs(): '%s'", vc_j_type_name(v));
    return vc_j_int_cmp(v, vc_j_int(0)) < 0 ? vc_j_neg(x, v) : vc_j_arith(x, VC_J_ADD, v, vc_j_int(0));
}

/* Decimal digits of any script as ASCII ones; they lie in runs of ten that begin with zero. */
static vc_jv ascii_digits(vc_jx *x, vc_jv v) {
    const struct vc_jstr *s = v.u.s;
    if (s->len == s->n) return v;
    struct vc_jbuf b = { 0 };
    uint32_t cp = 0;
    for (size_t i = 0, w; i < s->n; i += w) {
        w = VC_MAX(vc_utf8_decode(s->p + i, s->n - i, &cp), 1u);
        uint32_t first = cp;
        while (cp >= 0x80 && vc_j_is_decimal(cp) && first > 0x80 && cp - first < 60 && vc_j_is_decimal(first - 1))
            first--;
        if (cp >= 0x80 && vc_j_is_decimal(cp)) vc_j_putc(x, &b, (char)('0' + (cp - first) % 10));
        else vc_j_put(x, &b, s->p + i, w);
    }
    return vc_j_done(x, &b);
}

/* int(str, base) of Python. */
static bool text_to_int(vc_jx *x, vc_jv s, int64_t base, vc_jv *out) {
    s = ascii_digits(x, vc_j_strip(x, s, vc_j_missing(), 3));
    const char *p = s.u.s->p;
    size_t n = s.u.s->n;
    bool neg = n && p[0] == '-';
    if (n && (p[0] == '-' || p[0] == '+')) p++, n--;
    char c = n > 2 && p[0] == '0' ? (char)(p[1] | 0x20) : 0;
    int64_t prefix = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
    if (prefix && (base == prefix || base == 0)) {
        p += 2, n -= 2;
        if (n && p[0] == '_') p++, n--;
        base = prefix;
    } else if (base == 0) {
        base = 10;
    }
    if (!vc_j_parse_int(x, p, n, (unsigned)base, out)) return false;
    if (neg) *out = vc_j_neg(x, *out);
    return true;
}

/* float(str) of Python. */
static bool text_to_float(vc_jx *x, vc_jv s, double *f) {
    s = vc_j_case(x, ascii_digits(x, vc_j_strip(x, s, vc_j_missing(), 3)), VC_J_LOWER);
    struct vc_jbuf b = { 0 };
    const struct vc_jstr *t = s.u.s;
    for (size_t i = 0; i < t->n; i++) {
        bool between = t->p[i] == '_' && i && i + 1 < t->n && t->p[i - 1] >= '0' && t->p[i - 1] <= '9' &&
                       t->p[i + 1] >= '0' && t->p[i + 1] <= '9';
        if (!between) vc_j_putc(x, &b, t->p[i]);
    }
    size_t sign = b.n && (b.p[0] == '-' || b.p[0] == '+');
    bool neg = sign && b.p[0] == '-';
    struct vc_jstr rest = { b.p ? b.p + sign : "", b.n - sign, 0 };
    if (vc_j_str_is(&rest, "inf") || vc_j_str_is(&rest, "infinity")) *f = neg ? -INFINITY : INFINITY;
    else if (vc_j_str_is(&rest, "nan")) *f = NAN;
    else return vc_j_parse_double(b.p, b.n, f);
    return true;
}

VC_J_FILTER(int) {
    VC_J_UNUSED;
    vc_jv v = arg[0], def = vc_j_given(arg[1]) ? arg[1] : vc_j_int(0), r;
    int64_t base = vc_j_given(arg[2]) ? vc_j_as_index(x, arg[2], "int's base") : 10;
    if (base != 0 && (base < 2 || base > 36)) vc_j_raise(x, "int() base must be >= 2 and <= 36, or 0");
    double f;
    if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
    if (vc_j_is_int(v)) return vc_j_arith(x, VC_J_ADD, v, vc_j_int(0));
    if (v.t == VC_J_STR) {
        if (text_to_int(x, v, base, &r)) return r;
        if (!text_to_float(x, v, &f)) return def;
    } else if (v.t == VC_J_FLOAT) {
        f = v.u.f;
        if (isinf(f)) vc_j_raise(x, "cannot convert float infinity to integer");
    } else {
        return def;
    }
    return isfinite(f) ? vc_j_double_to_int(x, f) : def;
}

VC_J_FILTER(float) {
    VC_J_UNUSED;
    vc_jv v = arg[0];
    double f;
    if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
    if (vc_j_is_num(v)) return vc_j_float(vc_j_to_double(x, v));
    if (v.t == VC_J_STR && text_to_float(x, v, &f)) return vc_j_float(f);
    return vc_j_given(arg[1]) ? arg[1] : vc_j_float(0);
}

/* round(float, n) of Python: the decimal value that is nearest to the exact binary one, ties to even. */
static double round_to(double f, int64_t n) {
    char s[VC_J_FLOAT_CAP + 400];
    double r = f;
    if (!isfinite(f) || f == 0 || n > 323) return f;
    if (n < -309) return copysign(0, f);
    if (n >= 0) {
        size_t k = vc_j_fixed(s, sizeof s, f, (int)n, 'f');
        return vc_j_parse_double(s, k, &r) ? r : f;
    }
    vc_j_fixed(s, sizeof s, f, 17, 'e');
    int exp = 0;
    sscanf(strchr(s, 'e') + 1, "%d", &exp);
    int64_t digits = exp + n;       /* behind the first */
    if (digits < 0) {
        double unit = pow(10, (double)-n);
        return copysign(digits == -1 && fabs(f) > unit / 2 ? unit : 0, f);
    }
    size_t k = vc_j_fixed(s, sizeof s, f, (int)digits, 'e');
    return vc_j_parse_double(s, k, &r) ? r : f;
}

static vc_jv round_int(vc_jx *x, vc_jv v, int64_t n) {
    v = vc_j_arith(x, VC_J_ADD, v, vc_j_int(0));
    if (n >= 0) return v;
    vc_jv unit = vc_j_arith(x, VC_J_POW, vc_j_int(10), vc_j_int(-n)), two = vc_j_int(2);
    vc_jv q = vc_j_arith(x, VC_J_FLOORDIV, v, unit), r = vc_j_arith(x, VC_J_MOD, v, unit);
    int c = vc_j_int_cmp(vc_j_arith(x, VC_J_MUL, r, two), unit);
    bool odd = vc_j_truth(vc_j_arith(x, VC_J_MOD, q, two));
    if (c > 0 || (c == 0 && odd)) q = vc_j_arith(x, VC_J_ADD, q, vc_j_int(1));
    return vc_j_arith(x, VC_J_MUL, q, unit);
}

VC_J_FILTER(round) {
    VC_J_UNUSED;
    int64_t n = vc_j_given(arg[1]) ? vc_j_as_index(x, arg[1], "round's precision") : 0;
    const struct vc_jstr *m = vc_j_given(arg[2]) ? vc_j_need_str(x, arg[2], "round's method") : NULL;
    bool ceil_ = m && vc_j_str_is(m, "ceil"), floor_ = m && vc_j_str_is(m, "floor");
    if (m && !ceil_ && !floor_ && !vc_j_str_is(m, "common")) vc_j_raise(x, "method must be common, ceil or floor");
    if (arg[0].t == VC_J_UNDEF) vc_j_raise_undef(x, arg[0]);
    if (!vc_j_is_num(arg[0])) vc_j_raise(x, "type %s doesn't define __round__ method", vc_j_type_name(arg[0]));
    if (!ceil_ && !floor_)
        return arg[0].t == VC_J_FLOAT ? vc_j_float(round_to(arg[0].u.f, n)) : round_int(x, arg[0], n);
    vc_jv scale = vc_j_arith(x, VC_J_POW, vc_j_int(10), vc_j_int(n)), v = vc_j_arith(x, VC_J_MUL, arg[0], scale);
    if (v.t == VC_J_FLOAT) {
        if (!isfinite(v.u.f)) vc_j_raise(x, "cannot convert float infinity or NaN to integer");
        v = vc_j_double_to_int(x, ceil_ ? ceil(v.u.f) : floor(v.u.f));
    }
    return vc_j_arith(x, VC_J_DIV, v, scale);
}

VC_J_FILTER(filesizeformat) {
    VC_J_UNUSED;
    static const char *const units[2][8] = { { "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB" },
                                             { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB" } };
    bool binary = vc_j_flag(arg[1]);
    double bytes = 0, base = binary ? 1024 : 1000, unit = base;
    char s[64];
    if (vc_j_is_num(arg[0])) bytes = vc_j_to_double(x, arg[0]);
    else if (arg[0].t != VC_J_STR || !text_to_float(x, arg[0], &bytes))
        vc_j_raise(x, "could not convert %s to float", vc_j_type_name(arg[0]));
    if (bytes == 1) return vc_j_lit(x, "1 Byte");
    if (bytes < base) {
        snprintf(s, sizeof s, "%.0f Bytes", trunc(bytes));
        return vc_j_copy(x, s, strlen(s));
    }
    int i = 0;
    while (i < 7 && bytes >= unit * base) i++, unit *= base;
    size_t n = vc_j_fixed(s, sizeof s - 8, bytes / unit, 1, 'f');
    snprintf(s + n, sizeof s - n, " %s", units[binary][i]);
    return vc_j_copy(x, s, strlen(s));
}
