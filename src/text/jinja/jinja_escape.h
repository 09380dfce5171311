/* SPDX-License-Identifier: Apache-2.0
 * jinja_escape.h: escape sequences of string literals, as Python's unicode_escape codec reads them. */
#ifndef VC_TEXT_JINJA_ESCAPE_H
#define VC_TEXT_JINJA_ESCAPE_H

#include "text/jinja/jinja_value.h"

/* Appends the value of a literal's inside; raises for malformed escapes and for surrogates, which no UTF-8 text can hold. */
void vc_j_unescape(vc_jx *x, struct vc_jbuf *b, const char *s, size_t n);

#endif
