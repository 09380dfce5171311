/* SPDX-License-Identifier: Apache-2.0
 * model.c: opening and closing a model, and what can be asked of it. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "base/cpu_list.h"
#include "base/thread.h"

void vc_model_params_init(vc_model_params *p) {
    *p = (vc_model_params){ .struct_size = sizeof *p,
                            .max_num_seqs = 256,
                            .max_num_batched_tokens = 2048,
                            .block_size = 16,
                            .enable_prefix_caching = 1,
                            .enable_chunked_prefill = 1,
                            .reserve_full_isl = 1,
                            .max_logprobs = 20 };
}

static const char *quantization(struct vc_model *m, const struct vc_net *n) {
    uint64_t bytes[VC_NUM_DTYPES] = { 0 };
    for (size_t i = 0; i < vc_tensors_count(n->tensors); i++) {
        const struct vc_tensor *t = vc_tensors_at(n->tensors, i);
        bytes[t->dtype] += t->n_dims > 1 ? t->bytes : 0;
    }
    struct vc_buf b = { 0 };
    for (int d = 0; d < VC_NUM_DTYPES; d++)
        if (bytes[d]) vc_buf_printf(&b, "%s%s", b.n ? ", " : "", vc_dtype_name((enum vc_dtype)d));
    const char *s = vc_arena_strdup(&m->arena, b.p ? b.p : "");
    vc_buf_free(&b);
    return s;
}

static const char *model_name(struct vc_model *m, const vc_model_params *p) {
    size_t n = strlen(p->path);
    while (n > 1 && p->path[n - 1] == '/') n--;
    size_t at = n;
    while (at > 0 && p->path[at - 1] != '/') at--;
    return vc_arena_strndup(&m->arena, p->path + at, n - at);
}

static vc_status fill_info(struct vc_model *m, const vc_model_params *p, vc_err *err) {
    const struct vc_net *n = vc_engine_net(m->engine);
    struct vc_buf num = { 0 };
    vc_numerics_print(&n->numerics, &num);
    m->info = (vc_model_info){
        .struct_size = sizeof m->info,
        .name = model_name(m, p),
        .architecture = n->config.arch->name,
        .format = n->format,
        .quantization = quantization(m, n),
        .numerics = vc_arena_strdup(&m->arena, num.p ? num.p : ""),
        .kv_cache_dtype = vc_dtype_name(n->kv.dtype),
        .parameters = n->weights.parameters,
        .weight_bytes = n->weights.region_bytes,
        .kv_bytes = n->kv.bytes,
        .kv_tokens = (uint64_t)(n->kv.pages - 1) / n->groups.num * n->kv.geom.page_tokens,
        .workspace_bytes = vc_net_workspace(n),
        .max_model_len = n->max_model_len,
        .vocab_size = n->config.vocab_size,
        .num_layers = n->config.num_layers,
        .hidden_size = n->config.hidden_size,
        .block_size = n->kv.geom.page_tokens,
        .num_kv_blocks = n->kv.pages - 1,
        .threads = vc_engine_threads(m->engine),
        .bos_token_id = -1,
        .pooling = n->pooler.on ? vc_pool_type_name(n->pooler.type) : NULL,
    };
    vc_buf_free(&num);
    return m->arena.failed ? vc_fail(err, VC_E_NOMEM, "out of memory opening %s", p->path) : VC_OK;
}

struct opening { struct vc_model *m; const vc_model_params *p; };
static vc_status opened(void *arg, const struct vc_gguf *g, vc_err *err) {
    const struct opening *o = arg;
    return api_load_text(o->m, o->p, g, err);
}

static vc_status hash_algo(const char *name, enum vc_hash_algo *algo, vc_err *err) {
    static const struct { const char *name; enum vc_hash_algo algo;
    } known[] = {
        { "sha256", VC_HASH_SHA256_CBOR },
        { "sha256_cbor", VC_HASH_SHA256_CBOR },
        { "xxhash", VC_HASH_XXHASH_CBOR },
        { "xxhash_cbor", VC_HASH_XXHASH_CBOR },
    };
    *algo = VC_HASH_SHA256_CBOR;
    if (!name || !*name) return VC_OK;
    for (size_t i = 0; i < VC_ARRAY_LEN(known); i++) {
        if (strcmp(known[i].name, name) != 0) continue;
        *algo = known[i].algo;
        return VC_OK;
    }
    return vc_fail(err, VC_E_INVALID, "prefix_caching_hash_algo: '%s', expected sha256_cbor or xxhash_cbor", name);
}

static vc_status open_engine(struct vc_model *m, const vc_model_params *p, vc_err *err) {
    struct opening o = { m, p };
    struct vc_cpu_list cpus;
    struct vc_engine_params ep = {
        .net = { .path = p->path,
                 .dtype = p->dtype,
                 .numerics = p->numerics,
                 .kv_dtype = p->kv_cache_dtype,
                 .max_model_len = p->max_model_len,
                 .threads = p->threads,
                 .pooler = { p->runner, p->convert, p->pooler_config },
                 .strict = p->strict_kernels,
                 .no_fuse = p->no_fuse,
                 .progress = p->progress,
                 .progress_arg = p->progress_arg,
                 .opened = opened,
                 .opened_arg = &o },
        .max_num_seqs = p->max_num_seqs,
        .max_num_batched_tokens = p->max_num_batched_tokens,
        .block_size = p->block_size,
        .kv_bytes = p->kv_cache_memory_bytes,
        .prefix_caching = p->enable_prefix_caching != 0,
        .priority_policy = p->priority != 0,
        .whole_prefill = !p->enable_chunked_prefill,
        .no_reserve = !p->reserve_full_isl,
        .scheduled_tokens = p->max_num_scheduled_tokens,
        .long_prefill_threshold = p->long_prefill_token_threshold,
        .watermark = p->watermark,
        .memory_share = p->memory_utilization,
        .num_blocks = p->num_kv_blocks,
    };
    VC_TRY(vc_cpu_list_read(&cpus, p->cpu_bind, err));
    ep.net.cpus = &cpus;
    if (cpus.n && !p->threads) ep.net.threads = VC_MIN(vc_cpu_threads(), cpus.n);
    VC_TRY(hash_algo(p->prefix_caching_hash_algo, &ep.hash_algo, err));
    if (p->max_num_scheduled_tokens > p->max_num_batched_tokens)
        return vc_fail(err, VC_E_INVALID, "max_num_scheduled_tokens: %u, expected at most max_num_batched_tokens, %u",
                       p->max_num_scheduled_tokens, p->max_num_batched_tokens);
    if (!(p->memory_utilization >= 0 && p->memory_utilization <= 1))
        return vc_fail(err, VC_E_INVALID, "memory_utilization: %g, expected above 0, at most 1",
                       (double)p->memory_utilization);
    return vc_engine_open(&m->engine, &ep, api_event, m, err);
}

static vc_status open_all(struct vc_model *m, const vc_model_params *p, vc_err *err) {
    m->pool = api_pool_new();
    if (!m->pool) return vc_fail(err, VC_E_NOMEM, "out of memory opening %s", p->path);
    VC_TRY(open_engine(m, p, err));
    VC_TRY(fill_info(m, p, err));
    m->max_logprobs = p->max_logprobs < 0 ? m->info.vocab_size : VC_MIN((uint32_t)p->max_logprobs, m->info.vocab_size);
    m->info.chat_template = m->chat.text;
    if (m->tokenizer) m->info.bos_token_id = vc_tok_bos(m->tokenizer);
    api_publish(m);
    return api_load_defaults(m, p, err);
}

vc_status vc_model_open(vc_model **out, const vc_model_params *p, vc_err *err) {
    *out = NULL;
    if (p->struct_size != sizeof *p)
        return vc_fail(err, VC_E_INVALID,
                       "vc_model_open: struct_size is not that of this library; call vc_model_params_init");
    if (!p->path || !*p->path) return vc_fail(err, VC_E_INVALID, "path: no model is given");
    struct vc_model *m = calloc(1, sizeof *m);
    if (!m) return vc_fail(err, VC_E_NOMEM, "out of memory opening %s", p->path);
    pthread_mutex_init(&m->engine_lock, NULL);
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->grammars.lock, NULL);
    pthread_cond_init(&m->work, NULL);
    vc_cond_init(&m->ready);
    m->pending_tail = &m->pending;
    m->out_tail = &m->out_head;
    m->base_seed = p->seed;
    m->turn = p->turn;
    m->turn_arg = p->turn_arg;
    vc_status s = open_all(m, p, err);
    if (s != VC_OK) vc_model_close(&m);
    *out = m;
    return s;
}

void vc_model_close(vc_model **pm) {
    struct vc_model *m = *pm;
    *pm = NULL;
    if (!m) return;
    vc_stop(m);
    for (struct api_request *r = m->pending, *next; r; r = next) {
        next = r->next;
        api_request_free(r);
    }
    m->pending = NULL;
    vc_engine_close(m->engine);                     /* ends what runs; its requests are freed by their last event */
    for (struct api_output *o = m->out_head, *next; o; o = next) {
        next = o->next;
        vc_output_free(&o->o);
    }
    api_pool_release(m->pool);
    api_grammars_free(&m->grammars);
    api_chat_free(&m->chat);
    api_chat_free(&m->chat_tools);
    vc_tokenizer_close(m->tokenizer);
    vc_arena_free(&m->arena);
    pthread_mutex_destroy(&m->engine_lock);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->work);
    pthread_cond_destroy(&m->ready);
    free(m);
}

vc_status vc_model_get_info(const vc_model *m, vc_model_info *info) {
    if (info->struct_size != sizeof *info) return VC_E_INVALID;
    *info = m->info;
    return VC_OK;
}

vc_status vc_get_stats(const vc_model *cm, vc_stats *s) {
    struct vc_model *m = (struct vc_model *)(uintptr_t)cm;      /* the lock is not part of what is const */
    if (s->struct_size != sizeof *s) return VC_E_INVALID;
    pthread_mutex_lock(&m->lock);                               /* never engine_lock: a step may take seconds */
    *s = m->stats;
    s->step_age = m->step_began > 0 ? vc_now() - m->step_began : 0;
    for (const struct api_request *r = m->pending; r; r = r->next) s->waiting += r->sampling->n;
    pthread_mutex_unlock(&m->lock);
    s->struct_size = sizeof *s;
    return VC_OK;
}

double vc_stalled(const vc_model *m) {
    if (!m->num_live) return 0;
    double age = vc_now() - m->progress_at;
    return age > 0 ? age : 0;
}

vc_status vc_reset_prefix_cache(vc_model *m) {
    pthread_mutex_lock(&m->engine_lock);
    bool ok = vc_engine_reset_prefix_cache(m->engine);
    pthread_mutex_unlock(&m->engine_lock);
    return ok ? VC_OK : VC_E_STATE;
}

struct vc_engine *vc_model_engine(struct vc_model *m) { return m->engine; }
