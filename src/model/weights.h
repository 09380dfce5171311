/* SPDX-License-Identifier: Apache-2.0
 * weights.h: tensors of a checkpoint bound to their roles and repacked for the kernels.
 * Binding checks names and shapes and decides formats; packing, after the region is allocated, does the work. */
#ifndef VC_MODEL_WEIGHTS_H
#define VC_MODEL_WEIGHTS_H

#include "base/arena.h"
#include "dev/dev.h"
#include "io/tensors.h"
#include "model/config.h"
#include "op/numerics.h"

/* A projection: its panel, its bias, and the core that its format asks for. */
struct vc_linear {
    struct vc_view w, bias;            /* bias.data NULL: none */
    enum vc_arith core;
    uint32_t act_block;                /* iblk: block of the quantized activations, else 0 */
};
/* q, k, v or gate, up: one linear when their formats agree, else one each, writing columns of one stream. */
struct vc_fused { struct vc_linear part[3]; uint32_t n, cols; };

struct vc_layer_weights {
    struct vc_view norm[VC_NUM_ROLES]; /* f32 [1, cols]; data NULL: absent */
    struct vc_fused qkv, gate_up;
    struct vc_linear o, down, router;
    struct vc_view w13, w2;            /* experts */
    enum vc_arith expert_core;
    uint32_t expert_block;
    size_t stride13, stride2;
};
struct vc_weights {
    struct vc_dev *dev;                /* borrowed, as all but the region */
    const struct vc_tensors *tensors;
    const struct vc_config *config;
    const struct vc_numerics *numerics;
    struct vc_arena *arena;
    bool headless;                     /* no output head: the model pools */
    enum vc_dtype cast;                /* plain weights are cast to this, VC_NO_DTYPE: as stored */
    struct vc_layer_weights *layers;
    const struct vc_tensor *embed;     /* read row by row as tokens come: never packed, never resident */
    struct vc_view final_norm;
    struct vc_linear head;
    uint8_t *region;                   /* owned: all panels */
    size_t region_bytes;
    struct pack_plan *plans;           /* arena list */
    uint32_t num_plans;
    uint64_t parameters, tensor_bytes; /* of the tensors in use */
    uint8_t *read;                     /* [tensors]: 1 where a role has it */
};

/* GGUF leaves some facts to the tensors: vocabulary size, tied head, biases. Called before binding. */
vc_status vc_weights_infer(struct vc_config *c, const struct vc_tensors *t, const char *name, vc_err *err);
vc_status vc_weights_bind(struct vc_weights *w, vc_err *err);
/* unread.c: VC_E_UNSUPPORTED naming a tensor of the model that no role has read; binding ends with it. */
vc_status vc_weights_check_unread(const struct vc_weights *w, vc_err *err);
vc_status vc_weights_pack(struct vc_weights *w, void (*progress)(double, const char *, void *), void *arg, vc_err *err);
void vc_weights_free(struct vc_weights *w);

#endif
