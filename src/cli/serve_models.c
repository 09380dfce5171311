/* SPDX-License-Identifier: Apache-2.0
 * serve_models.c: which models `vllmc serve` serves: the one that is its argument, and those of --model
 * [NAME=]PATH[,OPTION=VALUE…]. What is not said of a model is what the command line says for all. */
#include <string.h>

#include "cli/load.h"
#include "cli/serve_models.h"

/* Options that may stand in a --model: those of engines, and what the server knows per model. */
static bool of_a_model(size_t i) {
    if (i == CLI_OPT_LOAD_FORMAT || i == CLI_OPT_QUANTIZATION) return false;
    return (cli_opts_table[i].section >= CLI_SEC_MODEL && cli_opts_table[i].section <= CLI_SEC_SCHEDULER) ||
           i == CLI_OPT_SERVED_NAME || i == CLI_OPT_TOOL_PARSER || i == CLI_OPT_REASONING;
}

static int one_option(struct cli_opts *o, char *word) {
    char *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    bool off;
    size_t i = cli_find_option(o, word, n, &off);
    if (i == CLI_NUM_OPTS) return cli_usage(o, "--model: unknown option '%.*s'", (int)n, word);
    if (!of_a_model(i)) return cli_usage(o, "--model: %s is one for all models", cli_opts_table[i].name);
    return cli_set_option(o, i, off, eq ? eq + 1 : NULL, cli_opts_table[i].name);
}

/* What one model may have for itself, so that it can be put back for the next. */
struct own {
    vc_model_params model;
    struct cli_strs names;
    const char *tool_parser, *reasoning_parser, *scheduling;
    bool given[CLI_NUM_OPTS];
};

static void keep(const struct cli_opts *o, struct own *k) {
    *k = (struct own){ o->model, o->served_names, o->serve_tools, o->serve_reasoning, o->scheduling, { false } };
    memcpy(k->given, o->given, sizeof k->given);
}

static void put_back(struct cli_opts *o, const struct own *k) {
    o->model = k->model;
    o->served_names = k->names;
    o->serve_tools = k->tool_parser;
    o->serve_reasoning = k->reasoning_parser;
    o->scheduling = k->scheduling;
    memcpy(o->given, k->given, sizeof k->given);
}

static void take(const struct cli_opts *o, const char *path, struct vc_server_model *m) {
    *m = (struct vc_server_model){ .params = o->model,
                                   .names = o->served_names.v,
                                   .num_names = o->served_names.n,
                                   .tool_parser = o->serve_tools,
                                   .reasoning_parser = o->serve_reasoning };
    m->params.path = path;
    m->params.priority = o->scheduling && !strcmp(o->scheduling, "priority");
}

/* The next word of *next up to a comma that stands outside of JSON: {…}, […] and "…" keep theirs. NULL: the end. */
static char *next_word(char **next) {
    char *word = *next;
    int depth = 0;
    bool quoted = false;
    if (!word) return NULL;
    *next = NULL;
    for (char *p = word; *p; p++) {
        if (quoted && *p == '\\' && p[1]) p++;
        else if (*p == '"' && depth) quoted = !quoted;
        else if (!quoted && (*p == '{' || *p == '[')) depth++;
        else if (!quoted && (*p == '}' || *p == ']')) depth--;
        else if (*p == ',' && depth <= 0) {
            *p = '\0';
            *next = p + 1;
            break;
        }
    }
    return word;
}

static int named_model(struct cli_opts *o, const char *text, struct vc_server_model *m) {
    char *next = vc_arena_strdup(&o->arena, text);
    if (!next) return cli_fail("out of memory");
    char *path = next_word(&next), *eq = path ? strchr(path, '=') : NULL;
    if (eq) *eq = '\0';
    const char *name = eq ? path : NULL;
    if (eq) path = eq + 1;
    if (!path || !*path || (name && !*name))
        return cli_usage(o, "--model: '%s', expected [NAME=]PATH[,OPTION=VALUE…]", text);
    if (name) o->served_names = (struct cli_strs){ 0 };
    if (name && !cli_read_list(&o->arena, &o->served_names, name)) return cli_fail("out of memory");
    for (char *word; (word = next_word(&next));) {
        if (!*word) continue;
        int rc = one_option(o, word);
        if (rc != CLI_OK) return rc;
    }
    take(o, path, m);
    return CLI_OK;
}

int cli_serve_models(struct cli_opts *o, struct vc_server_params *p) {
    size_t num = o->num_args + o->models.n, at = 0;
    if (o->num_args > 1)
        return cli_usage(o, "serve takes one model as its argument; more are given as --model NAME=PATH");
    if (!num) return cli_usage(o, "serve needs a model: a GGUF file or a folder");
    if (num > 1 && o->given[CLI_OPT_SERVED_NAME])
        return cli_usage(o, "--served-model-name names one model; of several, each has its own: --model "
                            "NAME=PATH[,served-model-name=NAME…]");
    struct vc_server_model *list = VC_NEW_ARRAY(&o->arena, struct vc_server_model, num);
    if (!list) return cli_fail("out of memory");
    if (o->num_args) take(o, o->arg[0], &list[at++]);
    for (size_t i = 0; i < o->models.n; i++) {
        struct own own;
        keep(o, &own);
        int rc = named_model(o, o->models.v[i], &list[at++]);
        put_back(o, &own);
        if (rc != CLI_OK) return rc;
    }
    for (size_t i = 0; i < num; i++) {
        int rc = cli_check_format(o, list[i].params.path);
        if (rc != CLI_OK) return rc;
    }
    for (size_t i = 0; i < num; i++)
        if (p->enable_auto_tool_choice && !list[i].tool_parser)
            return cli_usage(o, "--enable-auto-tool-choice requires --tool-call-parser");
    p->models = list;
    p->num_models = num;
    return CLI_OK;
}
