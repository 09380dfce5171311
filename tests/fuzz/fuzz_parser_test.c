/* SPDX-License-Identifier: Apache-2.0
 * Runs the fuzz target of the output parser over the recorded outputs: as they are, cut, and with bytes changed from
 * a fixed seed, each with its own formats and with others. */
#include "test.h"

#include <jansson.h>

#include "base/rng.h"
#include "fuzz/fuzz.h"
#include "text/parser.h"

static const char *const files[] = {
    "apertus",     "cohere_command3", "deepseek_v3", "deepseek_v32", "ernie45",      "functiongemma", "gemma4",
    "glm45",       "granite",         "harmony",     "hermes",       "hunyuan_a13b", "kimi_k2",       "lfm2",
    "llama3_json", "llama4_pythonic", "minimax_m2",  "mistral_json", "mistral_v11",  "olmo3",         "pythonic",
    "qwen3_xml",   "step3",           "xlam",
};
static uint64_t seed = 29;

static uint8_t index_of(const struct vc_parser_name *(*name)(size_t), const char *want) {
    size_t i = 0;
    while (name(i) && (!want || strcmp(name(i)->name, want) != 0)) i++;
    return (uint8_t)i;
}

static void run(const uint8_t head[4], const char *data, size_t n) {
    uint8_t *copy = malloc(n + 4);
    assert_non_null(copy);
    memcpy(copy, head, 4);
    memcpy(copy + 4, data, n);
    assert_int_equal(LLVMFuzzerTestOneInput(copy, n + 4), 0);
    free(copy);
}

static void row_runs(const json_t *row) {
    static const char marks[] = "<>|[]{}()\"'\\,:=`/ \n\xff\xef";
    static char text[20000];
    const json_t *t = json_object_get(row, "text");
    size_t n = json_string_length(t);
    if (!n || n > 2000) return;
    memcpy(text, json_string_value(t), n);
    uint8_t head[4] = {
        index_of(vc_parser_tool_name, json_string_value(json_object_get(row, "tool_parser"))),
        index_of(vc_parser_reasoning_name, json_string_value(json_object_get(row, "reasoning_parser"))), 0, 1
    };
    for (int i = 0; i < 24; i++) {
        size_t at = vc_rng_below(&seed, (uint32_t)n), cut = i % 3 ? n : vc_rng_below(&seed, (uint32_t)n + 1);
        char old = text[at];
        text[at] = i & 1 ? (char)vc_rng_next(&seed) : i ? marks[vc_rng_below(&seed, sizeof marks - 1)] : old;
        head[2] = (uint8_t)vc_rng_below(&seed, 256);
        head[3] = (uint8_t)vc_rng_below(&seed, 256);
        uint8_t other[4] = { i % 8 == 7 ? head[2] : head[0], i % 8 > 5 ? head[3] : head[1], head[2], head[3] };
        run(other, text, cut);
        text[at] = old;
    }
}

static void corpus(void **state) {
    (void)state;
    static char line[1 << 20], name[64];
    size_t rows = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(name, sizeof name, "tool-parsers/%s.jsonl", files[i]);
        const char *path = vc_golden(name);
        assert_non_null(path);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        for (; fgets(line, sizeof line, f); rows++) {
            json_t *row = json_loads(line, 0, NULL);
            assert_non_null(row);
            row_runs(row);
            json_decref(row);
        }
        fclose(f);
    }
    assert_true(rows > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(corpus) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
