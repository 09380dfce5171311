/* SPDX-License-Identifier: Apache-2.0
 *
 * What surrounds the bodies of calls: from the start marker to the end marker, and what becomes of text that is
 * malformed or cut. Until the first name is sent the section's text is kept, so that it can still be content.
 */
#include <string.h>

#include "text/parse/parse_int.h"

static const struct vc_body_ops *const ops[VC_BODY_COUNT] = {
    [VC_BODY_JSON] = &vc_body_json, [VC_BODY_NAMED] = &vc_body_named, [VC_BODY_XML] = &vc_body_xml,
    [VC_BODY_PY] = &vc_body_py,     [VC_BODY_GEMMA] = &vc_body_gemma, [VC_BODY_HARMONY] = &vc_body_harmony,
};

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void close_section(struct vc_parser *p) {
    const struct vc_tool *t = p->tool;
    p->mode = VC_PM_TEXT;
    if (!p->hold) p->raw_on = false;
    if (t->after == VC_AFTER_DROP) p->drop = true;
    if (t->after == VC_AFTER_RAW || t->after == VC_AFTER_ECHO || (t->flags & VC_TD_ONE)) p->closed = true;
    if (t->after == VC_AFTER_RAW) p->after_lead = true;
}

static void done(struct vc_parser *p) {
    if (p->end_tags.n) p->mode = VC_PM_END;
    else close_section(p);
}

void vc_section_revert(struct vc_parser *p) {
    vc_pp_truncate(p, p->mark_section);
    p->call_open = p->call_shown = p->sent = p->hold = p->second = p->raw_on = false;
    p->drop = false;
    p->content_any = p->any_saved;
    p->ws.n = 0;
    vc_buf_add(&p->ws, p->ws_saved.p, p->ws_saved.n);
    p->mode = VC_PM_TEXT;
    vc_think_plain(p, p->raw.p, p->raw.n);
    p->raw.n = 0;
}

static void raw_is_text(struct vc_parser *p) {
    size_t from = p->second ? p->raw_second : 0;
    p->mode = VC_PM_TEXT;
    p->call_open = p->call_shown = false;
    if (p->second) {
        p->second = false;
    } else {
        p->hold = p->raw_on = false;
    }
    vc_think_plain(p, p->raw.p + from, p->raw.n - from);
    if (!p->hold) p->raw.n = 0;
}

static void fail(struct vc_parser *p) {
    const struct vc_tool *t = p->tool;
    p->tg.n = 0;    /* what it holds is in the section's text */
    if (p->hold && p->sent && !p->second) {
        vc_section_revert(p);
        return;
    }
    if (!p->sent || p->second) {
        if (p->whole && t->bad == VC_BAD_ALL && !(t->flags & VC_TD_BARE)) p->bad_all = true;
        if (p->whole && t->bad == VC_BAD_DROP) p->drop = true;
        raw_is_text(p);
        return;
    }
    p->skip_cut = true;
    vc_pp_end(p, false);
    if (p->whole && t->bad == VC_BAD_ALL) p->bad_all = true;
    if (p->whole && t->bad == VC_BAD_DROP) vc_pp_truncate(p, p->mark_section);
    if (p->end_tags.n) p->mode = VC_PM_SKIP;
    else close_section(p);
}

void vc_section_begin(struct vc_parser *p, size_t start) {
    const struct vc_tool *t = p->tool;
    const char *m = t->start[start];
    size_t n = strlen(m);
    if (p->hold) {
        p->second = true;
        p->raw_second = p->raw.n - n;
    } else {
        p->raw.n = 0;
        vc_buf_add(&p->raw, m, n);
        p->mark_section = p->q.n;
        p->q.seal = p->q.n;
        p->sent = false;
        p->hold = (t->flags & VC_TD_HOLD) && !p->sure;
        p->any_saved = p->content_any;
        p->ws_saved.n = 0;
        vc_buf_add(&p->ws_saved, p->ws.p, p->ws.n);
    }
    p->raw_on = p->seen = true;
    const char *end = t->end ? t->end : t->body == VC_BODY_JSON ? t->in[4 + start] : NULL;
    vc_tags_clear(&p->end_tags);
    vc_tags_add(&p->end_tags, end, 0, 0);
    memset(&p->u, 0, sizeof p->u);
    p->name.n = p->id.n = p->key.n = p->val.n = p->args.n = 0;
    p->val_sent = 0;
    p->mode = VC_PM_BODY;
    p->body = ops[t->body];
    p->start = start;
    if (p->body->begin) p->body->begin(p);
    size_t tail = n;
    while (tail && strchr("[{ \n", m[tail - 1])) tail--;
    for (; (t->flags & VC_TD_REFEED) && tail < n; tail++) (void)p->body->byte(p, m[tail]);
}

/* One byte for the body; true if it was taken. */
static bool body_byte(struct vc_parser *p, char c) {
    enum vc_pb r = p->body->byte(p, c);
    if (r == VC_PB_FAIL) {
        fail(p);
        return false;
    }
    if (r == VC_PB_BEFORE) {
        done(p);
        return false;
    }
    if (p->all_on) vc_buf_addc(&p->all, c);
    if (p->bad_list) {
        p->bad_list = false;
        vc_buf_addc(&p->raw, c);
        vc_section_revert(p);
        p->tg.n = 0;
        return true;
    }
    if (p->raw_on) {
        vc_buf_addc(&p->raw, c);
        if (p->hold && p->raw.n > VC_PP_LOOK_CALLS && p->sent && !p->second) {
            p->hold = p->raw_on = false;
            p->sure = true;
        }
    }
    if (r == VC_PB_DONE) done(p);
    if (r == VC_PB_CLOSE) close_section(p);
    return true;
}

/* Behind a body, or behind what failed, until the end marker. */
static size_t gap(struct vc_parser *p, const char *s, size_t n) {
    vc_str text;
    int hit;
    size_t used = vc_tag_next(&p->tg, &p->end_tags, s, n, &text, &hit);
    if (p->all_on) {
        if (hit >= 0) vc_buf_add(&p->all, p->end_tags.t[hit].s, p->end_tags.t[hit].n);
        else vc_buf_add(&p->all, text.p, text.n);
    }
    if (p->raw_on) {
        if (hit >= 0) vc_buf_add(&p->raw, p->end_tags.t[hit].s, p->end_tags.t[hit].n);
        else vc_buf_add(&p->raw, text.p, text.n);
    }
    for (size_t i = 0; i < text.n && p->mode == VC_PM_END; i++) {
        if (is_space(text.p[i])) continue;
        if (p->whole && p->tool->body == VC_BODY_JSON && p->tool->bad == VC_BAD_ALL) p->bad_all = true;
        p->mode = VC_PM_SKIP;
    }
    if (hit >= 0) close_section(p);
    return used;
}

size_t vc_section_feed(struct vc_parser *p, const char *s, size_t n) {
    if (p->mode != VC_PM_BODY) return gap(p, s, n);
    size_t i = 0;
    while (i < n && p->mode == VC_PM_BODY && !p->failed) i += body_byte(p, s[i]);
    return i;
}

void vc_section_cut(struct vc_parser *p) {
    const struct vc_tool *t = p->tool;
    if (p->hold && p->sent && !p->second) {
        vc_section_revert(p);
        return;
    }
    if (t->cut == VC_CUT_ALL) {
        if (p->whole && (p->sent || p->n_calls || !(t->flags & VC_TD_BARE))) p->bad_all = true;
        if (!p->sent || p->second) {
            raw_is_text(p);
            return;
        }
    } else if (t->cut == VC_CUT_DROP && p->whole && p->call_open) {
        vc_pp_truncate(p, p->mark_call);
        p->call_open = p->call_shown = false;
    }
    vc_pp_end(p, false);
}

void vc_section_finish(struct vc_parser *p) {
    size_t held = p->tg.n;
    if (p->mode == VC_PM_BODY) {
        p->body->cut(p);
        p->tg.n = 0;
        return;
    }
    if (p->all_on) vc_buf_add(&p->all, p->tg.held, held);
    p->tg.n = 0;
    if (p->mode == VC_PM_END && held && p->whole && p->tool->after == VC_AFTER_RAW) {
        close_section(p);
        vc_think_plain(p, p->tg.held, held);
        return;
    }
    if (p->mode != VC_PM_END || !(held || (p->tool->flags & VC_TD_END_REQ)) || !p->whole) return;
    if (p->tool->cut == VC_CUT_ALL) p->bad_all = true;
    if (p->tool->cut == VC_CUT_DROP) vc_pp_truncate(p, p->mark_section);
}
