/* SPDX-License-Identifier: Apache-2.0
 * The scheduler against traces of vLLM's, step by step: goldens scheduler/traces.json (its README explains the
 * keys). */
#include "test.h"

#include <jansson.h>
#include <math.h>

#include "run/sched.h"

enum { MAX_SEQS = 64 };

struct run {
    const char *scenario;
    size_t step;
    struct vc_sched *s;
    bool priority, caching;
    struct { const char *name; struct vc_seq *q; } seq[MAX_SEQS];   /* id = index; q NULL once deleted */
    uint32_t num_seqs;
    struct vc_sched_stats emitted;      /* at the last statistics that vLLM gave out */
    unsigned compared;
};

#define CHECK(r, cond)                                                                                      \
    do {                                                                                                    \
        (r)->compared++;                                                                                    \
        if (!(cond)) fail_msg("%s, step %zu: %s", (r)->scenario, (r)->step, #cond);                         \
    } while (0)

static int64_t num(const json_t *o, const char *key) { return json_integer_value(json_object_get(o, key)); }
static uint32_t u32(const json_t *o, const char *key) { return (uint32_t)num(o, key); }

static uint32_t find(const struct run *r, const char *name) {
    for (uint32_t i = 0; i < r->num_seqs; i++)
        if (!strcmp(r->seq[i].name, name)) return i;
    return MAX_SEQS;
}

static const char *name_of(const struct run *r, const struct vc_seq *q) { return r->seq[q->id].name; }

static void add(struct run *r, const json_t *req) {
    static int32_t prompt[65536], stops[16];
    uint32_t n = 0;
    const json_t *segs = json_object_get(req, "prompt"), *st = json_object_get(req, "stop_token_ids");
    for (size_t i = 0; i < json_array_size(segs); i++) {
        const json_t *seg = json_array_get(segs, i);
        int32_t start = (int32_t)json_integer_value(json_array_get(seg, 0));
        for (int32_t k = 0; k < (int32_t)json_integer_value(json_array_get(seg, 1)); k++) prompt[n++] = start + k;
    }
    for (size_t i = 0; i < json_array_size(st); i++) stops[i] = (int32_t)json_integer_value(json_array_get(st, i));
    const json_t *max = json_object_get(req, "max_tokens");
    struct vc_seq_params p = {
        .id = r->num_seqs, .prompt = prompt, .num_prompt = n, .max_tokens = max ? (uint32_t)json_integer_value(max) : 4,
        .eos_token = json_is_true(json_object_get(req, "ignore_eos")) ? -1 : 2,
        .stop_ids = stops, .num_stop_ids = (uint32_t)json_array_size(st), .priority = (int32_t)num(req, "priority"),
        .cache_salt = json_string_value(json_object_get(req, "cache_salt")),
    };
    vc_err err = VC_ERR_INIT;
    r->seq[r->num_seqs].name = json_string_value(json_object_get(req, "id"));
    if (vc_sched_add(r->s, &p, &r->seq[r->num_seqs].q, &err)) fail_msg("%s: %s", r->scenario, err.text);
    r->num_seqs++;
}

static void drop(struct run *r, struct vc_seq *q) {
    r->seq[q->id].q = NULL;
    vc_seq_del(q);
}

static void apply(struct run *r, const json_t *rec) {
    const json_t *ops = json_object_get(rec, "ops");
    for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i), *arg = json_array_get(op, 1);
        const char *kind = json_string_value(json_array_get(op, 0));
        if (!strcmp(kind, "add")) {
            add(r, arg);
        } else if (!strcmp(kind, "abort")) {
            for (size_t k = 0; k < json_array_size(arg); k++) {
                uint32_t id = find(r, json_string_value(json_array_get(arg, k)));
                if (id == MAX_SEQS || !r->seq[id].q) continue;
                CHECK(r, vc_sched_finish(r->s, r->seq[id].q, VC_FINISH_ABORT));
                CHECK(r, !vc_sched_finish(r->s, r->seq[id].q, VC_FINISH_ABORT));
                drop(r, r->seq[id].q);
            }
        } else {
            CHECK(r, vc_sched_reset_prefix_cache(r->s) == json_is_true(json_object_get(rec, "reset_ok")));
        }
    }
}

static bool blocks_are(const struct vc_seq *q, uint32_t from, const json_t *want) {
    if (q->kv.num_blocks - from != json_array_size(want)) return false;
    for (size_t i = 0; i < json_array_size(want); i++)
        if (q->kv.blocks[from + i] != (uint32_t)json_integer_value(json_array_get(want, i))) return false;
    return true;
}

/* The items that were never scheduled before, and the others, each in order. */
static void check_items(struct run *r, const struct vc_sched_step *st, const json_t *rec) {
    const json_t *fresh = json_object_get(rec, "new"), *cached = json_object_get(rec, "cached"),
                 *n = json_object_get(rec, "n");
    CHECK(r, st->num_items == json_object_size(n));
    void *at = json_object_iter((json_t *)(uintptr_t)n);
    size_t num_fresh = 0, num_cached = 0;
    uint32_t new_blocks = 0, tokens = 0;
    for (uint32_t i = 0; i < st->num_items; i++, at = json_object_iter_next((json_t *)(uintptr_t)n, at)) {
        const struct vc_sched_item *it = &st->items[i];
        CHECK(r, !strcmp(name_of(r, it->seq), json_object_iter_key(at)));
        CHECK(r, it->num_tokens == (uint32_t)json_integer_value(json_object_iter_value(at)));
        const json_t *w =
            it->flags & VC_ITEM_NEW ? json_array_get(fresh, num_fresh++) : json_array_get(cached, num_cached++);
        CHECK(r, w && !strcmp(name_of(r, it->seq), json_string_value(json_object_get(w, "id"))));
        CHECK(r, it->num_computed == u32(w, "computed"));
        CHECK(r, !!(it->flags & VC_ITEM_RESUMED) == json_is_true(json_object_get(w, "resumed")));
        if (it->flags & VC_ITEM_NEW) {
            CHECK(r, blocks_are(it->seq, 0, json_object_get(w, "blocks")));
        } else {
            CHECK(r, vc_seq_num_outputs(it->seq) == u32(w, "outputs"));
            CHECK(r, blocks_are(it->seq, it->flags & VC_ITEM_RESUMED ? 0 : it->first_new_block,
                                json_object_get(w, "new_blocks")));
        }
        for (uint32_t b = it->first_new_block; b < it->seq->kv.num_blocks; b++, new_blocks++)
            CHECK(r, st->new_blocks[new_blocks] == it->seq->kv.blocks[b]);
        tokens += it->num_tokens;
    }
    CHECK(r, num_fresh == json_array_size(fresh) && num_cached == json_array_size(cached));
    CHECK(r, new_blocks == st->num_new_blocks && tokens == st->num_tokens);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void check_lists(struct run *r, const struct vc_sched_step *st, const json_t *rec) {
    const json_t *pre = json_object_get(rec, "preempted"), *fin = json_object_get(rec, "finished_before");
    CHECK(r, st->num_preempted == json_array_size(pre));
    for (uint32_t i = 0; i < st->num_preempted; i++)
        CHECK(r, !strcmp(name_of(r, st->preempted[i]), json_string_value(json_array_get(pre, i))));
    CHECK(r, st->num_finished == json_array_size(fin));
    const char *names[MAX_SEQS];
    for (uint32_t i = 0; i < st->num_finished; i++) names[i] = r->seq[st->finished[i]].name;
    if (st->num_finished) qsort(names, st->num_finished, sizeof names[0], by_text);
    for (uint32_t i = 0; i < st->num_finished; i++)
        CHECK(r, !strcmp(names[i], json_string_value(json_array_get(fin, i))));
}

static bool list_has(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_array_get(list, i)), name)) return true;
    return false;
}

static void check_queues(struct run *r, const json_t *want) {
    struct vc_seq *q[MAX_SEQS];
    const json_t *w = json_object_get(want, "waiting"), *run = json_object_get(want, "running");
    uint32_t n = vc_sched_waiting(r->s, q, MAX_SEQS);
    CHECK(r, n == json_array_size(w));
    for (uint32_t i = 0; i < n; i++) {
        if (r->priority && i) CHECK(r, list_has(w, name_of(r, q[i])));
        else CHECK(r, !strcmp(name_of(r, q[i]), json_string_value(json_array_get(w, i))));
    }
    n = vc_sched_running(r->s, q, MAX_SEQS);
    CHECK(r, n == json_array_size(run));
    for (uint32_t i = 0; i < n; i++) CHECK(r, !strcmp(name_of(r, q[i]), json_string_value(json_array_get(run, i))));
    struct vc_sched_stats st;
    vc_sched_get_stats(r->s, &st);
    CHECK(r, st.free_blocks == u32(want, "free"));
}

static bool delta_is(const struct vc_prefix_stats *a, const struct vc_prefix_stats *b, int64_t req, int64_t queries,
                     int64_t hits) {
    return (int64_t)(a->requests - b->requests) == req && (int64_t)(a->queries - b->queries) == queries
           && (int64_t)(a->hits - b->hits) == hits;
}

static void check_stats(struct run *r, const json_t *want) {
    if (!want) return;
    struct vc_sched_stats st;
    vc_sched_get_stats(r->s, &st);
    CHECK(r, st.running == u32(want, "running"));
    CHECK(r, st.waiting == u32(want, "waiting"));
    CHECK(r, fabs(st.kv_usage - json_number_value(json_object_get(want, "usage"))) < 6e-7);
    CHECK(r, delta_is(&st.prefix, &r->emitted.prefix, num(want, "requests"), num(want, "queries"), num(want, "hits")));
    const json_t *p = json_object_get(want, "preempted");
    CHECK(r, delta_is(&st.prefix_resumed, &r->emitted.prefix_resumed, json_integer_value(json_array_get(p, 0)),
                      json_integer_value(json_array_get(p, 1)), json_integer_value(json_array_get(p, 2))));
    r->emitted = st;
}

static void check_done(struct run *r, struct vc_sched_done done, const json_t *want) {
    CHECK(r, done.n == json_array_size(want));
    for (uint32_t i = 0; i < done.n; i++) {
        const json_t *w = json_array_get(want, i), *stop = json_array_get(w, 2);
        struct vc_seq *q = done.seqs[i];
        CHECK(r, !strcmp(name_of(r, q), json_string_value(json_array_get(w, 0))));
        CHECK(r, !strcmp(vc_finish_name(q->finish), json_string_value(json_array_get(w, 1))));
        CHECK(r, q->stop_token == (json_is_null(stop) ? -1 : (int32_t)json_integer_value(stop)));
        drop(r, q);
    }
}

static void check_computed(struct run *r, const json_t *want) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < r->num_seqs; i++) {
        if (!r->seq[i].q) continue;
        const json_t *w = json_object_get(want, r->seq[i].name);
        CHECK(r, w && r->seq[i].q->num_computed == (uint32_t)json_integer_value(w));
        live++;
    }
    CHECK(r, live == json_object_size(want));
}

static void one_step(struct run *r, const json_t *rec) {
    apply(r, rec);
    const struct vc_sched_step *st = vc_sched_schedule(r->s);
    check_items(r, st, rec);
    check_lists(r, st, rec);
    check_queues(r, json_object_get(rec, "after_schedule"));
    const json_t *sampled = json_object_get(rec, "sampled");
    int32_t tok[MAX_SEQS];
    for (uint32_t i = 0; i < st->num_items; i++) {
        const json_t *t = json_object_get(sampled, name_of(r, st->items[i].seq));
        CHECK(r, st->items[i].samples == (t != NULL));
        tok[i] = t ? (int32_t)json_integer_value(t) : -1;
    }
    check_done(r, vc_sched_update(r->s, tok), json_object_get(rec, "finished"));
    check_stats(r, json_object_get(rec, "stats"));
    check_queues(r, json_object_get(rec, "after_update"));
    check_computed(r, json_object_get(rec, "computed"));
}

static unsigned scenario(const json_t *sc, size_t *steps) {
    const json_t *c = json_object_get(sc, "config"), *list = json_object_get(sc, "steps");
    struct run r = { .scenario = json_string_value(json_object_get(sc, "name")) };
    struct vc_sched_config cfg;
    vc_sched_config_init(&cfg);
    cfg.block_size = u32(c, "block_size");
    cfg.num_blocks = u32(c, "num_blocks");
    cfg.max_num_seqs = u32(c, "max_num_seqs");
    cfg.max_num_batched_tokens = u32(c, "max_num_batched_tokens");
    cfg.max_model_len = u32(c, "max_model_len");
    r.priority = !strcmp(json_string_value(json_object_get(c, "policy")), "priority");
    cfg.policy = r.priority ? VC_SCHED_PRIORITY : VC_SCHED_FCFS;
    cfg.prefix_caching = json_is_true(json_object_get(c, "prefix_caching"));
    cfg.chunked_prefill = json_is_true(json_object_get(c, "chunked_prefill"));
    cfg.reserve_full_isl = json_is_true(json_object_get(c, "reserve_full_isl"));
    cfg.long_prefill_token_threshold = u32(c, "long_prefill_token_threshold");
    cfg.watermark = json_number_value(json_object_get(c, "watermark"));
    cfg.hash_seed = "0";
    vc_err err = VC_ERR_INIT;
    if (vc_sched_new(&r.s, &cfg, &err)) fail_msg("%s: %s", r.scenario, err.text);
    for (r.step = 0; r.step < json_array_size(list); r.step++) one_step(&r, json_array_get(list, r.step));
    *steps += json_array_size(list);
    vc_sched_del(r.s);
    return r.compared;
}

static void traces(void **state) {
    (void)state;
    json_error_t e;
    const char *path = vc_golden("scheduler/traces.json");
    assert_non_null(path);
    json_t *root = json_load_file(path, 0, &e);
    assert_non_null(root);
    const json_t *list = json_object_get(root, "scenarios");
    size_t steps = 0, n = json_array_size(list);
    unsigned compared = 0;
    for (size_t i = 0; i < n; i++) compared += scenario(json_array_get(list, i), &steps);
    printf("scheduler traces: %zu scenarios, %zu steps, %u comparisons equal\n", n, steps, compared);
    assert_true(n > 0 && steps > 0);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(traces) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
