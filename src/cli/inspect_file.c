/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inspect_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ckd.h"
#include "base/status.h"
#include "model/config.h"

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

/* path/name, or name beside the file. */
static void beside(const struct cli_inspect *x, const char *name, char *dst, size_t cap) {
    const char *slash = strrchr(x->path, '/');
    if (x->is_folder) snprintf(dst, cap, "%s/%s", x->path, name);
    else snprintf(dst, cap, "%.*s%s", (int)(slash ? slash - x->path + 1 : 0), x->path, name);
}

/* ---- sizes from GGUF ---- */

/* "<architecture>.SUFFIX"; an array counts by its largest element, and its sum is of interest for kv heads. */
static uint64_t gguf_number(const struct cli_inspect *x, const char *suffix, uint64_t *sum) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", x->architecture.p ? x->architecture.p : "", suffix);
    const struct vc_gguf_value *v = vc_gguf_find(x->gguf, key);
    if (sum) *sum = 0;
    if (!v) return 0;
    switch (v->type) {
        case VC_GGUF_U8: case VC_GGUF_U16: case VC_GGUF_U32: case VC_GGUF_U64: return v->u;
        case VC_GGUF_I8: case VC_GGUF_I16: case VC_GGUF_I32: case VC_GGUF_I64: return v->i > 0 ? (uint64_t)v->i : 0;
        case VC_GGUF_ARRAY: break;
        case VC_GGUF_F32: case VC_GGUF_F64: case VC_GGUF_BOOL: case VC_GGUF_STRING: case VC_GGUF_NUM_TYPES: return 0;
    }
    uint64_t most = 0;
    if (v->a.of == VC_GGUF_STRING || v->a.of == VC_GGUF_F32 || v->a.of == VC_GGUF_F64) return 0;
    for (size_t i = 0; i < v->a.n; i++) {
        int64_t e = vc_gguf_elem_int(v, i);
        if (e <= 0) continue;
        if ((uint64_t)e > most) most = (uint64_t)e;
        if (sum && vc_ckd_add(sum, *sum, (uint64_t)e)) *sum = UINT64_MAX / 2;
    }
    return most;
}

static void shape_from_gguf(struct cli_inspect *x) {
    struct cli_shape *s = &x->shape;
    uint64_t sum, key, value;
    s->layers = gguf_number(x, "block_count", NULL);
    s->hidden = gguf_number(x, "embedding_length", NULL);
    s->intermediate = gguf_number(x, "feed_forward_length", NULL);
    s->heads = gguf_number(x, "attention.head_count", NULL);
    s->kv_heads = gguf_number(x, "attention.head_count_kv", &sum);
    s->context = gguf_number(x, "context_length", NULL);
    s->experts = gguf_number(x, "expert_count", NULL);
    s->experts_used = gguf_number(x, "expert_used_count", NULL);
    s->window = gguf_number(x, "attention.sliding_window", NULL);
    s->vocab = gguf_number(x, "vocab_size", NULL);
    if (!s->kv_heads) s->kv_heads = s->heads;
    key = gguf_number(x, "attention.key_length", NULL);
    value = gguf_number(x, "attention.value_length", NULL);
    if (!key && s->heads) key = s->hidden / s->heads;
    s->head_dim = key;
    if (!value) value = key;
    const struct vc_gguf_value *tokens = vc_gguf_find(x->gguf, "tokenizer.ggml.tokens");
    if (!s->vocab && tokens && tokens->type == VC_GGUF_ARRAY) s->vocab = tokens->a.n;
    uint64_t heads, width;
    if (sum) heads = sum;
    else if (vc_ckd_mul(&heads, s->kv_heads, s->layers)) return;
    if (!vc_ckd_add(&width, key, value) && !vc_ckd_mul(&width, width, heads)) s->kv_values = width;
}

/* ---- sizes from config.json; those of a multimodal model lie under text_config ---- */
static uint64_t json_number(const json_t *root, const char *const *names) {
    const json_t *text = json_object_get(root, "text_config");
    for (; *names; names++) {
        const json_t *v = json_object_get(root, *names);
        if (!json_is_integer(v)) v = json_object_get(text, *names);
        if (json_is_integer(v) && json_integer_value(v) > 0) return (uint64_t)json_integer_value(v);
    }
    return 0;
}
#define NUMBER(root, ...) json_number(root, (const char *const[]){ __VA_ARGS__, NULL })

static void shape_from_json(struct cli_inspect *x) {
    struct cli_shape *s = &x->shape;
    const json_t *c = x->config;
    s->layers = NUMBER(c, "num_hidden_layers", "n_layer", "num_layers", "n_layers");
    s->hidden = NUMBER(c, "hidden_size", "n_embd", "d_model");
    s->intermediate = NUMBER(c, "intermediate_size", "n_inner", "ffn_hidden_size");
    s->heads = NUMBER(c, "num_attention_heads", "n_head", "n_heads");
    s->kv_heads = NUMBER(c, "num_key_value_heads");
    s->vocab = NUMBER(c, "vocab_size");
    s->context = NUMBER(c, "max_position_embeddings", "n_positions", "max_seq_len");
    s->experts = NUMBER(c, "num_experts", "num_local_experts", "n_routed_experts");
    s->experts_used = s->experts ? NUMBER(c, "num_experts_per_tok") : 0;
    s->window = NUMBER(c, "sliding_window");
    if (!s->kv_heads) s->kv_heads = s->heads;
    s->head_dim = NUMBER(c, "head_dim");
    if (!s->head_dim && s->heads) s->head_dim = s->hidden / s->heads;
    uint64_t n;
    if (!vc_ckd_mul(&n, s->kv_heads, s->layers) && !vc_ckd_mul(&n, n, s->head_dim) && !vc_ckd_mul(&n, n, 2))
        s->kv_values = n;
    const json_t *name = json_array_get(json_object_get(c, "architectures"), 0);
    if (!json_is_string(name)) name = json_object_get(c, "model_type");
    if (json_is_string(name)) vc_buf_add(&x->architecture, json_string_value(name), json_string_length(name));
}

/* Can this program run it? */
static void check_config(struct cli_inspect *x, const char *config_path) {
    struct vc_arena a = { 0 };
    struct vc_config c;
    vc_status s = x->gguf ? vc_config_from_gguf(&c, &a, x->gguf, &x->config_err)
                          : vc_config_from_json(&c, &a, x->config, config_path, &x->config_err);
    if (s == VC_OK) {
        x->config_err.status = VC_OK;
        x->shape.head_dim = c.head_dim;
        x->shape.kv_values = (uint64_t)2 * c.num_kv_heads * c.head_dim * c.num_layers;
        if (!x->gguf && c.dtype == VC_F16) x->kv_dtype = VC_F16;
    }
    vc_arena_free(&a);
}

static void count_tensors(struct cli_inspect *x) {
    for (size_t i = 0; i < vc_tensors_count(x->tensors); i++) {
        const struct vc_tensor *t = vc_tensors_at(x->tensors, i);
        x->parameters += vc_tensor_elems(t);
        x->bytes += t->bytes;
        x->type_bytes[t->dtype] += t->bytes;
        x->type_tensors[t->dtype]++;
    }
}

static vc_status open_gguf(struct cli_inspect *x, vc_err *err) {
    VC_TRY(vc_gguf_open(&x->gguf, x->path, err));
    VC_TRY(vc_tensors_open_gguf(&x->tensors, x->gguf, err));
    const struct vc_gguf_value *v = vc_gguf_find(x->gguf, "general.architecture");
    if (v && v->type == VC_GGUF_STRING && v->s.n < 100) vc_buf_add(&x->architecture, v->s.p, v->s.n);
    x->kv_dtype = VC_F16;
    shape_from_gguf(x);
    check_config(x, NULL);
    if (vc_gguf_find(x->gguf, "tokenizer.ggml.model"))
        (void)vc_tokenizer_from_gguf(&x->tokenizer, x->gguf, &x->tokenizer_err);
    else vc_fail(&x->tokenizer_err, VC_E_NOT_FOUND, "none");
    return VC_OK;
}

static vc_status open_safetensors(struct cli_inspect *x, vc_err *err) {
    char path[4096];
    VC_TRY(vc_tensors_open_safetensors(&x->tensors, x->path, err));
    x->kv_dtype = VC_BF16;
    beside(x, "config.json", path, sizeof path);
    if (exists(path)) {
        if (vc_json_load(&x->config, path, &x->config_err) == VC_OK) {
            shape_from_json(x);
            check_config(x, path);
        }
    } else {
        vc_fail(&x->config_err, VC_E_NOT_FOUND, "there is no config.json beside the tensors");
    }
    struct vc_buf file = { 0 };
    beside(x, ".", path, sizeof path);
    if (vc_tokenizer_find(path, &file)) (void)vc_tokenizer_open(&x->tokenizer, file.p, &x->tokenizer_err);
    else vc_fail(&x->tokenizer_err, VC_E_NOT_FOUND, "none");
    vc_buf_free(&file);
    return VC_OK;
}

vc_status cli_inspect_open(struct cli_inspect *x, const char *path, vc_err *err) {
    *x = (struct cli_inspect){ .path = path };
    struct stat st;
    x->is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    VC_TRY(x->is_folder || vc_str_ends(vc_str_of(path), ".safetensors") ? open_safetensors(x, err) : open_gguf(x, err));
    count_tensors(x);
    return x->architecture.failed ? vc_fail(err, VC_E_NOMEM, "out of memory") : VC_OK;
}

void cli_inspect_close(struct cli_inspect *x) {
    vc_tokenizer_close(x->tokenizer);
    vc_tensors_close(x->tensors);
    vc_gguf_close(x->gguf);
    json_decref(x->config);
    vc_buf_free(&x->architecture);
}
