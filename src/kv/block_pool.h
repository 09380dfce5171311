/* SPDX-License-Identifier: Apache-2.0
 *
 * block_pool.h: the pool of KV blocks: reference counts, the free queue, and the map from block hash to block.
 * Semantics of vLLM's BlockPool. The free queue is a doubly linked list over block ids, taken from the front; blocks in
 * it that carry a hash are still found by lookup until they are handed out again. Block 0 is the null block.
 * Owner: the engine thread. All memory is allocated by _new. */
#ifndef VC_KV_BLOCK_POOL_H
#define VC_KV_BLOCK_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "kv/hash.h"

#define VC_NO_BLOCK UINT32_MAX

struct vc_blocks;
/* num_blocks counts the null block: num_blocks - 1 are usable (num_blocks >= 2). */
vc_status vc_blocks_new(struct vc_blocks **out, uint32_t num_blocks, vc_err *err);
void vc_blocks_del(struct vc_blocks *p);

uint32_t vc_blocks_total(const struct vc_blocks *p);           /* with the null block */
uint32_t vc_blocks_free_count(const struct vc_blocks *p);      /* evictable cached ones included */
uint32_t vc_blocks_refs(const struct vc_blocks *p, uint32_t id);
bool vc_blocks_hashed(const struct vc_blocks *p, uint32_t id);

/* Takes n blocks from the front of the free queue, n <= free count; their hashes leave the map. Each has one
 * reference. */
void vc_blocks_take(struct vc_blocks *p, uint32_t n, uint32_t *ids);
/* One more reference on each; free ones leave the queue. */
void vc_blocks_touch(struct vc_blocks *p, const uint32_t *ids, uint32_t n);
/* One reference less on each, from ids[n-1] down to ids[0]. Blocks without references return to the queue in that
 * order: those with a hash at the back, those without at the front. */
void vc_blocks_release(struct vc_blocks *p, const uint32_t *ids, uint32_t n);

/* Gives the block, which must have none, a hash within a KV group. Several blocks may carry the same. */
void vc_blocks_set_hash(struct vc_blocks *p, uint32_t id, uint32_t group, const struct vc_block_hash *hash);
/* The block that got this hash first among those that have it, or VC_NO_BLOCK. */
uint32_t vc_blocks_find(const struct vc_blocks *p, uint32_t group, const struct vc_block_hash *hash);
/* Takes the hash from the block, if it has one; references and queue stay as they are. */
void vc_blocks_unhash(struct vc_blocks *p, uint32_t id);
/* Takes the hashes from all blocks. False, and nothing done, while any block is referenced. */
bool vc_blocks_reset_hashes(struct vc_blocks *p);

#endif
