/* SPDX-License-Identifier: Apache-2.0
 * Structured output and parsers through the public API, on a tiny model with random weights: what it says is decided by the
 * constraint alone, so the text, its parts and the deltas are known. */
#include "test.h"

#include <pthread.h>

#include "vllmc.h"

static vc_model *open_model(void) {
    vc_model_params p;
    vc_err err = VC_ERR_INIT;
    vc_model *m = NULL;
    vc_model_params_init(&p);
    p.path = vc_golden("gguf-quants/models/tiny-Q4_0.gguf");
    p.max_num_seqs = 16;
    p.max_model_len = 512;
    p.threads = 2;
    if (vc_model_open(&m, &p, &err) != VC_OK) fail_msg("%s", err.text);
    return m;
}

struct answer {
    char text[4096], reasoning[4096], name[4][64], args[4][1024], reason[16];
    int32_t ids[512];
    float logprob[512];
    uint32_t n, calls, pieces;
};

static void take(struct answer *a, const vc_output *o) {
    if (o->error.status != VC_OK) fail_msg("%s", o->error.text);
    strcat(a->text, o->text);
    strcat(a->reasoning, o->reasoning);
    assert_int_equal(strlen(o->reasoning), o->reasoning_len);
    for (uint32_t i = 0; i < o->num_tools; i++) {
        const vc_tool_delta *t = &o->tools[i];
        assert_true(t->index < 4);
        assert_int_equal(strlen(t->arguments), t->arguments_len);
        if (t->name) {
            assert_int_equal(t->index, a->calls++);
            snprintf(a->name[t->index], sizeof a->name[0], "%s", t->name);
        }
        strcat(a->args[t->index], t->arguments);
        a->pieces++;
    }
    for (uint32_t i = 0; i < o->num_token_ids; i++) {
        a->logprob[a->n] = o->num_logprobs ? o->logprobs[0].logprob : 0;
        a->ids[a->n++] = o->token_ids[i];
    }
    if (o->finished) snprintf(a->reason, sizeof a->reason, "%s", o->finish_reason);
}

static vc_request_params request(const char *kind, const char *spec) {
    vc_request_params p;
    vc_request_params_init(&p);
    p.prompt = "Once upon a time";
    p.sampling.max_tokens = 200;
    p.sampling.temperature = 0;
    p.constraint_kind = kind;
    p.constraint = spec;
    return p;
}

/* All requests at once; choices of request i from a[i * stride]. */
static void run(vc_model *m, const vc_request_params *p, uint32_t n, struct answer *a, uint32_t stride) {
    vc_err err = VC_ERR_INIT;
    uint64_t first = 0;
    memset(a, 0, n * stride * sizeof *a);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t id;
        if (vc_submit(m, &p[i], &id, &err) != VC_OK) fail_msg("%s", err.text);
        if (i == 0) first = id;
    }
    vc_output *o;
    vc_status s;
    while ((s = vc_next(m, -1, &o, &err)) == VC_OK) {
        take(&a[(o->request_id - first) * stride + o->index], o);
        vc_output_free(o);
    }
    if (s != VC_E_DONE) fail_msg("%s: %s", vc_status_name(s), err.text);
}

/* The text of a spec with exactly one string. */
static void only(vc_model *m, const char *text, vc_request_params p, struct answer *a) {
    char *spec = malloc(2 * strlen(text) + 8), *w = spec;
    *w++ = '[';
    *w++ = '"';
    for (const char *r = text; *r; r++) {
        if (*r == '"' || *r == '\\') *w++ = '\\';
        if (*r == '\n') {
            *w++ = '\\';
            *w++ = 'n';
        } else *w++ = *r;
    }
    strcpy(w, "\"]");
    p.constraint_kind = "choice";
    p.constraint = spec;
    run(m, &p, 1, a, 1);
    free(spec);
}

static struct answer answers[8];

static void constraints_hold(void **state) {
    (void)state;
    vc_model *m = open_model();
    vc_request_params p[4] = { request("regex", "(yes|no), [0-9]{3}"), request("choice", "[\"alpha\", \"beta\"]"),
                               request("json_schema", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"},\"b\":{\"enum\":[1,2]}},\"required\":[\"a\",\"b\"],"
                                                      "\"additionalProperties\":false}"),
                               request("grammar", "root ::= \"x\"{3} \"end\"") };
    p[2].constraint_whitespace = "compact";
    run(m, p, 4, answers, 1);
    for (int i = 0; i < 4; i++) assert_string_equal(answers[i].reason, "stop");
    assert_int_equal(strlen(answers[0].text), answers[0].text[0] == 'y' ? 8 : 7);
    assert_true(!strncmp(answers[0].text, "yes, ", 5) || !strncmp(answers[0].text, "no, ", 4));
    assert_true(!strcmp(answers[1].text, "alpha") || !strcmp(answers[1].text, "beta"));
    assert_true(!strcmp(answers[2].text, "{\"a\":true,\"b\":1}") || !strcmp(answers[2].text, "{\"a\":true,\"b\":2}") ||
                !strcmp(answers[2].text, "{\"a\":false,\"b\":1}") || !strcmp(answers[2].text, "{\"a\":false,\"b\":2}"));
    assert_string_equal(answers[3].text, "xxxend");
    vc_model_close(&m);
}

/* Log-probabilities make every token go through the sampler; without them forced tokens are jumped over. Same ids. */
static void jumping_changes_nothing(void **state) {
    (void)state;
    vc_model *m = open_model();
    vc_request_params p[2] = { request("regex", "[ab]{2}the quick brown fox[cd]{4}\\.\\n\\n[0-9]+end"), request(NULL, NULL) };
    p[1] = p[0];
    p[1].sampling.logprobs = 2;
    for (int seeded = 0; seeded < 2; seeded++) {
        for (int i = 0; i < 2 && seeded; i++) {
            p[i].sampling.temperature = 0.9f;
            p[i].sampling.has_seed = 1;
            p[i].sampling.seed = 7;
        }
        run(m, p, 2, answers, 1);
        assert_string_equal(answers[0].text, answers[1].text);
        assert_int_equal(answers[0].n, answers[1].n);
        assert_memory_equal(answers[0].ids, answers[1].ids, answers[0].n * sizeof answers[0].ids[0]);
    }
    vc_model_close(&m);
}

/* A free request has the same bits whoever is constrained beside it. */
static void neighbours_keep_their_bits(void **state) {
    (void)state;
    vc_model *m = open_model();
    vc_request_params p[3] = { request(NULL, NULL), request("json_object", ""), request("regex", "(a|b)*") };
    p[0].sampling.logprobs = 3;
    p[0].sampling.ignore_eos = 1;
    p[0].sampling.max_tokens = 40;
    p[1].sampling.max_tokens = p[2].sampling.max_tokens = 30;
    run(m, p, 1, answers, 1);
    run(m, p, 3, answers + 1, 1);
    assert_int_equal(answers[0].n, 40);
    assert_memory_equal(answers[0].ids, answers[1].ids, 40 * sizeof answers[0].ids[0]);
    assert_memory_equal(answers[0].logprob, answers[1].logprob, 40 * sizeof answers[0].logprob[0]);
    for (const char *c = answers[3].text; *c; c++) assert_true(*c == 'a' || *c == 'b');
    assert_int_equal(answers[2].text[strspn(answers[2].text, " \t\r\n")], '{');
    vc_model_close(&m);
}

static void choices_are_bound_each(void **state) {
    (void)state;
    vc_model *m = open_model();
    vc_request_params p = request("regex", "[a-z]{5,9}!");
    p.sampling.n = 4;
    p.sampling.temperature = 1.0f;
    p.sampling.has_seed = 1;
    p.sampling.seed = 3;
    run(m, &p, 1, answers, 4);
    bool differ = false;
    for (int i = 0; i < 4; i++) {
        size_t n = strlen(answers[i].text);
        assert_true(n >= 6 && n <= 10 && answers[i].text[n - 1] == '!');
        assert_int_equal(strspn(answers[i].text, "abcdefghijklmnopqrstuvwxyz"), n - 1);
        differ |= strcmp(answers[i].text, answers[0].text) != 0;
    }
    assert_true(differ);
    vc_model_close(&m);
}

static void refused(vc_model *m, vc_request_params p, vc_status want, const char *word) {
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_submit(m, &p, NULL, &err);
    if (s != want || !strstr(err.text, word)) fail_msg("%s, '%s', expected %s naming '%s'", vc_status_name(s), err.text, vc_status_name(want), word);
}

static void bad_specs(void **state) {
    (void)state;
    vc_model *m = open_model();
    refused(m, request("xml", ""), VC_E_INVALID, "xml");
    refused(m, request("regex", "(a"), VC_E_INVALID, "");
    refused(m, request("regex", "(?<=a)b"), VC_E_UNSUPPORTED, "");
    refused(m, request("choice", "[]"), VC_E_INVALID, "");
    refused(m, request("choice", "{"), VC_E_INVALID, "");
    refused(m, request("json_schema", "{\"type\":\"strin\"}"), VC_E_INVALID, "type");
    vc_request_params p = request(NULL, NULL);
    p.tool_parser = "no_such_parser";
    refused(m, p, VC_E_NOT_FOUND, "hermes");
    p.tool_parser = "hermes";
    p.tools_json = "{";
    refused(m, p, VC_E_FORMAT, "tools");
    vc_model_close(&m);
}

static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}}}]";

static void parsers(void **state) {
    (void)state;
    vc_model *m = open_model();
    vc_request_params p = request(NULL, NULL);
    p.tool_parser = "hermes";
    p.reasoning_parser = "mistral";
    p.tools_json = tools;
    const char *text = "[THINK]It rains?\nAsk.[/THINK]Let me look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
    for (int whole = 0; whole < 2; whole++) {
        p.parse_whole = whole;
        only(m, text, p, answers);
        assert_string_equal(answers[0].reason, "stop");
        assert_string_equal(answers[0].reasoning, "It rains?\nAsk.");
        assert_true(!strncmp(answers[0].text, "Let me look.", 12));
        assert_null(strstr(answers[0].text, "tool_call"));
        assert_int_equal(answers[0].calls, 1);
        assert_string_equal(answers[0].name[0], "get_weather");
        assert_string_equal(answers[0].args[0], "{\"city\": \"Paris\"}");
    }
    p.no_tool_calls = 1;
    only(m, text, p, answers);
    assert_int_equal(answers[0].calls, 0);
    p.reasoning_parser = "qwen3";                               /* the prompt ends behind an empty block: no reasoning follows */
    p.tool_parser = NULL;
    p.prompt = "Hi <think>\n\n</think>\n\n";
    only(m, "fine", p, answers);
    assert_string_equal(answers[0].text, "fine");
    assert_string_equal(answers[0].reasoning, "");
    p.prompt = "Hi <think>\n";                                  /* it ends inside one: the constraint waits, as does the content */
    p.sampling.max_tokens = 5;
    only(m, "fine", p, answers);
    assert_string_equal(answers[0].text, "");
    assert_string_equal(answers[0].reason, "length");
    assert_true(strlen(answers[0].reasoning) > 0);
    p = request(NULL, NULL);                                    /* without parsers all is text */
    only(m, text, p, answers);
    assert_string_equal(answers[0].text, text);
    assert_string_equal(answers[0].reasoning, "");
    vc_model_close(&m);
}

/* A vocabulary with more tokens than the model has logits: what has no logit is never chosen. */
static void more_tokens_than_logits(void **state) {
    (void)state;
    vc_model_params mp;
    vc_err err = VC_ERR_INIT;
    vc_model *m = NULL;
    vc_model_params_init(&mp);
    mp.path = vc_golden("models/llama");                        /* 256 logits, 1500 tokens */
    mp.tokenizer = vc_golden("gguf-quants/models/tiny-Q4_0.gguf");
    if (!mp.path || !mp.tokenizer) {
        print_message("left out: models/llama or gguf-quants/models (not on this machine)\n");
        return;
    }
    if (vc_model_open(&m, &mp, &err) != VC_OK) fail_msg("%s", err.text);
    static const int32_t prompt[] = { 3, 4, 5 };
    vc_request_params p = request("regex", "[a-z]{3,}");
    p.prompt = NULL;
    p.prompt_ids = prompt;
    p.num_prompt_ids = 3;
    p.sampling.max_tokens = 20;
    run(m, &p, 1, answers, 1);
    assert_int_equal(answers[0].n, 20);
    for (uint32_t i = 0; i < answers[0].n; i++) assert_in_range(answers[0].ids[i], 0, 255);
    assert_int_equal(strspn(answers[0].text, "abcdefghijklmnopqrstuvwxyz"), strlen(answers[0].text));
    vc_model_close(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(constraints_hold), cmocka_unit_test(jumping_changes_nothing),
                                        cmocka_unit_test(neighbours_keep_their_bits), cmocka_unit_test(choices_are_bound_each),
                                        cmocka_unit_test(bad_specs), cmocka_unit_test(more_tokens_than_logits), cmocka_unit_test(parsers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
