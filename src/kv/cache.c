/* SPDX-License-Identifier: Apache-2.0 */
#include "kv/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/ckd.h"

struct group {
    uint32_t window;             /* 0: none */
    uint32_t tail;               /* blocks that must be there before the end of a prefix */
};

struct vc_kv {
    struct vc_blocks *pool;      /* owned */
    struct vc_hasher *hasher;    /* owned; NULL when prefix caching is off */
    uint32_t block_size, num_groups, chunk;
    struct group *group;         /* owned */
};

vc_status vc_kv_new(struct vc_kv **out, const struct vc_kv_config *c, vc_err *err) {
    *out = NULL;
    if (c->block_size == 0) return vc_fail(err, VC_E_INVALID, "block_size: 0, expected at least 1");
    struct vc_kv *kv = calloc(1, sizeof *kv);
    if (!kv) return vc_fail(err, VC_E_NOMEM, "KV cache: no memory");
    kv->block_size = c->block_size;
    kv->chunk = c->chunk;
    kv->num_groups = c->num_groups ? c->num_groups : 1;
    kv->group = calloc(kv->num_groups, sizeof *kv->group);
    vc_status s = kv->group ? vc_blocks_new(&kv->pool, c->num_blocks, err) : vc_fail(err, VC_E_NOMEM, "KV cache: no memory");
    for (uint32_t g = 0; g < c->num_groups && s == VC_OK; g++) {
        uint32_t w = c->windows[g];
        kv->group[g] = (struct group){ w, w ? (uint32_t)vc_div_up(w - 1, c->block_size) : UINT32_MAX };
    }
    if (!c->num_groups && s == VC_OK) kv->group[0].tail = UINT32_MAX;
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
    free(kv->group);
    free(kv);
}

uint32_t vc_kv_groups(const struct vc_kv *kv) { return kv->num_groups; }
uint64_t vc_kv_blocks_for(const struct vc_kv *kv, uint64_t num_tokens) {
    uint64_t n = 0;
    for (uint32_t g = 0; g < kv->num_groups; g++) n += vc_kv_blocks_held(kv->group[g].window, num_tokens, kv->block_size, kv->chunk);
    return n;
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

static uint32_t *row_of(struct vc_kv_table *t, uint32_t group) { return t->blocks + (size_t)group * t->cap_blocks; }

/* The group's first block that a sequence with this many cached blocks has to hold. */
static uint32_t first_held(const struct group *g, uint32_t blocks) { return blocks > g->tail ? blocks - g->tail : 0; }

/* Leading blocks that all groups without a window have; ids are written. */
static uint32_t full_prefix(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, uint32_t limit) {
    for (uint32_t n = 0; n < limit; n++) {
        hash_up_to(kv, t, tokens, n + 1);
        for (uint32_t g = 0; g < kv->num_groups; g++) {
            if (kv->group[g].window) continue;
            uint32_t id = vc_blocks_find(kv->pool, g, &t->hashes[n]);
            if (id == VC_NO_BLOCK) return n;
            row_of(t, g)[n] = id;
        }
    }
    return limit;
}

/* Largest m <= n such that every window group has the blocks that its window reaches back to from m. A block that is not
 * there bounds m, so the search goes on from it. */
static uint32_t window_prefix(const struct vc_kv *kv, const struct vc_kv_table *t, uint32_t n) {
    for (uint32_t g = 0; g < kv->num_groups && n; g++) {
        if (!kv->group[g].window) continue;
        uint32_t i = n, first = first_held(&kv->group[g], n);
        while (i > first && vc_blocks_find(kv->pool, g, &t->hashes[i - 1]) != VC_NO_BLOCK) i--;
        if (i == first) continue;
        n = i - 1;
        g = UINT32_MAX;          /* once more from group 0 */
    }
    return n;
}

uint32_t vc_kv_lookup(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, uint32_t num_tokens) {
    assert(t->num_blocks == 0);
    if (!vc_kv_reads(kv, t) || num_tokens == 0) return 0;
    /* At least one token is left to compute: its logits are needed. */
    uint32_t limit = (num_tokens - 1) / kv->block_size;
    uint32_t n = window_prefix(kv, t, full_prefix(kv, t, tokens, limit));
    for (uint32_t g = 0; g < kv->num_groups; g++) {
        uint32_t first = first_held(&kv->group[g], n), *row = row_of(t, g);
        t->gone[g] = first;
        for (uint32_t i = 0; i < n && kv->group[g].window; i++) row[i] = i < first ? 0 : vc_blocks_find(kv->pool, g, &t->hashes[i]);
    }
    return n;
}

/* Blocks that leave the free queue for a table of num_tokens: fresh ones (`held`: only what is held at a time), and hits
 * that nobody holds. */
static uint64_t blocks_needed(const struct vc_kv *kv, const struct vc_kv_table *t, uint32_t hits, uint32_t num_tokens, bool held) {
    uint64_t all = vc_div_up(num_tokens, kv->block_size), have = (uint64_t)t->num_blocks + hits, n = 0;
    for (uint32_t g = 0; g < kv->num_groups; g++) {
        uint64_t fresh = all > have ? all - have : 0;
        if (held) fresh = VC_MIN(fresh, vc_kv_blocks_held(kv->group[g].window, num_tokens, kv->block_size, kv->chunk));
        n += fresh;
        const uint32_t *row = vc_kv_row(t, g);
        for (uint32_t i = hits ? t->gone[g] : 0; i < hits; i++) n += vc_blocks_refs(kv->pool, row[i]) == 0;
    }
    return n;
}

static void give_back(struct vc_kv *kv, struct vc_kv_table *t, uint32_t num_computed) {
    for (uint32_t g = 0; g < kv->num_groups; g++) {
        uint32_t w = kv->group[g].window, *row = row_of(t, g);
        if (!w || num_computed < w) continue;
        uint32_t first = VC_MIN((num_computed + 1 - w) / kv->block_size, t->num_blocks);
        if (first <= t->gone[g]) continue;
        vc_blocks_release(kv->pool, row + t->gone[g], first - t->gone[g]);
        for (; t->gone[g] < first; t->gone[g]++) row[t->gone[g]] = 0;
    }
}

static void take_hits(struct vc_kv *kv, struct vc_kv_table *t, uint32_t hits) {
    for (uint32_t g = 0; g < kv->num_groups; g++) vc_blocks_touch(kv->pool, vc_kv_row(t, g) + t->gone[g], hits - t->gone[g]);
    t->num_blocks = hits;
    t->num_cached = hits;
}

static void put_hashes(struct vc_kv *kv, struct vc_kv_table *t, uint32_t full) {
    for (; t->num_cached < full; t->num_cached++)
        for (uint32_t g = 0; g < kv->num_groups; g++) {
            uint32_t id = vc_kv_row(t, g)[t->num_cached];
            if (id) vc_blocks_set_hash(kv->pool, id, g, &t->hashes[t->num_cached]);
        }
}

bool vc_kv_allocate(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, const struct vc_kv_need *need) {
    assert(need->hits == 0 || t->num_blocks == 0);
    give_back(kv, t, t->num_blocks ? need->num_computed : 0);
    uint64_t avail = vc_blocks_free_count(kv->pool);
    if (need->full_tokens && blocks_needed(kv, t, need->hits, need->full_tokens, true) + need->spare > avail) return false;
    if (blocks_needed(kv, t, need->hits, need->num_slots, false) + need->spare > avail) return false;

    if (need->hits) take_hits(kv, t, need->hits);
    uint32_t all = (uint32_t)vc_div_up(need->num_slots, kv->block_size);
    assert(all <= t->cap_blocks);
    if (all > t->num_blocks) {
        for (uint32_t g = 0; g < kv->num_groups; g++) vc_blocks_take(kv->pool, all - t->num_blocks, row_of(t, g) + t->num_blocks);
        t->num_blocks = all;
    }
    if (!writes(kv, t)) return true;
    uint32_t known = need->num_slots < need->num_final ? need->num_slots : need->num_final;
    uint32_t full = known / kv->block_size;
    hash_up_to(kv, t, tokens, full);
    put_hashes(kv, t, full);
    return true;
}

void vc_kv_release(struct vc_kv *kv, struct vc_kv_table *t) {
    for (uint32_t g = 0; g < kv->num_groups; g++) {
        if (t->num_blocks) vc_blocks_release(kv->pool, vc_kv_row(t, g) + t->gone[g], t->num_blocks - t->gone[g]);
        t->gone[g] = 0;
    }
    t->num_blocks = 0;
    t->num_cached = 0;
}

void vc_kv_evict(struct vc_kv *kv, struct vc_kv_table *t) {
    for (uint32_t g = 0; g < kv->num_groups; g++)
        for (uint32_t i = 0; i < t->num_blocks; i++) {
            uint32_t id = vc_kv_row(t, g)[i];
            if (!id && i < t->num_hashes) id = vc_blocks_find(kv->pool, g, &t->hashes[i]);    /* given back, but still found */
            if (id && id != VC_NO_BLOCK) vc_blocks_unhash(kv->pool, id);
        }
}
