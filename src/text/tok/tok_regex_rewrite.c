/* SPDX-License-Identifier: Apache-2.0
 * tok_regex_rewrite.c: Oniguruma's Ruby syntax (doc/RE, doc/SYNTAX.md) to PCRE2. Rewritten are character classes
 * ([a[bc]], [a&&[^b]]), \s \w \d \h and \b with Oniguruma's Unicode meaning, \p{Script} (by script, not by script
 * extensions), \uHHHH, {,n}, and X{n,m}+ (greedy and repeated there, possessive in PCRE2). The rest passes unchanged. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <stdlib.h>
#include <string.h>

#include <pcre2.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_regex.h"

/* Insides of classes. */
#define WS "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WORD "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define HEX "0-9A-Fa-f"

enum { MAX_DEPTH = 32, MAX_PATTERN = 1 << 16 };

struct rewrite {
    const char *p, *end, *begin;
    struct vc_buf *out, word;       /* word: WORD and what later versions of Unicode added to it */
    vc_err *err;
    size_t atom;                    /* where the last atom begins in out */
    size_t group[MAX_DEPTH];        /* where open groups begin */
    int depth;
};

static vc_status bad(struct rewrite *r, const char *what) {
    char shown[400];
    vc_printable(shown, sizeof shown, r->begin, (size_t)(r->end - r->begin));
    return vc_fail(r->err, VC_E_UNSUPPORTED, "regex \"%s\": %s at offset %zu", shown, what, (size_t)(r->p - r->begin));
}

static const char *const categories[][2] = {
    { "letter", "L" }, { "uppercase_letter", "Lu" }, { "lowercase_letter", "Ll" }, { "titlecase_letter", "Lt" },
    { "modifier_letter", "Lm" }, { "other_letter", "Lo" }, { "mark", "M" }, { "combining_mark", "M" },
    { "nonspacing_mark", "Mn" }, { "spacing_mark", "Mc" }, { "enclosing_mark", "Me" }, { "number", "N" },
    { "decimal_number", "Nd" }, { "letter_number", "Nl" }, { "other_number", "No" }, { "punctuation", "P" },
    { "connector_punctuation", "Pc" }, { "dash_punctuation", "Pd" }, { "open_punctuation", "Ps" },
    { "close_punctuation", "Pe" }, { "initial_punctuation", "Pi" }, { "final_punctuation", "Pf" },
    { "other_punctuation", "Po" }, { "symbol", "S" }, { "math_symbol", "Sm" }, { "currency_symbol", "Sc" },
    { "modifier_symbol", "Sk" }, { "other_symbol", "So" }, { "separator", "Z" }, { "space_separator", "Zs" },
    { "line_separator", "Zl" }, { "paragraph_separator", "Zp" }, { "other", "C" }, { "control", "Cc" },
    { "format", "Cf" }, { "surrogate", "Cs" }, { "private_use", "Co" }, { "unassigned", "Cn" }, { "any", "Any" },
};

static bool same_name(const char *a, size_t n, const char *b) {
    if (strlen(b) != n) return false;
    for (size_t i = 0; i < n; i++) {
        char c = a[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        if (c == ' ' || c == '-') c = '_';
        if (c != (b[i] >= 'A' && b[i] <= 'Z' ? (char)(b[i] + 32) : b[i])) return false;
    }
    return true;
}

/* Whether PCRE2's tables are older than Unicode 16, which Oniguruma 6.9.10 has. */
static bool old_tables(void) {
    char v[64] = "";
    return pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, v) > 0 && atoi(v) < 16;
}

/* \p{…} at r->p ('p' or 'P'): the items of a class that it stands for are appended to b; *negated: their complement. */
static vc_status property(struct rewrite *r, struct vc_buf *b, bool *neg) {
    bool negated = *r->p++ == 'P';
    if (r->p == r->end || *r->p != '{') return bad(r, "\\p without {");
    const char *name = ++r->p;
    while (r->p < r->end && *r->p != '}') r->p++;
    if (r->p == r->end) return bad(r, "\\p{ without }");
    size_t n = (size_t)(r->p++ - name);
    if (n && *name == '^') { negated = !negated; name++; n--; }
    *neg = negated;
    vc_buf_adds(b, "\\p{");
    static const char two[] = "Lu Ll Lt Lm Lo L& Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn ";
    const char *known = NULL;
    char cat[3] = { 0 };
    for (size_t i = 0; i < VC_ARRAY_LEN(categories) && !known; i++) {
        if (same_name(name, n, categories[i][0])) known = categories[i][1];
    }
    for (size_t i = 0; n == 2 && i + 2 < sizeof two && !known; i += 3) {
        if (!memcmp(name, two + i, 2)) known = memcpy(cat, name, 2);
    }
    if (n == 1 && strchr("LMNPSZC", *name)) known = memcpy(cat, name, 1);
    if (known) vc_buf_adds(b, known);
    else {
#if PCRE2_MAJOR > 10 || PCRE2_MINOR >= 40
        vc_buf_adds(b, "sc:");
#endif
        vc_buf_add(b, name, n);
    }
    vc_buf_addc(b, '}');
    if (known && strchr("LMNPS", known[0]) && known[1] != '&' && old_tables()) vc_chr_later(b, known);
    return VC_OK;
}

/* \uHHHH or \xHH or \x{…}: appended as \x{…}. r->p is behind the letter. */
static vc_status code_point(struct rewrite *r, struct vc_buf *b, char letter) {
    bool braces = letter == 'x' && r->p < r->end && *r->p == '{';
    if (braces) r->p++;
    uint32_t v = 0;
    int digits = 0, most = letter == 'u' ? 4 : braces ? 8 : 2;
    for (; r->p < r->end && digits < most; r->p++, digits++) {
        int d = vc_digit(*r->p, 16);
        if (d < 0) break;
        v = v << 4 | (uint32_t)d;
    }
    if (!digits || (letter == 'u' && digits != 4)) return bad(r, "hexadecimal digits expected");
    if (braces && (r->p == r->end || *r->p++ != '}')) return bad(r, "} expected");
    vc_buf_printf(b, "\\x{%x}", v);
    return VC_OK;
}

static vc_status char_class(struct rewrite *r, struct vc_buf *b, int depth);

/* One operand of && (a union) being collected: plain items, and alternatives that are whole expressions. */
struct operand { struct vc_buf items, others; };

static void other(struct operand *o, const char *open, const char *inside, const char *close) {
    if (o->others.n) vc_buf_addc(&o->others, '|');
    vc_buf_printf(&o->others, "%s%s%s", open, inside, close);
}

static vc_status class_property(struct rewrite *r, struct operand *o) {
    struct vc_buf b = { 0 };
    bool negated;
    vc_status s = property(r, &b, &negated);
    if (s == VC_OK && negated) other(o, "[^", b.p ? b.p : "", "]");
    else if (s == VC_OK) vc_buf_add(&o->items, b.p ? b.p : "", b.n);
    r->out->failed |= b.failed;
    vc_buf_free(&b);
    return s;
}

static vc_status class_escape(struct rewrite *r, struct operand *o) {
    if (++r->p == r->end) return bad(r, "escape at the end");
    char c = *r->p;
    if (c == 'p' || c == 'P') return class_property(r, o);
    r->p++;
    switch (c) {
    case 's': vc_buf_adds(&o->items, WS); return VC_OK;
    case 'S': other(o, "[^", WS, "]"); return VC_OK;
    case 'w': vc_buf_adds(&o->items, r->word.p); return VC_OK;
    case 'W': other(o, "[^", r->word.p, "]"); return VC_OK;
    case 'd': vc_buf_adds(&o->items, "\\p{Nd}"); return VC_OK;
    case 'D': vc_buf_adds(&o->items, "\\P{Nd}"); return VC_OK;
    case 'h': vc_buf_adds(&o->items, HEX); return VC_OK;
    case 'H': other(o, "[^", HEX, "]"); return VC_OK;
    case 'u': case 'x': return code_point(r, &o->items, c);
    case 'v': vc_buf_adds(&o->items, "\\x{b}"); return VC_OK;
    default: break;
    }
    bool plain = (unsigned char)c >= 0x80 || strchr("QEKRXCNgkGZzABo", c);
    if (!plain) vc_buf_addc(&o->items, '\\');
    vc_buf_addc(&o->items, c);
    return VC_OK;
}

static vc_status class_item(struct rewrite *r, struct operand *o, int depth) {
    char c = *r->p;
    if (c == '\\') return class_escape(r, o);
    if (c == '[') {
        if (r->p + 1 < r->end && r->p[1] == ':') {
            const char *q = r->p + 2;
            while (q + 1 < r->end && !(q[0] == ':' && q[1] == ']') && *q != '[') q++;
            if (q + 1 < r->end && *q == ':') {
                vc_buf_add(&o->items, r->p, (size_t)(q + 2 - r->p));
                r->p = q + 2;
                return VC_OK;
            }
        }
        struct vc_buf sub = { 0 };
        vc_status s = char_class(r, &sub, depth + 1);
        if (s == VC_OK && sub.n) other(o, "", sub.p, "");
        r->out->failed |= sub.failed;
        vc_buf_free(&sub);
        return s;
    }
    bool range = c == '-' && o->items.n && r->p + 1 < r->end && r->p[1] != ']' && r->p[1] != '[' && r->p[1] != '&';
    if (c == '-' && !range) vc_buf_adds(&o->items, "\\-");
    else if (c == '^') vc_buf_adds(&o->items, "\\^");
    else vc_buf_addc(&o->items, c);
    r->p++;
    return VC_OK;
}

/* The union as an expression that matches one character. */
static void operand_put(struct vc_buf *b, const struct operand *o) {
    if (o->items.n && !o->others.n) vc_buf_printf(b, "[%s]", o->items.p);
    else if (o->items.n) vc_buf_printf(b, "(?:[%s]|%s)", o->items.p, o->others.p);
    else if (o->others.n) vc_buf_printf(b, "(?:%s)", o->others.p);
    else vc_buf_adds(b, "(?!)");
}

static vc_status char_class_body(struct rewrite *r, struct vc_buf *ands, struct operand *o, bool *simple, int depth) {
    for (bool first = true;; first = false) {
        if (r->p == r->end) return bad(r, "class without ]");
        if (*r->p == ']' && !first) break;
        if (*r->p == '&' && r->p + 1 < r->end && r->p[1] == '&') {
            vc_buf_adds(ands, "(?=");
            operand_put(ands, o);
            vc_buf_addc(ands, ')');
            o->items.n = o->others.n = 0;
            r->p += 2;
            *simple = false;
            continue;
        }
        if (*r->p == ']') {    /* as the first item: itself */
            vc_buf_adds(&o->items, "\\]");
            r->p++;
            continue;
        }
        VC_TRY(class_item(r, o, depth));
    }
    r->p++;
    if (o->others.n) *simple = false;
    return VC_OK;
}

/* A class at r->p ('['). */
static vc_status char_class(struct rewrite *r, struct vc_buf *b, int depth) {
    if (depth > MAX_DEPTH) return bad(r, "classes nested too deeply");
    r->p++;
    bool negated = r->p < r->end && *r->p == '^', simple = true;
    if (negated) r->p++;
    struct operand o = { { 0 }, { 0 } };
    struct vc_buf ands = { 0 };
    vc_status s = char_class_body(r, &ands, &o, &simple, depth);
    if (s == VC_OK && simple) {
        vc_buf_printf(b, "[%s%s]", negated ? "^" : "", o.items.n ? o.items.p : "");
    } else if (s == VC_OK) {
        vc_buf_adds(b, negated ? "(?:(?!" : "(?:");
        vc_buf_add(b, ands.p ? ands.p : "", ands.n);
        operand_put(b, &o);
        vc_buf_adds(b, negated ? ")(?s:.))" : ")");
    }
    r->out->failed |= o.items.failed;
    vc_buf_free(&o.items);
    r->out->failed |= o.others.failed;
    vc_buf_free(&o.others);
    r->out->failed |= ands.failed;
    vc_buf_free(&ands);
    return s;
}

static vc_status escape(struct rewrite *r) {
    if (++r->p == r->end) return bad(r, "escape at the end");
    char c = *r->p;
    if (c == 'p' || c == 'P') {
        struct vc_buf b = { 0 };
        bool negated;
        vc_status s = property(r, &b, &negated);
        if (s == VC_OK) vc_buf_printf(r->out, "[%s%s]", negated ? "^" : "", b.p ? b.p : "");
        r->out->failed |= b.failed;
        vc_buf_free(&b);
        return s;
    }
    r->p++;
    switch (c) {
    case 's': vc_buf_adds(r->out, "[" WS "]"); return VC_OK;
    case 'S': vc_buf_adds(r->out, "[^" WS "]"); return VC_OK;
    case 'w': vc_buf_printf(r->out, "[%s]", r->word.p); return VC_OK;
    case 'W': vc_buf_printf(r->out, "[^%s]", r->word.p); return VC_OK;
    case 'd': vc_buf_adds(r->out, "\\p{Nd}"); return VC_OK;
    case 'D': vc_buf_adds(r->out, "\\P{Nd}"); return VC_OK;
    case 'h': vc_buf_adds(r->out, "[" HEX "]"); return VC_OK;
    case 'H': vc_buf_adds(r->out, "[^" HEX "]"); return VC_OK;
    case 'b': case 'B': {
        const char *w = r->word.p, *same = c == 'b' ? "!" : "=", *not = c == 'b' ? "=" : "!";
        vc_buf_printf(r->out, "(?:(?<=[%s])(?%s[%s])|(?<![%s])(?%s[%s]))", w, same, w, w, not, w);
        return VC_OK;
    }
    case 'u': case 'x': return code_point(r, r->out, c);
    case 'v': vc_buf_adds(r->out, "\\x{b}"); return VC_OK;
    case 'K': case 'g': case 'k': case 'X': case 'y': case 'Y': case 'O': case 'N': return bad(r, "this escape is not supported");
    default: break;
    }
    if ((unsigned char)c < 0x80) vc_buf_addc(r->out, '\\');
    vc_buf_addc(r->out, c);
    return VC_OK;
}

/* {n,m} at r->p; *is false where it is no quantifier but text. */
static void interval(struct rewrite *r, bool *is) {
    const char *q = r->p + 1, *lo = q;
    while (q < r->end && *q >= '0' && *q <= '9') q++;
    size_t n_lo = (size_t)(q - lo), n_hi = 0;
    bool comma = q < r->end && *q == ',';
    if (comma) {
        const char *hi = ++q;
        while (q < r->end && *q >= '0' && *q <= '9') q++;
        n_hi = (size_t)(q - hi);
    }
    *is = q < r->end && *q == '}' && (n_lo || n_hi);
    if (!*is) return;
    bool again = q + 1 < r->end && q[1] == '+';
    if (again) {    /* X{n,m}+ → (?:X{n,m})+ */
        struct vc_buf atom = { 0 };
        vc_buf_add(&atom, r->out->p + r->atom, r->out->n - r->atom);
        r->out->n = r->atom;
        vc_buf_adds(r->out, "(?:");
        vc_buf_add(r->out, atom.p ? atom.p : "", atom.n);
        r->out->failed |= atom.failed;
        vc_buf_free(&atom);
    }
    vc_buf_addc(r->out, '{');
    if (!n_lo) vc_buf_addc(r->out, '0');
    vc_buf_add(r->out, r->p + 1, (size_t)(q - r->p));
    if (again) vc_buf_adds(r->out, ")+");
    r->p = q + 1 + again;
}

static vc_status one(struct rewrite *r) {
    char c = *r->p;
    size_t at = r->out->n;
    if (c == '\\') { r->atom = at; return escape(r); }
    if (c == '[') { r->atom = at; return char_class(r, r->out, 0); }
    if (c == '{') {
        bool is;
        interval(r, &is);
        if (is) return VC_OK;
        r->atom = at;
        vc_buf_adds(r->out, "\\{");
        r->p++;
        return VC_OK;
    }
    if (c == '(') {
        if (r->depth == MAX_DEPTH) return bad(r, "groups nested too deeply");
        if (r->end - r->p > 2 && r->p[1] == '?' && r->p[2] == '~') return bad(r, "absent operator (?~ is not supported");
        r->group[r->depth++] = at;
    } else if (c == ')' && r->depth > 0) {
        r->atom = r->group[--r->depth];
    } else if (c != '*' && c != '+' && c != '?' && !vc_chr_tail(c)) {
        r->atom = at;
    }
    vc_buf_addc(r->out, c);
    r->p++;
    return VC_OK;
}

vc_status vc_tok_regex_translate(struct vc_buf *out, const char *pattern, size_t n, vc_err *err) {
    if (n > MAX_PATTERN) return vc_fail(err, VC_E_UNSUPPORTED, "regex of %zu bytes: at most %d are taken", n, MAX_PATTERN);
    if (vc_chr_valid(pattern, n) != n) return vc_fail(err, VC_E_FORMAT, "regex: not UTF-8");
    struct rewrite r = { .p = pattern, .end = pattern + n, .begin = pattern, .out = out, .err = err };
    static const char *const word[] = { "L", "M", "Nd", "Nl" };
    vc_buf_adds(&r.word, WORD);
    for (size_t i = 0; i < VC_ARRAY_LEN(word) && old_tables(); i++) vc_chr_later(&r.word, word[i]);
    vc_status s = r.word.failed ? vc_fail(err, VC_E_NOMEM, "regex: out of memory") : VC_OK;
    while (s == VC_OK && r.p < r.end) s = one(&r);
    vc_buf_free(&r.word);
    return s;
}
