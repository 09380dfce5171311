/* SPDX-License-Identifier: Apache-2.0
 * Tiny models in block formats (goldens/gguf-quants): under f32 every logit within 1e-3 of the exact one; under gguf,
 * with the cache and the activation scales of llama.cpp, no further from it than llama.cpp's own. */
#include "lab/lab.h"
#include "test.h"

static const char *const types[] = { "F16", "Q4_0", "Q8_0", "Q6_K", "Q4_K_M", "Q2_K" };

static void gate(const char *numerics) {
    const char *index = vc_golden("gguf-quants/models.json");
    if (!index && vc_left_out("gguf-quants")) skip();
    char dir[1024], lab[] = "lab", cmd[] = "gate", how[] = "--numerics", which[] = "--model", num[64], type[16];
    snprintf(dir, sizeof dir, "%.*s", (int)(strlen(index) - strlen("/models.json")), index);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(num, sizeof num, "%s", numerics ? numerics : "");
        snprintf(type, sizeof type, "%s", types[i]);
        char *argv[] = { lab, cmd, which, type, dir, numerics ? how : NULL, num, NULL };
        if (vc_lab_main(numerics ? 7 : 5, argv) != 0) fail_msg("%s, %s", types[i], numerics ? numerics : "default");
    }
}

static void f32(void **state) {
    (void)state;
    gate("f32");
}
static void as_llama_cpp(void **state) {
    (void)state;
    gate(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(f32), cmocka_unit_test(as_llama_cpp) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
