/* SPDX-License-Identifier: Apache-2.0
 * same_bits_run.c: submits a request among others and collects what it gave. */
#include "same_bits.h"

#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "base/rng.h"

/* Preempted: in small chunks, since what a chunk holds before a window is reserved at admission and free afterwards. */
static uint32_t budget_of(const struct sb_setting *s) { return s->budget ? s->budget : s->preempt ? 32 : 4096; }

vc_status sb_open(struct sb_model *b, uint32_t max_len, uint64_t kv_bytes, vc_err *err) {
    const struct sb_setting *s = b->s;
    vc_model_params p;
    vc_model_params_init(&p);
    p.path = b->path;
    p.numerics = b->numerics;
    p.max_model_len = max_len;
    p.max_num_seqs = 34;
    p.max_num_batched_tokens = budget_of(s);
    p.block_size = s->block ? s->block : 16;
    p.threads = s->threads ? s->threads : 1;
    p.enable_prefix_caching = s->cache != SB_OFF;
    p.kv_cache_memory_bytes = kv_bytes;
    p.no_fuse = s->no_fuse;
    if (s->tier)
        setenv("VLLMC_CPU", s->tier, 1);
    else
        unsetenv("VLLMC_CPU");
    VC_TRY(vc_model_open(&b->m, &p, err));
    b->vocab = b->m->info.vocab_size;
    return VC_OK;
}

bool sb_windows(const struct sb_model *b) { return vc_engine_net(vc_model_engine(b->m))->groups.num > 1; }

uint64_t sb_kv_bytes(const struct sb_model *b, uint32_t tokens) {
    const struct vc_net *n = vc_engine_net(vc_model_engine(b->m));
    uint32_t page = n->kv.geom.page_tokens;
    return vc_net_seq_pages(n, tokens, page, budget_of(b->s)) * vc_net_page_bytes(n, page);
}

/* Prompt `which` of length len: the same ids in every setting; 0 is the request, others its neighbours. */
static void fill_prompt(const struct sb_model *b, uint32_t which, uint32_t len, int32_t *ids) {
    uint64_t rng = UINT64_C(0x5EED) + len * UINT64_C(1000003) + which;
    for (uint32_t i = 0; i < len; i++) ids[i] = (int32_t)vc_rng_below(&rng, b->vocab);
}

static vc_status submit(struct sb_model *b, uint32_t which, uint32_t len, uint32_t seeded, uint32_t out, uint32_t n,
                        uint64_t *id, vc_err *err) {
    vc_request_params rp;
    int32_t *ids = malloc((len + 1) * sizeof *ids);
    if (!ids) return VC_E_NOMEM;
    fill_prompt(b, which, len, ids);
    vc_request_params_init(&rp);
    rp.prompt_ids = ids;
    rp.num_prompt_ids = len;
    rp.sampling.temperature = seeded ? 0.8f : 0.0f;
    rp.sampling.seed = 11 + which;
    rp.sampling.has_seed = 1;
    rp.sampling.n = n;
    rp.sampling.max_tokens = out;
    rp.sampling.ignore_eos = 1;
    rp.sampling.detokenize = 0;
    rp.sampling.logprobs = SB_TOP;
    vc_status st = vc_submit(b->m, &rp, id, err);
    free(ids);
    return st;
}

static vc_status collect(struct sb_model *b, uint64_t id, struct sb_result *r, vc_err *err) {
    vc_output *o;
    vc_status st;
    while ((st = vc_next(b->m, -1, &o, err)) == VC_OK) {
        vc_status bad = o->error.status;
        if (bad != VC_OK)
            *err = o->error;
        else if (o->request_id == id && o->index < SB_CHOICES && o->num_token_ids && o->num_logprobs == 1 + SB_TOP &&
                 r->num[o->index] < SB_MAX_OUT) {
            uint32_t k = r->num[o->index]++;
            r->token[o->index][k] = o->token_ids[0];
            memcpy(r->logprob[o->index][k], o->logprobs, sizeof r->logprob[0][0]);
            if (o->index == 0 && k == 0) r->cached = o->num_cached_tokens;
        }
        vc_output_free(o);
        if (bad != VC_OK) return bad;
    }
    return st == VC_E_DONE ? VC_OK : st;
}

static vc_status neighbour(struct sb_model *b, const struct sb_request *r, uint32_t i, vc_err *err) {
    uint64_t id;
    return b->s->preempt ? submit(b, i, 1, i % 2, r->out, 1, &id, err)
                         : submit(b, i, 1 + i * 17 % 61, i % 2, 1 + i * 5 % 19, 1, &id, err);
}

static vc_status once(struct sb_model *b, const struct sb_request *r, struct sb_result *out, vc_err *err) {
    uint64_t id = 0;
    memset(out, 0, sizeof *out);
    uint32_t before = b->s->preempt ? SB_CROWD : b->s->before, all = b->s->preempt ? SB_CROWD : b->s->neighbours;
    for (uint32_t i = 1; i <= before; i++) VC_TRY(neighbour(b, r, i, err));
    VC_TRY(submit(b, 0, r->len, r->seeded, r->out, SB_CHOICES, &id, err));
    for (uint32_t i = before + 1; i <= all; i++) VC_TRY(neighbour(b, r, i, err));
    VC_TRY(collect(b, id, out, err));
    vc_stats st = { .struct_size = sizeof st };
    vc_get_stats(b->m, &st);
    out->preemptions = st.preemptions;
    return VC_OK;
}

vc_status sb_run(struct sb_model *b, const struct sb_request *r, struct sb_result *out, vc_err *err) {
    VC_TRY(vc_reset_prefix_cache(b->m));
    if (b->s->cache == SB_WARM || b->s->cache == SB_HALF) VC_TRY(once(b, r, out, err));
    if (b->s->cache == SB_HALF) { /* other text pushes out the older half of the pages */
        struct sb_result ignored = { 0 };
        uint64_t id;
        VC_TRY(submit(b, 99, 640, 0, 1, 1, &id, err));
        VC_TRY(collect(b, 0, &ignored, err));
    }
    return once(b, r, out, err);
}
