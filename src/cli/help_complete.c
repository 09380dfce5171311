/* SPDX-License-Identifier: Apache-2.0
 * help_complete.c: completion scripts for bash and zsh. */
#include "cli/help.h"

#include <ctype.h>
#include <string.h>

/* Values to offer for an argument "a|b|c": its small words. */
static void add_choices(struct vc_buf *b, const char *arg) {
    const char *sep = "";
    for (const char *p = arg; *p;) {
        size_t n = strcspn(p, "|");
        if (islower((unsigned char)*p)) {
            vc_buf_printf(b, "%s%.*s", sep, (int)n, p);
            sep = " ";
        }
        p += n + (p[n] == '|');
    }
}
static bool has_choices(const struct cli_opt *t) { return t->arg && strchr(t->arg, '|') != NULL; }
static bool takes_path(const struct cli_opt *t) {
    return t->arg && (!strcmp(t->arg, "FILE") || !strcmp(t->arg, "PATH"));
}

static void add_command_names(struct vc_buf *b) {
    for (int c = 0; c < CLI_NUM_COMMANDS; c++)
        vc_buf_printf(b, "%s%s", c ? " " : "", cli_command((enum cli_command_id)c)->name);
}

/* One case label for each way of writing the option, among those of a kind. */
static void add_bash_case(struct vc_buf *b, const struct cli_opt *t) {
    vc_buf_adds(b, "        ");
    if (t->letter) vc_buf_printf(b, "-%c|", t->letter);
    vc_buf_printf(b, "--%s) ", t->name);
    if (has_choices(t)) {
        vc_buf_adds(b, "COMPREPLY=($(compgen -W \"");
        add_choices(b, t->arg);
        vc_buf_adds(b, "\" -- \"$cur\")) ;;\n");
    } else if (takes_path(t)) {
        vc_buf_adds(b, "COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n");
    } else {
        vc_buf_adds(b, "COMPREPLY=() ;;\n");
    }
}

/* Options of a command that take a value are completed after it; all others while a dash stands there. */
static void add_bash_command(struct vc_buf *b, enum cli_command_id c) {
    vc_buf_printf(b, "    %s)\n        case \"$prev\" in\n", cli_command(c)->name);
    for (size_t i = 0; i < CLI_NUM_OPTS; i++)
        if (cli_opt_in(&cli_opts_table[i], c) && cli_opts_table[i].arg) add_bash_case(b, &cli_opts_table[i]);
    vc_buf_adds(b, "        *) _vllmc_words \"");
    const char *sep = "";
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (!cli_opt_in(t, c)) continue;
        vc_buf_printf(b, "%s--%s", sep, t->name);
        if (t->kind == CLI_BOOL) vc_buf_printf(b, " --no-%s", t->name);
        sep = " ";
    }
    vc_buf_adds(b, "\" ;;\n        esac ;;\n");
}

void cli_help_bash(struct vc_buf *b) {
    vc_buf_adds(b, "# bash completion of vllmc, printed by 'vllmc help --bash'\n"
                   "_vllmc_words() {\n"
                   "    case \"$cur\" in\n"
                   "    -*) COMPREPLY=($(compgen -W \"$1\" -- \"$cur\")) ;;\n"
                   "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
                   "    esac\n"
                   "}\n"
                   "_vllmc() {\n"
                   "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                   "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                   "        COMPREPLY=($(compgen -W \"");
    add_command_names(b);
    vc_buf_adds(b, "\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n"
                   "        return\n    fi\n    case \"${COMP_WORDS[1]}\" in\n");
    for (int c = 0; c < CLI_NUM_COMMANDS; c++) {
        if (c == CLI_LAB) continue;
        if (c == CLI_HELP) {
            vc_buf_adds(b, "    help)\n        case \"$cur\" in\n"
                           "        -*) _vllmc_words \"--man --markdown --bash --zsh\" ;;\n"
                           "        *) COMPREPLY=($(compgen -W \"");
            add_command_names(b);
            vc_buf_adds(b, "\" -- \"$cur\")) ;;\n        esac ;;\n");
            continue;
        }
        add_bash_command(b, (enum cli_command_id)c);
    }
    vc_buf_adds(b, "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\n"
                   "complete -o filenames -F _vllmc vllmc\n");
}

/* Text inside a single-quoted specification of _arguments. */
static void add_zsh_text(struct vc_buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '\'') vc_buf_adds(b, "'\\''");
        else if (strchr("[]:\\", *s)) vc_buf_printf(b, "\\%c", *s);
        else vc_buf_addc(b, *s);
    }
}

static void add_zsh_spec(struct vc_buf *b, const struct cli_opt *t, const char *dashes, const char *name) {
    vc_buf_printf(b, "                '%s%s%s[", t->kind == CLI_STRS ? "*" : "", dashes, name);
    add_zsh_text(b, t->text);
    vc_buf_addc(b, ']');
    if (t->arg) {
        vc_buf_adds(b, ":value:");
        if (has_choices(t)) {
            vc_buf_addc(b, '(');
            add_choices(b, t->arg);
            vc_buf_addc(b, ')');
        } else if (takes_path(t)) {
            vc_buf_adds(b, "_files");
        }
    }
    vc_buf_adds(b, "' \\\n");
}

static void add_zsh_command(struct vc_buf *b, enum cli_command_id c) {
    vc_buf_printf(b, "        (%s)\n            _arguments \\\n", cli_command(c)->name);
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (!cli_opt_in(t, c)) continue;
        char letter[2] = { t->letter, '\0' }, off[64] = "no-";
        add_zsh_spec(b, t, "--", t->name);
        if (t->letter) add_zsh_spec(b, t, "-", letter);
        if (t->kind == CLI_BOOL) add_zsh_spec(b, t, "--", strncat(off, t->name, sizeof off - 4));
    }
    vc_buf_adds(b, "                '*:file:_files' ;;\n");
}

void cli_help_zsh(struct vc_buf *b) {
    vc_buf_adds(b, "#compdef vllmc\n# zsh completion of vllmc, printed by 'vllmc help --zsh'\n"
                   "_vllmc() {\n    local state line\n    local -a commands=(\n");
    for (int c = 0; c < CLI_NUM_COMMANDS; c++) {
        const struct cli_command *cmd = cli_command((enum cli_command_id)c);
        vc_buf_printf(b, "        '%s:", cmd->name);
        add_zsh_text(b, cmd->text);
        vc_buf_adds(b, "'\n");
    }
    vc_buf_adds(b, "    )\n    _arguments -C '1: :->command' '*:: :->rest'\n    case $state in\n"
                   "    (command) _describe command commands; _files ;;\n    (rest)\n        case $line[1] in\n");
    for (int c = 0; c < CLI_NUM_COMMANDS; c++)
        if (c != CLI_LAB) add_zsh_command(b, (enum cli_command_id)c);
    vc_buf_adds(b, "        (*) _files ;;\n        esac ;;\n    esac\n}\n_vllmc \"$@\"\n");
}
