/* SPDX-License-Identifier: Apache-2.0
 * tokenize_lines.c: vllmc tokenize --jsonl: {"text", "add_special"?, "text_pair"?, "parse_special"?} to ids, tokens and
 * offsets, {"ids", "skip_special"?} to text and pieces. A line that cannot be done gets {"error": …}, and the next one
 * is read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tokenize.h"
#include "io/json.h"
#include "io/json_out.h"

static size_t chars(const char *p, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += ((unsigned char)p[i] & 0xC0) != 0x80;
    return k;
}

/* Code points before each byte offset that the offsets ask for: they mostly rise, so each text is walked about once. */
struct counter { const char *p; size_t byte, chars; };
static size_t count_to(struct counter *c, size_t byte) {
    if (byte < c->byte) c->byte = c->chars = 0;
    c->chars += chars(c->p + c->byte, byte - c->byte);
    c->byte = byte;
    return c->chars;
}

static void write_types(const struct vc_ids *ids, struct vc_json_out *w) {
    vc_jo_key(w, "type_ids");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < ids->n; i++) vc_jo_uint(w, ids->type[i] & ~(unsigned)VC_IDS_ADDED);
    vc_jo_end_arr(w);
    vc_jo_key(w, "special_mask");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < ids->n; i++) vc_jo_uint(w, (ids->type[i] & VC_IDS_ADDED) != 0);
    vc_jo_end_arr(w);
}

static void write_ids(const struct vc_tokenizer *t, const struct vc_ids *ids, const vc_str text[2], bool pair,
                      struct vc_json_out *w) {
    struct counter c[2] = { { text[0].p, 0, 0 }, { text[1].p, 0, 0 } };
    vc_jo_begin_obj(w);
    vc_jo_key(w, "ids");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < ids->n; i++) vc_jo_int(w, ids->v[i]);
    vc_jo_end_arr(w);
    vc_jo_key(w, "tokens");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < ids->n; i++) vc_jo_strn(w, vc_tok_text(t, ids->v[i]).p, vc_tok_text(t, ids->v[i]).n);
    vc_jo_end_arr(w);
    vc_jo_key(w, "offsets");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < ids->n; i++) {
        struct counter *k = &c[pair && i >= ids->pair_from];
        vc_jo_uint(w, count_to(k, ids->start[i]));
        vc_jo_uint(w, count_to(k, ids->end[i]));
    }
    vc_jo_end_arr(w);
    if (pair) write_types(ids, w);
    vc_jo_end_obj(w);
}

static vc_status opt_bool(const json_t *row, const char *key, bool *v, vc_err *err) {
    const json_t *x = json_object_get(row, key);
    if (x && !json_is_boolean(x)) return vc_fail(err, VC_E_INVALID, "%s: true or false is expected", key);
    if (x) *v = json_is_true(x);
    return VC_OK;
}

static vc_status encode_row(const struct cli_opts *o, const struct vc_tokenizer *t, const json_t *row,
                            struct vc_json_out *w, vc_err *err) {
    const json_t *a = json_object_get(row, "text"), *b = json_object_get(row, "text_pair");
    bool add = o->add_special != 0, parse = vc_tok_parses_special(t);
    if (!json_is_string(a))
        return vc_fail(err, VC_E_INVALID, a ? "text: a string is expected" : "text or ids: is missing");
    if (b && !json_is_string(b)) return vc_fail(err, VC_E_INVALID, "text_pair: a string is expected");
    VC_TRY(opt_bool(row, "add_special", &add, err));
    VC_TRY(opt_bool(row, "parse_special", &parse, err));
    vc_str text[2] = { { json_string_value(a), json_string_length(a) },
                       { b ? json_string_value(b) : "", b ? json_string_length(b) : 0 } };
    struct vc_ids ids = { .with_offsets = true, .with_types = b != NULL };
    int flags = (add ? VC_ENC_ADD_SPECIAL : 0) | (parse ? VC_ENC_PARSE_SPECIAL : 0);
    vc_status s = b ? vc_tok_encode_pair(t, text, flags, &ids, err)
                    : vc_tok_encode(t, text[0].p, text[0].n, flags, &ids, err);
    if (s == VC_OK) write_ids(t, &ids, text, b != NULL, w);
    vc_ids_free(&ids);
    return s;
}

static vc_status read_ids(const struct vc_tokenizer *t, const json_t *list, struct vc_ids *ids, vc_err *err) {
    if (!json_is_array(list)) return vc_fail(err, VC_E_INVALID, "ids: a list of integers is expected");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i);
        if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) >= (json_int_t)vc_tok_size(t))
            return vc_fail(err, VC_E_INVALID, "ids.%zu: an integer from 0 to %u is expected", i,
                           vc_tok_size(t) ? vc_tok_size(t) - 1 : 0);
        if (!vc_ids_push(ids, (int32_t)json_integer_value(x), 0, 0)) return vc_fail(err, VC_E_NOMEM, "out of memory");
    }
    return VC_OK;
}

/* One piece per id, null where nothing is sure yet; what the flush adds at the end is one more. */
static vc_status write_pieces(const struct vc_tokenizer *t, const struct vc_ids *ids, bool skip, struct vc_json_out *w,
                              vc_err *err) {
    struct vc_detok d;
    struct vc_buf piece = { 0 };
    vc_status s = VC_OK;
    vc_detok_init(&d, t, skip);
    vc_jo_key(w, "pieces");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < ids->n && s == VC_OK; i++) {
        piece.n = 0;
        s = vc_detok_push(&d, ids->v[i], &piece, err);
        if (piece.n) vc_jo_strn(w, piece.p, piece.n);
        else vc_jo_null(w);
    }
    piece.n = 0;
    if (s == VC_OK) s = vc_detok_finish(&d, &piece, err);
    if (piece.n) vc_jo_strn(w, piece.p, piece.n);
    vc_jo_end_arr(w);
    vc_detok_free(&d);
    vc_buf_free(&piece);
    return s;
}

static vc_status decode_row(const struct vc_tokenizer *t, const json_t *row, struct vc_json_out *w, vc_err *err) {
    struct vc_ids ids = { 0 };
    struct vc_buf text = { 0 };
    bool skip = false;
    vc_status s = opt_bool(row, "skip_special", &skip, err);
    if (s == VC_OK) s = read_ids(t, json_object_get(row, "ids"), &ids, err);
    if (s == VC_OK) s = vc_tok_decode(t, ids.v, ids.n, skip, &text, err);
    if (s == VC_OK) {
        vc_jo_begin_obj(w);
        vc_jo_key(w, "text");
        vc_jo_strn(w, text.p ? text.p : "", text.n);
        s = write_pieces(t, &ids, skip, w, err);
        vc_jo_end_obj(w);
    }
    vc_buf_free(&text);
    vc_ids_free(&ids);
    return s;
}

static bool answer(const struct cli_opts *o, const struct vc_tokenizer *t, const char *line, size_t n, size_t number,
                   struct vc_buf *b) {
    char name[32];
    vc_err err = VC_ERR_INIT;
    json_t *row = NULL;
    struct vc_json_out w;
    size_t begin = b->n;
    snprintf(name, sizeof name, "line %zu", number);
    vc_status s = vc_json_parse(&row, line, n, name, &err);
    if (s == VC_OK && !json_is_object(row)) s = vc_fail(&err, VC_E_INVALID, "%s: an object is expected", name);
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    bool decodes = o->decode || (json_object_get(row, "ids") && !json_object_get(row, "text"));
    if (s == VC_OK) s = decodes ? decode_row(t, row, &w, &err) : encode_row(o, t, row, &w, &err);
    json_decref(row);
    if (s) {
        b->n = begin;
        vc_jo_init(&w, b, VC_JSON_COMPACT);
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "error");
        vc_jo_str(&w, err.text);
        vc_jo_end_obj(&w);
    }
    vc_buf_addc(b, '\n');
    return s == VC_OK;
}

int cli_tokenize_lines(const struct cli_opts *o, const struct vc_tokenizer *t, const char *file) {
    FILE *f = strcmp(file, "-") ? fopen(file, "rb") : stdin;
    if (!f) return cli_fail("%s: %s", file, strerror(errno));
    char *line = NULL;
    size_t cap = 0, number = 0;
    int code = CLI_OK;
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
        struct vc_buf b = { 0 };
        number++;
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) n--;
        if (n == 0) continue;
        if (!answer(o, t, line, (size_t)n, number, &b)) code = CLI_FAILED;
        int printed = b.failed ? cli_fail("out of memory") : cli_print(&b);
        if (printed != CLI_OK) { code = printed; break; }
    }
    if (ferror(f)) code = cli_fail("%s: %s", file, strerror(errno));
    free(line);
    if (f != stdin) fclose(f);
    return code;
}
