/* SPDX-License-Identifier: Apache-2.0
 * tok_json_model.c: model and vocabulary of tokenizer.json: BPE, Unigram, WordPiece, WordLevel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/json.h"
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

/* ---- vocabulary ----------------------------------------------------------------------------------------------- */

static vc_status id_of(const struct vc_tokenizer *t, const json_t *v, size_t entries, const char *what, int32_t *id, vc_err *err) {
    json_int_t x = json_is_integer(v) ? json_integer_value(v) : -1;
    if (x < 0 || (uint64_t)x >= 8 * (uint64_t)entries + 65536)
        return vc_fail(err, VC_E_FORMAT, "%s: %s: expected an id, an integer from 0 and below 8 times the number of entries", t->name, what);
    *id = (int32_t)x;
    return VC_OK;
}

static vc_status load_vocab(struct vc_tokenizer *t, json_t *vocab, const json_t *added, vc_err *err) {
    size_t entries = json_object_size(vocab) + json_array_size(added), i;
    if (entries > 1u << 27) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %zu tokens", t->name, entries);
    int32_t most = -1, id = -1;
    const char *key;
    json_t *v;
    json_object_foreach(vocab, key, v) {
        VC_TRY(id_of(t, v, entries, "model.vocab", &id, err));
        if (id > most) most = id;
    }
    json_array_foreach((json_t *)(uintptr_t)added, i, v) {
        VC_TRY(id_of(t, json_object_get(v, "id"), entries, "added_tokens", &id, err));
        if (id > most) most = id;
    }
    VC_TRY(vc_tok_set_size(t, (uint32_t)(most + 1), err));
    size_t n;
    void *it = json_object_iter(vocab);
    for (; it; it = json_object_iter_next(vocab, it)) {
        key = json_object_iter_key(it);
        n = strlen(key);
        id = (int32_t)json_integer_value(json_object_iter_value(it));
        t->text[id] = (vc_str){ vc_arena_strndup(&t->arena, key, n), n };
        t->flags[id] = VC_TOKF_USED;
    }
    if (t->arena.failed || !vc_text_map_add_all(&t->by_text, t->text, t->size)) return vc_tok_nomem(t, err);
    t->bpe.map = &t->by_text;
    return VC_OK;
}

/* Raw bytes of a text in the ByteLevel alphabet, in the arena; p NULL if it has other characters. */
vc_str vc_tok_raw_bytes(struct vc_tokenizer *t, vc_str w) {
    char *p = vc_arena_alloc(&t->arena, w.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; p && i < w.n;) {
        uint32_t cp;
        i += vc_chr_at(w.p + i, &cp);
        int b = vc_char_byte(cp);
        if (b < 0) return (vc_str){ NULL, 0 };
        p[n++] = (char)b;
    }
    return (vc_str){ p, n };
}

/* The map that the model looks symbols up in, and the ids of single bytes. */
static vc_status index_symbols(struct vc_tokenizer *t, vc_err *err) {
    struct vc_tok_bpe *b = &t->bpe;
    vc_str *keys = VC_NEW_ARRAY(&t->arena, vc_str, t->size);
    if (!keys || !vc_text_map_init(&b->own, t->size)) return vc_tok_nomem(t, err);
    b->map = &b->own;
    for (uint32_t i = 0; i < t->size; i++) {
        if (!(t->flags[i] & VC_TOKF_USED)) continue;
        keys[i] = b->bytes ? vc_tok_raw_bytes(t, t->text[i]) : t->text[i];
        if (!keys[i].p) keys[i] = (vc_str){ "", 0 };
    }
    if (t->arena.failed || !vc_text_map_add_all(&b->own, keys, t->size)) return vc_tok_nomem(t, err);
    for (int i = 0; i < 256; i++) {
        char s[8];
        s[0] = (char)i;
        size_t n = b->bytes ? 1 : (size_t)snprintf(s, sizeof s, "<0x%02X>", (unsigned)i);
        b->byte_id[i] = vc_text_map_find(b->map, s, n);
    }
    return t->arena.failed ? vc_tok_nomem(t, err) : VC_OK;
}

/* ---- merges --------------------------------------------------------------------------------------------------- */

static vc_status merge_parts(const struct vc_tokenizer *t, const json_t *m, size_t i, vc_str *a, vc_str *b, vc_err *err) {
    const json_t *x = json_array_get(m, 0), *y = json_array_get(m, 1);
    if (json_is_array(m) && json_array_size(m) == 2 && json_is_string(x) && json_is_string(y)) {
        *a = (vc_str){ json_string_value(x), json_string_length(x) };
        *b = (vc_str){ json_string_value(y), json_string_length(y) };
        return VC_OK;
    }
    const char *s = json_string_value(m), *sp = s ? strchr(s, ' ') : NULL;
    if (!sp || strchr(sp + 1, ' ')) return vc_fail(err, VC_E_FORMAT, "%s: model.merges.%zu: expected \"a b\" or [\"a\", \"b\"]", t->name, i);
    *a = (vc_str){ s, (size_t)(sp - s) };
    *b = vc_str_of(sp + 1);
    return VC_OK;
}

static vc_status load_merges(struct vc_tokenizer *t, const json_t *merges, vc_err *err) {
    size_t n = json_array_size(merges);
    struct vc_buf w = { 0 };
    vc_status r = VC_OK;
    if (n > UINT32_MAX / 4 || !vc_pair_map_init(&t->bpe.pairs, n)) return vc_tok_nomem(t, err);
    for (size_t i = 0; i < n && r == VC_OK; i++) {
        vc_str a = { "", 0 }, b = { "", 0 };
        r = merge_parts(t, json_array_get(merges, i), i, &a, &b, err);
        if (r) break;
        size_t skip = b.n >= t->bpe.prefix.n ? t->bpe.prefix.n : b.n;
        w.n = 0;
        vc_buf_add(&w, a.p, a.n);
        vc_buf_add(&w, b.p + skip, b.n - skip);
        if (w.failed) { r = vc_tok_nomem(t, err); break; }
        int32_t ia = vc_text_map_find(&t->by_text, a.p, a.n), ib = vc_text_map_find(&t->by_text, b.p, b.n);
        int32_t ic = vc_text_map_find(&t->by_text, w.p, w.n);
        char shown[80];
        vc_str missing = ia < 0 ? a : ib < 0 ? b : (vc_str){ w.p, w.n };
        if (ia < 0 || ib < 0 || ic < 0)
            r = vc_fail(err, VC_E_FORMAT, "%s: model.merges.%zu: \"%s\" is not in the vocabulary", t->name, i, vc_printable(shown, sizeof shown, missing.p, missing.n));
        else vc_pair_map_add(&t->bpe.pairs, ia, ib, (uint32_t)i, ic, true);
    }
    vc_buf_free(&w);
    return r;
}

/* ---- model ---------------------------------------------------------------------------------------------------- */

static vc_status opt_text(struct vc_tokenizer *t, const json_t *m, const char *key, vc_str *s, vc_err *err) {
    vc_str v = { NULL, 0 };
    if (vc_json_opt_str(m, key, &v, err)) return vc_fail_prefix(err, "%s: model", t->name);
    if (v.p) *s = (vc_str){ vc_arena_strndup(&t->arena, v.p, v.n), v.n };
    return VC_OK;
}

static bool plain_ascii(vc_str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < 33 || s.p[i] > 126) return false;
    }
    return true;
}

static vc_status unk_id(struct vc_tokenizer *t, vc_str unk, vc_err *err) {
    char shown[80];
    t->bpe.unk = vc_text_map_find(&t->by_text, unk.p, unk.n);
    if (t->bpe.unk >= 0 || !unk.n) return VC_OK;
    return vc_fail(err, VC_E_FORMAT, "%s: model.unk_token: \"%s\" is not in the vocabulary", t->name, vc_printable(shown, sizeof shown, unk.p, unk.n));
}

static vc_status load_bpe(struct vc_tokenizer *t, json_t *m, const json_t *added, vc_err *err) {
    struct vc_tok_bpe *b = &t->bpe;
    json_t *vocab, *merges;
    vc_str unk = { NULL, 0 };
    double dropout = 0;
    if (vc_json_obj(m, "vocab", &vocab, err) || vc_json_arr(m, "merges", &merges, err) || vc_json_opt_f64(m, "dropout", &dropout, err) ||
        vc_json_opt_bool(m, "fuse_unk", &b->fuse_unk, err) || vc_json_opt_bool(m, "byte_fallback", &b->byte_fallback, err) ||
        vc_json_opt_bool(m, "ignore_merges", &b->ignore_merges, err) || vc_json_opt_str(m, "unk_token", &unk, err))
        return vc_fail_prefix(err, "%s: model", t->name);
    if (dropout > 0) return vc_fail(err, VC_E_UNSUPPORTED, "%s: model.dropout: %g: random merges are not supported", t->name, dropout);
    VC_TRY(opt_text(t, m, "continuing_subword_prefix", &b->prefix, err));
    VC_TRY(opt_text(t, m, "end_of_word_suffix", &b->suffix, err));
    VC_TRY(load_vocab(t, vocab, added, err));
    VC_TRY(load_merges(t, merges, err));
    if (unk.p) VC_TRY(unk_id(t, unk, err));
    /* ByteLevel as the last step: its alphabet is folded into the vocabulary, and words stay raw bytes */
    uint32_t steps = 0;
    for (uint32_t i = 0; i < t->num_pre; i++) steps += t->pre[i].kind == VC_PRE_BYTES;
    if (steps == 1 && t->pre[t->num_pre - 1].kind == VC_PRE_BYTES && !b->byte_fallback && plain_ascii(b->prefix) && plain_ascii(b->suffix)) {
        t->num_pre--;
        b->bytes = true;
        t->kind = "byte-level bpe";
    } else if (b->byte_fallback) {
        t->kind = "sentencepiece bpe";
    }
    VC_TRY(index_symbols(t, err));
    vc_tok_bpe_finish(t);
    return VC_OK;
}

/* The value that serde_json, without its feature float_roundtrip, reads for the number that x is printed as: the digits as
 * an integer, rounded to f64, divided or multiplied by a power of ten. It may be the neighbour of x, which decides between
 * paths whose scores differ in the last bit only. */
static double as_serde(double x) {
    char s[40], power[32];
    int prec = 14;    /* with up to 15 digits, digits and power are exact and the quotient is x */
    do snprintf(s, sizeof s, "%.*e", prec, x);
    while (strtod(s, NULL) != x && ++prec < 17);
    const char *e = strchr(s, 'e');
    long exponent = e ? strtol(e + 1, NULL, 10) - prec : 0;
    uint64_t digits = 0;
    if (!e || prec == 14 || exponent < -300 || exponent > 300) return x;
    for (const char *p = s; p < e; p++) {
        if (*p >= '0' && *p <= '9') digits = digits * 10 + (uint64_t)(*p - '0');
    }
    snprintf(power, sizeof power, "1e%ld", exponent < 0 ? -exponent : exponent);
    double f = exponent < 0 ? (double)digits / strtod(power, NULL) : (double)digits * strtod(power, NULL);
    return x < 0 ? -f : f;
}

/* [["text", score], …]: of equal texts the last counts. */
static vc_status unigram_vocab(struct vc_tokenizer *t, const json_t *vocab, const json_t *added, vc_err *err) {
    size_t n = json_array_size(vocab), i;
    int32_t most = (int32_t)n - 1, id = -1;
    json_t *v;
    if (n > 1u << 27) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %zu tokens", t->name, n);
    json_array_foreach((json_t *)(uintptr_t)added, i, v) {
        VC_TRY(id_of(t, json_object_get(v, "id"), n + json_array_size(added), "added_tokens", &id, err));
        if (id > most) most = id;
    }
    VC_TRY(vc_tok_set_size(t, (uint32_t)(most + 1), err));
    t->uni.score = VC_NEW_ARRAY(&t->arena, double, (size_t)t->size + 1);
    if (!t->uni.score) return vc_tok_nomem(t, err);
    for (i = n; i-- > 0;) {
        const json_t *pair = json_array_get(vocab, i), *text = json_array_get(pair, 0), *score = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_string(text) || !json_is_number(score) || !isfinite(json_number_value(score)))
            return vc_fail(err, VC_E_FORMAT, "%s: model.vocab.%zu: expected [text, score]", t->name, i);
        size_t len = json_string_length(text);
        t->text[i] = (vc_str){ vc_arena_strndup(&t->arena, json_string_value(text), len), len };
        t->flags[i] = VC_TOKF_USED;
        t->uni.score[i] = as_serde(json_number_value(score));
        int32_t old;
        if (t->arena.failed || !vc_text_map_add(&t->by_text, t->text[i].p, len, (int32_t)i, &old)) return vc_tok_nomem(t, err);
        if (old < 0 && !vc_trie_add(&t->uni.trie, t->text[i].p, len, (int32_t)i)) return vc_tok_nomem(t, err);
    }
    return VC_OK;
}

static vc_status load_unigram(struct vc_tokenizer *t, json_t *m, const json_t *added, vc_err *err) {
    json_t *vocab;
    int64_t unk = -1;
    if (vc_json_arr(m, "vocab", &vocab, err) || vc_json_opt_i64(m, "unk_id", &unk, err) || vc_json_opt_bool(m, "byte_fallback", &t->uni.byte_fallback, err))
        return vc_fail_prefix(err, "%s: model", t->name);
    size_t n = json_array_size(vocab);
    if (unk < -1 || unk >= (int64_t)n) return vc_fail(err, VC_E_FORMAT, "%s: model.unk_id: %lld is not in the vocabulary of %zu pieces", t->name, (long long)unk, n);
    VC_TRY(unigram_vocab(t, vocab, added, err));
    double least = INFINITY;
    for (size_t i = 0; i < n; i++) least = t->uni.score[i] < least ? t->uni.score[i] : least;
    t->model = VC_MODEL_UNIGRAM;
    t->kind = "unigram";
    t->bpe.unk = (int32_t)unk;
    t->bpe.map = &t->by_text;
    t->uni.unk_score = least - 10;    /* K_UNK_PENALTY */
    t->uni.by_text = true;
    for (int i = 0; i < 256; i++) {
        char s[8];
        size_t len = (size_t)snprintf(s, sizeof s, "<0x%02X>", (unsigned)i);
        t->bpe.byte_id[i] = vc_text_map_find(&t->by_text, s, len);
    }
    return VC_OK;
}

static vc_status load_wordpiece(struct vc_tokenizer *t, json_t *m, const json_t *added, vc_err *err) {
    json_t *vocab;
    vc_str unk = VC_STR("[UNK]"), prefix = VC_STR("##");
    t->greedy.max_chars = 100;
    if (vc_json_obj(m, "vocab", &vocab, err) || vc_json_opt_str(m, "unk_token", &unk, err) || vc_json_opt_str(m, "continuing_subword_prefix", &prefix, err) ||
        vc_json_opt_u32(m, "max_input_chars_per_word", &t->greedy.max_chars, err))
        return vc_fail_prefix(err, "%s: model", t->name);
    VC_TRY(load_vocab(t, vocab, added, err));
    VC_TRY(unk_id(t, unk, err));
    t->model = VC_MODEL_WORDPIECE;
    t->kind = "wordpiece";
    for (uint32_t i = 0; i < t->size; i++) {
        vc_str w = t->text[i];
        bool rest = w.n >= prefix.n && !memcmp(w.p, prefix.p, prefix.n);
        if (!(t->flags[i] & VC_TOKF_USED)) continue;
        if (!vc_trie_add(&t->greedy.start, w.p, w.n, (int32_t)i)) return vc_tok_nomem(t, err);
        if (rest && !vc_trie_add(&t->greedy.rest, w.p + prefix.n, w.n - prefix.n, (int32_t)i)) return vc_tok_nomem(t, err);
    }
    return VC_OK;
}

static vc_status load_wordlevel(struct vc_tokenizer *t, json_t *m, const json_t *added, vc_err *err) {
    json_t *vocab;
    vc_str unk = VC_STR("<unk>");
    if (vc_json_obj(m, "vocab", &vocab, err) || vc_json_opt_str(m, "unk_token", &unk, err)) return vc_fail_prefix(err, "%s: model", t->name);
    VC_TRY(load_vocab(t, vocab, added, err));
    t->bpe.unk = vc_text_map_find(&t->by_text, unk.p, unk.n);
    t->model = VC_MODEL_WORDLEVEL;
    t->kind = "word level";
    return VC_OK;
}

/* Files of before 2021 leave the type out: it shows in the keys. */
static const char *untyped(const json_t *m) {
    if (json_object_get(m, "merges")) return "BPE";
    if (json_is_array(json_object_get(m, "vocab"))) return "Unigram";
    return json_object_get(m, "continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

vc_status vc_tok_load_model(struct vc_tokenizer *t, const json_t *root, vc_err *err) {
    static const struct { const char *type; vc_status (*load)(struct vc_tokenizer *, json_t *, const json_t *, vc_err *); } models[] = {
        { "BPE", load_bpe }, { "Unigram", load_unigram }, { "WordPiece", load_wordpiece }, { "WordLevel", load_wordlevel },
    };
    json_t *m;
    vc_str type = { NULL, 0 };
    char shown[80];
    if (vc_json_obj(root, "model", &m, err) || vc_json_opt_str(m, "type", &type, err)) return vc_fail_prefix(err, "%s", t->name);
    if (!type.p) type = vc_str_of(untyped(m));
    for (size_t i = 0; i < VC_ARRAY_LEN(models); i++) {
        if (vc_str_is(type, models[i].type)) return models[i].load(t, m, json_object_get(root, "added_tokens"), err);
    }
    return vc_fail(err, VC_E_UNSUPPORTED, "%s: model.type: \"%s\" is none of BPE, Unigram, WordPiece, WordLevel", t->name,
                   vc_printable(shown, sizeof shown, type.p, type.n));
}
