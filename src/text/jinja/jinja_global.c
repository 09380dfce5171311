/* SPDX-License-Identifier: Apache-2.0
 * Functions that every template sees: range, dict, namespace, cycler, joiner, lipsum, raise_exception, strftime_now. */
#include <string.h>

#include "text/jinja/jinja_method.h"

#define GLOBAL(name) static vc_jv name(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c)
#define UNUSED (void)x, (void)self, (void)arg, (void)c

enum { MAX_RANGE = 100000 };    /* of Jinja's sandbox */

GLOBAL(g_range) {
    UNUSED;
    int64_t start = 0, stop = vc_j_as_index(x, arg[0], "range()'s argument"), step = 1;
    if (vc_j_given(arg[1])) {
        start = stop;
        stop = vc_j_as_index(x, arg[1], "range()'s argument");
    }
    if (vc_j_given(arg[2])) step = vc_j_as_index(x, arg[2], "range()'s step");
    if (step == 0) vc_j_raise(x, "range() arg 3 must not be zero");
    int64_t n = step > 0 ? (start < stop ? (stop - start - 1) / step + 1 : 0)
                         : (stop < start ? (start - stop - 1) / -step + 1 : 0);
    if (n > MAX_RANGE) vc_j_raise(x, "range too big: ranges larger than %d are not allowed", MAX_RANGE);
    struct vc_jrange *r = VC_J_NEW(x, struct vc_jrange);
    *r = (struct vc_jrange){ start, stop, step, n };
    return (vc_jv){ .t = VC_J_RANGE, .u.r = r };
}

/* dict(mapping or pairs, **kwargs), also behind namespace(). */
static vc_jv make_dict(vc_jx *x, const struct vc_jcall *c, const char *what) {
    vc_jv d = vc_j_dict(x), pair;
    if (c->n > 1) vc_j_raise(x, "%s expected at most 1 argument, got %zu", what, c->n);
    if (c->n == 1 && (c->v[0].t == VC_J_DICT || c->v[0].t == VC_J_NS)) {
        for (size_t i = 0; i < c->v[0].u.d->n; i++) vc_j_set(x, d.u.d, c->v[0].u.d->e[i].k, c->v[0].u.d->e[i].v);
    } else if (c->n == 1) {
        struct vc_jit it = vc_j_iter(x, c->v[0]);
        while (vc_j_next(x, &it, &pair)) {
            vc_jv l = vc_j_to_list(x, pair);
            if (l.u.l->n != 2)
                vc_j_raise(x, "a dictionary update sequence element has length %zu; 2 is required", l.u.l->n);
            vc_j_set(x, d.u.d, l.u.l->v[0], l.u.l->v[1]);
        }
    }
    for (size_t i = 0; i < c->n_kw; i++) vc_j_set(x, d.u.d, vc_j_wrap(c->kw[i].name), c->kw[i].v);
    return d;
}

GLOBAL(g_dict) { UNUSED; return make_dict(x, c, "dict"); }
GLOBAL(g_namespace) {
    UNUSED;
    vc_jv d = make_dict(x, c, "namespace");
    d.t = VC_J_NS;
    return d;
}

static vc_jv make_cycle(vc_jx *x, enum vc_jtype t, size_t n, const vc_jv *v) {
    struct vc_jcycle *k = VC_J_NEW(x, struct vc_jcycle);
    k->l = vc_j_tuple(x, n, v).u.l;
    return (vc_jv){ .t = (uint8_t)t, .u.cyc = k };
}

GLOBAL(g_cycler) {
    UNUSED;
    if (!c->n || c->n_kw) vc_j_raise(x, "at least one item has to be provided to cycler()");
    return make_cycle(x, VC_J_CYCLER, c->n, c->v);
}

GLOBAL(g_joiner) {
    UNUSED;
    vc_jv sep = vc_j_given(arg[0]) ? arg[0] : vc_j_lit(x, ", ");
    return make_cycle(x, VC_J_JOINER, 1, &sep);
}

/* Placeholder text. Jinja's is random; this one is always the same. */
GLOBAL(g_lipsum) {
    UNUSED;
    static const char para[] =
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.";
    int64_t n = vc_j_given(arg[0]) ? vc_j_as_index(x, arg[0], "lipsum()'s n") : 5;
    bool html = !vc_j_given(arg[1]) || vc_j_truth(arg[1]);
    struct vc_jbuf b = { 0 };
    for (int64_t i = 0; i < n; i++) {
        if (i) vc_j_puts(x, &b, html ? "\n" : "\n\n");
        if (html) vc_j_puts(x, &b, "<p>");
        vc_j_puts(x, &b, para);
        if (html) vc_j_puts(x, &b, "</p>");
        vc_j_step(x, 1);
    }
    vc_jv r = vc_j_done(x, &b);
    r.sub = html;
    return r;
}

GLOBAL(g_raise) {
    UNUSED;
    vc_j_raise_plain(x, vc_j_to_str(x, arg[0]).u.s);
}

GLOBAL(g_strftime) { UNUSED; return vc_j_strftime(x, vc_j_need_str(x, arg[0], "strftime_now's format"), x->now); }

static const struct vc_jfn table[] = {
    { "range", g_range, "_ _ _", 1, 0 },
    { "dict", g_dict, "*", 0, 0 },
    { "namespace", g_namespace, "*", 0, 0 },
    { "cycler", g_cycler, "*", 0, 0 },
    { "joiner", g_joiner, "sep", 0, 0 },
    { "lipsum", g_lipsum, "n html min max", 0, 0 },
    { "raise_exception", g_raise, "message", 1, 0 },
    { "strftime_now", g_strftime, "format", 1, 0 },
};

const struct vc_jfn *vc_j_global(const char *name, size_t n) { return vc_j_fn_in(table, VC_ARRAY_LEN(table), name, n); }
