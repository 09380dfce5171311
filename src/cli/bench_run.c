/* SPDX-License-Identifier: Apache-2.0
 * bench_run.c: one row of the bench: requests of equal size, first their prompts alone, then prompts and answers. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/status.h"
#include "cli/bench.h"
#include "cli/load.h"
#include "cli/term.h"

struct stream { double first, last; uint32_t tokens; };
struct bench {
    vc_model *m;
    uint32_t requests, prompt, output;
    int32_t *ids;                      /* [requests][prompt] */
    struct stream *stream;
    double *gaps; size_t num_gaps;     /* between tokens while all requests run */
    double begun, all_first, first_end, end;
    uint64_t tokens_at_first, tokens_at_end, tokens;
    uint32_t started, ended;
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest-rank quantile of a sorted list; 0 for none. */
static double quantile(const double *v, size_t n, double q) {
    if (!n) return 0;
    size_t i = (size_t)(q * (double)n);
    return v[i < n ? i : n - 1];
}

static void take(struct bench *b, const vc_output *o) {
    struct stream *s = o->user;
    double now = vc_now();
    b->tokens += o->num_token_ids;
    if (o->num_token_ids) {
        if (!s->tokens) {
            s->first = now;
            if (++b->started == b->requests) {
                b->all_first = now;
                b->tokens_at_first = b->tokens;
            }
        } else if (b->started == b->requests && !b->ended && s->last >= b->all_first) {
            b->gaps[b->num_gaps++] = now - s->last;
        }
        s->tokens += o->num_token_ids;
        s->last = now;
    }
    if (!o->request_finished) return;
    if (b->ended++ == 0) {
        b->first_end = now;
        b->tokens_at_end = b->tokens;
    }
    b->end = now;
}

static vc_status submit(struct bench *b, uint32_t tokens, vc_err *err) {
    for (uint32_t i = 0; i < b->requests; i++) {
        vc_request_params rp;
        vc_request_params_init(&rp);
        rp.prompt_ids = b->ids + (size_t)i * b->prompt;
        rp.num_prompt_ids = b->prompt;
        rp.user = &b->stream[i];
        rp.sampling.temperature = 0;
        rp.sampling.max_tokens = tokens;
        rp.sampling.ignore_eos = 1;
        rp.sampling.detokenize = cli_has_tokenizer(b->m);
        VC_TRY(vc_submit(b->m, &rp, NULL, err));
    }
    return VC_OK;
}

/* Runs all requests to their end. */
static vc_status round_of(struct bench *b, uint32_t tokens, vc_err *err) {
    for (uint32_t i = 0; i < b->requests; i++) b->stream[i] = (struct stream){ 0 };
    b->num_gaps = 0;
    b->tokens = b->tokens_at_first = b->tokens_at_end = 0;
    b->started = b->ended = 0;
    b->all_first = b->first_end = 0;
    b->begun = vc_now();
    VC_TRY(submit(b, tokens, err));
    while (b->ended < b->requests) {
        vc_output *o = NULL;
        if (cli_interrupted()) return vc_fail(err, VC_E_CANCELLED, "interrupted");
        vc_status s = vc_next(b->m, 50, &o, err);
        if (s == VC_E_TIMEOUT) continue;
        if (s != VC_OK) return s;
        vc_err failed = o->error;
        take(b, o);
        vc_output_free(o);
        if (failed.status != VC_OK) {
            *err = failed;
            return failed.status;
        }
    }
    return VC_OK;
}

static vc_status measure(struct bench *b, struct cli_bench *r, vc_err *err) {
    VC_TRY(round_of(b, 1, err));
    r->prefill_s = (double)b->requests * b->prompt / (b->end - b->begun);
    VC_TRY(round_of(b, b->output, err));
    double window = b->first_end - b->all_first;
    if (b->output > 1 && window > 0) r->decode_s = (double)(b->tokens_at_end - b->tokens_at_first) / window;
    r->context = b->prompt + 0.5 * b->output;
    double *first = malloc(b->requests * sizeof *first);
    if (!first) return vc_fail(err, VC_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < b->requests; i++) first[i] = b->stream[i].first - b->begun;
    qsort(first, b->requests, sizeof *first, by_value);
    qsort(b->gaps, b->num_gaps, sizeof *b->gaps, by_value);
    r->ttft_p50 = quantile(first, b->requests, 0.5);
    r->itl_p50 = quantile(b->gaps, b->num_gaps, 0.5);
    r->itl_p99 = quantile(b->gaps, b->num_gaps, 0.99);
    free(first);
    return VC_OK;
}

vc_status cli_bench_run(vc_model *m, uint32_t requests, uint32_t prompt, uint32_t output, uint64_t seed,
                        struct cli_bench *r, vc_err *err) {
    struct bench b = { .m = m, .requests = requests, .prompt = prompt, .output = output };
    vc_model_info info = { .struct_size = sizeof info };
    vc_model_get_info(m, &info);
    *r = (struct cli_bench){ .requests = requests };
    if (prompt < 1 || output < 1) return vc_fail(err, VC_E_INVALID, "prompt and output need at least one token");
    if ((uint64_t)requests * (prompt + (uint64_t)output) > (1u << 28))
        return vc_fail(err, VC_E_INVALID, "%u requests of %u tokens are too many", requests, prompt);
    b.ids = malloc((size_t)requests * prompt * sizeof *b.ids);
    b.stream = calloc(requests, sizeof *b.stream);
    b.gaps = malloc((size_t)requests * output * sizeof *b.gaps);
    vc_status s = b.ids && b.stream && b.gaps ? VC_OK : vc_fail(err, VC_E_NOMEM, "out of memory");
    for (size_t i = 0; s == VC_OK && i < (size_t)requests * prompt; i++)
        b.ids[i] = (int32_t)vc_rng_below(&seed, info.vocab_size);
    if (s == VC_OK) s = measure(&b, r, err);
    free(b.ids);
    free(b.stream);
    free(b.gaps);
    return s;
}
