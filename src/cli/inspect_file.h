/* SPDX-License-Identifier: Apache-2.0
 * inspect_file.h: what can be told about a model file or folder without running it, known architecture or not. */
#ifndef VC_CLI_INSPECT_FILE_H
#define VC_CLI_INSPECT_FILE_H

#include "cli/cli.h"
#include "io/gguf.h"
#include "io/json.h"
#include "io/tensors.h"
#include "text/tokenizer.h"

/* Sizes by name as the file states them; 0: not stated. */
struct cli_shape {
    uint64_t layers, hidden, heads, kv_heads, head_dim, intermediate, vocab, context, experts, experts_used, window;
    uint64_t kv_values;                /* values of K and V per token over all layers; 0: unknown */
};

struct cli_inspect {
    const char *path;
    struct vc_gguf *gguf;              /* owned; NULL: safetensors */
    struct vc_tensors *tensors;        /* owned */
    json_t *config;                    /* owned; config.json of a folder, or NULL */
    struct vc_tokenizer *tokenizer;    /* owned, or NULL: tokenizer_err says why */
    vc_err tokenizer_err, config_err;  /* config_err: why the program cannot run it; VC_OK: it can */
    struct vc_buf architecture;        /* as the file names it; empty: nowhere */
    struct cli_shape shape;
    uint64_t parameters, bytes, type_bytes[VC_NUM_DTYPES], type_tensors[VC_NUM_DTYPES];
    enum vc_dtype kv_dtype;            /* that a run would use by default */
    bool is_folder;
};

vc_status cli_inspect_open(struct cli_inspect *x, const char *path, vc_err *err);
void cli_inspect_close(struct cli_inspect *x);

/* inspect_print.c */
void cli_inspect_text(const struct cli_inspect *x, bool tensors, struct vc_buf *b);
void cli_inspect_json(const struct cli_inspect *x, bool tensors, struct vc_buf *b);

/* "1.50 GiB", "512 B"; "134.5 M" */
void cli_add_bytes(struct vc_buf *b, uint64_t bytes);
void cli_add_label(struct vc_buf *b, const char *text);    /* bold, as wide as the others */
void cli_add_count(struct vc_buf *b, uint64_t n);

#endif
