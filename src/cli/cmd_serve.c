/* SPDX-License-Identifier: Apache-2.0
 * cmd_serve.c: vllmc serve: options to the server's parameters. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
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
    if (o->num_args != 1) return cli_usage(o, o->num_args ? "serve takes one model" : "serve needs a model: a GGUF file or a folder");
    if (o->given[CLI_OPT_UDS] && (o->given[CLI_OPT_HOST] || o->given[CLI_OPT_PORT])) return cli_usage(o, "--uds excludes --host and --port");
    if (p.ssl_keyfile && !p.ssl_certfile) return cli_usage(o, "--ssl-keyfile needs --ssl-certfile");
    if (p.enable_auto_tool_choice && !p.tool_parser) return cli_usage(o, "--enable-auto-tool-choice requires --tool-call-parser");
    p.model = o->model;
    p.model.path = o->arg[0];
    p.model.priority = o->scheduling && !strcmp(o->scheduling, "priority");
    p.model.progress = progress;
    p.api_keys = o->api_keys.v;
    p.num_api_keys = o->api_keys.n;
    p.served_names = o->served_names.v;
    p.num_served_names = o->served_names.n;
    p.allowed_origins = o->allowed_origins.v;
    p.num_allowed_origins = o->allowed_origins.n;
    p.ready = ready;
    for (size_t i = 0; i < p.num_api_keys; i++)
        if (!p.api_keys[i][0]) return cli_usage(o, "--api-key: an empty key lets everyone in");
    if (!o->given[CLI_OPT_LOG_LEVEL]) vc_log_set(2, NULL, NULL);
    vc_status s = vc_serve(&p, &err);
    cli_bar_clear();
    return s == VC_OK ? CLI_OK : s == VC_E_CANCELLED ? CLI_INTERRUPTED : cli_fail_err(&err);
}
