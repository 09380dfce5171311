/* SPDX-License-Identifier: Apache-2.0
 * Memory that runs out: opening a model, one short request and closing, with one allocation of the whole process failing,
 * a different one each time. Nothing crashes, the status is E_NOMEM or the answer is the usual one, and everything that
 * was allocated is freed. The program's own malloc, calloc, realloc and free take the place of the C library's. */
#include <errno.h>
#include <stdatomic.h>

#include "base/log.h"
#include "test.h"
#include "vllmc.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_FAIL 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static atomic_bool armed;
static atomic_long calls, fails_at, live;      /* live: allocations less frees while armed */

static bool fails(void) {
    if (!atomic_load(&armed)) return false;
    if (atomic_fetch_add(&calls, 1) != atomic_load(&fails_at)) return false;
    errno = ENOMEM;
    return true;
}

static void *made(void *p) {
    if (p && atomic_load(&armed)) atomic_fetch_add(&live, 1);
    return p;
}

void *malloc(size_t n) { return fails() ? NULL : made(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : made(__libc_calloc(n, size)); }
void *realloc(void *p, size_t n) {
    if (fails()) return NULL;
    return p ? __libc_realloc(p, n) : made(__libc_malloc(n));
}
void *aligned_alloc(size_t align, size_t n) { return fails() ? NULL : made(__libc_memalign(align, n)); }
int posix_memalign(void **p, size_t align, size_t n) {
    *p = fails() ? NULL : made(__libc_memalign(align, n));
    return *p ? 0 : ENOMEM;
}
void free(void *p) {
    if (p && atomic_load(&armed)) atomic_fetch_sub(&live, 1);
    __libc_free(p);
}

/* Token ids, or the bits of a vector. */
struct answer { int32_t id[32]; uint32_t n; };

/* The status of the first thing that failed. */
static vc_status request(vc_model *m, struct answer *a, vc_err *err) {
    static const int32_t prompt[] = { 5, 9, 33, 70, 2 };
    vc_request_params rp;
    vc_output *o;
    vc_status bad = VC_OK, s;
    vc_request_params_init(&rp);
    rp.prompt_ids = prompt;
    rp.num_prompt_ids = 5;
    rp.sampling.temperature = 0;
    rp.sampling.max_tokens = 8;
    rp.sampling.ignore_eos = 1;
    rp.sampling.logprobs = 2;
    if ((s = vc_submit(m, &rp, NULL, err)) != VC_OK) return s;
    while ((s = vc_next(m, -1, &o, err)) == VC_OK) {
        for (uint32_t i = 0; i < o->num_token_ids && a->n < 32; i++) a->id[a->n++] = o->token_ids[i];
        for (uint32_t i = 0; i < o->num_embedding && a->n < 8; i++) memcpy(&a->id[a->n++], &o->embedding[i], 4);
        if (o->error.status != VC_OK) {
            bad = o->error.status;
            *err = o->error;
        }
        vc_output_free(o);
    }
    return bad != VC_OK ? bad : s == VC_E_DONE ? VC_OK : s;
}

static vc_status once(const char *path, long k, struct answer *a, vc_err *err) {
    vc_model_params p;
    vc_model *m = NULL;
    memset(a, 0, sizeof *a);
    vc_model_params_init(&p);
    p.path = path;
    p.max_num_seqs = 2;
    p.max_model_len = 64;
    p.threads = 1;
    atomic_store(&calls, 0);
    atomic_store(&live, 0);
    atomic_store(&fails_at, k);
    atomic_store(&armed, true);
    vc_status s = vc_model_open(&m, &p, err);
    if (s == VC_OK) s = request(m, a, err);
    if (m) vc_model_close(&m);
    atomic_store(&armed, false);
    return s;
}

/* any_status: jansson tells of memory that ran out as of broken text. */
static void model(const char *name, bool any_status) {
    struct answer usual, a;
    vc_err err = VC_ERR_INIT;
    const char *path = vc_golden(name);
    if (!path && vc_left_out(name)) return;
    vc_log_set(VC_LOG_ERROR, NULL, NULL);
    if (once(path, -1, &usual, &err) != VC_OK || once(path, -1, &usual, &err) != VC_OK) fail_msg("%s", err.text);
    assert_int_equal(usual.n, 8);
    long all = atomic_load(&calls), kept = atomic_load(&live), tried = 0, refused = 0;
    for (long k = 0; k < all; k += k < 60 || all - k < 60 ? 1 : 1 + all / 120) {
        err = (vc_err)VC_ERR_INIT;
        vc_status s = once(path, k, &a, &err);
        tried++;
        refused += s != VC_OK;
        if (s != VC_OK && s != VC_E_NOMEM && !any_status) fail_msg("%s, allocation %ld of %ld: %s: %s", name, k, all, vc_status_name(s), err.text);
        if (s == VC_OK && (a.n != usual.n || memcmp(a.id, usual.id, sizeof a.id) != 0)) fail_msg("%s, allocation %ld: another answer", name, k);
        if (atomic_load(&live) > kept) fail_msg("%s, allocation %ld of %ld (%s): %ld blocks are not freed", name, k, all, err.text, atomic_load(&live) - kept);
    }
    printf("%s: %ld allocations, %ld failed one at a time, %ld refused\n", name, all, tried, refused);
    assert_true(refused > tried / 2);
}

static void each_allocation(void **state) {
    (void)state;
    model("gguf-quants/models/tiny-Q4_0.gguf", false);
    model("models/llama", true);
    model("models/qwen3-embed", true);                     /* a vector, of which eight values are compared */
}
#else
static void each_allocation(void **state) {
    (void)state;
    vc_left_out("failing allocations");
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_allocation) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
