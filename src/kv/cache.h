/* SPDX-License-Identifier: Apache-2.0
 *
 * cache.h: block tables of sequences over the pool, and the prefix cache (vLLM's KVCacheManager).
 * A vc_kv_table belongs to one sequence and one KV group (layers of equal geometry); all tables of one vc_kv share its
 * pool. Full blocks enter the prefix cache when they are allocated. Owner: the engine thread. */
#ifndef VC_KV_CACHE_H
#define VC_KV_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kv/block_pool.h"

struct vc_kv_config {
    uint32_t block_size;       /* tokens of a block */
    uint32_t num_blocks;       /* with the null block */
    bool prefix_caching;
    enum vc_hash_algo hash_algo;
    const char *hash_seed;     /* NULL: default */
};

enum {
    VC_KV_NO_READ = 1,         /* the prefix cache is not looked up for this sequence */
    VC_KV_NO_WRITE = 2         /* its blocks do not enter the prefix cache */
};

struct vc_kv_table {
    uint32_t group;            /* KV group, part of the cache key */
    uint32_t flags;            /* VC_KV_ */
    uint32_t *blocks;          /* block ids in order of positions, capacity cap_blocks */
    uint32_t num_blocks, cap_blocks;
    struct vc_block_hash *hashes;   /* of full blocks of tokens, made as needed, capacity cap_blocks; NULL: never cached */
    uint32_t num_hashes;
    uint32_t num_cached;       /* leading blocks that are in the prefix cache, or were put there */
    struct vc_hash_extra extra;     /* borrowed strings */
};

/* What an allocation must find. */
struct vc_kv_need {
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
double vc_kv_usage(const struct vc_kv *kv);               /* share of usable blocks in use, 0 … 1 */
bool vc_kv_reset(struct vc_kv *kv);                       /* empties the prefix cache; false while blocks are held */
bool vc_kv_reads(const struct vc_kv *kv, const struct vc_kv_table *t);   /* lookups happen for this table */

/* Longest cached prefix of an empty table, at most num_tokens - 1 tokens: number of blocks. Their ids are written to
 * t->blocks but not referenced: pass the number on to vc_kv_allocate before anything else happens to the pool. */
uint32_t vc_kv_lookup(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, uint32_t num_tokens);

/* Makes the table hold need->num_slots tokens: references the hits, appends blocks from the pool, caches full ones.
 * False, and nothing changed, when the pool has too few. */
bool vc_kv_allocate(struct vc_kv *kv, struct vc_kv_table *t, const int32_t *tokens, const struct vc_kv_need *need);

/* Gives the table's blocks back, the last first. */
void vc_kv_release(struct vc_kv *kv, struct vc_kv_table *t);
/* Takes the table's blocks out of the prefix cache (they may hold values that are not finite). */
void vc_kv_evict(struct vc_kv *kv, struct vc_kv_table *t);

#endif
