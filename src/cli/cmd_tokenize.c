/* SPDX-License-Identifier: Apache-2.0
 * cmd_tokenize.c: vllmc tokenize: ids, pieces and places, from the vocabulary alone. */
#include <string.h>

#include "cli/term.h"
#include "cli/tokenize.h"
#include "io/json_out.h"

static void json_token(struct vc_json_out *w, const struct vc_tokenizer *t, const struct vc_ids *ids, size_t i) {
    struct vc_buf piece = { 0 };
    vc_err ignored = VC_ERR_INIT;
    (void)vc_tok_piece(t, ids->v[i], &piece, &ignored);
    vc_str text = vc_tok_text(t, ids->v[i]);
    vc_jo_begin_obj(w);
    vc_jo_key(w, "id");
    vc_jo_int(w, ids->v[i]);
    vc_jo_key(w, "token");
    vc_jo_strn(w, text.p ? text.p : "", text.n);
    vc_jo_key(w, "piece");
    vc_jo_strn(w, piece.p ? piece.p : "", piece.n);
    vc_jo_key(w, "bytes");
    vc_jo_begin_arr(w);
    for (size_t k = 0; k < piece.n; k++) vc_jo_uint(w, (unsigned char)piece.p[k]);
    vc_jo_end_arr(w);
    vc_jo_key(w, "start");
    vc_jo_uint(w, ids->start[i]);
    vc_jo_key(w, "end");
    vc_jo_uint(w, ids->end[i]);
    vc_jo_key(w, "special");
    vc_jo_bool(w, vc_tok_is_special(t, ids->v[i]));
    vc_jo_end_obj(w);
    vc_buf_free(&piece);
}

static void print_json(const struct vc_tokenizer *t, const struct vc_ids *ids, struct vc_buf *b) {
    struct vc_json_out w;
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "count");
    vc_jo_uint(&w, ids->n);
    vc_jo_key(&w, "ids");
    vc_jo_begin_arr(&w);
    for (size_t i = 0; i < ids->n; i++) vc_jo_int(&w, ids->v[i]);
    vc_jo_end_arr(&w);
    vc_jo_key(&w, "tokens");
    vc_jo_begin_arr(&w);
    for (size_t i = 0; i < ids->n; i++) json_token(&w, t, ids, i);
    vc_jo_end_arr(&w);
    vc_jo_end_obj(&w);
    vc_buf_addc(b, '\n');
}

static void print_ids(const struct vc_ids *ids, struct vc_buf *b) {
    for (size_t i = 0; i < ids->n; i++) vc_buf_printf(b, "%s%d", i ? "," : "", ids->v[i]);
    vc_buf_addc(b, '\n');
}

/* The text with its pieces in turning colours, then one line per token. */
static void print_table(const struct vc_tokenizer *t, const struct vc_ids *ids, const char *text, struct vc_buf *b) {
    static const char *const back[] = { "\033[48;5;24m", "\033[48;5;58m", "\033[48;5;22m", "\033[48;5;53m",
                                        "\033[48;5;94m" };
    bool colour = *cli_style(CLI_PLAIN) != '\0';
    uint32_t shown = 0;
    for (size_t i = 0; colour && i < ids->n; i++) {
        uint32_t from = VC_MAX(ids->start[i], shown);
        if (ids->end[i] <= from) continue;
        vc_buf_add(b, text + shown, from - shown);
        vc_buf_adds(b, back[i % VC_ARRAY_LEN(back)]);
        vc_buf_add(b, text + from, ids->end[i] - from);
        vc_buf_adds(b, cli_style(CLI_PLAIN));
        shown = ids->end[i];
    }
    if (colour) vc_buf_adds(b, "\n\n");
    for (size_t i = 0; i < ids->n; i++) {
        struct vc_buf piece = { 0 };
        vc_err ignored = VC_ERR_INIT;
        (void)vc_tok_piece(t, ids->v[i], &piece, &ignored);
        vc_buf_printf(b, "%7d  %6u-%-6u ", ids->v[i], ids->start[i], ids->end[i]);
        vc_json_add_str(b, piece.p ? piece.p : "", piece.n);
        if (vc_tok_is_special(t, ids->v[i])) {
            vc_str name = vc_tok_text(t, ids->v[i]);
            vc_buf_printf(b, "  %s%.*s (special)%s", cli_style(CLI_DIM), (int)name.n, name.p, cli_style(CLI_PLAIN));
        }
        vc_buf_addc(b, '\n');
        vc_buf_free(&piece);
    }
    vc_buf_printf(b, "%s%zu tokens%s\n", cli_style(CLI_DIM), ids->n, cli_style(CLI_PLAIN));
}

static vc_status encode(const struct cli_opts *o, const struct vc_tokenizer *t, struct vc_buf *b, vc_err *err) {
    struct vc_buf text = { 0 };
    struct vc_ids ids = { .with_offsets = true };
    const char *file = o->file ? o->file : o->num_args < 2 ? "-" : !strcmp(o->arg[1], "-") ? "-" : NULL;
    vc_status s = VC_OK;
    if (file) s = cli_read_file(file, &text, err);
    else vc_buf_adds(&text, o->arg[1]);
    int flags = (vc_tok_parses_special(t) ? VC_ENC_PARSE_SPECIAL : 0) | (o->add_special ? VC_ENC_ADD_SPECIAL : 0);
    if (s == VC_OK) s = vc_tok_encode(t, text.p ? text.p : "", text.n, flags, &ids, err);
    if (s == VC_OK && o->json) print_json(t, &ids, b);
    else if (s == VC_OK && o->ids) print_ids(&ids, b);
    else if (s == VC_OK) print_table(t, &ids, text.p ? text.p : "", b);
    vc_ids_free(&ids);
    vc_buf_free(&text);
    return s;
}

/* The argument, or standard input: ids between commas or white space. */
static vc_status given_ids(struct cli_opts *o, struct cli_ids *ids, vc_err *err) {
    struct vc_buf text = { 0 };
    const char *file = o->file ? o->file : o->num_args < 2 || !strcmp(o->arg[1], "-") ? "-" : NULL;
    vc_status s = VC_OK;
    if (file) s = cli_read_file(file, &text, err);
    else vc_buf_adds(&text, o->arg[1]);
    while (text.n && strchr(" \t\r\n,", text.p[text.n - 1])) text.p[--text.n] = '\0';
    for (size_t i = 0; i < text.n; i++) {
        if (strchr(" \t\r\n", text.p[i])) text.p[i] = ',';
    }
    if (s == VC_OK && (!text.n || !cli_read_ids(&o->arena, text.p, ids)))
        s = vc_fail(err, VC_E_INVALID, "--decode: token ids such as 1,2,3 are expected");
    vc_buf_free(&text);
    return s;
}

static vc_status decode(struct cli_opts *o, const struct vc_tokenizer *t, struct vc_buf *b, vc_err *err) {
    struct vc_buf text = { 0 };
    struct cli_ids ids = { 0 };
    vc_status s = given_ids(o, &ids, err);
    if (s == VC_OK) s = vc_tok_decode(t, ids.v, ids.n, false, &text, err);
    if (s == VC_OK && o->json) {
        struct vc_json_out w;
        vc_jo_init(&w, b, VC_JSON_COMPACT);
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "text");
        vc_jo_strn(&w, text.p ? text.p : "", text.n);
        vc_jo_end_obj(&w);
    } else if (s == VC_OK) {
        vc_buf_add(b, text.p ? text.p : "", text.n);
    }
    vc_buf_addc(b, '\n');
    vc_buf_free(&text);
    return s;
}

int cli_tokenize(struct cli_opts *o) {
    if (o->num_args < 1)
        return cli_usage(o, "tokenize needs a model: a GGUF file, a folder, or a tokenizer's own file");
    if (o->num_args > 2) return cli_usage(o, "'%s': too many arguments; put the text in quotes", o->arg[2]);
    if (o->num_args == 2 && o->file) return cli_usage(o, "more than one text is given");
    struct vc_tokenizer *t = NULL;
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_tokenizer_open(&t, o->arg[0], &err);
    if (s == VC_OK && o->jsonl) {
        int code = cli_tokenize_lines(o, t, o->file ? o->file : o->num_args == 2 ? o->arg[1] : "-");
        vc_tokenizer_close(t);
        return code;
    }
    if (s == VC_OK) s = o->decode ? decode(o, t, &b, &err) : encode(o, t, &b, &err);
    vc_tokenizer_close(t);
    if (s == VC_OK) return cli_print(&b);
    vc_buf_free(&b);
    return cli_fail_err(&err);
}
