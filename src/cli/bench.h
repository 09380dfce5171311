/* SPDX-License-Identifier: Apache-2.0
 * bench.h: the parts of vllmc bench: limits of the machine, work that a model's tokens take, and the measurement. */
#ifndef VC_CLI_BENCH_H
#define VC_CLI_BENCH_H

#include "base/cpu.h"
#include "cli/cli.h"

/* ---- limits: bench_peak.c ---- */
enum cli_peak_kind { CLI_PEAK_F32, CLI_PEAK_BF16, CLI_PEAK_INT8, CLI_NUM_PEAKS };
struct cli_limits {
    double read_bytes_s;                   /* all threads read a buffer larger than the caches */
    double ops_s[CLI_NUM_PEAKS];           /* multiplications + additions per second of all threads; 0: no such tier */
};
/* Takes about a second. */
vc_status cli_measure_limits(struct cli_limits *l, enum vc_tier tier, uint32_t threads, vc_err *err);
const char *cli_peak_name(enum cli_peak_kind k);

/* ---- work: bench_cost.c ---- */
struct cli_cost {
    enum cli_peak_kind peak;               /* of the instructions that the matrix products use */
    double macs_per_token, macs_head;      /* matrix products of one token's layers; of one row of logits */
    double attn_macs;                      /* per token and key */
    double weight_bytes, expert_bytes;     /* read by every step; bytes of all experts, of which a step reads a part */
    double kv_bytes;                       /* per token of context */
    uint32_t experts, experts_used;
};
void cli_model_cost(struct cli_cost *c, const vc_model *m, enum vc_tier tier);
double cli_prefill_ops(const struct cli_cost *c, uint32_t prompt);                               /* of one prompt */
double cli_decode_bytes(const struct cli_cost *c, uint32_t requests, double context);            /* of one step */

/* ---- measurement: bench_run.c ---- */
struct cli_bench {
    uint32_t requests;
    double prefill_s;                      /* prompt tokens per second of all requests */
    double decode_s;                       /* tokens per second while all requests run; 0: never did */
    double ttft_p50, itl_p50, itl_p99;     /* seconds */
    double context;                        /* mean length while decoding */
};
vc_status cli_bench_run(vc_model *m, uint32_t requests, uint32_t prompt, uint32_t output, uint64_t seed,
                        struct cli_bench *r, vc_err *err);

#endif
