/* SPDX-License-Identifier: Apache-2.0
 * srv_text_writer.c: answers of /v1/completions: text_completion objects and their chunks, keys in vLLM's order. */
#include <string.h>

#include "server/srv_gen.h"

/* Text of the prompt for echo: as it came, or its ids decoded. */
static void add_prompt_text(const struct srv_gen *g, const struct srv_part *p, struct vc_buf *b) {
    char *text = NULL;
    size_t n = 0;
    vc_err err = VC_ERR_INIT;
    if (p->text) {
        vc_buf_add(b, p->text, p->text_len);
    } else if (vc_detokenize(g->call->model->engine, p->ids, p->num_ids, 0, &text, &n, &err) == VC_OK) {
        vc_buf_add(b, text, n);
        vc_free(text);
    }
}

static uint32_t choice_index(const struct srv_gen *g, const struct srv_part *p, const struct srv_answer *a) {
    return p->index * g->num_shown + (uint32_t)(a - p->answers);
}

static void chunk_text(struct srv_gen *g, struct srv_part *p, struct vc_buf *b, bool first, const vc_output *o) {
    bool silent = g->echo_only;
    if (!g->echo || !first) {
        vc_json_add_str(b, o->text, silent ? 0 : o->text_len);
        return;
    }
    struct vc_buf whole = { 0 };
    add_prompt_text(g, p, &whole);
    if (!silent) vc_buf_add(&whole, o->text, o->text_len);
    vc_json_add_str(b, whole.p ? whole.p : "", whole.n);
    vc_buf_free(&whole);
}

static void chunk_logprobs(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, struct vc_buf *b, bool first,
                           const vc_output *o) {
    struct vc_json_out w;
    if (!g->logprobs || !(o->num_logprobs || (first && g->echo))) {
        vc_buf_adds(b, "null");
        return;
    }
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    srv_jo_text_logprobs(&w, g, first && g->echo ? p : NULL, g->echo_only ? NULL : o->logprobs, o->num_token_ids,
                         o->num_logprobs, &a->chars);
}

static void add_reason(struct vc_buf *b, const vc_output *o) {
    struct vc_json_out w;
    const char *quote = o->finished ? "\"" : "";
    vc_buf_printf(b, ",\"finish_reason\":%s%s%s,\"stop_reason\":", quote, o->finished ? o->finish_reason : "null",
                  quote);
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    if (o->stop_string) vc_jo_str(&w, o->stop_string);
    else if (o->finished && o->stop_token >= 0) vc_jo_int(&w, o->stop_token);
    else vc_jo_null(&w);
}

static void chunk(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o) {
    struct vc_buf *b = &g->call->out;
    bool first = !a->begun;
    a->begun = true;
    vc_buf_add(b, g->head.p, g->head.n);
    vc_buf_printf(b, "{\"index\":%u,\"text\":", choice_index(g, p, a));
    chunk_text(g, p, b, first, o);
    vc_buf_adds(b, ",\"logprobs\":");
    chunk_logprobs(g, p, a, b, first, o);
    add_reason(b, o);
    vc_buf_adds(b, ",\"prompt_token_ids\":");
    if (first && (g->echo || g->return_token_ids)) srv_add_ids(b, p->ids, p->num_ids);
    else vc_buf_adds(b, "null");
    vc_buf_adds(b, ",\"token_ids\":");
    if (g->return_token_ids) srv_add_ids(b, o->token_ids, o->num_token_ids);
    else vc_buf_adds(b, "null");
    srv_add_margins(g, b, o);
    vc_buf_adds(b, "}]");
    if (g->continuous_usage) srv_add_usage(g, b, p->num_ids, a->num_tokens, p->num_cached);
    if (o->finished && !g->include_usage) srv_add_fingerprint(g, b);
    vc_buf_adds(b, "}\n\n");
}

/* ---- the answer in one piece ---- */

static void choice(struct vc_json_out *w, const struct srv_gen *g, struct srv_part *p, struct srv_answer *a) {
    struct vc_buf text = { 0 };
    vc_jo_begin_obj(w);
    vc_jo_key(w, "index");
    vc_jo_uint(w, choice_index(g, p, a));
    vc_jo_key(w, "text");
    if (g->echo) add_prompt_text(g, p, &text);
    if (!g->echo_only && a->text.n) vc_buf_add(&text, a->text.p, a->text.n);
    vc_jo_strn(w, text.p ? text.p : "", text.n);
    vc_buf_free(&text);
    vc_jo_key(w, "logprobs");
    if (g->logprobs)
        srv_jo_text_logprobs(w, g, g->echo ? p : NULL, g->echo_only ? NULL : a->logprobs, a->num_ids, a->per_token,
                             &a->chars);
    else vc_jo_null(w);
    vc_jo_key(w, "finish_reason");
    vc_jo_str(w, a->finish_reason);
    srv_jo_stop_reason(w, a->stop_string, a->stop_token);
    vc_jo_key(w, "token_ids");
    if (g->return_token_ids) srv_jo_ids(w, a->ids, a->num_ids);
    else vc_jo_null(w);
    vc_jo_key(w, "prompt_logprobs");
    srv_jo_prompt_logprobs(w, g, p);
    vc_jo_key(w, "prompt_token_ids");
    if (g->return_token_ids) srv_jo_ids(w, p->ids, p->num_ids);
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
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "id");
    vc_jo_str(&w, g->id);
    vc_jo_key(&w, "object");
    vc_jo_str(&w, g->writer->object);
    vc_jo_key(&w, "created");
    vc_jo_int(&w, g->created);
    vc_jo_key(&w, "model");
    vc_jo_str(&w, g->model);
    vc_jo_key(&w, "choices");
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < g->num_parts; i++)
        for (uint32_t k = 0; k < g->num_shown; k++) choice(&w, g, &g->parts[i], &g->parts[i].answers[k]);
    vc_jo_end_arr(&w);
    srv_jo_null(&w, "service_tier");
    vc_jo_key(&w, "system_fingerprint");
    vc_jo_str(&w, srv_fingerprint(g));
    srv_gen_totals(g, &prompt, &completion, &cached);
    vc_jo_key(&w, "usage");
    srv_jo_usage(&w, g, prompt, completion, cached, true);
    srv_jo_null(&w, "kv_transfer_params");
    srv_jo_null(&w, "ec_transfer_params");
    srv_jo_null(&w, "metrics");
    vc_jo_end_obj(&w);
}

const struct srv_writer srv_text_writer = {
    .object = "text_completion",
    .id_prefix = "cmpl-",
    .chunk = chunk,
    .end = srv_stream_end,
    .whole = whole,
    .fail = srv_stream_fail,
};
