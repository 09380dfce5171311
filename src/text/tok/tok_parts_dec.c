/* SPDX-License-Identifier: Apache-2.0
 * tok_parts_dec.c: the decoders of tokenizer.json by name. */
#include "io/json.h"
#include "text/tok/tok_int.h"

enum { MAX_STEPS = 256 };

static vc_status add_dec(struct vc_tokenizer *t, struct vc_tok_dec d, vc_err *err) {
    if (t->num_dec == MAX_STEPS) return vc_fail(err, VC_E_UNSUPPORTED, "%s: decoder: more than %d steps", t->name, MAX_STEPS);
    struct vc_tok_dec *v = vc_tok_append(t, t->dec, &t->num_dec, sizeof d);
    if (!v) return vc_tok_nomem(t, err);
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
    VC_TRY(vc_tok_str_at(t, j, "content", &d.text, path, err));
    if (vc_json_opt_u32(j, "start", &d.start, err) || vc_json_opt_u32(j, "stop", &d.stop, err)) return vc_fail_prefix(err, "%s: %s", t->name, path);
    if (!d.text.n) return vc_fail(err, VC_E_FORMAT, "%s: %s.content: empty", t->name, path);
    return add_dec(t, d, err);
}
static vc_status dec_replace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_REPLACE };
    VC_TRY(vc_tok_str_at(t, j, "content", &d.text, path, err));
    VC_TRY(vc_tok_pattern_at(t, j, &d.pattern, path, err));
    return add_dec(t, d, err);
}
static vc_status dec_metaspace(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_METASPACE };
    VC_TRY(vc_tok_str_at(t, j, "replacement", &d.text, path, err));
    VC_TRY(vc_tok_prepend_at(t, j, &d.prepend, path, err));
    if (!d.text.n) return vc_fail(err, VC_E_FORMAT, "%s: %s.replacement: empty", t->name, path);
    return add_dec(t, d, err);
}
static vc_status dec_bpe(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_SUFFIX };
    VC_TRY(vc_tok_str_at(t, j, "suffix", &d.text, path, err));
    return add_dec(t, d, err);
}
static vc_status dec_wordpiece(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_WORDPIECE, .cleanup = true };
    VC_TRY(vc_tok_str_at(t, j, "prefix", &d.text, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "cleanup", &d.cleanup, path, err));
    return add_dec(t, d, err);
}
static vc_status dec_ctc(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    struct vc_tok_dec d = { .kind = VC_DEC_CTC, .cleanup = true };
    VC_TRY(vc_tok_str_at(t, j, "pad_token", &d.text, path, err));
    VC_TRY(vc_tok_str_at(t, j, "word_delimiter_token", &d.delimiter, path, err));
    VC_TRY(vc_tok_flag_at(t, j, "cleanup", &d.cleanup, path, err));
    return add_dec(t, d, err);
}
static vc_status dec_sequence(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_sequence(t, j, "decoders", path, vc_tok_load_decoder, err);
}
static const struct vc_tok_row dec_rows[] = {
    { "ByteLevel", dec_bytelevel }, { "ByteFallback", dec_fallback }, { "Fuse", dec_fuse }, { "Strip", dec_strip },
    { "Replace", dec_replace }, { "Metaspace", dec_metaspace }, { "BPEDecoder", dec_bpe }, { "WordPiece", dec_wordpiece },
    { "CTC", dec_ctc }, { "Sequence", dec_sequence },
};
vc_status vc_tok_load_decoder(struct vc_tokenizer *t, const json_t *j, const char *path, vc_err *err) {
    return vc_tok_by_type(t, dec_rows, VC_ARRAY_LEN(dec_rows), "decoder", j, path, err);
}

