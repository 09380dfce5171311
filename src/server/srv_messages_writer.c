/* SPDX-License-Identifier: Apache-2.0
 * srv_messages_writer.c: answers of /v1/messages: Anthropic's message object and its events. */
#include <string.h>

#include "server/srv_gen.h"

enum { NO_BLOCK, THINKING, TEXT, TOOL };

static const char *stop_reason(const struct srv_answer *a) {
    if (a->num_tools) return "tool_use";
    if (a->finish_reason && !strcmp(a->finish_reason, "length")) return "max_tokens";
    return a->stop_string ? "stop_sequence" : "end_turn";
}

static void event(struct vc_buf *b, const char *name) {
    vc_buf_printf(b, "event: %s\ndata: {\"type\":\"%s\"", name, name);
}

static void message_start(struct srv_gen *g, const struct srv_part *p) {
    struct vc_buf *b = &g->call->out;
    event(b, "message_start");
    vc_buf_adds(b, ",\"message\":{\"id\":");
    vc_json_add_str(b, g->id, strlen(g->id));
    vc_buf_adds(b, ",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":");
    vc_json_add_str(b, g->model, strlen(g->model));
    vc_buf_adds(b, ",\"stop_reason\":null,\"stop_sequence\":null");
    vc_buf_printf(b, ",\"usage\":{\"input_tokens\":%zu,\"output_tokens\":0}}}\n\n", p->num_ids);
}

static void close_block(struct srv_gen *g, struct srv_answer *a) {
    if (a->block == NO_BLOCK) return;
    event(&g->call->out, "content_block_stop");
    vc_buf_printf(&g->call->out, ",\"index\":%u}\n\n", a->num_blocks - 1);
    a->block = NO_BLOCK;
}

/* Opens a block of `kind` unless one of it is open; tools always get a new one. */
static void open_block(struct srv_gen *g, struct srv_answer *a, int kind, const struct srv_tool *t) {
    struct vc_buf *b = &g->call->out;
    if (a->block == kind && kind != TOOL) return;
    close_block(g, a);
    event(b, "content_block_start");
    vc_buf_printf(b, ",\"index\":%u,\"content_block\":", a->num_blocks++);
    a->block = kind;
    if (kind == THINKING) vc_buf_adds(b, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n");
    else if (kind == TEXT) vc_buf_adds(b, "{\"type\":\"text\",\"text\":\"\"}}\n\n");
    if (kind != TOOL) return;
    vc_buf_printf(b, "{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":", t->id);
    vc_json_add_str(b, t->name ? t->name : "", t->name ? strlen(t->name) : 0);
    vc_buf_adds(b, ",\"input\":{}}}\n\n");
}

static void add_delta(struct srv_gen *g, const struct srv_answer *a, const char *type, const char *key, const char *s,
                      size_t n) {
    struct vc_buf *b = &g->call->out;
    event(b, "content_block_delta");
    vc_buf_printf(b, ",\"index\":%u,\"delta\":{\"type\":\"%s\",\"%s\":", a->num_blocks - 1, type, key);
    vc_json_add_str(b, s, n);
    vc_buf_adds(b, "}}\n\n");
}

static void chunk(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o) {
    if (!a->begun) message_start(g, p);
    a->begun = true;
    if (o->reasoning_len) {
        open_block(g, a, THINKING, NULL);
        add_delta(g, a, "thinking_delta", "thinking", o->reasoning, o->reasoning_len);
    }
    if (o->text_len) {
        open_block(g, a, TEXT, NULL);
        add_delta(g, a, "text_delta", "text", o->text, o->text_len);
    }
    for (uint32_t i = 0; i < o->num_tools; i++) {
        const vc_tool_delta *t = &o->tools[i];
        if (t->name && t->index < a->num_tools) open_block(g, a, TOOL, &a->tools[t->index]);
        if (t->arguments_len && a->block == TOOL)
            add_delta(g, a, "input_json_delta", "partial_json", t->arguments, t->arguments_len);
    }
}

static void end(struct srv_gen *g) {
    struct vc_buf *b = &g->call->out;
    struct srv_part *p = &g->parts[0];
    struct srv_answer *a = &p->answers[0];
    close_block(g, a);
    event(b, "message_delta");
    vc_buf_printf(b, ",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":", stop_reason(a));
    if (a->stop_string) vc_json_add_str(b, a->stop_string, strlen(a->stop_string));
    else vc_buf_adds(b, "null");
    vc_buf_printf(b, "},\"usage\":{\"input_tokens\":%zu,\"output_tokens\":%u}}\n\n", p->num_ids, a->num_tokens);
    event(b, "message_stop");
    vc_buf_adds(b, "}\n\n");
}

static void fail(struct srv_gen *g, const vc_err *err) {
    struct vc_buf *b = &g->call->out;
    vc_buf_adds(b, "event: error\ndata: ");
    srv_error_body(g->call, b, vc_status_http(err->status), NULL, NULL, srv_err_text(err));
    vc_buf_adds(b, "\n\n");
}

static void text_block(struct vc_json_out *w, const char *type, const struct vc_buf *text) {
    vc_jo_begin_obj(w);
    vc_jo_key(w, "type");
    vc_jo_str(w, type);
    vc_jo_key(w, type);
    vc_jo_strn(w, text->p ? text->p : "", text->n);
    if (!strcmp(type, "thinking")) {
        vc_jo_key(w, "signature");
        vc_jo_str(w, "");
    }
    vc_jo_end_obj(w);
}

/* input is JSON of its own; arguments that were cut are no JSON: an empty object then. */
static void tool_block(struct vc_json_out *w, const struct srv_tool *t) {
    json_t *v = t->arguments.n ? json_loadb(t->arguments.p, t->arguments.n, JSON_ALLOW_NUL, NULL) : NULL;
    vc_jo_begin_obj(w);
    vc_jo_key(w, "type");
    vc_jo_str(w, "tool_use");
    vc_jo_key(w, "id");
    vc_jo_str(w, t->id);
    vc_jo_key(w, "name");
    vc_jo_str(w, t->name ? t->name : "");
    vc_jo_key(w, "input");
    if (json_is_object(v)) vc_jo_raw(w, t->arguments.p, t->arguments.n);
    else vc_jo_raw(w, "{}", 2);
    vc_jo_end_obj(w);
    json_decref(v);
}

static void whole(struct srv_gen *g, struct vc_buf *b) {
    struct srv_part *p = &g->parts[0];
    struct srv_answer *a = &p->answers[0];
    struct vc_json_out w;
    bool forced = g->tools >= SRV_TOOLS_REQUIRED;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "id");
    vc_jo_str(&w, g->id);
    vc_jo_key(&w, "type");
    vc_jo_str(&w, "message");
    vc_jo_key(&w, "role");
    vc_jo_str(&w, "assistant");
    vc_jo_key(&w, "content");
    vc_jo_begin_arr(&w);
    if (a->reasoning.n) text_block(&w, "thinking", &a->reasoning);
    if (!(forced && a->num_tools) && (a->text.n || !a->num_tools)) text_block(&w, "text", &a->text);
    for (uint32_t i = 0; i < a->num_tools; i++) tool_block(&w, &a->tools[i]);
    vc_jo_end_arr(&w);
    vc_jo_key(&w, "model");
    vc_jo_str(&w, g->model);
    vc_jo_key(&w, "stop_reason");
    vc_jo_str(&w, stop_reason(a));
    if (a->stop_string) {
        vc_jo_key(&w, "stop_sequence");
        vc_jo_str(&w, a->stop_string);
    }
    vc_jo_key(&w, "usage");
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "input_tokens");
    vc_jo_uint(&w, p->num_ids);
    vc_jo_key(&w, "output_tokens");
    vc_jo_uint(&w, a->num_tokens);
    vc_jo_end_obj(&w);
    vc_jo_end_obj(&w);
}

const struct srv_writer srv_messages_writer = { "message", "chatcmpl-", chunk, end, whole, fail, false };
