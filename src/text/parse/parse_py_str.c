/* SPDX-License-Identifier: Apache-2.0 */
#include "text/parse/parse_py_str.h"

#include <string.h>

enum { Q_OPEN, Q_OPEN2, Q_IN, Q_ESCAPE, Q_OCTAL, Q_HEX };

static void set(struct vc_call_py *b, unsigned st, unsigned digits) {
    b->q_st = (uint8_t)st;
    b->q_left = (uint8_t)digits;
}

bool vc_py_prefix(struct vc_call_py *b, const char *s, size_t n) {
    if (n > 2) return false;
    for (size_t i = 0; i < n; i++) {
        char c = (char)(s[i] | 32);
        if (c == 'r') b->raw = true;
        else if (c == 'f') b->fstr = true;
        else if (c != 'u') return false;
    }
    return true;
}

void vc_py_again(struct vc_parser *p, char quote) {
    struct vc_call_py *b = &p->u.py;
    b->quote = (uint8_t)quote;
    b->triple = false;
    b->n_quote = 0;
    set(b, Q_OPEN, 0);
}

void vc_py_open(struct vc_parser *p, char quote) {
    struct vc_call_py *b = &p->u.py;
    if (b->depth) vc_buf_addc(&p->val, '"');
    else b->top_string = true;
    b->high = 0;
    vc_py_again(p, quote);
}

static void json_text(struct vc_buf *out, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') vc_buf_addc(out, '\\');
        if (c == '\n' || c == '\t' || c == '\r') vc_buf_adds(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else if (c < 0x20) vc_buf_printf(out, "\\u%04x", c);
        else vc_buf_addc(out, (char)c);
    }
}

static void put(struct vc_parser *p, const char *s, size_t n) {
    struct vc_call_py *b = &p->u.py;
    if (b->high) {      /* a surrogate without its other half */
        b->high = 0;
        put(p, "\xef\xbf\xbd", 3);
    }
    if (b->depth) {
        json_text(&p->val, s, n);
        return;
    }
    vc_buf_add(&p->val, s, n);
    if (p->whole || (!b->stream && p->val.n <= VC_PP_LOOK_VALUE)) return;
    vc_pp_args_string(p, &b->any, &b->stream);
    vc_pp_args_text(p, p->val.p, p->val.n);
    p->val.n = 0;
}

static void put_cp(struct vc_parser *p, uint32_t cp) {
    struct vc_call_py *b = &p->u.py;
    if (cp >= 0xdc00 && cp < 0xe000 && b->high) {
        cp = 0x10000 + ((b->high - 0xd800) << 10) + (cp - 0xdc00);
        b->high = 0;
    } else if (cp >= 0xd800 && cp < 0xdc00) {
        if (b->high) put(p, "", 0);
        b->high = cp;
        return;
    }
    if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000)) cp = 0xfffd;
    struct vc_buf u = { 0 };
    vc_buf_utf8(&u, cp);
    put(p, u.p, u.n);
    vc_buf_free(&u);
}

static enum vc_py escape(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *at = c ? strchr(from, c) : NULL;
    set(b, Q_IN, 0);
    if (b->raw || (!at && !(c && strchr("\nxuU01234567N", c)))) {
        put(p, "\\", 1);
        put(p, &c, 1);
    } else if (at) {
        put(p, &to[at - from], 1);
    } else if (c >= '0' && c <= '7') {
        b->cp = (uint32_t)(c - '0');
        set(b, Q_OCTAL, 2);
    } else if (c == 'N') {
        return VC_PY_BAD;
    } else if (c != '\n') {
        b->cp = 0;
        set(b, Q_HEX, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    }
    return VC_PY_IN;
}

static enum vc_py inside(struct vc_parser *p, char c);

static enum vc_py digits(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    bool octal = b->q_st == Q_OCTAL;
    int d = vc_digit(c, 16);
    if (octal && (d < 0 || d > 7)) {
        put_cp(p, b->cp);
        set(b, Q_IN, 0);
        return inside(p, c);
    }
    if (d < 0) return VC_PY_BAD;
    b->cp = b->cp * (octal ? 8 : 16) + (uint32_t)d;
    unsigned n = b->q_left - 1u;
    set(b, n ? b->q_st : Q_IN, n);
    if (!n) put_cp(p, b->cp);
    return VC_PY_IN;
}

static enum vc_py over(struct vc_parser *p, enum vc_py r) {
    if (p->u.py.high) put(p, "", 0);
    return r;
}

static enum vc_py inside(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    char q = (char)b->quote;
    if (c == q) {
        if (!b->triple || ++b->n_quote == 3) return over(p, VC_PY_OVER);
        return VC_PY_IN;
    }
    for (; b->n_quote; b->n_quote--) put(p, &q, 1);
    if (c == '\\') {
        set(b, Q_ESCAPE, 0);
        return VC_PY_IN;
    }
    if (b->fstr && (c == '{' || c == '}')) return VC_PY_BAD;
    put(p, &c, 1);
    return VC_PY_IN;
}

enum vc_py vc_py_string(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    switch (b->q_st) {
    case Q_OPEN:
        set(b, c == (char)b->quote ? Q_OPEN2 : Q_IN, 0);
        return c == (char)b->quote ? VC_PY_IN : inside(p, c);
    case Q_OPEN2:
        if (c != (char)b->quote) return over(p, VC_PY_OVER_BEFORE);
        b->triple = true;
        set(b, Q_IN, 0);
        return VC_PY_IN;
    case Q_ESCAPE: return escape(p, c);
    case Q_OCTAL:
    case Q_HEX: return digits(p, c);
    default: return inside(p, c);
    }
}
