/* SPDX-License-Identifier: Apache-2.0
 * schema_run.h: grammars for tests: compiling, and what a grammar says to one text. */
#ifndef VC_TEST_SCHEMA_RUN_H
#define VC_TEST_SCHEMA_RUN_H

#include "test.h"

#include "base/str.h"
#include "io/json.h"
#include "text/grammar.h"

/* A specification as text: itself when it is a string and raw is set, else its JSON. */
struct vc_buf schema_text(const json_t *spec);
vc_status schema_compile(struct vc_grammar **g, enum vc_grammar_kind kind, const struct vc_buf *spec, int whitespace,
                         struct vc_grammar_where *where, vc_err *err);
/* The whole text is accepted. prefix, if not NULL: how many bytes could be taken. */
bool schema_accepts(struct vc_grammar *g, const char *text, size_t n, size_t *prefix);
/* The next line of a JSON Lines file; NULL at its end. */
json_t *schema_next_row(FILE *f);

#endif
