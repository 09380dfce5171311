/* SPDX-License-Identifier: Apache-2.0 */
#include "text/parser.h"

#include <stdlib.h>
#include <string.h>

#include "text/parse/parse_int.h"

void vc_pp_feed(struct vc_parser *p, const char *s, size_t n) {
    while (n && !p->failed) {
        if (p->skip_cut) {
            p->skip_cut = ((unsigned char)*s & 0xC0) == 0x80;
            if (p->skip_cut && p->all_on) vc_buf_addc(&p->all, *s);
            s += p->skip_cut;
            n -= p->skip_cut;
            continue;
        }
        bool text = p->mode == VC_PM_THINK || p->mode == VC_PM_TEXT;
        size_t used = text ? vc_think_feed(p, s, n) : vc_section_feed(p, s, n);
        s += used;
        n -= used;
    }
}

static bool no_memory(const struct vc_parser *p) {
    const struct vc_buf *b[] = { &p->look_buf, &p->reason_ws, &p->ws,  &p->echo, &p->raw, &p->ws_saved, &p->name,
                                 &p->id,       &p->key,       &p->val, &p->args, &p->all, &p->q.text };
    for (size_t i = 0; i < VC_ARRAY_LEN(b); i++) {
        if (b[i]->failed) return true;
    }
    return p->failed;
}

static vc_status check(struct vc_parser *p, vc_err *err) {
    if (!no_memory(p)) return VC_OK;
    p->failed = true;
    return vc_fail(err, VC_E_NOMEM, "no memory for the parts of an output");
}

/* Feeds valid text; a byte that is no part of UTF-8 becomes U+FFFD. */
static void feed_utf8(struct vc_parser *p, const char *s, size_t n) {
    size_t good = 0, i = 0;
    while (i < n) {
        uint32_t cp;
        size_t k = (unsigned char)s[i] < 0x80 ? 1 : vc_utf8_decode(s + i, n - i, &cp);
        if (k) {
            i += k;
            continue;
        }
        vc_pp_feed(p, s + good, i - good);
        vc_pp_feed(p, "\xef\xbf\xbd", 3);
        good = ++i;
    }
    vc_pp_feed(p, s + good, n - good);
}

/* The bytes of a code point that was cut by the last push, with enough of this one to end it; returns how many of s. */
static size_t feed_cut(struct vc_parser *p, const char *s, size_t n) {
    char t[8];
    size_t had = p->utf8_n, take = n < 4 ? n : 4;
    memcpy(t, p->utf8, had);
    memcpy(t + had, s, take);
    uint32_t cp;
    size_t k = vc_utf8_decode(t, had + take, &cp);
    if (!k && vc_utf8_partial(t, had + take) == had + take) {
        memcpy(p->utf8, t, had + take);
        p->utf8_n = (uint8_t)(had + take);
        return take;
    }
    p->utf8_n = 0;
    if (k) {
        vc_pp_feed(p, t, k);
        return k - had;
    }
    /* The held bytes do not go on: each is invalid by itself, and the new ones are looked at again. */
    feed_utf8(p, t, had);
    return 0;
}

static size_t ready(const struct vc_parser *p) { return p->whole ? 0 : p->hold ? p->mark_section : p->q.n; }

vc_status vc_parser_push(struct vc_parser *p, const char *text, size_t n, struct vc_parse_sink *sink, vc_err *err) {
    if (p->finished) return vc_fail(err, VC_E_STATE, "an output that has ended takes no more text");
    size_t at = 0;
    while (p->utf8_n && at < n) at += feed_cut(p, text + at, n - at);
    if (at < n) {
        size_t cut = vc_utf8_partial(text + at, n - at);
        feed_utf8(p, text + at, n - at - cut);
        memcpy(p->utf8, text + n - cut, cut);
        p->utf8_n = (uint8_t)cut;
    }
    VC_TRY(check(p, err));
    vc_pp_drain(p, ready(p), sink);
    return VC_OK;
}

/* All content: what vLLM's non-streaming answer makes of an output with a malformed call. */
static void all_content(struct vc_parser *p) {
    struct vc_pq *q = &p->q;
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++) {
        if (q->ev[i].kind == VC_PARSE_REASONING) q->ev[n++] = q->ev[i];
    }
    q->n = q->seal = n;
    p->n_calls = 0;
    vc_pp_queue(p, VC_PARSE_CONTENT, p->all.p, p->all.n);
}

vc_status vc_parser_finish(struct vc_parser *p, struct vc_parse_sink *sink, vc_err *err) {
    if (p->finished) return vc_fail(err, VC_E_STATE, "the output has already ended");
    p->finished = true;
    char cut[4];
    size_t n = p->utf8_n;
    memcpy(cut, p->utf8, n);
    p->utf8_n = 0;
    feed_utf8(p, cut, n);
    bool thinking = p->mode == VC_PM_THINK;
    if (p->mode == VC_PM_BODY || p->mode == VC_PM_END || p->mode == VC_PM_SKIP) vc_section_finish(p);
    if (p->mode == VC_PM_TEXT || p->mode == VC_PM_THINK) vc_think_finish(p);
    /* Content that waited as reasoning may have held a call. */
    if (thinking && (p->mode == VC_PM_BODY || p->mode == VC_PM_END)) vc_section_finish(p);
    p->hold = false;
    vc_pp_content_end(p);
    if (p->bad_all) all_content(p);
    VC_TRY(check(p, err));
    vc_pp_drain(p, p->q.n, sink);
    return VC_OK;
}

static const struct vc_tool *tool_of(const char *name) {
    for (size_t i = 0; i < vc_tools_n; i++) {
        if (!strcmp(vc_tools[i].name, name)) return &vc_tools[i];
    }
    return NULL;
}

static const struct vc_think *think_of(const char *name) {
    for (size_t i = 0; i < vc_thinks_n; i++) {
        if (!strcmp(vc_thinks[i].name, name)) return &vc_thinks[i];
    }
    return NULL;
}

typedef const struct vc_parser_name *name_fn(size_t);

static vc_status unknown(const char *what, const char *name, name_fn *list, vc_err *err) {
    struct vc_buf b = { 0 };
    char shown[64];
    vc_printable(shown, sizeof shown, name, strlen(name));
    vc_buf_printf(&b, "no %s parser is called \"%s\"; known are", what, shown);
    for (size_t i = 0; list(i); i++) vc_buf_printf(&b, "%s %s", i ? "," : "", list(i)->name);
    vc_fail(err, VC_E_NOT_FOUND, "%s", b.failed ? "no such parser" : b.p);
    vc_buf_free(&b);
    return VC_E_NOT_FOUND;
}

/* One format for both: what was not asked for is left out. */
static vc_status set_harmony(struct vc_parser *p, bool reasoning, vc_err *err) {
    bool calls = p->tool != NULL;
    if ((calls && p->tool->body != VC_BODY_HARMONY) || (p->think && !reasoning)) {
        return vc_fail(err, VC_E_INVALID, "the parsers openai and openai_gptoss go only with each other");
    }
    p->tool = tool_of("openai");
    p->think = NULL;
    if (!calls) p->no_calls = true;
    p->no_reasoning = !reasoning;
    p->mode = VC_PM_BODY;
    p->body = &vc_body_harmony;
    p->body->begin(p);
    return VC_OK;
}

static vc_status set_up(struct vc_parser *p, const struct vc_parser_params *q, vc_err *err) {
    if (q->tool_parser && !(p->tool = tool_of(q->tool_parser))) {
        return unknown("tool", q->tool_parser, vc_parser_tool_name, err);
    }
    if (q->reasoning_parser && !(p->think = think_of(q->reasoning_parser))) {
        return unknown("reasoning", q->reasoning_parser, vc_parser_reasoning_name, err);
    }
    if (q->tools && !json_is_null(q->tools)) {
        if (!json_is_array(q->tools)) return vc_fail(err, VC_E_INVALID, "tools: an array is expected");
        p->tools = json_incref((json_t *)(uintptr_t)q->tools);
    }
    p->whole = q->whole;
    p->no_calls = q->no_calls;
    p->mode = q->thinking_open && p->think && !q->thinking_off ? VC_PM_THINK : VC_PM_TEXT;
    p->started = q->thinking_off;
    bool harmony = p->think && (p->think->flags & VC_PT_HARMONY);
    if (harmony || (p->tool && p->tool->body == VC_BODY_HARMONY)) VC_TRY(set_harmony(p, harmony, err));
    else vc_think_init(p);
    return check(p, err);
}

vc_status vc_parser_new(struct vc_parser **out, const struct vc_parser_params *q, vc_err *err) {
    struct vc_parser *p = calloc(1, sizeof *p);
    if (!p) return vc_fail(err, VC_E_NOMEM, "no memory for an output parser");
    vc_status s = set_up(p, q, err);
    if (s) {
        vc_parser_del(p);
        return s;
    }
    *out = p;
    return VC_OK;
}

void vc_parser_del(struct vc_parser *p) {
    if (!p) return;
    struct vc_buf *b[] = { &p->look_buf, &p->reason_ws, &p->ws,  &p->echo, &p->raw, &p->ws_saved, &p->name,
                           &p->id,       &p->key,       &p->val, &p->args, &p->all, &p->q.text };
    for (size_t i = 0; i < VC_ARRAY_LEN(b); i++) vc_buf_free(b[i]);
    free(p->q.ev);
    json_decref(p->tools);
    free(p);
}

bool vc_parser_in_reasoning(const struct vc_parser *p) {
    if (p->body == &vc_body_harmony) return vc_harmony_in_reasoning(p);
    return p->mode == VC_PM_THINK;
}
uint32_t vc_parser_calls(const struct vc_parser *p) { return p->n_calls; }
