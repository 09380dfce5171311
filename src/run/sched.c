/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"
#include "run/sched_queue.h"
#include "run/sched_seq.h"

/* A list of ids that is only grown by vc_sched_add. */
struct idlist { uint64_t *v; uint32_t n, cap; };

struct vc_sched {
    struct vc_sched_config c;
    struct vc_kv *kv;                  /* owned */
    uint32_t watermark_blocks;
    struct vc_waitq waiting;           /* its sequences are owned */
    struct vc_seq **running;           /* max_num_seqs; its sequences are owned */
    uint32_t num_running;
    uint64_t arrivals;
    struct vc_sched_item *items;       /* max_num_seqs */
    struct vc_seq **preempted, **done; /* max_num_seqs */
    uint32_t *new_blocks;              /* num_blocks */
    struct idlist ended, reported;     /* since the last schedule; those of the current step */
    struct vc_sched_step step;
    uint32_t num_items, num_preempted;
    struct vc_sched_stats stats;
};

void vc_sched_config_init(struct vc_sched_config *c) {
    *c = (struct vc_sched_config){ .block_size = 16,
                                    .max_num_seqs = 256,
                                    .max_num_batched_tokens = 2048,
                                    .policy = VC_SCHED_FCFS,
                                    .prefix_caching = true,
                                    .chunked_prefill = true,
                                    .reserve_full_isl = true };
}

static vc_status check(const struct vc_sched_config *c, vc_err *err) {
    if (c->max_num_seqs == 0) return vc_fail(err, VC_E_INVALID, "max_num_seqs: 0, expected at least 1");
    if (c->max_num_batched_tokens == 0)
        return vc_fail(err, VC_E_INVALID, "max_num_batched_tokens: 0, expected at least 1");
    if (c->max_model_len < 2 || c->max_model_len > INT32_MAX)
        return vc_fail(err, VC_E_INVALID, "max_model_len: %u, expected 2 to 2^31 - 1", c->max_model_len);
    if (!(c->watermark >= 0 && c->watermark < 1))
        return vc_fail(err, VC_E_INVALID, "watermark: %g, expected 0 <= watermark < 1", c->watermark);
    if (!c->chunked_prefill && c->max_num_batched_tokens < c->max_model_len)
        return vc_fail(err, VC_E_INVALID,
                       "max_num_batched_tokens: %u, without chunked prefill at least max_model_len (%u) is needed",
                       c->max_num_batched_tokens, c->max_model_len);
    return VC_OK;
}

vc_status vc_sched_new(struct vc_sched **out, const struct vc_sched_config *c, vc_err *err) {
    *out = NULL;
    VC_TRY(check(c, err));
    struct vc_sched *s = calloc(1, sizeof *s);
    if (!s) return vc_fail(err, VC_E_NOMEM, "scheduler: no memory");
    s->c = *c;
    s->c.hash_seed = NULL;   /* borrowed only for this call, as the windows */
    s->c.windows = NULL;
    s->waiting.policy = c->policy;
    const struct vc_kv_config k = { .block_size = c->block_size,
                                    .num_blocks = c->num_blocks,
                                    .num_groups = c->num_groups,
                                    .windows = c->windows,
                                    .chunk = c->max_num_batched_tokens,
                                    .prefix_caching = c->prefix_caching,
                                    .hash_algo = c->hash_algo,
                                    .hash_seed = c->hash_seed };
    vc_status st = vc_kv_new(&s->kv, &k, err);
    if (!st) {
        s->watermark_blocks = (uint32_t)(c->watermark * c->num_blocks);
        s->running = calloc(c->max_num_seqs, sizeof *s->running);
        s->items = calloc(c->max_num_seqs, sizeof *s->items);
        s->preempted = calloc(c->max_num_seqs, sizeof *s->preempted);
        s->done = calloc(c->max_num_seqs, sizeof *s->done);
        s->new_blocks = calloc(c->num_blocks, sizeof *s->new_blocks);
        if (!s->running || !s->items || !s->preempted || !s->done || !s->new_blocks)
            st = vc_fail(err, VC_E_NOMEM, "scheduler: no memory for %u sequences and %u blocks", c->max_num_seqs,
                         c->num_blocks);
    }
    if (st) {
        vc_sched_del(s);
        return st;
    }
    *out = s;
    return VC_OK;
}

void vc_sched_del(struct vc_sched *s) {
    if (!s) return;
    for (struct vc_seq *q; (q = vc_waitq_first(&s->waiting));) {
        vc_waitq_remove(&s->waiting, q);
        vc_seq_del(q);
    }
    for (uint32_t i = 0; i < s->num_running; i++) vc_seq_del(s->running[i]);
    vc_waitq_free(&s->waiting);
    vc_kv_del(s->kv);
    free(s->running);
    free(s->items);
    free(s->preempted);
    free(s->done);
    free(s->new_blocks);
    free(s->ended.v);
    free(s->reported.v);
    free(s);
}

bool vc_sched_fits(const struct vc_sched *s, uint32_t num_prompt, uint32_t max_tokens) {
    uint64_t total = max_tokens ? (uint64_t)num_prompt + max_tokens : s->c.max_model_len;
    if (total > s->c.max_model_len) total = s->c.max_model_len;
    if (num_prompt >= s->c.max_model_len) return false;
    return vc_kv_blocks_for(s->kv, total - 1) < s->c.num_blocks;   /* the last output is never computed */
}

bool vc_sched_fits_prompt(const struct vc_sched *s, uint32_t num_prompt) {
    return num_prompt <= s->c.max_model_len && vc_kv_blocks_for(s->kv, num_prompt) < s->c.num_blocks;
}

static bool idlist_reserve(struct idlist *l, uint64_t cap) {
    if (cap <= l->cap) return true;
    uint64_t n = l->cap ? l->cap : 64;
    while (n < cap) n *= 2;
    uint64_t *v = n > UINT32_MAX ? NULL : realloc(l->v, (size_t)n * sizeof *v);
    if (!v) return false;
    l->v = v;
    l->cap = (uint32_t)n;
    return true;
}

vc_status vc_sched_add(struct vc_sched *s, const struct vc_seq_params *p, struct vc_seq **out, vc_err *err) {
    *out = NULL;
    /* Every live sequence may wait, and may end before the next schedule. */
    uint64_t live = (uint64_t)s->waiting.n + s->num_running + 1;
    bool ok = live <= UINT32_MAX && vc_waitq_reserve(&s->waiting, (uint32_t)live)
              && idlist_reserve(&s->ended, s->ended.n + live) && idlist_reserve(&s->reported, s->ended.n + live);
    s->step.finished = s->reported.v;
    if (!ok) return vc_fail(err, VC_E_NOMEM, "scheduler: no memory for %llu sequences", (unsigned long long)live);
    struct vc_seq *q;
    VC_TRY(vc_seq_new(&q, p, &s->c, vc_kv_groups(s->kv), err));
    q->arrival = s->arrivals++;
    vc_waitq_add(&s->waiting, q);
    *out = q;
    return VC_OK;
}

/* Ends a sequence that is in no queue any more. */
static void end(struct vc_sched *s, struct vc_seq *q, enum vc_finish f) {
    if (f == VC_FINISH_ERROR) vc_kv_evict(s->kv, &q->kv);
    vc_kv_release(s->kv, &q->kv);
    q->state = VC_SEQ_FINISHED;
    q->finish = f;
    s->ended.v[s->ended.n++] = q->id;
}

static uint32_t running_index(const struct vc_sched *s, const struct vc_seq *q) {
    uint32_t i = 0;
    while (s->running[i] != q) i++;
    return i;
}

static void running_remove(struct vc_sched *s, uint32_t i) {
    s->num_running--;
    memmove(s->running + i, s->running + i + 1, (s->num_running - i) * sizeof *s->running);
}

bool vc_sched_finish(struct vc_sched *s, struct vc_seq *q, enum vc_finish f) {
    assert(f != VC_FINISH_NONE);
    if (q->state == VC_SEQ_FINISHED) return false;
    if (q->state == VC_SEQ_RUNNING) running_remove(s, running_index(s, q));
    else vc_waitq_remove(&s->waiting, q);
    end(s, q, f);
    return true;
}

static void preempt(struct vc_sched *s, struct vc_seq *q) {
    vc_kv_release(s->kv, &q->kv);
    q->state = VC_SEQ_PREEMPTED;
    q->num_computed = 0;
    q->num_preemptions++;
    s->stats.preemptions++;
    s->preempted[s->num_preempted++] = q;
    vc_waitq_put_back(&s->waiting, q);
}

/* What one pass over the queues works with. */
struct pass {
    uint32_t budget;       /* tokens left */
    uint32_t threshold;    /* largest chunk */
};

/* Takes the sequence that is to give way off the running list: the newest, or the last by priority, also when it is
 * in this step's items already. *i is the index of the sequence being scheduled. */
static struct vc_seq *victim(struct vc_sched *s, struct pass *p, uint32_t *i) {
    if (s->c.policy == VC_SCHED_FCFS) return s->running[--s->num_running];
    uint32_t v = 0;
    for (uint32_t k = 1; k < s->num_running; k++)
        if (vc_seq_sooner(s->running[v], s->running[k])) v = k;
    struct vc_seq *q = s->running[v];
    running_remove(s, v);
    if (v < *i) (*i)--;
    for (uint32_t k = 0; k < s->num_items; k++) {
        if (s->items[k].seq != q) continue;
        p->budget += s->items[k].num_tokens;
        s->num_items--;
        memmove(s->items + k, s->items + k + 1, (s->num_items - k) * sizeof *s->items);
        break;
    }
    return q;
}

static void add_item(struct vc_sched *s, struct pass *p, struct vc_seq *q, uint32_t n, uint32_t first_new,
                     uint32_t flags) {
    s->items[s->num_items++] = (struct vc_sched_item){ .seq = q,
                                                        .num_computed = q->num_computed,
                                                        .num_tokens = n,
                                                        .first_new_block = first_new,
                                                        .flags = flags,
                                                        .samples = q->num_computed + n == q->num_tokens };
    p->budget -= n;
}

static void schedule_running(struct vc_sched *s, struct pass *p) {
    for (uint32_t i = 0; i < s->num_running && p->budget;) {
        struct vc_seq *q = s->running[i];
        uint32_t n = q->num_tokens - q->num_computed;
        n = VC_MIN(VC_MIN(n, p->threshold), p->budget);
        if (n == 0) {
            i++;
            continue;
        }
        uint32_t had = q->kv.num_blocks;
        const struct vc_kv_need need = { .num_computed = q->num_computed, .num_slots = q->num_computed + n, .num_final = q->num_tokens };
        while (!vc_kv_allocate(s->kv, &q->kv, q->tokens, &need)) {
            struct vc_seq *v = victim(s, p, &i);
            preempt(s, v);
            if (v == q) return;
        }
        add_item(s, p, q, n, had, 0);
        i++;
    }
}

static void count_lookup(struct vc_sched *s, const struct vc_seq *q, uint32_t hit_tokens) {
    struct vc_prefix_stats *st = q->num_preemptions ? &s->stats.prefix_resumed : &s->stats.prefix;
    st->requests++;
    st->queries += q->num_tokens;
    st->hits += hit_tokens;
}

/* Admits the head of the waiting queue; false when it has to go on waiting. */
static bool admit(struct vc_sched *s, struct pass *p) {
    struct vc_seq *q = vc_waitq_first(&s->waiting);
    uint32_t hits = vc_kv_lookup(s->kv, &q->kv, q->tokens, q->num_tokens);
    uint32_t cached = hits * s->c.block_size;
    uint32_t n = VC_MIN(q->num_tokens - cached, p->threshold);
    if (!s->c.chunked_prefill && n > p->budget) return false;
    n = VC_MIN(n, p->budget);
    const struct vc_kv_need need = { .hits = hits, .num_slots = cached + n, .num_final = q->num_tokens,
                                     .full_tokens = s->c.reserve_full_isl ? q->num_tokens : 0,
                                     .spare = s->num_running ? s->watermark_blocks : 0 };
    if (!vc_kv_allocate(s->kv, &q->kv, q->tokens, &need)) return false;
    if (vc_kv_reads(s->kv, &q->kv)) count_lookup(s, q, cached);
    vc_waitq_remove(&s->waiting, q);
    s->running[s->num_running++] = q;
    q->num_computed = cached;
    if (q->num_cached < 0) q->num_cached = (int32_t)cached;
    add_item(s, p, q, n, hits, q->state == VC_SEQ_PREEMPTED ? VC_ITEM_RESUMED : VC_ITEM_NEW);
    q->state = VC_SEQ_RUNNING;
    return true;
}

/* The step's fields from the items; the tokens count as computed from here on. */
static void close_step(struct vc_sched *s) {
    struct vc_sched_step *st = &s->step;
    uint32_t blocks = 0, tokens = 0;
    for (uint32_t i = 0; i < s->num_items; i++) {
        const struct vc_sched_item *it = &s->items[i];
        struct vc_seq *q = it->seq;
        tokens += it->num_tokens;
        q->num_computed += it->num_tokens;
        for (uint32_t g = 0; g < vc_kv_groups(s->kv); g++)
            for (uint32_t b = it->first_new_block; b < q->kv.num_blocks; b++) s->new_blocks[blocks++] = vc_kv_row(&q->kv, g)[b];
    }
    if (s->ended.n) memcpy(s->reported.v, s->ended.v, s->ended.n * sizeof *s->ended.v);
    s->reported.n = s->ended.n;
    s->ended.n = 0;
    *st = (struct vc_sched_step){ .items = s->items, .num_items = s->num_items, .num_tokens = tokens,
                                  .preempted = s->preempted, .num_preempted = s->num_preempted,
                                  .finished = s->reported.v, .num_finished = s->reported.n,
                                  .new_blocks = s->new_blocks, .num_new_blocks = blocks };
}

const struct vc_sched_step *vc_sched_schedule(struct vc_sched *s) {
    struct pass p = { .budget = s->c.max_num_batched_tokens, .threshold = UINT32_MAX };
    if (s->c.long_prefill_token_threshold && s->num_running + s->waiting.n > 1)
        p.threshold = s->c.long_prefill_token_threshold;
    s->num_items = s->num_preempted = 0;
    schedule_running(s, &p);
    if (!s->num_preempted)
        while (s->waiting.n && p.budget && s->num_running < s->c.max_num_seqs && admit(s, &p)) {}
    close_step(s);
    s->stats.steps++;
    return &s->step;
}

struct vc_sched_done vc_sched_update(struct vc_sched *s, const int32_t *sampled) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->num_items; i++) {
        struct vc_seq *q = s->items[i].seq;
        if (sampled[i] < 0 || q->state != VC_SEQ_RUNNING) continue;   /* the second: ended from outside meanwhile */
        assert(s->items[i].samples);
        enum vc_finish f = vc_seq_append(q, sampled[i]);
        if (f == VC_FINISH_NONE) continue;
        end(s, q, f);
        s->done[n++] = q;
    }
    if (n) {
        uint32_t keep = 0;
        for (uint32_t i = 0; i < s->num_running; i++)
            if (s->running[i]->state == VC_SEQ_RUNNING) s->running[keep++] = s->running[i];
        s->num_running = keep;
    }
    s->num_items = 0;
    return (struct vc_sched_done){ s->done, n };
}

enum vc_finish vc_sched_extend(struct vc_sched *s, struct vc_seq *q, int32_t token) {
    assert(q->state == VC_SEQ_RUNNING && s->num_items == 0);
    enum vc_finish f = vc_seq_append(q, token);
    if (f == VC_FINISH_NONE) return f;
    running_remove(s, running_index(s, q));
    end(s, q, f);
    return f;
}

bool vc_sched_reset_prefix_cache(struct vc_sched *s) { return vc_kv_reset(s->kv); }
bool vc_sched_idle(const struct vc_sched *s) { return s->waiting.n + s->num_running == 0; }

void vc_sched_get_stats(const struct vc_sched *s, struct vc_sched_stats *out) {
    *out = s->stats;
    out->running = s->num_running;
    out->waiting = s->waiting.n;
    out->free_blocks = vc_kv_free_blocks(s->kv);
    out->kv_usage = vc_kv_usage(s->kv);
}

uint32_t vc_sched_waiting(const struct vc_sched *s, struct vc_seq **out, uint32_t cap) {
    return vc_waitq_list(&s->waiting, out, cap);
}

uint32_t vc_sched_running(const struct vc_sched *s, struct vc_seq **out, uint32_t cap) {
    for (uint32_t i = 0; i < s->num_running && i < cap; i++) out[i] = s->running[i];
    return s->num_running;
}
