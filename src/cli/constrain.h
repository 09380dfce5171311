/* SPDX-License-Identifier: Apache-2.0
 * constrain.h: what cmd_constrain.c and constrain_lines.c share. */
#ifndef VC_CLI_CONSTRAIN_H
#define VC_CLI_CONSTRAIN_H

#include "cli/cli.h"
#include "text/grammar.h"

/* "compact", "any" or a number; false: none of these. NULL is the default. */
bool cli_read_whitespace(const char *text, int *whitespace);

/* What a vocabulary says after a text. */
struct constrain_mask { size_t allowed; char sha256[65]; bool eos; uint32_t *bits; };
/* The mask of m; bits belongs to the caller (free). */
vc_status constrain_mask(struct vc_matcher *m, const struct vc_grammar_vocab *v, int32_t eos,
                         struct constrain_mask *out, vc_err *err);

/* JSON lines from the file (or - for standard input) to standard output; each is answered before the next is read.
 * Returns the exit code: a bad line is answered with an error and is none of the program's. */
int constrain_lines(const char *file, int whitespace, struct vc_grammar_vocab *v, int32_t eos);

#endif
