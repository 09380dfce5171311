/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls as a name, a separator and JSON arguments up to an end marker, in a section or each by itself. Arguments are
 * passed on as they stand: while they are JSON their end is known, so that an end marker inside a string is text;
 * once malformed they go on to the end marker. vc_tool.in: [0…3] keys of the JSON form that Mistral's older models
 * write, [4] call begins (NULL: at the start marker), [5] the name begins, [6] the name ends, [7] arguments begin
 * (NULL: there), [8] section ends, [9] end of malformed arguments, where it is not vc_tool.end, [10] an id stands
 * between here and [6].
 */
#include <string.h>

#include "text/parse/parse_int.h"

enum { MAX_AGAIN = 64 };
enum { N_SECTION, N_TYPE, N_NAME, N_ID, N_GAP, N_ARGS, N_RAW, N_END, N_PEEK };
enum { IN_CALL = 4, IN_TYPE, IN_SEP, IN_ARGS, IN_CLOSE, IN_RAW_END, IN_ID };
enum { R_CALL, R_SEP, R_ID, R_END, R_CLOSE };
enum { T_SECTION, T_NAME, T_ID, T_END, T_RAW };

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void begin(struct vc_parser *p) {
    const struct vc_tool *t = p->tool;
    for (int i = 0; i < 5; i++) vc_tags_clear(&p->body_tags[i]);
    vc_tags_add(&p->body_tags[T_SECTION], t->in[IN_CALL], R_CALL, 0);
    vc_tags_add(&p->body_tags[T_SECTION], t->in[IN_CLOSE], R_CLOSE, 0);
    vc_tags_add(&p->body_tags[T_NAME], t->in[IN_SEP], R_SEP, 0);
    vc_tags_add(&p->body_tags[T_NAME], t->in[IN_ID], R_ID, 0);
    vc_tags_add(&p->body_tags[T_NAME], t->end, R_END, 0);
    vc_tags_add(&p->body_tags[T_NAME], t->in[IN_CALL] ? NULL : t->start[0], R_CALL, 0);
    vc_tags_add(&p->body_tags[T_ID], t->in[IN_SEP], R_SEP, 0);
    vc_tags_add(&p->body_tags[T_END], t->end, R_END, 0);
    vc_tags_add(&p->body_tags[T_END], t->in[IN_CLOSE], R_CLOSE, 0);
    vc_tags_add(&p->body_tags[T_RAW], t->in[IN_RAW_END] ? t->in[IN_RAW_END] : t->end, R_END, 0);
    vc_tags_add(&p->body_tags[T_RAW], t->in[IN_CLOSE], R_CLOSE, 0);
    vc_tags_add(&p->body_tags[T_RAW], t->in[IN_CALL] ? NULL : t->start[0], R_CALL, 0);
    p->u.named.st = t->in[IN_CALL] ? N_SECTION : N_PEEK;
}

/* functions.NAME:INDEX is the id of a call of NAME. */
static vc_str name_of(const struct vc_parser *p, vc_str s, bool cut, bool *is_id) {
    *is_id = false;
    if (!(p->tool->flags & VC_TD_FUNCTIONS)) return s;
    if (cut && !memchr(s.p, ':', s.n)) return s;
    const char *colon = memchr(s.p, ':', s.n);
    *is_id = colon && colon > s.p && colon + 1 < s.p + s.n && colon[1] >= '0' && colon[1] <= '9';
    vc_str name = { s.p, *is_id ? (size_t)(colon - s.p) : s.n };
    if (vc_str_starts(name, "functions.")) name = (vc_str){ name.p + 10, name.n - 10 };
    return name;
}

static void call(struct vc_parser *p, bool cut) {
    bool is_id;
    vc_str s = vc_pp_trim(p->name.p, p->name.n);
    vc_str name = name_of(p, s, cut, &is_id);
    if (!is_id) s = vc_pp_trim(p->id.p, p->id.n);
    vc_pp_begin(p, name.p, name.n, s.p, s.n);
    vc_jscan_init(&p->u.named.js);
    p->u.named.given = false;
    p->u.named.st = p->tool->in[IN_ARGS] ? N_GAP : N_ARGS;
    p->name.n = p->id.n = 0;
}

static void end(struct vc_parser *p, bool complete) {
    if (!p->u.named.given) vc_pp_args(p, "{}", 2);
    vc_pp_end(p, complete || !p->u.named.given);
}

static void next(struct vc_parser *p, const char *section) {
    p->name.n = p->id.n = 0;
    p->u.named.st = section ? N_SECTION : N_NAME;
}

static enum vc_pb section_byte(struct vc_parser *p, const char *c) {
    vc_str text;
    int hit;
    while (!vc_pp_tag_byte(p, &p->body_tags[T_SECTION], c, &text, &hit)) continue;
    if (hit < 0) return VC_PB_MORE;
    if (p->body_tags[T_SECTION].t[hit].role == R_CLOSE) return VC_PB_CLOSE;
    p->u.named.st = p->tool->in[IN_TYPE] ? N_TYPE : N_NAME;
    return VC_PB_MORE;
}

/* Text up to a marker, which is a name or what stands around it. */
static enum vc_pb name_byte(struct vc_parser *p, const char *c) {
    struct vc_call_named *b = &p->u.named;
    const struct vc_tags *t = &p->body_tags[b->st == N_ID ? T_ID : T_NAME];
    struct vc_buf *to = b->st == N_ID ? &p->id : &p->name;
    bool taken = false;
    while (!taken) {
        vc_str text;
        int hit;
        taken = vc_pp_tag_byte(p, t, c, &text, &hit);
        vc_buf_add(to, text.p, text.n);
        if (to->n > VC_PP_MAX_NAME) return VC_PB_FAIL;
        if (hit < 0) continue;
        switch (t->t[hit].role) {
        case R_ID: b->st = N_ID; break;
        case R_SEP: call(p, false); break;
        case R_END: next(p, p->tool->in[IN_CALL]); break;
        default:
            call(p, false);
            end(p, true);
            next(p, p->tool->in[IN_CALL]);
        }
    }
    return VC_PB_MORE;
}

static enum vc_pb tag_to(struct vc_parser *p, const char *c, const char *marker, uint8_t st) {
    struct vc_tags t;
    vc_tags_clear(&t);
    vc_tags_add(&t, marker, 0, 0);
    vc_str text;
    int hit;
    while (!vc_pp_tag_byte(p, &t, c, &text, &hit)) continue;
    if (hit >= 0) p->u.named.st = st;
    return VC_PB_MORE;
}

static enum vc_pb after_args(struct vc_parser *p, unsigned role) {
    if (role == R_CLOSE) return VC_PB_CLOSE;
    next(p, p->tool->in[IN_CALL]);
    return VC_PB_MORE;
}

static enum vc_pb raw_byte(struct vc_parser *p, const char *c) {
    const struct vc_tags *t = &p->body_tags[T_RAW];
    for (bool taken = false; !taken;) {
        vc_str text;
        int hit;
        taken = vc_pp_tag_byte(p, t, c, &text, &hit);
        vc_pp_args(p, text.p, text.n);
        if (text.n) p->u.named.given = true;
        if (hit < 0) continue;
        end(p, false);
        return after_args(p, t->t[hit].role);
    }
    return VC_PB_MORE;
}

static enum vc_pb end_byte(struct vc_parser *p, const char *c) {
    const struct vc_tags *t = &p->body_tags[T_END];
    vc_str text;
    int hit;
    while (!vc_pp_tag_byte(p, t, c, &text, &hit)) continue;
    return hit < 0 ? VC_PB_MORE : after_args(p, t->t[hit].role);
}

enum step { S_MORE, S_BAD, S_DONE, S_BEFORE };     /* DONE: with this byte; BEFORE: without it */

static enum step json_step(struct vc_parser *p, char c) {
    struct vc_call_named *b = &p->u.named;
    bool whole = vc_jscan_whole(&b->js);
    bool ok = (b->given || c == '{') && vc_jscan_byte(&b->js, c);
    if (whole) {
        if (!ok || b->js.st == VC_J_DONE) return S_BEFORE;
    } else if (!ok) {
        b->st = N_RAW;
        return S_BAD;
    }
    vc_pp_args(p, &c, 1);
    b->given = true;
    return b->js.st == VC_J_DONE ? S_DONE : S_MORE;
}

static enum vc_pb json_over(struct vc_parser *p, enum step s, const char *c) {
    end(p, true);
    if (!p->tool->end) return s == S_BEFORE ? VC_PB_BEFORE : VC_PB_DONE;
    p->u.named.st = N_END;
    return s == S_BEFORE ? end_byte(p, c) : VC_PB_MORE;
}

static enum vc_pb json_byte(struct vc_parser *p, const char *c) {
    enum step s = json_step(p, *c);
    if (s == S_MORE) return VC_PB_MORE;
    return s == S_BAD ? raw_byte(p, c) : json_over(p, s, c);
}

/* Before the first byte of the arguments they may also be over. */
static enum vc_pb args_byte(struct vc_parser *p, const char *c) {
    struct vc_call_named *b = &p->u.named;
    if (b->given) return json_byte(p, c);
    const struct vc_tags *t = &p->body_tags[T_RAW];
    for (bool taken = false; !taken;) {
        vc_str text;
        int hit;
        taken = vc_pp_tag_byte(p, t, c, &text, &hit);
        if (hit >= 0) {
            end(p, true);
            return after_args(p, t->t[hit].role);
        }
        for (size_t i = 0; i < text.n; i++) {
            if (!b->given && is_space(text.p[i])) continue;
            if (b->st == N_ARGS && json_step(p, text.p[i]) != S_BAD) continue;
            vc_pp_args(p, text.p + i, 1);
            b->given = true;
        }
    }
    return VC_PB_MORE;
}

/* Mistral: an array or an object here is the older form, anything else a name. */
static enum vc_pb peek_byte(struct vc_parser *p, const char *c) {
    struct vc_call_named *b = &p->u.named;
    bool bracket = p->name.n && p->name.p[p->name.n - 1] == '[';
    if (is_space(*c)) {
        vc_buf_addc(&p->name, *c);
        if (p->name.n > VC_PP_MAX_NAME) return VC_PB_FAIL;
        if (bracket) p->name.n--;   /* white space behind the bracket is of no use */
        return VC_PB_MORE;
    }
    if (*c == '{' || (bracket && *c == ']')) {
        p->body = &vc_body_json;
        memset(&p->u, 0, sizeof p->u);
        p->name.n = 0;
        p->body->begin(p);
        if (bracket) (void)p->body->byte(p, '[');
        return p->body->byte(p, *c);
    }
    if (*c == '[' && !bracket) {
        vc_buf_addc(&p->name, *c);
        return VC_PB_MORE;
    }
    b->st = N_NAME;
    if (bracket) {
        p->name.n = 0;
        (void)name_byte(p, "[");
    }
    return name_byte(p, c);
}

static enum vc_pb brace_or_name(struct vc_parser *p, const char *c) {
    if (*c != '{' || p->tool->in[IN_CALL] || p->tg.n) return name_byte(p, c);
    call(p, false);
    return json_byte(p, c);
}

static enum vc_pb named_byte(struct vc_parser *p, char c) {
    switch (p->u.named.st) {
    case N_SECTION: return section_byte(p, &c);
    case N_TYPE: return tag_to(p, &c, p->tool->in[IN_TYPE], N_NAME);
    case N_NAME: return brace_or_name(p, &c);
    case N_ID: return name_byte(p, &c);
    case N_GAP: return tag_to(p, &c, p->tool->in[IN_ARGS], N_ARGS);
    case N_ARGS: return args_byte(p, &c);
    case N_RAW: return raw_byte(p, &c);
    case N_END: return end_byte(p, &c);
    default: return peek_byte(p, &c);
    }
}

/* White space at the end of arguments that were cut. */
static void trim_args(struct vc_parser *p) {
    struct vc_pq *q = &p->q;
    struct vc_pev *e = q->n ? &q->ev[q->n - 1] : NULL;
    while (e && e->kind == VC_PARSE_CALL_ARGS && e->len && is_space(q->text.p[e->off + e->len - 1])) {
        e->len--;
        q->text.n--;
    }
}

static const char *find(const char *s, size_t n, const char *what) {
    size_t m = strlen(what);
    for (size_t i = 0; i + m <= n; i++) {
        if (s[i] == *what && !memcmp(s + i, what, m)) return s + i;
    }
    return NULL;
}

/* A string that never ended took the rest of the output as arguments. Where nothing was sent yet, they end at the first
 * end marker after all, and what follows it is read again. */
static bool read_again(struct vc_parser *p) {
    const char *end = p->tool->in[IN_RAW_END] ? p->tool->in[IN_RAW_END] : p->tool->end;
    struct vc_pq *q = &p->q;
    struct vc_pev *e = q->n ? &q->ev[q->n - 1] : NULL;
    if (!p->whole || !end || p->body != &vc_body_named || p->mode != VC_PM_BODY || p->u.named.st != N_ARGS) return false;
    if (!e || e->kind != VC_PARSE_CALL_ARGS || p->n_again == MAX_AGAIN) return false;
    const char *at = find(q->text.p + e->off, e->len, end);
    if (!at) return false;
    struct vc_buf rest = { 0 };
    size_t keep = (size_t)(at - q->text.p) - e->off;
    vc_buf_add(&rest, at, e->len - keep);
    q->text.n = e->off + keep;
    e->len = keep;
    p->n_again++;
    p->all_on = false;
    p->u.named.st = N_RAW;
    if (rest.failed) p->failed = true;
    else vc_pp_feed(p, rest.p, rest.n);
    vc_buf_free(&rest);
    return true;
}

static void cut(struct vc_parser *p) {
    struct vc_call_named *b = &p->u.named;
    while (read_again(p)) continue;
    if (p->mode != VC_PM_BODY || p->body != &vc_body_named) return;
    bool keep = p->tool->cut == VC_CUT_KEEP;
    if (b->st == N_PEEK) return;
    if (b->st == N_NAME && keep) {
        vc_buf_add(&p->name, p->tg.held, p->tg.n);
        if (vc_pp_trim(p->name.p, p->name.n).n) {
            call(p, true);
            end(p, false);
        }
        return;
    }
    if (b->st == N_ARGS || b->st == N_RAW) {
        vc_pp_args(p, p->tg.held, p->tg.n);
        if (p->tg.n) b->given = true;
        if (p->whole && keep && b->given) trim_args(p);
        if (keep && !b->given) vc_pp_args(p, "{}", 2);
    } else if (b->st == N_GAP && keep) {
        vc_pp_args(p, "{}", 2);
    } else if (b->st == N_END && p->whole && p->tool->cut == VC_CUT_DROP) {
        vc_pp_truncate(p, p->mark_call);
    }
    vc_section_cut(p);
}

const struct vc_body_ops vc_body_named = { named_byte, cut, begin };
