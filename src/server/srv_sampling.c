/* SPDX-License-Identifier: Apache-2.0
 * srv_sampling.c: fields to sampling parameters, with the ranges and sentences of vLLM's SamplingParams. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"
#include "server/srv_gen.h"

enum { MAX_N = 1024, MAX_STOPS = 256, MAX_BAD_WORDS = 4096, MAX_LOGPROB_IDS = 128, MAX_PATTERN = 4096 };

/* A number as Python prints it: 1.0, -0.5, 1e+20. */
static void py_float(double v, char *dst, size_t cap) {
    struct vc_buf b = { 0 };
    vc_json_add_f64(&b, v);
    snprintf(dst, cap, "%s%s", b.p ? b.p : "0", b.p && strspn(b.p, "-0123456789") == b.n ? ".0" : "");
    vc_buf_free(&b);
}

/* One row per number: where it goes, and what vLLM says outside of its range (fields.def); `above` beyond the greatest
 * value, where that is another sentence. */
static const struct num { enum srv_field_id id; size_t at; const char *sentence, *above; bool has_param; } nums[] = {
#define AT(field) offsetof(vc_sampling_params, field)
    { SRV_F_PRESENCE_PENALTY, AT(presence_penalty), "presence_penalty must be in [-2, 2], got %s.", NULL, false },
    { SRV_F_FREQUENCY_PENALTY, AT(frequency_penalty), "frequency_penalty must be in [-2, 2], got %s.", NULL, false },
    { SRV_F_REPETITION_PENALTY, AT(repetition_penalty), "repetition_penalty must be greater than zero, got %s.", NULL,
      false },
    { SRV_F_TEMPERATURE, AT(temperature), "temperature must be non-negative, got %s.",
      "temperature must be in [0, 2], got %s.", true },
    { SRV_F_TOP_P, AT(top_p), "top_p must be in (0, 1], got %s.", NULL, true },
    { SRV_F_MIN_P, AT(min_p), "min_p must be in [0, 1], got %s.", NULL, false },
#undef AT
};

static bool read_nums(struct srv_gen *g) {
    for (size_t i = 0; i < VC_ARRAY_LEN(nums); i++) {
        const struct num *n = &nums[i];
        const struct srv_value *v = &g->f.v[n->id];
        const struct srv_field *row = &srv_field_rows[n->id];
        char shown[40], text[160];
        if (!v->given) continue;
        double min = (double)row->min, max = (double)row->max;
        bool enough = (row->flags & SRV_ABOVE) ? v->f > min : v->f >= min;
        if (!enough || v->f > max || !isfinite(v->f)) {
            py_float(v->f, shown, sizeof shown);
            snprintf(text, sizeof text, enough && n->above ? n->above : n->sentence, shown);
            if (!n->has_param) return srv_refuse(g->call, NULL, "%s", text);
            return srv_refuse(g->call, row->name, "%s (parameter=%s, value=%s)", text, row->name, shown);
        }
        *(float *)(void *)((char *)&g->rp.sampling + n->at) = (float)v->f;
    }
    return true;
}

/* An integer field into 32 bits; vLLM's sentence if it is below `low`. */
static bool read_i32(struct srv_gen *g, enum srv_field_id id, int64_t low, const char *sentence, const char *param,
                     int64_t *out) {
    const struct srv_value *v = &g->f.v[id];
    if (!v->given) return true;
    if (v->i < low) {
        srv_error(g->call, 400, NULL, param, sentence, (long long)v->i, (long long)v->i);
        return false;
    }
    *out = v->i < INT32_MAX ? v->i : INT32_MAX;
    return true;
}

static bool check_logprobs(struct srv_gen *g, int64_t k, const char *kind, const char *param) {
    const vc_model_params *m = &g->call->model->p->params;
    int64_t most = m->max_logprobs < 0 ? (int64_t)g->call->model->info.vocab_size : m->max_logprobs;
    if (k <= most) return true;
    return srv_refuse(g->call, param,
                      "Requested %s logprobs of %lld, which is greater than max allowed: %lld "
                      "(parameter=%s, value=%lld)",
                      kind, (long long)k, (long long)most, param, (long long)k);
}

/* -1 means the whole vocabulary. */
static int32_t all_or(const struct srv_gen *g, int64_t k) {
    return (int32_t)(k < 0 ? g->call->model->info.vocab_size : k);
}

/* May a request ask for k of them, the whole vocabulary included? */
static bool logprobs_allowed(struct srv_gen *g, int64_t k, const char *kind, const char *param) {
    if (k == -1 && !check_logprobs(g, g->call->model->info.vocab_size, kind, param)) return false;
    return check_logprobs(g, k, kind, param);
}

static bool read_text_logprobs(struct srv_gen *g) {
    vc_sampling_params *p = &g->rp.sampling;
    const struct srv_value *v = &g->f.v[SRV_F_LOGPROBS];
    if (v->given) {
        if (v->i < -1)
            return srv_refuse(g->call, "logprobs",
                              "`logprobs` must be a positive value or -1. (parameter=logprobs, value=%lld)",
                              (long long)v->i);
        if (!logprobs_allowed(g, v->i, "sample", "logprobs")) return false;
        p->logprobs = all_or(g, v->i);
        g->logprobs = true;
        if (g->echo) p->prompt_logprobs = p->logprobs;
    }
    return true;
}

static bool read_chat_logprobs(struct srv_gen *g) {
    vc_sampling_params *p = &g->rp.sampling;
    const struct srv_value *v = &g->f.v[SRV_F_TOP_LOGPROBS];
    bool on = g->f.v[SRV_F_CHAT_LOGPROBS].b;
    if (v->given && v->i != 0) {
        if (v->i < -1)
            return srv_refuse_field(g->call, "top_logprobs", "`top_logprobs` must be a positive value or -1.");
        if (!on)
            return srv_refuse_field(g->call, "top_logprobs",
                                    "when using `top_logprobs`, `logprobs` must be set to true.");
        if (!logprobs_allowed(g, v->i, "sample", "logprobs")) return false;
        g->top_logprobs = all_or(g, v->i);
    }
    if (on) {
        p->logprobs = g->top_logprobs;
        g->logprobs = true;
    }
    if (g->echo && on) p->prompt_logprobs = g->top_logprobs;
    else if (g->echo) p->prompt_logprobs = 0;
    return true;
}

static bool read_prompt_logprobs(struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_PROMPT_LOGPROBS];
    if (!v->given) return true;
    if (g->stream)
        return srv_refuse_field(g->call, "prompt_logprobs", "`prompt_logprobs` are not available when `stream=True`.");
    if (v->i < -1)
        return srv_refuse_field(g->call, "prompt_logprobs", "`prompt_logprobs` must be a positive value or -1.");
    if (!logprobs_allowed(g, v->i, "prompt", "prompt_logprobs")) return false;
    g->rp.sampling.prompt_logprobs = all_or(g, v->i);
    return true;
}

/* The n best of best_of answers: all are made, and their mean log-probabilities compared (srv_output.c). */
static bool read_best_of(struct srv_gen *g, enum srv_body_kind where, int64_t *n) {
    const struct srv_value *best = &g->f.v[SRV_F_BEST_OF];
    if (!best->given || best->i == *n) return true;
    if (where != SRV_BODY_TEXT)
        return srv_refuse_field(g->call, "best_of",
                                "best_of is only supported when it equals n, but in /v1/completions.");
    if (g->stream)
        return srv_refuse_field(g->call, "best_of",
                                "best_of cannot be used with stream: the best answers are known at the end.");
    if (best->i < *n || best->i > MAX_N)
        return srv_refuse_field(g->call, "best_of", "best_of must be in [n, %d], got %lld.", MAX_N, (long long)best->i);
    *n = best->i;
    if (g->rp.sampling.logprobs < 0) g->rp.sampling.logprobs = 0;
    return true;
}

static bool read_ints(struct srv_gen *g, enum srv_body_kind where) {
    vc_sampling_params *p = &g->rp.sampling;
    int64_t n = p->n, top_k = p->top_k, min_tokens = 0, priority = 0;
    if (!read_i32(g, SRV_F_N, 1, "n must be at least 1, got %lld.", NULL, &n)) return false;
    if (n > MAX_N) return srv_refuse(g->call, NULL, "n must be at most %d, got %lld.", MAX_N, (long long)n);
    g->num_shown = (uint32_t)n;
    if (!read_best_of(g, where, &n)) return false;
    if (!read_i32(g, SRV_F_TOP_K, -1, "top_k must be 0 (disable), or at least 1, got %lld.", NULL, &top_k) ||
        !read_i32(g, SRV_F_MIN_TOKENS, 0, "min_tokens must be greater than or equal to 0, got %lld.", NULL,
                  &min_tokens) ||
        !read_i32(g, SRV_F_PRIORITY, INT32_MIN, "priority must be at least -2147483648, got %lld.", "priority",
                  &priority))
        return false;
    p->n = (uint32_t)n;
    p->top_k = (int32_t)top_k;
    p->min_tokens = (uint32_t)min_tokens;
    g->rp.priority = (int32_t)priority;
    const struct srv_value *seed = &g->f.v[SRV_F_SEED];
    if (seed->given) {
        p->seed = (uint64_t)seed->i;
        p->has_seed = 1;
    }
    return true;
}

static int32_t *id_list(struct srv_gen *g, const json_t *v) {
    int32_t *ids = VC_NEW_ARRAY(&g->arena, int32_t, json_array_size(v) + 1);
    for (size_t i = 0; ids && i < json_array_size(v); i++) {
        json_int_t x = json_integer_value(json_array_get(v, i));
        ids[i] = x >= 0 && x <= INT32_MAX ? (int32_t)x : INT32_MAX;
    }
    return ids;
}

static bool no_memory(struct srv_gen *g) {
    srv_error(g->call, 503, NULL, NULL, "out of memory");
    return false;
}

/* A list of ids within the vocabulary. */
static bool read_ids(struct srv_gen *g, enum srv_field_id id, const int32_t **ids, size_t *n) {
    const struct srv_value *v = &g->f.v[id];
    const char *name = srv_field_name(id);
    if (!v->given) return true;
    *n = json_array_size(v->json);
    int32_t *list = id_list(g, v->json);
    uint32_t vocab = g->call->model->info.vocab_size;
    if (!list) return no_memory(g);
    for (size_t i = 0; i < *n; i++) {
        if ((uint32_t)list[i] < vocab) continue;
        long long given = json_integer_value(json_array_get(v->json, i));
        return srv_refuse_field(g->call, name, "%s contains out-of-vocab token id %lld. Vocabulary size: %u", name,
                                given, vocab);
    }
    *ids = list;
    return true;
}

static bool read_strs(struct srv_gen *g, enum srv_field_id id, size_t most, const char *const **out, size_t *n) {
    const struct srv_value *v = &g->f.v[id];
    const char *name = srv_field_name(id);
    if (!v->given) return true;
    bool one = json_is_string(v->json);
    size_t count = one ? 1 : json_array_size(v->json);
    if (count > most)
        return srv_refuse_field(g->call, name, "%s has %zu entries, the limit is %zu.", name, count, most);
    const char **list = VC_NEW_ARRAY(&g->arena, const char *, count + 1);
    if (!list) return no_memory(g);
    for (size_t i = 0; i < count; i++) list[i] = json_string_value(one ? v->json : json_array_get(v->json, i));
    *out = list;
    *n = count;
    return true;
}

static bool read_stop(struct srv_gen *g) {
    vc_sampling_params *p = &g->rp.sampling;
    if (!read_strs(g, SRV_F_STOP, MAX_STOPS, &p->stop, &p->num_stop)) return false;
    for (size_t i = 0; i < p->num_stop; i++)
        if (!p->stop[i][0]) return srv_refuse(g->call, NULL, "stop cannot contain an empty string.");
    return read_ids(g, SRV_F_STOP_TOKEN_IDS, &p->stop_token_ids, &p->num_stop_token_ids);
}

static bool read_allowed(struct srv_gen *g) {
    vc_sampling_params *p = &g->rp.sampling;
    const struct srv_value *v = &g->f.v[SRV_F_ALLOWED_TOKEN_IDS];
    if (v->given && json_array_size(v->json) == 0)
        return srv_refuse(g->call, "allowed_token_ids",
                          "allowed_token_ids is not None and empty! (parameter=allowed_token_ids, value=[])");
    return read_ids(g, SRV_F_ALLOWED_TOKEN_IDS, &p->allowed_token_ids, &p->num_allowed_token_ids);
}

/* Log-probabilities of these ids, in place of the best: vLLM's conditions. */
static bool read_logprob_ids(struct srv_gen *g) {
    static const char name[] = "logprob_token_ids";
    vc_sampling_params *p = &g->rp.sampling;
    const struct srv_value *v = &g->f.v[SRV_F_LOGPROB_TOKEN_IDS];
    size_t count = v->given ? json_array_size(v->json) : 0;
    if (!count) return true;
    if (!g->logprobs)
        return srv_refuse_field(g->call, name, "when using `logprob_token_ids`, `logprobs` must be set.");
    if (g->echo_only)
        return srv_refuse_field(g->call, name,
                                "`logprob_token_ids` is not supported when `echo=True` and `max_tokens=0` because no "
                                "output tokens are generated.");
    if (count > MAX_LOGPROB_IDS)
        return srv_refuse_field(g->call, name, "logprob_token_ids has %zu entries, the limit is %d.", count,
                                MAX_LOGPROB_IDS);
    g->all_logprobs = true;
    return read_ids(g, SRV_F_LOGPROB_TOKEN_IDS, &p->logprob_token_ids, &p->num_logprob_token_ids);
}

/* {"max_pattern_size", "min_pattern_size", "min_count"} */
static bool read_repetition(struct srv_gen *g) {
    vc_sampling_params *p = &g->rp.sampling;
    const struct srv_value *v = &g->f.v[SRV_F_REPETITION_DETECTION];
    static const char name[] = "repetition_detection";
    static const char *const keys[] = { "max_pattern_size", "min_pattern_size", "min_count" };
    uint32_t *const out[] = { &p->repetition_max_pattern, &p->repetition_min_pattern, &p->repetition_min_count };
    if (!v->given) return true;
    for (size_t i = 0; i < VC_ARRAY_LEN(keys); i++) {
        const json_t *e = json_object_get(v->json, keys[i]);
        json_int_t x = json_integer_value(e);
        if (e && (!json_is_integer(e) || x < 0 || x > MAX_PATTERN))
            return srv_refuse_field(g->call, name, "repetition_detection.%s must be a whole number from 0 to %d.",
                                    keys[i], MAX_PATTERN);
        *out[i] = (uint32_t)x;
    }
    if (p->repetition_min_pattern > p->repetition_max_pattern)
        return srv_refuse_field(g->call, name,
                                "max_pattern_size, min_pattern_size must be >=0, with min_pattern_size <= "
                                "max_pattern_size. Set both to 0 to disable repetitive pattern detection.");
    if (p->repetition_max_pattern && p->repetition_min_count < 2)
        return srv_refuse_field(g->call, name,
                                "min_count must be >= 2 to detect repetitive patterns in engine output. If you do not "
                                "wish to detect repetitive patterns, set max_pattern_size to 0.");
    return true;
}

static bool bias_key(const char *key, int64_t *id) {
    char *end;
    errno = 0;
    long long x = strtoll(key, &end, 10);
    *id = x;
    return *key && !*end && !errno;
}

/* One entry of logit_bias, checked. */
static bool one_bias(struct srv_gen *g, const char *key, const json_t *bias, vc_logit_bias *out) {
    static const char name[] = "logit_bias";
    uint32_t vocab = g->call->model->info.vocab_size;
    char shown[64];
    int64_t id;
    vc_printable(shown, sizeof shown, key, strlen(key));
    if (!bias_key(key, &id))
        return srv_refuse(g->call, name,
                          "logit_bias contains key(s) that cannot be converted to integer token IDs: ['%s'] "
                          "(parameter=logit_bias, value=['%s'])",
                          shown, shown);
    if (!json_is_number(bias)) return srv_refuse_field(g->call, name, "logit_bias: the values must be numbers");
    if (id < 0 || id >= vocab)
        return srv_refuse(g->call, name,
                          "token_id(s) [%lld] in logit_bias contain out-of-vocab token ids. Vocabulary size: %u "
                          "(parameter=logit_bias, value=[%lld])",
                          (long long)id, vocab, (long long)id);
    *out = (vc_logit_bias){ (int32_t)id, (float)json_number_value(bias) };
    return true;
}

static bool read_bias(struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_LOGIT_BIAS];
    const char *key;
    json_t *e;
    size_t n = 0;
    if (!v->given) return true;
    vc_logit_bias *list = VC_NEW_ARRAY(&g->arena, vc_logit_bias, json_object_size(v->json) + 1);
    if (!list) return no_memory(g);
    json_object_foreach(v->json, key, e) {
        if (!one_bias(g, key, e, &list[n])) return false;
        n++;
    }
    g->rp.sampling.logit_bias = list;
    g->rp.sampling.num_logit_bias = n;
    return true;
}

static bool word_ids(struct srv_gen *g, const char *before, const char *word, vc_token_list *out) {
    struct vc_buf text = { 0 };
    vc_err err = VC_ERR_INIT;
    int32_t *ids = NULL, *kept = NULL;
    size_t n = 0;
    const vc_model *m = g->call->model->engine;
    vc_buf_printf(&text, "%s%s", before, word);
    vc_status s = text.failed ? VC_E_NOMEM : vc_tokenize(m, text.p, text.n, VC_TOK_PARSE_SPECIAL, &ids, &n, &err);
    vc_buf_free(&text);
    if (s == VC_OK && n) kept = VC_NEW_ARRAY(&g->arena, int32_t, n);
    if (kept) memcpy(kept, ids, n * sizeof *kept);
    vc_free(ids);
    *out = (vc_token_list){ kept, n };
    if (kept) return true;
    if (s == VC_OK && !n) return srv_refuse_field(g->call, "bad_words", "bad_words cannot contain an empty string.");
    return s == VC_OK ? no_memory(g) : srv_refuse(g->call, "bad_words", "%s", err.text);
}

/* Each word alone, and after a blank where that begins with another id, as vLLM's update_from_tokenizer. */
static bool read_bad_words(struct srv_gen *g) {
    const char *const *words = NULL;
    size_t n = 0, k = 0;
    if (!read_strs(g, SRV_F_BAD_WORDS, MAX_BAD_WORDS, &words, &n)) return false;
    if (!n) return true;
    vc_token_list *list = VC_NEW_ARRAY(&g->arena, vc_token_list, 2 * n), after;
    if (!list) return no_memory(g);
    for (size_t i = 0; i < n; i++) {
        const char *word = words[i] + strspn(words[i], " ");
        if (!word_ids(g, "", word, &list[k]) || !word_ids(g, " ", word, &after)) return false;
        k++;
        if (after.ids[0] != list[k - 1].ids[0] && after.n == list[k - 1].n) list[k++] = after;
    }
    g->rp.sampling.bad_words = list;
    g->rp.sampling.num_bad_words = k;
    return true;
}

static bool given_or(const struct srv_gen *g, enum srv_field_id id, bool otherwise) {
    return g->f.v[id].given ? g->f.v[id].b : otherwise;
}

/* The parser belongs to chat, and says how the reasoning ends. */
static bool read_budget(struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_THINKING_TOKEN_BUDGET];
    if (!v->given || v->i < 0) return true;
    g->rp.thinking_token_budget = v->i;
    if (g->rp.reasoning_parser) return true;
    return srv_refuse_field(g->call, "thinking_token_budget",
                            "thinking_token_budget is set, but no reasoning is parsed here: it needs chat and "
                            "--reasoning-parser.");
}

/* Tokens per event of a stream: the request's, else the server's. */
static uint64_t read_interval(const struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_STREAM_INTERVAL];
    if (!g->stream) return 1;
    return v->given ? (uint64_t)v->i : g->call->srv->p.stream_interval;
}

static bool read_salt(struct srv_gen *g) {
    const struct srv_value *v = &g->f.v[SRV_F_CACHE_SALT];
    if (!v->given) return true;
    g->rp.cache_salt = v->s;
    return v->s[0] ||
           srv_refuse(g->call, "cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.");
}

bool srv_gen_sampling(struct srv_gen *g, enum srv_body_kind where) {
    bool text = where == SRV_BODY_TEXT;
    vc_sampling_params *p = &g->rp.sampling;
    *p = g->call->model->defaults;
    p->ignore_eos = given_or(g, SRV_F_IGNORE_EOS, false);
    p->skip_special_tokens = given_or(g, SRV_F_SKIP_SPECIAL_TOKENS, true);
    p->include_stop_str_in_output = given_or(g, SRV_F_INCLUDE_STOP_STR_IN_OUTPUT, false);
    p->return_margin = given_or(g, SRV_F_RETURN_MARGIN, false);
    g->interval = read_interval(g);
    return read_salt(g) && read_prompt_logprobs(g) && (text ? read_text_logprobs(g) : read_chat_logprobs(g)) &&
           read_ints(g, where) && read_nums(g) && read_stop(g) && read_logprob_ids(g) && read_repetition(g) &&
           read_budget(g) && read_allowed(g) && read_bias(g) && read_bad_words(g);
}

/* Most tokens of an answer: what is asked for, the model's default, and the room behind the longest prompt. */
bool srv_gen_max_tokens(struct srv_gen *g) {
    vc_sampling_params *p = &g->rp.sampling;
    const struct srv_model *m = g->call->model;
    bool chat = g->f.v[SRV_F_MAX_COMPLETION_TOKENS].given;
    const struct srv_value *v = &g->f.v[chat ? SRV_F_MAX_COMPLETION_TOKENS : SRV_F_MAX_TOKENS];
    int64_t len = m->info.max_model_len, longest = 0, most = len;
    if (m->defaults.max_tokens && (int64_t)m->defaults.max_tokens < most) most = m->defaults.max_tokens;
    if (v->given && v->i > len)
        return srv_refuse(g->call, "max_tokens",
                          "max_tokens=%lld cannot be greater than max_model_len=%lld. Please request fewer output "
                          "tokens. (parameter=max_tokens, value=%lld)",
                          (long long)v->i, (long long)len, (long long)v->i);
    if (!srv_gen_fits(g, &longest)) return false;
    if (v->given && v->i < most) most = v->i;
    if (len - longest < most) most = len - longest;
    if (g->echo_only) most = 1;
    if (most < 1)
        return srv_refuse(g->call, "max_tokens",
                          "max_tokens must be at least 1, got %lld. (parameter=max_tokens, value=%lld)",
                          (long long)most, (long long)most);
    if (p->min_tokens > most)
        return srv_refuse(g->call, NULL, "min_tokens must be less than or equal to max_tokens=%lld, got %u.",
                          (long long)most, p->min_tokens);
    p->max_tokens = (uint32_t)most;
    return true;
}
