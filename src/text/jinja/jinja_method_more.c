/* SPDX-License-Identifier: Apache-2.0
 * Methods that are seldom used: translate and maketrans of strings, those of numbers, of Markup and of views of dicts.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_entity.h"
#include "text/jinja/jinja_format.h"
#include "text/jinja/jinja_method.h"

#define METHOD(name) vc_jv vc_jm_##name(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c)
#define UNUSED (void)x, (void)self, (void)arg, (void)c

/* ---- translate ---- */
static vc_jv int_key(vc_jx *x, const struct vc_jstr *s) {
    uint32_t cp = 0;
    if (s->len != 1) vc_j_raise(x, "string keys in translate table must be of length 1");
    vc_utf8_decode(s->p, s->n, &cp);
    return vc_j_int(cp);
}

METHOD(maketrans) {
    UNUSED;
    vc_jv d = vc_j_dict(x);
    if (!vc_j_given(arg[1])) {
        if (arg[0].t != VC_J_DICT) vc_j_raise(x, "if you give only one argument to maketrans it must be a dict");
        for (size_t i = 0; i < arg[0].u.d->n; i++) {
            const struct vc_jent *e = &arg[0].u.d->e[i];
            if (e->k.t != VC_J_STR && !vc_j_is_int(e->k))
                vc_j_raise(x, "keys in translate table must be strings or integers");
            vc_j_set(x, d.u.d, e->k.t == VC_J_STR ? int_key(x, e->k.u.s) : e->k, e->v);
        }
        return d;
    }
    const struct vc_jstr *from = vc_j_need_str(x, arg[0], "maketrans's first argument"),
                         *to = vc_j_need_str(x, arg[1], "maketrans's second argument");
    if (from->len != to->len) vc_j_raise(x, "the first two maketrans arguments must have equal length");
    uint32_t a = 0, b = 0;
    for (size_t i = 0, k = 0; i < from->n;) {
        i += VC_MAX(vc_utf8_decode(from->p + i, from->n - i, &a), 1u);
        k += VC_MAX(vc_utf8_decode(to->p + k, to->n - k, &b), 1u);
        vc_j_set(x, d.u.d, vc_j_int(a), vc_j_int(b));
    }
    if (!vc_j_given(arg[2])) return d;
    const struct vc_jstr *drop = vc_j_need_str(x, arg[2], "maketrans's third argument");
    for (size_t i = 0; i < drop->n;) {
        i += VC_MAX(vc_utf8_decode(drop->p + i, drop->n - i, &a), 1u);
        vc_j_set(x, d.u.d, vc_j_int(a), vc_j_none());
    }
    return d;
}

/* What the table says of a character; MISSING: nothing. */
static vc_jv looked_up(vc_jx *x, vc_jv table, uint32_t cp) {
    if (table.t == VC_J_DICT) {
        const vc_jv *v = vc_j_find(x, table.u.d, vc_j_int(cp));
        return v ? *v : vc_j_missing();
    }
    if (table.t != VC_J_LIST && table.t != VC_J_TUPLE && table.t != VC_J_STR)
        vc_j_raise(x, "'%s' object is not subscriptable", vc_j_type_name(table));
    if ((int64_t)cp >= vc_j_len(x, table)) return vc_j_missing();
    return vc_j_getitem(x, table, vc_j_int(cp));
}

METHOD(translate) {
    UNUSED;
    struct vc_jbuf b = { 0 };
    const struct vc_jstr *s = self.u.s;
    uint32_t cp = 0;
    for (size_t i = 0, w; i < s->n; i += w) {
        w = VC_MAX(vc_utf8_decode(s->p + i, s->n - i, &cp), 1u);
        vc_jv v = looked_up(x, arg[0], cp);
        vc_j_step(x, 1);
        if (!vc_j_given(v)) {
            vc_j_put(x, &b, s->p + i, w);
        } else if (v.t == VC_J_STR) {
            vc_j_puts_str(x, &b, v.u.s);
        } else if (v.t == VC_J_INT && v.u.i >= 0 && v.u.i <= 0x10FFFF && !(v.u.i >= 0xD800 && v.u.i < 0xE000)) {
            vc_j_putcp(x, &b, (uint32_t)v.u.i);
        } else if (v.t != VC_J_NONE) {
            vc_j_raise(x, "character mapping must return integer, None or str");
        }
    }
    return vc_j_done(x, &b);
}

/* ---- numbers ---- */
static vc_jv plain_int(vc_jx *x, vc_jv v) { return vc_j_arith(x, VC_J_ADD, v, vc_j_int(0)); }

METHOD(bit_length) {
    UNUSED;
    return vc_j_int(vc_j_truth(self) ? (int64_t)vc_j_digits(x, plain_int(x, self), 2, false).u.s->n : 0);
}

METHOD(bit_count) {
    UNUSED;
    const struct vc_jstr *s = vc_j_digits(x, plain_int(x, self), 2, false).u.s;
    int64_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += s->p[i] == '1';
    return vc_j_int(n);
}

METHOD(conjugate) { UNUSED; return self.t == VC_J_FLOAT ? self : plain_int(x, self); }

METHOD(as_integer_ratio) {
    UNUSED;
    if (self.t != VC_J_FLOAT) return vc_j_tuple(x, 2, (vc_jv[]){ plain_int(x, self), vc_j_int(1) });
    if (!isfinite(self.u.f)) vc_j_raise(x, "cannot convert Infinity or NaN to integer ratio");
    int e;
    double m = frexp(self.u.f, &e);     /* |m| in [0.5, 1) or 0 */
    while (m != trunc(m)) {
        m *= 2;
        e--;
    }
    vc_jv num = vc_j_int((int64_t)m), two = vc_j_int(2), scale = vc_j_arith(x, VC_J_POW, two, vc_j_int(e < 0 ? -e : e));
    if (e >= 0 || m == 0)
        return vc_j_tuple(x, 2, (vc_jv[]){ m == 0 ? num : vc_j_arith(x, VC_J_MUL, num, scale), vc_j_int(1) });
    return vc_j_tuple(x, 2, (vc_jv[]){ num, scale });
}

METHOD(float_hex) {
    UNUSED;
    double f = fabs(self.u.f);
    char s[64];
    int e = 0;
    if (!isfinite(self.u.f)) return vc_j_to_str(x, self);
    if (f != 0) {
        frexp(f, &e);
        e = VC_MAX(e - 1, -1022);
        f = ldexp(f, -e);
    }
    uint64_t frac = (uint64_t)ldexp(f - trunc(f), 52);
    if (f == 0) snprintf(s, sizeof s, "%s0x0.0p+0", signbit(self.u.f) ? "-" : "");
    else snprintf(s, sizeof s, "%s0x%d.%013llxp%+d", signbit(self.u.f) ? "-" : "", (int)f, (unsigned long long)frac, e);
    return vc_j_copy(x, s, strlen(s));
}

/* ---- Markup ---- */
METHOD(unescape) { UNUSED; return vc_j_unescape_html(x, self.u.s); }
METHOD(markup_striptags) { UNUSED; return vc_j_striptags(x, self.u.s); }

/* ---- views of dicts ---- */
METHOD(isdisjoint) {
    UNUSED;
    struct vc_jit it = vc_j_iter(x, arg[0]);
    for (vc_jv v; vc_j_next(x, &it, &v);)
        if (vc_j_contains(x, self, v)) return vc_j_bool(false);
    return vc_j_bool(true);
}
