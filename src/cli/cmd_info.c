/* SPDX-License-Identifier: Apache-2.0
 * cmd_info.c: vllmc info: this build, this machine, and how a model would run here. */
#include <stdlib.h>

#include "api/api_int.h"
#include "base/cpu.h"
#include "cli/info_tables.h"
#include "cli/inspect_file.h"
#include "cli/load.h"
#include "cli/term.h"
#include "io/json_out.h"

static const struct { uint32_t bit; const char *name; } features[] = {
    { VC_CPU_AVX2, "avx2" }, { VC_CPU_FMA, "fma" }, { VC_CPU_F16C, "f16c" }, { VC_CPU_AVX512, "avx512f+bw+dq+vl" },
    { VC_CPU_VNNI, "avx512_vnni" }, { VC_CPU_BF16, "avx512_bf16" },
};

static void add_features(struct vc_buf *b, uint32_t bits) {
    const char *sep = "";
    for (size_t i = 0; i < VC_ARRAY_LEN(features); i++) {
        if (!(bits & features[i].bit)) continue;
        vc_buf_printf(b, "%s%s", sep, features[i].name);
        sep = " ";
    }
    if (!*sep) vc_buf_adds(b, "none");
}

/* Why the tier is the one in use: narrowed, complete, or what the next one lacks. */
static void add_reason(struct vc_buf *b, enum vc_tier tier) {
    const char *env = getenv("VLLMC_CPU");
    uint32_t lacks = tier + 1 < VC_NUM_TIERS ? vc_tier_needs((enum vc_tier)(tier + 1)) & ~vc_cpu_features() : 0;
    if (lacks) {
        vc_buf_printf(b, "%s needs ", vc_tier_name((enum vc_tier)(tier + 1)));
        add_features(b, lacks);
    } else if (env && *env && tier + 1 < VC_NUM_TIERS) {
        vc_buf_printf(b, "VLLMC_CPU=%s", env);
    } else {
        vc_buf_adds(b, "the best that this program has");
    }
}

static void text_machine(struct vc_buf *b, enum vc_tier tier) {
    cli_add_label(b, "version");
    vc_buf_printf(b, "vllmc %s, ABI %d, backends: %s\n", vc_version(), VC_ABI, vc_back_cpu.name);
    cli_add_label(b, "CPU");
    vc_buf_printf(b, "%s\n", vc_cpu_model());
    cli_add_label(b, "features");
    add_features(b, vc_cpu_features());
    vc_buf_addc(b, '\n');
    cli_add_label(b, "tier");
    vc_buf_printf(b, "%s: ", vc_tier_name(tier));
    add_reason(b, tier);
    vc_buf_addc(b, '\n');
    cli_add_label(b, "threads");
    vc_buf_printf(b, "%u\n", vc_cpu_threads());
    cli_add_label(b, "memory");
    cli_add_bytes(b, vc_mem_available());
    vc_buf_adds(b, " available of ");
    cli_add_bytes(b, vc_mem_total());
    vc_buf_addc(b, '\n');
}

static void text_model(struct vc_buf *b, const vc_model_info *i) {
    cli_add_label(b, "model");
    vc_buf_printf(b, "%s: %s, %s (%s), ", i->name, i->architecture, i->format, i->quantization);
    cli_add_count(b, i->parameters);
    vc_buf_adds(b, " parameters\n");
    cli_add_label(b, "numerics");
    vc_buf_printf(b, "%s\n", i->numerics);
    if (i->pooling) {
        cli_add_label(b, "embeddings");
        vc_buf_printf(b, "of %u values, pooling %s\n", i->hidden_size, i->pooling);
    }
    cli_add_label(b, "weights");
    cli_add_bytes(b, i->weight_bytes);
    vc_buf_adds(b, ", workspace ");
    cli_add_bytes(b, i->workspace_bytes);
    vc_buf_addc(b, '\n');
    cli_add_label(b, "KV cache");
    cli_add_bytes(b, i->kv_bytes);
    vc_buf_printf(b, " in %s: %u pages of %u tokens; context %u\n", i->kv_cache_dtype, i->num_kv_blocks, i->block_size,
                  i->max_model_len);
}

static void json_str(struct vc_json_out *w, const char *key, const char *v) {
    vc_jo_key(w, key);
    vc_jo_str(w, v);
}
static void json_uint(struct vc_json_out *w, const char *key, uint64_t v) {
    vc_jo_key(w, key);
    vc_jo_uint(w, v);
}

static void json_machine(struct vc_json_out *w, enum vc_tier tier) {
    struct vc_buf why = { 0 };
    add_reason(&why, tier);
    json_str(w, "version", vc_version());
    json_uint(w, "abi", VC_ABI);
    json_str(w, "cpu", vc_cpu_model());
    vc_jo_key(w, "features");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < VC_ARRAY_LEN(features); i++)
        if (vc_cpu_features() & features[i].bit) vc_jo_str(w, features[i].name);
    vc_jo_end_arr(w);
    json_str(w, "tier", vc_tier_name(tier));
    json_str(w, "tier_because", why.p);
    json_uint(w, "threads", vc_cpu_threads());
    json_uint(w, "memory_total", vc_mem_total());
    json_uint(w, "memory_available", vc_mem_available());
    vc_buf_free(&why);
}

static void json_model(struct vc_json_out *w, const vc_model_info *i) {
    vc_jo_key(w, "model");
    vc_jo_begin_obj(w);
    json_str(w, "name", i->name);
    json_str(w, "architecture", i->architecture);
    json_str(w, "format", i->format);
    json_str(w, "quantization", i->quantization);
    json_str(w, "numerics", i->numerics);
    json_str(w, "pooling", i->pooling);
    json_uint(w, "parameters", i->parameters);
    json_uint(w, "weight_bytes", i->weight_bytes);
    json_uint(w, "workspace_bytes", i->workspace_bytes);
    json_str(w, "kv_cache_dtype", i->kv_cache_dtype);
    json_uint(w, "kv_bytes", i->kv_bytes);
    json_uint(w, "num_kv_blocks", i->num_kv_blocks);
    json_uint(w, "block_size", i->block_size);
    json_uint(w, "max_model_len", i->max_model_len);
    json_uint(w, "vocab_size", i->vocab_size);
    json_uint(w, "num_layers", i->num_layers);
    vc_jo_end_obj(w);
}

static int print_json(const struct cli_opts *o, const vc_model_info *info, const struct vc_buf *plan,
                      enum vc_tier tier) {
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    vc_jo_init(&w, &b, VC_JSON_PRETTY);
    vc_jo_begin_obj(&w);
    json_machine(&w, tier);
    if (info) json_model(&w, info);
    if (plan->n) cli_plan_json(&w, plan);
    if (o->ops) cli_ops_json(&w, tier);
    if (o->slots) cli_slots_json(&w);
    vc_jo_end_obj(&w);
    vc_buf_addc(&b, '\n');
    return cli_print(&b);
}

static int print_text(const struct cli_opts *o, const vc_model_info *info, const struct vc_buf *plan,
                      enum vc_tier tier) {
    struct vc_buf b = { 0 };
    bool tables = o->ops || o->slots;
    if (!tables || info) text_machine(&b, tier);
    if (info) text_model(&b, info);
    if (o->plan) {
        vc_buf_addc(&b, '\n');
        vc_buf_add(&b, plan->p ? plan->p : "", plan->n);
    } else if (info) {
        cli_plan_summary(&b, plan);
    }
    if (o->ops) cli_ops_text(&b, tier);
    if (o->slots) cli_slots_text(&b);
    return cli_print(&b);
}

int cli_info(struct cli_opts *o) {
    if (o->num_args > 1) return cli_usage(o, "'%s': too many arguments", o->arg[1]);
    if (o->plan && o->num_args == 0) return cli_usage(o, "--plan needs a model");
    vc_err err = VC_ERR_INIT;
    enum vc_tier tier;
    if (vc_cpu_tier(&tier, &err) != VC_OK) return cli_fail_err(&err);
    vc_model *m = NULL;
    struct vc_buf plan = { 0 };
    vc_model_info info = { .struct_size = sizeof info };
    if (o->num_args == 1) {
        int rc = cli_load(o, 0, &m, NULL);
        if (rc != CLI_OK) return rc;
        vc_model_get_info(m, &info);
        vc_prog_print(vc_engine_net(vc_model_engine(m))->prog, &plan);
    }
    int rc = o->json ? print_json(o, m ? &info : NULL, &plan, tier) : print_text(o, m ? &info : NULL, &plan, tier);
    vc_buf_free(&plan);
    vc_model_close(&m);
    return rc;
}
