/* SPDX-License-Identifier: Apache-2.0
 * net.c: opening a model, and one forward pass. */
#include "model/net.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ckd.h"
#include "op/math.h"

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_with(const char *s, const char *suffix) { return vc_str_ends(vc_str_of(s), suffix); }

/* Folder, or the folder that holds a .safetensors file. */
static vc_status open_folder(struct vc_net *n, const char *path, struct vc_pooler_hints *hints, vc_err *err) {
    const char *slash = strrchr(path, '/');
    const char *dir = vc_arena_strndup(&n->arena, slash || is_folder(path) ? path : ".", is_folder(path) ? strlen(path) : slash ? (size_t)(slash - path) + 1 : 1);
    struct vc_buf file = { 0 };
    vc_buf_printf(&file, "%s/config.json", dir ? dir : "");
    json_t *root = NULL;
    vc_status s = file.failed || !dir ? vc_fail(err, VC_E_NOMEM, "out of memory") : vc_json_load(&root, file.p, err);
    if (s == VC_OK) s = vc_config_from_json(&n->config, &n->arena, root, file.p, err);
    if (s == VC_OK) s = vc_pooler_read_folder(hints, &n->arena, dir, root, file.p, err);
    json_decref(root);
    vc_buf_free(&file);
    if (s == VC_OK) s = vc_tensors_open_safetensors(&n->tensors, path, err);
    n->format = "safetensors";
    return s;
}

static vc_status open_gguf(struct vc_net *n, const char *path, struct vc_pooler_hints *hints, vc_err *err) {
    VC_TRY(vc_gguf_open(&n->gguf, path, err));
    VC_TRY(vc_config_from_gguf(&n->config, &n->arena, n->gguf, err));
    VC_TRY(vc_pooler_read_gguf(hints, n->gguf, &n->config, err));
    VC_TRY(vc_tensors_open_gguf(&n->tensors, n->gguf, err));
    n->format = "GGUF";
    VC_TRY(vc_weights_infer(&n->config, n->tensors, path, err));
    const struct vc_tensor *f = vc_tensors_find(n->tensors, "rope_freqs.weight");    /* Llama 3: divisors of the frequencies */
    if (!f) return VC_OK;
    uint32_t want = n->config.rope[0].rotary_dim / 2;
    float *v = VC_NEW_ARRAY(&n->arena, float, want);
    if (!v || f->dtype != VC_F32 || vc_tensor_elems(f) != want)
        return vc_fail(err, VC_E_FORMAT, "%s: tensor rope_freqs.weight: expected %u values in f32", path, want);
    memcpy(v, f->data, want * sizeof *v);
    n->config.rope[0].freq_factors = v;
    return VC_OK;
}

/* Context that the model is good for: as vLLM, the trained length times the factor of a rope that stretches it. */
static uint32_t model_len(const struct vc_config *c) {
    const struct vc_rope_params *p = &c->rope[0];
    if (c->arch->flags & VC_ARCH_LOCAL_ROPE || p->factor <= 1) return c->max_position_embeddings;
    double len = (double)c->max_position_embeddings;
    if (p->kind == VC_ROPE_LINEAR || p->kind == VC_ROPE_DYNAMIC) len *= p->factor;
    if (p->kind == VC_ROPE_YARN) len = p->original_max_position * p->factor;
    return len < (double)(1u << 30) ? (uint32_t)len : 1u << 30;
}

static bool given(const char *s) { return s && *s && strcmp(s, "auto") != 0; }

/* dtype of the run, and whether plain weights are cast to it. */
static vc_status choose_numerics(struct vc_net *n, const struct vc_net_params *p, vc_err *err) {
    enum vc_dtype act = n->config.dtype == VC_F16 ? VC_F16 : VC_BF16;
    if (given(p->dtype)) {
        act = vc_dtype_by_name(p->dtype);
        if (!vc_dtype_is_float(act)) return vc_fail(err, VC_E_INVALID, "dtype: '%s', expected auto, bfloat16, float16 or float32", p->dtype);
    }
    const char *spec = given(p->numerics) ? p->numerics : n->gguf ? "gguf" : act == VC_F32 ? "f32" : "vllm";
    VC_TRY(vc_numerics_parse(&n->numerics, spec, act, err));
    enum vc_profile profile = n->numerics.profile;
    bool plain = profile == VC_PROFILE_F32 || profile == VC_PROFILE_GGUF;
    n->weights.cast = plain && !given(p->dtype) ? VC_NO_DTYPE : act;
    if (given(p->kv_dtype)) {
        enum vc_dtype kv = vc_dtype_by_name(p->kv_dtype);
        if (!vc_dtype_is_float(kv)) return vc_fail(err, VC_E_INVALID, "kv_cache_dtype: '%s', expected auto, bfloat16, float16 or float32", p->kv_dtype);
        n->numerics.slot[VC_SLOT_KV] = (uint8_t)kv;
    }
    return VC_OK;
}

static vc_status open_ropes(struct vc_net *n, vc_err *err) {
    enum vc_dtype fmt = (enum vc_dtype)n->numerics.slot[VC_SLOT_ROPE_TABLE];
    for (uint32_t i = 0; i < n->config.num_ropes; i++) {
        struct vc_net_rope *r = &n->rope[i];
        r->row_bytes = (size_t)n->config.rope[i].rotary_dim * vc_dtype_info(fmt)->bytes;
        r->dynamic = vc_rope_by_length(&n->config.rope[i]);
        r->bytes = r->row_bytes * (r->dynamic ? n->max_tokens : n->max_model_len);
        r->table = n->dev->be->alloc(n->dev, r->bytes, VC_MEM_SPARSE);
        r->rows = vc_arena_array(&n->arena, n->max_tokens, sizeof *r->rows);
        if (!r->table || !r->rows) return vc_fail(err, VC_E_NOMEM, "out of memory for rotary tables of %u positions", n->max_model_len);
    }
    if (n->config.q_scale_beta > 0) {
        n->row_scale = vc_arena_array(&n->arena, n->max_tokens, sizeof *n->row_scale);
        if (!n->row_scale) return vc_fail(err, VC_E_NOMEM, "out of memory for row factors");
    }
    return VC_OK;
}

/* Room for the embeddings of a step: copied out of the file, whose pages would else stay resident beside the packed
 * head of a model with tied embeddings. */
static vc_status open_embed(struct vc_net *n, vc_err *err) {
    const struct vc_tensor *t = n->weights.embed;
    uint64_t row;
    if (vc_dtype_bytes(t->dtype, n->config.hidden_size, &row) || vc_ckd_mul(&n->embed_bytes, (size_t)row, n->max_tokens))
        return vc_fail(err, VC_E_FORMAT, "tensor %s: its size overflows", t->name);
    n->embed_row_bytes = (size_t)row;
    n->embed_rows = n->dev->be->alloc(n->dev, n->embed_bytes, VC_MEM_SPARSE);
    n->iota = vc_arena_array(&n->arena, n->max_tokens, sizeof *n->iota);
    if (!n->embed_rows || !n->iota) return vc_fail(err, VC_E_NOMEM, "out of memory for the embeddings of %u tokens", n->max_tokens);
    for (uint32_t i = 0; i < n->max_tokens; i++) n->iota[i] = (int32_t)i;
    return VC_OK;
}

static vc_status open_all(struct vc_net *n, const struct vc_net_params *p, vc_err *err) {
    struct vc_pooler_hints hints = { 0 };
    VC_TRY(is_folder(p->path) || ends_with(p->path, ".safetensors") ? open_folder(n, p->path, &hints, err) : open_gguf(n, p->path, &hints, err));
    VC_TRY(vc_pooler_choose(&n->pooler, &hints, &p->pooler, &n->config, err));
    if (p->opened) VC_TRY(p->opened(p->opened_arg, n->gguf, err));
    if (n->gguf) vc_gguf_drop(n->gguf);
    vc_heap_trim();                        /* JSON trees, tables of strings */
    VC_TRY(choose_numerics(n, p, err));
    n->max_model_len = p->max_model_len ? p->max_model_len : model_len(&n->config);
    n->max_tokens = p->max_tokens;
    n->max_out = p->max_out;
    struct vc_dev_params dp = { .threads = p->threads, .cpus = p->cpus, .strict = p->strict, .no_fuse = p->no_fuse };
    VC_TRY(vc_back_cpu.open(&n->dev, &dp, err));
    struct vc_weights *w = &n->weights;
    w->dev = n->dev;
    w->tensors = n->tensors;
    w->config = &n->config;
    w->numerics = &n->numerics;
    w->arena = &n->arena;
    w->headless = n->pooler.on;
    VC_TRY(vc_weights_bind(w, err));
    VC_TRY(open_ropes(n, err));
    VC_TRY(open_embed(n, err));
    VC_TRY(vc_net_group_layers(n, err));
    VC_TRY(vc_net_build(n, p->max_seqs, p->page_tokens, err));
    return vc_weights_pack(w, p->progress, p->progress_arg, err);
}

vc_status vc_net_open(struct vc_net **out, const struct vc_net_params *p, vc_err *err) {
    *out = NULL;
    struct vc_net *n = calloc(1, sizeof *n);
    if (!n) return vc_fail(err, VC_E_NOMEM, "out of memory opening %s", p->path);
    vc_status s = open_all(n, p, err);
    if (s == VC_OK && n->arena.failed) s = vc_fail(err, VC_E_NOMEM, "out of memory opening %s", p->path);
    if (s != VC_OK) {
        vc_net_close(n);
        return s;
    }
    *out = n;
    return VC_OK;
}

void vc_net_close(struct vc_net *n) {
    if (!n) return;
    vc_prog_del(n->prog);
    if (n->dev) {
        if (n->kv.base) n->dev->be->free(n->dev, n->kv.base, n->kv.bytes);
        for (int i = 0; i < 2; i++)
            if (n->rope[i].table) n->dev->be->free(n->dev, n->rope[i].table, n->rope[i].bytes);
        if (n->embed_rows) n->dev->be->free(n->dev, n->embed_rows, n->embed_bytes);
        vc_weights_free(&n->weights);
        n->dev->be->close(n->dev);
    }
    vc_tensors_close(n->tensors);
    vc_gguf_close(n->gguf);
    vc_arena_free(&n->arena);
    free(n);
}

static size_t place_page_bytes(const struct vc_net *n, uint32_t page_tokens) {
    const struct vc_config *c = &n->config;
    return (size_t)2 * c->num_kv_heads * c->head_dim * page_tokens * vc_dtype_info((enum vc_dtype)n->numerics.slot[VC_SLOT_KV])->bytes;
}
size_t vc_net_page_bytes(const struct vc_net *n, uint32_t page_tokens) { return place_page_bytes(n, page_tokens) * n->groups.places; }

vc_status vc_net_set_pages(struct vc_net *n, uint32_t pages, uint32_t page_tokens, vc_err *err) {
    struct vc_kv_pool *kv = &n->kv;
    *kv = (struct vc_kv_pool){ .dtype = (enum vc_dtype)n->numerics.slot[VC_SLOT_KV], .places = n->groups.places, .pages = pages,
                               .page_bytes = place_page_bytes(n, page_tokens), .geom = { n->config.num_kv_heads, n->config.head_dim, page_tokens } };
    uint64_t place, all;
    if (vc_ckd_mul(&place, kv->page_bytes, pages) || vc_ckd_mul(&all, place, kv->places) || vc_ckd_add(&all, all, 4096))
        return vc_fail(err, VC_E_INVALID, "a KV cache of %u pages is too large", pages);
    kv->place_bytes = place;
    kv->bytes = all;
    kv->base = n->dev->be->alloc(n->dev, kv->bytes, VC_MEM_SPARSE);
    if (!kv->base) return vc_fail(err, VC_E_NOMEM, "out of memory for a KV cache of %zu bytes", kv->bytes);
    vc_prog_set_kv(n->prog, kv);
    return VC_OK;
}

size_t vc_net_workspace(const struct vc_net *n) { return vc_prog_workspace(n->prog) + n->dev->scratch_bytes + n->embed_bytes; }

void vc_net_zero_page(struct vc_net *n, uint32_t page) {
    for (uint32_t l = 0; l < n->kv.places; l++)
        n->dev->be->zero(n->dev, n->kv.base + l * n->kv.place_bytes + page * n->kv.page_bytes, n->kv.page_bytes);
}

/* Static tables grow to the highest position of the step; dynamic ones are made for each token of the step. */
static vc_status fill_rope(struct vc_net *n, uint32_t set, struct vc_net_step *s, vc_err *err) {
    struct vc_net_rope *r = &n->rope[set];
    const struct vc_rope_params *p = &n->config.rope[set];
    enum vc_arith core = (enum vc_arith)n->numerics.core[VC_CHOICE_ROPE];
    enum vc_dtype fmt = (enum vc_dtype)n->numerics.slot[VC_SLOT_ROPE_TABLE];
    uint32_t top = 0;
    for (uint32_t t = 0; t < s->batch.n_tok; t++) {
        r->rows[t] = (int32_t)(r->dynamic ? t : s->pos[t]);
        if (s->pos[t] >= top) top = s->pos[t] + 1;
        if (r->dynamic) VC_TRY(vc_rope_rows(p, core, &s->pos[t], 1, s->seq_len[t], fmt, r->table + t * r->row_bytes, err));
    }
    if (!r->dynamic && top > r->filled) {
        uint32_t upto = (uint32_t)vc_round_up(top, 64), pos[64];
        if (upto > n->max_model_len) upto = n->max_model_len;
        for (uint32_t at = r->filled; at < upto; at += 64) {
            uint32_t k = VC_MIN(64u, upto - at);
            for (uint32_t i = 0; i < k; i++) pos[i] = at + i;
            VC_TRY(vc_rope_rows(p, core, pos, k, 0, fmt, r->table + at * r->row_bytes, err));
        }
        r->filled = upto;
    }
    s->batch.rope_table[set] = (struct vc_view){ .data = r->table, .stride = r->row_bytes, .rows = r->dynamic ? s->batch.n_tok : r->filled, .cols = p->rotary_dim, .dtype = fmt };
    s->batch.rope_rows[set] = (struct vc_view){ .data = r->rows, .stride = 4, .rows = s->batch.n_tok, .cols = 1, .dtype = VC_I32 };
    return VC_OK;
}

/* Ministral 3: 1 + beta * log(1 + floor(pos / original)), f32 from f64. */
static void fill_row_scale(struct vc_net *n, struct vc_net_step *s) {
    for (uint32_t t = 0; t < s->batch.n_tok; t++) {
        uint32_t k = s->pos[t] / n->config.q_scale_original;
        n->row_scale[t] = (float)(1.0 + (double)n->config.q_scale_beta * vc_log(1.0 + (double)k));
    }
    s->batch.row_scale = n->row_scale;
}

static vc_status fill_embed(struct vc_net *n, struct vc_net_step *s, vc_err *err) {
    const struct vc_tensor *t = n->weights.embed;
    for (uint32_t i = 0; i < s->batch.n_tok; i++)
        if (!vc_tensors_read(n->tensors, t, (uint64_t)s->batch.ids[i] * n->embed_row_bytes, n->embed_row_bytes, n->embed_rows + i * n->embed_row_bytes))
            return vc_fail(err, VC_E_IO, "%s: row %d of tensor %s cannot be read", vc_tensors_file(n->tensors, t->file), s->batch.ids[i], t->name);
    s->batch.embed_at = n->iota;
    return VC_OK;
}

vc_status vc_net_run(struct vc_net *n, struct vc_net_step *s, vc_err *err) {
    VC_TRY(fill_embed(n, s, err));
    for (uint32_t i = 0; i < n->config.num_ropes; i++) VC_TRY(fill_rope(n, i, s, err));
    if (n->row_scale) fill_row_scale(n, s);
    vc_prog_run(n->prog, &s->batch);
    return VC_OK;
}

void vc_net_head(struct vc_net *n, const struct vc_net_step *s, uint32_t first, uint32_t count) { vc_prog_run_head(n->prog, &s->batch, first, count); }
struct vc_view vc_net_logits(const struct vc_net *n, uint32_t rows) { return vc_prog_view(n->prog, n->logits, rows); }

bool vc_net_rope_varies(const struct vc_net *n, uint32_t len) {
    for (uint32_t i = 0; i < n->config.num_ropes; i++) {
        const struct vc_rope_params *p = &n->config.rope[i];
        if (n->rope[i].dynamic && len > (p->kind == VC_ROPE_LONGROPE ? p->original_max_position : p->max_position)) return true;
    }
    return false;
}
