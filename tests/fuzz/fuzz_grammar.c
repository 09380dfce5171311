/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a grammar and a text for it: the kind (first byte), the spec up to a byte 0xFF, the text. Compiled and
 * run under small budgets over a small vocabulary. Refusals say why; a mask tells exactly which tokens are then
 * taken. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "text/grammar.h"

static const char *const words[] = { "a", "b", "\"", "\":", "{",    "}",    ",",   " ",  "\\", "true",
                                     "1", "[", "]",  "ab",  "\xC3", "\xA9", "{\"", "\n", "-",  "" };
enum { WORDS = sizeof words / sizeof *words };

static struct vc_grammar_vocab *vocabulary(void) {
    uint32_t len[WORDS];
    vc_err err = VC_ERR_INIT;
    struct vc_grammar_vocab *v = NULL;
    for (int i = 0; i < WORDS; i++) len[i] = (uint32_t)strlen(words[i]);
    FUZZ_CHECK(vc_grammar_vocab_new(&v, words, len, WORDS, (int32_t[]){ WORDS - 1 }, 1, &err) == VC_OK);
    return v;
}

/* The mask against what the matcher takes; takes the token that the byte points at. */
static void step(struct vc_matcher *m, uint8_t pick) {
    uint32_t bits[1];
    vc_err err = VC_ERR_INIT;
    if (vc_matcher_mask(m, bits, &err) != VC_OK) {
        FUZZ_CHECK(err.text[0]);
        return;
    }
    for (int i = 0; i < WORDS; i++) {
        bool taken = vc_matcher_accept_token(m, i);
        FUZZ_CHECK(taken == (bits[0] >> i & 1));
        if (taken) FUZZ_CHECK(vc_matcher_rollback(m, 1));
    }
    if (pick < WORDS) vc_matcher_accept_token(m, pick);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static struct vc_grammar_vocab *v;
    if (!v) v = vocabulary();
    if (n < 1 || n > 65536) return 0;
    const uint8_t *end = memchr(data + 1, 0xFF, n - 1);
    size_t spec = end ? (size_t)(end - data) - 1 : n - 1;
    struct vc_grammar_options opt = {
        .whitespace = data[0] & 8 ? VC_GRAMMAR_WS_ANY : 2,
        .limits = { .nodes = 50000, .states = 20000, .memory_bytes = 8u << 20, .time_ms = 500, .items = 1000 }
    };
    struct vc_grammar *g = NULL;
    struct vc_grammar_where where;
    struct vc_matcher *m = NULL;
    vc_err err = VC_ERR_INIT;
    if (vc_grammar_compile(&g, (enum vc_grammar_kind)((data[0] & 7) % 6), (const char *)data + 1, spec, &opt, &where,
                           &err) != VC_OK) {
        FUZZ_CHECK(!g && err.text[0]);
        return 0;
    }
    FUZZ_CHECK(vc_matcher_new(&m, g, v, &err) == VC_OK);
    step(m, 255);
    for (const uint8_t *p = end ? end + 1 : data + n; p < data + n; p++) {
        if (!vc_matcher_accept_bytes(m, (const char *)p, 1)) step(m, *p & 31);
        if ((p - data) % 8 == 0) step(m, 255);
        char b[16];
        size_t k = vc_matcher_forced(m, b, sizeof b);
        if (k) FUZZ_CHECK(vc_matcher_prefix(m, b, k) == k);
    }
    vc_matcher_del(m);
    vc_grammar_unref(g);
    return 0;
}
