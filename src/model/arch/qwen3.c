/* SPDX-License-Identifier: Apache-2.0
 * qwen3.c: Qwen3 (norms on q and k) and Qwen3-MoE (experts in place of the MLP). */
#include "model/archs.h"
#include "model/config.h"

static const struct vc_tensor_row tensors[] = {
    { VC_ROLE_EMBED,          "model.embed_tokens",                          "token_embd",         VC_SYM_VOCAB,  VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_HEAD,           "lm_head",                                     "output",             VC_SYM_VOCAB,  VC_SYM_HIDDEN, VC_WHEN_UNTIED, VC_WHEN_NEVER },
    { VC_ROLE_FINAL_NORM,     "model.norm",                                  "output_norm",        VC_SYM_NONE,   VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_INPUT_NORM,     "model.layers.%u.input_layernorm",             "blk.%u.attn_norm",   VC_SYM_NONE,   VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_Q,              "model.layers.%u.self_attn.q_proj",            "blk.%u.attn_q",      VC_SYM_Q,      VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    { VC_ROLE_K,              "model.layers.%u.self_attn.k_proj",            "blk.%u.attn_k",      VC_SYM_KV,     VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    { VC_ROLE_V,              "model.layers.%u.self_attn.v_proj",            "blk.%u.attn_v",      VC_SYM_KV,     VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    { VC_ROLE_O,              "model.layers.%u.self_attn.o_proj",            "blk.%u.attn_output", VC_SYM_HIDDEN, VC_SYM_Q,      VC_WHEN_ALWAYS, VC_WHEN_O_BIAS },
    { VC_ROLE_Q_NORM,         "model.layers.%u.self_attn.q_norm",            "blk.%u.attn_q_norm", VC_SYM_NONE,   VC_SYM_HEAD_DIM, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_K_NORM,         "model.layers.%u.self_attn.k_norm",            "blk.%u.attn_k_norm", VC_SYM_NONE,   VC_SYM_HEAD_DIM, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_POST_ATTN_NORM, "model.layers.%u.post_attention_layernorm",    "blk.%u.ffn_norm",    VC_SYM_NONE,   VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_GATE,           "model.layers.%u.mlp.gate_proj",               "blk.%u.ffn_gate",    VC_SYM_INTER,  VC_SYM_HIDDEN, VC_WHEN_DENSE,  VC_WHEN_NEVER },
    { VC_ROLE_UP,             "model.layers.%u.mlp.up_proj",                 "blk.%u.ffn_up",      VC_SYM_INTER,  VC_SYM_HIDDEN, VC_WHEN_DENSE,  VC_WHEN_NEVER },
    { VC_ROLE_DOWN,           "model.layers.%u.mlp.down_proj",               "blk.%u.ffn_down",    VC_SYM_HIDDEN, VC_SYM_INTER,  VC_WHEN_DENSE,  VC_WHEN_NEVER },
    { VC_ROLE_ROUTER,         "model.layers.%u.mlp.gate",                    "blk.%u.ffn_gate_inp", VC_SYM_EXPERTS, VC_SYM_HIDDEN, VC_WHEN_MOE, VC_WHEN_NEVER },
    { VC_ROLE_EXPERT_GATE,    "model.layers.%u.mlp.experts.%u.gate_proj",    "blk.%u.ffn_gate_exps", VC_SYM_MOE_INTER, VC_SYM_HIDDEN, VC_WHEN_MOE, VC_WHEN_NEVER },
    { VC_ROLE_EXPERT_UP,      "model.layers.%u.mlp.experts.%u.up_proj",      "blk.%u.ffn_up_exps", VC_SYM_MOE_INTER, VC_SYM_HIDDEN, VC_WHEN_MOE, VC_WHEN_NEVER },
    { VC_ROLE_EXPERT_DOWN,    "model.layers.%u.mlp.experts.%u.down_proj",    "blk.%u.ffn_down_exps", VC_SYM_HIDDEN, VC_SYM_MOE_INTER, VC_WHEN_MOE, VC_WHEN_NEVER },
    { VC_NUM_ROLES, NULL, NULL, VC_SYM_NONE, VC_SYM_NONE, VC_WHEN_NEVER, VC_WHEN_NEVER },
};

static const struct vc_key qwen3_keys[] = {
    VC_KEY("attention_bias",     NULL, BOOL, 0, qkv_bias, 0, 0, 1),
    VC_KEY("attention_bias",     NULL, BOOL, 0, o_bias, 0, 0, 1),
    VC_KEY("sliding_window",     NULL, U32,  0, sliding_window, 0, 1, 1u << 30),
    VC_KEY("use_sliding_window", NULL, BOOL, 0, use_sliding_window, 0, 0, 1),
    VC_KEY("max_window_layers",  NULL, U32,  0, max_window_layers, 0, 0, 1u << 20),
    { .hf = NULL, .gguf = NULL },
};
static const char *const qwen3_names[] = { "Qwen3ForCausalLM", "Qwen3Model", NULL };
const struct vc_arch vc_arch_qwen3 = {
    .name = "qwen3", .hf_names = qwen3_names, .gguf_name = "qwen3", .keys = qwen3_keys, .tensors = tensors, .layer = vc_layer_llama,
};

static const struct vc_key qwen3_moe_keys[] = {
    VC_KEY("attention_bias",        NULL, BOOL, 0, qkv_bias, 0, 0, 1),
    VC_KEY("attention_bias",        NULL, BOOL, 0, o_bias, 0, 0, 1),
    VC_KEY("sliding_window",        NULL, U32,  0, sliding_window, 0, 1, 1u << 30),
    VC_KEY("use_sliding_window",    NULL, BOOL, 0, use_sliding_window, 0, 0, 1),
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
    .keys = qwen3_moe_keys, .tensors = tensors, .layer = vc_layer_llama,
};
