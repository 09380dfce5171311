/* SPDX-License-Identifier: Apache-2.0
 * Tokenizers against what Hugging Face tokenizers and llama.cpp gave for the same vocabularies and strings. */
#include "tok_run.h"

#include <dirent.h>

static struct vc_tokenizer *open_or_fail(const char *path) {
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    if (vc_tokenizer_open(&t, path, &err)) {
        printf("%s\n", err.text);
        fail();
    }
    return t;
}

/* tokenizers/trained/NAME */
static size_t trained(const char *name) {
    char rel[256];
    snprintf(rel, sizeof rel, "tokenizers/trained/%s/golden.jsonl", name);
    const char *g = vc_golden(rel);
    snprintf(rel, sizeof rel, "tokenizers/trained/%s/tokenizer.json", name);
    const char *j = vc_golden(rel);
    if (!g || !j) { vc_left_out(rel); return 0; }
    struct vc_tokenizer *t = open_or_fail(j);
    size_t bad = tok_check_hf(t, g, name, NULL, true);
    vc_tokenizer_close(t);
    return bad;
}

static void trained_tokenizers(void **state) {
    static const char *const names[] = {
        "bl_gpt2", "bl_roberta", "bl_llama3", "bl_qwen2", "bl_qwen35", "bl_o200k", "bl_tekken", "bl_kimi", "bl_deepseek_v3", "bl_deepseek_coder",
        "bl_smollm", "bl_neox", "bl_added_flags", "bl_added_normalized", "bf_llama2_legacy", "bf_mistral_metaspace", "bf_gemma", "bf_phi3_nodummy",
        "bpe_clip", "bpe_unk_nofuse", "bpe_no_unk", "bpe_scripts_eow", "norm_bytelevel", "split_chardelim", "split_contiguous", "split_fixed_length",
        "split_invert", "split_isolated_str", "split_merged_with_previous", "split_merged_with_next", "split_punct_contiguous", "split_punct_removed",
        "split_removed", "uni_t5", "uni_xlmr", "uni_albert", "uni_byte_fallback", "wp_bert_uncased", "wp_bert_cased", "wp_keep_accents", "wl_whitespace",
        "wl_punct_digits",
    };
    (void)state;
    size_t bad = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) bad += trained(names[i]);
    assert_int_equal(bad, 0);
}

/* Folders of the same form elsewhere: every folder of $VLLMC_TOKENIZERS that holds tokenizer.json and golden.jsonl. */
static void own_recordings(void **state) {
    (void)state;
    const char *root = getenv("VLLMC_TOKENIZERS");
    DIR *d = root ? opendir(root) : NULL;
    if (!d) { vc_left_out("$VLLMC_TOKENIZERS"); return; }
    size_t bad = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char j[1024], g[1024];
        snprintf(j, sizeof j, "%s/%s/tokenizer.json", root, e->d_name);
        snprintf(g, sizeof g, "%s/%s/golden.jsonl", root, e->d_name);
        FILE *f = fopen(g, "rb");
        if (!f) continue;
        fclose(f);
        struct vc_tokenizer *t = open_or_fail(j);
        bad += tok_check_hf(t, g, e->d_name, NULL, true);
        vc_tokenizer_close(t);
    }
    closedir(d);
    assert_int_equal(bad, 0);
}

/* Two texts at once: ids, types, and which tokens were added. */
static void pairs(void **state) {
    (void)state;
    const char *g = vc_golden("tokenizers/trained/pairs.jsonl");
    if (!g) { vc_left_out("tokenizers/trained/pairs.jsonl"); return; }
    size_t equal = 0, total = 0, absent = 0;
    assert_true(tok_check_pairs(g, &equal, &total, &absent));
    printf("pairs: %zu/%zu equal, %zu of tokenizers that are not here\n", equal, total, absent);
    assert_true(total > 200);
    assert_int_equal(equal, total);
}

/* The three strings on which Hugging Face and llama.cpp differ prove nothing for either (README of the goldens). */
static const char *const gemma_aside[] = { "spaces.9", "special.43", "repeat10k.space", NULL };

static void smollm2(void **state) {
    (void)state;
    const char *j = vc_golden("tokenizers/real/smollm2.tokenizer.json"), *g = vc_golden("tokenizers/real/smollm2.golden.jsonl");
    if (!j || !g) { vc_left_out("tokenizers/real/smollm2"); return; }
    struct vc_tokenizer *t = open_or_fail(j);
    assert_int_equal(tok_check_hf(t, g, "smollm2 tokenizer.json", NULL, true), 0);
    vc_tokenizer_close(t);
}

static void model_file(const char *file, const char *hf, const char *llama, const char *const *aside) {
    const char *dir = getenv("VLLMC_MODELS");
    char path[1024], home[512];
    snprintf(home, sizeof home, "%s/.cache/vllmc/models", getenv("HOME") ? getenv("HOME") : "");
    snprintf(path, sizeof path, "%s/%s", dir ? dir : home, file);
    const char *g = vc_golden(hf), *l = vc_golden(llama);
    FILE *f = fopen(path, "rb");
    if (!f || !g || !l) {
        vc_left_out(file);
        if (f) fclose(f);
        return;
    }
    fclose(f);
    struct vc_tokenizer *t = open_or_fail(path);
    char name[256];
    snprintf(name, sizeof name, "%s, Hugging Face", file);
    size_t bad = tok_check_hf(t, g, name, aside, true);
    snprintf(name, sizeof name, "%s, llama.cpp", file);
    bad += tok_check_llama(t, l, name, NULL);
    vc_tokenizer_close(t);
    assert_int_equal(bad, 0);
}

static void smollm2_gguf(void **state) {
    (void)state;
    model_file("SmolLM2-135M-Instruct.Q4_1.gguf", "tokenizers/real/smollm2.golden.jsonl", "tokenizers/real/smollm2.llama_cpp.jsonl", NULL);
}
static void gemma3_gguf(void **state) {
    (void)state;
    model_file("gemma-3-270m-q4_k_m.gguf", "tokenizers/real/gemma3.golden.jsonl", "tokenizers/real/gemma3.llama_cpp.jsonl", gemma_aside);
}

/* Mistral's files against mistral_common; the whole tekken file is not among the reference data: its first ranks are. */
static void mistral(void **state) {
    static const struct { const char *file, *golden; } cases[] = {
        { "mistral_spm_v1.model", "mistral_spm_v1" }, { "mistral_spm_240323_v3.model", "mistral_spm_240323_v3" },
        { "mistral_tekken_240911_8k.json", "mistral_tekken_240911_8k" }, { "tekken_240911.json", "mistral_tekken_240911" },
    };
    (void)state;
    size_t bad = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rel[256], own[1024];
        snprintf(rel, sizeof rel, "tokenizers/real/%s", cases[i].file);
        const char *p = vc_golden(rel), *dir = getenv("VLLMC_MODELS");
        snprintf(own, sizeof own, "%s/%s", dir ? dir : ".", cases[i].file);
        FILE *f = p ? NULL : fopen(own, "rb");
        if (f) { fclose(f); p = own; }
        snprintf(rel, sizeof rel, "tokenizers/real/%s.golden.jsonl", cases[i].golden);
        const char *g = vc_golden(rel);
        if (!p || !g) { vc_left_out(cases[i].file); continue; }
        struct vc_tokenizer *t = open_or_fail(p);
        bad += tok_check_hf(t, g, cases[i].file, NULL, true);
        vc_tokenizer_close(t);
    }
    assert_int_equal(bad, 0);
}

/* llama.cpp's own test vocabularies, with its .inp and .out beside our strings. */
static size_t inp_out(const struct vc_tokenizer *t, const char *name) {
    char rel[256], line[8192];
    snprintf(rel, sizeof rel, "tokenizers/llama-cpp-vocab/ggml-vocab-%s.gguf.inp", name);
    FILE *in = fopen(vc_golden(rel), "rb");
    snprintf(rel, sizeof rel, "tokenizers/llama-cpp-vocab/ggml-vocab-%s.gguf.out", name);
    FILE *out = fopen(vc_golden(rel), "rb");
    assert_true(in && out);
    static char text[1 << 16];
    static const char cut[] = "\n__ggml_vocab_test__\n";
    size_t n = fread(text, 1, sizeof text - 1, in), equal = 0, total = 0;
    text[n] = '\0';
    for (char *p = text, *q; (q = strstr(p, cut)) && fgets(line, sizeof line, out); p = q + sizeof cut - 1) {
        struct vc_ids got = { 0 };
        vc_err err = VC_ERR_INIT;
        assert_int_equal(vc_tok_encode(t, p, (size_t)(q - p), 0, &got, &err), VC_OK);
        bool ok = true;
        char *s = line;
        for (size_t i = 0; i < got.n && ok; i++) ok = strtol(s, &s, 10) == got.v[i];
        ok = ok && strspn(s, " \r\n") == strlen(s);
        equal += ok;
        total++;
        vc_ids_free(&got);
    }
    fclose(in);
    fclose(out);
    printf("%s .inp/.out: %zu/%zu equal\n", name, equal, total);
    assert_true(total > 40);
    return total - equal;
}

static void llama_vocabularies(void **state) {
    static const char *const names[] = { "gpt-2", "falcon", "mpt", "starcoder", "deepseek-coder", "llama-spm", "phi-3", "bert-bge" };
    (void)state;
    size_t bad = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char rel[256];
        snprintf(rel, sizeof rel, "tokenizers/llama-cpp-vocab/ggml-vocab-%s.gguf", names[i]);
        const char *p = vc_golden(rel);
        snprintf(rel, sizeof rel, "tokenizers/llama-cpp-vocab/%s.llama_cpp.jsonl", names[i]);
        const char *g = vc_golden(rel);
        if (!p || !g) { vc_left_out(rel); continue; }
        struct vc_tokenizer *t = open_or_fail(p);
        bad += tok_check_llama(t, g, names[i], NULL);
        bad += inp_out(t, names[i]);
        vc_tokenizer_close(t);
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trained_tokenizers), cmocka_unit_test(own_recordings), cmocka_unit_test(pairs), cmocka_unit_test(smollm2),
        cmocka_unit_test(smollm2_gguf), cmocka_unit_test(gemma3_gguf), cmocka_unit_test(mistral), cmocka_unit_test(llama_vocabularies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
