/* SPDX-License-Identifier: Apache-2.0
 * Sampling parameters: vLLM's ranges (SamplingParams), the field named in the text, the deep copy. */
#include "test.h"

#include <math.h>

#include "run/sample_params.h"

static const int32_t eos[3] = { 2, 50, 51 };
static const struct vc_sampling_limits lim = {
    .vocab_size = 100, .max_logprobs = 20, .eos_ids = eos, .num_eos_ids = 3
};

static vc_sampling_params defaults(void) {
    return (vc_sampling_params) { .struct_size = sizeof(vc_sampling_params),
                                  .n = 1,
                                  .temperature = 1,
                                  .top_p = 1,
                                  .repetition_penalty = 1,
                                  .logprobs = -1,
                                  .prompt_logprobs = -1,
                                  .skip_special_tokens = 1,
                                  .detokenize = 1 };
}

static void refuse(vc_sampling_params p, const char *field) {
    struct vc_sampling *s;
    vc_err err = VC_ERR_INIT;
    if (vc_sampling_new(&s, &p, &lim, &err) != VC_E_INVALID) fail_msg("%s: not refused", field);
    assert_null(s);
    if (!strstr(err.text, field)) fail_msg("\"%s\" does not name %s", err.text, field);
}

static void accept(vc_sampling_params p) {
    struct vc_sampling *s;
    vc_err err = VC_ERR_INIT;
    if (vc_sampling_new(&s, &p, &lim, &err)) fail_msg("refused: %s", err.text);
    vc_sampling_del(s);
}

#define REFUSE(field, ...)                                                                         \
    do {                                                                                           \
        vc_sampling_params p = defaults();                                                         \
        __VA_ARGS__;                                                                               \
        refuse(p, field);                                                                          \
    } while (0)
#define ACCEPT(...)                                                                                \
    do {                                                                                           \
        vc_sampling_params p = defaults();                                                         \
        __VA_ARGS__;                                                                               \
        accept(p);                                                                                 \
    } while (0)

static void ranges(void **state) {
    (void)state;
    ACCEPT((void)p);
    REFUSE("n must", p.n = 0);
    REFUSE("presence_penalty", p.presence_penalty = 2.01f);
    REFUSE("presence_penalty", p.presence_penalty = NAN);
    ACCEPT(p.presence_penalty = -2);
    REFUSE("frequency_penalty", p.frequency_penalty = -2.01f);
    REFUSE("repetition_penalty", p.repetition_penalty = 0);
    REFUSE("repetition_penalty", p.repetition_penalty = INFINITY);
    REFUSE("temperature", p.temperature = -0.1f);
    REFUSE("temperature", p.temperature = NAN);
    REFUSE("temperature", p.temperature = INFINITY);
    REFUSE("top_p", p.top_p = 0);
    REFUSE("top_p", p.top_p = 1.01f);
    ACCEPT(p.top_p = 1e-6f);
    REFUSE("top_k", p.top_k = -2);
    ACCEPT(p.top_k = -1);
    ACCEPT(p.top_k = 1000000);
    REFUSE("min_p", p.min_p = -0.01f);
    REFUSE("min_p", p.min_p = 1.01f);
    REFUSE("min_tokens", p.min_tokens = 5, p.max_tokens = 4);
    ACCEPT(p.min_tokens = 5, p.max_tokens = 0);
    REFUSE("logprobs", p.logprobs = -2);
    REFUSE("logprobs", p.logprobs = 21);
    ACCEPT(p.logprobs = 20);
    REFUSE("repetition_min_count", p.repetition_max_pattern = 3);
    REFUSE("repetition_min_count", p.repetition_max_pattern = 3, p.repetition_min_count = 1);
    REFUSE("repetition_min_pattern", p.repetition_min_pattern = 3);
    REFUSE("repetition_max_pattern", p.repetition_max_pattern = 5000, p.repetition_min_count = 2);
    ACCEPT(p.repetition_max_pattern = 3, p.repetition_min_count = 2);
    REFUSE("logprob_token_ids", p.logprob_token_ids = eos, p.num_logprob_token_ids = 3);
    ACCEPT(p.logprobs = 0, p.logprob_token_ids = eos, p.num_logprob_token_ids = 3);
    REFUSE("logprob_token_ids", p.logprobs = 0, p.logprob_token_ids = eos, p.num_logprob_token_ids = 129);
    REFUSE("out-of-vocab", p.logprobs = 0, p.logprob_token_ids = (const int32_t[]){ 100 }, p.num_logprob_token_ids = 1);
    REFUSE("prompt_logprobs", p.prompt_logprobs = 21);
    REFUSE("prompt_logprobs", p.prompt_logprobs = -7);
}

static void lists(void **state) {
    (void)state;
    static const char *const stop[2] = { "a", "" };
    static const int32_t ids[2] = { 99, 100 };
    static const vc_logit_bias bias[2] = { { 1, 0.5f }, { -1, 0 } }, nan_bias[1] = { { 1, NAN } };
    static const vc_token_list words[3] = { { ids, 1 }, { ids, 0 }, { ids, 2 } };
    REFUSE("stop", p.stop = stop, p.num_stop = 2);
    ACCEPT(p.stop = stop, p.num_stop = 1);
    REFUSE("detokenize", p.stop = stop, p.num_stop = 1, p.detokenize = 0);
    REFUSE("allowed_token_ids", p.allowed_token_ids = ids, p.num_allowed_token_ids = 2);
    REFUSE("allowed_token_ids", p.allowed_token_ids = ids);
    ACCEPT(p.allowed_token_ids = ids, p.num_allowed_token_ids = 1);
    REFUSE("logit_bias", p.logit_bias = bias, p.num_logit_bias = 2);
    REFUSE("logit_bias", p.logit_bias = nan_bias, p.num_logit_bias = 1);
    REFUSE("bad_words", p.bad_words = words, p.num_bad_words = 2);
    REFUSE("bad_words", p.bad_words = words + 2, p.num_bad_words = 1);
    REFUSE("NULL", p.num_bad_words = 2);
    REFUSE("NULL", p.num_stop_token_ids = 2);
}

static void copies(void **state) {
    (void)state;
    int32_t stops[4] = { 9, 200, 9, 3 }, allowed[4] = { 7, 3, 7, 1 }, word[2] = { 4, 5 };
    vc_logit_bias bias[3] = { { 8, 500 }, { 6, 1 }, { 8, -2 } };
    char text[4] = "abc";
    const char *stop[1] = { text };
    vc_token_list bad[1] = { { word, 2 } };
    vc_sampling_params p = defaults();
    p.stop_token_ids = stops, p.num_stop_token_ids = 4;
    p.allowed_token_ids = allowed, p.num_allowed_token_ids = 4;
    p.logit_bias = bias, p.num_logit_bias = 3;
    p.stop = stop, p.num_stop = 1;
    p.bad_words = bad, p.num_bad_words = 1;
    p.temperature = 0.001f;
    p.top_k = -1;
    struct vc_sampling *s;
    assert_int_equal(vc_sampling_new(&s, &p, &lim, NULL), VC_OK);
    memset(stops, 0, sizeof stops), memset(allowed, 0, sizeof allowed), memset(word, 0, sizeof word),
        memset(bias, 0, sizeof bias);
    memset(text, 0, sizeof text);
    const int32_t want_stop[5] = { 3, 9, 50, 51, 200 }, want_min[5] = { 2, 3, 9, 50, 51 },
                  want_allowed[3] = { 1, 3, 7 };
    assert_int_equal(s->num_stop_ids, 5);
    assert_memory_equal(s->stop_ids, want_stop, sizeof want_stop);
    assert_int_equal(s->num_min_ids, 5);
    assert_memory_equal(s->min_ids, want_min, sizeof want_min);
    assert_int_equal(s->num_allowed_ids, 3);
    assert_memory_equal(s->allowed_ids, want_allowed, sizeof want_allowed);
    assert_int_equal(s->num_logit_bias, 2);
    assert_true(s->logit_bias[0].token == 6 && s->logit_bias[1].token == 8 && s->logit_bias[1].bias == -2);
    assert_string_equal(s->stop[0], "abc");
    assert_int_equal(s->stop_len[0], 3);
    assert_true(s->bad_words[0].n == 2 && s->bad_words[0].ids[1] == 5);
    assert_true(s->temperature == 0.01f && s->top_k == 0 && s->eos_token == 2);
    vc_sampling_del(s);

    p = defaults();
    p.ignore_eos = 1;
    p.temperature = 0;
    p.top_k = 5, p.top_p = 0.5f, p.min_p = 0.5f;
    assert_int_equal(vc_sampling_new(&s, &p, &lim, NULL), VC_OK);
    assert_true(s->eos_token == -1 && s->num_stop_ids == 0 && s->num_min_ids == 0);
    assert_true(vc_sampling_greedy(s) && s->top_k == 0 && s->top_p == 1 && s->min_p == 0);
    vc_sampling_del(s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranges), cmocka_unit_test(lists), cmocka_unit_test(copies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
