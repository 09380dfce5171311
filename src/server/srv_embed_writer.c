/* SPDX-License-Identifier: Apache-2.0
 * srv_embed_writer.c: answers of /v1/embeddings and /pooling: vectors as numbers, as base64 of their bytes, or as bytes
 * whose places the header `metadata` tells. Keys in vLLM's order. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "num/round.h"
#include "server/srv_embed.h"

enum { METADATA_MOST = 16 << 10 };         /* bytes of a header that clients take */

bool srv_embed_complete(struct srv_gen *g) {
    for (uint32_t i = 0; i < g->num_parts; i++)
        if (!g->parts[i].embedding) {
            srv_error(g->call, 503, NULL, NULL, "the request was ended before its vectors were made");
            return false;
        }
    return true;
}

uint64_t srv_embed_tokens(const struct srv_gen *g) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->num_parts; i++) n += g->parts[i].num_ids;
    return n;
}

void srv_embed_usage(struct vc_json_out *w, uint64_t prompt) {
    vc_jo_key(w, "usage");
    vc_jo_begin_obj(w);
    vc_jo_key(w, "prompt_tokens");
    vc_jo_uint(w, prompt);
    vc_jo_key(w, "total_tokens");
    vc_jo_uint(w, prompt);
    vc_jo_key(w, "completion_tokens");
    vc_jo_uint(w, 0);
    srv_jo_null(w, "prompt_tokens_details");
    vc_jo_end_obj(w);
}

/* A vector's bytes in the format that was asked for. */
static void add_bytes(struct vc_buf *b, const struct srv_embed *e, const struct srv_part *p) {
    uint32_t size = vc_dtype_info(e->dtype)->bytes;
    if (!vc_buf_reserve(b, (size_t)p->num_embedding * size + 1)) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < p->num_embedding; i++) {
        uint64_t bits = vc_round_f32(e->dtype, p->embedding[i], VC_ROUND_EVEN, 0);
        for (uint32_t k = 0; k < size; k++) b->p[b->n++] = (char)(bits >> 8 * (e->big_endian ? size - 1 - k : k) & 255);
    }
    b->p[b->n] = '\0';
}

static void add_vector(struct vc_json_out *w, const struct srv_gen *g, const struct srv_part *p) {
    if (g->embed.encoding == SRV_FLOAT) {
        vc_jo_begin_arr(w);
        for (uint32_t i = 0; i < p->num_embedding; i++) vc_jo_f32(w, p->embedding[i]);
        vc_jo_end_arr(w);
        return;
    }
    struct vc_buf bytes = { 0 }, text = { 0 };
    add_bytes(&bytes, &g->embed, p);
    vc_buf_addc(&text, '"');
    vc_base64_add(&text, bytes.p ? bytes.p : "", bytes.n);
    vc_buf_addc(&text, '"');
    if (bytes.failed || text.failed) w->b->failed = true;
    else vc_jo_raw(w, text.p, text.n);
    vc_buf_free(&bytes);
    vc_buf_free(&text);
}

static void begin_object(struct vc_json_out *w, const struct srv_gen *g, bool is_list) {
    vc_jo_begin_obj(w);
    vc_jo_key(w, "id");
    vc_jo_str(w, g->id);
    if (is_list) {
        vc_jo_key(w, "object");
        vc_jo_str(w, "list");
    }
    vc_jo_key(w, "created");
    vc_jo_int(w, g->created);
    vc_jo_key(w, "model");
    vc_jo_str(w, g->model);
    vc_jo_key(w, "data");
}

/* {"id", "created", "model", "data": [{"index", "embed_dtype", "endianness", "start", "end", "shape"}], "usage"} */
static char *metadata(const struct srv_gen *g) {
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    uint64_t at = 0, size = vc_dtype_info(g->embed.dtype)->bytes;
    vc_jo_init(&w, &b, VC_JSON_COMPACT);
    begin_object(&w, g, false);
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < g->num_parts; i++) {
        uint64_t end = at + g->parts[i].num_embedding * size;
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "index");
        vc_jo_uint(&w, i);
        vc_jo_key(&w, "embed_dtype");
        vc_jo_str(&w, g->embed.dtype_name);
        vc_jo_key(&w, "endianness");
        vc_jo_str(&w, g->embed.endianness);
        vc_jo_key(&w, "start");
        vc_jo_uint(&w, at);
        vc_jo_key(&w, "end");
        vc_jo_uint(&w, end);
        vc_jo_key(&w, "shape");
        vc_jo_begin_arr(&w);
        vc_jo_uint(&w, g->parts[i].num_embedding);
        vc_jo_end_arr(&w);
        vc_jo_end_obj(&w);
        at = end;
    }
    vc_jo_end_arr(&w);
    srv_embed_usage(&w, srv_embed_tokens(g));
    vc_jo_end_obj(&w);
    if (!b.failed && b.n <= METADATA_MOST) return b.p;
    vc_buf_free(&b);
    return NULL;
}

static void whole_bytes(struct srv_gen *g, struct vc_buf *b) {
    if (g->embed.encoding == SRV_BYTES) {
        g->call->metadata = metadata(g);
        if (!g->call->metadata) {
            srv_error(g->call, 400, NULL, "encoding_format",
                      "The places of %u vectors do not fit a header; ask for fewer, or for 'bytes_only'. "
                      "(parameter=encoding_format)",
                      g->num_parts);
            return;
        }
    }
    g->reply_type = "application/octet-stream";
    for (uint32_t i = 0; i < g->num_parts; i++) add_bytes(b, &g->embed, &g->parts[i]);
}

static void whole_list(struct srv_gen *g, struct vc_buf *b, const char *object, const char *key) {
    struct vc_json_out w;
    if (!srv_embed_complete(g)) return;
    if (g->embed.encoding >= SRV_BYTES) {
        whole_bytes(g, b);
        return;
    }
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    begin_object(&w, g, true);
    vc_jo_begin_arr(&w);
    for (uint32_t i = 0; i < g->num_parts; i++) {
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "index");
        vc_jo_uint(&w, i);
        vc_jo_key(&w, "object");
        vc_jo_str(&w, object);
        vc_jo_key(&w, key);
        add_vector(&w, g, &g->parts[i]);
        vc_jo_end_obj(&w);
    }
    vc_jo_end_arr(&w);
    srv_embed_usage(&w, srv_embed_tokens(g));
    vc_jo_end_obj(&w);
}

static void whole_embeddings(struct srv_gen *g, struct vc_buf *b) { whole_list(g, b, "embedding", "embedding"); }
static void whole_pooling(struct srv_gen *g, struct vc_buf *b) { whole_list(g, b, "pooling", "data"); }

const struct srv_writer srv_embed_writer = { .object = "list", .id_prefix = "embd-", .whole = whole_embeddings };
const struct srv_writer srv_pooling_writer = { .object = "list", .id_prefix = "pooling-", .whole = whole_pooling };
