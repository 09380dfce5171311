/* SPDX-License-Identifier: Apache-2.0
 * gate_gguf.c: loads one model of goldens/gguf-quants: logits of every prompt position, exact (f64 on the dequantized
 * weights) and llama.cpp's distance from them. */
#include <string.h>

#include "io/json.h"
#include "lab/gate.h"

uint32_t lab_quants_entries(const json_t *root, const char *only, const char **names, uint32_t cap) {
    const char *key;
    json_t *m;
    uint32_t n = 0;
    json_object_foreach(json_object_get((json_t *)(uintptr_t)root, "models"), key, m) {
        const char *file = json_string_value(json_object_get(m, "file"));
        if (file && n < cap &&
            (!only || strcmp(only, key) == 0 || vc_str_ends(vc_str_of(only), file) ||
             vc_str_ends(vc_str_of(file), only)))
            names[n++] = key;
    }
    return n;
}

static int32_t argmax(const float *row, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (row[i] > row[best]) best = i;
    return (int32_t)best;
}

static vc_status load_seq(struct lab_gate *g, const char *entry, vc_err *err) {
    struct lab_seq *s = &g->seq[0];
    int32_t *ids, *last = VC_NEW_ARRAY(&g->arena, int32_t, 1);
    uint32_t rows;
    const struct vc_tensor *x = vc_tensors_find(g->tensors[0], lab_text(g, "%s.exact", entry));
    if (!x || x->n_dims != 2 || x->dims[1] < 1 || x->dims[1] > 1u << 20)
        return vc_fail(err, VC_E_FORMAT, "%s/logits.safetensors: tensor %s.exact is missing or not a matrix", g->path,
                       entry);
    g->vocab = (uint32_t)x->dims[1];
    VC_TRY(lab_f32_tensor(g, g->tensors[0], lab_text(g, "%s.exact", entry), &s->rows, &rows, g->vocab, err));
    VC_TRY(lab_ints(g, json_object_get(g->json[0], "ids"), "ids", &ids, &s->num_prompt, err));
    s->step = VC_NEW_ARRAY(&g->arena, struct lab_step, 1);
    if (!s->step || !last) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    if (rows != s->num_prompt)
        return vc_fail(err, VC_E_FORMAT, "%s: %s.exact has %u rows for %u ids", g->path, entry, rows, s->num_prompt);
    s->name = "the prompt";
    s->prompt = ids;
    s->num_steps = 1;
    s->row1 = rows;
    *last = argmax(s->rows + (size_t)(rows - 1) * g->vocab, g->vocab);
    s->tokens = s->truth_tokens = last;
    s->step[0].truth.row = s->rows + (size_t)(rows - 1) * g->vocab;
    return lab_member(g, s, last, err);
}

vc_status lab_load_quants(struct lab_gate *g, const char *entry, vc_err *err) {
    g->kind = LAB_QUANTS;
    g->ref = "exact";
    g->title = entry ? entry : "?";
    if (g->args->ref && strcmp(g->args->ref, "exact") != 0)
        return vc_fail(err, VC_E_INVALID, "--ref: '%s'; %s has exact", g->args->ref, g->path);
    /* As the reference ran: an f32 cache, and llama.cpp keeps the scales of activations in f16. */
    g->numerics = g->args->numerics ? g->args->numerics : "gguf,kv=f32,quant.scale=f16";
    VC_TRY(lab_file(g, 0, "models.json", err));
    const json_t *m = json_object_get(json_object_get(g->json[0], "models"), g->title);
    const char *file = json_string_value(json_object_get(m, "file"));
    if (!entry || !file)
        return vc_fail(err, VC_E_NOT_FOUND, "%s/models.json: no model %s with a file", g->path, g->title);
    g->model = lab_text(g, "%s/%s", g->path, file);
    g->peer_max = json_number_value(json_object_get(m, "max_abs_llama_cpp_vs_exact"));
    VC_TRY(vc_tensors_open_safetensors(&g->tensors[0], lab_text(g, "%s/logits.safetensors", g->path), err));
    g->seq = VC_NEW_ARRAY(&g->arena, struct lab_seq, 1);
    if (!g->seq) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    g->num_seqs = 1;
    g->concurrency[0] = 1;
    g->num_concurrency = 1;
    return load_seq(g, entry, err);
}
