/* SPDX-License-Identifier: Apache-2.0
 * Follows the rules of jinja2/lexer.py (3.1) with the default delimiters. */
#include "text/jinja/jinja_lex.h"

#include <string.h>
#include <utf8proc.h>

#include "base/str.h"
#include "text/jinja/jinja_escape.h"

enum { MAX_NEST = 256 };

struct lexer {
    vc_jx *x;
    const char *s;              /* normalised source */
    size_t n, at;
    uint32_t line, col;         /* of `mark` */
    size_t mark;
    struct vc_jtok *tok;
    size_t n_tok, cap;
};

/* Line and column (in characters, from 1) of byte `at`. Positions move forward, but for those of errors. */
static void locate(struct lexer *l, size_t at, uint32_t *line, uint32_t *col) {
    if (at < l->mark) {
        l->line = 1;
        l->col = 1;
        l->mark = 0;
    }
    for (; l->mark < at; l->mark++) {
        if (l->s[l->mark] == '\n') {
            l->line++;
            l->col = 1;
        } else if (((unsigned char)l->s[l->mark] & 0xC0) != 0x80) {
            l->col++;
        }
    }
    *line = l->line;
    *col = l->col;
}

static noreturn void lex_fail(struct lexer *l, size_t at, const char *what) {
    locate(l, at, &l->x->line, &l->x->col);
    vc_j_raise(l->x, "%s", what);
}

static void emit(struct lexer *l, enum vc_jtok_kind kind, size_t at, const char *p, size_t n) {
    if (l->n_tok == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct vc_jtok *t = vc_j_array(l->x, cap, sizeof *t);
        if (l->n_tok) memcpy(t, l->tok, l->n_tok * sizeof *t);
        l->tok = t;
        l->cap = cap;
    }
    struct vc_jtok *t = &l->tok[l->n_tok++];
    *t = (struct vc_jtok){ .kind = kind, .p = p, .n = n };
    locate(l, at, &t->line, &t->col);
}

static size_t space_at(const struct lexer *l, size_t at) {
    uint32_t cp;
    size_t k = at < l->n ? vc_utf8_decode(l->s + at, l->n - at, &cp) : 0;
    return k && vc_j_space(cp) ? k : 0;
}

static size_t skip_space(const struct lexer *l, size_t at) {
    for (size_t k; (k = space_at(l, at)) > 0;) at += k;
    return at;
}

static size_t rstrip(const char *s, size_t from, size_t to) {
    while (to > from) {
        size_t k = to - 1;
        while (k > from && ((unsigned char)s[k] & 0xC0) == 0x80) k--;
        uint32_t cp;
        if (!vc_utf8_decode(s + k, to - k, &cp) || !vc_j_space(cp)) break;
        to = k;
    }
    return to;
}

static bool looking_at(const struct lexer *l, size_t at, const char *lit) {
    size_t n = strlen(lit);
    return l->n - at >= n && !memcmp(l->s + at, lit, n);
}

/* Text [from, to) before a tag that carries `sign`: where it ends after "-" and lstrip_blocks. */
static size_t text_end(const struct lexer *l, size_t from, size_t to, char sign, bool variable) {
    if (sign == '-') return rstrip(l->s, from, to);
    if (sign == '+' || variable) return to;
    size_t line = to;
    while (line > from && l->s[line - 1] != '\n') line--;
    bool starts = line > from || from == 0 || l->s[from - 1] == '\n';
    if (!starts || line == to) return to;
    return skip_space(l, line) >= to ? line : to;
}

/* End of a block tag at `at`: `+%}`, `-%}` with the space behind it, or `%}` with one newline. 0: no end here. */
static size_t tag_end(const struct lexer *l, size_t at, const char *close) {
    bool plus = looking_at(l, at, "+"), minus = looking_at(l, at, "-");
    size_t k = at + (plus || minus);
    if (k > l->n || !looking_at(l, k, close)) return 0;
    k += 2;
    if (minus) return skip_space(l, k);
    if (!plus && k < l->n && l->s[k] == '\n') k++;
    return k;
}

static char sign_at(const struct lexer *l, size_t at) {
    return at < l->n && (l->s[at] == '-' || l->s[at] == '+') ? l->s[at] : '\0';
}

/* `{%[-+]? word %}` at `at`: the end of the tag, 0 if it is not there. `trim`: the rule of endraw, else that of raw. */
static size_t word_tag(const struct lexer *l, size_t at, const char *word, bool trim) {
    if (!looking_at(l, at, "{%")) return 0;
    size_t k = at + 2;
    if (sign_at(l, k)) k++;
    k = skip_space(l, k);
    if (!looking_at(l, k, word)) return 0;
    k = skip_space(l, k + strlen(word));
    if (trim) return tag_end(l, k, "%}");
    if (looking_at(l, k, "-%}")) return skip_space(l, k + 3);
    return looking_at(l, k, "%}") ? k + 2 : 0;
}

static void lex_raw(struct lexer *l, size_t open, size_t body) {
    for (size_t k = body; k < l->n; k++) {
        size_t end = l->s[k] == '{' ? word_tag(l, k, "endraw", true) : 0;
        if (!end) continue;
        size_t stop = text_end(l, body, k, sign_at(l, k + 2), false);
        if (stop > body) emit(l, VC_JT_DATA, body, l->s + body, stop - body);
        l->at = end;
        return;
    }
    lex_fail(l, open, "missing end of raw directive");
}

static void lex_comment(struct lexer *l, size_t open) {
    size_t body = open + 2 + (sign_at(l, open + 2) != 0);
    for (size_t k = body; k < l->n; k++) {
        size_t end = l->s[k] == '#' || l->s[k] == '-' || l->s[k] == '+' ? tag_end(l, k, "#}") : 0;
        if (!end) continue;
        l->at = end;
        return;
    }
    if (body < l->n) lex_fail(l, open, "missing end of comment tag");
    l->at = l->n;       /* Jinja lets a comment pass that the text ends with */
}

static size_t digits(const struct lexer *l, size_t at, const char *set) {
    size_t k = at;
    while (k < l->n && l->s[k] && strchr(set, l->s[k])) {
        k++;
        if (k + 1 < l->n && l->s[k] == '_' && l->s[k + 1] && strchr(set, l->s[k + 1])) k++;
    }
    return k;
}

static const char dec[] = "0123456789";

static size_t float_end(const struct lexer *l, size_t at) {
    if (at > 0 && l->s[at - 1] == '.') return 0;
    size_t k = digits(l, at, dec), end = 0;
    if (k == at) return 0;
    if (k < l->n && l->s[k] == '.') {
        size_t f = digits(l, k + 1, dec);
        if (f > k + 1) k = end = f;
    }
    if (k < l->n && (l->s[k] == 'e' || l->s[k] == 'E')) {
        size_t e = k + 1 + (sign_at(l, k + 1) != 0), f = digits(l, e, dec);
        if (f > e) end = f;
    }
    return end;
}

static size_t int_end(const struct lexer *l, size_t at) {
    if (l->s[at] != '0') return digits(l, at, dec);
    char c = at + 1 < l->n ? (char)(l->s[at + 1] | 0x20) : 0;
    const char *set = c == 'b' ? "01" : c == 'o' ? "01234567" : c == 'x' ? "0123456789abcdefABCDEF" : NULL;
    if (set) {
        size_t from = at + 2 + (looking_at(l, at + 2, "_") ? 1 : 0), k = digits(l, from, set);
        if (k > from) return k;
    }
    return digits(l, at, "0");
}

static size_t name_end(struct lexer *l, size_t at) {
    size_t k = at;
    while (k < l->n) {
        uint32_t cp;
        size_t w = vc_utf8_decode(l->s + k, l->n - k, &cp);
        utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
        bool letter =
            cp == '_' || (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) || c == UTF8PROC_CATEGORY_NL;
        bool number = c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NO;
        if (!letter && !number) break;
        if (c == UTF8PROC_CATEGORY_NO || (number && k == at)) lex_fail(l, at, "invalid character in identifier");
        k += w;
    }
    return k;
}

static size_t lex_string(struct lexer *l, size_t at) {
    char quote = l->s[at];
    size_t k = at + 1;
    while (k < l->n && l->s[k] != quote) k += l->s[k] == '\\' ? 2 : 1;
    if (k >= l->n) lex_fail(l, at, "a string is not closed");
    struct vc_jbuf b = { 0 };
    locate(l, at, &l->x->line, &l->x->col);
    vc_j_unescape(l->x, &b, l->s + at + 1, k - at - 1);
    emit(l, VC_JT_STRING, at, b.p ? b.p : "", b.n);
    return k + 1;
}

static const struct { char s[3]; uint8_t kind;
} ops[] = {
    { "//", VC_JT_FLOORDIV }, { "**", VC_JT_POW },      { "==", VC_JT_EQ },    { "!=", VC_JT_NE },
    { ">=", VC_JT_GE },       { "<=", VC_JT_LE },       { "+", VC_JT_ADD },    { "-", VC_JT_SUB },
    { "/", VC_JT_DIV },       { "*", VC_JT_MUL },       { "%", VC_JT_MOD },    { "~", VC_JT_TILDE },
    { "[", VC_JT_LBRACKET },  { "]", VC_JT_RBRACKET },  { "(", VC_JT_LPAREN }, { ")", VC_JT_RPAREN },
    { "{", VC_JT_LBRACE },    { "}", VC_JT_RBRACE },    { ">", VC_JT_GT },     { "<", VC_JT_LT },
    { "=", VC_JT_ASSIGN },    { ".", VC_JT_DOT },       { ":", VC_JT_COLON },  { "|", VC_JT_PIPE },
    { ",", VC_JT_COMMA },     { ";", VC_JT_SEMICOLON },
};

static size_t lex_operator(struct lexer *l, size_t at, char *open, size_t *depth) {
    for (size_t i = 0; i < VC_ARRAY_LEN(ops); i++) {
        if (!looking_at(l, at, ops[i].s)) continue;
        enum vc_jtok_kind k = (enum vc_jtok_kind)ops[i].kind;
        if (k == VC_JT_LBRACE || k == VC_JT_LPAREN || k == VC_JT_LBRACKET) {
            if (*depth == MAX_NEST) lex_fail(l, at, "brackets are nested too deeply");
            open[(*depth)++] = k == VC_JT_LBRACE ? '}' : k == VC_JT_LPAREN ? ')' : ']';
        } else if (k == VC_JT_RBRACE || k == VC_JT_RPAREN || k == VC_JT_RBRACKET) {
            char msg[48];
            if (*depth == 0 || open[*depth - 1] != l->s[at]) {
                snprintf(msg, sizeof msg, *depth ? "unexpected '%c', expected '%c'" : "unexpected '%c'", l->s[at],
                         *depth ? open[*depth - 1] : ' ');
                lex_fail(l, at, msg);
            }
            (*depth)--;
        }
        emit(l, k, at, l->s + at, strlen(ops[i].s));
        return at + strlen(ops[i].s);
    }
    char msg[64], one[16];
    uint32_t cp;
    vc_printable(one, sizeof one, l->s + at, vc_utf8_decode(l->s + at, l->n - at, &cp));
    snprintf(msg, sizeof msg, "unexpected character '%s'", one);
    lex_fail(l, at, msg);
}

/* Tokens of one `{{ … }}` or `{% … %}` from l->at to its end, or to the end of the text. */
static void lex_code(struct lexer *l, bool variable) {
    char open[MAX_NEST];
    size_t depth = 0, at = l->at;
    while (at < l->n) {
        size_t k = space_at(l, at);
        size_t end = 0;
        if (depth == 0 && !k) {
            if (!variable) end = tag_end(l, at, "%}");
            else if (looking_at(l, at, "-}}")) end = skip_space(l, at + 3);
            else if (looking_at(l, at, "}}")) end = at + 2;
        }
        unsigned char c = (unsigned char)l->s[at];
        if (end) {
            emit(l, variable ? VC_JT_VAR_END : VC_JT_BLOCK_END, at, l->s + at, end - at);
            l->at = end;
            return;
        }
        if (k) {
            at += k;
        } else if (c >= '0' && c <= '9') {
            size_t f = float_end(l, at), e = f ? f : int_end(l, at);
            emit(l, f ? VC_JT_FLOAT : VC_JT_INT, at, l->s + at, e - at);
            at = e;
        } else if (c == '"' || c == '\'') {
            at = lex_string(l, at);
        } else if ((end = name_end(l, at)) > at) {
            emit(l, VC_JT_NAME, at, l->s + at, end - at);
            at = end;
        } else {
            at = lex_operator(l, at, open, &depth);
        }
    }
    l->at = at;
}

static void lex_root(struct lexer *l) {
    while (l->at < l->n) {
        size_t k = l->at;
        while (k + 1 < l->n && !(l->s[k] == '{' && (l->s[k + 1] == '{' || l->s[k + 1] == '%' || l->s[k + 1] == '#')))
            k++;
        if (k + 1 >= l->n) {
            emit(l, VC_JT_DATA, l->at, l->s + l->at, l->n - l->at);
            l->at = l->n;
            return;
        }
        char kind = l->s[k + 1], sign = sign_at(l, k + 2);
        size_t stop = text_end(l, l->at, k, sign, kind == '{');
        if (stop > l->at) emit(l, VC_JT_DATA, l->at, l->s + l->at, stop - l->at);
        size_t raw = kind == '%' ? word_tag(l, k, "raw", false) : 0;
        if (raw) {
            lex_raw(l, k, raw);
        } else if (kind == '#') {
            lex_comment(l, k);
        } else {
            emit(l, kind == '{' ? VC_JT_VAR_BEGIN : VC_JT_BLOCK_BEGIN, k, l->s + k, 2);
            l->at = k + 2 + (sign != 0);
            lex_code(l, kind == '{');
        }
    }
}

const struct vc_jtok *vc_j_lex(vc_jx *x, const char *src, size_t n) {
    char *s = vc_j_alloc(x, n + 1);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (src[i] == '\r') {
            s[m++] = '\n';
            if (i + 1 < n && src[i + 1] == '\n') i++;
        } else {
            s[m++] = src[i];
        }
    }
    if (m && s[m - 1] == '\n') m--;
    struct lexer l = { .x = x, .s = s, .n = m, .line = 1, .col = 1 };
    lex_root(&l);
    emit(&l, VC_JT_EOF, m, s + m, 0);
    return l.tok;
}
