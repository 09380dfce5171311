/* SPDX-License-Identifier: Apache-2.0
 * str() and repr() of every type, and HTML escaping as markupsafe does it. */
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/str.h"
#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"

bool vc_j_printable(uint32_t cp) {
    if (cp == ' ') return true;
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CC: case UTF8PROC_CATEGORY_CF: case UTF8PROC_CATEGORY_CS: case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
    }
}

static void repr_str(vc_jx *x, struct vc_jbuf *b, const struct vc_jstr *s, bool bytes) {
    bool single = memchr(s->p, '\'', s->n) != NULL, dbl = memchr(s->p, '"', s->n) != NULL;
    char quote = single && !dbl ? '"' : '\'', esc[12];
    vc_j_putc(x, b, quote);
    for (size_t i = 0; i < s->n;) {
        uint32_t cp = (unsigned char)s->p[i];
        size_t w = bytes ? 1 : vc_utf8_decode(s->p + i, s->n - i, &cp);
        if (w == 0) w = 1;
        const char *named = cp == '\n' ? "\\n" : cp == '\r' ? "\\r" : cp == '\t' ? "\\t" : cp == '\\' ? "\\\\" : NULL;
        if (named) {
            vc_j_puts(x, b, named);
        } else if (cp == (unsigned char)quote) {
            vc_j_putc(x, b, '\\');
            vc_j_putc(x, b, quote);
        } else if (bytes ? cp >= 0x20 && cp < 0x7F : vc_j_printable(cp)) {
            vc_j_put(x, b, s->p + i, w);
        } else {
            snprintf(esc, sizeof esc, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
            vc_j_puts(x, b, esc);
        }
        i += w;
    }
    vc_j_putc(x, b, quote);
}

static void repr_items(vc_jx *x, struct vc_jbuf *b, const struct vc_jlist *l) {
    for (size_t i = 0; i < l->n; i++) {
        if (i) vc_j_puts(x, b, ", ");
        vc_j_put_repr(x, b, l->v[i]);
    }
}

static void repr_pairs(vc_jx *x, struct vc_jbuf *b, const struct vc_jdict *d) {
    vc_j_putc(x, b, '{');
    for (size_t i = 0; i < d->n; i++) {
        if (i) vc_j_puts(x, b, ", ");
        vc_j_put_repr(x, b, d->e[i].k);
        vc_j_puts(x, b, ": ");
        vc_j_put_repr(x, b, d->e[i].v);
    }
    vc_j_putc(x, b, '}');
}

static void repr_view(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    vc_j_puts(x, b, vc_j_type_name(v));
    vc_j_puts(x, b, "([");
    for (size_t i = 0; i < v.u.d->n; i++) {
        const struct vc_jent *e = &v.u.d->e[i];
        if (i) vc_j_puts(x, b, ", ");
        if (v.sub == VC_J_ITEMS) vc_j_putc(x, b, '(');
        if (v.sub != VC_J_VALUES) vc_j_put_repr(x, b, e->k);
        if (v.sub == VC_J_ITEMS) vc_j_puts(x, b, ", ");
        if (v.sub != VC_J_KEYS) vc_j_put_repr(x, b, e->v);
        if (v.sub == VC_J_ITEMS) vc_j_putc(x, b, ')');
    }
    vc_j_puts(x, b, "])");
}

static void repr_container(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    vc_j_enter(x);
    switch (v.t) {
    case VC_J_LIST:
        vc_j_putc(x, b, '[');
        repr_items(x, b, v.u.l);
        vc_j_putc(x, b, ']');
        break;
    case VC_J_TUPLE:
        vc_j_putc(x, b, '(');
        repr_items(x, b, v.u.l);
        vc_j_puts(x, b, v.u.l->n == 1 ? ",)" : ")");
        break;
    case VC_J_DICT: repr_pairs(x, b, v.u.d); break;
    case VC_J_VIEW: repr_view(x, b, v); break;
    default:
        vc_j_puts(x, b, "<Namespace ");
        repr_pairs(x, b, v.u.d);
        vc_j_putc(x, b, '>');
        break;
    }
    vc_j_leave(x);
}

static void repr_range(vc_jx *x, struct vc_jbuf *b, const struct vc_jrange *r) {
    char s[96];
    if (r->step == 1) snprintf(s, sizeof s, "range(%lld, %lld)", (long long)r->start, (long long)r->stop);
    else snprintf(s, sizeof s, "range(%lld, %lld, %lld)", (long long)r->start, (long long)r->stop, (long long)r->step);
    vc_j_puts(x, b, s);
}

/* Objects whose text in Python holds a memory address: here 0x0, so that output does not vary. */
static void repr_object(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    char s[160];
    switch (v.t) {
    case VC_J_MACRO: {
        char name[64];
        const struct vc_jstr *n = v.u.m->name;
        snprintf(s, sizeof s, "<Macro '%s'>", n ? vc_printable(name, sizeof name, n->p, n->n) : "anonymous");
        break;
    }
    case VC_J_FUNC:
        if (!strcmp(v.u.fn->name, "range") || !strcmp(v.u.fn->name, "dict"))
            snprintf(s, sizeof s, "<class '%s'>", v.u.fn->name);
        else if (!strcmp(v.u.fn->name, "namespace")) snprintf(s, sizeof s, "<class 'jinja2.utils.Namespace'>");
        else if (!strcmp(v.u.fn->name, "cycler")) snprintf(s, sizeof s, "<class 'jinja2.utils.Cycler'>");
        else if (!strcmp(v.u.fn->name, "joiner")) snprintf(s, sizeof s, "<class 'jinja2.utils.Joiner'>");
        else snprintf(s, sizeof s, "<function %s at 0x0>", v.u.fn->name);
        break;
    case VC_J_METHOD:
        snprintf(s, sizeof s, "<built-in method %s of %s object at 0x0>", v.u.bm->fn->name,
                 vc_j_type_name(v.u.bm->self));
        break;
    case VC_J_SELF: snprintf(s, sizeof s, "<TemplateReference None>"); break;
    case VC_J_ITER:
        snprintf(s, sizeof s,
                 strstr(v.u.it->kind, "iterator") || !strcmp(v.u.it->kind, "reversed")
                     ? "<%s object at 0x0>"
                     : "<generator object %s at 0x0>",
                 v.u.it->kind);
        break;
    default: snprintf(s, sizeof s, "<%s object at 0x0>", vc_j_type_name(v)); break;
    }
    vc_j_puts(x, b, s);
}

void vc_j_put_repr(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    char s[40];
    vc_j_step(x, 1);
    switch (v.t) {
    case VC_J_MISSING: vc_j_puts(x, b, "missing"); return;
    case VC_J_UNDEF: vc_j_puts(x, b, "Undefined"); return;
    case VC_J_NONE: vc_j_puts(x, b, "None"); return;
    case VC_J_BOOL: vc_j_puts(x, b, v.u.b ? "True" : "False"); return;
    case VC_J_INT:
        snprintf(s, sizeof s, "%lld", (long long)v.u.i);
        vc_j_puts(x, b, s);
        return;
    case VC_J_BIG: vc_j_put_big(x, b, v.u.big); return;
    case VC_J_FLOAT: vc_j_put(x, b, s, vc_j_repr_double(s, v.u.f)); return;
    case VC_J_STR:
        if (v.sub) vc_j_puts(x, b, "Markup(");
        repr_str(x, b, v.u.s, false);
        if (v.sub) vc_j_putc(x, b, ')');
        return;
    case VC_J_BYTES:
        vc_j_putc(x, b, 'b');
        repr_str(x, b, v.u.s, true);
        return;
    case VC_J_LIST: case VC_J_TUPLE: case VC_J_DICT: case VC_J_VIEW: case VC_J_NS: repr_container(x, b, v); return;
    case VC_J_RANGE: repr_range(x, b, v.u.r); return;
    case VC_J_LOOP: {
        struct vc_jstr index = { "index", 5, 5 }, length = { "length", 6, 6 };
        snprintf(s, sizeof s, "<LoopContext %lld/%lld>", (long long)vc_j_loop_attr(x, v.u.loop, &index).u.i,
                 (long long)vc_j_loop_attr(x, v.u.loop, &length).u.i);
        vc_j_puts(x, b, s);
        return;
    }
    default: repr_object(x, b, v); return;
    }
}

void vc_j_put_str(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    if (v.t == VC_J_STR) vc_j_puts_str(x, b, v.u.s);
    else if (v.t != VC_J_UNDEF) vc_j_put_repr(x, b, v);
}

vc_jv vc_j_to_str(vc_jx *x, vc_jv v) {
    if (v.t == VC_J_STR) return v;
    struct vc_jbuf b = { 0 };
    vc_j_put_str(x, &b, v);
    return vc_j_done(x, &b);
}


void vc_j_put_escaped(vc_jx *x, struct vc_jbuf *b, vc_jv v) {
    if (v.t == VC_J_STR && v.sub) {
        vc_j_puts_str(x, b, v.u.s);
        return;
    }
    const struct vc_jstr *s = vc_j_to_str(x, v).u.s;
    size_t from = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *e = s->p[i] == '&'    ? "&amp;"
                        : s->p[i] == '<'  ? "&lt;"
                        : s->p[i] == '>'  ? "&gt;"
                        : s->p[i] == '\'' ? "&#39;"
                        : s->p[i] == '"'  ? "&#34;"
                                          : NULL;
        if (!e) continue;
        vc_j_put(x, b, s->p + from, i - from);
        vc_j_puts(x, b, e);
        from = i + 1;
    }
    vc_j_put(x, b, s->p + from, s->n - from);
}

vc_jv vc_j_escape(vc_jx *x, vc_jv v) {
    struct vc_jbuf b = { 0 };
    vc_j_put_escaped(x, &b, v);
    v = vc_j_done(x, &b);
    v.sub = 1;
    return v;
}
