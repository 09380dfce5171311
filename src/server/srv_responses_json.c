/* SPDX-License-Identifier: Apache-2.0
 * srv_responses_json.c: the response object of /v1/responses, keys in vLLM's order. */
#include "server/srv_responses.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/srv_background.h"

void srv_item_id(const struct srv_gen *g, enum srv_item kind, uint32_t at, char *dst, size_t cap) {
    static const char *const prefix[] = { "", "rs_", "msg_", "fc_" };
    const char *own = strchr(g->id, '_');
    snprintf(dst, cap, "%s%.120s%u", prefix[kind], own ? own + 1 : g->id, at);
}

static void key_str(struct vc_json_out *w, const char *key, const char *v) {
    vc_jo_key(w, key);
    vc_jo_str(w, v);
}

/* A field of the request as it came, or `otherwise` as JSON. */
static void key_same(struct vc_json_out *w, const struct srv_gen *g, const char *key, const char *otherwise) {
    const json_t *v = json_object_get(g->request, key);
    char *text = v && !json_is_null(v) ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    vc_jo_key(w, key);
    if (text) vc_jo_raw(w, text, strlen(text));
    else vc_jo_raw(w, otherwise, strlen(otherwise));
    free(text);
}

static void empty_list(struct vc_json_out *w, const char *key) {
    vc_jo_key(w, key);
    vc_jo_begin_arr(w);
    vc_jo_end_arr(w);
}

/* The logprobs of a message: a list, or null where they were not asked for. */
static void logprobs(struct vc_json_out *w, const struct srv_gen *g) {
    const struct srv_answer *a = &g->parts[0].answers[0];
    struct vc_buf b = { 0 };
    struct vc_json_out inner;
    vc_jo_key(w, "logprobs");
    if (!g->logprobs || !a->logprobs) {
        vc_jo_null(w);
        return;
    }
    vc_jo_init(&inner, &b, VC_JSON_COMPACT);
    srv_jo_chat_logprobs(&inner, g, a->logprobs, a->num_ids, a->per_token);
    size_t skip = strlen("{\"content\":");
    if (b.n > skip + 1) vc_jo_raw(w, b.p + skip, b.n - skip - 1);
    else vc_jo_null(w);
    vc_buf_free(&b);
}

void srv_jo_message_item(struct vc_json_out *w, const struct srv_gen *g, const char *id, const char *text, size_t n,
                         bool done) {
    vc_jo_begin_obj(w);
    key_str(w, "id", id);
    vc_jo_key(w, "content");
    vc_jo_begin_arr(w);
    if (done) {
        vc_jo_begin_obj(w);
        empty_list(w, "annotations");
        vc_jo_key(w, "text");
        vc_jo_strn(w, text, n);
        key_str(w, "type", "output_text");
        logprobs(w, g);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
    key_str(w, "role", "assistant");
    key_str(w, "status", done ? "completed" : "in_progress");
    key_str(w, "type", "message");
    srv_jo_null(w, "phase");
    vc_jo_end_obj(w);
}

void srv_jo_reasoning_item(struct vc_json_out *w, const char *id, const char *text, size_t n, bool done) {
    vc_jo_begin_obj(w);
    key_str(w, "id", id);
    empty_list(w, "summary");
    key_str(w, "type", "reasoning");
    vc_jo_key(w, "content");
    vc_jo_begin_arr(w);
    if (done) {
        vc_jo_begin_obj(w);
        vc_jo_key(w, "text");
        vc_jo_strn(w, text, n);
        key_str(w, "type", "reasoning_text");
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
    srv_jo_null(w, "encrypted_content");
    key_str(w, "status", done ? "completed" : "in_progress");
    vc_jo_end_obj(w);
}

void srv_jo_call_item(struct vc_json_out *w, const char *id, const struct srv_tool *t, bool done) {
    vc_jo_begin_obj(w);
    vc_jo_key(w, "arguments");
    if (done) vc_jo_strn(w, t->arguments.p ? t->arguments.p : "", t->arguments.n);
    else vc_jo_str(w, "");
    key_str(w, "call_id", t->id);
    key_str(w, "name", t->name ? t->name : "");
    key_str(w, "type", "function_call");
    key_str(w, "id", id);
    key_str(w, "status", done ? "completed" : "in_progress");
    vc_jo_end_obj(w);
}

static bool calls_whole(const struct srv_gen *g, const struct srv_answer *a) {
    return a->num_tools && (g->tools < SRV_TOOLS_REQUIRED || a->calls.complete == a->num_tools);
}

static void output(struct vc_json_out *w, const struct srv_gen *g) {
    const struct srv_answer *a = &g->parts[0].answers[0];
    bool called = calls_whole(g, a), forced = called && g->tools >= SRV_TOOLS_REQUIRED;
    uint32_t at = 0;
    char id[160];
    if (a->reasoning.n && g->include_reasoning) {
        srv_item_id(g, SRV_ITEM_REASONING, at++, id, sizeof id);
        srv_jo_reasoning_item(w, id, a->reasoning.p, a->reasoning.n, true);
    }
    if (!forced && (a->text.n || !called)) {
        srv_item_id(g, SRV_ITEM_MESSAGE, at++, id, sizeof id);
        srv_jo_message_item(w, g, id, a->text.p ? a->text.p : "", a->text.n, true);
    }
    for (uint32_t i = 0; called && i < a->num_tools; i++) {
        srv_item_id(g, SRV_ITEM_CALL, at++, id, sizeof id);
        srv_jo_call_item(w, id, &a->tools[i], true);
    }
}

static void counted(struct vc_json_out *w, const char *key, uint64_t v) {
    vc_jo_key(w, key);
    vc_jo_uint(w, v);
}

static void usage(struct vc_json_out *w, const struct srv_gen *g) {
    uint64_t prompt, completion, cached;
    srv_gen_totals(g, &prompt, &completion, &cached);
    vc_jo_begin_obj(w);
    counted(w, "input_tokens", prompt);
    vc_jo_key(w, "input_tokens_details");
    vc_jo_begin_obj(w);
    counted(w, "cached_tokens", cached);
    counted(w, "cache_write_tokens", 0);
    empty_list(w, "input_tokens_per_turn");
    empty_list(w, "cached_tokens_per_turn");
    vc_jo_end_obj(w);
    counted(w, "output_tokens", completion);
    vc_jo_key(w, "output_tokens_details");
    vc_jo_begin_obj(w);
    counted(w, "reasoning_tokens", 0);
    counted(w, "tool_output_tokens", 0);
    empty_list(w, "output_tokens_per_turn");
    empty_list(w, "tool_output_tokens_per_turn");
    vc_jo_end_obj(w);
    counted(w, "total_tokens", prompt + completion);
    vc_jo_end_obj(w);
}

static void number(struct vc_json_out *w, const char *key, float v) {
    vc_jo_key(w, key);
    if (v == floorf(v)) {
        char text[32];
        snprintf(text, sizeof text, "%.1f", (double)v);
        vc_jo_raw(w, text, strlen(text));
    } else {
        vc_jo_f32(w, v);
    }
}

/* [{"message", "tokens", "type"}] as vLLM's ResponseRawMessageAndToken; the tokens are what counts. */
static void raw_message(struct vc_json_out *w, const char *key, const char *text, size_t n, const int32_t *ids,
                        size_t num_ids) {
    vc_jo_key(w, key);
    vc_jo_begin_arr(w);
    if (num_ids) {
        vc_jo_begin_obj(w);
        vc_jo_key(w, "message");
        vc_jo_strn(w, text, n);
        vc_jo_key(w, "tokens");
        srv_jo_ids(w, ids, num_ids);
        key_str(w, "type", "raw_message_tokens");
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

/* The prompt as it was rendered, and the answer before any parser saw it. */
static void raw_messages(struct vc_json_out *w, const struct srv_gen *g) {
    const struct srv_part *p = &g->parts[0];
    const struct srv_answer *a = &p->answers[0];
    char *text = NULL;
    size_t n = 0;
    vc_err err = VC_ERR_INIT;
    int flags = g->rp.sampling.skip_special_tokens ? VC_DETOK_SKIP_SPECIAL : 0;
    bool parsed = a->reasoning.n || a->num_tools;
    if (parsed) (void)vc_detokenize(g->call->model->engine, a->ids, a->num_ids, flags, &text, &n, &err);
    const char *answer = text ? text : a->text.p ? a->text.p : "";
    raw_message(w, "input_messages", p->text ? p->text : "", p->text ? p->text_len : 0, p->ids, p->num_ids);
    raw_message(w, "output_messages", answer, text ? n : a->text.n, a->ids, a->num_ids);
    vc_free(text);
}

size_t srv_jo_response(struct vc_json_out *w, const struct srv_gen *g, const char *status) {
    const struct srv_answer *a = &g->parts[0].answers[0];
    bool finished = !status, cut = finished && a->finish_reason && !strcmp(a->finish_reason, "length");
    vc_jo_begin_obj(w);
    key_str(w, "id", g->id);
    vc_jo_key(w, "created_at");
    vc_jo_int(w, g->created);
    vc_jo_key(w, "incomplete_details");
    vc_jo_raw(w, cut ? "{\"reason\":\"max_output_tokens\"}" : "null", cut ? 30 : 4);
    key_same(w, g, "instructions", "null");
    key_same(w, g, "metadata", "null");
    key_str(w, "model", g->model);
    key_str(w, "object", "response");
    vc_jo_key(w, "output");
    vc_jo_begin_arr(w);
    if (finished) output(w, g);
    vc_jo_end_arr(w);
    key_same(w, g, "parallel_tool_calls", "true");
    number(w, "temperature", g->rp.sampling.temperature);
    key_same(w, g, "tool_choice", g->tools == SRV_TOOLS_NONE ? "\"none\"" : "\"auto\"");
    key_same(w, g, "tools", "[]");
    number(w, "top_p", g->rp.sampling.top_p);
    vc_jo_key(w, "background");
    vc_jo_bool(w, g->background);
    counted(w, "max_output_tokens", g->rp.sampling.max_tokens);
    key_same(w, g, "max_tool_calls", "null");
    key_same(w, g, "previous_response_id", "null");
    srv_jo_null(w, "prompt");
    key_same(w, g, "reasoning", "null");
    key_same(w, g, "service_tier", "\"auto\"");
    vc_jo_key(w, "status");
    size_t at = w->b->n + 1;
    vc_jo_str(w, !finished ? status : cut ? "incomplete" : "completed");
    key_same(w, g, "text", "null");
    key_same(w, g, "top_logprobs", "null");
    key_same(w, g, "truncation", "\"disabled\"");
    vc_jo_key(w, "usage");
    if (finished) usage(w, g);
    else vc_jo_null(w);
    key_same(w, g, "user", "null");
    number(w, "presence_penalty", g->rp.sampling.presence_penalty);
    number(w, "frequency_penalty", g->rp.sampling.frequency_penalty);
    srv_jo_null(w, "kv_transfer_params");
    srv_jo_null(w, "ec_transfer_params");
    if (finished && g->show_messages) {
        raw_messages(w, g);
    } else {
        srv_jo_null(w, "input_messages");
        srv_jo_null(w, "output_messages");
    }
    vc_jo_end_obj(w);
    return at;
}

json_t *srv_response_messages(const struct srv_gen *g) {
    json_t *messages = json_copy(json_object_get(g->root, "messages"));
    bool system = json_is_string(json_object_get(g->request, "instructions"));
    if (system && json_array_size(messages)) json_array_remove(messages, 0);
    return messages;
}

void srv_response_store(const struct srv_gen *g, const char *body, size_t n) {
    const struct srv_answer *a = &g->parts[0].answers[0];
    if (!g->store) return;
    json_t *calls = json_array(), *messages = srv_response_messages(g), *m;
    bool called = calls_whole(g, a);
    for (uint32_t i = 0; called && i < a->num_tools; i++) {
        const struct srv_tool *t = &a->tools[i];
        json_t *call = json_pack("{s:s, s:s, s:{s:s, s:s}}", "id", t->id, "type", "function", "function",
                                 "name", t->name ? t->name : "", "arguments", t->arguments.p ? t->arguments.p : "{}");
        json_array_append_new(calls, call);
    }
    bool has_text = a->text.p && !(called && g->tools >= SRV_TOOLS_REQUIRED);      /* that of forced calls is theirs */
    json_t *text = has_text ? json_stringn(a->text.p, a->text.n) : json_string("");
    m = json_pack("{s:s, s:o*}", "role", "assistant", "content", text);
    if (m && json_array_size(calls)) json_object_set(m, "tool_calls", calls);
    if (m) json_array_append_new(messages, m);
    json_decref(calls);
    if (g->call->background) srv_background_store(g->call, body, n, messages);
    else srv_store_put(g->call->srv->store, g->id, body, n, messages);
    json_decref(messages);
}
