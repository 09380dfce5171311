/* SPDX-License-Identifier: Apache-2.0
 * llama.c: Llama and its close kin: Mistral, Ministral, Qwen2 differ in biases, windows and scaling of q only. */
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
    { VC_ROLE_POST_ATTN_NORM, "model.layers.%u.post_attention_layernorm",    "blk.%u.ffn_norm",    VC_SYM_NONE,   VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_GATE,           "model.layers.%u.mlp.gate_proj",               "blk.%u.ffn_gate",    VC_SYM_INTER,  VC_SYM_HIDDEN, VC_WHEN_DENSE,  VC_WHEN_MLP_BIAS },
    { VC_ROLE_UP,             "model.layers.%u.mlp.up_proj",                 "blk.%u.ffn_up",      VC_SYM_INTER,  VC_SYM_HIDDEN, VC_WHEN_DENSE,  VC_WHEN_MLP_BIAS },
    { VC_ROLE_DOWN,           "model.layers.%u.mlp.down_proj",               "blk.%u.ffn_down",    VC_SYM_HIDDEN, VC_SYM_INTER,  VC_WHEN_DENSE,  VC_WHEN_MLP_BIAS },
    { VC_NUM_ROLES, NULL, NULL, VC_SYM_NONE, VC_SYM_NONE, VC_WHEN_NEVER, VC_WHEN_NEVER },
};

const struct vc_layer_line vc_layer_llama[] = {
    /* block                dst    src    weight */
    { VC_BLOCK_NORM_ADD,    VC_H,  VC_X,  VC_ROLE_INPUT_NORM },
    { VC_BLOCK_ATTENTION,   VC_X,  VC_H,  VC_NUM_ROLES },
    { VC_BLOCK_NORM_ADD,    VC_H,  VC_X,  VC_ROLE_POST_ATTN_NORM },
    { VC_BLOCK_FFN,         VC_X,  VC_H,  VC_NUM_ROLES },
    { VC_BLOCK_END,         VC_X,  VC_X,  VC_NUM_ROLES },
};

static const struct vc_key llama_keys[] = {
    VC_KEY("attention_bias", NULL, BOOL, 0, qkv_bias, 0, 0, 1),
    VC_KEY("attention_bias", NULL, BOOL, 0, o_bias, 0, 0, 1),
    VC_KEY("mlp_bias",       NULL, BOOL, 0, mlp_bias, 0, 0, 1),
    { .hf = NULL, .gguf = NULL },
};
static const char *const llama_names[] = { "LlamaForCausalLM", "LlamaModel", NULL };
const struct vc_arch vc_arch_llama = {
    .name = "llama", .hf_names = llama_names, .gguf_name = "llama", .flags = VC_ARCH_GGUF_ROPE_PAIRS,
    .keys = llama_keys, .tensors = tensors, .layer = vc_layer_llama,
};

static const struct vc_key mistral_keys[] = {
    VC_KEY("sliding_window", "attention.sliding_window", U32, 0, sliding_window, 0, 1, 1u << 30),
    { .hf = NULL, .gguf = NULL },
};
static const char *const mistral_names[] = { "MistralForCausalLM", "Ministral3ForCausalLM", "MistralModel", NULL };
const struct vc_arch vc_arch_mistral = {
    .name = "mistral", .hf_names = mistral_names, .gguf_name = NULL, .flags = VC_ARCH_GGUF_ROPE_PAIRS | VC_ARCH_WINDOW_ALL,
    .keys = mistral_keys, .tensors = tensors, .layer = vc_layer_llama,
};

static const struct vc_key qwen2_keys[] = {
    VC_KEY("sliding_window",     NULL, U32,  0, sliding_window, 0, 1, 1u << 30),
    VC_KEY("use_sliding_window", NULL, BOOL, 0, use_sliding_window, 0, 0, 1),
    VC_KEY("max_window_layers",  NULL, U32,  0, max_window_layers, 0, 0, 1u << 20),
    { .hf = NULL, .gguf = NULL },
};
static const char *const qwen2_names[] = { "Qwen2ForCausalLM", "Qwen2Model", NULL };
const struct vc_arch vc_arch_qwen2 = {
    .name = "qwen2", .hf_names = qwen2_names, .gguf_name = "qwen2", .flags = VC_ARCH_QKV_BIAS,
    .keys = qwen2_keys, .tensors = tensors, .layer = vc_layer_llama,
};
