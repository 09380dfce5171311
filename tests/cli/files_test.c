/* SPDX-License-Identifier: Apache-2.0
 * files_test.c: vllmc inspect on good and malformed files, vllmc tokenize against tokenizers' goldens, chat on a pipe. */
#include "cli/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/json.h"

static void test_inspect(void **state) {
    (void)state;
    json_t *r = PROGRAM_JSON(0, "inspect", vc_golden("models/llama"), "--json", "--tensors");
    assert_string_equal(json_string_value(json_object_get(r, "format")), "safetensors");
    assert_string_equal(json_string_value(json_object_get(r, "architecture")), "LlamaForCausalLM");
    assert_true(json_is_true(json_object_get(r, "supported")));
    assert_int_equal(json_integer_value(json_object_get(r, "parameters")), 131392);               /* golden.json */
    assert_int_equal(json_integer_value(vc_json_at(r, "shape.num_kv_heads")), 2);
    /* K and V, 2 layers, 2 heads of 32, bf16 */
    assert_int_equal(json_integer_value(json_object_get(r, "kv_bytes_per_1024_tokens")), 1024 * 2 * 2 * 2 * 32 * 2);
    assert_true(json_is_null(json_object_get(r, "tokenizer")));
    assert_true(json_array_size(json_object_get(r, "tensors")) > 10);
    assert_string_equal(json_string_value(vc_json_at(r, "tensors.0.dtype")), "bf16");
    json_decref(r);
    struct said s = PROGRAM(NULL, "inspect", vc_golden("models/llama"), "--tensors");
    expect_rc(&s, 0, "inspect");
    assert_non_null(strstr(s.out, "model.embed_tokens.weight"));
    said_free(&s);
}

/* Every malformed file ends in an exit code, and in the expected one where the file itself is at fault. */
static void test_malformed(void **state) {
    (void)state;
    const char *list = vc_golden("gguf-quants/malformed/cases.jsonl");
    assert_non_null(list);
    char *text = read_text(list), folder[1024];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(list) - strlen("cases.jsonl")), list);
    unsigned n = 0;
    for (char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        json_t *c = json_loadb(p, len, 0, NULL);
        assert_non_null(c);
        const char *file = json_string_value(json_object_get(c, "file")), *expect = json_string_value(json_object_get(c, "expect"));
        char path[2048];
        snprintf(path, sizeof path, "%s%s", folder, file);
        struct said s = PROGRAM(NULL, "inspect", path, "--tensors", "--json");
        bool ok = s.rc == 0 || s.rc == 1;
        if (!strcmp(expect, "error") && s.rc != 1) ok = false;
        if (!strncmp(expect, "ok", 2) && s.rc != 0) ok = false;
        if (s.rc == 1 && !strstr(s.err, file)) ok = false;
        if (!ok) print_error("%s: expected %s, exit code %d: %s\n", file, expect, s.rc, s.err);
        assert_true(ok);
        said_free(&s);
        json_decref(c);
        p += len + (p[len] == '\n');
        n++;
    }
    printf("%u files\n", n);
    assert_true(n >= 90);
    free(text);
}

/* A GGUF file whose architecture is unknown is described all the same. */
static void test_unknown(void **state) {
    (void)state;
    const char *path = vc_golden("gguf-quants/malformed/arch_foo.gguf");
    assert_non_null(path);
    json_t *r = PROGRAM_JSON(0, "inspect", path, "--json");
    assert_true(json_is_false(json_object_get(r, "supported")));
    assert_non_null(strstr(json_string_value(json_object_get(r, "unsupported_because")), json_string_value(json_object_get(r, "architecture"))));
    json_decref(r);
}

static void test_tokenize(void **state) {
    (void)state;
    const char *m = real_model("SmolLM2-135M-Instruct.Q4_1.gguf");
    if (!m) {
        vc_left_out("SmolLM2-135M-Instruct.Q4_1.gguf");
        return;
    }
    const char *text = "Hello w\xc3\xb6rld <|im_end|>";
    json_t *r = PROGRAM_JSON(0, "tokenize", m, text, "--json");
    json_t *want = json_pack("[i,i,i,i,i,i]", 19556, 267, 29989, 400, 216, 2);                    /* transformers' tokenizer of the same model */
    assert_true(json_equal(json_object_get(r, "ids"), want));
    assert_int_equal(json_integer_value(vc_json_at(r, "tokens.2.start")), 7);
    assert_int_equal(json_integer_value(vc_json_at(r, "tokens.2.end")), 10);
    assert_true(json_is_true(vc_json_at(r, "tokens.5.special")));
    json_decref(want);
    json_decref(r);
    struct said s = PROGRAM(text, "tokenize", m, "-", "--ids");
    expect_rc(&s, 0, "tokenize");
    assert_string_equal(s.out, "19556,267,29989,400,216,2\n");
    said_free(&s);
    s = PROGRAM(NULL, "tokenize", m, "--decode", "19556,267,29989,400,216,2");
    expect_rc(&s, 0, "decode");
    assert_string_equal(s.out, "Hello w\xc3\xb6rld <|im_end|>\n");
    said_free(&s);
    s = PROGRAM(NULL, "tokenize", m, "--decode", "99999999");
    expect_rc(&s, 2, "an id that there is not");
    said_free(&s);
}

static void test_chat(void **state) {
    (void)state;
    struct said s = PROGRAM("Hello\n", "chat", vc_golden("models/llama"));
    expect_rc(&s, 1, "chat without a template");
    assert_non_null(strstr(s.err, "--chat-template"));
    said_free(&s);
    const char *m = real_model("SmolLM2-135M-Instruct.Q4_1.gguf");
    if (!m) {
        vc_left_out("SmolLM2-135M-Instruct.Q4_1.gguf");
        return;
    }
    char saved[512], talk[2048];
    snprintf(saved, sizeof saved, "%s/cli-chat-%d.json", VC_TEST_TMP, (int)getpid());
    snprintf(talk, sizeof talk,
             "What is the capital of\\\nFrance?\n/nonsense\n\"\"\"And of\nItaly?\"\"\"\n/stats\n/save %s\n/reset\n/save %s.2\n/quit\nnot "
             "reached\n",
             saved, saved);
    s = PROGRAM(talk, "chat", m, "--system", "You are terse.", "--temperature", "0", "-n", "16");
    expect_rc(&s, 0, "chat");
    assert_non_null(strstr(s.out, "Paris"));
    assert_non_null(strstr(s.out, "No command /nonsense"));
    assert_non_null(strstr(s.out, "Last answer:"));
    said_free(&s);
    vc_err err = VC_ERR_INIT;
    json_t *r;
    assert_int_equal(vc_json_load(&r, saved, &err), VC_OK);
    assert_int_equal(json_array_size(json_object_get(r, "messages")), 5);
    assert_string_equal(json_string_value(vc_json_at(r, "messages.0.content")), "You are terse.");
    assert_string_equal(json_string_value(vc_json_at(r, "messages.1.content")), "What is the capital of\nFrance?");
    assert_string_equal(json_string_value(vc_json_at(r, "messages.3.content")), "And of\nItaly?");
    assert_string_equal(json_string_value(vc_json_at(r, "messages.4.role")), "assistant");
    json_decref(r);
    unlink(saved);
    snprintf(talk, sizeof talk, "%s.2", saved);
    unlink(talk);
    s = PROGRAM("Tell me a long story about the sea and a whale and a ship and a storm.\n/reset\nHi\n", m, "--max-model-len", "48",
                "--temperature", "0", "-n", "4", "--system",
                "This system message alone is already far too long for a context of forty-eight tokens, as everybody can see who counts "
                "its words, one by one, up to the very end.");
    expect_rc(&s, 0, "chat that does not fit");
    assert_non_null(strstr(s.err, "the context holds 48"));
    said_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_inspect), cmocka_unit_test(test_malformed), cmocka_unit_test(test_unknown),
                                        cmocka_unit_test(test_tokenize), cmocka_unit_test(test_chat) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
