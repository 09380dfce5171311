/* SPDX-License-Identifier: Apache-2.0
 * Python's format specification for str, int and float, and str.format(). */
#include "text/jinja/jinja_format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

bool vc_j_int_negative(vc_jv v) { return v.t == VC_J_BIG ? v.u.big->neg : vc_j_small(v) < 0; }

vc_jv vc_j_digits(vc_jx *x, vc_jv v, unsigned base, bool upper) {
    if (vc_j_int_negative(v)) v = vc_j_neg(x, v);
    if (base == 10) {
        if (v.t == VC_J_BOOL) v = vc_j_int(v.u.b);
        return vc_j_to_str(x, v);
    }
    const char *alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    vc_jv b = vc_j_int(base);
    char *s = vc_j_alloc(x, 16 * 1024);
    size_t at = 16 * 1024;
    do {
        s[--at] = alphabet[vc_j_small(vc_j_arith(x, VC_J_MOD, v, b))];
        v = vc_j_arith(x, VC_J_FLOORDIV, v, b);
    } while (vc_j_truth(v) && at > 0);
    return vc_j_str(x, s + at, 16 * 1024 - at);
}

/* "1234567" → "1,234,567" in the part before a point or exponent. */
static vc_jv grouped(vc_jx *x, const char *p, size_t n, char sep, unsigned every) {
    struct vc_jbuf b = { 0 };
    size_t digits = 0;
    while (digits < n && ((p[digits] >= '0' && p[digits] <= '9') ||
                          (every == 4 && (p[digits] | 0x20) >= 'a' && (p[digits] | 0x20) <= 'f')))
        digits++;
    for (size_t i = 0; i < n; i++) {
        if (i && i < digits && (digits - i) % every == 0) vc_j_putc(x, &b, sep);
        vc_j_putc(x, &b, p[i]);
    }
    return vc_j_done(x, &b);
}

void vc_j_put_padded(vc_jx *x, struct vc_jbuf *b, const char *sign, const char *body, size_t n,
                     const struct vc_jspec *s) {
    int64_t len = (int64_t)(strlen(sign) + vc_j_count_cp(body, n)), room = VC_MAX(s->width - len, 0);
    int64_t left = s->align == '<' || s->align == '=' ? 0 : s->align == '^' ? room / 2 : room;
    struct vc_jbuf f = { 0 };
    vc_j_putcp(x, &f, s->fill);
    vc_j_putn(x, b, f.p, f.n, (size_t)left);
    vc_j_puts(x, b, sign);
    if (s->align == '=') vc_j_putn(x, b, f.p, f.n, (size_t)room);
    vc_j_put(x, b, body, n);
    if (s->align != '=') vc_j_putn(x, b, f.p, f.n, (size_t)(room - left));
}

static const char *sign_text(bool neg, char sign) { return neg ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : ""; }

static void put_int(vc_jx *x, struct vc_jbuf *b, vc_jv v, const struct vc_jspec *s) {
    char t = s->type ? s->type : 'd';
    if (t == 'c') {
        int64_t cp = vc_j_as_index(x, v, "a character code");
        if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000)) vc_j_raise(x, "a character code is out of range");
        struct vc_jbuf one = { 0 };
        vc_j_putcp(x, &one, (uint32_t)cp);
        vc_j_put_padded(x, b, "", one.p, one.n, s);
        return;
    }
    unsigned base = t == 'b' ? 2 : t == 'o' ? 8 : t == 'x' || t == 'X' ? 16 : 10;
    if (base == 10 && t != 'd' && t != 'n') vc_j_raise(x, "unknown format code '%c' for object of type 'int'", t);
    if (s->prec >= 0) vc_j_raise(x, "precision not allowed in integer format specifier");
    vc_jv d = vc_j_digits(x, v, base, t == 'X');
    if (s->group) d = grouped(x, d.u.s->p, d.u.s->n, s->group, base == 10 ? 3 : 4);
    char sign[8] = "";
    strcat(sign, sign_text(vc_j_int_negative(v), s->sign));
    if (s->alt && base != 10) strncat(sign, t == 'b' ? "0b" : t == 'o' ? "0o" : t == 'x' ? "0x" : "0X", 3);
    vc_j_put_padded(x, b, sign, d.u.s->p, d.u.s->n, s);
}

static void put_float(vc_jx *x, struct vc_jbuf *b, double f, const struct vc_jspec *s) {
    char t = s->type, out[VC_J_FLOAT_CAP + VC_J_MAX_PREC + 16];
    char conv = (char)(t | 0x20);
    bool neg = signbit(f) && !isnan(f);
    size_t n;
    if (t && !strchr("eEfFgGn%", t)) vc_j_raise(x, "unknown format code '%c' for object of type 'float'", t);
    if (s->prec > VC_J_MAX_PREC) vc_j_raise(x, "a precision above %d is not supported", VC_J_MAX_PREC);
    double a = fabs(f) * (t == '%' ? 100 : 1);
    int prec = s->prec < 0 ? 6 : (int)s->prec;
    if (!isfinite(a)) {
        strcpy(out, isnan(a) ? "nan" : "inf");
        n = 3;
    } else if (!t && s->prec < 0) {
        n = vc_j_repr_double(out, a);
    } else if (t == '%' || conv == 'f') {
        n = vc_j_fixed(out, sizeof out, a, prec, 'f');
    } else if (conv == 'e') {
        n = vc_j_fixed(out, sizeof out, a, prec, 'e');
    } else {
        n = vc_j_fixed(out, sizeof out, a, VC_MAX(prec, 1), 'g');
        if (!t && !strpbrk(out, ".en")) {       /* without a type a float keeps its point */
            strcpy(out + n, ".0");
            n += 2;
        }
    }
    if (t == '%') out[n++] = '%';
    if (t == 'E' || t == 'G' || t == 'F')
        for (size_t i = 0; i < n; i++)
            if (out[i] >= 'a' && out[i] <= 'z') out[i] = (char)(out[i] - 32);
    vc_jv body = s->group ? grouped(x, out, n, s->group, 3) : vc_j_copy(x, out, n);
    vc_j_put_padded(x, b, sign_text(neg, s->sign), body.u.s->p, body.u.s->n, s);
}

void vc_j_put_spec(vc_jx *x, struct vc_jbuf *b, vc_jv v, const struct vc_jspec *spec) {
    struct vc_jspec s = *spec;
    if (vc_j_is_num(v)) {
        if (!s.align) s.align = '>';
        if (v.t == VC_J_FLOAT || (s.type && strchr("eEfFgG%", s.type))) put_float(x, b, vc_j_to_double(x, v), &s);
        else put_int(x, b, v, &s);
        return;
    }
    vc_jv text = vc_j_to_str(x, v);
    if (v.t != VC_J_STR) vc_j_raise(x, "unsupported format string passed to %s.__format__", vc_j_type_name(v));
    if (s.type && s.type != 's')
        vc_j_raise(x, "unknown format code '%c' for object of type '%s'", s.type, vc_j_type_name(v));
    if (s.sign || s.alt || s.group || s.align == '=')
        vc_j_raise(x, "a sign, '#', ',' or '=' is not allowed in a string format specifier");
    if (!s.align) s.align = '<';
    size_t n = s.prec >= 0 && s.prec < (int64_t)text.u.s->len ? vc_j_offset(text.u.s, (size_t)s.prec) : text.u.s->n;
    vc_j_put_padded(x, b, "", text.u.s->p, n, &s);
}

/* ---- parsing a specification ---- */
static size_t parse_number(vc_jx *x, const char *p, size_t n, size_t at, int64_t *v) {
    if (at < n && p[at] >= '0' && p[at] <= '9') *v = 0;
    for (; at < n && p[at] >= '0' && p[at] <= '9'; at++) {
        *v = *v * 10 + (p[at] - '0');
        if (*v > VC_J_MAX_WIDTH) vc_j_raise(x, "a width above %d is not supported", VC_J_MAX_WIDTH);
    }
    return at;
}

static bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

static struct vc_jspec parse_spec(vc_jx *x, const struct vc_jstr *t) {
    struct vc_jspec s = { .fill = ' ', .width = 0, .prec = -1 };
    const char *p = t->p;
    size_t n = t->n, at = 0;
    uint32_t cp = 0;
    size_t w = vc_utf8_decode(p, n, &cp);
    if (w && w < n && is_align(p[w])) {
        s.fill = cp;
        s.align = p[w];
        at = w + 1;
    } else if (n && is_align(p[0])) {
        s.align = p[0];
        at = 1;
    }
    if (at < n && (p[at] == '+' || p[at] == '-' || p[at] == ' ')) s.sign = p[at++];
    if (at < n && p[at] == '#') s.alt = true, at++;
    if (at < n && p[at] == '0') {
        if (!s.align) s.fill = '0', s.align = '=';
        at++;
    }
    at = parse_number(x, p, n, at, &s.width);
    if (at < n && (p[at] == ',' || p[at] == '_')) s.group = p[at++];
    if (at < n && p[at] == '.') {
        size_t from = ++at;
        at = parse_number(x, p, n, at, &s.prec);
        if (at == from) vc_j_raise(x, "format specifier missing precision");
    }
    if (at < n) s.type = p[at++];
    if (at < n) vc_j_raise(x, "invalid format specifier");
    return s;
}

/* ---- str.format() ---- */
struct fmt { vc_jx *x; const struct vc_jcall *c; int64_t next; bool manual, markup; };

static vc_jv positional(struct fmt *f, int64_t i) {
    if (i < 0 || (size_t)i >= f->c->n)
        vc_j_raise(f->x, "replacement index %lld out of range for positional args tuple", (long long)i);
    return f->c->v[i];
}

static vc_jv field_value(struct fmt *f, const char *p, size_t n) {
    vc_jx *x = f->x;
    size_t end = 0;
    while (end < n && p[end] != '.' && p[end] != '[') end++;
    vc_jv v = vc_j_missing(), number;
    bool digits = end > 0;
    for (size_t i = 0; i < end; i++) digits = digits && p[i] >= '0' && p[i] <= '9';
    if (end == 0) {
        if (f->manual) vc_j_raise(x, "cannot switch from manual field specification to automatic field numbering");
        v = positional(f, f->next++);
    } else if (digits && vc_j_parse_int(x, p, end, 10, &number)) {
        if (f->next) vc_j_raise(x, "cannot switch from automatic field numbering to manual field specification");
        f->manual = true;
        v = positional(f, vc_j_as_index(x, number, "a field number"));
    } else {
        for (size_t i = 0; i < f->c->n_kw; i++)
            if (f->c->kw[i].name->n == end && !memcmp(f->c->kw[i].name->p, p, end)) v = f->c->kw[i].v;
        if (!vc_j_given(v)) vc_j_raise(x, "format() misses the argument '%.*s'", (int)VC_MIN(end, 64u), p);
    }
    for (size_t at = end; at < n;) {
        bool item = p[at] == '[';
        size_t from = ++at;
        while (at < n && (item ? p[at] != ']' : p[at] != '.' && p[at] != '[')) at++;
        if (at == from || (item && at == n)) vc_j_raise(x, "empty attribute or missing ']' in format string");
        vc_jv key = vc_j_copy(x, p + from, at - from);
        bool all = true;
        for (size_t i = from; i < at; i++) all = all && p[i] >= '0' && p[i] <= '9';
        if (item && all && vc_j_parse_int(x, p + from, at - from, 10, &number)) key = number;
        v = item ? vc_j_getitem(x, v, key) : vc_j_getattr(x, v, key);
        if (item) at++;
        if (item && at < n && p[at] != '.' && p[at] != '[')
            vc_j_raise(x, "only '.' or '[' may follow ']' in format field specifier");
    }
    return v;
}

static void put_format(struct fmt *f, struct vc_jbuf *b, const char *p, size_t n, int level);

/* ascii(): repr() with escapes for all that is not ASCII. */
static void put_ascii(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    struct vc_jbuf t = { 0 };
    char esc[12];
    uint32_t cp = 0;
    vc_j_put_repr(x, &t, v);
    for (size_t i = 0, w; i < t.n; i += w) {
        w = VC_MAX(vc_utf8_decode(t.p + i, t.n - i, &cp), 1u);
        snprintf(esc, sizeof esc, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
        if (cp < 0x80) vc_j_put(x, b, t.p + i, w);
        else vc_j_puts(x, b, esc);
    }
}

static void put_field(struct fmt *f, struct vc_jbuf *b, const char *p, size_t n, int level) {
    vc_jx *x = f->x;
    size_t name = 0, depth = 0;
    for (; name < n && (depth || (p[name] != ':' && p[name] != '!')); name++) {
        if (p[name] == '[') depth++;
        else if (p[name] == ']' && depth) depth--;
    }
    vc_jv v = field_value(f, p, name);
    size_t at = name;
    if (at < n && p[at] == '!') {
        if (at + 1 >= n || (at + 2 < n && p[at + 2] != ':')) vc_j_raise(x, "expected ':' after conversion specifier");
        char conv = p[at + 1];
        struct vc_jbuf t = { 0 };
        if (conv == 's') vc_j_put_str(x, &t, v);
        else if (conv == 'r') vc_j_put_repr(x, &t, v);
        else if (conv == 'a') put_ascii(x, &t, v);
        else vc_j_raise(x, "unknown conversion specifier %c", conv);
        v = vc_j_done(x, &t);
        at += 2;
    }
    if (at >= n || at + 1 == n) {
        if (f->markup) vc_j_put_escaped(x, b, v);
        else vc_j_put_str(x, b, v);
        return;
    }
    if (f->markup && v.t == VC_J_STR && v.sub) vc_j_raise(x, "unsupported format specification for Markup");
    struct vc_jbuf spec = { 0 }, out = { 0 };
    put_format(f, &spec, p + at + 1, n - at - 1, level + 1);
    struct vc_jspec s = parse_spec(x, vc_j_done(x, &spec).u.s);
    vc_j_put_spec(x, f->markup ? &out : b, v, &s);
    if (f->markup) vc_j_put_escaped(x, b, vc_j_done(x, &out));
}

static void put_format(struct fmt *f, struct vc_jbuf *b, const char *p, size_t n, int level) {
    vc_jx *x = f->x;
    if (level > 2) vc_j_raise(x, "max string recursion exceeded");
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && p[k] != '{' && p[k] != '}') k++;
        vc_j_put(x, b, p + i, k - i);
        if (k == n) return;
        if (k + 1 < n && p[k + 1] == p[k] && level == 0) {
            vc_j_putc(x, b, p[k]);
            i = k + 2;
            continue;
        }
        if (p[k] == '}') vc_j_raise(x, "single '}' encountered in format string");
        size_t depth = 1, end = k + 1;
        for (; end < n; end++) {
            if (p[end] == '{') depth++;
            else if (p[end] == '}' && --depth == 0) break;
        }
        if (depth)
            vc_j_raise(x,
                       k + 1 == n ? "single '{' encountered in format string" : "expected '}' before end of string");
        put_field(f, b, p + k + 1, end - k - 1, level);
        i = end + 1;
    }
}

vc_jv vc_j_format(vc_jx *x, vc_jv fmt, const struct vc_jcall *c) {
    struct fmt f = { .x = x, .c = c, .markup = fmt.sub != 0 };
    struct vc_jbuf b = { 0 };
    put_format(&f, &b, fmt.u.s->p, fmt.u.s->n, 0);
    vc_jv r = vc_j_done(x, &b);
    r.sub = fmt.sub;
    return r;
}
