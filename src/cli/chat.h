/* SPDX-License-Identifier: Apache-2.0
 * chat.h: a conversation on a terminal or a pipe: its messages, its input, its commands. */
#ifndef VC_CLI_CHAT_H
#define VC_CLI_CHAT_H

#include "cli/cli.h"
#include "cli/converse.h"

/* ---- input: chat_input.c ---- */
struct cli_input;
enum cli_got { CLI_GOT_MESSAGE, CLI_GOT_END, CLI_GOT_INTERRUPT };
/* Line editing and history when stdin and stdout are terminals, plain lines otherwise. NULL: out of memory. */
struct cli_input *cli_input_new(void);
void cli_input_del(struct cli_input *in);
bool cli_input_edits(const struct cli_input *in);
/* The next message into *out: one line, lines joined by a \ at their ends, or all between two """. */
enum cli_got cli_input_next(struct cli_input *in, struct vc_buf *out);

/* ---- the conversation ---- */
struct cli_message { bool user; struct vc_buf text; };     /* else the model's */
struct cli_chat {
    struct cli_opts *o;
    vc_model *m;
    struct vc_buf system;              /* empty: none */
    struct cli_message *v; size_t n, cap;
    struct cli_timings last;
    uint64_t turns, prompt_tokens, cached_tokens, generated;
    double seconds;
    bool quit;
};
bool cli_chat_add(struct cli_chat *c, bool user, const char *text, size_t n);
void cli_chat_reset(struct cli_chat *c);
/* The messages as a JSON array. */
void cli_chat_json(const struct cli_chat *c, struct vc_buf *b);

/* chat_words.c: a line that begins with / ; prints what it has to say. */
void cli_chat_command(struct cli_chat *c, const char *line);

#endif
