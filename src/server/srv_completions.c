/* SPDX-License-Identifier: Apache-2.0
 * srv_completions.c: POST /v1/completions: prompts as text or ids, one or many. */
#include <stdio.h>
#include <string.h>

#include "server/srv_gen.h"

enum { MAX_PROMPTS = 2048 };

static bool refuse(struct srv_gen *g, const char *param, const char *text) {
    srv_error(g->call, 400, NULL, param, "%s", text);
    return false;
}

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
    char loc[64], text[256];
    snprintf(loc, sizeof loc, "body.prompt%s%s", at[0] ? "." : "", at);
    snprintf(text, sizeof text, "1 validation error:\n  {'type': 'prompt_type', 'loc': '%s', 'msg': 'Input should be a string, a list of strings, a list of token ids, or a list of those', 'input': ''}", loc);
    struct vc_buf b = { 0 };
    srv_error_body(g->call, &b, 400, "Bad Request", loc, text);
    srv_reply_json(g->call, 400, &b);
    return false;
}

static bool text_prompt(struct srv_gen *g, uint32_t i, const json_t *v) {
    const struct srv_value *add = &g->f.v[SRV_F_ADD_SPECIAL_TOKENS];
    if (json_string_length(v) == 0) return refuse(g, "prompt", "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)");
    return srv_gen_prompt(g, i, json_string_value(v), json_string_length(v), !add->given || add->b);
}

static bool ids_prompt(struct srv_gen *g, uint32_t i, const json_t *v) {
    int32_t *ids;
    char at[32] = "";
    int ok = ids_of(g, v, &ids, at, sizeof at);
    if (ok < 0) return refuse(g, NULL, "out of memory");
    if (!ok) return bad_prompt(g, at);
    if (json_array_size(v) == 0) return refuse(g, "prompt", "The prompt has no tokens. (parameter=prompt)");
    return srv_gen_prompt_ids(g, i, ids, json_array_size(v), false);
}

static bool read_prompts(struct srv_gen *g) {
    const struct srv_value *p = &g->f.v[SRV_F_PROMPT];
    const json_t *v = p->json, *first = json_array_get(v, 0);
    if (!p->given) return refuse(g, "prompt", "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)");
    if (json_is_string(v)) return srv_gen_parts(g, 1) && text_prompt(g, 0, v);
    if (!json_is_array(v)) return bad_prompt(g, "");
    if (!first) return refuse(g, NULL, "You must pass at least one prompt");
    if (json_is_number(first)) return srv_gen_parts(g, 1) && ids_prompt(g, 0, v);
    size_t n = json_array_size(v);
    if (n > MAX_PROMPTS) return refuse(g, "prompt", "There are more than 2048 prompts. (parameter=prompt)");
    if (!srv_gen_parts(g, (uint32_t)n)) return false;
    for (uint32_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(v, i);
        char at[32];
        snprintf(at, sizeof at, "%u", i);
        if (!(json_is_string(e) ? text_prompt(g, i, e) : json_is_array(e) ? ids_prompt(g, i, e) : bad_prompt(g, at))) return false;
    }
    return true;
}

/* OpenAI's default of 16, where the field is absent; null is the rest of the context. */
static void default_max_tokens(struct srv_gen *g) {
    struct srv_value *v = &g->f.v[SRV_F_MAX_TOKENS];
    if (!json_object_get(g->root, "max_tokens")) {
        v->given = true;
        v->i = 16;
        if (v->i > g->call->model->info.max_model_len) v->i = g->call->model->info.max_model_len;
    }
    g->echo_only = g->echo && v->given && v->i == 0;
}

void srv_post_completions(struct srv_call *c) {
    json_t *root;
    if (!srv_body(c, &root)) return;
    struct srv_gen *g = srv_gen_new(c, &srv_text_writer);
    if (!g) {
        json_decref(root);
        return;
    }
    g->root = root;
    if (!srv_fields_read(c, SRV_BODY_TEXT, root, &g->f) || !srv_gen_common(g, SRV_BODY_TEXT)) return;
    if (g->f.v[SRV_F_SUFFIX].given && g->f.v[SRV_F_SUFFIX].s[0]) {
        refuse(g, "suffix", "suffix is only supported for models with FIM completion rendering");
        return;
    }
    default_max_tokens(g);
    if (read_prompts(g) && srv_gen_sampling(g, SRV_BODY_TEXT) && srv_gen_max_tokens(g) && srv_gen_constraint(g)) srv_gen_submit(g);
}
