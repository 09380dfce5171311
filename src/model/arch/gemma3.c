/* SPDX-License-Identifier: Apache-2.0
 * gemma3.c: Gemma 3 (text): norms before and after both branches, norms on q and k, local and global layers with their
 * own rotary bases, scaled embeddings, GELU. */
#include "model/archs.h"
#include "model/config.h"

static const struct vc_tensor_row tensors[] = {
    VC_ROWS_QK_NORM
    { VC_ROLE_POST_ATTN_NORM, "model.layers.%u.post_attention_layernorm",     "blk.%u.post_attention_norm", VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_PRE_FFN_NORM,   "model.layers.%u.pre_feedforward_layernorm",    "blk.%u.ffn_norm",            VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { VC_ROLE_POST_FFN_NORM,  "model.layers.%u.post_feedforward_layernorm",   "blk.%u.post_ffw_norm",       VC_SYM_NONE,   VC_SYM_HIDDEN,   VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    { .role = VC_NUM_ROLES },
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
    VC_KEYS_ATTENTION_BIAS
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
