/* SPDX-License-Identifier: Apache-2.0
 * Properties on 10,000 seeded cases each: decode(encode(x)) = x where a tokenizer loses nothing; the pieces of a stream join
 * to the whole decode, for the ids of texts and for any ids; ids do not depend on whether offsets are asked for. */
#include "tok_run.h"

#include "base/compat.h"
#include "base/rng.h"

enum { CASES = 10000 };

/* One of the characters and words that tokenizers treat differently. */
static void add_part(struct vc_buf *b, uint64_t *seed) {
    static const char *const parts[] = {
        "the", "Hello", "don't", "I'LL", " ", "  ", "\n", "\r\n", "\t", "7", "1234", "3.14", "foo_bar", "HTTPServer", "!", "...", "\"", "{", "->", "e\xCC\x81", "\xC3\xA9",
        "\xC5\x93uvre", "\xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82", "\xE4\xBD\xA0\xE5\xA5\xBD", "\xE3\x82\xAB\xE3\x82\xBF", "\xEC\x95\x88\xEB\x85\x95", "\xD9\x85\xD8\xB1\xD8\xAD",
        "\xF0\x9F\x98\x80", "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9", "\xE2\x80\x8B", "\xC2\xA0", "\xE3\x80\x80", "\xEF\xBF\xBD", "<s>", "<|im_start|>", "[INST]", "<0x41>",
    };
    uint32_t kind = vc_rng_below(seed, 10);
    if (kind < 8) {
        vc_buf_adds(b, parts[vc_rng_below(seed, sizeof parts / sizeof *parts)]);
    } else {
        uint32_t cp = kind == 8 ? vc_rng_below(seed, 0x3000) : vc_rng_below(seed, 0x110000);
        if (cp >= 0xD800 && cp < 0xE000) cp -= 0x1000;
        if (cp == 0x2581) cp = 'x';    /* stands for a space in some vocabularies */
        vc_buf_utf8(b, cp);
    }
}

static void text_of(struct vc_buf *b, uint64_t *seed) {
    b->n = 0;
    vc_buf_reserve(b, 1);
    for (uint32_t n = vc_rng_below(seed, 14); n > 0; n--) add_part(b, seed);
}

static struct vc_tokenizer *open_golden(const char *rel) {
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    const char *path = vc_golden(rel);
    if (!path) { vc_left_out(rel); return NULL; }
    if (vc_tokenizer_open(&t, path, &err)) { printf("%s\n", err.text); fail(); }
    return t;
}

static void encode(const struct vc_tokenizer *t, const struct vc_buf *b, bool offsets, struct vc_ids *ids) {
    vc_err err = VC_ERR_INIT;
    *ids = (struct vc_ids){ .with_offsets = offsets };
    /* SentencePiece vocabularies put a space before what follows a special token */
    int flags = strcmp(vc_tok_kind(t), "sentencepiece bpe") ? VC_ENC_PARSE_SPECIAL : 0;
    vc_status s = vc_tok_encode(t, b->p, b->n, flags, ids, &err);
    if (s) printf("%s\n", err.text);
    assert_int_equal(s, VC_OK);
}

static void round_trip(void **state) {
    static const char *const files[] = {
        "tokenizers/trained/bl_llama3/tokenizer.json", "tokenizers/trained/bl_kimi/tokenizer.json", "tokenizers/trained/bf_gemma/tokenizer.json",
        "tokenizers/trained/bl_gpt2/tokenizer.json", "tokenizers/trained/bl_o200k/tokenizer.json", "tokenizers/trained/bl_deepseek_v3/tokenizer.json",
        "tokenizers/trained/bl_smollm/tokenizer.json", "tokenizers/real/mistral_tekken_240911_8k.json",
        "tokenizers/real/mistral_spm_240323_v3.model", "tokenizers/llama-cpp-vocab/ggml-vocab-gpt-2.gguf", "tokenizers/llama-cpp-vocab/ggml-vocab-llama-spm.gguf",
    };
    (void)state;
    struct vc_buf b = { 0 }, back = { 0 };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        struct vc_tokenizer *t = open_golden(files[k]);
        uint64_t seed = 1000 + k;
        for (int i = 0; t && i < CASES; i++) {
            struct vc_ids ids, plain;
            vc_err err = VC_ERR_INIT;
            text_of(&b, &seed);
            encode(t, &b, true, &ids);
            encode(t, &b, false, &plain);
            back.n = 0;
            assert_int_equal(vc_tok_decode(t, ids.v, ids.n, false, &back, &err), VC_OK);
            if (back.n != b.n || (b.n && memcmp(back.p, b.p, b.n))) {
                printf("%s: case %d: \"%.*s\" came back as \"%.*s\"\n", files[k], i, (int)b.n, b.p, (int)back.n, back.p ? back.p : "");
                fail();
            }
            assert_int_equal(ids.n, plain.n);
            if (ids.n) assert_memory_equal(ids.v, plain.v, ids.n * sizeof *ids.v);
            for (size_t j = 0; j < ids.n; j++) assert_true(ids.start[j] <= ids.end[j] && ids.end[j] <= b.n);
            vc_ids_free(&ids);
            vc_ids_free(&plain);
        }
        vc_tokenizer_close(t);
    }
    vc_buf_free(&b);
    vc_buf_free(&back);
}

static const char *const all_files[] = {
    "tokenizers/trained/bl_llama3/tokenizer.json", "tokenizers/trained/bf_gemma/tokenizer.json", "tokenizers/trained/bf_mistral_metaspace/tokenizer.json",
    "tokenizers/trained/bl_added_flags/tokenizer.json", "tokenizers/trained/bl_roberta/tokenizer.json", "tokenizers/trained/uni_t5/tokenizer.json",
    "tokenizers/trained/uni_albert/tokenizer.json", "tokenizers/trained/wp_bert_uncased/tokenizer.json", "tokenizers/trained/wl_whitespace/tokenizer.json",
    "tokenizers/trained/bpe_scripts_eow/tokenizer.json", "tokenizers/trained/bf_llama2_legacy/tokenizer.json", "tokenizers/real/mistral_spm_v1.model",
    "tokenizers/llama-cpp-vocab/ggml-vocab-llama-spm.gguf", "tokenizers/llama-cpp-vocab/ggml-vocab-bert-bge.gguf", "tokenizers/llama-cpp-vocab/ggml-vocab-gpt-2.gguf",
};

static void stream_equals(const struct vc_tokenizer *t, const char *file, const int32_t *v, size_t n, bool skip) {
    struct vc_buf whole = { 0 }, joined = { 0 };
    struct vc_detok d;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_tok_decode(t, v, n, skip, &whole, &err), VC_OK);
    vc_detok_init(&d, t, skip);
    for (size_t i = 0; i < n; i++) assert_int_equal(vc_detok_push(&d, v[i], &joined, &err), VC_OK);
    assert_int_equal(vc_detok_finish(&d, &joined, &err), VC_OK);
    vc_detok_free(&d);
    if (joined.n != whole.n || (whole.n && memcmp(joined.p, whole.p, whole.n))) {
        printf("%s: \"%.*s\" streamed as \"%.*s\":", file, (int)whole.n, whole.p ? whole.p : "", (int)joined.n, joined.p ? joined.p : "");
        for (size_t i = 0; i < n; i++) printf(" %d", v[i]);
        printf("\n");
        fail();
    }
    vc_buf_free(&whole);
    vc_buf_free(&joined);
}

static void streams(void **state) {
    (void)state;
    struct vc_buf b = { 0 };
    for (size_t k = 0; k < sizeof all_files / sizeof *all_files; k++) {
        struct vc_tokenizer *t = open_golden(all_files[k]);
        uint64_t seed = 2000 + k;
        for (int i = 0; t && i < CASES / 2; i++) {
            struct vc_ids ids;
            text_of(&b, &seed);
            encode(t, &b, false, &ids);
            stream_equals(t, all_files[k], ids.v, ids.n, i & 1);
            vc_ids_free(&ids);
            int32_t any[12];    /* ids that no text gives */
            size_t n = vc_rng_below(&seed, 12);
            for (size_t j = 0; j < n; j++) any[j] = (int32_t)vc_rng_below(&seed, j & 1 ? vc_tok_size(t) : VC_MIN(vc_tok_size(t), 300u));
            stream_equals(t, all_files[k], any, n, i & 1);
        }
        vc_tokenizer_close(t);
    }
    vc_buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(round_trip), cmocka_unit_test(streams) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
