/* SPDX-License-Identifier: Apache-2.0
 * cmd_run.c: vllmc run: one prompt, its answers as text or as a JSON object. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "cli/converse.h"
#include "cli/load.h"
#include "cli/term.h"

struct run {
    struct cli_opts *o;
    vc_model *m;
    int32_t *ids; size_t num_ids;              /* prompt; vc_free */
    struct cli_answer *answers; uint32_t n;
    struct cli_timings t;
    bool text, ids_out, lost_stdout;           /* the model has a vocabulary; ids are printed instead */
};

/* The text of the prompt, from where the options say. */
static vc_status prompt_text(const struct cli_opts *o, struct vc_buf *text, vc_err *err) {
    const char *file = o->file ? o->file : o->num_args > 1 ? o->arg[1] : NULL;
    if (o->prompt) vc_buf_adds(text, o->prompt);
    else return cli_read_file(file, text, err);
    return text->failed ? vc_fail(err, VC_E_NOMEM, "out of memory for the prompt") : VC_OK;
}

static vc_status chat_ids(struct run *r, const struct vc_buf *text, vc_err *err) {
    struct vc_buf messages = { 0 };
    vc_buf_addc(&messages, '[');
    if (r->o->system) {
        cli_add_message(&messages, "system", r->o->system, strlen(r->o->system));
        vc_buf_addc(&messages, ',');
    }
    cli_add_message(&messages, "user", text->p ? text->p : "", text->n);
    vc_buf_addc(&messages, ']');
    vc_status s = messages.failed ? vc_fail(err, VC_E_NOMEM, "out of memory")
                                  : cli_chat_ids(r->m, messages.p, &r->ids, &r->num_ids, err);
    vc_buf_free(&messages);
    return s;
}

static vc_status make_prompt(struct run *r, const struct vc_buf *text, vc_err *err) {
    const struct cli_opts *o = r->o;
    if (o->prompt_ids.n) {
        r->ids = malloc(o->prompt_ids.n * sizeof *r->ids);
        if (!r->ids) return vc_fail(err, VC_E_NOMEM, "out of memory for the prompt");
        memcpy(r->ids, o->prompt_ids.v, o->prompt_ids.n * sizeof *r->ids);
        r->num_ids = o->prompt_ids.n;
        return VC_OK;
    }
    if (o->chat) return chat_ids(r, text, err);
    int flags = VC_TOK_PARSE_SPECIAL | (o->add_special ? VC_TOK_ADD_SPECIAL : 0);
    return vc_tokenize(r->m, text->p ? text->p : "", text->n, flags, &r->ids, &r->num_ids, err);
}

/* The only choice is shown as it comes. */
static bool stream(void *arg, const vc_output *out) {
    struct run *r = arg;
    bool ok = true;
    if (r->n == 1 && !r->o->json) {
        if (!r->ids_out) ok = fwrite(out->text, 1, out->text_len, stdout) == out->text_len;
        for (uint32_t i = 0; r->ids_out && i < out->num_token_ids; i++)
            ok = printf("%s%d", r->answers[0].num_ids - out->num_token_ids + i ? "," : "", out->token_ids[i]) > 0 && ok;
        ok = fflush(stdout) == 0 && ok;
    }
    if (!ok) r->lost_stdout = true;
    return ok;
}

static void json_choice(struct vc_json_out *w, const struct run *r, const struct cli_answer *a) {
    vc_jo_key(w, "token_ids");
    cli_json_ids(w, a->ids, a->num_ids);
    vc_jo_key(w, "text");
    if (r->text) vc_jo_strn(w, a->text.p ? a->text.p : "", a->text.n);
    else vc_jo_null(w);
    vc_jo_key(w, "finish_reason");
    vc_jo_str(w, a->finish_reason);
    vc_jo_key(w, "stop_reason");
    if (a->stop_string[0]) vc_jo_str(w, a->stop_string);
    else if (a->stop_token >= 0) vc_jo_int(w, a->stop_token);
    else vc_jo_null(w);
    vc_jo_key(w, "seed");
    vc_jo_uint(w, a->seed);
    vc_jo_key(w, "logprobs");
    cli_json_logprobs(w, r->m, a->logprobs, a->num_ids, a->per_token);
}

static void json_number(struct vc_json_out *w, const char *key, double v) {
    vc_jo_key(w, key);
    vc_jo_f64(w, v);
}

static int print_json(const struct run *r) {
    struct vc_buf b = { 0 };
    struct vc_json_out w;
    vc_model_info info = { .struct_size = sizeof info };
    vc_model_get_info(r->m, &info);
    vc_jo_init(&w, &b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    vc_jo_key(&w, "model");
    vc_jo_str(&w, info.name);
    vc_jo_key(&w, "prompt_token_ids");
    cli_json_ids(&w, r->ids, r->num_ids);
    json_choice(&w, r, &r->answers[0]);
    if (r->o->given[CLI_OPT_PROMPT_LOGPROBS]) {
        vc_jo_key(&w, "prompt_logprobs");
        cli_json_logprobs(&w, r->m, r->answers[0].prompt_logprobs, r->num_ids, r->answers[0].per_prompt_token);
    }
    if (r->n > 1) {
        vc_jo_key(&w, "choices");
        vc_jo_begin_arr(&w);
        for (uint32_t i = 0; i < r->n; i++) {
            vc_jo_begin_obj(&w);
            vc_jo_key(&w, "index");
            vc_jo_uint(&w, i);
            json_choice(&w, r, &r->answers[i]);
            vc_jo_end_obj(&w);
        }
        vc_jo_end_arr(&w);
    }
    vc_jo_key(&w, "timings");
    vc_jo_begin_obj(&w);
    json_number(&w, "load_s", r->t.load_s);
    json_number(&w, "ttft_s", r->t.ttft_s);
    json_number(&w, "prompt_tokens_per_s", cli_prompt_rate(&r->t));
    json_number(&w, "decode_tokens_per_s", cli_decode_rate(&r->t));
    json_number(&w, "total_s", r->t.load_s + r->t.total_s);
    vc_jo_end_obj(&w);
    vc_jo_end_obj(&w);
    vc_buf_addc(&b, '\n');
    return cli_print(&b);
}

/* Log-probabilities as a table, for people. */
static void add_logprobs(struct vc_buf *b, const struct run *r, const vc_logprob *v, size_t tokens, uint32_t per) {
    for (size_t t = 0; v && t < tokens; t++, v += per) {
        for (uint32_t k = 0; v->token >= 0 && k < per; k++) {
            if (k && v[k].token == v[0].token) continue;         /* shown as the chosen one */
            struct vc_buf piece = { 0 }, quoted = { 0 };
            cli_piece(r->m, v[k].token, &piece);
            vc_json_add_str(&quoted, piece.p ? piece.p : "", piece.n);
            vc_buf_printf(b, "%s%10.5f  #%-4u %7d  %s%s\n", k ? cli_style(CLI_DIM) : "", (double)v[k].logprob,
                          v[k].rank, v[k].token, r->text ? quoted.p : "", k ? cli_style(CLI_PLAIN) : "");
            vc_buf_free(&piece);
            vc_buf_free(&quoted);
        }
    }
}

static int print_text(const struct run *r) {
    struct vc_buf b = { 0 };
    for (uint32_t i = 0; r->n > 1 && i < r->n; i++) {
        const struct cli_answer *a = &r->answers[i];
        vc_buf_printf(&b, "%s--- %u ---%s\n", cli_style(CLI_BOLD), i + 1, cli_style(CLI_PLAIN));
        if (!r->ids_out) vc_buf_add(&b, a->text.p ? a->text.p : "", a->text.n);
        for (size_t k = 0; r->ids_out && k < a->num_ids; k++) vc_buf_printf(&b, "%s%d", k ? "," : "", a->ids[k]);
        vc_buf_addc(&b, '\n');
    }
    const struct vc_buf *last = &r->answers[0].text;
    if (r->n == 1 && !(last->n && last->p[last->n - 1] == '\n' && !r->ids_out)) vc_buf_addc(&b, '\n');
    add_logprobs(&b, r, r->answers[0].prompt_logprobs, r->num_ids, r->answers[0].per_prompt_token);
    for (uint32_t i = 0; i < r->n; i++)
        add_logprobs(&b, r, r->answers[i].logprobs, r->answers[i].num_ids, r->answers[i].per_token);
    if (r->o->stats)
        fprintf(stderr, "%sload %.2f s, first token %.3f s, prompt %u tokens at %.0f/s, answer %u tokens at %.1f/s%s\n",
                cli_err_style(CLI_DIM), r->t.load_s, r->t.ttft_s, r->t.prompt_tokens, cli_prompt_rate(&r->t),
                r->t.generated, cli_decode_rate(&r->t), cli_err_style(CLI_PLAIN));
    return cli_print(&b);
}

static int answer(struct run *r, vc_request_params *rp) {
    vc_err err = VC_ERR_INIT;
    r->answers = calloc(r->n, sizeof *r->answers);
    if (!r->answers) return cli_fail("out of memory");
    cli_catch_interrupt();
    vc_status s = cli_converse(r->m, rp, r->answers, stream, r, &r->t, &err);
    cli_default_interrupt();
    if (r->lost_stdout) return errno == EPIPE ? CLI_FAILED : cli_fail("standard output: %s", strerror(errno));
    if (s != VC_OK && s != VC_E_CANCELLED) {
        if (r->t.generated && !r->o->json && r->n == 1) putchar('\n');
        return cli_fail_err(&err);
    }
    int rc = r->o->json ? print_json(r) : print_text(r);
    return s == VC_E_CANCELLED ? CLI_INTERRUPTED : rc;
}

static int run_model(struct run *r, const struct vc_buf *text) {
    vc_err err = VC_ERR_INIT;
    vc_request_params rp;
    vc_request_params_init(&rp);
    r->n = r->o->sampling.n;
    int rc = cli_load(r->o, r->n, &r->m, &r->t.load_s);
    if (rc != CLI_OK) return rc;
    r->text = cli_has_tokenizer(r->m);
    r->ids_out = !r->text;
    if (make_prompt(r, text, &err) != VC_OK || cli_sampling(r->o, r->m, &rp.sampling, &err) != VC_OK)
        return cli_fail_err(&err);
    rp.prompt_ids = r->ids;
    rp.num_prompt_ids = r->num_ids;
    return answer(r, &rp);
}

static int check(const struct cli_opts *o) {
    if (o->num_args < 1) return cli_usage(o, "run needs a model: a GGUF file or a folder");
    if (o->num_args > 2) return cli_usage(o, "'%s': too many arguments", o->arg[2]);
    if (o->num_args == 2 && strcmp(o->arg[1], "-") != 0)
        return cli_usage(o, "'%s': unexpected; a prompt is given with -p TEXT, -f FILE, - or --prompt-ids IDS",
                         o->arg[1]);
    int sources = (o->prompt != NULL) + (o->file != NULL) + (o->num_args == 2) + (o->prompt_ids.n > 0);
    if (sources != 1)
        return cli_usage(o, "%s prompt; give one of -p TEXT, -f FILE, - (standard input) or --prompt-ids IDS",
                         sources ? "more than one" : "no");
    if (o->chat && o->prompt_ids.n) return cli_usage(o, "--chat needs text, not --prompt-ids");
    if (o->system && !o->chat) return cli_usage(o, "--system needs --chat");
    if (o->given[CLI_OPT_MAX_TOKENS] && o->sampling.max_tokens < 1)
        return cli_usage(o, "--max-tokens: 0, expected at least 1");
    if (o->sampling.n < 1) return cli_usage(o, "--n: 0, expected at least 1");
    return CLI_OK;
}

int cli_run(struct cli_opts *o) {
    int rc = check(o);
    if (rc != CLI_OK) return rc;
    struct vc_buf text = { 0 };
    vc_err err = VC_ERR_INIT;
    if (!o->prompt_ids.n && prompt_text(o, &text, &err) != VC_OK) {
        vc_buf_free(&text);
        return cli_fail_err(&err);
    }
    struct run r = { .o = o };
    rc = run_model(&r, &text);
    for (uint32_t i = 0; r.answers && i < r.n; i++) cli_answer_free(&r.answers[i]);
    free(r.answers);
    vc_free(r.ids);
    vc_model_close(&r.m);
    vc_buf_free(&text);
    return rc;
}
