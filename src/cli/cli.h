/* SPDX-License-Identifier: Apache-2.0
 * cli.h: what the files of the program share: the values of all options, the tables of options and commands, and
 * results of a command. Options live in options.def, commands in commands.def; help, man page, completions and
 * doc/flags.md are printed from the two tables. Nothing here knows how an engine works. */
#ifndef VC_CLI_CLI_H
#define VC_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "server/server.h"
#include "vllmc.h"

/* Exit codes. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

/* Commands, as bits of the column `commands` of options.def. */
enum cli_command_id {
#define CLI_COMMAND(id, name, usage, text) CLI_##id,
#include "cli/commands.def"
#undef CLI_COMMAND
    CLI_NUM_COMMANDS
};
enum {
#define CLI_COMMAND(id, name, usage, text) CLI_IN_##id = 1 << CLI_##id,
#include "cli/commands.def"
#undef CLI_COMMAND
    /* those that load a model */
    CLI_IN_LOADS = CLI_IN_RUN | CLI_IN_CHAT | CLI_IN_SERVE | CLI_IN_BATCH | CLI_IN_EMBED | CLI_IN_BENCH | CLI_IN_INFO,
    CLI_IN_SAMPLES = CLI_IN_RUN | CLI_IN_CHAT,
    CLI_IN_ANSWERS = CLI_IN_SERVE | CLI_IN_BATCH,                         /* by the routes of the server */
    CLI_IN_ALL = (1 << CLI_NUM_COMMANDS) - 1
};

/* How the text of an option becomes a value. */
enum cli_kind {
    CLI_FLAG,       /* int, set to 1; takes no argument */
    CLI_BOOL,       /* int; --name sets 1, --no-name sets 0 */
    CLI_STR,        /* const char * */
    CLI_U32,        /* uint32_t; 4k (4000) and 4K (4096) forms */
    CLI_I32,        /* int32_t */
    CLI_U64,        /* uint64_t, plain number */
    CLI_BYTES,      /* uint64_t; 512M, 1.5G forms, powers of 1024; 512m: of 1000 */
    CLI_F32,        /* float */
    CLI_STRS,       /* struct cli_strs, one more each time */
    CLI_LIST,       /* the same, or a JSON list of texts */
    CLI_JSON,       /* const char *: a JSON object */
    CLI_IDS,        /* struct cli_ids: 1,2,3 */
    CLI_COUNTS,     /* struct cli_counts: 1,8,32 */
    CLI_BIASES      /* struct cli_biases: id:bias,… */
};
/* Headings of the help text. */
enum cli_section {
    CLI_SEC_COMMAND, CLI_SEC_SAMPLING, CLI_SEC_MODEL, CLI_SEC_CACHE, CLI_SEC_SCHEDULER, CLI_SEC_GENERAL,
    CLI_NUM_SECTIONS
};

/* Where a value came from; a later one wins. */
enum cli_source { CLI_FROM_DEFAULT, CLI_FROM_FILE, CLI_FROM_ENVIRONMENT, CLI_FROM_COMMAND };

/* Lists; the arrays belong to the arena of the cli_opts. */
struct cli_strs { const char **v; size_t n; };
struct cli_ids { int32_t *v; size_t n; };
struct cli_counts { uint32_t *v; size_t n; };
struct cli_biases { vc_logit_bias *v; size_t n; };

enum cli_opt_id {
#define CLI_OPT(id, name, letter, arg, dflt, kind, field, section, commands, text) CLI_OPT_##id,
#include "cli/options.def"
#undef CLI_OPT
    CLI_NUM_OPTS
};

/* The values of all options of one command line. Strings borrow from argv, the environment or the arena. */
struct cli_opts {
    enum cli_command_id command;
    vc_model_params model;
    struct vc_server_params server;                   /* scalars and strings; lists are those below */
    struct cli_strs api_keys, models, served_names, allowed_origins;
    const char *serve_tools, *serve_reasoning;        /* parsers of the models that name no other */
    vc_sampling_params sampling;                      /* scalars only; a field counts where `given` says so */
    struct cli_strs stop, bad_words, choice;
    struct cli_ids stop_token_ids, allowed_token_ids, prompt_ids;
    struct cli_biases logit_bias;
    struct cli_counts concurrency;
    const char *prompt, *file, *system, *input, *output, *log_level, *color, *scheduling;
    const char *schema, *regex, *grammar, *structural_tag, *whitespace, *vocabulary;
    const char *tool_parser, *reasoning_parser, *chunk, *parse_tokenizer, *tools_file, *template_file, *thinking;
    int deltas, list, use_activation;
    uint32_t dimensions, bench_prompt, bench_output, reps;
    int help, version, decode, json, jsonl, json_object, served, csv, chat, stats, ids, add_special, tensors, plan;
    int slots, ops, man, markdown, bash, zsh;
    const char *config, *help_topic;                  /* --config FILE, --help=TOPIC */
    const char *load_format, *quantization;
    const char *http_log, *fingerprint_mode, *fingerprint_value, *structured_config;
    struct cli_strs allowed_methods, allowed_headers;
    int progress_bar, strict_environment, print_config;
    bool arg_from_file;                               /* arg[0] is the model of the file */
    struct cli_strs notes;                            /* lines for the log, once it is set up: cli_log_notes */
    bool given[CLI_NUM_OPTS];
    unsigned char source[CLI_NUM_OPTS];               /* enum cli_source */
    const char *text[CLI_NUM_OPTS];                   /* as it was written; of lists the last; NULL: a switch */
    enum cli_source reading;                          /* what is being read */
    const char *arg[8];                               /* what is no option */
    size_t num_args;
    struct vc_arena arena;
    int argc, first;                                  /* the words that were read, to read them again */
    char **argv;
    vc_err *errors;                                   /* what cli_usage says goes here; NULL: it is printed */
};

struct cli_opt {
    const char *name;         /* without dashes */
    char letter;              /* 0: none */
    const char *arg;          /* "N", "FILE", "a|b|c"; NULL: takes none */
    const char *dflt;         /* as the help shows it; NULL: none */
    enum cli_kind kind;
    size_t at;                /* offset in struct cli_opts */
    enum cli_section section;
    unsigned commands;        /* CLI_IN_ bits */
    const char *text;
};
extern const struct cli_opt cli_opts_table[CLI_NUM_OPTS];

typedef int cli_main_fn(struct cli_opts *o);
struct cli_command { const char *name, *usage, *text; cli_main_fn *fn; };
const struct cli_command *cli_command(enum cli_command_id id);
const char *cli_command_about(enum cli_command_id id);                /* paragraph for the help, NULL: none */
const char *cli_command_examples(enum cli_command_id id);             /* lines "command\tsentence", NULL: none */
enum cli_command_id cli_command_find(const char *name);               /* CLI_NUM_COMMANDS: unknown */
/* Nearest name among those that fn(ctx, i) gives for i = 0, 1, … until NULL; NULL when none is close. */
const char *cli_nearest(const char *word, const char *(*fn)(void *ctx, size_t i), void *ctx);

/* (o->command and o->errors are the caller's, all else is set.) Parses argv[first …) for o->command, then the
 * environment (VLLMC_<OPTION>), then the file of --config; what was given before is left alone. On error a line is
 * printed to stderr and CLI_USAGE returned. cli_opts_free releases the lists. */
int cli_read_options(struct cli_opts *o, int argc, char **argv, int first);
int cli_log_level(const struct cli_opts *o);                          /* what --log-level names, else the command's */
void cli_log_notes(struct cli_opts *o);                               /* flags that changed nothing, once each */
/* Row of an option of o->command by its name (_ counts as -); *off: a switch was named with `no-`. CLI_NUM_OPTS:
 * unknown. */
size_t cli_find_option(const struct cli_opts *o, const char *name, size_t n, bool *off);
/* Sets option i as another source than the command line gives it; text NULL: a switch without a value. `spelled` is
 * for messages. */
int cli_set_option(struct cli_opts *o, size_t i, bool off, const char *text, const char *spelled);
void cli_opts_free(struct cli_opts *o);
void cli_env_name(const struct cli_opt *opt, char *dst, size_t cap);  /* "VLLMC_MAX_MODEL_LEN" */

/* Texts to values; false: not of that form. */
bool cli_read_size(const char *s, bool whole, uint64_t most, uint64_t *v);
bool cli_read_u64(const char *s, uint64_t *v);
bool cli_read_i32(const char *s, int32_t *v);
bool cli_read_f32(const char *s, float *v);
bool cli_read_ids(struct vc_arena *a, const char *s, struct cli_ids *ids);
bool cli_read_counts(struct vc_arena *a, const char *s, struct cli_counts *c);
bool cli_read_biases(struct vc_arena *a, const char *s, struct cli_biases *b);
bool cli_read_list(struct vc_arena *a, struct cli_strs *l, const char *s);       /* appends s, which is borrowed */
bool cli_read_strings(struct vc_arena *a, struct cli_strs *l, const char *s);    /* s, or the texts of a JSON list */
bool cli_is_json_object(const char *s);

/* "vllmc: …" on stderr; return the exit code that belongs to it. */
int cli_fail(const char *fmt, ...) VC_PRINTF(1, 2);
int cli_usage(const struct cli_opts *o, const char *fmt, ...) VC_PRINTF(2, 3);   /* points to --help of the command */
int cli_fail_err(const vc_err *err);                                  /* by the status: CLI_USAGE for E_INVALID */

/* Writes all of b to stdout and frees it; CLI_FAILED when stdout is gone. */
int cli_print(struct vc_buf *b);
/* All bytes of a file, or of stdin for "-". */
vc_status cli_read_file(const char *path, struct vc_buf *out, vc_err *err);

/* Commands. */
#define CLI_COMMAND(id, name, usage, text) cli_main_fn cli_##name;
#include "cli/commands.def"
#undef CLI_COMMAND

#endif
