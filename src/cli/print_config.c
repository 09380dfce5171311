/* SPDX-License-Identifier: Apache-2.0
 * print_config.c: --print-config: every option of the command with its value and where that came from, as a file that
 * --config reads. Defaults are comments; keys are counted, not shown. */
#include <string.h>

#include "cli/help.h"
#include "io/json_out.h"

static const char *const source_name[] = {
    [CLI_FROM_DEFAULT] = "default",
    [CLI_FROM_FILE] = "file",
    [CLI_FROM_ENVIRONMENT] = "environment",
    [CLI_FROM_COMMAND] = "command line",
};

static void add_text(struct vc_buf *b, const char *s) { vc_json_add_str(b, s, strlen(s)); }

static void add_list(struct vc_buf *b, const struct cli_strs *l) {
    vc_buf_addc(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (i) vc_buf_adds(b, ", ");
        add_text(b, l->v[i]);
    }
    vc_buf_addc(b, ']');
}

static void add_value(struct vc_buf *b, const struct cli_opts *o, size_t i) {
    const struct cli_opt *t = &cli_opts_table[i];
    const void *at = (const char *)o + t->at;
    if (t->kind == CLI_FLAG || t->kind == CLI_BOOL)
        vc_buf_adds(b, *(const int *)at ? "true" : "false");
    else if (t->kind == CLI_STRS || t->kind == CLI_LIST)
        add_list(b, at);
    else if (t->kind == CLI_JSON || t->kind == CLI_U32 || t->kind == CLI_I32 || t->kind == CLI_U64 ||
             t->kind == CLI_F32)
        vc_buf_adds(b, o->text[i]);
    else
        add_text(b, o->text[i]);
}

static void add_line(struct vc_buf *b, size_t begun, const char *from) {
    size_t n = b->n - begun;
    vc_buf_printf(b, "%*s# %s\n", n < 40 ? (int)(40 - n) : 1, "", from);
}

void cli_print_config(struct vc_buf *b, const struct cli_opts *o) {
    vc_buf_printf(
        b, "# vllmc %s: the command line goes before the environment, that before the file, that before defaults\n",
        cli_command(o->command)->name);
    if (o->num_args) {
        size_t begun = b->n;
        vc_buf_adds(b, "model: ");
        add_text(b, o->arg[0]);
        add_line(b, begun, o->arg_from_file ? source_name[CLI_FROM_FILE] : source_name[CLI_FROM_COMMAND]);
    }
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (!cli_opt_in(t, o->command) || i == CLI_OPT_HELP || i == CLI_OPT_VERSION || i == CLI_OPT_CONFIG ||
            i == CLI_OPT_PRINT_CONFIG)
            continue;
        if (i == CLI_OPT_MODEL && o->num_args && !o->given[i]) continue;
        size_t begun = b->n;
        bool is_switch = t->kind == CLI_FLAG || t->kind == CLI_BOOL;
        if (!o->given[i] && is_switch)
            vc_buf_printf(b, "# %s: %s", t->name,
                          *(const int *)(const void *)((const char *)o + t->at) ? "true" : "false");
        else if (!o->given[i])
            vc_buf_printf(b, "# %s: %s", t->name, t->dflt ? t->dflt : "none");
        else if (i == CLI_OPT_API_KEY)
            vc_buf_printf(b, "# %s: %zu, not shown", t->name, o->api_keys.n);
        else {
            vc_buf_printf(b, "%s: ", t->name);
            add_value(b, o, i);
        }
        add_line(b, begun, source_name[o->source[i]]);
    }
}
