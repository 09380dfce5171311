/* SPDX-License-Identifier: Apache-2.0
 * "%" formatting: %[(name)][flags][width][.precision]type, as Python's str.__mod__. */
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_format.h"
#include "text/jinja/jinja_method.h"

struct pct { vc_jx *x; const char *p; size_t n, at; vc_jv args; size_t next; bool escape, named; };

static vc_jv next_arg(struct pct *f) {
    if (f->args.t != VC_J_TUPLE) {
        if (f->next++) vc_j_raise(f->x, "not enough arguments for format string");
        return f->args;
    }
    if (f->next >= f->args.u.l->n) vc_j_raise(f->x, "not enough arguments for format string");
    return f->args.u.l->v[f->next++];
}

static vc_jv named_arg(struct pct *f) {
    size_t from = ++f->at, depth = 1;
    for (; f->at < f->n && depth; f->at++) {
        if (f->p[f->at] == '(') depth++;
        else if (f->p[f->at] == ')') depth--;
    }
    if (depth) vc_j_raise(f->x, "incomplete format key");
    if (f->args.t != VC_J_DICT) vc_j_raise(f->x, "format requires a mapping");
    f->named = true;
    const vc_jv *v = vc_j_find(f->x, f->args.u.d, vc_j_copy(f->x, f->p + from, f->at - from - 1));
    if (!v) vc_j_raise(f->x, "the mapping has no key '%.*s'", (int)VC_MIN(f->at - from - 1, 64u), f->p + from);
    return *v;
}

static int64_t star_or_number(struct pct *f, int64_t absent) {
    if (f->at < f->n && f->p[f->at] == '*') {
        f->at++;
        int64_t v = vc_j_as_index(f->x, next_arg(f), "* in a format");
        if (v > VC_J_MAX_WIDTH || v < -VC_J_MAX_WIDTH)
            vc_j_raise(f->x, "a width above %d is not supported", VC_J_MAX_WIDTH);
        return v;
    }
    int64_t v = absent;
    for (; f->at < f->n && f->p[f->at] >= '0' && f->p[f->at] <= '9'; f->at++) {
        v = (v < 0 ? 0 : v) * 10 + (f->p[f->at] - '0');
        if (v > VC_J_MAX_WIDTH) vc_j_raise(f->x, "a width above %d is not supported", VC_J_MAX_WIDTH);
    }
    return v;
}

static void put_text(struct pct *f, struct vc_jbuf *b, vc_jv v, const struct vc_jspec *s) {
    vc_jx *x = f->x;
    struct vc_jbuf t = { 0 };
    if (s->type == 's') {
        if (f->escape) vc_j_put_escaped(x, &t, v);
        else vc_j_put_str(x, &t, v);
    } else if (s->type == 'c' && v.t != VC_J_STR) {
        int64_t cp = vc_j_as_index(x, v, "%c");
        if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000)) vc_j_raise(x, "%%c arg not in range(0x110000)");
        vc_j_putcp(x, &t, (uint32_t)cp);
    } else if (s->type == 'c') {
        if (v.u.s->len != 1) vc_j_raise(x, "%%c requires int or char");
        vc_j_puts_str(x, &t, v.u.s);
    } else {
        vc_j_put_repr(x, &t, v);
    }
    vc_jv r = vc_j_done(x, &t);
    size_t n = s->prec >= 0 && s->prec < (int64_t)r.u.s->len && s->type != 'c' ? vc_j_offset(r.u.s, (size_t)s->prec)
                                                                               : r.u.s->n;
    struct vc_jspec pad = *s;
    pad.fill = ' ';
    pad.align = s->align == '<' ? '<' : '>';
    vc_j_put_padded(x, b, "", r.u.s->p, n, &pad);
}

static void put_integer(struct pct *f, struct vc_jbuf *b, vc_jv v, const struct vc_jspec *s) {
    vc_jx *x = f->x;
    char t = s->type;
    bool hex = t == 'x' || t == 'X';
    if (v.t == VC_J_FLOAT && !hex && t != 'o' && v.u.f - v.u.f == 0) v = vc_j_double_to_int(x, v.u.f);
    if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
    if (!vc_j_is_int(v)) vc_j_raise(x, "%%%c format: a number is required, not %s", t, vc_j_type_name(v));
    vc_jv d = vc_j_digits(x, v, hex ? 16 : t == 'o' ? 8 : 10, t == 'X');
    struct vc_jbuf digits = { 0 };
    if (s->prec > (int64_t)d.u.s->n) vc_j_putn(x, &digits, "0", 1, (size_t)(s->prec - (int64_t)d.u.s->n));
    vc_j_puts_str(x, &digits, d.u.s);
    char sign[8] = "";
    strcat(sign, vc_j_int_negative(v) ? "-" : s->sign == '+' ? "+" : s->sign == ' ' ? " " : "");
    if (s->alt && (hex || t == 'o')) strncat(sign, t == 'x' ? "0x" : t == 'X' ? "0X" : "0o", 3);
    vc_j_put_padded(x, b, sign, digits.p, digits.n, s);
}

static void put_one(struct pct *f, struct vc_jbuf *b) {
    vc_jx *x = f->x;
    struct vc_jspec s = { .fill = ' ', .align = '>', .width = 0, .prec = -1 };
    vc_jv v = vc_j_missing();
    bool zero = false, left = false;
    if (f->at < f->n && f->p[f->at] == '(') v = named_arg(f);
    for (; f->at < f->n && f->p[f->at] && strchr("-+ #0", f->p[f->at]); f->at++) {
        char c = f->p[f->at];
        if (c == '-') left = true;
        else if (c == '0') zero = true;
        else if (c == '#') s.alt = true;
        else if (s.sign != '+') s.sign = c;
    }
    s.width = star_or_number(f, 0);
    if (s.width < 0) {
        left = true;
        s.width = -s.width;
    }
    if (f->at < f->n && f->p[f->at] == '.') {
        f->at++;
        int64_t prec = star_or_number(f, 0);
        s.prec = VC_MAX(prec, 0);
    }
    while (f->at < f->n && (f->p[f->at] == 'h' || f->p[f->at] == 'l' || f->p[f->at] == 'L')) f->at++;
    if (f->at >= f->n) vc_j_raise(x, "incomplete format");
    s.type = f->p[f->at++];
    if (s.type == '%') {
        vc_j_putc(x, b, '%');
        return;
    }
    if (left) s.align = '<';
    else if (zero) s.fill = '0', s.align = '=';
    if (!strchr("sracdiuxXoeEfFgG", s.type) || !s.type)
        vc_j_raise(x, "unsupported format character '%c'", s.type >= 32 && s.type < 127 ? s.type : '?');
    if (!vc_j_given(v)) v = next_arg(f);
    if (strchr("srac", s.type)) {
        put_text(f, b, v, &s);
    } else if (strchr("diuxXo", s.type)) {
        if (s.type != 'x' && s.type != 'X' && s.type != 'o') s.type = 'd';
        put_integer(f, b, v, &s);
    } else {
        if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
        if (!vc_j_is_num(v)) vc_j_raise(x, "must be real number, not %s", vc_j_type_name(v));
        vc_j_put_spec(x, b, vc_j_float(vc_j_to_double(x, v)), &s);
    }
}

vc_jv vc_j_percent(vc_jx *x, vc_jv fmt, vc_jv args, const struct vc_jcall *kw) {
    if (kw) {   /* the format filter: positional or keyword arguments, not both */
        args = vc_j_tuple(x, kw->n, kw->v);
        if (kw->n && kw->n_kw) vc_j_raise(x, "can't handle positional and keyword arguments at the same time");
        if (kw->n_kw) args = vc_j_dict(x);
        for (size_t i = 0; i < kw->n_kw; i++) vc_j_set(x, args.u.d, vc_j_wrap(kw->kw[i].name), kw->kw[i].v);
    }
    struct pct f = { .x = x, .p = fmt.u.s->p, .n = fmt.u.s->n, .args = args, .escape = fmt.sub };
    struct vc_jbuf b = { 0 };
    while (f.at < f.n) {
        const char *hit = memchr(f.p + f.at, '%', f.n - f.at);
        size_t k = hit ? (size_t)(hit - f.p) : f.n;
        vc_j_put(x, &b, f.p + f.at, k - f.at);
        f.at = k + 1;
        if (hit) put_one(&f, &b);
    }
    bool sequence = args.t == VC_J_DICT || args.t == VC_J_LIST;     /* these may be left over */
    if (!f.named && (args.t == VC_J_TUPLE ? f.next < args.u.l->n : !f.next && !sequence))
        vc_j_raise(x, "not all arguments converted during string formatting");
    vc_jv r = vc_j_done(x, &b);
    r.sub = fmt.sub;
    return r;
}
