/* SPDX-License-Identifier: Apache-2.0 */
#include "text/parse/parse_json.h"

#include <string.h>

void vc_jscan_init(struct vc_jscan *j) {
    memset(j, 0, sizeof *j);
    j->st = VC_J_VALUE;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool vc_jscan_in_object(const struct vc_jscan *j) {
    return j->depth && (j->object[(j->depth - 1) / 64] >> ((j->depth - 1) % 64) & 1);
}

bool vc_jscan_in_number(const struct vc_jscan *j) { return j->st >= VC_J_MINUS && j->st <= VC_J_EXP; }

bool vc_jscan_whole(const struct vc_jscan *j) {
    if (j->depth) return false;
    return j->st == VC_J_DONE || j->st == VC_J_ZERO || j->st == VC_J_INT || j->st == VC_J_FRAC || j->st == VC_J_EXP;
}

static bool ended(struct vc_jscan *j) {
    j->st = j->depth ? VC_J_AFTER : VC_J_DONE;
    return true;
}

static bool push(struct vc_jscan *j, bool object) {
    if (j->depth == VC_JSCAN_DEPTH) return false;
    uint64_t bit = (uint64_t)1 << (j->depth % 64);
    if (object) j->object[j->depth / 64] |= bit;
    else j->object[j->depth / 64] &= ~bit;
    j->depth++;
    j->st = object ? VC_J_KEY_OR_END : VC_J_VALUE_OR_END;
    return true;
}

static bool pop(struct vc_jscan *j, bool object) {
    if (!j->depth || vc_jscan_in_object(j) != object) return false;
    j->depth--;
    return ended(j);
}

static bool value(struct vc_jscan *j, char c) {
    switch (c) {
    case '{': return push(j, true);
    case '[': return push(j, false);
    case '"': j->st = VC_J_STRING, j->key = false; return true;
    case '-': j->st = VC_J_MINUS; return true;
    case '0': j->st = VC_J_ZERO; return true;
    case 't': j->st = VC_J_LITERAL, j->lit = "rue"; return true;
    case 'f': j->st = VC_J_LITERAL, j->lit = "alse"; return true;
    case 'n': j->st = VC_J_LITERAL, j->lit = "ull"; return true;
    default: j->st = VC_J_INT; return is_digit(c);
    }
}

static bool key(struct vc_jscan *j, char c) {
    j->st = VC_J_STRING;
    j->key = true;
    return c == '"';
}

static bool after(struct vc_jscan *j, char c) {
    if (is_space(c)) return true;
    if (c == ',') {
        j->st = vc_jscan_in_object(j) ? VC_J_KEY : VC_J_VALUE;
        return true;
    }
    return c == '}' ? pop(j, true) : c == ']' && pop(j, false);
}

/* A byte behind a number that may end here. */
static bool number_end(struct vc_jscan *j, char c) {
    if (!j->depth) {
        j->st = VC_J_DONE;
        return is_space(c);
    }
    j->st = VC_J_AFTER;
    return after(j, c);
}

static bool number(struct vc_jscan *j, char c) {
    bool e = c == 'e' || c == 'E';
    switch (j->st) {
    case VC_J_MINUS: j->st = c == '0' ? VC_J_ZERO : VC_J_INT; return is_digit(c);
    case VC_J_INT:
        if (is_digit(c)) return true;
        /* fall through */
    case VC_J_ZERO:
        if (c == '.') return j->st = VC_J_DOT, true;
        return e ? (j->st = VC_J_E, true) : number_end(j, c);
    case VC_J_DOT: j->st = VC_J_FRAC; return is_digit(c);
    case VC_J_FRAC:
        if (is_digit(c)) return true;
        return e ? (j->st = VC_J_E, true) : number_end(j, c);
    case VC_J_E:
        if (c == '+' || c == '-') return j->st = VC_J_ESIGN, true;
        /* fall through */
    case VC_J_ESIGN: j->st = VC_J_EXP; return is_digit(c);
    default: return is_digit(c) || number_end(j, c);
    }
}

static bool string(struct vc_jscan *j, char c) {
    if (c == '"') {
        if (!j->key) return ended(j);
        j->st = VC_J_COLON;
        return true;
    }
    if (c == '\\') j->st = VC_J_ESCAPE;
    return (unsigned char)c >= 0x20;
}

static bool escape(struct vc_jscan *j, char c) {
    if (j->st == VC_J_HEX) {
        if (!--j->left) j->st = VC_J_STRING;
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    }
    j->st = VC_J_STRING;
    if (c == 'u') {
        j->st = VC_J_HEX;
        j->left = 4;
        return true;
    }
    return c && strchr("\"\\/bfnrt", c);
}

bool vc_jscan_byte(struct vc_jscan *j, char c) {
    switch (j->st) {
    case VC_J_VALUE: return is_space(c) || value(j, c);
    case VC_J_VALUE_OR_END: return is_space(c) || (c == ']' ? pop(j, false) : value(j, c));
    case VC_J_KEY_OR_END: return is_space(c) || (c == '}' ? pop(j, true) : key(j, c));
    case VC_J_KEY: return is_space(c) || key(j, c);
    case VC_J_COLON:
        if (is_space(c)) return true;
        j->st = VC_J_VALUE;
        return c == ':';
    case VC_J_AFTER: return after(j, c);
    case VC_J_STRING: return string(j, c);
    case VC_J_ESCAPE:
    case VC_J_HEX: return escape(j, c);
    case VC_J_LITERAL:
        if (c != *j->lit) return false;
        return *++j->lit ? true : ended(j);
    case VC_J_DONE: return is_space(c);
    default: return number(j, c);
    }
}

static uint32_t hex4(const char *s) {
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) v = v << 4 | (uint32_t)vc_digit(s[i], 16);
    return v;
}

static size_t unescape(struct vc_buf *out, const char *s, size_t n) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (s[0] != 'u') {
        const char *at = strchr(from, s[0]);
        if (at) vc_buf_addc(out, to[at - from]);
        return 1;
    }
    if (n < 5) return n;
    uint32_t cp = hex4(s + 1);
    size_t used = 5;
    if (cp >= 0xd800 && cp < 0xdc00 && n >= 11 && s[5] == '\\' && s[6] == 'u') {
        uint32_t low = hex4(s + 7);
        if (low >= 0xdc00 && low < 0xe000) {
            cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
            used = 11;
        }
    }
    vc_buf_utf8(out, cp >= 0xd800 && cp < 0xe000 ? 0xfffd : cp);
    return used;
}

void vc_json_unquote(struct vc_buf *out, const char *s, size_t n) {
    if (n < 2) return;
    for (size_t i = 1; i + 1 < n;) {
        if (s[i] == '\\' && i + 2 < n) {
            i += 1 + unescape(out, s + i + 1, n - i - 2);
            continue;
        }
        vc_buf_addc(out, s[i++]);
    }
}

/* Where a cut text may stop so that only closing brackets are missing, and the depth there. */
struct stop { size_t n; uint32_t depth; bool quote; const char *rest; };    /* rest: of a literal */

bool vc_json_complete(const char *s, size_t n, size_t *keep, struct vc_buf *tail) {
    struct vc_jscan j;
    vc_jscan_init(&j);
    struct stop ok = { 0, 0, false, NULL };
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (!vc_jscan_byte(&j, s[i])) return false;
        if (j.st == VC_J_AFTER || j.st == VC_J_DONE || j.st == VC_J_VALUE_OR_END || j.st == VC_J_KEY_OR_END) {
            ok = (struct stop){ i + 1, j.depth, false, NULL };
            found = true;
        } else if (j.st == VC_J_STRING && !j.key) {
            ok = (struct stop){ i + 1, j.depth, true, NULL };
            found = true;
        } else if (j.st == VC_J_LITERAL) {
            ok = (struct stop){ i + 1, j.depth, false, j.lit };
            found = true;
        } else if (j.st == VC_J_ZERO || j.st == VC_J_INT || j.st == VC_J_FRAC || j.st == VC_J_EXP) {
            ok = (struct stop){ i + 1, j.depth, false, NULL };
            found = true;
        }
    }
    if (!found) return false;
    *keep = ok.n;
    if (ok.quote) vc_buf_addc(tail, '"');
    if (ok.rest) vc_buf_adds(tail, ok.rest);
    for (uint32_t d = ok.depth; d-- > 0;) {
        vc_buf_addc(tail, j.object[d / 64] >> (d % 64) & 1 ? '}' : ']');
    }
    return true;
}
