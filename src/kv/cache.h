/* SPDX-License-Identifier: Apache-2.0
 *
 * cache.h: block tables of sequences over the pool, and the prefix cache (vLLM's KVCacheManager with its hybrid
 * coordinator). The layers of a model lie in KV groups of equal geometry: full attention, or one window. A vc_kv_table
 * belongs to one sequence and has a row of blocks per group; all rows come from one pool, and a block belongs to one
 * group while it is held. Full blocks enter the prefix cache when they are allocated; blocks behind a window are given
 * back as their sequence goes on. Owner: the engine thread. */
#ifndef VC_KV_CACHE_H
#define VC_KV_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv/block_pool.h"

struct vc_kv_config {
    uint32_t block_size;       /* tokens of a block */
    uint32_t num_blocks;       /* with the null block */
    uint32_t num_groups;       /* 0: one, of full attention */
    const uint32_t *windows;   /* [num_groups] keys that a token of the group sees, itself included; 0: all. Copied */
    uint32_t chunk;            /* most tokens of a sequence that one step computes */
    bool prefix_caching;
    enum vc_hash_algo hash_algo;
    const char *hash_seed;     /* NULL: default */
};

enum {
    VC_KV_NO_READ = 1,         /* the prefix cache is not looked up for this sequence */
    VC_KV_NO_WRITE = 2         /* its blocks do not enter the prefix cache */
};

/* Blocks of a group that a sequence of num_tokens holds at most at a time, when a step computes up to chunk of them. */
static inline uint64_t vc_kv_blocks_held(uint32_t window, uint64_t num_tokens, uint32_t block_size, uint64_t chunk) {
    uint64_t all = (num_tokens + block_size - 1) / block_size;
    if (!window) return all;
    uint64_t most = (window - 1 + chunk + block_size - 1) / block_size + 1;
    return all < most ? all : most;
}

struct vc_kv_table {
    uint32_t flags;            /* VC_KV_ */
    uint32_t *blocks;          /* [num_groups][cap_blocks] ids in order of positions; 0 where gone */
    uint32_t *gone;            /* [num_groups]: leading blocks that were given back, or never taken, behind the window */
    uint32_t num_blocks, cap_blocks;
    struct vc_block_hash *hashes;   /* of full blocks of tokens, made as needed, capacity cap_blocks; NULL: never cached */
    uint32_t num_hashes;
    uint32_t num_cached;       /* leading blocks that are in the prefix cache, or were put there */
    struct vc_hash_extra extra;     /* borrowed strings */
};

static inline const uint32_t *vc_kv_row(const struct vc_kv_table *t, uint32_t group) { return t->blocks + (size_t)group * t->cap_blocks; }

/* What an allocation must find. */
struct vc_kv_need {
    uint32_t num_computed;     /* tokens whose keys are in the cache; blocks behind their windows are given back first */
    uint32_t hits;             /* blocks found by vc_kv_lookup, 0 for a running sequence */
    uint32_t num_slots;        /* tokens that the table must hold afterwards */
    uint32_t num_final;        /* tokens whose ids are known: full blocks below min(num_slots, num_final) are cached */
    uint32_t full_tokens;      /* refuse unless this many tokens would fit; 0: no such check */
    uint32_t spare;            /* blocks that must stay free beside */
};

struct vc_kv;
vc_status vc_kv_new(struct vc_kv **out, const struct vc_kv_config *c, vc_err *err);
void vc_kv_del(struct vc_kv *kv);
struct vc_blocks *vc_kv_pool(struct vc_kv *kv);
uint32_t vc_kv_free_blocks(const struct vc_kv *kv);
uint32_t vc_kv_groups(const struct vc_kv *kv);
/* Blocks that a sequence of num_tokens, alone in the pool, needs at most at a time. */
uint64_t vc_kv_blocks_for(const struct vc_kv *kv, uint64_t num_tokens);
double vc_kv_usage(const struct vc_kv *kv);               /* share of usable blocks in use, 0 … 1 */
bool vc_kv_reset(struct vc_kv *kv);                       /* empties the prefix cache; false while blocks are held */
bool vc_kv_reads(const struct vc_kv *kv, const struct vc_kv_table *t);   /* lookups happen for this table */

/* Longest prefix of an empty table that every group still holds, as far as its window reaches back from the prefix's end;
 * at most num_tokens - 1 tokens. Number of blocks. Their ids are written to the table but not referenced: pass the
 * number on to vc_kv_allocate before anything else happens to the pool. */
uint32_t vc_kv_lookup(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, uint32_t num_tokens);

/* Gives back what lies behind the windows, then makes the table hold need->num_slots tokens: references the hits, appends
 * blocks from the pool, caches full ones. False, and nothing appended, when the pool has too few. */
bool vc_kv_allocate(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, const struct vc_kv_need *need);

/* Gives the table's blocks back, the last first. */
void vc_kv_release(struct vc_kv *kv, struct vc_kv_table *t);
/* Takes the table's blocks out of the prefix cache (they may hold values that are not finite). */
void vc_kv_evict(struct vc_kv *kv, struct vc_kv_table *t);

#endif
