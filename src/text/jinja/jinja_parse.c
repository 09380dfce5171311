/* SPDX-License-Identifier: Apache-2.0
 * Statements, and the small tools of the parser. */
#include "text/jinja/jinja_parse.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* ---- tools ---- */
void vc_jp_add(struct vc_jparser *p, struct vc_jnodes *l, const struct vc_jnode *n) {
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? l->cap * 2 : 4;
        const struct vc_jnode **v = vc_j_array(p->x, cap, sizeof *v);
        if (l->n) memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = n;
}

struct vc_jbody vc_jp_body(const struct vc_jnodes *l) { return (struct vc_jbody){ l->v, l->n }; }

struct vc_jnode *vc_jp_node(struct vc_jparser *p, enum vc_jkind kind) {
    struct vc_jnode *n = VC_J_NEW(p->x, struct vc_jnode);
    n->kind = (uint8_t)kind;
    n->line = p->t->line;
    n->col = p->t->col;
    return n;
}

void vc_jp_fail(struct vc_jparser *p, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->x->line = p->t->line;
    p->x->col = p->t->col;
    vc_j_raise(p->x, "%s", text);
}

static const char *token_text(const struct vc_jtok *t, char *dst, size_t cap) {
    switch (t->kind) {
    case VC_JT_EOF: return "end of template";
    case VC_JT_VAR_END: return "end of print statement";
    case VC_JT_BLOCK_END: return "end of statement block";
    case VC_JT_DATA: return "text";
    case VC_JT_VAR_BEGIN: return "{{";
    case VC_JT_BLOCK_BEGIN: return "{%";
    default: return vc_printable(dst, cap, t->p, VC_MIN(t->n, cap));
    }
}

void vc_jp_unexpected(struct vc_jparser *p, const char *expected) {
    char got[64];
    const char *g = token_text(p->t, got, sizeof got);
    if (expected) vc_jp_fail(p, "expected %s, got '%s'", expected, g);
    vc_jp_fail(p, "unexpected '%s'", g);
}

static bool tok_is(const struct vc_jtok *t, const char *name) {
    return t->kind == VC_JT_NAME && vc_str_is((vc_str){ t->p, t->n }, name);
}
bool vc_jp_is(const struct vc_jparser *p, const char *name) { return tok_is(p->t, name); }
bool vc_jp_is_next(const struct vc_jparser *p, const char *name) {
    return p->t->kind != VC_JT_EOF && tok_is(p->t + 1, name);
}

void vc_jp_advance(struct vc_jparser *p) {
    if (p->t->kind != VC_JT_EOF) p->t++;
}

bool vc_jp_skip(struct vc_jparser *p, const char *name) {
    if (!vc_jp_is(p, name)) return false;
    vc_jp_advance(p);
    return true;
}

bool vc_jp_skip_kind(struct vc_jparser *p, enum vc_jtok_kind k) {
    if (p->t->kind != k) return false;
    vc_jp_advance(p);
    return true;
}

void vc_jp_expect(struct vc_jparser *p, enum vc_jtok_kind k) {
    static const char *const names[] = {
        [VC_JT_VAR_END] = "'}}'", [VC_JT_BLOCK_END] = "'%}'", [VC_JT_COMMA] = "','",  [VC_JT_COLON] = "':'",
        [VC_JT_RPAREN] = "')'",   [VC_JT_LPAREN] = "'('",     [VC_JT_ASSIGN] = "'='", [VC_JT_NAME] = "a name",
    };
    if (p->t->kind != k) vc_jp_unexpected(p, (size_t)k < VC_ARRAY_LEN(names) && names[k] ? names[k] : "something else");
    vc_jp_advance(p);
}

void vc_jp_enter(struct vc_jparser *p) {
    if (++p->depth > VC_J_PARSE_DEPTH)
        vc_jp_fail(p, "expressions or blocks are nested more than %d deep", VC_J_PARSE_DEPTH);
}

uint32_t vc_jp_name_id(struct vc_jparser *p, const char *s, size_t n) {
    vc_jv key = vc_j_str(p->x, s, n), *hit = vc_j_find(p->x, p->names.u.d, key);
    if (hit) return (uint32_t)hit->u.i;
    struct vc_jprog *g = p->prog;
    if (g->n_names == p->cap_names) {
        uint32_t cap = p->cap_names ? p->cap_names * 2 : 64;
        const struct vc_jstr **names = vc_j_array(p->x, cap, sizeof *names);
        const struct vc_jfn **globals = vc_j_array(p->x, cap, sizeof *globals);
        if (g->n_names) {
            memcpy(names, g->names, g->n_names * sizeof *names);
            memcpy(globals, g->globals, g->n_names * sizeof *globals);
        }
        g->names = names;
        g->globals = globals;
        p->cap_names = cap;
    }
    g->names[g->n_names] = key.u.s;
    g->globals[g->n_names] = vc_j_global(s, n);
    vc_j_set(p->x, p->names.u.d, key, vc_j_int(g->n_names));
    return g->n_names++;
}

void vc_jp_soften(struct vc_jparser *p, uint32_t from, bool soft) {
    for (uint32_t i = from; i < p->n_unknown; i++) {
        if (p->unknown[i].settled) continue;
        p->unknown[i].soft = soft;
        p->unknown[i].settled = true;
    }
}

/* ---- statements ---- */
static struct vc_jbody parse_body(struct vc_jparser *p, const char *const *ends);
static const struct vc_jbody *one_body(struct vc_jparser *p, struct vc_jbody b) {
    struct vc_jbody *v = vc_j_array(p->x, 2, sizeof *v);
    v[0] = b;
    return v;
}

/* A block up to {% end %}, which is passed over but for its "%}". Unknown filters in it are errors unless inside an `if`. */
static struct vc_jbody block_until(struct vc_jparser *p, const char *end) {
    const char *const ends[] = { end, NULL };
    vc_jp_expect(p, VC_JT_BLOCK_END);
    struct vc_jbody b = parse_body(p, ends);
    vc_jp_advance(p);
    return b;
}

/* A block whose text is captured: break and continue may not leave it. */
static struct vc_jbody captured_until(struct vc_jparser *p, const char *end) {
    uint32_t loops = p->n_loop;
    p->n_loop = 0;
    struct vc_jbody b = block_until(p, end);
    p->n_loop = loops;
    return b;
}

static const struct vc_jnode *parse_if(struct vc_jparser *p) {
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    struct vc_jnode *n = vc_jp_node(p, VC_JN_IF);
    uint32_t unknown = p->n_unknown;
    struct vc_jnodes tests = { 0 };
    struct vc_jbody *bodies = NULL;
    uint32_t cap = 0;
    vc_jp_advance(p);
    for (;;) {
        vc_jp_add(p, &tests, vc_jp_tuple(p, VC_JP_NOCOND, NULL));
        vc_jp_expect(p, VC_JT_BLOCK_END);
        if (tests.n + 1 > cap) {
            uint32_t more = cap ? cap * 2 : 4;
            struct vc_jbody *b = vc_j_array(p->x, more, sizeof *b);
            if (cap) memcpy(b, bodies, cap * sizeof *b);
            bodies = b;
            cap = more;
        }
        bodies[tests.n - 1] = parse_body(p, ends);
        if (vc_jp_skip(p, "elif")) continue;
        if (vc_jp_skip(p, "else")) bodies[tests.n] = block_until(p, "endif");
        else vc_jp_advance(p);
        break;
    }
    n->list = vc_jp_body(&tests);
    n->bodies = bodies;
    vc_jp_soften(p, unknown, true);
    return n;
}

static const struct vc_jnode *parse_for(struct vc_jparser *p) {
    static const char *const ends[] = { "endfor", "else", NULL };
    struct vc_jnode *n = vc_jp_node(p, VC_JN_FOR);
    vc_jp_advance(p);
    n->a = vc_jp_target(p, false, "in");
    if (!vc_jp_skip(p, "in")) vc_jp_unexpected(p, "'in'");
    n->b = vc_jp_tuple(p, VC_JP_NOCOND, "recursive");
    if (vc_jp_skip(p, "if")) n->c = vc_jp_expr(p);
    if (vc_jp_skip(p, "recursive")) n->flags = VC_JF_RECURSIVE;
    vc_jp_expect(p, VC_JT_BLOCK_END);
    struct vc_jbody *bodies = vc_j_array(p->x, 2, sizeof *bodies);
    p->n_loop++;
    bodies[0] = parse_body(p, ends);
    p->n_loop--;
    if (vc_jp_skip(p, "else")) bodies[1] = block_until(p, "endfor");
    else vc_jp_advance(p);
    n->bodies = bodies;
    return n;
}

static const struct vc_jnode *parse_set(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_SET);
    vc_jp_advance(p);
    n->a = vc_jp_target(p, true, NULL);
    if (vc_jp_skip_kind(p, VC_JT_ASSIGN)) {
        n->b = vc_jp_tuple(p, 0, NULL);
        return n;
    }
    n->kind = VC_JN_SETBLOCK;
    n->b = vc_jp_filters(p, NULL, false);
    n->bodies = one_body(p, captured_until(p, "endset"));
    return n;
}

static void parse_signature(struct vc_jparser *p, struct vc_jnode *n) {
    struct vc_jnodes params = { 0 }, defaults = { 0 };
    bool any = false;
    vc_jp_expect(p, VC_JT_LPAREN);
    while (p->t->kind != VC_JT_RPAREN) {
        if (params.n) vc_jp_expect(p, VC_JT_COMMA);
        const struct vc_jnode *name = vc_jp_target_name(p);
        for (uint32_t i = 0; i < params.n; i++)
            if (params.v[i]->id == name->id) vc_jp_fail(p, "two parameters have the same name");
        vc_jp_add(p, &params, name);
        const struct vc_jnode *d = NULL;
        if (vc_jp_skip_kind(p, VC_JT_ASSIGN)) d = vc_jp_expr(p);
        else if (any) vc_jp_fail(p, "a parameter without a default follows one with a default");
        any = d != NULL;
        vc_jp_add(p, &defaults, d);
    }
    vc_jp_advance(p);
    n->list = vc_jp_body(&params);
    n->defaults = vc_jp_body(&defaults);
}

/* The body of a macro, call block or block: break and continue end at it, and uses of caller, varargs, kwargs are noted. */
static void macro_body(struct vc_jparser *p, struct vc_jnode *n, const char *end) {
    uint32_t loops = p->n_loop;
    p->n_loop = 0;
    p->macro_flags[p->n_macro++] = 0;       /* n_macro ≤ depth ≤ VC_J_PARSE_DEPTH */
    n->bodies = one_body(p, block_until(p, end));
    n->flags = p->macro_flags[--p->n_macro];
    p->n_loop = loops;
    for (uint32_t i = 0; i < n->list.n; i++) {
        uint32_t id = n->list.v[i]->id;
        if (id == p->prog->id_varargs) n->flags &= (uint8_t)~VC_JF_VARARGS;
        if (id == p->prog->id_kwargs) n->flags &= (uint8_t)~VC_JF_KWARGS;
    }
}

static const struct vc_jnode *parse_macro(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_MACRO);
    vc_jp_advance(p);
    n->id = vc_jp_target_name(p)->id;
    parse_signature(p, n);
    macro_body(p, n, "endmacro");
    return n;
}

static const struct vc_jnode *parse_call_block(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_CALLBLOCK);
    vc_jp_advance(p);
    n->id = p->prog->id_caller;
    if (p->t->kind == VC_JT_LPAREN) parse_signature(p, n);
    n->a = vc_jp_expr(p);
    if (n->a->kind != VC_JN_CALL) vc_jp_fail(p, "expected a call");
    macro_body(p, n, "endcall");
    return n;
}

static const struct vc_jnode *parse_generation(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_GENERATION);
    vc_jp_advance(p);
    macro_body(p, n, "endgeneration");
    return n;
}

static const struct vc_jnode *parse_filter_block(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_FILTERBLOCK);
    vc_jp_advance(p);
    n->a = vc_jp_filters(p, NULL, true);
    n->bodies = one_body(p, captured_until(p, "endfilter"));
    return n;
}

static const struct vc_jnode *parse_with(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_WITH);
    struct vc_jnodes targets = { 0 }, values = { 0 };
    vc_jp_advance(p);
    while (p->t->kind != VC_JT_BLOCK_END) {
        if (targets.n) vc_jp_expect(p, VC_JT_COMMA);
        vc_jp_add(p, &targets, vc_jp_target(p, false, NULL));
        vc_jp_expect(p, VC_JT_ASSIGN);
        vc_jp_add(p, &values, vc_jp_expr(p));
    }
    n->list = vc_jp_body(&targets);
    n->defaults = vc_jp_body(&values);
    n->bodies = one_body(p, block_until(p, "endwith"));
    return n;
}

static const struct vc_jnode *parse_autoescape(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_AUTOESCAPE);
    vc_jp_advance(p);
    n->a = vc_jp_expr(p);
    n->bodies = one_body(p, block_until(p, "endautoescape"));
    return n;
}

static bool only_space(const struct vc_jbody *b) {
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->v[i]->kind != VC_JN_DATA) return false;
        const struct vc_jstr *s = b->v[i]->val.u.s;
        uint32_t cp = 0;
        for (size_t k = 0, w; k < s->n && (w = vc_utf8_decode(s->p + k, s->n - k, &cp)) > 0; k += w)
            if (!vc_j_space(cp)) return false;
    }
    return true;
}

static const struct vc_jnode *parse_block(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_BLOCK);
    vc_jp_advance(p);
    n->id = vc_jp_target_name(p)->id;
    for (uint32_t i = 0; i < p->prog->blocks.n; i++)
        if (p->prog->blocks.v[i]->id == n->id) vc_jp_fail(p, "two blocks have the same name");
    bool scoped = vc_jp_skip(p, "scoped"), required = vc_jp_skip(p, "required");
    const struct vc_jnode **v = vc_j_array(p->x, p->prog->blocks.n + 1, sizeof *v);
    for (uint32_t i = 0; i < p->prog->blocks.n; i++) v[i] = p->prog->blocks.v[i];
    v[p->prog->blocks.n] = n;
    p->prog->blocks = (struct vc_jbody){ v, p->prog->blocks.n + 1 };
    macro_body(p, n, "endblock");
    if (required && !only_space(&n->bodies[0]))
        vc_jp_fail(p, "a required block may only hold comments and white space");
    const struct vc_jstr *name = p->prog->names[n->id];
    if (p->t->kind == VC_JT_NAME && p->t->n == name->n && !memcmp(p->t->p, name->p, name->n)) vc_jp_advance(p);
    n->flags = (uint8_t)((scoped ? VC_JF_SCOPED : 0) | (required ? VC_JF_REQUIRED : 0));
    return n;
}

/* include, import, from, extends: parsed, and an error when reached, since chat templates have nothing to load from. */
static const struct vc_jnode *parse_no_loader(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_NOLOADER);
    n->val = vc_j_str(p->x, p->t->p, p->t->n);
    bool import = vc_jp_is(p, "import"), from = vc_jp_is(p, "from"), include = vc_jp_is(p, "include");
    vc_jp_advance(p);
    vc_jp_expr(p);
    if (import) {
        if (!vc_jp_skip(p, "as")) vc_jp_unexpected(p, "'as'");
        vc_jp_target_name(p);
    } else if (from) {
        if (!vc_jp_skip(p, "import")) vc_jp_unexpected(p, "'import'");
        do {
            vc_jp_target_name(p);
            if (vc_jp_skip(p, "as")) vc_jp_target_name(p);
        } while (vc_jp_skip_kind(p, VC_JT_COMMA) && p->t->kind == VC_JT_NAME);
    } else if (include && vc_jp_is(p, "ignore") && vc_jp_is_next(p, "missing")) {
        p->t += 2;
    }
    if ((vc_jp_is(p, "with") || vc_jp_is(p, "without")) && vc_jp_is_next(p, "context")) p->t += 2;
    return n;
}

static const struct vc_jnode *parse_loop_control(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, vc_jp_is(p, "break") ? VC_JN_BREAK : VC_JN_CONTINUE);
    if (!p->n_loop) vc_jp_fail(p, "'%.*s' outside a loop", (int)p->t->n, p->t->p);
    vc_jp_advance(p);
    return n;
}

static const struct vc_jnode *parse_print(struct vc_jparser *p) {
    struct vc_jnode *n = vc_jp_node(p, VC_JN_PRINT);
    struct vc_jnodes l = { 0 };
    vc_jp_advance(p);
    while (p->t->kind != VC_JT_BLOCK_END) {
        if (l.n) vc_jp_expect(p, VC_JT_COMMA);
        vc_jp_add(p, &l, vc_jp_expr(p));
    }
    n->list = vc_jp_body(&l);
    return n;
}

/* Statements whose unknown filters are settled by their own rules (`if`), and those that settle them as errors. */
static const struct {
    const char *tag;
    const struct vc_jnode *(*parse)(struct vc_jparser *);
    bool hard;
} statements[] = {
    { "if", parse_if, false },
    { "for", parse_for, true },
    { "set", parse_set, false },
    { "macro", parse_macro, true },
    { "call", parse_call_block, true },
    { "generation", parse_generation, true },
    { "filter", parse_filter_block, true },
    { "with", parse_with, true },
    { "autoescape", parse_autoescape, true },
    { "block", parse_block, true },
    { "print", parse_print, false },
    { "break", parse_loop_control, false },
    { "continue", parse_loop_control, false },
    { "include", parse_no_loader, false },
    { "import", parse_no_loader, false },
    { "from", parse_no_loader, false },
    { "extends", parse_no_loader, false },
};

static const struct vc_jnode *parse_statement(struct vc_jparser *p, const char *const *ends) {
    if (p->t->kind != VC_JT_NAME) vc_jp_unexpected(p, "the name of a tag");
    for (size_t i = 0; i < VC_ARRAY_LEN(statements); i++) {
        if (!vc_jp_is(p, statements[i].tag)) continue;
        uint32_t unknown = p->n_unknown;
        const struct vc_jnode *n = statements[i].parse(p);
        if (statements[i].hard) vc_jp_soften(p, unknown, false);
        return n;
    }
    char got[64], want[128] = "";
    for (size_t i = 0, o = 0; ends && ends[i]; i++)
        o += (size_t)snprintf(want + o, sizeof want - o, "%s'%s'", i ? ", " : "", ends[i]);
    vc_printable(got, sizeof got, p->t->p, VC_MIN(p->t->n, sizeof got));
    vc_jp_fail(p, ends ? "unknown tag '%s' where %s could end the block" : "unknown tag '%s'", got, want);
}

/* Everything up to one of the tags in `ends` (left as the current token), or to the end of the text when `ends` is NULL. */
static struct vc_jbody parse_body(struct vc_jparser *p, const char *const *ends) {
    struct vc_jnodes l = { 0 };
    vc_jp_enter(p);
    while (p->t->kind != VC_JT_EOF) {
        if (p->t->kind == VC_JT_DATA) {
            struct vc_jnode *n = vc_jp_node(p, VC_JN_DATA);
            n->val = vc_j_str(p->x, p->t->p, p->t->n);
            vc_jp_add(p, &l, n);
            vc_jp_advance(p);
        } else if (p->t->kind == VC_JT_VAR_BEGIN) {
            vc_jp_advance(p);
            struct vc_jnode *n = vc_jp_node(p, VC_JN_PRINT);
            struct vc_jnodes one = { 0 };
            vc_jp_add(p, &one, vc_jp_tuple(p, 0, NULL));
            n->list = vc_jp_body(&one);
            vc_jp_add(p, &l, n);
            vc_jp_expect(p, VC_JT_VAR_END);
        } else {
            vc_jp_advance(p);
            for (size_t i = 0; ends && ends[i]; i++) {
                if (!vc_jp_is(p, ends[i])) continue;
                p->depth--;
                return vc_jp_body(&l);
            }
            vc_jp_add(p, &l, parse_statement(p, ends));
            vc_jp_expect(p, VC_JT_BLOCK_END);
        }
    }
    if (ends) vc_jp_fail(p, "the template ends inside a block that '%s' closes", ends[0]);
    p->depth--;
    return vc_jp_body(&l);
}

void vc_j_parse(vc_jx *x, struct vc_jprog *prog, const char *src, size_t n) {
    struct vc_jparser p = { .x = x, .prog = prog, .t = vc_j_lex(x, src, n), .names = vc_j_dict(x) };
    p.macro_flags = vc_j_array(x, VC_J_PARSE_DEPTH + 1, 1);
    prog->id_loop = vc_jp_name_id(&p, "loop", 4);
    prog->id_caller = vc_jp_name_id(&p, "caller", 6);
    prog->id_varargs = vc_jp_name_id(&p, "varargs", 7);
    prog->id_kwargs = vc_jp_name_id(&p, "kwargs", 6);
    prog->id_self = vc_jp_name_id(&p, "self", 4);
    prog->body = parse_body(&p, NULL);
    for (uint32_t i = 0; i < p.n_unknown; i++) {
        const struct vc_junknown *u = &p.unknown[i];
        if (u->soft) continue;
        char name[64];
        x->line = u->node->line;
        x->col = u->node->col;
        vc_j_raise(x, "no %s named '%s'", u->what,
                   vc_printable(name, sizeof name, u->node->val.u.s->p, u->node->val.u.s->n));
    }
}
