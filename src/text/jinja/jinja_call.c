/* SPDX-License-Identifier: Apache-2.0
 * Calls: binding of arguments for functions of the environment, macros, and everything else that can be called. */
#include <stdio.h>
#include <string.h>

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"

/* Place of a keyword among the parameter names, or -1. */
static int place_of(const char *params, const struct vc_jstr *name) {
    int at = 0;
    for (const char *p = params; *p; at++) {
        size_t n = strcspn(p, " ");
        if (n == name->n && !memcmp(p, name->p, n) && *p != '_' && *p != '*') return at;
        p += n;
        while (*p == ' ') p++;
    }
    return -1;
}

static size_t count_params(const char *params, bool *rest) {
    size_t n = 0;
    *rest = false;
    for (const char *p = params; *p;) {
        size_t k = strcspn(p, " ");
        if (*p == '*') *rest = true;
        else n++;
        p += k;
        while (*p == ' ') p++;
    }
    return n;
}

vc_jv vc_j_apply(vc_jx *x, const struct vc_jfn *f, const char *what, vc_jv self, const struct vc_jcall *c) {
    vc_jv arg[VC_J_MAX_PARAM] = { { 0 } };
    bool rest;
    size_t n = count_params(f->params, &rest);
    if (c->n > n && !rest) vc_j_raise(x, "%s '%s' takes at most %zu argument(s), got %zu", what, f->name, n, c->n);
    for (size_t i = 0; i < c->n && i < n; i++) arg[i] = c->v[i];
    for (size_t i = 0; i < c->n_kw; i++) {
        int at = place_of(f->params, c->kw[i].name);
        int shown = (int)VC_MIN(c->kw[i].name->n, 64u);
        if (at < 0 && rest) continue;
        if (at < 0) vc_j_raise(x, "%s '%s' has no argument '%.*s'", what, f->name, shown, c->kw[i].name->p);
        if (vc_j_given(arg[at]))
            vc_j_raise(x, "%s '%s' got two values for '%.*s'", what, f->name, shown, c->kw[i].name->p);
        arg[at] = c->kw[i].v;
    }
    for (size_t i = 0; i < f->min; i++)
        if (!vc_j_given(arg[i])) vc_j_raise(x, "%s '%s' misses an argument", what, f->name);
    if (self.t == VC_J_STR) vc_j_step(x, self.u.s->n / 16);     /* whatever it does, it may look at all of it */
    vc_j_enter(x);
    vc_jv r = f->fn(x, self, arg, c);
    vc_j_leave(x);
    return r;
}

const struct vc_jfn *vc_j_fn_in(const struct vc_jfn *table, size_t rows, const char *name, size_t n) {
    for (size_t i = 0; i < rows; i++)
        if (strlen(table[i].name) == n && !memcmp(table[i].name, name, n)) return &table[i];
    return NULL;
}

/* ---- macros ---- */
static const struct vc_jkw *find_kw(const struct vc_jcall *c, const struct vc_jstr *name) {
    for (size_t i = 0; i < c->n_kw; i++)
        if (vc_j_str_same(c->kw[i].name, name)) return &c->kw[i];
    return NULL;
}

static void check_macro_args(vc_jx *x, const struct vc_jmacro *m, const struct vc_jcall *c) {
    const struct vc_jnode *n = m->node;
    char name[64];
    snprintf(name, sizeof name, "%.*s", m->name ? (int)VC_MIN(m->name->n, 60u) : 6, m->name ? m->name->p : "caller");
    if (c->n > n->list.n && !(n->flags & VC_JF_VARARGS))
        vc_j_raise(x, "macro '%s' takes not more than %u argument(s)", name, n->list.n);
    for (size_t i = 0; i < c->n_kw; i++) {
        const struct vc_jstr *k = c->kw[i].name;
        uint32_t at = 0;
        while (at < n->list.n && !vc_j_str_same(x->prog->names[n->list.v[at]->id], k)) at++;
        bool caller = vc_j_str_is(k, "caller") && (n->flags & VC_JF_CALLER);
        if (at < c->n && at < n->list.n)
            vc_j_raise(x, "macro '%s' got two values for '%.*s'", name, (int)VC_MIN(k->n, 64u), k->p);
        if (at == n->list.n && !caller && !(n->flags & VC_JF_KWARGS))
            vc_j_raise(x, "macro '%s' takes no keyword argument '%.*s'", name, (int)VC_MIN(k->n, 64u), k->p);
    }
}

static void bind_specials(vc_jx *x, struct vc_jscope *s, const struct vc_jnode *n, const struct vc_jcall *c) {
    bool own_caller = false;
    for (uint32_t i = 0; i < n->list.n; i++) own_caller |= n->list.v[i]->id == x->prog->id_caller;
    if ((n->flags & VC_JF_CALLER) && !own_caller && n->kind == VC_JN_MACRO) {
        const struct vc_jkw *k = find_kw(c, x->prog->names[x->prog->id_caller]);
        vc_j_bind(x, s, x->prog->id_caller, k ? k->v : vc_j_undef());
    }
    if (n->flags & VC_JF_VARARGS) {
        size_t more = c->n > n->list.n ? c->n - n->list.n : 0;
        vc_j_bind(x, s, x->prog->id_varargs, vc_j_tuple(x, more, more ? c->v + n->list.n : NULL));
    }
    if (!(n->flags & VC_JF_KWARGS)) return;
    vc_jv d = vc_j_dict(x);
    for (size_t i = 0; i < c->n_kw; i++) {
        bool known = (n->flags & VC_JF_CALLER) && vc_j_str_is(c->kw[i].name, "caller");
        for (uint32_t k = 0; k < n->list.n; k++)
            known |= vc_j_str_same(x->prog->names[n->list.v[k]->id], c->kw[i].name);
        if (!known) vc_j_set(x, d.u.d, vc_j_wrap(c->kw[i].name), c->kw[i].v);
    }
    vc_j_bind(x, s, x->prog->id_kwargs, d);
}

vc_jv vc_j_call_macro(vc_jx *x, const struct vc_jmacro *m, const struct vc_jcall *c) {
    const struct vc_jnode *n = m->node;
    check_macro_args(x, m, c);
    vc_j_enter(x);
    struct vc_jscope *before = x->scope, *s = vc_j_push_scope(x, m->scope);
    bind_specials(x, s, n, c);
    for (uint32_t i = 0; i < n->list.n; i++) {
        uint32_t id = n->list.v[i]->id;
        const struct vc_jkw *k = i < c->n ? NULL : find_kw(c, x->prog->names[id]);
        vc_jv v = i < c->n ? c->v[i] : k ? k->v : vc_j_missing();
        if (!vc_j_given(v) && n->defaults.v[i]) v = vc_j_eval(x, n->defaults.v[i]);
        if (!vc_j_given(v)) {
            struct vc_jundef *u = VC_J_NEW(x, struct vc_jundef);
            u->name = x->prog->names[id];
            v = (vc_jv){ .t = VC_J_UNDEF, .u.un = u };
        }
        vc_j_bind(x, s, id, v);
    }
    vc_jv r = vc_j_exec_captured(x, &n->bodies[0]);
    x->scope = before;
    vc_j_leave(x);
    return r;
}

vc_jv vc_j_call_block(vc_jx *x, const struct vc_jnode *block, struct vc_jscope *from) {
    struct vc_jscope *before = x->scope;
    vc_j_enter(x);
    vc_j_push_scope(x, from);
    vc_jv r = vc_j_exec_captured(x, &block->bodies[0]);
    x->scope = before;
    vc_j_leave(x);
    return r;
}

vc_jv vc_j_call(vc_jx *x, vc_jv fn, const struct vc_jcall *c) {
    switch (fn.t) {
    case VC_J_FUNC: return vc_j_apply(x, fn.u.fn, "function", fn, c);
    case VC_J_METHOD: return vc_j_apply(x, fn.u.bm->fn, "method", fn.u.bm->self, c);
    case VC_J_MACRO: return vc_j_call_macro(x, fn.u.m, c);
    case VC_J_LOOP: return vc_j_call_loop(x, fn.u.loop, c);
    case VC_J_BLOCK: return vc_j_call_block(x, fn.u.blk, x->root);
    case VC_J_JOINER: {
        bool first = fn.u.cyc->at == 0;
        fn.u.cyc->at = 1;
        return first ? vc_j_lit(x, "") : fn.u.cyc->l->v[0];
    }
    case VC_J_UNDEF: vc_j_raise_undef(x, fn);
    default: vc_j_raise(x, "'%s' object is not callable", vc_j_type_name(fn));
    }
}
