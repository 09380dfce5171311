/* SPDX-License-Identifier: Apache-2.0
 * math.c: the f64 functions. Pairs hi + lo carry what one f64 cannot; products are split exactly (Dekker 1971), so no
 * fma is needed and every machine gives the same bits. */
#include "op/math.h"

struct pair { double hi, lo; };

static uint64_t bits_of(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
static double from_bits(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }

/* |a| >= |b| or a = 0. */
static struct pair quick_sum(double a, double b) {
    double s = a + b;
    return (struct pair){ s, b - (s - a) };
}
static struct pair two_sum(double a, double b) {
    double s = a + b, v = s - a;
    return (struct pair){ s, (a - (s - v)) + (b - v) };
}
static struct pair two_prod(double a, double b) {
    double p = a * b, t = 134217729.0 * a, ah = t - (t - a), al = a - ah;
    t = 134217729.0 * b;
    double bh = t - (t - b), bl = b - bh;
    return (struct pair){ p, ((ah * bh - p) + ah * bl + al * bh) + al * bl };
}
/* x * 2^n for results in the normal range. */
static double scale(double x, int n) {
    x *= from_bits((uint64_t)(1023 + n / 2) << 52);
    return x * from_bits((uint64_t)(1023 + n - n / 2) << 52);
}
static double nearest(double x) { return x + 0x1.8p52 - 0x1.8p52; }     /* |x| < 2^51 */

/* ln 2: the first part has 33 bits, so its products with integers below 2^20 are exact. */
static const double ln2_hi = 0x1.62e42feep-1, ln2_lo = 0x1.a39ef35793c76p-33;

/* e^(hi + lo): n ln2 taken off, then the series to the 13th power, |r| <= ln 2 / 2. */
static double exp_pair(struct pair x) {
    double n = nearest(x.hi * 0x1.71547652b82fep+0);
    struct pair r = two_sum(x.hi - n * ln2_hi, x.lo - n * ln2_lo);
    double p = 1.0 / 6227020800.0;
    static const double c[] = { 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                                1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5 };
    for (size_t i = 0; i < VC_ARRAY_LEN(c); i++) p = p * r.hi + c[i];
    struct pair s = quick_sum(1.0, r.hi);
    return scale(s.hi + (s.lo + (r.hi * r.hi * p + r.lo * s.hi)), (int)n);
}

double vc_exp(double x) {
    if (x != x) return x;
    if (x > 709.782712893384) return from_bits(UINT64_C(0x7FF0000000000000));
    if (x < -708.0) return 0.0;
    return exp_pair((struct pair){ x, 0.0 });
}

/* ln x for normal x > 0: x = m 2^e, m in [sqrt 1/2, sqrt 2), s = (m - 1)/(m + 1) as a pair,
 * ln m = 2 s + 2 s^3/3 + 2 s^5/5 + …; relative error about 2^-62. */
static struct pair log_pair(double x) {
    uint64_t u = bits_of(x);
    int e = (int)((int64_t)(u - UINT64_C(0x3FE6A09E667F3BCD)) >> 52);
    double m = from_bits(u - ((uint64_t)(int64_t)e << 52)), f = m - 1.0;
    struct pair d = two_sum(m, 1.0);
    double s = f / d.hi;
    struct pair t = two_prod(s, d.hi);
    double s_lo = ((f - t.hi) - t.lo - s * d.lo) / d.hi;
    double z = s * s, p = 2.0 / 25.0;
    static const double c[] = { 2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0,
                                2.0 / 7.0, 2.0 / 5.0 };
    for (size_t i = 0; i < VC_ARRAY_LEN(c); i++) p = p * z + c[i];
    /* s^3 (2/3 + z p) with 2/3 = 0.6… + its own rounding error; the pair product keeps the cube's leading part. */
    struct pair z2 = two_prod(s, s), cube = two_prod(s, z2.hi);
    cube.lo += s * z2.lo + 3.0 * z * s_lo;
    struct pair third = two_prod(cube.hi, 0x1.5555555555555p-1);
    double low = third.lo + cube.lo * 0x1.5555555555555p-1 + cube.hi * 0x1.5555555555555p-55 + cube.hi * z * p + 2.0 * s_lo;
    struct pair a = two_sum(2.0 * s, third.hi), b = two_sum((double)e * ln2_hi, a.hi);
    return quick_sum(b.hi, b.lo + (a.lo + low + (double)e * ln2_lo));
}

double vc_log(double x) {
    if (x != x || x < 0.0) return from_bits(UINT64_C(0x7FF8000000000000));
    if (x < 0x1p-1022) return from_bits(UINT64_C(0xFFF0000000000000));
    if (x > 0x1.fffffffffffffp1023) return x;
    struct pair r = log_pair(x);
    return r.hi + r.lo;
}

double vc_pow(double x, double y) {
    struct pair l = log_pair(x), p = two_prod(l.hi, y);
    return exp_pair((struct pair){ p.hi, p.lo + l.lo * y });
}

/* pi/2 in parts of 30 bits, whose products with integers below 2^23 are exact, and the rest. */
static const double half_pi[4] = { 0x1.921fb54p+0, 0x1.10b46118p-30, 0x1.313198ap-61, 0x1.701b839a25205p-92 };

/* x - k pi/2 as a pair, |result| <= pi/4. */
static struct pair reduce(double x, int64_t *k) {
    double n = nearest(x * 0x1.45f306dc9c883p-1);
    *k = (int64_t)n;
    double a = x - n * half_pi[0];
    struct pair r = two_sum(a, -n * half_pi[1]), t = two_sum(r.lo, -n * half_pi[2]);
    r = quick_sum(r.hi, t.hi);
    return quick_sum(r.hi, r.lo + (t.lo - n * half_pi[3]));
}

/* Taylor series to the 17th and 18th power; r.lo enters by its first derivative. */
static double sin_kernel(struct pair r) {
    static const double c[] = { 1.0 / 1307674368000.0, -1.0 / 6227020800.0, 1.0 / 39916800.0, -1.0 / 362880.0, 1.0 / 5040.0, -1.0 / 120.0 };
    double z = r.hi * r.hi, p = -1.0 / 355687428096000.0;
    for (size_t i = 0; i < VC_ARRAY_LEN(c); i++) p = p * z + c[i];
    /* x - x^3/6 - x^3 z p */
    double cube = r.hi * z;
    return r.hi + (r.lo * (1.0 - 0.5 * z) - cube * (0x1.5555555555555p-3 + z * p));
}
static double cos_kernel(struct pair r) {
    static const double c[] = { 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0,
                                -1.0 / 720.0, 1.0 / 24.0 };
    double z = r.hi * r.hi, h = 0.5 * z, p = -1.0 / 6402373705728000.0;
    for (size_t i = 0; i < VC_ARRAY_LEN(c); i++) p = p * z + c[i];
    struct pair s = quick_sum(1.0, -h);
    return s.hi + (s.lo + (z * z * p - r.hi * r.lo));
}

static double sin_cos(double x, int64_t quarter) {
    int64_t k;
    if (!(x > -1e15 && x < 1e15)) return from_bits(UINT64_C(0x7FF8000000000000));
    struct pair r = reduce(x, &k);
    k += quarter;
    double v = k & 1 ? cos_kernel(r) : sin_kernel(r);
    return k & 2 ? -v : v;
}
double vc_sin(double x) { return sin_cos(x, 0); }
double vc_cos(double x) { return sin_cos(x, 1); }
