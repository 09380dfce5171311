/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls as Python writes them: [name(key=literal, …), …], or one behind the other (VC_TD_LINES). Literals are read,
 * never evaluated: None, True, False (also as JSON spells them), numbers, strings with prefixes and escapes, lists,
 * tuples, sets, dictionaries. They become JSON as json.dumps writes it; a top-level string is sent as it arrives
 * once it is long.
 */
#include <stdlib.h>
#include <string.h>

#include "io/json_out.h"
#include "text/parse/parse_int.h"
#include "text/parse/parse_py_str.h"

enum {
    P_LIST, P_CALL, P_NAME, P_PAREN, P_ARG, P_KEY, P_EQUAL,
    P_VALUE, P_STRING, P_STRING_END, P_NUMBER, P_WORD, P_AFTER, P_NEXT,
};

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}
static bool is_name(char c) { return is_letter(c) || is_digit(c); }

static struct vc_py_level *top(struct vc_call_py *b) { return b->depth ? &b->stack[b->depth - 1] : NULL; }

static void begin_value(struct vc_call_py *b) {
    b->sign = b->neg = false;
    b->st = P_VALUE;
}

static void begin(struct vc_parser *p) { p->u.py.st = p->tool->flags & VC_TD_LINES ? P_CALL : P_LIST; }

/* A value begins inside a list, set or dictionary: what stands before it. */
static void element(struct vc_parser *p) {
    struct vc_py_level *l = top(&p->u.py);
    if (!l) return;
    if (l->dict && l->colon) {
        vc_buf_adds(&p->val, ": ");
        return;
    }
    if (l->any) vc_buf_adds(&p->val, ", ");
    l->key = p->val.n;
}

static enum vc_pb value_over(struct vc_parser *p) {
    struct vc_py_level *l = top(&p->u.py);
    if (l) l->any = true;
    p->u.py.st = P_AFTER;
    return VC_PB_MORE;
}

static bool open_level(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    if (b->depth == VC_PP_MAX_DEPTH) return false;
    element(p);
    b->stack[b->depth++] = (struct vc_py_level){ .open = (uint8_t)c, .at = p->val.n };
    vc_buf_addc(&p->val, '[');
    return true;
}

/* ( ) is a tuple if it is empty or has a comma, { } a set if it has elements and no colon. */
static bool close_level(struct vc_parser *p, char c, bool after) {
    struct vc_call_py *b = &p->u.py;
    struct vc_py_level *l = top(b);
    if (!l || c != (l->open == '(' ? ')' : l->open == '[' ? ']' : '}')) return false;
    if (after && l->dict && !l->colon) return false;
    bool paren = l->open == '(' && l->any && !l->comma;
    bool dict = l->open == '{' && (l->dict || !l->any);
    if (paren) {
        p->val.n--;
        memmove(p->val.p + l->at, p->val.p + l->at + 1, p->val.n - l->at);
    } else {
        p->val.p[l->at] = dict ? '{' : '[';
        vc_buf_addc(&p->val, dict ? '}' : ']');
    }
    b->depth--;
    (void)value_over(p);
    return true;
}

/* A key that is a number or a word becomes a string, as json.dumps does it. */
static bool colon(struct vc_parser *p) {
    struct vc_py_level *l = top(&p->u.py);
    if (!l || l->open != '{' || l->colon || (l->any && l->comma && !l->dict)) return false;
    const char *k = p->val.p + l->key;
    size_t n = p->val.n - l->key;
    if (!n || *k == '[' || *k == '{') return false;
    if (*k != '"') {
        vc_buf_adds(&p->val, "\"\"");
        if (p->val.failed) return false;
        char *at = p->val.p + l->key;
        memmove(at + 1, at, n);
        at[0] = at[n + 1] = '"';
    }
    l->dict = l->colon = true;
    begin_value(&p->u.py);
    return true;
}

static bool comma(struct vc_parser *p) {
    struct vc_py_level *l = top(&p->u.py);
    if (l->dict && !l->colon) return false;
    l->comma = true;
    l->colon = false;
    begin_value(&p->u.py);
    return true;
}

static void argument_over(struct vc_parser *p) {
    struct vc_call_py *b = &p->u.py;
    if (b->stream) {
        vc_pp_args_text(p, p->val.p, p->val.n);
        vc_pp_args(p, "\"", 1);
    } else {
        vc_pp_args_key(p, !b->any, p->key.p, p->key.n);
        if (b->top_string) vc_pp_args(p, "\"", 1);
        if (b->top_string) vc_pp_args_text(p, p->val.p, p->val.n);
        else vc_pp_args(p, p->val.p, p->val.n);
        if (b->top_string) vc_pp_args(p, "\"", 1);
    }
    b->any = true;
    b->stream = b->top_string = false;
    p->val.n = 0;
}

static enum vc_pb call_over(struct vc_parser *p) {
    vc_pp_args(p, p->u.py.any ? "}" : "{}", p->u.py.any ? 1 : 2);
    vc_pp_end(p, true);
    p->u.py.st = P_NEXT;
    return VC_PB_MORE;
}

static enum vc_pb after_byte(struct vc_parser *p, char c) {
    if (is_space(c)) return VC_PB_MORE;
    if (p->u.py.depth) {
        bool ok = c == ',' ? comma(p) : c == ':' ? colon(p) : close_level(p, c, true);
        return ok ? VC_PB_MORE : VC_PB_FAIL;
    }
    if (c != ',' && c != ')') return VC_PB_FAIL;
    argument_over(p);
    p->u.py.st = P_ARG;
    return c == ')' ? call_over(p) : VC_PB_MORE;
}

/* The digits of any Python number as JSON. */
static bool number(struct vc_parser *p) {
    char t[VC_PP_MAX_NAME + 1];
    size_t k = 0;
    for (size_t i = 0; i < p->args.n; i++) {
        if (p->args.p[i] != '_') t[k++] = p->args.p[i];
    }
    t[k] = '\0';
    char *end;
    bool whole = strspn(t, "0123456789") == k, based = k > 2 && t[0] == '0' && strchr("xXoObB", t[1]);
    if (p->u.py.neg) vc_buf_addc(&p->val, '-');
    if (based) {
        int base = (t[1] | 32) == 'x' ? 16 : (t[1] | 32) == 'o' ? 8 : 2;
        unsigned long long v = strtoull(t + 2, &end, base);
        vc_buf_printf(&p->val, "%llu", v);
        return !*end && k < 18;
    }
    if (whole) {
        const char *s = t;
        while (s[0] == '0' && s[1]) s++;
        vc_buf_adds(&p->val, s);
        return k > 0;
    }
    if (strspn(t, "0123456789.eE+-") != k) return false;
    double v = strtod(t, &end);
    if (end == t || *end || v > 1.7976931348623157e308) return false;
    if (vc_json_is_value(t, k, NULL)) vc_buf_add(&p->val, t, k);
    else vc_json_add_f64(&p->val, v);
    return true;
}

static bool word(struct vc_parser *p) {
    static const char *const words[][2] = { { "True", "true" },   { "true", "true" }, { "False", "false" },
                                            { "false", "false" }, { "None", "null" }, { "null", "null" } };
    vc_str w = { p->args.p, p->args.n };
    if (p->u.py.sign) return false;
    for (size_t i = 0; i < VC_ARRAY_LEN(words); i++) {
        if (vc_str_is(w, words[i][0])) return vc_buf_adds(&p->val, words[i][1]), true;
    }
    return false;
}

static enum vc_pb token_byte(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    char last = p->args.n ? p->args.p[p->args.n - 1] : '\0';
    bool hex = p->args.n > 1 && (p->args.p[1] | 32) == 'x';
    bool exponent = b->st == P_NUMBER && (c == '+' || c == '-') && (last == 'e' || last == 'E') && !hex;
    if (is_name(c) || (b->st == P_NUMBER && c == '.') || exponent) {
        if (p->args.n >= VC_PP_MAX_NAME) return VC_PB_FAIL;
        vc_buf_addc(&p->args, c);
        return VC_PB_MORE;
    }
    if (b->st == P_WORD && (c == '"' || c == '\'')) {
        if (b->sign || !vc_py_prefix(b, p->args.p, p->args.n)) return VC_PB_FAIL;
        vc_py_open(p, c);
        b->st = P_STRING;
        return VC_PB_MORE;
    }
    if (!(b->st == P_NUMBER ? number(p) : word(p))) return VC_PB_FAIL;
    (void)value_over(p);
    return after_byte(p, c);
}

static enum vc_pb value_byte(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    struct vc_py_level *l = top(b);
    if (is_space(c)) return VC_PB_MORE;
    if (c == '+' || c == '-') {
        b->sign = true;
        b->neg ^= c == '-';
        return VC_PB_MORE;
    }
    bool signed_value = b->sign;
    if (!signed_value && l && !l->colon && close_level(p, c, false)) return VC_PB_MORE;
    p->args.n = 0;
    b->raw = b->fstr = false;
    if (is_digit(c) || c == '.') {
        element(p);
        vc_buf_addc(&p->args, c);
        b->st = P_NUMBER;
        return VC_PB_MORE;
    }
    if (signed_value) return VC_PB_FAIL;
    if (c == '[' || c == '(' || c == '{') return open_level(p, c) ? VC_PB_MORE : VC_PB_FAIL;
    if (c != '"' && c != '\'' && !is_letter(c)) return VC_PB_FAIL;
    element(p);
    if (is_letter(c)) {
        vc_buf_addc(&p->args, c);
        b->st = P_WORD;
        return VC_PB_MORE;
    }
    vc_py_open(p, c);
    b->st = P_STRING;
    return VC_PB_MORE;
}

/* Behind a string another may follow, which Python joins to it. */
static enum vc_pb string_end_byte(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    if (is_space(c)) return VC_PB_MORE;
    if (c == '"' || c == '\'') {
        b->raw = b->fstr = false;
        vc_py_again(p, c);
        b->st = P_STRING;
        return VC_PB_MORE;
    }
    if (b->depth) vc_buf_addc(&p->val, '"');
    (void)value_over(p);
    return after_byte(p, c);
}

static enum vc_pb string_byte(struct vc_parser *p, char c) {
    switch (vc_py_string(p, c)) {
    case VC_PY_IN: return VC_PB_MORE;
    case VC_PY_OVER: p->u.py.st = P_STRING_END; return VC_PB_MORE;
    case VC_PY_OVER_BEFORE: p->u.py.st = P_STRING_END; return string_end_byte(p, c);
    default: return VC_PB_FAIL;
    }
}

static enum vc_pb name_byte(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    if (b->st == P_NAME && (is_name(c) || c == '.')) {
        vc_buf_addc(&p->name, c);
        return p->name.n > VC_PP_MAX_NAME ? VC_PB_FAIL : VC_PB_MORE;
    }
    if (is_space(c)) {
        b->st = P_PAREN;
        return VC_PB_MORE;
    }
    if (c != '(') return VC_PB_FAIL;
    vc_pp_begin(p, p->name.p, p->name.n, NULL, 0);
    p->name.n = 0;
    b->any = false;
    b->calls = true;
    b->st = P_ARG;
    return VC_PB_MORE;
}

static enum vc_pb argument_byte(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    if (b->st == P_ARG) {
        if (is_space(c)) return VC_PB_MORE;
        if (c == ')') return call_over(p);
        if (!is_letter(c)) return VC_PB_FAIL;
        p->key.n = 0;
        b->st = P_KEY;
    }
    if (b->st == P_KEY && is_name(c)) {
        vc_buf_addc(&p->key, c);
        return p->key.n > VC_PP_MAX_NAME ? VC_PB_FAIL : VC_PB_MORE;
    }
    b->st = P_EQUAL;
    if (is_space(c)) return VC_PB_MORE;
    if (c != '=') return VC_PB_FAIL;
    p->val.n = 0;
    begin_value(b);
    return VC_PB_MORE;
}

static enum vc_pb between_byte(struct vc_parser *p, char c) {
    struct vc_call_py *b = &p->u.py;
    bool lines = p->tool->flags & VC_TD_LINES;
    if (is_space(c)) return VC_PB_MORE;
    if (c == '[' && b->st == P_LIST) {
        b->st = P_CALL;
        return VC_PB_MORE;
    }
    if (c == ',' && b->st == P_NEXT) {
        b->st = P_CALL;
        return VC_PB_MORE;
    }
    if (!lines && c == ']' && b->calls && (b->st == P_NEXT || b->st == P_CALL)) return VC_PB_DONE;
    if (lines && c == '<' && b->calls && (b->st == P_NEXT || b->st == P_CALL)) return VC_PB_BEFORE;
    if (is_letter(c) && (b->st == P_CALL || (lines && b->st == P_NEXT))) {
        p->name.n = 0;
        vc_buf_addc(&p->name, c);
        b->st = P_NAME;
        return VC_PB_MORE;
    }
    return VC_PB_FAIL;
}

static enum vc_pb py_byte(struct vc_parser *p, char c) {
    enum vc_pb r;
    struct vc_call_py *b = &p->u.py;
    switch (b->st) {
    case P_NAME:
    case P_PAREN: return name_byte(p, c);
    case P_ARG:
    case P_KEY:
    case P_EQUAL: return argument_byte(p, c);
    case P_VALUE: return value_byte(p, c);
    case P_STRING: return string_byte(p, c);
    case P_STRING_END: return string_end_byte(p, c);
    case P_NUMBER:
    case P_WORD: r = token_byte(p, c); break;
    case P_AFTER: r = after_byte(p, c); break;
    default: return between_byte(p, c);
    }
    return r;
}

static void cut(struct vc_parser *p) {
    struct vc_call_py *b = &p->u.py;
    if (b->stream) vc_pp_args_text(p, p->val.p, p->val.n);
    vc_section_cut(p);
}

const struct vc_body_ops vc_body_py = { py_byte, cut, begin };
