/* SPDX-License-Identifier: Apache-2.0
 * map_test.c: what is mapped, and what is refused by name. */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/map.h"

static const char *write_file(const char *name, const char *text, size_t n) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/map_test.%s", VC_TEST_TMP, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void refused(const char *path, vc_status status, const char *word) {
    struct vc_map m;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_map_open(&m, path, &err), status);
    assert_null(m.p);
    if (!strstr(err.text, word) || !strstr(err.text, path)) fail_msg("'%s' lacks '%s' or the path", err.text, word);
    assert_int_equal(vc_map_open(&m, path, NULL), status);
}

static void test_refused(void **state) {
    (void)state;
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
                      html[] = "\xEF\xBB\xBF \n<!DOCTYPE HTML><title>404</title>";
    char path[1024];
    refused(write_file("lfs", lfs, sizeof lfs - 1), VC_E_FORMAT, "Git LFS pointer");
    refused(write_file("html", html, sizeof html - 1), VC_E_FORMAT, "web page");
    refused(write_file("empty", "", 0), VC_E_FORMAT, "empty");
    refused(VC_TEST_TMP, VC_E_IO, "folder");
    refused(VC_TEST_TMP "/there/is/none", VC_E_NOT_FOUND, "No such file");
    snprintf(path, sizeof path, "%s/map_test.fifo.%d", VC_TEST_TMP, (int)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(path, VC_E_IO, "not a regular file");
    unlink(path);
    refused("/dev/null", VC_E_IO, "not a regular file");
}

static void test_map(void **state) {
    (void)state;
    size_t n = 5 * 4096 + 17;
    char *text = malloc(n);
    struct vc_map m;
    vc_err err = VC_ERR_INIT;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) text[i] = (char)(i * 7 >> 3);
    const char *path = write_file("data", text, n);
    assert_int_equal(vc_map_open(&m, path, &err), VC_OK);
    assert_int_equal(m.n, n);
    assert_memory_equal(m.p, text, n);
    vc_map_drop(&m, 1, n - 1);
    vc_map_drop(&m, 0, 1);
    vc_map_drop(&m, n, 1);
    vc_map_drop(&m, 1, UINT64_MAX);
    assert_memory_equal(m.p, text, n);      /* dropped pages are read again */
    vc_map_close(&m);
    assert_null(m.p);
    vc_map_close(&m);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_refused), cmocka_unit_test(test_map) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
