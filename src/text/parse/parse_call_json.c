/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls as JSON: {"name": …, "arguments": …}, alone or in an array, or {"name": arguments}. The text of the
 * arguments is passed on byte by byte as it stands; arguments before the name wait for it. Arguments that are a
 * string holding JSON are that JSON. vc_tool.in: key of the name, of the arguments, another key of the arguments,
 * key of the id, then an end marker for each start marker, where vc_tool.end is NULL.
 */
#include <string.h>

#include "text/parse/parse_int.h"

enum { F_NONE, F_NAME, F_ARGS, F_ID, F_OTHER };
enum { M_SCAN, M_BRACE, M_RAW };

enum { IN_NAME, IN_ARGS, IN_ARGS2, IN_ID };     /* of vc_tool.in */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void begin(struct vc_parser *p) { vc_jscan_init(&p->u.json.js); }

static void call(struct vc_parser *p) {
    struct vc_call_json *b = &p->u.json;
    b->named = b->calls = true;
    vc_pp_begin(p, p->name.p, p->name.n, p->id.p, p->id.n);
    vc_pp_args(p, p->args.p, p->args.n);
    p->args.n = 0;
}

static void give(struct vc_parser *p, const char *s, size_t n) {
    if (p->u.json.named) vc_pp_args(p, s, n);
    else vc_buf_add(&p->args, s, n);
}

static uint8_t field_of(const struct vc_parser *p) {
    const char *const *in = p->tool->in;
    vc_str k = { p->key.p ? p->key.p : "", p->key.n };
    if (p->tool->flags & VC_TD_NAMEKEY) return p->u.json.named ? F_OTHER : F_ARGS;
    if (vc_str_is(k, in[IN_NAME])) return p->u.json.named ? F_OTHER : F_NAME;
    if (vc_str_is(k, in[IN_ARGS]) || (in[IN_ARGS2] && vc_str_is(k, in[IN_ARGS2]))) {
        return p->u.json.have_args ? F_OTHER : F_ARGS;
    }
    if (in[IN_ID] && vc_str_is(k, in[IN_ID])) return F_ID;
    return F_OTHER;
}

/* The first byte of a value of the call's object. */
static bool value_begins(struct vc_parser *p, char c) {
    struct vc_call_json *b = &p->u.json;
    b->field = field_of(p);
    p->val.n = 0;
    if (b->field == F_NAME) return c == '"';
    if (b->field == F_ARGS) {
        if (p->tool->flags & VC_TD_NAMEKEY) {
            if (!p->key.n) return false;
            vc_buf_addc(&p->val, '"');
            vc_buf_add(&p->val, p->key.p, p->key.n);
            vc_buf_addc(&p->val, '"');
            vc_json_unquote(&p->name, p->val.p, p->val.n);
            p->val.n = 0;
            call(p);
        }
        b->have_args = true;
        b->str_args = c == '"';
        b->brace = 0;
        b->quote = b->escape = false;
    }
    return true;
}

/* The nesting of the arguments alone, counted as vLLM's scanner does it: what is left when they are malformed. */
static void count(struct vc_call_json *b, char c) {
    if (b->escape) b->escape = false;
    else if (b->quote && c == '\\') b->escape = true;
    else if (c == '"') b->quote = !b->quote;
    else if (!b->quote && (c == '{' || c == '[')) b->brace++;
    else if (!b->quote && (c == '}' || c == ']') && b->brace) b->brace--;
}

static void value_byte(struct vc_parser *p, char c) {
    struct vc_call_json *b = &p->u.json;
    if (b->field == F_NAME || b->field == F_ID || (b->field == F_ARGS && b->str_args)) {
        vc_buf_addc(&p->val, c);
    } else if (b->field == F_ARGS) {
        count(b, c);
        give(p, &c, 1);
    }
}

static bool value_ends(struct vc_parser *p) {
    struct vc_call_json *b = &p->u.json;
    uint8_t field = b->field;
    b->field = F_NONE;
    if (field == F_NAME) {
        p->name.n = 0;
        vc_json_unquote(&p->name, p->val.p, p->val.n);
        if (!p->name.n || p->name.n > VC_PP_MAX_NAME) return false;
        call(p);
    } else if (field == F_ID) {
        p->id.n = 0;
        if (p->val.n && p->val.p[0] == '"') vc_json_unquote(&p->id, p->val.p, p->val.n);
        else vc_buf_add(&p->id, p->val.p, p->val.n);
    } else if (field == F_ARGS && b->str_args) {
        size_t at = p->key.n;
        vc_json_unquote(&p->key, p->val.p, p->val.n);
        bool json = vc_json_is_value(p->key.p + at, p->key.n - at, NULL);
        if (json) give(p, p->key.p + at, p->key.n - at);
        else give(p, p->val.p, p->val.n);
        p->key.n = at;
    }
    return true;
}

static void object_begins(struct vc_parser *p) {
    struct vc_call_json *b = &p->u.json;
    b->in_obj = true;
    b->named = b->have_args = b->str_args = false;
    b->field = F_NONE;
    p->name.n = p->id.n = p->args.n = 0;
}

static bool object_ends(struct vc_parser *p) {
    struct vc_call_json *b = &p->u.json;
    b->in_obj = false;
    if (!b->named) return false;
    if (!b->have_args && p->tool->bad == VC_BAD_ALL && !(p->tool->flags & VC_TD_NO_ARGS)) return false;
    if (!b->have_args) vc_pp_args(p, "{}", 2);
    vc_pp_end(p, true);
    return true;
}

static enum vc_pb broken(struct vc_parser *p, char c) {
    struct vc_call_json *b = &p->u.json;
    bool raw = b->field == F_ARGS && b->named && !b->str_args && (b->brace || p->tool->bad != VC_BAD_BRACE);
    if (!raw || p->tool->bad == VC_BAD_ALL || p->tool->bad == VC_BAD_DROP) return VC_PB_FAIL;
    b->mode = p->tool->bad == VC_BAD_BRACE ? M_BRACE : M_RAW;
    p->tg.n = 0;
    return vc_body_json.byte(p, c);
}

/* Malformed arguments that go on until their brackets are closed. */
static enum vc_pb brace_byte(struct vc_parser *p, char c) {
    struct vc_call_json *b = &p->u.json;
    value_byte(p, c);
    if (b->brace) return VC_PB_MORE;
    vc_pp_end(p, false);
    return VC_PB_DONE;
}

/* Malformed arguments that go on until the end marker. */
static enum vc_pb raw_byte(struct vc_parser *p, char c) {
    bool taken = false;
    while (!taken) {
        vc_str text;
        int hit;
        taken = vc_tag_next(&p->tg, &p->end_tags, &c, 1, &text, &hit);
        give(p, text.p, text.n);
        if (hit >= 0) {
            vc_pp_end(p, false);
            return VC_PB_CLOSE;
        }
    }
    return VC_PB_MORE;
}

static bool root_allows(const struct vc_parser *p, char c) {
    return (c == '{' && (p->tool->flags & VC_TD_OBJ)) || (c == '[' && (p->tool->flags & VC_TD_ARR));
}

/* Before the scanner: what the body may be at all. */
static bool allowed(struct vc_parser *p, char c) {
    struct vc_call_json *b = &p->u.json;
    if (is_space(c)) return true;
    if (!b->js.depth) {
        if (!root_allows(p, c)) return false;
        b->base = c == '[' ? 2 : 1;
        return true;
    }
    if (b->js.depth == b->base - 1) {
        if (b->js.st == VC_J_VALUE_OR_END) return c == '{' || (c == ']' && b->calls);
        if (b->js.st == VC_J_VALUE) return c == '{';
    }
    return true;
}

static enum vc_pb scan_byte(struct vc_parser *p, char c) {
    struct vc_call_json *b = &p->u.json;
    struct vc_jscan *j = &b->js;
    if (!allowed(p, c)) {
        return (p->tool->flags & VC_TD_SKIP) && !j->depth ? VC_PB_MORE : VC_PB_FAIL;
    }
    uint8_t st = j->st;
    uint32_t depth = j->depth;
    bool number = vc_jscan_in_number(j);
    if (b->in_obj && depth == b->base && st == VC_J_VALUE && !is_space(c) && !value_begins(p, c)) return VC_PB_FAIL;
    if (!vc_jscan_byte(j, c)) return broken(p, c);
    if (!b->in_obj) {
        if (j->depth == b->base && depth < j->depth) object_begins(p);
        return j->st == VC_J_DONE ? VC_PB_DONE : VC_PB_MORE;
    }
    bool in_key = j->key && (st == VC_J_STRING || st == VC_J_ESCAPE || st == VC_J_HEX);
    if (depth == b->base && in_key && j->st != VC_J_COLON) {
        if (p->key.n < VC_PP_MAX_NAME) vc_buf_addc(&p->key, c);
    } else if (depth == b->base && (st == VC_J_KEY || st == VC_J_KEY_OR_END)) {
        p->key.n = 0;
    }
    if (b->field != F_NONE) {
        bool number_over = number && depth == b->base && !vc_jscan_in_number(j);
        bool over = j->depth <= b->base && (j->st == VC_J_AFTER || number_over);
        bool mine = !(number && depth == b->base && over);
        if (mine) value_byte(p, c);
        if (over && !value_ends(p)) return VC_PB_FAIL;
    }
    if (j->depth < b->base && !object_ends(p)) return VC_PB_FAIL;
    return j->st == VC_J_DONE ? VC_PB_DONE : VC_PB_MORE;
}

static enum vc_pb json_byte(struct vc_parser *p, char c) {
    switch (p->u.json.mode) {
    case M_BRACE: return brace_byte(p, c);
    case M_RAW: return raw_byte(p, c);
    default: return scan_byte(p, c);
    }
}

/* Arguments that were cut are made whole. */
static void complete(struct vc_parser *p) {
    if (!p->call_open || !p->call_shown || !p->q.n) return;
    const struct vc_pev *e = &p->q.ev[p->q.n - 1];
    bool any = e->kind == VC_PARSE_CALL_ARGS;
    size_t keep = 0;
    struct vc_buf tail = { 0 };
    p->val.n = 0;
    if (any && p->whole) {
        size_t n = e->len;
        while (n && is_space(p->q.text.p[e->off + n - 1])) n--;
        vc_buf_add(&p->val, p->q.text.p + e->off, n);
        any = vc_json_complete(p->val.p, p->val.n, &keep, &tail);
        p->q.text.n = e->off;
        p->q.n--;
        if (any) vc_pp_args(p, p->val.p, keep);
        vc_pp_args(p, tail.p, tail.n);
    }
    if (!any && p->whole) vc_pp_truncate(p, p->mark_call);
    if (p->whole) vc_pp_end(p, any);
    vc_buf_free(&tail);
}

static void cut(struct vc_parser *p) {
    struct vc_call_json *b = &p->u.json;
    const struct vc_tool *t = p->tool;
    if (b->mode == M_RAW) give(p, p->tg.held, p->tg.n);
    if (t->cut == VC_CUT_CLOSE && (b->js.depth || p->sent)) {
        complete(p);
        p->raw_on = false;
        vc_pp_end(p, false);
        return;
    }
    if (t->cut == VC_CUT_CLOSE) {
        if (p->whole) p->bad_all = true;
        else vc_think_plain(p, p->raw.p, p->raw.n);
        return;
    }
    if (t->cut == VC_CUT_KEEP && b->in_obj) {
        if (!b->named && (t->flags & VC_TD_NAMELESS) && p->id.n && p->whole) vc_pp_begin(p, "", 0, NULL, 0);
        if (b->named && !b->have_args && !(t->flags & VC_TD_NAMELESS)) vc_pp_args(p, "{}", 2);
    }
    vc_section_cut(p);
}

const struct vc_body_ops vc_body_json = { json_byte, cut, begin };
