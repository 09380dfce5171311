/* SPDX-License-Identifier: Apache-2.0
 * options_words.c: the command line into struct cli_opts. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

struct words {
    int argc, at;
    char **argv;
};

/* The next word, when it is no option; NULL otherwise. "-1" is a value. */
static const char *next_value(struct words *w) {
    if (w->at + 1 >= w->argc) return NULL;
    const char *word = w->argv[w->at + 1];
    if (word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9')) return NULL;
    return w->argv[++w->at];
}

/* Lists shown as "NAME …" take several words, as vLLM's, once the model was named: before, the next word is the model.
 */
static int more_texts(struct cli_opts *o, struct words *w, size_t i, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    if (t->kind != CLI_STRS || !strstr(t->arg, "…") || o->command != CLI_SERVE || !o->num_args) return CLI_OK;
    int rc = CLI_OK;
    for (const char *text; rc == CLI_OK && (text = next_value(w));) rc = cli_option_set(o, i, text, spelled);
    return rc;
}

static int take(struct cli_opts *o, struct words *w, size_t i, bool off, const char *inline_text, const char *spelled) {
    const struct cli_opt *t = &cli_opts_table[i];
    if (i == CLI_OPT_HELP && inline_text) {
        o->help_topic = inline_text;
        return cli_option_switch(o, i, true);
    }
    if (!t->arg) return inline_text ? cli_usage(o, "%s takes no value", spelled) : cli_option_switch(o, i, !off);
    if (inline_text) return cli_option_set(o, i, inline_text, spelled);
    if (w->at + 1 >= w->argc) return cli_usage(o, "%s needs a value: %s", spelled, t->arg);
    int rc = cli_option_set(o, i, w->argv[++w->at], spelled);
    return rc == CLI_OK ? more_texts(o, w, i, spelled) : rc;
}

/* One of vLLM's flags that is no option here, with its values. */
static int take_vllm(struct cli_opts *o, struct words *w, const struct cli_vllm_flag *f, bool off,
                     const char *inline_text, const char *spelled) {
    if (f->takes == CLI_TAKES_NOTHING || f->takes == CLI_TAKES_SWITCH)
        return inline_text ? cli_usage(o, "%s takes no value", spelled)
                           : cli_vllm_take(o, f, off ? "off" : "on", spelled);
    const char *text = inline_text ? inline_text : next_value(w);
    if (!text && f->takes != CLI_TAKES_MAYBE && f->accepts) return cli_usage(o, "%s needs a value", spelled);
    int rc = cli_vllm_take(o, f, text, spelled);
    if (f->takes != CLI_TAKES_MANY || inline_text) return rc;
    while (rc == CLI_OK && (text = next_value(w))) rc = cli_vllm_take(o, f, text, spelled);
    return rc;
}

/* --NAME.KEY VALUE of an option that is a JSON object; *rc is set when it is one. */
static bool take_member(struct cli_opts *o, struct words *w, const char *word, size_t n, const char *inline_text,
                        int *rc) {
    const char *dot = memchr(word, '.', n);
    bool off;
    size_t i = dot ? cli_find_option(o, word, (size_t)(dot - word), &off) : CLI_NUM_OPTS;
    if (i == CLI_NUM_OPTS || cli_opts_table[i].kind != CLI_JSON) return false;
    char spelled[80];
    snprintf(spelled, sizeof spelled, "--%.*s", (int)(n < 70 ? n : 70), word);
    const char *text = inline_text ? inline_text : w->at + 1 < w->argc ? w->argv[++w->at] : NULL;
    *rc = text ? cli_option_member(o, i, dot + 1, n - (size_t)(dot + 1 - word), text, spelled)
               : cli_usage(o, "%s needs a value", spelled);
    return true;
}

static int take_long(struct cli_opts *o, struct words *w) {
    const char *word = w->argv[w->at] + 2, *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    bool off;
    char spelled[80];
    size_t i = cli_find_option(o, word, n, &off);
    int rc;
    if (i == CLI_NUM_OPTS && take_member(o, w, word, n, eq ? eq + 1 : NULL, &rc)) return rc;
    if (i == CLI_NUM_OPTS) {
        const struct cli_vllm_flag *f = cli_vllm_find(o, word, n, &off);
        if (!f) return cli_option_unknown(o, word, n);
        snprintf(spelled, sizeof spelled, "--%.*s", (int)(n < 70 ? n : 70), word);
        return take_vllm(o, w, f, off, eq ? eq + 1 : NULL, spelled);
    }
    snprintf(spelled, sizeof spelled, "--%s%s", off ? "no-" : "", cli_opts_table[i].name);
    return take(o, w, i, off, eq ? eq + 1 : NULL, spelled);
}

/* -tp 2, -tp=2, -O3: vLLM's spellings with one dash. *rc is set when it is one. */
static bool take_short(struct cli_opts *o, struct words *w, int *rc) {
    const char *word = w->argv[w->at], *eq = strchr(word, '=');
    bool off;
    char spelled[80];
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    if (!strncmp(word, "-O", 2)) {
        const struct cli_vllm_flag *level = cli_vllm_find(o, "optimization-level", strlen("optimization-level"), &off);
        if (level && o->command == CLI_SERVE) *rc = cli_vllm_take(o, level, eq ? eq + 1 : word + 2, "-O");
        return level && o->command == CLI_SERVE;
    }
    const struct cli_vllm_flag *f = cli_vllm_find(o, word, n, &off);
    if (!f) return false;
    snprintf(spelled, sizeof spelled, "%.*s", (int)(n < 70 ? n : 70), word);
    *rc = take_vllm(o, w, f, false, eq ? eq + 1 : NULL, spelled);
    return true;
}

/* -x, -x value, -xvalue, and several switches at once. */
static int take_letters(struct cli_opts *o, struct words *w) {
    const char *word = w->argv[w->at];
    int rc;
    if (take_short(o, w, &rc)) return rc;
    for (size_t k = 1; word[k]; k++) {
        size_t i = cli_option_letter(o, word[k]);
        char spelled[4] = { '-', word[k], '\0', '\0' };
        if (i == CLI_NUM_OPTS) return cli_usage(o, "unknown option %s", spelled);
        bool has_text = cli_opts_table[i].arg && word[k + 1];
        rc = take(o, w, i, false, has_text ? word + k + 1 : NULL, spelled);
        if (rc != CLI_OK || cli_opts_table[i].arg) return rc;
    }
    return CLI_OK;
}

int cli_read_words(struct cli_opts *o, int argc, char **argv, int first) {
    int rc = CLI_OK;
    struct words w = { .argc = argc, .at = first, .argv = argv };
    bool only_args = false;
    for (; rc == CLI_OK && w.at < argc; w.at++) {
        const char *word = argv[w.at];
        if (!only_args && !strcmp(word, "--"))
            only_args = true;
        else if (!only_args && word[0] == '-' && word[1] == '-')
            rc = take_long(o, &w);
        else if (!only_args && word[0] == '-' && word[1])
            rc = take_letters(o, &w);
        else if (o->num_args == VC_ARRAY_LEN(o->arg))
            rc = cli_usage(o, "'%s': too many arguments", word);
        else
            o->arg[o->num_args++] = word;
    }
    return rc;
}
