/* SPDX-License-Identifier: Apache-2.0
 * options.c: the table of options, finding a row, and texts into the fields of struct cli_opts. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/options.h"

const struct cli_opt cli_opts_table[CLI_NUM_OPTS] = {
#define CLI_OPT(id, name, letter, arg, dflt, kind, field, section, commands, text)                                     \
    { name, letter, arg, dflt, CLI_##kind, offsetof(struct cli_opts, field), CLI_SEC_##section, (unsigned)(commands),  \
      text },
#include "cli/options.def"
#undef CLI_OPT
};

/* Other names of options. */
static const struct {
    const char *name;
    size_t opt;
} names[] = { { "device-memory-utilization", CLI_OPT_MEMORY_SHARE } };

/* Other words for a choice: as vLLM spells them. */
static const struct {
    size_t opt;
    const char *word, *choice;
} synonyms[] = {
    { CLI_OPT_DTYPE, "half", "float16" },        { CLI_OPT_DTYPE, "float", "float32" },
    { CLI_OPT_LOG_LEVEL, "CRITICAL", "error" },  { CLI_OPT_LOG_LEVEL, "ERROR", "error" },
    { CLI_OPT_LOG_LEVEL, "WARNING", "warning" }, { CLI_OPT_LOG_LEVEL, "INFO", "info" },
    { CLI_OPT_LOG_LEVEL, "DEBUG", "debug" },     { CLI_OPT_LOG_LEVEL, "NOTSET", "debug" },
};

void cli_env_name(const struct cli_opt *opt, char *dst, size_t cap) {
    int n = snprintf(dst, cap, "VLLMC_%s", opt->name);
    for (int i = 0; i < n && (size_t)i < cap; i++) dst[i] = dst[i] == '-' ? '_' : (char)toupper((unsigned char)dst[i]);
}

bool cli_option_in(const struct cli_opts *o, size_t i) { return (cli_opts_table[i].commands >> o->command & 1u) != 0; }

bool cli_same_name(const char *name, size_t n, const char *want) {
    if (strlen(want) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] != want[i] && !(name[i] == '_' && want[i] == '-')) return false;
    return true;
}

size_t cli_find_option(const struct cli_opts *o, const char *name, size_t n, bool *off) {
    *off = false;
    for (size_t i = 0; i < CLI_NUM_OPTS; i++)
        if (cli_option_in(o, i) && cli_same_name(name, n, cli_opts_table[i].name)) return i;
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++)
        if (cli_option_in(o, names[i].opt) && cli_same_name(name, n, names[i].name)) return names[i].opt;
    if (n <= 3 || !cli_same_name(name, 3, "no-")) return CLI_NUM_OPTS;
    *off = true;
    for (size_t i = 0; i < CLI_NUM_OPTS; i++)
        if (cli_option_in(o, i) && cli_opts_table[i].kind == CLI_BOOL &&
            cli_same_name(name + 3, n - 3, cli_opts_table[i].name))
            return i;
    return CLI_NUM_OPTS;
}

size_t cli_option_letter(const struct cli_opts *o, char c) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++)
        if (cli_option_in(o, i) && cli_opts_table[i].letter == c) return i;
    return CLI_NUM_OPTS;
}

static const char *nth_name(void *ctx, size_t i) {
    const struct cli_opts *o = ctx;
    for (size_t k = 0; k < CLI_NUM_OPTS; k++)
        if (cli_option_in(o, k) && i-- == 0) return cli_opts_table[k].name;
    bool off;
    for (size_t k = 0; k < cli_num_vllm_flags; k++)
        if (cli_vllm_find(o, cli_vllm_flags[k].name, strlen(cli_vllm_flags[k].name), &off) && i-- == 0)
            return cli_vllm_flags[k].name;
    return NULL;
}

const char *cli_option_near(struct cli_opts *o, const char *name) { return cli_nearest(name, nth_name, o); }

int cli_option_unknown(struct cli_opts *o, const char *word, size_t n) {
    char name[64], shown[160];
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), word);
    vc_printable(shown, sizeof shown, name, strlen(name));
    const char *near = cli_option_near(o, name);
    if (near) return cli_usage(o, "unknown option --%s; did you mean --%s?", shown, near);
    return cli_usage(o, "unknown option --%s", shown);
}

/* The choice of "a|b|c" that text is, or stands for; NULL: none. A capital word among them stands for anything. */
static const char *choice_of(size_t opt, const char *text) {
    for (size_t i = 0; i < VC_ARRAY_LEN(synonyms); i++)
        if (synonyms[i].opt == opt && !strcmp(synonyms[i].word, text)) return synonyms[i].choice;
    for (const char *p = cli_opts_table[opt].arg; *p;) {
        size_t n = strcspn(p, "|");
        if (isupper((unsigned char)*p) || (strlen(text) == n && !strncmp(p, text, n))) return text;
        p += n + (p[n] == '|');
    }
    return NULL;
}

static bool set_text(struct cli_opts *o, size_t i, const char *text) {
    const struct cli_opt *t = &cli_opts_table[i];
    void *at = (char *)o + t->at;
    uint64_t v;
    switch (t->kind) {
        case CLI_FLAG:
        case CLI_BOOL: return false;
        case CLI_STR: return (*(const char **)at = strchr(t->arg, '|') ? choice_of(i, text) : text) != NULL;
        case CLI_U32:
            if (i == CLI_OPT_MAX_MODEL_LEN && (!strcmp(text, "auto") || !strcmp(text, "-1")))
                text = "0"; /* what the cache holds */
            if (!cli_read_size(text, true, UINT32_MAX, &v)) return false;
            *(uint32_t *)at = (uint32_t)v;
            return true;
        case CLI_I32: return cli_read_i32(text, at);
        case CLI_U64: return cli_read_u64(text, at);
        case CLI_BYTES: return cli_read_size(text, false, UINT64_MAX / 2, at);
        case CLI_F32: return cli_read_f32(text, at);
        case CLI_STRS: return cli_read_list(&o->arena, at, text);
        case CLI_LIST: return cli_read_strings(&o->arena, at, text);
        case CLI_JSON: *(const char **)at = text; return cli_is_json_object(text);
        case CLI_IDS: return cli_read_ids(&o->arena, text, at);
        case CLI_COUNTS: return cli_read_counts(&o->arena, text, at);
        case CLI_BIASES: return cli_read_biases(&o->arena, text, at);
    }
    return false;
}

const char *cli_option_wanted(const struct cli_opt *t) {
    switch (t->kind) {
        case CLI_U32: return "a whole number such as 512 or 4K";
        case CLI_I32: return "a whole number";
        case CLI_U64: return "a whole number from 0";
        case CLI_BYTES: return "a size such as 512M or 1.5G";
        case CLI_F32: return "a number";
        case CLI_LIST: return "a text, or a JSON list of texts";
        case CLI_JSON: return "a JSON object";
        case CLI_IDS: return "token ids such as 1,2,3";
        case CLI_COUNTS: return "numbers from 1 such as 1,8,32";
        case CLI_BIASES: return "token:bias pairs such as 17:-100,42:2.5";
        case CLI_FLAG:
        case CLI_BOOL: return "1 or 0";
        case CLI_STR:
        case CLI_STRS: break;
    }
    return t->arg;
}

int cli_option_set(struct cli_opts *o, size_t i, const char *text, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    if (!set_text(o, i, text)) return cli_usage(o, "%s: '%s', expected %s", spelled, text, cli_option_wanted(t));
    o->given[i] = true;
    o->source[i] = (unsigned char)o->reading;
    o->text[i] = text;
    return CLI_OK;
}

int cli_option_switch(struct cli_opts *o, size_t i, bool on) {
    *(int *)(void *)((char *)o + cli_opts_table[i].at) = on;
    o->given[i] = true;
    o->source[i] = (unsigned char)o->reading;
    return CLI_OK;
}

int cli_set_option(struct cli_opts *o, size_t i, bool off, const char *text, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    if (!cli_is_switch(t))
        return text ? cli_option_set(o, i, text, spelled) : cli_usage(o, "%s needs a value: %s", spelled, t->arg);
    if (text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return cli_usage(o, "%s: '%s', expected 1 or 0", spelled, text);
    return cli_option_switch(o, i, (!text || text[0] == '1') != off);
}

static void defaults(struct cli_opts *o) {
    enum cli_command_id command = o->command;
    vc_err *errors = o->errors;
    *o = (struct cli_opts){
        .command = command, .bench_prompt = 512, .bench_output = 128, .reps = 1, .add_special = 1, .progress_bar = 1,
        .errors = errors
    };
    vc_model_params_init(&o->model);
    vc_sampling_params_init(&o->sampling);
    vc_server_params_init(&o->server);
    if (command == CLI_BENCH) o->model.enable_prefix_caching = 0;
}

int cli_read_options(struct cli_opts *o, int argc, char **argv, int first) {
    defaults(o);
    o->argc = argc;
    o->argv = argv;
    o->first = first;
    o->reading = CLI_FROM_COMMAND;
    int rc = cli_read_words(o, argc, argv, first);
    if (rc == CLI_OK && !o->help && !o->version) {
        o->reading = CLI_FROM_ENVIRONMENT;
        rc = cli_read_environment(o);
        o->reading = CLI_FROM_FILE;
        if (rc == CLI_OK) rc = cli_read_config(o);
        o->reading = CLI_FROM_ENVIRONMENT;
        if (rc == CLI_OK) rc = cli_check_environment(o);
    }
    if (rc == CLI_OK && o->arena.failed) rc = cli_fail("out of memory");
    return rc;
}

int cli_log_level(const struct cli_opts *o) {
    static const char *const levels[] = { "error", "warning", "info", "debug" };
    for (int i = 0; o->log_level && i < (int)VC_ARRAY_LEN(levels); i++)
        if (!strcmp(o->log_level, levels[i])) return i;
    return o->command == CLI_SERVE ? 2 : 1;
}

void cli_log_notes(struct cli_opts *o) {
    for (size_t i = 0; i < o->notes.n; i++) vc_log_line(VC_LOG_INFO, "%s", o->notes.v[i]);
    o->notes.n = 0;
}

void cli_opts_free(struct cli_opts *o) { vc_arena_free(&o->arena); }
