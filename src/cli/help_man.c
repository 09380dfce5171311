/* SPDX-License-Identifier: Apache-2.0
 * help_man.c: the man page vllmc(1), in the man(7) macros. */
#include "cli/help.h"

#include <string.h>

/* Text for roff: backslashes, dashes and leading control characters are escaped; other than ASCII by code point. */
static void add_text(struct vc_buf *b, const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = vc_utf8_decode(s + i, n - i, &cp);
        if (len == 0) break;
        if (cp == '\\') vc_buf_adds(b, "\\e");
        else if (cp == '-') vc_buf_adds(b, "\\-");
        else if (cp == '\'') vc_buf_adds(b, "\\(aq");
        else if (cp == '.' && i == 0) vc_buf_adds(b, "\\&.");
        else if (cp < 0x80) vc_buf_addc(b, (char)cp);
        else vc_buf_printf(b, "\\[u%04X]", cp);
        i += len;
    }
}
static void add_str(struct vc_buf *b, const char *s) { add_text(b, s, strlen(s)); }

static void add_option(struct vc_buf *b, const struct cli_opt *t) {
    vc_buf_adds(b, ".TP\n");
    if (t->letter) vc_buf_printf(b, "\\fB\\-%c\\fR, ", t->letter);
    vc_buf_adds(b, "\\fB\\-\\-");
    if (t->kind == CLI_BOOL) vc_buf_adds(b, "\\fR[\\fBno\\-\\fR]\\fB");
    add_str(b, t->name);
    vc_buf_adds(b, "\\fR");
    if (t->arg) {
        vc_buf_adds(b, " \\fI");
        add_str(b, t->arg);
        vc_buf_adds(b, "\\fR");
    }
    vc_buf_addc(b, '\n');
    add_str(b, t->text);
    if (t->dflt) {
        vc_buf_adds(b, " [");
        add_str(b, t->dflt);
        vc_buf_addc(b, ']');
    }
    char env[80];
    cli_env_name(t, env, sizeof env);
    if (strcmp(t->name, "help") != 0 && strcmp(t->name, "version") != 0) vc_buf_printf(b, " (%s)", env);
    vc_buf_addc(b, '\n');
}

static void add_section(struct vc_buf *b, enum cli_section s, unsigned commands, bool exactly) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (t->section == s && (exactly ? (t->commands & commands) != 0 : true)) add_option(b, t);
    }
}

static void add_command(struct vc_buf *b, enum cli_command_id c) {
    const struct cli_command *cmd = cli_command(c);
    vc_buf_adds(b, ".SS ");
    add_str(b, cmd->name);
    vc_buf_adds(b, "\n.B vllmc ");
    add_str(b, cmd->name);
    vc_buf_adds(b, "\n");
    add_str(b, cmd->usage);
    vc_buf_adds(b, "\n.PP\n");
    add_str(b, cmd->text);
    vc_buf_adds(b, ".\n");
    if (cli_command_about(c)) {
        add_str(b, cli_command_about(c));
        vc_buf_addc(b, '\n');
    }
    add_section(b, CLI_SEC_COMMAND, 1u << c, true);
}

static void add_all_examples(struct vc_buf *b) {
    for (int c = 0; c < CLI_NUM_COMMANDS; c++) {
        const char *at = cli_command_examples((enum cli_command_id)c);
        vc_str command, text;
        while (cli_next_example(&at, &command, &text)) {
            vc_buf_adds(b, ".TP\n\\fB");
            add_text(b, command.p, command.n);
            vc_buf_adds(b, "\\fR\n");
            add_text(b, text.p, text.n);
            vc_buf_adds(b, ".\n");
        }
    }
}

void cli_help_man(struct vc_buf *b) {
    vc_buf_adds(b, ".TH VLLMC 1 \"\" \"vllmc " VC_VERSION "\" \"User commands\"\n"
                   ".SH NAME\nvllmc \\- serve and run large language models\n"
                   ".SH SYNOPSIS\n.B vllmc\n.I command\n.RI [ arguments ]\n.RI [ options ]\n.br\n.B vllmc\n.I model\n"
                   ".SH DESCRIPTION\n"
                   "Runs language models from GGUF files and from folders with safetensors files, with a paged KV "
                   "cache,\n"
                   "continuous batching and prefix caching. A model path alone starts a chat.\n.SH COMMANDS\n");
    for (int c = 0; c < CLI_NUM_COMMANDS; c++) add_command(b, (enum cli_command_id)c);
    vc_buf_adds(b, ".SH SAMPLING OPTIONS\nOf run and chat.\n");
    add_section(b, CLI_SEC_SAMPLING, 0, false);
    vc_buf_adds(b, ".SH MODEL OPTIONS\nOf every command that loads a model. "
                   "Numbers take k, m, g (powers of 1000) and K, M, G (powers of 1024).\n");
    add_section(b, CLI_SEC_MODEL, 0, false);
    vc_buf_adds(b, ".SH KV CACHE OPTIONS\nOf every command that loads a model.\n");
    add_section(b, CLI_SEC_CACHE, 0, false);
    vc_buf_adds(b, ".SH SCHEDULER OPTIONS\nOf every command that loads a model.\n");
    add_section(b, CLI_SEC_SCHEDULER, 0, false);
    vc_buf_adds(b, ".SH GENERAL OPTIONS\n");
    add_section(b, CLI_SEC_GENERAL, 0, false);
    vc_buf_adds(b,
                ".SH ENVIRONMENT\n.TP\n.B VLLMC_\\fIOPTION\\fR\n"
                "An option, in capitals with underscores: VLLMC_MAX_MODEL_LEN. Switches take 1 or 0, lists one text or "
                "a JSON list. The command line goes before the environment, that before the file of \\-\\-config. An "
                "unknown name is a warning.\n"
                ".TP\n.B VLLM_API_KEY\nThe key of serve, where no \\-\\-api\\-key is given.\n"
                ".TP\n.B VLLMC_CPU\nportable, avx2, avx512 or avx512bf16: the best instruction set that may be used.\n"
                ".TP\n.B NO_COLOR\nNo colours.\n"
                ".SH FILES\n.TP\n.I ~/.local/state/vllmc/history\n"
                "Lines typed in a chat (below $XDG_STATE_HOME if that is set).\n"
                ".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage, 130 interrupted.\n.SH EXAMPLES\n");
    add_all_examples(b);
}
