/* SPDX-License-Identifier: Apache-2.0
 * jinja_ctype.h: character classes of Python's str methods. */
#ifndef VC_TEXT_JINJA_CTYPE_H
#define VC_TEXT_JINJA_CTYPE_H

#include <stdbool.h>
#include <stdint.h>

bool vc_j_cased(uint32_t cp);
bool vc_j_is_upper(uint32_t cp);    /* Lu and Other_Uppercase */
bool vc_j_is_lower(uint32_t cp);    /* Ll and Other_Lowercase */
bool vc_j_is_title(uint32_t cp);    /* Lt */
bool vc_j_is_alpha(uint32_t cp);
bool vc_j_is_decimal(uint32_t cp);
bool vc_j_is_digit(uint32_t cp);
bool vc_j_is_numeric(uint32_t cp);
bool vc_j_is_line_end(uint32_t cp); /* what str.splitlines() splits at */

#endif
