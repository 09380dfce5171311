/* SPDX-License-Identifier: Apache-2.0
 * cmd_serve.c: vllmc serve: options to the server's parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "cli/load.h"
#include "cli/serve_models.h"
#include "cli/term.h"

static void ready(const char *url, void *arg) {
    (void)arg;
    cli_bar_clear();
    printf("vllmc: %s\n", url);
    fflush(stdout);
}

/* The options as they are now. What was read for the call before is freed: the server has copied it. */
struct again { const struct cli_opts *first; struct cli_opts now; };

static vc_status reload(void *arg, struct vc_server_reload *r, vc_err *err) {
    struct again *a = arg;
    cli_opts_free(&a->now);
    memset(&a->now, 0, sizeof a->now);
    a->now.command = CLI_SERVE;
    a->now.errors = err;
    if (cli_read_options(&a->now, a->first->argc, a->first->argv, a->first->first) != CLI_OK)
        return err->status == VC_OK ? vc_fail(err, VC_E_NOMEM, "out of memory") : err->status;
    r->allowed_origins = a->now.allowed_origins.v;
    r->num_allowed_origins = a->now.allowed_origins.n;
    r->log_level = cli_log_level(&a->now);
    return VC_OK;
}

int cli_serve(struct cli_opts *o) {
    struct vc_server_params p = o->server;
    vc_err err = VC_ERR_INIT;
    int rc = cli_serve_options(o, &p);
    if (rc != CLI_OK) return rc;
    double begun = vc_now();
    o->model.progress = o->progress_bar ? cli_show_loading : NULL;
    o->model.progress_arg = &begun;
    rc = cli_serve_models(o, &p);
    o->model.progress_arg = NULL;
    if (rc != CLI_OK) return rc;
    struct again *again = calloc(1, sizeof *again);        /* large */
    if (!again) return cli_fail("out of memory");
    again->first = o;
    p.reload = reload;
    p.reload_arg = again;
    p.ready = ready;
    if (!o->given[CLI_OPT_LOG_LEVEL]) vc_log_set(cli_log_level(o), NULL, NULL);
    cli_log_notes(o);
    vc_status s = vc_serve(&p, &err);
    cli_opts_free(&again->now);
    free(again);
    cli_bar_clear();
    return s == VC_OK ? CLI_OK : s == VC_E_CANCELLED ? CLI_INTERRUPTED : cli_fail_err(&err);
}
