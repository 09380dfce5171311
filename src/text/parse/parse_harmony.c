/* SPDX-License-Identifier: Apache-2.0
 *
 * gpt-oss: messages of channels, <|channel|>C to=R<|message|>text<|end|>. analysis is reasoning, commentary and
 * final are content, a recipient functions.NAME makes the text the arguments of a call; other recipients are left
 * out. Messages of one kind are joined by a newline. The output begins behind <|start|>assistant. (openai/harmony,
 * docs/format.md.)
 */
#include <string.h>

#include "text/parse/parse_int.h"

enum { H_START, H_HEADER, H_CHANNEL, H_CONSTRAIN, H_BODY, H_GAP };
enum { K_NONE, K_REASON, K_CONTENT, K_CALL };
enum { R_START, R_CHANNEL, R_MESSAGE, R_END, R_CONSTRAIN };

static void begin(struct vc_parser *p) {
    static const struct { const char *s; unsigned role; } marks[] = {
        { "<|start|>", R_START }, { "<|channel|>", R_CHANNEL }, { "<|message|>", R_MESSAGE }, { "<|end|>", R_END },
        { "<|return|>", R_END },  { "<|call|>", R_END },        { "<|constrain|>", R_CONSTRAIN },
    };
    vc_tags_clear(&p->body_tags[0]);
    for (size_t i = 0; i < VC_ARRAY_LEN(marks); i++) vc_tags_add(&p->body_tags[0], marks[i].s, marks[i].role, 0);
    p->u.harmony.st = H_START;
}

/* The word behind "to=" in a header. */
static bool recipient(vc_str s, vc_str *r) {
    for (size_t i = 0; i + 3 <= s.n; i++) {
        if (memcmp(s.p + i, "to=", 3)) continue;
        size_t from = i + 3, to = from;
        while (to < s.n && (unsigned char)s.p[to] > ' ') to++;
        *r = (vc_str){ s.p + from, to - from };
        return true;
    }
    return false;
}

static void message(struct vc_parser *p) {
    struct vc_call_harmony *b = &p->u.harmony;
    vc_str name = vc_pp_trim(p->name.p, p->name.n), channel = vc_pp_trim(p->key.p, p->key.n), to;
    b->st = H_BODY;
    b->fresh = true;
    b->given = false;
    if (recipient(name, &to) || recipient(channel, &to)) {
        b->kind = K_NONE;
        if (!vc_str_starts(to, "functions.")) return;
        b->kind = K_CALL;
        vc_jscan_init(&b->js);
        vc_pp_begin(p, to.p + 10, to.n - 10, NULL, 0);
        return;
    }
    b->kind = vc_str_starts(channel, "analysis") ? K_REASON : K_CONTENT;
}

static void text_out(struct vc_parser *p, vc_str s) {
    struct vc_call_harmony *b = &p->u.harmony;
    if (!s.n || b->kind == K_NONE) return;
    if (b->kind == K_CALL) {
        for (size_t i = 0; i < s.n && b->js.st != UINT8_MAX; i++) {
            if (!vc_jscan_byte(&b->js, s.p[i])) b->js.st = UINT8_MAX;
        }
        b->given = true;
        vc_pp_args(p, s.p, s.n);
    } else if (b->kind == K_REASON) {
        if (b->fresh && p->reason_any && !p->no_reasoning) vc_pp_reason(p, "\n", 1);
        if (!p->no_reasoning) vc_pp_reason(p, s.p, s.n);
        p->reason_any = true;
    } else {
        if (b->fresh && p->content_any) vc_pp_content(p, "\n", 1);
        vc_pp_content(p, s.p, s.n);
    }
    b->fresh = false;
}

static void message_over(struct vc_parser *p, bool ended) {
    struct vc_call_harmony *b = &p->u.harmony;
    if (b->kind != K_CALL) return;
    if (!b->given && ended) vc_pp_args(p, "{}", 2);
    vc_pp_end(p, b->given ? b->js.st != UINT8_MAX && vc_jscan_whole(&b->js) : ended);
}

static void on_tag(struct vc_parser *p, unsigned role) {
    struct vc_call_harmony *b = &p->u.harmony;
    if (b->st == H_BODY && (role == R_END || role == R_START || role == R_CHANNEL)) message_over(p, true);
    switch (role) {
    case R_START:
        p->name.n = p->key.n = 0;
        b->st = H_HEADER;
        break;
    case R_CHANNEL:
        if (b->st == H_BODY || b->st == H_GAP) p->name.n = 0;
        p->key.n = 0;
        b->st = H_CHANNEL;
        break;
    case R_MESSAGE:
        if (b->st != H_BODY) message(p);
        break;
    case R_CONSTRAIN:
        if (b->st != H_BODY) b->st = H_CONSTRAIN;
        break;
    default:
        p->name.n = p->key.n = 0;
        b->st = H_GAP;
    }
}

static void plain(struct vc_parser *p, vc_str s) {
    struct vc_call_harmony *b = &p->u.harmony;
    struct vc_buf *to = b->st == H_CHANNEL ? &p->key : &p->name;
    if (b->st == H_BODY) {
        text_out(p, s);
        return;
    }
    if (b->st != H_START && b->st != H_HEADER && b->st != H_CHANNEL) return;
    if (b->st == H_START || to->n < VC_PP_MAX_NAME) vc_buf_add(to, s.p, s.n);
    if (b->st == H_START && to->n > VC_PP_LOOK_CALLS) {
        b->st = H_BODY;
        b->kind = K_CONTENT;
        text_out(p, (vc_str){ to->p, to->n });
        to->n = 0;
    }
}

static enum vc_pb harmony_byte(struct vc_parser *p, char c) {
    for (bool taken = false; !taken;) {
        vc_str text;
        int hit;
        taken = vc_pp_tag_byte(p, &p->body_tags[0], &c, &text, &hit);
        if (hit >= 0) on_tag(p, p->body_tags[0].t[hit].role);
        else if (text.n) plain(p, text);
    }
    return VC_PB_MORE;
}

static void cut(struct vc_parser *p) {
    struct vc_call_harmony *b = &p->u.harmony;
    if (b->st == H_START || b->st == H_BODY) plain(p, (vc_str){ p->tg.held, p->tg.n });
    if (b->st == H_START) {
        b->kind = K_CONTENT;
        text_out(p, (vc_str){ p->name.p, p->name.n });
    }
    if (b->st == H_BODY) message_over(p, false);
}

const struct vc_body_ops vc_body_harmony = { harmony_byte, cut, begin };

bool vc_harmony_in_reasoning(const struct vc_parser *p) {
    return p->u.harmony.st == H_BODY && p->u.harmony.kind == K_REASON;
}
