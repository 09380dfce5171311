/* SPDX-License-Identifier: Apache-2.0
 * srv_calls.c: tool calls that were forced by a schema, cut out of the text as it arrives. Required: the text is
 * [{"name": N, "parameters": {…}}, …] with any white space; named: it is the arguments alone. The text follows the
 * schema, so only strings, nesting and the position in a call are followed; whatever else comes is ignored. */
#include <string.h>

#include "server/srv_calls.h"

enum { OUTSIDE, NAME, BEFORE_ARGS, ARGS };

static bool blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

void srv_calls_init(struct srv_calls *s, bool named) {
    *s = (struct srv_calls){ .state = named ? ARGS : OUTSIDE, .named = named };
}

/* One more byte of arguments; true: their value is complete. */
static bool args_byte(struct srv_calls *s, char c) {
    vc_buf_addc(&s->args, c);
    if (s->in_string) {
        if (s->escaped) s->escaped = false;
        else if (c == '\\') s->escaped = true;
        else if (c == '"') s->in_string = false;
        return !s->in_string && s->depth == 0;
    }
    if (c == '"') s->in_string = true;
    else if (c == '{' || c == '[') s->depth++;
    else if ((c == '}' || c == ']') && s->depth && --s->depth == 0) return true;
    return false;
}

/* Bytes between calls and before arguments: `colons` counts those of the object, so that the second one of a call
 * leads to the arguments. Names stand in strings whose escapes are those of JSON; a name of a tool has none that
 * matter here. */
static void other_byte(struct srv_calls *s, char c) {
    if (s->in_string) {
        if (s->escaped) s->escaped = false;
        else if (c == '\\') s->escaped = true;
        else if (c == '"') {
            s->in_string = false;
            if (s->state == NAME) {
                s->state = BEFORE_ARGS;
                s->named_now = true;
            }
            return;
        }
        if (s->state == NAME) vc_buf_addc(&s->name, c);
        return;
    }
    if (c == '"') s->in_string = true;
    if (c != ':') return;
    if (s->state == OUTSIDE) {
        s->state = NAME;
        s->name.n = 0;
    } else if (s->state == BEFORE_ARGS) {
        s->state = ARGS;
        s->depth = 0;
        s->started = false;
    }
}

static void emit(struct srv_calls *s, bool with_name) {
    if (s->n == SRV_CALLS_MOST) return;
    s->delta[s->n] = (vc_tool_delta){
        .index = s->index,
        .name = with_name ? s->name.p : NULL,
        .arguments = s->args.p ? s->args.p + s->from : "",
        .arguments_len = s->args.n - s->from,
    };
    s->offset[s->n++] = s->from;
    s->from = s->args.n;
}

void srv_calls_push(struct srv_calls *s, const char *text, size_t n, const char *tool_name) {
    s->n = 0;
    s->args.n = s->from = 0;
    if (s->named && !s->named_sent && n) {
        vc_buf_adds(&s->name, tool_name);
        s->named_now = true;
    }
    for (size_t i = 0; i < n && s->n + 1 < SRV_CALLS_MOST; i++) {
        if (s->state != ARGS) {
            other_byte(s, text[i]);
            if (s->named_now && s->state == BEFORE_ARGS) {
                emit(s, true);
                s->named_now = false;
            }
            continue;
        }
        if (!s->started && blank(text[i])) continue;
        s->started = true;
        if (s->done || !args_byte(s, text[i])) continue;
        emit(s, s->named_now);
        s->named_now = false;
        s->named_sent = true;
        if (s->named) {
            s->done = true;
        } else {
            s->state = OUTSIDE;
            s->index++;
        }
        s->complete++;
    }
    if (s->args.n > s->from || (s->named && s->named_now)) {
        emit(s, s->named_now);
        s->named_now = false;
        s->named_sent = true;
    }
    for (uint32_t i = 0; i < s->n; i++)                /* the buffer may have moved while it grew */
        if (s->delta[i].arguments_len) s->delta[i].arguments = s->args.p + s->offset[i];
    for (uint32_t i = 0; i < s->n; i++)
        if (s->delta[i].name) s->delta[i].name = s->name.p;
}

void srv_calls_free(struct srv_calls *s) {
    vc_buf_free(&s->name);
    vc_buf_free(&s->args);
}
