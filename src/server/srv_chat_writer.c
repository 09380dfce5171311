/* SPDX-License-Identifier: Apache-2.0
 * srv_chat_writer.c: answers of /v1/chat/completions: chat.completion objects and their chunks, keys in vLLM's order.
 * Reasoning goes out under both names that clients read, "reasoning" and "reasoning_content". */
#include <string.h>

#include "server/srv_gen.h"

static void add_str(struct vc_buf *b, const char *key, const char *s, size_t n) {
    vc_buf_adds(b, key);
    vc_json_add_str(b, s, n);
}

static uint32_t index_of(const struct srv_part *p, const struct srv_answer *a) { return (uint32_t)(a - p->answers); }

/* The first chunk of a choice: its role, and with echo the message that is answered. */
static void role_chunk(struct srv_gen *g, struct srv_part *p, struct srv_answer *a) {
    struct vc_buf *b = &g->call->out;
    bool first = index_of(p, a) == 0;
    a->begun = true;
    vc_buf_add(b, g->head.p, g->head.n);
    vc_buf_printf(b, "{\"index\":%u,\"delta\":{\"role\":", index_of(p, a));
    vc_json_add_str(b, g->role, strlen(g->role));
    vc_buf_adds(b, ",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}],\"prompt_token_ids\":");
    if (g->return_token_ids && first) srv_add_ids(b, p->ids, p->num_ids);
    else vc_buf_adds(b, "null");
    vc_buf_adds(b, ",\"prompt_text\":");
    if (g->return_text && p->text) vc_json_add_str(b, p->text, p->text_len);
    else vc_buf_adds(b, "null");
    if (g->continuous_usage) srv_add_usage(g, b, p->num_ids, 0, p->num_cached);
    vc_buf_adds(b, "}\n\n");
    if (!g->echo_message || !*g->echo_message) return;
    vc_buf_add(b, g->head.p, g->head.n);
    vc_buf_printf(b, "{\"index\":%u,\"delta\":{\"content\":", index_of(p, a));
    vc_json_add_str(b, g->echo_message, strlen(g->echo_message));
    vc_buf_adds(b, "},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
}

/* Calls of one output. The first piece of a call has its id and name. */
static void tool_deltas(struct srv_answer *a, struct vc_buf *b, const vc_output *o) {
    vc_buf_adds(b, "\"content\":null,\"tool_calls\":[");
    for (uint32_t i = 0; i < o->num_tools; i++) {
        const vc_tool_delta *t = &o->tools[i];
        const struct srv_tool *v = t->index < a->num_tools ? &a->tools[t->index] : NULL;
        if (i) vc_buf_addc(b, ',');
        vc_buf_addc(b, '{');
        if (t->name && v) vc_buf_printf(b, "\"id\":\"%s\",\"type\":\"function\",", v->id);
        vc_buf_printf(b, "\"index\":%u,\"function\":{", t->index);
        if (t->name) add_str(b, "\"name\":", t->name, strlen(t->name));
        if (t->arguments_len) {
            if (t->name) vc_buf_addc(b, ',');
            add_str(b, "\"arguments\":", t->arguments, t->arguments_len);
        }
        vc_buf_adds(b, "}}");
    }
    vc_buf_addc(b, ']');
}

/* Does a parser cut the text? */
static bool is_parsed(const struct srv_gen *g) { return g->tools != SRV_TOOLS_NONE || g->rp.reasoning_parser; }

static void delta(struct srv_gen *g, struct srv_answer *a, struct vc_buf *b, const vc_output *o) {
    bool reasoning = g->include_reasoning && o->reasoning_len > 0, parsed = is_parsed(g);
    vc_buf_addc(b, '{');
    if (reasoning) {
        add_str(b, "\"reasoning\":", o->reasoning, o->reasoning_len);
        add_str(b, ",\"reasoning_content\":", o->reasoning, o->reasoning_len);
    }
    if (o->num_tools) {
        if (reasoning) vc_buf_addc(b, ',');
        tool_deltas(a, b, o);
        if (o->text_len) vc_buf_adds(b, "");
    } else if (o->text_len || !parsed) {
        add_str(b, reasoning ? ",\"content\":" : "\"content\":", o->text, o->text_len);
    }
    vc_buf_addc(b, '}');
}

static const char *reason_of(const struct srv_gen *g, const struct srv_answer *a, const char *engine) {
    bool called = a->num_tools > 0 && g->tools != SRV_TOOLS_NAMED;
    return called && !strcmp(engine, "stop") ? "tool_calls" : engine;
}

/* Does the output say anything? Markup that a parser holds back gives none. */
static bool is_silent(const struct srv_gen *g, const vc_output *o) {
    if (o->finished || o->text_len || o->num_tools || (o->reasoning_len && g->include_reasoning)) return false;
    return is_parsed(g) && !g->logprobs && !g->return_token_ids && !g->rp.sampling.return_margin;
}

static void one_chunk(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o, bool last) {
    struct vc_buf *b = &g->call->out;
    struct vc_json_out w;
    vc_buf_add(b, g->head.p, g->head.n);
    vc_buf_printf(b, "{\"index\":%u,\"delta\":", index_of(p, a));
    delta(g, a, b, o);
    vc_buf_adds(b, ",\"logprobs\":");
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    if (g->logprobs && o->num_logprobs) srv_jo_chat_logprobs(&w, g, o->logprobs, o->num_token_ids, o->num_logprobs);
    else vc_buf_adds(b, "null");
    if (last) {
        vc_buf_printf(b, ",\"finish_reason\":\"%s\",\"stop_reason\":", reason_of(g, a, o->finish_reason));
        vc_jo_init(&w, b, VC_JSON_COMPACT);
        if (o->stop_string) vc_jo_str(&w, o->stop_string);
        else if (o->stop_token >= 0) vc_jo_int(&w, o->stop_token);
        else vc_jo_null(&w);
    } else {
        vc_buf_adds(b, ",\"finish_reason\":null");
    }
    vc_buf_adds(b, ",\"token_ids\":");
    if (g->return_token_ids) srv_add_ids(b, o->token_ids, o->num_token_ids);
    else vc_buf_adds(b, "null");
    srv_add_margins(g, b, o);
    vc_buf_adds(b, "}]");
    if (g->continuous_usage) srv_add_usage(g, b, p->num_ids, a->num_tokens, p->num_cached);
    if (last && !g->include_usage) srv_add_fingerprint(g, b);
    vc_buf_adds(b, "}\n\n");
}

static void chunk(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o) {
    if (!g->call->gen->parts[0].answers[0].begun)           /* the roles of all choices come first */
        for (uint32_t k = 0; k < g->rp.sampling.n; k++) role_chunk(g, p, &p->answers[k]);
    if (is_silent(g, o)) return;
    if (o->num_tools && o->text_len) {                     /* content and calls are chunks of their own */
        vc_output text = *o;
        text.num_tools = 0;
        text.num_logprobs = text.num_token_ids = 0;
        text.finished = 0;
        one_chunk(g, p, a, &text, false);
    }
    one_chunk(g, p, a, o, o->finished != 0);
}

/* ---- the answer in one piece ---- */

static void tool_calls(struct vc_json_out *w, const struct srv_answer *a) {
    vc_jo_key(w, "tool_calls");
    vc_jo_begin_arr(w);
    for (uint32_t i = 0; i < a->num_tools; i++) {
        const struct srv_tool *t = &a->tools[i];
        vc_jo_begin_obj(w);
        vc_jo_key(w, "id");
        vc_jo_str(w, t->id);
        vc_jo_key(w, "type");
        vc_jo_str(w, "function");
        vc_jo_key(w, "function");
        vc_jo_begin_obj(w);
        vc_jo_key(w, "name");
        vc_jo_str(w, t->name ? t->name : "");
        vc_jo_key(w, "arguments");
        vc_jo_strn(w, t->arguments.p ? t->arguments.p : "", t->arguments.n);
        vc_jo_end_obj(w);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

/* Forced calls that the length cut are content, as the text came. */
static bool calls_whole(const struct srv_gen *g, const struct srv_answer *a) {
    return a->num_tools > 0 && (g->tools < SRV_TOOLS_REQUIRED || a->calls.complete == a->num_tools);
}

static void content(struct vc_json_out *w, const struct srv_gen *g, const struct srv_answer *a, bool called) {
    struct vc_buf text = { 0 };
    bool has_reasoning = g->rp.reasoning_parser && a->reasoning.n > 0;
    vc_jo_key(w, "content");
    if (g->echo_message) vc_buf_adds(&text, g->echo_message);
    if (a->text.n && !(called && g->tools >= SRV_TOOLS_REQUIRED)) vc_buf_add(&text, a->text.p, a->text.n);
    if (text.n == 0 && has_reasoning && !called) vc_jo_null(w);
    else vc_jo_strn(w, text.p ? text.p : "", text.n);
    vc_buf_free(&text);
}

static void message(struct vc_json_out *w, const struct srv_gen *g, const struct srv_answer *a) {
    static const char *const empty[] = { "refusal", "annotations", "audio", "function_call" };
    bool called = calls_whole(g, a), reasoning = a->reasoning.n > 0 && g->include_reasoning;
    vc_jo_begin_obj(w);
    vc_jo_key(w, "role");
    vc_jo_str(w, g->role);
    content(w, g, a, called);
    for (size_t i = 0; i < VC_ARRAY_LEN(empty); i++) srv_jo_null(w, empty[i]);
    if (called) tool_calls(w, a);
    vc_jo_key(w, "reasoning");
    if (reasoning) vc_jo_strn(w, a->reasoning.p, a->reasoning.n);
    else vc_jo_null(w);
    if (reasoning) {
        vc_jo_key(w, "reasoning_content");
        vc_jo_strn(w, a->reasoning.p, a->reasoning.n);
    }
    vc_jo_end_obj(w);
}

static void choice(struct vc_json_out *w, const struct srv_gen *g, struct srv_part *p, struct srv_answer *a) {
    vc_jo_begin_obj(w);
    vc_jo_key(w, "index");
    vc_jo_uint(w, index_of(p, a));
    vc_jo_key(w, "message");
    message(w, g, a);
    vc_jo_key(w, "logprobs");
    if (g->logprobs) srv_jo_chat_logprobs(w, g, a->logprobs, a->num_ids, a->per_token);
    else vc_jo_null(w);
    vc_jo_key(w, "finish_reason");
    vc_jo_str(w, calls_whole(g, a) ? reason_of(g, a, a->finish_reason) : a->finish_reason);
    srv_jo_stop_reason(w, a->stop_string, a->stop_token);
    vc_jo_key(w, "token_ids");
    if (g->return_token_ids) srv_jo_ids(w, a->ids, a->num_ids);
    else vc_jo_null(w);
    srv_jo_null(w, "routed_experts");
    if (g->rp.sampling.return_margin) {
        vc_jo_key(w, "margins");
        srv_jo_margins(w, a->margins, a->num_margins);
    }
    vc_jo_end_obj(w);
}

static void whole(struct srv_gen *g, struct vc_buf *b) {
    uint64_t prompt, completion, cached;
    struct srv_part *p = &g->parts[0];
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "id");
    vc_jo_str(&w, g->id);
    vc_jo_key(&w, "object");
    vc_jo_str(&w, "chat.completion");
    vc_jo_key(&w, "created");
    vc_jo_int(&w, g->created);
    vc_jo_key(&w, "model");
    vc_jo_str(&w, g->model);
    vc_jo_key(&w, "choices");
    vc_jo_begin_arr(&w);
    for (uint32_t k = 0; k < g->rp.sampling.n; k++) choice(&w, g, p, &p->answers[k]);
    vc_jo_end_arr(&w);
    srv_jo_null(&w, "service_tier");
    vc_jo_key(&w, "system_fingerprint");
    vc_jo_str(&w, srv_fingerprint(g));
    srv_gen_totals(g, &prompt, &completion, &cached);
    vc_jo_key(&w, "usage");
    srv_jo_usage(&w, g, prompt, completion, cached, true);
    vc_jo_key(&w, "prompt_logprobs");
    srv_jo_prompt_logprobs(&w, g, p);
    vc_jo_key(&w, "prompt_token_ids");
    if (g->return_token_ids) srv_jo_ids(&w, p->ids, p->num_ids);
    else vc_jo_null(&w);
    vc_jo_key(&w, "prompt_text");
    if (g->return_text && p->text) vc_jo_strn(&w, p->text, p->text_len);
    else vc_jo_null(&w);
    srv_jo_null(&w, "kv_transfer_params");
    srv_jo_null(&w, "ec_transfer_params");
    srv_jo_null(&w, "metrics");
    vc_jo_end_obj(&w);
}

const struct srv_writer srv_chat_writer = {
    .object = "chat.completion.chunk",
    .id_prefix = "chatcmpl-",
    .chunk = chunk,
    .end = srv_stream_end,
    .whole = whole,
    .fail = srv_stream_fail,
};
