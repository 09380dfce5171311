/* SPDX-License-Identifier: Apache-2.0
 * attention_rows.c: what the rows of attention and the KV store accept, and the scratch of both attention cores. */
#include "dev/kernel.h"
#include "kern/cpu/attn_plan.h"

#define VC_KERNEL(name, op, core, tier, in0, weight, out0, m_lo, m_hi, inner, accepts, scratch, ph0, ph1, ph2)
#define VC_KERNEL_FN(fn)
#define VC_KERNEL_ACCEPTS(fn) bool fn(const struct vc_contract *, const struct vc_dims *);
#define VC_KERNEL_SCRATCH(fn) size_t fn(const struct vc_dims *, uint32_t);
#include "kern/cpu/attention.def"

bool vc_attention_accepts(const struct vc_contract *c, const struct vc_dims *d) {
    (void)c;
    return d->head_dim && d->head_dim % 8 == 0 && d->head_dim <= VC_ATTN_MAX_HEAD_DIM && d->page_tokens && d->page_tokens % 16 == 0;
}

size_t vc_attention_carried_scratch(const struct vc_dims *d, uint32_t parts) {
    return vc_at_carried_floats(d->head_dim) * sizeof(float) * parts;
}
size_t vc_attention_tiled_scratch(const struct vc_dims *d, uint32_t parts) {
    return vc_at_tiled_floats(d->head_dim, parts) * sizeof(float) * parts;
}
