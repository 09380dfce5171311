/* SPDX-License-Identifier: Apache-2.0
 * cmd_help.c: vllmc help. */
#include "cli/help.h"
#include "cli/options.h"
#include "cli/term.h"

static const char *nth_command(void *ctx, size_t i) {
    (void)ctx;
    return i < CLI_NUM_COMMANDS ? cli_command((enum cli_command_id)i)->name : NULL;
}

int cli_help_of(struct cli_opts *o, enum cli_command_id c, const char *topic) {
    struct vc_buf b = { 0 };
    if (!topic) cli_help_command(&b, c, cli_term_width());
    else if (!cli_help_topic(&b, c, topic, cli_term_width())) {
        const char *near = c == o->command ? cli_option_near(o, topic) : NULL;
        return near ? cli_usage(o, "--help=%s: no such option or group; did you mean %s?", topic, near)
                    : cli_usage(o, "--help=%s: no such option or group", topic);
    }
    return cli_print(&b);
}

int cli_help(struct cli_opts *o) {
    struct vc_buf b = { 0 };
    if (o->man) cli_help_man(&b);
    else if (o->markdown) cli_help_markdown(&b);
    else if (o->bash) cli_help_bash(&b);
    else if (o->zsh) cli_help_zsh(&b);
    else if (o->num_args == 0) cli_help_overview(&b, cli_term_width());
    if (b.n) return cli_print(&b);
    enum cli_command_id c = cli_command_find(o->arg[0]);
    if (c == CLI_NUM_COMMANDS) {
        const char *near = cli_nearest(o->arg[0], nth_command, NULL);
        return near ? cli_usage(o, "no command '%s'; did you mean %s?", o->arg[0], near)
                    : cli_usage(o, "no command '%s'", o->arg[0]);
    }
    if (c == CLI_LAB) return cli_lab(o);
    return cli_help_of(o, c, o->num_args > 1 ? o->arg[1] : NULL);
}
