/* SPDX-License-Identifier: Apache-2.0
 * tok_parts.c: the components of tokenizer.json by name: normalizers and pre-tokenizers (decoders and post-processors are in
 * tok_parts_dec.c and tok_parts_post.c). One row per type; a type without a row is refused with its path. Sequences append
 * their members' steps. */
#include "base/base64.h"
#include "io/json.h"
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

enum { MAX_DEPTH = 8, MAX_STEPS = 256 };
/* GPT-2's pattern (encoder.py), which ByteLevel uses with use_regex. */
static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

vc_status vc_tok_nomem(const struct vc_tokenizer *t, vc_err *err) { return vc_fail(err, VC_E_NOMEM, "%s: out of memory", t->name); }

vc_status vc_tok_str_at(struct vc_tokenizer *t, const json_t *j, const char *key, vc_str *s, const char *path, vc_err *err) {
    vc_str v;
    if (vc_json_str(j, key, &v, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    s->p = vc_arena_strndup(&t->arena, v.p, v.n);
    s->n = v.n;
    return s->p ? VC_OK : vc_tok_nomem(t, err);
}
vc_status vc_tok_flag_at(struct vc_tokenizer *t, const json_t *j, const char *key, bool *b, const char *path, vc_err *err) {
    return vc_json_opt_bool(j, key, b, err) ? vc_fail_prefix(err, "%s: %s", t->name, path) : VC_OK;
}

vc_status vc_tok_load_pattern(struct vc_tokenizer *t, struct vc_tok_pattern *p, const char *regex, size_t n, vc_err *err) {
    if (vc_tok_regex_new(&t->regexes, regex, n, t->regexes, err)) return vc_fail_prefix(err, "%s", t->name);
    p->regex = t->regexes;
    return VC_OK;
}

/* {"String": …} or {"Regex": …} */
vc_status vc_tok_pattern_at(struct vc_tokenizer *t, const json_t *j, struct vc_tok_pattern *p, const char *path, vc_err *err) {
    const json_t *o = json_object_get(j, "pattern"), *re = json_object_get(o, "Regex");
    if (json_is_string(re)) return vc_tok_load_pattern(t, p, json_string_value(re), json_string_length(re), err);
    if (json_is_string(o)) return vc_tok_str_at(t, j, "pattern", &p->text, path, err);
    return vc_tok_str_at(t, j, "pattern.String", &p->text, path, err);
}

vc_status vc_tok_by_type(struct vc_tokenizer *t, const struct vc_tok_row *rows, size_t n, const char *what, const json_t *j, const char *path, vc_err *err) {
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

vc_status vc_tok_sequence(struct vc_tokenizer *t, const json_t *j, const char *key, const char *path, vc_tok_load_fn *load, vc_err *err) {
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

vc_status vc_tok_add_norm(struct vc_tokenizer *t, struct vc_tok_norm n, vc_err *err) {
    if (t->num_norm == MAX_STEPS) return vc_fail(err, VC_E_UNSUPPORTED, "%s: normalizer: more than %d steps", t->name, MAX_STEPS);
    struct vc_tok_norm *v = vc_tok_append(t, t->norm, &t->num_norm, sizeof n);
    if (!v) return vc_tok_nomem(t, err);
    t->norm = v;
    v[t->num_norm - 1] = n;
    return VC_OK;
}

static vc_status norm_plain(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    static const struct { const char *type; enum vc_tok_norm_kind kind; } kinds[] = {
        { "NFC", VC_NORM_NFC }, { "NFD", VC_NORM_NFD }, { "NFKC", VC_NORM_NFKC }, { "NFKD", VC_NORM_NFKD },
        { "Lowercase", VC_NORM_LOWER }, { "StripAccents", VC_NORM_ACCENTS }, { "ByteLevel", VC_NORM_BYTES }, { "Nmt", VC_NORM_NMT },
    };
    vc_str type;
    VC_TRY(vc_json_str(j, "type", &type, err));
    size_t i = 0;
    while (!vc_str_is(type, kinds[i].type)) i++;
    (void)path;
    return vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = kinds[i].kind }, err);
}
static vc_status norm_strip(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_STRIP, .left = true, .right = true };
    VC_TRY(vc_tok_flag_at(t, j, "strip_left", &n.left, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "strip_right", &n.right, path, err));
    return vc_tok_add_norm(t, n, err);
}
static vc_status norm_prepend(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_PREPEND };
    VC_TRY(vc_tok_str_at(t, j, "prepend", &n.text, path, err));
    return vc_tok_add_norm(t, n, err);
}
static vc_status norm_replace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_REPLACE };
    VC_TRY(vc_tok_str_at(t, j, "content", &n.text, path, err));
    VC_TRY(vc_tok_pattern_at(t, j, &n.pattern, path, err));
    return vc_tok_add_norm(t, n, err);
}
/* The steps of normalizers/bert.rs; without strip_accents, accents go where letters are lowered. */
static vc_status norm_bert(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    bool clean = true, chinese = true, lower = true, accents;
    VC_TRY(vc_tok_flag_at(t, j, "clean_text", &clean, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "handle_chinese_chars", &chinese, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "lowercase", &lower, path, err));
    accents = lower;
    VC_TRY(vc_tok_flag_at(t, j, "strip_accents", &accents, path, err));
    if (clean) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_CLEAN }, err));
    if (chinese) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_CHINESE }, err));
    if (accents) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_NFD }, err));
    if (accents) VC_TRY(vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_NONSPACING }, err));
    return lower ? vc_tok_add_norm(t, (struct vc_tok_norm){ .kind = VC_NORM_LOWER }, err) : VC_OK;
}
static vc_status norm_precompiled(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_CHARSMAP };
    vc_str b64 = { "", 0 };
    if (vc_json_str(j, "precompiled_charsmap", &b64, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    uint8_t *p = vc_arena_alloc(&t->arena, b64.n / 4 * 3 + 4, 1);
    if (!p) return vc_tok_nomem(t, err);
    size_t len = vc_base64_decode(p, b64.p, b64.n);
    if (len == SIZE_MAX) return vc_fail(err, VC_E_FORMAT, "%s: %s.precompiled_charsmap: not base64", t->name, path);
    const char *bad = vc_charsmap_open(&n.map, p, len);
    if (bad) return vc_fail(err, VC_E_FORMAT, "%s: %s.precompiled_charsmap: %s", t->name, path, bad);
    return vc_tok_add_norm(t, n, err);
}
static vc_status norm_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_sequence(t, j, "normalizers", path, vc_tok_load_normalizer, err);
}
static const struct vc_tok_row norm_rows[] = {
    { "NFC", norm_plain }, { "NFD", norm_plain }, { "NFKC", norm_plain }, { "NFKD", norm_plain },
    { "Lowercase", norm_plain }, { "StripAccents", norm_plain }, { "ByteLevel", norm_plain }, { "Nmt", norm_plain },
    { "BertNormalizer", norm_bert }, { "Precompiled", norm_precompiled },
    { "Strip", norm_strip }, { "Prepend", norm_prepend }, { "Replace", norm_replace }, { "Sequence", norm_sequence },
};
vc_status vc_tok_load_normalizer(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_by_type(t, norm_rows, VC_ARRAY_LEN(norm_rows), "normalizer", j, path, err);
}

/* ---- pre-tokenizers ------------------------------------------------------------------------------------------- */

vc_status vc_tok_add_pre(struct vc_tokenizer *t, struct vc_tok_pre p, vc_err *err) {
    if (t->num_pre == MAX_STEPS) return vc_fail(err, VC_E_UNSUPPORTED, "%s: pre_tokenizer: more than %d steps", t->name, MAX_STEPS);
    struct vc_tok_pre *v = vc_tok_append(t, t->pre, &t->num_pre, sizeof p);
    if (!v) return vc_tok_nomem(t, err);
    t->pre = v;
    v[t->num_pre - 1] = p;
    return VC_OK;
}
static vc_status add_split(struct vc_tokenizer *t, bool (*is)(uint32_t), enum vc_tok_split b, vc_err *err) {
    return vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPLIT, .pattern.is = is, .behavior = b }, err);
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
    VC_TRY(vc_tok_flag_at(t, j, "add_prefix_space", &space, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "use_regex", &regex, path, err));
    if (space) VC_TRY(vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPACE }, err));
    if (regex) {
        struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_ISOLATED };
        VC_TRY(vc_tok_load_pattern(t, &p.pattern, gpt2, sizeof gpt2 - 1, err));
        VC_TRY(vc_tok_add_pre(t, p, err));
    }
    return vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_BYTES }, err);
}
static vc_status pre_split(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_ISOLATED };
    VC_TRY(vc_tok_pattern_at(t, j, &p.pattern, path, err));
    VC_TRY(behavior_at(t, j, &p.behavior, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "invert", &p.invert, path, err));
    return vc_tok_add_pre(t, p, err);
}

vc_status vc_tok_prepend_at(struct vc_tokenizer *t, const json_t *j, int *prepend, const char *path, vc_err *err) {
    vc_str s = { NULL, 0 };
    bool legacy = true;
    if (vc_json_opt_str(j, "prepend_scheme", &s, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    VC_TRY(vc_tok_flag_at(t, j, "add_prefix_space", &legacy, path, err));
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
    VC_TRY(vc_tok_str_at(t, j, "replacement", &p.text, path, err));
    VC_TRY(vc_tok_prepend_at(t, j, &p.prepend, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "split", &split, path, err));
    t->needs_places |= p.prepend == VC_PREPEND_FIRST && t->num_norm > 0;
    VC_TRY(vc_tok_add_pre(t, p, err));
    if (!split) return VC_OK;
    return vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SPLIT, .pattern.text = p.text, .behavior = VC_SPLIT_NEXT }, err);
}
static vc_status pre_digits(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    bool each = false;
    VC_TRY(vc_tok_flag_at(t, j, "individual_digits", &each, path, err));
    return add_split(t, vc_chr_numeric, each ? VC_SPLIT_ISOLATED : VC_SPLIT_CONTIGUOUS, err);
}
static vc_status pre_punctuation(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    enum vc_tok_split b = VC_SPLIT_ISOLATED;
    VC_TRY(behavior_at(t, j, &b, path, err));
    return add_split(t, vc_chr_punct, b, err);
}
static vc_status pre_whitespace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    static const char re[] = "[\\w\\x{200c}\\x{200d}]+|[^\\w\\s\\x{200c}\\x{200d}]+";    /* \w of Rust's regex crate */
    struct vc_tok_pre p = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_REMOVED, .invert = true };
    (void)j, (void)path;
    VC_TRY(vc_tok_load_pattern(t, &p.pattern, re, sizeof re - 1, err));
    return vc_tok_add_pre(t, p, err);
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
    VC_TRY(vc_tok_str_at(t, j, "delimiter", &p.pattern.text, path, err));
    return vc_tok_add_pre(t, p, err);
}
static vc_status pre_fixed(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_pre p = { .kind = VC_PRE_FIXED, .length = 5 };
    if (vc_json_opt_u32(j, "length", &p.length, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    if (!p.length) return vc_fail(err, VC_E_FORMAT, "%s: %s.length: 0; at least 1 is expected", t->name, path);
    return vc_tok_add_pre(t, p, err);
}
static vc_status pre_scripts(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    (void)j, (void)path;
    return vc_tok_add_pre(t, (struct vc_tok_pre){ .kind = VC_PRE_SCRIPTS }, err);
}
static vc_status pre_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_sequence(t, j, "pretokenizers", path, vc_tok_load_pre, err);
}
static const struct vc_tok_row pre_rows[] = {
    { "ByteLevel", pre_bytelevel }, { "Split", pre_split }, { "Metaspace", pre_metaspace }, { "Digits", pre_digits },
    { "Punctuation", pre_punctuation }, { "Whitespace", pre_whitespace }, { "WhitespaceSplit", pre_whitespace_split },
    { "BertPreTokenizer", pre_bert }, { "CharDelimiterSplit", pre_delimiter }, { "FixedLength", pre_fixed },
    { "UnicodeScripts", pre_scripts },
    { "Sequence", pre_sequence },
};
vc_status vc_tok_load_pre(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_by_type(t, pre_rows, VC_ARRAY_LEN(pre_rows), "pre-tokenizer", j, path, err);
}
