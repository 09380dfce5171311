/* SPDX-License-Identifier: Apache-2.0
 * options_env.c: VLLMC_<OPTION> of the environment into struct cli_opts, and words about variables that nothing reads.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

extern char **environ;

/* Read elsewhere, or set by Kubernetes for a service of the name vllmc. A name that ends in _ stands for all that begin
 * so. */
static const char *const others[] = { "VLLMC_CPU", "VLLMC_TEST_", "VLLMC_SERVICE_", "VLLMC_PORT_" };

static bool is_other(const char *name, size_t n) {
    for (size_t i = 0; i < VC_ARRAY_LEN(others); i++) {
        size_t len = strlen(others[i]);
        if (others[i][len - 1] == '_' ? n >= len && !memcmp(name, others[i], len)
                                      : n == len && !memcmp(name, others[i], len))
            return true;
    }
    return false;
}

static int set_list(struct cli_opts *o, size_t i, const char *text, const char *name) {
    struct cli_strs list = { 0 };
    if (!cli_read_strings(&o->arena, &list, text))
        return cli_usage(o, "%s: '%s', expected a text, or a JSON list of texts", name, text);
    int rc = CLI_OK;
    for (size_t k = 0; rc == CLI_OK && k < list.n; k++) rc = cli_option_set(o, i, list.v[k], name);
    return rc;
}

static int set_known(struct cli_opts *o, size_t i, const char *text, const char *name) {
    const struct cli_opt *t = &cli_opts_table[i];
    return cli_is_list(t) ? set_list(o, i, text, name) : cli_set_option(o, i, false, text, name);
}

static bool of_any_command(const char *name, size_t n) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        char known_name[80];
        cli_env_name(&cli_opts_table[i], known_name, sizeof known_name);
        if (strlen(known_name) == n && !memcmp(known_name, name, n)) return true;
    }
    return false;
}

static int warn(struct cli_opts *o, const char *name, const char *flag) {
    char shown[100];
    vc_printable(shown, sizeof shown, name, strlen(name));
    const char *near = cli_option_near(o, flag);
    struct vc_buf b = { 0 };
    vc_buf_printf(&b, "%s in the environment is no option", shown);
    if (near) {
        vc_buf_adds(&b, "; did you mean VLLMC_");
        for (const char *p = near; *p; p++) vc_buf_addc(&b, *p == '-' ? '_' : (char)toupper((unsigned char)*p));
        vc_buf_addc(&b, '?');
    }
    int rc = CLI_OK;
    if (o->strict_environment)
        rc = cli_usage(o, "%s", b.p ? b.p : shown);
    else
        fprintf(stderr, "vllmc: warning: %s\n", b.p ? b.p : shown);
    vc_buf_free(&b);
    return rc;
}

/* A variable that no option reads: one of vLLM's flags that are none here, or a mistake. */
static int unknown(struct cli_opts *o, const char *entry) {
    const char *eq = strchr(entry, '=');
    size_t n = eq ? (size_t)(eq - entry) : 0;
    char name[80], flag[80];
    if (n <= 6 || n >= sizeof name || strncmp(entry, "VLLMC_", 6) != 0 || is_other(entry, n) ||
        of_any_command(entry, n))
        return CLI_OK;
    memcpy(name, entry, n);
    name[n] = '\0';
    for (size_t i = 6; i <= n; i++) flag[i - 6] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
    bool off, on;
    const struct cli_vllm_flag *f = cli_vllm_find(o, flag, n - 6, &off);
    if (!f || off || strchr(flag, '.')) return warn(o, name, flag);
    if (f->takes != CLI_TAKES_NOTHING && f->takes != CLI_TAKES_SWITCH) return cli_vllm_take(o, f, eq + 1, name);
    on = !strcmp(eq + 1, "1");
    if (!on && strcmp(eq + 1, "0") != 0) return cli_usage(o, "%s: '%s', expected 1 or 0", name, eq + 1);
    if (!on && f->takes == CLI_TAKES_NOTHING) return CLI_OK;
    return cli_vllm_take(o, f, on ? "on" : "off", name);
}

int cli_read_environment(struct cli_opts *o) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        char name[80];
        cli_env_name(&cli_opts_table[i], name, sizeof name);
        const char *text = getenv(name);
        if (!text || !*text || !cli_option_in(o, i) || o->given[i] || i == CLI_OPT_HELP || i == CLI_OPT_VERSION)
            continue;
        if (i == CLI_OPT_PORT && !strncmp(text, "tcp://", 6))
            continue; /* Kubernetes' link to a service of the name vllmc */
        if (i == CLI_OPT_MODEL && o->num_args) continue;
        int rc = set_known(o, i, text, name);
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}

int cli_check_environment(struct cli_opts *o) {
    int rc = CLI_OK;
    for (char **e = environ; rc == CLI_OK && *e; e++) rc = unknown(o, *e);
    const char *key = getenv("VLLM_API_KEY");
    if (rc == CLI_OK && o->command == CLI_SERVE && !o->given[CLI_OPT_API_KEY] && key && *key)
        rc = cli_option_set(o, CLI_OPT_API_KEY, key, "VLLM_API_KEY");
    return rc;
}
