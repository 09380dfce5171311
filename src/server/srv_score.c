/* SPDX-License-Identifier: Apache-2.0
 * srv_score.c: POST /score and /rerank of an embedder, as vLLM's bi-encoder: the cosine of the vectors of two texts, in
 * f64 from their f32 values. Parts are the queries, then the documents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/srv_embed.h"

enum { MAX_TEXTS = 2048 };

static bool refuse(struct srv_gen *g, const char *param, const char *text) {
    srv_error(g->call, 400, NULL, param, "%s", text);
    return false;
}

/* Texts of a side: a string counts as a list of one. */
static size_t count(const json_t *v) { return json_is_array(v) ? json_array_size(v) : 1; }
static const json_t *text_at(const json_t *v, size_t i) { return json_is_array(v) ? json_array_get(v, i) : v; }

static bool are_texts(struct srv_gen *g, const json_t *v, const char *name) {
    bool ok = json_is_string(v) || json_is_array(v);
    for (size_t i = 0; ok && json_is_array(v) && i < json_array_size(v); i++) ok = json_is_string(json_array_get(v, i));
    if (ok) return true;
    srv_error(g->call, 400, "Bad Request", name,
              "1 validation error:\n  {'type': 'string_type', 'loc': 'body.%s', 'msg': 'Input should be a text or a "
              "list of texts', 'input': ''}",
              name);
    return false;
}

/* max_tokens_per_query or max_tokens_per_doc, with vLLM's sentences; 0: no limit. */
static bool read_limit(struct srv_gen *g, enum srv_field_id id, size_t *limit) {
    const struct srv_value *v = &g->f.v[id];
    uint32_t len = g->call->model->info.max_model_len;
    const char *name = srv_field_name(id);
    *limit = v->given && v->i > 0 ? (size_t)v->i : 0;
    if (v->given && v->i < 0) return srv_refuse(g->call, NULL, "%s must be a non-negative integer", name);
    if (*limit < len) return true;
    return srv_refuse(g->call, NULL, "%s (%lld) must be less than max_model_len (%u).", name, (long long)v->i, len);
}

/* The texts of a side, each cut to `most` tokens of its own before the tokenizer adds what belongs to it. */
static bool add_side(struct srv_gen *g, const json_t *v, uint32_t from, size_t most) {
    vc_err err = VC_ERR_INIT;
    for (size_t i = 0; i < count(v); i++) {
        const char *text = json_string_value(text_at(v, i));
        size_t n = json_string_length(text_at(v, i));
        vc_status s = most ? vc_tokenize_cut(g->call->model->engine, text, n, most, &n, &err) : VC_OK;
        if (s != VC_OK) {
            srv_error(g->call, vc_status_http(s), NULL, NULL, "%s", err.text);
            return false;
        }
        if (!srv_gen_prompt(g, from + (uint32_t)i, text, n, true)) return false;
    }
    return true;
}

/* The two sides, with vLLM's sentences about their lengths, into the engine. */
static void submit_sides(struct srv_gen *g, const json_t *a, const char *name_a, const json_t *b, const char *name_b) {
    if (!are_texts(g, a, name_a) || !are_texts(g, b, name_b)) return;
    size_t n = count(a), m = count(b);
    bool ok = true;
    if (n > 1 && n != m) ok = refuse(g, NULL, "Input lengths must be either 1:1, 1:N or N:N");
    else if (n == 0) ok = refuse(g, NULL, "At least one text element must be given");
    else if (m == 0) ok = refuse(g, NULL, "At least one text_pair element must be given");
    else if (n + m > MAX_TEXTS) ok = refuse(g, name_b, "There are more than 2048 texts.");
    if (!ok) return;
    g->embed.num_queries = (uint32_t)n;
    g->embed.documents = b;
    size_t query, doc;
    if (!read_limit(g, SRV_F_MAX_TOKENS_PER_QUERY, &query) || !read_limit(g, SRV_F_MAX_TOKENS_PER_DOC, &doc)) return;
    if (!srv_gen_parts(g, (uint32_t)(n + m))) return;
    if (add_side(g, a, 0, query) && add_side(g, b, (uint32_t)n, doc)) srv_embed_submit(g);
}

void srv_post_score(struct srv_call *c) {
    static const struct { enum srv_field_id a, b; } pairs[] = {       /* vLLM's order */
        { SRV_F_QUERIES, SRV_F_SCORE_DOCUMENTS },
        { SRV_F_QUERIES, SRV_F_ITEMS },
        { SRV_F_DATA_1, SRV_F_DATA_2 },
        { SRV_F_TEXT_1, SRV_F_TEXT_2 },
    };
    struct srv_gen *g = srv_embed_begin(c, SRV_BODY_SCORE, 0, &srv_score_writer);
    if (!g) return;
    for (size_t i = 0; i < VC_ARRAY_LEN(pairs); i++) {
        const struct srv_value *a = &g->f.v[pairs[i].a], *b = &g->f.v[pairs[i].b];
        if (!a->given || !b->given) continue;
        g->prompt_name = srv_field_name(pairs[i].b);
        submit_sides(g, a->json, srv_field_name(pairs[i].a), b->json, srv_field_name(pairs[i].b));
        return;
    }
    srv_error(c, 400, "Bad Request", "body.queries",
              "1 validation error:\n  {'type': 'missing', 'loc': 'body.queries', 'msg': 'Field required: queries and "
              "documents, queries and items, data_1 and data_2, or text_1 and text_2', 'input': ''}");
}

void srv_post_rerank(struct srv_call *c) {
    struct srv_gen *g = srv_embed_begin(c, SRV_BODY_RERANK, 0, &srv_rerank_writer);
    if (!g) return;
    g->embed.top_n = g->f.v[SRV_F_TOP_N].given ? g->f.v[SRV_F_TOP_N].i : 0;
    g->prompt_name = "documents";
    submit_sides(g, g->f.v[SRV_F_QUERY].json, "query", g->f.v[SRV_F_RERANK_DOCUMENTS].json, "documents");
}

/* ---- answers ---- */

/* a·b / (|a| |b|), each length at least 1e-8, as torch's cosine_similarity. */
static double cosine(const struct srv_part *a, const struct srv_part *b) {
    double ab = 0, aa = 0, bb = 0;
    for (uint32_t i = 0; i < a->num_embedding && i < b->num_embedding; i++) {
        double x = (double)a->embedding[i], y = (double)b->embedding[i];
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return ab / (fmax(sqrt(aa), 1e-8) * fmax(sqrt(bb), 1e-8));
}

static uint32_t num_pairs(const struct srv_gen *g) { return g->num_parts - g->embed.num_queries; }
static const struct srv_part *query_of(const struct srv_gen *g, uint32_t i) {
    return &g->parts[g->embed.num_queries > 1 ? i : 0];
}
static const struct srv_part *document_of(const struct srv_gen *g, uint32_t i) {
    return &g->parts[g->embed.num_queries + i];
}

/* Tokens of all pairs: a query counts with each of its documents. */
static uint64_t pair_tokens(const struct srv_gen *g) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < num_pairs(g); i++) n += query_of(g, i)->num_ids + document_of(g, i)->num_ids;
    return n;
}

static void whole_scores(struct srv_gen *g, struct vc_buf *b) {
    struct vc_json_out w;
    if (!srv_embed_complete(g)) return;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "id");
    vc_jo_str(&w, g->id);
    vc_jo_key(&w, "object");
    vc_jo_str(&w, "list");
    vc_jo_key(&w, "created");
    vc_jo_int(&w, g->created);
    vc_jo_key(&w, "model");
    vc_jo_str(&w, g->model);
    vc_jo_key(&w, "data");
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < num_pairs(g); i++) {
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "index");
        vc_jo_uint(&w, i);
        vc_jo_key(&w, "object");
        vc_jo_str(&w, "score");
        vc_jo_key(&w, "score");
        vc_jo_f32(&w, (float)cosine(query_of(g, i), document_of(g, i)));
        vc_jo_end_obj(&w);
    }
    vc_jo_end_arr(&w);
    srv_embed_usage(&w, pair_tokens(g));
    vc_jo_end_obj(&w);
}

struct ranked { uint32_t index; float score; };

static int best_first(const void *pa, const void *pb) {
    const struct ranked *a = pa, *b = pb;
    return a->score > b->score ? -1 : a->score < b->score ? 1 : a->index < b->index ? -1 : 1;
}

static void add_result(struct vc_json_out *w, const struct srv_gen *g, const struct ranked *r) {
    const json_t *text = text_at(g->embed.documents, r->index);
    vc_jo_begin_obj(w);
    vc_jo_key(w, "index");
    vc_jo_uint(w, r->index);
    vc_jo_key(w, "document");
    vc_jo_begin_obj(w);
    vc_jo_key(w, "text");
    vc_jo_strn(w, json_string_value(text), json_string_length(text));
    srv_jo_null(w, "multi_modal");
    vc_jo_end_obj(w);
    vc_jo_key(w, "relevance_score");
    vc_jo_f32(w, r->score);
    vc_jo_end_obj(w);
}

static void whole_ranks(struct srv_gen *g, struct vc_buf *b) {
    struct vc_json_out w;
    uint32_t n = num_pairs(g), most = g->embed.top_n > 0 && g->embed.top_n < n ? (uint32_t)g->embed.top_n : n;
    if (!srv_embed_complete(g)) return;
    struct ranked *r = VC_NEW_ARRAY(&g->arena, struct ranked, n);
    if (!r) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++) r[i] = (struct ranked){ i, (float)cosine(query_of(g, i), document_of(g, i)) };
    qsort(r, n, sizeof *r, best_first);
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "id");
    vc_jo_str(&w, g->id);
    vc_jo_key(&w, "model");
    vc_jo_str(&w, g->model);
    vc_jo_key(&w, "usage");
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "prompt_tokens");
    vc_jo_uint(&w, pair_tokens(g));
    vc_jo_key(&w, "total_tokens");
    vc_jo_uint(&w, pair_tokens(g));
    vc_jo_end_obj(&w);
    vc_jo_key(&w, "results");
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < most; i++) add_result(&w, g, &r[i]);
    vc_jo_end_arr(&w);
    vc_jo_end_obj(&w);
}

const struct srv_writer srv_score_writer = { .object = "list", .id_prefix = "score-", .whole = whole_scores };
const struct srv_writer srv_rerank_writer = { .object = "list", .id_prefix = "score-", .whole = whole_ranks };
