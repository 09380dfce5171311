/* SPDX-License-Identifier: Apache-2.0
 * config_test.c: --config files, variables of the environment, who wins, and what --print-config says of it. Nothing is
 * loaded. Meaning of the keys: vLLM's docs/configuration/serve_args.md. */
#include "cli/program.h"

static const char *config(const char *text) {
    static char path[512];
    snprintf(path, sizeof path, "%s/cli-config.yaml", VC_TEST_TMP);
    write_text(path, text);
    return path;
}

/* Is there a line that begins with `key: value` and ends with the source? */
static bool has_line(const char *out, const char *begins, const char *source) {
    for (const char *p = out; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
        size_t n = strcspn(p, "\n"), m = strlen(source);
        if (!strncmp(p, begins, strlen(begins)) && n > m && !strncmp(p + n - m, source, m)) return true;
    }
    return false;
}
#define LINE(out, begins, source)                                                                                      \
    do {                                                                                                               \
        if (!has_line(out, begins, source)) print_error("no '%s … %s' in:\n%s", begins, source, out);                  \
        assert_true(has_line(out, begins, source));                                                                    \
    } while (0)

static void test_precedence(void **state) {
    (void)state;
    const char *path = config("model: /from/file\n# a comment\nmax_model_len: 4k\nport: 9001\nhost: 'a b'\nseed: "
                              "7\nserved-model-name:\n  - one\n  - two\n"
                              "enable-prefix-caching: no\nenable-log-requests: true\napi-key: "
                              "secret\nuds:\noverride-generation-config: {temperature: 0.5, eos_token_id: [1, 2]}\n");
    setenv("VLLMC_PORT", "9002", 1);
    setenv("VLLMC_SEED", "8", 1);
    struct said s = PROGRAM(NULL, "serve", "--config", path, "--print-config", "--seed", "9");
    expect_rc(&s, 0, "precedence");
    LINE(s.out, "model: \"/from/file\" ", "# file");
    LINE(s.out, "max-model-len: 4k ", "# file");
    LINE(s.out, "host: \"a b\" ", "# file");
    LINE(s.out, "port: 9002 ", "# environment");
    LINE(s.out, "seed: 9 ", "# command line");
    LINE(s.out, "served-model-name: [\"one\", \"two\"] ", "# file");
    LINE(s.out, "enable-prefix-caching: false ", "# file");
    LINE(s.out, "enable-log-requests: true ", "# file");
    LINE(s.out, "# api-key: 1, not shown ", "# file");
    LINE(s.out, "# uds: none ", "# default");
    LINE(s.out, "# max-num-seqs: 256", "# default");
    LINE(s.out, "override-generation-config: {\"temperature\":0.5,\"eos_token_id\":[1,2]} ", "# file");
    assert_null(strstr(s.out, "secret"));
    /* What was printed is a file that gives the same. */
    struct said again = PROGRAM(NULL, "serve", "--config", config(s.out), "--print-config");
    expect_rc(&again, 0, "its own output");
    LINE(again.out, "seed: 8 ", "# environment");
    LINE(again.out, "served-model-name: [\"one\", \"two\"] ", "# file");
    said_free(&again);
    said_free(&s);
    unsetenv("VLLMC_PORT");
    unsetenv("VLLMC_SEED");
    setenv("VLLMC_CONFIG", config("{\"seed\": 3, \"max-num-seqs\": 2}"), 1); /* JSON, named by the environment */
    s = PROGRAM(NULL, "run", "m", "--print-config");
    expect_rc(&s, 0, "json");
    LINE(s.out, "model: \"m\" ", "# command line");
    LINE(s.out, "seed: 3 ", "# file");
    LINE(s.out, "max-num-seqs: 2 ", "# file");
    said_free(&s);
    unsetenv("VLLMC_CONFIG");
}

static void test_lists(void **state) {
    (void)state;
    setenv("VLLMC_API_KEY", "[\"a\", \"b\"]", 1);
    struct said s = PROGRAM(NULL, "serve", "m", "--print-config", "--served-model-name", "x", "y", "--allowed-origins",
                            "[\"http://a\", \"http://b\"]");
    expect_rc(&s, 0, "lists");
    LINE(s.out, "# api-key: 2, not shown ", "# environment");
    LINE(s.out, "served-model-name: [\"x\", \"y\"] ", "# command line");
    LINE(s.out, "allowed-origins: [\"http://a\", \"http://b\"] ", "# command line");
    said_free(&s);
    unsetenv("VLLMC_API_KEY");
    setenv("VLLM_API_KEY", "k", 1);
    s = PROGRAM(NULL, "serve", "--served-model-name", "x", "m", "--print-config");
    expect_rc(&s, 0, "VLLM_API_KEY");
    LINE(s.out, "# api-key: 1, not shown ", "# environment");
    LINE(s.out, "served-model-name: [\"x\"] ", "# command line");
    LINE(s.out, "model: \"m\" ", "# command line");
    said_free(&s);
    s = PROGRAM(NULL, "run", "m", "--print-config");
    expect_rc(&s, 0, "no key");
    assert_null(strstr(s.out, "api-key"));
    said_free(&s);
    unsetenv("VLLM_API_KEY");
}

/* --NAME.KEY VALUE. */
static void test_members(void **state) {
    (void)state;
    struct said s = PROGRAM(NULL, "serve", "m", "--print-config", "--override-generation-config.temperature", "0.5",
                            "--override_generation_config.eos_token_id=[1, 2]", "--default-chat-template-kwargs",
                            "{\"a\": 1}", "--default-chat-template-kwargs.b.c", "yes");
    expect_rc(&s, 0, "members");
    LINE(s.out, "override-generation-config: {\"temperature\":0.5,\"eos_token_id\":[1,2]} ", "# command line");
    LINE(s.out, "default-chat-template-kwargs: {\"a\":1,\"b\":{\"c\":\"yes\"}} ", "# command line");
    said_free(&s);
    s = PROGRAM(NULL, "serve", "m", "--print-config", "--override-generation-config.", "1");
    expect_rc(&s, 2, "no name");
    said_free(&s);
    s = PROGRAM(NULL, "serve", "m", "--print-config", "--override-generation-config.a", "1",
                "--override-generation-config.a.b", "1");
    expect_rc(&s, 2, "a member of a number");
    said_free(&s);
}

/* Of a socket and an address the one from the higher source is taken; of the same source it is an error. */
static void test_where(void **state) {
    (void)state;
    struct said s =
        PROGRAM(NULL, "serve", "/no/such/model", "--config", config("uds: /no/such/dir/s\nport: 1\n"), "--port", "0");
    expect_rc(&s, 1, "a port on the command line");
    assert_non_null(strstr(s.err, "listening on http://127.0.0.1:"));
    said_free(&s);
    s = PROGRAM(NULL, "serve", "/no/such/model", "--config", config("port: 1\n"), "--uds", "/no/such/dir/s");
    expect_rc(&s, 1, "a socket on the command line");
    assert_non_null(strstr(s.err, "/no/such/dir/s"));
    said_free(&s);
    s = PROGRAM(NULL, "serve", "m", "--config", config("uds: /x\nport: 1\n"));
    expect_rc(&s, 2, "both in the file");
    assert_non_null(strstr(s.err, "--uds excludes --host and --port"));
    said_free(&s);
}

static void test_bad_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "prot: 1\n", ".yaml:1: prot: is no option of vllmc serve; did you mean port?" },
        { "seed: 1\nzzzzzzzz: 1\n", ".yaml:2: zzzzzzzz: is no option of vllmc serve" },
        { "port: 1\nhost: x\nport: 2\n", ".yaml:3: port: is there twice" },
        { "max-model-len: 1\nmax_model_len: 2\n", ".yaml:2: max-model-len: is there twice" },
        { "port: [1]\n", ".yaml:1: port: a list, expected a whole number" },
        { "port: {a: 1}\n", ".yaml:1: port: a mapping, expected a whole number" },
        { "port: yes\n", ".yaml:1: port: yes is true or false to YAML, expected a whole number" },
        { "seed: 1\nport: x\n", ".yaml:2: port: 'x', expected a whole number" },
        { "served-model-name: true\n", ".yaml:1: served-model-name: true is true or false to YAML" },
        { "served-model-name: [[a]]\n", ".yaml:1: served-model-name: a list of texts or numbers is expected" },
        { "enable-prefix-caching: 1\n", ".yaml:1: enable-prefix-caching: 1, expected true or false" },
        { "enable-prefix-caching: \"true\"\n", ".yaml:1: enable-prefix-caching: true, expected true or false" },
        { "dtype: fp3\n", ".yaml:1: dtype: 'fp3', expected auto|bfloat16" },
        { "override-generation-config: 3\n", ".yaml:1: override-generation-config: '3', expected a JSON object" },
        { "host: &a x\nuds: *a\n", ".yaml:2: uds: aliases (*a) are not read" },
        { "seed: !!python/name:os.system x\n", "tags (tag:yaml.org,2002:python/name:os.system) are not read" },
        { "- a\n", ".yaml:1: expected a mapping of options to values" },
        { "seed: 1\n---\nseed: 2\n", "a second document" },
        { "host: 'x\n", "unexpected end of stream" },
        { "seed: 1: 2\n", "mapping values are not allowed" },
        { "? [a]\n: 1\n", ".yaml:1: a key that is no text" },
        { "config: x\n", ".yaml:1: config: belongs on the command line" },
        { "tensor-parallel-size: 2\n", ".yaml:1: tensor-parallel-size 2: one process computes" },
        { "enable-lora: true\n", ".yaml:1: enable-lora: adapters are not applied" },
        { "compilation-config: {mode: 3}\n", ".yaml:1: compilation-config {\"mode\":3}: nothing is compiled" },
        { "model: [a, [b]]\n", ".yaml:1: model: a list of texts or numbers is expected" },
        { "host: \"a\\0b\"\n", ".yaml:1: host: a NUL in a text" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct said s = PROGRAM(NULL, "serve", "m", "--print-config", "--config", config(cases[i].text));
        if (s.rc != 2 || !strstr(s.err, cases[i].says))
            print_error("%s expected '%s', got %d: %s\n", cases[i].text, cases[i].says, s.rc, s.err);
        assert_int_equal(s.rc, 2);
        assert_non_null(strstr(s.err, cases[i].says));
        assert_string_equal(s.out, "");
        said_free(&s);
    }
    struct said s = PROGRAM(NULL, "serve", "m", "--config", "/no/such/file");
    expect_rc(&s, 2, "no file");
    assert_non_null(strstr(s.err, "--config /no/such/file: No such file"));
    said_free(&s);
    /* Nesting has a limit. */
    char deep[400] = "override-generation-config: ";
    for (int i = 0; i < 100; i++) strcat(deep, "[");
    s = PROGRAM(NULL, "serve", "m", "--config", config(strcat(deep, "\n")));
    expect_rc(&s, 2, "deep");
    assert_non_null(strstr(s.err, "nested deeper than 32"));
    said_free(&s);
    for (const char *const *empty = (const char *const[]){ "", "# nothing\n", "{}\n", NULL }; *empty; empty++) {
        s = PROGRAM(NULL, "serve", "m", "--print-config", "--config", config(*empty));
        expect_rc(&s, 0, "empty");
        said_free(&s);
    }
}

static void test_environment(void **state) {
    (void)state;
    setenv("VLLMC_MAX_MODEL_LN", "1", 1);
    struct said s = PROGRAM(NULL, "serve", "m", "--print-config");
    expect_rc(&s, 0, "a mistyped variable");
    assert_non_null(
        strstr(s.err, "VLLMC_MAX_MODEL_LN in the environment is no option; did you mean VLLMC_MAX_MODEL_LEN?"));
    said_free(&s);
    s = PROGRAM(NULL, "serve", "m", "--print-config", "--fail-on-environ-validation");
    expect_rc(&s, 2, "strict");
    said_free(&s);
    unsetenv("VLLMC_MAX_MODEL_LN");
    setenv("VLLMC_TENSOR_PARALLEL_SIZE", "2", 1);
    s = PROGRAM(NULL, "serve", "m", "--print-config");
    expect_rc(&s, 2, "a flag that is refused");
    assert_non_null(strstr(s.err, "VLLMC_TENSOR_PARALLEL_SIZE 2: one process computes"));
    said_free(&s);
    unsetenv("VLLMC_TENSOR_PARALLEL_SIZE");
    /* What Kubernetes sets beside a service of the name vllmc. */
    setenv("VLLMC_PORT", "tcp://10.0.0.1:80", 1);
    setenv("VLLMC_SERVICE_HOST", "10.0.0.1", 1);
    setenv("VLLMC_PORT_80_TCP_ADDR", "10.0.0.1", 1);
    s = PROGRAM(NULL, "serve", "m", "--print-config", "--fail-on-environ-validation");
    expect_rc(&s, 0, "service links");
    LINE(s.out, "# port: 8000 ", "# default");
    assert_string_equal(s.err, "");
    said_free(&s);
    unsetenv("VLLMC_PORT");
    unsetenv("VLLMC_SERVICE_HOST");
    unsetenv("VLLMC_PORT_80_TCP_ADDR");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_precedence), cmocka_unit_test(test_lists),
                                        cmocka_unit_test(test_where),      cmocka_unit_test(test_members),
                                        cmocka_unit_test(test_bad_files),  cmocka_unit_test(test_environment) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
