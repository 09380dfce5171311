/* SPDX-License-Identifier: Apache-2.0
 * archs.h: the families of archs.def, and rows that several of them have: tensors, keys, layers. */
#ifndef VC_MODEL_ARCHS_H
#define VC_MODEL_ARCHS_H

#include "model/arch.h"

#define VC_ARCH(id) extern const struct vc_arch vc_arch_##id;
#include "model/archs.def"
#undef VC_ARCH

extern const struct vc_layer_line vc_layer_prenorm[];    /* one norm before each branch */

/* Norms on each head of q and k. */
#define VC_ROWS_QK_NORM \
    { VC_ROLE_Q_NORM, "model.layers.%u.self_attn.q_norm", "blk.%u.attn_q_norm", VC_SYM_NONE, VC_SYM_HEAD_DIM, VC_WHEN_ALWAYS, VC_WHEN_NEVER }, \
    { VC_ROLE_K_NORM, "model.layers.%u.self_attn.k_norm", "blk.%u.attn_k_norm", VC_SYM_NONE, VC_SYM_HEAD_DIM, VC_WHEN_ALWAYS, VC_WHEN_NEVER },

/* One key for the biases of q, k, v and o. */
#define VC_KEYS_ATTENTION_BIAS \
    VC_KEY("attention_bias", NULL, BOOL, 0, qkv_bias, 0, 0, 1), \
    VC_KEY("attention_bias", NULL, BOOL, 0, o_bias, 0, 0, 1),

/* A window that has a switch. */
#define VC_KEYS_SWITCHED_WINDOW \
    VC_KEY("sliding_window", NULL, U32, 0, sliding_window, 0, 1, 1u << 30), \
    VC_KEY("use_sliding_window", NULL, BOOL, 0, use_sliding_window, 0, 0, 1),

#endif
