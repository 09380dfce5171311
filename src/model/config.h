/* SPDX-License-Identifier: Apache-2.0
 * config.h: the shape of one model, read strictly from config.json or GGUF metadata. */
#ifndef VC_MODEL_CONFIG_H
#define VC_MODEL_CONFIG_H

#include "base/arena.h"
#include "base/status.h"
#include "io/gguf.h"
#include "io/json.h"
#include "model/arch.h"
#include "num/dtype.h"
#include "op/args.h"
#include "op/rope_table.h"

struct vc_config {
    const struct vc_arch *arch;
    bool from_gguf;
    uint32_t hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads, head_dim, vocab_size;
    uint32_t max_position_embeddings;
    float rms_norm_eps;
    enum vc_act act;
    bool tie_word_embeddings, qkv_bias, o_bias, mlp_bias;
    enum vc_dtype dtype;                      /* of the checkpoint as stated, VC_NO_DTYPE: not stated */

    /* attention */
    float attn_scale;                         /* of the scores */
    float query_pre_attn_scalar;              /* 0: head_dim */
    float attn_softcap, final_softcap;        /* 0: none */
    uint32_t sliding_window;                  /* 0: none */
    bool use_sliding_window;
    uint32_t max_window_layers;
    uint32_t window_pattern;                  /* every n-th layer is global; 0: see layer_types */
    uint8_t *layer_sliding;                   /* [num_layers], arena */
    struct vc_rope_params rope[2];            /* 0: full layers; 1: sliding layers, where they differ */
    uint32_t num_ropes;
    float q_scale_beta;                       /* Ministral 3: q *= 1 + beta * log(1 + floor(pos / original)); 0: none */
    uint32_t q_scale_original;
    float embed_scale;                        /* 1: none */
    float norm_offset;                        /* 1 where norm weights are stored as w - 1 */

    /* mixture of experts; 0 experts: dense */
    uint32_t num_experts, num_experts_per_tok, moe_intermediate_size, decoder_sparse_step;
    bool norm_topk_prob;
    uint8_t *layer_moe;                       /* [num_layers], arena */
};

/* Either from a parsed config.json (name: its path, for errors) or from GGUF metadata. A missing required key, an
 * unknown architecture, rope type or activation is an error by its own name. */
vc_status vc_config_from_json(struct vc_config *c, struct vc_arena *a, const json_t *root, const char *name, vc_err *err);
vc_status vc_config_from_gguf(struct vc_config *c, struct vc_arena *a, const struct vc_gguf *g, vc_err *err);
uint64_t vc_config_sym(const struct vc_config *c, enum vc_sym s);
bool vc_config_when(const struct vc_config *c, enum vc_when w, uint32_t layer);

/* Shared by both readers. */
extern const struct vc_key vc_common_keys[];
vc_status vc_config_finish(struct vc_config *c, struct vc_arena *a, const char *name, vc_err *err);
vc_status vc_config_rope_json(struct vc_config *c, struct vc_arena *a, const json_t *root, const char *name, vc_err *err);
vc_status vc_config_rope_gguf(struct vc_config *c, struct vc_arena *a, const struct vc_gguf *g, vc_err *err);
bool vc_act_by_name(const char *name, size_t n, enum vc_act *act);

#endif
