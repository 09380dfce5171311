/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compat.h"

enum { MAX_LOGPROB_IDS = 128, MAX_PATTERN = 4096 };

/* p is the first member: a vc_sampling * is a pointer to this. */
struct owned {
    struct vc_sampling p;
    struct vc_arena arena;   /* holds this struct and all its arrays */
};

#define RANGE(ok, ...)                                                                             \
    do {                                                                                           \
        if (!(ok)) return vc_fail(err, VC_E_INVALID, __VA_ARGS__);                                 \
    } while (0)

/* vLLM's ranges and sentences (SamplingParams._verify_args). Comparisons are written so that NaN fails. */
static vc_status check_scalars(const vc_sampling_params *p, const struct vc_sampling_limits *lim, vc_err *err) {
    RANGE(p->n >= 1, "n must be at least 1, got %u.", p->n);
    RANGE(p->presence_penalty >= -2 && p->presence_penalty <= 2, "presence_penalty must be in [-2, 2], got %g.",
          (double)p->presence_penalty);
    RANGE(p->frequency_penalty >= -2 && p->frequency_penalty <= 2, "frequency_penalty must be in [-2, 2], got %g.",
          (double)p->frequency_penalty);
    RANGE(p->repetition_penalty > 0 && isfinite(p->repetition_penalty),
          "repetition_penalty must be greater than zero, got %g.", (double)p->repetition_penalty);
    RANGE(p->temperature >= 0 && isfinite(p->temperature), "temperature must be non-negative, got %g.",
          (double)p->temperature);
    RANGE(p->top_p > 0 && p->top_p <= 1, "top_p must be in (0, 1], got %g.", (double)p->top_p);
    RANGE(p->top_k >= -1, "top_k must be 0 (disable), or at least 1, got %d.", p->top_k);
    RANGE(p->min_p >= 0 && p->min_p <= 1, "min_p must be in [0, 1], got %g.", (double)p->min_p);
    RANGE(!p->max_tokens || p->min_tokens <= p->max_tokens,
          "min_tokens must be less than or equal to max_tokens=%u, got %u.", p->max_tokens, p->min_tokens);
    RANGE(p->logprobs >= -1, "logprobs must be non-negative or -1, got %d.", p->logprobs);
    RANGE(p->logprobs <= (int64_t)lim->max_logprobs, "logprobs: %d is greater than max_logprobs, %u.", p->logprobs,
          lim->max_logprobs);
    RANGE(p->prompt_logprobs >= -1, "prompt_logprobs must be non-negative or -1, got %d.", p->prompt_logprobs);
    RANGE(p->prompt_logprobs <= (int64_t)lim->max_logprobs, "prompt_logprobs: %d is greater than max_logprobs, %u.",
          p->prompt_logprobs, lim->max_logprobs);
    RANGE(p->repetition_max_pattern <= MAX_PATTERN, "repetition_max_pattern must be at most %d, got %u.", MAX_PATTERN, p->repetition_max_pattern);
    RANGE(!p->repetition_max_pattern || p->repetition_min_count >= 2, "repetition_min_count must be at least 2, got %u.", p->repetition_min_count);
    RANGE(p->repetition_min_pattern <= p->repetition_max_pattern, "repetition_min_pattern, %u, is greater than repetition_max_pattern, %u.",
          p->repetition_min_pattern, p->repetition_max_pattern);
    RANGE(!p->num_stop || p->detokenize,
          "stop strings are only supported when detokenize is True. Set detokenize=True to use stop.");
    return VC_OK;
}

static bool in_vocab(int32_t id, const struct vc_sampling_limits *lim) {
    return id >= 0 && (uint32_t)id < lim->vocab_size;
}

static vc_status check_lists(const vc_sampling_params *p, const struct vc_sampling_limits *lim, vc_err *err) {
    const size_t most = 1u << 24;    /* entries of a list; keeps every count far inside 32 bits */
    RANGE(p->num_stop <= most, "stop: %zu strings, expected at most %zu.", p->num_stop, most);
    RANGE(p->num_stop_token_ids <= most, "stop_token_ids: %zu ids, expected at most %zu.", p->num_stop_token_ids, most);
    RANGE(p->num_bad_words <= most, "bad_words: %zu words, expected at most %zu.", p->num_bad_words, most);
    RANGE(p->num_allowed_token_ids <= most, "allowed_token_ids: %zu ids, expected at most %zu.",
          p->num_allowed_token_ids, most);
    RANGE(p->num_logit_bias <= most, "logit_bias: %zu entries, expected at most %zu.", p->num_logit_bias, most);
    RANGE((p->stop || !p->num_stop) && (p->stop_token_ids || !p->num_stop_token_ids)
              && (p->bad_words || !p->num_bad_words) && (p->allowed_token_ids || !p->num_allowed_token_ids)
              && (p->logit_bias || !p->num_logit_bias) && (p->logprob_token_ids || !p->num_logprob_token_ids),
          "sampling parameters: a list has a length but no entries (NULL)");
    for (size_t i = 0; i < p->num_stop; i++)
        RANGE(p->stop[i] && p->stop[i][0] && strlen(p->stop[i]) <= most,
              "stop cannot contain an empty string (index %zu).", i);
    RANGE(!p->allowed_token_ids || p->num_allowed_token_ids, "allowed_token_ids is not None and empty!");
    for (size_t i = 0; i < p->num_allowed_token_ids; i++)
        RANGE(in_vocab(p->allowed_token_ids[i], lim),
              "allowed_token_ids contains out-of-vocab token id %d. Vocabulary size: %u", p->allowed_token_ids[i],
              lim->vocab_size);
    RANGE(p->num_logprob_token_ids <= MAX_LOGPROB_IDS, "logprob_token_ids: %zu ids, expected at most %d.", p->num_logprob_token_ids, MAX_LOGPROB_IDS);
    RANGE(!p->num_logprob_token_ids || p->logprobs >= 0, "logprob_token_ids: logprobs must be asked for, too.");
    for (size_t i = 0; i < p->num_logprob_token_ids; i++)
        RANGE(in_vocab(p->logprob_token_ids[i], lim), "logprob_token_ids contains out-of-vocab token id %d. Vocabulary size: %u",
              p->logprob_token_ids[i], lim->vocab_size);
    for (size_t i = 0; i < p->num_logit_bias; i++) {
        RANGE(in_vocab(p->logit_bias[i].token, lim),
              "logit_bias contains out-of-vocab token id %d. Vocabulary size: %u", p->logit_bias[i].token,
              lim->vocab_size);
        RANGE(!isnan(p->logit_bias[i].bias), "logit_bias of token %d is not a number.", p->logit_bias[i].token);
    }
    for (size_t i = 0; i < p->num_bad_words; i++) {
        RANGE(p->bad_words[i].ids && p->bad_words[i].n && p->bad_words[i].n <= most,
              "bad_words cannot contain an empty word (index %zu).", i);
        for (size_t k = 0; k < p->bad_words[i].n; k++)
            RANGE(in_vocab(p->bad_words[i].ids[k], lim),
                  "bad_words contains out-of-vocab token id %d. Vocabulary size: %u", p->bad_words[i].ids[k],
                  lim->vocab_size);
    }
    return VC_OK;
}

static int by_id(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t sort_unique(int32_t *v, size_t n) {
    if (!n) return 0;
    qsort(v, n, sizeof *v, by_id);
    size_t k = 1;
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[k - 1]) v[k++] = v[i];
    return (uint32_t)k;
}

static int32_t *copy_ids(struct vc_arena *a, const int32_t *v, size_t n) {
    int32_t *c = VC_NEW_ARRAY(a, int32_t, n ? n : 1);
    if (c && n) memcpy(c, v, n * sizeof *c);
    return c;
}

/* Stop ids, and those that min_tokens holds back: they and the eos token, within the vocabulary. */
static void copy_stop_ids(struct owned *o, const vc_sampling_params *p, const struct vc_sampling_limits *lim) {
    struct vc_arena *a = &o->arena;
    struct vc_sampling *q = &o->p;
    uint32_t more = q->ignore_eos || lim->num_eos_ids < 2 ? 0 : lim->num_eos_ids - 1;
    size_t n = p->num_stop_token_ids;
    int32_t *ids = VC_NEW_ARRAY(a, int32_t, n + more + 1), *held = VC_NEW_ARRAY(a, int32_t, n + more + 1);
    if (!ids || !held) return;
    if (n) memcpy(ids, p->stop_token_ids, n * sizeof *ids);
    if (more) memcpy(ids + n, lim->eos_ids + 1, more * sizeof *ids);
    q->num_stop_ids = sort_unique(ids, n + more);
    q->stop_ids = ids;
    size_t k = 0;
    for (uint32_t i = 0; i < q->num_stop_ids; i++)
        if (in_vocab(ids[i], lim)) held[k++] = ids[i];
    if (q->eos_token >= 0 && in_vocab(q->eos_token, lim)) held[k++] = q->eos_token;
    q->num_min_ids = sort_unique(held, k);
    q->min_ids = held;
}

struct indexed { vc_logit_bias b; size_t at; };
static int by_token(const void *a, const void *b) {
    const struct indexed *x = a, *y = b;
    if (x->b.token != y->b.token) return x->b.token < y->b.token ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Sorted by token, the last of several for one token wins; values are limited to [-100, 100] as vLLM's
 * from_optional does. */
static vc_status copy_bias(struct owned *o, const vc_sampling_params *p, vc_err *err) {
    size_t n = p->num_logit_bias, k = 0;
    if (!n) return VC_OK;
    struct indexed *v = malloc(n * sizeof *v);
    vc_logit_bias *out = VC_NEW_ARRAY(&o->arena, vc_logit_bias, n);
    if (!v || !out) {
        free(v);
        return vc_fail(err, VC_E_NOMEM, "logit_bias: no memory for %zu entries", n);
    }
    for (size_t i = 0; i < n; i++) v[i] = (struct indexed){ p->logit_bias[i], i };
    qsort(v, n, sizeof *v, by_token);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && v[i + 1].b.token == v[i].b.token) continue;
        out[k++] = (vc_logit_bias){ v[i].b.token, fminf(100.0f, fmaxf(-100.0f, v[i].b.bias)) };
    }
    free(v);
    o->p.logit_bias = out;
    o->p.num_logit_bias = (uint32_t)k;
    return VC_OK;
}

static void copy_words(struct owned *o, const vc_sampling_params *p) {
    struct vc_arena *a = &o->arena;
    struct vc_bad_word *w = VC_NEW_ARRAY(a, struct vc_bad_word, p->num_bad_words + 1);
    for (size_t i = 0; w && i < p->num_bad_words; i++)
        w[i] = (struct vc_bad_word){ copy_ids(a, p->bad_words[i].ids, p->bad_words[i].n), (uint32_t)p->bad_words[i].n };
    const char **s = VC_NEW_ARRAY(a, const char *, p->num_stop + 1);
    uint32_t *len = VC_NEW_ARRAY(a, uint32_t, p->num_stop + 1);
    for (size_t i = 0; s && len && i < p->num_stop; i++) {
        s[i] = vc_arena_strdup(a, p->stop[i]);
        len[i] = (uint32_t)strlen(p->stop[i]);
    }
    o->p.bad_words = w;
    o->p.num_bad_words = (uint32_t)p->num_bad_words;
    o->p.stop = s;
    o->p.stop_len = len;
    o->p.num_stop = (uint32_t)p->num_stop;
}

/* SamplingParams' own clean-up: a tiny temperature is raised, greedy turns the filters off. */
static void copy_scalars(struct vc_sampling *q, const vc_sampling_params *p, const struct vc_sampling_limits *lim) {
    bool greedy = p->temperature == 0;
    *q = (struct vc_sampling){
        .n = p->n,
        .temperature = greedy || p->temperature >= 0.01f ? p->temperature : 0.01f,
        .top_p = greedy ? 1 : p->top_p,
        .min_p = greedy ? 0 : p->min_p,
        .top_k = greedy || p->top_k < 0 ? 0 : (uint32_t)p->top_k,
        .presence_penalty = p->presence_penalty,
        .frequency_penalty = p->frequency_penalty,
        .repetition_penalty = p->repetition_penalty,
        .penalties = p->presence_penalty != 0 || p->frequency_penalty != 0 || p->repetition_penalty != 1,
        .seed = p->seed,
        .has_seed = p->has_seed != 0,
        .max_tokens = p->max_tokens,
        .min_tokens = p->min_tokens,
        .ignore_eos = p->ignore_eos != 0,
        .eos_token = p->ignore_eos || !lim->num_eos_ids ? -1 : lim->eos_ids[0],
        .include_stop_str_in_output = p->include_stop_str_in_output != 0,
        .logprobs = p->num_logprob_token_ids ? (int32_t)p->num_logprob_token_ids : p->logprobs,
        .prompt_logprobs = p->prompt_logprobs,
        .skip_special_tokens = p->skip_special_tokens != 0,
        .detokenize = p->detokenize != 0,
        .margin = p->return_margin != 0,
        .repetition_most = p->repetition_max_pattern,
        .repetition_least = VC_MAX(p->repetition_min_pattern, 1u),
        .repetition_count = p->repetition_min_count,
    };
}

vc_status vc_sampling_new(struct vc_sampling **out, const vc_sampling_params *p,
                          const struct vc_sampling_limits *lim, vc_err *err) {
    *out = NULL;
    VC_TRY(check_scalars(p, lim, err));
    VC_TRY(check_lists(p, lim, err));
    struct vc_arena a = { 0 };
    struct owned *o = VC_NEW(&a, struct owned);
    if (!o) return vc_fail(err, VC_E_NOMEM, "sampling parameters: no memory");
    o->arena = a;
    copy_scalars(&o->p, p, lim);
    copy_stop_ids(o, p, lim);
    copy_words(o, p);
    int32_t *allowed = copy_ids(&o->arena, p->allowed_token_ids, p->num_allowed_token_ids);
    if (allowed) o->p.num_allowed_ids = sort_unique(allowed, p->num_allowed_token_ids);
    o->p.allowed_ids = allowed;
    o->p.logprob_ids = copy_ids(&o->arena, p->logprob_token_ids, p->num_logprob_token_ids);
    o->p.num_logprob_ids = (uint32_t)p->num_logprob_token_ids;
    vc_status s = copy_bias(o, p, err);
    if (!s && o->arena.failed) s = vc_fail(err, VC_E_NOMEM, "sampling parameters: no memory");
    if (s) {
        vc_sampling_del(&o->p);
        return s;
    }
    *out = &o->p;
    return VC_OK;
}

void vc_sampling_del(struct vc_sampling *p) {
    if (!p) return;
    struct vc_arena a = ((struct owned *)(void *)p)->arena;   /* it holds *p itself */
    vc_arena_free(&a);
}
