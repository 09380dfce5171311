/* SPDX-License-Identifier: Apache-2.0
 * The worker pool: every part runs once, barriers order writes, runs follow one another, the caller's FP state returns;
 * several pools share the threads of the process and take turns. */
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/cpu.h"
#include "base/cpu_list.h"
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

/* ---- several pools ---- */

/* Threads of this process with the workers' name. */
static uint32_t workers(void) {
    uint32_t n = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (!f) continue;
        if (fgets(name, sizeof name, f)) n += !strcmp(name, "vllmc-worker\n");
        fclose(f);
    }
    closedir(d);
    return n;
}

/* A thread that was joined may still be listed for a moment. */
static bool workers_are(uint32_t n) {
    for (int i = 0; i < 1000 && workers() != n; i++) nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    return workers() == n;
}

static void nothing(void *ctx, uint32_t part, uint32_t parts) { (void)ctx, (void)part, (void)parts; }

/* One set of threads, as many as the largest pool wants or as all want at once; it goes with the last pool. */
static void threads_are_shared(void **state) {
    (void)state;
    uint32_t all = vc_cpu_threads();
    struct vc_pool *p[4];
    vc_err err = VC_ERR_INIT;
    assert_true(workers_are(0));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vc_pool_new(&p[i], all, &err), VC_OK);
        vc_pool_run(p[i], nothing, NULL);                          /* threads have given themselves their name */
        assert_true(workers_are(all - 1));
    }
    assert_int_equal(vc_pool_new(&p[3], all + 3, &err), VC_OK);
    vc_pool_run(p[3], nothing, NULL);
    assert_true(workers_are(all + 2));
    for (int i = 0; i < 4; i++) vc_pool_del(p[i]);
    assert_true(workers_are(0));
}

/* Pools of 1, 1, all and all + 1 threads, used at once: runs have their parts and barriers, and those that are in a turn
 * at a time fit the processors together or are alone. */
enum { USERS = 4, TURNS = 200 };
static _Atomic uint32_t g_used;
struct user { pthread_t thread; struct vc_pool *pool; uint32_t threads, all; struct chain chain; bool crowded; };

static void check_room(struct user *u) {
    uint32_t mine = u->threads < u->all ? u->threads : u->all, used = atomic_fetch_add(&g_used, mine) + mine;
    if (used > u->all) u->crowded = true;
}

static void *use(void *arg) {
    struct user *u = arg;
    for (int i = 0; i < TURNS; i++) {
        vc_pool_take(u->pool);
        check_room(u);
        for (int run = 0; run < 2; run++) {
            memset(&u->chain, 0, sizeof u->chain);
            u->chain.pool = u->pool;
            u->chain.cell[0][0] = 1;
            vc_pool_run(u->pool, walk, &u->chain);
        }
        atomic_fetch_sub(&g_used, u->threads < u->all ? u->threads : u->all);
        vc_pool_give(u->pool);
    }
    return NULL;
}

static void turns(void **state) {
    (void)state;
    static struct user u[USERS];
    static struct chain want;
    uint32_t all = vc_cpu_threads();
    vc_err err = VC_ERR_INIT;
    for (int i = 0; i < USERS; i++) {
        u[i] = (struct user){ .threads = i < 2 ? 1 : i == 2 ? all : all + 1, .all = all };
        assert_int_equal(vc_pool_new(&u[i].pool, u[i].threads, &err), VC_OK);
    }
    want.cell[0][0] = 1;
    want.pool = u[0].pool;
    vc_pool_run(u[0].pool, walk, &want);
    for (int i = 0; i < USERS; i++) assert_int_equal(pthread_create(&u[i].thread, NULL, use, &u[i]), 0);
    for (int i = 0; i < USERS; i++) pthread_join(u[i].thread, NULL);
    for (int i = 0; i < USERS; i++) {
        assert_false(u[i].crowded);
        assert_memory_equal(u[i].chain.cell, want.cell, sizeof want.cell);
        vc_pool_del(u[i].pool);
    }
}

/* ---- processors ---- */

static void refused(const char *text, const char *says) {
    static struct vc_cpu_list l;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_cpu_list_read(&l, text, &err), VC_E_INVALID);
    if (!strstr(err.text, says)) print_error("%s: %s\n", text, err.text);
    assert_non_null(strstr(err.text, says));
}

static void lists(void **state) {
    (void)state;
    static struct vc_cpu_list all, l;
    struct vc_cpu_mask allowed;
    vc_err err = VC_ERR_INIT;
    assert_true(vc_thread_get_cpus(&allowed));
    assert_int_equal(vc_cpu_list_read(&all, "auto", &err), VC_OK);
    struct vc_cpu_mask m = vc_cpu_mask_of(&all);
    assert_memory_equal(&m, &allowed, sizeof m);
    static const char *const none[] = { NULL, "", "none" };
    for (int i = 0; i < 3; i++) {
        l.n = 7;
        assert_int_equal(vc_cpu_list_read(&l, none[i], &err), VC_OK);
        assert_int_equal(l.n, 0);
    }
    char text[64];
    snprintf(text, sizeof text, "%u-%u", all.cpu[0], all.cpu[0]);
    assert_int_equal(vc_cpu_list_read(&l, text, &err), VC_OK);
    assert_true(l.n == 1 && l.cpu[0] == all.cpu[0]);
    snprintf(text, sizeof text, "[%u]", all.cpu[0]);
    assert_int_equal(vc_cpu_list_read(&l, text, &err), VC_OK);
    assert_true(l.n == 1 && l.cpu[0] == all.cpu[0]);
    snprintf(text, sizeof text, "%u,%u", all.cpu[0], all.cpu[0]);
    refused(text, "named twice");
    if (!vc_cpu_mask_has(&allowed, 1023)) refused("1023", "may not use processor 1023");
    static const char *const wrong[] = { "x", "-1", ",0", "1024", "99999999999999999999", "[]", "auto,0", "1-0", "%u-", "%u,,1", "%u,", "%u ", "[%u", "%u]" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *at = strstr(wrong[i], "%u");
        if (at) snprintf(text, sizeof text, "%.*s%u%s", (int)(at - wrong[i]), wrong[i], all.cpu[0], at + 2);
        refused(at ? text : wrong[i], "expected processors such as");
    }
}

struct where { struct vc_cpu_mask at[MAX]; };
static void look_where(void *ctx, uint32_t part, uint32_t parts) {
    struct where *w = ctx;
    (void)parts;
    if (!vc_thread_get_cpus(&w->at[part])) memset(&w->at[part], 0, sizeof w->at[part]);
}

static void assert_at(const struct vc_cpu_mask *m, uint32_t cpu) {
    struct vc_cpu_list l = { .n = 1, .cpu = { (uint16_t)cpu } };
    struct vc_cpu_mask want = vc_cpu_mask_of(&l);
    assert_memory_equal(m, &want, sizeof want);
}

/* In a turn each thread is bound to its processor; the caller is not, behind it. Pools on processors in common agree. */
static void bound(void **state) {
    (void)state;
    static struct vc_cpu_list all, some;
    static struct where w;
    struct vc_cpu_mask before, after;
    struct vc_pool *p, *q;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_cpu_list_read(&all, "auto", &err), VC_OK);
    all.n = all.n < MAX ? all.n : MAX;
    some = all;
    some.n = 1;
    assert_true(vc_thread_get_cpus(&before));
    assert_int_equal(vc_pool_new_on(&p, all.n + 1, &all, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "expected at most"));
    assert_int_equal(vc_pool_new_on(&p, all.n, &all, &err), VC_OK);
    assert_int_equal(vc_pool_new_on(&q, all.n, &all, &err), VC_OK);
    for (int i = 0; i < 4; i++) {
        vc_pool_run(i % 2 ? q : p, look_where, &w);
        for (uint32_t k = 0; k < all.n; k++) assert_at(&w.at[k], all.cpu[k]);
        assert_true(vc_thread_get_cpus(&after));
        assert_memory_equal(&before, &after, sizeof before);
    }
    vc_pool_del(q);
    if (all.n > 1) {
        assert_int_equal(vc_pool_new_on(&q, 1, &some, &err), VC_E_INVALID);
        assert_non_null(strstr(err.text, "expected the same processors"));
        vc_pool_del(p);
        assert_int_equal(vc_pool_new_on(&p, 1, &some, &err), VC_OK);
        some.cpu[0] = all.cpu[1];
        assert_int_equal(vc_pool_new_on(&q, 1, &some, &err), VC_OK);
        vc_pool_take(p);
        vc_pool_run(q, look_where, &w);                            /* another crew: waits for nobody */
        vc_pool_give(p);
        assert_at(&w.at[0], all.cpu[1]);
        vc_pool_del(q);
    } else {
        vc_left_out("pools on other processors: there is one");
    }
    vc_pool_del(p);
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(parts_and_barriers), cmocka_unit_test(units_follow_one_another), cmocka_unit_test(refuses_none), cmocka_unit_test(threads_are_shared),
                                        cmocka_unit_test(turns), cmocka_unit_test(lists), cmocka_unit_test(bound), cmocka_unit_test(shares) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
