/* SPDX-License-Identifier: Apache-2.0
 * After warm-up a decode step allocates nothing: 256 steps of 8 sequences, with malloc, calloc, realloc, the aligned
 * allocators and mmap of the whole process counted on every thread. The program's own definitions take the place of the
 * C library's; each passes the call on. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/log.h"
#include "test.h"
#include "vllmc.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_COUNT 1
static atomic_bool counting;
static atomic_ulong calls;
static _Thread_local bool inside;

static void count(void) {
    if (atomic_load_explicit(&counting, memory_order_relaxed)) atomic_fetch_add(&calls, 1);
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n) {
    count();
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    count();
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    count();
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n) {
    count();
    return __libc_memalign(align, n);
}
int posix_memalign(void **p, size_t align, size_t n) {
    count();
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}
void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t offset) {
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (!next && !inside) {
        inside = true;
        void *f = dlsym(RTLD_NEXT, "mmap");
        memcpy(&next, &f, sizeof next);
        inside = false;
    }
    count();
    return next ? next(addr, n, prot, flags, fd, offset) : MAP_FAILED;
}
#endif

#ifdef CAN_COUNT
static vc_model *open_model(const char *path, const char *numerics, uint32_t threads) {
    vc_model_params p;
    vc_model *m = NULL;
    vc_err err = VC_ERR_INIT;
    vc_model_params_init(&p);
    p.path = path;
    p.numerics = numerics;
    p.threads = threads;
    p.max_model_len = 512;
    p.max_num_seqs = 8;
    if (vc_model_open(&m, &p, &err) != VC_OK) fail_msg("%s", err.text);
    return m;
}

/* Different kinds of requests: greedy, seeded with filters, penalties, log-probabilities. */
static void submit(vc_model *m, uint32_t i) {
    vc_request_params rp;
    vc_err err = VC_ERR_INIT;
    int32_t ids[16];
    for (uint32_t k = 0; k < 16; k++) ids[k] = (int32_t)((7 + 13 * i + 29 * k) % 126);
    vc_request_params_init(&rp);
    rp.prompt_ids = ids;
    rp.num_prompt_ids = 3 + i;
    rp.sampling.temperature = i % 2 ? 0.8f : 0.0f;
    rp.sampling.has_seed = 1;
    rp.sampling.seed = i;
    rp.sampling.top_p = i & 2 ? 0.9f : 1.0f;
    rp.sampling.top_k = i & 4 ? 20 : 0;
    rp.sampling.repetition_penalty = i & 2 ? 1.1f : 1.0f;
    rp.sampling.logprobs = i % 3 == 0 ? 5 : -1;
    rp.sampling.max_tokens = 400;
    rp.sampling.ignore_eos = 1;
    if (vc_submit(m, &rp, NULL, &err) != VC_OK) fail_msg("%s", err.text);
}

static uint32_t step(vc_model *m) {
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    uint32_t tokens = 0;
    if (vc_step(m, &err) != VC_OK) fail_msg("%s", err.text);
    while (vc_next(m, 0, &o, &err) == VC_OK && o) { /* the outputs of this step; more would step again */
        tokens += o->num_token_ids;
        vc_output_free(o);
        if (tokens == 8) break;
    }
    return tokens;
}

static void decode(const char *path, const char *numerics, uint32_t threads) {
    vc_model *m = open_model(path, numerics, threads);
    for (uint32_t i = 0; i < 8; i++) submit(m, i);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(step(m), 8);
    atomic_store(&calls, 0);
    atomic_store(&counting, true);
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < 256; i++) tokens += step(m);
    atomic_store(&counting, false);
    printf("%s, %s, %u threads: %lu allocations in 256 steps, %u tokens\n", strrchr(path, '/') + 1, numerics, threads,
           atomic_load(&calls), tokens);
    assert_int_equal(tokens, 8 * 256);
    assert_int_equal(atomic_load(&calls), 0);
    vc_model_close(&m);
}
#endif

static void no_allocation(void **state) {
    (void)state;
#ifdef CAN_COUNT
    static const char *const models[] = { "models/llama", "models/gemma3", "models/qwen3-moe" };
    vc_log_set(VC_LOG_WARN, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        const char *p = vc_golden(models[i]);
        if (!p && vc_left_out(models[i])) continue;
        decode(p, "vllm", 1);
        decode(p, "vllm", 3);
        decode(p, "f32", 2);
    }
    const char *quantized = vc_golden("gguf-quants/models/tiny-Q4_0.gguf");
    if (quantized)
        decode(quantized, "gguf", 2);
    else
        vc_left_out("gguf-quants/models/tiny-Q4_0.gguf");
#else
    vc_left_out("counting allocations");
    skip();
#endif
}

/* The counter counts. */
static void counter(void **state) {
    (void)state;
#ifdef CAN_COUNT
    atomic_store(&calls, 0);
    atomic_store(&counting, true);
    void *volatile p = malloc(10);
    p = realloc(p, 20);
    void *volatile q = calloc(1, 10), *volatile r = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    atomic_store(&counting, false);
    assert_int_equal(atomic_load(&calls), 4);
    free(p);
    free(q);
    munmap(r, 4096);
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(counter), cmocka_unit_test(no_allocation) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
