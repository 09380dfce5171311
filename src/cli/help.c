/* SPDX-License-Identifier: Apache-2.0
 * help.c: --help of the program and of each command. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/term.h"

const char *const cli_section_title[CLI_NUM_SECTIONS] = {
    "Options", "Sampling", "Model", "KV cache", "Scheduler", "General",
};

void cli_opt_spelling(const struct cli_opt *t, char *dst, size_t cap) {
    char letter[6] = "";
    if (t->letter) snprintf(letter, sizeof letter, "-%c, ", t->letter);
    const char *no = t->kind == CLI_BOOL ? "[no-]" : "";
    snprintf(dst, cap, "%s--%s%s%s%s", letter, no, t->name, t->arg ? " " : "", t->arg ? t->arg : "");
}

bool cli_section_used(enum cli_command_id c, enum cli_section s) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++)
        if (cli_opts_table[i].section == s && cli_opt_in(&cli_opts_table[i], c)) return true;
    return false;
}

bool cli_next_example(const char **at, vc_str *command, vc_str *text) {
    if (!*at || !**at) return false;
    size_t n = strcspn(*at, "\t"), m = strcspn(*at + n + 1, "\n");
    *command = (vc_str){ *at, n };
    *text = (vc_str){ *at + n + 1, m };
    *at += n + 1 + m;
    if (**at == '\n') (*at)++;
    return true;
}

/* Columns that a text takes: characters, not bytes. */
static int columns(const char *s, size_t n) {
    int c = 0;
    for (size_t i = 0; i < n; i++) c += ((unsigned char)s[i] & 0xC0) != 0x80;
    return c;
}

/* Appends words of text, the cursor being in column `at`; lines go from column `indent` to `width`. */
static void wrap(struct vc_buf *b, const char *text, int at, int indent, int width) {
    while (*text) {
        size_t n = strcspn(text, " ");
        int c = columns(text, n);
        if (at > indent && at + 1 + c > width) {
            vc_buf_printf(b, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            vc_buf_addc(b, ' ');
            at++;
        }
        vc_buf_add(b, text, n);
        at += c;
        text += n;
        while (*text == ' ') text++;
    }
    vc_buf_addc(b, '\n');
}

static void heading(struct vc_buf *b, const char *text) {
    vc_buf_printf(b, "\n%s%s:%s\n", cli_style(CLI_BOLD), text, cli_style(CLI_PLAIN));
}

static void add_examples(struct vc_buf *b, enum cli_command_id c) {
    const char *at = cli_command_examples(c);
    vc_str command, text;
    if (at) heading(b, "Examples");
    while (cli_next_example(&at, &command, &text))
        vc_buf_printf(b, "  %s# %.*s%s\n  %.*s\n", cli_style(CLI_DIM), (int)text.n, text.p, cli_style(CLI_PLAIN),
                      (int)command.n, command.p);
}

void cli_help_option(struct vc_buf *b, const struct cli_opt *t, int width) {
    enum { INDENT = 30 };
    char spelling[160], text[512];
    cli_opt_spelling(t, spelling, sizeof spelling);
    snprintf(text, sizeof text, t->dflt ? "%s [%s]" : "%s", t->text, t->dflt);
    int used = 2 + (t->letter ? 0 : 4) + columns(spelling, strlen(spelling));
    vc_buf_printf(b, "%*s%s%s%s", t->letter ? 2 : 6, "", cli_style(CLI_CYAN), spelling, cli_style(CLI_PLAIN));
    if (used + 2 > INDENT) vc_buf_printf(b, "\n%*s", INDENT, "");
    else vc_buf_printf(b, "%*s", INDENT - used, "");
    wrap(b, text, INDENT, INDENT, width);
}

void cli_help_section(struct vc_buf *b, enum cli_command_id c, enum cli_section s, int width) {
    heading(b, cli_section_title[s]);
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (t->section == s && cli_opt_in(t, c)) cli_help_option(b, t, width);
    }
}

void cli_help_command(struct vc_buf *b, enum cli_command_id c, int width) {
    const struct cli_command *cmd = cli_command(c);
    width = VC_MAX(60, VC_MIN(width, 120));
    vc_buf_printf(b, "vllmc %s: %s\n\n%sUsage:%s vllmc %s %s [options]\n", cmd->name, cmd->text, cli_style(CLI_BOLD),
                  cli_style(CLI_PLAIN), cmd->name, cmd->usage);
    if (cli_command_about(c)) {
        vc_buf_addc(b, '\n');
        wrap(b, cli_command_about(c), 0, 0, width);
    }
    for (int s = 0; s < CLI_NUM_SECTIONS; s++)
        if (cli_section_used(c, (enum cli_section)s)) cli_help_section(b, c, (enum cli_section)s, width);
    add_examples(b, c);
    if (c != CLI_LAB)
        vc_buf_adds(b, "\nEvery option can be set in the environment: --max-num-seqs as VLLMC_MAX_NUM_SEQS, switches "
                       "as 1 or 0.\n--help=listgroup names groups of options, --help=NAME explains one.\n");
}

void cli_help_overview(struct vc_buf *b, int width) {
    (void)width;
    vc_buf_printf(b, "vllmc %s: serve and run large language models\n\n", VC_VERSION);
    vc_buf_printf(b, "%sUsage:%s vllmc COMMAND … | vllmc MODEL (starts a chat)\n", cli_style(CLI_BOLD),
                  cli_style(CLI_PLAIN));
    heading(b, "Commands");
    for (int c = 0; c < CLI_NUM_COMMANDS; c++) {
        const struct cli_command *cmd = cli_command((enum cli_command_id)c);
        vc_buf_printf(b, "  %s%-10s%s%s\n", cli_style(CLI_CYAN), cmd->name, cli_style(CLI_PLAIN), cmd->text);
    }
    vc_buf_adds(b, "\nMODEL is a GGUF file or a folder with config.json and safetensors files.\n");
    heading(b, "Examples");
    vc_buf_adds(b, "  vllmc model.gguf\n"
                   "  vllmc run model.gguf --chat -p 'Why is the sky blue?'\n"
                   "  vllmc inspect model.gguf\n"
                   "  vllmc help run\n");
}
