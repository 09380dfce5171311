/* SPDX-License-Identifier: Apache-2.0
 * Runs fuzz_grammar over the specs of goldens/structured, each with its first accepted text: as they are, cut, and
 * with bytes changed from a fixed seed; then over what the fuzzer found before (corpus/grammar.hex, one input a
 * line). */
#include "test.h"

#include <jansson.h>

#include "base/rng.h"
#include "fuzz/fuzz.h"
#include "text/grammar.h"

enum { CUTS = 12, CHANGES = 12, MAX_SPEC = 3000 };

static void run(const char *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    assert_int_equal(LLVMFuzzerTestOneInput(copy, n), 0);
    free(copy);
}

static void changes(char *text, size_t n, uint64_t *seed) {
    static const char marks[] = "{}[]()|*+?\\^$-.,:\"0a \n#";
    run(text, n);
    for (size_t cut = 0; cut < n; cut += 1 + n / CUTS) run(text, cut);
    for (int i = 0; i < CHANGES; i++) {
        size_t at = vc_rng_below(seed, (uint32_t)n);
        char old = text[at];
        text[at] = i & 1 ? (char)vc_rng_next(seed) : marks[vc_rng_below(seed, sizeof marks - 1)];
        run(text, n);
        text[at] = old;
    }
}

static char line[1 << 18], input[1 << 18];

static void rows(void **state) {
    (void)state;
    uint64_t seed = 29;
    unsigned done = 0;
    FILE *f = fopen(vc_golden("structured/cases.jsonl"), "rb");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *c = json_loads(line, JSON_ALLOW_NUL, NULL);
        assert_non_null(c);
        const json_t *spec = json_object_get(c, "spec"), *text = json_array_get(json_object_get(c, "accept"), 0);
        int kind = vc_grammar_kind_of(json_string_value(json_object_get(c, "kind")));
        char *s = json_is_string(spec) && kind ? strdup(json_string_value(spec)) : json_dumps(spec, JSON_ENCODE_ANY);
        size_t n = strlen(s), m = VC_MIN(json_string_length(text), (size_t)200);
        if (n < MAX_SPEC) {
            input[0] = (char)kind;
            memcpy(input + 1, s, n);
            input[n + 1] = (char)0xFF;
            if (m) memcpy(input + n + 2, json_string_value(text), m);
            changes(input, n + 2 + m, &seed);
            done++;
        }
        free(s);
        json_decref(c);
    }
    fclose(f);
    printf("%u specs\n", done);
    assert_true(done > 100);
}

static void found(void **state) {
    (void)state;
    FILE *f = fopen(FUZZ_CORPUS "/grammar.hex", "rb");
    assert_non_null(f);
    unsigned n = 0;
    for (; fgets(line, sizeof line, f); n++) {
        size_t len = 0;
        for (unsigned byte; sscanf(line + 2 * len, "%2x", &byte) == 1; len++) input[len] = (char)byte;
        run(input, len);
    }
    fclose(f);
    printf("%u inputs of the corpus\n", n);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows), cmocka_unit_test(found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
