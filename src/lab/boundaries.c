/* SPDX-License-Identifier: Apache-2.0
 * boundaries.c: `vllmc lab boundaries`: the table of stages and variants, its rules, its report. */
#include "lab/boundaries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/json_out.h"
#include "lab/lab_args.h"

/* SAME: another statement of the right rule in the json (an order, a row): nothing to run. */
enum kind { RIGHT, WRONG, JSON, SAME };
enum call { NORM, NORM_SUM, LINEAR, HEADNORM, ROPE, ATTN, ROUTE, EXPERTS };
static const struct row {
    const char *stage;
    enum call call;
    enum lab_what what;
    const char *variant;
    enum kind kind;
    const char *numerics;
} rows[] = {
#define ROW(stage, call, what, variant, kind, numerics) { stage, call, what, variant, kind, numerics },
#include "lab/boundaries.def"
#undef ROW
};

struct result {
    const char *key;
    const struct row *row;
    uint64_t differ, total, json, allowed;
    bool ran, ok;
};

static uint64_t run(struct lab_replay *r, const struct row *row, const char *prefix, uint64_t *total) {
    struct lab_stage s = { prefix, row->stage };
    switch (row->call) {
        case NORM:
        case NORM_SUM: return lab_stage_norm(r, &s, row->numerics, row->what, row->call == NORM_SUM, total);
        case LINEAR: return lab_stage_linear(r, &s, row->numerics, total);
        case HEADNORM: return lab_stage_headnorm(r, &s, row->numerics, total);
        case ROPE: return lab_stage_rope(r, &s, row->numerics, row->what, total);
        case ATTN: return lab_stage_attention(r, &s, row->numerics, total);
        case ROUTE: return lab_stage_route(r, &s, row->numerics, row->what, total);
        case EXPERTS: break;
    }
    return lab_stage_experts(r, &s, row->numerics, row->what, total);
}

static const struct row *find_row(const char *key, const char **prefix) {
    static const char *const known[] = { "l0.", "l1.", "l2.", "l3." };
    *prefix = "";
    for (size_t i = 0; i < VC_ARRAY_LEN(known); i++)
        if (strncmp(key, known[i], 3) == 0) {
            *prefix = known[i];
            key += 3;
        }
    for (size_t i = 0; i < VC_ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].stage);
        if (strncmp(key, rows[i].stage, n) == 0 && key[n] == ' ' && strcmp(key + n + 1, rows[i].variant) == 0)
            return &rows[i];
    }
    return NULL;
}

static uint64_t allowed(const struct row *row, uint64_t total) {
    if (row->call == LINEAR || row->call == ROUTE) return 0; /* route weights: 0 words beyond 2 ulps */
    return VC_MAX(UINT64_C(4), total / 500);
}

static bool run_key(struct lab_replay *r, const char *key, const json_t *v, struct result *out) {
    const char *prefix;
    *out = (struct result){ .key = key,
                            .row = find_row(key, &prefix),
                            .json = (uint64_t)json_integer_value(json_array_get(v, 0)) };
    if (!out->row) {
        vc_fail(&r->err, VC_E_UNSUPPORTED, "%s: boundaries-l33.json: no rule for replay \"%s\"", r->path, key);
        return false;
    }
    if (out->row->kind == SAME || out->row->kind == JSON) return true;
    out->differ = run(r, out->row, prefix, &out->total);
    out->ran = true;
    if (r->err.status != VC_OK) vc_fail_prefix(&r->err, "%s", key);
    return r->err.status == VC_OK;
}

/* Our own count for the stage that a variant belongs to. */
static const struct result *right_of(const struct result *all, size_t n, const struct result *w) {
    for (size_t i = 0; i < n; i++)
        if (all[i].row->kind == RIGHT && strncmp(all[i].key, w->key, 2) == 0 &&
            strcmp(all[i].row->stage, w->row->stage) == 0 && all[i].row->what == w->row->what)
            return &all[i];
    return NULL;
}

static bool judge(struct result *all, size_t n) {
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        struct result *x = &all[i];
        if (x->row->kind == RIGHT) {
            x->allowed = allowed(x->row, x->total);
            x->ok = x->total > 0 && x->differ <= x->allowed;
        } else if (x->row->kind == SAME)
            x->ok = true;
        else {
            const struct result *r = right_of(all, n, x);
            uint64_t least = r ? VC_MAX(r->differ * 10, UINT64_C(1)) : 1;
            x->ok = r && x->json >= least && (!x->ran || x->differ >= least);
        }
        ok = ok && x->ok;
    }
    return ok;
}

static void print_text(const struct result *all, size_t n) {
    printf("%-96s %7s %7s %8s\n", "stage and variant", "ours", "of", "recorded");
    for (size_t i = 0; i < n; i++) {
        const struct result *x = &all[i];
        if (x->row->kind == SAME) continue;
        char ours[24] = "-", of[24] = "-";
        if (x->ran) snprintf(ours, sizeof ours, "%llu", (unsigned long long)x->differ);
        if (x->ran) snprintf(of, sizeof of, "%llu", (unsigned long long)x->total);
        printf("%-5s %-90s %7s %7s %8llu%s\n", x->row->kind == RIGHT ? "right" : "wrong", x->key, ours, of,
               (unsigned long long)x->json, x->ok ? "" : "  FAIL");
    }
}

static void print_json(const struct result *all, size_t n, bool ok) {
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    vc_jo_init(&w, &b, VC_JSON_PRETTY);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "stages");
    vc_jo_begin_arr(&w);
    for (size_t i = 0; i < n; i++) {
        const struct result *x = &all[i];
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "stage"), vc_jo_str(&w, x->key);
        vc_jo_key(&w, "kind"), vc_jo_str(&w, x->row->kind == RIGHT  ? "right"
                                             : x->row->kind == SAME ? "restated"
                                                                    : "wrong");
        if (x->ran) {
            vc_jo_key(&w, "differ"), vc_jo_uint(&w, x->differ);
            vc_jo_key(&w, "total"), vc_jo_uint(&w, x->total);
        }
        vc_jo_key(&w, "recorded"), vc_jo_uint(&w, x->json);
        vc_jo_key(&w, "ok"), vc_jo_bool(&w, x->ok);
        vc_jo_end_obj(&w);
    }
    vc_jo_end_arr(&w);
    vc_jo_key(&w, "pass"), vc_jo_bool(&w, ok);
    vc_jo_end_obj(&w);
    puts(b.p ? b.p : "");
    vc_buf_free(&b);
}

static int one_folder(const char *path, bool json) {
    struct lab_replay r;
    const char *key;
    json_t *v;
    vc_err err = VC_ERR_INIT;
    bool ok = lab_replay_open(&r, path, &err) == VC_OK;
    json_t *replay = json_object_get(r.json, "replay");
    struct result *all = VC_NEW_ARRAY(&r.arena, struct result, json_object_size(replay) + 1);
    size_t n = 0;
    if (!ok) r.err = err;
    if (ok && all) json_object_foreach(replay, key, v) if (!run_key(&r, key, v, &all[n++])) break;
    if (!n && r.err.status == VC_OK) vc_fail(&r.err, VC_E_FORMAT, "%s: boundaries-l33.json: no replay table", path);
    ok = r.err.status == VC_OK && judge(all, n);
    if (r.err.status != VC_OK)
        fprintf(stderr, "vllmc lab boundaries: %s: %s\n", vc_status_name(r.err.status), r.err.text);
    else if (json)
        print_json(all, n, ok);
    else {
        printf("%s: numerics vllm, %u rows\n", path, r.rows);
        print_text(all, n);
        printf("%s\n\n", ok ? "PASS" : "FAIL");
    }
    lab_replay_close(&r);
    return ok ? 0 : 1;
}

struct args {
    bool json, help;
};
static const struct lab_opt options[] = {
    { "--json", NULL, LAB_OPT_FLAG, offsetof(struct args, json), "print JSON instead of a table" },
    { "--help", NULL, LAB_OPT_FLAG, offsetof(struct args, help), "this text" },
    { NULL, NULL, LAB_OPT_FLAG, 0, NULL },
};

int lab_boundaries_main(int argc, char **argv) {
    struct args a = { 0 };
    const char **paths = calloc((size_t)argc + 1, sizeof *paths);
    uint32_t n = 0;
    int rc = 0;
    vc_err err = VC_ERR_INIT;
    vc_log_set(VC_LOG_ERROR, NULL, NULL); /* wrong variants run on the reference: no news */
    if (!paths || lab_parse(argc, argv, options, &a, paths, &n, &err) != VC_OK || (!a.help && n == 0)) {
        fprintf(stderr, "vllmc lab boundaries: %s\n",
                err.status != VC_OK ? err.text : "no folder is given (vllmc lab boundaries --help)");
        rc = 2;
    } else if (a.help) {
        puts("usage: vllmc lab boundaries [options] DIR…\n\n"
             "DIR holds model/ and boundaries-l33.{json,safetensors} (goldens/moe-gate): every stage of one prefill as "
             "vLLM\n"
             "computed it. Each stage is run here from its recorded input under the numerics vllm, and with its "
             "rounding\n"
             "slots the other way. Matmul stages must differ in no word, others in at most max(4, 0.2 %), route "
             "weights by\n"
             "at most 2 ulps, and every wrong variant in at least ten times as many as the right one.\n\noptions");
        lab_print_options(options);
        puts("\nexample\n  vllmc lab boundaries goldens/moe-gate goldens/moe-gate-tie");
    } else
        for (uint32_t i = 0; i < n; i++) rc |= one_folder(paths[i], a.json);
    free(paths);
    return rc;
}
