/* SPDX-License-Identifier: Apache-2.0
 * srv_prompts.c: the prompts of a call, as text or token ids, one or many: tokenized, checked, cut to the length that
 * is asked for. */
#include <stdio.h>
#include <string.h>

#include "server/srv_gen.h"

enum { MAX_PROMPTS = 2048 };

bool srv_gen_parts(struct srv_gen *g, uint32_t n) {
    struct srv_part *parts = VC_NEW_ARRAY(&g->arena, struct srv_part, n);
    if (!parts) {
        srv_error(g->call, 503, NULL, NULL, "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        parts[i].call = g->call;
        parts[i].index = i;
    }
    pthread_mutex_lock(&g->call->lock);
    g->parts = parts;
    g->num_parts = n;
    pthread_mutex_unlock(&g->call->lock);
    return true;
}

static bool no_tokens(struct srv_gen *g) {
    return srv_refuse_field(g->call, g->prompt_name, "The prompt has no tokens.");
}

/* Room for a prompt in front of the answer that is asked for, or of one token. */
static size_t longest_prompt(const struct srv_gen *g, uint32_t len) {
    const struct srv_value *most = &g->f.v[SRV_F_MAX_TOKENS];
    int64_t answer = most->given && most->i > 1 ? most->i : 1;
    if (g->call->model->info.pooling) return len;
    return answer < len ? len - (size_t)answer : len;
}

/* What the tokenizer adds before and after a text: that stays when the text is cut, as with vLLM's tokenizers. */
static void count_special(const struct srv_gen *g, const struct srv_part *p, size_t *head, size_t *tail) {
    int32_t *plain = NULL;
    size_t n = 0;
    vc_err err = VC_ERR_INIT;
    *head = *tail = 0;
    if (vc_tokenize(g->call->model->engine, p->text, p->text_len, VC_TOK_PARSE_SPECIAL, &plain, &n, &err) != VC_OK)
        return;
    for (size_t at = 0; n && n < p->num_ids && at <= p->num_ids - n && at <= 8; at++)
        if (!memcmp(p->ids + at, plain, n * sizeof *plain)) {
            *head = at;
            *tail = p->num_ids - n - at;
            break;
        }
    vc_free(plain);
}

/* Keeps the last (or first) k ids. */
static bool truncate_ids(struct srv_gen *g, struct srv_part *p) {
    const struct srv_value *v = &g->f.v[SRV_F_TRUNCATE_PROMPT_TOKENS], *side = &g->f.v[SRV_F_TRUNCATION_SIDE];
    uint32_t len = g->call->model->info.max_model_len;
    if (!v->given) return true;
    if (v->i > len)
        return srv_refuse(g->call, "truncate_prompt_tokens",
                          "truncate_prompt_tokens=%lld cannot be greater than max_model_len = %u. Please request a "
                          "smaller truncation size. (parameter=truncate_prompt_tokens, value=%lld)",
                          (long long)v->i, len, (long long)v->i);
    if (side->given && strcmp(side->s, "left") != 0 && strcmp(side->s, "right") != 0)
        return srv_refuse_field(g->call, "truncation_side", "truncation_side must be 'left' or 'right'.");
    size_t keep = v->i < 0 ? longest_prompt(g, len) : (size_t)v->i;
    /* Unless told, vLLM's tokenizers cut at the right for embedders. */
    bool right = side->given ? side->s[0] == 'r' : g->call->model->info.pooling != NULL;
    size_t head = 0, tail = 0;
    if (p->num_ids <= keep) return true;
    if (p->text) count_special(g, p, &head, &tail);
    if (head + tail > keep) head = tail = 0;
    size_t middle = keep - head - tail;
    memmove(p->ids + head, right ? p->ids + head : p->ids + (p->num_ids - tail - middle), middle * sizeof *p->ids);
    memmove(p->ids + head + middle, p->ids + (p->num_ids - tail), tail * sizeof *p->ids);
    p->num_ids = keep;
    return true;
}

bool srv_gen_prompt_ids(struct srv_gen *g, uint32_t i, int32_t *ids, size_t n, bool owns) {
    struct srv_part *p = &g->parts[i];
    uint32_t vocab = g->call->model->info.vocab_size;
    p->ids = ids;
    p->num_ids = n;
    p->owns_ids = owns;
    for (size_t k = 0; k < n; k++) {
        if ((uint32_t)ids[k] < vocab) continue;
        return srv_refuse(g->call, NULL, "Token id %d is out of vocabulary", ids[k]);
    }
    return truncate_ids(g, p);
}

bool srv_gen_prompt(struct srv_gen *g, uint32_t i, const char *text, size_t n, bool add_special) {
    vc_err err = VC_ERR_INIT;
    int32_t *ids = NULL;
    size_t k = 0;
    struct srv_part *p = &g->parts[i];
    p->text = text;
    p->text_len = n;
    vc_status s = vc_tokenize(g->call->model->engine, text, n,
                              VC_TOK_PARSE_SPECIAL | (add_special ? VC_TOK_ADD_SPECIAL : 0), &ids, &k, &err);
    if (s != VC_OK) return srv_refuse_err(g->call, &err);
    if (k == 0) {
        vc_free(ids);
        return no_tokens(g);
    }
    return srv_gen_prompt_ids(g, i, ids, k, true);
}

bool srv_gen_fits(struct srv_gen *g, int64_t *longest) {
    uint32_t len = g->call->model->info.max_model_len;
    size_t n = 0;
    for (uint32_t i = 0; i < g->num_parts; i++) n = VC_MAX(n, g->parts[i].num_ids);
    *longest = (int64_t)n;
    if (n <= len) return true;
    return srv_refuse(
        g->call, "input_tokens",
        "This model's maximum context length is %u tokens. However, your prompt contains %zu input tokens, which "
        "exceeds this limit%s. Please reduce the length of the input prompt. (parameter=input_tokens, value=%zu)",
        len, n, g->call->model->info.pooling ? "" : " even without any output tokens", n);
}

/* ---- from JSON ---- */

/* [1, 2, 3] */
static int ids_of(struct srv_gen *g, const json_t *v, int32_t **ids, char *at, size_t cap) {
    size_t n = json_array_size(v);
    *ids = VC_NEW_ARRAY(&g->arena, int32_t, n + 1);
    if (!*ids) return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(v, i);
        json_int_t x = json_is_integer(e) ? json_integer_value(e) : -1;
        if (x < 0) {
            snprintf(at, cap, "%zu", i);
            return 0;
        }
        (*ids)[i] = x <= INT32_MAX ? (int32_t)x : INT32_MAX;
    }
    return 1;
}

static bool bad_prompt(struct srv_gen *g, const char *at) {
    char loc[64];
    snprintf(loc, sizeof loc, "body.%s%s%s", g->prompt_name, at[0] ? "." : "", at);
    return srv_refuse_value(g->call, loc, "prompt_type",
                            "Input should be a string, a list of strings, a list of token ids, or a list of those", "");
}

static bool no_prompt(struct srv_gen *g) {
    return srv_refuse_field(g->call, "prompt", "Either prompt or prompt_embeds must be provided and non-empty.");
}

static bool text_prompt(struct srv_gen *g, uint32_t i, const json_t *v) {
    const struct srv_value *add = &g->f.v[SRV_F_ADD_SPECIAL_TOKENS];
    if (json_string_length(v) == 0 && !g->call->model->info.pooling) return no_prompt(g);
    return srv_gen_prompt(g, i, json_string_value(v), json_string_length(v), !add->given || add->b);
}

static bool ids_prompt(struct srv_gen *g, uint32_t i, const json_t *v) {
    int32_t *ids;
    char at[32] = "";
    int ok = ids_of(g, v, &ids, at, sizeof at);
    if (ok < 0) return srv_refuse(g->call, NULL, "out of memory");
    if (!ok) return bad_prompt(g, at);
    if (json_array_size(v) == 0) return no_tokens(g);
    return srv_gen_prompt_ids(g, i, ids, json_array_size(v), false);
}

bool srv_gen_prompts(struct srv_gen *g, const json_t *v) {
    const json_t *first = json_array_get(v, 0);
    if (!v) return no_prompt(g);
    if (json_is_string(v)) return srv_gen_parts(g, 1) && text_prompt(g, 0, v);
    if (!json_is_array(v)) return bad_prompt(g, "");
    if (!first) return srv_refuse(g->call, NULL, "You must pass at least one prompt");
    if (json_is_number(first)) return srv_gen_parts(g, 1) && ids_prompt(g, 0, v);
    size_t n = json_array_size(v);
    if (n > MAX_PROMPTS) return srv_refuse(g->call, g->prompt_name, "There are more than 2048 prompts.");
    if (!srv_gen_parts(g, (uint32_t)n)) return false;
    for (uint32_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(v, i);
        char at[32];
        snprintf(at, sizeof at, "%u", i);
        if (!(json_is_string(e) ? text_prompt(g, i, e) : json_is_array(e) ? ids_prompt(g, i, e) : bad_prompt(g, at)))
            return false;
    }
    return true;
}
