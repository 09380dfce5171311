/* SPDX-License-Identifier: Apache-2.0
 * str.h: slices and a growing string.
 * A vc_str borrows; a vc_buf owns its bytes, keeps a NUL behind them, and remembers a failed allocation. */
#ifndef VC_BASE_STR_H
#define VC_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compat.h"

typedef struct vc_str { const char *p; size_t n; } vc_str;
#define VC_STR(lit) ((vc_str){ (lit), sizeof(lit) - 1 })
vc_str vc_str_of(const char *s);
bool vc_str_eq(vc_str a, vc_str b);
bool vc_str_is(vc_str a, const char *s);
bool vc_str_starts(vc_str a, const char *prefix);
bool vc_str_ends(vc_str a, const char *suffix);

struct vc_buf { char *p; size_t n, cap; bool failed; };
bool vc_buf_reserve(struct vc_buf *b, size_t more);
void vc_buf_add(struct vc_buf *b, const char *s, size_t n);
void vc_buf_adds(struct vc_buf *b, const char *s);
void vc_buf_addc(struct vc_buf *b, char c);
void vc_buf_printf(struct vc_buf *b, const char *fmt, ...) VC_PRINTF(2, 3);
void vc_buf_utf8(struct vc_buf *b, uint32_t cp);       /* appends a code point */
void vc_buf_free(struct vc_buf *b);
char *vc_buf_take(struct vc_buf *b, size_t *n);         /* malloc'd string, now the caller's; NULL when failed */

/* Decodes one code point at s (n > 0 bytes): its length 1…4, or 0 for an invalid sequence (overlong, surrogate,
 * above U+10FFFF, cut). */
size_t vc_utf8_decode(const char *s, size_t n, uint32_t *cp);
/* Bytes at the end of s that begin a sequence which is not complete yet (0…3). */
size_t vc_utf8_partial(const char *s, size_t n);

/* The value of a digit in a base up to 36, letters of either case; -1: c is none. */
int vc_digit(char c, int base);

/* Text for error messages: printable ASCII as it is, other bytes as \xNN, at most cap-1 bytes, "…" when cut. Returns dst. */
const char *vc_printable(char *dst, size_t cap, const char *s, size_t n);

#endif
