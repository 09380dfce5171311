/* SPDX-License-Identifier: Apache-2.0
 * margin_test.c: tie margins and log-probabilities of given ids, against the logits that vLLM's CPU path stored for the same
 * prompts (goldens/models: words of bf16), which the engine repeats word for word. */
#include "test.h"

#include <math.h>

#include "io/tensors.h"
#include "vllmc.h"

enum { STEPS = 24, VOCAB = 256 };

static const int32_t prompt1[] = { 243, 100, 19, 251, 43 };

static vc_model *open_model(const char *path) {
    vc_model_params p;
    vc_err err = VC_ERR_INIT;
    vc_model *m = NULL;
    vc_model_params_init(&p);
    p.path = path;
    p.max_num_seqs = 4;
    p.threads = 2;
    p.kv_cache_memory_bytes = 16 << 20;
    if (vc_model_open(&m, &p, &err) != VC_OK) fail_msg("%s", err.text);
    return m;
}

static vc_request_params request(void) {
    vc_request_params p;
    vc_request_params_init(&p);
    p.prompt_ids = prompt1;
    p.num_prompt_ids = sizeof prompt1 / sizeof prompt1[0];
    p.sampling.max_tokens = STEPS;
    p.sampling.temperature = 0;
    p.sampling.ignore_eos = 1;
    p.sampling.detokenize = 0;
    return p;
}

static double word(const uint16_t *w) {
    uint16_t h;
    float f;
    memcpy(&h, w, 2);
    uint32_t u = (uint32_t)h << 16;
    memcpy(&f, &u, 4);
    return (double)f;
}

/* Row `step` of the recorded logits. */
static void recorded(const struct vc_tensors *t, int step, double *row) {
    const struct vc_tensor *x = vc_tensors_find(t, "logits_p1");
    assert_non_null(x);
    assert_int_equal(x->bytes, STEPS * VOCAB * 2);
    for (int i = 0; i < VOCAB; i++) row[i] = word((const uint16_t *)x->data + step * VOCAB + i);
}

/* (best - second) / 2^(exponent of the larger magnitude - 7): bf16 has 7 fraction bits. */
static double margin(const double *row) {
    double a = -INFINITY, b = -INFINITY;
    int e;
    for (int i = 0; i < VOCAB; i++) {
        if (row[i] > a) b = a, a = row[i];
        else if (row[i] > b) b = row[i];
    }
    frexp(fmax(fabs(a), fabs(b)), &e);
    return (a - b) / ldexp(1, e - 1 - 7);
}

static double log_prob(const double *row, int id) {
    double sum = 0, most = -INFINITY;
    for (int i = 0; i < VOCAB; i++) most = fmax(most, row[i]);
    for (int i = 0; i < VOCAB; i++) sum += exp(row[i] - most);
    return row[id] - most - log(sum);
}

struct goldens { vc_model *m; struct vc_tensors *t; };

static int setup(void **state) {
    static struct goldens g;
    char folder[1100];
    vc_err err = VC_ERR_INIT;
    const char *words = vc_golden("models/llama/vllm_logits.safetensors");
    if (!words) {
        vc_left_out("goldens/models/llama");
        *state = NULL;
        return 0;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(words, '/') - words), words);
    if (vc_tensors_open_safetensors(&g.t, words, &err) != VC_OK) fail_msg("%s", err.text);
    g.m = open_model(folder);
    *state = &g;
    return 0;
}

static int teardown(void **state) {
    struct goldens *g = *state;
    if (!g) return 0;
    vc_model_close(&g->m);
    vc_tensors_close(g->t);
    return 0;
}

static void margins(void **state) {
    const struct goldens *g = *state;
    if (!g) skip();
    vc_request_params p = request();
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    double row[VOCAB];
    int step = 0;
    p.sampling.return_margin = 1;
    assert_int_equal(vc_submit(g->m, &p, NULL, &err), VC_OK);
    while (vc_next(g->m, -1, &o, &err) == VC_OK) {
        for (uint32_t i = 0; i < o->num_token_ids; i++, step++) {
            assert_non_null(o->margins);
            recorded(g->t, step, row);
            assert_true((double)o->margins[i] == margin(row));
        }
        vc_output_free(o);
    }
    assert_int_equal(step, STEPS);
}

/* Without asking there is no margin. */
static void not_asked(void **state) {
    const struct goldens *g = *state;
    if (!g) skip();
    vc_request_params p = request();
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    p.sampling.max_tokens = 2;
    assert_int_equal(vc_submit(g->m, &p, NULL, &err), VC_OK);
    while (vc_next(g->m, -1, &o, &err) == VC_OK) {
        assert_null(o->margins);
        vc_output_free(o);
    }
}

static void given_ids(void **state) {
    static const int32_t ids[] = { 5, 200, 94, 5 };
    const struct goldens *g = *state;
    if (!g) skip();
    vc_request_params p = request();
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    double row[VOCAB];
    int step = 0;
    p.sampling.logprobs = 0;
    p.sampling.logprob_token_ids = ids;
    p.sampling.num_logprob_token_ids = 4;
    assert_int_equal(vc_submit(g->m, &p, NULL, &err), VC_OK);
    while (vc_next(g->m, -1, &o, &err) == VC_OK) {
        if (o->num_token_ids) {
            assert_int_equal(o->num_logprobs, 5);
            recorded(g->t, step++, row);
            assert_int_equal(o->logprobs[0].token, o->token_ids[0]);
            for (int i = 0; i < 5; i++) {
                if (i) assert_int_equal(o->logprobs[i].token, ids[i - 1]);
                assert_true(fabs((double)o->logprobs[i].logprob - log_prob(row, o->logprobs[i].token)) < 1e-5);
            }
        }
        vc_output_free(o);
    }
    assert_int_equal(step, STEPS);
    p.sampling.logprobs = -1;
    assert_int_equal(vc_submit(g->m, &p, NULL, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "logprob_token_ids"));
}

/* One allowed id, over and over. */
static void repetition(void **state) {
    static const int32_t one[] = { 7 };
    const struct goldens *g = *state;
    if (!g) skip();
    vc_request_params p = request();
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    uint32_t n = 0;
    p.sampling.allowed_token_ids = one;
    p.sampling.num_allowed_token_ids = 1;
    p.sampling.repetition_max_pattern = 3;
    p.sampling.repetition_min_pattern = 2;
    p.sampling.repetition_min_count = 4;
    assert_int_equal(vc_submit(g->m, &p, NULL, &err), VC_OK);
    while (vc_next(g->m, -1, &o, &err) == VC_OK) {
        n += o->num_token_ids;
        if (o->finished) {
            assert_string_equal(o->finish_reason, "repetition");
            assert_string_equal(o->stop_string, "repetition_detected");
        }
        vc_output_free(o);
    }
    assert_int_equal(n, 8);                    /* a pattern of two tokens, four times */
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(margins), cmocka_unit_test(not_asked), cmocka_unit_test(given_ids), cmocka_unit_test(repetition) };
    return cmocka_run_group_tests(tests, setup, teardown);
}
