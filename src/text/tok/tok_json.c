/* SPDX-License-Identifier: Apache-2.0
 * tok_json.c: a tokenizer from tokenizer.json (Hugging Face tokenizers) and the files beside it. `truncation` and
 * `padding` of the file are not applied: the engine neither cuts nor pads. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/json.h"
#include "io/map.h"
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

static vc_status nomem(const struct vc_tokenizer *t, vc_err *err) { return vc_fail(err, VC_E_NOMEM, "%s: out of memory", t->name); }

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
    if (t->arena.failed || !vc_text_map_add_all(&t->by_text, t->text, t->size)) return nomem(t, err);
    return VC_OK;
}

/* Raw bytes of a text in the ByteLevel alphabet, in the arena; p NULL if it has other characters. */
static vc_str raw_bytes(struct vc_tokenizer *t, vc_str w) {
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
    if (!keys || !vc_text_map_init(&b->own, t->size)) return nomem(t, err);
    b->map = &b->own;
    for (uint32_t i = 0; i < t->size; i++) {
        if (!(t->flags[i] & VC_TOKF_USED)) continue;
        keys[i] = b->bytes ? raw_bytes(t, t->text[i]) : t->text[i];
        if (!keys[i].p) keys[i] = (vc_str){ "", 0 };
    }
    if (t->arena.failed || !vc_text_map_add_all(&b->own, keys, t->size)) return nomem(t, err);
    for (int i = 0; i < 256; i++) {
        char s[8];
        s[0] = (char)i;
        size_t n = b->bytes ? 1 : (size_t)snprintf(s, sizeof s, "<0x%02X>", (unsigned)i);
        b->byte_id[i] = vc_text_map_find(b->map, s, n);
    }
    return t->arena.failed ? nomem(t, err) : VC_OK;
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
    if (n > UINT32_MAX / 4 || !vc_pair_map_init(&t->bpe.pairs, n)) return nomem(t, err);
    for (size_t i = 0; i < n && r == VC_OK; i++) {
        vc_str a = { "", 0 }, b = { "", 0 };
        r = merge_parts(t, json_array_get(merges, i), i, &a, &b, err);
        if (r) break;
        size_t skip = b.n >= t->bpe.prefix.n ? t->bpe.prefix.n : b.n;
        w.n = 0;
        vc_buf_add(&w, a.p, a.n);
        vc_buf_add(&w, b.p + skip, b.n - skip);
        if (w.failed) { r = nomem(t, err); break; }
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

static vc_status load_model(struct vc_tokenizer *t, const json_t *root, vc_err *err) {
    struct vc_tok_bpe *b = &t->bpe;
    json_t *m, *vocab, *merges;
    vc_str type = VC_STR("BPE"), unk = { NULL, 0 };
    double dropout = 0;
    char shown[80];
    if (vc_json_obj(root, "model", &m, err) || vc_json_opt_str(m, "type", &type, err)) return vc_fail_prefix(err, "%s", t->name);
    if (!vc_str_is(type, "BPE"))
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: model.type: \"%s\" is not supported (BPE is)", t->name, vc_printable(shown, sizeof shown, type.p, type.n));
    if (vc_json_obj(m, "vocab", &vocab, err) || vc_json_arr(m, "merges", &merges, err) || vc_json_opt_f64(m, "dropout", &dropout, err) ||
        vc_json_opt_bool(m, "fuse_unk", &b->fuse_unk, err) || vc_json_opt_bool(m, "byte_fallback", &b->byte_fallback, err) ||
        vc_json_opt_bool(m, "ignore_merges", &b->ignore_merges, err) || vc_json_opt_str(m, "unk_token", &unk, err))
        return vc_fail_prefix(err, "%s: model", t->name);
    if (dropout > 0) return vc_fail(err, VC_E_UNSUPPORTED, "%s: model.dropout: %g: random merges are not supported", t->name, dropout);
    VC_TRY(opt_text(t, m, "continuing_subword_prefix", &b->prefix, err));
    VC_TRY(opt_text(t, m, "end_of_word_suffix", &b->suffix, err));
    VC_TRY(load_vocab(t, vocab, json_object_get(root, "added_tokens"), err));
    VC_TRY(load_merges(t, merges, err));
    if (unk.p && (b->unk = vc_text_map_find(&t->by_text, unk.p, unk.n)) < 0 && unk.n)
        return vc_fail(err, VC_E_FORMAT, "%s: model.unk_token: \"%s\" is not in the vocabulary", t->name, vc_printable(shown, sizeof shown, unk.p, unk.n));
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

/* ---- added tokens --------------------------------------------------------------------------------------------- */

struct added_json { vc_str text; int32_t id; uint8_t flags; bool normalized; };

static vc_status read_added(struct vc_tokenizer *t, const json_t *j, size_t i, struct added_json *a, vc_err *err) {
    static const struct { const char *key; uint8_t flag; } keys[] = {
        { "special", VC_ADDED_SPECIAL }, { "lstrip", VC_ADDED_LSTRIP }, { "rstrip", VC_ADDED_RSTRIP }, { "single_word", VC_ADDED_WORD },
    };
    vc_str s;
    *a = (struct added_json){ .id = (int32_t)json_integer_value(json_object_get(j, "id")) };
    if (vc_json_str(j, "content", &s, err)) return vc_fail_prefix(err, "%s: added_tokens.%zu", t->name, i);
    for (size_t k = 0; k < VC_ARRAY_LEN(keys); k++) {
        bool b = false;
        if (vc_json_opt_bool(j, keys[k].key, &b, err)) return vc_fail_prefix(err, "%s: added_tokens.%zu", t->name, i);
        if (b) a->flags |= keys[k].flag;
    }
    a->normalized = !(a->flags & VC_ADDED_SPECIAL);
    if (vc_json_opt_bool(j, "normalized", &a->normalized, err)) return vc_fail_prefix(err, "%s: added_tokens.%zu", t->name, i);
    a->text = (vc_str){ vc_arena_strndup(&t->arena, s.p, s.n), s.n };
    return a->text.p ? VC_OK : nomem(t, err);
}

static vc_status register_added(struct vc_tokenizer *t, struct added_json *a, vc_err *err) {
    int32_t have = vc_text_map_find(&t->by_text, a->text.p, a->text.n);
    if (have >= 0) a->id = have;
    t->text[a->id] = a->text;
    t->flags[a->id] |= (uint8_t)(VC_TOKF_USED | VC_TOKF_ADDED | (a->flags & VC_ADDED_SPECIAL ? VC_TOKF_SPECIAL : 0));
    return vc_text_map_add(&t->by_text, a->text.p, a->text.n, a->id, NULL) ? VC_OK : nomem(t, err);
}

/* Normalized tokens are matched in normalized text, so their own text is normalized. */
static vc_status match_text(struct vc_tokenizer *t, struct vc_tok_scratch *s, const struct added_json *a, vc_str *out, vc_err *err) {
    struct vc_tok_view v = { a->text.p, a->text.n, NULL, 0 };
    s->orig = a->text.p;
    s->orig_n = a->text.n;
    if (a->normalized) VC_TRY(vc_tok_normalize(s, t->norm, t->num_norm, &v, err));
    *out = (vc_str){ vc_arena_strndup(&t->arena, v.p, v.n), v.n };
    return out->p ? VC_OK : nomem(t, err);
}

static vc_status load_added(struct vc_tokenizer *t, const json_t *root, struct vc_tok_scratch *s, vc_err *err) {
    const json_t *list = json_object_get(root, "added_tokens");
    size_t n = json_array_size(list);
    struct added_json *a = VC_NEW_ARRAY(&t->arena, struct added_json, n + 1);
    for (int i = 0; i < 2; i++) t->added[i].v = VC_NEW_ARRAY(&t->arena, struct vc_tok_added, n + 1);
    if (t->arena.failed) return nomem(t, err);
    for (size_t i = 0; i < n; i++) {
        VC_TRY(read_added(t, json_array_get(list, i), i, &a[i], err));
        VC_TRY(register_added(t, &a[i], err));
    }
    for (int special = 1; special >= 0; special--) {    /* special ones win where two have the same text */
        for (size_t i = 0; i < n; i++) {
            if (!a[i].text.n || !!(a[i].flags & VC_ADDED_SPECIAL) != special) continue;
            struct vc_tok_added_set *set = &t->added[a[i].normalized];
            struct vc_tok_added x = { .id = a[i].id, .flags = a[i].flags };
            VC_TRY(match_text(t, s, &a[i], &x.text, err));
            t->text[x.id] = x.text;    /* decoding gives the normalized text, as the tokenizers crate 0.23 does */
            set->v[set->n++] = x;
        }
    }
    for (int i = 0; i < 2; i++) VC_TRY(vc_tok_added_build(&t->added[i], err));
    return VC_OK;
}

/* ---- decoder -------------------------------------------------------------------------------------------------- */

/* A ByteLevel decoder alone joins pieces: the bytes of a text in its alphabet, any other text as it is. */
static vc_status load_pieces(struct vc_tokenizer *t, vc_err *err) {
    t->decode = t->num_dec ? VC_DECODE_CHAIN : VC_DECODE_JOIN;
    if (t->num_dec != 1 || t->dec[0].kind != VC_DEC_BYTELEVEL) return VC_OK;
    t->decode = VC_DECODE_PIECES;
    for (uint32_t i = 0; i < t->size; i++) {
        vc_str raw = raw_bytes(t, t->text[i]);
        t->piece[i] = raw.p ? raw : t->text[i];
    }
    return t->arena.failed ? nomem(t, err) : VC_OK;
}

/* ---- the files beside it -------------------------------------------------------------------------------------- */

static char *beside(const char *path, const char *file) {
    const char *slash = strrchr(path, '/');
    struct vc_buf b = { 0 };
    if (slash) vc_buf_add(&b, path, (size_t)(slash + 1 - path));
    vc_buf_adds(&b, file);
    return vc_buf_take(&b, NULL);
}

/* "text" or {"content": "text"} */
static int32_t named_token(const struct vc_tokenizer *t, const json_t *j, const char *key) {
    const json_t *v = json_object_get(j, key);
    if (json_is_object(v)) v = json_object_get(v, "content");
    return json_is_string(v) ? vc_text_map_find(&t->by_text, json_string_value(v), json_string_length(v)) : -1;
}

static const json_t *config_template(const json_t *j) {
    const json_t *v = json_object_get(j, "chat_template");
    if (!json_is_array(v)) return v;
    for (size_t i = 0; i < json_array_size(v); i++) {    /* [{"name": "default", "template": …}, …] */
        const json_t *x = json_array_get(v, i);
        const char *name = json_string_value(json_object_get(x, "name"));
        if (name && !strcmp(name, "default")) return json_object_get(x, "template");
    }
    return NULL;
}

static vc_status read_config(struct vc_tokenizer *t, const char *path, const char *file, vc_err *err) {
    char *p = beside(path, file);
    json_t *j = NULL;
    vc_status r = !p ? nomem(t, err) : access(p, F_OK) ? VC_OK : vc_json_load(&j, p, err);
    free(p);
    if (r || !j) return r;
    if (t->bos < 0) t->bos = named_token(t, j, "bos_token");
    if (t->eos < 0) t->eos = named_token(t, j, "eos_token");
    const json_t *c = config_template(j);
    if (json_is_string(c) && !t->chat_template) t->chat_template = vc_arena_strndup(&t->arena, json_string_value(c), json_string_length(c));
    json_decref(j);
    return VC_OK;
}

static vc_status read_template(struct vc_tokenizer *t, const char *path, vc_err *err) {
    char *p = beside(path, "chat_template.jinja");
    struct vc_map m = { 0 };
    vc_status r = !p ? nomem(t, err) : access(p, F_OK) ? VC_OK : vc_map_open(&m, p, err);
    if (m.p) {
        t->chat_template = vc_arena_strndup(&t->arena, (const char *)m.p, m.n);
        vc_map_close(&m);
    }
    free(p);
    return r;
}

static vc_status load(struct vc_tokenizer *t, const json_t *root, const char *path, vc_err *err) {
    const json_t *n = json_object_get(root, "normalizer"), *p = json_object_get(root, "pre_tokenizer");
    const json_t *d = json_object_get(root, "decoder"), *q = json_object_get(root, "post_processor");
    if (json_is_object(n)) VC_TRY(vc_tok_load_normalizer(t, n, "normalizer", err));
    if (json_is_object(p)) VC_TRY(vc_tok_load_pre(t, p, "pre_tokenizer", err));
    if (json_is_object(d)) VC_TRY(vc_tok_load_decoder(t, d, "decoder", err));
    VC_TRY(load_model(t, root, err));
    struct vc_tok_scratch *s = calloc(1, sizeof *s);
    if (!s) return nomem(t, err);
    vc_status r = load_added(t, root, s, err);
    vc_tok_scratch_free(s);
    VC_TRY(r);
    if (json_is_object(q)) VC_TRY(vc_tok_load_post(t, q, "post_processor", err));
    VC_TRY(load_pieces(t, err));
    VC_TRY(read_template(t, path, err));
    VC_TRY(read_config(t, path, "tokenizer_config.json", err));
    VC_TRY(read_config(t, path, "special_tokens_map.json", err));
    return read_config(t, path, "chat_template.json", err);
}

vc_status vc_tokenizer_from_json(struct vc_tokenizer **out, const char *path, vc_err *err) {
    *out = NULL;
    json_t *root;
    VC_TRY(vc_json_load(&root, path, err));
    struct vc_tokenizer *t = vc_tokenizer_alloc(path);
    vc_status r = t ? load(t, root, path, err) : vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    json_decref(root);
    if (r == VC_OK && t->arena.failed) r = nomem(t, err);
    if (r) vc_tokenizer_close(t);
    else *out = t;
    return r;
}
