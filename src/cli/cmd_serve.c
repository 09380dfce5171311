/* SPDX-License-Identifier: Apache-2.0
 * cmd_serve.c: vllmc serve: options to the server's parameters. */
#include <stdio.h>
#include <string.h>

#include "cli/serve_models.h"
#include "cli/term.h"

static void progress(double fraction, const char *what, void *arg) {
    (void)arg;
    cli_bar(fraction, what ? what : "loading", NULL);
}

static void ready(const char *url, void *arg) {
    (void)arg;
    cli_bar_clear();
    printf("vllmc: %s\n", url);
    fflush(stdout);
}

int cli_serve(struct cli_opts *o) {
    struct vc_server_params p = o->server;
    vc_err err = VC_ERR_INIT;
    int rc = cli_serve_options(o, &p);
    if (rc != CLI_OK) return rc;
    o->model.progress = o->progress_bar ? progress : NULL;
    rc = cli_serve_models(o, &p);
    if (rc != CLI_OK) return rc;
    p.ready = ready;
    if (!o->given[CLI_OPT_LOG_LEVEL]) vc_log_set(2, NULL, NULL);
    cli_log_notes(o);
    vc_status s = vc_serve(&p, &err);
    cli_bar_clear();
    return s == VC_OK ? CLI_OK : s == VC_E_CANCELLED ? CLI_INTERRUPTED : cli_fail_err(&err);
}
