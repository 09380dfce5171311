/* SPDX-License-Identifier: Apache-2.0
 * Stages of a recorded prefill: ours equal vLLM's words, and wrong roundings are seen. */
#include "lab/lab.h"
#include "test.h"

static void stages(void **state) {
    (void)state;
    static const char *const folders[] = { "moe-gate", "moe-gate-tie" };
    for (int i = 0; i < 2; i++) {
        const char *path = vc_golden(folders[i]);
        if (!path && vc_left_out(folders[i])) continue;
        char lab[] = "lab", cmd[] = "boundaries", *dir = strdup(path), *argv[] = { lab, cmd, dir, NULL };
        assert_int_equal(vc_lab_main(3, argv), 0);
        free(dir);
    }
}

static void errors(void **state) {
    (void)state;
    char lab[] = "lab", cmd[] = "boundaries", none[] = "/nonexistent", bad[] = "--nope",
         *a[] = { lab, cmd, none, NULL }, *b[] = { lab, cmd, bad, NULL };
    assert_int_equal(vc_lab_main(3, a), 1);
    assert_int_equal(vc_lab_main(3, b), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(stages), cmocka_unit_test(errors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
