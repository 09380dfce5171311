/* SPDX-License-Identifier: Apache-2.0
 * options.c: the table of options, and reading a command line and the environment into struct cli_opts. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const struct cli_opt cli_opts_table[CLI_NUM_OPTS] = {
#define CLI_OPT(id, name, letter, arg, dflt, kind, field, section, commands, text) \
    { name, letter, arg, dflt, CLI_##kind, offsetof(struct cli_opts, field), CLI_SEC_##section, (unsigned)(commands), text },
#include "cli/options.def"
#undef CLI_OPT
};

void cli_env_name(const struct cli_opt *opt, char *dst, size_t cap) {
    int n = snprintf(dst, cap, "VLLMC_%s", opt->name);
    for (int i = 0; i < n && (size_t)i < cap; i++) dst[i] = dst[i] == '-' ? '_' : (char)toupper((unsigned char)dst[i]);
}

static bool in_command(const struct cli_opt *t, const struct cli_opts *o) { return (t->commands >> o->command & 1u) != 0; }

/* name[0 … n) as written, with _ for - allowed. */
static bool same_name(const char *name, size_t n, const char *want) {
    if (strlen(want) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] != want[i] && !(name[i] == '_' && want[i] == '-')) return false;
    return true;
}

size_t cli_find_option(const struct cli_opts *o, const char *name, size_t n, bool *off) {
    *off = false;
    for (size_t i = 0; i < CLI_NUM_OPTS; i++)
        if (in_command(&cli_opts_table[i], o) && same_name(name, n, cli_opts_table[i].name)) return i;
    if (n <= 3 || strncmp(name, "no", 2) != 0 || (name[2] != '-' && name[2] != '_')) return CLI_NUM_OPTS;
    *off = true;
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (in_command(t, o) && t->kind == CLI_BOOL && same_name(name + 3, n - 3, t->name)) return i;
    }
    return CLI_NUM_OPTS;
}

static size_t find_letter(const struct cli_opts *o, char c) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++)
        if (in_command(&cli_opts_table[i], o) && cli_opts_table[i].letter == c) return i;
    return CLI_NUM_OPTS;
}

static const char *nth_name(void *ctx, size_t i) {
    const struct cli_opts *o = ctx;
    for (size_t k = 0; k < CLI_NUM_OPTS; k++)
        if (in_command(&cli_opts_table[k], o) && i-- == 0) return cli_opts_table[k].name;
    return NULL;
}

static int unknown(struct cli_opts *o, const char *word, size_t n) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), word);
    const char *near = cli_nearest(name, nth_name, o);
    if (near) return cli_usage(o, "unknown option --%s; did you mean --%s?", name, near);
    return cli_usage(o, "unknown option --%s", name);
}

/* Is text one of the values of "a|b|c"? A capital word among them stands for anything. */
static bool one_of(const char *choices, const char *text) {
    for (const char *p = choices; *p;) {
        size_t n = strcspn(p, "|");
        if (isupper((unsigned char)*p) || (strlen(text) == n && !strncmp(p, text, n))) return true;
        p += n + (p[n] == '|');
    }
    return false;
}

static bool set_text(struct cli_opts *o, const struct cli_opt *t, const char *text) {
    void *at = (char *)o + t->at;
    uint64_t v;
    switch (t->kind) {
        case CLI_FLAG: case CLI_BOOL: return false;
        case CLI_STR: *(const char **)at = text; return !strchr(t->arg, '|') || one_of(t->arg, text);
        case CLI_U32:
            if (!cli_read_size(text, true, UINT32_MAX, &v)) return false;
            *(uint32_t *)at = (uint32_t)v;
            return true;
        case CLI_I32: return cli_read_i32(text, at);
        case CLI_U64: return cli_read_u64(text, at);
        case CLI_BYTES: return cli_read_size(text, false, UINT64_MAX / 2, at);
        case CLI_F32: return cli_read_f32(text, at);
        case CLI_STRS: return cli_read_list(&o->arena, at, text);
        case CLI_IDS: return cli_read_ids(&o->arena, text, at);
        case CLI_COUNTS: return cli_read_counts(&o->arena, text, at);
        case CLI_BIASES: return cli_read_biases(&o->arena, text, at);
    }
    return false;
}

static const char *wanted(const struct cli_opt *t) {
    switch (t->kind) {
        case CLI_U32: return "a whole number such as 512 or 4k";
        case CLI_I32: return "a whole number";
        case CLI_U64: return "a whole number from 0";
        case CLI_BYTES: return "a size such as 512M or 1.5G";
        case CLI_F32: return "a number";
        case CLI_IDS: return "token ids such as 1,2,3";
        case CLI_COUNTS: return "numbers from 1 such as 1,8,32";
        case CLI_BIASES: return "token:bias pairs such as 17:-100,42:2.5";
        case CLI_FLAG: case CLI_BOOL: return "1 or 0";
        case CLI_STR: case CLI_STRS: break;
    }
    return t->arg;
}

static int set(struct cli_opts *o, size_t i, const char *text, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    if (!set_text(o, t, text)) return cli_usage(o, "%s: '%s', expected %s", spelled, text, wanted(t));
    o->given[i] = true;
    return CLI_OK;
}

int cli_set_option(struct cli_opts *o, size_t i, bool off, const char *text, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    if (t->arg) return text ? set(o, i, text, spelled) : cli_usage(o, "%s needs a value: %s", spelled, t->arg);
    if (text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0) return cli_usage(o, "%s: '%s', expected 1 or 0", spelled, text);
    *(int *)(void *)((char *)o + t->at) = (!text || text[0] == '1') != off;
    o->given[i] = true;
    return CLI_OK;
}

static int from_environment(struct cli_opts *o) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        char name[80];
        cli_env_name(t, name, sizeof name);
        const char *text = getenv(name);
        if (!text || !*text || !in_command(t, o) || i == CLI_OPT_HELP || i == CLI_OPT_VERSION) continue;
        int rc = cli_set_option(o, i, false, text, name);
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}

/* A list on the command line replaces one of the environment. */
static void begin_list(struct cli_opts *o, size_t i, bool *begun) {
    const struct cli_opt *t = &cli_opts_table[i];
    if (t->kind == CLI_STRS && !begun[i]) *(struct cli_strs *)(void *)((char *)o + t->at) = (struct cli_strs){ 0 };
    begun[i] = true;
}

struct words { int argc, at; char **argv; bool begun[CLI_NUM_OPTS]; };

static int take(struct cli_opts *o, struct words *w, size_t i, bool off, const char *inline_text, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    begin_list(o, i, w->begun);
    if (!t->arg) {
        if (inline_text) return cli_usage(o, "%s takes no value", spelled);
        *(int *)(void *)((char *)o + t->at) = !off;
        o->given[i] = true;
        return CLI_OK;
    }
    if (!inline_text) {
        if (w->at + 1 >= w->argc) return cli_usage(o, "%s needs a value: %s", spelled, t->arg);
        inline_text = w->argv[++w->at];
    }
    return set(o, i, inline_text, spelled);
}

static int take_long(struct cli_opts *o, struct words *w) {
    const char *word = w->argv[w->at] + 2, *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    bool off;
    char spelled[80];
    size_t i = cli_find_option(o, word, n, &off);
    if (i == CLI_NUM_OPTS) return unknown(o, word, n);
    snprintf(spelled, sizeof spelled, "--%s%s", off ? "no-" : "", cli_opts_table[i].name);
    return take(o, w, i, off, eq ? eq + 1 : NULL, spelled);
}

/* -x, -x value, -xvalue, and several switches at once. */
static int take_letters(struct cli_opts *o, struct words *w) {
    const char *word = w->argv[w->at];
    for (size_t k = 1; word[k]; k++) {
        size_t i = find_letter(o, word[k]);
        char spelled[4] = { '-', word[k], '\0', '\0' };
        if (i == CLI_NUM_OPTS) return cli_usage(o, "unknown option %s", spelled);
        bool has_text = cli_opts_table[i].arg && word[k + 1];
        int rc = take(o, w, i, false, has_text ? word + k + 1 : NULL, spelled);
        if (rc != CLI_OK || cli_opts_table[i].arg) return rc;
    }
    return CLI_OK;
}

static void defaults(struct cli_opts *o) {
    enum cli_command_id command = o->command;
    *o = (struct cli_opts){ .command = command, .bench_prompt = 512, .bench_output = 128, .reps = 1, .add_special = 1 };
    vc_model_params_init(&o->model);
    vc_sampling_params_init(&o->sampling);
    vc_server_params_init(&o->server);
    if (command == CLI_BENCH) o->model.enable_prefix_caching = 0;
}

int cli_read_options(struct cli_opts *o, int argc, char **argv, int first) {
    defaults(o);
    int rc = from_environment(o);
    struct words w = { .argc = argc, .at = first, .argv = argv };
    bool only_args = false;
    for (; rc == CLI_OK && w.at < argc; w.at++) {
        const char *word = argv[w.at];
        if (!only_args && !strcmp(word, "--")) only_args = true;
        else if (!only_args && word[0] == '-' && word[1] == '-') rc = take_long(o, &w);
        else if (!only_args && word[0] == '-' && word[1]) rc = take_letters(o, &w);
        else if (o->num_args == VC_ARRAY_LEN(o->arg)) rc = cli_usage(o, "'%s': too many arguments", word);
        else o->arg[o->num_args++] = word;
    }
    if (rc == CLI_OK && o->arena.failed) rc = cli_fail("out of memory");
    return rc;
}

void cli_opts_free(struct cli_opts *o) { vc_arena_free(&o->arena); }
