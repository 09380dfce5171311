/* SPDX-License-Identifier: Apache-2.0
 * vllm_flags.c: vLLM's flags that are no options here: accepted where they ask for what is so, else refused with a
 * reason. */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

const struct cli_vllm_flag cli_vllm_flags[] = {
#define CLI_VLLM(group, name, other, takes, accepts, text) { group, name, other, CLI_TAKES_##takes, accepts, text },
#include "cli/vllm_flags.def"
#undef CLI_VLLM
};
const size_t cli_num_vllm_flags = VC_ARRAY_LEN(cli_vllm_flags);

/* Is "-tp" or "--name" among the other spellings? */
static bool other_name(const struct cli_vllm_flag *f, const char *word, size_t n) {
    for (const char *p = f->other ? f->other : ""; *p;) {
        size_t len = strcspn(p, " ");
        if (word[0] == '-' && len == n && !memcmp(p, word, n)) return true;
        if (word[0] != '-' && len == n + 2 && !strncmp(p, "--", 2) && !memcmp(p + 2, word, n)) return true;
        p += len + (p[len] == ' ');
    }
    return false;
}

const struct cli_vllm_flag *cli_vllm_find(const struct cli_opts *o, const char *word, size_t n, bool *off) {
    *off = false;
    if (!(CLI_IN_LOADS >> o->command & 1) || (word[0] == '-' && o->command != CLI_SERVE)) return NULL;
    const char *dot = memchr(word, '.', n);
    if (dot) n = (size_t)(dot - word);
    for (size_t i = 0; i < cli_num_vllm_flags; i++) {
        const struct cli_vllm_flag *f = &cli_vllm_flags[i];
        if (other_name(f, word, n) || (word[0] != '-' && cli_same_name(word, n, f->name))) return f;
        if (f->takes == CLI_TAKES_SWITCH && n > 3 && cli_same_name(word, 3, "no-") &&
            cli_same_name(word + 3, n - 3, f->name)) {
            *off = true;
            return f;
        }
    }
    return NULL;
}

/* Equal as texts, or as numbers: 1 and 1.0. */
static bool same_value(const char *a, size_t n, const char *b) {
    if (strlen(b) == n && !memcmp(a, b, n)) return true;
    float x, y;
    char text[32];
    if (n >= sizeof text) return false;
    memcpy(text, a, n);
    text[n] = '\0';
    return cli_read_f32(text, &x) && cli_read_f32(b, &y) && x - y == 0;
}

bool cli_vllm_accepts(const struct cli_vllm_flag *f, const char *value) {
    const char *list = f->accepts;
    if (!list) return false;
    if (!strcmp(list, "*") || !strcmp(list, value)) return true;
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, "|");
        if (same_value(p, n, value)) return true;
        p += n + (p[n] == '|');
    }
    return false;
}

int cli_vllm_take(struct cli_opts *o, const struct cli_vllm_flag *f, const char *value, const char *spelled) {
    bool is_switch = f->takes == CLI_TAKES_NOTHING || f->takes == CLI_TAKES_SWITCH;
    bool shown = value && *value && !is_switch;
    if (!cli_vllm_accepts(f, value ? value : ""))
        return cli_usage(o, "%s%s%s: %s", spelled, shown ? " " : "", shown ? value : "", f->text);
    static const char advice[] = "; leave it out";
    size_t n = strlen(f->text), m = sizeof advice - 1;
    if (n > m && !strcmp(f->text + n - m, advice)) n -= m;
    struct vc_buf b = { 0 };
    vc_buf_printf(&b, "%s%s%s asks for what is so: %.*s", spelled, shown ? " " : "", shown ? value : "", (int)n,
                  f->text);
    const char *line = b.p ? vc_arena_strdup(&o->arena, b.p) : NULL;
    vc_buf_free(&b);
    return line && cli_read_list(&o->arena, &o->notes, line) ? CLI_OK : cli_fail("out of memory");
}
