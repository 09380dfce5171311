/* SPDX-License-Identifier: Apache-2.0
 *
 * parse_py_str.h: Python's string literals, a byte at a time: prefixes r, u, f (without replacement fields), single and
 * triple quotes, all escapes but \N. Text goes to p->val, as JSON inside containers, as it is at the top.
 */
#ifndef VC_TEXT_PARSE_PY_STR_H
#define VC_TEXT_PARSE_PY_STR_H

#include "text/parse/parse_int.h"

enum vc_py { VC_PY_IN, VC_PY_OVER, VC_PY_OVER_BEFORE /* this byte is not part of it */, VC_PY_BAD };

bool vc_py_prefix(struct vc_call_py *b, const char *s, size_t n);   /* false: not a prefix of text */
void vc_py_open(struct vc_parser *p, char quote);       /* the quote that begins a string */
void vc_py_again(struct vc_parser *p, char quote);      /* … one that is joined to the string before it */
enum vc_py vc_py_string(struct vc_parser *p, char c);

#endif
