/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sched_seq.h"

#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"

const char *vc_finish_name(enum vc_finish f) {
    static const char *const names[] = { NULL, "stop", "length", "abort", "error", "repetition" };
    return names[f];
}

/* Reserves n bytes at a multiple of 16 in a block whose size is *at so far. */
static size_t carve(size_t *at, size_t n) {
    size_t o = (*at + 15) / 16 * 16;
    *at = o + n;
    return o;
}

static vc_status check(const struct vc_seq_params *p, uint32_t max_model_len, vc_err *err) {
    if (p->num_prompt == 0) return vc_fail(err, VC_E_INVALID, "prompt: empty, expected at least one token");
    if (p->flags & VC_SEQ_NO_OUTPUT) max_model_len++;                     /* no room for an output is needed */
    if (p->num_prompt >= max_model_len)
        return vc_fail(err, VC_E_TOO_LONG,
                       "prompt: %u tokens, but max_model_len is %u and at least one token must be generated",
                       p->num_prompt, max_model_len);
    for (uint32_t i = 0; i < p->num_prompt; i++)
        if (p->prompt[i] < 0)
            return vc_fail(err, VC_E_INVALID, "prompt: token %u is %d, expected an id from 0", i, p->prompt[i]);
    return VC_OK;
}

vc_status vc_seq_new(struct vc_seq **out, const struct vc_seq_params *p, const struct vc_sched_config *c,
                     uint32_t num_groups, vc_err *err) {
    *out = NULL;
    VC_TRY(check(p, c->max_model_len, err));
    uint32_t room = p->flags & VC_SEQ_NO_OUTPUT ? 0 : c->max_model_len - p->num_prompt;
    uint32_t outputs = p->max_tokens && p->max_tokens < room ? p->max_tokens : room;
    uint32_t cap = p->num_prompt + outputs, blocks = (uint32_t)vc_div_up(cap, c->block_size);
    size_t salt_len = p->cache_salt ? strlen(p->cache_salt) + 1 : 0;
    bool hashes = c->prefix_caching && !(p->flags & VC_SEQ_NO_CACHE);

    size_t bytes = sizeof(struct vc_seq);
    size_t o_tokens = carve(&bytes, cap * sizeof(int32_t));
    size_t o_blocks = carve(&bytes, (size_t)num_groups * blocks * sizeof(uint32_t));
    size_t o_gone = carve(&bytes, num_groups * sizeof(uint32_t));
    size_t o_hashes = carve(&bytes, hashes ? blocks * sizeof(struct vc_block_hash) : 0);
    size_t o_stops = carve(&bytes, p->num_stop_ids * sizeof(int32_t));
    size_t o_salt = carve(&bytes, salt_len);
    char *base = malloc(bytes);
    if (!base) return vc_fail(err, VC_E_NOMEM, "request: no memory for a sequence of %u tokens", cap);
    memset(base + o_gone, 0, num_groups * sizeof(uint32_t));
    memcpy(base + o_tokens, p->prompt, p->num_prompt * sizeof(int32_t));
    if (p->num_stop_ids) memcpy(base + o_stops, p->stop_ids, p->num_stop_ids * sizeof(int32_t));
    if (salt_len) memcpy(base + o_salt, p->cache_salt, salt_len);

    struct vc_seq *q = (struct vc_seq *)(void *)base;
    *q = (struct vc_seq){
        .id = p->id,
        .user = p->user,
        .tokens = (int32_t *)(void *)(base + o_tokens),
        .num_prompt = p->num_prompt,
        .num_tokens = p->num_prompt,
        .cap_tokens = cap,
        .max_tokens = outputs,
        .num_cached = -1,
        .stop_token = -1,
        .eos_token = p->eos_token,
        .priority = p->priority,
        .stop_ids = (int32_t *)(void *)(base + o_stops),
        .num_stop_ids = p->num_stop_ids,
        .repetition = p->repetition,
        .kv = { .blocks = (uint32_t *)(void *)(base + o_blocks),
                .gone = (uint32_t *)(void *)(base + o_gone),
                .cap_blocks = blocks,
                .hashes = hashes ? (struct vc_block_hash *)(void *)(base + o_hashes) : NULL,
                .flags = (p->flags & VC_SEQ_NO_CACHE ? VC_KV_NO_READ | VC_KV_NO_WRITE : 0u)
                         | (p->flags & VC_SEQ_NO_CACHE_READ ? VC_KV_NO_READ : 0u),
                .extra = { .cache_salt = salt_len ? base + o_salt : NULL } },
    };
    *out = q;
    return VC_OK;
}

void vc_seq_del(struct vc_seq *q) { free(q); }

/* Do the last `size` of n tokens stand there `count` times? count·size <= n. */
static bool repeats(const int32_t *end, uint32_t size, uint32_t count) {
    for (uint32_t i = 1; i <= size; i++)
        for (uint32_t k = 1; k < count; k++)
            if (end[-(int64_t)i] != end[-(int64_t)i - (int64_t)k * size]) return false;
    return true;
}

/* vLLM's check_sequence_repetition: outputs only, every size from the least up. */
static bool repetition(const struct vc_seq *q) {
    const struct vc_seq_repetition *r = &q->repetition;
    if (!r->most || vc_seq_num_outputs(q) < r->after) return false;
    for (uint32_t size = r->least; size <= r->most; size++) {
        if ((uint64_t)size * r->count > vc_seq_num_outputs(q)) return false;
        if (repeats(q->tokens + q->num_tokens, size, r->count)) return true;
    }
    return false;
}

/* vLLM's check_stop: the end tokens before the lengths before repetition; min_tokens acts in the logits, and holds repetition back. */
enum vc_finish vc_seq_append(struct vc_seq *q, int32_t token) {
    q->tokens[q->num_tokens++] = token;
    if (q->eos_token >= 0 && token == q->eos_token) return VC_FINISH_STOP;
    for (uint32_t i = 0; i < q->num_stop_ids; i++) {
        if (q->stop_ids[i] != token) continue;
        q->stop_token = token;
        return VC_FINISH_STOP;
    }
    if (vc_seq_num_outputs(q) >= q->max_tokens) return VC_FINISH_LENGTH;
    return repetition(q) ? VC_FINISH_REPETITION : VC_FINISH_NONE;
}
