/* SPDX-License-Identifier: Apache-2.0
 * Runs a fuzz target over rows of reference data: as they are, cut, and with bytes changed from a fixed seed; then
 * over what the fuzzer found before (corpus/NAME.hex, one input a line). FUZZ_FILE: JSON lines; FUZZ_MEMBER: the
 * member whose text is the input, "" for the line itself. Inputs are copied into blocks of their exact size, so that
 * ASan sees any read beyond. */
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

/* At most 400 cuts and 20 changes of one input. */
static void run_changes(char *text, size_t n, uint64_t *seed) {
    static const char marks[] = "{}%#|()[]'\"\\-+.~*/:, \n0a";
    for (size_t cut = 0; cut <= n; cut += 1 + n / 400) run(text, cut);
    run(text, n);
    for (int i = 0; n && i < 20; i++) {
        size_t at = vc_rng_below(seed, (uint32_t)n);
        char old = text[at];
        text[at] = i & 1 ? (char)vc_rng_next(seed) : marks[vc_rng_below(seed, sizeof marks - 1)];
        run(text, n);
        text[at] = old;
    }
}

static char line[1 << 17], text[1 << 17];

static FILE *open_it(const char *path) {
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    return f;
}

static void rows(void **state) {
    (void)state;
    uint64_t seed = 13;
    size_t n_rows = 0;
    FILE *f = open_it(vc_golden(FUZZ_FILE));
    for (; fgets(line, sizeof line, f); n_rows++) {
        json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
        assert_non_null(row);
        const json_t *t = json_object_get(row, FUZZ_MEMBER);
        size_t n = t ? json_string_length(t) : strcspn(line, "\n");
        memcpy(text, t ? json_string_value(t) : line, n);
        run_changes(text, n, &seed);
        json_decref(row);
    }
    fclose(f);
    printf("%zu rows of %s\n", n_rows, FUZZ_FILE);
    assert_true(n_rows > 20);
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static void corpus(void **state) {
    (void)state;
    size_t n_rows = 0;
    FILE *f = open_it(FUZZ_CORPUS);
    for (; fgets(line, sizeof line, f); n_rows++) {
        size_t n = 0;
        for (; hex(line[2 * n]) >= 0 && hex(line[2 * n + 1]) >= 0; n++)
            text[n] = (char)(hex(line[2 * n]) * 16 + hex(line[2 * n + 1]));
        run(text, n);
    }
    fclose(f);
    printf("%zu inputs of earlier runs\n", n_rows);
    assert_true(n_rows > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows), cmocka_unit_test(corpus) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
