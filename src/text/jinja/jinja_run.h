/* SPDX-License-Identifier: Apache-2.0
 * jinja_run.h: state of one compile or render, calls, and the tables of filters, tests, methods and globals.
 * A vc_jx belongs to one thread and one call. Errors are raised with vc_j_raise, which jumps to `at`. */
#ifndef VC_TEXT_JINJA_RUN_H
#define VC_TEXT_JINJA_RUN_H

#include <setjmp.h>
#include <stdnoreturn.h>

#include "base/arena.h"
#include "base/status.h"
#include "text/jinja/jinja_value.h"
#include "text/template.h"

struct vc_jnode;
struct vc_jbody;
struct vc_jargs;
struct vc_jscope {
    struct vc_jscope *parent;
    struct vc_jbind { uint32_t id; vc_jv v; } *b;
    uint32_t n, cap;
    bool captured;      /* a macro refers to it: it must not be used again */
};

struct vc_jx {
    struct vc_arena *a;
    const struct vc_jprog *prog;
    jmp_buf at;
    vc_err *err;
    struct vc_template_place *place;    /* of an error, for the caller; may be NULL */
    const struct vc_jnode *node;        /* being evaluated, for line and column */
    uint32_t line, col;                 /* while compiling */
    struct vc_jbuf *out;
    struct vc_jscope *scope, *root;
    vc_jv *ctx;                         /* by name id: variables of the caller, MISSING where there is none */
    uint64_t steps, max_steps, max_output, max_memory, seed;
    uint32_t depth, max_depth, max_ms;
    uint64_t next_look, deadline_ns;    /* steps at which the clock is read again; 0: no deadline */
    bool autoescape;
    vc_jv fed;                          /* text of a filter block or set block, for its first filter */
    int64_t now;
};

noreturn void vc_j_raise(vc_jx *x, const char *fmt, ...)
    VC_PRINTF(2, 3); /* text gets ": line L, column C" before it */
noreturn void vc_j_raise_plain(vc_jx *x, const struct vc_jstr *s);              /* raise_exception's own message */
noreturn void vc_j_raise_undef(vc_jx *x, vc_jv v);
void vc_j_step(vc_jx *x, uint64_t n);
/* Every nested evaluation is between these two. */
void vc_j_enter(vc_jx *x);
VC_INLINE void vc_j_leave(vc_jx *x) { x->depth--; }

/* ---- calls ---- */
struct vc_jkw { const struct vc_jstr *name; vc_jv v; };
struct vc_jcall { const vc_jv *v; size_t n; struct vc_jkw *kw; size_t n_kw; };
enum { VC_J_MAX_PARAM = 8 };

/* A function of the environment. params: names apart by spaces; "_" can't be given by name; "*" at the end: the rest is read
 * from the call by fn itself. arg[] has MISSING for what was not given; fewer than `min` is an error. */
struct vc_jfn {
    const char *name;
    vc_jv (*fn)(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c);
    const char *params;
    uint8_t min;
    uint32_t types;     /* methods: bit set of enum vc_jtype */
};
vc_jv vc_j_apply(vc_jx *x, const struct vc_jfn *f, const char *what, vc_jv self, const struct vc_jcall *c);
vc_jv vc_j_call(vc_jx *x, vc_jv fn, const struct vc_jcall *c);
vc_jv vc_j_call_macro(vc_jx *x, const struct vc_jmacro *m, const struct vc_jcall *c);
vc_jv vc_j_call_block(vc_jx *x, const struct vc_jnode *block, struct vc_jscope *from);
vc_jv vc_j_call_loop(vc_jx *x, struct vc_jloop *l, const struct vc_jcall *c);
VC_INLINE bool vc_j_given(vc_jv v) { return v.t != VC_J_MISSING; }

const struct vc_jfn *vc_j_filter(const char *name, size_t n);       /* NULL: unknown */
const struct vc_jfn *vc_j_test(const char *name, size_t n);
enum { VC_J_AS_MARKUP = 31 };       /* type of the methods that Markup has and str has not */
const struct vc_jfn *vc_j_method(unsigned type, const char *name, size_t n);
const struct vc_jfn *vc_j_global(const char *name, size_t n);
const struct vc_jfn *vc_j_fn_in(const struct vc_jfn *table, size_t rows, const char *name, size_t n);

/* ---- evaluation ---- */
enum vc_jflow { VC_JX_ON, VC_JX_BREAK, VC_JX_CONTINUE };
vc_jv vc_j_eval(vc_jx *x, const struct vc_jnode *n);
vc_jv vc_j_lookup(vc_jx *x, uint32_t id);                   /* MISSING: not bound */
void vc_j_bind(vc_jx *x, struct vc_jscope *s, uint32_t id, vc_jv v);
void vc_j_assign(vc_jx *x, const struct vc_jnode *target, vc_jv v);     /* in x->scope */
struct vc_jscope *vc_j_push_scope(vc_jx *x, struct vc_jscope *parent);  /* becomes x->scope; the caller restores it */
void vc_j_capture_scope(struct vc_jscope *s);               /* s and its parents are kept by a closure */
enum vc_jflow vc_j_exec(vc_jx *x, const struct vc_jbody *b);
vc_jv vc_j_exec_captured(vc_jx *x, const struct vc_jbody *b);           /* its output as a string */
void vc_j_exec_for(vc_jx *x, const struct vc_jnode *n);
const struct vc_jcall *vc_j_eval_args(vc_jx *x, const struct vc_jargs *a, const vc_jv *first,
                                      const struct vc_jkw *extra);

/* ---- attributes ---- */
vc_jv vc_j_getattr(vc_jx *x, vc_jv obj, vc_jv name);        /* obj.name */
vc_jv vc_j_getitem(vc_jx *x, vc_jv obj, vc_jv key);         /* obj[key] */
vc_jv vc_j_slice(vc_jx *x, vc_jv obj, vc_jv start, vc_jv stop, vc_jv step);
vc_jv vc_j_attr_path(vc_jx *x, vc_jv obj, vc_jv path);      /* "a.b.0" or an int, as the attribute= of filters */
vc_jv vc_j_loop_attr(vc_jx *x, struct vc_jloop *l, const struct vc_jstr *name);     /* MISSING: no such */

/* ---- text ---- */
vc_jv vc_j_percent(vc_jx *x, vc_jv fmt, vc_jv args, const struct vc_jcall *kw);     /* fmt % args */
vc_jv vc_j_format(vc_jx *x, vc_jv fmt, const struct vc_jcall *c);                   /* fmt.format(…) */
/* As json.dumps: indent NULL is one line; separators as given. */
struct vc_jjson { bool ascii, sort; const struct vc_jstr *indent, *item_sep, *key_sep; };
void vc_j_put_json(vc_jx *x, struct vc_jbuf *b, vc_jv v, const struct vc_jjson *o);
vc_jv vc_j_strftime(vc_jx *x, const struct vc_jstr *fmt, int64_t now);
vc_jv vc_j_strip(vc_jx *x, vc_jv s, vc_jv chars, int sides);        /* 1 left, 2 right, 3 both */
vc_jv vc_j_replace(vc_jx *x, const struct vc_jstr *s, const struct vc_jstr *from, const struct vc_jstr *to,
                   int64_t count);
enum vc_jcase { VC_J_UPPER, VC_J_LOWER, VC_J_TITLE, VC_J_CAPITALIZE, VC_J_SWAPCASE, VC_J_CASEFOLD };
vc_jv vc_j_case(vc_jx *x, vc_jv s, enum vc_jcase how);
bool vc_j_space(uint32_t cp);       /* str.isspace() of one character */
bool vc_j_printable(uint32_t cp);   /* str.isprintable() of one character */
vc_jv vc_j_pad(vc_jx *x, vc_jv s, int64_t width, uint32_t fill, int align);      /* -1 left, 0 centre, 1 right */

#endif
