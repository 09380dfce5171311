/* SPDX-License-Identifier: Apache-2.0
 * What the traces do not show: sequences outside the prefix cache, failures, refusals, and a long random run in which
 * the test plays the model, writing into every KV slot what belongs there and checking all that a step would read.
 * Allocations are counted by wrapping malloc, calloc and realloc at link time. */
#include "test.h"

#include "base/rng.h"
#include "run/sched.h"

static uint64_t allocations;
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n) { allocations++; return __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { allocations++; return __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { allocations++; return __real_realloc(p, n); }

static struct vc_sched *make_groups(uint32_t num_blocks, enum vc_sched_policy policy, const uint32_t *windows, uint32_t n) {
    struct vc_sched_config c;
    vc_sched_config_init(&c);
    c.num_blocks = num_blocks;
    c.num_groups = n;
    c.windows = windows;
    c.max_model_len = 1024;
    c.max_num_seqs = 16;
    c.max_num_batched_tokens = 256;
    c.policy = policy;
    struct vc_sched *s;
    vc_err err = VC_ERR_INIT;
    if (vc_sched_new(&s, &c, &err)) fail_msg("%s", err.text);
    return s;
}
static struct vc_sched *make(uint32_t num_blocks, enum vc_sched_policy policy) { return make_groups(num_blocks, policy, NULL, 0); }

static struct vc_seq *add(struct vc_sched *s, uint32_t n, uint32_t max_tokens, uint32_t flags) {
    int32_t p[1024];
    for (uint32_t i = 0; i < n; i++) p[i] = (int32_t)i;
    const struct vc_seq_params a = {
        .prompt = p, .num_prompt = n, .max_tokens = max_tokens, .eos_token = -1, .flags = flags
    };
    struct vc_seq *q;
    assert_int_equal(vc_sched_add(s, &a, &q, NULL), VC_OK);
    return q;
}

static void step(struct vc_sched *s) {
    int32_t tok[64];
    const struct vc_sched_step *st = vc_sched_schedule(s);
    for (uint32_t i = 0; i < st->num_items; i++) tok[i] = st->items[i].samples ? 7 : -1;
    vc_sched_update(s, tok);
}

/* Runs a sequence to its end; tokens that it found in the cache. */
static int32_t hits(struct vc_sched *s, uint32_t flags, enum vc_finish f) {
    struct vc_seq *q = add(s, 100, 3, flags);
    step(s);
    if (f != VC_FINISH_NONE) assert_true(vc_sched_finish(s, q, f));
    while (q->state != VC_SEQ_FINISHED) step(s);
    assert_true(vc_sched_idle(s));
    int32_t n = q->num_cached;
    vc_seq_del(q);
    return n;
}

static void cache_flags(void **state) {
    (void)state;
    struct vc_sched *s = make(65, VC_SCHED_FCFS);
    struct vc_sched_stats st;
    assert_int_equal(hits(s, VC_SEQ_NO_CACHE, VC_FINISH_NONE), 0);
    assert_int_equal(hits(s, 0, VC_FINISH_NONE), 0);                       /* the first did not feed it */
    assert_int_equal(hits(s, 0, VC_FINISH_NONE), 96);
    assert_int_equal(hits(s, VC_SEQ_NO_CACHE, VC_FINISH_NONE), 0);         /* nor reads it */
    vc_sched_get_stats(s, &st);
    assert_true(st.prefix.requests == 2 && st.prefix.hits == 96);          /* and is not counted */
    assert_true(vc_sched_reset_prefix_cache(s));
    assert_int_equal(hits(s, VC_SEQ_NO_CACHE_READ, VC_FINISH_NONE), 0);
    assert_int_equal(hits(s, VC_SEQ_NO_CACHE_READ, VC_FINISH_NONE), 0);
    assert_int_equal(hits(s, 0, VC_FINISH_NONE), 96);                      /* those two fed it */
    assert_true(vc_sched_reset_prefix_cache(s));
    assert_int_equal(hits(s, 0, VC_FINISH_ABORT), 0);                      /* aborted: its blocks stay */
    assert_int_equal(hits(s, 0, VC_FINISH_ERROR), 96);                     /* fails: its blocks leave the cache */
    assert_int_equal(hits(s, 0, VC_FINISH_NONE), 0);
    vc_sched_del(s);
}

static void refusals(void **state) {
    (void)state;
    struct vc_sched *s = make(9, VC_SCHED_FCFS);
    struct vc_seq *q;
    vc_err err = VC_ERR_INIT;
    int32_t p[1024] = { 0 };
    struct vc_seq_params a = { .prompt = p, .num_prompt = 0, .eos_token = -1 };
    assert_int_equal(vc_sched_add(s, &a, &q, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "prompt"));
    a.num_prompt = 1024;
    assert_int_equal(vc_sched_add(s, &a, &q, &err), VC_E_TOO_LONG);
    a.num_prompt = 3;
    p[2] = -5;
    assert_int_equal(vc_sched_add(s, &a, &q, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "-5"));
    assert_true(vc_sched_idle(s));
    /* 8 usable blocks of 16: 128 tokens are computed at most, one more can be sampled. */
    assert_true(vc_sched_fits(s, 128, 1));
    assert_false(vc_sched_fits(s, 128, 2));
    assert_false(vc_sched_fits(s, 129, 1));
    assert_true(vc_sched_fits(s, 1, 128));
    assert_false(vc_sched_fits(s, 1, 0));                                  /* up to max_model_len */
    assert_false(vc_sched_fits(s, 1024, 1));
    q = add(s, 128, 1, 0);
    step(s);
    assert_int_equal(q->finish, VC_FINISH_LENGTH);
    vc_seq_del(q);
    vc_sched_del(s);

    struct vc_sched_config c;
    vc_sched_config_init(&c);
    c.num_blocks = 65;
    c.max_model_len = 4096;
    c.chunked_prefill = false;
    assert_int_equal(vc_sched_new(&s, &c, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "max_num_batched_tokens"));
    c.chunked_prefill = true;
    c.num_blocks = 1;
    assert_int_equal(vc_sched_new(&s, &c, &err), VC_E_INVALID);
    c.num_blocks = 65;
    c.block_size = 0;
    assert_int_equal(vc_sched_new(&s, &c, &err), VC_E_INVALID);
}

/* A sequence that fails while its step runs: its token is dropped, the others' are not. */
static void fail_in_step(void **state) {
    (void)state;
    struct vc_sched *s = make(65, VC_SCHED_FCFS);
    struct vc_seq *a = add(s, 20, 5, VC_SEQ_NO_CACHE), *b = add(s, 20, 5, VC_SEQ_NO_CACHE);
    const struct vc_sched_step *st = vc_sched_schedule(s);
    assert_int_equal(st->num_items, 2);
    assert_true(vc_sched_finish(s, a, VC_FINISH_ERROR));
    const int32_t tok[2] = { 5, 6 };
    assert_int_equal(vc_sched_update(s, tok).n, 0);
    assert_true(vc_seq_num_outputs(a) == 0 && vc_seq_num_outputs(b) == 1 && b->tokens[20] == 6);
    assert_string_equal(vc_finish_name(a->finish), "error");
    st = vc_sched_schedule(s);
    assert_true(st->num_items == 1 && st->items[0].seq == b && st->num_finished == 1);
    vc_seq_del(a);
    vc_sched_del(s);
}

static struct vc_sched *make_small(uint32_t num_blocks, uint32_t budget, uint32_t threshold, double watermark) {
    struct vc_sched_config c;
    vc_sched_config_init(&c);
    c.num_blocks = num_blocks;
    c.max_model_len = 1024;
    c.max_num_batched_tokens = budget;
    c.long_prefill_token_threshold = threshold;
    c.watermark = watermark;
    c.policy = VC_SCHED_PRIORITY;
    c.reserve_full_isl = false;
    struct vc_sched *s;
    assert_int_equal(vc_sched_new(&s, &c, NULL), VC_OK);
    return s;
}

/* The chunk limit is ignored while only one sequence exists. */
static void threshold_alone(void **state) {
    (void)state;
    struct vc_sched *s = make_small(65, 256, 48, 0);
    add(s, 200, 4, VC_SEQ_NO_CACHE);
    assert_int_equal(vc_sched_schedule(s)->num_tokens, 200);
    const int32_t tok[1] = { 3 };
    vc_sched_update(s, tok);
    add(s, 200, 4, VC_SEQ_NO_CACHE);
    assert_int_equal(vc_sched_schedule(s)->num_tokens, 1 + 48);
    vc_sched_del(s);
}

/* The watermark (here 2 of 20 blocks) counts only beside running sequences: allocate_slots' has_scheduled_reqs. */
static void watermark_beside_others(void **state) {
    (void)state;
    struct vc_sched *s = make_small(20, 1024, 0, 0.1);
    struct vc_seq *a = add(s, 19 * 16, 1, VC_SEQ_NO_CACHE);
    step(s);
    assert_int_equal(a->finish, VC_FINISH_LENGTH);
    vc_seq_del(a);
    add(s, 5, 50, VC_SEQ_NO_CACHE);
    step(s);
    add(s, 17 * 16, 50, VC_SEQ_NO_CACHE);            /* 17 of 18 free ones */
    assert_int_equal(vc_sched_schedule(s)->num_items, 1);
    vc_sched_del(s);
}

/* Under priority the tokens of a sequence that was in the step already and is preempted go to the others. */
static void preempted_budget(void **state) {
    (void)state;
    struct vc_sched *s = make_small(4, 4, 0, 0);
    const int32_t p[40] = { 0 };
    struct vc_seq *a, *b, *c;
    const struct vc_seq_params pa = {
        .prompt = p, .num_prompt = 2, .eos_token = -1, .priority = 5, .flags = VC_SEQ_NO_CACHE
    };
    struct vc_seq_params pb = pa, pc = pa;
    pb.num_prompt = 14, pb.priority = 0;
    pc.num_prompt = 40, pc.priority = 1;
    assert_int_equal(vc_sched_add(s, &pa, &a, NULL), VC_OK);
    step(s);
    assert_int_equal(vc_sched_add(s, &pb, &b, NULL), VC_OK);
    assert_int_equal(vc_sched_add(s, &pc, &c, NULL), VC_OK);
    while (b->num_tokens < 17) step(s);
    const struct vc_sched_step *st = vc_sched_schedule(s);   /* b needs a second block, all three are taken */
    assert_true(st->num_preempted == 1 && st->preempted[0] == a);
    assert_true(st->num_items == 2 && st->items[0].seq == b && st->items[1].seq == c);
    assert_int_equal(st->num_tokens, 4);
    vc_sched_del(s);
}

/* ---- KV groups ---- */

/* One group of full attention and one whose tokens see 40 keys, in blocks of 16. */
static void windows_free(void **state) {
    (void)state;
    const uint32_t windows[2] = { 0, 40 };
    struct vc_sched *s = make_groups(65, VC_SCHED_FCFS, windows, 2);
    struct vc_seq *q = add(s, 100, 40, 0);
    struct vc_sched_stats st;
    step(s);
    vc_sched_get_stats(s, &st);
    assert_int_equal(st.free_blocks, 64 - 7 - 7);          /* the whole prompt in one step: nothing behind a window yet */
    step(s);                                               /* position 100 sees keys from 61 on: blocks 3 … 6 */
    vc_sched_get_stats(s, &st);
    assert_int_equal(st.free_blocks, 64 - 7 - 4);
    for (uint32_t b = 0; b < 7; b++) {
        assert_int_not_equal(vc_kv_row(&q->kv, 0)[b], 0);
        assert_int_equal(vc_kv_row(&q->kv, 1)[b] == 0, b < 3);
    }
    while (q->state != VC_SEQ_FINISHED) step(s);
    vc_seq_del(q);
    vc_sched_get_stats(s, &st);
    assert_int_equal(st.free_blocks, 64);
    /* What is behind the window is still found while nobody took its block; a hit then holds the window only. */
    q = add(s, 100, 2, 0);
    step(s);
    assert_int_equal(q->num_cached, 96);
    for (uint32_t b = 0; b < 6; b++) assert_int_equal(vc_kv_row(&q->kv, 1)[b] == 0, b < 3);    /* keys from 57 on */
    vc_sched_get_stats(s, &st);
    assert_int_equal(st.free_blocks, 64 - 7 - 4);
    assert_true(vc_sched_finish(s, q, VC_FINISH_ERROR));   /* takes all its blocks from the cache, given back or not */
    vc_seq_del(q);
    q = add(s, 100, 2, 0);
    step(s);
    assert_int_equal(q->num_cached, 0);
    assert_true(vc_sched_finish(s, q, VC_FINISH_ABORT));
    vc_seq_del(q);
    /* 16 of 64 blocks suffice where the window's group holds 40 + 256 tokens at most; 61 are the full group's. */
    assert_true(vc_sched_fits(s, 700, 1));
    assert_false(vc_sched_fits(s, 720, 1));
    vc_sched_del(s);
}

/* ---- random run ---- */
enum { SEQS = 40, BLOCKS = 40, MAX_BLOCKS = 80, SIZE = 16, STEPS = 4000 };
struct world {
    uint64_t slot[MAX_BLOCKS][SIZE];  /* what the model wrote: hash of all tokens up to there; 0 after zeroing */
    const uint32_t *windows;
    uint32_t groups;
    struct vc_seq *live[SEQS];
    uint64_t rng;
    unsigned preempted, resumed, shared, ended, gone;
};

static uint64_t prefix_hash(const struct vc_seq *q, uint32_t n) {
    uint64_t h = 1;
    for (uint32_t i = 0; i < n; i++) h = vc_mix64(h * 31 + (uint64_t)q->tokens[i] + 1);
    return h;
}

static void world_add(struct world *w, struct vc_sched *s, uint32_t at) {
    int32_t p[200];
    uint32_t n = 1 + vc_rng_below(&w->rng, 150), common = vc_rng_below(&w->rng, 4);   /* many share a beginning */
    for (uint32_t i = 0; i < n; i++) p[i] = i < 40 * common ? (int32_t)i : (int32_t)vc_rng_below(&w->rng, 3);
    const int32_t stop = 2;
    const struct vc_seq_params a = { .id = at,
                                     .prompt = p,
                                     .num_prompt = n,
                                     .max_tokens = 1 + vc_rng_below(&w->rng, 60),
                                     .eos_token = 1,
                                     .stop_ids = &stop,
                                     .num_stop_ids = 1,
                                     .priority = (int32_t)vc_rng_below(&w->rng, 3),
                                     .flags = vc_rng_below(&w->rng, 8) ? 0 : VC_SEQ_NO_CACHE };
    assert_int_equal(vc_sched_add(s, &a, &w->live[at], NULL), VC_OK);
}

/* The model: zero the fresh blocks, write this step's tokens, then read everything. */
static void world_model(struct world *w, const struct vc_sched_step *st, int32_t *tok) {
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < st->num_new_blocks; i++) memset(w->slot[st->new_blocks[i]], 0, sizeof w->slot[0]);
    for (uint32_t i = 0; i < st->num_items; i++) {
        const struct vc_sched_item *it = &st->items[i];
        assert_true(it->num_tokens > 0 && it->seq->num_computed == it->num_computed + it->num_tokens);
        assert_true(it->seq->num_computed <= it->seq->num_tokens
                    && it->seq->kv.num_blocks * SIZE >= it->seq->num_computed);
        for (uint32_t g = 0; g < w->groups; g++)
            for (uint32_t k = it->num_computed; k < it->seq->num_computed; k++) {
                uint64_t *slot = &w->slot[vc_kv_row(&it->seq->kv, g)[k / SIZE]][k % SIZE];
                assert_int_equal(*slot, 0);                   /* nobody else wrote here */
                *slot = prefix_hash(it->seq, k + 1) + g;
            }
        tokens += it->num_tokens;
        w->resumed += (it->flags & VC_ITEM_RESUMED) != 0;
        w->shared += (it->flags & VC_ITEM_NEW) && it->num_computed;
    }
    assert_true(tokens == st->num_tokens && tokens <= 256);
    for (uint32_t i = 0; i < st->num_items; i++) {
        const struct vc_seq *q = st->items[i].seq;
        for (uint32_t g = 0; g < w->groups; g++) {
            const uint32_t *row = vc_kv_row(&q->kv, g), window = w->windows ? w->windows[g] : 0, first = st->items[i].num_computed;
            uint32_t lo = window && first + 1 > window ? first + 1 - window : 0;
            for (uint32_t k = lo; k < q->num_computed; k++) {
                assert_int_not_equal(row[k / SIZE], 0);
                assert_true(w->slot[row[k / SIZE]][k % SIZE] == prefix_hash(q, k + 1) + g);
            }
            for (uint32_t b = 0; b < lo / SIZE; b++) assert_int_equal(row[b], 0);
            w->gone += lo / SIZE;
        }
        tok[i] = st->items[i].samples ? (vc_rng_below(&w->rng, 40) == 0 ? 1 + (int32_t)vc_rng_below(&w->rng, 2) : 0)
                                      : -1;
    }
    w->preempted += st->num_preempted;
}

static void drop(struct world *w, struct vc_seq *q) {
    w->live[q->id] = NULL;
    w->ended++;
    vc_seq_del(q);
}

static void random_run(enum vc_sched_policy policy, uint32_t blocks, const uint32_t *windows, uint32_t groups) {
    static struct world w;
    memset(&w, 0, sizeof w);
    w.rng = 99 + policy;
    w.windows = windows;
    w.groups = windows ? groups : 1;
    struct vc_sched *s = make_groups(blocks, policy, windows, groups);
    for (uint32_t t = 0; t < STEPS || !vc_sched_idle(s); t++) {
        uint32_t at = vc_rng_below(&w.rng, SEQS);
        if (!w.live[at] && t < STEPS) {
            world_add(&w, s, at);
        } else if (w.live[at] && vc_rng_below(&w.rng, 20) == 0) {
            assert_true(vc_sched_finish(s, w.live[at], vc_rng_below(&w.rng, 2) ? VC_FINISH_ABORT : VC_FINISH_ERROR));
            drop(&w, w.live[at]);
        }
        int32_t tok[16];
        uint64_t before = allocations;
        const struct vc_sched_step *st = vc_sched_schedule(s);
        world_model(&w, st, tok);
        struct vc_sched_done d = vc_sched_update(s, tok);
        assert_int_equal(allocations, before);                /* neither schedule nor update allocates */
        for (uint32_t i = 0; i < d.n; i++) drop(&w, d.seqs[i]);
        assert_true(t < STEPS + 20000);
    }
    struct vc_sched_stats st;
    vc_sched_get_stats(s, &st);
    assert_int_equal(st.free_blocks, blocks - 1);
    assert_int_equal(st.preemptions, w.preempted);
    printf("%s, %u groups: %u ended, %u preempted, %u resumed, %u found a prefix, %u blocks behind windows\n",
           policy ? "priority" : "fcfs", w.groups, w.ended, w.preempted, w.resumed, w.shared, w.gone);
    assert_true(!windows || w.gone > 1000);
    bool roomy = windows && windows[0];            /* without a full group little is held, so few give way */
    assert_true(w.ended > 300 && w.preempted > (roomy ? 10 : 100) && w.resumed > (roomy ? 10 : 50) && w.shared > 50);
    assert_true(vc_sched_reset_prefix_cache(s));
    vc_sched_del(s);
}

/* How many of `tokens` come before the sequence ends by repetition; n: it does not. Expected values are those of vLLM's
 * check_sequence_repetition and the order of its check_stop. */
static uint32_t repeats_at(struct vc_seq_repetition r, const int32_t *tokens, uint32_t n) {
    struct vc_sched *s = make(16, VC_SCHED_FCFS);
    static const int32_t p[] = { 1, 2, 1, 2, 1, 2 };            /* of the prompt nothing counts */
    const struct vc_seq_params a = { .prompt = p, .num_prompt = 6, .max_tokens = 100, .eos_token = -1, .repetition = r };
    struct vc_seq *q;
    uint32_t i = 0;
    assert_int_equal(vc_sched_add(s, &a, &q, NULL), VC_OK);
    while (i < n && q->finish == VC_FINISH_NONE) {
        vc_sched_schedule(s);
        vc_sched_update(s, &tokens[i++]);
    }
    if (q->finish == VC_FINISH_NONE) i = n + 1, assert_true(vc_sched_finish(s, q, VC_FINISH_ABORT));
    else assert_int_equal(q->finish, VC_FINISH_REPETITION);
    vc_seq_del(q);
    vc_sched_del(s);
    return i;
}

static void repetition(void **state) {
    (void)state;
    static const int32_t two[] = { 1, 2, 1, 2, 1, 2, 3 }, same[] = { 9, 4, 4, 4, 4, 4 }, late[] = { 1, 2, 3, 1, 2, 3, 4, 2, 3, 1, 2, 3 };
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 2, 1, 3, 0 }, two, 7), 6);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 2, 2, 2, 0 }, two, 7), 4);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 1, 1, 3, 0 }, two, 7), 8);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 3, 1, 3, 0 }, same, 6), 4);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 3, 2, 2, 0 }, same, 6), 5);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 3, 1, 3, 6 }, same, 6), 6);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 3, 3, 2, 0 }, late, 12), 6);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 3, 3, 2, 7 }, late, 12), 13);
    assert_int_equal(repeats_at((struct vc_seq_repetition){ 0, 1, 0, 0 }, same, 6), 7);
}

static void random_fcfs(void **state) {
    (void)state;
    random_run(VC_SCHED_FCFS, BLOCKS, NULL, 0);
}
static void random_priority(void **state) {
    (void)state;
    random_run(VC_SCHED_PRIORITY, BLOCKS, NULL, 0);
}
static void random_windows(void **state) {
    (void)state;
    static const uint32_t mixed[4] = { 0, 50, 20, 20 }, only[2] = { 33, 17 };
    random_run(VC_SCHED_FCFS, MAX_BLOCKS, mixed, 4);
    random_run(VC_SCHED_PRIORITY, MAX_BLOCKS, mixed, 4);
    random_run(VC_SCHED_FCFS, 31, only, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(cache_flags),
                                        cmocka_unit_test(refusals),
                                        cmocka_unit_test(fail_in_step),
                                        cmocka_unit_test(threshold_alone),
                                        cmocka_unit_test(watermark_beside_others),
                                        cmocka_unit_test(preempted_budget),
                                        cmocka_unit_test(windows_free),
                                        cmocka_unit_test(repetition),
                                        cmocka_unit_test(random_windows),
                                        cmocka_unit_test(random_fcfs),
                                        cmocka_unit_test(random_priority) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
