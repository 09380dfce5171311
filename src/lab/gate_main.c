/* SPDX-License-Identifier: Apache-2.0
 * gate_main.c: the command line of `vllmc lab gate`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/json_out.h"
#include "base/log.h"
#include "lab/gate.h"

#define AT(field) offsetof(struct lab_gate_args, field)
static const struct lab_opt options[] = {
    { "--ref", "NAME", LAB_OPT_TEXT, AT(ref),
      "reference run: hf_f64, vllm_bf16_cc1, vllm-eager, vllm-compiled, batch8 …; default: that of the numerics" },
    { "--model", "PATH", LAB_OPT_TEXT, AT(model),
      "weights, where the reference holds none; in a folder of several models: the one to run" },
    { "--numerics", "PROFILE", LAB_OPT_TEXT, AT(numerics),
      "vllm, vllm-compiled, f32, gguf …[,slot=format]; default: that of the reference" },
    { "--allow-ties", NULL, LAB_OPT_FLAG, AT(allow_ties), "a differing position is accepted where it is a near tie" },
    { "--threads", "N", LAB_OPT_UINT, AT(threads), "worker threads; default: all that this process may use" },
    { "--concurrency", "A,B,…", LAB_OPT_UINTS, AT(concurrency),
      "requests in flight; the runs must give the same bits" },
    { "--repeats", "N", LAB_OPT_UINT, AT(repeats), "fresh engines, which must give the same bits; default 1" },
    { "--json", NULL, LAB_OPT_FLAG, AT(json), "print one JSON object instead of text" },
    { "--help", NULL, LAB_OPT_FLAG, AT(help), "this text" },
    { NULL, NULL, LAB_OPT_FLAG, 0, NULL },
};

static int help(void) {
    puts("usage: vllmc lab gate [options] PATH…\n\n"
         "Runs reference sets through the engine and judges every position: generating freely, and again with the\n"
         "reference's own text as the prompt, so that nothing hides behind a first difference. PATH is a folder with\n"
         "golden.json (a model beside it), vllm-eager.json (model/ in it) or models.json (GGUF files in it), or one of "
         "the\n"
         "files greedy.json and vllm.json, whose weights --model names.\n\noptions");
    lab_print_options(options);
    puts("\nA near tie: the truth's margin between the two tokens is at most one bf16 ulp, or five times the rms error "
         "of\n"
         "vLLM's own log-probabilities on that set; in a mixture of experts also where a router's k-th and next logit "
         "lie\n"
         "within one bf16 ulp.\n\nexamples\n"
         "  vllmc lab gate --numerics f32 goldens/models/llama goldens/models/gemma3\n"
         "  vllmc lab gate --numerics vllm --repeats 3 --concurrency 1,2 goldens/moe-gate goldens/moe-gate-tie\n"
         "  vllmc lab gate goldens/real-models/greedy.json --model SmolLM2-135M-Instruct.Q4_1.gguf\n"
         "  vllmc lab gate --numerics gguf --model Q4_0 goldens/gguf-quants\n\n"
         "Exit code: 0 if every rule holds, 1 if one does not or a model fails, 2 for a wrong command line.");
    return 0;
}

static struct vc_json_out out;

static void one_gate(const struct lab_gate_args *a, const char *path, const char *entry, struct lab_session *s) {
    struct lab_gate g = { .args = a, .path = path, .error = VC_ERR_INIT };
    vc_status st = lab_gate_load(&g, entry, &g.error);
    if (st != VC_OK && g.error.status == VC_OK) vc_fail(&g.error, st, "%s: %s", path, vc_status_text(st));
    for (uint32_t i = 0; a->concurrency[i] && i < 8; i++) {
        g.concurrency[i] = a->concurrency[i];
        g.num_concurrency = i + 1;
    }
    if (st == VC_OK) lab_gate_judge(&g);
    lab_gate_checks(&g, s);
    if (a->json)
        lab_report_json(&g, &out);
    else
        lab_report_text(&g);
    fflush(stdout);
    lab_gate_free(&g);
}

/* A folder of several models is one gate for each. */
static void one_path(const struct lab_gate_args *a, const char *path, struct lab_session *s) {
    const char *names[64];
    char file[4096];
    json_t *root = NULL;
    vc_err none = VC_ERR_INIT;
    snprintf(file, sizeof file, "%s/models.json", path);
    if (vc_json_load(&root, file, &none) != VC_OK) {
        one_gate(a, path, NULL, s);
        return;
    }
    uint32_t n = lab_quants_entries(root, a->model, names, 64);
    if (n == 0) one_gate(a, path, a->model, s);
    for (uint32_t i = 0; i < n; i++) one_gate(a, path, names[i], s);
    json_decref(root);
}

/* Over all folders without vLLM's words: its rms error must be met more closely together than one by one. */
static void pooled(const struct lab_gate_args *a, struct lab_session *s) {
    double ours = lab_error_rms(&s->logprob), theirs = lab_error_rms(&s->logprob_ref);
    bool ok = ours <= 1.05 * theirs;
    if (s->pooled < 2) return;
    s->ok = s->ok && ok;
    if (!a->json) {
        printf("pooled over %u references\n  %s %-38s %.5f, vLLM's own %.5f: %.3f times, at most 1.05\n\n", s->pooled,
               ok ? "ok  " : "FAIL", "rms error of log-probabilities", ours, theirs, ours / theirs);
        return;
    }
    vc_jo_begin_obj(&out);
    vc_jo_key(&out, "pooled");
    vc_jo_uint(&out, s->pooled);
    vc_jo_key(&out, "logprob_rms");
    vc_jo_f64(&out, ours);
    vc_jo_key(&out, "logprob_rms_reference");
    vc_jo_f64(&out, theirs);
    vc_jo_key(&out, "pass");
    vc_jo_bool(&out, ok);
    vc_jo_end_obj(&out);
}

int lab_gate_main(int argc, char **argv) {
    struct lab_gate_args a = { .repeats = 1 };
    vc_err err = VC_ERR_INIT;
    uint32_t n = 0;
    const char **paths = calloc((size_t)argc + 1, sizeof *paths);
    if (!paths || lab_parse(argc, argv, options, &a, paths, &n, &err) != VC_OK || a.help || n == 0) {
        int rc = a.help && err.status == VC_OK ? help() : 2;
        if (rc)
            fprintf(stderr, "vllmc lab gate: %s\n",
                    err.status != VC_OK ? err.text : "no reference is given (vllmc lab gate --help)");
        free(paths);
        return rc;
    }
    struct vc_buf buf = { 0 };
    struct lab_session s = { .ok = true };
    vc_jo_init(&out, &buf, VC_JSON_PRETTY);
    vc_jo_begin_obj(&out);
    vc_jo_key(&out, "gates");
    vc_jo_begin_arr(&out);
    vc_log_set(VC_LOG_WARN, NULL, NULL);
    for (uint32_t i = 0; i < n; i++) one_path(&a, paths[i], &s);
    pooled(&a, &s);
    vc_jo_end_arr(&out);
    vc_jo_key(&out, "pass");
    vc_jo_bool(&out, s.ok);
    vc_jo_end_obj(&out);
    if (a.json) printf("%s\n", buf.p ? buf.p : "");
    vc_buf_free(&buf);
    free(paths);
    return s.ok ? 0 : 1;
}
