/* SPDX-License-Identifier: Apache-2.0
 * schema_format.h: values of the keyword "format". */
#ifndef VC_TEXT_SCHEMA_FORMAT_H
#define VC_TEXT_SCHEMA_FORMAT_H

#include "base/str.h"

enum { VC_FORMAT_NONE = -1 /* an annotation */, VC_FORMAT_REFUSED = -2 };
int vc_schema_format_find(vc_str name);          /* a row, or one of the above */
vc_str vc_schema_format_regex(int format);       /* whole string, ECMA-262 with the u flag */
uint32_t vc_schema_format_max(int format);       /* greatest length in characters; UINT32_MAX: none */

#endif
