/* SPDX-License-Identifier: Apache-2.0
 * kv_groups.c: layers into KV groups, with the rule of vLLM's hybrid KV cache manager: groups have as many layers as the
 * rarer kind (full or windowed) has, or as the commoner one where that is less than a quarter more; the last group of a
 * kind may have fewer. */
#include "base/ckd.h"
#include "kv/cache.h"
#include "model/net.h"

/* Keys that the layer sees; 0: all. A window that no sequence fills is none. */
static uint32_t window_of(const struct vc_net *n, uint32_t layer) {
    uint32_t w = n->config.layer_sliding[layer] ? n->config.sliding_window : 0;
    return w < n->max_model_len ? w : 0;
}

vc_status vc_net_group_layers(struct vc_net *n, vc_err *err) {
    struct vc_net_groups *g = &n->groups;
    uint32_t layers = n->config.num_layers, windowed = 0, at[2] = { 0, 0 };
    for (uint32_t l = 0; l < layers; l++) windowed += window_of(n, l) != 0;
    uint32_t full = layers - windowed, few = VC_MIN(full, windowed), many = VC_MAX(full, windowed);
    if (layers == 0) return vc_fail(err, VC_E_INVALID, "a model without layers");
    g->places = few == 0 || (uint64_t)many * 4 < (uint64_t)few * 5 ? many : few;
    uint32_t full_groups = (uint32_t)vc_div_up(full, g->places);
    g->num = full_groups + (uint32_t)vc_div_up(windowed, g->places);
    g->windows = VC_NEW_ARRAY(&n->arena, uint32_t, g->num);
    g->of = VC_NEW_ARRAY(&n->arena, struct vc_net_place, layers);
    if (!g->windows || !g->of) return vc_fail(err, VC_E_NOMEM, "out of memory for %u layers", layers);
    for (uint32_t l = 0; l < layers; l++) {
        uint32_t w = window_of(n, l), i = at[w != 0]++;
        g->of[l] = (struct vc_net_place){ (w ? full_groups : 0) + i / g->places, i % g->places };
        g->windows[g->of[l].group] = w;
    }
    return VC_OK;
}

uint64_t vc_net_seq_pages(const struct vc_net *n, uint64_t num_tokens, uint32_t page_tokens, uint32_t chunk) {
    uint64_t pages = 0;
    for (uint32_t g = 0; g < n->groups.num; g++) pages += vc_kv_blocks_held(n->groups.windows[g], num_tokens, page_tokens, chunk);
    return pages;
}

uint32_t vc_net_kv_tokens(const struct vc_net *n, uint64_t pages, uint32_t page_tokens, uint32_t chunk) {
    uint32_t lo = 0, hi = n->max_model_len;                /* lo tokens fit, more than hi are never asked for */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo + 1) / 2;
        if (vc_net_seq_pages(n, mid, page_tokens, chunk) <= pages) lo = mid;
        else hi = mid - 1;
    }
    return lo;
}
