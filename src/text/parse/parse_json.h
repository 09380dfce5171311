/* SPDX-License-Identifier: Apache-2.0
 *
 * parse_json.h: a strict JSON recogniser (RFC 8259) that takes one byte at a time and says where in the value it is.
 * Nesting beyond VC_JSCAN_DEPTH is malformed.
 */
#ifndef VC_TEXT_PARSE_JSON_H
#define VC_TEXT_PARSE_JSON_H

#include "base/str.h"

enum { VC_JSCAN_DEPTH = 1024 };

enum vc_jst {
    VC_J_VALUE,         /* a value must come */
    VC_J_VALUE_OR_END,  /* behind [ */
    VC_J_KEY_OR_END,    /* behind { */
    VC_J_KEY,           /* behind a comma in an object */
    VC_J_COLON,
    VC_J_AFTER,         /* behind a value inside an array or object */
    VC_J_STRING, VC_J_ESCAPE, VC_J_HEX,
    VC_J_LITERAL,
    VC_J_MINUS, VC_J_ZERO, VC_J_INT, VC_J_DOT, VC_J_FRAC, VC_J_E, VC_J_ESIGN, VC_J_EXP,
    VC_J_DONE,          /* a whole value that is no number */
};

struct vc_jscan {
    uint8_t st;
    bool key;               /* the string is a key */
    uint8_t left;           /* hex digits to come */
    const char *lit;        /* rest of true, false, null */
    uint32_t depth;
    uint64_t object[VC_JSCAN_DEPTH / 64];   /* bit per level */
};

void vc_jscan_init(struct vc_jscan *j);
bool vc_jscan_byte(struct vc_jscan *j, char c);         /* false: malformed; the state is then meaningless */
bool vc_jscan_in_number(const struct vc_jscan *j);
bool vc_jscan_whole(const struct vc_jscan *j);          /* one value, complete if nothing but white space follows */
bool vc_jscan_in_object(const struct vc_jscan *j);      /* the innermost level is an object */

/* Appends the value of a JSON string, given with its quotes; lone surrogates become U+FFFD. */
void vc_json_unquote(struct vc_buf *out, const char *s, size_t n);
/* Appends what makes the cut JSON text s[0..n) whole, after dropping from *keep on what can't stay (a key without value,
 * a sign). False if s is malformed or empty. */
bool vc_json_complete(const char *s, size_t n, size_t *keep, struct vc_buf *tail);

#endif
