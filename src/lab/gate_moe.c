/* SPDX-License-Identifier: Apache-2.0
 * gate_moe.c: loads goldens/moe-gate and moe-gate-tie: vLLM's runs with every logit word, transformers' runs as the
 * truth, and the accepted sequences of summary.json. */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "lab/gate.h"

/* Reference names as summary.json has them, and the short ones of goldens/models. */
static const struct {
    const char *name, *alias, *dtype, *numerics;
} refs[] = {
    { "vllm-eager", "vllm_bf16_cc1", NULL, "vllm" }, /* dtype NULL: runs alone and in pairs */
    { "vllm-compiled", "vllm_compiled", NULL, "vllm-compiled" },
    { "transformers-float64", "hf_f64", "float64", "f32" },
    { "transformers-float32", "hf_f32", "float32", "f32" },
    { "transformers-bfloat16", "hf_bf16_eager", "bfloat16", "hf" },
};

static vc_status choose_ref(struct lab_gate *g, uint32_t *which, vc_err *err) {
    const char *num = g->args->numerics;
    const char *want = g->args->ref                             ? g->args->ref
                       : !num                                   ? "vllm-eager"
                       : strncmp(num, "vllm-compiled", 13) == 0 ? "vllm-compiled"
                       : lab_is_vllm(num)                       ? "vllm-eager"
                                                                : "hf_f64";
    for (*which = 0; *which < VC_ARRAY_LEN(refs); ++*which)
        if (strcmp(want, refs[*which].name) == 0 || strcmp(want, refs[*which].alias) == 0) break;
    if (*which == VC_ARRAY_LEN(refs))
        return vc_fail(err, VC_E_INVALID,
                       "--ref: '%s'; %s has vllm-eager, vllm-compiled, transformers-float64 (hf_f64), "
                       "transformers-float32, transformers-bfloat16",
                       want, g->path);
    g->ref = refs[*which].name;
    g->ref_is_vllm = !refs[*which].dtype;
    g->dtype = "bfloat16";
    g->numerics = num ? num : refs[*which].numerics;
    return VC_OK;
}

static bool is_run(const json_t *r, const char *dtype, const json_t *length, const json_t *request) {
    const char *d = json_string_value(json_object_get(r, "dtype"));
    return json_equal(json_object_get(r, "length"), length) && json_equal(json_object_get(r, "request"), request) &&
           (!dtype || (d && strcmp(d, dtype) == 0));
}

static const json_t *find_run(const json_t *root, const char *dtype, const json_t *like) {
    const json_t *r, *runs = json_object_get(root, "runs");
    size_t i;
    json_array_foreach(
        runs, i, r) if (is_run(r, dtype, json_object_get(like, "length"), json_object_get(like, "request"))) return r;
    return NULL;
}

static vc_status read_words(struct lab_gate *g, const char *hex, const uint16_t **out, vc_err *err) {
    if (!hex || strlen(hex) != (size_t)g->vocab * 4 || strspn(hex, "0123456789abcdef") != strlen(hex))
        return vc_fail(err, VC_E_FORMAT, "%s: logits_bf16: expected %u times four hex digits", g->path, g->vocab);
    uint16_t *w = VC_NEW_ARRAY(&g->arena, uint16_t, g->vocab);
    if (!w) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (uint32_t i = 0; i < g->vocab; i++) {
        char four[5] = { hex[4 * i], hex[4 * i + 1], hex[4 * i + 2], hex[4 * i + 3], '\0' };
        w[i] = (uint16_t)strtoul(four, NULL, 16);
    }
    *out = w;
    return VC_OK;
}

static vc_status known_of(struct lab_gate *g, const json_t *step, struct lab_known *out, vc_err *err) {
    const json_t *words = json_object_get(step, "logits_bf16");
    if (words) return read_words(g, json_string_value(words), &out->words, err);
    struct lab_top *t;
    VC_TRY(lab_tops(g, json_object_get(step, "top20"), "top20", &t, &out->num_top, err));
    out->top = t;
    out->kind = LAB_LOGIT;
    return VC_OK;
}

static vc_status add_members(struct lab_gate *g, struct lab_seq *s, const json_t *run, vc_err *err) {
    const json_t *e, *m, *from;
    size_t i, j, k;
    json_array_foreach(json_object_get(g->json[2], "sequences"), i, e) {
        if (!is_run(e, NULL, json_object_get(run, "length"), json_object_get(run, "request"))) continue;
        json_array_foreach(json_object_get(e, "set"), j, m) json_array_foreach(json_object_get(m, "from"), k, from) {
            if (!json_is_string(from) || strcmp(json_string_value(from), g->ref) != 0) continue;
            int32_t *t;
            uint32_t n;
            VC_TRY(lab_ints(g, json_object_get(m, "tokens"), "set", &t, &n, err));
            if (n != s->num_steps)
                return vc_fail(err, VC_E_FORMAT, "%s/summary.json: a sequence of %u tokens, expected %u", g->path, n,
                               s->num_steps);
            VC_TRY(lab_member(g, s, t, err));
        }
    }
    return VC_OK;
}

static vc_status load_seq(struct lab_gate *g, const json_t *run, struct lab_error *vllm, struct lab_error *f32,
                          vc_err *err) {
    struct lab_seq *s = &g->seq[g->num_seqs++];
    int32_t *prompt, *tokens, *truth;
    uint32_t n;
    const json_t *t64 = find_run(g->json[3], "float64", run), *t32 = find_run(g->json[3], "float32", run),
                 *eager = find_run(g->json[1], NULL, run);
    s->name = lab_text(g, "L=%d r=%d%s", (int)json_integer_value(json_object_get(run, "length")),
                       (int)json_integer_value(json_object_get(run, "request")),
                       json_integer_value(json_object_get(run, "concurrency")) == 2 ? " in a pair" : "");
    VC_TRY(lab_ints(g, json_object_get(run, "prompt"), "prompt", &prompt, &s->num_prompt, err));
    VC_TRY(lab_ints(g, json_object_get(run, "tokens"), "tokens", &tokens, &s->num_steps, err));
    VC_TRY(lab_ints(g, json_object_get(t64, "tokens"), "transformers tokens", &truth, &n, err));
    if (!s->num_prompt || !s->num_steps || n != s->num_steps)
        return vc_fail(err, VC_E_FORMAT, "%s: %s: sequences of different lengths", g->path, s->name);
    s->prompt = prompt;
    s->tokens = tokens;
    s->truth_tokens = truth;
    s->step = VC_NEW_ARRAY(&g->arena, struct lab_step, s->num_steps);
    if (!s->step) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    VC_TRY(add_members(g, s, run, err));
    bool same = true, same_eager = true;
    for (uint32_t k = 0; k < s->num_steps; k++) {
        struct lab_known t = { 0 }, e = { 0 }, f = { 0 };
        VC_TRY(known_of(g, json_array_get(json_object_get(run, "steps"), k), &s->step[k].ref, err));
        VC_TRY(known_of(g, json_array_get(json_object_get(t64, "steps"), k), &t, err));
        if (same) s->step[k].truth = t;
        VC_TRY(known_of(g, json_array_get(json_object_get(eager, "steps"), k), &e, err));
        VC_TRY(known_of(g, json_array_get(json_object_get(t32, "steps"), k), &f, err));
        for (uint32_t j = 0; j < t.num_top; j++) {
            double v;
            if (same_eager && lab_known_value(&e, t.top[j].id, &v)) lab_error_add(vllm, v - t.top[j].value);
            if (lab_known_value(&f, t.top[j].id, &v)) lab_error_add(f32, v - t.top[j].value);
        }
        same = same && tokens[k] == truth[k];
        same_eager = same_eager && json_integer_value(json_array_get(json_object_get(eager, "tokens"), k)) == truth[k];
    }
    return VC_OK;
}

vc_status lab_load_moe(struct lab_gate *g, vc_err *err) {
    uint32_t which;
    g->kind = LAB_MOE;
    g->moe = true;
    g->model = lab_text(g, "%s/model", g->path);
    VC_TRY(choose_ref(g, &which, err));
    g->title = lab_text(g, "Qwen3MoeForCausalLM");
    VC_TRY(lab_file(g, 0,
                    which == 1   ? "vllm-compiled.json"
                    : which == 0 ? "vllm-eager.json"
                                 : "model/config.json",
                    err));
    VC_TRY(lab_file(g, 1, "vllm-eager.json", err));
    VC_TRY(lab_file(g, 2, "summary.json", err));
    VC_TRY(lab_file(g, 3, "transformers.json", err));
    json_t *config = NULL;
    VC_TRY(vc_json_load(&config, lab_text(g, "%s/config.json", g->model), err));
    vc_status st = vc_json_u32(config, "vocab_size", &g->vocab, err);
    json_decref(config);
    VC_TRY(st);
    const json_t *runs = json_object_get(g->json[which < 2 ? 0 : 3], "runs"), *r;
    size_t i, n = json_array_size(runs);
    if (n < 1 || n > 1000) return vc_fail(err, VC_E_FORMAT, "%s: no runs", g->path);
    g->seq = VC_NEW_ARRAY(&g->arena, struct lab_seq, n);
    if (!g->seq) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    struct lab_error vllm = { 0 }, f32 = { 0 };
    for (json_int_t c = 2; c >= 1; c--) /* pairs first, so that they stay together at concurrency 2 */
        json_array_foreach(runs, i, r) {
            json_int_t rc = which < 2 ? json_integer_value(json_object_get(r, "concurrency")) : 1;
            if (rc != c || !is_run(r, refs[which].dtype, json_object_get(r, "length"), json_object_get(r, "request")))
                continue;
            VC_TRY(load_seq(g, r, &vllm, &f32, err));
        }
    g->vllm_rms = lab_error_rms(&vllm);
    g->f32_bound = f32.max;
    g->concurrency[0] = 1;
    g->concurrency[1] = 2;
    g->num_concurrency = 2;
    return VC_OK;
}
