/* SPDX-License-Identifier: Apache-2.0
 * qwen3.c: Qwen3 (norms on q and k) and Qwen3-MoE (experts in place of the MLP). */
#include "model/archs.h"
#include "model/config.h"

static const struct vc_tensor_row tensors[] = {
    VC_ROWS_QK_NORM
    { .role = VC_NUM_ROLES },
};
static const struct vc_tensor_row moe_tensors[] = {
    VC_ROWS_QK_NORM
    { VC_ROLE_ROUTER,      "model.layers.%u.mlp.gate",                 "blk.%u.ffn_gate_inp",  VC_SYM_EXPERTS,   VC_SYM_HIDDEN,    VC_WHEN_MOE, VC_WHEN_NEVER },
    { VC_ROLE_EXPERT_GATE, "model.layers.%u.mlp.experts.%u.gate_proj", "blk.%u.ffn_gate_exps", VC_SYM_MOE_INTER, VC_SYM_HIDDEN,    VC_WHEN_MOE, VC_WHEN_NEVER },
    { VC_ROLE_EXPERT_UP,   "model.layers.%u.mlp.experts.%u.up_proj",   "blk.%u.ffn_up_exps",   VC_SYM_MOE_INTER, VC_SYM_HIDDEN,    VC_WHEN_MOE, VC_WHEN_NEVER },
    { VC_ROLE_EXPERT_DOWN, "model.layers.%u.mlp.experts.%u.down_proj", "blk.%u.ffn_down_exps", VC_SYM_HIDDEN,    VC_SYM_MOE_INTER, VC_WHEN_MOE, VC_WHEN_NEVER },
    { .role = VC_NUM_ROLES },
};

static const struct vc_key qwen3_keys[] = {
    VC_KEYS_ATTENTION_BIAS
    VC_KEYS_SWITCHED_WINDOW
    VC_KEY("max_window_layers", NULL, U32, 0, max_window_layers, 0, 0, 1u << 20),
    { .hf = NULL, .gguf = NULL },
};
static const char *const qwen3_names[] = { "Qwen3ForCausalLM", "Qwen3Model", NULL };
const struct vc_arch vc_arch_qwen3 = {
    .name = "qwen3", .hf_names = qwen3_names, .gguf_name = "qwen3", .keys = qwen3_keys, .tensors = tensors, .layer = vc_layer_prenorm,
};

static const struct vc_key qwen3_moe_keys[] = {
    VC_KEYS_ATTENTION_BIAS
    VC_KEYS_SWITCHED_WINDOW
    VC_KEY("num_local_experts|num_experts", "expert_count",      U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, num_experts, 0, 1, 4096),
    VC_KEY("num_experts_per_tok",   "expert_used_count",          U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, num_experts_per_tok, 0, 1, 256),
    VC_KEY("moe_intermediate_size", "expert_feed_forward_length", U32, VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, moe_intermediate_size, 0, 1, 1u << 24),
    VC_KEY("norm_topk_prob",        NULL, BOOL, VC_KEY_REQUIRED, norm_topk_prob, 1, 0, 1),
    VC_KEY("decoder_sparse_step",   NULL, U32,  0, decoder_sparse_step, 1, 1, 1u << 20),
    { .hf = NULL, .gguf = NULL },
};
static const char *const qwen3_moe_names[] = { "Qwen3MoeForCausalLM", "Qwen3MoeModel", NULL };
const struct vc_arch vc_arch_qwen3_moe = {
    .name = "qwen3moe", .hf_names = qwen3_moe_names, .gguf_name = "qwen3moe", .flags = VC_ARCH_MOE,
    .keys = qwen3_moe_keys, .tensors = moe_tensors, .layer = vc_layer_prenorm,
};
