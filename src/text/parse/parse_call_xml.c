/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls as tags: a name, then parameters whose text becomes a value of the type that the tool's schema says. The
 * formats have no escapes, so an end tag inside a value ends it. Text of a string longer than VC_PP_LOOK_VALUE is
 * sent as it arrives, a shorter one when its end was seen: one that never ends is left out, with its key.
 * vc_tool.in: [0] call opens (NULL: at the start marker), [1] the name ends, [2] parameter opens, [3] its key ends,
 * [4] its value begins (NULL: there), [5] its value ends, [6] call ends, [7] section ends (NULL: with the call).
 */
#include <string.h>

#include "text/parse/parse_int.h"

enum { X_SECTION, X_NAME, X_BODY, X_KEY, X_GAP, X_VALUE };
enum { IN_CALL, IN_NAME_END, IN_PARAM, IN_KEY_END, IN_VALUE, IN_VALUE_END, IN_END, IN_CLOSE };
enum { R_CALL, R_NAME_END, R_PARAM, R_KEY_END, R_VALUE, R_VALUE_END, R_END, R_CLOSE };    /* the same order */

static void tags(struct vc_parser *p, int state, unsigned in_mask) {
    vc_tags_clear(&p->body_tags[state]);
    for (unsigned i = 0; i < 8; i++) {
        if (in_mask >> i & 1) vc_tags_add(&p->body_tags[state], p->tool->in[i], i, 0);
    }
}

static void begin(struct vc_parser *p) {
    tags(p, X_SECTION, 1 << R_CALL | 1 << R_CLOSE);
    tags(p, X_NAME, 1 << R_NAME_END | 1 << R_END | (p->tool->in[IN_CALL] ? 0 : 1 << R_PARAM));
    tags(p, X_BODY, 1 << R_PARAM | 1 << R_END | 1 << R_CLOSE);
    tags(p, X_KEY, 1 << R_KEY_END | 1 << R_END);
    tags(p, X_GAP, 1 << R_VALUE | 1 << R_END | 1 << R_PARAM);
    tags(p, X_VALUE, 1 << R_VALUE_END | 1 << R_END | (p->tool->in[IN_VALUE] ? 0 : 1 << R_PARAM));
    bool at_name = !p->tool->in[IN_CALL] || (p->start && !strcmp(p->tool->start[p->start], p->tool->in[IN_CALL]));
    p->u.xml.st = at_name ? X_NAME : X_SECTION;
}

/* Without quotes; the closing one may be missing where the output was cut. */
static vc_str unquote(vc_str s) {
    if (!s.n || (s.p[0] != '"' && s.p[0] != '\'')) return s;
    size_t closed = s.n >= 2 && s.p[s.n - 1] == s.p[0];
    return (vc_str){ s.p + 1, s.n - 1 - closed };
}

static void call(struct vc_parser *p) {
    vc_str name = unquote(vc_pp_trim(p->name.p, p->name.n));
    vc_pp_begin(p, name.p, name.n, NULL, 0);
    p->name.n = 0;
    p->u.xml.any = false;
    p->u.xml.st = X_BODY;
}

static enum vc_pb end(struct vc_parser *p, bool complete) {
    vc_pp_args(p, p->u.xml.any ? "}" : "{}", p->u.xml.any ? 1 : 2);
    vc_pp_end(p, complete);
    p->name.n = 0;
    p->u.xml.st = X_SECTION;
    return p->tool->in[IN_CLOSE] ? VC_PB_MORE : VC_PB_CLOSE;
}

/* The value of an attribute in the text of a tag, which is searched in place. */
static bool attribute(vc_str tag, const char *name, vc_str *v) {
    size_t m = strlen(name);
    for (size_t i = 0; i + m + 2 <= tag.n; i++) {
        if (memcmp(tag.p + i, name, m) || (tag.p[i + m] != '"' && tag.p[i + m] != '\'')) continue;
        const char *from = tag.p + i + m + 1;
        const char *to = memchr(from, tag.p[i + m], tag.n - i - m - 1);
        if (!to) return false;
        *v = (vc_str){ from, (size_t)(to - from) };
        return true;
    }
    return false;
}

static void key(struct vc_parser *p) {
    struct vc_call_xml *b = &p->u.xml;
    vc_str k = vc_pp_trim(p->key.p, p->key.n), name, is_string;
    bool attributes = attribute(k, "name=", &name);
    b->literal = attributes && !(attribute(k, "string=", &is_string) && vc_str_is(is_string, "true"));
    k = attributes ? name : unquote(k);
    if (k.n) memmove(p->key.p, k.p, k.n);
    p->key.n = k.n;
    const uint32_t string = 1u << VC_TY_STR;
    bool has = k.n && json_object_getn(p->props, p->key.p, k.n);
    b->types = p->fn_known ? vc_schema_types(p->props, p->key.p, k.n) : string;
    if (!has && b->literal) b->types = 1u << VC_TY_UNKNOWN;
    b->stream = false;
    b->lead = (p->tool->flags & VC_TD_NL) != 0;
    p->val.n = 0;
    b->st = p->tool->in[IN_VALUE] ? X_GAP : X_VALUE;
}

/* What is certain of a long string. One newline at its end may be markup. */
static void send_some(struct vc_parser *p) {
    struct vc_call_xml *b = &p->u.xml;
    bool may = !p->whole && !b->literal && b->types == 1u << VC_TY_STR && p->val.n > VC_PP_LOOK_VALUE;
    if (!b->stream && !may) return;
    vc_pp_args_string(p, &b->any, &b->stream);
    size_t n = p->val.n;
    if (!n) return;
    bool hold = (p->tool->flags & VC_TD_NL) && p->val.p[n - 1] == '\n';
    vc_pp_args_text(p, p->val.p, n - hold);
    p->val.n = 0;
    if (hold) vc_buf_addc(&p->val, '\n');
}

static void value_text(struct vc_parser *p, vc_str s) {
    if (s.n && p->u.xml.lead) {
        p->u.xml.lead = false;
        if (*s.p == '\n') s.p++, s.n--;
    }
    vc_buf_add(&p->val, s.p, s.n);
    send_some(p);
}

static void value_ends(struct vc_parser *p) {
    struct vc_call_xml *b = &p->u.xml;
    size_t n = p->val.n;
    if ((p->tool->flags & VC_TD_NL) && n && p->val.p[n - 1] == '\n') n--;
    if (b->stream) {
        vc_pp_args_text(p, p->val.p, n);
        vc_pp_args(p, "\"", 1);
        b->stream = false;
        return;
    }
    int kind;
    bool as_is = b->literal && vc_json_is_value(p->val.p, n, &kind) && (kind == VC_TY_OBJ || kind == VC_TY_ARR);
    struct vc_buf v = { 0 };
    vc_schema_value(&v, p->val.p, n, as_is ? 1u << kind : b->types);
    vc_pp_args_key(p, !b->any, p->key.p, p->key.n);
    vc_pp_args(p, v.p, v.n);
    if (v.failed) p->failed = true;
    vc_buf_free(&v);
    b->any = true;
}

/* The call ends inside a value. */
static enum vc_pb end_in_value(struct vc_parser *p) {
    if (p->u.xml.stream) vc_pp_args(p, "\"", 1);
    p->u.xml.stream = false;
    return end(p, true);
}

static enum vc_pb on_tag(struct vc_parser *p, unsigned role) {
    struct vc_call_xml *b = &p->u.xml;
    bool in_value = b->st == X_VALUE, in_name = b->st == X_NAME;
    switch (role) {
    case R_CALL: b->st = X_NAME; break;
    case R_NAME_END: call(p); break;
    case R_PARAM:
        if (in_name) call(p);
        if (in_value) value_ends(p);
        p->key.n = 0;
        b->st = X_KEY;
        break;
    case R_KEY_END: key(p); break;
    case R_VALUE: b->st = X_VALUE; break;
    case R_VALUE_END:
        value_ends(p);
        b->st = X_BODY;
        break;
    case R_END:
        if (in_name) call(p);
        return in_value ? end_in_value(p) : end(p, true);
    default:
        if (b->st == X_BODY) (void)end(p, true);
        return VC_PB_CLOSE;
    }
    return VC_PB_MORE;
}

static enum vc_pb xml_byte(struct vc_parser *p, char c) {
    struct vc_call_xml *b = &p->u.xml;
    for (bool taken = false; !taken;) {
        const struct vc_tags *t = &p->body_tags[b->st];
        vc_str text;
        int hit;
        taken = vc_pp_tag_byte(p, t, &c, &text, &hit);
        if (hit >= 0) return on_tag(p, t->t[hit].role);
        if (b->st == X_VALUE) value_text(p, text);
        struct vc_buf *to = b->st == X_NAME ? &p->name : b->st == X_KEY ? &p->key : NULL;
        if (!to) continue;
        vc_buf_add(to, text.p, text.n);
        if (to->n > VC_PP_MAX_NAME) return VC_PB_FAIL;
    }
    return VC_PB_MORE;
}

static void cut(struct vc_parser *p) {
    struct vc_call_xml *b = &p->u.xml;
    if (b->st == X_NAME && p->tool->cut == VC_CUT_KEEP) {
        vc_buf_add(&p->name, p->tg.held, p->tg.n);
        if (vc_pp_trim(p->name.p, p->name.n).n) call(p);
    }
    if (p->call_open && !b->stream) vc_pp_args(p, b->any ? "}" : "{}", b->any ? 1 : 2);
    vc_section_cut(p);
}

const struct vc_body_ops vc_body_xml = { xml_byte, cut, begin };
