/* SPDX-License-Identifier: Apache-2.0
 * chat_words.c: the commands of a chat: /help /system /reset /save /stats /quit. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/chat.h"
#include "cli/term.h"

typedef void word_fn(struct cli_chat *c, const char *rest);

static void say_quit(struct cli_chat *c, const char *rest) {
    (void)rest;
    c->quit = true;
}

static void say_reset(struct cli_chat *c, const char *rest) {
    (void)rest;
    cli_chat_reset(c);
    puts("The conversation starts anew.");
}

static void say_system(struct cli_chat *c, const char *rest) {
    if (!*rest) {
        printf("System message: %s\n", c->system.n ? c->system.p : "none");
        return;
    }
    vc_buf_free(&c->system);
    vc_buf_adds(&c->system, rest);
    puts("The system message is set.");
}

static void say_save(struct cli_chat *c, const char *rest) {
    if (!*rest) {
        puts("/save needs a file name");
        return;
    }
    struct vc_buf b = { 0 };
    vc_buf_adds(&b, "{\"messages\":");
    cli_chat_json(c, &b);
    vc_buf_adds(&b, "}\n");
    FILE *f = b.failed ? NULL : fopen(rest, "w");
    bool ok = f && fwrite(b.p, 1, b.n, f) == b.n;
    if (f) ok = fclose(f) == 0 && ok;
    if (ok) printf("Saved %zu messages to %s.\n", c->n, rest);
    else printf("%s: %s\n", rest, b.failed ? "out of memory" : strerror(errno));
    vc_buf_free(&b);
}

static void say_stats(struct cli_chat *c, const char *rest) {
    (void)rest;
    vc_model_info info = { .struct_size = sizeof info };
    vc_model_get_info(c->m, &info);
    const struct cli_timings *t = &c->last;
    printf("Last answer: first token after %.3f s, prompt %u tokens (%u from the cache) at %.0f/s, ", t->ttft_s,
           t->prompt_tokens, t->cached_tokens, cli_prompt_rate(t));
    printf("%u tokens at %.1f/s\n", t->generated, cli_decode_rate(t));
    printf("All %llu answers: %llu tokens in %.1f s; %llu of %llu prompt tokens came from the cache\n",
           (unsigned long long)c->turns, (unsigned long long)c->generated, c->seconds,
           (unsigned long long)c->cached_tokens, (unsigned long long)c->prompt_tokens);
    printf("Context: %u of %u tokens\n", t->prompt_tokens + t->generated, info.max_model_len);
}

static word_fn say_help;
static const struct { const char *name, *arg, *text; word_fn *fn; } words[] = {
    { "help", "", "this list", say_help },
    { "system", " [TEXT]", "show or set the system message", say_system },
    { "reset", "", "forget the conversation", say_reset },
    { "save", " FILE", "write the conversation as JSON", say_save },
    { "stats", "", "times, speeds and the use of the context", say_stats },
    { "quit", "", "leave (also Ctrl-D)", say_quit },
};

static void say_help(struct cli_chat *c, const char *rest) {
    (void)c;
    (void)rest;
    for (size_t i = 0; i < VC_ARRAY_LEN(words); i++) {
        char left[40];
        snprintf(left, sizeof left, "/%s%s", words[i].name, words[i].arg);
        printf("  %-16s %s\n", left, words[i].text);
    }
    puts("A \\ at the end of a line goes on; \"\"\" begins and ends several lines. Ctrl-C stops an answer.");
}

static const char *nth_word(void *ctx, size_t i) {
    (void)ctx;
    return i < VC_ARRAY_LEN(words) ? words[i].name : NULL;
}

void cli_chat_command(struct cli_chat *c, const char *line) {
    char name[32];
    size_t n = strcspn(line + 1, " \t");
    snprintf(name, sizeof name, "%.*s", (int)VC_MIN(n, sizeof name - 1), line + 1);
    const char *rest = line + 1 + n;
    rest += strspn(rest, " \t");
    for (size_t i = 0; i < VC_ARRAY_LEN(words); i++) {
        if (strcmp(name, words[i].name) != 0) continue;
        words[i].fn(c, rest);
        fflush(stdout);
        return;
    }
    const char *near = cli_nearest(name, nth_word, NULL);
    if (near) printf("No command /%s; did you mean /%s?\n", name, near);
    else printf("No command /%s; /help lists them\n", name);
    fflush(stdout);
}
