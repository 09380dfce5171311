/* SPDX-License-Identifier: Apache-2.0
 * Tokenizers: refusals, limits, single components, several threads. Expected cuts are those of the documentation of
 * Hugging Face tokenizers (Split: "the-final--countdown"). */
#include <pthread.h>

#include <jansson.h>

#include "tok_run.h"
#include "io/gguf.h"
#include "text/tok/tok_regex.h"

static const char *put_file(const char *name, const char *text, size_t n) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", VC_TEST_TMP, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
    return path;
}

static vc_status open_text(struct vc_tokenizer **t, const char *json, vc_err *err) {
    return vc_tokenizer_from_json(t, put_file("unit_tokenizer.json", json, strlen(json)), err);
}

/* A tokenizer.json whose vocabulary holds the words given, each a token of its own through ignore_merges. */
static struct vc_tokenizer *with_words(const char *parts, const char *const *words) {
    struct vc_buf b = { 0 };
    int id = 0;
    vc_buf_printf(&b, "{%s\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"unk_token\":\"?\",\"vocab\":{\"?\":0", parts);
    for (; *words; words++) vc_buf_printf(&b, ",\"%s\":%d", *words, ++id);
    vc_buf_adds(&b, "},\"merges\":[]}}");
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    if (open_text(&t, b.p, &err)) { printf("%s\n", err.text); fail(); }
    vc_buf_free(&b);
    return t;
}

/* The words that text is cut into, joined by '|'. */
static void cuts(const struct vc_tokenizer *t, const char *text, const char *want) {
    struct vc_ids ids = { 0 };
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_tok_encode(t, text, strlen(text), 0, &ids, &err), VC_OK);
    for (size_t i = 0; i < ids.n; i++) {
        vc_str w = vc_tok_text(t, ids.v[i]);
        if (i) vc_buf_addc(&b, '|');
        vc_buf_add(&b, w.p, w.n);
    }
    assert_string_equal(b.p ? b.p : "", want);
    vc_buf_free(&b);
    vc_ids_free(&ids);
}

static void split_behaviors(void **state) {
    static const char *const words[] = { "the", "-", "final", "countdown", "--", "the-", "final-", "-final", "-countdown", NULL };
    static const struct { const char *behavior, *want; } cases[] = {
        { "Removed", "the|final|countdown" }, { "Isolated", "the|-|final|-|-|countdown" }, { "MergedWithPrevious", "the-|final-|-|countdown" },
        { "MergedWithNext", "the|-final|-|-countdown" }, { "Contiguous", "the|-|final|--|countdown" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int regex = 0; regex < 2; regex++) {
            char parts[256];
            snprintf(parts, sizeof parts, "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"%s\":\"-\"},\"behavior\":\"%s\",\"invert\":false},",
                     regex ? "Regex" : "String", cases[i].behavior);
            struct vc_tokenizer *t = with_words(parts, words);
            cuts(t, "the-final--countdown", cases[i].want);
            vc_tokenizer_close(t);
        }
    }
}

static void refusals(void **state) {
    static const struct { const char *json; vc_status status; const char *says; } cases[] = {
        { "{", VC_E_FORMAT, "unit_tokenizer.json" },
        { "[]", VC_E_NOT_FOUND, "model" },
        { "{}", VC_E_NOT_FOUND, "model" },
        { "{\"model\":{\"type\":\"Trigram\",\"vocab\":[]}}", VC_E_UNSUPPORTED, "Trigram" },
        { "{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",-1]]}}", VC_E_FORMAT, "model.unk_id" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"b\"]]}}", VC_E_FORMAT, "model.vocab.1" },
        { "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"vocab\":{\"a\":0}}}", VC_E_FORMAT, "unk_token" },
        { "{\"normalizer\":{\"type\":\"Precompiled\"},\"model\":{}}", VC_E_NOT_FOUND, "precompiled_charsmap" },
        { "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"},\"model\":{}}", VC_E_FORMAT, "not base64" },
        { "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"},\"model\":{}}", VC_E_FORMAT, "double array" },
        { "{\"normalizer\":\"NFC\",\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}", VC_E_FORMAT, "normalizer" },
        { "{\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"BertProcessing\",\"sep\":[\"a\",0],\"cls\":[\"a\",0]},"
          "{\"type\":\"BertProcessing\",\"sep\":[\"a\",0],\"cls\":[\"a\",0]}]},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
          VC_E_UNSUPPORTED, "processors.1" },
        { "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Odd\"}]},\"model\":{}}", VC_E_UNSUPPORTED, "normalizer.normalizers.1" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"}},\"model\":{}}", VC_E_UNSUPPORTED, "regex" },
        { "{\"decoder\":{\"type\":\"CTC\"},\"model\":{}}", VC_E_NOT_FOUND, "pad_token" },
        { "{\"decoder\":{\"type\":\"Odd\"},\"model\":{}}", VC_E_UNSUPPORTED, "Odd" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", VC_E_FORMAT, "\"b\" is not in the vocabulary" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"ab\"]}}", VC_E_FORMAT, "model.merges.0" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", VC_E_FORMAT, "model.vocab" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":2000000000},\"merges\":[]}}", VC_E_FORMAT, "model.vocab" },
        { "{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}}", VC_E_UNSUPPORTED, "dropout" },
        { "{\"added_tokens\":[{\"content\":\"x\"}],\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}", VC_E_FORMAT, "added_tokens" },
        { "{\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"a\",7],\"cls\":[\"a\",0]},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
          VC_E_FORMAT, "sep" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vc_tokenizer *t = NULL;
        vc_err err = VC_ERR_INIT;
        vc_status s = open_text(&t, cases[i].json, &err);
        if (s != cases[i].status || !strstr(err.text, cases[i].says)) printf("case %zu: %s: %s\n", i, vc_status_name(s), err.text);
        assert_int_equal(s, cases[i].status);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_null(t);
    }
}

static void bad_input(void **state) {
    static const char *const words[] = { "a", "b", NULL };
    (void)state;
    struct vc_tokenizer *t = with_words("", words);
    struct vc_ids ids = { 0 };
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_tok_encode(t, "ab\xFFz", 4, 0, &ids, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "byte offset 2"));
    assert_int_equal(ids.n, 0);
    assert_int_equal(vc_tok_encode(t, "ab", 2, 0, &ids, &err), VC_OK);
    assert_int_equal(vc_tok_decode(t, (const int32_t[]){ 0, 77 }, 2, false, &b, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "77"));
    assert_int_equal(vc_tok_decode(t, (const int32_t[]){ -5 }, 1, false, &b, &err), VC_E_INVALID);
    assert_non_null(strstr(err.text, "-5"));
    assert_int_equal(vc_tok_encode(t, "", 0, 3, &ids, &err), VC_OK);
    assert_int_equal(vc_tok_text(t, 99).n, 0);
    assert_int_equal(vc_tok_find(t, "b", 1), 2);
    assert_int_equal(vc_tok_find(t, "zz", 2), -1);
    vc_ids_free(&ids);
    vc_buf_free(&b);
    vc_tokenizer_close(t);
}

/* A file cut at any place, or with one byte changed, is an error or a tokenizer, never a crash. */
static void damaged(void **state) {
    (void)state;
    const char *p = vc_golden("tokenizers/trained/bl_added_flags/tokenizer.json");
    if (!p) { vc_left_out("tokenizers/trained/bl_added_flags"); return; }
    static char text[1 << 17];
    FILE *f = fopen(p, "rb");
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    uint64_t seed = 5;
    for (int i = 0; i < 150; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(seed >> 33) % (i & 1 ? n : 3000);
        char old = text[at];
        text[at] = (char)(seed >> 24);
        struct vc_tokenizer *t = NULL;
        vc_err err = VC_ERR_INIT;
        vc_status s = vc_tokenizer_from_json(&t, put_file("damaged.json", text, i % 3 ? n : at + 1), &err);
        assert_true((s == VC_OK) == (t != NULL));
        if (t) {
            struct vc_ids ids = { .with_offsets = true };
            vc_tok_encode(t, "Hello <mask> tok\xC3\xA9n", 19, 3, &ids, &err);
            vc_ids_free(&ids);
        }
        vc_tokenizer_close(t);
        text[at] = old;
    }
}

/* Long runs: what comes back is the text, and no run takes quadratic time (the test's time limit would end it). */
static void long_words(void **state) {
    static const char *const names[] = { "bl_llama3", "bl_kimi", "bl_added_flags", "bf_gemma", "bf_mistral_metaspace" };
    static const char *const units[] = { "a", " ", "\n", "\xF0\x9F\x98\x80", "7", "!", " \n", "ab", "e\xCC\x81", "\xE6\x97\xA5" };
    enum { SIZE = 1000000 };
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char rel[256];
        snprintf(rel, sizeof rel, "tokenizers/trained/%s/tokenizer.json", names[k]);
        const char *p = vc_golden(rel);
        if (!p) { vc_left_out(rel); continue; }
        struct vc_tokenizer *t = NULL;
        vc_err err = VC_ERR_INIT;
        assert_int_equal(vc_tokenizer_open(&t, p, &err), VC_OK);
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            struct vc_buf b = { 0 }, back = { 0 };
            struct vc_ids ids = { 0 };
            while (b.n < SIZE) vc_buf_adds(&b, units[u]);
            assert_int_equal(vc_tok_encode(t, b.p, b.n, 0, &ids, &err), VC_OK);
            assert_int_equal(vc_tok_decode(t, ids.v, ids.n, false, &back, &err), VC_OK);
            bool nfc = !strcmp(names[k], "bl_added_flags") && !strcmp(units[u], "e\xCC\x81");    /* composed by its normalizer */
            bool stripped = !strcmp(names[k], "bf_mistral_metaspace") && units[u][0] == ' ';    /* its decoder drops a first space */
            if (stripped) {
                assert_int_equal(back.n, b.n - 1);
                assert_memory_equal(back.p, b.p + 1, back.n);
            } else if (!nfc) {
                assert_int_equal(back.n, b.n);
                assert_memory_equal(back.p, b.p, b.n);
            }
            vc_buf_free(&b);
            vc_buf_free(&back);
            vc_ids_free(&ids);
        }
        vc_tokenizer_close(t);
    }
}

/* A megabyte of one thing through every kind of model: no run takes more than a moment, whatever comes out. */
static void long_runs(void **state) {
    static const char *const files[] = {
        "tokenizers/trained/uni_albert/tokenizer.json", "tokenizers/trained/uni_t5/tokenizer.json", "tokenizers/trained/wp_bert_uncased/tokenizer.json",
        "tokenizers/trained/wl_whitespace/tokenizer.json", "tokenizers/trained/bpe_scripts_eow/tokenizer.json", "tokenizers/real/mistral_spm_v1.model",
        "tokenizers/real/mistral_tekken_240911_8k.json", "tokenizers/llama-cpp-vocab/ggml-vocab-bert-bge.gguf",
    };
    static const char *const units[] = { "a", " ", "\xF0\x9F\x98\x80", "7", "e\xCC\x81", "\xE6\x97\xA5", "\xCC\x81", "don't " };
    enum { SIZE = 1000000 };
    (void)state;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        const char *p = vc_golden(files[k]);
        if (!p) { vc_left_out(files[k]); continue; }
        struct vc_tokenizer *t = NULL;
        vc_err err = VC_ERR_INIT;
        assert_int_equal(vc_tokenizer_open(&t, p, &err), VC_OK);
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            struct vc_buf b = { 0 };
            struct vc_ids ids = { 0 };
            while (b.n < SIZE) vc_buf_adds(&b, units[u]);
            vc_status s = vc_tok_encode(t, b.p, b.n, 0, &ids, &err);
            if (s) printf("%s: \"%s\": %s\n", files[k], units[u], err.text);
            assert_int_equal(s, VC_OK);
            vc_buf_free(&b);
            vc_ids_free(&ids);
        }
        vc_tokenizer_close(t);
    }
}

/* Files of the other formats: each refusal names the file and what is wrong in it. */
static void other_formats(void **state) {
#define LEN(x) (x), sizeof(x) - 1
    static const struct { const char *name, *data; size_t n; vc_status status; const char *says; } cases[] = {
        { "tekken.json", LEN("{\"config\":{},\"vocab\":[]}"), VC_E_NOT_FOUND, "config.pattern" },
        { "tekken.json", LEN("{\"config\":{\"pattern\":\"a\",\"default_vocab_size\":5,\"default_num_special_tokens\":1},\"vocab\":[]}"), VC_E_FORMAT, "default_vocab_size" },
        { "tekken.json", LEN("{\"config\":{\"pattern\":\"a\",\"default_vocab_size\":1,\"default_num_special_tokens\":0},\"vocab\":[{\"rank\":0,\"token_bytes\":\"QQ==\"}]}"),
          VC_E_FORMAT, "single byte 0x00" },
        { "tekken.json", LEN("{\"config\":{\"pattern\":\"a\",\"default_vocab_size\":1,\"default_num_special_tokens\":0},\"vocab\":[{\"rank\":9,\"token_bytes\":\"QQ==\"}]}"),
          VC_E_FORMAT, "vocab.0" },
        { "r50k_base.tiktoken", LEN("QQ== 0\nQg== x\n"), VC_E_FORMAT, "r50k_base.tiktoken:2" },
        { "r50k_base.tiktoken", LEN("QQ== 0\nQg== 0\n"), VC_E_FORMAT, "r50k_base.tiktoken:2" },
        { "r50k_base.tiktoken", LEN("QQ== 99999999\n"), VC_E_FORMAT, ":1:" },
        { "odd.tiktoken", LEN("QQ== 0\n"), VC_E_UNSUPPORTED, "odd.tiktoken" },
        { "x.model", LEN("\n\x05\n\x03<u>"), VC_E_FORMAT, "0 unknown pieces" },
        { "x.model", LEN("\n\x05\n\x7f<u>"), VC_E_FORMAT, "pieces.0" },
        { "x.model", LEN("\n\xff\xff\xff\xff\x0f<u>"), VC_E_FORMAT, "no protocol buffer field" },
        { "x.model", LEN("\n\x05\n\x03<u>\n\x05\n\x03<u>"), VC_E_FORMAT, "same text" },
        { "x.model", LEN("\n\x07\n\x03<u>\x18\x02\x12\x02\x18\x03"), VC_E_UNSUPPORTED, "model_type" },
        { "x.model", LEN("\n\x07\n\x03<u>\x18\x02\x1a\x06\x12\x04\xff\xff\xff\xff"), VC_E_FORMAT, "precompiled_charsmap" },
    };
#undef LEN
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vc_tokenizer *t = NULL;
        vc_err err = VC_ERR_INIT;
        const char *path = put_file(cases[i].name, cases[i].data, cases[i].n);
        vc_status s = vc_tokenizer_open(&t, path, &err);
        if (s != cases[i].status || !strstr(err.text, cases[i].says)) printf("case %zu: %s: %s\n", i, vc_status_name(s), err.text);
        assert_int_equal(s, cases[i].status);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_non_null(strstr(err.text, cases[i].name));
        assert_null(t);
        remove(path);
    }
}

/* A Precompiled normalizer with one rule, "A" to "bc", as a double array of SentencePiece's form made by hand. */
static void charsmap(void **state) {
    (void)state;
    static uint8_t blob[4 + 0x142 * 4 + 3];
    static char json[8192];
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t units[3][2] = { { 0, 0x100u << 10 }, { 0x141, 'A' | 1u << 8 | 0x100u << 10 }, { 0x41, 1u << 31 } };
    const uint32_t size = 0x142 * 4;
    memcpy(blob, &size, 4);    /* little-endian machines only, as the readers of the file's bytes are not */
    for (int i = 0; i < 3; i++) memcpy(blob + 4 + units[i][0] * 4, &units[i][1], 4);
    memcpy(blob + 4 + size, "bc", 3);
    int k = snprintf(json, sizeof json, "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
    for (size_t i = 0; i < sizeof blob; i += 3) {
        uint32_t v = (uint32_t)blob[i] << 16 | (i + 1 < sizeof blob ? (uint32_t)blob[i + 1] << 8 : 0) | (i + 2 < sizeof blob ? blob[i + 2] : 0u);
        for (int j = 0; j < 4; j++) json[k++] = i + (size_t)j <= sizeof blob ? digits[v >> (18 - 6 * j) & 63] : '=';
    }
    snprintf(json + k, sizeof json - (size_t)k, "\"},\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"xbcybc\":1}}}");
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    if (open_text(&t, json, &err)) printf("%s\n", err.text);
    assert_non_null(t);
    cuts(t, "xAyA", "xbcybc");
    cuts(t, "xA\xCC\x81", "?");
    vc_tokenizer_close(t);
}

static void regex_rewriting(void **state) {
    static const struct { const char *re, *text, *want; } cases[] = {
        { "[a-z&&[^aeiou]]+", "aebcdo", "bcd" },
        { "[\\p{L}&&[^\\p{Han}]]+", "\xE6\x97\xA5" "abc", "abc" },
        { "[ab[cd]]+", "xxabcdyy", "abcd" },
        { "[^a[bc]]+", "abcxyz", "xyz" },
        { "[^\\S\\n]+", "a \t\nb", " \t" },
        { "\\h+", "xyzBEEFq", "BEEF" },
        { "a{2}+", "aaaaa", "aaaa" },
        { "\\u0041+", "xAAx", "AA" },
        { "\\bfoo\\b", "afoo foo", "foo" },
        { "a{,2}b", "aaab", "aab" },
        { "^b", "a\nb", "b" },
        { "(?i:'S)", "it's", "'s" },
        { "[\\w-]+", "!ab-c!", "ab-c" },
        { "[\\[-`]+", "a^_`b", "^_`" },
        { "\\p{Alpha}", "1", NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vc_tok_regex *r = NULL;
        struct vc_regex_run run = { 0 };
        vc_err err = VC_ERR_INIT;
        vc_status s = vc_tok_regex_new(&r, cases[i].re, strlen(cases[i].re), NULL, &err);
        if (!cases[i].want) { assert_int_equal(s, VC_E_UNSUPPORTED); continue; }
        if (s) printf("%s\n", err.text);
        assert_int_equal(s, VC_OK);
        size_t a = 0, b = 0;
        bool found = false;
        assert_int_equal(vc_tok_regex_find(r, &run, cases[i].text, strlen(cases[i].text), 0, &a, &b, &found, &err), VC_OK);
        assert_true(found);
        if (b - a != strlen(cases[i].want) || memcmp(cases[i].text + a, cases[i].want, b - a)) printf("%s: \"%.*s\"\n", cases[i].re, (int)(b - a), cases[i].text + a);
        assert_int_equal(b - a, strlen(cases[i].want));
        assert_memory_equal(cases[i].text + a, cases[i].want, b - a);
        vc_regex_run_free(&run);
        vc_tok_regex_free(r);
    }
}

/* A pattern that backtracks without end becomes an error. */
static void runaway(void **state) {
    static const char *const words[] = { "a", NULL };
    (void)state;
    struct vc_tokenizer *t = with_words("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a|a|aa)+[xy]z\"},\"behavior\":\"Isolated\",\"invert\":false},", words);
    struct vc_ids ids = { 0 };
    vc_err err = VC_ERR_INIT;
    char text[200];
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 2, "-z", 2);
    assert_int_equal(vc_tok_encode(t, text, sizeof text, 0, &ids, &err), VC_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "regex"));
    vc_ids_free(&ids);
    vc_tokenizer_close(t);
}

static void files_beside(void **state) {
    (void)state;
    static const char json[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"<s>\":0,\"</s>\":1,\"a\":2},\"merges\":[]}}";
    static const char config[] = "{\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":\"</s>\",\"chat_template\":[{\"name\":\"rag\",\"template\":\"R\"},"
                                 "{\"name\":\"default\",\"template\":\"D\"}]}";
    put_file("tokenizer_config.json", config, sizeof config - 1);
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(open_text(&t, json, &err), VC_OK);
    assert_int_equal(vc_tok_bos(t), 0);
    assert_int_equal(vc_tok_eos(t), 1);
    assert_string_equal(vc_tok_chat_template(t), "D");
    vc_tokenizer_close(t);
    put_file("chat_template.jinja", "J", 1);
    assert_int_equal(open_text(&t, json, &err), VC_OK);
    assert_string_equal(vc_tok_chat_template(t), "J");
    vc_tokenizer_close(t);
    remove(put_file("chat_template.jinja", "", 0));
    remove(put_file("tokenizer_config.json", "", 0));
}

/* The pre-tokenizer's name in a GGUF file is changed to one that nobody knows. */
static void unknown_pre(void **state) {
    (void)state;
    const char *p = vc_golden("tokenizers/llama-cpp-vocab/ggml-vocab-gpt-2.gguf");
    if (!p) { vc_left_out("ggml-vocab-gpt-2.gguf"); return; }
    FILE *f = fopen(p, "rb");
    static char data[4 << 20];
    size_t n = fread(data, 1, sizeof data, f), key = 0;
    fclose(f);
    while (key + 18 < n && memcmp(data + key, "tokenizer.ggml.pre", 18)) key++;
    memcpy(data + key + 18 + 4 + 8, "gpt-X", 5);    /* key, type, length, text */
    struct vc_gguf *g = NULL;
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_gguf_open_mem(&g, data, n, "changed.gguf", &err), VC_OK);
    assert_int_equal(vc_tokenizer_from_gguf(&t, g, &err), VC_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "gpt-X"));
    assert_non_null(strstr(err.text, "llama-bpe"));
    vc_gguf_close(g);
}

struct worker { const struct vc_tokenizer *t; size_t ids; bool ok; };
static void *work(void *arg) {
    struct worker *w = arg;
    size_t n;
    const struct tok_string *s = tok_strings(&n);
    w->ok = true;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < n; i++) {
            struct vc_ids ids = { .with_offsets = i & 1 };
            vc_err err = VC_ERR_INIT;
            w->ok = w->ok && vc_tok_encode(w->t, s[i].text, s[i].n, 3, &ids, &err) == VC_OK;
            for (size_t k = 0; k < ids.n; k++) w->ids = w->ids * 31 + (size_t)ids.v[k];
            vc_ids_free(&ids);
        }
    }
    return NULL;
}

static void threads(void **state) {
    (void)state;
    const char *p = vc_golden("tokenizers/trained/bl_llama3/tokenizer.json");
    size_t n;
    if (!p || !tok_strings(&n)) { vc_left_out("tokenizers/trained/bl_llama3"); return; }
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_tokenizer_open(&t, p, &err), VC_OK);
    struct worker w[4];
    pthread_t id[4];
    for (int i = 0; i < 4; i++) {
        w[i] = (struct worker){ .t = t };
        assert_int_equal(pthread_create(&id[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
    for (int i = 0; i < 4; i++) assert_true(w[i].ok && w[i].ids == w[0].ids);
    vc_tokenizer_close(t);
}

static void pieces(void **state) {
    (void)state;
    static const struct { const char *file, *token, *want; } cases[] = {
        { "bl_llama3", "\xC4\xA0the", " the" }, { "bf_gemma", "\xE2\x96\x81the", " the" }, { "bf_gemma", "<0x0A>", "\n" },
        { "bl_llama3", "<|eot_id|>", "<|eot_id|>" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rel[256];
        snprintf(rel, sizeof rel, "tokenizers/trained/%s/tokenizer.json", cases[i].file);
        const char *p = vc_golden(rel);
        if (!p) { vc_left_out(rel); continue; }
        struct vc_tokenizer *t = NULL;
        struct vc_buf b = { 0 };
        vc_err err = VC_ERR_INIT;
        assert_int_equal(vc_tokenizer_open(&t, p, &err), VC_OK);
        int32_t id = vc_tok_find(t, cases[i].token, strlen(cases[i].token));
        assert_true(id >= 0);
        assert_int_equal(vc_tok_piece(t, id, &b, &err), VC_OK);
        assert_string_equal(b.p, cases[i].want);
        vc_buf_free(&b);
        vc_tokenizer_close(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_behaviors), cmocka_unit_test(refusals), cmocka_unit_test(bad_input), cmocka_unit_test(damaged),
        cmocka_unit_test(long_words), cmocka_unit_test(long_runs), cmocka_unit_test(other_formats), cmocka_unit_test(charsmap),
        cmocka_unit_test(regex_rewriting), cmocka_unit_test(runaway), cmocka_unit_test(files_beside),
        cmocka_unit_test(unknown_pre), cmocka_unit_test(threads), cmocka_unit_test(pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
