/* SPDX-License-Identifier: Apache-2.0
 * The variables that a template takes from its caller: jinja2.meta.find_undeclared_variables. Names are resolved per
 * frame (template, loop, macro, with …) as jinja2/idtracking.py does: first all statements of a frame, then the frames
 * inside it. */
#include <stdlib.h>
#include <string.h>

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"

uint32_t vc_j_num_bodies(const struct vc_jnode *n) {
    if (!n->bodies) return 0;
    return n->kind == VC_JN_IF ? n->list.n + 1 : n->kind == VC_JN_FOR ? 2 : 1;
}

static void each_of(const struct vc_jbody *b, vc_j_visit *fn, void *ctx) {
    for (uint32_t i = 0; i < b->n; i++)
        if (b->v[i]) fn(ctx, b->v[i]);
}

void vc_j_each_child(const struct vc_jnode *n, vc_j_visit *fn, void *ctx) {
    if (n->a) fn(ctx, n->a);
    if (n->b) fn(ctx, n->b);
    if (n->c) fn(ctx, n->c);
    each_of(&n->list, fn, ctx);
    each_of(&n->defaults, fn, ctx);
    if (n->args) {
        each_of(&n->args->pos, fn, ctx);
        each_of(&n->args->kw, fn, ctx);
        if (n->args->dyn) fn(ctx, n->args->dyn);
        if (n->args->dyn_kw) fn(ctx, n->args->dyn_kw);
    }
    for (uint32_t i = 0; i < vc_j_num_bodies(n); i++) each_of(&n->bodies[i], fn, ctx);
}

/* What a name is in one frame. Entries of a name are stacked, the innermost frame's on top. */
enum load { FROM_CALLER, FROM_OUTER, UNBOUND, PARAMETER };
struct entry { uint32_t id, level; bool stored; enum load load; struct entry *below, *older; };

struct finder {
    vc_jx *x;
    struct vc_jprog *prog;
    struct entry **top;     /* by name */
    struct entry *newest;   /* of the frame being read */
    uint32_t level, depth;
    bool *found;            /* by name */
};

static struct entry *own(const struct finder *f, uint32_t id) {
    struct entry *e = f->top[id];
    return e && e->level == f->level ? e : NULL;
}

static bool outer_has(const struct finder *f, uint32_t id) {
    const struct entry *e = f->top[id];
    return e && (e->level < f->level || e->below);
}

static struct entry *define(struct finder *f, uint32_t id, enum load load) {
    struct entry *e = VC_J_NEW(f->x, struct entry);
    *e = (struct entry){ id, f->level, false, load, f->top[id], f->newest };
    f->top[id] = f->newest = e;
    return e;
}

static void load(struct finder *f, uint32_t id) {
    if (!f->top[id]) define(f, id, FROM_CALLER);
}

static void store(struct finder *f, uint32_t id) {
    struct entry *e = own(f, id);
    if (!e) e = define(f, id, outer_has(f, id) ? FROM_OUTER : UNBOUND);
    e->stored = true;
}

static void parameter(struct finder *f, uint32_t id) {
    struct entry *e = own(f, id);
    if (!e) e = define(f, id, PARAMETER);
    e->load = PARAMETER;
    e->stored = true;
}

/* All names in an expression are loaded. */
static void read_expr(void *ctx, const struct vc_jnode *n) {
    struct finder *f = ctx;
    if (n->kind == VC_JN_NAME) load(f, n->id);
    if (f->depth >= VC_J_WALK_DEPTH) return;
    f->depth++;
    vc_j_each_child(n, read_expr, f);
    f->depth--;
}

static void read_list(struct finder *f, const struct vc_jbody *b) {
    for (uint32_t i = 0; i < b->n; i++)
        if (b->v[i]) read_expr(f, b->v[i]);
}

static void read_args(struct finder *f, const struct vc_jargs *a) {
    read_list(f, &a->pos);
    read_list(f, &a->kw);
    if (a->dyn) read_expr(f, a->dyn);
    if (a->dyn_kw) read_expr(f, a->dyn_kw);
}

/* An assignment's left side; as the parameters of a frame where `use` is parameter(). */
static void read_target(struct finder *f, const struct vc_jnode *n, void (*use)(struct finder *, uint32_t)) {
    if (n->kind == VC_JN_NAME) use(f, n->id);
    else if (n->kind == VC_JN_NSREF) load(f, n->id);
    else
        for (uint32_t i = 0; i < n->list.n; i++) read_target(f, n->list.v[i], use);
}

static void read_body(struct finder *f, const struct vc_jbody *b);

/* Takes the entries newer than `mark` off the names again and returns them. */
static struct entry *take_back(struct finder *f, struct entry *mark) {
    struct entry *taken = f->newest;
    for (struct entry *e = taken; e != mark; e = e->older) f->top[e->id] = e->below;
    f->newest = mark;
    return taken;
}

/* Takes the names of one branch of an if, those newer than `mark`, off again and puts them into the list `all`. */
static void keep_branch(struct finder *f, struct entry *mark, struct entry **all) {
    struct entry *from = take_back(f, mark);
    for (struct entry *e = from, *next; e != mark; e = next) {
        next = e->older;
        e->older = *all;
        *all = e;
    }
}

/* Branches don't see each other's names. A name that any of them stores may come from the caller behind the if, since
 * another branch may have been taken. */
static void read_if(struct finder *f, const struct vc_jnode *n) {
    struct entry *all = NULL;
    for (uint32_t i = 0; i <= n->list.n; i++) {
        if (i < n->list.n) read_expr(f, n->list.v[i]);
        struct entry *mark = f->newest;
        read_body(f, &n->bodies[i]);
        keep_branch(f, mark, &all);
    }
    for (struct entry *e = all, *next; e; e = next) {
        next = e->older;
        struct entry *o = own(f, e->id);
        if (!o) o = define(f, e->id, e->load);
        if (e->stored && !o->stored) o->load = outer_has(f, e->id) ? FROM_OUTER : FROM_CALLER;
        o->stored = o->stored || e->stored;
    }
}

static void read_statement(struct finder *f, const struct vc_jnode *n) {
    switch (n->kind) {
    case VC_JN_IF: read_if(f, n); break;
    case VC_JN_FOR: read_expr(f, n->b); break;
    case VC_JN_SET:
        read_expr(f, n->b);
        read_target(f, n->a, store);
        break;
    case VC_JN_SETBLOCK: read_target(f, n->a, store); break;
    case VC_JN_MACRO: store(f, n->id); break;
    case VC_JN_CALLBLOCK:
    case VC_JN_FILTERBLOCK: read_expr(f, n->a); break;
    case VC_JN_WITH: read_list(f, &n->defaults); break;
    case VC_JN_PRINT: read_list(f, &n->list); break;
    default: break;
    }
}

static void read_body(struct finder *f, const struct vc_jbody *b) {
    for (uint32_t i = 0; i < b->n; i++) read_statement(f, b->v[i]);
}

/* ---- frames ---- */
static void inner_frames(struct finder *f, const struct vc_jbody *b);

static void open_frame(struct finder *f) {
    f->level++;
    f->newest = NULL;
}

/* Notes the names that the frame takes from the caller, reads the frames inside, and leaves it. */
static void close_frame(struct finder *f, const struct vc_jbody *body, struct entry *outer) {
    for (const struct entry *e = f->newest; e; e = e->older)
        if (e->load == FROM_CALLER) f->found[e->id] = true;
    struct entry *mine = f->newest;
    if (body) inner_frames(f, body);
    f->newest = mine;
    take_back(f, NULL);
    f->level--;
    f->newest = outer;
}

static void for_frames(struct finder *f, const struct vc_jnode *n) {
    struct entry *outer = f->newest;
    if (n->c) {
        open_frame(f);
        read_target(f, n->a, parameter);
        read_expr(f, n->c);
        close_frame(f, NULL, outer);
    }
    open_frame(f);
    parameter(f, f->prog->id_loop);
    read_target(f, n->a, parameter);
    read_body(f, &n->bodies[0]);
    close_frame(f, &n->bodies[0], outer);
    open_frame(f);
    read_body(f, &n->bodies[1]);
    close_frame(f, &n->bodies[1], outer);
}

static void macro_frame(struct finder *f, const struct vc_jnode *n) {
    struct entry *outer = f->newest;
    open_frame(f);
    for (uint32_t i = 0; i < n->list.n; i++) parameter(f, n->list.v[i]->id);
    read_list(f, &n->defaults);
    parameter(f, f->prog->id_caller);
    parameter(f, f->prog->id_kwargs);
    parameter(f, f->prog->id_varargs);
    read_body(f, &n->bodies[0]);
    close_frame(f, &n->bodies[0], outer);
}

static void plain_frame(struct finder *f, const struct vc_jnode *n) {
    struct entry *outer = f->newest;
    open_frame(f);
    if (n->kind == VC_JN_WITH)
        for (uint32_t i = 0; i < n->list.n; i++) read_target(f, n->list.v[i], parameter);
    if (n->kind == VC_JN_AUTOESCAPE || n->kind == VC_JN_FILTERBLOCK) read_expr(f, n->a);
    if (n->kind == VC_JN_SETBLOCK && n->b) read_args(f, n->b->args);
    read_body(f, &n->bodies[0]);
    close_frame(f, &n->bodies[0], outer);
}

static void inner_frames(struct finder *f, const struct vc_jbody *b) {
    for (uint32_t i = 0; i < b->n; i++) {
        const struct vc_jnode *n = b->v[i];
        switch (n->kind) {
        case VC_JN_IF:
            for (uint32_t k = 0; k <= n->list.n; k++) inner_frames(f, &n->bodies[k]);
            break;
        case VC_JN_FOR: for_frames(f, n); break;
        case VC_JN_MACRO: case VC_JN_CALLBLOCK: case VC_JN_GENERATION: macro_frame(f, n); break;
        case VC_JN_WITH: case VC_JN_AUTOESCAPE: case VC_JN_FILTERBLOCK: case VC_JN_SETBLOCK: plain_frame(f, n); break;
        default: break;
        }
    }
}

static void root_frame(struct finder *f, const struct vc_jbody *b) {
    open_frame(f);
    parameter(f, f->prog->id_self);
    read_body(f, b);
    close_frame(f, b, NULL);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

void vc_j_find_variables(vc_jx *x, struct vc_jprog *prog) {
    struct finder f = { .x = x, .prog = prog };
    f.top = vc_j_array(x, prog->n_names, sizeof *f.top);
    f.found = vc_j_array(x, prog->n_names, sizeof *f.found);
    root_frame(&f, &prog->body);
    for (uint32_t i = 0; i < prog->blocks.n; i++) root_frame(&f, &prog->blocks.v[i]->bodies[0]);
    prog->variables = vc_j_array(x, prog->n_names + 1, sizeof *prog->variables);
    for (uint32_t i = 0; i < prog->n_names; i++) {
        const struct vc_jstr *s = prog->names[i];
        if (!f.found[i] || vc_j_global(s->p, s->n)) continue;
        char *name = vc_j_alloc(x, s->n + 1);
        memcpy(name, s->p, s->n);
        prog->variables[prog->n_variables++] = name;
    }
    qsort(prog->variables, prog->n_variables, sizeof *prog->variables, by_text);
}
