/* SPDX-License-Identifier: Apache-2.0
 * The public API on a tiny GGUF model with a real vocabulary: errors by name, deltas, stop strings, choices, cancelling,
 * threads, life times. */
#include "test.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vllmc.h"

static const char *model_path(void) { return vc_golden("gguf-quants/models/tiny-Q4_0.gguf"); }

/* tokenizer: another than the model's, or NULL. */
static vc_model *open_with(uint32_t seqs, const char *tokenizer) {
    vc_model_params p;
    vc_err err = VC_ERR_INIT;
    vc_model *m = NULL;
    vc_model_params_init(&p);
    p.path = model_path();
    p.tokenizer = tokenizer;
    p.max_num_seqs = seqs;
    p.max_model_len = 256;
    p.threads = 2;
    if (vc_model_open(&m, &p, &err) != VC_OK) fail_msg("%s", err.text);
    return m;
}
static vc_model *open_model(uint32_t seqs) { return open_with(seqs, NULL); }

struct result { char text[4096]; int32_t ids[256]; uint32_t n; char reason[16]; char stop[64]; uint64_t seed; float logprob[256]; uint32_t outputs; };

static void take(struct result *r, const vc_output *o) {
    strcat(r->text, o->text);
    assert_int_equal(strlen(o->text), o->text_len);
    for (uint32_t i = 0; i < o->num_token_ids; i++) {
        r->logprob[r->n] = o->num_logprobs ? o->logprobs[0].logprob : 0;
        r->ids[r->n++] = o->token_ids[i];
    }
    r->seed = o->seed;
    r->outputs++;
    if (o->finished) snprintf(r->reason, sizeof r->reason, "%s", o->finish_reason);
    if (o->error.status != VC_OK) fail_msg("%s", o->error.text);
    if (o->stop_string) snprintf(r->stop, sizeof r->stop, "%s", o->stop_string);
}

static uint64_t submit(vc_model *m, const vc_request_params *p) {
    uint64_t id = 0;
    vc_err err = VC_ERR_INIT;
    if (vc_submit(m, p, &id, &err) != VC_OK) fail_msg("%s", err.text);
    return id;
}

/* Runs one request alone; choices go to r[0 … n-1]. */
static void run(vc_model *m, const vc_request_params *p, struct result *r) {
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    uint64_t id = submit(m, p);
    memset(r, 0, p->sampling.n * sizeof *r);
    vc_status s;
    while ((s = vc_next(m, -1, &o, &err)) == VC_OK) {
        assert_int_equal(o->request_id, id);
        take(&r[o->index], o);
        vc_output_free(o);
    }
    if (s != VC_E_DONE) fail_msg("%s: %s", vc_status_name(s), err.text);
}

static vc_request_params request(const char *prompt, uint32_t max_tokens) {
    vc_request_params p;
    vc_request_params_init(&p);
    p.prompt = prompt;
    p.sampling.max_tokens = max_tokens;
    p.sampling.temperature = 0;
    p.sampling.ignore_eos = 1;
    return p;
}

static void refused(vc_model *m, const vc_request_params *p, vc_status want, const char *word) {
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_submit(m, p, NULL, &err), want);
    if (!strstr(err.text, word)) fail_msg("'%s' does not name '%s'", err.text, word);
}

static void opening_errors(void **state) {
    (void)state;
    static const struct { const char *path, *dtype, *numerics; uint32_t block; const char *word; } bad[] = {
        { "/nonexistent/model.gguf", NULL, NULL, 16, "/nonexistent/model.gguf" },
        { NULL, "int3", NULL, 16, "dtype" },
        { NULL, NULL, "exact", 16, "exact" },
        { NULL, NULL, "gguf,norm.gamma=bf16", 16, "norm.gamma" },
        { NULL, NULL, "vllm", 16, "the profile vllm" },
        { NULL, NULL, NULL, 24, "block_size" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vc_model_params p;
        vc_err err = VC_ERR_INIT;
        vc_model *m = NULL;
        vc_model_params_init(&p);
        p.path = bad[i].path ? bad[i].path : model_path();
        p.dtype = bad[i].dtype;
        p.numerics = bad[i].numerics;
        p.block_size = bad[i].block;
        assert_int_not_equal(vc_model_open(&m, &p, &err), VC_OK);
        assert_null(m);
        if (!strstr(err.text, bad[i].word)) fail_msg("'%s' does not name '%s'", err.text, bad[i].word);
    }
}

static void submit_errors(void **state) {
    vc_model *m = *state;
    static const int32_t ids[300] = { 1 }, outside[] = { 5, 99999 };
    vc_request_params p = request("x", 4);
    p.sampling.temperature = -1;
    refused(m, &p, VC_E_INVALID, "temperature");
    p = request("x", 4);
    p.sampling.top_p = 0;
    refused(m, &p, VC_E_INVALID, "top_p");
    p = request(NULL, 4);
    refused(m, &p, VC_E_INVALID, "prompt");
    p.prompt_ids = ids;
    refused(m, &p, VC_E_INVALID, "prompt");
    p.num_prompt_ids = 300;
    refused(m, &p, VC_E_TOO_LONG, "256");
    p.prompt_ids = outside;
    p.num_prompt_ids = 2;
    refused(m, &p, VC_E_INVALID, "99999");
    p.struct_size = 3;
    refused(m, &p, VC_E_INVALID, "struct_size");
    vc_output *o;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_next(m, -1, &o, &err), VC_E_DONE);         /* nothing of the refused ones is left */
    assert_int_equal(vc_cancel(m, 12345), VC_E_NOT_FOUND);
}

static void deltas_join(void **state) {
    vc_model *m = *state;
    struct result r[1];
    vc_request_params p = request("The licence grants é 漢字", 40);
    run(m, &p, r);
    char *whole;
    size_t n;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_detokenize(m, r[0].ids, r[0].n, VC_DETOK_SKIP_SPECIAL, &whole, &n, &err), VC_OK);
    assert_int_equal(r[0].n, 40);
    assert_string_equal(r[0].reason, "length");
    assert_string_equal(r[0].text, whole);
    vc_free(whole);
}

static void stop_strings(void **state) {
    vc_model *m = *state;
    struct result plain[1], cut[1];
    vc_request_params p = request("The licence grants", 40);
    run(m, &p, plain);
    size_t len = strlen(plain[0].text);
    assert_true(len > 16);
    char stop[8] = { 0 };
    size_t at = len / 2;                                           /* a piece of the text, on character borders */
    while (((unsigned char)plain[0].text[at] & 0xC0) == 0x80) at++;
    size_t k = 1;
    while (k < 5 || ((unsigned char)plain[0].text[at + k] & 0xC0) == 0x80) k++;
    memcpy(stop, plain[0].text + at, k);
    size_t first = (size_t)(strstr(plain[0].text, stop) - plain[0].text);
    const char *list[] = { "never in the text", stop };
    p.sampling.stop = list;
    p.sampling.num_stop = 2;
    run(m, &p, cut);
    assert_string_equal(cut[0].reason, "stop");
    assert_string_equal(cut[0].stop, stop);
    assert_int_equal(strlen(cut[0].text), first);
    assert_memory_equal(cut[0].text, plain[0].text, first);
    assert_true(cut[0].n < plain[0].n);
    p.sampling.include_stop_str_in_output = 1;
    run(m, &p, cut);
    assert_int_equal(strlen(cut[0].text), first + k);
    assert_memory_equal(cut[0].text, plain[0].text, first + k);
}

static void stop_token(void **state) {
    vc_model *m = *state;
    struct result plain[1], cut[1];
    vc_request_params p = request("The licence grants", 20);
    run(m, &p, plain);
    p.sampling.stop_token_ids = &plain[0].ids[7];
    p.sampling.num_stop_token_ids = 1;
    run(m, &p, cut);
    uint32_t first = 0;
    while (plain[0].ids[first] != plain[0].ids[7]) first++;
    assert_string_equal(cut[0].reason, "stop");
    assert_int_equal(cut[0].n, first + 1);
}

static void choices_are_seeds(void **state) {
    vc_model *m = *state;
    struct result many[3], one[1];
    vc_request_params p = request("Once", 24);
    p.sampling.temperature = 0.8f;
    p.sampling.n = 3;
    p.sampling.seed = 41;
    p.sampling.has_seed = 1;
    p.sampling.logprobs = 2;
    run(m, &p, many);
    p.sampling.n = 1;
    for (uint32_t i = 0; i < 3; i++) {
        p.sampling.seed = 41 + i;
        run(m, &p, one);
        assert_int_equal(many[i].seed, 41 + i);
        assert_int_equal(one[0].n, many[i].n);
        assert_memory_equal(one[0].ids, many[i].ids, one[0].n * sizeof(int32_t));
        assert_memory_equal(one[0].logprob, many[i].logprob, one[0].n * sizeof(float));
    }
    assert_memory_not_equal(many[0].ids, many[1].ids, 24 * sizeof(int32_t));
}

static void logprobs_are_there(void **state) {
    vc_model *m = *state;
    vc_request_params p = request("The licence grants you", 3);
    p.sampling.logprobs = 4;
    p.sampling.prompt_logprobs = 2;
    submit(m, &p);
    vc_output *o;
    vc_err err = VC_ERR_INIT;
    for (int step = 0; vc_next(m, -1, &o, &err) == VC_OK; step++) {
        assert_int_equal(o->num_logprobs, 5);
        assert_int_equal(o->logprobs[0].token, o->token_ids[0]);
        assert_int_equal(o->logprobs[1].token, o->token_ids[0]);       /* greedy: the best is the chosen one */
        for (int i = 2; i < 5; i++) assert_true(o->logprobs[i].logprob <= o->logprobs[i - 1].logprob);
        if (step == 0) {
            assert_int_equal(o->num_prompt_logprobs, 3);
            assert_int_equal(o->prompt_logprobs[0].token, -1);
            for (uint32_t t = 1; t < o->num_prompt_tokens; t++) {
                assert_true(o->prompt_logprobs[t * 3].token >= 0 && o->prompt_logprobs[t * 3].logprob <= 0);
                assert_true(o->prompt_logprobs[t * 3 + 1].logprob >= o->prompt_logprobs[t * 3 + 2].logprob);
            }
        } else {
            assert_null(o->prompt_logprobs);
        }
        vc_output_free(o);
    }
}

static void cancelling(void **state) {
    vc_model *m = *state;
    struct result alone[1], kept = { 0 }, gone = { 0 };
    vc_request_params p = request("The licence grants", 30);
    run(m, &p, alone);
    uint64_t a = submit(m, &p), b = submit(m, &p);
    vc_output *o;
    vc_err err = VC_ERR_INIT;
    while (vc_next(m, -1, &o, &err) == VC_OK) {
        struct result *r = o->request_id == a ? &kept : &gone;
        take(r, o);
        if (o->request_id == b && gone.n == 5 && !o->finished) assert_int_equal(vc_cancel(m, b), VC_OK);
        vc_output_free(o);
    }
    assert_string_equal(gone.reason, "abort");
    assert_true(gone.n < 30);
    assert_string_equal(kept.text, alone[0].text);
    vc_stats s = { .struct_size = sizeof s };
    assert_int_equal(vc_get_stats(m, &s), VC_OK);
    assert_int_equal(s.running, 0);
    assert_int_equal(s.waiting, 0);
    assert_true(s.kv_usage == 0);
}

enum { CLIENTS = 3, EACH = 4 };
static void *client(void *arg) {
    for (int i = 0; i < EACH; i++) {
        vc_request_params p = request("The licence grants", 10 + (uint32_t)i);
        vc_err err = VC_ERR_INIT;
        if (vc_submit(arg, &p, NULL, &err) != VC_OK) return arg;
    }
    return NULL;
}

static void a_thread_steps(void **state) {
    vc_model *m = *state;
    vc_err err = VC_ERR_INIT;
    pthread_t t[CLIENTS];
    assert_int_equal(vc_start(m, &err), VC_OK);
    assert_int_equal(vc_start(m, &err), VC_E_STATE);
    assert_int_equal(vc_step(m, &err), VC_E_STATE);
    for (int i = 0; i < CLIENTS; i++) assert_int_equal(pthread_create(&t[i], NULL, client, m), 0);
    for (int i = 0; i < CLIENTS; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
    uint32_t finished = 0, tokens = 0;
    vc_output *o;
    while (vc_next(m, 20000, &o, &err) == VC_OK) {
        finished += (uint32_t)o->request_finished;
        tokens += o->num_token_ids;
        vc_output_free(o);
    }
    assert_int_equal(finished, CLIENTS * EACH);
    assert_int_equal(tokens, CLIENTS * (10 + 11 + 12 + 13));
    assert_int_equal(vc_next(m, 0, &o, &err), VC_E_DONE);
    assert_int_equal(vc_stop(m), VC_OK);
    assert_int_equal(vc_stop(m), VC_E_STATE);
}

static void closing_with_work_left(void **state) {
    (void)state;
    vc_model *m = open_model(4);
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    vc_request_params p = request("The licence grants", 30);
    for (int i = 0; i < 6; i++) submit(m, &p);                     /* four run, two wait */
    assert_int_equal(vc_next(m, -1, &o, &err), VC_OK);
    submit(m, &p);                                                 /* never admitted */
    vc_model_close(&m);
    assert_null(m);
    assert_true(o->num_token_ids == 1);                            /* an output outlives its model */
    vc_output_free(o);
    vc_model_close(&m);
}

static void small_pool_preempts(void **state) {
    (void)state;
    vc_model_params mp;
    vc_err err = VC_ERR_INIT;
    vc_model *m = NULL;
    vc_model_params_init(&mp);
    mp.path = model_path();
    mp.max_num_seqs = 4;
    mp.max_model_len = 96;
    mp.threads = 1;
    mp.kv_cache_memory_bytes = 1;
    assert_int_equal(vc_model_open(&m, &mp, &err), VC_E_NOMEM);    /* less than one sequence */
    assert_non_null(strstr(err.text, "max_model_len"));
    mp.kv_cache_memory_bytes = 9u * 16 * 2 * 2 * 64 * 2 * 2;       /* nine pages: 2 layers, k and v, 2 heads of 64, f16 */
    if (vc_model_open(&m, &mp, &err) != VC_OK) fail_msg("%s", err.text);
    struct result alone[1], r[4];
    vc_request_params p = request("The licence grants", 70);
    run(m, &p, alone);
    memset(r, 0, sizeof r);
    uint64_t first = submit(m, &p);
    for (int i = 1; i < 4; i++) submit(m, &p);
    vc_output *o;
    uint32_t preempted = 0;
    while (vc_next(m, -1, &o, &err) == VC_OK) {
        take(&r[o->request_id - first], o);
        assert_true(o->queued_at > 0 && o->queued_at <= o->scheduled_at && o->scheduled_at < o->first_token_at && o->first_token_at <= o->last_token_at);
        if (o->finished) preempted += o->num_preemptions;
        vc_output_free(o);
    }
    vc_stats s = { .struct_size = sizeof s };
    vc_get_stats(m, &s);
    assert_true(s.preemptions > 0 && s.preemptions == preempted);
    assert_int_equal(s.free_blocks, 9);
    assert_true(vc_stalled(m) <= 0);
    for (int i = 0; i < 4; i++) assert_string_equal(r[i].text, alone[0].text);
    vc_model_close(&m);
}

static int set_up(void **state) {
    *state = open_model(8);
    return 0;
}
static int tear_down(void **state) {
    vc_model *m = *state;
    vc_model_close(&m);
    return 0;
}

/* Two templates beside the tokenizer: the one named tool_use is for requests with tools. */
static void write_file(const char *folder, const char *name, const char *text) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static char *rendered(vc_model *m, const char *tools) {
    vc_chat_params cp;
    vc_err err = VC_ERR_INIT;
    char *text = NULL;
    size_t n;
    vc_chat_params_init(&cp);
    cp.messages_json = "[{\"role\":\"user\",\"content\":\"hi\"}]";
    cp.tools_json = tools;
    if (vc_chat_render(m, &cp, &text, &n, &err) != VC_OK) fail_msg("%s", err.text);
    return text;
}

static void template_for_tools(void **state) {
    (void)state;
    static const char *const configs[] = {
        "{\"chat_template\":[{\"name\":\"default\",\"template\":\"plain\"},{\"name\":\"tool_use\",\"template\":\"tools\"}]}", "{}"
    };
    for (size_t i = 0; i < 2; i++) {
        char folder[1024], more[1060];
        snprintf(folder, sizeof folder, "%s/api_templates_%zu_%d", VC_TEST_TMP, i, (int)getpid());
        snprintf(more, sizeof more, "%s/additional_chat_templates", folder);
        assert_int_equal(mkdir(folder, 0777), 0);
        write_file(folder, "tokenizer.json", "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"b\":1},\"unk_token\":\"a\"}}");
        write_file(folder, "tokenizer_config.json", configs[i]);
        if (i) {
            assert_int_equal(mkdir(more, 0777), 0);
            write_file(folder, "chat_template.jinja", "plain");
            write_file(more, "tool_use.jinja", "tools");
        }
        vc_model *m = open_with(1, folder);
        char *plain = rendered(m, NULL), *empty = rendered(m, "[]"), *tools = rendered(m, "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]");
        assert_string_equal(plain, "plain");
        assert_string_equal(empty, "plain");
        assert_string_equal(tools, "tools");
        vc_free(plain);
        vc_free(empty);
        vc_free(tools);
        vc_model_close(&m);
        char command[1200];
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        assert_int_equal(system(command), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(template_for_tools), cmocka_unit_test(opening_errors), cmocka_unit_test(submit_errors), cmocka_unit_test(deltas_join), cmocka_unit_test(stop_strings),
        cmocka_unit_test(stop_token), cmocka_unit_test(choices_are_seeds), cmocka_unit_test(logprobs_are_there), cmocka_unit_test(cancelling),
        cmocka_unit_test(a_thread_steps), cmocka_unit_test(closing_with_work_left), cmocka_unit_test(small_pool_preempts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
