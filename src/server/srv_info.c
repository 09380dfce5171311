/* SPDX-License-Identifier: Apache-2.0
 * srv_info.c: the small routes: health, version, models, load, tokenize, detokenize. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/srv_chat.h"

/* 200 with an empty body, or 503: as vLLM's /health. */
void srv_get_health(struct srv_call *c) {
    struct vc_buf b = { 0 };
    struct srv *s = c->srv;
    bool ok = atomic_load(&s->loaded) && srv_models_healthy(s);
    srv_reply(c, ok ? 200 : 503, NULL, &b);
}

void srv_get_ready(struct srv_call *c) {
    struct vc_buf b = { 0 };
    struct srv *s = c->srv;
    bool ok = atomic_load(&s->loaded) && srv_models_running(s) && !atomic_load(&s->draining);
    vc_buf_printf(&b, "{\"status\":\"%s\"}", ok ? "ready" : atomic_load(&s->draining) ? "draining" : "loading");
    srv_reply_json(c, ok ? 200 : 503, &b);
}

void srv_get_version(struct srv_call *c) {
    struct vc_buf b = { 0 };
    vc_buf_printf(&b, "{\"version\":\"%s\"}", vc_version());
    srv_reply_json(c, 200, &b);
}

void srv_get_load(struct srv_call *c) {
    struct vc_buf b = { 0 };
    pthread_mutex_lock(&c->srv->lock);
    uint32_t n = c->srv->calls;
    pthread_mutex_unlock(&c->srv->lock);
    vc_buf_printf(&b, "{\"server_load\":%u}", n);
    srv_reply_json(c, 200, &b);
}

void srv_get_tokenizer_info(struct srv_call *c) {
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    char *json;
    if (!c->srv->p.tokenizer_info) {
        srv_detail(c, 404, "Not Found");
        return;
    }
    vc_status s = vc_tokenizer_info(c->model->engine, &json, &err);
    if (s != VC_OK) {
        srv_error(c, vc_status_http(s), NULL, NULL, "%s", err.text);
        return;
    }
    vc_buf_adds(&b, json);
    vc_free(json);
    srv_reply_json(c, 200, &b);
}

/* For tests of what is given back. */
void srv_get_debug(struct srv_call *c) {
    struct srv *s = c->srv;
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    if (!s->p.debug_endpoints) {
        srv_detail(c, 404, "Not Found");
        return;
    }
    pthread_mutex_lock(&s->lock);
    uint32_t calls = s->calls;
    pthread_mutex_unlock(&s->lock);
    vc_jo_init(&w, &b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "connections");
    vc_jo_uint(&w, srv_conns_count(s));
    vc_jo_key(&w, "calls");
    vc_jo_uint(&w, calls);
    vc_jo_key(&w, "models");
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < s->num_models; i++) {
        struct srv_model *m = &s->models[i];
        vc_stats t = { .struct_size = sizeof t };
        (void)vc_get_stats(m->engine, &t);
        const struct { const char *key; uint64_t v; } rows[] = {
            { "answers", atomic_load(&m->live) }, { "running", t.running },
            { "waiting", t.waiting },             { "blocks", m->info.num_kv_blocks },
            { "free_blocks", t.free_blocks },     { "steps", t.steps },
            { "preemptions", t.preemptions },
        };
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "name");
        vc_jo_str(&w, srv_model_name(m));
        for (size_t k = 0; k < VC_ARRAY_LEN(rows); k++) {
            vc_jo_key(&w, rows[k].key);
            vc_jo_uint(&w, rows[k].v);
        }
        vc_jo_end_obj(&w);
    }
    vc_jo_end_arr(&w);
    vc_jo_end_obj(&w);
    srv_reply_json(c, 200, &b);
}

static void permission(struct vc_json_out *w, int64_t created) {
    static const struct { const char *key; bool on; } flags[] = {
        { "allow_create_engine", false },  { "allow_sampling", true }, { "allow_logprobs", true },
        { "allow_search_indices", false }, { "allow_view", true },     { "allow_fine_tuning", false },
    };
    char id[64] = "modelperm-";
    srv_random_hex(id + 10, 8);
    vc_jo_begin_obj(w);
    vc_jo_key(w, "id");
    vc_jo_str(w, id);
    vc_jo_key(w, "object");
    vc_jo_str(w, "model_permission");
    vc_jo_key(w, "created");
    vc_jo_int(w, created);
    for (size_t i = 0; i < VC_ARRAY_LEN(flags); i++) {
        vc_jo_key(w, flags[i].key);
        vc_jo_bool(w, flags[i].on);
    }
    vc_jo_key(w, "organization");
    vc_jo_str(w, "*");
    vc_jo_key(w, "group");
    vc_jo_null(w);
    vc_jo_key(w, "is_blocking");
    vc_jo_bool(w, false);
    vc_jo_end_obj(w);
}

static void model_object(struct vc_json_out *w, const struct srv_model *m, const char *name) {
    vc_jo_begin_obj(w);
    vc_jo_key(w, "id");
    vc_jo_str(w, name);
    vc_jo_key(w, "object");
    vc_jo_str(w, "model");
    vc_jo_key(w, "created");
    vc_jo_int(w, m->srv->created);
    vc_jo_key(w, "owned_by");
    vc_jo_str(w, "vllm");
    vc_jo_key(w, "root");
    vc_jo_str(w, m->p->params.path);
    vc_jo_key(w, "parent");
    vc_jo_null(w);
    vc_jo_key(w, "max_model_len");
    vc_jo_uint(w, m->info.max_model_len);
    vc_jo_key(w, "permission");
    vc_jo_begin_arr(w);
    permission(w, m->srv->created);
    vc_jo_end_arr(w);
    vc_jo_end_obj(w);
}

void srv_get_models(struct srv_call *c) {
    const struct srv *s = c->srv;
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    vc_jo_init(&w, &b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "object");
    vc_jo_str(&w, "list");
    vc_jo_key(&w, "data");
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < s->num_models; i++) {
        const struct srv_model *m = &s->models[i];
        model_object(&w, m, srv_model_name(m));
        for (size_t k = 1; k < m->p->num_names; k++) model_object(&w, m, m->p->names[k]);
    }
    vc_jo_end_arr(&w);
    vc_jo_end_obj(&w);
    srv_reply_json(c, 200, &b);
}

/* ---- tokens ---- */

static void token_strs(struct vc_json_out *w, const struct srv_model *m, const int32_t *ids, size_t n) {
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < n; i++) {
        const char *text = NULL;
        size_t len = 0;
        if (vc_token_text(m->engine, ids[i], &text, &len) == VC_OK) vc_jo_strn(w, text, len);
        else vc_jo_str(w, "");
    }
    vc_jo_end_arr(w);
}

static void answer_tokens(struct srv_call *c, const char *text, size_t n, bool add_special, bool strs) {
    const struct srv_model *m = c->model;
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    vc_err err = VC_ERR_INIT;
    int32_t *ids = NULL;
    size_t count = 0;
    int flags = VC_TOK_PARSE_SPECIAL | (add_special ? VC_TOK_ADD_SPECIAL : 0);
    vc_status st = vc_tokenize(m->engine, text, n, flags, &ids, &count, &err);
    if (st != VC_OK) {
        (void)srv_refuse_err(c, &err);
        return;
    }
    vc_jo_init(&w, &b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "count");
    vc_jo_uint(&w, count);
    vc_jo_key(&w, "max_model_len");
    vc_jo_uint(&w, m->info.max_model_len);
    vc_jo_key(&w, "tokens");
    srv_jo_ids(&w, ids, count);
    vc_jo_key(&w, "token_strs");
    if (strs) token_strs(&w, m, ids, count);
    else vc_jo_null(&w);
    vc_jo_end_obj(&w);
    vc_free(ids);
    srv_reply_json(c, 200, &b);
}

static bool is_true(const struct srv_value *v) { return v->given && v->b; }

static void tokenize_chat(struct srv_call *c, const json_t *root, struct srv_fields *f) {
    char *text = NULL;
    size_t n = 0;
    if (!srv_fields_read(c, SRV_BODY_TOK_CHAT, root, f) || !srv_model_known(c, f->v[SRV_F_MODEL].s)) return;
    if (!srv_chat_checked(c, f->v) || !srv_chat_text(c, f->v, true, &text, &n)) return;
    answer_tokens(c, text, n, is_true(&f->v[SRV_F_ADD_SPECIAL_TOKENS]), is_true(&f->v[SRV_F_RETURN_TOKEN_STRS]));
    vc_free(text);
}

/* The body has neither text nor messages: vLLM names both. */
static void neither(struct srv_call *c, const json_t *root) {
    char shown[64], text[512];
    struct vc_buf b = { 0 };
    srv_py_type(root, shown, sizeof shown);
    snprintf(text, sizeof text,
             "2 validation errors:\n"
             "  {'type': 'missing', 'loc': 'body.prompt', 'msg': 'Field required', 'input': '%s'}\n"
             "  {'type': 'missing', 'loc': 'body.messages', 'msg': 'Field required', 'input': '%s'}",
             shown, shown);
    srv_error_body(c, &b, 400, "Bad Request", "body.prompt", text);
    srv_reply_json(c, 400, &b);
}

void srv_post_tokenize(struct srv_call *c) {
    json_t *root;
    struct srv_fields *f = calloc(1, sizeof *f);
    if (!f) srv_error(c, 503, NULL, NULL, "out of memory");
    if (!f || !srv_body(c, &root)) {
        free(f);
        return;
    }
    if (json_object_get(root, "messages")) {
        tokenize_chat(c, root, f);
    } else if (!json_object_get(root, "prompt")) {
        neither(c, root);
    } else if (srv_fields_read(c, SRV_BODY_TOK_TEXT, root, f) && srv_model_known(c, f->v[SRV_F_MODEL].s)) {
        const struct srv_value *add = &f->v[SRV_F_ADD_SPECIAL_TOKENS];
        const json_t *text = f->v[SRV_F_TOK_PROMPT].json;
        answer_tokens(c, json_string_value(text), json_string_length(text), !add->given || add->b,
                      is_true(&f->v[SRV_F_RETURN_TOKEN_STRS]));
    }
    free(f);
    json_decref(root);
}

/* ids[] is as long as the list; one outside the vocabulary is a 400. */
static bool read_tokens(struct srv_call *c, const json_t *list, int32_t *ids) {
    uint32_t vocab = c->model->info.vocab_size;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t x = json_integer_value(json_array_get(list, i));
        if (x < 0 || x >= vocab)
            return srv_refuse_field(c, "tokens", "Token id %lld is out of vocabulary. Vocabulary size: %u",
                                    (long long)x, vocab);
        ids[i] = (int32_t)x;
    }
    return true;
}

static void detokenize(struct srv_call *c, const json_t *list) {
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    char *text = NULL;
    size_t n = 0, count = json_array_size(list);
    int32_t *ids = calloc(count + 1, sizeof *ids);
    if (!ids) {
        srv_error(c, 503, NULL, NULL, "out of memory");
    } else if (read_tokens(c, list, ids)) {
        vc_status s = vc_detokenize(c->model->engine, ids, count, 0, &text, &n, &err);
        if (s == VC_OK) {
            vc_buf_adds(&b, "{\"prompt\":");
            vc_json_add_str(&b, text, n);
            vc_buf_addc(&b, '}');
            srv_reply_json(c, 200, &b);
        } else {
            (void)srv_refuse_err(c, &err);
        }
    }
    vc_free(text);
    free(ids);
}

void srv_post_detokenize(struct srv_call *c) {
    json_t *root;
    struct srv_fields *f = calloc(1, sizeof *f);
    if (!f) srv_error(c, 503, NULL, NULL, "out of memory");
    if (!f || !srv_body(c, &root)) {
        free(f);
        return;
    }
    if (srv_fields_read(c, SRV_BODY_DETOK, root, f) && srv_model_known(c, f->v[SRV_F_MODEL].s))
        detokenize(c, f->v[SRV_F_TOKENS].json);
    free(f);
    json_decref(root);
}
