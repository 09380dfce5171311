/* SPDX-License-Identifier: Apache-2.0
 * Runs the tokenizer fuzz target over small files of every format (tests/goldens/tokenizers/fuzz): as they are, cut, and with
 * bytes changed from a fixed seed. Inputs are copied into blocks of their exact size, so that ASan sees any read beyond them. */
#include "test.h"

#include <dirent.h>

#include "base/rng.h"
#include "fuzz/fuzz.h"

enum { MAX_FILE = 1 << 16 };
static size_t runs;

static void run(const uint8_t *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    assert_int_equal(LLVMFuzzerTestOneInput(copy, n), 0);
    free(copy);
    runs++;
}

static void corpus(void **state) {
    (void)state;
    static uint8_t data[MAX_FILE];
    static const char marks[] = "{}[]\",:0-9\\u";
    uint64_t seed = 13;
    const char *dir = VC_TEST_GOLDENS "/tokenizers/fuzz";
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!f) continue;
        size_t n = fread(data, 1, sizeof data, f);
        fclose(f);
        run(data, n);
        for (int i = 0; n > 2 && i < 150; i++) {
            size_t at = vc_rng_below(&seed, (uint32_t)n);
            uint8_t old = data[at];
            data[at] = i & 1 ? (uint8_t)vc_rng_next(&seed) : (uint8_t)marks[vc_rng_below(&seed, sizeof marks - 1)];
            run(data, i % 5 ? n : at + 1);
            data[at] = old;
        }
    }
    closedir(d);
    printf("%zu inputs\n", runs);
    assert_true(runs > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(corpus) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
