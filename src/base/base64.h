/* SPDX-License-Identifier: Apache-2.0
 * base64.h: RFC 4648 base64, padded or not, without line breaks. */
#ifndef VC_BASE_BASE64_H
#define VC_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Decodes s[0 … n) to dst, which has room for n / 4 * 3 + 3 bytes. The number of bytes, SIZE_MAX: s is not base64. */
size_t vc_base64_decode(uint8_t *dst, const char *s, size_t n);
/* Appends the padded base64 of p[0 … n). */
void vc_base64_add(struct vc_buf *b, const void *p, size_t n);

#endif
