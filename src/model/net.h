/* SPDX-License-Identifier: Apache-2.0
 * net.h: a model ready to run: config, weights, program, cache. One forward pass per vc_net_run.
 * Owner: the engine thread; config and weights are immutable after opening. */
#ifndef VC_MODEL_NET_H
#define VC_MODEL_NET_H

#include "model/pooler.h"
#include "model/weights.h"
#include "prog/prog.h"

struct vc_net_params {
    const char *path;                      /* GGUF file or Hugging Face folder */
    const char *dtype, *numerics, *kv_dtype;   /* as vc_model_params; NULL = "auto" */
    uint32_t max_model_len;                /* 0: the config's */
    uint32_t max_tokens, max_seqs, max_out;    /* per step */
    uint32_t page_tokens, threads;
    const struct vc_cpu_list *cpus;        /* read while opening; NULL or empty: threads are bound to none */
    struct vc_pooler_wish pooler;
    int strict, no_fuse;
    void (*progress)(double, const char *, void *);
    void *progress_arg;
    /* Called once the file is read and before its weights are, with its key-values (NULL: a folder): whatever else is
     * made from them is made here, so that their pages and the weights are never in memory together. NULL: nothing. */
    vc_status (*opened)(void *arg, const struct vc_gguf *g, vc_err *err);
    void *opened_arg;
};

/* Cosines and sines of one rope set, filled as positions are first met. dynamic: rows depend on the sequence's length. */
struct vc_net_rope {
    uint8_t *table;                        /* [max_model_len][rotary_dim], device memory */
    size_t row_bytes, bytes;
    uint32_t filled;
    bool dynamic;
    uint8_t *step_rows;                    /* dynamic: [max_tokens][rotary_dim] of this step */
    int32_t *rows;                         /* [max_tokens]: row of the table for each token */
};

/* The layers of a model in KV groups: all layers of a group see the same keys (all, or the same window), and each group
 * has at most `places` layers, so that a page of one pool serves any group. */
struct vc_net_groups {
    uint32_t num, places;
    uint32_t *windows;                     /* [num], 0: all keys */
    struct vc_net_place { uint32_t group, place; } *of;    /* [num_layers] */
};

struct vc_net {
    struct vc_arena arena;
    struct vc_gguf *gguf;                  /* owned; NULL for folders */
    struct vc_tensors *tensors;            /* owned */
    struct vc_config config;
    struct vc_pooler pooler;
    struct vc_numerics numerics;
    struct vc_dev *dev;                    /* owned */
    struct vc_weights weights;
    struct vc_prog *prog;                  /* owned */
    struct vc_net_groups groups;
    struct vc_kv_pool kv;
    struct vc_net_rope rope[2];
    float *row_scale;                      /* [max_tokens], NULL: no such op */
    uint8_t *embed_rows;                   /* [max_tokens] rows of the embedding table as stored, of this step; device memory */
    size_t embed_row_bytes, embed_bytes;
    int32_t *iota;                         /* [max_tokens]: 0, 1, 2, … */
    uint32_t max_model_len, max_tokens, max_out, logits;   /* logits: stream id; of a model that pools, hidden states */
    const char *format;                    /* "GGUF", "safetensors" */
};

vc_status vc_net_open(struct vc_net **out, const struct vc_net_params *p, vc_err *err);
void vc_net_close(struct vc_net *n);
/* kv_groups.c */
vc_status vc_net_group_layers(struct vc_net *n, vc_err *err);
/* Pages that one sequence of num_tokens holds at most at a time, computed in steps of up to chunk tokens; and the tokens
 * of the longest sequence, up to max_model_len, that so many pages hold. */
uint64_t vc_net_seq_pages(const struct vc_net *n, uint64_t num_tokens, uint32_t page_tokens, uint32_t chunk);
uint32_t vc_net_kv_tokens(const struct vc_net *n, uint64_t pages, uint32_t page_tokens, uint32_t chunk);

size_t vc_net_page_bytes(const struct vc_net *n, uint32_t page_tokens);    /* of all places */
vc_status vc_net_set_pages(struct vc_net *n, uint32_t pages, uint32_t page_tokens, vc_err *err);
size_t vc_net_workspace(const struct vc_net *n);          /* bytes that a step works in: streams, kernels' scratch, embeddings */
void vc_net_zero_page(struct vc_net *n, uint32_t page);

/* Position of each token, and the length that selects a dynamic rope table (0 elsewhere). */
struct vc_net_step { struct vc_batch batch; const uint32_t *pos, *seq_len; };
/* Runs body and head for the first min(n_out, max_out) output rows; vc_net_head runs the head for others. */
vc_status vc_net_run(struct vc_net *n, struct vc_net_step *s, vc_err *err);
void vc_net_head(struct vc_net *n, const struct vc_net_step *s, uint32_t first, uint32_t count);
/* The output rows: logits, or hidden states where the model pools. */
struct vc_view vc_net_logits(const struct vc_net *n, uint32_t rows);
/* True if positions at or beyond `len` change the rotary tables of all positions (dynamic NTK, longrope): such requests
 * keep away from the prefix cache. */
bool vc_net_rope_varies(const struct vc_net *n, uint32_t len);

/* build.c */
vc_status vc_net_build(struct vc_net *n, uint32_t max_seqs, uint32_t page_tokens, vc_err *err);

#endif
