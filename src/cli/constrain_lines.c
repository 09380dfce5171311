/* SPDX-License-Identifier: Apache-2.0
 * constrain_lines.c: vllmc constrain --jsonl: {"kind", "spec", "text"?, "whitespace"?} in, verdicts out. The grammar of
 * a line is kept for the next one with the same specification. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "cli/constrain.h"
#include "io/json.h"
#include "io/json_out.h"

struct kept { struct vc_grammar *g; struct vc_buf spec; int kind, whitespace; };

vc_status constrain_mask(struct vc_matcher *m, const struct vc_grammar_vocab *v, int32_t eos,
                         struct constrain_mask *out, vc_err *err) {
    uint32_t size = vc_grammar_vocab_size(v);
    size_t bytes = (size + 7) / 8;
    unsigned char *le = malloc(bytes + 1), md[EVP_MAX_MD_SIZE];
    *out = (struct constrain_mask){ .bits = calloc(vc_grammar_mask_words(v) + 1, sizeof *out->bits) };
    vc_status s = le && out->bits ? vc_matcher_mask(m, out->bits, err) : vc_fail(err, VC_E_NOMEM, "out of memory");
    for (uint32_t i = 0; s == VC_OK && i < size; i++) out->allowed += out->bits[i / 32] >> i % 32 & 1;
    for (size_t i = 0; s == VC_OK && i < bytes; i++) le[i] = (unsigned char)(out->bits[i / 4] >> i % 4 * 8);
    if (s == VC_OK && EVP_Digest(le, bytes, md, NULL, EVP_sha256(), NULL) != 1)
        s = vc_fail(err, VC_E_STATE, "SHA-256 failed");
    for (size_t i = 0; s == VC_OK && i < 32; i++) snprintf(out->sha256 + 2 * i, 3, "%02x", md[i]);
    if (s == VC_OK && eos >= 0 && (uint32_t)eos < size) out->eos = out->bits[eos / 32] >> eos % 32 & 1;
    free(le);
    return s;
}

/* The specification as text: "spec_text" as it is; of "spec" a string for regex and grammar, else its JSON. */
static vc_status spec_of(const json_t *row, int kind, struct vc_buf *b, vc_err *err) {
    const json_t *text = json_object_get(row, "spec_text"), *spec = json_object_get(row, "spec");
    bool plain = kind == VC_GRAMMAR_REGEX || kind == VC_GRAMMAR_EBNF;
    if (json_is_string(text)) {
        vc_buf_add(b, json_string_value(text), json_string_length(text));
    } else if (plain) {
        if (!json_is_string(spec)) return vc_fail(err, VC_E_INVALID, "spec: must be a string");
        vc_buf_add(b, json_string_value(spec), json_string_length(spec));
    } else if (spec) {
        char *s = json_dumps(spec, JSON_COMPACT | JSON_ENCODE_ANY);
        vc_buf_adds(b, s ? s : "");
        free(s);
    } else if (kind != VC_GRAMMAR_JSON_OBJECT) {
        return vc_fail(err, VC_E_INVALID, "spec: is missing");
    }
    return b->failed ? vc_fail(err, VC_E_NOMEM, "out of memory") : VC_OK;
}

static vc_status whitespace_of(const json_t *row, int *whitespace, vc_err *err) {
    const json_t *v = json_object_get(row, "whitespace");
    if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= INT32_MAX)
        *whitespace = (int)json_integer_value(v);
    else if (v && !cli_read_whitespace(json_string_value(v), whitespace))
        return vc_fail(err, VC_E_INVALID, "whitespace: \"compact\", \"any\" or a number");
    return VC_OK;
}

static vc_status grammar_of(const json_t *row, int whitespace, struct kept *k, struct vc_grammar_where *where,
                            vc_err *err) {
    const char *name = json_string_value(json_object_get(row, "kind"));
    int kind = name ? vc_grammar_kind_of(name) : VC_GRAMMAR_JSON_SCHEMA;
    struct vc_buf spec = { 0 };
    if (kind < 0) return vc_fail(err, VC_E_INVALID, "kind: \"%.40s\" is unknown", name);
    vc_status s = whitespace_of(row, &whitespace, err);
    if (s == VC_OK) s = spec_of(row, kind, &spec, err);
    bool same = k->g && k->kind == kind && k->whitespace == whitespace &&
                vc_str_eq((vc_str){ spec.p, spec.n }, (vc_str){ k->spec.p, k->spec.n });
    if (s == VC_OK && !same) {
        struct vc_grammar_options opt = { .whitespace = whitespace };
        vc_grammar_unref(k->g);
        vc_buf_free(&k->spec);
        *k = (struct kept){ .kind = kind, .whitespace = whitespace };
        s = vc_grammar_compile(&k->g, (enum vc_grammar_kind)kind, spec.p ? spec.p : "", spec.n, &opt, where, err);
        if (s == VC_OK) {
            k->spec = spec;
            return VC_OK;
        }
    }
    vc_buf_free(&spec);
    return s;
}

static vc_status verdict(const json_t *text, const struct kept *k, struct vc_grammar_vocab *v, int32_t eos,
                         struct vc_json_out *w, vc_err *err) {
    struct vc_matcher *m = NULL;
    VC_TRY(vc_matcher_new(&m, k->g, v, err));
    const char *p = json_string_value(text);
    size_t n = json_string_length(text), at = vc_matcher_prefix(m, p, n);
    bool taken = vc_matcher_accept_bytes(m, p, n);
    vc_jo_key(w, "accepts");
    vc_jo_bool(w, taken && vc_matcher_accepting(m));
    vc_jo_key(w, "prefix_ok");
    vc_jo_bool(w, taken);
    vc_jo_key(w, "taken_bytes");
    vc_jo_uint(w, at);
    struct constrain_mask mask = { 0 };
    vc_status s = v && taken ? constrain_mask(m, v, eos, &mask, err) : VC_OK;
    if (v && taken && s == VC_OK) {
        vc_jo_key(w, "allowed");
        vc_jo_uint(w, mask.allowed);
        vc_jo_key(w, "sha256");
        vc_jo_str(w, mask.sha256);
        vc_jo_key(w, "eos");
        vc_jo_bool(w, mask.eos);
    }
    free(mask.bits);
    vc_matcher_del(m);
    return s;
}

static void answer(const char *line, size_t n, int whitespace, struct kept *k, struct vc_grammar_vocab *v, int32_t eos,
                   struct vc_buf *b) {
    struct vc_grammar_where where = { { 0 }, { 0 } };
    struct vc_json_out w;
    json_t *row = NULL;
    vc_err err = VC_ERR_INIT;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_status s = vc_json_parse(&row, line, n, "line", &err);
    if (s == VC_OK) s = grammar_of(row, whitespace, k, &where, &err);
    const json_t *text = json_object_get(row, "text");
    if (s == VC_OK && json_is_string(text)) {
        s = verdict(text, k, v, eos, &w, &err);
    } else if (s == VC_OK) {
        vc_jo_key(&w, "compiles");
        vc_jo_bool(&w, true);
    }
    if (s != VC_OK) {
        vc_jo_key(&w, "error");
        vc_jo_str(&w, err.text);
        vc_jo_key(&w, "status");
        vc_jo_str(&w, vc_status_name(s));
        vc_jo_key(&w, "keyword");
        vc_jo_str(&w, where.keyword);
        vc_jo_key(&w, "path");
        vc_jo_str(&w, where.path);
    }
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
    json_decref(row);
}

int constrain_lines(const char *file, int whitespace, struct vc_grammar_vocab *v, int32_t eos) {
    bool is_stdin = !strcmp(file, "-");
    FILE *f = is_stdin ? stdin : fopen(file, "rb");
    struct kept k = { 0 };
    char *line = NULL;
    size_t cap = 0;
    int code = CLI_OK;
    if (!f) return cli_fail("%s: %s", file, strerror(errno));
    for (ssize_t n; code == CLI_OK && (n = getline(&line, &cap, f)) > 0;) {
        struct vc_buf b = { 0 };
        size_t len = (size_t)n;
        while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) len--;
        if (!len) continue;
        answer(line, len, whitespace, &k, v, eos, &b);
        code = cli_print(&b);
    }
    free(line);
    if (!is_stdin) fclose(f);
    vc_grammar_unref(k.g);
    vc_buf_free(&k.spec);
    return code;
}
