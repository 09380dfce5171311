/* SPDX-License-Identifier: Apache-2.0
 * pool_size.c: how many pages the KV cache gets: what fits in free memory (cgroup-aware), at most what
 * max_num_seqs sequences of max_model_len can use. */
#include "base/ckd.h"
#include "base/log.h"
#include "run/engine_int.h"

enum { KEEP_FREE_PERCENT = 15 };           /* of the memory that is available when the pool is sized */

/* Bytes for the pool: those asked for; or what is left of a share of the whole memory after weights and workspace; or a
 * part of what is free. */
static vc_status pool_budget(const struct vc_engine *e, uint64_t avail, uint64_t page, uint64_t *budget, vc_err *err) {
    const struct vc_net *n = e->net;
    double share = (double)e->params.memory_share;
    *budget = avail / 100 * (100 - KEEP_FREE_PERCENT);
    if (e->params.num_blocks) {
        if (vc_ckd_mul(budget, page, (uint64_t)e->params.num_blocks)) return vc_fail(err, VC_E_INVALID, "num_kv_blocks: %u is too many", e->params.num_blocks);
    } else if (e->params.kv_bytes) {
        *budget = e->params.kv_bytes;
    } else if (share > 0) {
        uint64_t all = (uint64_t)(share * (double)vc_mem_total()), used = n->weights.region_bytes + vc_net_workspace(n);
        if (all <= used)
            return vc_fail(err, VC_E_NOMEM, "memory_utilization: %g of the memory is %llu MiB, but weights and workspace take %llu MiB", share,
                           (unsigned long long)(all >> 20), (unsigned long long)(used >> 20));
        *budget = VC_MIN(all - used, avail);
    }
    return VC_OK;
}

vc_status vc_engine_size_pool(struct vc_engine *e, bool len_given, vc_err *err) {
    struct vc_net *n = e->net;
    uint32_t block = e->params.block_size, chunk = e->params.max_num_batched_tokens;
    uint64_t page = vc_net_page_bytes(n, block), per_seq = vc_net_seq_pages(n, n->max_model_len, block, chunk), want;
    if (vc_ckd_mul(&want, per_seq, e->params.max_num_seqs) || want > UINT32_MAX - 1) want = UINT32_MAX - 1;
    uint64_t avail = vc_mem_available(), budget;
    VC_TRY(pool_budget(e, avail, page, &budget, err));
    uint64_t fit = budget / page, pages = e->params.num_blocks || want >= fit ? fit : want;
    if (pages > UINT32_MAX - 1) pages = UINT32_MAX - 1;
    if (pages < per_seq) {
        uint32_t len = vc_net_kv_tokens(n, pages, block, chunk);
        if (len_given || len < 1)
            return vc_fail(err, VC_E_NOMEM, "max_model_len %u needs %llu KiB of KV cache for one sequence, but only %llu KiB are available; lower max_model_len or free memory",
                           n->max_model_len, (unsigned long long)(per_seq * page >> 10), (unsigned long long)(budget >> 10));
        vc_log_line(VC_LOG_WARN, "max_model_len lowered from %u to %u tokens, which is what the KV cache holds", n->max_model_len, len);
        n->max_model_len = len;
        per_seq = vc_net_seq_pages(n, len, block, chunk);
    }
    VC_TRY(vc_net_set_pages(n, (uint32_t)pages + 1, block, err));      /* page 0 is never handed out */
    vc_log_line(VC_LOG_INFO, "KV cache: %llu pages of %u tokens in %s, %llu MiB of %llu MiB available: %.1f sequences of %u tokens",
                (unsigned long long)pages, block, vc_dtype_name(n->kv.dtype), (unsigned long long)(pages * page >> 20), (unsigned long long)(avail >> 20),
                (double)pages / (double)per_seq, n->max_model_len);
    return VC_OK;
}
