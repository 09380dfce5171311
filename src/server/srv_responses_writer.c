/* SPDX-License-Identifier: Apache-2.0
 * srv_responses_writer.c: answers of /v1/responses and their events. */
#include <stdio.h>
#include <string.h>

#include "server/srv_responses.h"

static void event(struct srv_gen *g, const char *name) {
    vc_buf_printf(&g->call->out, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%u", name, name, g->events++);
}

static void end_event(struct srv_gen *g) { vc_buf_adds(&g->call->out, "}\n\n"); }

static void response_event(struct srv_gen *g, const char *name) {
    struct vc_json_out w;
    event(g, name);
    vc_buf_adds(&g->call->out, ",\"response\":");
    vc_jo_init(&w, &g->call->out, VC_JSON_COMPACT);
    srv_jo_response(&w, g, "in_progress");
    end_event(g);
}

/* item_id, output_index and, but for calls, content_index. */
static void place(struct srv_gen *g, const struct srv_answer *a, bool content) {
    char id[160];
    srv_item_id(g, (enum srv_item)a->block, a->num_blocks - 1, id, sizeof id);
    vc_buf_adds(&g->call->out, ",\"item_id\":");
    vc_json_add_str(&g->call->out, id, strlen(id));
    vc_buf_printf(&g->call->out, ",\"output_index\":%u%s", a->num_blocks - 1, content ? ",\"content_index\":0" : "");
}

static const struct vc_buf *block_text(const struct srv_answer *a) {
    if (a->block == SRV_ITEM_REASONING) return &a->reasoning;
    return a->block == SRV_ITEM_MESSAGE ? &a->text : &a->tools[a->num_tools - 1].arguments;
}

static void item_event(struct srv_gen *g, const struct srv_answer *a, bool done) {
    struct vc_json_out w;
    char id[160];
    const struct vc_buf *t = block_text(a);
    const char *text = t->p ? t->p + a->block_from : "";
    srv_item_id(g, (enum srv_item)a->block, a->num_blocks - 1, id, sizeof id);
    event(g, done ? "response.output_item.done" : "response.output_item.added");
    vc_buf_printf(&g->call->out, ",\"output_index\":%u,\"item\":", a->num_blocks - 1);
    vc_jo_init(&w, &g->call->out, VC_JSON_COMPACT);
    if (a->block == SRV_ITEM_REASONING) srv_jo_reasoning_item(&w, id, text, t->n - a->block_from, done);
    else if (a->block == SRV_ITEM_MESSAGE) srv_jo_message_item(&w, g, id, text, t->n - a->block_from, done);
    else srv_jo_call_item(&w, id, &a->tools[a->num_tools - 1], done);
    end_event(g);
}

static void part_event(struct srv_gen *g, const struct srv_answer *a, bool done) {
    const struct vc_buf *t = block_text(a);
    event(g, done ? "response.content_part.done" : "response.content_part.added");
    place(g, a, true);
    const char *type = a->block == SRV_ITEM_MESSAGE ? "output_text" : "reasoning_text";
    vc_buf_printf(&g->call->out, ",\"part\":{\"type\":\"%s\",\"text\":", type);
    vc_json_add_str(&g->call->out, t->p ? t->p + a->block_from : "", done ? t->n - a->block_from : 0);
    if (a->block == SRV_ITEM_MESSAGE) vc_buf_adds(&g->call->out, ",\"annotations\":[],\"logprobs\":[]");
    vc_buf_adds(&g->call->out, "}");
    end_event(g);
}

/* The block's whole text. */
static void done_event(struct srv_gen *g, const struct srv_answer *a) {
    static const char *const names[] = {
        "", "response.reasoning_text.done", "response.output_text.done", "response.function_call_arguments.done",
    };
    const struct vc_buf *t = block_text(a);
    event(g, names[a->block]);
    place(g, a, a->block != SRV_ITEM_CALL);
    if (a->block == SRV_ITEM_MESSAGE) vc_buf_adds(&g->call->out, ",\"logprobs\":[]");
    if (a->block == SRV_ITEM_CALL && a->tools[a->num_tools - 1].name) {
        vc_buf_adds(&g->call->out, ",\"name\":");
        vc_json_add_str(&g->call->out, a->tools[a->num_tools - 1].name, strlen(a->tools[a->num_tools - 1].name));
    }
    vc_buf_printf(&g->call->out, ",\"%s\":", a->block == SRV_ITEM_CALL ? "arguments" : "text");
    vc_json_add_str(&g->call->out, t->p ? t->p + a->block_from : "", t->n - a->block_from);
    end_event(g);
}

static void close_block(struct srv_gen *g, struct srv_answer *a) {
    if (a->block == SRV_ITEM_NONE) return;
    done_event(g, a);
    if (a->block != SRV_ITEM_CALL) part_event(g, a, true);
    item_event(g, a, true);
    a->block = SRV_ITEM_NONE;
}

/* `n`: bytes of the new block's text that are collected already. */
static void open_block(struct srv_gen *g, struct srv_answer *a, enum srv_item kind, size_t n) {
    if (a->block == (int)kind && kind != SRV_ITEM_CALL) return;
    a->block = (int)kind;
    a->num_blocks++;
    a->block_from = kind == SRV_ITEM_CALL ? 0 : block_text(a)->n - n;
    item_event(g, a, false);
    if (kind != SRV_ITEM_CALL) part_event(g, a, false);
}

static void delta(struct srv_gen *g, const struct srv_answer *a, const char *name, const char *s, size_t n) {
    event(g, name);
    place(g, a, a->block != SRV_ITEM_CALL);
    if (a->block == SRV_ITEM_MESSAGE) vc_buf_adds(&g->call->out, ",\"logprobs\":[]");
    vc_buf_adds(&g->call->out, ",\"delta\":");
    vc_json_add_str(&g->call->out, s, n);
    end_event(g);
}

static void tool_chunk(struct srv_gen *g, struct srv_answer *a, const vc_tool_delta *t) {
    if (t->name) {
        close_block(g, a);
        open_block(g, a, SRV_ITEM_CALL, 0);
    }
    if (t->arguments_len && a->block == SRV_ITEM_CALL)
        delta(g, a, "response.function_call_arguments.delta", t->arguments, t->arguments_len);
}

static void chunk(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o) {
    (void)p;
    if (!a->begun) {
        response_event(g, "response.created");
        response_event(g, "response.in_progress");
    }
    a->begun = true;
    if (o->reasoning_len && g->include_reasoning) {
        if (a->block != SRV_ITEM_REASONING) close_block(g, a);
        open_block(g, a, SRV_ITEM_REASONING, o->reasoning_len);
        delta(g, a, "response.reasoning_text.delta", o->reasoning, o->reasoning_len);
    }
    if (o->text_len) {
        if (a->block != SRV_ITEM_MESSAGE) close_block(g, a);
        open_block(g, a, SRV_ITEM_MESSAGE, o->text_len);
        delta(g, a, "response.output_text.delta", o->text, o->text_len);
    }
    for (uint32_t i = 0; i < o->num_tools; i++) tool_chunk(g, a, &o->tools[i]);
}

static void end(struct srv_gen *g) {
    struct srv_answer *a = &g->parts[0].answers[0];
    struct vc_buf body = { 0 };
    struct vc_json_out w;
    if (a->num_blocks == 0) open_block(g, a, SRV_ITEM_MESSAGE, 0);      /* an answer without text is an empty message */
    close_block(g, a);
    vc_jo_init(&w, &body, VC_JSON_COMPACT);
    srv_jo_response(&w, g, NULL);
    event(g, "response.completed");             /* also when it is incomplete, as vLLM */
    vc_buf_adds(&g->call->out, ",\"response\":");
    vc_buf_add(&g->call->out, body.p ? body.p : "null", body.p ? body.n : 4);
    end_event(g);
    if (body.p && !body.failed) srv_response_store(g, body.p, body.n);
    vc_buf_free(&body);
}

static void fail(struct srv_gen *g, const vc_err *err) {
    const char *text = err->text[0] ? err->text : vc_status_text(err->status);
    event(g, "error");
    vc_buf_printf(&g->call->out, ",\"code\":\"%d\",\"param\":null,\"message\":", vc_status_http(err->status));
    vc_json_add_str(&g->call->out, text, strlen(text));
    end_event(g);
}

static void whole(struct srv_gen *g, struct vc_buf *b) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    srv_jo_response(&w, g, NULL);
    if (!b->failed) srv_response_store(g, b->p, b->n);
}

const struct srv_writer srv_responses_writer = { "response", "resp_", chunk, end, whole, fail, true };
