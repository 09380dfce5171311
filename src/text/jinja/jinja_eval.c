/* SPDX-License-Identifier: Apache-2.0
 * Expressions and variables. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"

static void note_place(vc_jx *x) {
    if (x->place)
        *x->place = x->node ? (struct vc_template_place){ x->node->line, x->node->col }
                            : (struct vc_template_place){ x->line, x->line ? x->col : 0 };
}

void vc_j_raise(vc_jx *x, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (x->node) vc_fail(x->err, VC_E_TEMPLATE, "line %u, column %u: %s", x->node->line, x->node->col, text);
    else if (x->line) vc_fail(x->err, VC_E_TEMPLATE, "line %u, column %u: %s", x->line, x->col, text);
    else vc_fail(x->err, VC_E_TEMPLATE, "%s", text);
    note_place(x);
    longjmp(x->at, 1);
}

void vc_j_raise_plain(vc_jx *x, const struct vc_jstr *s) {
    vc_fail(x->err, VC_E_TEMPLATE, "%.*s", (int)VC_MIN(s->n, 4096u), s->p);
    note_place(x);
    longjmp(x->at, 1);
}

void vc_j_raise_undef(vc_jx *x, vc_jv v) {
    char name[64] = "";
    const struct vc_jundef *u = v.u.un;
    if (u) vc_printable(name, sizeof name, u->name->p, u->name->n);
    if (!u) vc_j_raise(x, "a value is undefined");
    if (!u->of) vc_j_raise(x, "'%s' is undefined", name);
    if (u->unsafe) vc_j_raise(x, "access to attribute '%s' of '%s' object is unsafe", name, u->of);
    vc_j_raise(x, "'%s object' has no attribute '%s'", u->of, name);
}

/* A step is one node or up to 64 bytes of text; the clock is read every CLOCK_STEPS of them. */
enum { CLOCK_STEPS = 4096 };
static VC_NOINLINE void look_at_clock(vc_jx *x) {
    x->next_look = x->steps + CLOCK_STEPS;
    if (x->deadline_ns && vc_now_ns() > x->deadline_ns)
        vc_j_raise(x, "the template takes longer than %u ms", x->max_ms);
}

void vc_j_step(vc_jx *x, uint64_t n) {
    if (n > x->max_steps || x->steps > x->max_steps - n)
        vc_j_raise(x, "the template takes more than %llu steps", (unsigned long long)x->max_steps);
    x->steps += n;
    if (x->steps >= x->next_look) look_at_clock(x);
}

void vc_j_enter(vc_jx *x) {
    if (x->depth >= x->max_depth) vc_j_raise(x, "the template nests calls or values more than %u deep", x->max_depth);
    x->depth++;
}

/* ---- variables ---- */
struct vc_jscope *vc_j_push_scope(vc_jx *x, struct vc_jscope *parent) {
    struct vc_jscope *s = VC_J_NEW(x, struct vc_jscope);
    s->parent = parent;
    x->scope = s;
    return s;
}

void vc_j_capture_scope(struct vc_jscope *s) {
    for (; s && !s->captured; s = s->parent) s->captured = true;
}

void vc_j_bind(vc_jx *x, struct vc_jscope *s, uint32_t id, vc_jv v) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->b[i].id != id) continue;
        s->b[i].v = v;
        return;
    }
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 8;
        struct vc_jbind *b = vc_j_array(x, cap, sizeof *b);
        if (s->n) memcpy(b, s->b, s->n * sizeof *b);
        s->b = b;
        s->cap = cap;
    }
    s->b[s->n++] = (struct vc_jbind){ id, v };
}

vc_jv vc_j_lookup(vc_jx *x, uint32_t id) {
    for (const struct vc_jscope *s = x->scope; s; s = s->parent)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->b[i].id == id) return s->b[i].v;
    if (vc_j_given(x->ctx[id])) return x->ctx[id];
    if (x->prog->globals[id]) return (vc_jv){ .t = VC_J_FUNC, .u.fn = x->prog->globals[id] };
    return id == x->prog->id_self ? (vc_jv){ .t = VC_J_SELF } : vc_j_missing();
}

static vc_jv undefined_name(vc_jx *x, uint32_t id) {
    struct vc_jundef *u = VC_J_NEW(x, struct vc_jundef);
    u->name = x->prog->names[id];
    return (vc_jv){ .t = VC_J_UNDEF, .u.un = u };
}

static void unpack(vc_jx *x, const struct vc_jnode *target, vc_jv v) {
    struct vc_jit it = vc_j_iter(x, v);
    vc_jv item;
    uint32_t n = target->list.n;
    vc_jv *got = vc_j_array(x, n, sizeof *got);
    for (uint32_t i = 0; i < n; i++)
        if (!vc_j_next(x, &it, &got[i])) vc_j_raise(x, "not enough values to unpack (expected %u, got %u)", n, i);
    if (vc_j_next(x, &it, &item)) vc_j_raise(x, "too many values to unpack (expected %u)", n);
    for (uint32_t i = 0; i < n; i++) vc_j_assign(x, target->list.v[i], got[i]);
}

void vc_j_assign(vc_jx *x, const struct vc_jnode *target, vc_jv v) {
    if (target->kind == VC_JN_NAME) {
        vc_j_bind(x, x->scope, target->id, v);
    } else if (target->kind == VC_JN_NSREF) {
        vc_jv ns = vc_j_lookup(x, target->id);
        if (ns.t != VC_J_NS) vc_j_raise(x, "cannot assign attribute on non-namespace object");
        vc_j_set(x, ns.u.d, target->val, v);
    } else {
        vc_j_enter(x);
        unpack(x, target, v);
        vc_j_leave(x);
    }
}

/* ---- calls ---- */
static void add_kw(vc_jx *x, struct vc_jcall *c, const struct vc_jstr *name, vc_jv v) {
    for (size_t i = 0; i < c->n_kw; i++)
        if (vc_j_str_same(c->kw[i].name, name))
            vc_j_raise(x, "got multiple values for keyword argument '%.*s'", (int)VC_MIN(name->n, 64u), name->p);
    c->kw[c->n_kw++] = (struct vc_jkw){ name, v };
}

const struct vc_jcall *vc_j_eval_args(vc_jx *x, const struct vc_jargs *a, const vc_jv *first,
                                      const struct vc_jkw *extra) {
    struct vc_jcall *c = VC_J_NEW(x, struct vc_jcall);
    vc_jv pos = vc_j_list(x, a->pos.n + (first != NULL)), dyn_kw = vc_j_undef();
    if (first) vc_j_push(x, pos, *first);
    for (uint32_t i = 0; i < a->pos.n; i++) vc_j_push(x, pos, vc_j_eval(x, a->pos.v[i]));
    size_t n_kw = a->kw.n + (extra != NULL);
    vc_jv *kw = vc_j_array(x, a->kw.n, sizeof *kw);
    for (uint32_t i = 0; i < a->kw.n; i++) kw[i] = vc_j_eval(x, a->kw.v[i]);
    if (a->dyn) {
        vc_jv more, seq = vc_j_eval(x, a->dyn);
        struct vc_jit it = vc_j_iter(x, seq);
        while (vc_j_next(x, &it, &more)) vc_j_push(x, pos, more);
    }
    if (a->dyn_kw) {
        dyn_kw = vc_j_eval(x, a->dyn_kw);
        if (dyn_kw.t != VC_J_DICT) vc_j_raise(x, "argument after ** must be a mapping, not %s", vc_j_type_name(dyn_kw));
        n_kw += dyn_kw.u.d->n;
    }
    c->v = pos.u.l->v;
    c->n = pos.u.l->n;
    c->kw = vc_j_array(x, n_kw, sizeof *c->kw);
    for (uint32_t i = 0; i < a->kw.n; i++) add_kw(x, c, a->kw_name[i], kw[i]);
    if (extra) add_kw(x, c, extra->name, extra->v);
    for (size_t i = 0; dyn_kw.t == VC_J_DICT && i < dyn_kw.u.d->n; i++) {
        const struct vc_jent *e = &dyn_kw.u.d->e[i];
        if (e->k.t != VC_J_STR) vc_j_raise(x, "keywords must be strings");
        add_kw(x, c, e->k.u.s, e->v);
    }
    return c;
}

static const struct vc_jfn *need_fn(vc_jx *x, const struct vc_jnode *n, const char *what) {
    if (!n->fn) vc_j_raise(x, "no %s named '%.*s'", what, (int)VC_MIN(n->val.u.s->n, 64u), n->val.u.s->p);
    return n->fn;
}

static vc_jv eval_filter(vc_jx *x, const struct vc_jnode *n) {
    vc_jv in = n->a ? vc_j_eval(x, n->a) : x->fed;
    const struct vc_jcall *c = vc_j_eval_args(x, n->args, &in, NULL);
    x->node = n;
    return vc_j_apply(x, need_fn(x, n, "filter"), "filter", in, c);
}

static vc_jv eval_test(vc_jx *x, const struct vc_jnode *n) {
    vc_jv in = vc_j_eval(x, n->a);
    const struct vc_jcall *c = vc_j_eval_args(x, n->args, &in, NULL);
    x->node = n;
    return vc_j_bool(vc_j_truth(vc_j_apply(x, need_fn(x, n, "test"), "test", in, c)));
}

static vc_jv eval_call(vc_jx *x, const struct vc_jnode *n) {
    vc_jv fn = vc_j_eval(x, n->a);
    const struct vc_jcall *c = vc_j_eval_args(x, n->args, NULL, NULL);
    x->node = n;
    return vc_j_call(x, fn, c);
}

/* ---- the rest ---- */
static vc_jv eval_items(vc_jx *x, const struct vc_jnode *n) {
    vc_jv l = vc_j_list(x, n->list.n);
    for (uint32_t i = 0; i < n->list.n; i++) vc_j_push(x, l, vc_j_eval(x, n->list.v[i]));
    if (n->kind == VC_JN_TUPLE) l.t = VC_J_TUPLE;
    return l;
}

static vc_jv eval_dict(vc_jx *x, const struct vc_jnode *n) {
    vc_jv d = vc_j_dict(x);
    for (uint32_t i = 0; i + 1 < n->list.n; i += 2) {
        vc_jv k = vc_j_eval(x, n->list.v[i]), v = vc_j_eval(x, n->list.v[i + 1]);
        vc_j_set(x, d.u.d, k, v);
    }
    return d;
}

static vc_jv eval_getitem(vc_jx *x, const struct vc_jnode *n) {
    vc_jv obj = vc_j_eval(x, n->a);
    if (n->b->kind != VC_JN_SLICE) {
        vc_jv key = vc_j_eval(x, n->b);
        x->node = n;
        return vc_j_getitem(x, obj, key);
    }
    vc_jv part[3];
    for (int i = 0; i < 3; i++) part[i] = n->b->list.v[i] ? vc_j_eval(x, n->b->list.v[i]) : vc_j_none();
    x->node = n;
    return vc_j_slice(x, obj, part[0], part[1], part[2]);
}

static vc_jv eval_concat(vc_jx *x, const struct vc_jnode *n) {
    vc_jv parts = eval_items(x, n);
    bool markup = false;
    for (size_t i = 0; x->autoescape && i < parts.u.l->n; i++)
        markup |= parts.u.l->v[i].t == VC_J_STR && parts.u.l->v[i].sub;
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < parts.u.l->n; i++) {
        if (markup) vc_j_put_escaped(x, &b, parts.u.l->v[i]);
        else vc_j_put_str(x, &b, parts.u.l->v[i]);
    }
    vc_jv r = vc_j_done(x, &b);
    r.sub = markup;
    return r;
}

static vc_jv eval_compare(vc_jx *x, const struct vc_jnode *n) {
    vc_jv a = vc_j_eval(x, n->a);
    for (uint32_t i = 0; i < n->list.n; i++) {
        vc_jv b = vc_j_eval(x, n->list.v[i]);
        x->node = n;
        if (!vc_j_compare(x, (enum vc_jcmp)n->ops[i], a, b)) return vc_j_bool(false);
        a = b;
    }
    return vc_j_bool(true);
}

static vc_jv eval_arith(vc_jx *x, const struct vc_jnode *n) {
    vc_jv a = vc_j_eval(x, n->a), b = vc_j_eval(x, n->b);
    x->node = n;
    return vc_j_arith(x, (enum vc_jop)n->op, a, b);
}

static vc_jv eval_name(vc_jx *x, const struct vc_jnode *n) {
    vc_jv v = vc_j_lookup(x, n->id);
    return vc_j_given(v) ? v : undefined_name(x, n->id);
}

static vc_jv eval_sign(vc_jx *x, const struct vc_jnode *n) {
    vc_jv v = vc_j_eval(x, n->a);
    x->node = n;
    return n->kind == VC_JN_NEG ? vc_j_neg(x, v)
           : vc_j_is_num(v)     ? vc_j_arith(x, VC_J_ADD, v, vc_j_int(0))
                                : vc_j_neg(x, v);
}

static vc_jv eval_node(vc_jx *x, const struct vc_jnode *n) {
    switch (n->kind) {
    case VC_JN_CONST: return n->val;
    case VC_JN_NAME: return eval_name(x, n);
    case VC_JN_LIST: case VC_JN_TUPLE: return eval_items(x, n);
    case VC_JN_DICT: return eval_dict(x, n);
    case VC_JN_GETATTR: {
        vc_jv obj = vc_j_eval(x, n->a);
        x->node = n;
        return vc_j_getattr(x, obj, n->val);
    }
    case VC_JN_GETITEM: return eval_getitem(x, n);
    case VC_JN_CALL: return eval_call(x, n);
    case VC_JN_FILTER: return eval_filter(x, n);
    case VC_JN_TEST: return eval_test(x, n);
    case VC_JN_NOT: return vc_j_bool(!vc_j_truth(vc_j_eval(x, n->a)));
    case VC_JN_NEG: case VC_JN_POS: return eval_sign(x, n);
    case VC_JN_AND: case VC_JN_OR: {
        vc_jv a = vc_j_eval(x, n->a);
        return vc_j_truth(a) == (n->kind == VC_JN_OR) ? a : vc_j_eval(x, n->b);
    }
    case VC_JN_COND:
        if (vc_j_truth(vc_j_eval(x, n->a))) return vc_j_eval(x, n->b);
        return n->c ? vc_j_eval(x, n->c) : vc_j_undef();
    case VC_JN_ARITH: return eval_arith(x, n);
    case VC_JN_CONCAT: return eval_concat(x, n);
    case VC_JN_COMPARE: return eval_compare(x, n);
    default: vc_j_raise(x, "not an expression");
    }
}

vc_jv vc_j_eval(vc_jx *x, const struct vc_jnode *n) {
    x->node = n;
    vc_j_step(x, 1);
    vc_j_enter(x);
    vc_jv v = eval_node(x, n);
    vc_j_leave(x);
    return v;
}
