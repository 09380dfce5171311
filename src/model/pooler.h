/* SPDX-License-Identifier: Apache-2.0
 * pooler.h: whether a model generates text or makes embeddings, and how it makes them of its hidden states: vLLM's --runner,
 * --convert and --pooler-config over what the files say. Immutable after opening. */
#ifndef VC_MODEL_POOLER_H
#define VC_MODEL_POOLER_H

#include "model/config.h"

/* Which hidden states (after the final norm) become the vector: of the last token, of the first, or the mean of all. */
enum vc_pool_type { VC_POOL_LAST, VC_POOL_CLS, VC_POOL_MEAN, VC_NUM_POOL_TYPES };
const char *vc_pool_type_name(enum vc_pool_type t);      /* "LAST", … */

struct vc_pooler {
    bool on;                               /* the model pools; it has no output head then */
    enum vc_pool_type type;
    bool use_activation;                   /* vectors get length 1 unless a request says otherwise */
    bool matryoshka;                       /* requests may ask for fewer dimensions */
    uint32_t *dims; uint32_t num_dims;     /* those that they may ask for, arena; none: all up to hidden_size */
    uint32_t dimensions;                   /* without a wish; 0: hidden_size */
    uint32_t max_embed_len;                /* longest prompt; 0: max_model_len */
};

/* As given by the user; NULL or "auto": the model's own. pooler_config: a JSON object. */
struct vc_pooler_wish { const char *runner, *convert, *pooler_config; };
/* What the files say. */
struct vc_pooler_hints {
    bool sentence;                         /* modules.json names a Pooling module */
    bool normalize;                        /* … and a Normalize module */
    bool has_type; enum vc_pool_type type;
    bool gguf;                             /* pooling_type of GGUF says that it pools */
    bool matryoshka;
    const char *class_name;                /* of config.json, arena; NULL: GGUF */
    uint32_t *dims; uint32_t num_dims;
};

/* path: the folder; root: its config.json. Attention that looks ahead, or a module that is not built, is an error by
 * name. */
vc_status vc_pooler_read_folder(struct vc_pooler_hints *h, struct vc_arena *a, const char *path, const json_t *root,
                                const char *name, vc_err *err);
vc_status vc_pooler_read_gguf(struct vc_pooler_hints *h, const struct vc_gguf *g, const struct vc_config *c,
                              vc_err *err);
vc_status vc_pooler_choose(struct vc_pooler *p, const struct vc_pooler_hints *h, const struct vc_pooler_wish *w,
                           const struct vc_config *c, vc_err *err);
/* Dimensions of a request's vector, or vLLM's reason why it cannot have them. wish 0: the default. */
vc_status vc_pooler_dimensions(const struct vc_pooler *p, const struct vc_config *c, uint32_t wish, uint32_t *out,
                               vc_err *err);

#endif
