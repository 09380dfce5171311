/* SPDX-License-Identifier: Apache-2.0
 * Runs the Jinja fuzz target over the snippets of the reference data: as they are, cut at every length, and with bytes
 * changed from a fixed seed. Inputs are copied into blocks of their exact size, so that ASan sees any read beyond them. */
#include "test.h"

#include <jansson.h>

#include "base/rng.h"
#include "fuzz/fuzz.h"

static void run(const char *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    assert_int_equal(LLVMFuzzerTestOneInput(copy, n), 0);
    free(copy);
}

static void corpus(void **state) {
    (void)state;
    static char line[65536], text[65536];
    static const char marks[] = "{}%#|()[]'\"\\-+.~*/:, \n0a";
    uint64_t seed = 13;
    size_t rows = 0;
    const char *path = vc_golden("chat-templates/snippets.jsonl");
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); rows++) {
        json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
        assert_non_null(row);
        const json_t *t = json_object_get(row, "template");
        size_t n = json_string_length(t);
        memcpy(text, json_string_value(t), n);
        for (size_t cut = 0; cut <= n; cut++) run(text, cut);
        for (int i = 0; n && i < 20; i++) {
            size_t at = vc_rng_below(&seed, (uint32_t)n);
            char old = text[at];
            text[at] = i & 1 ? (char)vc_rng_next(&seed) : marks[vc_rng_below(&seed, sizeof marks - 1)];
            run(text, n);
            text[at] = old;
        }
        json_decref(row);
    }
    fclose(f);
    assert_true(rows > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(corpus) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
