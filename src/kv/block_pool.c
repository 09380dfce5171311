/* SPDX-License-Identifier: Apache-2.0 */
#include "kv/block_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Free queue: a ring through `prev` and `next` in which block 0, which is never free, is the anchor: its next is the
 * front. Hash map: buckets of singly linked chains through `chain`, each in order of insertion. */
struct block {
    uint32_t refs;
    uint32_t prev, next;
    uint32_t chain;          /* next in the bucket, VC_NO_BLOCK at its end */
    uint32_t group;
    bool hashed;
    struct vc_block_hash hash;
};

struct vc_blocks {
    uint32_t total, num_free, mask;
    struct block *b;
    uint32_t *bucket;        /* mask + 1 heads */
};

vc_status vc_blocks_new(struct vc_blocks **out, uint32_t num_blocks, vc_err *err) {
    *out = NULL;
    if (num_blocks < 2 || num_blocks > UINT32_C(1) << 31)
        return vc_fail(err, VC_E_INVALID, "num_blocks: %u, expected 2 to 2^31 (block 0 is never handed out)",
                       num_blocks);
    uint32_t size = 16;
    while (size < num_blocks) size *= 2;
    struct vc_blocks *p = calloc(1, sizeof *p);
    if (p) {
        p->b = calloc(num_blocks, sizeof *p->b);
        p->bucket = malloc(size * sizeof *p->bucket);
    }
    if (!p || !p->b || !p->bucket) {
        vc_blocks_del(p);
        return vc_fail(err, VC_E_NOMEM, "KV cache: no memory for the table of %u blocks", num_blocks);
    }
    p->total = num_blocks;
    p->num_free = num_blocks - 1;
    p->mask = size - 1;
    memset(p->bucket, 0xff, size * sizeof *p->bucket);
    for (uint32_t i = 0; i < num_blocks; i++) {
        p->b[i].prev = i ? i - 1 : num_blocks - 1;
        p->b[i].next = i + 1 < num_blocks ? i + 1 : 0;
        p->b[i].chain = VC_NO_BLOCK;
    }
    p->b[0].refs = 1;
    *out = p;
    return VC_OK;
}

void vc_blocks_del(struct vc_blocks *p) {
    if (!p) return;
    free(p->b);
    free(p->bucket);
    free(p);
}

uint32_t vc_blocks_total(const struct vc_blocks *p) { return p->total; }
uint32_t vc_blocks_free_count(const struct vc_blocks *p) { return p->num_free; }
uint32_t vc_blocks_refs(const struct vc_blocks *p, uint32_t id) { return p->b[id].refs; }
bool vc_blocks_hashed(const struct vc_blocks *p, uint32_t id) { return p->b[id].hashed; }

static void queue_remove(struct vc_blocks *p, uint32_t id) {
    struct block *x = &p->b[id];
    p->b[x->prev].next = x->next;
    p->b[x->next].prev = x->prev;
    p->num_free--;
}

static void queue_insert_after(struct vc_blocks *p, uint32_t at, uint32_t id) {
    struct block *x = &p->b[id];
    x->prev = at;
    x->next = p->b[at].next;
    p->b[x->next].prev = id;
    p->b[at].next = id;
    p->num_free++;
}

void vc_blocks_take(struct vc_blocks *p, uint32_t n, uint32_t *ids) {
    assert(n <= p->num_free);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = p->b[0].next;
        queue_remove(p, id);
        vc_blocks_unhash(p, id);
        p->b[id].refs = 1;
        ids[i] = id;
    }
}

void vc_blocks_touch(struct vc_blocks *p, const uint32_t *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (p->b[ids[i]].refs == 0) queue_remove(p, ids[i]);
        p->b[ids[i]].refs++;
    }
}

void vc_blocks_release(struct vc_blocks *p, const uint32_t *ids, uint32_t n) {
    uint32_t front = 0;      /* the last one put at the front by this call */
    for (uint32_t i = n; i-- > 0;) {
        struct block *x = &p->b[ids[i]];
        assert(x->refs > 0);
        if (--x->refs) continue;
        if (x->hashed) {
            queue_insert_after(p, p->b[0].prev, ids[i]);
        } else {
            queue_insert_after(p, front, ids[i]);
            front = ids[i];
        }
    }
}

static uint32_t *bucket_of(const struct vc_blocks *p, uint32_t group, const struct vc_block_hash *hash) {
    uint32_t w;
    memcpy(&w, hash->b, sizeof w);
    return &p->bucket[(w ^ group * UINT32_C(0x9E3779B9)) & p->mask];
}

static bool is(const struct block *x, uint32_t group, const struct vc_block_hash *hash) {
    return x->group == group && memcmp(&x->hash, hash, sizeof *hash) == 0;
}

void vc_blocks_set_hash(struct vc_blocks *p, uint32_t id, uint32_t group, const struct vc_block_hash *hash) {
    struct block *x = &p->b[id];
    assert(!x->hashed);
    x->hashed = true;
    x->hash = *hash;
    x->group = group;
    x->chain = VC_NO_BLOCK;
    uint32_t *link = bucket_of(p, group, hash);
    while (*link != VC_NO_BLOCK) link = &p->b[*link].chain;
    *link = id;
}

uint32_t vc_blocks_find(const struct vc_blocks *p, uint32_t group, const struct vc_block_hash *hash) {
    uint32_t id = *bucket_of(p, group, hash);
    while (id != VC_NO_BLOCK && !is(&p->b[id], group, hash)) id = p->b[id].chain;
    return id;
}

void vc_blocks_unhash(struct vc_blocks *p, uint32_t id) {
    struct block *x = &p->b[id];
    if (!x->hashed) return;
    uint32_t *link = bucket_of(p, x->group, &x->hash);
    while (*link != id) link = &p->b[*link].chain;
    *link = x->chain;
    x->chain = VC_NO_BLOCK;
    x->hashed = false;
}

bool vc_blocks_reset_hashes(struct vc_blocks *p) {
    if (p->num_free != p->total - 1) return false;
    for (uint32_t i = 1; i < p->total; i++) vc_blocks_unhash(p, i);
    return true;
}
