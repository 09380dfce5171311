/* SPDX-License-Identifier: Apache-2.0
 * srv_pieces.c: parts of answers that several APIs share: usage, log-probabilities, ids. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "server/srv_gen.h"

void srv_token_text(const struct srv_gen *g, int32_t id, struct vc_buf *out) {
    char *text = NULL;
    size_t n = 0;
    vc_err err = VC_ERR_INIT;
    out->n = 0;
    bool shown = !g->tokens_as_ids && vc_detokenize(g->call->model->engine, &id, 1, 0, &text, &n, &err) == VC_OK;
    if (shown) vc_buf_add(out, text, n);
    else vc_buf_printf(out, "token_id:%d", id);
    vc_free(text);
}

uint64_t srv_count_chars(const char *s, size_t n) {
    uint64_t k = 0;
    for (size_t i = 0; i < n; i++) k += ((unsigned char)s[i] & 0xC0) != 0x80;
    return k;
}

void srv_jo_stop_reason(struct vc_json_out *w, const char *stop_string, int32_t stop_token) {
    vc_jo_key(w, "stop_reason");
    if (stop_string) vc_jo_str(w, stop_string);
    else if (stop_token >= 0) vc_jo_int(w, stop_token);
    else vc_jo_null(w);
}

void srv_jo_ids(struct vc_json_out *w, const int32_t *ids, size_t n) {
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < n; i++) vc_jo_int(w, ids[i]);
    vc_jo_end_arr(w);
}

void srv_jo_usage(struct vc_json_out *w, const struct srv_gen *g, uint64_t prompt, uint64_t completion, uint64_t cached,
                  bool details) {
    bool show_cached = g->call->srv->p.prompt_tokens_details != 0;
    vc_jo_begin_obj(w);
    vc_jo_key(w, "prompt_tokens");
    vc_jo_uint(w, prompt);
    vc_jo_key(w, "total_tokens");
    vc_jo_uint(w, prompt + completion);
    vc_jo_key(w, "completion_tokens");
    vc_jo_uint(w, completion);
    if (details || show_cached) {
        vc_jo_key(w, "prompt_tokens_details");
        if (show_cached) {
            vc_jo_begin_obj(w);
            vc_jo_key(w, "cached_tokens");
            vc_jo_uint(w, cached);
            vc_jo_end_obj(w);
        } else {
            vc_jo_null(w);
        }
    }
    if (details) {
        vc_jo_key(w, "completion_tokens_details");
        vc_jo_null(w);
    }
    vc_jo_end_obj(w);
}

void srv_gen_totals(const struct srv_gen *g, uint64_t *prompt, uint64_t *completion, uint64_t *cached) {
    *prompt = *completion = *cached = 0;
    for (uint32_t i = 0; i < g->num_parts; i++) {
        const struct srv_part *p = &g->parts[i];
        *prompt += p->num_ids;
        *cached += p->num_cached;
        for (uint32_t k = 0; k < g->rp.sampling.n; k++) *completion += p->answers[k].num_tokens;
    }
}

/* -inf is no JSON; vLLM writes -9999. */
static float finite(float v) { return v >= -9999.0f ? v : -9999.0f; }

/* Is v[k] the same token as one before it? The chosen one stands first, and again among the best. */
static bool repeated(const vc_logprob *v, uint32_t k) {
    for (uint32_t i = 0; i < k; i++)
        if (v[i].token == v[k].token) return true;
    return false;
}

void srv_jo_prompt_logprobs(struct vc_json_out *w, const struct srv_gen *g, const struct srv_part *p) {
    struct vc_buf text = { 0 };
    char key[16];
    if (!p->prompt_logprobs) {
        vc_jo_null(w);
        return;
    }
    vc_jo_begin_arr(w);
    for (size_t t = 0; t < p->num_ids; t++) {
        const vc_logprob *v = p->prompt_logprobs + t * p->per_prompt_token;
        if (t == 0) {
            vc_jo_null(w);
            continue;
        }
        vc_jo_begin_obj(w);
        for (uint32_t k = 0; k < p->per_prompt_token; k++) {
            if (repeated(v, k)) continue;
            struct vc_buf number = { 0 };
            vc_buf_printf(&number, "%d", v[k].token);
            key[0] = '\0';
            if (number.n < sizeof key) memcpy(key, number.p, number.n + 1);
            vc_buf_free(&number);
            srv_token_text(g, v[k].token, &text);
            vc_jo_key(w, key);
            vc_jo_begin_obj(w);
            vc_jo_key(w, "logprob");
            vc_jo_f32(w, finite(v[k].logprob));
            vc_jo_key(w, "rank");
            vc_jo_uint(w, v[k].rank);
            vc_jo_key(w, "decoded_token");
            vc_jo_strn(w, text.p ? text.p : "", text.n);
            vc_jo_end_obj(w);
        }
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
    vc_buf_free(&text);
}

/* ---- completions: four parallel arrays ---- */

enum column { TEXT_OFFSET, TOKEN_LOGPROBS, TOKENS, TOP_LOGPROBS, NUM_COLUMNS };

static void top_object(struct vc_json_out *w, const struct srv_gen *g, const vc_logprob *v, uint32_t per) {
    struct vc_buf text = { 0 }, seen = { 0 };   /* seen: the texts so far, each in quotes; equal texts share a key */
    vc_jo_begin_obj(w);
    for (uint32_t k = 0; k < per; k++) {
        if (repeated(v, k)) continue;
        srv_token_text(g, v[k].token, &text);
        size_t at = seen.n;
        vc_json_add_str(&seen, text.p ? text.p : "", text.n);
        size_t n = seen.n - at;
        bool twice = false;
        for (size_t i = 0; i + n <= at && !twice; i++) twice = !memcmp(seen.p + i, seen.p + at, n);
        if (twice) {
            seen.n = at;
            continue;
        }
        vc_jo_keyn(w, text.p ? text.p : "", text.n);
        vc_jo_f32(w, finite(v[k].logprob));
    }
    vc_jo_end_obj(w);
    vc_buf_free(&text);
    vc_buf_free(&seen);
}

/* The logprobs of some tokens. */
struct tokens { const vc_logprob *v; size_t n; uint32_t per; bool prompt; };

static void column(struct vc_json_out *w, const struct srv_gen *g, const struct tokens *l, enum column c,
                   uint64_t *chars) {
    const vc_logprob *v = l->v;
    struct vc_buf text = { 0 };
    for (size_t t = 0; t < l->n; t++, v += l->per) {
        bool none = l->prompt && t == 0;          /* nothing comes before the first token of a prompt */
        if (c == TOKENS || c == TEXT_OFFSET) {
            int32_t id = v->token;
            srv_token_text(g, id, &text);
        }
        switch (c) {
            case TEXT_OFFSET:
                vc_jo_uint(w, *chars);
                *chars += srv_count_chars(text.p ? text.p : "", text.n);
                break;
            case TOKEN_LOGPROBS:
                if (none) vc_jo_null(w);
                else vc_jo_f32(w, finite(v->logprob));
                break;
            case TOKENS: vc_jo_strn(w, text.p ? text.p : "", text.n); break;
            case TOP_LOGPROBS:
                if (none) vc_jo_null(w);
                else top_object(w, g, v, l->per);
                break;
            case NUM_COLUMNS: break;
        }
    }
    vc_buf_free(&text);
}

/* The first entry of a prompt has no token in it: it is put back, so that all columns are alike. */
static void name_first(struct srv_part *p) {
    if (p->prompt_logprobs && p->num_ids) p->prompt_logprobs[0].token = p->ids[0];
}

void srv_jo_text_logprobs(struct vc_json_out *w, const struct srv_gen *g, const struct srv_part *prompt,
                          const vc_logprob *v, size_t tokens, uint32_t per, uint64_t *chars) {
    static const char *const names[NUM_COLUMNS] = { "text_offset", "token_logprobs", "tokens", "top_logprobs" };
    const struct tokens made = { v, tokens, per, false };
    struct tokens before = { 0 };
    if (prompt) {
        name_first((struct srv_part *)(uintptr_t)prompt);
        before = (struct tokens){ prompt->prompt_logprobs, prompt->num_ids, prompt->per_prompt_token, true };
    }
    vc_jo_begin_obj(w);
    for (int c = 0; c < NUM_COLUMNS; c++) {
        vc_jo_key(w, names[c]);
        vc_jo_begin_arr(w);
        if (prompt && prompt->prompt_logprobs) column(w, g, &before, (enum column)c, chars);
        if (v) column(w, g, &made, (enum column)c, chars);
        vc_jo_end_arr(w);
    }
    vc_jo_end_obj(w);
}

/* ---- chat: one object per token ---- */

static void chat_token(struct vc_json_out *w, const struct srv_gen *g, const vc_logprob *v, struct vc_buf *text) {
    srv_token_text(g, v->token, text);
    vc_jo_key(w, "token");
    vc_jo_strn(w, text->p ? text->p : "", text->n);
    vc_jo_key(w, "logprob");
    vc_jo_f32(w, finite(v->logprob));
    vc_jo_key(w, "bytes");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < text->n; i++) vc_jo_uint(w, (unsigned char)text->p[i]);
    vc_jo_end_arr(w);
}

void srv_jo_chat_logprobs(struct vc_json_out *w, const struct srv_gen *g, const vc_logprob *v, size_t tokens,
                          uint32_t per) {
    struct vc_buf text = { 0 };
    vc_jo_begin_obj(w);
    vc_jo_key(w, "content");
    vc_jo_begin_arr(w);
    for (size_t t = 0; v && t < tokens; t++, v += per) {
        vc_jo_begin_obj(w);
        chat_token(w, g, v, &text);
        vc_jo_key(w, "top_logprobs");
        vc_jo_begin_arr(w);
        int32_t shown = 0;
        for (uint32_t k = 0; k < per && (g->all_logprobs || shown < g->top_logprobs); k++) {
            if (repeated(v, k)) continue;
            vc_jo_begin_obj(w);
            chat_token(w, g, &v[k], &text);
            vc_jo_end_obj(w);
            shown++;
        }
        vc_jo_end_arr(w);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
    vc_jo_end_obj(w);
    vc_buf_free(&text);
}

/* ---- what the completion and chat streams share ---- */

void srv_add_usage(struct srv_gen *g, struct vc_buf *b, uint64_t prompt, uint64_t completion, uint64_t cached) {
    struct vc_json_out w;
    vc_buf_adds(b, ",\"usage\":");
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    srv_jo_usage(&w, g, prompt, completion, cached, false);
}

void srv_add_ids(struct vc_buf *b, const int32_t *ids, size_t n) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    srv_jo_ids(&w, ids, n);
}

void srv_jo_margins(struct vc_json_out *w, const float *v, size_t n) {
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < n; i++) {
        if (v[i] <= FLT_MAX) vc_jo_f32(w, v[i]);
        else vc_jo_null(w);
    }
    vc_jo_end_arr(w);
}

void srv_add_margins(const struct srv_gen *g, struct vc_buf *b, const vc_output *o) {
    struct vc_json_out w;
    if (!g->rp.sampling.return_margin) return;
    vc_buf_adds(b, ",\"margins\":");
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    srv_jo_margins(&w, o->margins, o->margins ? o->num_token_ids : 0);
}

void srv_stream_end(struct srv_gen *g) {
    struct vc_buf *b = &g->call->out;
    uint64_t prompt, completion, cached;
    if (g->include_usage) {
        srv_gen_totals(g, &prompt, &completion, &cached);
        vc_buf_add(b, g->head.p, g->head.n);
        vc_buf_addc(b, ']');
        srv_add_usage(g, b, prompt, completion, cached);
        srv_add_fingerprint(g, b);
        vc_buf_adds(b, "}\n\n");
    }
    vc_buf_adds(b, "data: [DONE]\n\n");
}

void srv_stream_fail(struct srv_gen *g, const vc_err *err) {
    struct vc_buf *b = &g->call->out;
    vc_buf_adds(b, "data: ");
    srv_error_body(g->call, b, vc_status_http(err->status), NULL, NULL, srv_err_text(err));
    vc_buf_adds(b, "\n\ndata: [DONE]\n\n");
}

void srv_jo_null(struct vc_json_out *w, const char *key) {
    vc_jo_key(w, key);
    vc_jo_null(w);
}
