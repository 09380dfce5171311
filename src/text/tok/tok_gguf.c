/* SPDX-License-Identifier: Apache-2.0
 * tok_gguf.c: a tokenizer from the vocabulary of a GGUF file: tokenizer.ggml.model "gpt2" (byte-level BPE, pre-tokenizer
 * by tokenizer.ggml.pre) and "llama" (SentencePiece BPE); the others are in tok_gguf_kinds.c. Behaves as llama.cpp's
 * llama-vocab.cpp. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "text/tok/tok_chars.h"
#include "text/tok/tok_gguf.h"

enum { W = 1, B = 2, T = 4, G = 8, D = 16, A = 32, L = 64, MAX_REGEX = 6 };    /* flags of tok_pre.def */
static const vc_str under = { "\xE2\x96\x81", 3 };

enum pattern_set {
#define PATTERN(set, ...) SET_##set,
#define PRE(name, set, flags)
#include "text/tok/tok_pre.def"
#undef PATTERN
#undef PRE
    NUM_SETS
};
static const char *const pattern_sets[NUM_SETS][MAX_REGEX] = {
#define PATTERN(set, ...) [SET_##set] = { __VA_ARGS__ },
#define PRE(name, set, flags)
#include "text/tok/tok_pre.def"
#undef PATTERN
#undef PRE
};
static const struct { const char *name; enum pattern_set set; unsigned flags; } pres[] = {
#define PATTERN(set, ...)
#define PRE(name, set, flags) { name, SET_##set, flags },
#include "text/tok/tok_pre.def"
#undef PATTERN
#undef PRE
};

int32_t vc_tok_gguf_type(const struct vc_tok_gguf *s, size_t i) {
    int32_t v = VC_GGUF_TOK_NORMAL;
    if (s->type) memcpy(&v, (const char *)s->type + 4 * i, 4);
    return v;
}

float vc_tok_gguf_score(const struct vc_tok_gguf *s, size_t i) {
    float v = 0;
    int32_t whole;
    if (s->score && s->whole_scores) {
        memcpy(&whole, (const char *)s->score + 4 * i, 4);
        v = (float)whole;
    } else if (s->score) memcpy(&v, (const char *)s->score + 4 * i, 4);
    return v;
}

/* What a converter may have left as plain text although it ends a turn; llama.cpp makes these control tokens too. */
static bool is_control_text(vc_str w) {
    static const char *const texts[] = {
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>",
        "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "[e~[", "<|flush|>", "<|calls|>",
        "<｜end▁of▁sentence｜>",
    };
    if (w.n < 3 || w.n > 40 || (w.p[0] != '<' && w.p[0] != '[' && w.p[0] != '_')) return false;
    for (size_t i = 0; i < VC_ARRAY_LEN(texts); i++) {
        if (vc_str_is(w, texts[i])) return true;
    }
    return false;
}

static vc_status flag(const struct vc_tok_gguf *s, const char *key, bool *v, vc_err *err) {
    return vc_gguf_find(s->g, key) ? vc_gguf_bool(s->g, key, v, err) : VC_OK;
}

/* ---- vocabulary ----------------------------------------------------------------------------------------------- */

static vc_status open_arrays(const struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    size_t n;
    VC_TRY(vc_gguf_strings(s->g, "tokenizer.ggml.tokens", &s->text, &s->n, err));
    if (s->n == 0 || s->n > 1u << 27) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.tokens: %zu tokens", t->name, s->n);
    if (vc_gguf_find(s->g, "tokenizer.ggml.token_type")) {
        VC_TRY(vc_gguf_array(s->g, "tokenizer.ggml.token_type", VC_GGUF_I32, &s->type, &n, err));
        if (n < s->n) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.token_type: %zu entries for %zu tokens", t->name, n, s->n);
    }
    const struct vc_gguf_value *scores = vc_gguf_find(s->g, "tokenizer.ggml.scores");
    if (scores || t->model == VC_MODEL_SPM) {
        s->whole_scores = scores && scores->type == VC_GGUF_ARRAY && scores->a.of == VC_GGUF_I32;
        VC_TRY(vc_gguf_array(s->g, "tokenizer.ggml.scores", s->whole_scores ? VC_GGUF_I32 : VC_GGUF_F32, &s->score, &n, err));
        if (n < s->n) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.scores: %zu entries for %zu tokens", t->name, n, s->n);
    }
    return VC_OK;
}

vc_status vc_tok_gguf_vocab(struct vc_tokenizer *t, const struct vc_tok_gguf *s, vc_err *err) {
    size_t total = 0, added = 0;
    VC_TRY(vc_tok_set_size(t, (uint32_t)s->n, err));
    for (size_t i = 0; i < s->n; i++) total += s->text[i].n + 1;
    char *blob = vc_arena_alloc(&t->arena, total, 1);
    if (!blob) return vc_tok_nomem(t, err);
    for (size_t i = 0; i < s->n; i++) {
        vc_str w = s->text[i];
        int32_t type = vc_tok_gguf_type(s, i);
        if (vc_chr_valid(w.p, w.n) != w.n) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.tokens: token %zu is not UTF-8", t->name, i);
        memcpy(blob, w.p, w.n);
        blob[w.n] = '\0';
        t->text[i] = (vc_str){ blob, w.n };
        blob += w.n + 1;
        t->flags[i] = VC_TOKF_USED;
        if (type == VC_GGUF_TOK_CONTROL || type == VC_GGUF_TOK_UNKNOWN || (type == VC_GGUF_TOK_NORMAL && is_control_text(w))) t->flags[i] |= VC_TOKF_SPECIAL;
        if (type == VC_GGUF_TOK_USER || (t->flags[i] & VC_TOKF_SPECIAL)) { t->flags[i] |= VC_TOKF_ADDED; added++; }
    }
    if (!vc_text_map_add_table(&t->by_text, t->text, t->size)) return vc_tok_nomem(t, err);
    struct vc_tok_added_set *set = &t->added[0];
    set->v = VC_NEW_ARRAY(&t->arena, struct vc_tok_added, added + 1);
    if (!set->v) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < t->size; i++) {
        if (!(t->flags[i] & VC_TOKF_ADDED) || !t->text[i].n) continue;
        bool control = (t->flags[i] & VC_TOKF_SPECIAL) || is_control_text(t->text[i]);
        set->v[set->n++] = (struct vc_tok_added){ (int32_t)i, control ? VC_ADDED_SPECIAL : 0, t->text[i] };
    }
    set->longest_first = set->ascii_space = true;
    return VC_OK;
}

/* Phi-3's special tokens swallow the space behind them (llama.cpp's rule by the model's name). */
static void phi3_flags(struct vc_tokenizer *t, const struct vc_gguf *g) {
    vc_str name = { NULL, 0 };
    const struct vc_gguf_value *v = vc_gguf_find(g, "general.name");
    if (v && v->type == VC_GGUF_STRING) name = v->s;
    bool phi = false;
    for (size_t i = 0; i + 4 <= name.n && !phi; i++) {
        const char *q = name.p + i;
        bool p = (q[0] | 32) == 'p' && (q[1] | 32) == 'h' && (q[2] | 32) == 'i';
        phi = p && (q[3] == '3' || (q[3] == '-' && i + 5 <= name.n && q[4] == '3'));
    }
    struct vc_tok_added_set *set = &t->added[0];
    for (size_t i = 0; phi && i < set->n; i++) {
        vc_str w = set->v[i].text;
        if (!vc_str_is(w, "<unk>") && !vc_str_is(w, "<s>") && !vc_str_is(w, "<|endoftext|>")) set->v[i].flags |= VC_ADDED_RSTRIP;
    }
}

/* ---- byte-level BPE ------------------------------------------------------------------------------------------- */

/* Writes the bytes that w stands for in the ByteLevel alphabet to dst (w.n bytes of room); SIZE_MAX if w has others. */
static size_t raw_bytes(char *dst, vc_str w) {
    size_t n = 0;
    for (size_t i = 0; i < w.n;) {
        uint32_t cp;
        i += vc_chr_at(w.p + i, &cp);
        int b = vc_char_byte(cp);
        if (b < 0) return SIZE_MAX;
        dst[n++] = (char)b;
    }
    return n;
}

/* Pieces of text from spellings, and the map of what merges see: a piece's bytes. An added token is spelled as it is, but
 * to the model it has the bytes that its letters stand for in the alphabet, as any other. */
static vc_status index_bytes(struct vc_tokenizer *t, vc_err *err) {
    size_t total = 0, n;
    for (uint32_t i = 0; i < t->size; i++) total += t->text[i].n;
    char *blob = vc_arena_alloc(&t->arena, total + 1, 1);
    if (!blob || !vc_text_map_init(&t->bpe.own, t->size)) return vc_tok_nomem(t, err);
    t->bpe.map = &t->bpe.own;
    for (uint32_t i = 0; i < t->size; i++) {
        vc_str w = t->text[i];
        if (!t->bpe.bytes) {
            t->piece[i] = w;
            continue;
        }
        if ((t->flags[i] & VC_TOKF_ADDED) || (n = raw_bytes(blob, w)) == SIZE_MAX) continue;
        bool same = n == w.n && !memcmp(blob, w.p, n);
        t->piece[i] = same ? w : (vc_str){ blob, n };
        blob += same ? 0 : n;
    }
    if (!vc_text_map_add_table(&t->bpe.own, t->piece, t->size)) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < t->size && t->bpe.bytes; i++) {
        if (t->piece[i].n) continue;
        t->piece[i] = t->text[i];
        n = raw_bytes(blob, t->text[i]);
        if (n == SIZE_MAX || n == 0) continue;             /* characters that no text is turned into */
        if (!vc_text_map_add(&t->bpe.own, blob, n, (int32_t)i, NULL)) return vc_tok_nomem(t, err);
        blob += n;
    }
    return VC_OK;
}

/* The id of a symbol; one that is no token gets a number behind the vocabulary. */
static bool symbol(struct vc_tokenizer *t, const char *p, size_t n, int32_t *next, int32_t *id) {
    *id = vc_text_map_find(t->bpe.map, p, n);
    if (*id >= 0) return true;
    char *copy = vc_arena_strndup(&t->arena, p, n);
    *id = (*next)++;
    return copy && vc_text_map_add(&t->bpe.own, copy, n, *id, NULL);
}

/* A part of a merge as words have it: bytes, or text. */
static size_t spelled(const struct vc_tokenizer *t, char *dst, vc_str w) {
    if (t->bpe.bytes) return raw_bytes(dst, w);
    memcpy(dst, w.p, w.n);
    return w.n;
}

static vc_status load_merges(struct vc_tokenizer *t, const struct vc_tok_gguf *s, vc_err *err) {
    const vc_str *m;
    size_t n, most = 0;
    VC_TRY(vc_gguf_strings(s->g, "tokenizer.ggml.merges", &m, &n, err));
    if (n > 1u << 27) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.merges: %zu merges", t->name, n);
    for (size_t i = 0; i < n; i++) most = m[i].n > most ? m[i].n : most;
    char *buf = malloc(most + 1);
    if (!buf || !vc_pair_map_init(&t->bpe.pairs, n)) { free(buf); return vc_tok_nomem(t, err); }
    vc_status r = VC_OK;
    int32_t next = (int32_t)t->size, a, b, c;
    for (size_t i = 0; i < n && r == VC_OK; i++) {
        const char *sp = m[i].n > 1 ? memchr(m[i].p + 1, ' ', m[i].n - 1) : NULL;
        if (!sp) { r = vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.merges: merge %zu holds no space", t->name, i); break; }
        vc_str x = { m[i].p, (size_t)(sp - m[i].p) }, y = { sp + 1, m[i].n - x.n - 1 };
        if (vc_chr_valid(m[i].p, m[i].n) != m[i].n) { r = vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.merges: merge %zu is not UTF-8", t->name, i); break; }
        size_t nx = spelled(t, buf, x), ny = nx == SIZE_MAX ? nx : spelled(t, buf + nx, y);
        if (ny == SIZE_MAX || !ny || !nx) continue;    /* characters that no text is turned into: never reached */
        if (symbol(t, buf, nx, &next, &a) && symbol(t, buf + nx, ny, &next, &b) && symbol(t, buf, nx + ny, &next, &c))
            vc_pair_map_add(&t->bpe.pairs, a, b, (uint32_t)i, c, false);
        else r = vc_tok_nomem(t, err);
    }
    free(buf);
    return r;
}

static vc_status load_pre(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    vc_str name = s->gemma4 ? VC_STR("gemma4") : VC_STR("default");
    size_t k = 0;
    if (s->gemma4) {}
    else if (vc_gguf_find(s->g, "tokenizer.ggml.pre")) VC_TRY(vc_gguf_str(s->g, "tokenizer.ggml.pre", &name, err));
    else vc_log_line(VC_LOG_WARN, "%s: tokenizer.ggml.pre is absent: words are cut by the rule \"default\", which may not be the model's", t->name);
    while (k < VC_ARRAY_LEN(pres) && !vc_str_is(name, pres[k].name)) k++;
    if (k == VC_ARRAY_LEN(pres)) {
        struct vc_buf b = { 0 };
        char shown[80];
        for (size_t i = 0; i < VC_ARRAY_LEN(pres); i++) vc_buf_printf(&b, "%s%s", i ? ", " : "", pres[i].name);
        vc_status r = vc_fail(err, VC_E_UNSUPPORTED, "%s: tokenizer.ggml.pre: \"%s\" is not supported; known are %s", t->name,
                              vc_printable(shown, sizeof shown, name.p, name.n), b.p ? b.p : "");
        vc_buf_free(&b);
        return r;
    }
    t->bpe.ignore_merges = (pres[k].flags & W) != 0;
    s->add_bos = (pres[k].flags & B) != 0;
    s->must_bos = (pres[k].flags & G) != 0;
    t->bpe.whole_newlines = s->must_bos;
    t->bpe.bytes = !(pres[k].flags & (T | L));
    if (pres[k].flags & T) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_REPLACE, .text = under, .pattern.text = VC_STR(" ") }, err));
    if (pres[k].flags & D) VC_TRY(vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_DIGITS }, err));
    for (const char *const *re = pattern_sets[pres[k].set]; re < pattern_sets[pres[k].set] + MAX_REGEX && *re; re++) {
        struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_ISOLATED };
        VC_TRY(vc_tok_load_pattern(t, &p.pattern, *re, strlen(*re), err));
        VC_TRY(vc_tok_add_pre(t, p, err));
    }
    return pres[k].flags & A ? vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_DIGITS, .invert = true }, err) : VC_OK;
}

/* jina-embeddings-v2-base-zh: words between white space, lowered where the file asks for it. */
static vc_status load_words(struct vc_tokenizer *t, const struct vc_tok_gguf *s, vc_err *err) {
    bool lower = false;
    VC_TRY(flag(s, "tokenizer.ggml.normalizer.lowercase", &lower, err));
    if (lower) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_LOWER }, err));
    return vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPLIT, .pattern.is = vc_chr_space, .behavior = VC_SPLIT_REMOVED }, err);
}

static vc_status load_bpe(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    t->bpe.bytes = true;
    if (s->words) VC_TRY(load_words(t, s, err));
    VC_TRY(load_pre(t, s, err));
    t->kind = t->bpe.bytes ? "byte-level bpe" : t->num_norm ? "sentencepiece bpe" : "bpe";
    VC_TRY(vc_tok_gguf_vocab(t, s, err));
    VC_TRY(index_bytes(t, err));
    VC_TRY(load_merges(t, s, err));
    for (int i = 0; i < 256; i++) {
        char c[8] = { (char)i };
        size_t n = t->bpe.bytes ? 1 : (size_t)snprintf(c, sizeof c, "<0x%02X>", (unsigned)i);
        t->bpe.byte_id[i] = vc_text_map_find(t->bpe.map, c, n);
    }
    return t->bpe.bytes ? VC_OK : vc_tok_gguf_pieces(t, s, err);
}

/* ---- SentencePiece BPE ---------------------------------------------------------------------------------------- */

vc_status vc_tok_gguf_pieces(struct vc_tokenizer *t, const struct vc_tok_gguf *s, vc_err *err) {
    size_t total = 0;
    for (uint32_t i = 0; i < t->size; i++) total += t->text[i].n;
    char *blob = vc_arena_alloc(&t->arena, total + 1, 1);
    if (!blob) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < t->size; i++) {
        vc_str w = t->text[i];
        t->piece[i] = w;
        if (vc_tok_gguf_type(s, i) == VC_GGUF_TOK_BYTE && w.n == 6 && !memcmp(w.p, "<0x", 3)) {
            int byte = vc_tok_byte_piece(w);
            if (byte < 0)
                return vc_fail(err, VC_E_FORMAT, "%s: tokenizer.ggml.tokens: byte token %u is not <0xNN>", t->name, i);
            *blob = (char)byte;
            t->piece[i] = (vc_str){ blob++, 1 };
            t->bpe.byte_id[byte] = (int32_t)i;
        } else if (!(t->flags[i] & VC_TOKF_ADDED) && w.n >= 3 && memchr(w.p, 0xE2, w.n)) {
            char *from = blob;
            for (size_t j = 0; j < w.n;) {
                bool space = w.n - j >= 3 && !memcmp(w.p + j, "\xE2\x96\x81", 3);
                *blob++ = space ? ' ' : w.p[j];
                j += space ? 3 : 1;
            }
            t->piece[i] = (vc_str){ from, (size_t)(blob - from) };
        }
    }
    return VC_OK;
}

static vc_status load_spm(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    bool prefix = true;
    t->kind = "sentencepiece bpe";
    s->add_bos = true;
    t->bos = 1;
    t->eos = 2;
    t->bpe.unk = 0;
    VC_TRY(vc_tok_gguf_vocab(t, s, err));
    phi3_flags(t, s->g);
    if (vc_gguf_find(s->g, "tokenizer.ggml.add_space_prefix")) VC_TRY(vc_gguf_bool(s->g, "tokenizer.ggml.add_space_prefix", &prefix, err));
    t->strip_first = prefix ? VC_STRIP_FIRST : VC_STRIP_NONE;
    t->norm = VC_NEW_ARRAY(&t->arena, struct vc_tok_norm, 2);
    uint32_t *order = VC_NEW_ARRAY(&t->arena, uint32_t, t->size);
    if (!t->norm || !order) return vc_tok_nomem(t, err);
    t->bpe.map = &t->by_text;
    if (prefix) t->norm[t->num_norm++] = (struct vc_tok_norm){ .kind = VC_NORM_PREPEND, .text = under };
    t->norm[t->num_norm++] = (struct vc_tok_norm){ .kind = VC_NORM_REPLACE, .text = under, .pattern.text = VC_STR(" ") };
    for (uint32_t i = 0; i < t->size; i++) {
        order[i] = vc_tok_order_of(vc_tok_gguf_score(s, i));
        if (t->text[i].n > t->bpe.max_len) t->bpe.max_len = (uint32_t)t->text[i].n;
    }
    t->bpe.order = order;
    VC_TRY(vc_tok_gguf_pieces(t, s, err));
    vc_tok_bpe_finish(t);
    return VC_OK;
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

vc_status vc_tok_gguf_special(const struct vc_tokenizer *t, const struct vc_tok_gguf *s, const char *key, int32_t *id, vc_err *err) {
    uint32_t v;
    if (vc_gguf_find(s->g, key)) {
        VC_TRY(vc_gguf_u32(s->g, key, &v, err));
        if (v >= t->size) return vc_fail(err, VC_E_FORMAT, "%s: %s: %u is outside the vocabulary of %u tokens", t->name, key, v, t->size);
        *id = (int32_t)v;
    }
    if (*id >= 0 && (uint32_t)*id >= t->size) *id = -1;
    return VC_OK;
}

static vc_status ends(struct vc_tokenizer *t, struct vc_tok_gguf *s, vc_err *err) {
    VC_TRY(vc_tok_gguf_special(t, s, "tokenizer.ggml.bos_token_id", &t->bos, err));
    VC_TRY(vc_tok_gguf_special(t, s, "tokenizer.ggml.eos_token_id", &t->eos, err));
    VC_TRY(vc_tok_gguf_special(t, s, "tokenizer.ggml.unknown_token_id", &t->bpe.unk, err));
    bool always = t->model == VC_MODEL_WORDPIECE, never = t->model == VC_MODEL_GREEDY || t->model == VC_MODEL_PLAMO2;
    if (!always && !never) {
        VC_TRY(flag(s, "tokenizer.ggml.add_bos_token", &s->add_bos, err));
        VC_TRY(flag(s, "tokenizer.ggml.add_eos_token", &s->add_eos, err));
    }
    if (s->must_bos) s->add_bos = true;
    int32_t last = s->last >= 0 ? s->last : t->eos;
    if ((s->add_bos && t->bos < 0) || (s->add_eos && (last < 0 || (uint32_t)last >= t->size)))
        return vc_fail(err, VC_E_FORMAT, "%s: %s", t->name,
                       s->add_bos && t->bos < 0 ? "tokenizer.ggml.bos_token_id is needed: BOS is to be added"
                                                : "tokenizer.ggml.eos_token_id (bert: seperator_token_id) is needed: it is to be added");
    int32_t *v = VC_NEW_ARRAY(&t->arena, int32_t, 2);
    if (!v) return vc_tok_nomem(t, err);
    v[0] = t->bos;
    v[1] = last;
    t->before = v;
    t->after = v + 1;
    t->num_before = s->add_bos;
    t->num_after = s->add_eos;
    vc_str c;
    if (vc_gguf_find(s->g, "tokenizer.chat_template")) {
        VC_TRY(vc_gguf_str(s->g, "tokenizer.chat_template", &c, err));
        t->chat_template = vc_arena_strndup(&t->arena, c.p, c.n);
    }
    return vc_tok_added_build(&t->added[0], err);
}

static vc_status load(struct vc_tokenizer *t, const struct vc_gguf *g, vc_err *err) {
    static const struct { const char *model; enum vc_tok_model kind; vc_status (*load)(struct vc_tokenizer *, struct vc_tok_gguf *, vc_err *); } kinds[] = {
        { "gpt2", VC_MODEL_BPE, load_bpe }, { "gemma4", VC_MODEL_BPE, load_bpe }, { "whitespace", VC_MODEL_BPE, load_bpe }, { "llama", VC_MODEL_SPM, load_spm },
        { "bert", VC_MODEL_WORDPIECE, vc_tok_gguf_bert }, { "t5", VC_MODEL_UNIGRAM, vc_tok_gguf_t5 }, { "rwkv", VC_MODEL_GREEDY, vc_tok_gguf_rwkv },
        { "plamo2", VC_MODEL_PLAMO2, vc_tok_gguf_plamo2 },
    };
    struct vc_tok_gguf s = { .g = g, .last = -1 };
    vc_str model;
    char shown[80];
    size_t k = 0;
    VC_TRY(vc_gguf_str(g, "tokenizer.ggml.model", &model, err));
    while (k < VC_ARRAY_LEN(kinds) && !vc_str_is(model, kinds[k].model)) k++;
    if (k == VC_ARRAY_LEN(kinds))
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: tokenizer.ggml.model: \"%s\" is none of gpt2, llama, bert, t5, rwkv, plamo2, gemma4, whitespace", t->name,
                       vc_printable(shown, sizeof shown, model.p, model.n));
    t->model = kinds[k].kind;
    t->decode = VC_DECODE_PIECES;
    t->bpe.pieces_by_byte = true;
    s.gemma4 = vc_str_is(model, "gemma4");
    s.words = vc_str_is(model, "whitespace");
    VC_TRY(open_arrays(t, &s, err));
    VC_TRY(kinds[k].load(t, &s, err));
    VC_TRY(ends(t, &s, err));
    return t->arena.failed ? vc_tok_nomem(t, err) : VC_OK;
}

vc_status vc_tokenizer_from_gguf(struct vc_tokenizer **out, const struct vc_gguf *g, vc_err *err) {
    *out = NULL;
    struct vc_tokenizer *t = vc_tokenizer_alloc(vc_gguf_path(g));
    vc_status r = t ? load(t, g, err) : vc_fail(err, VC_E_NOMEM, "%s: out of memory", vc_gguf_path(g));
    if (r) vc_tokenizer_close(t);
    else *out = t;
    return r;
}
