/* SPDX-License-Identifier: Apache-2.0
 * jinja_ast.h: a compiled template: nodes, names and constants in one arena; immutable after compile. */
#ifndef VC_TEXT_JINJA_AST_H
#define VC_TEXT_JINJA_AST_H

#include "base/arena.h"
#include "text/jinja/jinja_value.h"

enum vc_jkind {
    /* expressions */
    VC_JN_CONST,
    VC_JN_NAME,
    VC_JN_LIST,
    VC_JN_TUPLE,
    VC_JN_DICT,
    VC_JN_GETATTR,
    VC_JN_GETITEM,
    VC_JN_SLICE,
    VC_JN_CALL,
    VC_JN_FILTER,
    VC_JN_TEST,
    VC_JN_NOT,
    VC_JN_NEG,
    VC_JN_POS,
    VC_JN_AND,
    VC_JN_OR,
    VC_JN_COND,
    VC_JN_ARITH,
    VC_JN_CONCAT,
    VC_JN_COMPARE,
    VC_JN_NSREF,
    /* statements */
    VC_JN_DATA,
    VC_JN_PRINT,
    VC_JN_IF,
    VC_JN_FOR,
    VC_JN_SET,
    VC_JN_SETBLOCK,
    VC_JN_MACRO,
    VC_JN_CALLBLOCK,
    VC_JN_FILTERBLOCK,
    VC_JN_WITH,
    VC_JN_AUTOESCAPE,
    VC_JN_BLOCK,
    VC_JN_BREAK,
    VC_JN_CONTINUE,
    VC_JN_NOLOADER,
    VC_JN_GENERATION
};

struct vc_jbody { const struct vc_jnode **v; uint32_t n; };

struct vc_jargs {
    struct vc_jbody pos;
    const struct vc_jstr **kw_name;
    struct vc_jbody kw;
    const struct vc_jnode *dyn, *dyn_kw;    /* *args, **kwargs */
};

enum {
    VC_JF_RECURSIVE = 1,
    VC_JF_CALLER = 2,
    VC_JF_VARARGS = 4,
    VC_JF_KWARGS = 8,
    VC_JF_SCOPED = 16,
    VC_JF_REQUIRED = 32
};

/* Meaning of the fields by kind:
 *  CONST val · NAME id · LIST, TUPLE, CONCAT list · DICT list (key, value, …) · GETATTR a.val · GETITEM a[b]
 *  SLICE list of 3 (NULL: none), only as GETITEM's b · CALL a(args) · FILTER a|fn(args), val = name · TEST a is fn(args)
 *  NOT, NEG, POS a · AND, OR a, b · COND b if a else c · ARITH a op b · COMPARE a, list, ops · NSREF id, val = attribute
 *  DATA val · PRINT list · IF list of (test, block …): tests in list, bodies in `bodies`, last body is else (n + 1)
 *  FOR target a, iter b, test c, bodies[0] body, bodies[1] else · SET a = b · SETBLOCK a, filter b, bodies[0]
 *  MACRO id, params list (NAME), defaults in `defaults` (NULL: none), bodies[0] · CALLBLOCK like MACRO, call a
 *  FILTERBLOCK filter a, bodies[0] · WITH targets list, values `defaults` · AUTOESCAPE a · BLOCK id · NOLOADER val = tag
 * FILTER with a == NULL takes the text of its block. */
struct vc_jnode {
    uint8_t kind, op, flags;
    uint32_t line, col, id;
    vc_jv val;
    const struct vc_jnode *a, *b, *c;
    struct vc_jbody list, defaults;
    const uint8_t *ops;
    struct vc_jargs *args;
    const struct vc_jfn *fn;
    const struct vc_jbody *bodies;
};

struct vc_jprog {
    struct vc_arena arena;
    const struct vc_jstr **names;       /* by id */
    const struct vc_jfn **globals;      /* by id; NULL where the name is no global */
    uint32_t n_names;
    struct vc_jbody body, blocks;       /* blocks: every BLOCK node */
    uint32_t id_loop, id_caller, id_varargs, id_kwargs, id_self;
    const char **variables;             /* names that the template takes from its caller, sorted; NULL behind the last */
    uint32_t n_variables;
    bool developer;                     /* "developer" or 'developer' is in the text */
};

/* Parses source text of n bytes; raises in x. prog's arena is x->a. */
void vc_j_parse(vc_jx *x, struct vc_jprog *prog, const char *src, size_t n);

/* Calls fn for every node directly below n, in the order of the text within a field. */
typedef void vc_j_visit(void *ctx, const struct vc_jnode *n);
void vc_j_each_child(const struct vc_jnode *n, vc_j_visit *fn, void *ctx);
uint32_t vc_j_num_bodies(const struct vc_jnode *n);
enum { VC_J_WALK_DEPTH = 1000 };        /* walks of the tree go no deeper; neither does a render by default */

/* Fills prog->variables. */
void vc_j_find_variables(vc_jx *x, struct vc_jprog *prog);

struct vc_jmacro { const struct vc_jnode *node; struct vc_jscope *scope; const struct vc_jstr *name; };

#endif
