/* SPDX-License-Identifier: Apache-2.0
 *
 * hash.h: hashes of full KV blocks, the keys of the prefix cache. Same bytes as vLLM's sha256_cbor and xxhash_cbor:
 *     none   = H(CBOR(text seed))
 *     h(i)   = H(CBOR([bytes h(i-1) or none, [tokens of block i], extra]))
 * with canonical CBOR (RFC 8949, section 4.2.1) and extra = null or an array of tagged arrays.
 * Owner: the thread that owns the vc_hasher. Hashing allocates nothing. */
#ifndef VC_KV_HASH_H
#define VC_KV_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum vc_hash_algo { VC_HASH_SHA256_CBOR, VC_HASH_XXHASH_CBOR };
#define VC_HASH_DEFAULT_SEED "vllm-none-hash"

/* 32 bytes of SHA-256, or 16 bytes of XXH3-128 (big-endian) and zeros. */
struct vc_block_hash { uint8_t b[32]; };

/* What goes into the hash beside the tokens; every string may be NULL, an empty salt counts as none. */
struct vc_hash_extra {
    const char *lora_name, *lora_path;   /* ["lora", name, path] on every block */
    const char *cache_salt;              /* ["cache_salt", salt] on block 0 only */
};

struct vc_hasher;
/* seed: text, NULL = VC_HASH_DEFAULT_SEED (vLLM's value of an unset PYTHONHASHSEED; copied). */
vc_status vc_hasher_new(struct vc_hasher **out, enum vc_hash_algo algo, const char *seed, vc_err *err);
void vc_hasher_del(struct vc_hasher *h);
uint32_t vc_hasher_bytes(const struct vc_hasher *h);                     /* 32 or 16 */
const struct vc_block_hash *vc_hasher_none(const struct vc_hasher *h);   /* borrowed */

/* Hash of a block of n tokens (each >= 0). parent: hash of the block before, NULL for block 0. *out may be *parent. */
void vc_hash_block(struct vc_hasher *h, const struct vc_block_hash *parent, const int32_t *tokens, uint32_t n,
                   const struct vc_hash_extra *extra, struct vc_block_hash *out);

#endif
