/* SPDX-License-Identifier: Apache-2.0
 * The same request gives the same bits: ids and log-probabilities, whoever else is in the batch, however the prompt was
 * cut, whatever the page size, number of threads, state of the prefix cache, preemption, instruction set, and fusion.
 * Prompts of 1 to 700 random ids, greedy and seeded at temperature 0.8, n = 2. The models of the reference set know 128
 * to 512 positions; they run with max_model_len 1024, since their rotary tables have no end.
 * --full runs every setting on the real model too, and combinations of settings on all. */
#include "same_bits.h"

#include <unistd.h>

#include "base/cpu.h"
#include "base/log.h"
#include "test.h"

static bool full;

static const struct sb_setting settings[] = {
    { .name = "1 neighbour", .neighbours = 1, .before = 1 },
    { .name = "7 neighbours, in the middle", .neighbours = 7, .before = 3 },
    { .name = "31 neighbours, last", .neighbours = 31, .before = 31 },
    { .name = "31 neighbours, first", .neighbours = 31 },
    { .name = "budget of 1 token", .budget = 1 },
    { .name = "budget of 7 tokens", .budget = 7 },
    { .name = "budget of 64 tokens", .budget = 64 },
    { .name = "pages of 32 tokens", .block = 32 },
    { .name = "pages of 128 tokens", .block = 128 },
    { .name = "2 threads", .threads = 2 },
    { .name = "3 threads", .threads = 3 },
    { .name = "prefix cache, cold", .cache = SB_COLD },
    { .name = "prefix cache, warm", .cache = SB_WARM },
    { .name = "prefix cache, half evicted", .cache = SB_HALF },
    { .name = "preempted", .preempt = 1 },
    { .name = "not fused", .no_fuse = 1 },
    { .name = "portable tier", .tier = "portable" },
    { .name = "AVX2 tier", .tier = "avx2" },
    { .name = "AVX-512 tier", .tier = "avx512" },
    { .name = "AVX-512 tier with BF16", .tier = "avx512bf16" },
};
/* Several things at once. */
static const struct sb_setting combined[] = {
    { .name = "31 neighbours, budget 64, 3 threads", .neighbours = 31, .before = 16, .budget = 64, .threads = 3 },
    { .name = "7 neighbours, budget 7, pages of 128, warm",
      .neighbours = 7,
      .before = 7,
      .budget = 7,
      .block = 128,
      .cache = SB_WARM },
    { .name = "portable, 2 threads, 7 neighbours, not fused",
      .neighbours = 7,
      .before = 2,
      .threads = 2,
      .no_fuse = 1,
      .tier = "portable" },
    { .name = "AVX2, 3 threads, preempted", .threads = 3, .preempt = 1, .tier = "avx2" },
};

static bool usable(const char *tier) {
    for (int t = 0; tier && t < VC_NUM_TIERS; t++)
        if (strcmp(tier, vc_tier_name((enum vc_tier)t)) == 0)
            return (vc_cpu_features() & vc_tier_needs((enum vc_tier)t)) == vc_tier_needs((enum vc_tier)t);
    return true;
}

struct subject {
    const char *name, *path, *numerics;
    uint32_t out;
    bool real;
};
enum { MAX_LEN = 1024, NUM_LENS = 5, MAX_REQUESTS = 2 * NUM_LENS };
static const uint32_t lens[NUM_LENS] = { 1, 5, 33, 200, 700 };

/* The short form takes two requests of the real model, and one of them where a setting is slow. */
static bool runs(const struct subject *x, const struct sb_setting *s, uint32_t len, uint32_t seeded) {
    if (full || !x->real) return true;
    bool slow = s && ((s->tier && strcmp(s->tier, "portable") == 0) || s->budget == 1 || s->cache == SB_HALF);
    return (len == 33 && seeded) || (len == 200 && !seeded && !slow);
}

static void same(const struct sb_result *a, const struct sb_result *b, const struct subject *x,
                 const struct sb_setting *s, const struct sb_request *r) {
    for (uint32_t c = 0; c < SB_CHOICES; c++) {
        if (a->num[c] != r->out || b->num[c] != r->out)
            fail_msg("%s, %s, prompt of %u: %u tokens instead of %u", x->name, s->name, r->len, b->num[c], r->out);
        for (uint32_t k = 0; k < r->out; k++)
            if (a->token[c][k] != b->token[c][k] ||
                memcmp(a->logprob[c][k], b->logprob[c][k], sizeof a->logprob[c][k]) != 0)
                fail_msg("%s, %s, prompt of %u, %s, choice %u: token %u is %d (%.9g), plainly %d (%.9g)", x->name,
                         s->name, r->len, r->seeded ? "seeded" : "greedy", c, k, b->token[c][k],
                         (double)b->logprob[c][k][0].logprob, a->token[c][k], (double)a->logprob[c][k][0].logprob);
    }
}

static void run(struct sb_model *m, const struct sb_request *r, struct sb_result *out, const struct subject *x) {
    vc_err err = VC_ERR_INIT;
    if (sb_run(m, r, out, &err) != VC_OK) fail_msg("%s, %s, prompt of %u: %s", x->name, m->s->name, r->len, err.text);
}

static void open_model(struct sb_model *m, uint32_t max_len, uint64_t kv, const struct subject *x) {
    vc_err err = VC_ERR_INIT;
    if (sb_open(m, max_len, kv, &err) != VC_OK) fail_msg("%s, %s: %s", x->name, m->s->name, err.text);
}

/* The cache holds the request and one page per group of each neighbour: these come first and grow, so that it must give
 * way. */
static void preempted(const struct subject *x, const struct sb_setting *s, const struct sb_request *reqs,
                      const struct sb_result *plain, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!runs(x, s, reqs[i].len, reqs[i].seeded)) continue;
        struct sb_model probe = { .path = x->path, .numerics = x->numerics, .s = s }, m = probe;
        struct sb_result got;
        uint32_t len = (reqs[i].len + reqs[i].out + 15) / 16 * 16;
        open_model(&probe, len, 0, x);
        uint64_t kv = sb_kv_bytes(&probe, len) + SB_CROWD * sb_kv_bytes(&probe, 16);
        vc_model_close(&probe.m);
        open_model(&m, len, kv, x);
        run(&m, &reqs[i], &got, x);
        if (got.preemptions == 0) fail_msg("%s, prompt of %u: nothing was preempted", x->name, reqs[i].len);
        same(&plain[i], &got, x, s, &reqs[i]);
        vc_model_close(&m.m);
    }
}

static void one_setting(const struct subject *x, const struct sb_setting *s, const struct sb_request *reqs,
                        const struct sb_result *plain, uint32_t n) {
    if (!usable(s->tier)) {
        printf("left out: %s (not on this CPU)\n", s->name);
        return;
    }
    if (s->preempt) {
        preempted(x, s, reqs, plain, n);
        return;
    }
    struct sb_model m = { .path = x->path, .numerics = x->numerics, .s = s };
    open_model(&m, MAX_LEN, 0, x);
    if (s->cache == SB_HALF) {
        uint64_t kv = sb_kv_bytes(&m, MAX_LEN);
        vc_model_close(&m.m);
        open_model(&m, MAX_LEN, kv, x);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sb_result got;
        if (!runs(x, s, reqs[i].len, reqs[i].seeded)) continue;
        run(&m, &reqs[i], &got, x);
        same(&plain[i], &got, x, s, &reqs[i]);
        uint32_t block = s->block ? s->block : 16;
        if (s->cache == SB_WARM && reqs[i].len > block && got.cached == 0)
            fail_msg("%s, %s, prompt of %u: the cache was not used", x->name, s->name, reqs[i].len);
        /* Where there are windows, the pages behind them go first, and no prefix depends on these. */
        if (s->cache == SB_HALF && reqs[i].len == 700 && (got.cached == 0 || (got.cached >= 688 && !sb_windows(&m))))
            fail_msg("%s: %u of 700 tokens came from the cache", x->name, got.cached);
    }
    vc_model_close(&m.m);
}

static void subject(const struct subject *x) {
    static struct sb_result plain[MAX_REQUESTS];
    struct sb_request reqs[MAX_REQUESTS];
    static const struct sb_setting alone = { .name = "alone" };
    struct sb_model m = { .path = x->path, .numerics = x->numerics, .s = &alone };
    uint32_t n = 0;
    for (uint32_t i = 0; i < MAX_REQUESTS; i++)
        if (runs(x, NULL, lens[i / 2], i % 2)) reqs[n++] = (struct sb_request){ lens[i / 2], i % 2, x->out };
    printf("---- %s, %u requests of %u tokens in two choices\n", x->name, n, x->out);
    open_model(&m, MAX_LEN, 0, x);
    for (uint32_t i = 0; i < n; i++) run(&m, &reqs[i], &plain[i], x);
    vc_model_close(&m.m);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) one_setting(x, &settings[i], reqs, plain, n);
    for (size_t i = 0; full && i < sizeof combined / sizeof *combined; i++)
        one_setting(x, &combined[i], reqs, plain, n);
}

static void toy_moe(void **state) {
    (void)state;
    const char *p = vc_golden("moe-gate/model");
    if (!p && vc_left_out("moe-gate")) skip();
    subject(&(struct subject){ "toy MoE, vllm", p, "vllm", 40, false });
    subject(&(struct subject){ "toy MoE, f32", p, "f32", 40, false });
    subject(&(struct subject){ "toy MoE, vllm-compiled", p, "vllm-compiled", 40, false });
}

static void gemma3(void **state) {
    (void)state;
    const char *p = vc_golden("models/gemma3");
    if (!p && vc_left_out("models/gemma3")) skip();
    subject(&(struct subject){ "gemma3, vllm", p, "vllm", 40, false });
    subject(&(struct subject){ "gemma3, f32", p, "f32", 40, false });
}

static void real_model(void **state) {
    (void)state;
    char path[1024];
    const char *dir = getenv("VLLMC_TEST_MODELS"), *home = getenv("HOME"), name[] = "SmolLM2-135M-Instruct.Q4_1.gguf";
    if (dir)
        snprintf(path, sizeof path, "%s/%s", dir, name);
    else
        snprintf(path, sizeof path, "%s/.cache/vllmc/models/%s", home ? home : "", name);
    if (access(path, R_OK) != 0 && vc_left_out(name)) skip();
    subject(&(struct subject){ "SmolLM2, gguf", path, "gguf", full ? 40u : 20u, true });
}

int main(int argc, char **argv) {
    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    vc_log_set(VC_LOG_WARN, NULL, NULL);
    const struct CMUnitTest tests[] = { cmocka_unit_test(toy_moe), cmocka_unit_test(gemma3),
                                        cmocka_unit_test(real_model) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
