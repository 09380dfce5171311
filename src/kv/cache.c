/* SPDX-License-Identifier: Apache-2.0 */
#include "kv/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/ckd.h"

struct vc_kv {
    struct vc_blocks *pool;      /* owned */
    struct vc_hasher *hasher;    /* owned; NULL when prefix caching is off */
    uint32_t block_size;
};

vc_status vc_kv_new(struct vc_kv **out, const struct vc_kv_config *c, vc_err *err) {
    *out = NULL;
    if (c->block_size == 0) return vc_fail(err, VC_E_INVALID, "block_size: 0, expected at least 1");
    struct vc_kv *kv = calloc(1, sizeof *kv);
    if (!kv) return vc_fail(err, VC_E_NOMEM, "KV cache: no memory");
    kv->block_size = c->block_size;
    vc_status s = vc_blocks_new(&kv->pool, c->num_blocks, err);
    if (!s && c->prefix_caching) s = vc_hasher_new(&kv->hasher, c->hash_algo, c->hash_seed, err);
    if (s) {
        vc_kv_del(kv);
        return s;
    }
    *out = kv;
    return VC_OK;
}

void vc_kv_del(struct vc_kv *kv) {
    if (!kv) return;
    vc_blocks_del(kv->pool);
    vc_hasher_del(kv->hasher);
    free(kv);
}

struct vc_blocks *vc_kv_pool(struct vc_kv *kv) { return kv->pool; }
uint32_t vc_kv_free_blocks(const struct vc_kv *kv) { return vc_blocks_free_count(kv->pool); }

double vc_kv_usage(const struct vc_kv *kv) {
    return 1.0 - (double)vc_blocks_free_count(kv->pool) / (double)(vc_blocks_total(kv->pool) - 1);
}

bool vc_kv_reset(struct vc_kv *kv) { return vc_blocks_reset_hashes(kv->pool); }

bool vc_kv_reads(const struct vc_kv *kv, const struct vc_kv_table *t) {
    return kv->hasher && t->hashes && !(t->flags & VC_KV_NO_READ);
}

static bool writes(const struct vc_kv *kv, const struct vc_kv_table *t) {
    return kv->hasher && t->hashes && !(t->flags & VC_KV_NO_WRITE);
}

/* Hashes full blocks up to n. Hashes stay valid over preemptions: they depend on the tokens only. */
static void hash_up_to(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, uint32_t n) {
    assert(n <= t->cap_blocks);
    for (; t->num_hashes < n; t->num_hashes++) {
        uint32_t i = t->num_hashes;
        vc_hash_block(kv->hasher, i ? &t->hashes[i - 1] : NULL, tokens + (size_t)i * kv->block_size, kv->block_size,
                      &t->extra, &t->hashes[i]);
    }
}

uint32_t vc_kv_lookup(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, uint32_t num_tokens) {
    assert(t->num_blocks == 0);
    if (!vc_kv_reads(kv, t) || num_tokens == 0) return 0;
    /* At least one token is left to compute: its logits are needed. */
    uint32_t limit = (num_tokens - 1) / kv->block_size, n = 0;
    for (; n < limit; n++) {
        hash_up_to(kv, t, tokens, n + 1);
        uint32_t id = vc_blocks_find(kv->pool, t->group, &t->hashes[n]);
        if (id == VC_NO_BLOCK) break;
        t->blocks[n] = id;
    }
    return n;
}

/* Blocks that leave the free queue for a table of num_tokens: fresh ones, and hits that nobody holds. */
static uint64_t blocks_needed(const struct vc_kv *kv, const struct vc_kv_table *t, uint32_t hits, uint32_t num_tokens) {
    uint64_t all = vc_div_up(num_tokens, kv->block_size), have = (uint64_t)t->num_blocks + hits;
    uint64_t n = all > have ? all - have : 0;
    for (uint32_t i = 0; i < hits; i++) n += vc_blocks_refs(kv->pool, t->blocks[i]) == 0;
    return n;
}

bool vc_kv_allocate(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, const struct vc_kv_need *need) {
    assert(need->hits == 0 || t->num_blocks == 0);
    uint64_t avail = vc_blocks_free_count(kv->pool);
    if (need->full_tokens && blocks_needed(kv, t, need->hits, need->full_tokens) + need->spare > avail) return false;
    if (blocks_needed(kv, t, need->hits, need->num_slots) + need->spare > avail) return false;

    if (need->hits) {
        vc_blocks_touch(kv->pool, t->blocks, need->hits);
        t->num_blocks = need->hits;
        t->num_cached = need->hits;
    }
    uint32_t all = (uint32_t)vc_div_up(need->num_slots, kv->block_size);
    assert(all <= t->cap_blocks);
    if (all > t->num_blocks) {
        vc_blocks_take(kv->pool, all - t->num_blocks, t->blocks + t->num_blocks);
        t->num_blocks = all;
    }
    if (!writes(kv, t)) return true;
    uint32_t known = need->num_slots < need->num_final ? need->num_slots : need->num_final;
    uint32_t full = known / kv->block_size;
    hash_up_to(kv, t, tokens, full);
    for (; t->num_cached < full; t->num_cached++)
        vc_blocks_set_hash(kv->pool, t->blocks[t->num_cached], t->group, &t->hashes[t->num_cached]);
    return true;
}

void vc_kv_release(struct vc_kv *kv, struct vc_kv_table *t) {
    vc_blocks_release(kv->pool, t->blocks, t->num_blocks);
    t->num_blocks = 0;
    t->num_cached = 0;
}

void vc_kv_evict(struct vc_kv *kv, struct vc_kv_table *t) {
    for (uint32_t i = 0; i < t->num_blocks; i++) vc_blocks_unhash(kv->pool, t->blocks[i]);
}
