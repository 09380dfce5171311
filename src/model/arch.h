/* SPDX-License-Identifier: Apache-2.0
 * arch.h: what a model family is, as tables: config keys, tensor names, and the lines of a layer.
 * A family of known blocks is one file in model/arch/ and a row in archs.def. */
#ifndef VC_MODEL_ARCH_H
#define VC_MODEL_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vc_config;

/* ---- config keys ---- */
enum vc_key_kind { VC_KEY_U32, VC_KEY_F32, VC_KEY_BOOL, VC_KEY_ACT };
enum { VC_KEY_REQUIRED = 1, VC_KEY_REQUIRED_GGUF = 2 };
/* hf: key of config.json, gguf: key after "<arch>."; NULL: not read there. An absent optional key leaves `def`. */
struct vc_key {
    const char *hf, *gguf;
    enum vc_key_kind kind;
    uint32_t flags;
    size_t at;                       /* offset in struct vc_config */
    double def, min, max;
};
#define VC_KEY(hf, gguf, kind, flags, field, def, min, max) { hf, gguf, VC_KEY_##kind, flags, offsetof(struct vc_config, field), def, min, max }

/* ---- tensors ---- */
enum vc_role {
    VC_ROLE_EMBED, VC_ROLE_HEAD, VC_ROLE_FINAL_NORM,                       /* of the model */
    VC_ROLE_INPUT_NORM, VC_ROLE_Q, VC_ROLE_K, VC_ROLE_V, VC_ROLE_O, VC_ROLE_Q_NORM, VC_ROLE_K_NORM,   /* of a layer */
    VC_ROLE_POST_ATTN_NORM, VC_ROLE_PRE_FFN_NORM, VC_ROLE_POST_FFN_NORM,
    VC_ROLE_GATE, VC_ROLE_UP, VC_ROLE_DOWN, VC_ROLE_ROUTER,
    VC_ROLE_EXPERT_GATE, VC_ROLE_EXPERT_UP, VC_ROLE_EXPERT_DOWN,
    VC_NUM_ROLES
};
/* Symbolic sizes, resolved from the config. */
enum vc_sym { VC_SYM_NONE, VC_SYM_VOCAB, VC_SYM_HIDDEN, VC_SYM_Q, VC_SYM_KV, VC_SYM_HEAD_DIM, VC_SYM_INTER, VC_SYM_EXPERTS, VC_SYM_MOE_INTER };
/* When a layer has the tensor, and when it has a bias. */
enum vc_when { VC_WHEN_ALWAYS, VC_WHEN_NEVER, VC_WHEN_UNTIED, VC_WHEN_DENSE, VC_WHEN_MOE, VC_WHEN_QKV_BIAS, VC_WHEN_O_BIAS, VC_WHEN_MLP_BIAS };
/* Names without ".weight"; %u is the layer, in experts of Hugging Face folders a second %u the expert. GGUF keeps the
 * experts of a layer in one tensor. rows NONE: a vector of `cols` values. */
struct vc_tensor_row {
    enum vc_role role;
    const char *hf, *gguf;
    enum vc_sym rows, cols;
    enum vc_when when, bias;
};

/* ---- lines of a layer ---- */
/* Streams of the layer table: X the branch, H the normed stream; the residual is carried by NORM_ADD. */
enum vc_line_stream { VC_X, VC_H };
enum vc_block { VC_BLOCK_END, VC_BLOCK_NORM, VC_BLOCK_NORM_ADD, VC_BLOCK_ATTENTION, VC_BLOCK_FFN };
struct vc_layer_line { enum vc_block block; enum vc_line_stream dst, src; enum vc_role weight; };

/* ---- the family ---- */
enum {
    VC_ARCH_NORM_PLUS_ONE = 1,       /* norm weights are stored as w - 1 in Hugging Face folders (GGUF stores w) */
    VC_ARCH_EMBED_SCALE = 2,         /* embeddings are multiplied by sqrt(hidden_size) */
    VC_ARCH_GGUF_ROPE_PAIRS = 4,     /* GGUF stores q and k rows in the interleaved rotary order */
    VC_ARCH_TIED = 8,                /* tie_word_embeddings when the key is absent */
    VC_ARCH_QKV_BIAS = 16,           /* q, k and v have biases whatever the config says */
    VC_ARCH_WINDOW_ALL = 32,         /* sliding_window, if set, holds on every layer without layer_types */
    VC_ARCH_MOE = 64,
    VC_ARCH_LOCAL_ROPE = 128         /* sliding layers have their own rope parameters */
};
struct vc_arch {
    const char *name;                /* "llama" */
    const char *const *hf_names;     /* class names of "architectures", NULL-terminated */
    const char *gguf_name;           /* general.architecture; NULL: none */
    uint32_t flags;
    uint32_t gguf_act;               /* enum vc_act, which GGUF does not store */
    const struct vc_key *keys;       /* beside the common ones; ended by a row without names */
    const struct vc_tensor_row *tensors;   /* beside the common ones (arch/common.c) or in their place; ended by role VC_NUM_ROLES; NULL: none */
    const struct vc_layer_line *layer;     /* ended by VC_BLOCK_END */
};

extern const struct vc_arch *const vc_archs[];     /* NULL-terminated */
const struct vc_arch *vc_arch_by_hf(const char *class_name);
const struct vc_arch *vc_arch_by_gguf(const char *name, size_t n);
/* The family's row of a role, else the common one; NULL: it has no such tensor. */
const struct vc_tensor_row *vc_arch_row(const struct vc_arch *a, enum vc_role role);

#endif
