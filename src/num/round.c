/* SPDX-License-Identifier: Apache-2.0
 * round.c: everything works on m 2^e with an integer m. The index of a grid point of a format is its bit pattern
 * without the sign: neighbours differ by 1, also across powers of two. */
#include "num/round.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct format {
    int frac;               /* stored fraction bits */
    int emin, emax;         /* exponents of the least normal and the largest finite value */
    uint64_t max, inf, nan; /* bit patterns; inf of e4m3fn is its NaN */
    int sign;               /* bit number of the sign */
};

static const struct format *format_of(enum vc_dtype t) {
    static const struct format f64 = {
        52, -1022, 1023, 0x7FEFFFFFFFFFFFFFu, 0x7FF0000000000000u, 0x7FF8000000000000u, 63
    };
    static const struct format f32 = { 23, -126, 127, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 31 };
    static const struct format bf16 = { 7, -126, 127, 0x7F7F, 0x7F80, 0x7FC0, 15 };
    static const struct format f16 = { 10, -14, 15, 0x7BFF, 0x7C00, 0x7E00, 15 };
    static const struct format e5m2 = { 2, -14, 15, 0x7B, 0x7C, 0x7F, 7 };
    static const struct format e4m3 = { 3, -6, 8, 0x7E, 0x7F, 0x7F, 7 };
    switch (t) {
    case VC_F64: return &f64;
    case VC_F32: return &f32;
    case VC_BF16: return &bf16;
    case VC_F16: return &f16;
    case VC_F8E5M2: return &e5m2;
    case VC_F8E4M3: return &e4m3;
    default: return NULL;
    }
}

bool vc_round_has(enum vc_dtype fmt) { return format_of(fmt) != NULL; }

enum kind { ZERO, FINITE, INFINITE, NOT_A_NUMBER };
struct number { enum kind kind; bool neg; uint64_t m; int e; };     /* m 2^e, m > 0 when FINITE */

static struct number unpack(const struct format *f, uint64_t bits) {
    uint64_t u = bits & (((uint64_t)1 << f->sign) - 1), m = u & (((uint64_t)1 << f->frac) - 1);
    int e = (int)(u >> f->frac);
    struct number x = { FINITE, bits >> f->sign & 1, e ? m | (uint64_t)1 << f->frac : m,
                        f->emin - f->frac + (e ? e - 1 : 0) };
    if (u == 0) x.kind = ZERO;
    else if (u > f->max) x.kind = u == f->inf && f->inf != f->nan ? INFINITE : NOT_A_NUMBER;
    return x;
}

static struct number unpack_f64(double v) {
    uint64_t u;
    memcpy(&u, &v, 8);
    return unpack(format_of(VC_F64), u);
}

/* Place of a finite |x| on the grid: index of the grid point at or below it, and how far beyond that it lies:
 * rest 2^-shift of a step. shift <= 0: exactly on it (rest 0). As if there were no largest exponent. */
struct place { uint64_t index, rest; int shift; };

static struct place locate(const struct format *f, const struct number *x) {
    int top = x->e + 63 - __builtin_clzll(x->m), e = top > f->emin ? top : f->emin;
    struct place p = { 0, 0, e - f->frac - x->e };
    uint64_t n = p.shift <= 0 ? x->m << -p.shift : p.shift < 64 ? x->m >> p.shift : 0;
    if (p.shift > 0) p.rest = p.shift < 64 ? x->m & (((uint64_t)1 << p.shift) - 1) : x->m;
    p.index = ((uint64_t)(e - f->emin) << f->frac) + n;
    return p;
}

/* One step further from zero? */
static bool away(const struct place *p, int mode, bool neg, uint32_t random) {
    if (!p->rest) return false;
    int s = p->shift;
    switch (mode) {
    case VC_ROUND_ZERO: return false;
    case VC_ROUND_UP: return !neg;
    case VC_ROUND_DOWN: return neg;
    case VC_ROUND_STOCHASTIC: {
        uint64_t part = s <= 32 ? p->rest << (32 - s) : s - 32 < 64 ? p->rest >> (s - 32) : 0;
        return random < part;
    }
    default: {
        if (s > 64) return false;                       /* rest < 2^53: far below one half */
        uint64_t half = (uint64_t)1 << (s - 1);
        if (p->rest != half) return p->rest > half;
        return mode == VC_ROUND_AWAY || (p->index & 1);
    }
    }
}

static uint64_t finish(const struct format *f, const struct number *x, int mode, uint32_t random) {
    uint64_t sign = (uint64_t)x->neg << f->sign;
    bool saturate = mode & VC_ROUND_SATURATE;
    mode &= ~VC_ROUND_SATURATE;
    assert(mode >= 0 && mode < VC_ROUND_NUM_MODES);
    if (x->kind == ZERO) return sign;
    if (x->kind == NOT_A_NUMBER) return sign | f->nan;
    if (x->kind == INFINITE) return sign | (saturate ? f->max : f->inf);
    struct place p = locate(f, x);
    uint64_t u = p.index + away(&p, mode, x->neg, random);
    if (u <= f->max) return sign | u;
    bool stays =
        saturate || mode == VC_ROUND_ZERO || (mode == VC_ROUND_UP && x->neg) || (mode == VC_ROUND_DOWN && !x->neg);
    return sign | (stays ? f->max : f->inf);
}

uint64_t vc_round_f64(enum vc_dtype fmt, double v, int mode, uint32_t random) {
    const struct format *f = format_of(fmt);
    assert(f);
    struct number x = unpack_f64(v);
    return finish(f, &x, mode, random);
}

uint64_t vc_round_f32(enum vc_dtype fmt, float v, int mode, uint32_t random) {
    const struct format *f = format_of(fmt);
    uint32_t u;
    assert(f);
    memcpy(&u, &v, 4);
    struct number x = unpack(format_of(VC_F32), u);
    return finish(f, &x, mode, random);
}

static double make_f64(bool neg, uint64_t bits) {
    double v;
    bits |= (uint64_t)neg << 63;
    memcpy(&v, &bits, 8);
    return v;
}

double vc_bits_value(enum vc_dtype fmt, uint64_t bits) {
    const struct format *f = format_of(fmt), *d = format_of(VC_F64);
    assert(f);
    struct number x = unpack(f, bits);
    if (fmt == VC_F64) return make_f64(x.neg, bits & ~((uint64_t)1 << 63));
    return make_f64(x.neg, finish(d, &x, VC_ROUND_EVEN, 0) & ~((uint64_t)1 << 63));
}

double vc_rounded(enum vc_dtype fmt, double x, int mode, uint32_t random) {
    return vc_bits_value(fmt, vc_round_f64(fmt, x, mode, random));
}

double vc_ulp(enum vc_dtype fmt, double v) {
    const struct format *f = format_of(fmt);
    assert(f);
    struct number x = unpack_f64(v);
    if (x.kind == NOT_A_NUMBER) return v;
    if (x.kind == INFINITE) return make_f64(false, format_of(VC_F64)->inf);
    int e = x.kind == ZERO ? f->emin : x.e + 63 - __builtin_clzll(x.m);
    if (e < f->emin) e = f->emin;
    if (e > f->emax) e = f->emax;
    struct number step = { FINITE, false, 1, e - f->frac };
    return make_f64(false, finish(format_of(VC_F64), &step, VC_ROUND_EVEN, 0));
}

/* Steps from zero: whole steps and a part of one. */
static uint64_t steps(const struct format *f, const struct number *x, double *part) {
    *part = 0;
    if (x->kind == ZERO) return 0;
    if (x->kind == INFINITE) return f->max + 1;
    struct place p = locate(f, x);
    if (p.index > f->max) return f->max + 1;
    if (p.rest) *part = ldexp((double)p.rest, -p.shift);
    return p.index;
}

double vc_ulp_distance(enum vc_dtype fmt, double a, double b) {
    const struct format *f = format_of(fmt);
    assert(f);
    struct number x = unpack_f64(a), y = unpack_f64(b);
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER)
        return x.kind == y.kind ? 0.0 : make_f64(false, format_of(VC_F64)->inf);
    double px, py;
    uint64_t nx = steps(f, &x, &px), ny = steps(f, &y, &py);
    if (x.neg != y.neg) return ((double)nx + (double)ny) + (px + py);
    return nx >= ny ? fabs((double)(nx - ny) + (px - py)) : (double)(ny - nx) + (py - px);
}
