/* SPDX-License-Identifier: Apache-2.0
 * gemma3.c: Gemma 3 (text): norms before and after both branches, norms on q and k, local and global layers with their
 * own rotary bases, scaled embeddings, GELU. */
#include "model/archs.h"
#include "model/config.h"

static const struct vc_tensor_row tensors[] = {
    { VC_ROLE_EMBED,          "model.embed_tokens",                           "token_embd",                 VC_SYM_VOCAB,  VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_HEAD,           "lm_head",                                      "output",                     VC_SYM_VOCAB,  VC_SYM_HIDDEN,   VC_WHEN_UNTIED, VC_WHEN_NEVER },
    { VC_ROLE_FINAL_NORM,     "model.norm",                                   "output_norm",                VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_INPUT_NORM,     "model.layers.%u.input_layernorm",              "blk.%u.attn_norm",           VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_Q,              "model.layers.%u.self_attn.q_proj",             "blk.%u.attn_q",              VC_SYM_Q,      VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    { VC_ROLE_K,              "model.layers.%u.self_attn.k_proj",             "blk.%u.attn_k",              VC_SYM_KV,     VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    { VC_ROLE_V,              "model.layers.%u.self_attn.v_proj",             "blk.%u.attn_v",              VC_SYM_KV,     VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    { VC_ROLE_O,              "model.layers.%u.self_attn.o_proj",             "blk.%u.attn_output",         VC_SYM_HIDDEN, VC_SYM_Q,        VC_WHEN_ALWAYS, VC_WHEN_O_BIAS },
    { VC_ROLE_Q_NORM,         "model.layers.%u.self_attn.q_norm",             "blk.%u.attn_q_norm",         VC_SYM_NONE,   VC_SYM_HEAD_DIM, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_K_NORM,         "model.layers.%u.self_attn.k_norm",             "blk.%u.attn_k_norm",         VC_SYM_NONE,   VC_SYM_HEAD_DIM, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_POST_ATTN_NORM, "model.layers.%u.post_attention_layernorm",     "blk.%u.post_attention_norm", VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_PRE_FFN_NORM,   "model.layers.%u.pre_feedforward_layernorm",    "blk.%u.ffn_norm",            VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_POST_FFN_NORM,  "model.layers.%u.post_feedforward_layernorm",   "blk.%u.post_ffw_norm",       VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_GATE,           "model.layers.%u.mlp.gate_proj",                "blk.%u.ffn_gate",            VC_SYM_INTER,  VC_SYM_HIDDEN,   VC_WHEN_DENSE,  VC_WHEN_NEVER },
    { VC_ROLE_UP,             "model.layers.%u.mlp.up_proj",                  "blk.%u.ffn_up",              VC_SYM_INTER,  VC_SYM_HIDDEN,   VC_WHEN_DENSE,  VC_WHEN_NEVER },
    { VC_ROLE_DOWN,           "model.layers.%u.mlp.down_proj",                "blk.%u.ffn_down",            VC_SYM_HIDDEN, VC_SYM_INTER,    VC_WHEN_DENSE,  VC_WHEN_NEVER },
    { VC_NUM_ROLES, NULL, NULL, VC_SYM_NONE, VC_SYM_NONE, VC_WHEN_NEVER, VC_WHEN_NEVER },
};

static const struct vc_layer_line layer[] = {
    /* block                dst    src    weight */
    { VC_BLOCK_NORM_ADD,    VC_H,  VC_X,  VC_ROLE_INPUT_NORM },
    { VC_BLOCK_ATTENTION,   VC_X,  VC_H,  VC_NUM_ROLES },
    { VC_BLOCK_NORM,        VC_X,  VC_X,  VC_ROLE_POST_ATTN_NORM },
    { VC_BLOCK_NORM_ADD,    VC_H,  VC_X,  VC_ROLE_PRE_FFN_NORM },
    { VC_BLOCK_FFN,         VC_X,  VC_H,  VC_NUM_ROLES },
    { VC_BLOCK_NORM,        VC_X,  VC_X,  VC_ROLE_POST_FFN_NORM },
    { VC_BLOCK_END,         VC_X,  VC_X,  VC_NUM_ROLES },
};

static const struct vc_key keys[] = {
    VC_KEY("attention_bias",          NULL,                       BOOL, 0, qkv_bias, 0, 0, 1),
    VC_KEY("attention_bias",          NULL,                       BOOL, 0, o_bias, 0, 0, 1),
    VC_KEY("sliding_window",          "attention.sliding_window", U32,  VC_KEY_REQUIRED | VC_KEY_REQUIRED_GGUF, sliding_window, 0, 1, 1u << 30),
    VC_KEY("_sliding_window_pattern|sliding_window_pattern", NULL, U32, 0, window_pattern, 6, 1, 1u << 20),
    VC_KEY("query_pre_attn_scalar",   NULL,                       F32,  VC_KEY_REQUIRED, query_pre_attn_scalar, 0, 1, 1e6),
    VC_KEY("attn_logit_softcapping",  "attn_logit_softcapping",   F32,  0, attn_softcap, 0, 1e-6, 1e6),
    VC_KEY("final_logit_softcapping", "final_logit_softcapping",  F32,  0, final_softcap, 0, 1e-6, 1e6),
    { .hf = NULL, .gguf = NULL },
};
static const char *const names[] = { "Gemma3ForCausalLM", NULL };
const struct vc_arch vc_arch_gemma3 = {
    .name = "gemma3", .hf_names = names, .gguf_name = "gemma3",
    .flags = VC_ARCH_NORM_PLUS_ONE | VC_ARCH_EMBED_SCALE | VC_ARCH_TIED | VC_ARCH_LOCAL_ROPE,
    .gguf_act = VC_ACT_GELU_TANH, .keys = keys, .tensors = tensors, .layer = layer,
};
