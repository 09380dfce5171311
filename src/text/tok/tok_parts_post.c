/* SPDX-License-Identifier: Apache-2.0
 * tok_parts_post.c: the post-processors of tokenizer.json by name: what is put around a text, and around two. */
#include "io/json.h"
#include "text/tok/tok_int.h"

enum { CAP = 64 };

/* A template as it is read: parts in order. */
struct parts { struct vc_tok_part v[CAP]; uint32_t n; };

static vc_status add_part(struct vc_tokenizer *t, struct parts *p, struct vc_tok_part x, const char *path, vc_err *err) {
    if (p->n == CAP) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s: a template of more than %d tokens and texts", t->name, path, CAP);
    p->v[p->n++] = x;
    return VC_OK;
}

/* One post-processor that adds tokens is taken: two in a row would take the tokens of the first for texts. */
static vc_status set_template(struct vc_tokenizer *t, const struct parts *single, const struct parts *pair, const char *path, vc_err *err) {
    if (t->templated) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s: a second post-processor that adds tokens", t->name, path);
    t->templated = true;
    int32_t *ids = VC_NEW_ARRAY(&t->arena, int32_t, single->n + 1);
    t->pair = VC_NEW_ARRAY(&t->arena, struct vc_tok_part, pair->n + 1);
    if (!ids || !t->pair) return vc_tok_nomem(t, err);
    uint32_t k = 0, texts = 0;
    for (uint32_t i = 0; i < single->n; i++) {
        if (single->v[i].text >= 0) {
            texts++;
            t->num_before = k;
        } else ids[k++] = single->v[i].id;
    }
    if (texts != 1) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s.single: %u texts; one is expected", t->name, path, texts);
    t->before = ids;
    t->after = ids + t->num_before;
    t->num_after = k - t->num_before;
    memcpy(t->pair, pair->v, pair->n * sizeof *pair->v);
    t->num_pair = pair->n;
    return VC_OK;
}

static vc_status type_of(struct vc_tokenizer *t, const json_t *piece, uint8_t *type, const char *path, vc_err *err) {
    uint32_t v = 0;
    if (vc_json_opt_u32(piece, "type_id", &v, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    if (v > 127) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s.type_id: %u; at most 127 is supported", t->name, path, v);
    *type = (uint8_t)v;
    return VC_OK;
}

static vc_status special_ids(struct vc_tokenizer *t, const json_t *special, const char *id, uint8_t type, struct parts *out, const char *path, vc_err *err) {
    const json_t *ids = json_object_get(json_object_get(special, id), "ids");
    if (!json_is_array(ids)) return vc_fail(err, VC_E_FORMAT, "%s: %s.special_tokens: no ids for \"%s\"", t->name, path, id);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_int_t x = json_integer_value(json_array_get(ids, i));
        if (!json_is_integer(json_array_get(ids, i)) || x < 0 || x >= (json_int_t)t->size)
            return vc_fail(err, VC_E_FORMAT, "%s: %s.special_tokens.%s.ids.%zu: no id of the vocabulary", t->name, path, id, i);
        VC_TRY(add_part(t, out, (struct vc_tok_part){ -1, (int32_t)x, type }, path, err));
    }
    return VC_OK;
}

static vc_status read_template(struct vc_tokenizer *t, const json_t *j, const char *key, struct parts *out, const char *path, vc_err *err) {
    json_t *a = NULL;
    if (vc_json_opt_arr(j, key, &a, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *p = json_array_get(a, i), *token = json_object_get(p, "SpecialToken"), *text = json_object_get(p, "Sequence");
        const char *id = json_string_value(json_object_get(token ? token : text, "id"));
        char where[320];
        uint8_t type = 0;
        snprintf(where, sizeof where, "%s.%s.%zu", path, key, i);
        if (!id || (!token && strcmp(id, "A") && strcmp(id, "B")))
            return vc_fail(err, VC_E_FORMAT, "%s: %s: expected SpecialToken or Sequence A or B", t->name, where);
        VC_TRY(type_of(t, token ? token : text, &type, where, err));
        if (token) VC_TRY(special_ids(t, json_object_get(j, "special_tokens"), id, type, out, path, err));
        else VC_TRY(add_part(t, out, (struct vc_tok_part){ id[0] == 'B', -1, type }, path, err));
    }
    return VC_OK;
}

static vc_status post_template(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct parts single = { .n = 0 }, pair = { .n = 0 };
    VC_TRY(read_template(t, j, "single", &single, path, err));
    VC_TRY(read_template(t, j, "pair", &pair, path, err));
    for (uint32_t i = 0; i < single.n; i++) {
        if (single.v[i].text == 1) return vc_fail(err, VC_E_FORMAT, "%s: %s.single: holds Sequence B", t->name, path);
    }
    return set_template(t, &single, &pair, path, err);
}

/* ["</s>", 2] */
static vc_status pair_id(struct vc_tokenizer *t, const json_t *j, const char *key, int32_t *id, const char *path, vc_err *err) {
    const json_t *x = json_array_get(json_object_get(j, key), 1);
    if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) >= (json_int_t)t->size)
        return vc_fail(err, VC_E_FORMAT, "%s: %s.%s: expected [text, id of the vocabulary]", t->name, path, key);
    *id = (int32_t)json_integer_value(x);
    return VC_OK;
}

/* cls A sep, and for two texts B sep behind it (BERT) or sep B sep (RoBERTa, all of type 0). */
static vc_status around(struct vc_tokenizer *t, const json_t *j, bool roberta, const char *path, vc_err *err) {
    int32_t cls = -1, sep = -1;
    VC_TRY(pair_id(t, j, "cls", &cls, path, err));
    VC_TRY(pair_id(t, j, "sep", &sep, path, err));
    uint8_t type = roberta ? 0 : 1;
    struct parts single = { .n = 3, .v = { { -1, cls, 0 }, { 0, -1, 0 }, { -1, sep, 0 } } }, pair = single;
    if (roberta) pair.v[pair.n++] = (struct vc_tok_part){ -1, sep, 0 };
    pair.v[pair.n++] = (struct vc_tok_part){ 1, -1, type };
    pair.v[pair.n++] = (struct vc_tok_part){ -1, sep, type };
    return set_template(t, &single, &pair, path, err);
}
static vc_status post_bert(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) { return around(t, j, false, path, err); }

static vc_status post_bytelevel(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    bool trim = true, space = true;
    VC_TRY(vc_tok_flag_at(t, j, "trim_offsets", &trim, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "add_prefix_space", &space, path, err));
    if (!trim) return VC_OK;
    t->trim_offsets = true;
    t->trim_keeps_first = space;
    return VC_OK;
}
static vc_status post_roberta(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    VC_TRY(post_bytelevel(t, j, path, err));
    return around(t, j, true, path, err);
}
static vc_status post_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_sequence(t, j, "processors", path, vc_tok_load_post, err);
}
static const struct vc_tok_row post_rows[] = {
    { "TemplateProcessing", post_template }, { "ByteLevel", post_bytelevel }, { "RobertaProcessing", post_roberta },
    { "BertProcessing", post_bert }, { "Sequence", post_sequence },
};
vc_status vc_tok_load_post(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_by_type(t, post_rows, VC_ARRAY_LEN(post_rows), "post-processor", j, path, err);
}
