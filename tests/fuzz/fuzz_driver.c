/* SPDX-License-Identifier: Apache-2.0
 * fuzz_driver.c: runs a fuzz target over the malformed corpus (files ending in FUZZ_SUFFIX, FUZZ_SKIP bytes off the
 * front): as they are, cut at every length, and with random single-byte and 8-byte changes from a fixed seed.
 * Inputs are copied into blocks of their exact size, so that the address sanitizer sees any read beyond them. */
#include "test.h"

#include <dirent.h>

#include "base/rng.h"
#include "base/str.h"
#include "fuzz/fuzz.h"

enum { MAX_FILE = 65536, CHANGES = 300 };

static unsigned long runs;

static void run(const uint8_t *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    assert_int_equal(LLVMFuzzerTestOneInput(copy, n), 0);
    free(copy);
    runs++;
}

static void run_changes(uint8_t *data, size_t n, uint64_t *seed) {
    static const uint64_t value[] = {
        0,          1,          2,          0x7F,      0xFF,       0xFFFF,         0x7FFFFFFF,
        0xFFFFFFFF, 1ull << 32, 1ull << 61, INT64_MAX, 1ull << 63, UINT64_MAX - 7, UINT64_MAX
    };
    for (int i = 0; n && i < CHANGES; i++) {
        uint8_t old[8];
        size_t at = vc_rng_below(seed, (uint32_t)n), len = i & 1 && n - at >= 8 ? 8 : 1;
        memcpy(old, data + at, len);
        if (len == 8) memcpy(data + at, &value[vc_rng_below(seed, sizeof value / sizeof value[0])], 8);
        else data[at] = (uint8_t)vc_rng_next(seed);
        run(data, n);
        memcpy(data + at, old, len);
    }
}

static void run_file(const char *path, uint64_t *seed) {
    static uint8_t data[MAX_FILE];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    size_t skip = FUZZ_SKIP;
    if (skip > n) skip = n;
    uint8_t *p = data + skip;
    n -= skip;
    for (size_t cut = 0; cut <= n; cut++) run(p, cut);
    run_changes(p, n, seed);
}

static void test_corpus(void **state) {
    (void)state;
    uint64_t seed = 13;
    char folder[512], path[1024];
    const char *list = vc_golden("gguf-quants/malformed/cases.jsonl");
    assert_non_null(list);
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(list) - strlen("/cases.jsonl")), list);
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (!vc_str_ends(vc_str_of(e->d_name), FUZZ_SUFFIX)) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        run_file(path, &seed);
    }
    closedir(d);
    printf("%lu inputs\n", runs);
    assert_true(runs > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_corpus) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
