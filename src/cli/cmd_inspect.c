/* SPDX-License-Identifier: Apache-2.0
 * cmd_inspect.c: vllmc inspect. */
#include "cli/inspect_file.h"

int cli_inspect(struct cli_opts *o) {
    if (o->num_args != 1) return cli_usage(o, "inspect needs one path: a GGUF file, a safetensors file or a folder");
    struct cli_inspect x;
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status s = cli_inspect_open(&x, o->arg[0], &err);
    if (s == VC_OK && o->json) cli_inspect_json(&x, o->tensors, &b);
    else if (s == VC_OK) cli_inspect_text(&x, o->tensors, &b);
    cli_inspect_close(&x);
    return s == VC_OK ? cli_print(&b) : cli_fail_err(&err);
}
