/* SPDX-License-Identifier: Apache-2.0 */
#include "schema_run.h"

struct vc_buf schema_text(const json_t *spec) {
    struct vc_buf b = { 0 };
    char *text = json_dumps(spec, JSON_COMPACT | JSON_ENCODE_ANY);
    vc_buf_adds(&b, text ? text : "");
    free(text);
    return b;
}

vc_status schema_compile(struct vc_grammar **g, enum vc_grammar_kind kind, const struct vc_buf *spec, int whitespace,
                         struct vc_grammar_where *where, vc_err *err) {
    struct vc_grammar_options opt = { .whitespace = whitespace };
    *g = NULL;
    *err = (vc_err)VC_ERR_INIT;
    *where = (struct vc_grammar_where){ { 0 }, { 0 } };
    return vc_grammar_compile(g, kind, spec->p ? spec->p : "", spec->n, &opt, where, err);
}

bool schema_accepts(struct vc_grammar *g, const char *text, size_t n, size_t *prefix) {
    struct vc_matcher *m = NULL;
    vc_err err = VC_ERR_INIT;
    if (vc_matcher_new(&m, g, NULL, &err)) {
        printf("%s\n", err.text);
        fail();
    }
    if (prefix) *prefix = vc_matcher_prefix(m, text, n);
    bool ok = vc_matcher_accept_bytes(m, text, n) && vc_matcher_accepting(m);
    vc_matcher_del(m);
    return ok;
}

json_t *schema_next_row(FILE *f) {
    char *line = NULL;
    size_t cap = 0;
    json_t *row = NULL;
    vc_err err = VC_ERR_INIT;
    ssize_t n = getline(&line, &cap, f);
    if (n > 0 && vc_json_parse(&row, line, (size_t)n, "row", &err)) {
        printf("%s\n", err.text);
        fail();
    }
    free(line);
    return row;
}
