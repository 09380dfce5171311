/* SPDX-License-Identifier: Apache-2.0
 * gate_models.c: loads a folder of goldens/models: golden.json, golden.safetensors, vllm_logits.safetensors. */
#include <string.h>

#include "io/json.h"
#include "lab/gate.h"
#include "num/half.h"

static const char *const known_refs[] = { "hf_f64", "hf_f32", "hf_bf16_eager", "vllm_bf16_cc1", "vllm_bf16_cc5" };

/* The reference by name, or the default of the profile; and what follows from it. */
static vc_status choose_ref(struct lab_gate *g, vc_err *err) {
    const char *want = g->args->ref, *num = g->args->numerics;
    if (!want) want = !num || lab_is_vllm(num) ? "vllm_bf16_cc1" : "hf_f64";
    g->ref = NULL;
    for (size_t i = 0; i < VC_ARRAY_LEN(known_refs); i++)
        if (strcmp(want, known_refs[i]) == 0) g->ref = known_refs[i];
    if (!g->ref)
        return vc_fail(err, VC_E_INVALID,
                       "--ref: '%s'; %s has hf_f64, hf_f32, hf_bf16_eager, vllm_bf16_cc1, vllm_bf16_cc5", want,
                       g->path);
    g->ref_is_vllm = lab_is_vllm(g->ref);
    g->dtype = g->ref_is_vllm || strcmp(g->ref, "hf_bf16_eager") == 0 ? "bfloat16" : NULL;
    g->numerics = num ? num : g->ref_is_vllm ? "vllm" : strcmp(g->ref, "hf_bf16_eager") == 0 ? "hf" : "f32";
    return VC_OK;
}

static const json_t *of_ref(const struct lab_gate *g, const char *ref, const char *key, uint32_t i) {
    return json_array_get(json_object_get(json_object_get(json_object_get(g->json[0], "refs"), ref), key), i);
}

/* Tokens of a source after prompt i; NULL where it has none. */
static vc_status tokens_of(struct lab_gate *g, const char *ref, uint32_t i, uint32_t steps, const int32_t **out,
                           vc_err *err) {
    const json_t *a = of_ref(g, ref, "tokens", i);
    *out = NULL;
    if (!a || json_is_null(a)) return VC_OK;
    int32_t *v;
    uint32_t n;
    VC_TRY(lab_ints(g, a, lab_text(g, "refs.%s.tokens[%u]", ref, i), &v, &n, err));
    if (n < steps)
        return vc_fail(err, VC_E_FORMAT, "%s: refs.%s.tokens[%u]: %u tokens, expected %u", g->path, ref, i, n, steps);
    *out = v;
    return VC_OK;
}

/* Two ids at a known distance: {best, 0}, {second, -margin}. */
static vc_status pair_of(struct lab_gate *g, const char *ref, uint32_t i, uint32_t k, struct lab_known *out,
                         vc_err *err) {
    const json_t *ids = json_array_get(of_ref(g, ref, "top2", i), k),
                 *margin = json_array_get(of_ref(g, ref, "margin", i), k);
    if (!ids || !margin) return VC_OK;
    int32_t *id;
    uint32_t n;
    VC_TRY(lab_ints(g, ids, "top2", &id, &n, err));
    struct lab_top *t = VC_NEW_ARRAY(&g->arena, struct lab_top, 2);
    if (!t || n < 2 || !json_is_number(margin))
        return vc_fail(err, VC_E_FORMAT, "%s: refs.%s.top2[%u][%u]: expected two ids and a margin", g->path, ref, i, k);
    t[0] = (struct lab_top){ id[0], 0.0 };
    t[1] = (struct lab_top){ id[1], -json_number_value(margin) };
    *out = (struct lab_known){ .top = t, .num_top = 2, .kind = LAB_MARGIN };
    return VC_OK;
}

static vc_status ref_step(struct lab_gate *g, uint32_t i, uint32_t k, struct lab_known *out, vc_err *err) {
    const char *ref = strcmp(g->ref, "vllm_bf16_cc5") == 0 && !of_ref(g, g->ref, "top5", i) ? "vllm_bf16_cc1" : g->ref;
    const json_t *top5 = json_array_get(of_ref(g, ref, "top5", i), k);
    if (!top5) return pair_of(g, ref, i, k, out, err);
    struct lab_top *t;
    uint32_t n;
    VC_TRY(lab_tops(g, top5, "top5", &t, &n, err));
    *out = (struct lab_known){ .top = t, .num_top = n, .kind = LAB_LOGPROB };
    return VC_OK;
}

static vc_status load_words(struct lab_gate *g, struct lab_seq *s, uint32_t i, vc_err *err) {
    const struct vc_tensors *t = g->tensors[1];
    const char *name = lab_text(g, "logits_p%u", i);
    const struct vc_tensor *x = vc_tensors_find(t, name), *tok = vc_tensors_find(t, "tokens");
    if (!x || x->n_dims != 2 || x->dims[0] < s->num_steps || x->dims[1] != g->vocab ||
        x->bytes != 2 * x->dims[0] * x->dims[1] || !tok || tok->n_dims != 2 || tok->dtype != VC_I32 ||
        tok->dims[0] <= i || tok->dims[1] != s->num_steps)
        return vc_fail(err, VC_E_FORMAT, "%s/vllm_logits.safetensors: expected %s [%u, %u] and tokens", g->path, name,
                       s->num_steps, g->vocab);
    if (memcmp((const char *)tok->data + (size_t)i * s->num_steps * 4, s->tokens, s->num_steps * 4) != 0)
        return VC_OK; /* another text */
    uint16_t *w = vc_arena_alloc(&g->arena, x->bytes, 16);
    if (!w) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    memcpy(w, x->data, x->bytes);
    for (uint32_t k = 0; k < s->num_steps; k++) {
        struct lab_known *r = &s->step[k].ref;
        r->words = w + (size_t)k * g->vocab;
    }
    return VC_OK;
}

static vc_status load_truth(struct lab_gate *g, struct lab_seq *s, uint32_t i, vc_err *err) {
    VC_TRY(tokens_of(g, "hf_f64", i, s->num_steps, &s->truth_tokens, err));
    const json_t *span = json_array_get(json_object_get(g->json[0], "logit_rows"), i);
    if (!s->truth_tokens) return VC_OK;
    uint32_t rows = 0;
    if (span) {
        s->row0 = (uint32_t)json_integer_value(json_array_get(span, 0));
        s->row1 = (uint32_t)json_integer_value(json_array_get(span, 1));
        VC_TRY(lab_f32_tensor(g, g->tensors[0], lab_text(g, "logits.%u", i), &s->rows, &rows, g->vocab, err));
        if (s->row1 < s->row0 || rows != s->row1 - s->row0 || s->row1 > s->num_prompt + s->num_steps - 1)
            return vc_fail(err, VC_E_FORMAT, "%s: logits.%u has %u rows, logit_rows says [%u, %u)", g->path, i, rows,
                           s->row0, s->row1);
    }
    for (uint32_t k = 0; s->tokens && k < s->num_steps; k++) {
        uint32_t pos = s->num_prompt - 1 + k;
        if (pos >= s->row0 && pos < s->row1) s->step[k].truth.row = s->rows + (size_t)(pos - s->row0) * g->vocab;
        VC_TRY(pair_of(g, "hf_f64", i, k, &s->step[k].pair, err));
        if (s->tokens[k] != s->truth_tokens[k]) break; /* other contexts from here on */
    }
    return VC_OK;
}

static vc_status load_seq(struct lab_gate *g, uint32_t i, uint32_t steps, vc_err *err) {
    struct lab_seq *s = &g->seq[i];
    int32_t *prompt;
    VC_TRY(lab_ints(g, json_array_get(json_object_get(g->json[0], "prompts"), i), lab_text(g, "prompts[%u]", i),
                    &prompt, &s->num_prompt, err));
    if (!s->num_prompt) return vc_fail(err, VC_E_FORMAT, "%s: prompts[%u] is empty", g->path, i);
    s->prompt = prompt;
    s->num_steps = steps;
    s->name = lab_text(g, "prompt %u", i);
    s->step = VC_NEW_ARRAY(&g->arena, struct lab_step, steps);
    if (!s->step) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    VC_TRY(tokens_of(g, g->ref, i, steps, &s->tokens, err));
    VC_TRY(load_truth(g, s, i, err));
    if (!s->tokens) return VC_OK;
    VC_TRY(lab_member(g, s, s->tokens, err));
    if (g->ref_is_vllm)
        for (int c = 0; c < 2; c++) {
            const int32_t *t;
            VC_TRY(tokens_of(g, c ? "vllm_bf16_cc5" : "vllm_bf16_cc1", i, steps, &t, err));
            if (t) VC_TRY(lab_member(g, s, t, err));
        }
    for (uint32_t k = 0; k < steps; k++) VC_TRY(ref_step(g, i, k, &s->step[k].ref, err));
    return g->tensors[1] ? load_words(g, s, i, err) : VC_OK;
}

/* rms error of vLLM's reported log-probabilities where its context is the truth's and the truth's row is kept. */
static vc_status measure_vllm(struct lab_gate *g, vc_err *err) {
    struct lab_error e = { 0 };
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        const int32_t *tokens;
        VC_TRY(tokens_of(g, "vllm_bf16_cc1", i, s->num_steps, &tokens, err));
        for (uint32_t k = 0; tokens && s->truth_tokens && k < s->num_steps; k++) {
            uint32_t pos = s->num_prompt - 1 + k, n = 0;
            const json_t *a = json_array_get(of_ref(g, "vllm_bf16_cc1", "top5", i), k);
            struct lab_top *t;
            if (a && pos >= s->row0 && pos < s->row1) {
                const float *row = s->rows + (size_t)(pos - s->row0) * g->vocab;
                VC_TRY(lab_tops(g, a, "top5", &t, &n, err));
                double z = lab_logsumexp(row, g->vocab);
                for (uint32_t j = 0; j < n; j++) lab_error_add(&e, t[j].value - ((double)row[t[j].id] - z));
            }
            if (tokens[k] != s->truth_tokens[k]) break;
        }
    }
    g->vllm_rms = lab_error_rms(&e);
    return VC_OK;
}

vc_status lab_load_models(struct lab_gate *g, vc_err *err) {
    uint32_t steps;
    json_t *prompts;
    g->kind = LAB_MODELS;
    g->model = g->path;
    VC_TRY(choose_ref(g, err));
    VC_TRY(lab_file(g, 0, "golden.json", err));
    VC_TRY(lab_file(g, 1, "config.json", err));
    VC_TRY(vc_json_u32(g->json[1], "vocab_size", &g->vocab, err));
    VC_TRY(vc_json_u32(g->json[0], "new_tokens", &steps, err));
    VC_TRY(vc_json_arr(g->json[0], "prompts", &prompts, err));
    if (steps < 1 || steps > 4096 || json_array_size(prompts) > 1000)
        return vc_fail(err, VC_E_FORMAT, "%s/golden.json: new_tokens %u or the prompts are out of range", g->path,
                       steps);
    vc_str arch = VC_STR("?");
    VC_TRY(vc_json_opt_str(g->json[0], "architecture", &arch, err));
    g->title = lab_text(g, "%.*s", (int)arch.n, arch.p);
    const json_t *ref = vc_json_at(g->json[0], lab_text(g, "refs.%s", g->ref));
    if (!ref || json_is_null(ref))
        return vc_fail(err, VC_E_NOT_FOUND, "%s/golden.json: refs.%s is not there", g->path, g->ref);
    if (!json_is_array(json_object_get(ref, "tokens")))
        return vc_fail(err, VC_E_UNSUPPORTED, "%s/golden.json: refs.%s holds no tokens (an embedding model)", g->path,
                       g->ref);
    VC_TRY(vc_json_opt_f64(g->json[0], "checks.f32_vs_f64_max_abs", &g->f32_bound, err));
    g->moe = json_object_get(g->json[1], "num_local_experts") || json_object_get(g->json[1], "num_experts");
    VC_TRY(vc_tensors_open_safetensors(&g->tensors[0], lab_text(g, "%s/golden.safetensors", g->path), err));
    vc_err none = VC_ERR_INIT;
    if (g->ref_is_vllm)
        (void)vc_tensors_open_safetensors(&g->tensors[1], lab_text(g, "%s/vllm_logits.safetensors", g->path), &none);
    g->num_seqs = (uint32_t)json_array_size(prompts);
    g->seq = VC_NEW_ARRAY(&g->arena, struct lab_seq, g->num_seqs + 1);
    if (!g->seq) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (uint32_t i = 0; i < g->num_seqs; i++) VC_TRY(load_seq(g, i, steps, err));
    static const uint32_t at[] = { 1, 5 };
    memcpy(g->concurrency, at, sizeof at);
    g->num_concurrency = 2;
    return measure_vllm(g, err);
}
