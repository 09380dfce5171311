/* SPDX-License-Identifier: Apache-2.0
 * run_test.c: vllmc run on the llama golden (token ids; references: hf_f64) and on SmolLM2 where it is there. */
#include "cli/program.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/json.h"

static const char *folder(void) { return vc_golden("models/llama"); }

/* "1,2,3" of an array of ids. */
static const char *ids_text(const json_t *ids, char *dst, size_t cap) {
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(ids); i++)
        n += (size_t)snprintf(dst + n, cap - n, "%s%d", i ? "," : "", (int)json_integer_value(json_array_get(ids, i)));
    return dst;
}

static void test_reference(void **state) {
    (void)state;
    vc_err err = VC_ERR_INIT;
    json_t *golden;
    assert_int_equal(vc_json_load(&golden, vc_golden("models/llama/golden.json"), &err), VC_OK);
    const json_t *prompts = json_object_get(golden, "prompts"), *want = vc_json_at(golden, "refs.hf_f64.tokens");
    assert_int_equal(json_array_size(prompts), 5);
    for (size_t i = 0; i < json_array_size(prompts); i++) {
        char prompt[4096];
        ids_text(json_array_get(prompts, i), prompt, sizeof prompt);
        json_t *r = PROGRAM_JSON(0, "run", folder(), "--prompt-ids", prompt, "-n", "24", "--temperature", "0", "--ignore-eos", "--numerics",
                                 "f32", "--json");
        assert_true(json_equal(json_object_get(r, "prompt_token_ids"), json_array_get(prompts, i)));
        assert_true(json_equal(json_object_get(r, "token_ids"), json_array_get(want, i)));
        assert_string_equal(json_string_value(json_object_get(r, "finish_reason")), "length");
        assert_string_equal(json_string_value(json_object_get(r, "model")), "llama");
        assert_true(json_is_null(json_object_get(r, "logprobs")));
        assert_true(json_is_null(json_object_get(r, "text")));                          /* it has no vocabulary */
        static const char *const times[] = { "load_s", "ttft_s", "prompt_tokens_per_s", "decode_tokens_per_s", "total_s" };
        for (size_t k = 0; k < 5; k++) assert_true(json_number_value(json_object_get(json_object_get(r, "timings"), times[k])) > 0);
        json_decref(r);
    }
    json_decref(golden);
}

static void test_logprobs(void **state) {
    (void)state;
    json_t *r = PROGRAM_JSON(0, "run", folder(), "--prompt-ids", "243,100,19,251,43", "-n", "6", "--temperature", "0", "--numerics", "f32",
                             "--logprobs", "3", "--prompt-logprobs", "2", "--json");
    const json_t *ids = json_object_get(r, "token_ids"), *lp = json_object_get(r, "logprobs"), *pl = json_object_get(r, "prompt_logprobs");
    assert_int_equal(json_array_size(lp), json_array_size(ids));
    for (size_t i = 0; i < json_array_size(lp); i++) {
        const json_t *t = json_array_get(lp, i), *top = json_object_get(t, "top");
        assert_true(json_equal(json_object_get(t, "token_id"), json_array_get(ids, i)));
        assert_int_equal(json_integer_value(json_object_get(t, "rank")), 1);            /* greedy */
        assert_int_equal(json_array_size(top), 3);
        double best = json_number_value(json_object_get(t, "logprob"));
        assert_true(best < 0);
        for (size_t k = 0; k < 3; k++) {
            double v = json_number_value(json_object_get(json_array_get(top, k), "logprob"));
            assert_true(v <= best);
            best = v;
        }
    }
    assert_int_equal(json_array_size(pl), 5);
    assert_true(json_is_null(json_array_get(pl, 0)));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(pl, 4), "token_id")), 43);
    json_decref(r);
}

static void test_sampling(void **state) {
    (void)state;
    json_t *a = PROGRAM_JSON(0, "run", folder(), "--prompt-ids", "54", "-n", "8", "--n", "3", "--seed", "7", "--ignore-eos", "--json");
    json_t *b = PROGRAM_JSON(0, "run", folder(), "--prompt-ids", "54", "-n", "8", "--seed", "9", "--ignore-eos", "--json");
    const json_t *c = json_object_get(a, "choices");
    assert_int_equal(json_array_size(c), 3);
    assert_true(json_equal(json_object_get(a, "token_ids"), json_object_get(json_array_get(c, 0), "token_ids")));
    assert_false(json_equal(json_object_get(json_array_get(c, 0), "token_ids"), json_object_get(json_array_get(c, 1), "token_ids")));
    /* choice i uses seed + i */
    assert_true(json_equal(json_object_get(json_array_get(c, 2), "token_ids"), json_object_get(b, "token_ids")));
    assert_int_equal(json_integer_value(json_object_get(b, "seed")), 9);
    json_decref(a);
    json_decref(b);
    json_t *s = PROGRAM_JSON(0, "run", folder(), "--prompt-ids", "54", "-n", "24", "--temperature", "0", "--numerics", "f32",
                             "--stop-token-ids", "219", "--json");
    assert_string_equal(json_string_value(json_object_get(s, "finish_reason")), "stop");          /* 48,138,73,219 */
    assert_int_equal(json_integer_value(json_object_get(s, "stop_reason")), 219);
    assert_int_equal(json_array_size(json_object_get(s, "token_ids")), 4);
    json_decref(s);
    s = PROGRAM_JSON(0, "run", folder(), "--prompt-ids", "54", "-n", "3", "--temperature", "0", "--numerics", "f32", "--logit-bias",
                     "5:100", "--json");
    for (size_t i = 0; i < 3; i++) assert_int_equal(json_integer_value(json_array_get(json_object_get(s, "token_ids"), i)), 5);
    json_decref(s);
    s = PROGRAM_JSON(0, "run", folder(), "--prompt-ids", "54", "-n", "5", "--allowed-token-ids", "7,9", "--json");
    for (size_t i = 0; i < 5; i++) {
        json_int_t id = json_integer_value(json_array_get(json_object_get(s, "token_ids"), i));
        assert_true(id == 7 || id == 9);
    }
    json_decref(s);
}

static void test_plain(void **state) {
    (void)state;
    struct said s = PROGRAM(NULL, "run", folder(), "--prompt-ids", "54", "-n", "4", "--temperature", "0", "--numerics", "f32");
    expect_rc(&s, 0, "run");
    assert_string_equal(s.out, "48,138,73,219\n");
    assert_string_equal(s.err, "");
    said_free(&s);
    s = PROGRAM(NULL, "run", folder(), "-p", "text");
    expect_rc(&s, 1, "text without a vocabulary");
    assert_non_null(strstr(s.err, "--tokenizer"));
    said_free(&s);
    s = PROGRAM(NULL, "run", folder(), "--prompt-ids", "256");
    expect_rc(&s, 2, "id outside the vocabulary");
    assert_non_null(strstr(s.err, "256"));
    said_free(&s);
    s = PROGRAM(NULL, "run", folder(), "--prompt-ids", "1", "--temperature", "-1");
    expect_rc(&s, 2, "negative temperature");
    assert_non_null(strstr(s.err, "temperature must be non-negative"));
    said_free(&s);
    s = PROGRAM(NULL, "run", "/nonexistent", "--prompt-ids", "1");
    expect_rc(&s, 1, "no model");
    assert_non_null(strstr(s.err, "/nonexistent"));
    said_free(&s);
}

/* The engine's flags reach the engine. */
static void test_engine_flags(void **state) {
    (void)state;
    json_t *i = PROGRAM_JSON(0, "info", folder(), "--json", "--plan", "--numerics", "f32", "--max-model-len", "1K", "--block-size", "32",
                             "--kv-cache-dtype", "float16", "--kv-cache-memory-bytes", "16M", "--max-num-seqs", "4");
    assert_string_equal(json_string_value(vc_json_at(i, "model.kv_cache_dtype")), "f16");
    assert_int_equal(json_integer_value(vc_json_at(i, "model.block_size")), 32);
    assert_int_equal(json_integer_value(vc_json_at(i, "model.max_model_len")), 1024);
    assert_int_equal(json_integer_value(vc_json_at(i, "model.num_kv_blocks")), 4 * 1024 / 32);
    assert_true(json_array_size(json_object_get(i, "plan")) > 10);
    json_decref(i);
}

static void test_real(void **state) {
    (void)state;
    const char *m = real_model("SmolLM2-135M-Instruct.Q4_1.gguf");
    if (!m) {
        vc_left_out("SmolLM2-135M-Instruct.Q4_1.gguf");
        return;
    }
    struct said s = PROGRAM("The capital of France is", "run", m, "-", "-n", "8", "--temperature", "0");
    expect_rc(&s, 0, "run");
    assert_non_null(strstr(s.out, "Paris"));
    said_free(&s);
    json_t *r = PROGRAM_JSON(0, "run", m, "-p", "The capital of France is", "-n", "8", "--temperature", "0", "--stop", "Par", "--logprobs",
                             "1", "--json");
    assert_string_equal(json_string_value(json_object_get(r, "finish_reason")), "stop");
    assert_string_equal(json_string_value(json_object_get(r, "stop_reason")), "Par");
    assert_null(strstr(json_string_value(json_object_get(r, "text")), "Par"));
    json_decref(r);
}

/* Ctrl-C ends the answer: what there is is printed, exit code 130. A reader that leaves ends it too. */
static void test_interrupt(void **state) {
    (void)state;
    char out[512], err[512];
    snprintf(out, sizeof out, "%s/cli-int.out", VC_TEST_TMP);
    snprintf(err, sizeof err, "%s/cli-int.err", VC_TEST_TMP);
    const char *const args[] = { "run", folder(), "--prompt-ids", "54", "--max-model-len", "200000", "--ignore-eos", NULL };
    pid_t pid = program_start(args, out, err);
    char *text = NULL;
    for (int i = 0; i < 2000; i++) {                        /* until the first ids are there */
        usleep(10000);
        free(text);
        text = read_text(out);
        if (text && strlen(text) > 20) break;
    }
    assert_true(text && strlen(text) > 20);
    free(text);
    kill(pid, SIGINT);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    text = read_text(out);
    assert_int_equal(text[strlen(text) - 1], '\n');
    free(text);
    char line[2048];
    snprintf(line, sizeof line, "%s run %s --prompt-ids 54 --max-model-len 200000 --ignore-eos 2>%s | head -c 20 >/dev/null; test ! -s %s",
             VC_TEST_PROGRAM, folder(), err, err);
    assert_int_equal(system(line), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reference),    cmocka_unit_test(test_logprobs),
                                        cmocka_unit_test(test_sampling),     cmocka_unit_test(test_plain),
                                        cmocka_unit_test(test_engine_flags), cmocka_unit_test(test_real),
                                        cmocka_unit_test(test_interrupt) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
