/* SPDX-License-Identifier: Apache-2.0
 * map, select, reject, selectattr, rejectattr. In Jinja they are generators; here they are computed at once and handed out
 * once, so an error shows where the filter stands and not where its result is used. */
#include "text/jinja/jinja_filter.h"

/* Positional arguments from `from` on, with a first one for the item, and all keywords. */
static struct vc_jcall rest_call(vc_jx *x, const struct vc_jcall *c, size_t from) {
    struct vc_jcall r = { .kw = c->kw, .n_kw = c->n_kw };
    r.n = c->n > from ? c->n - from + 1 : 1;
    vc_jv *v = vc_j_array(x, r.n, sizeof *v);
    for (size_t i = 1; i < r.n; i++) v[i] = c->v[from + i - 1];
    r.v = v;
    return r;
}

static vc_jv apply_to(vc_jx *x, const struct vc_jfn *f, const char *what, struct vc_jcall *call, vc_jv item) {
    vc_jv *v = vc_j_array(x, call->n, sizeof *v);
    v[0] = item;
    for (size_t i = 1; i < call->n; i++) v[i] = call->v[i];
    struct vc_jcall one = { v, call->n, call->kw, call->n_kw };
    return vc_j_apply(x, f, what, item, &one);
}

static const struct vc_jfn *by_name(vc_jx *x, vc_jv name, bool filter) {
    const struct vc_jstr *s = vc_j_need_str(x, name, filter ? "the name of a filter" : "the name of a test");
    const struct vc_jfn *f = filter ? vc_j_filter(s->p, s->n) : vc_j_test(s->p, s->n);
    if (!f) vc_j_raise(x, "no %s named '%.*s'", filter ? "filter" : "test", (int)VC_MIN(s->n, 64u), s->p);
    return f;
}

VC_J_FILTER(map) {
    VC_J_UNUSED;
    vc_jv out = vc_j_list(x, 0), item, attribute = vc_j_missing(), def = vc_j_missing();
    if (!vc_j_truth(arg[0])) return vc_j_iter_of(x, out, "sync_do_map");      /* none and undefined too */
    if (c->n < 2) {
        for (size_t i = 0; i < c->n_kw; i++) {
            if (vc_j_str_is(c->kw[i].name, "attribute")) attribute = c->kw[i].v;
            else if (vc_j_str_is(c->kw[i].name, "default")) def = c->kw[i].v;
            else
                vc_j_raise(x, "unexpected keyword argument '%.*s'", (int)VC_MIN(c->kw[i].name->n, 64u),
                           c->kw[i].name->p);
        }
        if (!vc_j_given(attribute)) vc_j_raise(x, "map requires a filter argument");
    }
    struct vc_jit it = vc_j_iter(x, arg[0]);
    const struct vc_jfn *f = vc_j_given(attribute) ? NULL : by_name(x, c->v[1], true);
    struct vc_jcall call = rest_call(x, c, 2);
    while (vc_j_next(x, &it, &item)) {
        vc_jv v = f ? apply_to(x, f, "filter", &call, item) : vc_j_attr_path(x, item, attribute);
        if (!f && v.t == VC_J_UNDEF && vc_j_has(def)) v = def;
        vc_j_push(x, out, v);
    }
    return vc_j_iter_of(x, out, "sync_do_map");
}

static vc_jv pick(vc_jx *x, vc_jv seq, const struct vc_jcall *c, bool attr, bool keep, const char *kind) {
    size_t off = attr ? 2 : 1;
    vc_jv out = vc_j_list(x, 0), item;
    if (!vc_j_truth(seq)) return vc_j_iter_of(x, out, kind);
    if (attr && c->n < 2) vc_j_raise(x, "missing parameter for attribute name");
    struct vc_jit it = vc_j_iter(x, seq);
    const struct vc_jfn *f = c->n > off ? by_name(x, c->v[off], false) : NULL;
    struct vc_jcall call = rest_call(x, c, off + 1);
    while (vc_j_next(x, &it, &item)) {
        vc_jv v = attr ? vc_j_attr_path(x, item, c->v[1]) : item;
        bool yes = vc_j_truth(f ? apply_to(x, f, "test", &call, v) : v);
        if (yes == keep) vc_j_push(x, out, item);
    }
    return vc_j_iter_of(x, out, kind);
}

VC_J_FILTER(select) { VC_J_UNUSED; return pick(x, arg[0], c, false, true, "sync_do_select"); }
VC_J_FILTER(reject) { VC_J_UNUSED; return pick(x, arg[0], c, false, false, "sync_do_reject"); }
VC_J_FILTER(selectattr) { VC_J_UNUSED; return pick(x, arg[0], c, true, true, "sync_do_selectattr"); }
VC_J_FILTER(rejectattr) { VC_J_UNUSED; return pick(x, arg[0], c, true, false, "sync_do_rejectattr"); }
