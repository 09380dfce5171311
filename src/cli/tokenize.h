/* SPDX-License-Identifier: Apache-2.0
 * tokenize.h: the part of vllmc tokenize that reads JSON lines. */
#ifndef VC_CLI_TOKENIZE_H
#define VC_CLI_TOKENIZE_H

#include "cli/cli.h"
#include "text/tokenizer.h"

/* Answers each line of file ("-": standard input) as soon as it is read; the exit code, CLI_FAILED where a line was
 * bad. */
int cli_tokenize_lines(const struct cli_opts *o, const struct vc_tokenizer *t, const char *file);

#endif
