/* SPDX-License-Identifier: Apache-2.0
 * help_topic.c: --help=TOPIC, as vLLM's: listgroup, all, the name of a group, of an option, or a part of names. */
#include <string.h>
#include <strings.h>

#include "cli/help.h"
#include "cli/options.h"
#include "cli/term.h"

/* vLLM's groups that have options here. */
static const struct {
    const char *name;
    enum cli_section section;
} groups[] = {
    { "Frontend", CLI_SEC_COMMAND },          { "ModelConfig", CLI_SEC_MODEL }, { "CacheConfig", CLI_SEC_CACHE },
    { "SchedulerConfig", CLI_SEC_SCHEDULER }, { "Options", CLI_SEC_COMMAND },   { "Sampling", CLI_SEC_SAMPLING },
    { "General", CLI_SEC_GENERAL },
};

/* Group g as this command names it: Frontend is what others call Options. */
static bool group_shown(size_t g, enum cli_command_id c) {
    if (!strcmp(groups[g].name, "Frontend") && c != CLI_SERVE) return false;
    if (!strcmp(groups[g].name, "Options") && c == CLI_SERVE) return false;
    return cli_section_used(c, groups[g].section);
}

static const char *nth_group(enum cli_command_id c, size_t i) {
    for (size_t g = 0; g < VC_ARRAY_LEN(groups); g++)
        if (group_shown(g, c) && i-- == 0) return groups[g].name;
    if (c != CLI_SERVE) return NULL;
    for (size_t k = 0; k < cli_num_vllm_flags; k++) {
        bool seen = k && !strcmp(cli_vllm_flags[k].group, cli_vllm_flags[k - 1].group);
        for (size_t g = 0; g < VC_ARRAY_LEN(groups); g++)
            seen |= group_shown(g, c) && !strcasecmp(groups[g].name, cli_vllm_flags[k].group);
        if (!seen && i-- == 0) return cli_vllm_flags[k].group;
    }
    return NULL;
}

static void list_groups(struct vc_buf *b, enum cli_command_id c) {
    vc_buf_printf(b, "Groups of 'vllmc %s', for --help=GROUP:\n", cli_command(c)->name);
    const char *name;
    for (size_t i = 0; (name = nth_group(c, i)); i++) vc_buf_printf(b, "  %s\n", name);
    vc_buf_adds(b, "\nAlso: --help=all, --help=NAME of an option, --help=PART of a name.\n");
}

static void add_flag(struct vc_buf *b, const struct cli_vllm_flag *f) {
    vc_buf_printf(b, "  --%s%s%s: ", f->name, f->other ? " " : "", f->other ? f->other : "");
    bool is_switch = f->takes == CLI_TAKES_NOTHING || f->takes == CLI_TAKES_SWITCH;
    if (f->accepts && !strcmp(f->accepts, "*"))
        vc_buf_adds(b, "any value is taken; ");
    else if (f->accepts && !strcmp(f->accepts, "on|off"))
        vc_buf_adds(b, "taken, with and without no-; ");
    else if (f->accepts && is_switch)
        vc_buf_printf(b, "only --%s%s is taken; ", strcmp(f->accepts, "off") ? "" : "no-", f->name);
    else if (f->accepts)
        vc_buf_printf(b, "only %s is taken; ", *f->accepts ? f->accepts : "the empty text");
    vc_buf_printf(b, "%s\n", f->text);
}

static void add_flags(struct vc_buf *b, enum cli_command_id c, const char *group) {
    bool any = false;
    for (size_t k = 0; k < cli_num_vllm_flags && c == CLI_SERVE; k++) {
        if (strcasecmp(cli_vllm_flags[k].group, group) != 0) continue;
        if (!any) vc_buf_adds(b, "\nvLLM's flags that are no options here:\n");
        any = true;
        add_flag(b, &cli_vllm_flags[k]);
    }
}

static bool add_group(struct vc_buf *b, enum cli_command_id c, const char *topic, int width) {
    const char *name;
    for (size_t i = 0; (name = nth_group(c, i)); i++) {
        if (strcasecmp(name, topic) != 0) continue;
        for (size_t g = 0; g < VC_ARRAY_LEN(groups); g++)
            if (group_shown(g, c) && !strcmp(groups[g].name, name)) cli_help_section(b, c, groups[g].section, width);
        add_flags(b, c, name);
        return true;
    }
    return false;
}

static void add_one(struct vc_buf *b, const struct cli_opt *t, int width) {
    char env[80];
    cli_help_option(b, t, width);
    cli_env_name(t, env, sizeof env);
    if (strcmp(t->name, "help") != 0 && strcmp(t->name, "version") != 0)
        vc_buf_printf(b, "      environment %s, in files of --config %s\n", env, t->name);
}

/* All whose names are, or hold, the topic without its dashes. */
static bool add_named(struct vc_buf *b, enum cli_command_id c, const char *topic, bool exactly, int width) {
    bool any = false;
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        if (!cli_opt_in(t, c) || (exactly ? strcmp(t->name, topic) != 0 : !strstr(t->name, topic))) continue;
        add_one(b, t, width);
        any = true;
    }
    for (size_t k = 0; k < cli_num_vllm_flags && c == CLI_SERVE; k++) {
        if (exactly ? strcmp(cli_vllm_flags[k].name, topic) != 0 : !strstr(cli_vllm_flags[k].name, topic)) continue;
        if (!any || !exactly) add_flag(b, &cli_vllm_flags[k]);
        any = true;
    }
    return any;
}

bool cli_help_topic(struct vc_buf *b, enum cli_command_id c, const char *topic, int width) {
    char name[80];
    if (!strcasecmp(topic, "listgroup")) {
        list_groups(b, c);
        return true;
    }
    if (!strcasecmp(topic, "all") || !strcasecmp(topic, "page")) {
        cli_help_command(b, c, width);
        return true;
    }
    if (add_group(b, c, topic, width)) return true;
    while (*topic == '-') topic++;
    size_t n = strlen(topic);
    if (!n || n >= sizeof name) return false;
    for (size_t i = 0; i <= n; i++) name[i] = topic[i] == '_' ? '-' : topic[i];
    return add_named(b, c, name, true, width) || add_named(b, c, name, false, width);
}
