/* SPDX-License-Identifier: Apache-2.0
 * Gates on real models: vLLM's 608 rows of SmolLM2 in bf16, llama.cpp's greedy texts of two GGUF files. The weights lie
 * in $VLLMC_TEST_MODELS or ~/.cache/vllmc/models. */
#include <unistd.h>

#include "lab/lab.h"
#include "test.h"

static void gate(const char *reference, const char *model, const char *concurrency) {
    char path[1024];
    const char *dir = getenv("VLLMC_TEST_MODELS"), *home = getenv("HOME"), *ref = vc_golden(reference);
    if (dir)
        snprintf(path, sizeof path, "%s/%s", dir, model);
    else
        snprintf(path, sizeof path, "%s/.cache/vllmc/models/%s", home ? home : "", model);
    if ((!ref || access(path, R_OK) != 0) && vc_left_out(ref ? model : reference)) skip();
    char lab[] = "lab", cmd[] = "gate", opt[] = "--model", con[] = "--concurrency", *at = strdup(concurrency),
         *file = strdup(ref), *argv[] = { lab, cmd, opt, path, con, at, file, NULL };
    int rc = vc_lab_main(7, argv);
    free(at);
    free(file);
    assert_int_equal(rc, 0);
}

static void vllm_rows(void **state) {
    (void)state;
    gate("real-models/vllm.json", "smollm2-bf16", "1,8,19");
}
static void smollm2(void **state) {
    (void)state;
    gate("real-models/greedy.json", "SmolLM2-135M-Instruct.Q4_1.gguf", "8");
}
static void gemma3(void **state) {
    (void)state;
    gate("real-models/greedy.json", "gemma-3-270m-q4_k_m.gguf", "8");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(vllm_rows), cmocka_unit_test(smollm2),
                                        cmocka_unit_test(gemma3) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
