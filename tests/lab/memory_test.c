/* SPDX-License-Identifier: Apache-2.0
 * Peak memory of a run of one sequence: VmHWM of a process of its own is at most 1.1 times the bytes of the tensors, the
 * pages of the KV cache in use and the workspace. The weights lie in $VLLMC_TEST_MODELS or ~/.cache/vllmc/models. */
#include <sys/wait.h>
#include <unistd.h>

#include "api/api_int.h"
#include "base/log.h"
#include "test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { PROMPT = 512, OUT = 64 };

/* In KiB; 0 where the system does not tell. */
static unsigned long peak(void) {
    char line[256];
    unsigned long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %lu", &kib);
    if (f) fclose(f);
    return kib;
}

/* Runs in the child: 0 when the bound holds. */
static int run(const char *path) {
    vc_model_params p;
    vc_request_params rp;
    vc_model *m;
    vc_output *o;
    vc_err err = VC_ERR_INIT;
    int32_t ids[PROMPT];
    vc_log_set(VC_LOG_WARN, NULL, NULL);
    vc_model_params_init(&p);
    p.path = path;
    p.max_num_seqs = 1;
    p.max_num_batched_tokens = PROMPT;               /* what the workspace is planned for is what this run needs */
    if (vc_model_open(&m, &p, &err) != VC_OK) return fprintf(stderr, "%s\n", err.text), 2;
    for (uint32_t i = 0; i < PROMPT; i++) ids[i] = (int32_t)(1000 + i * 7919 % 40000);
    vc_request_params_init(&rp);
    rp.prompt_ids = ids;
    rp.num_prompt_ids = PROMPT;
    rp.sampling.max_tokens = OUT;
    rp.sampling.ignore_eos = 1;
    uint32_t tokens = 0;
    vc_status st = vc_submit(m, &rp, NULL, &err);
    while (st == VC_OK && (st = vc_next(m, -1, &o, &err)) == VC_OK) {
        tokens += o->num_token_ids;
        vc_output_free(o);
    }
    unsigned long kib = peak();
    const struct vc_net *n = vc_engine_net(vc_model_engine(m));
    uint64_t tensors = n->weights.tensor_bytes, workspace = m->info.workspace_bytes,
             kv = vc_net_seq_pages(n, PROMPT + OUT, p.block_size, PROMPT) * vc_net_page_bytes(n, p.block_size);
    double bound = 1.1 * (double)(tensors + kv + workspace) / 1024;
    printf("%s: peak %lu KiB, at most %.0f = 1.1 * (%llu tensors + %llu KV in use + %llu workspace) KiB\n", strrchr(path, '/') + 1, kib, bound,
           (unsigned long long)tensors >> 10, (unsigned long long)kv >> 10, (unsigned long long)workspace >> 10);
    fflush(stdout);
    vc_model_close(&m);
    if (tokens != OUT) return fprintf(stderr, "%u tokens: %s\n", tokens, err.text), 2;
    return kib == 0 || (double)kib > bound;
}

static void model(const char *name) {
    char path[1024];
    const char *dir = getenv("VLLMC_TEST_MODELS"), *home = getenv("HOME");
    if (dir) snprintf(path, sizeof path, "%s/%s", dir, name);
    else snprintf(path, sizeof path, "%s/.cache/vllmc/models/%s", home ? home : "", name);
    if (access(path, R_OK) != 0 && vc_left_out(name)) skip();
#ifdef SANITIZED
    vc_left_out("peak memory under sanitizers");
    skip();
#else
    int status = -1;
    pid_t child = fork();
    if (child == 0) _exit(run(path));
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
#endif
}

static void smollm2(void **state) {
    (void)state;
    model("SmolLM2-135M-Instruct.Q4_1.gguf");
}
static void gemma3(void **state) {
    (void)state;
    model("gemma-3-270m-q4_k_m.gguf");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(smollm2), cmocka_unit_test(gemma3) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
