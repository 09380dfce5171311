/* SPDX-License-Identifier: Apache-2.0
 * chat_input.c: lines of a chat, through libedit on a terminal, with a history file in the XDG state folder. */
#include <errno.h>
#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/chat.h"
#include "cli/term.h"

struct cli_input {
    EditLine *el;              /* owned; NULL: plain lines */
    History *history;          /* owned */
    char path[4096];           /* of the history file; "" none */
    const char *prompt;
    char *line; size_t cap;    /* of getline */
};

static char *prompt_of(EditLine *el) {
    static char text[16];
    struct cli_input *in;
    el_get(el, EL_CLIENTDATA, &in);
    snprintf(text, sizeof text, "%s", in->prompt);
    return text;
}

/* One character for libedit. Ctrl-C ends the line (-1), which libedit's own reader would not let through. */
static int read_char(EditLine *el, wchar_t *out) {
    char s[4];
    size_t n = 0;
    (void)el;
    for (;;) {
        ssize_t got = read(STDIN_FILENO, &s[n], 1);
        if (got < 0 && errno == EINTR && !cli_interrupted()) continue;
        if (got <= 0) return got < 0 ? -1 : 0;
        uint32_t cp;
        if (vc_utf8_decode(s, ++n, &cp)) {
            *out = (wchar_t)cp;
            return 1;
        }
        if (n == sizeof s || vc_utf8_partial(s, n) != n) {
            *out = (wchar_t)0xFFFD;
            return 1;
        }
    }
}

/* Makes the folders of a path; its last part is a file. */
static void make_folders(const char *path) {
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(part, 0700);
        *p = '/';
    }
}

static void open_history(struct cli_input *in) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    HistEvent ev;
    in->history = history_init();
    if (!in->history) return;
    history(in->history, &ev, H_SETSIZE, 1000);
    history(in->history, &ev, H_SETUNIQUE, 1);
    if (state && state[0] == '/') snprintf(in->path, sizeof in->path, "%s/vllmc/history", state);
    else if (home && home[0] == '/') snprintf(in->path, sizeof in->path, "%s/.local/state/vllmc/history", home);
    if (in->path[0]) history(in->history, &ev, H_LOAD, in->path);
    el_set(in->el, EL_HIST, history, in->history);
}

struct cli_input *cli_input_new(void) {
    struct cli_input *in = calloc(1, sizeof *in);
    if (!in) return NULL;
    in->prompt = "> ";
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return in;
    in->el = el_init("vllmc", stdin, stdout, stderr);
    if (!in->el) return in;
    el_set(in->el, EL_CLIENTDATA, in);
    el_set(in->el, EL_PROMPT, prompt_of);
    el_set(in->el, EL_EDITOR, "emacs");
    el_set(in->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(in->el, EL_GETCFN, read_char);
    open_history(in);
    return in;
}

static void save_history(struct cli_input *in) {
    HistEvent ev;
    if (!in->history || !in->path[0]) return;
    make_folders(in->path);
    mode_t old = umask(077);
    history(in->history, &ev, H_SAVE, in->path);
    umask(old);
}

void cli_input_del(struct cli_input *in) {
    if (!in) return;
    save_history(in);
    if (in->el) el_end(in->el);
    if (in->history) history_end(in->history);
    free(in->line);
    free(in);
}

bool cli_input_edits(const struct cli_input *in) { return in->el != NULL; }

/* One line without its newline; NULL at the end or on Ctrl-C. */
static const char *read_line(struct cli_input *in, size_t *n) {
    if (!in->el) {
        ssize_t got = getline(&in->line, &in->cap, stdin);
        if (got < 0) return NULL;
        *n = (size_t)got - (in->line[got - 1] == '\n');
        return in->line;
    }
    int count = 0;
    const char *s = el_gets(in->el, &count);
    if (!s || count <= 0) {
        if (cli_interrupted()) el_reset(in->el);
        return NULL;
    }
    *n = strcspn(s, "\n");
    return s;
}

static void remember(struct cli_input *in, const struct vc_buf *text) {
    HistEvent ev;
    if (in->history && text->n && !memchr(text->p, '\n', text->n)) history(in->history, &ev, H_ENTER, text->p);
}

enum cli_got cli_input_next(struct cli_input *in, struct vc_buf *out) {
    bool block = false, more = true;
    in->prompt = "> ";
    while (more) {
        size_t n = 0;
        const char *s = read_line(in, &n);
        if (!s) {
            if (in->el) putchar('\n');
            if (cli_interrupted()) return CLI_GOT_INTERRUPT;
            return out->n ? CLI_GOT_MESSAGE : CLI_GOT_END;
        }
        if (out->n || in->prompt[0] == '.') vc_buf_addc(out, '\n');
        vc_str line = { s, n };
        bool first = in->prompt[0] == '>';
        if (first && vc_str_starts(line, "\"\"\"")) {
            block = true;
            line = (vc_str){ s + 3, n - 3 };
        }
        more = block;
        if (block && vc_str_ends(line, "\"\"\"")) {
            line.n -= 3;
            more = false;
        } else if (!block && vc_str_ends(line, "\\")) {
            line.n--;
            more = true;
        }
        vc_buf_add(out, line.p, line.n);
        in->prompt = ". ";
    }
    remember(in, out);
    return CLI_GOT_MESSAGE;
}
