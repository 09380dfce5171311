/* SPDX-License-Identifier: Apache-2.0
 * help.h: texts printed from the tables of options and commands. All append to a buffer and know no terminal, but for
 * the width and colours of the plain help. */
#ifndef VC_CLI_HELP_H
#define VC_CLI_HELP_H

#include "cli/cli.h"

void cli_help_overview(struct vc_buf *b, int width);
void cli_help_command(struct vc_buf *b, enum cli_command_id c, int width);
void cli_help_man(struct vc_buf *b);            /* roff, man(7) macros */
void cli_help_markdown(struct vc_buf *b);       /* doc/flags.md */
/* --help=TOPIC: listgroup, all, a group, an option, or a part of names. false: nothing has that name; b is as it
 * was. */
bool cli_help_topic(struct vc_buf *b, enum cli_command_id c, const char *topic, int width);
/* Prints it; topic NULL: all. An exit code. */
int cli_help_of(struct cli_opts *o, enum cli_command_id c, const char *topic);
void cli_help_section(struct vc_buf *b, enum cli_command_id c, enum cli_section s, int width);   /* with its heading */
void cli_help_option(struct vc_buf *b, const struct cli_opt *t, int width);
/* Every option with its value and its source, as YAML. */
void cli_print_config(struct vc_buf *b, const struct cli_opts *o);
void cli_help_bash(struct vc_buf *b);
void cli_help_zsh(struct vc_buf *b);

/* Shared by them. */
extern const char *const cli_section_title[CLI_NUM_SECTIONS];
/* "-n, --max-tokens N" or "--[no-]enable-prefix-caching". */
void cli_opt_spelling(const struct cli_opt *t, char *dst, size_t cap);
/* Does the command have options in this section? */
bool cli_section_used(enum cli_command_id c, enum cli_section s);
static inline bool cli_opt_in(const struct cli_opt *t, enum cli_command_id c) { return (t->commands >> c & 1u) != 0; }
/* The next "command\tsentence" line of examples; false at the end. */
bool cli_next_example(const char **at, vc_str *command, vc_str *text);

#endif
