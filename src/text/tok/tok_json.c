/* SPDX-License-Identifier: Apache-2.0
 * tok_json.c: a tokenizer from tokenizer.json (Hugging Face tokenizers): the order of its parts, and the added tokens.
 * `truncation` and `padding` of the file are not applied: the engine neither cuts nor pads. */
#include <stdlib.h>

#include "io/json.h"
#include "text/tok/tok_int.h"

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
    return a->text.p ? VC_OK : vc_tok_nomem(t, err);
}

static vc_status register_added(struct vc_tokenizer *t, struct added_json *a, vc_err *err) {
    int32_t have = vc_text_map_find(&t->by_text, a->text.p, a->text.n);
    if (have >= 0) a->id = have;
    t->text[a->id] = a->text;
    t->flags[a->id] |= (uint8_t)(VC_TOKF_USED | VC_TOKF_ADDED | (a->flags & VC_ADDED_SPECIAL ? VC_TOKF_SPECIAL : 0));
    return vc_text_map_add(&t->by_text, a->text.p, a->text.n, a->id, NULL) ? VC_OK : vc_tok_nomem(t, err);
}

/* Normalized tokens are matched in normalized text, so their own text is normalized. */
static vc_status match_text(struct vc_tokenizer *t, struct vc_tok_scratch *s, const struct added_json *a, vc_str *out, vc_err *err) {
    struct vc_tok_view v = { a->text.p, a->text.n, NULL, 0 };
    s->orig = a->text.p;
    s->orig_n = a->text.n;
    if (a->normalized) VC_TRY(vc_tok_normalize(s, t->norm, t->num_norm, &v, err));
    *out = (vc_str){ vc_arena_strndup(&t->arena, v.p, v.n), v.n };
    return out->p ? VC_OK : vc_tok_nomem(t, err);
}

static vc_status load_added(struct vc_tokenizer *t, const json_t *root, struct vc_tok_scratch *s, vc_err *err) {
    const json_t *list = json_object_get(root, "added_tokens");
    size_t n = json_array_size(list);
    struct added_json *a = VC_NEW_ARRAY(&t->arena, struct added_json, n + 1);
    for (int i = 0; i < 2; i++) t->added[i].v = VC_NEW_ARRAY(&t->arena, struct vc_tok_added, n + 1);
    if (t->arena.failed) return vc_tok_nomem(t, err);
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
        vc_str raw = vc_tok_raw_bytes(t, t->text[i]);
        t->piece[i] = raw.p ? raw : t->text[i];
    }
    return t->arena.failed ? vc_tok_nomem(t, err) : VC_OK;
}

/* null or an object; anything else would be a component left out unnoticed. */
static vc_status component(struct vc_tokenizer *t, const json_t *root, const char *key, vc_tok_load_fn *load, vc_err *err) {
    json_t *j = NULL;
    if (vc_json_opt_obj(root, key, &j, err)) return vc_fail_prefix(err, "%s", t->name);
    return j ? load(t, j, key, err) : VC_OK;
}

static vc_status load(struct vc_tokenizer *t, const json_t *root, const char *path, vc_err *err) {
    VC_TRY(component(t, root, "normalizer", vc_tok_load_normalizer, err));
    VC_TRY(component(t, root, "pre_tokenizer", vc_tok_load_pre, err));
    VC_TRY(component(t, root, "decoder", vc_tok_load_decoder, err));
    VC_TRY(vc_tok_load_model(t, root, err));
    struct vc_tok_scratch *s = calloc(1, sizeof *s);
    if (!s) return vc_tok_nomem(t, err);
    vc_status r = load_added(t, root, s, err);
    vc_tok_scratch_free(s);
    VC_TRY(r);
    VC_TRY(component(t, root, "post_processor", vc_tok_load_post, err));
    VC_TRY(load_pieces(t, err));
    bool bos = false, eos = false;    /* the post-processor says what is added, not the configuration */
    return vc_tok_load_beside(t, path, &bos, &eos, err);
}

/* Mistral's file, whose vocabulary is a list beside a config. */
static bool is_tekken(const json_t *root) {
    return json_is_object(json_object_get(root, "config")) && json_is_array(json_object_get(root, "vocab")) && !json_object_get(root, "model");
}

vc_status vc_tokenizer_from_json(struct vc_tokenizer **out, const char *path, vc_err *err) {
    *out = NULL;
    json_t *root;
    VC_TRY(vc_json_load(&root, path, err));
    struct vc_tokenizer *t = vc_tokenizer_alloc(path);
    vc_status r = VC_OK;
    if (!t) r = vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    else r = is_tekken(root) ? vc_tok_load_tekken(t, root, path, err) : load(t, root, path, err);
    json_decref(root);
    if (r == VC_OK && t->arena.failed) r = vc_tok_nomem(t, err);
    if (r) vc_tokenizer_close(t);
    else *out = t;
    return r;
}
