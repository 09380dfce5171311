/* SPDX-License-Identifier: Apache-2.0
 * options.h: what the readers of options share: the command line (options_words.c), the environment (options_env.c),
 * the file of --config (options_file.c), and vLLM's flags that are no options here (vllm_flags.c). The command line is
 * read first; the others leave alone what was given before them. */
#ifndef VC_CLI_OPTIONS_H
#define VC_CLI_OPTIONS_H

#include "cli/cli.h"

/* Is name[0 … n) this name? _ counts as -. */
bool cli_same_name(const char *name, size_t n, const char *want);
size_t cli_option_letter(const struct cli_opts *o, char c);
bool cli_option_in(const struct cli_opts *o, size_t i); /* does the command have it? */
static inline bool cli_is_switch(const struct cli_opt *t) { return t->kind == CLI_FLAG || t->kind == CLI_BOOL; }
static inline bool cli_is_list(const struct cli_opt *t) { return t->kind == CLI_STRS || t->kind == CLI_LIST; }

/* Sets one option from o->reading; spelled is its name for errors. Texts must live as long as o. Exit codes. */
int cli_option_set(struct cli_opts *o, size_t i, const char *text, const char *spelled);
int cli_option_switch(struct cli_opts *o, size_t i, bool on);
/* Sets the member key.key, path[0 … n), of an option that is a JSON object; text is JSON, or a text as it is. */
int cli_option_member(struct cli_opts *o, size_t i, const char *path, size_t n, const char *text, const char *spelled);
const char *cli_option_wanted(const struct cli_opt *t); /* "a whole number such as 512 or 4K" */

/* "unknown option --NAME", with the nearest known one. */
int cli_option_unknown(struct cli_opts *o, const char *name, size_t n);
/* The nearest name of an option or flag of the command, without dashes; NULL: none is close. */
const char *cli_option_near(struct cli_opts *o, const char *name);

int cli_read_words(struct cli_opts *o, int argc, char **argv, int first);
int cli_read_environment(struct cli_opts *o);
int cli_read_config(struct cli_opts *o); /* o->config; nothing when NULL */
/* After all others: variables VLLMC_… that nothing reads, and vLLM's VLLM_API_KEY where no key was given. */
int cli_check_environment(struct cli_opts *o);

/* ---- vLLM's flags that are no options here ---- */
enum cli_takes { CLI_TAKES_NOTHING, CLI_TAKES_SWITCH, CLI_TAKES_ONE, CLI_TAKES_MANY, CLI_TAKES_MAYBE };
struct cli_vllm_flag {
    const char *group, *name, *other;
    enum cli_takes takes;
    const char *accepts, *text;
};
extern const struct cli_vllm_flag cli_vllm_flags[];
extern const size_t cli_num_vllm_flags;
/* word[0 … n) without its two dashes, or with the one dash of a short spelling; NULL: none, or not of this command.
 * NAME.KEY finds NAME. */
const struct cli_vllm_flag *cli_vllm_find(const struct cli_opts *o, const char *word, size_t n, bool *off);
/* Does value (on or off for switches) ask for what is so? */
bool cli_vllm_accepts(const struct cli_vllm_flag *f, const char *value);
/* Accepts value (on or off for switches; NULL: none was given) and notes it, or says why not. */
int cli_vllm_take(struct cli_opts *o, const struct cli_vllm_flag *f, const char *value, const char *spelled);

#endif
