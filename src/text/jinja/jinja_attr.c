/* SPDX-License-Identifier: Apache-2.0
 * Attributes, subscripts and slices, with the sandbox: methods that would change a value are not there. */
#include <string.h>

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"

static vc_jv bound(vc_jx *x, vc_jv obj, const struct vc_jfn *f) {
    struct vc_jmethod *m = VC_J_NEW(x, struct vc_jmethod);
    *m = (struct vc_jmethod){ obj, f };
    return (vc_jv){ .t = VC_J_METHOD, .u.bm = m };
}

static bool unsafe_name(vc_jv obj, const struct vc_jstr *name) {
    static const char *const list[] = { "append", "clear",  "pop",    "reverse", "insert",
                                        "sort",   "extend", "remove", NULL };
    static const char *const dict[] = { "clear", "pop", "popitem", "setdefault", "update", NULL };
    const char *const *t = obj.t == VC_J_LIST ? list : obj.t == VC_J_DICT ? dict : NULL;
    for (; t && *t; t++)
        if (vc_j_str_is(name, *t)) return true;
    return name->n > 4 && !memcmp(name->p, "__", 2) && !memcmp(name->p + name->n - 2, "__", 2);
}

static vc_jv macro_attr(vc_jx *x, const struct vc_jmacro *m, const struct vc_jstr *name) {
    const struct vc_jnode *n = m->node;
    if (vc_j_str_is(name, "name")) return m->name ? vc_j_wrap(m->name) : vc_j_none();
    if (vc_j_str_is(name, "catch_kwargs")) return vc_j_bool(n->flags & VC_JF_KWARGS);
    if (vc_j_str_is(name, "catch_varargs")) return vc_j_bool(n->flags & VC_JF_VARARGS);
    if (vc_j_str_is(name, "caller")) return vc_j_bool(n->flags & VC_JF_CALLER);
    if (!vc_j_str_is(name, "arguments")) return vc_j_missing();
    vc_jv t = vc_j_tuple(x, n->list.n, NULL);
    for (uint32_t i = 0; i < n->list.n; i++) t.u.l->v[i] = vc_j_wrap(x->prog->names[n->list.v[i]->id]);
    return t;
}

static vc_jv number_attr(vc_jv v, const struct vc_jstr *name) {
    if (vc_j_str_is(name, "real")) return v.t == VC_J_BOOL ? vc_j_int(v.u.b) : v;
    if (vc_j_str_is(name, "imag")) return v.t == VC_J_FLOAT ? vc_j_float(0) : vc_j_int(0);
    if (v.t != VC_J_FLOAT && vc_j_str_is(name, "numerator")) return v.t == VC_J_BOOL ? vc_j_int(v.u.b) : v;
    if (v.t != VC_J_FLOAT && vc_j_str_is(name, "denominator")) return vc_j_int(1);
    return vc_j_missing();
}

/* Python's getattr(): MISSING when there is no such attribute. */
static vc_jv python_attr(vc_jx *x, vc_jv obj, const struct vc_jstr *name) {
    const struct vc_jfn *f = vc_j_method(obj.t, name->p, name->n);
    if (!f && obj.t == VC_J_STR && obj.sub) f = vc_j_method(VC_J_AS_MARKUP, name->p, name->n);
    if (f && obj.t == VC_J_VIEW && obj.sub == VC_J_VALUES) f = NULL;
    if (f) return bound(x, obj, f);
    switch (obj.t) {
    case VC_J_NS: {
        const vc_jv *v = vc_j_find(x, obj.u.d, vc_j_wrap(name));
        return v ? *v : vc_j_missing();
    }
    case VC_J_LOOP: return vc_j_loop_attr(x, obj.u.loop, name);
    case VC_J_MACRO: return macro_attr(x, obj.u.m, name);
    case VC_J_BOOL: case VC_J_INT: case VC_J_BIG: case VC_J_FLOAT: return number_attr(obj, name);
    case VC_J_TUPLE:
        if (obj.sub && vc_j_str_is(name, "grouper")) return obj.u.l->v[0];
        if (obj.sub && vc_j_str_is(name, "list")) return obj.u.l->v[1];
        return vc_j_missing();
    case VC_J_CYCLER:
        if (vc_j_str_is(name, "current")) return obj.u.cyc->l->v[obj.u.cyc->at];
        if (vc_j_str_is(name, "pos")) return vc_j_int((int64_t)obj.u.cyc->at);
        if (vc_j_str_is(name, "items")) {
            vc_jv t = vc_j_tuple(x, obj.u.cyc->l->n, obj.u.cyc->l->v);
            return t;
        }
        return vc_j_missing();
    case VC_J_RANGE:
        if (vc_j_str_is(name, "start")) return vc_j_int(obj.u.r->start);
        if (vc_j_str_is(name, "stop")) return vc_j_int(obj.u.r->stop);
        return vc_j_str_is(name, "step") ? vc_j_int(obj.u.r->step) : vc_j_missing();
    case VC_J_SELF:
        for (uint32_t i = 0; i < x->prog->blocks.n; i++) {
            const struct vc_jnode *blk = x->prog->blocks.v[i];
            if (vc_j_str_same(x->prog->names[blk->id], name)) return (vc_jv){ .t = VC_J_BLOCK, .u.blk = blk };
        }
        return vc_j_missing();
    default: return vc_j_missing();
    }
}

/* Python's obj[key]: MISSING for TypeError and LookupError. */
static vc_jv python_item(vc_jx *x, vc_jv obj, vc_jv key) {
    if (obj.t == VC_J_DICT) {
        if (key.t == VC_J_LIST || key.t == VC_J_DICT || key.t == VC_J_VIEW) return vc_j_missing();
        const vc_jv *v = vc_j_find(x, obj.u.d, key);
        return v ? *v : vc_j_missing();
    }
    if (key.t != VC_J_INT && key.t != VC_J_BOOL) return vc_j_missing();
    int64_t i = vc_j_small(key), n;
    switch (obj.t) {
    case VC_J_STR: case VC_J_BYTES: case VC_J_LIST: case VC_J_TUPLE: case VC_J_RANGE: n = vc_j_len(x, obj); break;
    default: return vc_j_missing();
    }
    if (i < 0) i += n;
    if (i < 0 || i >= n) return vc_j_missing();
    if (obj.t == VC_J_RANGE) return vc_j_int(obj.u.r->start + i * obj.u.r->step);
    if (obj.t == VC_J_BYTES) return vc_j_int((unsigned char)obj.u.s->p[i]);
    if (obj.t != VC_J_STR) return obj.u.l->v[i];
    size_t at = vc_j_offset(obj.u.s, (size_t)i), end = at + 1;
    vc_j_step(x, obj.u.s->len == obj.u.s->n ? 0 : (uint64_t)i / 64);
    while (end < obj.u.s->n && ((unsigned char)obj.u.s->p[end] & 0xC0) == 0x80) end++;
    vc_jv r = vc_j_substr(x, obj.u.s, at, end - at);
    r.sub = obj.sub;
    return r;
}

vc_jv vc_j_getattr(vc_jx *x, vc_jv obj, vc_jv name) {
    if (obj.t == VC_J_UNDEF) vc_j_raise_undef(x, obj);
    if (unsafe_name(obj, name.u.s)) return vc_j_undef_attr(x, obj, name, true);
    vc_jv v = python_attr(x, obj, name.u.s);
    if (vc_j_given(v)) return v;
    v = python_item(x, obj, name);
    return vc_j_given(v) ? v : vc_j_undef_attr(x, obj, name, false);
}

vc_jv vc_j_getitem(vc_jx *x, vc_jv obj, vc_jv key) {
    if (obj.t == VC_J_UNDEF) vc_j_raise_undef(x, obj);
    vc_jv v = python_item(x, obj, key);
    if (vc_j_given(v)) return v;
    if (key.t == VC_J_STR) {
        if (unsafe_name(obj, key.u.s)) return vc_j_undef_attr(x, obj, key, true);
        v = python_attr(x, obj, key.u.s);
        if (vc_j_given(v)) return v;
    }
    return vc_j_undef_attr(x, obj, key, false);
}

/* slice.indices(n) of Python. Returns the number of items. */
static int64_t slice_range(vc_jx *x, int64_t n, vc_jv a, vc_jv b, vc_jv s, int64_t *start, int64_t *step) {
    *step = s.t == VC_J_NONE ? 1 : vc_j_as_index(x, s, "a slice's step");
    if (*step == 0) vc_j_raise(x, "slice step cannot be zero");
    bool down = *step < 0;
    int64_t lo = down ? -1 : 0, hi = down ? n - 1 : n, stop;
    *start = a.t == VC_J_NONE ? (down ? hi : lo) : vc_j_as_index(x, a, "a slice's start");
    stop = b.t == VC_J_NONE ? (down ? lo : hi) : vc_j_as_index(x, b, "a slice's stop");
    if (a.t != VC_J_NONE) *start = VC_MIN(VC_MAX(*start < 0 ? *start + n : *start, lo), hi);
    if (b.t != VC_J_NONE) stop = VC_MIN(VC_MAX(stop < 0 ? stop + n : stop, lo), hi);
    if (down) return stop < *start ? (*start - stop - 1) / -*step + 1 : 0;
    return *start < stop ? (stop - *start - 1) / *step + 1 : 0;
}

vc_jv vc_j_slice(vc_jx *x, vc_jv obj, vc_jv a, vc_jv b, vc_jv s) {
    int64_t start, step, k;
    if (obj.t == VC_J_UNDEF) vc_j_raise_undef(x, obj);
    if (obj.t == VC_J_LIST || obj.t == VC_J_TUPLE) {
        k = slice_range(x, (int64_t)obj.u.l->n, a, b, s, &start, &step);
        vc_jv r = vc_j_list(x, (size_t)k);
        r.t = obj.t;
        vc_j_step(x, (uint64_t)k);
        for (int64_t i = 0; i < k; i++) vc_j_push(x, r, obj.u.l->v[start + i * step]);
        return r;
    }
    if (obj.t == VC_J_RANGE) {
        k = slice_range(x, obj.u.r->n, a, b, s, &start, &step);
        struct vc_jrange *r = VC_J_NEW(x, struct vc_jrange);
        int64_t st = obj.u.r->step * step, from = obj.u.r->start + start * obj.u.r->step;
        *r = (struct vc_jrange){ from, from + k * st, st, k };
        return (vc_jv){ .t = VC_J_RANGE, .u.r = r };
    }
    if (obj.t != VC_J_STR) return vc_j_undef_attr(x, obj, vc_j_lit(x, "slice"), false);
    k = slice_range(x, (int64_t)obj.u.s->len, a, b, s, &start, &step);
    vc_j_step(x, obj.u.s->len == obj.u.s->n ? 0 : obj.u.s->n / 64);
    vc_jv r;
    if (step == 1) {
        size_t from = vc_j_offset(obj.u.s, (size_t)start), to = k ? vc_j_offset(obj.u.s, (size_t)(start + k)) : from;
        r = vc_j_substr(x, obj.u.s, from, to - from);
    } else {
        struct vc_jbuf out = { 0 };
        vc_j_step(x, obj.u.s->len);
        size_t *at = vc_j_array(x, obj.u.s->len + 1, sizeof *at), c = 0;
        for (size_t i = 0; i < obj.u.s->n; i++)
            if (((unsigned char)obj.u.s->p[i] & 0xC0) != 0x80) at[c++] = i;
        at[c] = obj.u.s->n;
        for (int64_t i = 0; i < k; i++) {
            size_t e = (size_t)(start + i * step);
            vc_j_put(x, &out, obj.u.s->p + at[e], at[e + 1] - at[e]);
        }
        r = vc_j_done(x, &out);
    }
    r.sub = obj.sub;
    return r;
}

vc_jv vc_j_attr_path(vc_jx *x, vc_jv obj, vc_jv path) {
    if (path.t != VC_J_STR) return vc_j_getitem(x, obj, path);
    const struct vc_jstr *s = path.u.s;
    for (size_t i = 0; i <= s->n;) {
        const char *dot = memchr(s->p + i, '.', s->n - i);
        size_t end = dot ? (size_t)(dot - s->p) : s->n;
        vc_jv part = vc_j_substr(x, s, i, end - i), number;
        bool digits = end > i;
        for (size_t k = i; k < end; k++) digits = digits && s->p[k] >= '0' && s->p[k] <= '9';
        if (digits && vc_j_parse_int(x, s->p + i, end - i, 10, &number)) part = number;
        obj = vc_j_getitem(x, obj, part);
        i = end + 1;
    }
    return obj;
}
