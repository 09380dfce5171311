/* SPDX-License-Identifier: Apache-2.0
 * The worker pool: every part runs once, barriers order writes, runs follow one another, the caller's FP state returns. */
#include "test.h"

#include "base/cpu.h"
#include "base/pool.h"

enum { MAX = 8, ROUNDS = 200 };
struct work { struct vc_pool *pool; uint32_t ran[MAX]; uint32_t stage[ROUNDS][MAX]; bool wrong; };

static void count(void *ctx, uint32_t part, uint32_t parts) {
    struct work *w = ctx;
    w->ran[part]++;
    (void)parts;
}

/* Each part writes its place of a round and, after the barrier, reads all places of it. */
static void rounds(void *ctx, uint32_t part, uint32_t parts) {
    struct work *w = ctx;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        w->stage[r][part] = r + 1;
        vc_pool_barrier(w->pool);
        for (uint32_t p = 0; p < parts; p++)
            if (w->stage[r][p] != r + 1) w->wrong = true;
    }
}

static void flushed(void *ctx, uint32_t part, uint32_t parts) {
    struct work *w = ctx;
    volatile float tiny = 1e-39f;
    w->ran[part] = tiny * 1.0f == 0.0f;
    (void)parts;
}

static void parts_and_barriers(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        struct work w = { 0 };
        vc_err err = VC_ERR_INIT;
        assert_int_equal(vc_pool_new(&w.pool, threads, &err), VC_OK);
        assert_int_equal(vc_pool_threads(w.pool), threads);
        for (int i = 0; i < 300; i++) vc_pool_run(w.pool, count, &w);
        for (uint32_t p = 0; p < threads; p++) assert_int_equal(w.ran[p], 300);
        vc_pool_run(w.pool, rounds, &w);
        assert_false(w.wrong);
        vc_pool_run(w.pool, flushed, &w);
        for (uint32_t p = 0; p < threads; p++) assert_int_equal(w.ran[p], 1);
        volatile float tiny = 1e-39f;
        assert_true(tiny * 1.0f != 0.0f);
        vc_pool_del(w.pool);
    }
}

/* Units: each index once, by anybody, and what one unit wrote the next one sees. */
enum { UNITS = 400, SHARES = 3 };
struct chain { struct vc_pool *pool; uint32_t unit; uint32_t cell[UNITS + 1][SHARES]; };
struct link { struct chain *c; uint32_t u; };
static void add_up(void *ctx, uint32_t i, uint32_t n) {
    struct link *l = ctx;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < n; k++) sum += l->c->cell[l->u][k];
    l->c->cell[l->u + 1][i] += sum % 1000 + i;                     /* += shows an index that ran twice */
}
static void walk(void *ctx, uint32_t part, uint32_t parts) {
    struct chain *c = ctx;
    (void)part;
    (void)parts;
    for (uint32_t u = 0; u < UNITS; u++) {
        struct link l = { c, u };
        vc_pool_unit(c->pool, u, SHARES, add_up, &l);
    }
}

static void units_follow_one_another(void **state) {
    (void)state;
    static struct chain one, many;
    vc_err err = VC_ERR_INIT;
    for (uint32_t threads = 1; threads <= 5; threads++)
        for (int again = 0; again < 5; again++) {
            struct chain *c = threads == 1 ? &one : &many;
            memset(c, 0, sizeof *c);
            c->cell[0][0] = 1;
            assert_int_equal(vc_pool_new(&c->pool, threads, &err), VC_OK);
            vc_pool_run(c->pool, walk, c);
            vc_pool_del(c->pool);
            assert_memory_equal(c->cell, one.cell, sizeof one.cell);
        }
}

static void refuses_none(void **state) {
    (void)state;
    struct vc_pool *p;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_pool_new(&p, 0, &err), VC_E_INVALID);
    assert_null(p);
}

static void shares(void **state) {
    (void)state;
    for (uint64_t n = 0; n < 70; n++)
        for (uint64_t unit = 1; unit < 20; unit += 3)
            for (uint32_t parts = 1; parts < 7; parts++) {
                uint64_t at = 0, lo, hi;
                for (uint32_t p = 0; p < parts; p++) {
                    vc_share(n, unit, p, parts, &lo, &hi);
                    assert_int_equal(lo, at);
                    assert_true(hi >= lo && (hi == n || hi % unit == 0));
                    at = hi;
                }
                assert_int_equal(at, n);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(parts_and_barriers), cmocka_unit_test(units_follow_one_another), cmocka_unit_test(refuses_none), cmocka_unit_test(shares) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
