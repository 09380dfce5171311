/* SPDX-License-Identifier: Apache-2.0
 * cmd_chat.c: vllmc chat: the whole conversation is rendered and sent each turn; the prefix cache makes that cheap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "cli/chat.h"
#include "cli/load.h"
#include "cli/term.h"

bool cli_chat_add(struct cli_chat *c, bool user, const char *text, size_t n) {
    if (c->n == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 16;
        struct cli_message *v = realloc(c->v, cap * sizeof *v);
        if (!v) return false;
        c->v = v;
        c->cap = cap;
    }
    struct vc_buf b = { 0 };
    vc_buf_add(&b, text, n);
    if (b.failed) return false;
    c->v[c->n++] = (struct cli_message){ user, b };
    return true;
}

static void drop_last(struct cli_chat *c) { vc_buf_free(&c->v[--c->n].text); }

void cli_chat_reset(struct cli_chat *c) {
    while (c->n) drop_last(c);
}

void cli_chat_json(const struct cli_chat *c, struct vc_buf *b) {
    const char *sep = "";
    vc_buf_addc(b, '[');
    if (c->system.n) {
        cli_add_message(b, "system", c->system.p, c->system.n);
        sep = ",";
    }
    for (size_t i = 0; i < c->n; i++) {
        vc_buf_adds(b, sep);
        cli_add_message(b, c->v[i].user ? "user" : "assistant", c->v[i].text.p, c->v[i].text.n);
        sep = ",";
    }
    vc_buf_addc(b, ']');
}

static bool show(void *arg, const vc_output *o) {
    (void)arg;
    return fwrite(o->text, 1, o->text_len, stdout) == o->text_len && fflush(stdout) == 0;
}

/* Sampling of a chat: where the model states none, something livelier than greedy and safer than temperature 1. */
static vc_status chat_sampling(struct cli_chat *c, vc_sampling_params *p, vc_err *err) {
    vc_sampling_params plain, model;
    vc_sampling_params_init(&plain);
    vc_sampling_params_init(&model);
    vc_sampling_from_model(c->m, &model);
    VC_TRY(cli_sampling(c->o, c->m, p, err));
    bool stated = model.temperature < plain.temperature || model.temperature > plain.temperature ||
                  model.top_p < plain.top_p || model.top_k != plain.top_k || model.min_p > plain.min_p ||
                  c->o->model.generation_config;
    if (stated) return VC_OK;
    if (!c->o->given[CLI_OPT_TEMPERATURE]) p->temperature = 0.7f;
    if (!c->o->given[CLI_OPT_TOP_P]) p->top_p = 0.95f;
    return VC_OK;
}

static void count(struct cli_chat *c) {
    c->turns++;
    c->generated += c->last.generated;
    c->prompt_tokens += c->last.prompt_tokens;
    c->cached_tokens += c->last.cached_tokens;
    c->seconds += c->last.total_s;
    if (c->o->stats)
        fprintf(stderr, "%sfirst token %.3f s, prompt %u tokens (%u cached), answer %u tokens at %.1f/s%s\n",
                cli_err_style(CLI_DIM), c->last.ttft_s, c->last.prompt_tokens, c->last.cached_tokens, c->last.generated,
                cli_decode_rate(&c->last), cli_err_style(CLI_PLAIN));
}

/* Sends the conversation; its last message is the user's. The answer is shown and becomes a message. */
static vc_status ask(struct cli_chat *c, vc_err *err) {
    struct vc_buf messages = { 0 };
    int32_t *ids = NULL;
    size_t n = 0;
    struct cli_answer a = { 0 };
    vc_request_params rp;
    vc_request_params_init(&rp);
    vc_model_info info = { .struct_size = sizeof info };
    vc_model_get_info(c->m, &info);
    cli_chat_json(c, &messages);
    vc_status s = messages.failed ? vc_fail(err, VC_E_NOMEM, "out of memory")
                                  : cli_chat_ids(c->m, messages.p, &ids, &n, err);
    if (s == VC_OK && n >= info.max_model_len)
        s = vc_fail(err, VC_E_TOO_LONG, "the conversation has %zu tokens, the context holds %u; /reset starts anew", n,
                    info.max_model_len);
    if (s == VC_OK) s = chat_sampling(c, &rp.sampling, err);
    if (s == VC_OK) {
        rp.prompt_ids = ids;
        rp.num_prompt_ids = n;
        c->last = (struct cli_timings){ 0 };
        s = cli_converse(c->m, &rp, &a, show, NULL, &c->last, err);
        count(c);
    }
    if (a.num_ids && (s == VC_OK || s == VC_E_CANCELLED)) {
        puts("");
        if (!cli_chat_add(c, false, a.text.p ? a.text.p : "", a.text.n)) s = vc_fail(err, VC_E_NOMEM, "out of memory");
        if (s == VC_OK && n + a.num_ids >= info.max_model_len)
            cli_fail("the answer was cut: the context of %u tokens is full; /reset starts anew", info.max_model_len);
    }
    vc_free(ids);
    vc_buf_free(&messages);
    cli_answer_free(&a);
    return s;
}

/* One message from the user; false: a failure that ends the program. */
static bool turn(struct cli_chat *c, const struct vc_buf *text) {
    vc_err err = VC_ERR_INIT;
    if (!cli_chat_add(c, true, text->p, text->n)) return cli_fail("out of memory") == CLI_OK;
    cli_forget_interrupt();
    vc_status s = ask(c, &err);
    bool answered = c->n && !c->v[c->n - 1].user;
    if (!answered) drop_last(c);
    if (s == VC_E_CANCELLED && ferror(stdout)) return false;
    if (s == VC_E_CANCELLED) puts("(stopped)");
    else if (s != VC_OK) cli_fail("%s", err.text);
    fflush(stdout);
    return s == VC_OK || s == VC_E_CANCELLED || s == VC_E_TOO_LONG || s == VC_E_TEMPLATE || s == VC_E_NUMERIC;
}

static int loop(struct cli_chat *c, struct cli_input *in) {
    int rc = CLI_OK;
    bool edits = cli_input_edits(in);
    cli_catch_interrupt();
    while (!c->quit && rc == CLI_OK) {
        struct vc_buf text = { 0 };
        cli_forget_interrupt();
        enum cli_got got = cli_input_next(in, &text);
        if (got == CLI_GOT_END) c->quit = true;
        else if (got == CLI_GOT_INTERRUPT && edits) puts("(/quit or Ctrl-D leaves)");
        else if (got == CLI_GOT_INTERRUPT) rc = CLI_INTERRUPTED;
        else if (text.failed) rc = cli_fail("out of memory");
        else if (text.n && text.p[0] == '/' && !memchr(text.p, '\n', text.n)) cli_chat_command(c, text.p);
        else if (text.n && strspn(text.p, " \t\n") < text.n && !turn(c, &text)) rc = CLI_FAILED;
        vc_buf_free(&text);
    }
    cli_default_interrupt();
    return rc;
}

static void greet(const struct cli_chat *c) {
    vc_model_info info = { .struct_size = sizeof info };
    vc_sampling_params p;
    vc_err err = VC_ERR_INIT;
    vc_model_get_info(c->m, &info);
    if (chat_sampling((struct cli_chat *)(uintptr_t)c, &p, &err) != VC_OK) return;
    printf("%s%s%s  context %u, temperature %g, top-p %g, top-k %d. /help lists commands.\n", cli_style(CLI_BOLD),
           info.name, cli_style(CLI_PLAIN), info.max_model_len, (double)p.temperature, (double)p.top_p, p.top_k);
}

int cli_chat(struct cli_opts *o) {
    if (o->num_args > 1) return cli_usage(o, "'%s': unexpected; chat takes one model", o->arg[1]);
    if (!o->num_args) return cli_usage(o, "chat needs a model: a GGUF file or a folder");
    if (o->given[CLI_OPT_MAX_TOKENS] && o->sampling.max_tokens < 1)
        return cli_usage(o, "--max-tokens: 0, expected at least 1");
    struct cli_chat c = { .o = o };
    vc_err err = VC_ERR_INIT;
    int rc = cli_load(o, 1, &c.m, NULL);
    if (rc != CLI_OK) return rc;
    char *probe = NULL;
    size_t len;
    vc_chat_params hello;
    vc_chat_params_init(&hello);
    hello.messages_json = "[{\"role\":\"user\",\"content\":\"Hello\"}]";
    vc_status s = vc_chat_render(c.m, &hello, &probe, &len, &err);
    vc_free(probe);
    if (s != VC_OK && s != VC_E_TEMPLATE) rc = cli_fail_err(&err);            /* no template, or one that is none */
    struct cli_input *in = cli_input_new();
    if (!in) rc = cli_fail("out of memory");
    if (o->system) vc_buf_adds(&c.system, o->system);
    if (rc == CLI_OK && cli_input_edits(in)) greet(&c);
    if (rc == CLI_OK) rc = loop(&c, in);
    cli_input_del(in);
    cli_chat_reset(&c);
    free(c.v);
    vc_buf_free(&c.system);
    vc_model_close(&c.m);
    return rc;
}
