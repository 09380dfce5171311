/* SPDX-License-Identifier: Apache-2.0
 * help_markdown.c: doc/flags.md. */
#include "cli/help.h"
#include "cli/options.h"

#include <string.h>

/* Text of a table cell. */
static void add_cell(struct vc_buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '|') vc_buf_addc(b, '\\');
        vc_buf_addc(b, *s);
    }
}

static void add_rows(struct vc_buf *b, enum cli_section s, unsigned commands) {
    bool any = false;
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (t->section != s || !(t->commands & commands)) continue;
        char spelling[160], env[80];
        cli_opt_spelling(t, spelling, sizeof spelling);
        cli_env_name(t, env, sizeof env);
        if (!any) vc_buf_adds(b, "\n| option | default | meaning | environment |\n|---|---|---|---|\n");
        any = true;
        vc_buf_adds(b, "| `");
        add_cell(b, spelling);
        vc_buf_adds(b, "` | ");
        add_cell(b, t->dflt ? t->dflt : "");
        vc_buf_adds(b, " | ");
        add_cell(b, t->text);
        vc_buf_printf(b, " | `%s` |\n", env);
    }
}

/* Values in code, "a", "b"; what is accepted beside nothing. */
static void add_accepted(struct vc_buf *b, const struct cli_vllm_flag *f) {
    if (!f->accepts) return;
    if (!strcmp(f->accepts, "*")) vc_buf_adds(b, "any");
    else if (!*f->accepts) vc_buf_adds(b, "empty");
    for (const char *p = strcmp(f->accepts, "*") != 0 ? f->accepts : ""; *p;) {
        size_t n = strcspn(p, "|");
        vc_buf_printf(b, "`%.*s`%s", (int)n, p, p[n] ? " " : "");
        p += n + (p[n] == '|');
    }
}

static void add_vllm_flags(struct vc_buf *b) {
    vc_buf_adds(b, "\n## vLLM's other flags\n\n"
                   "Flags of `vllm serve` (0.32.0) that are no options here. The values in the second column ask for "
                   "what is so and are accepted\n(`on` and `off`: `--NAME` and `--no-NAME`); with any other value the "
                   "flag is an error with the sentence on the right.\n");
    const char *group = "";
    for (size_t i = 0; i < cli_num_vllm_flags; i++) {
        const struct cli_vllm_flag *f = &cli_vllm_flags[i];
        if (strcmp(group, f->group) != 0)
            vc_buf_printf(b, "\n### %s\n\n| flag | accepted | otherwise |\n|---|---|---|\n", f->group);
        group = f->group;
        vc_buf_printf(b, "| `--%s`", f->name);
        for (const char *p = f->other ? f->other : ""; *p;) {
            size_t n = strcspn(p, " ");
            vc_buf_printf(b, " `%.*s`", (int)n, p);
            p += n + (p[n] == ' ');
        }
        vc_buf_adds(b, " | ");
        add_accepted(b, f);
        vc_buf_adds(b, " | ");
        add_cell(b, f->text);
        vc_buf_adds(b, " |\n");
    }
}

void cli_help_markdown(struct vc_buf *b) {
    vc_buf_adds(b, "# Commands and options\n\n"
                   "Printed by `vllmc help --markdown` from `src/cli/options.def` and `src/cli/commands.def`.\n\n"
                   "Numbers of tokens and sizes take `k`, `m`, `g` (powers of 1000) and `K`, `M`, `G` (powers of "
                   "1024). "
                   "Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.\n");
    for (int i = 0; i < CLI_NUM_COMMANDS; i++) {
        enum cli_command_id c = (enum cli_command_id)i;
        const struct cli_command *cmd = cli_command(c);
        vc_buf_printf(b, "\n## vllmc %s\n\n`vllmc %s %s`: %s.\n", cmd->name, cmd->name, cmd->usage, cmd->text);
        if (cli_command_about(c)) vc_buf_printf(b, "\n%s\n", cli_command_about(c));
        add_rows(b, CLI_SEC_COMMAND, 1u << i);
        const char *at = cli_command_examples(c);
        vc_str command, text;
        if (at) vc_buf_adds(b, "\n```sh\n");
        bool any = at != NULL;
        while (cli_next_example(&at, &command, &text))
            vc_buf_printf(b, "%.*s   # %.*s\n", (int)command.n, command.p, (int)text.n, text.p);
        if (any) vc_buf_adds(b, "```\n");
    }
    vc_buf_adds(b, "\n## Sampling (run, chat)\n");
    add_rows(b, CLI_SEC_SAMPLING, CLI_IN_ALL);
    vc_buf_adds(b, "\n## Model (every command that loads one)\n");
    add_rows(b, CLI_SEC_MODEL, CLI_IN_ALL);
    vc_buf_adds(b, "\n## KV cache (every command that loads a model)\n");
    add_rows(b, CLI_SEC_CACHE, CLI_IN_ALL);
    vc_buf_adds(b, "\n## Scheduler (every command that loads a model)\n");
    add_rows(b, CLI_SEC_SCHEDULER, CLI_IN_ALL);
    vc_buf_adds(b, "\n## General\n");
    add_rows(b, CLI_SEC_GENERAL, CLI_IN_ALL);
    add_vllm_flags(b);
}
