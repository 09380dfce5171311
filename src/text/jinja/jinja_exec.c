/* SPDX-License-Identifier: Apache-2.0
 * Statements. */
#include <string.h>

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"

static void print(vc_jx *x, vc_jv v) {
    if (x->autoescape) vc_j_put_escaped(x, x->out, v);
    else vc_j_put_str(x, x->out, v);
}

vc_jv vc_j_exec_captured(vc_jx *x, const struct vc_jbody *b) {
    struct vc_jbuf buf = { 0 }, *out = x->out;
    x->out = &buf;
    vc_j_exec(x, b);
    x->out = out;
    vc_jv r = vc_j_done(x, &buf);
    r.sub = x->autoescape;
    return r;
}

static vc_jv closure(vc_jx *x, const struct vc_jnode *n, const struct vc_jstr *name) {
    struct vc_jmacro *m = VC_J_NEW(x, struct vc_jmacro);
    *m = (struct vc_jmacro){ n, x->scope, name };
    vc_j_capture_scope(x->scope);
    return (vc_jv){ .t = VC_J_MACRO, .u.m = m };
}

static enum vc_jflow exec_if(vc_jx *x, const struct vc_jnode *n) {
    for (uint32_t i = 0; i < n->list.n; i++)
        if (vc_j_truth(vc_j_eval(x, n->list.v[i]))) return vc_j_exec(x, &n->bodies[i]);
    return vc_j_exec(x, &n->bodies[n->list.n]);
}

static vc_jv captured_in_scope(vc_jx *x, const struct vc_jnode *n, const struct vc_jnode *filter) {
    struct vc_jscope *outer = x->scope;
    vc_j_push_scope(x, outer);
    vc_jv v = vc_j_exec_captured(x, &n->bodies[0]);
    if (filter) {
        x->fed = v;
        v = vc_j_eval(x, filter);
    }
    x->scope = outer;
    return v;
}

static enum vc_jflow exec_with(vc_jx *x, const struct vc_jnode *n) {
    struct vc_jscope *outer = x->scope;
    vc_jv *v = vc_j_array(x, n->list.n, sizeof *v);
    for (uint32_t i = 0; i < n->list.n; i++) v[i] = vc_j_eval(x, n->defaults.v[i]);
    vc_j_push_scope(x, outer);
    for (uint32_t i = 0; i < n->list.n; i++) vc_j_assign(x, n->list.v[i], v[i]);
    enum vc_jflow f = vc_j_exec(x, &n->bodies[0]);
    x->scope = outer;
    return f;
}

static enum vc_jflow exec_autoescape(vc_jx *x, const struct vc_jnode *n) {
    struct vc_jscope *outer = x->scope;
    bool before = x->autoescape;
    x->autoescape = vc_j_truth(vc_j_eval(x, n->a));
    vc_j_push_scope(x, outer);
    enum vc_jflow f = vc_j_exec(x, &n->bodies[0]);
    x->scope = outer;
    x->autoescape = before;
    return f;
}

static void exec_call_block(vc_jx *x, const struct vc_jnode *n) {
    struct vc_jkw caller = { x->prog->names[x->prog->id_caller], closure(x, n, NULL) };
    vc_jv fn = vc_j_eval(x, n->a->a);
    const struct vc_jcall *c = vc_j_eval_args(x, n->a->args, NULL, &caller);
    x->node = n;
    print(x, vc_j_call(x, fn, c));
}

static void exec_block(vc_jx *x, const struct vc_jnode *n) {
    if (n->flags & VC_JF_REQUIRED) vc_j_raise(x, "a required block is not filled in");
    struct vc_jscope *outer = x->scope;
    vc_j_push_scope(x, n->flags & VC_JF_SCOPED ? outer : x->root);
    vc_j_exec(x, &n->bodies[0]);
    x->scope = outer;
}

static enum vc_jflow exec_node(vc_jx *x, const struct vc_jnode *n) {
    struct vc_jscope *outer = x->scope;
    switch (n->kind) {
    case VC_JN_DATA: vc_j_puts_str(x, x->out, n->val.u.s); break;
    case VC_JN_PRINT:
        for (uint32_t i = 0; i < n->list.n; i++) print(x, vc_j_eval(x, n->list.v[i]));
        break;
    case VC_JN_IF: return exec_if(x, n);
    case VC_JN_FOR: vc_j_exec_for(x, n); break;
    case VC_JN_SET: {
        vc_jv v = vc_j_eval(x, n->b);
        x->node = n;
        vc_j_assign(x, n->a, v);
        break;
    }
    case VC_JN_SETBLOCK: vc_j_assign(x, n->a, captured_in_scope(x, n, n->b)); break;
    case VC_JN_FILTERBLOCK: print(x, captured_in_scope(x, n, n->a)); break;
    case VC_JN_MACRO: vc_j_bind(x, x->scope, n->id, closure(x, n, x->prog->names[n->id])); break;
    case VC_JN_CALLBLOCK: exec_call_block(x, n); break;
    case VC_JN_GENERATION:
        vc_j_push_scope(x, outer);
        vc_j_exec(x, &n->bodies[0]);
        x->scope = outer;
        break;
    case VC_JN_WITH: return exec_with(x, n);
    case VC_JN_AUTOESCAPE: return exec_autoescape(x, n);
    case VC_JN_BLOCK: exec_block(x, n); break;
    case VC_JN_BREAK: return VC_JX_BREAK;
    case VC_JN_CONTINUE: return VC_JX_CONTINUE;
    case VC_JN_NOLOADER:
        vc_j_raise(x, "'%.*s' needs other templates, and a chat template has none", (int)n->val.u.s->n,
                   n->val.u.s->p);
    default: vc_j_raise(x, "not a statement");
    }
    return VC_JX_ON;
}

enum vc_jflow vc_j_exec(vc_jx *x, const struct vc_jbody *b) {
    enum vc_jflow f = VC_JX_ON;
    vc_j_enter(x);
    for (uint32_t i = 0; i < b->n && f == VC_JX_ON; i++) {
        x->node = b->v[i];
        vc_j_step(x, 1);
        f = exec_node(x, b->v[i]);
    }
    vc_j_leave(x);
    return f;
}
