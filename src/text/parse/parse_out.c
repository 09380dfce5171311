/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of deltas, and what white space does: content that is all white space is left out beside calls, so it
 * waits for something else; formats with VC_TD_RSTRIP also drop it before a call, those with VC_PT_RSTRIP behind the
 * reasoning.
 */
#include <stdlib.h>
#include <string.h>

#include "text/parse/parse_int.h"

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static size_t trailing_space(const char *s, size_t n) {
    size_t k = 0;
    while (k < n && is_space(s[n - 1 - k])) k++;
    return k;
}

static size_t trailing_newlines(const char *s, size_t n) {
    size_t k = 0;
    while (k < n && s[n - 1 - k] == '\n') k++;
    return k;
}

static struct vc_pev *event(struct vc_parser *p, enum vc_parse_kind kind) {
    struct vc_pq *q = &p->q;
    if (q->n == q->cap) {
        size_t cap = q->cap ? q->cap * 2 : 16;
        struct vc_pev *ev = realloc(q->ev, cap * sizeof *ev);
        if (!ev) {
            p->failed = true;
            return NULL;
        }
        q->ev = ev;
        q->cap = cap;
    }
    struct vc_pev *e = &q->ev[q->n++];
    *e = (struct vc_pev){ .off = q->text.n, .kind = (uint8_t)kind };
    return e;
}

void vc_pp_queue(struct vc_parser *p, enum vc_parse_kind kind, const char *s, size_t n) {
    if (!n) return;
    struct vc_pq *q = &p->q;
    struct vc_pev *e = q->n > q->seal ? &q->ev[q->n - 1] : NULL;
    uint32_t index = kind == VC_PARSE_CALL_ARGS ? p->n_calls - 1 : 0;
    if (!e || e->kind != kind || e->index != index) {
        e = event(p, kind);
        if (!e) return;
        e->index = index;
    }
    vc_buf_add(&q->text, s, n);
    e->len += n;
}

void vc_pp_reason(struct vc_parser *p, const char *s, size_t n) {
    const char *strip = p->think ? p->think->strip : NULL;
    while (n && strip && p->strip_at != SIZE_MAX) {
        if (*s == strip[p->strip_at]) {
            s++, n--;
            if (!strip[++p->strip_at]) p->strip_at = SIZE_MAX;
            continue;
        }
        size_t had = p->strip_at;
        p->strip_at = SIZE_MAX;
        vc_pp_reason(p, strip, had);
    }
    while (n && p->reason_lead && is_space(*s)) s++, n--;
    if (!n) return;
    p->reason_lead = false;
    if (!p->think || !(p->think->flags & VC_PT_RSTRIP)) {
        vc_pp_queue(p, VC_PARSE_REASONING, s, n);
        return;
    }
    size_t k = trailing_space(s, n);
    if (k < n) {
        vc_pp_queue(p, VC_PARSE_REASONING, p->reason_ws.p, p->reason_ws.n);
        p->reason_ws.n = 0;
        vc_pp_queue(p, VC_PARSE_REASONING, s, n - k);
    }
    vc_buf_add(&p->reason_ws, s + n - k, k);
}

void vc_pp_reason_end(struct vc_parser *p) {
    size_t had = p->strip_at;
    const char *strip = p->think ? p->think->strip : NULL;
    if (!strip || !had || had == SIZE_MAX) return;
    p->strip_at = SIZE_MAX;
    if (vc_pp_trim(strip, strlen(strip)).n != had) vc_pp_reason(p, strip, had);
}

void vc_pp_content(struct vc_parser *p, const char *s, size_t n) {
    if (p->after_lead) {
        while (n && is_space(*s)) s++, n--;
        if (!n) return;
        p->after_lead = false;
        if (p->content_any) vc_pp_queue(p, VC_PARSE_CONTENT, "\n", 1);      /* vLLM joins the pieces so */
    }
    bool newlines = p->tool && (p->tool->flags & VC_TD_RSTRIP_NL);
    bool rstrip = newlines || (p->tool && (p->tool->flags & VC_TD_RSTRIP));
    if (p->think && (p->think->flags & VC_PT_TRIM)) rstrip = true;
    size_t k = newlines && p->content_any ? trailing_newlines(s, n) : trailing_space(s, n);
    if (k < n) {
        bool lstrip = p->think && (p->think->flags & VC_PT_LSTRIP) && !p->content_any;
        size_t lead = 0;
        if (lstrip) {
            p->ws.n = 0;
            while (is_space(s[lead])) lead++;
        }
        vc_pp_queue(p, VC_PARSE_CONTENT, p->ws.p, p->ws.n);
        p->ws.n = 0;
        p->content_any = true;
        k = !rstrip ? 0 : newlines ? trailing_newlines(s, n) : k;
        vc_pp_queue(p, VC_PARSE_CONTENT, s + lead, n - k - lead);
    } else if (p->content_any && !rstrip) {
        vc_pp_queue(p, VC_PARSE_CONTENT, s, n);
        return;
    }
    vc_buf_add(&p->ws, s + n - k, k);
}

void vc_pp_content_gap(struct vc_parser *p) { p->ws.n = 0; }

void vc_pp_content_end(struct vc_parser *p) {
    if (p->n_calls && (!p->content_any || p->after_lead)) p->ws.n = 0;
    if (p->seen && p->tool->cut == VC_CUT_DROP && (!p->content_any || (p->tool->flags & VC_TD_RSTRIP_NL))) p->ws.n = 0;
    if (p->seen && p->tool->after == VC_AFTER_RAW) p->ws.n = 0;
    if (p->think && (p->think->flags & VC_PT_TRIM)) p->ws.n = 0;
    vc_pp_queue(p, VC_PARSE_CONTENT, p->ws.p, p->ws.n);
    p->ws.n = 0;
}

void vc_pp_truncate(struct vc_parser *p, size_t n_events) {
    struct vc_pq *q = &p->q;
    while (q->n > n_events) {
        const struct vc_pev *e = &q->ev[--q->n];
        if (e->kind == VC_PARSE_CALL_BEGIN) p->n_calls--;
        q->text.n = e->off;
    }
    if (q->seal > q->n) q->seal = q->n;
}

void vc_pp_drain(struct vc_parser *p, size_t n_events, struct vc_parse_sink *sink) {
    struct vc_pq *q = &p->q;
    if (!n_events) return;
    for (size_t i = 0; i < n_events; i++) {
        const struct vc_pev *e = &q->ev[i];
        struct vc_parse_delta d = { .kind = (enum vc_parse_kind)e->kind, .index = e->index, .complete = e->complete };
        const char *text = q->text.p ? q->text.p + e->off : "";
        d.text = (vc_str){ text, e->len };
        d.id = (vc_str){ text + e->len, e->id_len };
        if (sink && sink->delta) sink->delta(sink->user, &d);
    }
    size_t rest = n_events < q->n ? q->ev[n_events].off : q->text.n;
    if (q->text.n > rest) memmove(q->text.p, q->text.p + rest, q->text.n - rest);
    q->text.n -= rest;
    memmove(q->ev, q->ev + n_events, (q->n - n_events) * sizeof *q->ev);
    q->n -= n_events;
    for (size_t i = 0; i < q->n; i++) q->ev[i].off -= rest;
    q->seal = q->seal > n_events ? q->seal - n_events : 0;
    p->mark_call = p->mark_call > n_events ? p->mark_call - n_events : 0;
    p->mark_section = p->mark_section > n_events ? p->mark_section - n_events : 0;
}

bool vc_pp_begin(struct vc_parser *p, const char *name, size_t n, const char *id, size_t id_n) {
    p->call_open = p->sent = true;
    p->call_shown = false;
    if (p->hold && p->second) {
        /* Two lists: the text is no call but speaks of some. */
        p->closed = true;
        p->bad_list = true;
        return false;
    }
    if (!p->hold) {
        p->raw_on = false;
        p->raw.n = 0;
    }
    if (!n && !(p->tool->flags & VC_TD_NAMELESS)) return false;
    p->props = vc_schema_props(p->tools, name, n, &p->fn_known);
    bool unknown = (p->tool->flags & VC_TD_KNOWN) && p->tools && !p->fn_known;
    if (unknown || p->no_calls || p->n_calls == VC_PP_MAX_CALLS) return false;
    if (p->tool->flags & (VC_TD_RSTRIP | VC_TD_RSTRIP_NL)) p->ws.n = 0;
    p->mark_call = p->q.n;
    struct vc_pev *e = event(p, VC_PARSE_CALL_BEGIN);
    if (!e) return false;
    e->index = p->n_calls++;
    vc_buf_add(&p->q.text, name, n);
    vc_buf_add(&p->q.text, id, id_n);
    e->len = n;
    e->id_len = id_n;
    p->call_shown = true;
    return true;
}

void vc_pp_args(struct vc_parser *p, const char *s, size_t n) {
    if (p->call_open && p->call_shown) vc_pp_queue(p, VC_PARSE_CALL_ARGS, s, n);
}

void vc_pp_end(struct vc_parser *p, bool complete) {
    if (p->call_open && p->call_shown) {
        struct vc_pev *e = event(p, VC_PARSE_CALL_END);
        if (e) {
            e->index = p->n_calls - 1;
            e->complete = complete;
        }
    }
    p->call_open = p->call_shown = false;
}

void vc_pp_args_text(struct vc_parser *p, const char *s, size_t n) {
    static const char hex[] = "0123456789abcdef";
    size_t from = 0;
    if (!n) return;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        vc_pp_args(p, s + from, i - from);
        from = i + 1;
        const char *at = c ? strchr("\"\"\\\\\nn\tt\rr\bb\ff", c) : NULL;
        char e[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
        if (at) e[1] = at[1];
        vc_pp_args(p, e, at ? 2 : 6);
    }
    vc_pp_args(p, s + from, n - from);
}

void vc_pp_args_key(struct vc_parser *p, bool first, const char *s, size_t n) {
    vc_pp_args(p, first ? "{\"" : ", \"", first ? 2 : 3);
    vc_pp_args_text(p, s, n);
    vc_pp_args(p, "\": ", 3);
}

void vc_pp_args_string(struct vc_parser *p, bool *any, bool *stream) {
    if (*stream) return;
    vc_pp_args_key(p, !*any, p->key.p, p->key.n);
    vc_pp_args(p, "\"", 1);
    *any = *stream = true;
}

bool vc_pp_tag_byte(struct vc_parser *p, const struct vc_tags *t, const char *c, vc_str *text, int *hit) {
    return vc_tag_next(&p->tg, t, c, 1, text, hit) == 1;
}

vc_str vc_pp_trim(const char *s, size_t n) {
    if (!s) return (vc_str){ "", 0 };
    while (n && is_space(s[n - 1])) n--;
    while (n && is_space(*s)) s++, n--;
    return (vc_str){ s, n };
}
