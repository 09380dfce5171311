/* SPDX-License-Identifier: Apache-2.0
 * cmd_bench.c: vllmc bench: the table, as text, CSV or JSON. */
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "cli/bench.h"
#include "cli/inspect_file.h"
#include "cli/load.h"
#include "cli/term.h"
#include "io/json_out.h"

struct table {
    struct cli_opts *o;
    vc_model_info info;
    struct cli_limits limits;
    struct cli_cost cost;
    struct cli_bench *row; size_t n;       /* arena of o */
};

static double share_of_peak(const struct table *t, const struct cli_bench *r) {
    double peak = t->limits.ops_s[t->cost.peak];
    double ops = r->prefill_s / t->o->bench_prompt * cli_prefill_ops(&t->cost, t->o->bench_prompt);
    return peak > 0 ? ops / peak : 0;
}

static double share_of_bandwidth(const struct table *t, const struct cli_bench *r) {
    double bytes_s = r->decode_s / r->requests * cli_decode_bytes(&t->cost, r->requests, r->context);
    return t->limits.read_bytes_s > 0 ? bytes_s / t->limits.read_bytes_s : 0;
}

static int print_text(const struct table *t) {
    struct vc_buf b = { 0 };
    vc_buf_printf(&b, "%s, %s, numerics %s, %u threads; prompts of %u tokens, answers of %u\n", t->info.name,
                  t->info.quantization, t->info.numerics, t->info.threads, t->o->bench_prompt, t->o->bench_output);
    vc_buf_printf(&b, "limits: read %.1f GB/s, %s %.0f GOP/s\n\n", t->limits.read_bytes_s / 1e9,
                  cli_peak_name(t->cost.peak), t->limits.ops_s[t->cost.peak] / 1e9);
    vc_buf_printf(&b, "%s%9s  %12s %8s  %12s %10s  %10s  %9s %9s%s\n", cli_style(CLI_BOLD), "requests", "prefill t/s",
                  "of peak", "decode t/s", "of reading", "TTFT ms", "ITL p50", "p99 ms", cli_style(CLI_PLAIN));
    for (size_t i = 0; i < t->n; i++) {
        const struct cli_bench *r = &t->row[i];
        vc_buf_printf(&b, "%9u  %12.1f %6.0f %%  %12.1f %8.0f %%  %10.1f  %9.2f %9.2f\n", r->requests, r->prefill_s,
                      100 * share_of_peak(t, r), r->decode_s, 100 * share_of_bandwidth(t, r), 1e3 * r->ttft_p50,
                      1e3 * r->itl_p50, 1e3 * r->itl_p99);
    }
    return cli_print(&b);
}

static int print_csv(const struct table *t) {
    struct vc_buf b = { 0 };
    vc_buf_adds(
        &b,
        "requests,prompt_tokens,output_tokens,threads,prefill_tokens_per_s,prefill_share_of_peak,decode_tokens_per_s,"
        "decode_share_of_bandwidth,"
        "ttft_p50_s,itl_p50_s,itl_p99_s,read_bytes_per_s,peak_ops_per_s\n");
    for (size_t i = 0; i < t->n; i++) {
        const struct cli_bench *r = &t->row[i];
        vc_buf_printf(&b, "%u,%u,%u,%u,%.3f,%.4f,%.3f,%.4f,%.6f,%.6f,%.6f,%.0f,%.0f\n", r->requests, t->o->bench_prompt,
                      t->o->bench_output, t->info.threads, r->prefill_s, share_of_peak(t, r), r->decode_s,
                      share_of_bandwidth(t, r), r->ttft_p50, r->itl_p50, r->itl_p99, t->limits.read_bytes_s,
                      t->limits.ops_s[t->cost.peak]);
    }
    return cli_print(&b);
}

static void number(struct vc_json_out *w, const char *key, double v) {
    vc_jo_key(w, key);
    vc_jo_f64(w, v);
}

static void json_row(struct vc_json_out *w, const struct table *t, const struct cli_bench *r) {
    vc_jo_begin_obj(w);
    vc_jo_key(w, "requests");
    vc_jo_uint(w, r->requests);
    number(w, "prefill_tokens_per_s", r->prefill_s);
    number(w, "prefill_share_of_peak", share_of_peak(t, r));
    number(w, "decode_tokens_per_s", r->decode_s);
    number(w, "decode_share_of_bandwidth", share_of_bandwidth(t, r));
    number(w, "ttft_p50_s", r->ttft_p50);
    number(w, "itl_p50_s", r->itl_p50);
    number(w, "itl_p99_s", r->itl_p99);
    vc_jo_end_obj(w);
}

static int print_json(const struct table *t) {
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    vc_jo_init(&w, &b, VC_JSON_PRETTY);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "model");
    vc_jo_str(&w, t->info.name);
    vc_jo_key(&w, "numerics");
    vc_jo_str(&w, t->info.numerics);
    vc_jo_key(&w, "threads");
    vc_jo_uint(&w, t->info.threads);
    vc_jo_key(&w, "prompt_tokens");
    vc_jo_uint(&w, t->o->bench_prompt);
    vc_jo_key(&w, "output_tokens");
    vc_jo_uint(&w, t->o->bench_output);
    number(&w, "read_bytes_per_s", t->limits.read_bytes_s);
    vc_jo_key(&w, "peak");
    vc_jo_str(&w, cli_peak_name(t->cost.peak));
    number(&w, "peak_ops_per_s", t->limits.ops_s[t->cost.peak]);
    vc_jo_key(&w, "rows");
    vc_jo_begin_arr(&w);
    for (size_t i = 0; i < t->n; i++) json_row(&w, t, &t->row[i]);
    vc_jo_end_arr(&w);
    vc_jo_end_obj(&w);
    vc_buf_addc(&b, '\n');
    return cli_print(&b);
}

/* The best of each figure. */
static void keep_best(struct cli_bench *best, const struct cli_bench *r, bool first) {
    if (first) {
        *best = *r;
        return;
    }
    best->prefill_s = fmax(best->prefill_s, r->prefill_s);
    best->decode_s = fmax(best->decode_s, r->decode_s);
    best->ttft_p50 = fmin(best->ttft_p50, r->ttft_p50);
    best->itl_p50 = fmin(best->itl_p50, r->itl_p50);
    best->itl_p99 = fmin(best->itl_p99, r->itl_p99);
}

static vc_status measure(struct table *t, vc_model *m, const struct cli_counts *c, vc_err *err) {
    uint32_t reps = t->o->reps ? t->o->reps : 1;
    for (; t->n < c->n; t->n++) {
        for (uint32_t i = 0; i < reps; i++) {
            char what[64];
            struct cli_bench r;
            snprintf(what, sizeof what, "%u requests", c->v[t->n]);
            cli_bar((double)(t->n * reps + i) / (double)(c->n * reps), what, NULL);
            VC_TRY(cli_bench_run(m, c->v[t->n], t->o->bench_prompt, t->o->bench_output, t->o->model.seed, &r, err));
            keep_best(&t->row[t->n], &r, i == 0);
        }
    }
    return VC_OK;
}

/* Requests that the table asks for; the most of them at once. */
static uint32_t most(const struct cli_counts *c) {
    uint32_t n = 1;
    for (size_t i = 0; i < c->n; i++) n = VC_MAX(n, c->v[i]);
    return n;
}

int cli_bench(struct cli_opts *o) {
    static uint32_t usual[] = { 1, 8, 32 };
    struct cli_counts c = o->concurrency.n ? o->concurrency : (struct cli_counts){ usual, VC_ARRAY_LEN(usual) };
    if (o->num_args != 1)
        return cli_usage(o, o->num_args ? "bench takes one model" : "bench needs a model: a GGUF file or a folder");
    if (o->json && o->csv) return cli_usage(o, "--json and --csv exclude each other");
    struct table t = { .o = o,
                       .info.struct_size = sizeof t.info,
                       .row = VC_NEW_ARRAY(&o->arena, struct cli_bench, c.n) };
    if (!t.row) return cli_fail("out of memory");
    if (!o->given[CLI_OPT_MAX_BATCHED] && most(&c) > o->model.max_num_batched_tokens)
        o->model.max_num_batched_tokens = most(&c);
    vc_model *m = NULL;
    vc_err err = VC_ERR_INIT;
    enum vc_tier tier;
    int rc = vc_cpu_tier(&tier, &err) == VC_OK ? cli_load(o, most(&c), &m, NULL) : cli_fail_err(&err);
    if (rc != CLI_OK) return rc;
    vc_model_get_info(m, &t.info);
    cli_model_cost(&t.cost, m, tier);
    cli_catch_interrupt();
    vc_status s = measure(&t, m, &c, &err);
    if (s == VC_OK) s = cli_measure_limits(&t.limits, tier, t.info.threads, &err);
    cli_default_interrupt();
    cli_bar_clear();
    if (s != VC_OK) rc = s == VC_E_CANCELLED ? CLI_INTERRUPTED : cli_fail_err(&err);
    else rc = o->json ? print_json(&t) : o->csv ? print_csv(&t) : print_text(&t);
    vc_model_close(&m);
    return rc;
}
