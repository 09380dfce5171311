/* SPDX-License-Identifier: Apache-2.0
 * cmd_batch.c: vllmc batch: many requests through the server's routes at once, each result written when its request
 * ends. */
#include <stdio.h>

#include "base/clock.h"
#include "base/status.h"
#include "cli/batch.h"
#include "cli/load.h"
#include "cli/serve_models.h"
#include "cli/term.h"

struct batch {
    struct cli_opts *o;
    struct srv_local *server;
    struct cli_batch_input in;
    struct cli_store store;
    size_t next, total, finished, failed, skipped;     /* lines */
    size_t in_flight, window;                           /* requests */
    double begun;
};

static double speed(const struct batch *b, uint64_t *tokens) {
    double s = vc_now() - b->begun;
    *tokens = b->server ? srv_local_tokens(b->server) : 0;
    return s > 0 ? (double)*tokens / s : 0;
}

static void show(const struct batch *b) {
    char note[80];
    uint64_t tokens;
    size_t done = b->finished + b->skipped;
    snprintf(note, sizeof note, "%zu/%zu  %.1f tokens/s", done, b->total, speed(b, &tokens));
    cli_bar(b->total ? (double)done / (double)b->total : 1, "batch", note);
}

/* Writes the result of a line; takes the answer. */
static vc_status finish(struct batch *b, const struct cli_batch_line *line, struct srv_local_answer *a, vc_err *err) {
    struct vc_buf text = { 0 };
    if (!a->is_json && a->status < 400)
        cli_batch_refusal(a, "encoding_format", "the answer to this request is bytes, which no line of JSON can hold");
    cli_batch_result(&text, line, a);
    vc_status s = cli_store_add(&b->store, &text, err);
    b->finished++;
    b->failed += a->status >= 400;
    vc_buf_free(&text);
    vc_buf_free(&a->body);
    return s;
}

/* Line i of the input into the server, or its refusal into the results. */
static vc_status submit(struct batch *b, size_t i, vc_err *err) {
    const struct cli_batch_line *line = &b->in.v[i];
    struct cli_batch_request r;
    vc_err fault = VC_ERR_INIT;
    vc_status s = cli_batch_parse(&r, line, &fault);
    if (s == VC_OK) {
        char id[32];
        snprintf(id, sizeof id, "batch-%zu", line->number);
        s = srv_local_post(b->server, r.url, id, r.body, i, err);
        b->in_flight += s == VC_OK;
    } else if (s == VC_E_NOMEM) {
        *err = fault;
    } else {
        struct srv_local_answer a = { 0 };
        cli_batch_refusal(&a, r.param, fault.text);
        s = finish(b, line, &a, err);
    }
    json_decref(r.root);
    return s;
}

/* The next answer within ms milliseconds. */
static vc_status take(struct batch *b, uint32_t ms, vc_err *err) {
    struct srv_local_answer a;
    VC_TRY(srv_local_take(b->server, ms, &a, err));
    b->in_flight--;
    return finish(b, &b->in.v[a.tag], &a, err);
}

static bool has_room(const struct batch *b) {
    return b->in_flight < b->window && srv_local_choices(b->server) < b->window;
}

static vc_status work(struct batch *b, vc_err *err) {
    while (b->next < b->in.n || b->in_flight) {
        while (b->next < b->in.n && has_room(b) && !cli_interrupted()) {
            size_t i = b->next++;
            if (!cli_store_has(&b->store, &b->in.v[i])) VC_TRY(submit(b, i, err));
        }
        if (cli_interrupted()) {
            while (take(b, 0, err) == VC_OK) {          /* what is ready needs not be done again */
            }
            return vc_fail(err, VC_E_CANCELLED, "interrupted");
        }
        if (b->next == b->in.n && !b->in_flight) break;
        vc_status s = take(b, 100, err);
        if (s != VC_E_TIMEOUT) VC_TRY(s);
        show(b);
    }
    return VC_OK;
}

static int report(const struct batch *b, vc_status s, const vc_err *err) {
    uint64_t tokens;
    cli_bar_clear();
    (void)speed(b, &tokens);
    if (s == VC_OK) {
        fprintf(stderr, "%zu requests done, %zu of them with errors, %zu were there already; %llu tokens in %.1f s\n",
                b->finished, b->failed, b->skipped, (unsigned long long)tokens, vc_now() - b->begun);
        return CLI_OK;
    }
    fprintf(stderr, "%zu of %zu requests done; the same command goes on from here\n", b->finished + b->skipped,
            b->total);
    return s == VC_E_CANCELLED ? CLI_INTERRUPTED : cli_fail_err(err);
}

static int run_batch(struct batch *b, struct vc_server_params *p) {
    vc_err err = VC_ERR_INIT;
    b->total = b->in.n;
    for (size_t i = 0; i < b->in.n; i++) b->skipped += cli_store_has(&b->store, &b->in.v[i]);
    b->begun = vc_now();
    if (b->skipped == b->total) return report(b, VC_OK, &err);
    vc_status s = srv_local_open(&b->server, p, &err);
    cli_bar_clear();
    if (s != VC_OK) return cli_fail_err(&err);
    b->window = VC_MAX(64u, 2 * (size_t)b->o->model.max_num_seqs);
    b->begun = vc_now();
    cli_catch_interrupt();
    s = work(b, &err);
    int rc = report(b, s, &err);
    cli_default_interrupt();
    return rc;
}

int cli_batch(struct cli_opts *o) {
    if (o->num_args != 1)
        return cli_usage(o, o->num_args ? "batch takes one model" : "batch needs a model: a GGUF file or a folder");
    if (!o->input) return cli_usage(o, "batch needs -i FILE, the requests");
    if (!o->output) return cli_usage(o, "batch needs -o FILE, for the results");
    struct vc_server_params p = o->server;
    double begun = vc_now();
    int rc = cli_serve_options(o, &p);
    o->model.progress = o->progress_bar ? cli_show_loading : NULL;
    o->model.progress_arg = &begun;
    if (rc == CLI_OK) rc = cli_serve_models(o, &p);
    o->model.progress_arg = NULL;
    if (rc != CLI_OK) return rc;
    p.any_name = o->served_names.n == 0;
    struct batch b = { .o = o, .store.fd = -1 };
    vc_err err = VC_ERR_INIT;
    if (cli_batch_read(&b.in, o->input, &err) == VC_OK && cli_store_open(&b.store, o->output, &err) == VC_OK) {
        rc = run_batch(&b, &p);
    } else {
        cli_fail_err(&err);
        rc = CLI_FAILED;
    }
    srv_local_close(&b.server);
    cli_store_close(&b.store);
    cli_batch_input_free(&b.in);
    return rc;
}
