/* SPDX-License-Identifier: Apache-2.0
 * cmd_constrain.c: vllmc constrain: does a text follow a schema, regular expression, grammar, choice or structural tag,
 * and if not, where does it leave it and what could have stood there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/constrain.h"
#include "cli/term.h"
#include "io/json_out.h"
#include "text/tokenizer.h"

bool cli_read_whitespace(const char *text, int *whitespace) {
    uint64_t n;
    if (!text) return false;
    if (!strcmp(text, "compact")) *whitespace = VC_GRAMMAR_WS_COMPACT;
    else if (!strcmp(text, "any")) *whitespace = VC_GRAMMAR_WS_ANY;
    else if (cli_read_u64(text, &n) && n <= INT32_MAX) *whitespace = (int)n;
    else return false;
    return true;
}

/* The one specification of the command line. */
static int specification(const struct cli_opts *o, enum vc_grammar_kind *kind, struct vc_buf *spec, vc_err *err) {
    const struct { const char *value; enum vc_grammar_kind kind; const char *literal; } row[] = {
        { o->schema, VC_GRAMMAR_JSON_SCHEMA, "{" }, { o->grammar, VC_GRAMMAR_EBNF, "::=" },
        { o->structural_tag, VC_GRAMMAR_STRUCTURAL_TAG, "{" }, { o->regex, VC_GRAMMAR_REGEX, "" },
    };
    int given = 0;
    for (size_t i = 0; i < VC_ARRAY_LEN(row); i++) {
        if (!row[i].value) continue;
        given++;
        *kind = row[i].kind;
        if (strstr(row[i].value, row[i].literal)) vc_buf_adds(spec, row[i].value);
        else if (cli_read_file(row[i].value, spec, err)) return cli_fail_err(err);
    }
    if (o->json_object) {
        given++;
        *kind = VC_GRAMMAR_JSON_OBJECT;
    }
    if (o->choice.n) {
        struct vc_json_out w;
        given++;
        *kind = VC_GRAMMAR_CHOICE;
        vc_jo_init(&w, spec, VC_JSON_COMPACT);
        vc_jo_begin_arr(&w);
        for (size_t i = 0; i < o->choice.n; i++) vc_jo_str(&w, o->choice.v[i]);
        vc_jo_end_arr(&w);
    }
    if (given != 1)
        return cli_usage(
            o, "%s", given ? "more than one specification is given" : "needs a specification, such as --schema FILE");
    return CLI_OK;
}

/* The line of text that holds byte at, and a caret under it. */
static void caret(struct vc_buf *b, const char *text, size_t n, size_t at) {
    size_t from = at, to = at, column = 0;
    while (from > 0 && text[from - 1] != '\n') from--;
    while (to < n && text[to] != '\n') to++;
    for (size_t i = from; i < at; i++) column += ((unsigned char)text[i] & 0xC0) != 0x80;
    size_t skip = column > 60 ? column - 60 : 0;
    while (skip && from < at) {
        from++;
        if (((unsigned char)text[from] & 0xC0) != 0x80) {
            skip--;
            column--;
        }
    }
    vc_buf_adds(b, "  ");
    vc_buf_add(b, text + from, at - from);
    vc_buf_adds(b, cli_style(CLI_RED));
    vc_buf_add(b, text + at, to - at);
    vc_buf_printf(b, "%s\n  %*s%s^%s", cli_style(CLI_PLAIN), (int)column, "", cli_style(CLI_RED), cli_style(CLI_PLAIN));
}

/* ASCII characters that m takes next. */
static void possible(struct vc_buf *b, struct vc_matcher *m) {
    size_t n = 0, shown = 0;
    bool may[128];
    for (int c = 0; c < 128; c++) {
        char byte = (char)c;
        may[c] = vc_matcher_prefix(m, &byte, 1) == 1;
        n += may[c];
    }
    bool end = vc_matcher_accepting(m);
    if (n > 24 && n > 90) {
        vc_buf_adds(b, " almost any character");
    } else {
        for (int c = 0; c < 128; c++) {
            if (!may[c]) continue;
            if (shown++ == 24) {
                vc_buf_adds(b, " …");
                break;
            }
            if (c > 32 && c < 127) vc_buf_printf(b, " %c", c);
            else
                vc_buf_adds(b, c == ' '    ? " space"
                               : c == '\n' ? " newline"
                               : c == '\t' ? " tab"
                               : c == '\r' ? " return"
                                           : " control");
        }
    }
    if (end) vc_buf_adds(b, n ? ", or the end" : " the end");
    else if (!n) vc_buf_adds(b, " nothing of ASCII");
}

static vc_status tokens(struct vc_buf *b, struct vc_matcher *m, struct vc_grammar_vocab *v,
                        const struct vc_tokenizer *t, vc_err *err) {
    struct constrain_mask mask;
    vc_status s = constrain_mask(m, v, vc_tok_eos(t), &mask, err);
    if (s == VC_OK) {
        vc_buf_printf(b, "%s%zu of %u tokens may come next:%s", cli_style(CLI_DIM), mask.allowed,
                      vc_grammar_vocab_size(v), cli_style(CLI_PLAIN));
        size_t shown = 0;
        for (uint32_t i = 0; i < vc_grammar_vocab_size(v) && shown < 12; i++) {
            struct vc_buf piece = { 0 };
            if (!(mask.bits[i / 32] >> i % 32 & 1)) continue;
            (void)vc_tok_piece(t, (int32_t)i, &piece, err);
            vc_str name = vc_tok_text(t, (int32_t)i);
            vc_buf_addc(b, ' ');
            if (vc_tok_is_special(t, (int32_t)i)) vc_buf_add(b, name.p, name.n);
            else vc_json_add_str(b, piece.p ? piece.p : "", piece.n);
            vc_buf_free(&piece);
            shown++;
        }
        vc_buf_adds(b, mask.allowed > shown ? " …\n" : "\n");
    }
    free(mask.bits);
    return s;
}

static int judge(struct vc_grammar *g, struct vc_grammar_vocab *v, const struct vc_tokenizer *t,
                 const struct vc_buf *text) {
    struct vc_matcher *m = NULL;
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_matcher_new(&m, g, v, &err);
    if (s != VC_OK) return cli_fail_err(&err);
    const char *p = text->p ? text->p : "";
    size_t at = vc_matcher_prefix(m, p, text->n);
    (void)vc_matcher_accept_bytes(m, p, at);
    bool accepted = at == text->n && vc_matcher_accepting(m);
    if (accepted) {
        vc_buf_printf(&b, "%saccepted%s\n", cli_style(CLI_GREEN), cli_style(CLI_PLAIN));
    } else {
        bool cut = at == text->n;
        caret(&b, p, text->n, at);
        vc_buf_printf(&b, " %s%s%s at byte %zu\n", cli_style(CLI_BOLD), cut ? "incomplete" : "not allowed",
                      cli_style(CLI_PLAIN), at);
        vc_buf_adds(&b, "possible here:");
        possible(&b, m);
        vc_buf_addc(&b, '\n');
    }
    if (v) s = tokens(&b, m, v, t, &err);
    vc_matcher_del(m);
    if (s != VC_OK) {
        vc_buf_free(&b);
        return cli_fail_err(&err);
    }
    int code = cli_print(&b);
    return code == CLI_OK && !accepted ? CLI_FAILED : code;
}

static int plain(const struct cli_opts *o, int whitespace, struct vc_grammar_vocab *v, const struct vc_tokenizer *t) {
    struct vc_grammar_options opt = { .whitespace = whitespace };
    struct vc_buf spec = { 0 }, text = { 0 };
    struct vc_grammar *g = NULL;
    enum vc_grammar_kind kind = VC_GRAMMAR_JSON_SCHEMA;
    vc_err err = VC_ERR_INIT;
    const char *file = o->file ? o->file : !o->num_args || !strcmp(o->arg[0], "-") ? "-" : NULL;
    int code = specification(o, &kind, &spec, &err);
    if (code == CLI_OK && vc_grammar_compile(&g, kind, spec.p ? spec.p : "", spec.n, &opt, NULL, &err))
        code = cli_fail_err(&err);
    if (code == CLI_OK && !file) vc_buf_adds(&text, o->arg[0]);
    else if (code == CLI_OK && cli_read_file(file, &text, &err)) code = cli_fail_err(&err);
    if (file && text.n && text.p[text.n - 1] == '\n') text.n--;    /* of the file, not of the text */
    if (code == CLI_OK) code = judge(g, v, t, &text);
    vc_grammar_unref(g);
    vc_buf_free(&spec);
    vc_buf_free(&text);
    return code;
}

int cli_constrain(struct cli_opts *o) {
    int whitespace = VC_GRAMMAR_WS_DEFAULT, code;
    struct vc_tokenizer *t = NULL;
    struct vc_grammar_vocab *v = NULL;
    vc_err err = VC_ERR_INIT;
    if (o->num_args > 1) return cli_usage(o, "'%s': too many arguments; put the text in quotes", o->arg[1]);
    if (o->num_args && o->file) return cli_usage(o, "more than one text is given");
    if (o->whitespace && !cli_read_whitespace(o->whitespace, &whitespace))
        return cli_usage(o, "--whitespace: '%s', expected compact, any or a number", o->whitespace);
    int32_t eos = -1;
    if (o->vocabulary) {
        vc_status s = vc_tokenizer_open(&t, o->vocabulary, &err);
        if (s == VC_OK) eos = vc_tok_eos(t);
        if (s == VC_OK) s = vc_grammar_tokens(&v, t, &eos, eos >= 0, &err);
        if (s != VC_OK) {
            vc_tokenizer_close(t);
            return cli_fail_err(&err);
        }
    }
    if (o->jsonl) code = constrain_lines(o->file ? o->file : o->num_args ? o->arg[0] : "-", whitespace, v, eos);
    else code = plain(o, whitespace, v, t);
    vc_grammar_vocab_del(v);
    vc_tokenizer_close(t);
    return code;
}
