/* SPDX-License-Identifier: Apache-2.0
 * tok_regex.c: compiling and running; the rewriting is in tok_regex_rewrite.c. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tok/tok_regex.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <pcre2.h>

#include "base/log.h"

/* A match that needs more than this is refused, not waited for. */
enum { MATCH_LIMIT = 50000000, HEAP_LIMIT_KIB = 512 * 1024, JIT_STACK_MIN = 32 * 1024, JIT_STACK_MAX = 64 * 1024 * 1024 };

struct vc_tok_regex {
    struct vc_tok_regex *next;
    pcre2_code *code;
    bool jit;
};

/* Interpreted is slower, so it is said, once. */
static bool compile_jit(pcre2_code *c) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    int rc = pcre2_jit_compile(c, PCRE2_JIT_COMPLETE);
    if (rc == 0) return true;
    if (!atomic_flag_test_and_set(&told)) {
        char msg[160];
        pcre2_get_error_message(rc, (PCRE2_UCHAR *)msg, sizeof msg);
        vc_log_line(VC_LOG_WARN, "regular expressions of the tokenizer run without JIT (%s; MemoryDenyWriteExecute=yes has this effect): long prompts take longer, ids are the same", msg);
    }
    return false;
}

vc_status vc_tok_regex_new(struct vc_tok_regex **out, const char *pattern, size_t n, struct vc_tok_regex *next, vc_err *err) {
    struct vc_buf b = { 0 };
    vc_status s = vc_tok_regex_translate(&b, pattern, n, err);
    if (s == VC_OK && b.failed) s = vc_fail(err, VC_E_NOMEM, "regex: out of memory");
    if (s) { vc_buf_free(&b); return s; }
    int code;
    PCRE2_SIZE at;
    uint32_t opt = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY;
    pcre2_code *c = pcre2_compile((PCRE2_SPTR)(b.p ? b.p : ""), b.n, opt, &code, &at, NULL);
    if (!c) {
        char msg[160], shown[400];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)msg, sizeof msg);
        vc_printable(shown, sizeof shown, pattern, n);
        s = vc_fail(err, code == PCRE2_ERROR_HEAP_FAILED ? VC_E_NOMEM : VC_E_UNSUPPORTED, "regex \"%s\": %s (at offset %zu of its rewritten form)", shown, msg,
                    (size_t)at);
        vc_buf_free(&b);
        return s;
    }
    vc_buf_free(&b);
    struct vc_tok_regex *r = malloc(sizeof *r);
    if (!r) {
        pcre2_code_free(c);
        return vc_fail(err, VC_E_NOMEM, "regex: out of memory");
    }
    *r = (struct vc_tok_regex){ next, c, compile_jit(c) };
    *out = r;
    return VC_OK;
}

void vc_tok_regex_free(struct vc_tok_regex *r) {
    while (r) {
        struct vc_tok_regex *next = r->next;
        pcre2_code_free(r->code);
        free(r);
        r = next;
    }
}

static bool run_init(struct vc_regex_run *run) {
    if (run->context) return true;
    pcre2_match_data *d = pcre2_match_data_create(1, NULL);
    pcre2_match_context *c = pcre2_match_context_create(NULL);
    run->data = d;
    run->context = c;
    if (!d || !c) {
        vc_regex_run_free(run);
        return false;
    }
    pcre2_set_match_limit(c, MATCH_LIMIT);
    pcre2_set_heap_limit(c, HEAP_LIMIT_KIB);
    pcre2_jit_stack *s = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
    if (s) pcre2_jit_stack_assign(c, NULL, s);    /* without one, JIT code uses 32 KiB of the machine stack */
    run->stack = s;
    return true;
}

void vc_regex_run_free(struct vc_regex_run *run) {
    pcre2_match_data_free(run->data);
    pcre2_match_context_free(run->context);
    pcre2_jit_stack_free(run->stack);
    *run = (struct vc_regex_run){ 0 };
}

vc_status vc_tok_regex_find(const struct vc_tok_regex *r, struct vc_regex_run *run, const char *text, size_t n, size_t from,
                            size_t *start, size_t *end, bool *found, vc_err *err) {
    if (!run_init(run)) return vc_fail(err, VC_E_NOMEM, "regex: out of memory");
    int k = PCRE2_ERROR_JIT_STACKLIMIT;
    if (r->jit) k = pcre2_jit_match(r->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, run->data, run->context);
    if (k == PCRE2_ERROR_JIT_STACKLIMIT)
        k = pcre2_match(r->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, run->data, run->context);
    *found = k >= 0;
    if (k >= 0) {
        const PCRE2_SIZE *v = pcre2_get_ovector_pointer(run->data);
        *start = v[0] < v[1] ? v[0] : v[1];    /* \K may set them the other way round */
        *end = v[1];
        return VC_OK;
    }
    if (k == PCRE2_ERROR_NOMATCH) return VC_OK;
    char msg[160];
    pcre2_get_error_message(k, (PCRE2_UCHAR *)msg, sizeof msg);
    return vc_fail(err, k == PCRE2_ERROR_NOMEMORY ? VC_E_NOMEM : VC_E_UNSUPPORTED, "regex of the pre-tokenizer, text of %zu bytes at offset %zu: %s", n, from, msg);
}
