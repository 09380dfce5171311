/* SPDX-License-Identifier: Apache-2.0
 * tok_map.h: the hash tables of tokenizers: text → id, (id, id) → merge, and a trie over bytes.
 * Built once, then only read. Keys of a text map are borrowed. */
#ifndef VC_TEXT_TOK_MAP_H
#define VC_TEXT_TOK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"

static inline uint64_t vc_text_hash(const char *p, size_t n) {
    uint64_t h = 0x9E3779B97F4A7C15u ^ n, w;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0xBF58476D1CE4E5B9u;
        h ^= h >> 29;
    }
    w = 0;
    for (size_t i = 0; i < n; i++) w |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return vc_mix64(h ^ w);
}

/* Open addressing, at most two thirds full. A slot is 8 bytes, since a vocabulary has hundreds of thousands: half of the
 * key's hash, and where the key is: 0 free, 1 … num_base the borrowed table, above the map's own list. */
struct vc_text_slot { uint32_t tag, ref; };
struct vc_text_key { const char *p; size_t n; int32_t id; };
struct vc_text_map {
    struct vc_text_slot *slot;       /* owned */
    uint64_t slots;
    size_t n;                        /* keys */
    const vc_str *base;              /* borrowed: key of id i is base[i], i < num_base */
    uint32_t num_base, num_more, cap_more;
    struct vc_text_key *more;        /* owned: keys added one by one */
};
bool vc_text_map_init(struct vc_text_map *m, size_t n);          /* room for n keys */
/* False when memory is short. An equal key keeps its first id, *old (may be NULL) tells it (else -1). */
bool vc_text_map_add(struct vc_text_map *m, const char *p, size_t n, int32_t id, int32_t *old);
/* Adds keys[i] → i for all that are not empty; faster than one by one, since the slots of later keys are fetched ahead. */
bool vc_text_map_add_all(struct vc_text_map *m, const vc_str *keys, size_t n);
/* The same to an empty map, which keeps no list of them: the array must stay as it is while the map lives. */
bool vc_text_map_add_table(struct vc_text_map *m, const vc_str *keys, size_t n);
void vc_text_map_free(struct vc_text_map *m);
/* First slot of a hash: its high half scaled to the table, so that any number of slots will do. */
static inline uint64_t vc_map_at(uint64_t h, uint64_t slots) { return (h >> 32) * slots >> 32; }
static inline struct vc_text_key vc_text_map_key(const struct vc_text_map *m, uint32_t ref) {
    if (ref > m->num_base) return m->more[ref - m->num_base - 1];
    return (struct vc_text_key){ m->base[ref - 1].p, m->base[ref - 1].n, (int32_t)(ref - 1) };
}
static inline int32_t vc_text_map_find_hashed(const struct vc_text_map *m, const char *p, size_t n, uint64_t h) {
    if (!m->slot) return -1;
    for (uint64_t i = vc_map_at(h, m->slots); m->slot[i].ref; i = i + 1 < m->slots ? i + 1 : 0) {
        if (m->slot[i].tag != (uint32_t)h) continue;
        struct vc_text_key k = vc_text_map_key(m, m->slot[i].ref);
        if (k.n == n && !memcmp(k.p, p, n)) return k.id;
    }
    return -1;
}
static inline int32_t vc_text_map_find(const struct vc_text_map *m, const char *p, size_t n) {
    return vc_text_map_find_hashed(m, p, n, vc_text_hash(p, n));
}

struct vc_pair_slot { int32_t a, b; uint32_t rank; int32_t id; };   /* a < 0: free */
struct vc_pair_map { struct vc_pair_slot *slot; uint64_t slots; size_t n; };
bool vc_pair_map_init(struct vc_pair_map *m, size_t n);
void vc_pair_map_add(struct vc_pair_map *m, int32_t a, int32_t b, uint32_t rank, int32_t id, bool replace);   /* at most n of init */
void vc_pair_map_free(struct vc_pair_map *m);
static inline uint64_t vc_pair_hash(int32_t a, int32_t b) { return ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9E3779B97F4A7C15u; }
static inline const struct vc_pair_slot *vc_pair_map_find(const struct vc_pair_map *m, int32_t a, int32_t b) {
    if (!m->slot) return NULL;
    for (uint64_t i = vc_map_at(vc_pair_hash(a, b), m->slots);; i = i + 1 < m->slots ? i + 1 : 0) {
        const struct vc_pair_slot *s = &m->slot[i];
        if (s->a == a && s->b == b) return s;
        if (s->a < 0) return NULL;
    }
}

/* Nodes are numbered from 1; node 0 is "none". Values are ≥ 0, -1 where no key ends. */
struct vc_trie_slot { uint32_t key, node; };
struct vc_trie {
    struct vc_trie_slot *slot;
    uint64_t mask;
    uint32_t used, num_nodes, cap_nodes;
    int32_t *value;
    uint32_t first[256];        /* child of the root by byte */
    uint32_t max_len;
};
bool vc_trie_add(struct vc_trie *t, const char *p, size_t n, int32_t value);   /* the first of equal keys stays */
void vc_trie_free(struct vc_trie *t);
static inline uint32_t vc_trie_step(const struct vc_trie *t, uint32_t node, unsigned char c) {
    uint32_t key = node << 8 | c;
    for (uint64_t i = (key * 0x9E3779B97F4A7C15u) >> 32 & t->mask;; i = (i + 1) & t->mask) {
        if (t->slot[i].key == key) return t->slot[i].node;
        if (!t->slot[i].node) return 0;
    }
}

#endif
