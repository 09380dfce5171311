/* SPDX-License-Identifier: Apache-2.0
 * term.c: colours, width, progress bar. */
#include "cli/term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat.h"

static bool g_out_colour, g_err_colour, g_bar_shown;
static double g_bar_time;

void cli_term_init(const char *when) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    bool automatic = !(no && *no) && term && strcmp(term, "dumb") != 0;
    bool always = when && !strcmp(when, "always"), never = when && !strcmp(when, "never");
    g_out_colour = always || (!never && automatic && isatty(STDOUT_FILENO));
    g_err_colour = always || (!never && automatic && isatty(STDERR_FILENO));
}

static const char *const codes[CLI_NUM_STYLES] = {
    "\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[36m",
};
const char *cli_style(enum cli_style s) { return g_out_colour ? codes[s] : ""; }
const char *cli_err_style(enum cli_style s) { return g_err_colour ? codes[s] : ""; }
bool cli_out_is_terminal(void) { return isatty(STDOUT_FILENO) == 1; }
bool cli_err_is_terminal(void) { return isatty(STDERR_FILENO) == 1; }

static int width_of(int fd) {
    struct winsize w;
    return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}
int cli_term_width(void) { return width_of(STDOUT_FILENO); }

void cli_bar(double fraction, const char *what, const char *note) {
    double now = vc_now();
    if (!cli_err_is_terminal() || (g_bar_shown && fraction < 1 && now - g_bar_time < 0.05)) return;
    enum { CELLS = 24 };
    fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    int full = (int)(fraction * CELLS);
    char cells[CELLS + 1];
    for (int i = 0; i < CELLS; i++) cells[i] = i < full ? '#' : ' ';
    cells[CELLS] = '\0';
    int room = width_of(STDERR_FILENO) - CELLS - 14 - (int)strlen(note ? note : "");
    fprintf(stderr, "\r\033[K%.*s  [%s] %3d %%  %s", VC_MAX(room, 8), what ? what : "", cells, (int)(fraction * 100),
            note ? note : "");
    fflush(stderr);
    g_bar_shown = true;
    g_bar_time = now;
}

void cli_bar_clear(void) {
    if (!g_bar_shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    g_bar_shown = false;
}
