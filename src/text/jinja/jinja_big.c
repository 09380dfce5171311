/* SPDX-License-Identifier: Apache-2.0
 * Python's integers: 64 bits where they fit, else base 10^9 digits, up to the 4300 decimal digits that Python itself
 * is willing to print. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/jinja/jinja_run.h"

enum { BASE = 1000000000, MAX_LIMBS = 478 };    /* 4300 digits */

/* A number being worked on: magnitude in room for a product of two of the largest. */
struct big { uint32_t n; bool neg; uint32_t d[2 * MAX_LIMBS + 4]; };

static void trim(struct big *a) {
    while (a->n && !a->d[a->n - 1]) a->n--;
    if (!a->n) a->neg = false;
}

static void from_value(struct big *a, vc_jv v) {
    if (v.t == VC_J_BIG) {
        a->n = v.u.big->n;
        a->neg = v.u.big->neg;
        memcpy(a->d, v.u.big->d, a->n * sizeof *a->d);
        return;
    }
    int64_t i = vc_j_small(v);
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    a->neg = i < 0;
    for (a->n = 0; u; u /= BASE) a->d[a->n++] = (uint32_t)(u % BASE);
}

static vc_jv to_value(vc_jx *x, struct big *a) {
    trim(a);
    if (a->n > MAX_LIMBS) vc_j_raise(x, "an integer has more than 4300 digits");
    if (a->n <= 3) {
        uint64_t u = 0;
        bool over = false;
        for (uint32_t i = a->n; i-- > 0;)
            over = over || __builtin_mul_overflow(u, (uint64_t)BASE, &u) || __builtin_add_overflow(u, a->d[i], &u);
        if (!over && u <= (uint64_t)INT64_MAX + a->neg) return vc_j_int(a->neg ? (int64_t)(0 - u) : (int64_t)u);
    }
    struct vc_jbig *b = vc_j_alloc(x, sizeof *b + a->n * sizeof *b->d);
    b->n = a->n;
    b->neg = a->neg;
    memcpy(b->d, a->d, a->n * sizeof *b->d);
    return (vc_jv){ .t = VC_J_BIG, .u.big = b };
}

static int mag_cmp(const struct big *a, const struct big *b) {
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (uint32_t i = a->n; i-- > 0;)
        if (a->d[i] != b->d[i]) return a->d[i] < b->d[i] ? -1 : 1;
    return 0;
}

static void mag_add(struct big *r, const struct big *a, const struct big *b) {
    uint32_t n = VC_MAX(a->n, b->n), carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = (i < a->n ? a->d[i] : 0) + (i < b->n ? b->d[i] : 0) + carry;
        carry = s >= BASE;
        r->d[i] = carry ? s - BASE : s;
    }
    r->n = n;
    if (carry) r->d[r->n++] = 1;
}

static void mag_sub(struct big *r, const struct big *a, const struct big *b) {      /* a ≥ b */
    uint32_t borrow = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t s = (i < b->n ? b->d[i] : 0) + borrow;
        borrow = a->d[i] < s;
        r->d[i] = a->d[i] + (borrow ? BASE : 0) - s;
    }
    r->n = a->n;
    trim(r);
}

static void add(struct big *r, const struct big *a, const struct big *b, bool minus) {
    bool bneg = b->neg != minus;
    if (a->neg == bneg) {
        mag_add(r, a, b);
        r->neg = a->neg;
    } else if (mag_cmp(a, b) >= 0) {
        bool neg = a->neg;
        mag_sub(r, a, b);
        r->neg = neg && r->n;
    } else {
        mag_sub(r, b, a);
        r->neg = bneg;
    }
}

static void mul(struct big *r, const struct big *a, const struct big *b) {
    memset(r->d, 0, (a->n + b->n) * sizeof *r->d);
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b->n || carry; j++) {
            uint64_t t = r->d[i + j] + carry + (j < b->n ? (uint64_t)a->d[i] * b->d[j] : 0);
            r->d[i + j] = (uint32_t)(t % BASE);
            carry = t / BASE;
        }
    }
    r->n = a->n + b->n;
    r->neg = a->neg != b->neg;
    trim(r);
}

/* Magnitudes: q = a / b, r = a mod b, one digit at a time, each found by bisection. */
static void mag_divmod(struct big *q, struct big *r, const struct big *a, const struct big *b) {
    struct big digit = { .n = 1 }, prod;
    r->n = 0;
    r->neg = false;
    q->n = a->n;
    for (uint32_t i = a->n; i-- > 0;) {
        memmove(r->d + 1, r->d, r->n * sizeof *r->d);
        r->d[0] = a->d[i];
        r->n++;
        trim(r);
        uint32_t lo = 0, hi = BASE - 1;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo + 1) / 2;
            digit.d[0] = mid;
            mul(&prod, b, &digit);
            prod.neg = false;
            if (mag_cmp(&prod, r) <= 0) lo = mid;
            else hi = mid - 1;
        }
        digit.d[0] = lo;
        digit.n = lo ? 1 : 0;
        mul(&prod, b, &digit);
        digit.n = 1;
        mag_sub(r, r, &prod);
        q->d[i] = lo;
    }
    trim(q);
}

/* Floor division and the remainder with the sign of b. */
static void divmod(struct big *q, struct big *r, const struct big *a, const struct big *b) {
    mag_divmod(q, r, a, b);
    q->neg = q->n && a->neg != b->neg;
    if (a->neg != b->neg && r->n) {
        struct big one = { .n = 1, .d = { 1 } }, t;
        mag_add(&t, q, &one);
        t.neg = true;
        *q = t;
        mag_sub(&t, b, r);
        *r = t;
    }
    r->neg = r->n && b->neg;
}

static vc_jv power(vc_jx *x, vc_jv a, vc_jv b) {
    bool unit = a.t != VC_J_BIG && vc_j_small(a) >= -1 && vc_j_small(a) <= 1;
    if (unit) {
        bool odd = b.t == VC_J_BIG ? b.u.big->d[0] & 1 : vc_j_small(b) & 1,
             zero = b.t != VC_J_BIG && vc_j_small(b) == 0;
        return vc_j_int(zero ? 1 : vc_j_small(a) == 0 ? 0 : vc_j_small(a) == -1 && odd ? -1 : 1);
    }
    if (b.t == VC_J_BIG || vc_j_small(b) > 20000) vc_j_raise(x, "an integer has more than 4300 digits");
    vc_jv r = vc_j_int(1);
    for (uint64_t e = (uint64_t)vc_j_small(b); e; e >>= 1) {
        vc_j_step(x, 100);
        if (e & 1) r = vc_j_int_arith(x, VC_J_MUL, r, a);
        if (e > 1) a = vc_j_int_arith(x, VC_J_MUL, a, a);
    }
    return r;
}

static vc_jv small_divmod(vc_jx *x, enum vc_jop op, int64_t a, int64_t b) {
    if (b == 0) vc_j_raise(x, op == VC_J_MOD ? "integer modulo by zero" : "integer division or modulo by zero");
    if (b == -1) return op == VC_J_MOD ? vc_j_int(0) : vc_j_neg(x, vc_j_int(a));
    int64_t q = a / b, r = a % b;
    if (r && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    return vc_j_int(op == VC_J_MOD ? r : q);
}

vc_jv vc_j_int_arith(vc_jx *x, enum vc_jop op, vc_jv a, vc_jv b) {
    if (op == VC_J_POW) return power(x, a, b);
    if (a.t != VC_J_BIG && b.t != VC_J_BIG) {
        int64_t p = vc_j_small(a), q = vc_j_small(b), r;
        if (op == VC_J_FLOORDIV || op == VC_J_MOD) {
            if (!(p == INT64_MIN && q == -1)) return small_divmod(x, op, p, q);
        } else {
            bool over = op == VC_J_ADD   ? __builtin_add_overflow(p, q, &r)
                        : op == VC_J_SUB ? __builtin_sub_overflow(p, q, &r)
                                         : __builtin_mul_overflow(p, q, &r);
            if (!over) return vc_j_int(r);
        }
    }
    if ((op == VC_J_FLOORDIV || op == VC_J_MOD) && b.t != VC_J_BIG && vc_j_small(b) == 0)
        vc_j_raise(x, "integer division or modulo by zero");
    struct big w[4];
    from_value(&w[0], a);
    from_value(&w[1], b);
    if (op == VC_J_ADD || op == VC_J_SUB) add(&w[2], &w[0], &w[1], op == VC_J_SUB);
    else if (op == VC_J_MUL) mul(&w[2], &w[0], &w[1]);
    else divmod(&w[2], &w[3], &w[0], &w[1]);
    vc_j_step(x, (uint64_t)w[0].n * w[1].n / 16);
    return to_value(x, op == VC_J_MOD ? &w[3] : &w[2]);
}

int vc_j_int_cmp(vc_jv a, vc_jv b) {
    if (a.t != VC_J_BIG && b.t != VC_J_BIG) return vc_j_small(a) < vc_j_small(b) ? -1 : vc_j_small(a) > vc_j_small(b);
    bool an = a.t == VC_J_BIG && a.u.big->neg, bn = b.t == VC_J_BIG && b.u.big->neg;
    if (a.t != VC_J_BIG) return bn ? 1 : -1;
    if (b.t != VC_J_BIG) return an ? -1 : 1;
    if (an != bn) return an ? -1 : 1;
    int c = a.u.big->n < b.u.big->n ? -1 : a.u.big->n > b.u.big->n;
    for (uint32_t i = a.u.big->n; !c && i-- > 0;)
        c = a.u.big->d[i] < b.u.big->d[i] ? -1 : a.u.big->d[i] > b.u.big->d[i];
    return an ? -c : c;
}

bool vc_j_parse_int(vc_jx *x, const char *s, size_t n, unsigned base, vc_jv *out) {
    vc_jv r = vc_j_int(0), b = vc_j_int(base);
    if (n == 0 || n > 20000) return false;
    bool digit = false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '_' && digit) {
            digit = false;
            continue;
        }
        int d = vc_digit(c, (int)base);
        if (d < 0) return false;
        r = vc_j_int_arith(x, VC_J_ADD, vc_j_int_arith(x, VC_J_MUL, r, b), vc_j_int(d));
        digit = true;
    }
    *out = r;
    return digit;
}

void vc_j_put_big(vc_jx *x, struct vc_jbuf *b, const struct vc_jbig *v) {
    char s[16];
    for (uint32_t i = v->n; i-- > 0;) {
        snprintf(s, sizeof s, i == v->n - 1 ? "%s%u" : "%s%09u", i == v->n - 1 && v->neg ? "-" : "", (unsigned)v->d[i]);
        vc_j_puts(x, b, s);
    }
}

double vc_j_to_double(vc_jx *x, vc_jv v) {
    if (v.t == VC_J_FLOAT) return v.u.f;
    if (v.t != VC_J_BIG) return (double)vc_j_small(v);
    struct vc_jbuf b = { 0 };
    vc_j_put_big(x, &b, v.u.big);
    double f = 0;
    vc_j_parse_double(b.p, b.n, &f);    /* correctly rounded, as Python's int/int and float() */
    if (isinf(f)) vc_j_raise(x, "int too large to convert to float");
    return f;
}

vc_jv vc_j_double_to_int(vc_jx *x, double f) {
    if (fabs(f) < 0x1p62) return vc_j_int((int64_t)f);
    char s[VC_J_FLOAT_CAP];
    size_t n = vc_j_fixed(s, sizeof s, fabs(trunc(f)), 0, 'f');
    vc_jv v = vc_j_int(0);
    vc_j_parse_int(x, s, n, 10, &v);
    return f < 0 ? vc_j_neg(x, v) : v;
}

int64_t vc_j_as_index(vc_jx *x, vc_jv v, const char *what) {
    if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
    if (v.t == VC_J_BIG) return v.u.big->neg ? INT64_MIN / 4 : INT64_MAX / 4;
    if (!vc_j_is_int(v)) vc_j_raise(x, "%s must be an integer, not '%s'", what, vc_j_type_name(v));
    int64_t i = vc_j_small(v);
    return i > INT64_MAX / 4 ? INT64_MAX / 4 : i < INT64_MIN / 4 ? INT64_MIN / 4 : i;
}
