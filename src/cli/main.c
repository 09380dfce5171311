/* SPDX-License-Identifier: Apache-2.0
 * main.c: vllmc: finds the command, reads its options, runs it. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/help.h"
#include "cli/lab_entry.h"
#include "cli/term.h"

static const char *nth_command(void *ctx, size_t i) {
    (void)ctx;
    return i < CLI_NUM_COMMANDS ? cli_command((enum cli_command_id)i)->name : NULL;
}

/* Log lines go below the bar, not into it. */
static void log_line(int level, const char *line, void *arg) {
    (void)arg;
    static const char *const name[] = { "error", "warning", "info", "debug" };
    cli_bar_clear();
    fprintf(stderr, "%svllmc: %s: %s%s\n", cli_err_style(level == 0 ? CLI_RED : CLI_DIM), name[level & 3], line,
            cli_err_style(CLI_PLAIN));
}

static int run_command(enum cli_command_id c, int argc, char **argv, int first) {
    static struct cli_opts o;          /* large, and needed until the end */
    o.command = c;
    int rc = cli_read_options(&o, argc, argv, first);
    if (rc == CLI_OK) {
        cli_term_init(o.color);
        vc_log_set(cli_log_level(&o), log_line, NULL);
        if (c != CLI_SERVE) cli_log_notes(&o);
        struct vc_buf b = { 0 };
        if (o.version) {
            vc_buf_printf(&b, "vllmc %s\n", vc_version());
            rc = cli_print(&b);
        } else if (o.help) {
            rc = cli_help_of(&o, c, o.help_topic);
        } else if (o.print_config) {
            cli_print_config(&b, &o);
            rc = cli_print(&b);
        } else {
            rc = cli_command(c)->fn(&o);
        }
    }
    cli_opts_free(&o);
    return rc;
}

static int unknown_command(const char *name) {
    const char *near = cli_nearest(name, nth_command, NULL);
    if (strchr(name, '/') || strstr(name, ".gguf")) cli_fail("%s: no such file or folder", name);
    else if (near) cli_fail("unknown command '%s'; did you mean '%s'?", name, near);
    else cli_fail("'%s' is neither a command nor a model", name);
    fputs("Try 'vllmc --help'.\n", stderr);
    return CLI_USAGE;
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGPIPE, SIG_IGN);
    cli_default_interrupt();
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        char *help[] = { argv[0] };
        int rc = run_command(CLI_HELP, 1, help, 1);
        return rc == CLI_OK ? CLI_USAGE : rc;
    }
    if (word[0] == '-') {
        static char help_word[] = "--help", short_word[] = "-h";
        if (!strcmp(word, help_word) || !strcmp(word, short_word)) return run_command(CLI_HELP, argc, argv, 2);
        return run_command(CLI_HELP, argc, argv, 1);
    }
    enum cli_command_id c = cli_command_find(word);
    if (c == CLI_LAB) return cli_lab_entry(argc - 1, argv + 1);
    if (c != CLI_NUM_COMMANDS) return run_command(c, argc, argv, 2);
    struct stat st;
    if (stat(word, &st) == 0) return run_command(CLI_CHAT, argc, argv, 1);
    return unknown_command(word);
}
