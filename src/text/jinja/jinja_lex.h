/* SPDX-License-Identifier: Apache-2.0
 * jinja_lex.h: template text → tokens, with Jinja's whitespace rules (trim_blocks, lstrip_blocks, "-" and "+" marks).
 * Comments vanish, raw blocks become data. Tokens point into the normalised copy of the text. */
#ifndef VC_TEXT_JINJA_LEX_H
#define VC_TEXT_JINJA_LEX_H

#include "text/jinja/jinja_run.h"

enum vc_jtok_kind {
    VC_JT_EOF, VC_JT_DATA, VC_JT_VAR_BEGIN, VC_JT_VAR_END, VC_JT_BLOCK_BEGIN, VC_JT_BLOCK_END,
    VC_JT_NAME, VC_JT_STRING, VC_JT_INT, VC_JT_FLOAT,
    VC_JT_ADD, VC_JT_SUB, VC_JT_MUL, VC_JT_DIV, VC_JT_FLOORDIV, VC_JT_MOD, VC_JT_POW, VC_JT_TILDE,
    VC_JT_LBRACKET, VC_JT_RBRACKET, VC_JT_LPAREN, VC_JT_RPAREN, VC_JT_LBRACE, VC_JT_RBRACE,
    VC_JT_EQ, VC_JT_NE, VC_JT_LT, VC_JT_LE, VC_JT_GT, VC_JT_GE, VC_JT_ASSIGN,
    VC_JT_DOT, VC_JT_COLON, VC_JT_PIPE, VC_JT_COMMA, VC_JT_SEMICOLON
};

/* p, n: for DATA the text, for NAME and numbers the spelling, for STRING the decoded value. */
struct vc_jtok { enum vc_jtok_kind kind; const char *p; size_t n; uint32_t line, col; };

const struct vc_jtok *vc_j_lex(vc_jx *x, const char *src, size_t n);    /* ends with VC_JT_EOF */

#endif
