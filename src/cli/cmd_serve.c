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
    if (o->given[CLI_OPT_UDS] && (o->given[CLI_OPT_HOST] || o->given[CLI_OPT_PORT])) return cli_usage(o, "--uds excludes --host and --port");
    if (p.ssl_keyfile && !p.ssl_certfile) return cli_usage(o, "--ssl-keyfile needs --ssl-certfile");
    o->model.progress = progress;
    int rc = cli_serve_models(o, &p);
    if (rc != CLI_OK) return rc;
    p.api_keys = o->api_keys.v;
    p.num_api_keys = o->api_keys.n;
    p.allowed_origins = o->allowed_origins.v;
    p.num_allowed_origins = o->allowed_origins.n;
    p.ready = ready;
    for (size_t i = 0; i < p.num_api_keys; i++)
        if (!p.api_keys[i][0]) return cli_usage(o, "--api-key: an empty key lets everyone in");
    if (!o->given[CLI_OPT_LOG_LEVEL]) vc_log_set(2, NULL, NULL);
    cli_log_notes(o);
    vc_status s = vc_serve(&p, &err);
    cli_bar_clear();
    return s == VC_OK ? CLI_OK : s == VC_E_CANCELLED ? CLI_INTERRUPTED : cli_fail_err(&err);
}
