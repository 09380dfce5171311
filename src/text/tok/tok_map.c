/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tok/tok_map.h"

#include <stdlib.h>

static uint64_t slots_for(size_t n) { return 16 + (uint64_t)n + (uint64_t)n / 2; }

bool vc_text_map_init(struct vc_text_map *m, size_t n) {
    uint64_t k = slots_for(n);
    *m = (struct vc_text_map){ .slot = k <= UINT32_MAX ? calloc(k, sizeof *m->slot) : NULL, .slots = k };
    return m->slot != NULL;
}

static void text_map_place(struct vc_text_map *m, uint64_t h, uint32_t ref) {
    uint64_t i = vc_map_at(h, m->slots);
    while (m->slot[i].ref) i = i + 1 < m->slots ? i + 1 : 0;
    m->slot[i] = (struct vc_text_slot){ (uint32_t)h, ref };
}

/* Room for one more key. */
static bool text_map_grow(struct vc_text_map *m) {
    if (m->slot && slots_for(m->n + 1) <= m->slots) return true;
    uint64_t k = slots_for(m->n * 2 + 16), had = m->slots;
    struct vc_text_slot *was = m->slot, *slot = k <= UINT32_MAX ? calloc(k, sizeof *slot) : NULL;
    if (!slot) return false;
    m->slot = slot;
    m->slots = k;
    for (uint64_t i = 0; was && i < had; i++) {
        if (!was[i].ref) continue;
        struct vc_text_key x = vc_text_map_key(m, was[i].ref);
        text_map_place(m, vc_text_hash(x.p, x.n), was[i].ref);
    }
    free(was);
    return true;
}

/* Appends to the map's own list; 0 when memory is short. */
static uint32_t text_map_own(struct vc_text_map *m, struct vc_text_key k) {
    if (m->num_more == m->cap_more) {
        uint32_t cap = m->cap_more ? m->cap_more + m->cap_more / 2 : 64;
        struct vc_text_key *v = cap < INT32_MAX ? realloc(m->more, cap * sizeof *v) : NULL;
        if (!v) return 0;
        m->more = v;
        m->cap_more = cap;
    }
    m->more[m->num_more++] = k;
    return m->num_base + m->num_more;
}

static bool text_map_put(struct vc_text_map *m, struct vc_text_key k, uint32_t ref, int32_t *old, uint64_t h) {
    int32_t have = vc_text_map_find_hashed(m, k.p, k.n, h);
    if (old) *old = have;
    if (have >= 0) return true;
    if (!text_map_grow(m)) return false;
    if (!ref) ref = text_map_own(m, k);
    if (!ref) return false;
    text_map_place(m, h, ref);
    m->n++;
    return true;
}

bool vc_text_map_add(struct vc_text_map *m, const char *p, size_t n, int32_t id, int32_t *old) {
    return text_map_put(m, (struct vc_text_key){ p, n, id }, 0, old, vc_text_hash(p, n));
}

static bool add_all(struct vc_text_map *m, const vc_str *keys, size_t n, bool table) {
    enum { AHEAD = 16 };
    uint64_t h[AHEAD] = { 0 };
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD && keys[i - AHEAD].n) {
            size_t at = i - AHEAD;
            struct vc_text_key k = { keys[at].p, keys[at].n, (int32_t)at };
            if (!text_map_put(m, k, table ? (uint32_t)at + 1 : 0, NULL, h[i % AHEAD])) return false;
        }
        if (i >= n) continue;
        h[i % AHEAD] = vc_text_hash(keys[i].p, keys[i].n);
        if (m->slot) VC_PREFETCH(&m->slot[vc_map_at(h[i % AHEAD], m->slots)]);
    }
    return true;
}

bool vc_text_map_add_all(struct vc_text_map *m, const vc_str *keys, size_t n) { return add_all(m, keys, n, false); }

bool vc_text_map_add_table(struct vc_text_map *m, const vc_str *keys, size_t n) {
    if (m->n || n > INT32_MAX) return false;
    m->base = keys;
    m->num_base = (uint32_t)n;
    return add_all(m, keys, n, true);
}

void vc_text_map_free(struct vc_text_map *m) {
    free(m->slot);
    free(m->more);
    *m = (struct vc_text_map){ 0 };
}

bool vc_pair_map_init(struct vc_pair_map *m, size_t n) {
    uint64_t k = slots_for(n);
    *m = (struct vc_pair_map){ .slot = k <= UINT32_MAX ? malloc(k * sizeof *m->slot) : NULL, .slots = k };
    if (m->slot) memset(m->slot, 0xFF, k * sizeof *m->slot);
    return m->slot != NULL;
}

void vc_pair_map_add(struct vc_pair_map *m, int32_t a, int32_t b, uint32_t rank, int32_t id, bool replace) {
    uint64_t i = vc_map_at(vc_pair_hash(a, b), m->slots);
    for (; m->slot[i].a >= 0; i = i + 1 < m->slots ? i + 1 : 0) {
        if (m->slot[i].a == a && m->slot[i].b == b) {
            if (replace) m->slot[i] = (struct vc_pair_slot){ a, b, rank, id };
            return;
        }
    }
    m->slot[i] = (struct vc_pair_slot){ a, b, rank, id };
    m->n++;
}

void vc_pair_map_free(struct vc_pair_map *m) {
    free(m->slot);
    *m = (struct vc_pair_map){ 0 };
}

static bool trie_grow(struct vc_trie *t) {
    uint64_t k = t->slot ? (t->mask + 1) * 2 : 64;
    struct vc_trie_slot *s = calloc(k, sizeof *s);
    if (!s) return false;
    for (uint64_t i = 0; t->slot && i <= t->mask; i++) {
        if (!t->slot[i].node) continue;
        uint64_t j = (t->slot[i].key * 0x9E3779B97F4A7C15u) >> 32 & (k - 1);
        while (s[j].node) j = (j + 1) & (k - 1);
        s[j] = t->slot[i];
    }
    free(t->slot);
    t->slot = s;
    t->mask = k - 1;
    return true;
}

/* A fresh node, 0 when memory or numbers run out. */
static uint32_t trie_node(struct vc_trie *t) {
    if (t->num_nodes + 1 >= t->cap_nodes) {
        uint32_t cap = t->cap_nodes ? t->cap_nodes * 2 : 64;
        int32_t *v = cap < 1u << 24 ? realloc(t->value, cap * sizeof *v) : NULL;
        if (!v) return 0;
        t->value = v;
        t->cap_nodes = cap;
    }
    uint32_t node = ++t->num_nodes;
    t->value[node] = -1;
    return node;
}

static uint32_t trie_child(struct vc_trie *t, uint32_t node, unsigned char c) {
    uint32_t next = vc_trie_step(t, node, c);
    if (next) return next;
    if ((uint64_t)(t->used + 1) * 2 > t->mask + 1 && !trie_grow(t)) return 0;
    next = trie_node(t);
    if (!next) return 0;
    uint32_t key = node << 8 | c;
    uint64_t i = (key * 0x9E3779B97F4A7C15u) >> 32 & t->mask;
    while (t->slot[i].node) i = (i + 1) & t->mask;
    t->slot[i] = (struct vc_trie_slot){ key, next };
    t->used++;
    return next;
}

bool vc_trie_add(struct vc_trie *t, const char *p, size_t n, int32_t value) {
    if (n == 0) return true;
    if (!t->slot && !trie_grow(t)) return false;
    uint32_t *first = &t->first[(unsigned char)p[0]];
    if (!*first) *first = trie_node(t);
    uint32_t node = *first;
    for (size_t i = 1; i < n && node; i++) node = trie_child(t, node, (unsigned char)p[i]);
    if (!node) return false;
    if (t->value[node] < 0) t->value[node] = value;
    if (n > t->max_len) t->max_len = (uint32_t)n;
    return true;
}

void vc_trie_free(struct vc_trie *t) {
    free(t->slot);
    free(t->value);
    *t = (struct vc_trie){ 0 };
}
