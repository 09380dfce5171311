/* SPDX-License-Identifier: Apache-2.0
 * tok_parts.c: the components of tokenizer.json by name: normalizers, pre-tokenizers, decoders, post-processors. One row
 * per type; a type without a row is refused with its path. Sequences append their members' steps. */
#include "io/json.h"
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

enum { MAX_DEPTH = 8 };
/* GPT-2's pattern (encoder.py), which ByteLevel uses with use_regex. */
static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

typedef vc_status load_fn(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err);
struct row { const char *type; load_fn *load; };

static vc_status nomem(const struct vc_tokenizer *t, vc_err *err) { return vc_fail(err, VC_E_NOMEM, "%s: out of memory", t->name); }

static vc_status str_at(struct vc_tokenizer *t, const json_t *j, const char *key, vc_str *s, const char *path, vc_err *err) {
    vc_str v;
    if (vc_json_str(j, key, &v, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    s->p = vc_arena_strndup(&t->arena, v.p, v.n);
    s->n = v.n;
    return s->p ? VC_OK : nomem(t, err);
}
static vc_status flag_at(struct vc_tokenizer *t, const json_t *j, const char *key, bool *b, const char *path, vc_err *err) {
    return vc_json_opt_bool(j, key, b, err) ? vc_fail_prefix(err, "%s: %s", t->name, path) : VC_OK;
}

vc_status vc_tok_load_pattern(struct vc_tokenizer *t, struct vc_tok_pattern *p, const char *regex, size_t n, vc_err *err) {
    if (vc_tok_regex_new(&t->regexes, regex, n, t->regexes, err)) return vc_fail_prefix(err, "%s", t->name);
    p->regex = t->regexes;
    return VC_OK;
}

/* {"String": …} or {"Regex": …} */
static vc_status pattern_at(struct vc_tokenizer *t, const json_t *j, struct vc_tok_pattern *p, const char *path, vc_err *err) {
    const json_t *o = json_object_get(j, "pattern"), *re = json_object_get(o, "Regex");
    if (json_is_string(re)) return vc_tok_load_pattern(t, p, json_string_value(re), json_string_length(re), err);
    if (json_is_string(o)) return str_at(t, j, "pattern", &p->text, path, err);
    return str_at(t, j, "pattern.String", &p->text, path, err);
}

static vc_status by_type(struct vc_tokenizer *t, const struct row *rows, size_t n, const char *what, const json_t *j, const char *path, vc_err *err) {
    vc_str type;
    size_t depth = 0;
    for (const char *q = path; (q = strchr(q, '.')); q++) depth++;
    if (depth > 2 * MAX_DEPTH) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s: nested too deeply", t->name, path);
    if (vc_json_str(j, "type", &type, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    for (size_t i = 0; i < n; i++) {
        if (vc_str_is(type, rows[i].type)) return rows[i].load(t, j, path, err);
    }
    char shown[80];
    return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s.type: %s \"%s\" is not supported", t->name, path, what, vc_printable(shown, sizeof shown, type.p, type.n));
}

static vc_status sequence(struct vc_tokenizer *t, const json_t *j, const char *key, const char *path, load_fn *load, vc_err *err) {
    json_t *a;
    if (vc_json_arr(j, key, &a, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    for (size_t i = 0; i < json_array_size(a); i++) {
        char sub[256];
        snprintf(sub, sizeof sub, "%s.%s.%zu", path, key, i);
        VC_TRY(load(t, json_array_get(a, i), sub, err));
    }
    return VC_OK;
}

/* ---- normalizers ---------------------------------------------------------------------------------------------- */

static vc_status add_norm(struct vc_tokenizer *t, struct vc_tok_norm n, vc_err *err) {
    struct vc_tok_norm *v = vc_tok_append(t, t->norm, &t->num_norm, sizeof n);
    if (!v) return nomem(t, err);
    t->norm = v;
    v[t->num_norm - 1] = n;
    return VC_OK;
}

static vc_status norm_plain(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    static const struct { const char *type; enum vc_tok_norm_kind kind; } kinds[] = {
        { "NFC", VC_NORM_NFC }, { "NFD", VC_NORM_NFD }, { "NFKC", VC_NORM_NFKC }, { "NFKD", VC_NORM_NFKD },
        { "Lowercase", VC_NORM_LOWER }, { "StripAccents", VC_NORM_ACCENTS }, { "ByteLevel", VC_NORM_BYTES },
    };
    vc_str type;
    VC_TRY(vc_json_str(j, "type", &type, err));
    size_t i = 0;
    while (!vc_str_is(type, kinds[i].type)) i++;
    (void)path;
    return add_norm(t, (struct vc_tok_norm){ .kind = kinds[i].kind }, err);
}
static vc_status norm_strip(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_STRIP, .left = true, .right = true };
    VC_TRY(flag_at(t, j, "strip_left", &n.left, path, err));
    VC_TRY(flag_at(t, j, "strip_right", &n.right, path, err));
    return add_norm(t, n, err);
}
static vc_status norm_prepend(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_PREPEND };
    VC_TRY(str_at(t, j, "prepend", &n.text, path, err));
    return add_norm(t, n, err);
}
static vc_status norm_replace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_REPLACE };
    VC_TRY(str_at(t, j, "content", &n.text, path, err));
    VC_TRY(pattern_at(t, j, &n.pattern, path, err));
    return add_norm(t, n, err);
}
static vc_status norm_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return sequence(t, j, "normalizers", path, vc_tok_load_normalizer, err);
}
static const struct row norm_rows[] = {
    { "NFC", norm_plain }, { "NFD", norm_plain }, { "NFKC", norm_plain }, { "NFKD", norm_plain },
    { "Lowercase", norm_plain }, { "StripAccents", norm_plain }, { "ByteLevel", norm_plain },
    { "Strip", norm_strip }, { "Prepend", norm_prepend }, { "Replace", norm_replace }, { "Sequence", norm_sequence },
};
vc_status vc_tok_load_normalizer(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return by_type(t, norm_rows, VC_ARRAY_LEN(norm_rows), "normalizer", j, path, err);
}

/* ---- pre-tokenizers ------------------------------------------------------------------------------------------- */

static vc_status add_pre(struct vc_tokenizer *t, struct vc_tok_pre p, vc_err *err) {
    struct vc_tok_pre *v = vc_tok_append(t, t->pre, &t->num_pre, sizeof p);
    if (!v) return nomem(t, err);
    t->pre = v;
    v[t->num_pre - 1] = p;
    return VC_OK;
}
static vc_status add_split(struct vc_tokenizer *t, bool (*is)(uint32_t), enum vc_tok_split b, vc_err *err) {
    return add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPLIT, .pattern.is = is, .behavior = b }, err);
}

static vc_status behavior_at(struct vc_tokenizer *t, const json_t *j, enum vc_tok_split *b, const char *path, vc_err *err) {
    static const char *const names[] = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous" };
    vc_str s = { NULL, 0 };
    if (vc_json_opt_str(j, "behavior", &s, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    if (!s.p) return VC_OK;
    for (unsigned i = 0; i < VC_ARRAY_LEN(names); i++) {
        if (vc_str_is(s, names[i])) { *b = (enum vc_tok_split)i; return VC_OK; }
    }
    char shown[80];
    return vc_fail(err, VC_E_FORMAT, "%s: %s.behavior: \"%s\" is none of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous", t->name,
                   path, vc_printable(shown, sizeof shown, s.p, s.n));
}

static vc_status pre_bytelevel(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    bool space = true, regex = true;
    VC_TRY(flag_at(t, j, "add_prefix_space", &space, path, err));
    VC_TRY(flag_at(t, j, "use_regex", &regex, path, err));
    if (space) VC_TRY(add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPACE }, err));
    if (regex) {
        struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_ISOLATED };
        VC_TRY(vc_tok_load_pattern(t, &p.pattern, gpt2, sizeof gpt2 - 1, err));
        VC_TRY(add_pre(t, p, err));
    }
    return add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_BYTES }, err);
}
static vc_status pre_split(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_ISOLATED };
    VC_TRY(pattern_at(t, j, &p.pattern, path, err));
    VC_TRY(behavior_at(t, j, &p.behavior, path, err));
    VC_TRY(flag_at(t, j, "invert", &p.invert, path, err));
    return add_pre(t, p, err);
}

static vc_status prepend_at(struct vc_tokenizer *t, const json_t *j, int *prepend, const char *path, vc_err *err) {
    vc_str s = { NULL, 0 };
    bool legacy = true;
    if (vc_json_opt_str(j, "prepend_scheme", &s, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    VC_TRY(flag_at(t, j, "add_prefix_space", &legacy, path, err));
    *prepend = legacy ? VC_PREPEND_ALWAYS : VC_PREPEND_NEVER;
    if (!s.p) return VC_OK;
    if (vc_str_is(s, "always")) *prepend = VC_PREPEND_ALWAYS;
    else if (vc_str_is(s, "first")) *prepend = VC_PREPEND_FIRST;
    else if (vc_str_is(s, "never")) *prepend = VC_PREPEND_NEVER;
    else return vc_fail(err, VC_E_FORMAT, "%s: %s.prepend_scheme: expected always, first or never", t->name, path);
    return VC_OK;
}
static vc_status pre_metaspace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_pre p = { .kind = VC_PRE_METASPACE };
    bool split = true;
    VC_TRY(str_at(t, j, "replacement", &p.text, path, err));
    VC_TRY(prepend_at(t, j, &p.prepend, path, err));
    VC_TRY(flag_at(t, j, "split", &split, path, err));
    VC_TRY(add_pre(t, p, err));
    if (!split) return VC_OK;
    return add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPLIT, .pattern.text = p.text, .behavior = VC_SPLIT_NEXT }, err);
}
static vc_status pre_digits(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    bool each = false;
    VC_TRY(flag_at(t, j, "individual_digits", &each, path, err));
    return add_split(t, vc_chr_numeric, each ? VC_SPLIT_ISOLATED : VC_SPLIT_CONTIGUOUS, err);
}
static vc_status pre_punctuation(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    enum vc_tok_split b = VC_SPLIT_ISOLATED;
    VC_TRY(behavior_at(t, j, &b, path, err));
    return add_split(t, vc_chr_punct, b, err);
}
static vc_status pre_whitespace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    static const char re[] = "\\w+|[^\\w\\s]+";
    struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_REMOVED, .invert = true };
    (void)j, (void)path;
    VC_TRY(vc_tok_load_pattern(t, &p.pattern, re, sizeof re - 1, err));
    return add_pre(t, p, err);
}
static vc_status pre_whitespace_split(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    (void)j, (void)path;
    return add_split(t, vc_chr_space, VC_SPLIT_REMOVED, err);
}
static vc_status pre_bert(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    VC_TRY(pre_whitespace_split(t, j, path, err));
    return add_split(t, vc_chr_punct, VC_SPLIT_ISOLATED, err);
}
static vc_status pre_delimiter(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_REMOVED };
    VC_TRY(str_at(t, j, "delimiter", &p.pattern.text, path, err));
    return add_pre(t, p, err);
}
static vc_status pre_fixed(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_pre p = { .kind = VC_PRE_FIXED, .length = 5 };
    if (vc_json_opt_u32(j, "length", &p.length, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    if (!p.length) return vc_fail(err, VC_E_FORMAT, "%s: %s.length: 0; at least 1 is expected", t->name, path);
    return add_pre(t, p, err);
}
static vc_status pre_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return sequence(t, j, "pretokenizers", path, vc_tok_load_pre, err);
}
static const struct row pre_rows[] = {
    { "ByteLevel", pre_bytelevel }, { "Split", pre_split }, { "Metaspace", pre_metaspace }, { "Digits", pre_digits },
    { "Punctuation", pre_punctuation }, { "Whitespace", pre_whitespace }, { "WhitespaceSplit", pre_whitespace_split },
    { "BertPreTokenizer", pre_bert }, { "CharDelimiterSplit", pre_delimiter }, { "FixedLength", pre_fixed },
    { "Sequence", pre_sequence },
};
vc_status vc_tok_load_pre(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return by_type(t, pre_rows, VC_ARRAY_LEN(pre_rows), "pre-tokenizer", j, path, err);
}

/* ---- decoders ------------------------------------------------------------------------------------------------- */

static vc_status add_dec(struct vc_tokenizer *t, struct vc_tok_dec d, vc_err *err) {
    struct vc_tok_dec *v = vc_tok_append(t, t->dec, &t->num_dec, sizeof d);
    if (!v) return nomem(t, err);
    t->dec = v;
    v[t->num_dec - 1] = d;
    return VC_OK;
}
static vc_status dec_bytelevel(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    (void)j, (void)path;
    return add_dec(t, (struct vc_tok_dec){ .kind = VC_DEC_BYTELEVEL }, err);
}
static vc_status dec_fallback(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    (void)j, (void)path;
    return add_dec(t, (struct vc_tok_dec){ .kind = VC_DEC_BYTEFALLBACK }, err);
}
static vc_status dec_fuse(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    (void)j, (void)path;
    return add_dec(t, (struct vc_tok_dec){ .kind = VC_DEC_FUSE }, err);
}
static vc_status dec_strip(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_STRIP };
    VC_TRY(str_at(t, j, "content", &d.text, path, err));
    if (vc_json_opt_u32(j, "start", &d.start, err) || vc_json_opt_u32(j, "stop", &d.stop, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    if (!d.text.n) return vc_fail(err, VC_E_FORMAT, "%s: %s.content: empty", t->name, path);
    return add_dec(t, d, err);
}
static vc_status dec_replace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_REPLACE };
    VC_TRY(str_at(t, j, "content", &d.text, path, err));
    VC_TRY(pattern_at(t, j, &d.pattern, path, err));
    return add_dec(t, d, err);
}
static vc_status dec_metaspace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_METASPACE };
    VC_TRY(str_at(t, j, "replacement", &d.text, path, err));
    VC_TRY(prepend_at(t, j, &d.prepend, path, err));
    if (!d.text.n) return vc_fail(err, VC_E_FORMAT, "%s: %s.replacement: empty", t->name, path);
    return add_dec(t, d, err);
}
static vc_status dec_bpe(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_SUFFIX };
    VC_TRY(str_at(t, j, "suffix", &d.text, path, err));
    return add_dec(t, d, err);
}
static vc_status dec_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return sequence(t, j, "decoders", path, vc_tok_load_decoder, err);
}
static const struct row dec_rows[] = {
    { "ByteLevel", dec_bytelevel }, { "ByteFallback", dec_fallback }, { "Fuse", dec_fuse }, { "Strip", dec_strip },
    { "Replace", dec_replace }, { "Metaspace", dec_metaspace }, { "BPEDecoder", dec_bpe }, { "Sequence", dec_sequence },
};
vc_status vc_tok_load_decoder(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return by_type(t, dec_rows, VC_ARRAY_LEN(dec_rows), "decoder", j, path, err);
}

/* ---- post-processors ------------------------------------------------------------------------------------------ */

/* ids around what is there already. */
static vc_status wrap(struct vc_tokenizer *t, const int32_t *a, uint32_t na, const int32_t *b, uint32_t nb, vc_err *err) {
    int32_t *before = VC_NEW_ARRAY(&t->arena, int32_t, (size_t)na + t->num_before + 1);
    int32_t *after = VC_NEW_ARRAY(&t->arena, int32_t, (size_t)nb + t->num_after + 1);
    if (!before || !after) return nomem(t, err);
    if (na) memcpy(before, a, na * sizeof *a);
    if (t->num_before) memcpy(before + na, t->before, t->num_before * sizeof *a);
    if (t->num_after) memcpy(after, t->after, t->num_after * sizeof *a);
    if (nb) memcpy(after + t->num_after, b, nb * sizeof *b);
    t->before = before;
    t->after = after;
    t->num_before += na;
    t->num_after += nb;
    return VC_OK;
}

static vc_status template_ids(struct vc_tokenizer *t, const json_t *special, const char *id, int32_t *v, uint32_t *n, uint32_t cap, const char *path,
                              vc_err *err) {
    const json_t *ids = json_object_get(json_object_get(special, id), "ids");
    if (!json_is_array(ids)) return vc_fail(err, VC_E_FORMAT, "%s: %s.special_tokens: no ids for \"%s\"", t->name, path, id);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_int_t x = json_integer_value(json_array_get(ids, i));
        if (!json_is_integer(json_array_get(ids, i)) || x < 0 || x >= (json_int_t)t->size)
            return vc_fail(err, VC_E_FORMAT, "%s: %s.special_tokens.%s.ids.%zu: no id of the vocabulary", t->name, path, id, i);
        if (*n == cap) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s: more than %u special tokens around a text", t->name, path, cap);
        v[(*n)++] = (int32_t)x;
    }
    return VC_OK;
}

static vc_status post_template(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    enum { CAP = 16 };
    int32_t v[2][CAP];
    uint32_t n[2] = { 0, 0 }, sequences = 0;
    json_t *single;
    if (vc_json_arr(j, "single", &single, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *p = json_array_get(single, i);
        const char *special = json_string_value(json_object_get(json_object_get(p, "SpecialToken"), "id"));
        const char *seq = json_string_value(json_object_get(json_object_get(p, "Sequence"), "id"));
        if (special) VC_TRY(template_ids(t, json_object_get(j, "special_tokens"), special, v[sequences > 0], &n[sequences > 0], CAP, path, err));
        else if (seq && !strcmp(seq, "A") && sequences == 0) sequences++;
        else return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s.single.%zu: expected SpecialToken or one Sequence A", t->name, path, i);
    }
    if (!sequences) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %s.single: no Sequence A", t->name, path);
    return wrap(t, v[0], n[0], v[1], n[1], err);
}

/* ["</s>", 2] */
static vc_status pair_id(struct vc_tokenizer *t, const json_t *j, const char *key, int32_t *id, const char *path, vc_err *err) {
    const json_t *x = json_array_get(json_object_get(j, key), 1);
    if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) >= (json_int_t)t->size)
        return vc_fail(err, VC_E_FORMAT, "%s: %s.%s: expected [text, id of the vocabulary]", t->name, path, key);
    *id = (int32_t)json_integer_value(x);
    return VC_OK;
}
static vc_status post_bert(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    int32_t cls = -1, sep = -1;
    VC_TRY(pair_id(t, j, "cls", &cls, path, err));
    VC_TRY(pair_id(t, j, "sep", &sep, path, err));
    return wrap(t, &cls, 1, &sep, 1, err);
}
static vc_status post_bytelevel(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    bool trim = true, space = true;
    VC_TRY(flag_at(t, j, "trim_offsets", &trim, path, err));
    VC_TRY(flag_at(t, j, "add_prefix_space", &space, path, err));
    if (!trim) return VC_OK;
    t->trim_offsets = true;
    t->trim_keeps_first = space;
    return VC_OK;
}
static vc_status post_roberta(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    VC_TRY(post_bytelevel(t, j, path, err));
    return post_bert(t, j, path, err);
}
static vc_status post_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return sequence(t, j, "processors", path, vc_tok_load_post, err);
}
static const struct row post_rows[] = {
    { "TemplateProcessing", post_template }, { "ByteLevel", post_bytelevel }, { "RobertaProcessing", post_roberta },
    { "BertProcessing", post_bert }, { "Sequence", post_sequence },
};
vc_status vc_tok_load_post(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return by_type(t, post_rows, VC_ARRAY_LEN(post_rows), "post-processor", j, path, err);
}
