/* SPDX-License-Identifier: Apache-2.0
 * schema_decimal.h: exact decimal numbers of a JSON Schema (bounds, multipleOf), so that no bound is moved by rounding.
 * value = sign · 0.d1 d2 … dn · 10^point, d1 and dn not zero; n = 0 is zero. Digits are borrowed from an arena. */
#ifndef VC_TEXT_SCHEMA_DECIMAL_H
#define VC_TEXT_SCHEMA_DECIMAL_H

#include <jansson.h>

#include "base/arena.h"

struct vc_dec {
    const char *digits;
    int32_t n, point;
    bool neg;
};

/* The number as jansson read it: an integer exactly, a real by the shortest digits that read back to it. False: out of
 * memory, or v is no number. */
bool vc_dec_from_json(struct vc_dec *d, const json_t *v, struct vc_arena *a);
int vc_dec_cmp(const struct vc_dec *a, const struct vc_dec *b);    /* -1, 0, 1 */
bool vc_dec_is_int(const struct vc_dec *d);
/* Is a a multiple of m (m > 0)? Exact; false as well when the digits are too many to tell (over 4000). */
bool vc_dec_multiple(const struct vc_dec *a, const struct vc_dec *m);
struct vc_dec vc_dec_neg(struct vc_dec d);
/* Digit i to the left (i < 0 is the first after the point, seen as a place value 10^-1, …) of the decimal point:
 * place 0 is the units digit. 0 outside of the written digits. */
int vc_dec_place(const struct vc_dec *d, int32_t place);

#endif
