/* SPDX-License-Identifier: Apache-2.0
 * doc_tables.c: prints doc/ops.md, doc/models.md, doc/fields.md or doc/openapi.json from the tables of src/op, src/kern, src/model
 * and src/server. usage: doc_tables ops|models|fields|openapi. Run by tools/make-docs. */
#include <stdio.h>
#include <string.h>

#include "dev/dev.h"
#include "model/archs.h"
#include "model/config.h"
#include "op/numerics.h"
#include "server/srv_openapi.h"

/* ---- ops.md ---- */

static void print_ops(void) {
    puts("## Ops\n\nArguments and formulas: `src/op/args.h`. A `?` marks an operand that may be absent.\n");
    puts("| op | inputs | outputs | meaning | reference | kernel source |\n|---|---|---|---|---|---|");
    for (int op = 0; op < VC_NUM_OPS; op++) {
        const struct vc_op_info *i = vc_op_info((enum vc_op)op);
        printf("| `%s` | %s | %s | %s | `src/op/ref/%s.c` | `src/kern/cpu/%s*.c` |\n", i->name, i->inputs, i->outputs, i->text, i->name, i->name);
    }
}

static const char *format_name(uint8_t f, enum vc_dtype act) {
    if (f == VC_F32) return "";
    return f == act ? "act" : vc_dtype_name((enum vc_dtype)f);
}

static void print_slots(void) {
    /* With two dtypes of the run, a format that follows it can be told from one that is fixed. */
    struct vc_numerics b[VC_NUM_PROFILES], h[VC_NUM_PROFILES];
    puts("\n## Rounding slots\n\nWhere a value may be narrowed, and to what under each profile: `act` is the dtype of the run (bf16 or f16), an empty cell is f32.");
    puts("*store*: the format of a stored stream. *inner*: a rounding inside an op.\n");
    printf("| slot | op | kind | what is rounded |");
    for (int p = 0; p < VC_NUM_PROFILES; p++) {
        vc_numerics_parse(&b[p], vc_profile_name((enum vc_profile)p), VC_BF16, NULL);
        vc_numerics_parse(&h[p], vc_profile_name((enum vc_profile)p), VC_F16, NULL);
        printf(" %s |", vc_profile_name((enum vc_profile)p));
    }
    printf("\n|---|---|---|---|");
    for (int p = 0; p < VC_NUM_PROFILES; p++) printf("---|");
    puts("");
    for (int s = 0; s < VC_NUM_SLOTS; s++) {
        const struct vc_slot_info *i = vc_slot_info((enum vc_slot)s);
        printf("| `%s` | %s | %s | %s |", i->name, vc_op_info(i->op)->name, i->inner ? "inner" : "store", i->text);
        for (int p = 0; p < VC_NUM_PROFILES; p++)
            printf(" %s |", b[p].slot[s] != h[p].slot[s] ? format_name(b[p].slot[s], VC_BF16) : format_name(b[p].slot[s], VC_NO_DTYPE));
        puts("");
    }
}

static void print_cores(void) {
    static const char *const choice[VC_NUM_CHOICES] = {
        [VC_CHOICE_NORM] = "norms", [VC_CHOICE_ATTENTION] = "attention", [VC_CHOICE_ROUTER] = "router",
        [VC_CHOICE_EXPERTS] = "experts", [VC_CHOICE_ROPE] = "rope tables",
    };
    puts("\n## Arithmetic cores\n\nThe order in which an op computes. Every kernel of a core gives the same bits as the reference.\n");
    puts("| core | op | order |\n|---|---|---|");
    for (int a = 0; a < VC_NUM_ARITHS; a++) {
        const struct vc_arith_info *i = vc_arith_info((enum vc_arith)a);
        printf("| `%s` | %s | %s |\n", i->name, i->op == VC_OP_ANY ? "any" : vc_op_info(i->op)->name, i->text);
    }
    puts("\n## Profiles\n\nProjections take `pair`, or `iblk` for block formats under `gguf`; the other choices:\n");
    printf("| profile | meaning |");
    for (int c = 0; c < VC_NUM_CHOICES; c++) printf(" %s |", choice[c]);
    puts("\n|---|---|---|---|---|---|---|");
    for (int p = 0; p < VC_NUM_PROFILES; p++) {
        struct vc_numerics n;
        vc_numerics_parse(&n, vc_profile_name((enum vc_profile)p), VC_BF16, NULL);
        printf("| `%s` | %s |", vc_profile_name((enum vc_profile)p), vc_profile_text((enum vc_profile)p));
        for (int c = 0; c < VC_NUM_CHOICES; c++) printf(" %s |", vc_arith_info((enum vc_arith)n.core[c])->name);
        puts("");
    }
}

static void print_formats(uint64_t mask) {
    if (mask == UINT64_MAX) {
        printf(" any |");
        return;
    }
    for (int t = 0; t < VC_NUM_DTYPES; t++)
        if (mask >> t & 1) printf(" %s", vc_dtype_name((enum vc_dtype)t));
    printf(" |");
}

static void print_kernels(void) {
    puts("\n## Kernels of the CPU\n\nIn the order in which they are tried; the first row that covers formats, slots, rows and tier is taken. What no row covers runs on the reference.\n");
    puts("| kernel | op | core | tier | input | weight or cache | output | rows | inner slots honoured |\n|---|---|---|---|---|---|---|---|---|");
    for (const struct vc_kernel *k = vc_cpu_kernels; k->name; k++) {
        printf("| `%s` | %s | %s | %s |", k->name, vc_op_info(k->op)->name, vc_arith_info(k->core)->name, vc_tier_name(k->tier));
        print_formats(k->in0);
        print_formats(k->weight);
        print_formats(k->out0);
        if (k->m_hi == UINT32_MAX && k->m_lo <= 1) printf(" all |");
        else if (k->m_hi == UINT32_MAX) printf(" %u and more |", k->m_lo);
        else if (k->m_hi == k->m_lo) printf(" %u |", k->m_lo);
        else printf(" %u to %u |", k->m_lo, k->m_hi);
        for (int s = 0; s < VC_NUM_SLOTS; s++)
            if (k->inner >> s & 1) printf(" %s", vc_slot_info((enum vc_slot)s)->name);
        puts(" |");
    }
}

/* ---- models.md ---- */

static void print_key(const struct vc_key *k) {
    static const char *const kind[] = { [VC_KEY_U32] = "integer", [VC_KEY_F32] = "number", [VC_KEY_BOOL] = "true or false", [VC_KEY_ACT] = "activation" };
    printf("| ");
    for (const char *p = k->hf ? k->hf : ""; *p;) {
        size_t n = strcspn(p, "|");
        printf("`%.*s`%s", (int)n, p, p[n] ? " or " : "");
        p += n + (p[n] == '|');
    }
    printf(k->gguf ? " | `%s` | %s |" : " | %s | %s |", k->gguf ? k->gguf : "", kind[k->kind]);
    if (k->kind == VC_KEY_U32) printf(" %.0f to %.0f |", k->min, k->max);
    else if (k->kind == VC_KEY_F32) printf(" %.9g to %.9g |", k->min, k->max);
    else printf(" |");
    if (k->flags & VC_KEY_REQUIRED && k->flags & VC_KEY_REQUIRED_GGUF) printf(" required |\n");
    else if (k->flags & VC_KEY_REQUIRED) printf(k->gguf ? " required in config.json |\n" : " required |\n");
    else if (k->flags & VC_KEY_REQUIRED_GGUF) printf(" required in GGUF |\n");
    else if (k->kind == VC_KEY_BOOL) printf(" %s |\n", k->def != 0 ? "true" : "false");
    else if (k->def != 0) printf(" %.9g |\n", k->def);
    else printf(" none |\n");
}

static void print_keys(const char *title, const struct vc_key *k) {
    if (!k->hf && !k->gguf) return;
    printf("\n%s\n\n| config.json | GGUF | type | range | when absent |\n|---|---|---|---|---|\n", title);
    for (const struct vc_key *first = k; k->hf || k->gguf; k++)      /* a key may fill several fields, in adjacent rows */
        if (k == first || !k->hf || !k[-1].hf || strcmp(k->hf, k[-1].hf) != 0) print_key(k);
}

static const char *sym_name(enum vc_sym s) {
    switch (s) {
        case VC_SYM_VOCAB: return "vocab_size";
        case VC_SYM_HIDDEN: return "hidden_size";
        case VC_SYM_Q: return "num_heads · head_dim";
        case VC_SYM_KV: return "num_kv_heads · head_dim";
        case VC_SYM_HEAD_DIM: return "head_dim";
        case VC_SYM_INTER: return "intermediate_size";
        case VC_SYM_EXPERTS: return "num_experts";
        case VC_SYM_MOE_INTER: return "moe_intermediate_size";
        case VC_SYM_NONE: break;
    }
    return "";
}

static const char *when_name(enum vc_when w) {
    switch (w) {
        case VC_WHEN_ALWAYS: return "always";
        case VC_WHEN_NEVER: return "";
        case VC_WHEN_UNTIED: return "unless tied";
        case VC_WHEN_DENSE: return "dense layers";
        case VC_WHEN_MOE: return "MoE layers";
        case VC_WHEN_QKV_BIAS: return "if q, k, v have biases";
        case VC_WHEN_O_BIAS: return "if the output has a bias";
        case VC_WHEN_MLP_BIAS: return "if the MLP has biases";
    }
    return "";
}

static const char *role_name(enum vc_role r) {
    static const char *const name[VC_NUM_ROLES] = {
        [VC_ROLE_EMBED] = "embedding", [VC_ROLE_HEAD] = "head", [VC_ROLE_FINAL_NORM] = "final norm", [VC_ROLE_INPUT_NORM] = "input norm",
        [VC_ROLE_Q] = "q", [VC_ROLE_K] = "k", [VC_ROLE_V] = "v", [VC_ROLE_O] = "attention output", [VC_ROLE_Q_NORM] = "norm of q", [VC_ROLE_K_NORM] = "norm of k",
        [VC_ROLE_POST_ATTN_NORM] = "norm after attention", [VC_ROLE_PRE_FFN_NORM] = "norm before the MLP", [VC_ROLE_POST_FFN_NORM] = "norm after the MLP",
        [VC_ROLE_GATE] = "gate", [VC_ROLE_UP] = "up", [VC_ROLE_DOWN] = "down", [VC_ROLE_ROUTER] = "router", [VC_ROLE_EXPERT_GATE] = "expert gate",
        [VC_ROLE_EXPERT_UP] = "expert up", [VC_ROLE_EXPERT_DOWN] = "expert down",
    };
    return name[r] ? name[r] : "";
}

/* "model.layers.N.mlp.experts.E.up_proj": the first %u is the layer, the second the expert. */
static void print_pattern(const char *p) {
    if (!p) {
        printf(" |");
        return;
    }
    putchar(' ');
    putchar('`');
    for (char number = 'N'; *p; p++) {
        if (p[0] != '%') {
            putchar(*p);
            continue;
        }
        putchar(number);
        number = 'E';
        p++;
    }
    printf("` |");
}

static void print_layer(const struct vc_layer_line *l) {
    static const char *const block[] = { [VC_BLOCK_NORM] = "norm", [VC_BLOCK_NORM_ADD] = "norm of residual + ", [VC_BLOCK_ATTENTION] = "attention", [VC_BLOCK_FFN] = "MLP or experts" };
    puts("\nLayer:\n\n```");
    for (; l->block != VC_BLOCK_END; l++) {
        const char *dst = l->dst == VC_X ? "x" : "h", *src = l->src == VC_X ? "x" : "h";
        if (l->block == VC_BLOCK_NORM_ADD) printf("residual = residual + %s;  %s = norm(residual)    %s\n", src, dst, role_name(l->weight));
        else printf("%s = %s(%s)%s%s\n", dst, block[l->block], src, l->weight != VC_NUM_ROLES ? "    " : "", l->weight != VC_NUM_ROLES ? role_name(l->weight) : "");
    }
    puts("```");
}

static void print_arch(const struct vc_arch *a) {
    static const struct { uint32_t flag; const char *text; } flags[] = {
        { VC_ARCH_NORM_PLUS_ONE, "norm weights are stored as w - 1 in folders" }, { VC_ARCH_EMBED_SCALE, "embeddings are multiplied by sqrt(hidden_size)" },
        { VC_ARCH_GGUF_ROPE_PAIRS, "GGUF stores q and k in the interleaved rotary order" }, { VC_ARCH_TIED, "the head is tied to the embedding unless the config says otherwise" },
        { VC_ARCH_QKV_BIAS, "q, k and v always have biases" }, { VC_ARCH_WINDOW_ALL, "a sliding window, if set, holds on every layer" },
        { VC_ARCH_LOCAL_ROPE, "sliding layers have their own rotary parameters" }, { VC_ARCH_MOE, "experts in place of the MLP" },
    };
    printf("\n## %s\n\nIn `config.json`:", a->name);
    for (const char *const *n = a->hf_names; *n; n++) printf(" `%s`%s", *n, n[1] ? "," : ".");
    if (a->gguf_name) printf(" In GGUF: `%s`.", a->gguf_name);
    puts("");
    for (size_t i = 0; i < VC_ARRAY_LEN(flags); i++)
        if (a->flags & flags[i].flag) printf("%s* %s\n", a->flags & (flags[i].flag - 1) ? "" : "\n", flags[i].text);
    print_keys("Keys beside the common ones:", a->keys);
    puts("\n| tensor | in folders | in GGUF | shape | present | bias |\n|---|---|---|---|---|---|");
    for (enum vc_role role = 0; role < VC_NUM_ROLES; role++) {
        const struct vc_tensor_row *t = vc_arch_row(a, role);
        if (!t) continue;
        printf("| %s |", role_name(t->role));
        print_pattern(t->hf);
        print_pattern(t->gguf);
        if (t->rows == VC_SYM_NONE) printf(" [%s] |", sym_name(t->cols));
        else printf(" [%s, %s] |", sym_name(t->rows), sym_name(t->cols));
        printf(" %s | %s |\n", when_name(t->when), when_name(t->bias));
    }
    print_layer(a->layer);
}

static void print_models(void) {
    puts("# Models\n\nPrinted by `tools/make-docs` from the tables of `src/model/`; do not edit.\n");
    puts("A model is read from a Hugging Face folder (`config.json` and safetensors) or from a GGUF file. A missing required key, a value out of range and a");
    puts("tensor of another shape are errors that name it. GGUF keys stand after the architecture's name and a point. Tensor names end in `.weight` or `.bias`;");
    puts("N is the layer, E the expert (GGUF keeps all experts of a layer in one tensor of three dimensions). A tensor that the family does not read is an error, too: in GGUF any,");
    puts("in folders those whose names begin with `model.` or `layers.`, but for `rotary_emb` buffers, a head beside a tied embedding and files named `consolidated…`.");
    print_keys("## Common keys", vc_common_keys);
    puts("\n`num_key_value_heads` is `num_attention_heads` when absent, `head_dim` is `hidden_size / num_attention_heads`. GGUF files state neither the activation nor");
    puts("whether the head is tied: the family and the tensors do.");
    puts("\nRotary parameters are read from `rope_theta`, `rope_scaling` or `rope_parameters` (folders) and `rope.*` (GGUF); kinds: default, linear, dynamic, yarn, llama3, longrope.");
    puts("\n## Embeddings\n\nA model makes embeddings in place of text (`--runner auto`) when its class is a base class (`Qwen3Model`), when `modules.json` of sentence-transformers names a");
    puts("Pooling module, when GGUF's `ARCH.pooling_type` is 1 (mean), 2 (cls) or 3 (last), or with `--convert embed`. The vector is the hidden state after the last norm of");
    puts("the last token, unless these files or `--pooler-config` say the first (`CLS`) or the mean of all (`MEAN`), brought to length 1 unless `modules.json` has no Normalize");
    puts("module or `use_activation` is false. Fewer dimensions need `is_matryoshka` or `matryoshka_dimensions` in `config.json`; the vector is cut, then brought to length 1.");
    puts("Attention is causal: `is_causal` false, `use_bidirectional_attention` true and Dense modules are refused. Tensor names may lack the leading `model.`.");
    for (const struct vc_arch *const *a = vc_archs; *a; a++) print_arch(*a);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "ops")) {
        puts("# Ops, slots, cores, kernels\n\nPrinted by `tools/make-docs` from the tables of `src/op/` and `src/kern/cpu/`; do not edit. What they mean: [numerics.md](numerics.md).\n");
        print_ops();
        print_slots();
        print_cores();
        print_kernels();
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "models")) {
        print_models();
        return 0;
    }
    bool fields = argc == 2 && !strcmp(argv[1], "fields");
    if (fields || (argc == 2 && !strcmp(argv[1], "openapi"))) {
        struct vc_buf b = { 0 };
        (fields ? srv_fields_markdown : srv_openapi)(&b);
        if (b.p) fputs(b.p, stdout);
        vc_buf_free(&b);
        return b.failed;
    }
    fputs("usage: doc_tables ops|models|fields|openapi\n", stderr);
    return 2;
}
