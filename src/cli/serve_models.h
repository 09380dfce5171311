/* SPDX-License-Identifier: Apache-2.0
 * serve_models.h: the models of `vllmc serve`, from options to the server's parameters. */
#ifndef VC_CLI_SERVE_MODELS_H
#define VC_CLI_SERVE_MODELS_H

#include "cli/cli.h"

/* Fills p->models from o->arg and o->models; the list lives in the arena of o. Prints the error; returns an exit code. */
int cli_serve_models(struct cli_opts *o, struct vc_server_params *p);

#endif
