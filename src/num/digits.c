/* SPDX-License-Identifier: Apache-2.0
 * digits.c: free-format printing in exact integers (Burger and Dybvig, "Printing Floating-Point Numbers Quickly and
 * Accurately", 1996). v = r/s; m_lo/s and m_hi/s are the distances to the ends of the interval that rounds to v. */
#include "num/digits.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WORDS = 44 };        /* 1408 bits: the largest operand of an f64 is below 2^1200 */

struct big { uint32_t w[WORDS]; int n; };       /* n words used, no leading zero word */

static void big_set(struct big *b, uint64_t v) {
    b->w[0] = (uint32_t)v;
    b->w[1] = (uint32_t)(v >> 32);
    b->n = b->w[1] ? 2 : b->w[0] ? 1 : 0;
}

static void big_mul(struct big *b, uint32_t k) {
    uint64_t carry = 0;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->w[i] * k;
        b->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) b->w[b->n++] = (uint32_t)carry;
}

static void big_shl(struct big *b, int bits) {
    int words = bits / 32, rest = bits % 32;
    if (!b->n) return;
    memmove(b->w + words, b->w, (size_t)b->n * sizeof *b->w);
    memset(b->w, 0, (size_t)words * sizeof *b->w);
    b->n += words;
    big_mul(b, 1u << rest);
}

static void big_pow10(struct big *b, int k) {
    for (; k >= 9; k -= 9) big_mul(b, 1000000000u);
    for (; k > 0; k--) big_mul(b, 10);
}

static int big_cmp(const struct big *a, const struct big *b) {
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

static void big_add(struct big *a, const struct big *b) {
    uint64_t carry = 0;
    int n = a->n > b->n ? a->n : b->n;
    for (int i = 0; i < n; i++) {
        carry += (uint64_t)(i < a->n ? a->w[i] : 0) + (i < b->n ? b->w[i] : 0);
        a->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    a->n = n;
    if (carry) a->w[a->n++] = (uint32_t)carry;
}

/* a -= b, for a >= b. */
static void big_sub(struct big *a, const struct big *b) {
    int64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        borrow += (int64_t)a->w[i] - (i < b->n ? b->w[i] : 0);
        a->w[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->n && !a->w[a->n - 1]) a->n--;
}

/* Compares a + b with c. */
static int big_cmp_sum(const struct big *a, const struct big *b, const struct big *c) {
    struct big t = *a;
    big_add(&t, b);
    return big_cmp(&t, c);
}

/* v = f 2^e. low_half: f is a power of two, its neighbour below half as far as the one above. closed: the
 * interval's ends themselves round to v. guard > 0 takes the 2^-guard-th part off the interval. */
struct value { uint64_t f; int e; bool low_half, closed; int guard; };
struct digits { uint8_t d[24]; int n, point; bool close; };     /* 0.d0d1d2… 10^point */

/* Is 0 < end - x < lo 2^-27? x is how far the printed number lies from v, end how far it may. */
static bool close_to_end(const struct big *end, const struct big *x, const struct big *lo) {
    struct big t = *end;
    big_sub(&t, x);
    if (!t.n) return false;
    big_shl(&t, 27);
    return big_cmp(&t, lo) < 0;
}

/* The shortest digits inside the interval, of those the nearest to v. close: see close_to_end. */
static void generate(const struct value *v, struct digits *out) {
    struct big r, s, lo, hi;
    int up = v->low_half ? 2 : 1, bits = 64 - __builtin_clzll(v->f);
    big_set(&r, v->f);
    big_set(&s, 1);
    big_set(&lo, 1);
    big_shl(&r, up + v->guard + (v->e > 0 ? v->e : 0));
    big_shl(&s, up + v->guard + (v->e < 0 ? -v->e : 0));
    if (v->guard) big_set(&lo, (1ull << v->guard) - 1);
    if (v->e > 0) big_shl(&lo, v->e);
    hi = lo;
    if (v->low_half) big_shl(&hi, 1);
    /* k = ceil(log10 v) or one less: 0.30103 > log10 2 only by 5e-9, |exponent| <= 1100. */
    int exp2 = v->e + bits - 1, k = (int)((int64_t)exp2 * 30103 / 100000) + (exp2 > 0);
    if (exp2 <= 0) k = -(int)((int64_t)-exp2 * 30103 / 100000);
    if (k > 0) big_pow10(&s, k);
    else { big_pow10(&r, -k); big_pow10(&lo, -k); big_pow10(&hi, -k); }
    /* Scale so that r + hi <= s < 10 (r + hi): the first digit is then not 0. */
    for (;; k++) {
        int c = big_cmp_sum(&r, &hi, &s);
        if (c < 0 || (c == 0 && !v->closed)) break;
        big_mul(&s, 10);
    }
    for (;; k--) {
        struct big r10 = r, hi10 = hi;
        big_mul(&r10, 10);
        big_mul(&hi10, 10);
        int c = big_cmp_sum(&r10, &hi10, &s);
        if (c > 0 || (c == 0 && v->closed)) break;
        r = r10;
        hi = hi10;
        big_mul(&lo, 10);
    }
    out->point = k;
    for (out->n = 0;;) {
        int digit = 0;
        big_mul(&r, 10);
        big_mul(&lo, 10);
        big_mul(&hi, 10);
        for (; big_cmp(&r, &s) >= 0; digit++) big_sub(&r, &s);
        int cl = big_cmp(&r, &lo), ch = big_cmp_sum(&r, &hi, &s);
        bool low = v->closed ? cl <= 0 : cl < 0, high = v->closed ? ch >= 0 : ch > 0;
        if (low && high) {
            int c = big_cmp_sum(&r, &r, &s);
            high = c > 0 || (c == 0 && (digit & 1));
        }
        out->d[out->n++] = (uint8_t)(digit + (high ? 1 : 0));
        if (!low && !high) continue;
        if (high) {                     /* from r below v to s - r above it */
            struct big rest = s;
            big_sub(&rest, &r);
            r = rest;
        }
        out->close = close_to_end(high ? &hi : &lo, &r, &lo);
        return;
    }
}

static size_t layout(char *dst, bool negative, const uint8_t *d, int n, int point) {
    char *p = dst;
    if (negative) *p++ = '-';
    int exp10 = point - 1;
    if (exp10 >= -5 && exp10 < 16) {
        if (point <= 0) { *p++ = '0'; *p++ = '.'; for (int i = point; i < 0; i++) *p++ = '0'; }
        for (int i = 0; i < n || i < point; i++) {
            if (i == point && i > 0) *p++ = '.';
            *p++ = i < n ? (char)('0' + d[i]) : '0';
        }
        if (n <= point) { *p++ = '.'; *p++ = '0'; }
    } else {
        *p++ = (char)('0' + d[0]);
        if (n > 1) *p++ = '.';
        for (int i = 1; i < n; i++) *p++ = (char)('0' + d[i]);
        *p++ = 'e';
        if (exp10 < 0) { *p++ = '-'; exp10 = -exp10; }
        if (exp10 >= 100) *p++ = (char)('0' + exp10 / 100);
        if (exp10 >= 10) *p++ = (char)('0' + exp10 / 10 % 10);
        *p++ = (char)('0' + exp10 % 10);
    }
    *p = '\0';
    return (size_t)(p - dst);
}

static size_t special(char *dst, bool negative, const char *text) {
    size_t n = strlen(text);
    if (negative) *dst = '-';
    memcpy(dst + negative, text, n + 1);
    return n + negative;
}

/* A value of `frac` fraction bits whose exponent field (biased so that 1 means 2^least) is e. */
static size_t print(char *dst, bool negative, uint64_t m, uint32_t e, int frac, int least) {
    struct digits out;
    if (!e && !m) return special(dst, negative, "0.0");
    struct value v = { e ? m | 1ull << frac : m, (int)(e ? e - 1 : 0) + least - frac, e > 1 && !m, !(m & 1), 0 };
    generate(&v, &out);
    if (frac == 23 && out.close) {
        /* Rounding a decimal to f64 moves it by 2^-53 of its value at most, which is 2^-27 of lo: it could land on the
         * interval's end and then be rounded to the neighbour. The end itself is an f64 and safe. */
        v.guard = 27;
        v.closed = false;
        generate(&v, &out);
    }
    while (out.n > 1 && !out.d[out.n - 1]) out.n--;
    return layout(dst, negative, out.d, out.n, out.point);
}

size_t vc_print_f32(char dst[VC_DIGITS_MAX], float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t e = u >> 23 & 255, m = u & 0x7FFFFF;
    bool negative = u >> 31;
    if (e == 255) return m ? special(dst, false, "nan") : special(dst, negative, "inf");
    return print(dst, negative, m, e, 23, -126);
}

size_t vc_print_f64(char dst[VC_DIGITS_MAX], double f) {
    uint64_t u;
    memcpy(&u, &f, 8);
    uint32_t e = (uint32_t)(u >> 52 & 2047);
    uint64_t m = u & 0xFFFFFFFFFFFFFu;
    bool negative = u >> 63;
    if (e == 2047) return m ? special(dst, false, "nan") : special(dst, negative, "inf");
    return print(dst, negative, m, e, 52, -1022);
}
