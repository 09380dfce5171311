/* SPDX-License-Identifier: Apache-2.0
 * load.h: from options to an opened model and to sampling parameters. */
#ifndef VC_CLI_LOAD_H
#define VC_CLI_LOAD_H

#include "cli/cli.h"

/* Opens o->arg[0]; max_num_seqs is default_seqs (0: the library's) unless given. A bar is shown while it takes longer
 * than 0.3 s. Prints the error; returns an exit code. *seconds: how long it took. */
int cli_load(struct cli_opts *o, uint32_t default_seqs, vc_model **m, double *seconds);

/* vc_model_params.progress: a bar, once loading has taken longer than 0.3 s. arg: a double, when it began. */
void cli_show_loading(double fraction, const char *what, void *arg);

/* The model's defaults, and over them the options that were given. Lists borrow from o; bad words are tokenized into
 * the arena of o. */
vc_status cli_sampling(struct cli_opts *o, const vc_model *m, vc_sampling_params *p, vc_err *err);

/* Is the file at path of the formats that --load-format and --quantization name? Prints the error; an exit code. */
int cli_check_format(const struct cli_opts *o, const char *path);

/* Appends the bytes that a token stands for ("" for a model without a vocabulary). */
void cli_piece(const vc_model *m, int32_t id, struct vc_buf *out);
bool cli_has_tokenizer(const vc_model *m);

#endif
