/* SPDX-License-Identifier: Apache-2.0
 * jit_test.c: where no memory may be both written and executed, as under systemd's MemoryDenyWriteExecute, the
 * expressions of pre-tokenizers are interpreted: one line says so, and ids are the same. */
#include <sys/prctl.h>

#include "cli/program.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static const char text[] = "Hello, wide  world!\n\nIt's 12345 o'clock; don't ask why.";

static void denied(void **state) {
    (void)state;
    const char *path = vc_golden("tokenizers/trained/bl_llama3");
    struct said with = PROGRAM(NULL, "tokenize", path, text, "--ids");
    expect_rc(&with, 0, "tokenize");
    if (strstr(with.err, "without JIT")) {
        vc_left_out("regular expressions without JIT: there is none to lose here");
        said_free(&with);
        skip();
    }
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0) { /* of this process and its children, for good */
        vc_left_out("regular expressions without JIT: prctl(PR_SET_MDWE) is not known to this kernel");
        said_free(&with);
        skip();
    }
    struct said without = PROGRAM(NULL, "tokenize", path, text, "--ids");
    expect_rc(&without, 0, "tokenize without JIT");
    assert_string_equal(with.out, without.out);
    assert_true(strlen(with.out) > 20);
    const char *first = strstr(without.err, "without JIT");
    assert_non_null(first);
    assert_null(strstr(first + 1, "without JIT"));
    said_free(&with);
    said_free(&without);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(denied) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
