/* SPDX-License-Identifier: Apache-2.0
 * common.c: what decoders have in common: the tensors of the roles that every family has, and the layer that most have. A
 * family's table holds only its own rows, beside these or in their place. */
#include "model/archs.h"

static const struct vc_tensor_row common[VC_NUM_ROLES] = {
    /*                         role                    in folders                                 in GGUF              rows           columns        present         bias */
    [VC_ROLE_EMBED]          = { VC_ROLE_EMBED,          "model.embed_tokens",                      "token_embd",        VC_SYM_VOCAB,  VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    [VC_ROLE_HEAD]           = { VC_ROLE_HEAD,           "lm_head",                                 "output",            VC_SYM_VOCAB,  VC_SYM_HIDDEN, VC_WHEN_UNTIED, VC_WHEN_NEVER },
    [VC_ROLE_FINAL_NORM]     = { VC_ROLE_FINAL_NORM,     "model.norm",                              "output_norm",       VC_SYM_NONE,   VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    [VC_ROLE_INPUT_NORM]     = { VC_ROLE_INPUT_NORM,     "model.layers.%u.input_layernorm",         "blk.%u.attn_norm",  VC_SYM_NONE,   VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    [VC_ROLE_Q]              = { VC_ROLE_Q,              "model.layers.%u.self_attn.q_proj",        "blk.%u.attn_q",     VC_SYM_Q,      VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    [VC_ROLE_K]              = { VC_ROLE_K,              "model.layers.%u.self_attn.k_proj",        "blk.%u.attn_k",     VC_SYM_KV,     VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    [VC_ROLE_V]              = { VC_ROLE_V,              "model.layers.%u.self_attn.v_proj",        "blk.%u.attn_v",     VC_SYM_KV,     VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_QKV_BIAS },
    [VC_ROLE_O]              = { VC_ROLE_O,              "model.layers.%u.self_attn.o_proj",        "blk.%u.attn_output", VC_SYM_HIDDEN, VC_SYM_Q,     VC_WHEN_ALWAYS, VC_WHEN_O_BIAS },
    [VC_ROLE_POST_ATTN_NORM] = { VC_ROLE_POST_ATTN_NORM, "model.layers.%u.post_attention_layernorm", "blk.%u.ffn_norm",  VC_SYM_NONE,   VC_SYM_HIDDEN, VC_WHEN_ALWAYS, VC_WHEN_NEVER },
    [VC_ROLE_GATE]           = { VC_ROLE_GATE,           "model.layers.%u.mlp.gate_proj",           "blk.%u.ffn_gate",   VC_SYM_INTER,  VC_SYM_HIDDEN, VC_WHEN_DENSE,  VC_WHEN_MLP_BIAS },
    [VC_ROLE_UP]             = { VC_ROLE_UP,             "model.layers.%u.mlp.up_proj",             "blk.%u.ffn_up",     VC_SYM_INTER,  VC_SYM_HIDDEN, VC_WHEN_DENSE,  VC_WHEN_MLP_BIAS },
    [VC_ROLE_DOWN]           = { VC_ROLE_DOWN,           "model.layers.%u.mlp.down_proj",           "blk.%u.ffn_down",   VC_SYM_HIDDEN, VC_SYM_INTER,  VC_WHEN_DENSE,  VC_WHEN_MLP_BIAS },
};

const struct vc_tensor_row *vc_arch_row(const struct vc_arch *a, enum vc_role role) {
    for (const struct vc_tensor_row *r = a->tensors; r && r->role != VC_NUM_ROLES; r++)
        if (r->role == role) return r;
    return common[role].hf ? &common[role] : NULL;
}

const struct vc_layer_line vc_layer_prenorm[] = {
    /* block                dst    src    weight */
    { VC_BLOCK_NORM_ADD,    VC_H,  VC_X,  VC_ROLE_INPUT_NORM },
    { VC_BLOCK_ATTENTION,   VC_X,  VC_H,  VC_NUM_ROLES },
    { VC_BLOCK_NORM_ADD,    VC_H,  VC_X,  VC_ROLE_POST_ATTN_NORM },
    { VC_BLOCK_FFN,         VC_X,  VC_H,  VC_NUM_ROLES },
    { VC_BLOCK_END,         VC_X,  VC_X,  VC_NUM_ROLES },
};
