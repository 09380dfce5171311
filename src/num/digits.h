/* SPDX-License-Identifier: Apache-2.0
 * digits.h: floats as decimal text: the shortest digits that read back to the same value, independent of the locale and
 * of the floating-point environment. */
#ifndef VC_NUM_DIGITS_H
#define VC_NUM_DIGITS_H

#include <stddef.h>

enum { VC_DIGITS_MAX = 32 };    /* bytes that any result fits, NUL included */

/* "0.1", "-0.0", "1.0", "1e-7", "1.5e20": fixed for 1e-5 <= |v| < 1e16, always with a point or an exponent; "nan",
 * "inf", "-inf". Returns the length. The f32 digits read back to the same f32 also when a reader rounds them to f64
 * first (one digit more where the shortest would not). */
size_t vc_print_f32(char dst[VC_DIGITS_MAX], float v);
size_t vc_print_f64(char dst[VC_DIGITS_MAX], double v);

#endif
