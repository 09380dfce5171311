/* SPDX-License-Identifier: Apache-2.0
 * words_test.c: options, help, man page and completions of the program. */
#include "cli/program.h"

#include "io/json.h"

static const char *const commands[] = { "run", "chat", "batch", "inspect", "tokenize", "info", "bench", "help" };

static void test_help(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct said a = PROGRAM(NULL, commands[i], "--help"), b = PROGRAM(NULL, "help", commands[i]);
        expect_rc(&a, 0, commands[i]);
        expect_rc(&b, 0, commands[i]);
        assert_string_equal(a.out, b.out);
        assert_non_null(strstr(a.out, "Usage:"));
        assert_non_null(strstr(a.out, "Examples:"));
        assert_null(strchr(a.out, '\033'));                 /* no colours into a file */
        said_free(&a);
        said_free(&b);
    }
    struct said s = PROGRAM(NULL, "--help");
    expect_rc(&s, 0, "--help");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) assert_non_null(strstr(s.out, commands[i]));
    said_free(&s);
    s = PROGRAM(NULL, "--version");
    expect_rc(&s, 0, "--version");
    assert_string_equal(s.out, "vllmc 0.1.0\n");
    said_free(&s);
}

/* --help=TOPIC: what it holds, and what it does not. */
static void topic(const char *command, const char *name, const char *holds, const char *lacks) {
    char word[80];
    snprintf(word, sizeof word, "--help=%s", name);
    struct said a = PROGRAM(NULL, command, word), b = PROGRAM(NULL, "help", command, name);
    expect_rc(&a, 0, word);
    assert_string_equal(a.out, b.out);
    if (!strstr(a.out, holds) || (lacks && strstr(a.out, lacks))) print_error("%s %s: '%s' and not '%s' expected in\n%s", command, word, holds, lacks ? lacks : "", a.out);
    assert_non_null(strstr(a.out, holds));
    if (lacks) assert_null(strstr(a.out, lacks));
    said_free(&a);
    said_free(&b);
}

static void test_topics(void **state) {
    (void)state;
    topic("serve", "listgroup", "SchedulerConfig\n", NULL);
    topic("serve", "SchedulerConfig", "--max-num-seqs N", "--block-size");
    topic("serve", "schedulerconfig", "--scheduler-cls: no Python is loaded", "--block-size");
    topic("serve", "max-num-seqs", "VLLMC_MAX_NUM_SEQS", "--max-num-batched-tokens");
    topic("serve", "max-num", "--max-num-batched-tokens N", "--block-size");
    topic("serve", "block_size", "VLLMC_BLOCK_SIZE", "--max-num-seqs");
    topic("serve", "tensor-parallel-size", "-tp: only 1 is taken", "--pipeline");
    topic("run", "Sampling", "--temperature T", "--block-size");
    topic("run", "all", "--temperature T", "--tensor-parallel-size");
}

/* What must be said on standard error, with exit code 2. */
static void refused(const char *says, const char *const *argv) {
    struct said s = program(NULL, argv);
    expect_rc(&s, 2, says);
    if (!strstr(s.err, says)) print_error("expected '%s', got: %s\n", says, s.err);
    assert_non_null(strstr(s.err, says));
    assert_string_equal(s.out, "");
    said_free(&s);
}
#define REFUSED(says, ...) refused(says, (const char *const[]){ __VA_ARGS__, NULL })

static void test_usage(void **state) {
    (void)state;
    REFUSED("unknown option --tempratur; did you mean --temperature?", "run", "m", "--tempratur", "1");
    REFUSED("--help=zzzz: no such option or group", "serve", "--help=zzzz");
    REFUSED("--help=max-num-sqs: no such option or group; did you mean max-num-seqs?", "serve", "--help=max-num-sqs");
    REFUSED("unknown option --zzzzzz", "run", "m", "--zzzzzz");
    REFUSED("unknown option -x", "run", "m", "-x");
    REFUSED("unknown command 'chta'; did you mean 'chat'?", "chta");
    REFUSED("./no/such/model.gguf: no such file", "./no/such/model.gguf");
    REFUSED("--temperature needs a value", "run", "m", "-p", "x", "--temperature");
    REFUSED("--temperature: 'hot', expected a number", "run", "m", "-p", "x", "--temperature", "hot");
    REFUSED("--max-model-len: '4.5', expected a whole number", "run", "m", "-p", "x", "--max-model-len", "4.5");
    REFUSED("--max-num-seqs: '-1', expected", "run", "m", "-p", "x", "--max-num-seqs", "-1");
    REFUSED("--dtype: 'fp3', expected auto|bfloat16|float16|float32", "run", "m", "-p", "x", "--dtype", "fp3");
    REFUSED("--prompt-ids: '1,x', expected token ids", "run", "m", "--prompt-ids", "1,x");
    REFUSED("--logit-bias: '7', expected token:bias pairs", "run", "m", "-p", "x", "--logit-bias", "7");
    REFUSED("--chat takes no value", "run", "m", "--chat=1");
    REFUSED("--max-tokens: 0", "run", "m", "-p", "x", "-n", "0");
    REFUSED("no prompt", "run", "m");
    REFUSED("more than one prompt", "run", "m", "-p", "x", "-f", "y");
    REFUSED("run needs a model", "run");
    REFUSED("batch needs -i FILE", "batch", "m");
    REFUSED("--plan needs a model", "info", "--plan");
    REFUSED("exclude each other", "bench", "m", "--json", "--csv");
}

static void test_environment(void **state) {
    (void)state;
    setenv("VLLMC_MAX_NUM_SEQS", "lots", 1);
    REFUSED("VLLMC_MAX_NUM_SEQS: 'lots', expected a whole number", "run", "m", "-p", "x");
    unsetenv("VLLMC_MAX_NUM_SEQS");
    setenv("VLLMC_JSON", "1", 1);
    json_t *info = PROGRAM_JSON(0, "info");
    assert_true(json_is_string(json_object_get(info, "tier")));
    json_decref(info);
    setenv("VLLMC_JSON", "yes", 1);
    REFUSED("VLLMC_JSON: 'yes', expected 1 or 0", "info");
    unsetenv("VLLMC_JSON");
    setenv("VLLMC_CPU", "portable", 1);
    info = PROGRAM_JSON(0, "info", "--json", "--ops", "--slots");
    assert_string_equal(json_string_value(json_object_get(info, "tier")), "portable");
    assert_true(json_array_size(json_object_get(info, "kernels")) > 0);
    assert_string_equal(json_string_value(vc_json_at(info, "profiles.f32.residual")), "f32");
    json_decref(info);
    unsetenv("VLLMC_CPU");
}

/* Prints a text into a file and gives the file to a checker; left out where there is no such checker. */
static void checked(const char *option, const char *file, const char *tool, const char *command) {
    char path[512], line[2048];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", tool);
    struct said s = PROGRAM(NULL, "help", option);
    expect_rc(&s, 0, option);
    assert_true(strlen(s.out) > 1000);
    if (system(line) != 0) {
        vc_left_out(tool);
    } else {
        snprintf(path, sizeof path, "%s/%s", VC_TEST_TMP, file);
        write_text(path, s.out);
        snprintf(line, sizeof line, "F=%s; %s", path, command);
        assert_int_equal(system(line), 0);
    }
    said_free(&s);
}

static void test_texts(void **state) {
    (void)state;
    checked("--bash", "cli-words.bash", "bash", "bash -n $F && bash -c \". $F; complete -p vllmc\" >/dev/null");
    checked("--zsh", "cli-words.zsh", "zsh", "zsh -n $F");
    checked("--man", "cli-words.1", "man", "test -z \"$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z $F 2>&1 >/dev/null)\"");
    checked("--markdown", "cli-words.md", "grep", "grep -q '^## vllmc run' $F");
}

/* What bash offers after "vllmc WORDS". */
static void test_bash_offers(void **state) {
    (void)state;
    char path[512], line[2048];
    if (system("command -v bash >/dev/null 2>&1") != 0) {
        vc_left_out("bash");
        return;
    }
    struct said s = PROGRAM(NULL, "help", "--bash");
    snprintf(path, sizeof path, "%s/cli-offers.bash", VC_TEST_TMP);
    write_text(path, s.out);
    said_free(&s);
    static const struct { const char *words; int at; const char *want; } cases[] = {
        { "vllmc ben", 1, "bench" }, { "vllmc run m --temp", 3, "--temperature" }, { "vllmc run m --dtype bfl", 4, "bfloat16" },
        { "vllmc run m --no-enable-p", 3, "--no-enable-prefix-caching" }, { "vllmc help --mar", 2, "--markdown" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(line, sizeof line,
                 "bash -c '. %s; COMP_WORDS=(%s); COMP_CWORD=%d; _vllmc; for w in \"${COMPREPLY[@]}\"; do [ \"$w\" = \"%s\" ] && exit 0; "
                 "done; exit 1'",
                 path, cases[i].words, cases[i].at, cases[i].want);
        int rc = system(line);
        if (rc != 0) print_error("%s: %s is not offered\n", cases[i].words, cases[i].want);
        assert_int_equal(rc, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_help), cmocka_unit_test(test_topics), cmocka_unit_test(test_usage), cmocka_unit_test(test_environment),
                                        cmocka_unit_test(test_texts), cmocka_unit_test(test_bash_offers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
