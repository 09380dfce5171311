/* SPDX-License-Identifier: Apache-2.0
 * rope_table.h: rows of cosines and sines for the rope op, computed when a model is loaded (static kinds) or for each token
 * (dynamic, longrope). Core rope-torch: vLLM's arithmetic in f32 (goldens/vllm-cpu/README.md), its own exceptions
 * included; core rope-f64: transformers' formulas (modeling_rope_utils.py) in f64, rounded once.
 * Frequencies f_i, i < rotary_dim / 2: theta^(-2i / rotary_dim), changed by the kind:
 *   LINEAR    positions divided by factor
 *   DYNAMIC   theta * (factor L / max_position - (factor - 1))^(dim / (dim - 2)), L = max(length, max_position)
 *   YARN      blend of f and f / factor by a ramp between the dimensions that turn beta_fast and beta_slow times over
 *             original_max_position; cos and sin times the attention factor
 *   LLAMA3    f / factor for long waves, f for short ones, blended between
 *   LONGROPE  f / long_factor or f / short_factor; cos and sin times sqrt(1 + ln(scale) / ln(original)) */
#ifndef VC_OP_ROPE_TABLE_H
#define VC_OP_ROPE_TABLE_H

#include <stdbool.h>

#include "base/status.h"
#include "op/op.h"

enum vc_rope_kind { VC_ROPE_DEFAULT, VC_ROPE_LINEAR, VC_ROPE_DYNAMIC, VC_ROPE_YARN, VC_ROPE_LLAMA3, VC_ROPE_LONGROPE };
enum { VC_MAX_ROTARY_DIM = 1024 };

/* Zero means "not stated" but for the fields marked *, which the kind needs. */
struct vc_rope_params {
    enum vc_rope_kind kind;
    uint32_t rotary_dim;                     /* * even; columns of the table */
    double theta;                            /* * */
    double factor;                           /* * all kinds but DEFAULT; LONGROPE: 0 = max_position / original_max_position */
    uint32_t max_position;                   /* * DYNAMIC, LONGROPE: max_position_embeddings */
    uint32_t original_max_position;          /* * YARN, LLAMA3, LONGROPE: original_max_position_embeddings */
    double beta_fast, beta_slow;             /* YARN; not stated: 32, 1 */
    double mscale, mscale_all_dim;           /* YARN: both stated: attention factor m(mscale) / m(mscale_all_dim), m(s) = 0.1 s ln(factor) + 1 */
    double attention_factor;                 /* YARN, LONGROPE: stated outright */
    bool no_truncate;                        /* YARN: the ramp's ends are not rounded to whole dimensions */
    double low_freq_factor, high_freq_factor;    /* * LLAMA3 */
    const float *short_factor, *long_factor; /* * LONGROPE: [rotary_dim / 2], borrowed */
    const float *freq_factors;               /* GGUF's rope_freqs: [rotary_dim / 2] divisors of f, any kind; borrowed */
};

/* An error that names the field for a params struct that cannot be computed. */
vc_status vc_rope_check(const struct vc_rope_params *p, vc_err *err);

/* True where the row of a position depends on the length of the sequence (DYNAMIC, LONGROPE). */
static inline bool vc_rope_by_length(const struct vc_rope_params *p) { return p->kind == VC_ROPE_DYNAMIC || p->kind == VC_ROPE_LONGROPE; }

/* rows[i], i < n: rotary_dim/2 cosines, then as many sines, for position pos[i], in fmt (f32, bf16, f16); rows adjacent.
 * seq_len selects the table of DYNAMIC and LONGROPE, as transformers does; 0: one table for all lengths, as vLLM does
 * (DYNAMIC: that of factor * max_position; LONGROPE: long factors where max_position > original_max_position). */
vc_status vc_rope_rows(const struct vc_rope_params *p, enum vc_arith core, const uint32_t *pos, uint32_t n, uint32_t seq_len,
                       enum vc_dtype fmt, void *rows, vc_err *err);

#endif
