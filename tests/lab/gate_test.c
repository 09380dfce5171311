/* SPDX-License-Identifier: Apache-2.0
 * Gates: every reference set that is on this machine must pass `vllmc lab gate` under one profile. */
#include "lab/lab.h"
#include "test.h"

#if defined(GATE_f32)
static const char profile[] = "f32";
#elif defined(GATE_vllm)
static const char profile[] = "vllm";
#else
static const char profile[] = "vllm-compiled";
#endif

static int gate(const char *numerics, const char *const *paths, size_t n, const char *extra) {
    char *argv[64];
    int argc = 0;
    static char gate_word[] = "gate", lab[] = "lab", opt[] = "--numerics", repeats[] = "--repeats", three[] = "3",
                ties[] = "--allow-ties";
    argv[argc++] = lab;
    argv[argc++] = gate_word;
    argv[argc++] = opt;
    argv[argc++] = strdup(numerics);
    if (strcmp(extra, "repeats") == 0) {
        argv[argc++] = repeats;
        argv[argc++] = three;
    }
    if (strcmp(extra, "ties") == 0) argv[argc++] = ties;
    int first = argc;
    for (size_t i = 0; i < n && argc < 63; i++) {
        const char *p = vc_golden(paths[i]);
        if (p)
            argv[argc++] = strdup(p);
        else
            vc_left_out(paths[i]);
    }
    argv[argc] = NULL;
    int rc = argc > first ? vc_lab_main(argc, argv) : -1;
    for (int i = first; i < argc; i++) free(argv[i]);
    free(argv[3]);
    return rc;
}

static const char *const moe[] = { "moe-gate", "moe-gate-tie" };
static void moe_gates(void **state) {
    (void)state;
    assert_int_equal(gate(profile, moe, 2, "repeats"), 0);
}

#if !defined(GATE_compiled)
static const char *const folders[] = {
    "models/llama",
    "models/llama-f32",
    "models/llama-f16",
    "models/llama-sharded",
    "models/llama-bias",
    "models/llama-rope-linear",
    "models/llama-rope-llama3",
    "models/llama-rope-yarn",
    "models/llama-rope-dynamic",
    "models/mistral",
    "models/qwen2",
    "models/qwen2-tied",
    "models/qwen3",
    "models/qwen3-moe",
    "models/qwen3-moe-nonorm",
    "models/gemma3",
};
/* vLLM's own answer to one prompt of this set leaves the truth further than ours; both are near ties there. */
static const char *const tied[] = { "models/ministral3" };

static void model_gates(void **state) {
    (void)state;
    assert_int_equal(gate(profile, folders, sizeof folders / sizeof *folders, ""), 0);
}
static void ministral3_gate(void **state) {
    (void)state;
    int rc = gate(profile, tied, 1, strcmp(profile, "vllm") == 0 ? "ties" : "");
    if (rc < 0) skip();
    assert_int_equal(rc, 0);
}
#endif

#if defined(GATE_f32)
static void quants_f32(void **state) {
    (void)state;
    const char *file = vc_golden("gguf-quants/models.json");
    if (!file) {
        vc_left_out("gguf-quants/models.json");
        skip();
    }
    char lab[] = "lab", cmd[] = "gate", opt[] = "--numerics", f32[] = "f32", *dir = strdup(file),
         *argv[] = { lab, cmd, opt, f32, dir, NULL };
    *strrchr(dir, '/') = '\0';
    assert_int_equal(vc_lab_main(5, argv), 0);
    free(dir);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moe_gates),
#if !defined(GATE_compiled)
        cmocka_unit_test(model_gates),
        cmocka_unit_test(ministral3_gate),
#endif
#if defined(GATE_f32)
        cmocka_unit_test(quants_f32),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
