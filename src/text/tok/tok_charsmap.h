/* SPDX-License-Identifier: Apache-2.0
 * tok_charsmap.h: SentencePiece's precompiled normalization rules: u32 length, a Darts-clone double array of that many
 * bytes (text → offset), and the NUL-terminated replacements. The bytes are borrowed and checked at every step. */
#ifndef VC_TEXT_TOK_CHARSMAP_H
#define VC_TEXT_TOK_CHARSMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct vc_charsmap { const uint8_t *units; uint32_t num_units; vc_str out; };   /* num_units 0: no rules */

/* What is wrong with the blob, NULL if nothing. */
const char *vc_charsmap_open(struct vc_charsmap *m, const void *p, size_t n);
/* The rule for the beginning of text[0 … n): the shortest or the longest that matches. Its length, 0: none; *to is what
 * it is replaced by. */
size_t vc_charsmap_find(const struct vc_charsmap *m, const char *text, size_t n, bool longest, vc_str *to);

#endif
