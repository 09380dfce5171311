/* SPDX-License-Identifier: Apache-2.0
 * tok_tekken.c: a tokenizer from Mistral's tekken.json: special tokens first, then ranks. Behaves as mistral_common 1.13's
 * Tekkenizer: special tokens in a text are text (but see VC_ENC_PARSE_SPECIAL); BOS is added by request. */
#include <stdlib.h>

#include "base/base64.h"
#include "io/json.h"
#include "text/tok/tok_ranks.h"

/* Tekkenizer.DEPRECATED_SPECIAL_TOKENS: of files without special_tokens. */
static const char *const defaults[] = {
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]",
    "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
};

static vc_status special_tokens(struct vc_tokenizer *t, const json_t *root, uint32_t n, struct vc_tok_named *out, vc_err *err) {
    json_t *list = NULL;
    if (vc_json_opt_arr(root, "special_tokens", &list, err)) return vc_fail_prefix(err, "%s", t->name);
    size_t given = list ? json_array_size(list) : VC_MIN(VC_ARRAY_LEN(defaults), n);
    if (given > n) return vc_fail(err, VC_E_FORMAT, "%s: special_tokens: %zu, but config.default_num_special_tokens is %u", t->name, given, n);
    for (uint32_t i = 0; i < n; i++) out[i] = (struct vc_tok_named){ .id = (int32_t)i, .special = true };
    for (size_t i = 0; i < given; i++) {
        vc_str text = list ? (vc_str){ NULL, 0 } : vc_str_of(defaults[i]);
        uint32_t rank = (uint32_t)i;
        const json_t *x = json_array_get(list, i);
        if (list && (vc_json_str(x, "token_str", &text, err) || vc_json_opt_u32(x, "rank", &rank, err)))
            return vc_fail_prefix(err, "%s: special_tokens.%zu", t->name, i);
        if (rank >= n || out[rank].text.p) return vc_fail(err, VC_E_FORMAT, "%s: special_tokens.%zu.rank: %u is too high or there twice", t->name, i, rank);
        out[rank].text = (vc_str){ vc_arena_strndup(&t->arena, text.p, text.n), text.n };
    }
    for (uint32_t i = 0; i < n; i++) {    /* what is left gets a name of its own */
        if (out[i].text.p) continue;
        char name[32];
        int k = snprintf(name, sizeof name, "<SPECIAL_%u>", i);
        out[i].text = (vc_str){ vc_arena_strndup(&t->arena, name, (size_t)k), (size_t)k };
    }
    return t->arena.failed ? vc_tok_nomem(t, err) : VC_OK;
}

static vc_status read_ranks(struct vc_tokenizer *t, const json_t *vocab, uint32_t n, vc_str *bytes, vc_err *err) {
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(vocab, i);
        uint32_t rank = 0;
        vc_str b64;
        if (vc_json_u32(x, "rank", &rank, err) || vc_json_str(x, "token_bytes", &b64, err)) return vc_fail_prefix(err, "%s: vocab.%zu", t->name, i);
        uint8_t *p = vc_arena_alloc(&t->arena, b64.n / 4 * 3 + 4, 1);
        if (!p) return vc_tok_nomem(t, err);
        size_t len = vc_base64_decode(p, b64.p, b64.n);
        if (rank >= n || bytes[rank].p || len == SIZE_MAX || len == 0)
            return vc_fail(err, VC_E_FORMAT, "%s: vocab.%zu: expected a rank below %u that no other has, and token_bytes in base64", t->name, i, n);
        bytes[rank] = (vc_str){ (const char *)p, len };
    }
    return VC_OK;
}

vc_status vc_tok_load_tekken(struct vc_tokenizer *t, const json_t *root, const char *path, vc_err *err) {
    json_t *vocab;
    vc_str pattern;
    uint32_t size, specials;
    if (vc_json_arr(root, "vocab", &vocab, err) || vc_json_str(root, "config.pattern", &pattern, err) ||
        vc_json_u32(root, "config.default_vocab_size", &size, err) || vc_json_u32(root, "config.default_num_special_tokens", &specials, err))
        return vc_fail_prefix(err, "%s", t->name);
    if (specials > 1u << 20 || size < specials || size - specials > json_array_size(vocab))
        return vc_fail(err, VC_E_FORMAT, "%s: config.default_vocab_size: %u; expected at most the %zu ranks of vocab and %u special tokens", t->name, size,
                       json_array_size(vocab), specials);
    uint32_t n = size - specials;
    vc_str *bytes = VC_NEW_ARRAY(&t->arena, vc_str, (size_t)n + 1);
    struct vc_tok_named *named = VC_NEW_ARRAY(&t->arena, struct vc_tok_named, (size_t)specials + 1);
    if (!bytes || !named) return vc_tok_nomem(t, err);
    VC_TRY(special_tokens(t, root, specials, named, err));
    VC_TRY(read_ranks(t, vocab, n, bytes, err));
    VC_TRY(vc_tok_from_ranks(t, bytes, n, specials, named, specials, pattern, err));
    t->plain_text = true;
    t->bos = vc_tok_find(t, "<s>", 3);
    t->eos = vc_tok_find(t, "</s>", 4);
    bool bos = true, eos = false;
    VC_TRY(vc_tok_load_beside(t, path, &bos, &eos, err));
    return vc_tok_set_ends(t, bos, eos, err);
}
