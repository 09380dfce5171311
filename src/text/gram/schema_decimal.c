/* SPDX-License-Identifier: Apache-2.0
 * schema_decimal.c: exact decimal numbers. */
#include "text/gram/schema_decimal.h"

#include <string.h>

#include "io/json_out.h"

enum { PLACES_MAX = 4000 };

/* Reads text of the form -?digits[.digits][e±digits]. */
static void parse(struct vc_dec *d, char *digits, const char *s, size_t len) {
    size_t i = 0;
    int32_t n = 0, point = 0, e = 0;
    bool frac = false, eneg = false;
    if (i < len && s[i] == '-') {
        d->neg = true;
        i++;
    }
    for (; i < len && s[i] != 'e' && s[i] != 'E'; i++) {
        if (s[i] == '.') {
            frac = true;
            continue;
        }
        if (!n && s[i] == '0') {
            if (frac) point--;
            continue;
        }
        digits[n++] = s[i];
        if (!frac) point++;
    }
    if (i < len) i++;
    if (i < len && (s[i] == '+' || s[i] == '-')) eneg = s[i++] == '-';
    for (; i < len && e < 100000; i++) e = e * 10 + (s[i] - '0');
    while (n && digits[n - 1] == '0') n--;
    d->n = n;
    d->point = n ? point + (eneg ? -e : e) : 0;
    d->digits = digits;
    if (!n) d->neg = false;
}

bool vc_dec_from_json(struct vc_dec *d, const json_t *v, struct vc_arena *a) {
    struct vc_buf text = { 0 };
    *d = (struct vc_dec){ 0 };
    if (json_is_integer(v)) vc_buf_printf(&text, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v)) vc_json_add_f64(&text, json_real_value(v));
    char *digits = text.failed || !text.n ? NULL : vc_arena_alloc(a, text.n, 1);
    if (digits) parse(d, digits, text.p, text.n);
    vc_buf_free(&text);
    return digits != NULL;
}

static int cmp_magnitude(const struct vc_dec *a, const struct vc_dec *b) {
    if (!a->n || !b->n) return (a->n > 0) - (b->n > 0);
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    int32_t n = a->n < b->n ? a->n : b->n;
    int c = memcmp(a->digits, b->digits, (size_t)n);
    if (c) return c < 0 ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

int vc_dec_cmp(const struct vc_dec *a, const struct vc_dec *b) {
    if (a->neg != b->neg) return a->neg ? -1 : 1;
    int c = cmp_magnitude(a, b);
    return a->neg ? -c : c;
}

bool vc_dec_is_int(const struct vc_dec *d) { return !d->n || d->point >= d->n; }

struct vc_dec vc_dec_neg(struct vc_dec d) {
    if (d.n) d.neg = !d.neg;
    return d;
}

int vc_dec_place(const struct vc_dec *d, int32_t place) {
    int32_t i = d->point - 1 - place;
    return i >= 0 && i < d->n ? d->digits[i] - '0' : 0;
}

/* Long division: the digits of a, aligned to the last place of m, modulo m as an integer below 10^18; a divisor with
 * more digits than that divides only zero here. */
bool vc_dec_multiple(const struct vc_dec *a, const struct vc_dec *m) {
    if (!a->n) return true;
    if (m->n > 18) return cmp_magnitude(a, m) == 0;
    uint64_t div = 0, r = 0;
    for (int32_t i = 0; i < m->n; i++) div = div * 10 + (uint64_t)(m->digits[i] - '0');
    int32_t low = m->point - m->n;               /* place of m's last digit */
    if (a->point - a->n < low && a->n) return false;    /* a has finer digits than any multiple */
    if (a->point - low > PLACES_MAX) return false;
    for (int32_t p = a->point - 1; p >= low; p--)
        r = (r * 10 + (uint64_t)vc_dec_place(a, p)) % div;    /* below 10^19 */
    return r == 0;
}
