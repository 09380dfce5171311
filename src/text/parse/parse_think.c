/* SPDX-License-Identifier: Apache-2.0
 *
 * Text outside calls: which part is reasoning, which is content, and where calls begin. Some formats can tell only by
 * what follows (a block that never ends is content; text before the start marker is no part of the answer): their text
 * waits in look_buf, for at most think->look bytes, whatever the pushes are.
 */
#include <string.h>

#include "text/parse/parse_int.h"

enum { R_START, R_END, R_TOOL, R_EAT, R_STOP, R_DROP };
enum {
    LOOK_NONE,
    LOOK_PREFACE,   /* reasoning, unless a start marker follows: then nothing */
    LOOK_BEFORE,    /* content, unless a start marker follows */
    LOOK_BLOCK,     /* reasoning if an end marker follows, else content */
    LOOK_LATE,      /* content, unless an end marker follows: then reasoning */
};

static void add_all(struct vc_tags *t, const char *const *s, size_t n, unsigned role) {
    for (size_t i = 0; i < n; i++) vc_tags_add(t, s[i], role, (unsigned)i);
}

static void build_tags(struct vc_parser *p) {
    const struct vc_think *k = p->think;
    unsigned f = k ? k->flags : 0;
    vc_tags_clear(&p->reason_tags);
    vc_tags_clear(&p->text_tags);
    if (k) {
        add_all(&p->reason_tags, k->end, 2, R_END);
        add_all(&p->reason_tags, k->start, 2, R_START);
        if (f & VC_PT_REOPEN) add_all(&p->text_tags, k->start, 2, R_START);
        if (f & VC_PT_EAT_END) add_all(&p->text_tags, k->end, 2, R_END);
        add_all(&p->text_tags, k->eat, 4, R_EAT);
        add_all(&p->text_tags, k->stop, 2, R_STOP);
    }
    if (p->tool) {
        if (f & VC_PT_IMPLICIT) add_all(&p->reason_tags, p->tool->start, VC_ARRAY_LEN(p->tool->start), R_TOOL);
        add_all(&p->text_tags, p->tool->start, VC_ARRAY_LEN(p->tool->start), R_TOOL);
        vc_tags_add(&p->text_tags, p->tool->eat, R_DROP, 0);
    }
    p->look_tags = p->text_tags;
    if (k) add_all(&p->look_tags, k->start, 2, R_START);
    if (f & VC_PT_LATE_END) add_all(&p->look_tags, k->end, 2, R_END);
}

static void to_text(struct vc_parser *p) {
    p->mode = VC_PM_TEXT;
    if (p->whole) p->all_on = !p->all_over;
}

void vc_think_init(struct vc_parser *p) {
    build_tags(p);
    const struct vc_think *k = p->think;
    unsigned f = k ? k->flags : 0;
    if (f & VC_PT_AS_CONTENT) {
        to_text(p);
        vc_pp_content(p, k->start[0], strlen(k->start[0]));
    } else if (p->mode == VC_PM_THINK) {
        /* the prompt opened the block, nothing is in doubt */
    } else if (!k || p->started) {
        to_text(p);
        p->started = false;
    } else if (f & VC_PT_OPEN) {
        p->mode = VC_PM_THINK;
        p->look = f & VC_PT_CONFIRM ? LOOK_BLOCK : f & VC_PT_PREFACE ? LOOK_PREFACE : LOOK_NONE;
    } else {
        to_text(p);
        p->look = f & VC_PT_LATE_END ? LOOK_LATE : f & VC_PT_PREFACE ? LOOK_BEFORE : LOOK_NONE;
    }
}

void vc_think_plain(struct vc_parser *p, const char *s, size_t n) {
    if (p->drop || !n) return;
    if (p->closed && p->tool->after == VC_AFTER_ECHO && p->n_calls) {
        vc_buf_add(&p->echo, s, n);
        return;
    }
    vc_pp_content(p, s, n);
}

/* What waits is reasoning, or content. */
static void resolve(struct vc_parser *p, bool reasoning) {
    unsigned look = p->look;
    struct vc_buf b = p->look_buf;
    p->look_buf = (struct vc_buf){ 0 };
    p->look = LOOK_NONE;
    if (reasoning && b.n) p->started = true;
    if (!b.n) {
        /* nothing waited */
    } else if (reasoning) {
        vc_pp_reason(p, b.p + p->look_at, b.n - p->look_at);
    } else if (look == LOOK_BLOCK) {
        /* The text was read for reasoning markers only: it is read again, for calls. */
        to_text(p);
        vc_pp_feed(p, b.p, b.n);
    } else {
        vc_think_plain(p, b.p, b.n);
    }
    if (b.failed) p->failed = true;
    vc_buf_free(&b);
}

/* A block that only an end marker confirms is long enough to be one if it was opened. */
static bool overflow_is_reasoning(const struct vc_parser *p) {
    return p->look == LOOK_PREFACE || (p->look == LOOK_BLOCK && p->started);
}

static void plain(struct vc_parser *p, const char *s, size_t n) {
    if (!n) return;
    if (p->look) {
        vc_buf_add(&p->look_buf, s, n);
        if (p->look_buf.n - p->look_at > p->think->look) resolve(p, overflow_is_reasoning(p));
        return;
    }
    if (p->mode == VC_PM_THINK) {
        p->started = true;
        vc_pp_reason(p, s, n);
        return;
    }
    vc_think_plain(p, s, n);
    if (p->hold && p->raw.n > VC_PP_LOOK_CALLS) {
        p->hold = p->raw_on = false;
        p->sure = true;
    }
}

static void start_in_block(struct vc_parser *p, const char *s, size_t n) {
    bool first = !p->started && !p->look_buf.n;
    if (p->look == LOOK_PREFACE) {
        p->look_buf.n = 0;
        p->look = LOOK_NONE;
        p->started = true;
    } else if (first && p->look == LOOK_BLOCK) {
        vc_buf_add(&p->look_buf, s, n);
        p->look_at = n;
        p->started = true;
    } else if (first || (p->think->flags & VC_PT_EAT_START)) {
        p->started = true;
    } else {
        plain(p, s, n);
    }
}

static void start_in_text(struct vc_parser *p, const char *s, size_t n) {
    if (p->think->flags & VC_PT_TRIM) {
        vc_pp_content_gap(p);
        p->reason_lead = true;
    }
    if (p->look == LOOK_BEFORE) {
        vc_buf_add(&p->look_buf, s, n);
        p->look_at = p->look_buf.n;
        p->look = LOOK_BLOCK;
    } else if (p->look) {
        resolve(p, false);
    }
    p->started = true;
    p->mode = VC_PM_THINK;
    p->all_on = false;
}

static void tool_start(struct vc_parser *p, const char *s, size_t n, size_t start) {
    if (p->closed) {
        plain(p, s, n);
        return;
    }
    if (p->look) resolve(p, p->mode == VC_PM_THINK);
    if (p->mode == VC_PM_THINK) to_text(p);
    vc_section_begin(p, start);
}

static void on_tag(struct vc_parser *p, unsigned role, const char *s, size_t n, size_t arg) {
    bool thinking = p->mode == VC_PM_THINK;
    switch (role) {
    case R_START:
        if (thinking) start_in_block(p, s, n);
        else start_in_text(p, s, n);
        break;
    case R_END:
        if (p->look) resolve(p, true);
        if (p->think->flags & VC_PT_TRIM) {
            vc_pp_content_gap(p);
            p->reason_ws.n = 0;
            p->drop = false;
        }
        if (thinking) to_text(p);
        break;
    case R_TOOL:
        tool_start(p, s, n, arg);
        break;
    case R_EAT:
        vc_pp_content_gap(p);
        p->drop = false;
        break;
    case R_STOP:
        if (p->look) resolve(p, false);
        p->drop = true;
        p->all_on = false;
        p->all_over = true;
        break;
    default:    /* R_DROP: left out, unless the calls it belongs to are content */
        if (p->closed && p->tool->after == VC_AFTER_KEEP) plain(p, s, n);
        break;
    }
}

size_t vc_think_feed(struct vc_parser *p, const char *s, size_t n) {
    const struct vc_tags *t = p->mode == VC_PM_THINK ? &p->reason_tags : p->look ? &p->look_tags : &p->text_tags;
    vc_str text;
    int hit;
    size_t used = vc_tag_next(&p->tg, t, s, n, &text, &hit);
    bool all = p->all_on, raw = p->hold;
    if (hit < 0) {
        if (all) vc_buf_add(&p->all, text.p, text.n);
        if (raw) vc_buf_add(&p->raw, text.p, text.n);
        plain(p, text.p, text.n);
        return used;
    }
    const char *m = t->t[hit].s;
    size_t mn = t->t[hit].n;
    unsigned role = t->t[hit].role;
    if (all && (role == R_TOOL || role == R_DROP)) vc_buf_add(&p->all, m, mn);
    else if (p->whole && !all && !p->all_over && role == R_TOOL) vc_buf_add(&p->all, m, mn);
    if (raw) vc_buf_add(&p->raw, m, mn);
    on_tag(p, role, m, mn, t->t[hit].arg);
    return used;
}

void vc_think_finish(struct vc_parser *p) {
    char held[VC_TAG_MAX];
    while (p->mode == VC_PM_TEXT || p->mode == VC_PM_THINK) {
        size_t n = p->tg.n;
        memcpy(held, p->tg.held, n);
        p->tg.n = 0;
        if (p->all_on) vc_buf_add(&p->all, held, n);
        const char *eat = p->n_calls ? p->tool->eat : NULL;
        if (n && eat && !strncmp(eat, held, n)) {     /* a cut end marker behind a call */
            if (p->whole && p->tool->cut == VC_CUT_ALL) p->bad_all = true;
            n = 0;
        }
        plain(p, held, n);
        if (!p->look) break;
        resolve(p, p->look == LOOK_PREFACE);
    }
    vc_pp_reason_end(p);
    if (p->closed && p->echo.n) {
        /* LFM2 repeats its call behind the section and ends it with a second end marker: that is left out. */
        const char *end = p->tool->end;
        size_t at = 0, m = strlen(end);
        for (size_t i = 0; i + m <= p->echo.n; i++) {
            if (!memcmp(p->echo.p + i, end, m)) at = i + m;
        }
        p->after_lead = true;
        vc_pp_content(p, p->echo.p + at, p->echo.n - at);
    }
}
