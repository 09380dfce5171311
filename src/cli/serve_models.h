/* SPDX-License-Identifier: Apache-2.0
 * serve_models.h: the models of `vllmc serve`, from options to the server's parameters. */
#ifndef VC_CLI_SERVE_MODELS_H
#define VC_CLI_SERVE_MODELS_H

#include "cli/cli.h"

/* Fills p->models from o->arg and o->models; the list lives in the arena of o. Prints the error; returns an exit
 * code. */
int cli_serve_models(struct cli_opts *o, struct vc_server_params *p);

/* Checks the server's own options and fills p with those that are more than a field; may set o->serve_reasoning. */
int cli_serve_options(struct cli_opts *o, struct vc_server_params *p);

#endif
