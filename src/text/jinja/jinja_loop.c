/* SPDX-License-Identifier: Apache-2.0
 * The for statement and its `loop` object. Items are drawn only when they are needed: one ahead for loop.last and
 * loop.nextitem, all of them for loop.length and loop.revindex. */
#include <string.h>

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_method.h"

struct vc_jloop {
    const struct vc_jnode *node;
    struct vc_jscope *outer;
    struct vc_jit it;
    vc_jv items;            /* list: drawn so far, of those that pass the loop's condition */
    int64_t index;          /* of the current item, from 0; -1 before the first */
    uint32_t depth;
    bool ended;
    vc_jv changed;          /* arguments of the last loop.changed() */
};

static bool passes(vc_jx *x, const struct vc_jloop *l, vc_jv item) {
    if (!l->node->c) return true;
    struct vc_jscope *now = x->scope;
    const struct vc_jnode *node = x->node;
    vc_j_push_scope(x, l->outer);
    vc_j_assign(x, l->node->a, item);
    bool ok = vc_j_truth(vc_j_eval(x, l->node->c));
    x->scope = now;
    x->node = node;
    return ok;
}

/* Draws until item `at` is there; false when there are not so many. */
static bool draw(vc_jx *x, struct vc_jloop *l, int64_t at) {
    vc_jv v;
    while (!l->ended && (int64_t)l->items.u.l->n <= at) {
        if (!vc_j_next(x, &l->it, &v)) l->ended = true;
        else if (passes(x, l, v)) vc_j_push(x, l->items, v);
    }
    return (int64_t)l->items.u.l->n > at;
}

static int64_t length(vc_jx *x, struct vc_jloop *l) {
    draw(x, l, INT64_MAX - 1);
    return (int64_t)l->items.u.l->n;
}

vc_jv vc_j_loop_attr(vc_jx *x, struct vc_jloop *l, const struct vc_jstr *name) {
    int64_t i = l->index;
    if (vc_j_str_is(name, "index")) return vc_j_int(i + 1);
    if (vc_j_str_is(name, "index0")) return vc_j_int(i);
    if (vc_j_str_is(name, "first")) return vc_j_bool(i == 0);
    if (vc_j_str_is(name, "last")) return vc_j_bool(!draw(x, l, i + 1));
    if (vc_j_str_is(name, "length")) return vc_j_int(length(x, l));
    if (vc_j_str_is(name, "revindex")) return vc_j_int(length(x, l) - i);
    if (vc_j_str_is(name, "revindex0")) return vc_j_int(length(x, l) - i - 1);
    if (vc_j_str_is(name, "previtem")) return i > 0 ? l->items.u.l->v[i - 1] : vc_j_undef();
    if (vc_j_str_is(name, "nextitem")) return draw(x, l, i + 1) ? l->items.u.l->v[i + 1] : vc_j_undef();
    if (vc_j_str_is(name, "depth")) return vc_j_int(l->depth + 1);
    if (vc_j_str_is(name, "depth0")) return vc_j_int(l->depth);
    return vc_j_missing();
}

vc_jv vc_j_loop_cycle(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)arg;
    if (!c->n) vc_j_raise(x, "no items for cycling given");
    return c->v[(uint64_t)(self.u.loop->index < 0 ? 0 : self.u.loop->index) % c->n];
}

vc_jv vc_j_loop_changed(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)arg;
    vc_jv now = vc_j_tuple(x, c->n, c->v);
    bool same = vc_j_given(self.u.loop->changed) && vc_j_eq(x, self.u.loop->changed, now);
    self.u.loop->changed = now;
    return vc_j_bool(!same);
}

static void run_loop(vc_jx *x, const struct vc_jnode *n, vc_jv seq, struct vc_jscope *outer, uint32_t depth) {
    struct vc_jloop *l = VC_J_NEW(x, struct vc_jloop);
    *l = (struct vc_jloop){
        .node = n, .outer = outer, .it = vc_j_iter(x, seq), .items = vc_j_list(x, 0), .index = -1, .depth = depth
    };
    struct vc_jscope *before = x->scope, *s = NULL;
    while (draw(x, l, l->index + 1)) {
        l->index++;
        if (!s || s->captured) s = vc_j_push_scope(x, outer);
        x->scope = s;
        s->n = 0;
        vc_j_bind(x, s, x->prog->id_loop, (vc_jv){ .t = VC_J_LOOP, .u.loop = l });
        vc_j_assign(x, n->a, l->items.u.l->v[l->index]);
        if (vc_j_exec(x, &n->bodies[0]) == VC_JX_BREAK) break;
    }
    if (l->index < 0 && n->bodies[1].n) {
        vc_j_push_scope(x, outer);
        vc_j_exec(x, &n->bodies[1]);
    }
    x->scope = before;
}

void vc_j_exec_for(vc_jx *x, const struct vc_jnode *n) {
    vc_jv seq = vc_j_eval(x, n->b);
    x->node = n;
    run_loop(x, n, seq, x->scope, 0);
}

/* loop(items) in a recursive loop: the same body over other items, as a string. */
vc_jv vc_j_call_loop(vc_jx *x, struct vc_jloop *l, const struct vc_jcall *c) {
    if (!(l->node->flags & VC_JF_RECURSIVE)) vc_j_raise(x, "the loop must have the 'recursive' marker to be called");
    if (c->n != 1 || c->n_kw) vc_j_raise(x, "loop() takes one argument");
    struct vc_jbuf buf = { 0 }, *out = x->out;
    x->out = &buf;
    vc_j_enter(x);
    run_loop(x, l->node, c->v[0], l->outer, l->depth + 1);
    vc_j_leave(x);
    x->out = out;
    vc_jv r = vc_j_done(x, &buf);
    r.sub = x->autoescape;
    return r;
}
