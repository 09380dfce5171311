/* SPDX-License-Identifier: Apache-2.0
 * inspect_print.c: the findings of vllmc inspect as text and as JSON. Names from files are shown escaped. */
#include <string.h>

#include "cli/inspect_file.h"
#include "cli/term.h"
#include "io/json_out.h"

void cli_add_bytes(struct vc_buf *b, uint64_t bytes) {
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double v = (double)bytes;
    size_t u = 0;
    while (v >= 1024 && u + 1 < VC_ARRAY_LEN(unit)) {
        v /= 1024;
        u++;
    }
    vc_buf_printf(b, u == 0 ? "%.0f %s" : v < 10 ? "%.2f %s" : "%.1f %s", v, unit[u]);
}

void cli_add_count(struct vc_buf *b, uint64_t n) {
    double v = (double)n;
    if (n >= 1000000000) vc_buf_printf(b, "%.2f B", v / 1e9);
    else if (n >= 1000000) vc_buf_printf(b, "%.1f M", v / 1e6);
    else vc_buf_printf(b, "%llu", (unsigned long long)n);
}

void cli_add_label(struct vc_buf *b, const char *text) {
    vc_buf_printf(b, "%s%-14s%s", cli_style(CLI_BOLD), text, cli_style(CLI_PLAIN));
}

static void add_name(struct vc_buf *b, const char *s, size_t n) {
    char text[400];
    vc_buf_adds(b, vc_printable(text, sizeof text, s, n));
}

static void add_dims(struct vc_buf *b, const struct vc_tensor *t) {
    vc_buf_addc(b, '[');
    for (uint32_t d = 0; d < t->n_dims; d++) vc_buf_printf(b, "%s%llu", d ? ", " : "", (unsigned long long)t->dims[d]);
    vc_buf_addc(b, ']');
}

static void text_shape(const struct cli_shape *s, struct vc_buf *b) {
    const struct { const char *name; uint64_t v; } row[] = {
        { "layers", s->layers },     { "hidden", s->hidden },
        { "heads", s->heads },       { "KV heads", s->kv_heads },
        { "head dim", s->head_dim }, { "intermediate", s->intermediate },
        { "experts", s->experts },   { "experts per token", s->experts_used },
        { "window", s->window },     { "vocabulary", s->vocab },
        { "context", s->context },
    };
    const char *sep = "";
    cli_add_label(b, "shape");
    for (size_t i = 0; i < VC_ARRAY_LEN(row); i++) {
        if (!row[i].v) continue;
        vc_buf_printf(b, "%s%s %llu", sep, row[i].name, (unsigned long long)row[i].v);
        sep = ", ";
    }
    vc_buf_adds(b, *sep ? "\n" : "not stated\n");
}

static void text_types(const struct cli_inspect *x, struct vc_buf *b) {
    cli_add_label(b, "weights");
    cli_add_count(b, x->parameters);
    vc_buf_adds(b, " parameters, ");
    cli_add_bytes(b, x->bytes);
    vc_buf_printf(b, " in %zu tensors", vc_tensors_count(x->tensors));
    if (x->parameters) vc_buf_printf(b, ", %.2f bits each", 8.0 * (double)x->bytes / (double)x->parameters);
    vc_buf_addc(b, '\n');
    for (int t = 0; t < VC_NUM_DTYPES; t++) {
        if (!x->type_tensors[t]) continue;
        vc_buf_printf(b, "%-14s  %-10s", "", vc_dtype_name((enum vc_dtype)t));
        cli_add_bytes(b, x->type_bytes[t]);
        vc_buf_printf(b, " in %llu tensors\n", (unsigned long long)x->type_tensors[t]);
    }
}

static void text_token(const struct vc_tokenizer *t, const char *what, int32_t id, struct vc_buf *b) {
    if (id < 0) return;
    vc_str s = vc_tok_text(t, id);
    vc_buf_printf(b, ", %s %d ", what, id);
    add_name(b, s.p, s.n);
}

static void text_tokenizer(const struct cli_inspect *x, struct vc_buf *b) {
    cli_add_label(b, "tokenizer");
    if (!x->tokenizer) {
        vc_buf_printf(b, "%s\n", x->tokenizer_err.text);
    } else {
        vc_buf_printf(b, "%s, %u tokens", vc_tok_kind(x->tokenizer), vc_tok_size(x->tokenizer));
        text_token(x->tokenizer, "BOS", vc_tok_bos(x->tokenizer), b);
        text_token(x->tokenizer, "EOS", vc_tok_eos(x->tokenizer), b);
        vc_buf_addc(b, '\n');
    }
    const char *chat = x->tokenizer ? vc_tok_chat_template(x->tokenizer) : NULL;
    cli_add_label(b, "chat template");
    if (chat) vc_buf_printf(b, "yes, %zu bytes\n", strlen(chat));
    else vc_buf_adds(b, "none\n");
}

static uint64_t kv_bytes(const struct cli_inspect *x, uint64_t tokens) {
    uint64_t width = x->shape.kv_values * vc_dtype_info(x->kv_dtype)->bytes;
    return width < (UINT64_C(1) << 40) && tokens < (1u << 23) ? width * tokens : 0;
}

static void text_memory(const struct cli_inspect *x, struct vc_buf *b) {
    cli_add_label(b, "memory");
    cli_add_bytes(b, x->bytes);
    vc_buf_adds(b, " weights");
    if (x->shape.kv_values) {
        vc_buf_adds(b, ", KV cache in ");
        vc_buf_printf(b, "%s ", vc_dtype_name(x->kv_dtype));
        cli_add_bytes(b, kv_bytes(x, 1024));
        vc_buf_adds(b, " per 1,024 tokens");
        if (kv_bytes(x, x->shape.context)) {
            vc_buf_adds(b, ", ");
            cli_add_bytes(b, kv_bytes(x, x->shape.context));
            vc_buf_adds(b, " for the whole context");
        }
    }
    vc_buf_addc(b, '\n');
}

static void text_tensors(const struct cli_inspect *x, struct vc_buf *b) {
    vc_buf_addc(b, '\n');
    for (size_t i = 0; i < vc_tensors_count(x->tensors); i++) {
        const struct vc_tensor *t = vc_tensors_at(x->tensors, i);
        size_t before = b->n;
        add_name(b, t->name, strlen(t->name));
        vc_buf_printf(b, "%*s %-9s", b->n - before < 44 ? (int)(44 - (b->n - before)) : 0, "", vc_dtype_name(t->dtype));
        before = b->n;
        add_dims(b, t);
        vc_buf_printf(b, "%*s %12llu bytes at %llu", b->n - before < 22 ? (int)(22 - (b->n - before)) : 0, "",
                      (unsigned long long)t->bytes, (unsigned long long)t->offset);
        if (vc_tensors_num_files(x->tensors) > 1) vc_buf_printf(b, " of file %u", t->file + 1);
        vc_buf_addc(b, '\n');
    }
}

void cli_inspect_text(const struct cli_inspect *x, bool tensors, struct vc_buf *b) {
    cli_add_label(b, "path");
    vc_buf_printf(b, "%s\n", x->path);
    cli_add_label(b, "format");
    if (x->gguf) vc_buf_printf(b, "GGUF version %u", vc_gguf_version(x->gguf));
    else vc_buf_adds(b, "safetensors");
    size_t files = vc_tensors_num_files(x->tensors);
    vc_buf_printf(b, ", %zu file%s\n", files, files == 1 ? "" : "s");
    cli_add_label(b, "architecture");
    if (x->architecture.n) add_name(b, x->architecture.p, x->architecture.n);
    else vc_buf_adds(b, "not stated");
    vc_buf_addc(b, '\n');
    cli_add_label(b, "runs here");
    if (x->config_err.status == VC_OK) vc_buf_adds(b, "yes\n");
    else vc_buf_printf(b, "no: %s\n", x->config_err.text);
    text_shape(&x->shape, b);
    text_types(x, b);
    text_tokenizer(x, b);
    text_memory(x, b);
    if (tensors) text_tensors(x, b);
}

/* ---- JSON ---- */
static void number(struct vc_json_out *w, const char *key, uint64_t v) {
    vc_jo_key(w, key);
    if (v) vc_jo_uint(w, v);
    else vc_jo_null(w);
}

static void json_shape(struct vc_json_out *w, const struct cli_inspect *x) {
    const struct cli_shape *s = &x->shape;
    vc_jo_key(w, "shape");
    vc_jo_begin_obj(w);
    number(w, "num_layers", s->layers);
    number(w, "hidden_size", s->hidden);
    number(w, "num_heads", s->heads);
    number(w, "num_kv_heads", s->kv_heads);
    number(w, "head_dim", s->head_dim);
    number(w, "intermediate_size", s->intermediate);
    number(w, "num_experts", s->experts);
    number(w, "num_experts_per_tok", s->experts_used);
    number(w, "sliding_window", s->window);
    number(w, "vocab_size", s->vocab);
    number(w, "max_position_embeddings", s->context);
    vc_jo_end_obj(w);
}

static void json_tokenizer(struct vc_json_out *w, const struct cli_inspect *x) {
    const struct vc_tokenizer *t = x->tokenizer;
    vc_jo_key(w, "tokenizer");
    if (t) {
        vc_jo_begin_obj(w);
        vc_jo_key(w, "kind");
        vc_jo_str(w, vc_tok_kind(t));
        vc_jo_key(w, "size");
        vc_jo_uint(w, vc_tok_size(t));
        vc_jo_key(w, "bos_token_id");
        vc_jo_int(w, vc_tok_bos(t));
        vc_jo_key(w, "eos_token_id");
        vc_jo_int(w, vc_tok_eos(t));
        vc_jo_end_obj(w);
    } else {
        vc_jo_null(w);
    }
    vc_jo_key(w, "chat_template");
    vc_jo_str(w, t ? vc_tok_chat_template(t) : NULL);
}

static void json_value(struct vc_json_out *w, const struct vc_gguf_value *v) {
    switch (v->type) {
        case VC_GGUF_BOOL: vc_jo_bool(w, v->u != 0); break;
        case VC_GGUF_U8: case VC_GGUF_U16: case VC_GGUF_U32: case VC_GGUF_U64: vc_jo_uint(w, v->u); break;
        case VC_GGUF_I8: case VC_GGUF_I16: case VC_GGUF_I32: case VC_GGUF_I64: vc_jo_int(w, v->i); break;
        case VC_GGUF_F32: vc_jo_f32(w, (float)v->f); break;
        case VC_GGUF_F64: vc_jo_f64(w, v->f); break;
        case VC_GGUF_STRING: vc_jo_strn(w, v->s.p, v->s.n); break;
        case VC_GGUF_ARRAY: case VC_GGUF_NUM_TYPES:
            vc_jo_begin_obj(w);
            vc_jo_key(w, "array_of");
            vc_jo_str(w, vc_gguf_type_name(v->a.of));
            vc_jo_key(w, "length");
            vc_jo_uint(w, v->a.n);
            vc_jo_end_obj(w);
            break;
    }
}

static void json_tensors(struct vc_json_out *w, const struct cli_inspect *x) {
    vc_jo_key(w, "tensors");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < vc_tensors_count(x->tensors); i++) {
        const struct vc_tensor *t = vc_tensors_at(x->tensors, i);
        vc_jo_begin_obj(w);
        vc_jo_key(w, "name");
        vc_jo_str(w, t->name);
        vc_jo_key(w, "dtype");
        vc_jo_str(w, vc_dtype_name(t->dtype));
        vc_jo_key(w, "shape");
        vc_jo_begin_arr(w);
        for (uint32_t d = 0; d < t->n_dims; d++) vc_jo_uint(w, t->dims[d]);
        vc_jo_end_arr(w);
        vc_jo_key(w, "bytes");
        vc_jo_uint(w, t->bytes);
        vc_jo_key(w, "file");
        vc_jo_str(w, vc_tensors_file(x->tensors, t->file));
        vc_jo_key(w, "offset");
        vc_jo_uint(w, t->offset);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

static void json_weights(struct vc_json_out *w, const struct cli_inspect *x) {
    vc_jo_key(w, "parameters");
    vc_jo_uint(w, x->parameters);
    vc_jo_key(w, "weight_bytes");
    vc_jo_uint(w, x->bytes);
    vc_jo_key(w, "quantization");
    vc_jo_begin_obj(w);
    for (int t = 0; t < VC_NUM_DTYPES; t++) {
        if (!x->type_tensors[t]) continue;
        vc_jo_key(w, vc_dtype_name((enum vc_dtype)t));
        vc_jo_begin_obj(w);
        vc_jo_key(w, "tensors");
        vc_jo_uint(w, x->type_tensors[t]);
        vc_jo_key(w, "bytes");
        vc_jo_uint(w, x->type_bytes[t]);
        vc_jo_end_obj(w);
    }
    vc_jo_end_obj(w);
    vc_jo_key(w, "kv_cache_dtype");
    vc_jo_str(w, vc_dtype_name(x->kv_dtype));
    number(w, "kv_bytes_per_1024_tokens", kv_bytes(x, 1024));
}

void cli_inspect_json(const struct cli_inspect *x, bool tensors, struct vc_buf *b) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_PRETTY);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "path");
    vc_jo_str(&w, x->path);
    vc_jo_key(&w, "format");
    vc_jo_str(&w, x->gguf ? "gguf" : "safetensors");
    vc_jo_key(&w, "files");
    vc_jo_uint(&w, vc_tensors_num_files(x->tensors));
    vc_jo_key(&w, "architecture");
    if (x->architecture.n) vc_jo_strn(&w, x->architecture.p, x->architecture.n);
    else vc_jo_null(&w);
    vc_jo_key(&w, "supported");
    vc_jo_bool(&w, x->config_err.status == VC_OK);
    vc_jo_key(&w, "unsupported_because");
    vc_jo_str(&w, x->config_err.status == VC_OK ? NULL : x->config_err.text);
    json_shape(&w, x);
    json_weights(&w, x);
    json_tokenizer(&w, x);
    if (x->gguf) {
        vc_jo_key(&w, "metadata");
        vc_jo_begin_obj(&w);
        for (size_t i = 0; i < vc_gguf_num_kv(x->gguf); i++) {
            vc_jo_key(&w, vc_gguf_key(x->gguf, i));
            json_value(&w, vc_gguf_at(x->gguf, i));
        }
        vc_jo_end_obj(&w);
    }
    if (tensors) json_tensors(&w, x);
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
}
