/* SPDX-License-Identifier: Apache-2.0
 * gate_real.c: loads goldens/real-models: greedy.json (llama.cpp on two GGUF files) and vllm.json (vLLM on the bf16
 * folder of SmolLM2). The weights come from --model and are recognised by their sha256. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/evp.h>

#include "io/json.h"
#include "io/map.h"
#include "lab/gate.h"
#include "num/half.h"

static vc_status file_sha256(struct lab_gate *g, const char *path, const char **hex, vc_err *err) {
    struct vc_map map = { 0 };
    unsigned char d[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1];
    unsigned n = 0;
    VC_TRY(vc_map_open(&map, path, err));
    int ok = EVP_Digest(map.p, map.n, d, &n, EVP_sha256(), NULL);
    vc_map_close(&map);
    if (!ok || n != 32) return vc_fail(err, VC_E_IO, "%s: its sha256 could not be computed", path);
    for (unsigned i = 0; i < n; i++) snprintf(text + 2 * i, 3, "%02x", d[i]);
    *hex = lab_text(g, "%s", text);
    return VC_OK;
}

static vc_status need_model(struct lab_gate *g, const char *what, vc_err *err) {
    if (!g->args->model)
        return vc_fail(err, VC_E_INVALID, "%s: the file holds no weights; --model names %s", g->path, what);
    g->model = g->args->model;
    return VC_OK;
}

/* The largest id that a file mentions bounds its vocabulary; the engine checks prompts against the model's own. */
enum { MAX_VOCAB = 1 << 24 };

static vc_status greedy_seq(struct lab_gate *g, const json_t *run, struct lab_seq *s, vc_err *err) {
    int32_t *prompt, *ids;
    vc_str text = VC_STR("");
    VC_TRY(vc_json_opt_str(run, "text", &text, err));
    s->name = lab_text(g, "\"%.*s\"", (int)VC_MIN(text.n, (size_t)40), text.p);
    VC_TRY(lab_ints(g, json_object_get(run, "prompt_ids"), "prompt_ids", &prompt, &s->num_prompt, err));
    VC_TRY(lab_ints(g, json_object_get(run, "ids"), "ids", &ids, &s->num_steps, err));
    s->prompt = prompt;
    s->tokens = ids;
    s->step = VC_NEW_ARRAY(&g->arena, struct lab_step, s->num_steps + 1);
    const json_t *top2 = json_object_get(run, "top2");
    if (!s->step || !s->num_prompt || !s->num_steps || json_array_size(top2) != s->num_steps)
        return vc_fail(err, VC_E_FORMAT, "%s: %s: expected a prompt, ids, and top2 for each of them", g->path, s->name);
    for (uint32_t k = 0; k < s->num_steps; k++) {
        const json_t *t = json_array_get(top2, k); /* best id, second id, best logit, second logit */
        struct lab_top *v = VC_NEW_ARRAY(&g->arena, struct lab_top, 2);
        if (!v || json_array_size(t) != 4)
            return vc_fail(err, VC_E_FORMAT, "%s: %s: top2[%u]: expected two ids and two logits", g->path, s->name, k);
        for (size_t j = 0; j < 2; j++) {
            v[j].id = (int32_t)json_integer_value(json_array_get(t, j));
            v[j].value = json_number_value(json_array_get(t, j + 2));
            if (v[j].id < 0 || v[j].id >= MAX_VOCAB)
                return vc_fail(err, VC_E_FORMAT, "%s: %s: top2[%u]: id out of range", g->path, s->name, k);
        }
        s->step[k].ref = (struct lab_known){ .top = v, .num_top = 2, .kind = LAB_LOGIT };
    }
    return lab_member(g, s, s->tokens, err);
}

vc_status lab_load_greedy(struct lab_gate *g, vc_err *err) {
    json_t *models, *m, *runs = NULL;
    const char *sha;
    char known[256] = "";
    size_t i;
    g->kind = LAB_GREEDY;
    g->ref = "llama.cpp";
    g->numerics = g->args->numerics ? g->args->numerics : "gguf,kv=f32";     /* the reference ran with an f32 cache */
    g->vocab = MAX_VOCAB;
    VC_TRY(vc_json_arr(g->json[0], "models", &models, err));
    json_array_foreach(models, i, m) {
        const char *name = json_string_value(json_object_get(m, "name"));
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", at ? " or " : "", name ? name : "?");
    }
    VC_TRY(need_model(g, known, err));
    VC_TRY(file_sha256(g, g->model, &sha, err));
    json_array_foreach(models, i, m) {
        const char *s = json_string_value(json_object_get(m, "sha256")),
                   *name = json_string_value(json_object_get(m, "name"));
        if (!s || strcmp(s, sha) != 0) continue;
        runs = json_object_get(m, "runs");
        g->title = name ? name : "?";
    }
    size_t n = json_array_size(runs);
    if (!runs || n < 1 || n > 1000)
        return vc_fail(err, VC_E_NOT_FOUND, "%s: --model %s has sha256 %s, which is none of %s", g->path, g->model, sha,
                       known);
    g->num_seqs = (uint32_t)n;
    g->seq = VC_NEW_ARRAY(&g->arena, struct lab_seq, n);
    if (!g->seq) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (i = 0; i < n; i++) VC_TRY(greedy_seq(g, json_array_get(runs, i), &g->seq[i], err));
    g->concurrency[0] = 8;
    g->num_concurrency = 1;
    return VC_OK;
}

static vc_status vllm_seq(struct lab_gate *g, uint32_t i, struct lab_seq *s, vc_err *err) {
    const json_t *run = json_array_get(json_object_get(g->json[0], g->ref), i), *steps = json_object_get(run, "steps");
    int32_t *prompt, *tokens;
    s->name = lab_text(g, "prompt %u", i);
    VC_TRY(lab_ints(g, json_array_get(json_object_get(g->json[0], "prompts"), i), "prompts", &prompt, &s->num_prompt,
                    err));
    VC_TRY(lab_ints(g, json_object_get(run, "tokens"), "tokens", &tokens, &s->num_steps, err));
    s->prompt = prompt;
    s->tokens = tokens;
    s->step = VC_NEW_ARRAY(&g->arena, struct lab_step, s->num_steps + 1);
    if (!s->step || !s->num_prompt || !s->num_steps || json_array_size(steps) != s->num_steps)
        return vc_fail(err, VC_E_FORMAT, "%s: %s[%u]: expected tokens and as many steps", g->path, g->ref, i);
    for (uint32_t k = 0; k < s->num_steps; k++) {
        const json_t *step = json_array_get(steps, k), *best = json_array_get(step, 1);
        const char *hex = json_string_value(json_array_get(step, 0));
        size_t n = json_array_size(best);
        struct lab_top *t = VC_NEW_ARRAY(&g->arena, struct lab_top, n + 1);
        if (!t || !hex || strlen(hex) != 32)
            return vc_fail(err, VC_E_FORMAT, "%s: %s[%u].steps[%u]: expected 32 hex digits", g->path, g->ref, i, k);
        s->step[k].digest = hex;
        for (size_t j = 0; j < n; j++) {
            unsigned w = 0;
            const char *word = json_string_value(json_array_get(json_array_get(best, j), 1));
            t[j].id = (int32_t)json_integer_value(json_array_get(json_array_get(best, j), 0));
            if (!word || sscanf(word, "%4x", &w) != 1 || t[j].id < 0 || t[j].id >= MAX_VOCAB)
                return vc_fail(err, VC_E_FORMAT, "%s: %s[%u].steps[%u]: expected [id, word]", g->path, g->ref, i, k);
            t[j].value = (double)vc_bf16_f32((uint16_t)w);
        }
        s->step[k].ref = (struct lab_known){ .top = t, .num_top = (uint32_t)n, .kind = LAB_LOGIT };
    }
    return lab_member(g, s, s->tokens, err);
}

vc_status lab_load_vllm_file(struct lab_gate *g, vc_err *err) {
    const char *sha, *want = g->args->ref;
    vc_str expect;
    json_t *prompts;
    g->kind = LAB_VLLM_FILE;
    g->ref = !want || strcmp(want, "batch8") == 0 ? "batch8" : "alone";
    if (want && strcmp(want, g->ref) != 0)
        return vc_fail(err, VC_E_INVALID, "--ref: '%s'; %s has batch8 and alone", want, g->path);
    g->ref_is_vllm = true;
    g->numerics = g->args->numerics ? g->args->numerics : "vllm";
    g->dtype = "bfloat16";
    g->vocab = MAX_VOCAB;
    VC_TRY(need_model(g, "the bf16 folder that make/smollm2_hf.py makes", err));
    VC_TRY(vc_json_str(g->json[0], "model_sha256", &expect, err));
    VC_TRY(file_sha256(g, lab_text(g, "%s/model.safetensors", g->model), &sha, err));
    if (!vc_str_is(expect, sha))
        return vc_fail(err, VC_E_INVALID, "%s: model.safetensors has sha256 %s, %s was made with %.*s", g->model, sha,
                       g->path, (int)expect.n, expect.p);
    VC_TRY(vc_json_arr(g->json[0], "prompts", &prompts, err));
    size_t n = json_array_size(prompts);
    if (n < 1 || n > 1000) return vc_fail(err, VC_E_FORMAT, "%s: no prompts", g->path);
    g->title = "SmolLM2-135M-Instruct, bf16";
    g->num_seqs = (uint32_t)n;
    g->seq = VC_NEW_ARRAY(&g->arena, struct lab_seq, n);
    if (!g->seq) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (uint32_t i = 0; i < n; i++) VC_TRY(vllm_seq(g, i, &g->seq[i], err));
    g->concurrency[0] = 8;
    g->num_concurrency = 1;
    return VC_OK;
}
