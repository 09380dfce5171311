/* SPDX-License-Identifier: Apache-2.0
 * term.h: the terminal: colours, width, a progress bar on stderr, Ctrl-C. State is that of the process; main thread
 * only, but for cli_bar, which loading may call from its own thread while main waits. */
#ifndef VC_CLI_TERM_H
#define VC_CLI_TERM_H

#include <stdbool.h>
#include <stdint.h>

/* Colours are on for stdout or stderr; when: "auto", "always", "never". Call once. */
void cli_term_init(const char *when);
enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_CYAN, CLI_NUM_STYLES };
const char *cli_style(enum cli_style s);       /* escape sequence for stdout, "" without colours */
const char *cli_err_style(enum cli_style s);   /* the same for stderr */
int cli_term_width(void);                      /* columns of stdout, 80 if unknown */
bool cli_out_is_terminal(void);
bool cli_err_is_terminal(void);

/* Draws "what  [####    ]  42 %  note" over the last one, at most 20 times a second, if stderr is a terminal. */
void cli_bar(double fraction, const char *what, const char *note);
void cli_bar_clear(void);

/* From here on SIGINT sets a flag instead of ending the program; a second one ends it with 130. */
void cli_catch_interrupt(void);
bool cli_interrupted(void);
void cli_forget_interrupt(void);               /* the flag is clear again */
void cli_default_interrupt(void);              /* SIGINT ends the program with 130 */

#endif
