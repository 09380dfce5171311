/* SPDX-License-Identifier: Apache-2.0
 * Sampling against vLLM: goldens sampling/sampling.json (masks, kept logits, argmax, probabilities, log-probabilities)
 * and vllm-cpu/logprobs.safetensors (words of log_softmax). */
#include "test.h"

#include <jansson.h>
#include <math.h>

#include "run/sample.h"
#include "run/sample_prob.h"

enum { MAX_V = 32000, MAX_LIST = 256 };

static json_t *load(const char *name) {
    json_error_t e;
    const char *path = vc_golden(name);
    assert_non_null(path);
    json_t *root = json_load_file(path, 0, &e);
    assert_non_null(root);
    return root;
}

static uint32_t unhex(const char *s, float *out) {
    uint32_t n = 0;
    for (; s[0]; s += 8, n++) {
        char w[9] = { 0 };
        memcpy(w, s, 8);
        uint32_t u = (uint32_t)strtoul(w, NULL, 16);
        memcpy(out + n, &u, 4);
    }
    return n;
}

static const char *str(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

static size_t ids(const json_t *list, int32_t *out) {
    for (size_t i = 0; i < json_array_size(list); i++) out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return json_array_size(list);
}

/* Storage that the parameters point to. */
struct lists {
    int32_t stop[MAX_LIST], allowed[MAX_LIST], word[8][8];
    vc_token_list bad[8];
    vc_logit_bias bias[8];
};

static void params(const json_t *c, vc_sampling_params *p, struct lists *l) {
    *p = (vc_sampling_params) { .struct_size = sizeof *p,
                                .n = 1,
                                .temperature = 1,
                                .top_p = 1,
                                .repetition_penalty = 1,
                                .max_tokens = 32,
                                .logprobs = -1,
                                .prompt_logprobs = -1,
                                .skip_special_tokens = 1,
                                .detokenize = 1 };
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(c, "params"), key, v) {
        float f = (float)json_number_value(v);
        if (!strcmp(key, "temperature")) p->temperature = f;
        else if (!strcmp(key, "top_p")) p->top_p = f;
        else if (!strcmp(key, "top_k")) p->top_k = (int32_t)f;
        else if (!strcmp(key, "min_p")) p->min_p = f;
        else if (!strcmp(key, "presence_penalty")) p->presence_penalty = f;
        else if (!strcmp(key, "frequency_penalty")) p->frequency_penalty = f;
        else if (!strcmp(key, "repetition_penalty")) p->repetition_penalty = f;
        else if (!strcmp(key, "min_tokens")) p->min_tokens = (uint32_t)f;
        else if (!strcmp(key, "ignore_eos")) p->ignore_eos = json_is_true(v);
        else if (!strcmp(key, "stop_token_ids")) p->stop_token_ids = l->stop, p->num_stop_token_ids = ids(v, l->stop);
        else if (!strcmp(key, "allowed_token_ids"))
            p->allowed_token_ids = l->allowed, p->num_allowed_token_ids = ids(v, l->allowed);
        else if (!strcmp(key, "logit_bias")) {
            const char *tok;
            json_t *b;
            json_object_foreach(v, tok, b) l->bias[p->num_logit_bias++] =
                (vc_logit_bias) { atoi(tok), (float)json_number_value(b) };
            p->logit_bias = l->bias;
        } else fail_msg("unknown parameter %s", key);
    }
    const json_t *bad = json_object_get(c, "bad_words_token_ids");
    for (size_t i = 0; i < json_array_size(bad); i++)
        l->bad[i] = (vc_token_list) { l->word[i], ids(json_array_get(bad, i), l->word[i]) };
    p->bad_words = l->bad;
    p->num_bad_words = json_array_size(bad);
}

static void check_effective(const char *name, const json_t *e, const struct vc_sampling *p) {
    int32_t want[MAX_LIST];
    size_t n = ids(json_object_get(e, "stop_token_ids"), want);
    bool ok = p->temperature == (float)json_number_value(json_object_get(e, "temperature"))
              && p->top_p == (float)json_number_value(json_object_get(e, "top_p"))
              && p->min_p == (float)json_number_value(json_object_get(e, "min_p"))
              && (int64_t)p->top_k == json_integer_value(json_object_get(e, "top_k")) && p->num_min_ids == n;
    for (size_t i = 0; ok && i < n; i++) ok = p->min_ids[i] == want[i];
    if (!ok) fail_msg("%s: parameters after clean-up differ", name);
}

/* Bit-equal, except that of logits equal in the input another one may be kept by top_p (README: "accept either"). */
static unsigned check_row(const char *name, const float *raw, const float *got, const float *want, uint32_t n) {
    unsigned freed = 0;
    float tie = 0;
    int balance = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool a = isinf(got[i]), b = isinf(want[i]);
        if (a != b) {
            if (freed && raw[i] != tie) fail_msg("%s: mask differs at %u", name, i);
            tie = raw[i];
            freed++;
            balance += a ? 1 : -1;
        } else if (memcmp(got + i, want + i, 4)) {
            fail_msg("%s: logit %u is %a, expected %a", name, i, (double)got[i], (double)want[i]);
        }
    }
    if (balance) fail_msg("%s: %d more or fewer kept", name, balance);
    return freed;
}

static void check_logprobs(const char *name, struct vc_sampler *s, const float *raw, const json_t *c, double *worst) {
    vc_logprob lp[6];
    float v;
    const json_t *ranks = json_object_get(c, "raw_ranks"), *top = json_object_get(c, "raw_top5");
    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const json_t *r = json_array_get(ranks, i);
        int32_t tok = (int32_t)json_integer_value(json_array_get(r, 0));
        assert_int_equal(vc_sample_logprobs(s, raw, tok, 5, lp, NULL), VC_OK);
        unhex(json_string_value(json_array_get(r, 1)), &v);
        *worst = fmax(*worst, fabs((double)v - (double)lp[0].logprob));
        if (lp[0].token != tok || lp[0].rank != (uint32_t)json_integer_value(json_array_get(r, 2)))
            fail_msg("%s: rank of %d", name, tok);
    }
    for (size_t i = 0; i < json_array_size(top); i++) {
        const json_t *t = json_array_get(top, i);
        int32_t tok = (int32_t)json_integer_value(json_array_get(t, 0));
        unhex(json_string_value(json_array_get(t, 1)), &v);
        *worst = fmax(*worst, fabs((double)v - (double)lp[1 + i].logprob));
        if (lp[1 + i].token != tok && raw[lp[1 + i].token] != raw[tok]) fail_msg("%s: top token %zu", name, i);
    }
}

/* One case; returns how many elements used the freedom among ties. */
static unsigned one_case(const json_t *c, struct vc_sampler *s, uint32_t vocab, double *worst_p, double *worst_lp) {
    static float raw[MAX_LIST], x[MAX_LIST], want[MAX_LIST], p_want[MAX_LIST], p_got[MAX_LIST];
    static struct lists l;
    const char *name = str(c, "name");
    const int32_t eos = 2;
    const struct vc_sampling_limits lim = {
        .vocab_size = vocab, .max_logprobs = 20, .eos_ids = &eos, .num_eos_ids = 1
    };
    int32_t prompt[MAX_LIST], output[MAX_LIST];
    uint32_t np = (uint32_t)ids(json_object_get(c, "prompt"), prompt),
             no = (uint32_t)ids(json_object_get(c, "output"), output);
    vc_sampling_params pub;
    params(c, &pub, &l);
    struct vc_sampling *p;
    vc_err err = VC_ERR_INIT;
    if (vc_sampling_new(&p, &pub, &lim, &err)) fail_msg("%s: %s", name, err.text);
    check_effective(name, json_object_get(c, "effective"), p);
    struct vc_sample_seq *q;
    assert_int_equal(vc_sample_seq_new(&q, p, 1, prompt, np, 32, vocab, &err), VC_OK);
    for (uint32_t i = 0; i < no; i++) vc_sample_seq_push(q, output[i]);

    assert_int_equal(unhex(str(c, "logits"), raw), vocab);
    memcpy(x, raw, sizeof x);
    check_logprobs(name, s, raw, c, worst_lp);
    struct vc_sampled got;
    if (vc_sample_row(s, q, x, NULL, output, no, &got, NULL, &err)) fail_msg("%s: %s", name, err.text);
    unhex(str(c, "processed_logits"), want);
    unsigned freed = check_row(name, raw, x, want, vocab);
    if (vc_row_argmax(x, vocab) != (uint32_t)json_integer_value(json_object_get(c, "argmax")))
        fail_msg("%s: argmax", name);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < vocab; i++) kept += !isinf(x[i]);
    assert_int_equal(kept, json_integer_value(json_object_get(c, "kept")));
    assert_true(!isinf(x[got.token]));
    if (vc_sampling_greedy(p)) assert_int_equal(got.token, json_integer_value(json_object_get(c, "argmax")));
    unhex(str(c, "probs"), p_want);
    vc_softmax_row(vc_exp_sum_pick(), x, vocab, p_got);
    for (uint32_t i = 0; i < vocab && !freed; i++)
        *worst_p = fmax(*worst_p, fabs((double)p_want[i] - (double)p_got[i]));
    vc_sample_seq_del(q);
    vc_sampling_del(p);
    return freed;
}

static void sampling(void **state) {
    (void)state;
    json_t *root = load("sampling/sampling.json");
    const json_t *cases = json_object_get(root, "cases");
    uint32_t vocab = (uint32_t)json_integer_value(json_object_get(root, "vocab"));
    struct vc_sampler *s;
    assert_int_equal(vc_sampler_new(&s, vocab, NULL), VC_OK);
    double worst_p = 0, worst_lp = 0;
    unsigned freed = 0;
    size_t n = json_array_size(cases);
    for (size_t i = 0; i < n; i++) freed += one_case(json_array_get(cases, i), s, vocab, &worst_p, &worst_lp);
    printf("sampling: %zu cases, masks and kept logits equal (%u elements differ among ties); worst probability "
           "%.3g, log-probability %.3g\n",
           n, freed, worst_p, worst_lp);
    assert_true(n > 0 && worst_p <= 1e-6 && worst_lp <= 2e-6);
    vc_sampler_del(s);
    json_decref(root);
}

static void check_words(const float *x, const float *want, uint32_t n, vc_exp_sum_fn *fn) {
    static float y[MAX_V];
    vc_log_softmax_row(fn, x, n, y);
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(y + i, want + i, 4))
            fail_msg("row of %u: word %u is %a, expected %a", n, i, (double)y[i], (double)want[i]);
}

static void words(void **state) {
    (void)state;
    static char file[1 << 20];
    const char *path = vc_golden("vllm-cpu/logprobs.safetensors");
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    size_t bytes = fread(file, 1, sizeof file, f), total = 0;
    fclose(f);
    uint64_t head;
    memcpy(&head, file, 8);
    assert_true(bytes > 8 + head && bytes < sizeof file);
    json_error_t e;
    json_t *h = json_loadb(file + 8, head, 0, &e);
    assert_non_null(h);
    for (int c = 0; c < 8; c++) {
        char key[32];
        snprintf(key, sizeof key, "c%d.logits", c);
        const json_t *lg = json_object_get(h, key);
        snprintf(key, sizeof key, "c%d.logprobs", c);
        const json_t *lp = json_object_get(h, key);
        if (!lg) continue;
        uint32_t rows = (uint32_t)json_integer_value(json_array_get(json_object_get(lg, "shape"), 0));
        uint32_t n = (uint32_t)json_integer_value(json_array_get(json_object_get(lg, "shape"), 1));
        const char *a = file + 8 + head + json_integer_value(json_array_get(json_object_get(lg, "data_offsets"), 0));
        const char *b = file + 8 + head + json_integer_value(json_array_get(json_object_get(lp, "data_offsets"), 0));
        for (uint32_t r = 0; r < rows; r++, a += 2 * n, b += 4 * n, total += n) {
            static float x[MAX_V], want[MAX_V];
            for (uint32_t i = 0; i < n; i++) {
                uint16_t w;
                memcpy(&w, a + 2 * i, 2);
                uint32_t u = (uint32_t)w << 16;
                memcpy(x + i, &u, 4);
            }
            memcpy(want, b, 4 * n);
            check_words(x, want, n, vc_exp_sum_portable);
            check_words(x, want, n, vc_exp_sum_pick());
        }
    }
    printf("log_softmax: %zu words equal, portable and picked\n", total);
    assert_int_equal(total, 6 * 128 + 4 * 256 + 2 * 1000 + 32000);
    json_decref(h);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(sampling), cmocka_unit_test(words) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
