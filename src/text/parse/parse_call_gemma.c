/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls as the Gemma models write them: call:name{key:value,…} with strings between delimiters, bare numbers and
 * words, and nested {} and []. Bare text gets its type from the tool's schema, inside containers by its look; of a
 * function that the request lacks it stays a string. vc_tool.in: [0] the string delimiter. The end marker ends a
 * call everywhere but in a string, unless VC_TD_PARTIAL says that an unfinished string stands.
 */
#include <string.h>

#include "io/json_out.h"
#include "text/parse/parse_int.h"

enum { G_PRE, G_NAME, G_KEY, G_QUOTED_KEY, G_COLON, G_VALUE, G_STRING, G_BARE, G_NEXT, G_OVER };
enum { R_CALL, R_COLON, R_QUOTE, R_END };

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void begin(struct vc_parser *p) {
    const char *q = p->tool->in[0], *end = p->tool->end;
    bool inside = p->tool->flags & VC_TD_PARTIAL;
    for (int i = 0; i < 4; i++) vc_tags_clear(&p->body_tags[i]);
    vc_tags_add(&p->body_tags[0], "call:", R_CALL, 0);
    vc_tags_add(&p->body_tags[0], inside ? ":" : NULL, R_COLON, 0);
    vc_tags_add(&p->body_tags[0], end, R_END, 0);
    vc_tags_add(&p->body_tags[1], q, R_QUOTE, 0);
    vc_tags_add(&p->body_tags[1], end, R_END, 0);
    vc_tags_add(&p->body_tags[2], q, R_QUOTE, 0);
    vc_tags_add(&p->body_tags[2], inside ? end : NULL, R_END, 0);
}

static void call(struct vc_parser *p) {
    vc_str name = vc_pp_trim(p->name.p, p->name.n);
    vc_pp_begin(p, name.p, name.n, NULL, 0);
    p->name.n = 0;
    p->u.gemma.named = true;
}

static enum vc_pb over(struct vc_parser *p, bool complete) {
    vc_pp_args(p, p->u.gemma.any ? "}" : "{}", p->u.gemma.any ? 1 : 2);
    vc_pp_end(p, complete);
    p->u.gemma.st = G_OVER;
    return VC_PB_MORE;
}

/* A value inside a container begins. */
static void element(struct vc_parser *p) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (!b->depth) return;
    bool *any = &b->stack[b->depth - 1].any;
    if (*any && b->stack[b->depth - 1].open == '[') vc_buf_adds(&p->val, ", ");
    *any = true;
}

static void key_over(struct vc_parser *p) {
    struct vc_call_gemma *b = &p->u.gemma;
    vc_str k = vc_pp_trim(p->key.p, p->key.n);
    b->st = G_VALUE;
    if (b->depth) {
        bool *any = &b->stack[b->depth - 1].any;
        if (*any) vc_buf_adds(&p->val, ", ");
        *any = true;
        vc_json_add_str(&p->val, k.p, k.n);
        vc_buf_adds(&p->val, ": ");
        p->key.n = 0;
        return;
    }
    if (k.n) memmove(p->key.p, k.p, k.n);
    p->key.n = k.n;
    b->types = p->fn_known ? vc_schema_types(p->props, p->key.p, k.n) : 1u << VC_TY_STR;
    p->val.n = 0;
}

/* A top-level value of JSON text j. */
static void argument(struct vc_parser *p, const char *j, size_t n) {
    vc_pp_args_key(p, !p->u.gemma.any, p->key.p, p->key.n);
    vc_pp_args(p, j, n);
    p->u.gemma.any = true;
    p->val.n = 0;
}

static void typed(struct vc_parser *p, uint32_t types) {
    struct vc_buf v = { 0 };
    vc_schema_value(&v, p->val.p, p->val.n, types);
    argument(p, v.p, v.n);
    if (v.failed) p->failed = true;
    vc_buf_free(&v);
}

static void string_over(struct vc_parser *p) {
    struct vc_call_gemma *b = &p->u.gemma;
    b->st = G_NEXT;
    if (b->depth) {
        vc_json_add_str(&p->val, p->args.p, p->args.n);
        p->args.n = 0;
    } else if (b->stream) {
        vc_pp_args_text(p, p->val.p, p->val.n);
        vc_pp_args(p, "\"", 1);
        b->stream = false;
        p->val.n = 0;
    } else {
        typed(p, b->types);
    }
}

static void bare_over(struct vc_parser *p) {
    struct vc_call_gemma *b = &p->u.gemma;
    vc_str t = vc_pp_trim(p->args.p, p->args.n);
    b->st = G_NEXT;
    if (b->depth) {
        int kind;
        bool json = vc_json_is_value(t.p, t.n, &kind) && kind != VC_TY_OBJ && kind != VC_TY_ARR;
        if (json && p->fn_known) vc_buf_add(&p->val, t.p, t.n);
        else vc_json_add_str(&p->val, t.p, t.n);
    } else if (p->fn_known || (p->tool->flags & VC_TD_PARTIAL)) {
        p->val.n = 0;
        vc_buf_add(&p->val, t.p, t.n);
        typed(p, b->types);
    }
    p->args.n = 0;
}

static void string_text(struct vc_parser *p, vc_str s) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (b->depth) {
        vc_buf_add(&p->args, s.p, s.n);
        return;
    }
    vc_buf_add(&p->val, s.p, s.n);
    if (!b->stream && (p->whole || b->types != 1u << VC_TY_STR || p->val.n <= VC_PP_LOOK_VALUE)) return;
    vc_pp_args_string(p, &b->any, &b->stream);
    vc_pp_args_text(p, p->val.p, p->val.n);
    p->val.n = 0;
}

static bool close_level(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (!b->depth) {
        if (c != (char)b->close) return false;
        (void)over(p, true);
        return true;
    }
    char open = (char)b->stack[b->depth - 1].open;
    if (c != (open == '{' ? '}' : ']')) return false;
    vc_buf_addc(&p->val, c);
    b->st = G_NEXT;
    if (!--b->depth) argument(p, p->val.p, p->val.n);
    return true;
}

static bool open_level(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (b->depth == VC_PP_MAX_DEPTH) return false;
    element(p);
    b->stack[b->depth].open = (uint8_t)c;
    b->stack[b->depth++].any = false;
    vc_buf_addc(&p->val, c);
    b->st = c == '{' ? G_KEY : G_VALUE;
    p->args.n = 0;
    return true;
}

/* Where a key of the level is collected: the top-level one must outlive the value. */
static struct vc_buf *key_buf(struct vc_parser *p) { return p->u.gemma.depth ? &p->args : &p->key; }

static bool key_char(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    struct vc_buf *k = key_buf(p);
    if (!k->n && (is_space(c) || c == ',')) return true;
    if (c == ':') {
        if (b->depth) {
            struct vc_buf saved = p->key;
            p->key = p->args;
            key_over(p);
            p->args = p->key;
            p->key = saved;
            p->args.n = 0;
        } else {
            key_over(p);
        }
        return true;
    }
    if (!vc_pp_trim(k->p, k->n).n && close_level(p, c)) return true;
    vc_buf_addc(k, c);
    return k->n <= VC_PP_MAX_NAME;
}

static bool value_char(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (is_space(c)) return true;
    if (c == '{' || c == '[') return open_level(p, c);
    bool list = b->depth && b->stack[b->depth - 1].open == '[';
    if (list && c == ']') return close_level(p, c);
    if (c == ',') return list;
    element(p);
    p->args.n = 0;
    vc_buf_addc(&p->args, c);
    b->st = G_BARE;
    return true;
}

static bool next_char(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (is_space(c)) return true;
    if (c != ',') return close_level(p, c);
    bool list = b->depth && b->stack[b->depth - 1].open == '[';
    b->st = list ? G_VALUE : G_KEY;
    key_buf(p)->n = 0;
    return true;
}

static bool bare_char(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    bool ends = c == ',' || c == '}' || c == ']' || (!b->depth && c == (char)b->close);
    if (!ends) {
        vc_buf_addc(&p->args, c);
        return true;
    }
    bare_over(p);
    return next_char(p, c);
}

static bool argument_char(struct vc_parser *p, char c) {
    switch (p->u.gemma.st) {
    case G_KEY: return key_char(p, c);
    case G_COLON: return is_space(c) || (c == ':' && key_char(p, c));
    case G_VALUE: return value_char(p, c);
    case G_BARE: return bare_char(p, c);
    case G_NEXT: return next_char(p, c);
    default: return true;
    }
}

static bool name_char(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (c != '{' && c != '(') {
        vc_buf_addc(&p->name, c);
        return p->name.n <= VC_PP_MAX_NAME;
    }
    call(p);
    b->close = c == '{' ? '}' : ')';
    b->st = G_KEY;
    p->key.n = 0;
    return true;
}

/* A call that an end marker ends early: what is open is closed. */
static void end_here(struct vc_parser *p, bool complete) {
    struct vc_call_gemma *b = &p->u.gemma;
    bool keep = p->tool->flags & VC_TD_PARTIAL;
    if (b->st == G_STRING && (keep || b->stream)) string_over(p);
    else if (b->st == G_BARE && !b->depth && keep) bare_over(p);
    if (b->st == G_VALUE && !b->depth && keep) typed(p, b->types);
    if (b->depth && b->st == G_VALUE && b->stack[b->depth - 1].open == '{') vc_buf_adds(&p->val, "null");
    else if (b->depth && (b->st == G_STRING || b->st == G_BARE)) vc_buf_adds(&p->val, "null");
    if (b->depth && keep) {
        while (b->depth) vc_buf_addc(&p->val, b->stack[--b->depth].open == '{' ? '}' : ']');
        argument(p, p->val.p, p->val.n);
    }
    (void)over(p, complete);
}

static enum vc_pb on_tag(struct vc_parser *p, unsigned role) {
    struct vc_call_gemma *b = &p->u.gemma;
    if (role == R_END) {
        if (b->st == G_NAME) {
            call(p);
            (void)over(p, true);
        } else if (b->st != G_PRE && b->st != G_OVER) {
            end_here(p, true);
        }
        return VC_PB_CLOSE;
    }
    if (role == R_CALL || role == R_COLON) b->st = G_NAME;
    else if (b->st == G_VALUE) {
        element(p);
        p->args.n = 0;
        b->st = G_STRING;
    } else if (b->st == G_STRING) string_over(p);
    else if (b->st == G_KEY && !key_buf(p)->n) b->st = G_QUOTED_KEY;
    else if (b->st == G_QUOTED_KEY) b->st = G_COLON;
    else if (b->st != G_OVER) return VC_PB_FAIL;
    return VC_PB_MORE;
}

static enum vc_pb gemma_byte(struct vc_parser *p, char c) {
    struct vc_call_gemma *b = &p->u.gemma;
    for (bool taken = false; !taken;) {
        bool string = b->st == G_STRING || b->st == G_QUOTED_KEY;
        const struct vc_tags *t = &p->body_tags[b->st == G_PRE ? 0 : string ? 2 : 1];
        vc_str text;
        int hit;
        taken = vc_pp_tag_byte(p, t, &c, &text, &hit);
        if (hit >= 0) return on_tag(p, t->t[hit].role);
        if (b->st == G_PRE && text.n && !(p->tool->flags & VC_TD_PARTIAL)) return VC_PB_FAIL;
        if (b->st == G_STRING) string_text(p, text);
        else if (b->st == G_QUOTED_KEY) vc_buf_add(key_buf(p), text.p, text.n);
        else {
            for (size_t i = 0; i < text.n; i++) {
                bool ok = b->st == G_NAME ? name_char(p, text.p[i]) : argument_char(p, text.p[i]);
                if (!ok) return VC_PB_FAIL;
            }
        }
    }
    return VC_PB_MORE;
}

static void cut(struct vc_parser *p) {
    struct vc_call_gemma *b = &p->u.gemma;
    bool keep = p->tool->flags & VC_TD_PARTIAL;
    if (b->st == G_OVER) return;
    if (b->st == G_NAME && keep) {
        vc_buf_add(&p->name, p->tg.held, p->tg.n);
        call(p);
    }
    if (b->named) {
        end_here(p, false);
    } else if (!keep && !p->n_calls) {
        if (p->whole) p->bad_all = true;
        else vc_think_plain(p, p->raw.p, p->raw.n);
    }
}

const struct vc_body_ops vc_body_gemma = { gemma_byte, cut, begin };
