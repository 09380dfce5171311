/* SPDX-License-Identifier: Apache-2.0
 * The block pool against a plain model of its rules: a list as the free queue, linear searches for hashes. */
#include "test.h"

#include "base/rng.h"
#include "kv/block_pool.h"

enum { N = 24, TABLES = 4 };

struct model {
    uint32_t queue[N], n;
    uint32_t refs[N];
    int key[N];              /* 0: none */
    uint64_t since[N], clock;
};

static struct vc_block_hash hash_of(int key) {
    struct vc_block_hash h = { { 0 } };
    h.b[0] = (uint8_t)(key % 3);   /* few buckets, so that chains are long */
    h.b[31] = (uint8_t)key;
    return h;
}

static void model_push(struct model *m, uint32_t at, uint32_t id) {
    memmove(m->queue + at + 1, m->queue + at, (m->n - at) * sizeof m->queue[0]);
    m->queue[at] = id;
    m->n++;
}

static void model_drop(struct model *m, uint32_t id) {
    uint32_t i = 0;
    while (m->queue[i] != id) i++;
    m->n--;
    memmove(m->queue + i, m->queue + i + 1, (m->n - i) * sizeof m->queue[0]);
}

static uint32_t model_find(const struct model *m, int key) {
    uint32_t best = VC_NO_BLOCK;
    for (uint32_t i = 1; i < N; i++)
        if (m->key[i] == key && (best == VC_NO_BLOCK || m->since[i] < m->since[best])) best = i;
    return best;
}

static void model_release(struct model *m, const uint32_t *ids, uint32_t n) {
    uint32_t front = 0;
    for (uint32_t i = n; i-- > 0;) {
        if (--m->refs[ids[i]]) continue;
        if (m->key[ids[i]]) model_push(m, m->n, ids[i]);
        else model_push(m, front++, ids[i]);
    }
}

static void same(const struct vc_blocks *p, const struct model *m) {
    assert_int_equal(vc_blocks_free_count(p), m->n);
    for (uint32_t i = 1; i < N; i++) {
        assert_int_equal(vc_blocks_refs(p, i), m->refs[i]);
        assert_int_equal(vc_blocks_hashed(p, i), m->key[i] != 0);
    }
    for (int k = 1; k <= 9; k++) {
        struct vc_block_hash h = hash_of(k);
        assert_int_equal(vc_blocks_find(p, 0, &h), model_find(m, k));
        assert_int_equal(vc_blocks_find(p, 1, &h), VC_NO_BLOCK);
    }
}

static void take_some(struct vc_blocks *p, struct model *m, uint64_t *rng, uint32_t *ids, uint32_t *n) {
    *n = vc_rng_below(rng, m->n + 1);
    if (*n > 8) *n = 8;
    vc_blocks_take(p, *n, ids);
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t id = m->queue[0];
        assert_int_equal(ids[i], id);
        model_drop(m, id);
        m->refs[id] = 1;
        m->key[id] = 0;
        if (vc_rng_below(rng, 3) == 0) continue;
        int k = 1 + (int)vc_rng_below(rng, 9);
        struct vc_block_hash h = hash_of(k);
        vc_blocks_set_hash(p, id, 0, &h);
        m->key[id] = k;
        m->since[id] = ++m->clock;
    }
}

static void random_walk(void **state) {
    (void)state;
    struct vc_blocks *p;
    assert_int_equal(vc_blocks_new(&p, N, NULL), VC_OK);
    struct model m = { .n = 0 };
    for (uint32_t i = 1; i < N; i++) m.queue[m.n++] = i;
    uint32_t table[TABLES][N], len[TABLES] = { 0 };
    uint64_t rng = 7;
    unsigned hits = 0;
    for (int step = 0; step < 20000; step++) {
        uint32_t t = vc_rng_below(&rng, TABLES);
        if (len[t]) {
            vc_blocks_release(p, table[t], len[t]);
            model_release(&m, table[t], len[t]);
            len[t] = 0;
        } else if (vc_rng_below(&rng, 4) == 0) {
            uint32_t id = model_find(&m, 1 + (int)vc_rng_below(&rng, 9));
            if (id == VC_NO_BLOCK) continue;
            if (m.refs[id]++ == 0) model_drop(&m, id);
            vc_blocks_touch(p, &id, 1);
            table[t][0] = id;
            len[t] = 1;
            hits++;
        } else if (vc_rng_below(&rng, 10) == 0) {
            uint32_t id = 1 + vc_rng_below(&rng, N - 1);
            vc_blocks_unhash(p, id);
            m.key[id] = 0;
        } else {
            take_some(p, &m, &rng, table[t], &len[t]);
        }
        same(p, &m);
    }
    assert_true(hits > 500);
    assert_int_equal(vc_blocks_reset_hashes(p), m.n == N - 1);
    for (uint32_t t = 0; t < TABLES; t++) vc_blocks_release(p, table[t], len[t]);
    assert_true(vc_blocks_reset_hashes(p));
    for (int k = 1; k <= 9; k++) {
        struct vc_block_hash h = hash_of(k);
        assert_int_equal(vc_blocks_find(p, 0, &h), VC_NO_BLOCK);
    }
    vc_blocks_del(p);
}

static void sizes(void **state) {
    (void)state;
    struct vc_blocks *p;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_blocks_new(&p, 1, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "num_blocks"));
    assert_null(p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_walk), cmocka_unit_test(sizes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
