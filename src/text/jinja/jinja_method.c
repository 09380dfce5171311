/* SPDX-License-Identifier: Apache-2.0
 * The table of methods, and the short ones. Methods that would change a list or dict are left out (jinja_attr.c). */
#include "text/jinja/jinja_method.h"

#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_ctype.h"

#define METHOD(name) static vc_jv name(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c)
#define UNUSED (void)x, (void)self, (void)arg, (void)c

METHOD(m_upper) { UNUSED; return vc_j_case(x, self, VC_J_UPPER); }
METHOD(m_lower) { UNUSED; return vc_j_case(x, self, VC_J_LOWER); }
METHOD(m_title) { UNUSED; return vc_j_case(x, self, VC_J_TITLE); }
METHOD(m_capitalize) { UNUSED; return vc_j_case(x, self, VC_J_CAPITALIZE); }
METHOD(m_swapcase) { UNUSED; return vc_j_case(x, self, VC_J_SWAPCASE); }
METHOD(m_casefold) { UNUSED; return vc_j_case(x, self, VC_J_CASEFOLD); }
METHOD(m_format) { UNUSED; return vc_j_format(x, self, c); }

METHOD(m_format_map) {
    UNUSED;
    if (arg[0].t != VC_J_DICT) vc_j_raise(x, "format_map's argument must be a mapping, not %s", vc_j_type_name(arg[0]));
    struct vc_jcall call = { .n_kw = 0 };
    call.kw = vc_j_array(x, arg[0].u.d->n, sizeof *call.kw);
    for (size_t i = 0; i < arg[0].u.d->n; i++)
        if (arg[0].u.d->e[i].k.t == VC_J_STR)
            call.kw[call.n_kw++] = (struct vc_jkw){ arg[0].u.d->e[i].k.u.s, arg[0].u.d->e[i].v };
    return vc_j_format(x, self, &call);
}

METHOD(m_encode) {
    UNUSED;
    if (vc_j_given(arg[0])) {
        const struct vc_jstr *e = vc_j_need_str(x, arg[0], "the encoding");
        if (!vc_j_str_is(e, "utf-8") && !vc_j_str_is(e, "utf8") && !vc_j_str_is(e, "UTF-8"))
            vc_j_raise(x, "encode() knows utf-8 only");
    }
    return (vc_jv){ .t = VC_J_BYTES, .u.s = self.u.s };
}

METHOD(m_decode) { UNUSED; return vc_j_wrap(self.u.s); }

/* ---- is…(): all characters have the property, and there is at least one ---- */
static vc_jv all_are(const struct vc_jstr *s, bool (*is)(uint32_t)) {
    uint32_t cp = 0;
    for (size_t i = 0, w; i < s->n; i += w) {
        w = vc_utf8_decode(s->p + i, s->n - i, &cp);
        if (w == 0 || !is(cp)) return vc_j_bool(false);
    }
    return vc_j_bool(s->n > 0);
}
static bool is_alnum(uint32_t cp) {
    return vc_j_is_alpha(cp) || vc_j_is_decimal(cp) || vc_j_is_digit(cp) || vc_j_is_numeric(cp);
}
METHOD(m_isalpha) { UNUSED; return all_are(self.u.s, vc_j_is_alpha); }
METHOD(m_isalnum) { UNUSED; return all_are(self.u.s, is_alnum); }
METHOD(m_isdigit) { UNUSED; return all_are(self.u.s, vc_j_is_digit); }
METHOD(m_isdecimal) { UNUSED; return all_are(self.u.s, vc_j_is_decimal); }
METHOD(m_isnumeric) { UNUSED; return all_are(self.u.s, vc_j_is_numeric); }
METHOD(m_isspace) { UNUSED; return all_are(self.u.s, vc_j_space); }
METHOD(m_isprintable) { UNUSED; return self.u.s->n ? all_are(self.u.s, vc_j_printable) : vc_j_bool(true); }
METHOD(m_isascii) { UNUSED; return vc_j_bool(self.u.s->n == self.u.s->len); }

METHOD(m_isidentifier) {
    UNUSED;
    const struct vc_jstr *s = self.u.s;
    uint32_t cp = 0;
    for (size_t i = 0, w; i < s->n; i += w) {
        w = vc_utf8_decode(s->p + i, s->n - i, &cp);
        if (w == 0 || !(vc_j_is_alpha(cp) || cp == '_' || (i && vc_j_is_decimal(cp)))) return vc_j_bool(false);
    }
    return vc_j_bool(s->n > 0);
}

/* wanted: the case that cased characters must have. */
static vc_jv one_case(const struct vc_jstr *s, bool upper) {
    uint32_t cp = 0;
    bool any = false;
    for (size_t i = 0, w; i < s->n; i += w) {
        w = vc_utf8_decode(s->p + i, s->n - i, &cp);
        bool up = vc_j_is_upper(cp), low = vc_j_is_lower(cp);
        if (w == 0 || (upper ? low : up) || vc_j_is_title(cp)) return vc_j_bool(false);
        any |= upper ? up : low;
    }
    return vc_j_bool(any);
}
METHOD(m_isupper) { UNUSED; return one_case(self.u.s, true); }
METHOD(m_islower) { UNUSED; return one_case(self.u.s, false); }

METHOD(m_istitle) {
    UNUSED;
    const struct vc_jstr *s = self.u.s;
    uint32_t cp = 0;
    bool prev = false, any = false;
    for (size_t i = 0, w; i < s->n; i += w) {
        w = vc_utf8_decode(s->p + i, s->n - i, &cp);
        bool up = vc_j_is_upper(cp) || vc_j_is_title(cp), low = vc_j_is_lower(cp);
        if (w == 0 || (up && prev) || (low && !prev)) return vc_j_bool(false);
        prev = up || low;
        any |= prev;
    }
    return vc_j_bool(any);
}

/* ---- lists, tuples, ranges ---- */
METHOD(m_seq_count) {
    UNUSED;
    struct vc_jit it = vc_j_iter(x, self);
    int64_t n = 0;
    for (vc_jv v; vc_j_next(x, &it, &v);) n += vc_j_eq(x, v, arg[0]);
    return vc_j_int(n);
}

METHOD(m_seq_index) {
    UNUSED;
    struct vc_jit it = vc_j_iter(x, self);
    int64_t n = vc_j_len(x, self), from = vc_j_given(arg[1]) ? vc_j_as_index(x, arg[1], "start") : 0,
            to = vc_j_given(arg[2]) ? vc_j_as_index(x, arg[2], "stop") : n, i = 0;
    if (from < 0) from += n;
    if (to < 0) to += n;
    for (vc_jv v; vc_j_next(x, &it, &v); i++)
        if (i >= from && i < to && vc_j_eq(x, v, arg[0])) return vc_j_int(i);
    vc_j_raise(x, "the value is not in the %s", vc_j_type_name(self));
}

METHOD(m_list_copy) { UNUSED; return vc_j_to_list(x, self); }

/* ---- dicts ---- */
METHOD(m_get) {
    UNUSED;
    const vc_jv *v = vc_j_find(x, self.u.d, arg[0]);
    return v ? *v : vc_j_given(arg[1]) ? arg[1] : vc_j_none();
}
METHOD(m_keys) { UNUSED; return (vc_jv){ .t = VC_J_VIEW, .sub = VC_J_KEYS, .u.d = self.u.d }; }
METHOD(m_values) { UNUSED; return (vc_jv){ .t = VC_J_VIEW, .sub = VC_J_VALUES, .u.d = self.u.d }; }
METHOD(m_items) { UNUSED; return (vc_jv){ .t = VC_J_VIEW, .sub = VC_J_ITEMS, .u.d = self.u.d }; }

METHOD(m_dict_copy) {
    UNUSED;
    vc_jv d = vc_j_dict(x);
    for (size_t i = 0; i < self.u.d->n; i++) vc_j_set(x, d.u.d, self.u.d->e[i].k, self.u.d->e[i].v);
    return d;
}

METHOD(m_fromkeys) {
    UNUSED;
    vc_jv d = vc_j_dict(x);
    struct vc_jit it = vc_j_iter(x, arg[0]);
    for (vc_jv v; vc_j_next(x, &it, &v);) vc_j_set(x, d.u.d, v, vc_j_given(arg[1]) ? arg[1] : vc_j_none());
    return d;
}

/* ---- cyclers ---- */
METHOD(m_next) {
    UNUSED;
    struct vc_jcycle *k = self.u.cyc;
    vc_jv v = k->l->v[k->at];
    k->at = (k->at + 1) % k->l->n;
    return v;
}
METHOD(m_reset) {
    UNUSED;
    self.u.cyc->at = 0;
    return vc_j_none();
}

METHOD(m_is_integer) {
    UNUSED;
    return vc_j_bool(self.u.f >= -1e300 && self.u.f <= 1e300 &&
                     self.u.f == vc_j_to_double(x, vc_j_double_to_int(x, self.u.f)));
}

#define S (1u << VC_J_STR)
#define B (1u << VC_J_BYTES)
#define L (1u << VC_J_LIST)
#define T (1u << VC_J_TUPLE)
#define R (1u << VC_J_RANGE)
#define D (1u << VC_J_DICT)
#define LOOP (1u << VC_J_LOOP)
#define CYC (1u << VC_J_CYCLER)
#define F (1u << VC_J_FLOAT)
#define I (1u << VC_J_BOOL | 1u << VC_J_INT | 1u << VC_J_BIG)
#define V (1u << VC_J_VIEW)
#define MARKUP (1u << VC_J_AS_MARKUP)

static const struct vc_jfn table[] = {
    { "capitalize", m_capitalize, "", 0, S },
    { "casefold", m_casefold, "", 0, S },
    { "center", vc_jm_center, "_ _", 1, S },
    { "count", vc_jm_count, "_ _ _", 1, S },
    { "encode", m_encode, "encoding errors", 0, S },
    { "endswith", vc_jm_endswith, "_ _ _", 1, S },
    { "expandtabs", vc_jm_expandtabs, "tabsize", 0, S },
    { "find", vc_jm_find, "_ _ _", 1, S },
    { "format", m_format, "*", 0, S },
    { "format_map", m_format_map, "_", 1, S },
    { "index", vc_jm_index, "_ _ _", 1, S },
    { "isalnum", m_isalnum, "", 0, S },
    { "isalpha", m_isalpha, "", 0, S },
    { "isascii", m_isascii, "", 0, S },
    { "isdecimal", m_isdecimal, "", 0, S },
    { "isdigit", m_isdigit, "", 0, S },
    { "isidentifier", m_isidentifier, "", 0, S },
    { "islower", m_islower, "", 0, S },
    { "isnumeric", m_isnumeric, "", 0, S },
    { "isprintable", m_isprintable, "", 0, S },
    { "isspace", m_isspace, "", 0, S },
    { "istitle", m_istitle, "", 0, S },
    { "isupper", m_isupper, "", 0, S },
    { "join", vc_jm_join, "_", 1, S },
    { "ljust", vc_jm_ljust, "_ _", 1, S },
    { "lower", m_lower, "", 0, S },
    { "lstrip", vc_jm_lstrip, "_", 0, S },
    { "partition", vc_jm_partition, "_", 1, S },
    { "removeprefix", vc_jm_removeprefix, "_", 1, S },
    { "removesuffix", vc_jm_removesuffix, "_", 1, S },
    { "replace", vc_jm_replace, "_ _ _", 2, S },
    { "rfind", vc_jm_rfind, "_ _ _", 1, S },
    { "rindex", vc_jm_rindex, "_ _ _", 1, S },
    { "rjust", vc_jm_rjust, "_ _", 1, S },
    { "rpartition", vc_jm_rpartition, "_", 1, S },
    { "rsplit", vc_jm_rsplit, "sep maxsplit", 0, S },
    { "rstrip", vc_jm_rstrip, "_", 0, S },
    { "split", vc_jm_split, "sep maxsplit", 0, S },
    { "splitlines", vc_jm_splitlines, "keepends", 0, S },
    { "startswith", vc_jm_startswith, "_ _ _", 1, S },
    { "strip", vc_jm_strip, "_", 0, S },
    { "swapcase", m_swapcase, "", 0, S },
    { "title", m_title, "", 0, S },
    { "upper", m_upper, "", 0, S },
    { "zfill", vc_jm_zfill, "_", 1, S },
    { "decode", m_decode, "encoding errors", 0, B },
    { "count", m_seq_count, "_", 1, L | T | R },
    { "index", m_seq_index, "_ _ _", 1, L | T | R },
    { "copy", m_list_copy, "", 0, L },
    { "get", m_get, "_ _", 1, D },
    { "keys", m_keys, "", 0, D },
    { "values", m_values, "", 0, D },
    { "items", m_items, "", 0, D },
    { "copy", m_dict_copy, "", 0, D },
    { "fromkeys", m_fromkeys, "_ _", 1, D },
    { "cycle", vc_j_loop_cycle, "*", 0, LOOP },
    { "changed", vc_j_loop_changed, "*", 0, LOOP },
    { "next", m_next, "", 0, CYC },
    { "reset", m_reset, "", 0, CYC },
    { "is_integer", m_is_integer, "", 0, F },
    { "hex", vc_jm_float_hex, "", 0, F },
    { "conjugate", vc_jm_conjugate, "", 0, F | I },
    { "as_integer_ratio", vc_jm_as_integer_ratio, "", 0, F | I },
    { "bit_length", vc_jm_bit_length, "", 0, I },
    { "bit_count", vc_jm_bit_count, "", 0, I },
    { "maketrans", vc_jm_maketrans, "_ _ _", 1, S },
    { "translate", vc_jm_translate, "_", 1, S },
    { "unescape", vc_jm_unescape, "", 0, MARKUP },
    { "striptags", vc_jm_markup_striptags, "", 0, MARKUP },
    { "isdisjoint", vc_jm_isdisjoint, "_", 1, V },
};

const struct vc_jfn *vc_j_method(unsigned type, const char *name, size_t n) {
    for (size_t i = 0; i < VC_ARRAY_LEN(table); i++)
        if (n && (table[i].types >> type & 1) && table[i].name[0] == name[0] && strlen(table[i].name) == n &&
            !memcmp(table[i].name, name, n))
            return &table[i];
    return NULL;
}
